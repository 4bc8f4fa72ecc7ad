//! Ejection chains (Glover: "Ejection chains, reference structures and alternating path methods", 1996): a variable takes a
//! value, and what that clashes with gives way.

use super::{Neighbourhood, View};
use crate::rng::Rng;

/// A random variable takes another value; variables that a forbidden entry then names take their cheapest other value, and so
/// on, `depth` times.
#[derive(Clone, Copy, Debug)]
pub struct Ejection {
    /// Rows of variables that give way, one after the other.
    pub depth: usize,
}

/// Variables that move together, at most: longer chains hardly ever pay.
const LONGEST: usize = 12;

impl Ejection {
    /// The chain that follows where `variable` takes `value`.
    pub fn chain(&self, view: &View<'_>, (variable, value): (usize, usize), group: &mut Vec<(u32, u16)>) {
        let mut values = view.values().to_vec();
        let (mut others, mut costs) = (Vec::new(), Vec::new());
        values[variable] = value as u16;
        group.push((variable as u32, value as u16));
        let mut next = 0;
        for _ in 0..self.depth {
            for place in next..group.len() {
                let (moved, value) = group[place];
                next = place + 1;
                view.with(&values).clashes(moved as usize, usize::from(value), &mut others);
                for &other in &others {
                    if group.len() == LONGEST || group.iter().any(|&(member, _)| member == other) {
                        continue;
                    }
                    view.with(&values).costs(other as usize, &mut costs);
                    let cheapest = (0..costs.len()).min_by_key(|&value| costs[value]).unwrap_or(0) as u16;
                    values[other as usize] = cheapest;
                    group.push((other, cheapest));
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
            self.chain(view, (variable, value), group);
        }
    }
}
