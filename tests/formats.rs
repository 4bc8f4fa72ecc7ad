//! Files of networks: round trips, damaged files, compressed files, and every instance of a folder, if it is present.

use fangs_base::error::Error;
use fangs_base::rng::Rng;
use fangs_base::stop::Stop;
use fangs_check as check;
use fangs_formats::{Format, ReadOptions, Source, read, read_from, write};
use fangs_model::model::{Cost, FORBIDDEN, Network, Table, add};
use fangs_testing::published;
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static OPTIONS: LazyLock<ReadOptions> =
    LazyLock::new(|| ReadOptions::default().with(|options| options.colors = Some(3)));

fn parse(bytes: &[u8], format: Format) -> Result<Network, Error> {
    read_from(bytes, "t", format, &OPTIONS, &Stop::new())
}

fn cost(network: &Network, assignment: &[u32]) -> Cost {
    network.functions().iter().fold(0, |sum, function| add(sum, function.cost(network.domains(), assignment)))
}

/// Returns the corpus: file name, format, text.
fn corpus() -> Vec<(String, Format, Vec<u8>)> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir("tests/corpus").unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let load = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, Format::of_path(&path).unwrap(), std::fs::read(&path).unwrap())
    };
    files.into_iter().map(load).collect()
}

#[test]
fn the_corpus_reads() {
    let corpus = corpus();
    assert!(corpus.len() >= 9);
    for (name, format, text) in &corpus {
        let network = parse(text, *format).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!network.functions().is_empty(), "{name}");
    }
}

#[test]
fn values_of_the_corpus() {
    let network = |name: &str| {
        let (_, format, text) = corpus().into_iter().find(|(n, ..)| n == name).unwrap();
        parse(&text, format).unwrap()
    };
    let plain = network("plain.wcsp");
    assert_eq!(cost(&plain, &[0, 0, 0, 0]), 5 + 1 + 3 + 11);
    assert_eq!(cost(&plain, &[2, 1, 1, 0]), 2 + 1 + 11);
    assert!(cost(&plain, &[2, 0, 1, 0]) >= plain.top());
    let shared = network("shared.wcsp");
    assert_eq!(cost(&shared, &[1, 1, 0, 1]), 2 + 4 + 2 + 4);
    let sparse = network("sparse.wcsp");
    assert!(matches!(sparse.functions()[0].table, Table::Sparse(_)));
    assert_eq!(cost(&sparse, &[39, 39, 39]), 14);
    assert_eq!(sparse.top(), 18978131763075670);
    let bayes = network("bayes.uai");
    assert_eq!(cost(&bayes, &[1, 0]), 356_674_944 + 1_386_294_361);
    assert_eq!(cost(&bayes, &[0, 1]), FORBIDDEN);
    assert_eq!(network("cycle.col").functions().len(), 5);
}

/// Applies one to three mutations.
fn mutate(text: &[u8], rng: &mut Rng) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "-1",
        "0",
        "1",
        "2",
        "-2",
        "9999",
        "1000000000000",
        "99999999999999999999",
        "-99999999999999999999",
        "1e308",
        "nan",
        "-inf",
        "salldiff",
        "e",
        "\u{fffd}",
        "1.5",
    ];
    let mut bytes = text.to_vec();
    for _ in 0..=rng.index(3) {
        if bytes.is_empty() {
            break;
        }
        let words: Vec<(usize, usize)> = {
            let mut words = Vec::new();
            let mut start = None;
            for (at, byte) in bytes.iter().chain(b" ").enumerate() {
                match (byte.is_ascii_whitespace(), start) {
                    (false, None) => start = Some(at),
                    (true, Some(from)) => {
                        words.push((from, at));
                        start = None;
                    }
                    _ => {}
                }
            }
            words
        };
        if words.is_empty() {
            break;
        }
        let at = rng.index(bytes.len());
        let (from, to) = words[rng.index(words.len())];
        let word = WORDS[rng.index(WORDS.len())].bytes();
        match rng.index(7) {
            0 => bytes[at] ^= 1 << rng.index(8),
            1 => drop(bytes.splice(from..to, word)),
            2 => drop(bytes.splice(from..from, word.chain(*b" "))),
            3 => drop(bytes.drain(from..to)),
            4 => bytes.truncate(at),
            5 => drop(bytes.drain(at..(at + 1 + rng.index(20)).min(bytes.len()))),
            _ => {
                let piece = bytes[from..(from + 30).min(bytes.len())].to_vec();
                drop(bytes.splice(at..at, piece));
            }
        }
    }
    bytes
}

