//! What agents send, counted: it follows from the plan, and does not depend on devices, threads or modes.

use crate::elimination::Plan;
use crate::order::PseudoTree;

/// What the agent of one variable joins and sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentTraffic {
    /// Tables that it joins: its own functions, unary costs, messages.
    pub inputs: u64,
    /// Combinations that it looks at.
    pub join_entries: u64,
    /// Entries that it makes and sends.
    pub made_entries: u64,
    /// Entries of its message: those that it makes, and those that it passes on.
    pub util_entries: u64,
    /// Tables of its message: more than one where its bucket is split, or where it passes some on.
    pub tables: u64,
    /// Nonconcurrent constraint checks up to its message: each look at an entry of an input counts (Meisels et al.,
    /// "Comparing performance of distributed constraints processing algorithms", 2002).
    pub nccc: u64,
}

/// What all agents send.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// By variable.
    pub agents: Vec<AgentTraffic>,
    /// Messages of the UTIL phase between agents; as many VALUE messages come back.
    pub util_messages: u64,
    /// Messages between variables of one agent, of either phase.
    pub local_messages: u64,
    /// Tables in all messages: one that passes several agents counts with each.
    pub tables: u64,
    /// Entries that agents make and send.
    pub made_entries: u64,
    /// Entries in all messages.
    pub util_entries: u64,
    /// Entries of the largest message.
    pub largest_util_entries: u64,
    /// Bytes of the entries in all messages.
    pub util_bytes: u64,
    /// Nonconcurrent constraint checks of the longest chain of agents.
    pub nccc: u64,
}

impl Traffic {
    /// Counts the messages of a plan that was made along the tree; `owner` is the agent of each variable.
    ///
    /// A constant that a mini-bucket comes to travels with the message and is not counted as an entry.
    pub fn new(plan: &Plan, tree: &PseudoTree, owner: &[u32]) -> Traffic {
        let mut traffic = Traffic { agents: vec![AgentTraffic::default(); tree.parent.len()], ..Traffic::default() };
        // tables that wait at a variable: entries, and where they go
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
