//! Graphs of operations as flat lists. Operations that do not depend on the value run once for a visit, the others
//! column by column, in reused storage.

use super::arithmetic::{Aggregate, Binary, Unary};
use super::dag::{Dag, Id, Node};
use super::tables::Table;
use crate::INPUTS;

/// The inputs of a visit, by their positions in [`INPUTS`].
pub trait Numbers {
    /// Returns a number of the visit.
    fn scalar(&self, place: usize) -> f64;

    /// Returns a number for each value.
    fn column(&self, place: usize) -> &[f64];
}

/// A list of operations and the registers of their results.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    operations: Vec<Operation>,
    /// The registers of the results, in the order of the roots.
    results: Vec<Operand>,
    scalars: usize,
    columns: usize,
}

/// An operation and the register of its result, a scalar's or a column's.
#[derive(Clone, Copy, Debug)]
struct Operation {
    does: Does,
    to: usize,
    column: bool,
}

#[derive(Clone, Copy, Debug)]
enum Does {
    Unary(Unary, Operand),
    Binary(Binary, Operand, Operand),
    Choose(Operand, Operand, Operand),
    Aggregate(Aggregate, Operand),
    /// A row of a table, indexed by the column of the values' numbers in the network.
    Row(usize, Operand),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Operand {
    Constant(f64),
    Input(usize),
    ByVariable(usize),
    Scalar(usize),
    InputColumn(usize),
    Column(usize),
}

/// Storage for intermediate results; one for each thread.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    scalars: Vec<f64>,
    columns: Vec<Vec<f64>>,
}

#[derive(Debug)]
pub(super) struct Visit<'a, N> {
    pub inputs: &'a N,
    pub variable: usize,
    pub tables: &'a [Table],
    pub length: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum View<'a> {
    One(f64),
    Many(&'a [f64]),
}

impl Program {
    pub fn new(dag: &Dag, roots: &[Id]) -> Program {
        let needed = dag.needed(roots);
        // a register is free after the last operation that reads it
        let mut last: Vec<Id> = (0..dag.len()).collect();
        for id in (0..dag.len()).filter(|&id| needed[id]) {
            dag.get(id).node.operands().for_each(|operand| last[operand] = id);
        }
        roots.iter().for_each(|&root| last[root] = dag.len());
        let mut program = Program::default();
        let mut places = vec![Operand::Constant(0.0); dag.len()];
        let mut free = Vec::new();
        let value = INPUTS.iter().position(|input| input.name == "value").unwrap_or_default();
        for id in (0..dag.len()).filter(|&id| needed[id]) {
            let known = dag.get(id);
            let at = |id: Id| places[id];
            let does = match known.node {
                Node::Constant(bits) => Err(Operand::Constant(f64::from_bits(bits))),
                Node::Scalar(place) => Err(Operand::Input(place)),
                Node::Column(place) => Err(Operand::InputColumn(place)),
                Node::ByVariable(table) => Err(Operand::ByVariable(table)),
                Node::ByValue(table) => Ok(Does::Row(table, Operand::InputColumn(value))),
                Node::Unary(function, x) => Ok(Does::Unary(function, at(x))),
                Node::Binary(function, x, y) => Ok(Does::Binary(function, at(x), at(y))),
                Node::Choose(condition, x, y) => Ok(Does::Choose(at(condition), at(x), at(y))),
                Node::Aggregate(function, x) => Ok(Does::Aggregate(function, at(x))),
            };
            places[id] = match does {
                Err(operand) => operand,
                Ok(does) => program.push(does, known.column, &mut free),
            };
            let mut ended: Vec<Id> = known.node.operands().filter(|&operand| last[operand] == id).collect();
            ended.sort_unstable();
            ended.dedup();
            free.extend(ended.into_iter().filter_map(|operand| match places[operand] {
                Operand::Column(slot) => Some(slot),
                _ => None,
            }));
        }
        program.results = roots.iter().map(|&root| places[root]).collect();
        program
    }

    fn push(&mut self, does: Does, column: bool, free: &mut Vec<usize>) -> Operand {
        let reused = if column { free.pop() } else { None };
        let next = if column { &mut self.columns } else { &mut self.scalars };
        let to = reused.unwrap_or_else(|| {
            *next += 1;
            *next - 1
        });
        self.operations.push(Operation { does, to, column });
        if column { Operand::Column(to) } else { Operand::Scalar(to) }
    }