/// Checks that a damaged file is read or refused with a message on one line; a network that is read can be evaluated
/// and written.
fn survives(bytes: &[u8], format: Format) {
    match parse(bytes, format) {
        Ok(network) => {
            let zeros = vec![0; network.domains().len()];
            let total = cost(&network, &zeros);
            assert!(total <= FORBIDDEN);
            assert!(check::evaluate(&network, &zeros).cost <= FORBIDDEN);
            for format in [Format::Wcsp, Format::Cfn] {
                if let Err(error) = write(&network, format, &mut std::io::sink()) {
                    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput, "{error}");
                }
            }
        }
        Err(error) => {
            let message = error.to_string();
            assert!(error.is_input() && !message.is_empty() && message.lines().count() == 1, "{message}");
        }
    }
}

#[test]
fn damaged_text() {
    let mut rng = Rng::new(2026);
    for (_, format, text) in corpus() {
        for _ in 0..500 {
            survives(&mutate(&text, &mut rng), format);
        }
        for length in 0..text.len() {
            survives(&text[..length], format);
        }
    }
}

fn compressions(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(text).unwrap();
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::default());
    bzip2.write_all(text).unwrap();
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 6);
    xz.write_all(text).unwrap();
    vec![
        ("gz", gzip.finish().unwrap()),
        ("bz2", bzip2.finish().unwrap()),
        ("xz", xz.finish().unwrap()),
        ("zst", zstd::encode_all(text, 3).unwrap()),
    ]
}

#[test]
fn compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(7);
    for (name, format, text) in corpus() {
        let plain = parse(&text, format).unwrap();
        let zeros = vec![0; plain.domains().len()];
        for (extension, packed) in compressions(&text) {
            let path = folder.path().join(format!("{}.{extension}", name.to_ascii_uppercase()));
            std::fs::write(&path, &packed).unwrap();
            let network = read(&Source::File(path), None, &OPTIONS, &Stop::new()).unwrap();
            assert_eq!(cost(&network, &zeros), cost(&plain, &zeros));
            // two concatenated archives are one stream
            let middle = text.iter().position(u8::is_ascii_whitespace).unwrap();
            let halves = [&text[..middle], &text[middle..]].map(compressions);
            let half = |i: usize| halves[i].iter().find(|(e, _)| *e == extension).unwrap().1.clone();
            assert!(parse(&[half(0), half(1)].concat(), format).is_ok(), "{name}.{extension}");

            for length in (0..packed.len()).step_by(3).chain([packed.len() - 1]) {
                let error = parse(&packed[..length], format).expect_err("cut short");
                assert!(error.is_input(), "{error}");
            }
            for _ in 0..30 {
                let mut damaged = packed.clone();
                let at = rng.index(damaged.len());
                damaged[at] ^= 1 << rng.index(8);
                survives(&damaged, format);
            }
        }
    }
}

