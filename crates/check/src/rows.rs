//! Exact elimination by sparse tables that list only the tuples below the limit. If the constant is near the limit,
//! these are few, however large the dense tables are. Every order is sound. The length of the tables shows only during
//! the run, so a certificate states a limit for it.
//!
//! The least cost of every table is 0, because that of each message moves to the constant. So a row, or a partial sum
//! of rows, that reaches the limit less the constant is part of no assignment below the limit and is omitted.

use super::state::{Function, State};
use super::tables;
use super::tuning::{NEW_ROW, ROW};
use crate::certificate::Rows;
use crate::model::{Cost, Table};
use rustc_hash::FxHashMap;

/// The values of some variables in one number, and a cost.
type Row = (u128, Cost);

/// Returns the bound of an elimination of the current network: the constant plus the least cost of all tables, or the
/// limit.
pub(super) fn run(mut state: State, task: &Rows) -> Result<Cost, String> {
    state.limit_to_finite_costs();
    state.check_room()?;
    if state.closed {
        return Ok(state.proven(0));
    }
    let mut elimination =
        Elimination { constant: 0, dear: state.dear(), messages: Vec::new(), work: task.work, bytes: task.bytes };
    for &v in &task.order {
        state.present(v)?;
        if !elimination.eliminate(&mut state, v).map_err(|what| format!("variable {v}: {what}"))? {
            return Ok(state.proven(i128::MAX >> 1));
        }
        state.leave(v);
    }
    Ok(state.proven(elimination.constant.into()))
}

/// The bits of each variable of a scope in a key, the first variable lowest.
struct Fields {
    shifts: Vec<u32>,
    bits: Vec<u32>,
}

impl Fields {
    fn new(sizes: &[usize]) -> Result<Fields, String> {
        let (mut shifts, mut end) = (Vec::new(), 0);
        let bits: Vec<u32> = sizes.iter().map(|&size| usize::BITS - (size - 1).leading_zeros()).collect();
        for bits in &bits {
            shifts.push(end);
            end += bits;
        }
        if end >= u128::BITS {
            return Err(format!("the values of {} variables take more than 127 bits", sizes.len()));
        }
        Ok(Fields { shifts, bits })
    }

    fn mask(&self, place: usize) -> u128 {
        ((1 << self.bits[place]) - 1) << self.shifts[place]
    }
}

/// A sparse table.
struct Listed {
    scope: Vec<u32>,
    rows: Vec<Row>,
}

/// A table indexed by the variables that it shares with the tables before it.
struct Level {
    shared: u128,
    rows: Vec<Row>,
    runs: FxHashMap<u128, (usize, usize)>,
}

impl Level {
    fn new(mut rows: Vec<Row>, shared: u128) -> Level {
        rows.sort_unstable_by_key(|&(key, _)| key & shared);
        let (mut runs, mut begin) = (FxHashMap::default(), 0);
        for run in rows.chunk_by(|a, b| a.0 & shared == b.0 & shared) {
            let _ = runs.insert(run[0].0 & shared, (begin, begin + run.len()));
            begin += run.len();
        }
        Level { shared, rows, runs }
    }
}

/// The state of an elimination.
struct Elimination {
    constant: Cost,
    dear: Cost,
    messages: Vec<Listed>,
    /// Number of rows that may still be visited.
    work: u64,
    /// Bytes that rows may take at a time.
    bytes: u64,
}

/// The message of a variable in the making.
struct Message {
    rows: FxHashMap<u128, Cost>,
    /// Number of bits of the eliminated variable, which are the lowest of a key.
    own: u32,
    dear: Cost,
    work: u64,
    most: u64,
}

impl Message {
    /// Extends a row through all tables; returns whether work and memory were sufficient.
    fn extend(&mut self, levels: &[Level], key: u128, cost: Cost) -> bool {
        let Some((level, rest)) = levels.split_first() else {
            let least = self.rows.entry(key >> self.own).or_insert(cost);
            *least = cost.min(*least);
            return self.rows.len() as u64 <= self.most;
        };
        let Some(&(begin, end)) = level.runs.get(&(key & level.shared)) else { return true };
        for &(more, own) in &level.rows[begin..end] {
            let Some(left) = self.work.checked_sub(1) else { return false };
            self.work = left;
            if cost + own < self.dear && !self.extend(rest, key | more, cost + own) {
                return false;
            }
        }
        true
    }
}

