//! Agents as processes. Each process knows the functions of its own variables, and receives messages over the loopback
//! interface.
//!
//! The process that reads the problem starts the others, sends each its variables and functions through a pipe, and
//! receives the chosen values. UTIL and VALUE messages go from agent to agent. The loss of a process ends the run.
//!
//! Any process of the machine can connect to the port of an agent process; messages are accepted only from one that
//! shows the token of the run: see [`gate`].

mod gate;
mod serve;
mod wire;

pub use serve::serve;

use super::agent::Agent;
use super::run::{Found, lower_bound};
use super::traffic::Traffic;
use crate::elimination::{Plan, Width};
use crate::error::Error;
use crate::model::Problem;
use crate::order::PseudoTree;
use crate::stop::Stop;
use crate::threads;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, BufReader};
use std::process::{Child as Process, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use wire::{Child, Head, Longest, Node, Setup, hear, say};

/// Interval at which a waiting run reads the stop flag.
const LOOK: Duration = Duration::from_millis(20);

/// The processes that run agents.
pub struct Processes<'a> {
    /// Returns the command of a process: a program that calls [`serve`] with its standard input and output.
    pub program: &'a dyn Fn() -> Command,
    /// The number of processes.
    pub count: usize,
    /// The number of threads of each process.
    pub threads: usize,
    /// The process of each variable.
    pub of: Vec<usize>,
    /// The names of the agents of each process, for error messages.
    pub names: Vec<String>,
}

/// Runs a plan by processes. The result equals that of [`run_agents`](super::run_agents) to the last bit.
///
/// # Errors
/// Returns [`Error::Agent`] with the name of a process that is lost or fails, and [`Error::Stopped`] if `stop` is set.
pub fn run_processes(
    problem: &Problem,
    plan: &Plan,
    tree: &PseudoTree,
    processes: &Processes<'_>,
    stop: &Stop,
) -> Result<Found, Error> {
    let started = Instant::now();
    let mut group = Group::start(processes, Longest::new(problem.variables() as u64, 0))?;
    let ports = group.ports(stop)?;
    let nodes = nodes(problem, plan, tree, &processes.of, processes.count);
    let (token, longest) = (token(), longest(plan, tree, &processes.of));
    for (own, nodes) in nodes.into_iter().enumerate() {
        let setup = Setup {
            token: token.clone(),
            longest,
            threads: processes.threads,
            wide: plan.costs.width == Width::I64,
            cap: plan.costs.cap,
            top: problem.top,
            ports: ports.clone(),
            own,
            nodes,
        };
        group.tell(own, Head::Setup(Box::new(setup)))?;
    }
    let mut assignment = vec![0; problem.variables()];
    let (mut total, mut util_s) = (0, 0.0f64);
    let mut left = processes.count;
    while left > 0 {
        let (process, head) = group.next(stop)?;
        match head {
            Head::Done { values, constant, util_s: own } => {
                values.into_iter().for_each(|(variable, value)| assignment[variable as usize] = value);
                total = (total + constant).min(plan.costs.cap);
                util_s = util_s.max(own);
                group.ended[process] = true;
                left -= 1;
            }
            Head::Failed(what) => return Err(Error::Agent(format!("{}: {what}", group.name(process)))),
            _ => return Err(Error::Agent(format!("{} says what agents do not say", group.name(process)))),
        }
    }
    let lower = lower_bound(problem.constant, plan, total);
    let value_s = (started.elapsed().as_secs_f64() - util_s).max(0.0);
    Ok(Found { lower, assignment, spent: Vec::new(), util_s, value_s, on_device: false, trouble: None })
}

/// Returns the agents of each process.
fn nodes(problem: &Problem, plan: &Plan, tree: &PseudoTree, of: &[usize], count: usize) -> Vec<Vec<Node>> {
    let mut children: Vec<Vec<Child>> = (0..problem.variables()).map(|_| Vec::new()).collect();
    for (v, parent) in tree.parent.iter().enumerate() {
        if let Some(parent) = parent {
            let separator = tree.separators[v].to_vec();
            children[*parent as usize].push(Child { variable: v as u32, process: of[v], separator });
        }
    }
    let mut nodes: Vec<Vec<Node>> = (0..count).map(|_| Vec::new()).collect();
    for (position, &variable) in plan.sequence.iter().enumerate() {
        let v = variable as usize;
        let parent = tree.parent[v].map(|parent| (parent, of[parent as usize]));
        let agent = Agent::new(problem, plan, position);
        nodes[of[v]].push(Node::new(&agent, parent, std::mem::take(&mut children[v])));
    }
    nodes
}