#[test]
fn unreadable_things() {
    let folder = tempfile::tempdir().unwrap();
    let error = |name: &str| {
        let path = folder.path().join(name);
        let error = read(&Source::File(path), None, &OPTIONS, &Stop::new()).expect_err(name);
        assert!(error.is_input(), "{error}");
        error.to_string()
    };
    std::fs::create_dir(folder.path().join("folder.wcsp")).unwrap();
    std::fs::write(folder.path().join("empty.wcsp"), "").unwrap();
    std::fs::write(folder.path().join("noise.uai"), [0xff, 0xfe, 0x00, 0x80, 0x0a, 0xc3]).unwrap();
    assert!(error("missing.wcsp").contains("missing.wcsp: cannot read: No such file"));
    assert!(error("folder.wcsp").contains("folder.wcsp: cannot read: Is a directory"));
    assert!(error("empty.wcsp").contains("empty.wcsp:1:1: found the end of the file"));
    assert!(error("noise.uai").contains("noise.uai:1:1: found `"));
    for name in ["a.txt", "a", "a.gz", "a.wcsp.zip"] {
        let told = error(name);
        assert!(
            told.contains("read are .wcsp .uai .LG .col ") && told.contains(", each also with .gz .bz2 .xz"),
            "{told}"
        );
    }
    for name in ["a.qs", "a.QS.xz"] {
        assert!(error(name).contains("no description of it was found"), "{name}");
    }
    let stdin = read(&Source::new("-"), None, &OPTIONS, &Stop::new()).expect_err("no format");
    assert!(stdin.to_string().contains("--format"));
}

#[test]
fn a_set_stop_flag_ends_reading() {
    let stop = Stop::new();
    stop.set(fangs_base::stop::Cause::Time);
    let result = read(&Source::new("tests/corpus/plain.wcsp"), None, &OPTIONS, &stop);
    assert!(matches!(result, Err(Error::Stopped)));
}

/// A pipe keeps the reader waiting as long as its writer likes; the stop flag is still read.
#[cfg(unix)]
#[test]
fn pipes_are_read_and_can_be_given_up() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.wcsp");
    if !std::process::Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        return fangs_testing::skip("there is no mkfifo");
    }
    let source = Source::File(pipe.clone());
    let writer = std::thread::spawn(move || {
        let text = std::fs::read("tests/corpus/plain.wcsp").unwrap();
        std::fs::write(pipe, &compressions(&text)[0].1).unwrap();
    });
    assert_eq!(read(&source, None, &OPTIONS, &Stop::new()).unwrap().functions().len(), 6);
    writer.join().unwrap();

    let stop = Stop::new();
    let other = stop.clone();
    let stopper = std::thread::spawn(move || other.set(fangs_base::stop::Cause::Signal));
    assert!(matches!(read(&source, None, &OPTIONS, &stop), Err(Error::Waiting(_))));
    stopper.join().unwrap();
}

/// Scope, kind, default and entries of a function of a random network; arbitrary values are made to fit.
type Recipe = (Vec<u32>, u8, Cost, Vec<(u32, Cost)>);

fn recipe() -> impl Strategy<Value = Recipe> {
    let entry = prop_oneof![8 => -20i64..100, 1 => Just(FORBIDDEN), 1 => 1i64 << 50..1 << 51];
    let scope = prop::collection::vec(0u32..6, 0..4);
    (scope, 0u8..3, entry.clone(), prop::collection::vec((any::<u32>(), entry), 0..30))
}

