//! Sweeps: FANG passes over all variables of a state.

use super::heat_bath::{HeatBath, RatingSource};
use super::state::State;
use crate::fang::{Order, Scratch, Uniform, assign_active_by};
use crate::rng::{below, mix};
use crate::search::scheduler::driver::SearchContext;
use crate::stop::Stop;

/// One pass of a heat bath over all variables, color class by color class: `order` chooses the first one and the stride
/// from one to the next. Each variable's bits are mixed from `draw`. `None` after a stop.
#[inline(always)]
pub(crate) fn sweep<R: RatingSource + Copy>(
    context: &SearchContext,
    bath: HeatBath<'_, R>,
    (order, draw): (u64, u64),
    state: &mut State,
    scratch: &mut Scratch<i32>,
    stop: &Stop,
) -> Option<()> {
    state.active.activate_all();
    let count = context.classes.len();
    let mut at = below(order, count as u64) as usize;
    let stride = context.strides[below(mix(order, 0), context.strides.len() as u64) as usize] as usize;
    for _ in 0..count {
        let class = Order::List(&context.classes[at]);
        if !assign_active_by(&Uniform(bath), state, class, draw, scratch, stop) {
            return None;
        }
        at = (at + stride) % count;
    }
    Some(())
}
