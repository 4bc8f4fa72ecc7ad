//! The agent of one variable, which knows its own functions and the messages of its children, and no more of the
//! problem.

use crate::algebra::MinSum;
use crate::elimination::CostTable;
use crate::elimination::cuda::Gpu;
use crate::elimination::executor::{Failure, Progress, Task};
use crate::elimination::{EliminationPlan, Factors, Input, Placement, Plan, Source, Step};
use crate::error::Error;
use crate::model::{Cost, CostFunction, Problem, add};
use crate::stop::Stop;
use crate::tensor::Storage;
use std::sync::Arc;
use std::time::Instant;

/// Combinations between two checks of the stop flag.
const SLICE: u64 = 1 << 30;

/// The processor on which agents compute.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// The threads of the host.
    Host,
    /// A device.
    Device(&'a Arc<Gpu>),
    /// A device if it pays for an agent's work, else the host.
    Faster(&'a Arc<Gpu>),
}

impl<'a> Place<'a> {
    /// Returns the device for an agent of `joint` combinations, or `None` for the host.
    fn gpu(self, joint: f64) -> Option<&'a Arc<Gpu>> {
        match self {
            Place::Device(gpu) => Some(gpu),
            Place::Faster(gpu) if Gpu::pays(joint) => Some(gpu),
            Place::Host | Place::Faster(_) => None,
        }
    }
}

/// The agent of a variable before any message. Its own variable has number 0; the other variables of its functions and
/// messages follow in the order of their elimination.
#[derive(Clone, Debug)]
pub(super) struct Agent {
    /// Its functions and unary costs.
    pub problem: Problem,
    /// The mini-buckets that it joins and sends; received messages are numbered after its own functions.
    pub plan: EliminationPlan,
    /// The messages that it receives.
    pub receives: Vec<Received>,
    /// For each number of the agent, the variable of the whole problem.
    pub variables: Vec<u32>,
    /// The step of the whole plan that makes its first message.
    pub first_step: u32,
}

/// A message that an agent receives.
#[derive(Clone, Debug)]
pub(super) struct Received {
    /// The step of the whole plan that makes it.
    pub step: u32,
    /// Its scope, in numbers of the agent.
    pub scope: Box<[u32]>,
}

impl Agent {
    /// Returns the agent of the variable at a position of the order.
    pub fn new(problem: &Problem, plan: &Plan, position: usize) -> Agent {
        let bucket = plan.bucket(position);
        let mut positions: Vec<u32> =
            bucket.iter().flat_map(|step| step.inputs.iter()).flat_map(|input| input.scope.iter().copied()).collect();
        positions.push(position as u32);
        positions.sort_unstable();
        positions.dedup();
        let place = |p: &u32| positions.binary_search(p).expect("all positions are listed") as u32;
        let variables: Vec<u32> = positions.iter().map(|&p| plan.sequence[p as usize]).collect();
        let number = |v: &u32| variables.iter().position(|own| own == v).expect("a function of the bucket") as u32;
        let domains: Vec<u32> = positions.iter().map(|&p| plan.domains[p as usize]).collect();
        let mut unary: Vec<Vec<Cost>> = domains.iter().map(|&domain| vec![0; domain as usize]).collect();
        unary[0].clone_from(&problem.unary[variables[0] as usize]);
        let inputs = || bucket.iter().flat_map(|step| step.inputs.iter());
        let own: Vec<u32> =
            inputs().filter_map(|input| if let Source::Function(f) = input.source { Some(f) } else { None }).collect();
        let functions = own.iter().map(|&f| {
            let function = &problem.functions[f as usize];
            CostFunction { scope: function.scope.iter().map(number).collect(), table: function.table.clone() }
        });
        let functions: Vec<CostFunction> = functions.collect();
        let receives: Vec<Received> = inputs()
            .filter_map(|input| match input.source {
                Source::Message(step) => Some(Received { step, scope: input.scope.iter().map(place).collect() }),
                _ => None,
            })
            .collect();
        let source = |source: Source| match source {
            Source::Unary => Source::Unary,
            Source::Function(f) => Source::Function(own.iter().position(|&known| known == f).expect("listed") as u32),
            Source::Message(step) => {
                let place = receives.iter().position(|known| known.step == step).expect("listed");
                Source::Function((own.len() + place) as u32)
            }
        };
        let steps: Vec<Step> = bucket
            .iter()
            .map(|step| Step {
                position: 0,
                inputs: step
                    .inputs
                    .iter()
                    .map(|input| Input { source: source(input.source), scope: input.scope.iter().map(place).collect() })
                    .collect(),
                scope: step.scope.iter().map(place).collect(),
                ..step.clone()
            })
            .collect();
        let local = EliminationPlan::of_bucket(domains.clone(), steps);
        let problem = Problem { domains, unary, functions, constant: 0, top: problem.top };
        Agent { problem, plan: local, receives, variables, first_step: plan.first[position] }
    }

