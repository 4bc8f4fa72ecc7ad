//! `fangs check FILE --policy POLICY`: recomputes the expected utility of a policy.

use super::worker::Session;
use super::{Exit, output};
use fangs_base::Error;
use fangs_base::terminal::line;
use fangs_check as check;
use fangs_formats::{Decision, Source, read_decision, read_policy};
use fangs_model::model::Policy;
use fangs_report::text::grouped;
use serde::Serialize;
use std::fmt;
use std::path::Path;

/// Relative tolerance between claimed and recomputed values, besides the claim's own error bound, because sums in
/// another order round differently.
const ROUNDED: f64 = 1e-9;

/// The result of the check, as JSON and as text.
#[derive(Serialize)]
struct Report {
    instance: String,
    version: &'static str,
    kind: &'static str,
    meu: f64,
    /// The expected utility that the policy's file states.
    claimed: Option<f64>,
    /// The sum of all probabilities of an influence diagram; null for processes.
    normaliser: Option<f64>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: the policy has expected utility {}", line(&self.instance), grouped(self.meu))
    }
}

/// Recomputes the expected utility of a policy with code that `decide` does not use, and compares it with the claim.
pub fn run(problem: &Path, policy: &Path, json: bool, session: &Session) -> Result<Exit, Error> {
    let Session { stop, activity, console } = session;
    let (decision, warnings) = read_decision(&Source::new(problem), None, stop)?;
    console.warn_of(&warnings);
    let file = read_policy(policy, stop)?;
    activity.step("evaluating");
    let refused = |what: &str| Err(Error::Refused(format!("{}: refused: {what}", policy.display())));
    let mut normaliser = None;
    let (kind, found) = match (decision, &file.policy) {
        (Decision::Diagram(diagram), Policy::Rules(rules)) => {
            let (worth, probability) = check::worth_in_diagram(&diagram, rules, &file.observe, stop)?;
            normaliser = Some(probability);
            // the expectation given the observed values
            let given = if file.observe.is_empty() { 1.0 } else { probability };
            (diagram.kind.name(), worth / given)
        }
        (Decision::Pomdp(mut pomdp), policy @ (Policy::Graph(_) | Policy::Joint(_))) => {
            pomdp.discount = file.discount.unwrap_or(pomdp.discount);
            if let Some(belief) = &file.belief {
                if belief.len() != pomdp.start.len() {
                    return refused("its belief does not fit the process");
                }
                pomdp.start.clone_from(belief);
            }
            let worth = match policy {
                Policy::Joint(joint) => check::worth_in_team(&pomdp, joint, stop)?,
                Policy::Graph(graph) => check::worth_in_pomdp(&pomdp, graph, stop)?,
                Policy::Rules(_) => return refused("it is no policy of a process"),
            };
            ("pomdp", worth)
        }
        (Decision::Idid(mut idid), Policy::Graph(graph)) => {
            if let Some(discount) = file.discount {
                idid.set_discount(discount);
            }
            if let Some(belief) = &file.belief {
                if belief.len() != idid.belief.len() {
                    return refused("its belief does not fit the diagram");
                }
                idid.belief.clone_from(belief);
            }
            if graph.horizon > idid.other_horizon {
                return refused("it has more steps than the other agent");
            }
            ("idid", check::worth_in_idid(&idid, graph, stop)?)
        }
        (Decision::Diagram(_), _) => return refused("it is no policy of a diagram"),
        _ => return refused("it is no policy graph, which `decide` writes of processes by belief-tree or alpha"),
    };
    let may_differ = ROUNDED * found.abs().max(1.0) + file.error_bound;
    // written so that a NaN agrees with nothing
    let agrees = |claimed: f64| (claimed - found).abs() <= may_differ;
    if let Some(claimed) = file.meu.filter(|&claimed| !agrees(claimed)) {
        return refused(&format!("it is worth {found}, not {claimed}"));
    }
    let instance = problem.display().to_string();
    let report = Report { instance, version: fangs_base::VERSION, kind, meu: found, claimed: file.meu, normaliser };
    output::print_report(&report, json)?;
    Ok(Exit::Done)
}