/// Returns the longest message between two processes.
fn longest(plan: &Plan, tree: &PseudoTree, of: &[usize]) -> Longest {
    let owner: Vec<u32> = of.iter().map(|&process| process as u32).collect();
    let traffic = Traffic::new(plan, tree, &owner);
    let tables = traffic.agents.iter().map(|agent| agent.tables).max();
    let values = tree.separators.iter().map(|separator| separator.len() as u64).max();
    let bytes = traffic.largest_util_entries.saturating_mul(plan.costs.width.bytes());
    Longest::new(tables.max(values).unwrap_or(0), bytes)
}

/// Returns a secret that only the processes of this run know.
fn token() -> String {
    let word = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", word(), word())
}

/// The started processes, which end with the run, however it ends.
struct Group<'a> {
    processes: &'a Processes<'a>,
    running: Vec<(Process, Option<ChildStdin>)>,
    /// Senders that keep the pipes to the processes open while they exist.
    open: Vec<Sender<()>>,
    heard: Receiver<(usize, Option<Head>)>,
    ended: Vec<bool>,
}

impl<'a> Group<'a> {
    fn start(processes: &'a Processes<'a>, longest: Longest) -> Result<Self, Error> {
        let (sender, heard) = channel();
        let ended = vec![false; processes.count];
        let mut group = Group { processes, running: Vec::new(), open: Vec::new(), heard, ended };
        for process in 0..processes.count {
            let failed = |source: io::Error| Error::Agent(format!("an agent process cannot be started: {source}"));
            let mut command = (processes.program)();
            let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(failed)?;
            let (input, output) = (child.stdin.take(), child.stdout.take());
            group.running.push((child, input));
            let (sender, output) = (sender.clone(), output.expect("it is piped"));
            let listen = move || {
                let mut output = BufReader::new(output);
                loop {
                    let head = hear(&mut output, longest).ok().flatten().map(|(head, _)| head);
                    let is_end = head.is_none();
                    if sender.send((process, head)).is_err() || is_end {
                        break;
                    }
                }
            };
            drop(threads::start("agent", listen).map_err(failed)?);
        }
        Ok(group)
    }

    fn name(&self, process: usize) -> String {
        format!("agent process {} of {} ({})", process + 1, self.processes.count, self.processes.names[process])
    }

    fn ports(&mut self, stop: &Stop) -> Result<Vec<u16>, Error> {
        let mut ports = vec![0; self.processes.count];
        for _ in 0..ports.len() {
            match self.next(stop)? {
                (process, Head::Port(port)) => ports[process] = port,
                (process, _) => return Err(Error::Agent(format!("{} has no port", self.name(process)))),
            }
        }
        Ok(ports)
    }

    /// Sends a head on a separate thread, because a process that hangs does not read; its end is noticed elsewhere.
    fn tell(&mut self, process: usize, head: Head) -> Result<(), Error> {
        let failed = |source: io::Error| Error::Agent(format!("an agent process cannot be told what to do: {source}"));
        let Some(mut input) = self.running[process].1.take() else { return Err(self.lost(process)) };
        let (sender, closed) = channel();
        self.open.push(sender);
        let tell = move || {
            let _ = say(&mut input, &head, &[]);
            let _ = closed.recv();
        };
        drop(threads::start("setup", tell).map_err(failed)?);
        Ok(())
    }

    /// Returns the next message of any process.
    fn next(&mut self, stop: &Stop) -> Result<(usize, Head), Error> {
        loop {
            match self.heard.recv_timeout(LOOK) {
                Ok((process, Some(head))) => return Ok((process, head)),
                Ok((process, None)) if !self.ended[process] => {
                    // a signal to all processes ends them before it is noticed here
                    std::thread::sleep(LOOK);
                    stop.check()?;
                    return Err(self.lost(process));
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => stop.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Error::Agent("all agent processes are lost".into())),
            }
        }
    }

    fn lost(&mut self, process: usize) -> Error {
        let name = self.name(process);
        // a process that ends closes its pipe; one that only closes it is not waited for
        let ended = (0..10).find_map(|_| {
            std::thread::sleep(LOOK);
            self.running[process].0.try_wait().ok().flatten()
        });
        let how = ended.map_or("it says nothing more".into(), |status| status.to_string());
        Error::Agent(format!("{name} was lost ({how}): the run ends without a result"))
    }
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        self.open.clear();
        for (process, input) in &mut self.running {
            drop(input.take());
            let _ = process.kill();
        }
        for (process, _) in &mut self.running {
            let _ = process.wait();
        }
    }
}
