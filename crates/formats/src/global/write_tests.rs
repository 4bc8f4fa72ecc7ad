//! Tests that write global functions and read them again.

use crate::check::evaluate;
use crate::model::Network;
use crate::stop::Stop;
use crate::{Format, ReadOptions, read_from, write};

fn read(text: &[u8], format: Format) -> Network {
    let network = read_from(text, "t", format, &ReadOptions::default(), &Stop::new());
    network.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(text)))
}

/// Keywords and parameters of functions over three variables with three values.
const PARAMETERS: [&str; 22] = [
    "salldiff var 10",
    "salldiff dec 3",
    "salldiff var 70",
    "sgcc var 5 2 0 1 1 1 0 2",
    "sgcc wdec 5 2 0 1 1 2 3 1 0 2 4 1",
    "wgcc quad 2 1 0 1 1",
    "ssame 3 1 1 0 2",
    "samong var 4 1 2 2 0 1",
    "wamong hard 3 1 1 0 1",
    "wsum lin 3 <= 2",
    "wsum hard 10 != 3",
    "wsum quad 2 == 4",
    "wvarsum quad 2 >=",
    "wvaramong hard 10 1 1",
    "wregular 2 1 0 0 1 1 0 3 0 0 0 0 0 1 1 2 1 2 1 1",
    "sregular var 3 2 1 0 1 1 2 0 0 0 0 1 1",
    "sregular edit 3 2 1 0 1 1 2 0 0 0 0 1 1",
    "sgrammar var 3 1 3 0 2 1 0 0 0 0 0 1",
    "max 1 2 0 1 4 2 2 7",
    "MST",
    "knapsackv 3 3 0 1 2 1 2 2 2 1 4",
    "wdiverse 2 0 1 2",
];

#[test]
fn what_is_read_is_written() {
    for parameters in PARAMETERS {
        let text = format!("t 3 3 2 50\n3 3 3\n1 0 0 1\n2 5\n3 0 1 2 -1 {parameters}\n");
        let network = read(text.as_bytes(), Format::Wcsp);
        assert_eq!(network.globals().len(), 1, "{parameters}");
        for format in [Format::Wcsp, Format::Cfn] {
            let mut text = Vec::new();
            write(&network, format, &mut text).expect("in memory");
            let again = read(&text, format);
            assert!(again.globals().len() > 0 && again.functions().len() == 1, "{parameters} in {format:?}");
            for index in 0..27 {
                let values = [index / 9, index / 3 % 3, index % 3];
                let [one, two] = [&network, &again].map(|network| evaluate(network, &values).cost);
                assert_eq!(one, two, "{parameters} at {values:?}:\n{}", String::from_utf8_lossy(&text));
            }
        }
    }
}

#[test]
fn large_functions_keep_their_keyword() {
    let text = "s 8 10 1 100\n10 10 10 10 10 10 10 10\n8 0 1 2 3 4 5 6 7 -1 wsum hard 50 == 40\n";
    let network = read(text.as_bytes(), Format::Wcsp);
    let mut again = Vec::new();
    write(&network, Format::Wcsp, &mut again).expect("in memory");
    assert_eq!(String::from_utf8(again).expect("text"), text.replace("s 8", "t 8"));
    let mut again = Vec::new();
    write(&network, Format::Cfn, &mut again).expect("in memory");
    let again = String::from_utf8(again).expect("text");
    assert!(again.contains("type: wsum, params: {metric: hard, cost: 50, comparator: ==, to: 40, }"), "{again}");
}

#[test]
fn names_that_the_format_does_not_hold_are_changed() {
    let text = "variable \"a b\" { type discrete [ 3 ] { 0, 1, 2 }; }\n\
        variable a_b { type discrete [ 2 ] { 10, v10 }; }\n\
        probability ( \"a b\" ) { table 0.5 0.25 0.25; }\nprobability ( a_b ) { table 0.5 0.5; }\n";
    let network = read(text.as_bytes(), Format::Bif);
    let mut again = Vec::new();
    write(&network, Format::Cfn, &mut again).expect("in memory");
    let again = read(&again, Format::Cfn);
    assert_eq!([0, 1].map(|v| again.variable_name(v)), ["a_b_2", "a_b"]);
    assert_eq!([0, 1].map(|value| again.value_name(1, value)), ["v10_2", "v10"]);
    assert_eq!((again.domains(), again.units().decimals), (&[3, 2][..], 9));
}
