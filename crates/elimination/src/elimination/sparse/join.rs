//! The join of a bucket's tables and the minimum over its variable, by rows: only combinations that some table lists
//! are visited.
//!
//! One table, that with the most rows, is the *driver*: its rows of one value of the eliminated variable are a run
//! sorted by the other positions, and the runs are merged, so that rows that differ only in the eliminated variable are
//! adjacent (a *group*). Each other table is a *stage*: an index from the positions that the joint key has so far to
//! the rows that agree with it, those of least cost first, which extend the key by the table's new positions. The rows
//! of a message that come from one group differ from those of all other groups, because the message has all other
//! positions of the driver. So minima are taken within groups: no joint table is stored, only messages whose keys
//! stages extend are sorted, and groups are independent of each other.
//!
//! CUBE (Bistaffa, Bombieri and Farinelli, "An efficient approach for accelerating bucket elimination on GPUs", section
//! IV) joins two tables at a time: it sorts both by the positions that they share, writes all pairs, and sorts the
//! result once more. The joint table, for which that needs memory, is several times as large as the message.

use super::join_plan::{JoinPlan, StagePlan};
use super::key::{Key, Projection, Row};
use crate::model::Cost;
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Approximate number of the driver's rows in a part, which is the unit of work of a thread.
const PART: usize = 1 << 11;
/// Size of a direct index: at most `PLACES` entries for each row, but `FREE_PLACES` in any case.
const PLACES: usize = 4;
const FREE_PLACES: usize = 1 << 12;
/// Number of rows of a group that are stored at first before equal keys are merged. `COUNT` is the number of new rows
/// after which a part reports to the shared limits; `POLL` is the work between two checks of the stop flag.
const ROOM: usize = 1 << 16;
/// Number of rows of a group beyond which a join gives up: such tables are not sparse, and sorting takes seconds.
const LARGEST_GROUP: usize = 1 << 20;
const COUNT: usize = 1 << 12;
const POLL: u64 = 1 << 16;

/// The ranges of the rows of each key.
#[derive(Debug)]
enum Index<K> {
    /// For each key, the start of its rows, which is the end of the rows of the key before.
    Direct(Vec<u32>),
    /// The ranges by hash, for tables whose keys are too far apart for a direct index.
    Hashed(FxHashMap<K, (u32, u32)>),
}

/// A table that extends joint keys.
#[derive(Debug)]
struct Stage<K> {
    /// Projection of a joint key to a key of the index.
    shared: Projection<K>,
    index: Index<K>,
    /// New fields of the joint key, and costs; rows of equal index keys have ascending costs.
    rows: Vec<Row<K>>,
    /// The sum of the least costs of the stages that follow.
    rest: Cost,
}

/// A prepared join: everything except the driver's rows.
#[derive(Debug)]
pub(crate) struct Join<K> {
    pub join_plan: JoinPlan<K>,
    stages: Vec<Stage<K>>,
    /// The start of each run of the driver, and at last the end.
    runs: Vec<usize>,
    /// Keys without the eliminated variable at which parts begin.
    cuts: Vec<K>,
}

/// Rows of a message, and the number of rows visited to make them.
pub(crate) struct Part<K> {
    pub rows: Vec<Row<K>>,
    pub work: u64,
    /// Whether rows are missing because a limit was exceeded.
    pub over: bool,
}

impl<K: Key> Join<K> {
    /// Prepares a join of `tables`, the sorted rows of the plan's operands. The eliminated variable has `domain`
    /// values.
    pub fn new(join_plan: JoinPlan<K>, domain: u32, tables: &[&[Row<K>]]) -> Self {
        let stages = join_plan.stages.iter().map(|stage| Stage::new(stage, tables[stage.operand])).collect();
        let rows = tables[join_plan.driver];
        let begin = |value| rows.partition_point(|row| row.0 < K::value(value) << join_plan.others);
        let runs = (0..domain).map(begin).chain([rows.len()]).collect();
        let own = K::ones(join_plan.others);
        let mut cuts: Vec<K> = rows.iter().step_by(PART).skip(1).map(|row| row.0 & own).collect();
        cuts.sort_unstable();
        cuts.dedup();
        Join { join_plan, stages, runs, cuts }
    }

    /// Returns the number of parts into which the join is divided.
    pub fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Returns whether the rows of all parts are sorted if the parts are concatenated.
    pub fn sorted(&self) -> bool {
        !self.join_plan.grows
    }

    /// Returns the bytes of the tables made for the join.
    pub fn bytes(&self) -> u64 {
        let bytes = |stage: &Stage<K>| {
            let index = match &stage.index {
                Index::Direct(starts) => size_of_val(&starts[..]),
                // a hash table's buckets are between about half and seven eighths full
                Index::Hashed(ends) => ends.capacity() * size_of::<(K, (u32, u32))>(),
            };
            (index + size_of_val(&stage.rows[..])) as u64
        };
        self.stages.iter().map(bytes).sum()
    }

