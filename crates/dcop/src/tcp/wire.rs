//! The messages between agents and the process that starts them: a head in JSON, and tables as they lie in memory.

use crate::agent::{Agent, Received};
use crate::elimination::{EliminationPlan, Input, Source, Step};
use crate::memory;
use crate::model::{Cost, CostFunction, Problem, SparseTable, Table};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};

/// Limits of a message, in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Longest {
    pub head: u64,
    pub tables: u64,
}

/// The limit of a setup, which comes through a pipe from the process that starts the agents.
pub(super) const LONGEST_SETUP: Longest = Longest { head: 1 << 32, tables: 0 };
/// Bytes of a head with a port or with the reason of a failure.
const SHORT_HEAD: u64 = 1 << 16;
/// Largest number of bytes in a head of two numbers with their brackets and commas.
const PAIR: u64 = 40;
/// Largest number of bytes that are reserved before any has arrived.
const FIRST_BYTES: u64 = 1 << 16;

impl Longest {
    /// Returns the limits for heads of at most `pairs` pairs of numbers, and for `tables` bytes of tables.
    pub fn new(pairs: u64, tables: u64) -> Longest {
        Longest { head: SHORT_HEAD + PAIR * pairs, tables }
    }
}

/// The head of a message.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Head {
    /// A process listens at this port of the loopback interface.
    Port(u16),
    /// The agents that a process runs.
    Setup(Box<Setup>),
    /// A UTIL message, followed by its tables: pairs of a step and a number of entries.
    Util { to: u32, constant: Cost, tables: Vec<(u32, u64)> },
    /// A VALUE message with pairs of a variable and its value.
    Value { to: u32, values: Vec<(u32, u32)> },
    /// The values of a process' variables, and the sum of the constants of its roots.
    Done { values: Vec<(u32, u32)>, constant: Cost, util_s: f64 },
    /// The reason why a process cannot continue.
    Failed(String),
}

/// The setup of a process: the agents of its variables, and the processes of their neighbours in the tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Setup {
    /// The token that a peer shows before it sends messages.
    pub token: String,
    /// The longest message between two processes.
    pub longest: Longest,
    /// The number of threads of the process.
    pub threads: usize,
    /// Whether entries have 64 bits.
    pub wide: bool,
    /// The cost to which entries are clamped.
    pub cap: Cost,
    /// The strict upper limit of the cost of a solution.
    pub top: Cost,
    /// The ports of all processes.
    pub ports: Vec<u16>,
    /// The number of this process.
    pub own: usize,
    pub nodes: Vec<Node>,
}

/// A step: its inputs (`None` stands for unary costs) with their scopes, its scope, its entries, and whether it is
/// lowered.
pub(super) type WireStep = (Vec<(Option<u32>, Vec<u32>)>, Vec<u32>, u64, bool);

/// The agent of one variable. `variables`, `parent` and `children` have the problem's numbers of variables; functions
/// and scopes have the agent's.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Node {
    pub variables: Vec<u32>,
    pub domains: Vec<u32>,
    pub unary: Vec<Cost>,
    pub functions: Vec<Function>,
    /// The mini-buckets of the agent.
    pub steps: Vec<WireStep>,
    pub receives: Vec<(u32, Vec<u32>)>,
    pub first_step: u32,
    /// The parent and its process.
    pub parent: Option<(u32, usize)>,
    pub children: Vec<Child>,
}

/// A child in the tree.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Child {
    pub variable: u32,
    pub process: usize,
    /// The variables whose values the child receives.
    pub separator: Vec<u32>,
}

/// A function of an agent: all costs, or a default cost and tuples.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Function {
    pub scope: Vec<u32>,
    pub default: Option<Cost>,
    pub tuples: Vec<u32>,
    pub costs: Vec<Cost>,
}

