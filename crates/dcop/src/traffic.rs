//! Counts of the messages of agents. They follow from the plan, and do not depend on devices, threads or modes.

use crate::elimination::Plan;
use crate::order::PseudoTree;

/// The work and the messages of a variable's agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentTraffic {
    /// The number of tables that it joins: its own functions, unary costs, messages.
    pub inputs: u64,
    /// The number of combinations that it evaluates.
    pub join_entries: u64,
    /// Entries that it makes and sends.
    pub made_entries: u64,
    /// Entries of its message: those that it makes, and those that it forwards.
    pub util_entries: u64,
    /// The number of tables of its message: more than one if its bucket is split or if it forwards some.
    pub tables: u64,
    /// Nonconcurrent constraint checks up to its message; each read of an entry of an input counts (Meisels et al.,
    /// "Comparing performance of distributed constraints processing algorithms", 2002).
    pub nccc: u64,
}

/// The messages of all agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// The counts of each variable's agent.
    pub agents: Vec<AgentTraffic>,
    /// The number of UTIL messages between agents; the number of VALUE messages equals it.
    pub util_messages: u64,
    /// The number of messages between variables of one agent, in both phases.
    pub local_messages: u64,
    /// The number of tables in all messages; a table that is forwarded counts for each agent.
    pub tables: u64,
    /// Entries that agents make and send.
    pub made_entries: u64,
    /// Entries of all messages.
    pub util_entries: u64,
    /// Entries of the largest message.
    pub largest_util_entries: u64,
    /// Bytes of the entries of all messages.
    pub util_bytes: u64,
    /// Nonconcurrent constraint checks of the longest chain of agents.
    pub nccc: u64,
}

impl Traffic {
    /// Counts the messages of a plan that was made along the tree; `owner` is the agent of each variable.
    ///
    /// The constant of a mini-bucket travels with the message and is not counted as an entry.
    pub fn new(plan: &Plan, tree: &PseudoTree, owner: &[u32]) -> Traffic {
        let mut traffic = Traffic { agents: vec![AgentTraffic::default(); tree.parent.len()], ..Traffic::default() };
        // tables that wait at a variable: their entries and their destinations
        let mut waiting: Vec<Vec<(u64, u32)>> = vec![Vec::new(); tree.parent.len()];
        let mut checks = vec![0u64; tree.parent.len()];
        for (position, &variable) in plan.sequence.iter().enumerate() {
            let v = variable as usize;
            let mut own = AgentTraffic::default();
            let mut tables = std::mem::take(&mut waiting[v]);
            tables.retain(|&(_, target)| target != variable);
            let mut looks = 0u64;
            for step in plan.bucket(position) {
                own.inputs += step.inputs.len() as u64;
                own.join_entries = own.join_entries.saturating_add(step.joint);
                looks = looks.saturating_add(step.joint.saturating_mul(step.inputs.len() as u64));
                if let Some(&target) = step.scope.first() {
                    own.made_entries = own.made_entries.saturating_add(step.entries);
                    tables.push((step.entries, plan.sequence[target as usize]));
                }
            }
            own.tables = tables.len() as u64;
            own.util_entries = tables.iter().map(|&(entries, _)| entries).fold(0, u64::saturating_add);
            own.nccc = checks[v].saturating_add(looks);
            traffic.nccc = traffic.nccc.max(own.nccc);
            if let Some(parent) = tree.parent[v] {
                checks[parent as usize] = checks[parent as usize].max(own.nccc);
                waiting[parent as usize].append(&mut tables);
                traffic.count(&own, owner[v] == owner[parent as usize]);
            }
            traffic.agents[v] = own;
        }
        traffic.util_bytes = traffic.util_entries.saturating_mul(plan.costs.width.bytes());
        traffic
    }

    fn count(&mut self, own: &AgentTraffic, is_local: bool) {
        if is_local {
            self.local_messages += 2;
            return;
        }
        self.util_messages += 1;
        self.tables += own.tables;
        self.made_entries = self.made_entries.saturating_add(own.made_entries);
        self.util_entries = self.util_entries.saturating_add(own.util_entries);
        self.largest_util_entries = self.largest_util_entries.max(own.util_entries);
    }
}