    /// Returns the value of a root after [`run`](Self::run).
    #[inline(always)]
    pub fn result<'a>(&self, root: usize, visit: &Visit<'a, impl Numbers>, scratch: &'a Scratch) -> View<'a> {
        scratch.view(self.results[root], visit)
    }

    #[inline(always)]
    pub fn run(&self, visit: &Visit<'_, impl Numbers>, scratch: &mut Scratch) {
        scratch.make_room(self.scalars, self.columns, visit.length);
        for &Operation { does, to, column } in &self.operations {
            if column {
                let mut target = std::mem::take(&mut scratch.columns[to]);
                scratch.column(does, visit, &mut target[..visit.length]);
                scratch.columns[to] = target;
            } else {
                scratch.scalars[to] = scratch.scalar(does, visit);
            }
        }
    }
}

impl Scratch {
    /// Grows to the size of a program; does nothing after the largest domain has occurred.
    #[inline(always)]
    fn make_room(&mut self, scalars: usize, columns: usize, length: usize) {
        if self.scalars.len() < scalars {
            self.scalars.resize(scalars, 0.0);
        }
        if self.columns.len() < columns {
            self.columns.resize(columns, Vec::new());
        }
        for column in self.columns.iter_mut().take(columns).filter(|column| column.len() < length) {
            column.resize(length, 0.0);
        }
    }

    #[inline(always)]
    fn view<'a>(&'a self, operand: Operand, visit: &Visit<'a, impl Numbers>) -> View<'a> {
        match operand {
            Operand::Constant(number) => View::One(number),
            Operand::Input(place) => View::One(visit.inputs.scalar(place)),
            Operand::ByVariable(table) => View::One(visit.tables[table].number(visit.variable)),
            Operand::Scalar(slot) => View::One(self.scalars[slot]),
            Operand::InputColumn(place) => {
                View::Many(visit.inputs.column(place).get(..visit.length).unwrap_or_default())
            }
            Operand::Column(slot) => View::Many(self.columns[slot].get(..visit.length).unwrap_or_default()),
        }
    }

    /// Computes a scalar operation: its operands are scalars, except an aggregate's.
    #[inline(always)]
    fn scalar(&self, does: Does, visit: &Visit<'_, impl Numbers>) -> f64 {
        let one = |operand| match self.view(operand, visit) {
            View::One(number) => number,
            View::Many(_) => f64::NAN,
        };
        match does {
            Does::Unary(function, x) => function.apply(one(x)),
            Does::Binary(function, x, y) => function.apply(one(x), one(y)),
            Does::Choose(condition, x, y) => choose(one(condition), one(x), one(y)),
            Does::Aggregate(function, x) => match self.view(x, visit) {
                View::One(_) => f64::NAN,
                View::Many(numbers) => aggregate(function, numbers),
            },
            Does::Row(..) => f64::NAN,
        }
    }

    #[inline(always)]
    fn column(&self, does: Does, visit: &Visit<'_, impl Numbers>, to: &mut [f64]) {
        let view = |operand| self.view(operand, visit);
        match does {
            Does::Unary(function, x) => match view(x) {
                View::One(x) => to.fill(function.apply(x)),
                View::Many(x) => unary(function, x, to),
            },
            Does::Binary(function, x, y) => binary(function, view(x), view(y), to),
            Does::Choose(condition, x, y) => choose_all(view(condition), view(x), view(y), to),
            Does::Aggregate(..) => to.fill(f64::NAN),
            Does::Row(table, values) => {
                let row = visit.tables[table].row(visit.variable);
                let number = |value: f64, _| row.get(value as usize).copied().unwrap_or(f64::NAN);
                map_two(view(values), View::One(0.0), to, number);
            }
        }
    }
}

/// Numbers processed together.
const PACK: usize = 8;

#[inline(always)]
fn choose(condition: f64, x: f64, y: f64) -> f64 {
    if condition != 0.0 { x } else { y }
}

#[inline(always)]
fn map(x: &[f64], to: &mut [f64], function: impl Fn(f64) -> f64) {
    for (to, &x) in to.iter_mut().zip(x) {
        *to = function(x);
    }
}

