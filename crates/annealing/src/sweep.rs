//! Sweeps: passes of FANG's successor generation over all variables of a state.

use super::generation::ALL_MOVE;
use super::heat_bath::{AllFunctions, HeatBath, RatingSource};
use super::state::AnnealState;
use crate::core::context::SearchContext;
use crate::fang::{Order, Scratch, Uniform, assign_active_by, choose};
use crate::rng::{below, mix};
use crate::stop::Stop;
use crate::threads;
use crate::value_tables::ValueTables;
use std::borrow::Cow;

/// The variables that a thread visits at a time in a sweep by all threads; they take a few hundred microseconds.
pub(crate) const TURN: usize = 1 << 10;
/// The variables for which a thread decides at a time whether they may move.
const PART: usize = 1 << 13;

/// Where the random bits of a sweep come from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SweepDraws {
    /// Chooses the first color class and the stride from one class to the next.
    pub order: u64,
    /// Each variable's random bits are mixed from this number.
    pub values: u64,
}

/// Makes a heat-bath sweep over all variables, color class by color class. Returns `None` after a stop.
#[inline(always)]
pub(crate) fn sweep<R: RatingSource + Copy>(
    context: &SearchContext,
    bath: HeatBath<'_, R>,
    draws: SweepDraws,
    state: &mut AnnealState,
    scratch: &mut Scratch<i32>,
    stop: &Stop,
) -> Option<()> {
    state.active.activate_all();
    for class in classes(context, draws.order) {
        let class = match bath.least {
            ALL_MOVE => Cow::Borrowed(class),
            _ => class.iter().copied().filter(|&v| bath.may_move(state, v)).collect(),
        };
        if !assign_active_by(&Uniform(bath), state, Order::List(&class), draws.values, scratch, stop) {
            return None;
        }
    }
    Some(())
}

/// Returns the numbers of all color classes, starting at one that `order` chooses and with a stride that it chooses.
pub(crate) fn class_numbers(context: &SearchContext, order: u64) -> impl Iterator<Item = usize> + use<> {
    let count = context.order.classes.len();
    let first = below(order, count as u64) as usize;
    let stride = context.order.strides[below(mix(order, 0), context.order.strides.len() as u64) as usize] as usize;
    (0..count).map(move |k| (first + k * stride) % count)
}

/// Returns the members of each color class, in the order of [`class_numbers`].
fn classes(context: &SearchContext, order: u64) -> impl Iterator<Item = &[u32]> {
    class_numbers(context, order).map(|class| &context.order.classes[class][..])
}

/// Makes a sweep by all threads. The variables of a class do not share a function, so each takes the value that it
/// takes in [`sweep`]. Returns the change of the state's energy in the units of the rows, or `None` after a stop.
/// `picks` is scratch storage.
pub(crate) fn sweep_together<R: TogetherSource>(
    context: &SearchContext,
    bath: HeatBath<'_, R>,
    draws: SweepDraws,
    state: &mut AnnealState,
    picks: &mut Vec<u16>,
    stop: &Stop,
) -> Option<i64> {
    let mut change = 0;
    for class in classes(context, draws.order) {
        let before = &*state;
        let movable = |part: &[u32]| part.iter().copied().filter(|&v| bath.may_move(before, v)).collect::<Vec<u32>>();
        let class = match bath.least {
            ALL_MOVE => Cow::Borrowed(class),
            _ => threads::map(class.chunks(PART), movable).concat().into(),
        };
        let class = &class[..];
        change += visit_class(bath, before, class, draws.values, picks, stop)?;
        bath.source.follow(&context.tables, before, class, picks);
        for (&v, &pick) in class.iter().zip(&*picks) {
            let value = &mut state.values[v as usize];
            state.moves += u64::from(*value != pick);
            state.ratings += context.tables.domain(v as usize) as u64;
            *value = pick;
        }
    }
    Some(change)
}

/// Samples a value for each member of a class by all threads. Returns the resulting change of the state's energy in the
/// units of the rows. The state keeps its values. Returns `None` after a stop.
pub(crate) fn visit_class<R: TogetherSource>(
    bath: HeatBath<'_, R>,
    state: &AnnealState,
    class: &[u32],
    draw: u64,
    picks: &mut Vec<u16>,
    stop: &Stop,
) -> Option<i64> {
    picks.clear();
    picks.resize(class.len(), 0);
    let turns = picks.chunks_mut(TURN).zip(class.chunks(TURN));
    let turns = threads::map(turns, |(picks, variables)| {
        let turn = Turn { bath, state, draw, variables, picks };
        (!stop.is_set()).then(|| pulp::Arch::new().dispatch(turn))
    });
    turns.into_iter().sum()
}

