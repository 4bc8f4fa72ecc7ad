//! Global cost functions: reference networks with the cost of every assignment, if their folder is next to the project.

use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_formats::{Format, ReadOptions, read_from};
use fangs_model::model::{FORBIDDEN, Network, add};
use fangs_search::{Options, Status, solve};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A network with the costs of its assignments, null if infeasible.
#[derive(Deserialize)]
struct Reference {
    kind: String,
    format: String,
    text: String,
    note: String,
    status: String,
    costs: Option<BTreeMap<String, Option<f64>>>,
}

/// Returns the references, if they are present.
fn references() -> Option<Vec<Reference>> {
    let text = std::fs::read_to_string(fangs_testing::published("../specs/globals.jsonl")?).expect("it can be read");
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn read(reference: &Reference) -> Network {
    let format: Format = reference.format.parse().unwrap();
    let options = ReadOptions::default();
    let network = read_from(reference.text.as_bytes(), &reference.kind, format, &options, &Stop::new());
    network.unwrap_or_else(|error| panic!("{error}\n{}", reference.text))
}

#[test]
fn every_assignment_has_its_cost() {
    let Some(references) = references() else { return };
    let (mut checked, mut wrong) = (0, Vec::new());
    for reference in &references {
        let Some(costs) = reference.costs.as_ref().filter(|_| !reference.note.contains("reader bug")) else { continue };
        let network = read(reference);
        for (values, cost) in costs {
            let assignment: Vec<u32> = values.split(' ').map(|value| value.parse().unwrap()).collect();
            let found = check::evaluate(&network, &assignment);
            let value = found.is_solution().then(|| found.value(&network, &assignment).unwrap().as_f64());
            let is_same = match (value, *cost) {
                (Some(value), Some(cost)) => (value - cost).abs() < 1e-9,
                (value, cost) => value.is_none() && cost.is_none(),
            };
            let (tables, extended) = (network.expanded(), network.extend(&assignment));
            let sum = tables.functions().iter().fold(0, |sum, f| add(sum, f.cost(tables.domains(), &extended)));
            let sum = if sum >= network.top() { FORBIDDEN } else { sum };
            assert_eq!(sum, if found.is_solution() { found.cost } else { FORBIDDEN }, "{values}\n{}", reference.text);
            checked += 1;
            if !is_same {
                let Reference { kind, note, status, text, .. } = reference;
                wrong.push(format!("{kind} ({note}; {status}) {values}: {value:?}, not {cost:?}\n{text}"));
                break;
            }
        }
    }
    println!("{checked} assignments of {} networks", references.len());
    assert!(wrong.is_empty(), "{}\n{} networks", wrong.join("\n"), wrong.len());
}

#[test]
fn one_network_of_each_kind_is_solved() {
    let Some(references) = references() else { return };
    let by_kind: BTreeMap<&str, &Reference> =
        references.iter().map(|reference| (reference.kind.as_str(), reference)).collect();
    for (kind, reference) in by_kind {
        let network = read(reference);
        let options = Options { rounds: Some(50), ..Options::default() };
        let summary = solve(&network, &options, &Stop::new(), &mut |_| ()).unwrap();
        let costs = reference.costs.as_ref().unwrap().values().flatten().copied();
        let best = if network.units().maximise { costs.fold(None, max) } else { costs.fold(None, min) };
        let status = if best.is_some() { Status::Optimal } else { Status::Infeasible };
        assert_eq!(summary.status, status, "{kind}\n{}", reference.text);
        let difference = summary.cost.map(|cost| (cost.as_f64() - best.unwrap()).abs());
        assert!(difference.is_none_or(|difference| difference < 1e-9), "{kind}\n{}", reference.text);
        assert!(summary.solution.is_none_or(|solution| solution.len() == network.domains().len()), "{kind}");
    }
}

fn max(best: Option<f64>, cost: f64) -> Option<f64> {
    Some(best.map_or(cost, |best| best.max(cost)))
}

fn min(best: Option<f64>, cost: f64) -> Option<f64> {
    Some(best.map_or(cost, |best| best.min(cost)))
}
