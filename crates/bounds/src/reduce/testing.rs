//! Helpers of the tests of this crate and of neighbouring crates.

use super::Reducer;
use super::named::Named;
use super::tuning::Limits;
use crate::model::Network;
use crate::rng::Rng;
use crate::stop::Stop;

/// Reduces a network with more or less elimination and perhaps a log: with full elimination most test networks vanish.
pub fn reducer(network: &Network, logged: bool, rng: &mut Rng) -> Reducer {
    let all = Limits::default();
    let some = Limits { component: 0, ..all.clone() };
    let few = Limits { pair: 6, several: 3, neighbours: 3, ..some.clone() };
    let none = Limits { joint: 0, ..some.clone() };
    let stop = Stop::new();
    let mut reducer = Reducer::load(network, Named::default(), true, &stop).expect("not stopped");
    reducer.limits = [all, some, few, none][rng.index(4)].clone();
    // ties of no pair up to almost any pair of variables
    reducer.merges = rng.below(2) == 0;
    if rng.below(2) == 0 {
        let limits = &mut reducer.limits;
        (limits.tie_share, limits.tie_entries, limits.tie_visits) = (1, 100, 100);
    }
    reducer.log = logged.then(Vec::new);
    reducer.run(&stop);
    reducer
}
