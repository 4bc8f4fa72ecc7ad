//! Elimination of the residual problem of a search node: exact, or by mini-buckets (Dechter and Rish 2003) if exact
//! elimination is too large. The plan is simple: the variable whose bucket has the fewest combinations is eliminated
//! next. The tables of a bucket, largest first, each join the mini-bucket that grows least and stays within the size
//! limit.

use super::elimination::{Term, minimise};
use super::tables::{self, axes, sum};
use super::tuning::MOST_BITS;
use crate::model::{Cost, FORBIDDEN};
use rustc_hash::FxHashMap;

/// A residual problem: the number of values of each variable, and the scopes of its tables.
pub(super) struct Rest {
    /// Number of values by variable; at most one for assigned or absent variables.
    pub(super) sizes: Vec<usize>,
    /// Scopes of functions and unary costs, without variables that have at most one value.
    pub(super) scopes: Vec<Vec<u32>>,
}

/// The size of an elimination.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Taken {
    /// Combinations visited, saturating.
    pub(super) joint: u64,
    /// Entries of all functions and messages: an upper bound on those in memory at any time.
    pub(super) entries: u64,
}

/// A mini-bucket: its variable, its tables (numbers of the problem's tables, followed by those of messages), and the
/// scope of its message.
struct Message {
    variable: u32,
    tables: Vec<usize>,
    scope: Vec<u32>,
}

impl Rest {
    fn room(&self, scope: &[u32]) -> u64 {
        scope.iter().fold(1, |room: u64, &v| room.saturating_mul(self.sizes[v as usize] as u64))
    }

    /// Returns the greedy elimination order by fewest joint entries, and the sum of these entries. Once the sum exceeds
    /// `most`, the rest of the order is arbitrary.
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

    /// Returns the mini-bucket of each table of a bucket, given by their scopes.
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

    /// Returns the messages of an elimination in `order` with mini-buckets of at most `most` combinations.
    fn plan(&self, order: &[u32], most: u64) -> Vec<Message> {
        let mut turn = vec![0; self.sizes.len()];
        order.iter().enumerate().for_each(|(place, &v)| turn[v as usize] = place);
        let mut plan: Vec<Message> = Vec::new();
        let mut open: Vec<usize> = (0..self.scopes.len()).collect();
        for &v in order {
            let scope = |table: usize| match table.checked_sub(self.scopes.len()) {
                Some(message) => &plan[message].scope,
                None => &self.scopes[table],
            };
            let (own, rest): (Vec<usize>, Vec<usize>) = open.iter().partition(|&&table| scope(table).contains(&v));
            let number = self.split(&own.iter().map(|&table| &scope(table)[..]).collect::<Vec<_>>(), most);
            let messages = (0..number.iter().max().map_or(0, |&last| last + 1)).map(|at| {
                let tables = own.iter().zip(&number).filter(|&(_, &number)| number == at);
                let tables: Vec<usize> = tables.map(|(&table, _)| table).collect();
                let variables = tables.iter().flat_map(|&table| scope(table)).copied();
                let mut scope: Vec<u32> = variables.filter(|&u| u != v).collect();
                // the variable that is eliminated next runs fastest
                scope.sort_by_key(|&v| std::cmp::Reverse(turn[v as usize]));
                scope.dedup();
                Message { variable: v, tables, scope }
            });
            let messages: Vec<Message> = messages.collect();
            let first = self.scopes.len() + plan.len();
            open = rest;
            open.extend(first..first + messages.len());
            plan.extend(messages);
        }
        plan
    }

    /// Returns the size of an elimination in `order` with mini-buckets of at most `most` combinations.
    pub(super) fn taken(&self, order: &[u32], most: u64) -> Taken {
        let mut taken = Taken { joint: 0, entries: self.entries() };
        for Message { variable, scope, .. } in self.plan(order, most) {
            let entries = self.room(&scope);
            taken.joint = taken.joint.saturating_add(entries.saturating_mul(self.sizes[variable as usize] as u64));
            taken.entries = taken.entries.saturating_add(entries);
        }
        taken
    }

    /// Returns the largest size of mini-buckets whose elimination stays within `joint` combinations and `entries`
    /// entries in total; `None` if there is none.
    pub(super) fn fitting(&self, order: &[u32], joint: u64, entries: u64) -> Option<u64> {
        let fits = |most: &u64| {
            let taken = self.taken(order, *most);
            taken.joint <= joint && taken.entries <= entries
        };
        (1..MOST_BITS).rev().map(|bits| 1 << bits).filter(|&most| most <= joint.max(2)).find(fits)
    }

    /// Returns a lower bound on the sum of the tables, by mini-buckets of at most `most` combinations, and at most
    /// `limit`. The entries of each table follow its scope, the last variable running fastest.
    pub(super) fn eliminate(&self, costs: Vec<Vec<Cost>>, order: &[u32], most: u64, limit: Cost) -> Cost {
        let mut turn = vec![0; self.sizes.len()];
        order.iter().enumerate().for_each(|(place, &v)| turn[v as usize] = place);
        let sizes = |scope: &[u32]| scope.iter().map(|&v| self.sizes[v as usize]).collect::<Vec<_>>();
        let lay = |(scope, costs): (&Vec<u32>, Vec<Cost>)| {
            let (mut places, along) = ((0..scope.len()).collect::<Vec<_>>(), axes(&sizes(scope)));
            places.sort_by_key(|&place| std::cmp::Reverse(turn[scope[place] as usize]));
            let axes: Vec<_> = places.iter().map(|&place| along[place].clone()).collect();
            let costs = if places.is_sorted() { costs } else { tables::gather(&costs, &axes) };
            (places.iter().map(|&place| scope[place]).collect(), costs)
        };
        // a table without variables is a constant
        let mut tables: Vec<(Vec<u32>, Vec<Cost>)> = self.scopes.iter().zip(costs).map(lay).collect();
        let constants = tables.iter().filter(|(scope, _)| scope.is_empty()).map(|(_, costs)| costs[0]);
        let mut total = constants.fold(0, sum);
        for Message { variable, tables: joined, scope } in self.plan(order, most) {
            let joined: Vec<_> = joined.iter().map(|&table| std::mem::take(&mut tables[table])).collect();
            let term = |(own, costs)| Term::new(own, &sizes(own), costs, &scope, variable);
            let terms: Vec<Term> = joined.iter().map(|(own, costs)| term((&own[..], &costs[..]))).collect();
            let mut message = minimise(&terms, &sizes(&scope), self.sizes[variable as usize]);
            let least = message.iter().copied().fold(FORBIDDEN, Cost::min);
            total = sum(total, least);
            if total >= limit {
                return limit;
            }
            message.iter_mut().for_each(|cost| *cost = tables::less(*cost, least));
            tables.push((scope, message));
        }
        total.min(limit)
    }

    /// Returns the entries of all tables, saturating.
    pub(super) fn entries(&self) -> u64 {
        self.scopes.iter().map(|scope| self.room(scope)).fold(0, u64::saturating_add)
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
