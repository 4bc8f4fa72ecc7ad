//! Tests of the `.cfn` format.

use super::*;
use crate::check::evaluate;
use crate::model::Number;
use crate::stop::Stop;
use crate::{Format, read_from, write};

fn parse(text: &str) -> Result<Network, Error> {
    read_from(text.as_bytes(), "t.cfn", Format::Cfn, &ReadOptions::default(), &Stop::new())
}

fn value(network: &Network, assignment: &[u32]) -> Option<f64> {
    evaluate(network, assignment).value(network, assignment).map(Number::as_f64)
}

const SMALL: &str = include_str!("../../../../tests/corpus/small.cfn");
const MOST: &str = include_str!("../../../../tests/corpus/most.cfn");

#[test]
fn tags_names_and_decimals() {
    let network = parse(SMALL).expect("a network");
    assert_eq!(network.domains(), [2, 3, 3, 2]);
    assert_eq!((network.top(), network.units().decimals, network.units().maximise), (2050, 2, false));
    let names: Vec<String> = (0..4).map(|v| network.variable_name(v)).collect();
    assert_eq!(names, ["rain", "umbrella", "x2", "n"]);
    assert_eq!([network.value_name(1, 2), network.value_name(3, 1)], ["lost", "v1"]);
    assert_eq!(network.value_index(3, "v1"), Some(1));
    let functions: Vec<Option<&str>> = (0..6).map(|f| network.function_name(f)).collect();
    assert_eq!(functions[0], Some("here"));
    // -1.25 + 0.5 + 2 * table(no, v0) + 3.99, zero or one value of 1
    assert_eq!(value(&network, &[0, 0, 1, 0]), Some(-1.25 + 0.5 + 2.0 + 3.99 + 0.25));
    assert_eq!(value(&network, &[1, 1, 0, 0]), Some(-1.25 + 1.0 + 6.0 - 0.75 + 0.25));
    assert_eq!(value(&network, &[1, 2, 2, 0]), None);
}

#[test]
fn places_in_place_of_tags_and_maximisation() {
    let network = parse(MOST).expect("a network");
    assert_eq!((network.top(), network.units().decimals, network.units().maximise), (35, 1, true));
    assert_eq!(value(&network, &[0, 0]), Some(1.0 + 0.5 + 0.5 + 3.0));
    assert_eq!(value(&network, &[0, 1]), Some(-2.5 + 1.5 + 0.5 + 1.5 - 1.0));
    assert_eq!(value(&network, &[1, 0]), None);
    assert!(evaluate(&network, &[0, 1]).is_solution());
    for (text, top) in [("<-0.5", -5), ("< 3", 3), (">0", 0), ("<inf", FORBIDDEN), ("<99999999999999999999", FORBIDDEN)]
    {
        assert_eq!(parse(&format!("{{ {{t {text}}} {{}} {{}} }}")).expect(text).top(), top, "{text}");
    }
}

#[test]
fn totals_are_bounded_and_entries_are_not() {
    let network = parse("{{t <10.0} {2} { {[0] [10 3]} {[0] 0 [0 -5]} }}").expect("a network");
    assert_eq!(evaluate(&network, &[0]).cost, 50);
    assert!(evaluate(&network, &[0]).is_solution());
}

/// A bound above 2^58 units is not kept, so assignments that reach it could pass for solutions.
#[test]
fn totals_that_reach_a_bound_beyond_single_costs_are_refused() {
    let text = |bound: i64| {
        let half = 1i64 << 57;
        format!("{{{{t <{bound}}} {{2}} {{ {{[0] [{half} {half}]}} {{[0] [{half} {half}]}} {{[] [{half}]}} }} }}")
    };
    let sum = 3 << 57;
    assert_eq!(evaluate(&parse(&text(sum + 1)).expect("a network"), &[0]).cost, sum);
    for bound in [(1 << 58) + 1, sum - 1, sum] {
        let error = parse(&text(bound)).expect_err("its solutions cost too much").to_string();
        assert!(error.contains("smaller costs"), "{error}");
    }
}

/// Least costs above 0 stay in their tables, so they count towards the largest sum.
#[test]
fn sums_below_and_above_zero_are_bounded_together() {
    let most = (1i64 << 58) - 1;
    let text = |below: i64| {
        let above = format!("{{[0] [1 {most}]}}").repeat(3);
        format!("{{{{t <inf}} {{2}} {{ {above} {{[0] [-{most} 0]}} {{[0] [0 -{below}]}} }} }}")
    };
    assert_eq!(evaluate(&parse(&text(3)).expect("a network"), &[1]).cost, 3 * most - 3);
    let error = parse(&text(4)).expect_err("costs differ by 2^60").to_string();
    assert!(error.contains("smaller costs"), "{error}");
    // a function with a constant negative cost leaves nothing in its table
    let constant = text(4).replace("[0 -4]", "[-4 -4]");
    assert_eq!(evaluate(&parse(&constant).expect("a network"), &[1]).cost, 3 * most - 4);
}

#[test]
fn alldiff_compares_names() {
    let network = parse("{{t <9} {a [p q] b [q p]} { {[a b] alldiff [[] []]} }}").expect("a network");
    assert_eq!([[0, 0], [0, 1], [1, 0]].map(|x| value(&network, &x)), [Some(0.0), None, None]);
    let network = parse("{{t <9} {a [p q] b [q p]} { {[a b] alldiff [[0] []]} }}").expect("a network");
    assert_eq!([[0, 0], [0, 1], [1, 0]].map(|x| value(&network, &x)), [Some(0.0), Some(0.0), None]);
}

