//! The schedule of the published propagation, as plain data: a pair of tables for each separator, messages between
//! them, and rearrangements that update the next table of a clique that is used from the one that received a message.

use super::tree::JunctionTree;

/// A table of a clique, in the layout of one of its separators: the positions of the separator, then the others.
#[derive(Debug)]
pub(super) struct Table {
    pub clique: usize,
    /// The positions of the table, the slowest axis first.
    pub axes: Vec<u32>,
}

/// A message from a table to the other table of its separator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    pub from: usize,
    pub to: usize,
    pub separator: usize,
    /// The number of entries of the source that are reduced to an entry of the separator.
    pub reduced: u32,
    /// The number of entries of the target to which an entry of the separator is scattered.
    pub scattered: u32,
}

/// A step of the propagation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    Message(Message),
    /// A table takes over the entries of another table of its clique.
    Rearrange {
        from: usize,
        to: usize,
    },
}

/// Both directions of a propagation: collect and distribute.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    pub tables: Vec<Table>,
    /// The number of entries of each separator.
    pub separators: Vec<u64>,
    pub acts: Vec<Act>,
    /// For each clique, a table that is up to date at the end.
    pub last: Vec<usize>,
}

/// The state of the cliques' tables during the construction of a schedule.
struct Known {
    /// For each table, the number of messages that it contains.
    of_table: Vec<usize>,
    /// For each clique, the number of messages that it has received.
    of_clique: Vec<usize>,
    /// For each clique, the table that received the last message.
    newest: Vec<usize>,
}

impl Schedule {
    /// Makes the schedule: collect from the leaves to the roots, then distribute.
    pub fn new(tree: &JunctionTree<'_>) -> Schedule {
        let mut schedule = Schedule::default();
        let mut newest = vec![usize::MAX; tree.cliques.len()];
        let mut edges = Vec::new();
        for (index, clique) in tree.cliques.iter().enumerate() {
            let Some((parent, separator)) = &clique.parent else { continue };
            let [child, other] = [index, *parent].map(|own| {
                let first = separator.iter();
                let rest = tree.cliques[own].scope.iter().filter(|&p| separator.binary_search(p).is_err());
                newest[own] = schedule.tables.len();
                schedule.tables.push(Table { clique: own, axes: first.chain(rest).copied().collect() });
                newest[own]
            });
            let entries = tree.entries(separator);
            let row = |own: usize| (tree.cliques[own].entries / entries) as u32;
            let up = Message {
                from: child,
                to: other,
                separator: schedule.separators.len(),
                reduced: row(index),
                scattered: row(*parent),
            };
            schedule.separators.push(entries);
            edges.push(up);
        }
        // a clique without separators has one table
        for (clique, own) in newest.iter_mut().enumerate().filter(|(_, own)| **own == usize::MAX) {
            *own = schedule.tables.len();
            schedule.tables.push(Table { clique, axes: tree.cliques[clique].scope.clone() });
        }
        let mut known =
            Known { of_table: vec![0; schedule.tables.len()], of_clique: vec![0; tree.cliques.len()], newest };
        let down = |up: &Message| Message {
            from: up.to,
            to: up.from,
            separator: up.separator,
            reduced: up.scattered,
            scattered: up.reduced,
        };
        for message in edges.iter().copied().chain(edges.iter().rev().map(down)) {
            schedule.pass(message, &mut known);
        }
        schedule.last = known.newest;
        schedule
    }

    fn pass(&mut self, message: Message, known: &mut Known) {
        for table in [message.from, message.to] {
            let clique = self.tables[table].clique;
            if known.of_table[table] < known.of_clique[clique] {
                self.acts.push(Act::Rearrange { from: known.newest[clique], to: table });
                known.of_table[table] = known.of_clique[clique];
            }
        }
        self.acts.push(Act::Message(message));
        let clique = self.tables[message.to].clique;
        known.of_clique[clique] += 1;
        (known.newest[clique], known.of_table[message.to]) = (message.to, known.of_clique[clique]);
    }

    /// Returns the messages of the schedule.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.acts.iter().filter_map(|act| match act {
            Act::Message(message) => Some(message),
            Act::Rearrange { .. } => None,
        })
    }
}
