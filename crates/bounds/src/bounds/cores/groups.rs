//! Groups of literals of which at most one can hold, found as sets of literals that exclude each other in pairs.

use super::solver::Lit;
use crate::model::Cost;
use crate::stop::Stop;
use rustc_hash::FxHashMap;

/// Returns groups with the least weight of their literals, which is subtracted from the weights before the next group
/// is searched for. At least one literal of each pair holds, so the negations of the two exclude each other.
pub fn at_most_one(pairs: &[(Lit, Lit)], weight_of: impl Fn(Lit) -> Cost, stop: &Stop) -> Vec<(Vec<Lit>, Cost)> {
    let mut near: FxHashMap<Lit, Vec<Lit>> = FxHashMap::default();
    for &(one, other) in pairs {
        if one != other && weight_of(!one) > 0 && weight_of(!other) > 0 {
            near.entry(!one).or_default().push(!other);
            near.entry(!other).or_default().push(!one);
        }
    }
    for list in near.values_mut() {
        list.sort_unstable();
        list.dedup();
    }
    let mut weights: FxHashMap<Lit, Cost> = near.keys().map(|&literal| (literal, weight_of(literal))).collect();
    // literals with few neighbours first, because they are in few groups
    let few_first = |list: &mut Vec<Lit>| list.sort_unstable_by_key(|literal| (near[literal].len(), *literal));
    let mut literals: Vec<Lit> = near.keys().copied().collect();
    few_first(&mut literals);
    let mut groups = Vec::new();
    for first in literals {
        if stop.is_set() {
            break;
        }
        let mut others = near[&first].clone();
        few_first(&mut others);
        while weights[&first] > 0 {
            let mut group = vec![first];
            for &literal in others.iter().filter(|literal| weights[literal] > 0) {
                let own = &near[&literal];
                if group.iter().all(|member| own.binary_search(member).is_ok()) {
                    group.push(literal);
                }
            }
            if group.len() < 2 {
                break;
            }
            let weight = group.iter().map(|literal| weights[literal]).min().unwrap_or(0);
            for literal in &group {
                let _ = weights.entry(*literal).and_modify(|left| *left -= weight);
            }
            groups.push((group, weight));
        }
    }
    groups
}
