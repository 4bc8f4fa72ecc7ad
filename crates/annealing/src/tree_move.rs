//! Tree moves: all variables of a random induced forest are assigned together, given the other variables. Costs are
//! eliminated exactly from the leaves up (min-sum). On the way down each variable is sampled from its heat bath given
//! its parent's value.

use super::heat_bath::{HeatBath, RatingSource};
use super::state::AnnealState;
use crate::core::forest::{Forest, NO_PARENT, Node};
use crate::error::Error;
use crate::fang::boltzmann::Boltzmann;
use crate::fang::{Scratch, assign_variable};
use crate::generation::ALL_MOVE;
use crate::rng::mix;
use crate::stop::Stop;
use crate::value_tables::{Row, RowEntry, ValueTables, on_rows};

/// Scratch storage of tree moves, one for each thread.
#[derive(Debug, Default)]
pub(crate) struct TreeScratch {
    ratings: Vec<i32>,
    message: Vec<i32>,
    scratch: Scratch<i32>,
}

/// Evaluations of a tree variable given its parent's value: its row plus the row of the edge.
struct GivenParent<'a> {
    row: &'a [i32],
    edge: Option<Row<'a>>,
}

impl RatingSource for GivenParent<'_> {
    #[inline(always)]
    fn fill(&self, _: &ValueTables, _: &AnnealState, _: usize, ratings: &mut [i32]) {
        ratings.copy_from_slice(self.row);
        match self.edge {
            Some(Row::Bytes(edge)) => ratings.iter_mut().zip(edge).for_each(|(rating, cost)| *rating += cost.cost()),
            Some(Row::Words(edge)) => ratings.iter_mut().zip(edge).for_each(|(rating, cost)| *rating += cost),
            None => {}
        }
    }
}

/// Assigns the variables of a forest given the others: min-sum upward, heat bath downward. The random bits of each
/// variable are mixed from `draw`.
///
/// # Errors
/// [`Error::Stopped`]; some of the variables are assigned then.
#[inline(always)]
pub(crate) fn tree_move(
    forest: &Forest,
    tables: &ValueTables,
    boltzmann: Boltzmann,
    draw: u64,
    state: &mut AnnealState,
    scratch: &mut TreeScratch,
    stop: &Stop,
) -> Result<(), Error> {
    let TreeScratch { ratings: buffer, message, scratch } = scratch;
    if buffer.len() < forest.row_entries {
        buffer.resize(forest.row_entries, 0);
    }
    let width = |node: &Node| tables.width[node.variable as usize] as usize;
    for node in stop.finish(&forest.nodes) {
        let node = node?;
        let row = &mut buffer[node.row as usize..node.row as usize + width(node)];
        tables.rate(node.variable as usize, &state.values, row, |incidence| {
            ValueTables::binary(incidence).is_none_or(|edge| !forest.member[edge.1])
        });
    }
    for node in stop.finish(forest.nodes.iter().rev()) {
        let node = node?;
        if node.parent == NO_PARENT {
            continue;
        }
        let parent = &forest.nodes[node.parent as usize];
        message.clear();
        message.resize(width(parent), i32::MAX);
        let domain = tables.domain(node.variable as usize);
        // parents precede their children, and so do their rows
        let (before, own) = buffer.split_at_mut(node.row as usize);
        for (value, &cost) in own[..domain].iter().enumerate() {
            let edge = node.up as usize + value * node.up_stride as usize;
            on_rows!(tables.rows(), entries => {
                for (least, entry) in message.iter_mut().zip(&entries[edge..]) {
                    *least = (*least).min(entry.cost() + cost);
                }
            });
        }
        let target = &mut before[parent.row as usize..parent.row as usize + message.len()];
        let least = message[..tables.domain(parent.variable as usize)].iter().copied().min().unwrap_or(0);
        for (total, &cost) in target.iter_mut().zip(&*message) {
            *total += cost - least;
        }
        target[tables.domain(parent.variable as usize)..].fill(crate::value_tables::PADDING);
        state.ratings += (domain * tables.domain(parent.variable as usize)) as u64;
    }
    for node in stop.finish(&forest.nodes) {
        let node = node?;
        let edge = (node.parent != NO_PARENT).then(|| {
            let parent = forest.nodes[node.parent as usize].variable as usize;
            let value = usize::from(state.values[parent]);
            tables.row(node.down as usize + value * node.down_stride as usize, width(node))
        });
        let row = &buffer[node.row as usize..node.row as usize + width(node)];
        let bath = HeatBath { tables, boltzmann, least: ALL_MOVE, source: GivenParent { row, edge } };
        let bits = mix(draw, u64::from(node.variable));
        let _ = assign_variable(&bath, state, node.variable as usize, bits, scratch);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::cores::{assignment, for_all, price, random};
    use std::sync::Arc;

    #[test]
    fn greedy_tree_moves_are_optimal_given_the_rest() {
        let mut rng = Rng::new(2);
        let mut scratch = TreeScratch::default();
        let mut checked = 0;
        for case in 0..1500 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let forest = Forest::random(&tables, u32::MAX, &mut rng, &Stop::new()).expect("no stop is set");
            let mut state = AnnealState::new(tables.variables(), rng.split());
            state.values = assignment(&problem, &mut rng);
            let members: Vec<u32> = forest.nodes.iter().map(|node| node.variable).collect();
            let mut best = i64::MAX;
            let count = for_all(&problem, &state.values, &members, |values| {
                best = best.min(tables.energy(values).total);
            });
            let before = state.values.clone();
            tree_move(&forest, &tables, Boltzmann::GREEDY, case, &mut state, &mut scratch, &Stop::new())
                .expect("no stop is set");
            for (v, &value) in state.values.iter().enumerate() {
                assert!(usize::from(value) < tables.domain(v) && (forest.member[v] || value == before[v]));
            }
            if tables.shift == 0 {
                let after = tables.energy(&state.values).total;
                assert!(after <= tables.energy(&before).total);
                if count <= 20_000 {
                    assert_eq!(after, best, "case {case}");
                    checked += 1;
                }
            }
        }
        assert!(checked > 1000, "{checked}");
    }

    #[test]
    fn warm_tree_moves_stay_inside_their_domains() {
        let mut rng = Rng::new(3);
        let mut scratch = TreeScratch::default();
        for _ in 0..500 {
            let problem = Arc::new(random(&mut rng));
            let tables = ValueTables::new(&problem, price(&problem));
            let forest = Forest::random(&tables, u32::MAX, &mut rng, &Stop::new()).expect("no stop is set");
            let mut state = AnnealState::new(tables.variables(), rng.split());
            state.values = assignment(&problem, &mut rng);
            for temperature in [0.1, 10.0, 1e12] {
                let boltzmann = Boltzmann::new(temperature);
                tree_move(&forest, &tables, boltzmann, rng.draw(), &mut state, &mut scratch, &Stop::new())
                    .expect("no stop is set");
                assert!(state.values.iter().enumerate().all(|(v, &value)| usize::from(value) < tables.domain(v)));
            }
        }
    }
}
