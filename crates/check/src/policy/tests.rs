use super::*;
use crate::formats::parse_pomdp;
use crate::model::{DecisionRule, Diagram, DiagramKind, Node, PolicyGraph, PolicyNode, Potential, Rules};
use crate::stop::Stop;

/// A coin, fair or not, is observed before a bet on it.
fn coin() -> Diagram {
    let node = |name: &str, decision| Node { name: name.into(), domain: 2, values: Vec::new(), decision };
    Diagram {
        name: "coin".into(),
        kind: DiagramKind::Recall,
        nodes: vec![node("coin", false), node("bet", true), node("toss", false)],
        probabilities: vec![
            Potential { scope: [0].into(), table: [0.75, 0.25].into() },
            Potential { scope: [0, 2].into(), table: [0.5, 0.5, 1.0, 0.0].into() },
        ],
        utilities: vec![Potential { scope: [1, 2].into(), table: [3.0, -1.0, 0.0, 2.0].into() }],
        blocks: vec![vec![2], vec![1], vec![0]],
        informed: Vec::new(),
    }
}

fn rule(sees: &[u32], choices: &[u32]) -> DecisionRule {
    let certain = vec![false; choices.len()];
    DecisionRule { decision: 1, name: "bet".into(), sees: sees.to_vec(), choices: choices.to_vec(), certain }
}

fn worth(rules: Vec<DecisionRule>, observed: &[(u32, u32)]) -> Result<(f64, f64), Error> {
    worth_in_diagram(&coin(), &Rules { decisions: rules }, observed, &Stop::new())
}

#[test]
fn rules_are_worth_what_they_are_worth() -> Result<(), Error> {
    // 0.75 of a fair coin: 1 or 1; 0.25 of the other: 3 or 0
    assert_eq!(worth(vec![rule(&[0], &[0, 0])], &[])?, (0.75 + 0.75, 1.0));
    assert_eq!(worth(vec![rule(&[0], &[1, 1])], &[])?, (0.75, 1.0));
    assert_eq!(worth(vec![rule(&[], &[0])], &[])?, (1.5, 1.0));
    assert_eq!(worth(vec![rule(&[], &[0])], &[(0, 1)])?, (0.75, 0.25));
    Ok(())
}

#[test]
fn wrong_rules_are_refused() {
    for (rules, observed) in [
        (vec![], &[][..]),
        (vec![rule(&[], &[0]), rule(&[], &[0])], &[]),
        // the toss comes later than the bet
        (vec![rule(&[2], &[0, 1])], &[]),
        (vec![rule(&[0], &[0])], &[]),
        (vec![rule(&[0, 0], &[0, 0, 0, 0])], &[]),
        (vec![rule(&[], &[2])], &[]),
        (vec![rule(&[], &[0])], &[(7, 0)]),
        (vec![rule(&[], &[0])], &[(0, 2)]),
    ] {
        let error = worth(rules, observed).expect_err("it is wrong on purpose");
        assert!(matches!(error, Error::Refused(_)), "{error}");
    }
}

#[test]
fn graphs_are_worth_what_they_are_worth() -> Result<(), Error> {
    let text = "discount: 0.5\nvalues: reward\nstates: a b\nactions: stay swap\nobservations: a b\nstart: 0.25 0.75\n\
        T: stay identity\nT: swap\n0 1\n1 0\nO: * identity2\nR: * : a : * : * 8\n";
    let text = text.replace("O: * identity2", "O: *\n1 0\n0 1");
    let (process, _) = parse_pomdp(&text, "t", &Stop::new())?;
    let node = |step, action, next: [Option<usize>; 2]| PolicyNode { step, action, next: next.to_vec() };
    let graph = |nodes: Vec<PolicyNode>| PolicyGraph {
        horizon: 2,
        actions: vec!["stay".into(), "swap".into()],
        observations: vec!["a".into(), "b".into()],
        nodes,
    };
    let leaf = |action| node(1, action, [None, None]);
    // rewards count before the move: 2 at first, then half of 8 times the probability of being there
    let stay = graph(vec![node(0, 0, [Some(1), Some(1)]), leaf(0)]);
    assert_eq!(worth_in_pomdp(&process, &stay, &Stop::new())?, 2.0 + 0.5 * 8.0 * 0.25);
    let swap = graph(vec![node(0, 1, [Some(1), Some(1)]), leaf(0)]);
    assert_eq!(worth_in_pomdp(&process, &swap, &Stop::new())?, 2.0 + 0.5 * 8.0 * 0.75);
    for wrong in [
        graph(vec![]),
        graph(vec![leaf(0)]),
        graph(vec![node(0, 2, [Some(1), Some(1)]), leaf(0)]),
        graph(vec![node(0, 0, [Some(1), None]), leaf(0)]),
        graph(vec![node(0, 0, [Some(0), Some(1)]), leaf(0)]),
        graph(vec![node(0, 0, [Some(7), Some(1)]), leaf(0)]),
    ] {
        let error = worth_in_pomdp(&process, &wrong, &Stop::new()).expect_err("it is wrong on purpose");
        assert!(matches!(error, Error::Refused(_)), "{error}");
    }
    Ok(())
}
