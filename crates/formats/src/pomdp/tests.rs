use super::*;
use crate::rng::Rng;

const TIGER: &str = "\
discount: 0.95
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right   # three
observations: hear-left hear-right
start: uniform

T:listen
identity
T: open-left
uniform
T: open-right
0.5 0.5
0.5 0.5
O: listen
0.85 0.15
0.15 0.85
O: open-left : tiger-left
uniform
O: open-left : 1 : * 0.5
O: 2
uniform
R: listen : * : * : * -1
R: open-left : tiger-left : * : * -100
R: open-left : tiger-right : * : * 10
R: open-right : tiger-left : *
10 10
R: open-right : tiger-right
-100 -100
-100 -100
";

const DEC_TIGER: &str = "\
agents: 2
discount: 1
values: reward
states: tiger-left tiger-right
start:
uniform
actions:
listen open-left open-right
listen open-left open-right
observations:
hear-left hear-right
2
T: * :
uniform
T: listen listen :
identity
O: * :
uniform
O: listen listen : tiger-left : hear-left 0 : 0.7225
O: listen listen : tiger-left : hear-left 1 : 0.1275
O: listen listen : tiger-left : hear-right 0 : 0.1275
O: listen listen : tiger-left : hear-right 1 : 0.0225
O: listen listen : tiger-right : hear-right 1 : 0.7225
O: listen listen : tiger-right : hear-right 0 : 0.1275
O: listen listen : tiger-right : hear-left 1 : 0.1275
O: listen listen : tiger-right : hear-left 0 : 0.0225
R: * : * : * : * : -7
R: listen listen : * : * : * : -2
R: listen * : tiger-right : * : * : 9
";

fn parse(text: &str) -> Result<(Pomdp, Vec<Warning>), Error> {
    parse_pomdp(text, "t.POMDP", &Stop::new())
}

#[test]
fn all_forms_are_read() {
    let (tiger, warnings) = parse(TIGER).expect("a process");
    assert!(warnings.is_empty());
    assert_eq!((tiger.states.len(), tiger.actions(), tiger.observed(), tiger.discount), (2, 3, 2, 0.95));
    assert_eq!(tiger.rewards, [[-1.0, -1.0], [-100.0, 10.0], [10.0, -100.0]]);
    assert_eq!(tiger.transitions[0].row(1), [(1, 1.0)]);
    assert_eq!(tiger.transitions[2].row(0), [(0, 0.5), (1, 0.5)]);
    assert_eq!(tiger.observations[0].row(1), [(0, 0.15), (1, 0.85)]);
    assert_eq!(tiger.observations[1].row(1), [(0, 0.5), (1, 0.5)]);
    assert_eq!(tiger.action_name(2), "open-right");
}

#[test]
fn several_states_may_be_the_first() {
    let body = "T: * uniform\nO: * uniform\nR: l : a : * : * 1\n";
    let head = "discount: 1\nstates: a b c\nactions: l\nobservations: o\n";
    let text = |start: &str| format!("{head}{start}\n{body}");
    for (start, expected) in [
        ("start: a c", [0.5, 0.0, 0.5]),
        ("start:\na b c", [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]),
        ("start: b", [0.0, 1.0, 0.0]),
        ("start: 2", [0.0, 0.0, 1.0]),
        ("start: a b\nstart include: c", [0.0, 0.0, 1.0]),
        ("start include: a 1", [0.5, 0.5, 0.0]),
        ("start: 0.25 0.5 0.25", [0.25, 0.5, 0.25]),
    ] {
        assert_eq!(parse(&text(start)).expect(start).0.start, expected, "{start}");
    }
    assert!(parse(&text("start: a d")).is_err_and(|error| error.to_string().contains("found `d`")));
}

