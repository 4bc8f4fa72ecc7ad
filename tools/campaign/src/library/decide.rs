//! The command `decide`.

use super::stop;
use crate::call::{Call, Report};
use fangs_base::Error;
use fangs_check::{worth_in_diagram, worth_in_pomdp};
use fangs_decide::{Method, Options, solve_diagram, solve_pomdp};
use fangs_formats::{DiagramParts, parse_diagram, parse_pomdp};
use fangs_model::model::Policy;

/// Solves the diagram or the process of a call.
pub fn run(call: &Call) -> Result<Report, Error> {
    let (settings, stop) = (&call.settings, stop(call));
    let named = |name: &str| Method::ALL.into_iter().find(|(own, _)| *own == name).map(|(_, method)| method);
    let options = Options {
        method: settings.get("method").and_then(named).unwrap_or_default(),
        horizon: settings.number("horizon"),
        memory: settings.number("bound-memory").unwrap_or(1 << 28),
        nodes: settings.number("nodes").unwrap_or(1 << 20),
        exact_limit: settings.number("exact-limit").unwrap_or(1e6),
        ..Options::default()
    };
    let text = |ending: &str| {
        let file = call.files.iter().find(|file| file.ending == ending);
        file.map_or("", |file| &file.text[..])
    };
    let mut worth = None;
    let solution = if call.files[0].ending == "POMDP" {
        let (pomdp, _) = parse_pomdp(text("POMDP"), "campaign.POMDP", &stop)?;
        let solution = solve_pomdp(&pomdp, &options, &stop, &mut |_| ())?;
        if let Some(Policy::Graph(graph)) = &solution.policy {
            worth = Some(worth_in_pomdp(&pomdp, graph, &stop)?);
        }
        solution
    } else {
        let [uai, id, pvo] = ["uai", "id", "pvo"].map(|ending| text(ending).as_bytes());
        let parts = DiagramParts { uai: ("t.uai", uai), id: ("t.id", id), pvo: ("t.pvo", pvo) };
        let (diagram, _) = parse_diagram(&parts, &stop)?;
        let solution = solve_diagram(&diagram, &options, &stop, &mut |_| ())?;
        if let Some(Policy::Rules(rules)) = &solution.policy {
            worth = Some(worth_in_diagram(&diagram, rules, &options.observe, &stop)?.0);
        }
        solution
    };
    Ok(Report {
        status: solution.kind.into(),
        exact: solution.exact,
        error: solution.error_bound,
        // the claimed value and bound; `ln_z` has the recomputed value of the policy
        interval: (solution.meu, solution.bound),
        ln_z: worth,
        ..Report::default()
    })
}
