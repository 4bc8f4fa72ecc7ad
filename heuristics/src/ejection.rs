//! Ejection chains (Glover, "Ejection chains, reference structures and alternating path methods", 1996): a variable
//! takes a value, and the variables with which it then conflicts change theirs.

use super::cuda::MEMBERS;
use super::{Neighbourhood, View};
use crate::device::Source;
use crate::rng::Rng;
use crate::texts::HEURISTICS;

/// A neighbourhood of ejection chains. A random variable takes another value. The variables of the functions whose
/// costs rise then take their cheapest values, those of the largest increase first, and so on.
#[derive(Clone, Copy, Debug)]
pub struct Ejection {
    /// The largest number of variables that one variable ejects.
    pub breadth: usize,
    /// The largest number of variables of a chain.
    pub longest: usize,
}

impl Ejection {
    /// Adds the chain that begins with `variable` taking `value` to `group`.
    pub fn chain(&self, view: &View<'_>, variable: usize, value: usize, group: &mut Vec<(u32, u16)>) {
        let mut values = view.values().to_vec();
        let (mut others, mut costs) = (Vec::new(), Vec::new());
        group.push((variable as u32, value as u16));
        let mut next = 0;
        while let Some(&(moved, value)) = group.get(next) {
            next += 1;
            view.with(&values).clashes(moved as usize, usize::from(value), &mut others);
            values[moved as usize] = value;
            for &other in others.iter().take(self.breadth) {
                if group.len() == self.longest || group.iter().any(|&(member, _)| member == other) {
                    continue;
                }
                view.with(&values).costs(other as usize, &mut costs);
                let cheapest = (0..costs.len()).min_by_key(|&value| costs[value]).unwrap_or(0);
                if cheapest != view.value(other as usize) {
                    group.push((other, cheapest as u16));
                }
            }
        }
    }
}

impl Neighbourhood for Ejection {
    fn propose(&self, view: &View<'_>, rng: &mut Rng, group: &mut Vec<(u32, u16)>) {
        let variable = rng.index(view.variables());
        let domain = view.domain(variable);
        if domain > 1 {
            let value = (view.value(variable) + 1 + rng.index(domain - 1)) % domain;
            self.chain(view, variable, value, group);
        }
    }

    fn cuda(&self) -> Option<Source> {
        let Ejection { breadth, longest } = self;
        let mut source = HEURISTICS.including("ejection.cuh");
        source.text.push_str(&format!("typedef Ejection<{breadth}, {longest}> Groups;\n"));
        (*longest <= MEMBERS).then_some(source)
    }
}
