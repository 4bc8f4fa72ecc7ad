//! The task `convert`.

use super::claims::any_network;
use crate::call::{Runner, Settings};
use crate::network::{Network, one_of};
use crate::number::Decimal;
use crate::task::{Case, Outcome, Task, Verdict, claim, fault, run};
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check::evaluate;
use fangs_formats::{FORMATS, Format, ReadOptions, read_from};
use fangs_model::model::Cost;

/// Conversion of networks to other formats.
pub struct Convert;

impl Task for Convert {
    type Problem = Network;

    fn random(rng: &mut Rng) -> Case<Network> {
        let written: Vec<_> = FORMATS.iter().filter(|info| info.is_written()).map(|info| info.name).collect();
        let mut settings = Settings::default();
        settings.set("to", one_of(rng, &written));
        Case { command: "convert", problem: any_network(rng), settings }
    }

    fn check(case: &Case<Network>, runner: &dyn Runner) -> Verdict {
        // many formats cannot express the network
        let report = match run(runner, &case.call(), true)? {
            Outcome::Report(report) => report,
            Outcome::Nothing(why) => return Ok(why),
        };
        let Some(to) = case.settings.get("to").and_then(|to| to.parse::<Format>().ok()) else { return Ok("refused") };
        let again = read_from(&report.written[..], "again", to, &ReadOptions::default(), &Stop::new());
        let again = match again {
            Ok(again) => again,
            Err(error) => return fault("written wrong", error.to_string()),
        };
        let network = &case.problem;
        // rounded logarithms are checked by the tasks of the search
        let is_exact = !network.form.is_product() && !matches!(to, Format::Uai | Format::Lg);
        claim(again.domains() == network.domains, "written wrong", || format!("{:?}", again.domains()))?;
        let mut wrong = None;
        network.for_each(|values| {
            let evaluation = evaluate(&again, values);
            let is_solution = evaluation.is_solution();
            let own = if network.form.is_product() {
                (!network.product(values).is_zero()).then_some(0)
            } else {
                network.cost(values)
            };
            let cost = is_solution.then(|| cost_of(network, &again, to, evaluation.cost)).flatten();
            if own.is_some() != is_solution || is_exact && own != cost {
                let _ = wrong.get_or_insert_with(|| format!("{values:?} has {own:?}, and then {cost:?}"));
            }
        });
        wrong.map_or(Ok("written"), |what| fault("written wrong", what))
    }
}

/// Returns a cost of the converted network in units of the original one.
fn cost_of(network: &Network, again: &fangs_model::model::Network, to: Format, cost: Cost) -> Option<i128> {
    // .wcsp has integers in place of decimals, and costs in place of values
    if to == Format::Wcsp {
        return Some(cost.into());
    }
    let units = again.units();
    let sign = if units.maximise { -1 } else { 1 };
    network.units(Decimal { digits: sign * i128::from(cost), exponent: -(units.decimals as i32) })
}
