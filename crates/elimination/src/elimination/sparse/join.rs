//! Joins the tables of a bucket and takes the minimum over its variable, by rows: only combinations that some table
//! lists are looked at.
//!
//! One table, the one with the most rows, *drives*: its rows of one value of the eliminated variable are a run sorted
//! by the other positions, and the runs are merged, so that rows that differ in nothing but the eliminated variable
//! meet (a *group*). Each of the other tables is a *stage*: an index from the positions that the joint key has by
//! then to the rows that agree with it, the cheapest first, which extend the key by what is new. All rows of a
//! message that come from one group differ from those of all other groups, as the message has all other positions of
//! the driver. So minima are taken within groups: no joint table, no sort but of the message where stages extend
//! keys, and groups are independent of each other.
//!
//! CUBE (Bistaffa, Bombieri and Farinelli, "An efficient approach for accelerating bucket elimination on GPUs",
//! section IV) joins two tables at a time: both are sorted by what they share, all pairs are written, and what that
//! gives is sorted once more. The joint table, which that needs memory for, is several times as large as the message.

use super::join_plan::{JoinPlan, StagePlan};
use super::key::{Key, Projection, Row};
use crate::model::Cost;
use crate::stop::Stop;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Rows of the driver in a part, about: what a thread does at a time.
const PART: usize = 1 << 11;
/// Places of an index for each of its rows, at most, and at any rate.
const PLACES: usize = 4;
const FREE_PLACES: usize = 1 << 12;
/// Rows of a group that are kept before equal keys are merged, at first; rows between two looks at what all parts
/// have; work between two looks at the stop flag.
const ROOM: usize = 1 << 16;
/// Rows of a group from which on tables are not sparse: to sort more takes seconds.
const LARGEST_GROUP: usize = 1 << 20;
const COUNT: usize = 1 << 12;
const POLL: u64 = 1 << 16;

/// Where the rows with a key begin and end.
#[derive(Debug)]
enum Index<K> {
    /// For each key where its rows begin, which is where those of the one before end.
    Direct(Vec<u32>),
    /// Tables whose keys are too far apart for that.
    Hashed(FxHashMap<K, (u32, u32)>),
}

/// A table that extends joint keys.
#[derive(Debug)]
struct Stage<K> {
    /// From a joint key to one of the index.
    shared: Projection<K>,
    index: Index<K>,
    /// New fields of the joint key, and costs; those of one key with ascending costs.
    rows: Vec<Row<K>>,
    /// What the stages that follow cost at least.
    rest: Cost,
}

/// A join on its way: everything but the driver's rows.
#[derive(Debug)]
pub(crate) struct Join<K> {
    pub join_plan: JoinPlan<K>,
    stages: Vec<Stage<K>>,
    /// The runs of the driver: where each begins, and last its end.
    runs: Vec<usize>,
    /// Keys, the eliminated variable left out, at which parts begin.
    cuts: Vec<K>,
}

/// Rows of a message, and how many rows were looked at for them.
pub(crate) struct Part<K> {
    pub rows: Vec<Row<K>>,
    pub work: u64,
    /// Rows are missing: there would be too many.
    pub over: bool,
}

impl<K: Key> Join<K> {
    /// Joins `tables`, sorted rows of the recipe's operands; the eliminated variable has `domain` values.
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

    /// In how many parts it is made.
    pub fn parts(&self) -> usize {
        self.cuts.len() + 1
    }

    /// Whether the parts one after the other are sorted.
    pub fn sorted(&self) -> bool {
        !self.join_plan.grows
    }

    /// Bytes of the tables made for it.
    pub fn bytes(&self) -> u64 {
        let bytes = |stage: &Stage<K>| {
            let index = match &stage.index {
                Index::Direct(starts) => size_of_val(&starts[..]),
                // its buckets are full to seven eighths at most, about to half at least
                Index::Hashed(ends) => ends.capacity() * size_of::<(K, (u32, u32))>(),
            };
            (index + size_of_val(&stage.rows[..])) as u64
        };
        self.stages.iter().map(bytes).sum()
    }

    /// One part of the message, from the driver's rows. Ends early where that passes a limit, and when told to stop.
    pub fn part(&self, number: usize, rows: &[Row<K>], limits: &Limits<'_>) -> Part<K> {
        let own = K::ones(self.join_plan.others);
        // what is left of each run
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

/// What parts that are made at the same time may take together.
pub(crate) struct Limits<'a> {
    /// Rows that they have, about, and may have.
    pub rows: AtomicUsize,
    pub most: usize,
    /// Work of one.
    pub work: u64,
    pub stop: &'a Stop,
}

/// A part, and the rows that the group at hand comes to: one key of nine tables may have 10^12.
struct Found<'a, K> {
    part: Part<K>,
    rows: Vec<Row<K>>,
    /// With so many rows the dearer ones of equal keys go.
    room: usize,
    /// Rows told to the limits. They only grow, so that passing the limit early is passing it.
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

    /// Of equal keys the cheapest row stays, in the keys' order.
    fn tidy(&mut self) {
        if self.grows {
            self.rows.sort_unstable();
            self.rows.dedup_by_key(|row| row.0);
        }
    }

    /// The group is complete.
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

    /// The rows that agree with a joint key.
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