    /// Runs the UTIL phase: joins the functions and messages and minimises over its variable. Returns the sum of all
    /// constants, the messages, and the seconds spent on computing and on transfers to and from a device.
    ///
    /// # Errors
    /// Returns an error if there is no memory or a device fails, and [`Error::Stopped`] if `stop` is set.
    pub fn util<E: CostTable>(
        &self,
        received: &[Arc<Storage<E>>],
        cap: E,
        place: Place<'_>,
        stop: &Stop,
    ) -> Result<Sent<E>, Error> {
        let started = Instant::now();
        let factors = Knowledge { agent: self, received };
        let entry_bytes = size_of::<E>() as u64;
        let table_bytes = self.plan.steps.iter().map(|step| step.entries).sum::<u64>() * entry_bytes;
        let placement = Placement {
            keep_messages: true,
            table_bytes,
            peak_bytes: table_bytes,
            rows: None,
            spill: None,
            cutset: None,
        };
        let task = Task { plan: &self.plan, placement: &placement, factors: &factors, semiring: MinSum { cap } };
        let failed = |failure: Failure| match failure {
            Failure::Host(error) => error,
            Failure::Device(error) => Error::Internal(format!("the device failed: {error}")),
        };
        let joint = self.plan.steps.iter().map(|step| step.joint as f64).sum();
        let mut executor = E::executor(place.gpu(joint), task).map_err(|error| failed(error.into()))?;
        let up = started.elapsed();
        while executor.advance(task, SLICE, stop).map_err(failed)? == Progress::More {
            stop.check()?;
        }
        let computed = started.elapsed();
        let on_device = executor.on_device();
        let (constant, messages) = executor.finish();
        // from a device the messages are copied here
        let tables = messages.into_tables();
        let tables = tables.ok_or_else(|| Error::Memory("there is no memory for an agent's message".into()))?;
        let seconds = |part: std::time::Duration| part.as_secs_f64();
        let (all, up) = (seconds(started.elapsed()), if on_device { seconds(up) } else { 0.0 });
        let down = if on_device { all - seconds(computed) } else { 0.0 };
        let tables = tables.into_iter().map(Arc::new).collect();
        Ok(Sent { constant, tables, compute_s: all - up - down, transfer_s: up + down, on_device })
    }

    /// Runs the VALUE phase: returns the first of the best values if the other variables have these values, in numbers
    /// of the agent.
    pub fn value<E: CostTable>(&self, received: &[Arc<Storage<E>>], values: &[u32]) -> u32 {
        let mut row = self.problem.unary[0].clone();
        for function in &self.problem.functions {
            crate::elimination::add_function(&self.problem, function, 0, values, &mut row);
        }
        for (message, table) in self.receives.iter().zip(received) {
            let (mut offset, mut stride) = (0, 1);
            for &number in message.scope[1..].iter().rev() {
                offset += stride * values[number as usize] as usize;
                stride *= self.problem.domains[number as usize] as usize;
            }
            for (sum, entry) in row.iter_mut().zip(table[offset..].iter().step_by(stride)) {
                *sum = add(*sum, entry.cost());
            }
        }
        row.iter().enumerate().min_by_key(|&(_, &cost)| cost).map_or(0, |(value, _)| value as u32)
    }
}

/// The result of an agent's UTIL phase.
#[derive(Debug)]
pub(super) struct Sent<E: CostTable> {
    /// The sum of the agent's mini-buckets without variables.
    pub constant: E,
    /// The tables of the agent's message, in the order of the steps of its plan.
    pub tables: Vec<Arc<Storage<E>>>,
    /// Seconds of computing.
    pub compute_s: f64,
    /// Seconds of transfers to and from a device.
    pub transfer_s: f64,
    /// Whether a device did the work.
    pub on_device: bool,
}

/// An agent's functions and the messages that it received.
#[derive(Debug)]
struct Knowledge<'a, E> {
    agent: &'a Agent,
    received: &'a [Arc<Storage<E>>],
}

impl<E: CostTable> Factors<MinSum<E>> for Knowledge<'_, E> {
    fn load(&self, source: Source, variables: &[u32], semiring: MinSum<E>) -> Storage<E> {
        let problem = &self.agent.problem;
        match source {
            // messages have the layout that the plan needs
            Source::Function(f) if f as usize >= problem.functions.len() => {
                Storage::shared(&self.received[f as usize - problem.functions.len()])
            }
            _ => problem.load(source, variables, semiring),
        }
    }
}
