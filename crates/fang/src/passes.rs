//! Passes over the active variables of a state.

use super::engine::State;
use super::order::Walk;
use super::{Dispatch, Order};
use crate::rng::mix;
use crate::stop::Stop;

/// Makes one pass: assigns the active variables in the given order, types one after the other, and deactivates each
/// after its assignment or failed assignment.
///
/// Each variable is visited at most once. A variable that an assignment activates is assigned in the same pass if it
/// comes later in the order; otherwise it stays active. A pass takes one draw of the state's stream, after the draw of
/// the order if that takes one. The bits of each variable are [`mix`]ed from the draw and the variable's number. They
/// depend on nothing but pass and variable, so that a device can compute them for many variables at a time.
///
/// Returns whether the pass came to its end; after a stop the remaining variables are still active.
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

/// Like [`assign_active`], but with a given draw, for states whose bits do not come from their own stream.
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