impl Elimination {
    /// Replaces all tables of a variable by their message; returns whether an assignment below the limit may be left.
    fn eliminate(&mut self, state: &mut State, v: u32) -> Result<bool, String> {
        let mut tables = vec![Listed { scope: vec![v], rows: Vec::new() }];
        let own = (0..).zip(std::mem::take(&mut state.unary[v as usize]));
        tables[0].rows.extend(own.filter(|&(_, cost)| cost < self.dear));
        for function in state.take_functions_of(v) {
            tables.push(self.list(state, &function)?);
        }
        let (of_v, others) = std::mem::take(&mut self.messages).into_iter().partition(|m| m.scope.contains(&v));
        self.messages = others;
        tables.extend::<Vec<Listed>>(of_v);

        let mut scope = vec![v];
        for u in tables.iter().flat_map(|table| table.scope.clone()) {
            if !scope.contains(&u) {
                scope.push(u);
            }
        }
        let fields = Fields::new(&state.sizes(&scope))?;
        let mut joined = 0;
        let mut waiting = Vec::new();
        for Listed { scope: own, rows } in tables {
            joined += rows.len() as u64;
            let places: Vec<usize> = own.iter().filter_map(|u| scope.iter().position(|w| w == u)).collect();
            let from = Fields::new(&state.sizes(&own))?;
            let field = |key: u128, (k, &place): (usize, &usize)| {
                (key & from.mask(k)) >> from.shifts[k] << fields.shifts[place]
            };
            let rows = rows
                .into_iter()
                .map(|(key, cost)| (places.iter().enumerate().fold(0, |all, at| all | field(key, at)), cost));
            let mask = places.iter().fold(0, |mask, &place| mask | fields.mask(place));
            waiting.push((mask, rows.collect::<Vec<Row>>()));
        }
        let held: u64 = self.messages.iter().map(|message| message.rows.len() as u64).sum::<u64>() + joined;
        let room = self.bytes.checked_sub(held.saturating_mul(ROW)).ok_or_else(too_much)?;
        self.work = self.work.checked_sub(joined).ok_or_else(too_much)?;

        // the longest table first, then those that add the fewest bits
        let longest = (0..waiting.len()).max_by_key(|&at| waiting[at].1.len()).unwrap_or(0);
        let (mut known, first) = waiting.swap_remove(longest);
        let mut levels = Vec::new();
        while let Some(next) =
            (0..waiting.len()).min_by_key(|&at| ((waiting[at].0 & !known).count_ones(), waiting[at].1.len()))
        {
            let (mask, rows) = waiting.swap_remove(next);
            levels.push(Level::new(rows, mask & known));
            known |= mask;
        }
        let (own, dear, work) = (fields.bits[0], self.dear, self.work);
        let mut message = Message { rows: FxHashMap::default(), own, dear, work, most: room / NEW_ROW };
        for (key, cost) in first {
            if !message.extend(&levels, key, cost) {
                return Err(too_much());
            }
        }
        self.work = message.work;
        let Some(least) = message.rows.values().copied().min() else { return Ok(false) };
        self.constant += least;
        self.dear -= least;
        let _ = scope.remove(0);
        let rows = message.rows.into_iter().map(|(key, cost)| (key, cost - least)).collect();
        if !scope.is_empty() {
            self.messages.push(Listed { scope, rows });
        }
        Ok(true)
    }

    /// Returns the rows of a function that are below the limit.
    fn list(&self, state: &State, Function { scope, table }: &Function) -> Result<Listed, String> {
        let sizes = state.sizes(scope);
        let fields = Fields::new(&sizes)?;
        let key = |values: &[u32]| {
            values.iter().zip(&fields.shifts).fold(0, |key, (&value, shift)| key | u128::from(value) << shift)
        };
        let mut rows = Vec::new();
        match table {
            Table::Sparse(sparse) if sparse.default_cost() >= self.dear => {
                let listed = sparse.iter().filter(|&(_, cost)| cost < self.dear);
                rows.extend(listed.map(|(values, cost)| (key(values), cost)));
            }
            _ => {
                let most = self.bytes / ROW;
                let mut values = vec![0; sizes.len()];
                for cost in &tables::dense(table, &sizes)? {
                    if cost < self.dear {
                        rows.push((key(&values), cost));
                    }
                    if rows.len() as u64 > most {
                        return Err(too_much());
                    }
                    for (value, &size) in values.iter_mut().zip(&sizes).rev() {
                        *value += 1;
                        if (*value as usize) < size {
                            break;
                        }
                        *value = 0;
                    }
                }
            }
        }
        Ok(Listed { scope: scope.to_vec(), rows })
    }
}

fn too_much() -> String {
    "rows take more work or memory than the certificate states".into()
}
