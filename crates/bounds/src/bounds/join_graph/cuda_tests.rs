//! An emulation of kernels/joingraph.cu on the host, compared with the host's own passes.

use super::cuda_words::Words;
use super::schedule::{Kind, Layout};
use super::tables::{Given, Host, Tables};
use crate::elimination::plan::{Limits, Plan};
use crate::elimination::testing::shuffled;
use crate::model::Cost;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tensor::tiles::Movable;
use fangs_testing::problems::random;
use std::ops::Range;
use std::sync::Arc;

const NEVER: i32 = i32::NEVER;
const UNSET: i32 = 0x3f3f_3f3f;

/// A device with tables and separator messages in one memory, and the offsets of separator messages.
struct Emulator {
    memory: Vec<i32>,
    offsets: Vec<u32>,
    constant: Cost,
}

impl Emulator {
    /// Emulates `graph_relax`.
    fn relax(&mut self, words: &Words, map: Range<u32>, range: Cost) {
        let left = range - self.constant;
        if left <= 0 {
            return;
        }
        let limit = left.min(NEVER.into()) as i32;
        for chunk in map {
            let own = words.operations[words.map[chunk as usize] as usize];
            let maps = &words.maps[own.maps as usize..][..(own.inputs + own.output) as usize];
            let begin = (chunk - own.first) * own.chunk;
            for block in begin..(begin + own.chunk).min(own.count) {
                let mut bases = vec![0; maps.len() + 1];
                let mut rest = block;
                for axis in 0..own.axes {
                    let size = words.sizes[(own.sizes + axis) as usize];
                    for (which, base) in bases.iter_mut().enumerate() {
                        let at = own.strides as usize + axis as usize * (maps.len() + 1) + which;
                        *base += u64::from(rest % size) * words.strides[at];
                    }
                    rest /= size;
                }
                for i in 0..u64::from(own.size) {
                    let at = (own.table + bases[0] + i) as usize;
                    let place = |which: usize| {
                        let map = maps[which];
                        let offset = self.offsets[(map.offsets + i) as usize];
                        (map.separator + bases[1 + which] + u64::from(offset)) as usize
                    };
                    let mut entry = self.memory[at];
                    for which in 0..own.inputs as usize {
                        entry = if entry >= NEVER { NEVER } else { entry + self.memory[place(which)] };
                    }
                    if own.inputs > 0 {
                        entry = if entry >= limit { NEVER } else { entry };
                        self.memory[at] = entry;
                    }
                    if own.output > 0 {
                        let separator = place(own.inputs as usize);
                        self.memory[separator] = self.memory[separator].min(entry);
                    }
                }
            }
        }
    }

    /// Emulates `graph_lowest` and `graph_exchange`.
    fn exchange(&mut self, words: &Words, map: Range<u32>, range: Cost) {
        let mut numbers: Vec<u32> = map.map(|chunk| words.map[chunk as usize]).collect();
        numbers.dedup();
        for number in numbers {
            let what = words.moves[number as usize];
            let (level, share) = (what.kind == 2, what.kind == 1);
            let at = |k: u64| ((what.from + k) as usize, (what.to + k) as usize);
            let sum = |k: u64| {
                let other = if level { self.memory[at(k).1].min(NEVER) } else { 0 };
                self.memory[at(k).0].min(NEVER) + other
            };
            let low = (0..what.entries).map(sum).min().unwrap_or(UNSET);
            self.constant += Cost::from(low).min(range);
            for k in 0..what.entries {
                let (from, to) = at(k);
                let entry = self.memory[from].min(NEVER);
                if level {
                    let other = self.memory[to].min(NEVER);
                    let (sum, left) = (entry + other, entry + other - low);
                    self.memory[from] = if sum >= NEVER { NEVER } else { left / 2 - entry };
                    self.memory[to] = if sum >= NEVER { NEVER } else { left - left / 2 - other };
                } else {
                    let rest = entry - low;
                    let part = if share { rest / what.parts as i32 } else { rest };
                    let gone = if share { part + low } else { entry };
                    self.memory[from] = if entry >= NEVER { 0 } else { -gone };
                    if what.to > 0 {
                        self.memory[to] = if entry >= NEVER { NEVER } else { part };
                    }
                }
            }
        }
    }
}

#[test]
fn words_of_passes_say_what_the_host_does() {
    let mut rng = Rng::new(51);
    let mut compared = 0;
    for round in 0..400 {
        let mut problem = random(&mut rng, 7);
        problem.constant = 0;
        let problem = Arc::new(problem);
        let order = shuffled(&problem, &mut rng);
        let limits = Limits { z: Some(1 + rng.below(6) as u32), ..Limits::new(1 << 30) };
        let plan = Plan::new(&problem, &order, &limits);
        let layout = Arc::new(Layout::new(&plan, &Stop::new()).expect("no stop is set"));
        let range = plan.cap().max(1);
        let given = Given::Problem(&problem);
        let mut host =
            Host::<i32>::new(&layout, given, &plan, range, &Stop::new()).expect("no device").expect("no stop is set");
        // an unused first entry, because no address is 0
        let mut device = Emulator { memory: vec![0], offsets: Vec::new(), constant: 0 };
        let (mut tables, mut separators) = (Vec::new(), Vec::new());
        for cluster in 0..layout.clusters.len() {
            tables.push(device.memory.len() as u64);
            let costs = host.table(cluster).expect("no device").into_iter();
            device.memory.extend(costs.map(|cost| cost.min(NEVER.into()) as i32));
        }
        let first = device.memory.len();
        for separator in &layout.separators {
            separators.push((device.memory.len() as u64, device.offsets.len() as u64));
            device.memory.resize(device.memory.len() + separator.entries, UNSET);
            device.offsets.extend_from_slice(&separator.map.offsets);
        }
        for pass in 0..5 {
            let kind = Kind { forward: pass % 2 == 0, symmetric: pass > 2 };
            let waves = layout.pass(kind, &Stop::new()).expect("no stop is set");
            let table = |cluster: u32| tables[cluster as usize];
            let words = Words::new(&waves, &layout.clusters, &layout.separators, table, |separator| {
                separators[separator as usize]
            });
            device.memory[first..].fill(UNSET);
            for wave in &words.waves {
                device.relax(&words, wave.operations.clone(), range);
                device.exchange(&words, wave.moves.clone(), range);
            }
            host.run(kind, &waves, 0..waves.len(), range, &Stop::new()).expect("no device");
            let constant = host.constant().expect("no device");
            assert_eq!(device.constant.min(range), constant, "round {round}, pass {pass}");
            if constant == range {
                break;
            }
            compared += 1;
            for (cluster, &at) in tables.iter().enumerate() {
                let costs = host.table(cluster).expect("no device").into_iter();
                let costs: Vec<i32> = costs.map(|cost| cost.min(NEVER.into()) as i32).collect();
                assert_eq!(device.memory[at as usize..][..costs.len()], costs, "round {round}, pass {pass}");
            }
        }
    }
    assert!(compared > 1000, "{compared}");
}
