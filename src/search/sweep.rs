//! Sweeps: FANG passes over all variables of a state.

use super::driver::Field;
use super::heat_bath::HeatBath;
use super::state::State;
use crate::fang::{Order, Scratch, Uniform, assign_active};
use crate::stop::Stop;

/// One pass of a heat bath over all variables: in a random order, or class by class where the core is large.
#[inline(always)]
pub(crate) fn sweep(
    field: &Field,
    bath: HeatBath<'_>,
    state: &mut State,
    scratch: &mut Scratch<i32>,
    stop: &Stop,
) -> Option<()> {
    state.active.activate_all();
    let Some(classes) = &field.classes else {
        return assign_active(&Uniform(bath), state, Order::Permuted, scratch, stop).then_some(());
    };
    let first = state.rng.index(classes.len());
    for k in 0..classes.len() {
        let class = Order::List(&classes[(first + k) % classes.len()]);
        if !assign_active(&Uniform(bath), state, class, scratch, stop) {
            return None;
        }
    }
    Some(())
}
