//! Known optima: the instances of `tests/instances`, and, if a folder of published instances is present, that no bound
//! cuts off a published value.

use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_formats::{self as formats, ReadOptions, Source};
use fangs_model::model::Network;
use fangs_search::{Options, Status, Summary, solve};
use fangs_testing::published;
use std::path::Path;
use std::time::Duration;

fn read(path: &Path, colors: Option<u32>) -> Result<Network, Error> {
    let options = ReadOptions::default().with(|options| options.colors = colors);
    formats::read(&Source::new(path), None, &options, &Stop::new())
}

fn run(network: &Network, seconds: f64) -> Result<Summary, Error> {
    let options = Options::default().with(|options| options.time = Some(Duration::from_secs_f64(seconds)));
    let summary = solve(network, &options, &Stop::new(), &mut |_| ())?;
    if let (Some(solution), Some(cost)) = (&summary.solution, summary.cost) {
        let evaluation = check::evaluate(network, solution);
        assert!(evaluation.is_solution());
        assert_eq!(evaluation.value(network, solution), Some(cost));
    }
    Ok(summary)
}

#[test]
fn own_instances_end_at_their_optima() -> Result<(), Error> {
    let mut seen = 0;
    for entry in std::fs::read_dir("tests/instances").expect("the folder of golden instances") {
        let sidecar = entry.expect("an entry").path();
        if sidecar.extension().is_none_or(|extension| extension != "optimum") {
            continue;
        }
        seen += 1;
        let path = sidecar.with_extension("");
        let wanted = std::fs::read_to_string(&sidecar).expect("a sidecar");
        let network = read(&path, Some(3))?;
        // a limit far beyond the time of any instance; the proof ends the run
        let summary = run(&network, 60.0)?;
        if wanted.trim() == "infeasible" {
            assert_eq!(summary.status, Status::Infeasible, "{}", path.display());
            continue;
        }
        let wanted: f64 = wanted.trim().parse().expect("an optimum");
        assert_eq!(summary.status, Status::Optimal, "{}", path.display());
        let cost = summary.cost.map_or(f64::NAN, |cost| cost.as_f64());
        assert!((cost - wanted).abs() < 1e-6, "{}: {cost}, not {wanted}", path.display());
        let bound = summary.bound.map_or(f64::NAN, |bound| bound.as_f64());
        assert!((bound - cost).abs() <= summary.precision_slack + 1e-9, "{}", path.display());
    }
    assert!(seen >= 12, "{seen} instances");
    Ok(())
}

/// Optima of files that toulbar2, the source of the published value, reads differently: full tables of four variables
/// in `.cfn`. A separate bucket elimination with arrays of doubles computes the same optima.
const MISREAD: [(&str, f64); 1] = [("bayesnet/munin2.cfn.gz", 83.02835)];

/// Every bound within half a second: at most the published cost, at least the published log value (1e-3 for its
/// rounding, 0.13 for leaderboard values).
#[test]
fn no_bound_cuts_off_a_published_value() -> Result<(), Error> {
    let Some(manifest) = published("MANIFEST.tsv") else { return Ok(()) };
    let folder = manifest.parent().expect("a folder");
    let manifest = std::fs::read_to_string(&manifest).expect("the manifest");
    let mut rows = manifest.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let header = rows.next().unwrap_or_default();
    let column = |name: &str| header.iter().position(|&title| title == name).expect("a column of the manifest");
    let (path, best, source, more) =
        (column("path"), column("best_known"), column("best_source"), column("companions"));
    let mut looked_at = 0;
    for row in rows {
        let Ok(best) = row[best].parse::<f64>() else { continue };
        let file = folder.join(row[path]);
        let graph = row[path].contains(".col");
        // unsupported formats and global functions are refused, others are read
        let Ok(mut network) = read(&file, graph.then_some(best as u32)) else { continue };
        if let Some(evidence) = row[more].split(',').find(|name| name.ends_with(".evid")) {
            let observed =
                formats::read_evidence(&folder.join(evidence), network.variables(), &Stop::new())?.observations.pairs();
            network.observe(&observed)?;
        }
        let misread = MISREAD.iter().find(|(file, _)| *file == row[path]).map(|(_, optimum)| *optimum);
        let best = if graph { 0.0 } else { misread.unwrap_or(best) };
        let summary = run(&network, 0.5)?;
        let tolerance = if row[source].contains("leaderboard") { 0.13 } else { 0.001 } + summary.precision_slack;
        let bound = summary.bound.map_or(f64::NAN, |bound| bound.as_f64());
        let valid = if network.units().maximise { bound >= best - tolerance } else { bound <= best + tolerance };
        assert!(valid, "{}: bound {bound}, published {best}", row[path]);
        looked_at += 1;
    }
    println!("{looked_at} published instances");
    Ok(())
}
