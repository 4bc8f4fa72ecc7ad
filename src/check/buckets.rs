//! Elimination of the residual problem of a search node: exact, or by mini-buckets (Dechter and Rish 2003) where exact
//! is too large. The plan is simple: the variable whose bucket has the fewest combinations goes next; the tables of a
//! bucket, largest first, each join the mini-bucket that grows least and stays within the size limit.

use super::elimination::{Term, minimise};
use super::tables::{self, axes, combinations, sum};
use crate::model::{Cost, FORBIDDEN};
use rustc_hash::FxHashMap;

/// Mini-buckets have up to 2^k combinations each; no table is larger than this.
const MOST_BITS: u32 = 30;

/// A residual problem: the number of values of each variable, and the scopes of its tables.
pub(super) struct Rest {
    /// By variable; an assigned or absent one has at most one.
    pub(super) sizes: Vec<usize>,
    /// Of functions and unary costs; only variables of several values.
    pub(super) scopes: Vec<Vec<u32>>,
}

/// The size of an elimination.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Combinations, saturating.
    pub(super) joint: u64,
    /// Entries of all functions and messages, a bound on those in memory at any time.
    pub(super) entries: u64,
}

impl Rest {
    fn room(&self, scope: &[u32]) -> u64 {
        scope.iter().fold(1, |room: u64, &v| room.saturating_mul(self.sizes[v as usize] as u64))
    }

    /// The greedy elimination order by fewest joint entries, and the sum of these entries. Past `most` entries the rest
    /// of the order is arbitrary.
    pub(super) fn order(&self, most: u64) -> (Vec<u32>, u64) {
        let mut left: Vec<u32> = (0..self.sizes.len() as u32).filter(|&v| self.sizes[v as usize] > 1).collect();
        let mut neighbours: FxHashMap<u32, Vec<u32>> = left.iter().map(|&v| (v, Vec::new())).collect();
        for scope in &self.scopes {
            join(&mut neighbours, scope);
        }
        let (mut order, mut joint) = (Vec::new(), 0u64);
        let mut room: FxHashMap<u32, u64> = left.iter().map(|&v| (v, self.bucket(&neighbours, v))).collect();
        while let Some((at, &v)) = left.iter().enumerate().min_by_key(|(_, v)| (room[*v], **v)) {
            joint = joint.saturating_add(room[&v]);
            let _ = left.swap_remove(at);
            let own = neighbours.remove(&v).unwrap_or_default();
            for u in &own {
                if let Some(others) = neighbours.get_mut(u) {
                    others.retain(|&w| w != v);
                }
            }
            join(&mut neighbours, &own);
            for &u in &own {
                let _ = room.insert(u, self.bucket(&neighbours, u));
            }
            order.push(v);
            if joint > most {
                order.extend(left);
                break;
            }
        }
        (order, joint)
    }

    fn bucket(&self, neighbours: &FxHashMap<u32, Vec<u32>>, v: u32) -> u64 {
        self.room(&neighbours[&v]).saturating_mul(self.sizes[v as usize] as u64)
    }

    /// The mini-bucket of each table of a bucket, given by their scopes.
    fn split(&self, own: &[&[u32]], most: u64) -> Vec<usize> {
        let mut largest: Vec<usize> = (0..own.len()).collect();
        largest.sort_by_key(|&table| std::cmp::Reverse(self.room(own[table])));
        let mut together: Vec<(Vec<u32>, u64)> = Vec::new();
        let mut number = vec![0; own.len()];
        for table in largest {
            let grown = |(scope, room): &(Vec<u32>, u64)| {
                let new = own[table].iter().filter(|u| !scope.contains(u));
                new.fold(*room, |room, &u| room.saturating_mul(self.sizes[u as usize] as u64))
            };
            let best = together.iter().map(|bucket| (grown(bucket), grown(bucket) / bucket.1)).enumerate();
            // a table that adds no variable may join a larger one
            let best = best.filter(|(_, (room, growth))| *room <= most || *growth == 1);
            let best = best.min_by_key(|&(at, (_, growth))| (growth, at));
            match best {
                Some((at, (room, _))) => {
                    let (scope, size) = &mut together[at];
                    scope.extend(own[table].iter().filter(|u| !scope.contains(u)).copied().collect::<Vec<_>>());
                    (number[table], *size) = (at, room);
                }
                None => {
                    number[table] = together.len();
                    together.push((own[table].to_vec(), self.room(own[table])));
                }
            }
        }
        number
    }

    /// The size of an elimination in `order` with mini-buckets of at most `most` combinations.
    pub(super) fn taken(&self, order: &[u32], most: u64) -> Taken {
        let mut taken = Taken::default();
        let mut tables: Vec<Vec<u32>> = self.scopes.clone();
        taken.entries = tables.iter().fold(0, |entries, scope| entries.saturating_add(self.room(scope)));
        for &v in order {
            let (own, rest): (Vec<_>, Vec<_>) = tables.into_iter().partition(|scope| scope.contains(&v));
            tables = rest;
            for scope in self.messages(v, &own, most) {
                let entries = self.room(&scope);
                taken.joint = taken.joint.saturating_add(entries.saturating_mul(self.sizes[v as usize] as u64));
                taken.entries = taken.entries.saturating_add(entries);
                tables.push(scope);
            }
        }
        taken
    }