impl Node {
    pub fn new(agent: &Agent, parent: Option<(u32, usize)>, children: Vec<Child>) -> Node {
        let function = |function: &CostFunction| {
            let scope = function.scope.to_vec();
            match &function.table {
                Table::Dense(costs) => {
                    Function { scope, default: None, tuples: Vec::new(), costs: costs.iter().collect() }
                }
                Table::Sparse(table) => Function {
                    scope,
                    default: Some(table.default_cost()),
                    tuples: table.tuples().to_vec(),
                    costs: table.costs().to_vec(),
                },
            }
        };
        let input = |input: &Input| match input.source {
            Source::Function(f) => (Some(f), input.scope.to_vec()),
            _ => (None, input.scope.to_vec()),
        };
        let step = |step: &Step| {
            let inputs = step.inputs.iter().map(input).collect();
            (inputs, step.scope.to_vec(), step.entries, step.lowered)
        };
        Node {
            variables: agent.variables.clone(),
            domains: agent.problem.domains.clone(),
            unary: agent.problem.unary[0].clone(),
            functions: agent.problem.functions.iter().map(function).collect(),
            steps: agent.plan.steps.iter().map(step).collect(),
            receives: agent.receives.iter().map(|message| (message.step, message.scope.to_vec())).collect(),
            first_step: agent.first_step,
            parent,
            children,
        }
    }

    /// Returns the agent that it describes.
    pub fn agent(&self, top: Cost) -> Agent {
        let function = |function: &Function| {
            let table = match function.default {
                None => Table::dense(function.costs.clone()),
                Some(default) => {
                    let (tuples, costs) = (function.tuples.clone(), function.costs.clone());
                    Table::Sparse(SparseTable::new(function.scope.len(), default, tuples, costs).into())
                }
            };
            CostFunction { scope: function.scope.clone().into(), table }
        };
        let mut unary: Vec<Vec<Cost>> = self.domains.iter().map(|&domain| vec![0; domain as usize]).collect();
        unary[0].clone_from(&self.unary);
        let functions = self.functions.iter().map(function).collect();
        let problem = Problem { domains: self.domains.clone(), unary, functions, constant: 0, top };
        let input = |(source, scope): &(Option<u32>, Vec<u32>)| Input {
            source: source.map_or(Source::Unary, Source::Function),
            scope: scope.clone().into(),
        };
        let domain = u64::from(self.domains[0]);
        let steps: Vec<Step> = self
            .steps
            .iter()
            .map(|(inputs, scope, entries, lowered)| Step {
                position: 0,
                inputs: inputs.iter().map(input).collect(),
                scope: scope.clone().into(),
                entries: *entries,
                joint: entries.saturating_mul(domain),
                lowered: *lowered,
            })
            .collect();
        let receives = self.receives.iter();
        let receives = receives.map(|(step, scope)| Received { step: *step, scope: scope.clone().into() }).collect();
        let plan = EliminationPlan::of_bucket(self.domains.clone(), steps);
        Agent { problem, plan, receives, variables: self.variables.clone(), first_step: self.first_step }
    }
}

/// Sends a message.
pub(super) fn say(out: &mut impl Write, head: &Head, tables: &[&[u8]]) -> io::Result<()> {
    let text = serde_json::to_vec(head)?;
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(&(tables.iter().map(|table| table.len() as u64).sum::<u64>()).to_le_bytes())?;
    out.write_all(&text)?;
    tables.iter().try_for_each(|table| out.write_all(table))?;
    out.flush()
}

/// Receives a message; returns `None` at the end. Memory grows with the bytes that have arrived, not with those
/// announced.
///
/// # Errors
/// Returns [`ErrorKind::InvalidData`] if the message is longer than `longest` or its head is invalid.
pub(super) fn hear(input: &mut impl Read, longest: Longest) -> io::Result<Option<(Head, Vec<u8>)>> {
    let mut lengths = [0u8; 16];
    match input.read_exact(&mut lengths) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let length = |at: usize| u64::from_le_bytes(lengths[at..at + 8].try_into().expect("eight bytes"));
    let (head, tables) = (length(0), length(8));
    if head > longest.head || tables > longest.tables {
        let what = format!("a message of {head} + {tables} bytes, longer than agents send");
        return Err(io::Error::new(ErrorKind::InvalidData, what));
    }
    let head = bytes(input, head)?;
    let tables = bytes(input, tables)?;
    let head = serde_json::from_slice(&head).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    Ok(Some((head, tables)))
}

/// Reads `length` bytes; memory grows with the bytes that have arrived.
fn bytes(input: &mut impl Read, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        let arrived = bytes.len() as u64;
        let more = (length - arrived).min(arrived.max(FIRST_BYTES));
        memory::reserve(&mut bytes, more as usize).map_err(|error| io::Error::new(ErrorKind::OutOfMemory, error))?;
        if (input.by_ref().take(more).read_to_end(&mut bytes)? as u64) < more {
            return Err(io::Error::from(ErrorKind::UnexpectedEof));
        }
    }
    Ok(bytes)
}
