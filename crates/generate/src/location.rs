//! Networks in which few variables determine the costs of many.

use super::{Draft, check_size, usage};
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Network};
use crate::rng::Rng;

/// Width and height of the map.
const MAP: u64 = 1000;
/// Least and largest demand of a store.
const DEMAND: (u64, u64) = (5, 40);

/// Generates an uncapacitated facility location problem. Opening a warehouse costs from half of `open` up to `open`; an
/// open warehouse supplies a store at its demand times a third of the distance. There is a variable for each warehouse
/// (1: open), then one for each store.
///
/// # Errors
/// Returns an error if there is no warehouse, or if the network is too large.
pub fn warehouse(warehouses: u32, stores: u32, open: u32, rng: &mut Rng) -> Result<Network, Error> {
    if warehouses == 0 {
        return usage("stores without a warehouse".into());
    }
    let (w, s) = (u64::from(warehouses), u64::from(stores));
    check_size(warehouses.saturating_add(stores), warehouses.max(2), w * s)?;
    let mut draft = Draft::of((0..warehouses).map(|_| 2).chain((0..stores).map(|_| warehouses)))?;
    let mut place = || [0; 2].map(|_: u64| rng.below(MAP));
    let places: Vec<[u64; 2]> = (0..warehouses).map(|_| place()).collect();
    let customers: Vec<[u64; 2]> = (0..stores).map(|_| place()).collect();
    for warehouse in 0..warehouses {
        let half = u64::from(open / 2);
        let cost = half + rng.below(u64::from(open) - half + 1);
        let _ = draft.add(&[warehouse], vec![0, cost as Cost])?;
    }
    for (store, at) in (warehouses..).zip(&customers) {
        let demand = DEMAND.0 + rng.below(DEMAND.1 - DEMAND.0 + 1);
        let distance = |from: &[u64; 2]| from[0].abs_diff(at[0]) + from[1].abs_diff(at[1]);
        let _ = draft.add(&[store], places.iter().map(|from| (demand * distance(from) / 3) as Cost).collect())?;
        for warehouse in 0..warehouses {
            let closed = |value: u32| if value == warehouse { FORBIDDEN } else { 0 };
            let costs = || (0..warehouses).map(closed).chain((0..warehouses).map(|_| 0)).collect();
            draft.share(&[warehouse, store], warehouse as usize, costs)?;
        }
    }
    Ok(draft.finish())
}