/// A source of evaluations for sweeps by all threads.
pub(crate) trait TogetherSource: RatingSource + Copy + Sync + Send {
    /// Updates the source before the members of a class change to the values in `_picks`.
    fn follow(&self, _: &ValueTables, _: &AnnealState, _class: &[u32], _picks: &[u16]) {}
}

impl TogetherSource for AllFunctions {}

/// A slice of the variables of a class, and storage for their new values.
struct Turn<'a, R> {
    bath: HeatBath<'a, R>,
    state: &'a AnnealState,
    draw: u64,
    variables: &'a [u32],
    picks: &'a mut [u16],
}

impl<R: TogetherSource> pulp::WithSimd for Turn<'_, R> {
    type Output = i64;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> i64 {
        let Turn { bath, state, draw, variables, picks } = self;
        let (mut ratings, mut weights) = (Vec::new(), Vec::new());
        let mut change = 0;
        for (&v, pick) in variables.iter().zip(picks) {
            let v = v as usize;
            let draw = mix(draw, v as u64);
            // arrays fix the length of loops at compile time
            let (value, more) = match bath.tables.width[v] as usize {
                4 => pick_from(bath, state, v, draw, &mut [0; 4], &mut [0; 4]),
                8 => pick_from(bath, state, v, draw, &mut [0; 8], &mut [0; 8]),
                16 => pick_from(bath, state, v, draw, &mut [0; 16], &mut [0; 16]),
                n => {
                    ratings.resize(n, 0);
                    weights.resize(n, 0);
                    pick_from(bath, state, v, draw, &mut ratings, &mut weights)
                }
            };
            *pick = value as u16;
            change += more;
        }
        change
    }
}

/// Returns the new value of a variable, and the cost of that value minus the cost of the present one.
#[inline(always)]
fn pick_from<R: RatingSource>(
    bath: HeatBath<'_, R>,
    state: &AnnealState,
    variable: usize,
    draw: u64,
    ratings: &mut [i32],
    weights: &mut [u32],
) -> (usize, i64) {
    let own = usize::from(state.values[variable]);
    let value = choose(&bath, state, variable, draw, &mut *ratings, weights).unwrap_or(own);
    (value, i64::from(ratings[value]) - i64::from(ratings[own]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fang::boltzmann::Boltzmann;
    use crate::generate::generate;
    use crate::reduce::Reducer;
    use crate::rng::Rng;
    use fangs_testing::cores::price;
    use std::sync::Arc;

    #[test]
    fn all_threads_make_the_sweep_that_one_makes_and_know_what_it_changed() {
        for (family, settings) in [
            ("large-sparse", vec![("n", "4000"), ("d", "5"), ("functions", "12000")]),
            ("grid", vec![("side", "30"), ("d", "3"), ("p2", "0.2")]),
            ("random", vec![("n", "100"), ("d", "20")]),
        ] {
            let network = generate(family, &settings, 2).expect("a family");
            let problem = Arc::new(Reducer::unreduced(&network, &Stop::new()).expect("no limit").1);
            let context = SearchContext::new(&problem, price(&problem), None, &mut Rng::new(1));
            assert_eq!(context.tables.shift, 0, "{family}");
            let mut rng = Rng::new(9);
            let mut one = AnnealState::new(context.variables(), Rng::new(0));
            one.values = problem.domains.iter().map(|&d| rng.index(d as usize) as u16).collect();
            let (mut other, mut picks) = (one.clone(), Vec::new());
            for temperature in [context.schedule.hot, context.schedule.cold, 0.0] {
                let boltzmann = if temperature > 0.0 { Boltzmann::new(temperature) } else { Boltzmann::GREEDY };
                let (draws, stop) = (SweepDraws { order: rng.draw(), values: rng.draw() }, Stop::new());
                let bath = HeatBath { tables: &context.tables, boltzmann, least: ALL_MOVE, source: AllFunctions };
                let before = context.tables.energy(&one.values).total;
                sweep(&context, bath, draws, &mut one, &mut Scratch::default(), &stop).expect("no stop is set");
                let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
                let change = pool.install(|| sweep_together(&context, bath, draws, &mut other, &mut picks, &stop));
                assert_eq!((&one.values, one.moves, one.ratings), (&other.values, other.moves, other.ratings));
                assert_eq!(change, Some(context.tables.energy(&one.values).total - before), "{family}");
            }
        }
    }
}
