//! Passes over the active variables of a state.

use super::engine::State;
use super::order::Walk;
use super::{Dispatch, Order};
use crate::rng::mix;
use crate::stop::Stop;

/// One pass: assigns the active variables in the given order, types one after the other, and deactivates each
/// after its assignment or failed assignment.
///
/// Each variable is visited at most once. One that an assignment activates is taken in the same pass where the
/// order has yet to come by it, else it stays active. A pass takes one draw of the state's stream (after the order's,
/// where that takes one); each variable's bits are [`mix`]ed from it and the variable's number. So bits depend on
/// nothing but pass and variable, and a device can make them for many variables at a time.
///
/// Returns whether the pass came to its end; after a stop the rest is still active.
#[inline(always)]
pub fn assign_active<S: State, D: Dispatch<S>>(
    dispatch: &D,
    state: &mut S,
    order: Order,
    scratch: &mut D::Scratch,
    stop: &Stop,
) -> bool {
    let variables = state.active().variables();
    let walk = order.walk(variables, state.rng());
    let draw = state.rng().draw();
    walk_active(dispatch, state, &walk, draw, scratch, stop)
}

/// [`assign_active`] whose draw is given: for states whose bits come from elsewhere than their own stream.
#[inline(always)]
pub fn assign_active_by<S: State, D: Dispatch<S>>(
    dispatch: &D,
    state: &mut S,
    order: Order,
    draw: u64,
    scratch: &mut D::Scratch,
    stop: &Stop,
) -> bool {
    let variables = state.active().variables();
    let walk = order.walk(variables, state.rng());
    walk_active(dispatch, state, &walk, draw, scratch, stop)
}

#[inline(always)]
fn walk_active<S: State, D: Dispatch<S>>(
    dispatch: &D,
    state: &mut S,
    pass: &Walk,
    draw: u64,
    scratch: &mut D::Scratch,
    stop: &Stop,
) -> bool {
    for kind in 0..dispatch.types() {
        let mut walk = pass.clone();
        while let Some(variable) = walk.next(state.active()) {
            if dispatch.type_of(variable) != kind {
                continue;
            }
            if stop.is_set() {
                return false;
            }
            let _ = dispatch.assign(state, variable, mix(draw, variable as u64), scratch);
            state.active().deactivate(variable);
        }
    }
    true
}
