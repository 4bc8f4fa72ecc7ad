//! Partitions of the variables of a reduced problem for devices that sweep one state together. The parts have about
//! equal work.
//!
//! A part is an interval of a breadth-first order, so on grids few variables have neighbours in another part. On random
//! networks with three functions per variable, 82 % of the variables have such neighbours. METIS reaches 75 % but takes
//! 11 s for 10^6 variables (results/notes/search-cuda.md). Values do not depend on the partition.

use crate::core::context::SearchContext;
use std::collections::VecDeque;

/// Returns the part of each variable.
pub(crate) fn owners(context: &SearchContext, parts: usize) -> Vec<u8> {
    let n = context.variables();
    let work = |v: usize| 1 + context.tables.degree(v) as u64;
    let all: u64 = (0..n).map(work).sum();
    let (mut owners, mut known) = (vec![0; n], vec![false; n]);
    let (mut queue, mut done) = (VecDeque::new(), 0);
    for root in 0..n {
        if !std::mem::replace(&mut known[root], true) {
            queue.push_back(root);
        }
        while let Some(v) = queue.pop_front() {
            owners[v] = (done * parts as u64 / all.max(1)) as u8;
            done += work(v);
            for &next in context.graph.neighbours(v) {
                if !std::mem::replace(&mut known[next as usize], true) {
                    queue.push_back(next as usize);
                }
            }
        }
    }
    owners
}

/// The color classes of a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartClasses {
    /// The members of each class. Members with neighbours in other parts come first.
    pub members: Vec<Vec<u32>>,
    /// The number of members of each class that have neighbours in other parts.
    pub border: Vec<u32>,
}

impl PartClasses {
    /// Returns the classes restricted to a part.
    pub fn new(context: &SearchContext, owners: &[u8], part: u8) -> PartClasses {
        let is_inside = |v: &u32| {
            let neighbours = context.graph.neighbours(*v as usize);
            neighbours.iter().all(|&next| owners[next as usize] == part)
        };
        let mut classes = PartClasses::default();
        for class in &context.order.classes {
            let own = class.iter().copied().filter(|&v| owners[v as usize] == part);
            let (inside, mut members): (Vec<u32>, Vec<u32>) = own.partition(is_inside);
            classes.border.push(members.len() as u32);
            members.extend(inside);
            classes.members.push(members);
        }
        classes
    }

    /// Returns all classes as one part.
    pub fn whole(context: &SearchContext) -> PartClasses {
        let members = context.order.classes.clone();
        PartClasses { border: vec![0; members.len()], members }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::cores::{of_size, price};

    #[test]
    fn parts_have_each_variable_once_even_work_and_their_borders_first() {
        let problem = of_size(2000, 4, 6000, 2, 3);
        let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        for parts in [1, 2, 3, 7] {
            let owners = owners(&context, parts);
            let mut seen = vec![0; context.variables()];
            for part in 0..parts {
                let classes = PartClasses::new(&context, &owners, part as u8);
                let work: usize =
                    classes.members.iter().flatten().map(|&v| 1 + context.tables.degree(v as usize)).sum();
                assert!(work.abs_diff(14_000 / parts) < 200, "{parts}: {work}");
                for (members, &border) in classes.members.iter().zip(&classes.border) {
                    for (place, &v) in (0..).zip(members) {
                        seen[v as usize] += 1;
                        let outside = |next: &&u32| owners[**next as usize] != part as u8;
                        let is_border = context.graph.neighbours(v as usize).iter().any(|next| outside(&next));
                        assert_eq!((owners[v as usize], is_border), (part as u8, place < border));
                    }
                }
            }
            assert!(seen.iter().all(|&times| times == 1));
        }
    }

    #[test]
    fn parts_of_a_grid_have_short_borders() {
        let network = crate::generate::generate("grid", &[("side", "60"), ("d", "2")], 1).expect("a family");
        let problem =
            std::sync::Arc::new(crate::reduce::Reducer::unreduced(&network, &Default::default()).expect("no limit").1);
        let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
        let owners = owners(&context, 2);
        let border: u32 = (0..2).flat_map(|part| PartClasses::new(&context, &owners, part).border).sum();
        assert!(border <= 4 * 60, "{border}");
    }
}
