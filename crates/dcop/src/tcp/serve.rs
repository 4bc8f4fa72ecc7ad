//! The process that runs the agents of some variables.

use super::gate::{self, Gate, Message};
use super::wire::{Head, LONGEST_SETUP, Node, Setup, hear, say};
use crate::agent::{Agent, Place};
use crate::elimination::CostTable;
use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::Storage;
use crate::threads;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// Runs the agents that `input` describes, and writes their values to `output`. Messages go to other processes over the
/// loopback interface. `orphaned` is called after `input` has ended, because its parent is gone or has received all
/// results.
///
/// # Errors
/// Returns an error if `input` has no valid setup, or if a port, a thread or memory is not available.
pub fn serve(mut input: impl Read + Send + 'static, mut output: impl Write, orphaned: fn()) -> Result<(), Error> {
    let failed = |source: io::Error| Error::Agent(format!("an agent process: {source}"));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    say(&mut output, &Head::Port(port), &[]).map_err(failed)?;
    let Some((Head::Setup(setup), _)) = hear(&mut input, LONGEST_SETUP).map_err(failed)? else {
        return Err(Error::Agent("an agent process: nobody said what to do".into()));
    };
    drop(threads::start("orphan", move || {
        // nothing more is sent; the end of the input is awaited
        let _ = io::copy(&mut input, &mut io::sink());
        orphaned();
    }));
    threads::share(Some(setup.threads)).map_err(failed)?;
    let (sender, receiver) = channel();
    let gate = Gate::new(listener, &setup.token, neighbours(&setup), setup.longest);
    let admitted = sender.clone();
    let admit = move || {
        if let Err(error) = gate.admit(&admitted) {
            let _ = admitted.send(Err(error));
        }
    };
    drop(threads::start("messages", admit).map_err(failed)?);
    let result = if setup.wide { run::<i64>(&setup, &receiver) } else { run::<i32>(&setup, &receiver) };
    let head = result.unwrap_or_else(|error| Head::Failed(error.to_string()));
    say(&mut output, &head, &[]).map_err(failed)?;
    // others may still send; the end of `input` ends the process
    while receiver.recv().is_ok() {}
    drop(sender);
    Ok(())
}

/// Returns the processes that send messages to this one: those of parents and of children.
fn neighbours(setup: &Setup) -> FxHashSet<u32> {
    let parents = setup.nodes.iter().filter_map(|node| node.parent).map(|(_, process)| process);
    let children = setup.nodes.iter().flat_map(|node| &node.children).map(|child| child.process);
    parents.chain(children).filter(|&process| process != setup.own).map(|process| process as u32).collect()
}

/// An agent and the messages that it has received.
struct State<'a, E> {
    node: &'a Node,
    agent: Agent,
    /// The number of children whose message has not come.
    waits: usize,
    tables: FxHashMap<u32, Arc<Storage<E>>>,
    /// Tables for agents further up in the tree.
    passed: Vec<(u32, Vec<E>)>,
    constant: Cost,
    value: Option<u32>,
}

impl<E: CostTable> State<'_, E> {
    fn received(&self) -> Result<Vec<Arc<Storage<E>>>, Error> {
        let found: Option<Vec<_>> =
            self.agent.receives.iter().map(|message| self.tables.get(&message.step).cloned()).collect();
        found.ok_or_else(|| Error::Agent("an agent was sent less than it joins".into()))
    }
}

/// Connections to other processes, each opened at its first use.
struct Peers<'a> {
    setup: &'a Setup,
    open: FxHashMap<usize, TcpStream>,
}

impl Peers<'_> {
    fn say(&mut self, process: usize, head: &Head, tables: &[&[u8]]) -> io::Result<()> {
        if !self.open.contains_key(&process) {
            let stream = gate::connect(self.setup.ports[process], &self.setup.token, self.setup.own as u32)?;
            let _ = self.open.insert(process, stream);
        }
        let stream = self.open.get_mut(&process).expect("it is open");
        say(stream, head, tables)
    }
}

struct Process<'a, E> {
    setup: &'a Setup,
    peers: Peers<'a>,
    states: FxHashMap<u32, State<'a, E>>,
    /// Messages between agents of this process.
    own: VecDeque<Message>,
}

fn run<E: CostTable>(setup: &Setup, receiver: &Receiver<io::Result<Message>>) -> Result<Head, Error> {
    let begun = Instant::now();
    let state = |node| State {
        node,
        agent: node.agent(setup.top),
        waits: node.children.len(),
        tables: FxHashMap::default(),
        passed: Vec::new(),
        constant: 0,
        value: None,
    };
    let states: FxHashMap<u32, State<'_, E>> =
        setup.nodes.iter().map(|node| (node.variables[0], state(node))).collect();
    let peers = Peers { setup, open: FxHashMap::default() };
    let mut process = Process { setup, peers, states, own: VecDeque::new() };
    let leaves: Vec<u32> =
        setup.nodes.iter().filter(|node| node.children.is_empty()).map(|node| node.variables[0]).collect();
    let (mut left, mut constant, mut util_s) = (setup.nodes.len(), 0, 0.0f64);
    for leaf in leaves {
        left -= process.util(leaf, &mut constant)?;
    }
    while left > 0 {
        let message = match process.own.pop_front() {
            Some(message) => message,
            None => {
                let received =
                    receiver.recv().map_err(|_| Error::Agent("all senders of messages have ended".into()))?;
                received.map_err(|error| Error::Agent(format!("messages: {error}")))?
            }
        };
        match message {
            (Head::Util { to, constant: more, tables }, bytes) => {
                if process.take(to, more, &tables, &bytes)? {
                    left -= process.util(to, &mut constant)?;
                    util_s = begun.elapsed().as_secs_f64();
                }
            }
            (Head::Value { to, values }, _) => {
                process.value(to, &values)?;
                left -= 1;
            }
            _ => return Err(Error::Agent("a message that agents do not send".into())),
        }
    }
    let values = process.states.iter().filter_map(|(&variable, state)| Some((variable, state.value?))).collect();
    Ok(Head::Done { values, constant, util_s })
}