    /// The scopes of the messages of a variable's mini-buckets.
    fn messages(&self, v: u32, own: &[Vec<u32>], most: u64) -> Vec<Vec<u32>> {
        let number = self.split(&own.iter().map(|scope| &scope[..]).collect::<Vec<_>>(), most);
        let mut scopes: Vec<Vec<u32>> = vec![Vec::new(); number.iter().max().map_or(0, |&last| last + 1)];
        for (scope, &number) in own.iter().zip(&number) {
            scopes[number].extend(scope.iter().filter(|&&u| u != v));
        }
        for scope in &mut scopes {
            scope.sort_unstable();
            scope.dedup();
        }
        scopes
    }

    /// The largest mini-buckets that stay within `joint` combinations and `entries` entries in all.
    pub(super) fn fitting(&self, order: &[u32], joint: u64, entries: u64) -> Option<u64> {
        let fits = |most: &u64| {
            let taken = self.taken(order, *most);
            taken.joint <= joint && taken.entries <= entries
        };
        (1..MOST_BITS).rev().map(|bits| 1 << bits).filter(|&most| most <= joint.max(2)).find(fits)
    }

    /// A lower bound on the sum of the tables, by mini-buckets of at most `most` combinations; `limit` where that is
    /// reached. Each table is laid out by its scope, the last variable running fastest.
    pub(super) fn eliminate(&self, costs: Vec<Vec<Cost>>, order: &[u32], most: u64, limit: Cost) -> Cost {
        let mut turn = vec![0; self.sizes.len()];
        for (place, &v) in order.iter().enumerate() {
            turn[v as usize] = place;
        }
        // the next variable runs fastest
        let arrange = |scope: &mut [u32]| scope.sort_by_key(|&v| std::cmp::Reverse(turn[v as usize]));
        let sizes = |scope: &[u32]| scope.iter().map(|&v| self.sizes[v as usize]).collect::<Vec<_>>();
        let lay = |(scope, costs): (&Vec<u32>, Vec<Cost>)| {
            let (mut arranged, along) = (scope.clone(), axes(&sizes(scope)));
            arrange(&mut arranged);
            let axes: Vec<_> = arranged.iter().filter_map(|v| scope.iter().position(|u| u == v)).collect();
            let axes: Vec<_> = axes.into_iter().map(|place| along[place].clone()).collect();
            let costs = if arranged == *scope { costs } else { tables::gather(&costs, &axes) };
            (arranged, costs)
        };
        let mut tables: Vec<(Vec<u32>, Vec<Cost>)> = self.scopes.iter().zip(costs).map(lay).collect();
        let mut total = 0;
        for &v in order {
            let (own, rest): (Vec<_>, Vec<_>) = tables.into_iter().partition(|(scope, _)| scope.contains(&v));
            tables = rest;
            let number = self.split(&own.iter().map(|(scope, _)| &scope[..]).collect::<Vec<_>>(), most);
            for at in 0..number.iter().max().map_or(0, |&last| last + 1) {
                let members = || own.iter().zip(&number).filter(|&(_, &number)| number == at).map(|(table, _)| table);
                let mut scope: Vec<u32> = members().flat_map(|(scope, _)| scope).copied().filter(|&u| u != v).collect();
                arrange(&mut scope);
                scope.dedup();
                let terms: Vec<Term> =
                    members().map(|(own, costs)| Term::new(own, &sizes(own), costs, &scope, v)).collect();
                let mut message = minimise(&terms, &sizes(&scope), self.sizes[v as usize]);
                let least = message.iter().copied().fold(FORBIDDEN, Cost::min);
                total = sum(total, least);
                if total >= limit {
                    return limit;
                }
                if !scope.is_empty() {
                    message.iter_mut().for_each(|cost| *cost = tables::less(*cost, least));
                    tables.push((scope, message));
                }
            }
        }
        // a table without variables is a constant
        tables.iter().map(|(scope, costs)| if scope.is_empty() { costs[0] } else { 0 }).fold(total, sum).min(limit)
    }

    /// Combinations of all tables.
    pub(super) fn entries(&self) -> u64 {
        self.scopes
            .iter()
            .map(|scope| combinations(&scope.iter().map(|&v| self.sizes[v as usize]).collect::<Vec<_>>()))
            .sum()
    }
}

/// Makes variables neighbours of each other.
fn join(neighbours: &mut FxHashMap<u32, Vec<u32>>, together: &[u32]) {
    for v in together {
        let Some(known) = neighbours.get_mut(v) else { continue };
        for u in together {
            if u != v && !known.contains(u) {
                known.push(*u);
            }
        }
    }
}