#[inline(always)]
fn map_two(x: View<'_>, y: View<'_>, to: &mut [f64], function: impl Fn(f64, f64) -> f64) {
    match (x, y) {
        (View::One(x), View::One(y)) => to.fill(function(x, y)),
        (View::Many(x), View::One(y)) => map(x, to, |x| function(x, y)),
        (View::One(x), View::Many(y)) => map(y, to, |y| function(x, y)),
        (View::Many(x), View::Many(y)) => {
            for ((to, &x), &y) in to.iter_mut().zip(x).zip(y) {
                *to = function(x, y);
            }
        }
    }
}

/// Applies a function to a column, with a loop for each function so that each becomes vector code.
#[inline(always)]
fn unary(function: Unary, x: &[f64], to: &mut [f64]) {
    match function {
        Unary::Neg => map(x, to, |x| Unary::Neg.apply(x)),
        Unary::Abs => map(x, to, |x| Unary::Abs.apply(x)),
        Unary::Floor => map(x, to, |x| Unary::Floor.apply(x)),
        Unary::Sqrt => map(x, to, |x| Unary::Sqrt.apply(x)),
        Unary::Exp => map(x, to, |x| Unary::Exp.apply(x)),
        Unary::Log => map(x, to, |x| Unary::Log.apply(x)),
        Unary::Not => map(x, to, |x| Unary::Not.apply(x)),
    }
}

#[inline(always)]
fn binary(function: Binary, x: View<'_>, y: View<'_>, to: &mut [f64]) {
    match function {
        Binary::Add => map_two(x, y, to, |x, y| Binary::Add.apply(x, y)),
        Binary::Sub => map_two(x, y, to, |x, y| Binary::Sub.apply(x, y)),
        Binary::Mul => map_two(x, y, to, |x, y| Binary::Mul.apply(x, y)),
        Binary::Div => map_two(x, y, to, |x, y| Binary::Div.apply(x, y)),
        Binary::Min => map_two(x, y, to, |x, y| Binary::Min.apply(x, y)),
        Binary::Max => map_two(x, y, to, |x, y| Binary::Max.apply(x, y)),
        Binary::Less => map_two(x, y, to, |x, y| Binary::Less.apply(x, y)),
        Binary::AtMost => map_two(x, y, to, |x, y| Binary::AtMost.apply(x, y)),
        Binary::Equal => map_two(x, y, to, |x, y| Binary::Equal.apply(x, y)),
        Binary::Differ => map_two(x, y, to, |x, y| Binary::Differ.apply(x, y)),
    }
}

#[inline(always)]
fn choose_all(condition: View<'_>, x: View<'_>, y: View<'_>, to: &mut [f64]) {
    let condition = match condition {
        View::Many(condition) => condition,
        View::One(condition) => {
            let chosen = if condition != 0.0 { x } else { y };
            return map_two(chosen, View::One(0.0), to, |chosen, _| chosen);
        }
    };
    match (x, y) {
        (View::One(x), y) => map_two(View::Many(condition), y, to, |condition, y| choose(condition, x, y)),
        (x, View::One(y)) => map_two(View::Many(condition), x, to, |condition, x| choose(condition, x, y)),
        (View::Many(x), View::Many(y)) => {
            for (((to, &condition), &x), &y) in to.iter_mut().zip(condition).zip(x).zip(y) {
                *to = choose(condition, x, y);
            }
        }
    }
}

/// Folds numbers eight at a time; the order of aggregates does not matter.
#[inline(always)]
fn fold(numbers: &[f64], start: f64, with: impl Fn(f64, f64) -> f64) -> f64 {
    let mut lanes = [start; PACK];
    let (packs, rest) = numbers.as_chunks::<PACK>();
    for pack in packs {
        for (lane, &number) in lanes.iter_mut().zip(pack) {
            *lane = with(*lane, number);
        }
    }
    let all = lanes.into_iter().fold(start, &with);
    rest.iter().fold(all, |all, &number| with(all, number))
}

#[inline(always)]
fn aggregate(function: Aggregate, numbers: &[f64]) -> f64 {
    let start = function.of_none();
    match function {
        Aggregate::Min => fold(numbers, start, |all, x| Aggregate::Min.with(all, x)),
        Aggregate::Max => fold(numbers, start, |all, x| Aggregate::Max.with(all, x)),
        Aggregate::Count => fold(numbers, start, |all, x| Aggregate::Count.with(all, x)),
    }
}

/// Returns the largest number above 0, or 0; NaN is skipped.
#[inline(always)]
pub(super) fn largest(numbers: View<'_>) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    match numbers {
        View::One(number) => larger(0.0, number),
        View::Many(numbers) => fold(numbers, 0.0, larger),
    }
}
