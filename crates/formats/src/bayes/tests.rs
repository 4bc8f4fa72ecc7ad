//! Tests of rows of probabilities that do not sum to 1, in every format of Bayesian networks.

use crate::stop::Stop;
use crate::{Format, ReadOptions, read_from, read_potentials_from};

/// Returns the warnings of a text, and checks that they are equal for costs and for potentials.
fn warnings(text: &str, format: Format) -> Vec<String> {
    let stop = Stop::new();
    let network = read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &stop).expect("a network");
    let potentials = read_potentials_from(text.as_bytes(), "t", format, None, &stop).expect("potentials");
    let warnings: Vec<String> = network.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(warnings, potentials.warnings.iter().map(ToString::to_string).collect::<Vec<_>>());
    warnings
}

#[test]
fn rows_that_do_not_sum_to_1_are_named() {
    let bif = "Network n { }\nVARIABLE rain { type discrete [ 2 ] { yes, no }; }\n\
        variable wet { Type Discrete [ 2 ] { on, off }; }\nprobability ( rain ) { Table 0.25, 0.75; }\n\
        probability ( wet | rain ) {\n  (yes) 0.5, 0.25;\n  (no) 0, 0;\n}\n";
    let expected = [
        "row (yes) of the probabilities of wet sums to 0.75, not 1; used as written",
        "row (no) of the probabilities of wet is all 0",
    ];
    assert_eq!(warnings(bif, Format::Bif), [format!("t:6:3: {}", expected[0]), format!("t:7:3: {}", expected[1])]);
    let xmlbif = "<BIF><NETWORK>\n<VARIABLE><NAME>rain</NAME><OUTCOME>yes</OUTCOME><OUTCOME>no</OUTCOME></VARIABLE>\n\
        <VARIABLE><NAME>wet</NAME><OUTCOME>on</OUTCOME><OUTCOME>off</OUTCOME></VARIABLE>\n\
        <DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>\n\
        <DEFINITION><FOR>wet</FOR><GIVEN>rain</GIVEN><TABLE>0.5 0.25 0 0</TABLE></DEFINITION></NETWORK></BIF>";
    let xdsl = "<smile><nodes>\n<cpt id=\"rain\"><state id=\"yes\"/><state id=\"no\"/>\n<probabilities>0.25 0.75\
        </probabilities></cpt>\n\n<cpt id=\"wet\"><state id=\"on\"/><state id=\"off\"/><parents>rain</parents>\
        <probabilities>0.5 0.25 0 0</probabilities></cpt></nodes></smile>";
    let net = "NET { }\nnode rain { states = (\"yes\" \"no\"); }\nNode wet { States = (\"on\" \"off\"); }\n\
        potential (rain) { data = (0.25 0.75); }\nPOTENTIAL (wet | rain) { Data = ((0.5 0.25) (0 0)); }\n";
    let same = [
        (xmlbif, Format::XmlBif),
        (xmlbif, Format::Bif),
        (xmlbif, Format::Xml),
        (xdsl, Format::Xdsl),
        (net, Format::Net),
    ];
    for (text, format) in same {
        let warnings = warnings(text, format);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for (warning, expected) in warnings.iter().zip(expected) {
            assert!(warning.starts_with("t:5:1: ") && warning.ends_with(expected), "{warning}");
        }
    }
    let uai = warnings("BAYES 2 2 2 2 1 0 2 0 1 2 0.25 0.5\n4 0.5 0.5 0.25 0.25", Format::Uai);
    assert_eq!(uai.len(), 2, "{uai:?}");
    assert!(uai[0].ends_with("the probabilities of x0 sum to 0.75, not 1; used as written"), "{uai:?}");
    assert!(uai[1].ends_with("row (1) of the probabilities of x1 sums to 0.5, not 1; used as written"), "{uai:?}");
    assert!(warnings("MARKOV 1 2 1 1 0 2 0.25 0.5", Format::Uai).is_empty());
}

#[test]
fn many_rows_are_counted() {
    let mut text = "variable a { type discrete [ 40 ] {".to_string();
    text += &(0..40).map(|value| format!("v{value} ")).collect::<String>();
    text += "}; }\nvariable b { type discrete [ 2 ] { y n }; }\nprobability ( a ) { table";
    text += &" 0.025".repeat(40);
    text += ";}\nprobability ( b | a ) { default 0.5 0.6; }\n";
    let warnings = warnings(&text, Format::Bif);
    assert_eq!(warnings.len(), 11, "{warnings:?}");
    assert!(warnings[10].ends_with("rows of probabilities that do not sum to 1: 30 more"), "{}", warnings[10]);
}