fn build(domains: &[u32], top: Cost, negative: bool, recipes: Vec<Recipe>) -> Network {
    let mut builder = Network::builder("a random network");
    for &domain in domains {
        let _ = builder.variable(domain).unwrap();
    }
    let mut last = None;
    for (variables, kind, default, entries) in recipes {
        let mut scope: Vec<u32> = Vec::new();
        for variable in variables.into_iter().map(|v| v % domains.len() as u32) {
            if !scope.contains(&variable) {
                scope.push(variable);
            }
        }
        let sign = |cost: Cost| if negative { cost } else { cost.abs() };
        let size = |v: &u32| domains[*v as usize];
        let combinations: u32 = scope.iter().map(size).product();
        let shared = last.filter(|_| kind == 2).and_then(|original| builder.shared(&scope, original).ok());
        if shared.is_some() {
            continue;
        }
        last = Some(if kind == 0 {
            let mut costs = vec![sign(default); combinations as usize];
            entries.iter().for_each(|&(at, cost)| costs[(at % combinations) as usize] = sign(cost));
            builder.dense(&scope, costs).unwrap()
        } else {
            let values = entries.iter().flat_map(|&(at, _)| {
                let mut rest = at % combinations;
                let mut values: Vec<u32> = scope.iter().rev().map(|v| (rest % size(v), rest /= size(v)).0).collect();
                values.reverse();
                values
            });
            let costs = entries.iter().map(|&(_, cost)| sign(cost)).collect();
            builder.sparse(&scope, sign(default), values.collect(), costs).unwrap()
        });
    }
    let _ = builder.top(top);
    builder.build()
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        domains in prop::collection::vec(1u32..4, 1..6),
        top in prop_oneof![Just(FORBIDDEN), 1i64..300, Just(1i64 << 55)],
        negative: bool,
        recipes in prop::collection::vec(recipe(), 0..8),
    ) {
        let network = build(&domains, top, negative, recipes);
        let mut text = Vec::new();
        let written = write(&network, Format::Wcsp, &mut text);
        let entries = || network.functions().iter().flat_map(|function| function.entries(network.domains()));
        if entries().any(|cost| cost < 0) && entries().any(|cost| cost >= top && cost < FORBIDDEN) {
            // a file would forbid this tuple
            prop_assert!(written.is_err_and(|error| error.to_string().contains("at least top")));
            return Ok(());
        }
        if let Err(error) = written {
            // a default cost that no tuple has
            let sparse = network.functions().iter().any(|f| matches!(f.table, Table::Sparse(_)));
            prop_assert!(negative && sparse, "{}", error);
            return Ok(());
        }
        let again = parse(&text, Format::Wcsp).unwrap();
        prop_assert_eq!(again.domains(), network.domains());
        prop_assert_eq!(again.top(), network.top());
        prop_assert_eq!(again.functions().len(), network.functions().len());
        let assignments: u32 = domains.iter().product();
        for number in 0..assignments {
            let mut rest = number;
            let assignment: Vec<u32> = domains.iter().map(|&d| (rest % d, rest /= d).0).collect();
            let (before, after) = (cost(&network, &assignment), cost(&again, &assignment));
            prop_assert!(before == after || before.min(after) >= top, "{} {}", before, after);
        }
        let mut second = Vec::new();
        write(&again, Format::Wcsp, &mut second).unwrap();
        let body = |text: &[u8]| text.iter().copied().skip_while(|&byte| byte != b' ').collect::<Vec<_>>();
        // tables that differ only at or above top are equal afterwards
        let is_below = entries().all(|cost| cost < top);
        if is_below && network.functions().iter().all(|f| matches!(f.table, Table::Dense(_))) {
            prop_assert_eq!(body(&second), body(&text));
        }
    }
}

#[test]
fn instances_have_the_sizes_of_their_manifest() {
    let Some(manifest) = published("MANIFEST.tsv") else { return };
    let folder = manifest.parent().expect("a folder");
    let manifest = std::fs::read_to_string(&manifest).unwrap();
    let mut checked = 0;
    for row in manifest.lines().skip(1).map(|line| line.split('\t').collect::<Vec<_>>()) {
        let path = folder.join(row[0]);
        if ["id-uai", "xcsp", "pydcop-yaml", "pomdp", "dpomdp", "pre"].contains(&row[1]) {
            continue;
        }
        let result = read(&Source::new(&path), None, &OPTIONS, &Stop::new());
        checked += 1;
        let network = result.unwrap_or_else(|error| panic!("{error}"));
        let sizes = (
            network.domains().len(),
            network.domains().iter().max().copied().unwrap_or(0),
            network.all_functions().map(|f| f.scope().len()).max().unwrap_or(0),
            network.function_count(),
        );
        let number = |column: usize, own: usize| row[column].parse().unwrap_or(own);
        let expected = (number(3, sizes.0), number(4, sizes.1 as usize) as u32, number(6, sizes.2), number(5, sizes.3));
        assert_eq!(sizes, expected, "{}", row[0]);
        assert!(network.units().precision_slack(None) <= 1e-3, "{}", row[0]);
        check_evidence(&path, &network);
    }
    println!("{checked} instances");
}

fn check_evidence(path: &Path, network: &Network) {
    let evidence = path.with_extension("evid");
    if evidence.is_file() {
        let pairs =
            fangs_formats::read_evidence(&evidence, network.variables(), &Stop::new()).unwrap().observations.pairs();
        network.clone().observe(&pairs).unwrap();
    }
}
