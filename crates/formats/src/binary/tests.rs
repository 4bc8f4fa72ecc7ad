//! Tests of the binary form: networks survive unchanged, and damaged files are refused without a crash.

use super::*;
use crate::check::evaluate;
use crate::error::Error;
use crate::model::{Function, Global, Network};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{Format, ReadOptions, read_from};

const AGENTS: &str = "name: two
objective: min
domains:
  colors: {values: [red, green]}
variables:
  a: {domain: colors, initial_value: green}
  b: {domain: colors}
constraints:
  differ: {type: intention, function: 3 if a == b else 0}
agents: [one, two, three]
distribution_hints: {must_host: {two: [a]}}
";

fn parse(bytes: &[u8], format: Format) -> Result<Network, Error> {
    let options = ReadOptions::default().with(|options| options.colors = Some(3));
    read_from(bytes, "t.fangs", format, &options, &Stop::new())
}

fn written(network: &Network) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(network, &mut bytes).expect("memory takes all");
    bytes
}

/// Returns networks that together have every feature.
fn networks() -> Vec<Network> {
    [
        (
            "t 3 3 4 100\n2 3 2\n-2 0 1 5 1\n0 1 7\n2 2 1 0 -1\n2 0 2 -1 salldiff var 9\n3 0 1 2 4 1\n1 2 1 0\n",
            Format::Wcsp,
        ),
        ("t 2 2 2 9223372036854775807\n2 2\n1 0 300 1\n1 288230376151711743\n1 1 -3 0\n", Format::Wcsp),
        (
            "{{p >-2.50} {a [no yes] b [x y z] c 2} {f {[a b] [0.25 1.50 -0.75 0.00 inf 65.00]} \
             g {[c] [1.00 2.00]} {[b c] 0.5 [x 1 7.25]}}}",
            Format::Cfn,
        ),
        ("MARKOV\n2\n2 2\n2\n1 0\n2 0 1\n2\n0.3 0.7\n4\n1e-400 2.5 0 1\n", Format::Uai),
        ("MARKOV\n2\n2 2\n3\n1 0\n1 1\n1 0\n2\n-3.5 0.25\n2\n-3.5 0.25\n2\n-inf 1.5\n", Format::Lg),
        (AGENTS, Format::Yaml),
    ]
    .map(|(text, format)| parse(text.as_bytes(), format).expect("a network"))
    .into()
}

#[test]
fn all_of_a_network_comes_back() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    for network in networks() {
        let bytes = written(&network);
        let again = parse(&bytes, Format::Fangs).expect("what was written");
        let shown = |network: &Network| {
            let tables = network.all_functions().enumerate().map(|(number, function)| match function {
                Function::Table(own) => format!("{:?} {:?} {:?}", network.function_name(number), own.scope, own.table),
                Function::Global(Global { scope, kind, limit, .. }) => {
                    format!("{:?} {scope:?} {kind:?} {limit}", network.function_name(number))
                }
            });
            let head = (network.top(), network.units(), network.notation(), network.variables());
            format!("{head:?} {:?} {:?} {:?}", network.agents(), network.reading(), tables.collect::<Vec<_>>())
        };
        assert_eq!(shown(&again), shown(&network));
        assert_eq!(written(&again), bytes);
        let together = pool.install(|| parse(&bytes, Format::Fangs)).expect("read by all threads");
        assert_eq!(written(&together), bytes);
    }
}

#[test]
fn functions_that_share_a_table_go_on_sharing_it() {
    let network = &networks()[0];
    let again = parse(&written(network), Format::Fangs).expect("what was written");
    let addresses = |network: &Network| -> Vec<bool> {
        let tables = network.functions();
        tables.iter().map(|function| function.table.address() == tables[0].table.address()).collect()
    };
    assert_eq!(addresses(&again), addresses(network));
    assert!(addresses(&again)[1]);
}

#[test]
fn no_damaged_file_is_read() {
    for network in networks() {
        let bytes = written(&network);
        for length in 0..bytes.len() {
            let error = parse(&bytes[..length], Format::Fangs).expect_err("an incomplete file").to_string();
            assert!(error.contains("t.fangs: ") && error.contains("damaged"), "{length}: {error}");
        }
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            assert!(parse(&changed, Format::Fangs).is_err(), "byte {place}");
        }
        let more = [&bytes[..], &bytes[12..]].concat();
        assert!(parse(&more, Format::Fangs).expect_err("a second network").to_string().contains("last one"));
    }
}

#[test]
fn other_versions_are_named() {
    let mut bytes = written(&networks()[0]);
    bytes[MAGIC.len()] = 2;
    let error = parse(&bytes, Format::Fangs).expect_err("a later version").to_string();
    assert!(error.contains("version 2") && error.contains("reads version 1"), "{error}");
}

/// Contents with correct checksums that no program wrote are read or refused, without a crash.
#[test]
fn contents_are_checked() {
    const START: usize = MAGIC.len() + 4;
    let mut rng = Rng::new(3);
    let (mut read, mut refused) = (0, 0);
    for network in networks() {
        let bytes = written(&network);
        for _ in 0..5000 {
            let (mut file, mut rest) = (bytes[..START].to_vec(), &bytes[START..]);
            while let Some((length, after)) = rest.split_first_chunk::<8>() {
                let length = u64::from_le_bytes(*length) as usize;
                let mut contents = after[4..4 + length].to_vec();
                rest = &after[4 + length..];
                match rng.below(6) {
                    0 => {
                        let place = rng.index(contents.len());
                        contents[place] = contents[place].wrapping_add([1, 255, 128, 7][rng.index(4)]);
                    }
                    1 if rng.below(4) == 0 => contents.truncate(rng.index(contents.len())),
                    2 if rng.below(4) == 0 => blocks::write(&contents, &mut file).expect("memory"),
                    3 if rng.below(8) == 0 => continue,
                    _ => {}
                }
                blocks::write(&contents, &mut file).expect("memory");
            }
            match parse(&file, Format::Fangs) {
                Ok(network) => {
                    let assignment: Vec<u32> =
                        network.domains().iter().map(|&domain| rng.below(domain.into()) as u32).collect();
                    let evaluation = evaluate(&network, &assignment);
                    let _ = evaluation.value(&network, &assignment);
                    let _ = written(&network);
                    read += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} {refused}");
}