    /// Makes one part of the message from the driver's rows. Ends early if a limit is exceeded or the stop flag is set.
    pub fn part(&self, number: usize, rows: &[Row<K>], limits: &Limits<'_>) -> Part<K> {
        let own = K::ones(self.join_plan.others);
        // the remaining rows of each run
        let mut runs: Vec<&[Row<K>]> = self
            .runs
            .windows(2)
            .map(|ends| {
                let run = &rows[ends[0]..ends[1]];
                let cut = |cut: Option<&K>, none| cut.map_or(none, |&cut| run.partition_point(|row| row.0 & own < cut));
                let begin = if number == 0 { 0 } else { cut(self.cuts.get(number - 1), 0) };
                &run[begin..cut(self.cuts.get(number), run.len())]
            })
            .filter(|run| !run.is_empty())
            .collect();
        let part = Part { rows: Vec::new(), work: 0, over: false };
        let grows = self.join_plan.grows;
        let mut found = Found { part, rows: Vec::new(), room: ROOM, counted: 0, grows, limits };
        while let Some(key) = runs.iter().filter_map(|run| run.first()).map(|row| row.0 & own).min() {
            for run in &mut runs {
                if let Some((first, left)) = run.split_first()
                    && first.0 & own == key
                {
                    *run = left;
                    found.part.work += 1;
                    self.extend(&self.stages, self.join_plan.lay.of(first.0), first.1, &mut found);
                }
            }
            found.close();
            if found.is_over() {
                break;
            }
        }
        found.part
    }

    fn extend(&self, stages: &[Stage<K>], key: K, sum: Cost, found: &mut Found<'_, K>) {
        let Some((stage, stages)) = stages.split_first() else {
            if sum < self.join_plan.limit {
                found.push(key & self.join_plan.message, sum);
            }
            return;
        };
        let room = self.join_plan.limit - stage.rest - sum;
        for &(new, cost) in stage.of(key).iter().take_while(|row| row.1 < room) {
            found.part.work += 1;
            if found.is_over() {
                return;
            }
            self.extend(stages, key | new, sum + cost, found);
        }
    }
}

/// The limits that parts made at the same time share.
pub(crate) struct Limits<'a> {
    /// Approximate number of rows of all these parts. `most` is the largest permitted number.
    pub rows: AtomicUsize,
    pub most: usize,
    /// The largest permitted work of one part.
    pub work: u64,
    pub stop: &'a Stop,
}

/// A part in progress, and the rows of the current group: the join of one key of nine tables may have 10^12 rows.
struct Found<'a, K> {
    part: Part<K>,
    rows: Vec<Row<K>>,
    /// Number of rows at which, of rows with equal keys, all but that of least cost are removed.
    room: usize,
    /// Number of rows reported to the limits. It only grows, so exceeding the limit early is exceeding it.
    counted: usize,
    grows: bool,
    limits: &'a Limits<'a>,
}

impl<K: Key> Found<'_, K> {
    #[inline(always)]
    fn is_over(&self) -> bool {
        let work = self.part.work;
        self.part.over || work > self.limits.work || work.is_multiple_of(POLL) && self.limits.stop.is_set()
    }

    #[inline(always)]
    fn push(&mut self, key: K, sum: Cost) {
        match self.rows.first_mut().filter(|_| !self.grows) {
            Some(row) => row.1 = row.1.min(sum),
            None => self.rows.push((key, sum)),
        }
        if self.rows.len() >= self.room {
            self.tidy();
            self.room = self.room.max(2 * self.rows.len());
            self.part.over |= self.rows.len() > LARGEST_GROUP;
            self.count();
        }
    }

    /// Keeps the row of least cost for each key, sorted by key.
    fn tidy(&mut self) {
        if self.grows {
            self.rows.sort_unstable();
            self.rows.dedup_by_key(|row| row.0);
        }
    }

    /// Completes the current group.
    fn close(&mut self) {
        self.tidy();
        self.part.rows.append(&mut self.rows);
        if self.part.rows.len() >= self.counted + COUNT {
            self.count();
        }
    }

    fn count(&mut self) {
        let rows = self.part.rows.len() + self.rows.len();
        let before = self.limits.rows.fetch_add(rows - self.counted, Relaxed);
        self.part.over |= before + rows - self.counted > self.limits.most;
        self.counted = rows;
    }
}

impl<K: Key> Stage<K> {
    fn new(join_plan: &StagePlan<K>, rows: &[Row<K>]) -> Self {
        let StagePlan { bits, rest, .. } = *join_plan;
        let row = |&(key, cost): &Row<K>| (join_plan.of_table.of(key), cost, join_plan.added.of(key));
        let mut sorted: Vec<(K, Cost, K)> = rows.iter().map(row).collect();
        // without new fields keys keep their order
        if join_plan.grows {
            sorted.par_sort_unstable();
        }
        let most = FREE_PLACES.max(sorted.len().saturating_mul(PLACES));
        let index = if bits < usize::BITS - 1 && 1 << bits <= most {
            let mut starts = vec![0u32; (1 << bits) + 1];
            for row in &sorted {
                starts[row.0.place() + 1] += 1;
            }
            for place in 1..starts.len() {
                starts[place] += starts[place - 1];
            }
            Index::Direct(starts)
        } else {
            let mut ends = FxHashMap::default();
            ends.reserve(if join_plan.grows { 0 } else { sorted.len() });
            let mut begin = 0u32;
            for group in sorted.chunk_by(|a, b| a.0 == b.0) {
                let end = begin + group.len() as u32;
                let _ = ends.insert(group[0].0, (begin, end));
                begin = end;
            }
            Index::Hashed(ends)
        };
        let rows = sorted.into_iter().map(|(_, cost, new)| (new, cost)).collect();
        Stage { shared: join_plan.shared.clone(), index, rows, rest }
    }

    /// Returns the rows that agree with a joint key.
    #[inline(always)]
    fn of(&self, key: K) -> &[Row<K>] {
        let key = self.shared.of(key);
        match &self.index {
            Index::Direct(starts) => {
                let place = key.place();
                &self.rows[starts[place] as usize..starts[place + 1] as usize]
            }
            Index::Hashed(ends) => match ends.get(&key) {
                Some(&(begin, end)) => &self.rows[begin as usize..end as usize],
                None => &[],
            },
        }
    }
}