#[test]
fn joint_actions_and_observations() {
    let (tiger, _) = parse(DEC_TIGER).expect("a process");
    assert_eq!((tiger.actions(), tiger.observed()), (9, 4));
    assert_eq!(tiger.observations[0].row(0), [(0, 0.7225), (1, 0.1275), (2, 0.1275), (3, 0.0225)]);
    assert_eq!(tiger.observations[5].row(0), [(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]);
    assert_eq!(tiger.rewards[0], [-2.0, 9.0]);
    assert_eq!((tiger.rewards[2][1], tiger.rewards[4][1]), (9.0, -7.0));
    assert_eq!(
        (tiger.action_name(5), tiger.observation_name(1)),
        ("open-left open-right".into(), "hear-left 1".into())
    );
}

#[test]
fn starts() {
    let begin = |line: &str| parse(&TIGER.replace("start: uniform", line)).map(|(tiger, _)| tiger.start);
    for (line, start) in [
        ("start: 0.25 0.75", [0.25, 0.75]),
        ("start: tiger-right", [0.0, 1.0]),
        ("start: 0", [1.0, 0.0]),
        ("start include: tiger-left", [1.0, 0.0]),
        ("start exclude: 0", [0.0, 1.0]),
        ("start include: 0 1", [0.5, 0.5]),
        ("start: tiger-left tiger-right", [0.5, 0.5]),
        ("start: tiger-right tiger-right", [0.0, 1.0]),
        ("start: 1 0", [1.0, 0.0]),
        ("", [0.5, 0.5]),
    ] {
        assert_eq!(begin(line).expect("a start"), start, "{line}");
    }
    for line in ["start: 0.25 0.25", "start: nowhere", "start exclude: 0 1", "start: identity", "start: 2"] {
        assert!(begin(line).is_err_and(|error| error.is_input()), "{line}");
    }
}

/// Rewards of the next state and the observation are expectations; costs are negated.
#[test]
fn rewards_are_folded() {
    let text = TIGER.replace("R: listen : * : * : * -1", "R: listen : * : * : * -1\nR: * : 0 : 0 : hear-right 4");
    let (tiger, _) = parse(&text).expect("a process");
    assert!((tiger.rewards[0][0] - (-0.85 + 0.15 * 4.0)).abs() < 1e-15);
    let (tiger, _) = parse(&TIGER.replace("reward", "cost")).expect("a process");
    assert_eq!(tiger.rewards[1], [100.0, -10.0]);
}

#[test]
fn errors_have_places() {
    for (from, to, message) in [
        ("discount: 0.95", "discount: 2", "t.POMDP:1:11: found `2`, expected a discount from 0 to 1"),
        ("values: reward", "values: money", "t.POMDP:2:9: found `money`, expected reward or cost"),
        ("T:listen", "T:listn", "t.POMDP:8:3: found `listn`, expected an action (did you mean `listen`?)"),
        ("O: 2", "O: 3", "found `3`, expected an action (there are 3, numbered from 0)"),
        ("O: 2\nuniform", "O: 2\n0.5 x", "expected a probability"),
        ("R: listen : * : * : * -1", "R: listen : * : * : * inf", "expected a reward"),
        ("observations: hear-left hear-right\n", "", "expected `observations:` before it"),
        (
            "O: 2\nuniform\n",
            "",
            "observation probabilities of action 2 and state tiger-left that sum to 1 (they sum to",
        ),
        ("states: tiger-left tiger-right", "states: 4000000000000", "expected a number from 1 to"),
        ("states: tiger-left tiger-right", "states: a a", "expected a name that is not listed yet"),
        ("start: uniform", "begin: uniform", "found `begin`, expected discount"),
    ] {
        assert!(TIGER.contains(from), "{from}");
        let error = parse(&TIGER.replacen(from, to, 1)).expect_err(to).to_string();
        assert!(error.contains(message), "{error} for {to}");
    }
}

/// Mutated texts are read or refused, without a panic.
#[test]
fn mutated_texts_are_no_panic() {
    let mut rng = Rng::new(11);
    let mut read = 0;
    for case in 0..6000 {
        let text = if case % 2 == 0 { TIGER } else { DEC_TIGER };
        let mut words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
        for _ in 0..=rng.index(3) {
            let (at, other) = (rng.index(words.len()), rng.index(words.len()));
            match rng.index(4) {
                0 => drop(words.remove(at)),
                1 => words.insert(at, words[other]),
                2 => words.swap(at, other),
                _ => {
                    words[at] =
                        [": ", "* ", "9999999999999 ", "-1 ", "uniform ", "1e400 ", "é ", "agents: 3\n"][rng.index(8)]
                }
            }
        }
        let end = if rng.index(4) == 0 { rng.index(words.len()) } else { words.len() };
        match parse(&words[..end].concat()) {
            Ok(_) => read += 1,
            Err(error) => assert!(error.is_input(), "{error}"),
        }
    }
    assert!(read > 100, "{read}");
}
