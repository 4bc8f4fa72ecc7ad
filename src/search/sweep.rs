//! Sweeps: FANG passes over all variables of a state.

use super::driver::Field;
use super::heat_bath::{HeatBath, RatingSource};
use super::state::State;
use crate::fang::{Order, Scratch, Uniform, assign_active_by};
use crate::rng::{below, mix};
use crate::stop::Stop;

/// One pass of a heat bath over all variables. Where the core is large it goes class by class, beginning with a class
/// that `order` chooses; otherwise in an affine order from `order`. Each variable's bits are mixed from `draw`. `None`
/// after a stop.
#[inline(always)]
pub(crate) fn sweep<R: RatingSource + Copy>(
    field: &Field,
    bath: HeatBath<'_, R>,
    (order, draw): (u64, u64),
    state: &mut State,
    scratch: &mut Scratch<i32>,
    stop: &Stop,
) -> Option<()> {
    state.active.activate_all();
    let Some(classes) = &field.classes else {
        let start = below(order, field.variables() as u64) as usize;
        let stride = field.strides[below(mix(order, 0), field.strides.len() as u64) as usize] as usize;
        let order = Order::Affine { start, stride };
        return assign_active_by(&Uniform(bath), state, order, draw, scratch, stop).then_some(());
    };
    let first = below(order, classes.len() as u64) as usize;
    for k in 0..classes.len() {
        let class = Order::List(&classes[(first + k) % classes.len()]);
        if !assign_active_by(&Uniform(bath), state, class, draw, scratch, stop) {
            return None;
        }
    }
    Some(())
}
