//! A heuristic of your own for a domain: the assignment of conference talks to slots.
//!
//! Each talk has a wish, the slot that its speaker prefers. Talks with the same listeners must not overlap. The
//! heuristic adds knowledge of organizers: slots near the wishes, and two talks that trade places.
//!
//! `cargo run --release --example talks`

use fangs::heuristics::{Exchange, Inputs, Needs, Neighbourhood, ValueHeuristic, Weights};
use fangs::model::Network;
use fangs::search::{DriverChoice, Options, solve};
use fangs::stop::Stop;
use std::sync::Arc;

const TALKS: usize = 60;
const SLOTS: usize = 8;

/// Returns the slot that a talk's speaker prefers; no cost function contains this preference.
fn wish(talk: usize) -> usize {
    (talk * 5 + talk / 7) % SLOTS
}

/// Prefers slots of low cost, and among these the ones near the wish.
#[derive(Debug)]
struct NearWishes;

impl ValueHeuristic for NearWishes {
    fn name(&self) -> &str {
        "near-wishes"
    }

    fn needs(&self) -> Needs {
        Needs::COST | Needs::LEAST | Needs::VALUE | Needs::TEMPERATURE
    }

    fn weigh(&self, inputs: &Inputs<'_>, weights: &mut [u32]) {
        // the reductions may have renumbered variables: `origin` returns the network's number
        let wish = wish(inputs.view.origin(inputs.variable)) as f64;
        let boltzmann = Weights::new(inputs.temperature);
        for (weight, (&cost, &slot)) in weights.iter_mut().zip(inputs.cost.iter().zip(inputs.value)) {
            let away = inputs.temperature * (slot - wish).abs() / SLOTS as f64;
            *weight = boltzmann.weight((cost - inputs.least + away) as u32);
        }
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        Some(&Exchange)
    }
}

fn main() -> Result<(), fangs::Error> {
    let mut builder = Network::builder("talks");
    let talks = (0..TALKS).map(|_| builder.variable(SLOTS as u32)).collect::<Result<Vec<_>, _>>()?;
    for a in 0..TALKS {
        let distance = |slot: usize| (slot.abs_diff(wish(a)) as i64).pow(2);
        let _ = builder.dense(&[talks[a]], (0..SLOTS).map(distance).collect())?;
        for b in (a + 1..TALKS).filter(|b| (a * b + a + b) % 5 == 0) {
            let clash = |entry: usize| if entry / SLOTS == entry % SLOTS { 100 } else { 0 };
            let _ = builder.dense(&[talks[a], talks[b]], (0..SLOTS * SLOTS).map(clash).collect())?;
        }
    }
    let network = builder.build();
    for (label, heuristic) in
        [("near wishes", Some(Arc::new(NearWishes) as Arc<dyn ValueHeuristic>)), ("default", None)]
    {
        let driver = if heuristic.is_some() { DriverChoice::GUIDED } else { DriverChoice::PORTFOLIO };
        let options = Options::default()
            .with(|options| (options.rounds, options.driver, options.heuristic) = (Some(40), driver, heuristic));
        let summary = solve(&network, &options, &Stop::new(), &mut |_| {})?;
        println!("{label}: {:?} after {:.2} s", summary.cost.map(|cost| cost.as_f64()), summary.time_s);
    }
    Ok(())
}
