//! Collect and distribute: the messages of a plan in both directions.

use super::sliced::Sliced;
use crate::algebra::{OfNumbers, Range};
use crate::device::DeviceError;
use crate::elimination::backward::{Fold, WayBack, backward};
use crate::elimination::cpu::{Store, poll};
use crate::elimination::executor::Task;
use crate::elimination::{EliminationPlan, Placement, Source, Step};
use crate::error::Error;
use crate::model::{ROUNDOFF, Scaled};
use crate::stop::Stop;
use crate::tensor::storage::Storage;
use crate::threads::Large;
use std::time::Instant;

/// For each variable its posterior; `None` if it is not requested.
pub(super) type Posteriors = Vec<Option<Box<[f64]>>>;

/// A product with its plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned<'a> {
    pub sliced: &'a Sliced,
    pub plan: &'a EliminationPlan,
    pub placement: &'a Placement,
}

/// The sum over all assignments, and the messages that led to it.
#[derive(Debug)]
pub(super) struct Collected<S: OfNumbers> {
    /// The sum over all assignments.
    pub z: Scaled,
    /// The relative rounding error of the propagation.
    pub error: f64,
    /// The message of each step; empty if they were not kept.
    pub messages: Large<Storage<S::Entry>>,
    /// The error and range of each step's message.
    notes: Vec<Note>,
}

/// The error and range of a message's entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Note {
    /// The relative rounding error.
    pub error: f64,
    /// The exponent of the smallest entry above 0, relative to the largest one.
    pub least: i64,
}

/// The result of both directions.
#[derive(Debug)]
pub(super) struct Propagated {
    /// The sum over all assignments.
    pub z: Scaled,
    /// The relative rounding error that the propagation adds to `z`.
    pub error: f64,
    /// The posteriors of the requested variables; empty if the sum is 0.
    pub posteriors: Posteriors,
    /// The relative error of the posteriors.
    pub posterior_error: f64,
    /// The seconds of collect.
    pub collect_s: f64,
    /// The seconds of distribute.
    pub distribute_s: f64,
}

/// The reason why a propagation failed, with one kind of numbers.
#[derive(Debug)]
pub(super) enum Trouble {
    /// Products may be below the range of the numbers.
    Narrow,
    /// There was no memory, or the run was stopped.
    Failed(Error),
    /// The device failed.
    Device(DeviceError),
    /// The device has no room for the tables.
    Full,
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Failed(error)
    }
}

impl From<Trouble> for Error {
    /// Converts a failure after which nothing else can be tried.
    fn from(trouble: Trouble) -> Error {
        match trouble {
            Trouble::Failed(error) => error,
            Trouble::Narrow => Error::Internal("numbers of any size are not enough".into()),
            Trouble::Device(error) => Error::Internal(format!("no device was asked for: {error}")),
            Trouble::Full => Error::Internal("no device was asked for, and it is full".into()),
        }
    }
}

impl From<DeviceError> for Trouble {
    fn from(error: DeviceError) -> Self {
        Trouble::Device(error)
    }
}

impl<'a> Planned<'a> {
    pub fn task<S: OfNumbers>(self, semiring: S) -> Task<'a, S> {
        Task { plan: self.plan, placement: self.placement, factors: self.sliced, semiring }
    }

    /// Computes the sum, and the posteriors of the requested variables.
    ///
    /// # Errors
    /// Returns [`Trouble`] if products may be below the range of the numbers, if there is no memory, or if `stop` is
    /// set.
    pub fn propagate<S: OfNumbers>(self, semiring: S, asked: &[bool], stop: &Stop) -> Result<Propagated, Trouble> {
        let began = Instant::now();
        let collected = self.collect(&|_| semiring, stop)?;
        let mut found = Propagated {
            z: collected.z,
            error: collected.error,
            posteriors: Vec::new(),
            posterior_error: 0.0,
            collect_s: began.elapsed().as_secs_f64(),
            distribute_s: 0.0,
        };
        if found.z.mantissa > 0.0 && asked.contains(&true) {
            let began = Instant::now();
            (found.posteriors, found.posterior_error) = self.distribute(semiring, &collected, asked, stop)?;
            found.distribute_s = began.elapsed().as_secs_f64();
        }
        Ok(found)
    }

    /// Computes all messages, with the semiring of each position.
    ///
    /// # Errors
    /// Returns [`Trouble`] if products may be below the range of the numbers, if there is no memory, or if `stop` is
    /// set.
    pub fn collect<S: OfNumbers>(self, semiring: &dyn Fn(u32) -> S, stop: &Stop) -> Result<Collected<S>, Trouble> {
        let Planned { sliced, plan, placement } = self;
        let mut store = Store::new(self.task(semiring(0)));
        let mut notes = vec![Note::default(); plan.steps.len()];
        let mut z = sliced.taken_out();
        let mut error = 0.0;
        for (index, step) in plan.steps.iter().enumerate() {
            let semiring = semiring(step.position);
            let task = self.task(semiring);
            let Note { error: inputs, least } = joined(sliced, step, &notes, Note::default());
            if least < -semiring.range() {
                return Err(Trouble::Narrow);
            }
            stop.check()?;
            while !store.slice(task, index, poll())?.1 {
                stop.check()?;
            }
            let Range { exponent, least } = semiring.normalise(&mut store.messages[index]);
            z.exponent += exponent;
            let added = plan.domains[step.position as usize];
            notes[index] = Note { error: inputs + f64::from(added) * ROUNDOFF, least };
            if let ([], [root]) = (&step.scope[..], &store.messages[index][..]) {
                z = z.times(semiring.value(*root));
                error += notes[index].error + ROUNDOFF;
            }
        }
        let messages = if placement.keep_messages { store.messages } else { Large::default() };
        Ok(Collected { z, error, messages, notes })
    }

    /// Computes the posteriors of the requested variables, and their relative error. The messages must have been kept.
    ///
    /// # Errors
    /// Returns [`Trouble`] if products may be below the range of the numbers, if there is no memory, or if `stop` is
    /// set.
    pub fn distribute<S: OfNumbers>(
        self,
        semiring: S,
        collected: &Collected<S>,
        asked: &[bool],
        stop: &Stop,
    ) -> Result<(Posteriors, f64), Trouble> {
        let plan = self.plan;
        let matters = self.matters(asked);
        let mut way = Way {
            planned: self,
            semiring,
            notes: &collected.notes,
            outside: vec![Note::default(); plan.steps.len()],
            matters,
            asked,
            posteriors: vec![None; plan.sequence.len()],
            error: 0.0,
            narrow: false,
        };
        backward(self.task(semiring), &collected.messages, &mut way, stop)?;
        if way.narrow { Err(Trouble::Narrow) } else { Ok((way.posteriors, way.error)) }
    }

    /// Returns for each step whether its variable, or one in its subtree, is requested.
    pub fn matters(self, asked: &[bool]) -> Vec<bool> {
        let steps = &self.plan.steps;
        let mut matters: Vec<bool> = steps.iter().map(|step| asked[variable(self.plan, step)]).collect();
        for (index, step) in steps.iter().enumerate() {
            for from in sources(step) {
                matters[index] |= matters[from];
            }
        }
        matters
    }
}

