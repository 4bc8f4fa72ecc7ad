//! Simulated runtime: the time that agents would take if each had a machine (Sultanik, Lass and Regli, "DCOPolis",
//! 2008; Fioretto et al., 2018, section 8).

use super::run::Spent;
use super::traffic::Traffic;
use crate::order::PseudoTree;

/// The time that messages take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Latency {
    /// Seconds for each message.
    pub message_s: f64,
    /// Seconds for each byte.
    pub byte_s: f64,
}

/// The clocks of agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clocks {
    /// The time at which the agent of each variable has sent its UTIL message, in seconds.
    pub util_s: Vec<f64>,
    /// The end of the UTIL phase, in seconds.
    pub util_end_s: f64,
    /// The end of the run, in seconds: the largest clock.
    pub end_s: f64,
}

/// Bytes of a value in a message.
const VALUE: f64 = 4.0;

impl Clocks {
    /// Returns the clocks of agents with these times. An agent of several variables handles one after the other;
    /// messages between its own variables take no time.
    pub fn new(
        tree: &PseudoTree,
        traffic: &Traffic,
        spent: &[Spent],
        owner: &[u32],
        entry_bytes: u64,
        latency: Latency,
    ) -> Clocks {
        let n = tree.parent.len();
        let agents = owner.iter().map(|&agent| agent as usize + 1).max().unwrap_or(0);
        let takes = |bytes: f64| latency.message_s + latency.byte_s * bytes;
        let (mut util, mut free, mut arrived) = (vec![0.0f64; n], vec![0.0f64; agents], vec![0.0f64; n]);
        for &v in &tree.order.sequence {
            let (v, agent) = (v as usize, owner[v as usize] as usize);
            let end = arrived[v].max(free[agent]) + spent[v].util_s + spent[v].transfer_s;
            (util[v], free[agent]) = (end, end);
            if let Some(parent) = tree.parent[v] {
                let is_local = owner[parent as usize] as usize == agent;
                let bytes = traffic.agents[v].util_entries as f64 * entry_bytes as f64;
                let way = if is_local { 0.0 } else { takes(bytes) };
                arrived[parent as usize] = arrived[parent as usize].max(end + way);
            }
        }
        let util_end_s = util.iter().copied().fold(0.0, f64::max);
        let mut value = vec![0.0f64; n];
        for &v in tree.order.sequence.iter().rev() {
            let (v, agent) = (v as usize, owner[v as usize] as usize);
            let begin = match tree.parent[v] {
                None => util[v],
                Some(parent) if owner[parent as usize] as usize == agent => value[parent as usize],
                Some(parent) => value[parent as usize] + takes(VALUE * tree.separators[v].len() as f64),
            };
            value[v] = begin.max(free[agent]) + spent[v].value_s;
            free[agent] = value[v];
        }
        let end_s = value.iter().copied().fold(util_end_s, f64::max);
        Clocks { util_s: util, util_end_s, end_s }
    }
}
