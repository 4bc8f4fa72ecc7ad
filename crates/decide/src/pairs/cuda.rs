//! Elimination on pairs on a device: all steps become one program.

use super::plan::{Group, Plan, Step};
use super::walk::{Begun, Left, Maker, Outcome, Picks, Table, finish, not_regular, walk};
use crate::elimination::executor::Failure;
use crate::elimination::{Chip, Content, DeviceTable, Expected, Gpu, Machine, Pairing, Program, Running, Source};
use crate::error::Error;
use crate::model::Scaled;
use crate::stop::Stop;
use crate::tensor::Storage;
use crate::tuning::TIE;
use std::sync::Arc;

/// A plan as a device executes it.
#[derive(Debug)]
pub(super) struct Laid {
    pub program: Program,
    notes: Notes,
    left: Left<usize>,
}

/// What the host reads after the run. Ranges are indices among the ranges that the device measured.
#[derive(Debug, Default)]
struct Notes {
    /// Ranges of probabilities that are scaled by a power of two.
    scaled: Vec<usize>,
    /// For each decision with probabilities, its step, the tolerated difference between its values, and the range with
    /// that difference.
    constant: Vec<(usize, f64, usize)>,
    /// For each decision, the table of its choices.
    chosen: Vec<usize>,
}

/// The writer of the program; a table is its number in the program.
struct Writer<'a> {
    plan: &'a Plan,
    pairing: Pairing,
    notes: Notes,
}

fn numbers(tables: &[Table<usize>]) -> Vec<usize> {
    tables.iter().map(|table| table.entries).collect()
}

impl Maker for Writer<'_> {
    type Entries = usize;

    fn sum(
        &mut self,
        step: &Step,
        probabilities: &[Table<usize>],
        utilities: Vec<Vec<Table<usize>>>,
    ) -> Result<(Option<usize>, Vec<usize>), Error> {
        let groups = step.groups.iter().zip(&utilities).map(|(group, tables)| expected(group, tables)).collect();
        let (sum, made) = self.pairing.sum(step.position, &numbers(probabilities), &step.output, groups);
        self.notes.scaled.extend(sum.map(|(_, range)| range));
        Ok((sum.map(|(table, _)| table), made))
    }

    fn constant(&mut self, step: &Step, probabilities: &[Table<usize>], tolerance: f64) -> Result<usize, Error> {
        let (table, range) = self.pairing.constant(step.position, &numbers(probabilities), &step.output);
        let number = self.plan.steps.partition_point(|other| other.position < step.position);
        self.notes.constant.push((number, tolerance, range));
        Ok(table)
    }

    fn largest(
        &mut self,
        step: &Step,
        group: &Group,
        utilities: Vec<Table<usize>>,
        unsure: f64,
    ) -> Result<usize, Error> {
        let (table, chosen) = self.pairing.largest(step.position, expected(group, &utilities), TIE, unsure);
        self.notes.chosen.push(chosen);
        Ok(table)
    }
}

fn expected<'a>(group: &'a Group, tables: &[Table<usize>]) -> Expected<'a> {
    Expected { tables: numbers(tables), scope: &group.scope, output: &group.output }
}

/// Writes the program of a plan for a chip. Returns the entries that it takes if they exceed `entries`.
///
/// # Errors
/// Returns [`Error::Stopped`] if `stop` is set.
pub(super) fn lay_out(
    plan: &Plan,
    begun: &Begun,
    irregular: f64,
    entries: u64,
    chip: &Chip,
    stop: &Stop,
) -> Result<Result<Laid, u64>, Error> {
    let mut pairing = Pairing::new(&plan.domains, entries);
    let mut number = 0;
    let mut place = |tables: &[Table<Storage<f64>>]| -> Vec<Table<usize>> {
        let place = |table: &Table<Storage<f64>>| {
            number += 1;
            let entries = pairing.function(number - 1, &table.scope);
            Table { scope: table.scope.clone(), entries, error: table.error }
        };
        tables.iter().map(place).collect()
    };
    let functions = (place(&begun.probabilities), place(&begun.utilities));
    let mut writer = Writer { plan, pairing, notes: Notes::default() };
    let left = walk(plan, &mut writer, functions, irregular, stop)?;
    let Writer { mut pairing, notes, .. } = writer;
    let functions = begun.probabilities.len() + begun.utilities.len();
    let all = left.probabilities.iter().chain(&left.utilities).map(|table| table.entries);
    all.filter(|&table| table >= functions).for_each(|table| pairing.keep(table));
    Ok(pairing.complete(chip).map(|program| Laid { program, notes, left }))
}