/// Returns the steps whose messages a step joins.
pub(super) fn sources(step: &Step) -> impl Iterator<Item = usize> {
    step.inputs.iter().filter_map(|input| match input.source {
        Source::Message(from) => Some(from as usize),
        _ => None,
    })
}

pub(super) fn variable(plan: &EliminationPlan, step: &Step) -> usize {
    plan.sequence[step.position as usize] as usize
}

/// Returns the error and range of the product of a step's inputs and of a table with the properties `begin`.
pub(super) fn joined(sliced: &Sliced, step: &Step, notes: &[Note], begin: Note) -> Note {
    // the exponent of a number is that of a mantissa in [1/2, 1), so each factor may be half of its power of two
    let mut all =
        Note { error: begin.error + (step.inputs.len() + 1) as f64 * ROUNDOFF, least: begin.least.saturating_sub(1) };
    for input in &step.inputs {
        let least = match input.source {
            Source::Message(from) => {
                all.error += notes[from as usize].error;
                notes[from as usize].least
            }
            Source::Function(f) => sliced.least[f as usize],
            Source::Unary => continue,
        };
        all.least = all.least.saturating_add(least.saturating_sub(1));
    }
    all
}

/// Returns the posterior from the sum of each value, and its relative error if the sums have the relative `error`.
pub(super) fn posterior<S: OfNumbers>(semiring: S, mut values: Vec<S::Entry>, error: f64) -> (Box<[f64]>, f64) {
    let _ = semiring.normalise(&mut values);
    let doubles: Vec<f64> = values.into_iter().map(|value| semiring.value(value).double()).collect();
    let sum: f64 = doubles.iter().sum();
    // the error of the value, and that of the sum of all values
    let error = 2.0 * error + (doubles.len() + 1) as f64 * ROUNDOFF;
    (doubles.iter().map(|double| double / sum).collect(), error)
}

/// The state of distribute.
struct Way<'a, S: OfNumbers> {
    planned: Planned<'a>,
    semiring: S,
    notes: &'a [Note],
    /// For each step, the error and range of its outside message: the product of all functions outside its subtree.
    outside: Vec<Note>,
    /// For each step, whether its variable, or one in its subtree, is requested.
    matters: Vec<bool>,
    asked: &'a [bool],
    posteriors: Vec<Option<Box<[f64]>>>,
    /// The largest relative error of a posterior.
    error: f64,
    /// Whether products may be below the range of the numbers.
    narrow: bool,
}

impl<S: OfNumbers> Way<'_, S> {
    fn joined(&self, step: usize) -> Note {
        let Planned { sliced, plan, .. } = self.planned;
        joined(sliced, &plan.steps[step], self.notes, self.outside[step])
    }
}

impl<S: OfNumbers> WayBack<S> for Way<'_, S> {
    fn root(&mut self, _: usize) -> S::Entry {
        self.semiring.one()
    }

    fn skips(&self, step: usize) -> bool {
        self.narrow || !self.matters[step]
    }

    fn message(&mut self, step: usize, _: &[S::Entry]) {
        self.narrow |= self.joined(step).least < -self.semiring.range();
    }

    fn values(&mut self, Fold { step, depth }: Fold, values: &[S::Entry]) {
        let variable = variable(self.planned.plan, &self.planned.plan.steps[step]);
        if self.narrow || !self.asked[variable] {
            return;
        }
        let own = self.joined(step).error + depth as f64 * ROUNDOFF;
        let (posterior, error) = posterior(self.semiring, values.to_vec(), own);
        self.posteriors[variable] = Some(posterior);
        self.error = self.error.max(error);
    }

    fn outside(&mut self, step: usize, fold: Fold, rest: &mut [S::Entry]) {
        let Range { least, .. } = self.semiring.normalise(rest);
        // both operands of the division contain the message's own error, which cancels
        let error = self.joined(fold.step).error - self.notes[step].error + (fold.depth + 1) as f64 * ROUNDOFF;
        self.outside[step] = Note { error, least };
    }
}
