//! Networks are written in every format that can express them, and read again.

use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_formats::{self as formats, FORMATS, Format, ReadOptions, Source, read, read_from};
use fangs_model::model::{FORBIDDEN, Network};
use fangs_testing::published;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static OPTIONS: LazyLock<ReadOptions> =
    LazyLock::new(|| ReadOptions::default().with(|options| options.colors = Some(3)));

/// Returns the cost of an assignment as a real number, smaller is better; infinite if infeasible.
fn cost(network: &Network, assignment: &[u32]) -> f64 {
    let evaluation = check::evaluate(network, assignment);
    let sign = if network.units().maximise { -1.0 } else { 1.0 };
    evaluation.value(network, assignment).map_or(f64::INFINITY, |value| sign * value.as_f64())
}

/// Compares two networks at random assignments, or at all if there are few.
fn compare(network: &Network, again: &Network, scale: f64, what: &str) {
    assert_eq!(network.domains(), again.domains(), "{what}");
    let mut rng = Rng::new(5);
    let slack = network.units().precision_slack(None) + again.units().precision_slack(None);
    for _ in 0..200 {
        let assignment: Vec<u32> = network.domains().iter().map(|&d| rng.below(u64::from(d)) as u32).collect();
        let (one, other) = (scale * cost(network, &assignment), cost(again, &assignment));
        let near = (one - other).abs() <= scale * slack + 1e-12 * one.abs();
        assert!(one == other || near, "{what}: {assignment:?} costs {one} and then {other}");
    }
}

/// Writes a network in each format; returns the formats that can express it.
fn round_trips(network: &Network, what: &str) -> Vec<&'static str> {
    let mut held = Vec::new();
    for info in FORMATS.iter().filter(|info| info.is_written()) {
        let mut text = Vec::new();
        match formats::write(network, info.format, &mut text) {
            Ok(()) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::InvalidInput, "{what}: {error}");
                continue;
            }
        }
        let what = format!("{what} as {}", info.name);
        let again = read_from(&text[..], "again", info.format, &OPTIONS, &Stop::new());
        let again = again.unwrap_or_else(|error| panic!("{what}: {error}"));
        let scale = if info.format == Format::Wcsp { network.units().scale() } else { 1.0 };
        compare(network, &again, scale, &what);
        held.push(info.name);
    }
    held
}

#[test]
fn the_corpus_comes_back() {
    let mut files: Vec<PathBuf> = std::fs::read_dir("tests/corpus").unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    for path in &files {
        let network = read(&Source::new(path), None, &OPTIONS, &Stop::new()).unwrap();
        let held = round_trips(&network, &path.display().to_string());
        assert!(held.contains(&"wcsp"), "{}", path.display());
        let expected: &[&str] = match path.file_name().unwrap().to_str().unwrap() {
            "old.wcnf" | "new.wcnf" | "clauses.cnf" => &["uai", "LG", "wcnf"],
            "spins.qpbo" | "spins.coo" | "cycle.rud" | "graph.mtx" => &["uai", "LG", "qpbo"],
            "upper.sparse" => &["qpbo", "sparse"],
            "bayes.uai" | "markov.uai" | "logs.LG" | "rain.bif" | "rain.net" | "rain.xdsl" => &["uai", "LG"],
            _ => &[],
        };
        for name in expected {
            assert!(held.contains(name), "{} as {name}: {held:?}", path.display());
        }
    }
}

#[test]
fn random_networks_of_bits_come_back() {
    let mut rng = Rng::new(42);
    let mut held = std::collections::BTreeMap::new();
    for round in 0..300 {
        let mut builder = Network::builder("bits");
        for _ in 0..5 {
            let _ = builder.variable(2).unwrap();
        }
        let hard = round % 3 == 0;
        for _ in 0..6 {
            let arity = rng.index(if round % 2 == 0 { 3 } else { 4 });
            let mut scope: Vec<u32> = (0..5).collect();
            rng.shuffle(&mut scope);
            scope.truncate(arity);
            let mut cost = || match rng.below(5) {
                0 if hard => FORBIDDEN,
                _ => rng.below(20) as i64 - if round % 5 == 0 { 10 } else { 0 },
            };
            let costs = (0..1 << arity).map(|_| cost()).collect();
            let _ = builder.dense(&scope, costs).unwrap();
        }
        if round % 4 == 0 {
            let _ = builder.top(40);
        }
        for name in round_trips(&builder.build(), &format!("round {round}")) {
            *held.entry(name).or_insert(0) += 1;
        }
    }
    for name in ["wcsp", "uai", "LG", "wcnf"] {
        assert!(held[name] > 50, "{held:?}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_named() {
    let network = |text: &str, format: Format| read_from(text.as_bytes(), "t", format, &OPTIONS, &Stop::new()).unwrap();
    for (text, format, to, part) in [
        ("t 1 3 0 9\n3\n", Format::Wcsp, Format::Wcnf, "the domain of x0, 3, as bits have 2 values"),
        ("2 1\n1 2\n", Format::Rud, Format::Wcnf, "maximisation"),
        ("2 1\n1 2\n", Format::Rud, Format::Sparse, "maximisation"),
        ("1 1\n1 1 -5\n", Format::Sparse, Format::Wcnf, "a negative constant, -5"),
        ("1 -1 0\nh 1 0\n", Format::Wcnf, Format::Qpbo, "which forbids values"),
        ("3 -1 0\n2 1 0\n", Format::Wcnf, Format::Sparse, "a constant, 2"),
        ("3 1 2 3 0\n", Format::Wcnf, Format::Qpbo, "of 3 variables"),
        ("t 1 2 2 5\n2\n1 0 3 0\n1 0 0 1 1 4\n", Format::Wcsp, Format::Lg, "the limit on totals, 5"),
    ] {
        let error = formats::write(&network(text, format), to, &mut Vec::new()).expect_err(part);
        assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains(part), "{error}");
    }
    let error = formats::write(&network("2 1\n1 2\n", Format::Rud), Format::Rud, &mut Vec::new()).expect_err("none");
    assert!(error.kind() == ErrorKind::Unsupported && error.to_string().contains(".qpbo"), "{error}");
}

/// Writes and reads every published instance that is supported, if some are present.
#[test]
fn published_instances_come_back() {
    let Some(manifest) = published("MANIFEST.tsv") else { return };
    let folder = manifest.parent().expect("a folder");
    let manifest = std::fs::read_to_string(&manifest).expect("the manifest");
    let mut came_back = 0;
    for row in manifest.lines().skip(1) {
        let path = folder.join(row.split('\t').next().unwrap());
        let bytes = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
        // large instances take minutes
        if bytes > 20_000 || path.extension() == Some(Path::new("col").as_os_str()) {
            continue;
        }
        let Ok(network) = read(&Source::new(&path), None, &OPTIONS, &Stop::new()) else { continue };
        let network = network.without_top();
        let held = round_trips(&network, &path.display().to_string());
        assert!(held.contains(&"wcsp") && held.contains(&"LG"), "{}: {held:?}", path.display());
        came_back += 1;
    }
    assert!(came_back > 40, "{came_back}");
}