impl<'a, E: CostTable> Process<'a, E> {
    fn state(&mut self, variable: u32) -> Result<&mut State<'a, E>, Error> {
        let found = self.states.get_mut(&variable);
        found.ok_or_else(|| Error::Agent("a message for an agent that is not here".into()))
    }

    /// Takes a UTIL message. Returns whether the agent now has all of them.
    fn take(&mut self, to: u32, constant: Cost, tables: &[(u32, u64)], bytes: &[u8]) -> Result<bool, Error> {
        let cap = self.setup.cap;
        let state = self.state(to)?;
        let mut rest = bytes;
        for &(step, entries) in tables {
            let length = (entries as usize).saturating_mul(size_of::<E>());
            let Some((table, left)) = rest.split_at_checked(length) else {
                return Err(Error::Agent("a message that is shorter than it says".into()));
            };
            rest = left;
            let table: Vec<E> = bytemuck::pod_collect_to_vec(table);
            if state.agent.receives.iter().any(|message| message.step == step) {
                let _ = state.tables.insert(step, Arc::new(table.into()));
            } else {
                state.passed.push((step, table));
            }
        }
        state.constant = state.constant.saturating_add(constant).min(cap);
        state.waits = state.waits.saturating_sub(1);
        Ok(state.waits == 0)
    }

    /// Runs the UTIL phase of an agent, and the VALUE phase if it is a root. Returns the number of values chosen.
    fn util(&mut self, variable: u32, constant: &mut Cost) -> Result<usize, Error> {
        let cap = self.setup.cap;
        let state = self.state(variable)?;
        let sent = state.agent.util(&state.received()?, E::from_cost(cap), Place::Host, &Stop::new())?;
        let sum = state.constant.saturating_add(sent.constant.cost()).min(cap);
        let Some((to, process)) = state.node.parent else {
            *constant = constant.saturating_add(sum).min(cap);
            self.value(variable, &[])?;
            return Ok(1);
        };
        let steps = (state.agent.first_step..).zip(&state.agent.plan.steps);
        let made = steps.zip(&sent.tables).filter(|((_, step), _)| !step.scope.is_empty());
        let passed = std::mem::take(&mut state.passed);
        let made = made.map(|((number, _), table)| (number, &table[..]));
        let all: Vec<(u32, &[E])> = made.chain(passed.iter().map(|(number, table)| (*number, &table[..]))).collect();
        let tables = all.iter().map(|(number, table)| (*number, table.len() as u64)).collect();
        let bytes: Vec<&[u8]> = all.iter().map(|(_, table)| bytemuck::cast_slice(table)).collect();
        self.send(process, Head::Util { to, constant: sum, tables }, &bytes)?;
        Ok(0)
    }

    /// Runs the VALUE phase of an agent that receives these values of others.
    fn value(&mut self, variable: u32, told: &[(u32, u32)]) -> Result<(), Error> {
        let state = self.state(variable)?;
        let known = |v: &u32| told.iter().find(|(other, _)| other == v).map_or(0, |&(_, value)| value);
        let values: Vec<u32> = state.agent.variables.iter().map(known).collect();
        let value = state.agent.value(&state.received()?, &values);
        state.value = Some(value);
        // the received tables are not needed any more
        state.tables.clear();
        let node = state.node;
        for child in &node.children {
            let of = |&v: &u32| if v == variable { (v, value) } else { (v, known(&v)) };
            let values = child.separator.iter().map(of).collect();
            self.send(child.process, Head::Value { to: child.variable, values }, &[])?;
        }
        Ok(())
    }

    fn send(&mut self, process: usize, head: Head, tables: &[&[u8]]) -> Result<(), Error> {
        if process == self.setup.own {
            self.own.push_back((head, tables.concat()));
            return Ok(());
        }
        match self.peers.say(process, &head, tables) {
            // the process that started both learns which one ended first, and ends this one too
            Err(error) if !is_gone(error.kind()) => {
                Err(Error::Agent(format!("a message to process {}: {error}", process + 1)))
            }
            _ => Ok(()),
        }
    }
}

/// Returns whether the process at the other end of a connection has ended.
fn is_gone(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(kind, BrokenPipe | ConnectionAborted | ConnectionRefused | ConnectionReset)
}