/// Returns the entries that the host copies into a table.
pub(super) fn filled(begun: &Begun, table: &DeviceTable) -> Storage<f64> {
    match table.content {
        Content::Source(Source::Function(number)) => begun.function(number as usize).iter().copied().collect(),
        _ => Storage::default(),
    }
}

impl Begun {
    /// Returns the entries of a function; utilities are numbered after probabilities.
    fn function(&self, number: usize) -> &Storage<f64> {
        match self.probabilities.get(number) {
            Some(table) => &table.entries,
            None => &self.utilities[number - self.probabilities.len()].entries,
        }
    }
}

/// Executes a plan on a device. Returns the bytes that it takes if the device has no room.
///
/// # Errors
/// Returns an error if the device fails or the diagram is not regular, and [`Error::Stopped`] if `stop` is set.
pub(super) fn execute(
    gpu: &Arc<Gpu>,
    plan: &Plan,
    begun: &Begun,
    irregular: f64,
    stop: &Stop,
) -> Result<Result<Outcome, u64>, Failure> {
    let bytes = size_of::<f64>() as u64;
    let (room, chip) = (gpu.budget()? / bytes, Chip::new(&gpu.cuda().info));
    let Laid { program, notes, left } = match lay_out(plan, begun, irregular, room, &chip, stop)? {
        Ok(laid) => laid,
        Err(entries) => return Ok(Err(entries.saturating_mul(bytes))),
    };
    let mut running = Running::new(gpu, program, &|table| filled(begun, table))?;
    if !running.ready(stop)? {
        return Err(Error::Stopped.into());
    }
    run(&mut running, plan, begun, &notes, &left, stop).map(Ok)
}

#[cfg(test)]
impl Laid {
    /// Executes the program on any machine that has it.
    pub fn run(&self, machine: &mut impl Machine, plan: &Plan, begun: &Begun, stop: &Stop) -> Result<Outcome, Failure> {
        run(machine, plan, begun, &self.notes, &self.left, stop)
    }
}

fn run(
    machine: &mut impl Machine,
    plan: &Plan,
    begun: &Begun,
    notes: &Notes,
    left: &Left<usize>,
    stop: &Stop,
) -> Result<Outcome, Failure> {
    let launches = machine.program().launches.len();
    if !machine.run(0..launches, stop)? {
        return Err(Error::Stopped.into());
    }
    let ranges = machine.ranges()?;
    let most = |range: usize| f64::from_bits(ranges[range][0]);
    for &(step, tolerance, range) in &notes.constant {
        if most(range) > tolerance {
            return Err(not_regular(plan, &plan.steps[step], most(range)).into());
        }
    }
    let exponent = notes.scaled.iter().map(|&range| match most(range) {
        0.0 => 0,
        most => Scaled::new(most).exponent,
    });
    let program = machine.program();
    let kept = machine.entries(program.kept.clone())?;
    let picks = notes.chosen.iter().map(|&table| {
        let chosen = program.whole(table, &kept);
        let bits = || chosen.iter().map(|entry| entry.to_bits());
        Picks { choices: bits().map(|bits| (bits >> 1) as u32).collect(), certain: bits().map(|b| b & 1 > 0).collect() }
    });
    let functions = begun.probabilities.len() + begun.utilities.len();
    let entries = |table: &Table<usize>| match table.entries < functions {
        true => Ok(begun.function(table.entries).iter().copied().collect()),
        false => Ok::<_, Failure>(program.whole(table.entries, &kept)),
    };
    Ok(finish(plan, begun, &left.map(entries)?, exponent.sum(), picks.collect(), stop)?)
}