#[test]
fn what_is_written_is_read() {
    for text in [SMALL, MOST] {
        let network = parse(text).expect("a network");
        let mut written = Vec::new();
        write(&network, Format::Cfn, &mut written).expect("to memory");
        let written = String::from_utf8(written).expect("text");
        let again = parse(&written).expect(&written);
        assert_eq!((again.top(), again.units()), (network.top(), network.units()));
        let names = |network: &Network| -> Vec<String> {
            (0..network.domains().len()).map(|v| network.variable_name(v)).collect()
        };
        assert_eq!(names(&again), names(&network));
        let mut odometer = crate::model::Odometer::new(network.domains().iter().map(|&d| d as usize).collect());
        loop {
            let x: Vec<u32> = odometer.digits.iter().map(|&value| value as u32).collect();
            assert_eq!(value(&again, &x), value(&network, &x), "{x:?}");
            if odometer.advance().is_none() {
                break;
            }
        }
    }
}

#[test]
fn costs_beyond_64_bits_forbid_if_they_reach_the_bound() {
    let text = |bound: &str, cost: &str, other: &str| {
        format!("{{{{p <{bound}}} {{a 2 b 2}} {{{{[a b] {cost} [0 0 1 0 1 {other}]}}}}}}")
    };
    for cost in ["512409557603043100", "9e99", "inf", "INF", "+Infinity"] {
        let network = parse(&text("1000000", cost, "2")).expect(cost);
        let costs = [[0, 0], [0, 1], [1, 0]].map(|values| evaluate(&network, &values).cost);
        assert_eq!(costs, [1, 2, FORBIDDEN], "{cost}");
    }
    for (bound, cost, other) in [("inf", "5e17", "2"), ("5e17", "3e17", "2"), ("3e17", "4e17", "-1")] {
        let bound = if bound == "inf" { bound.to_string() } else { bound.replace("e17", &"0".repeat(17)) };
        assert!(parse(&text(&bound, cost, other)).is_err(), "{bound} {cost} {other}");
    }
}

#[test]
fn misfits() {
    let message = |text: &str| parse(text).expect_err(text).to_string();
    for (text, part) in [
        ("", "t.cfn:1:1: found the end of the file, expected an opening bracket"),
        ("{ problem: {name: x, must: <3} }", "1:22: found `must`, expected `mustbe`"),
        ("{ problem: {name mustbe: 3} }", "expected `mustbe`"),
        ("{{x 3}", "1:5: found `3`, expected `<` or `>`"),
        ("{{x <1e3}", "found `<1e3`, expected `<` or `>` and a decimal number (digits"),
        ("{{x <3.0000000000000001}", "at most 15 digits"),
        ("{{x <3} {a []}", "a domain size of at least 1"),
        ("{{x <3} {a 0}", "a domain size of at least 1"),
        ("{{x <3} {a [p p]}", "a name that the variable's values do not have yet"),
        ("{{x <3} {a [1 2]}", "which does not begin with a digit"),
        ("{{x <3} {a 2 a 2}", "found `a`, expected another name (variable 0 is called a)"),
        ("{{x <3} {2 x0 2}", "variable 0 is called x0"),
        ("{{x <3} {a 2}\n{ {[b] [1 2]}", "2:5: found `b`, expected the name of a variable"),
        ("{{x <3} {a 2} { {[7] [1 2]}", "found `7`, expected a variable from 0 to 0"),
        ("{{x <3} {a 2} { {[a a] [1 2]}", "a variable that the function does not have yet"),
        ("{{x <3} {a 2} { {[a] [1", "found the end of the file, expected a cost"),
        ("{{x <3} {a 2} { {[a] [1]}}}", "found `]`, expected 2 costs, not 1"),
        ("{{x <3} {a 2} { {[a] [1 2 3]}", "found `3`, expected the end of the list: the scope has 2 combinations"),
        ("{{x <3} {a 2} { {[a] [1 -inf]}", "found `-inf`, expected a cost: digits"),
        ("{{x <3} {a 2} { {[a] 0 [0 1 0 2]}", "a tuple that is not listed yet"),
        (
            "{{x <3} {a 2} { {[a] 0 [v2 1]}",
            "found `v2`, expected the name of a value of variable 0, or an index from 0 to 1",
        ),
        ("{{x <3} {a 2} {\n {[a] later} }}", "2:7: found `later`, expected the name of a function"),
        ("{{x <3} {a 2 b 3} { {[a] f} f {[b] [1 2 3]} }}", "expected a shared table that fits"),
        ("{{x <3} {a 2 b 2} { {[a b] sdiff [1]} }}", "found `sdiff`, expected another global cost function"),
        ("{{x <3} {a 2 b 2} { {[a b] knapsackp [1]} }}", "a global cost function, knapsackp; those read are salldiff"),
        ("{{x >3} {a 2 b 2} { {[a b] wsum [lin 2 < 3]} }}", "expected a cost of at most 0, or inf"),
        ("{{x <3.0} {a 2 b 2} { {[a b] >= [1 2]} }}", "a network of integers that minimises"),
        ("{{x <3} {a 2 b 2} { {[a b] knapsack [1 [2]]} }}", "2 items, one for each variable"),
        ("{{x <3} {a 2 b 2} { {[a b] wsum [lin 2 < 3 4]} }}", "found `4`, expected a closing bracket"),
    ] {
        assert!(message(text).contains(part), "{text}: {}", message(text));
    }
}
