//! An emulation of kernels/shift.cu on the host, compared with the host's own passes.

use super::amounts::Amounts;
use super::cuda_words::{Tables, Words};
use super::{Costs, Shift};
use crate::elimination::Progress;
use crate::model::{Cost, CostFunction, Problem, Table};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tensor::tiles::{Movable, NEVER};
use fangs_testing::problems::random;
use std::ops::Range;
use std::sync::Arc;

/// A device with entries of 32 bits.
struct Emulator {
    tables: Vec<i32>,
    unary: Vec<Cost>,
    taken: Vec<Cost>,
    least: Vec<Cost>,
    constant: Cost,
}

impl Emulator {
    /// Emulates `shift_visit`, the thread blocks one after the other.
    fn wave(&mut self, words: &Words, blocks: Range<u32>, back: usize, range: Cost) {
        let left = range - self.constant;
        if left <= 0 {
            return;
        }
        for block in &words.blocks[blocks.start as usize..blocks.end as usize] {
            for piece in &words.pieces[block.begin as usize..block.end as usize] {
                for row in 0..piece.rows as usize {
                    let mut rest = piece.first as usize + row;
                    let mut outer = 0;
                    for digit in &words.digits[piece.digit as usize..][..piece.digits as usize] {
                        outer += self.taken[digit.row as usize + rest % digit.size as usize];
                        rest /= digit.size as usize;
                    }
                    for value in 0..piece.size as usize {
                        let entry = self.tables[piece.entries as usize + row * piece.size as usize + value];
                        let entry = if entry >= i32::NEVER { NEVER } else { Cost::from(entry) };
                        let least = &mut self.least[piece.row as usize + value];
                        *least = (*least).min(entry - outer);
                    }
                }
            }
            let first = words.blocks.iter().position(|other| other.visit == block.visit).expect("it is there");
            let visit = words.visits[block.visit as usize];
            assert!(block.end - block.begin <= 16 && (first as u32) < blocks.end);
            let last = &words.blocks[first + visit.blocks as usize - 1];
            assert_eq!(last.visit, block.visit);
            if !std::ptr::eq(last, block) {
                continue;
            }
            let size = visit.size as usize;
            for value in 0..size {
                let sum = &mut self.unary[visit.unary as usize + value];
                for row in 0..visit.uses as usize {
                    let at = visit.row as usize + row * size + value;
                    let least = std::mem::replace(&mut self.least[at], Cost::MAX).min(NEVER) - self.taken[at];
                    if least.max(*sum) >= NEVER / 2 {
                        *sum = NEVER;
                    } else {
                        *sum += least;
                        self.taken[at] += least;
                    }
                }
            }
            let unary = &mut self.unary[visit.unary as usize..][..size];
            let lowest = unary.iter().copied().min().expect("a value");
            self.constant += lowest.min(left);
            let [there, here] = visit.onward;
            let parts = Cost::from(there.max(here).max(1));
            for (value, sum) in unary.iter_mut().enumerate() {
                let rest = if *sum >= left { NEVER } else { *sum - lowest };
                for row in 0..visit.uses as usize {
                    let taken = &mut self.taken[visit.row as usize + row * size + value];
                    if rest == NEVER {
                        *taken = -NEVER;
                    } else if words.uses[visit.used as usize + row] >> back & 1 == 1 {
                        *taken -= rest / parts;
                    }
                }
                *sum = if rest == NEVER { NEVER } else { rest - rest / parts * Cost::from(visit.onward[back]) };
            }
        }
    }

    fn costs(&self) -> Costs {
        let of = |costs: &[Cost]| {
            let mut amounts = Amounts::with_capacity(costs.len(), true);
            amounts.extend(costs, &Stop::new()).expect("no stop is set");
            amounts
        };
        Costs { unary: of(&self.unary), taken: of(&self.taken) }
    }
}

/// Compares the passes of host and emulator, and returns the number of waves.
fn conforms(problem: Problem, rng: &mut Rng) -> u32 {
    let mut order: Vec<u32> = (0..problem.variables() as u32).collect();
    rng.shuffle(&mut order);
    let mut shift = Shift::new(&Arc::new(problem), None, &order, &Stop::new()).expect("small costs");
    let (layout, range) = (shift.layout().clone(), shift.range());
    let (tables, mut constant) = (Tables::new(&layout), shift.constant());
    let all = |amounts: &Amounts| amounts.part(0..amounts.len());
    let mut device = Emulator {
        tables: tables
            .all
            .iter()
            .flat_map(|&(function, place)| Tables::table::<i32>(&layout, function, place))
            .collect(),
        unary: all(&shift.costs().unary),
        taken: all(&shift.costs().taken),
        least: vec![Cost::MAX; shift.costs().taken.len()],
        constant,
    };
    let words = Words::new(&layout, 1, |function, place| tables.at[layout.number(function, place)]);
    let mut waves = 0;
    while shift.advance(1, &Stop::new()) == Progress::More {
        let (of, pass) = (layout.waves.len(), waves as usize / layout.waves.len());
        let number = waves as usize % of;
        let number = if pass % 2 == 0 { number } else { of - 1 - number };
        device.wave(&words, words.waves[number].clone(), pass % 2, range);
        waves += 1;
        constant = shift.constant();
        assert_eq!(device.constant, constant);
        assert_eq!(&device.costs(), shift.costs());
    }
    waves
}

fn without_constant(mut problem: Problem) -> Problem {
    problem.constant = 0;
    problem
}

#[test]
fn words_of_visits_say_what_the_host_does() {
    let mut rng = Rng::new(52);
    let waves: u32 = (0..300).map(|_| conforms(without_constant(random(&mut rng, 7)), &mut rng)).sum();
    assert!(waves > 3000, "{waves}");
    // several thread blocks for a variable, and rows of several pieces
    for (n, domain, functions) in [(12, 30, 40), (3, 300, 3), (30, 3, 200)] {
        let mut problem = Problem {
            domains: vec![domain; n],
            unary: vec![vec![0; domain as usize]; n],
            functions: Vec::new(),
            constant: 0,
            top: 1 << 20,
        };
        for _ in 0..functions {
            let mut scope: Vec<u32> = (0..n as u32).collect();
            rng.shuffle(&mut scope);
            scope.truncate(if domain > 30 { 2 } else { 2 + rng.index(2) });
            let size = scope.iter().map(|_| domain as usize).product();
            let costs = (0..size).map(|_| rng.below(1000) as Cost).collect();
            problem.functions.push(CostFunction { scope: scope.into(), table: Table::dense(costs) });
        }
        assert!(conforms(problem, &mut rng) > 10);
    }
}
