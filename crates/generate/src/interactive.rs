//! Interactive influence diagrams of two agents, as the text of `.idid` files.

use super::kinds::whole;
use super::{Kind, Parameter, usage};
use crate::error::Error;
use crate::rng::Rng;
use std::fmt::Write;

const MODELS: Parameter = whole("models", "Models of the other agent", 10, 1, 100_000);
const T1: Parameter = whole("t1", "Steps of the first agent", 3, 1, 1000);
const T0: Parameter = whole("t0", "Steps that the other agent has to go", 6, 1, 1000);
const LEVEL: Parameter = whole("level", "Level: above 1 the other agent models the first one", 1, 1, 8);

/// The list of kinds of interactive diagrams.
pub static DIAGRAMS: [Kind<String>; 2] = [
    Kind {
        name: "idid-tiger",
        about: "the tiger problem of two agents, one of which models the other (.idid)",
        parameters: &[MODELS, T1, T0, LEVEL],
        build: |v, _| idid_tiger(v.whole("models"), v.whole("t1"), v.whole("t0"), v.whole("level")),
    },
    Kind {
        name: "idid-uav",
        about: "an aircraft that looks for a fugitive, whose models it has (.idid)",
        parameters: &[MODELS, T1, T0],
        build: |v, rng| idid_uav(v.whole("models"), v.whole("t1"), v.whole("t0"), rng),
    },
];

/// The tiger problem of a single agent that hears growls.
const ALONE: &str = "discount: 1\nvalues: reward\nstates: tiger-left tiger-right\n\
    actions: listen open-left open-right\nobservations: growl-left growl-right\nstart: uniform\n\
    T: * uniform\nT: listen identity\nO: * uniform\nO: listen\n0.85 0.15\n0.15 0.85\n\
    R: listen : * : * : * -1\nR: open-left : tiger-left : * : * -100\nR: open-left : tiger-right : * : * 10\n\
    R: open-right : tiger-left : * : * 10\nR: open-right : tiger-right : * : * -100\n";

/// Returns the tiger problem of two agents (Adoe, Chen, Doshi, section 7; the paper does not state the probabilities,
/// so the usual ones are used): agent i acts for `t1` steps and has `models` models of agent j, which has `t0` steps to
/// go. At a level above 1 these models model i in turn with `models` models, and so on; agents of lower levels hear
/// only growls.
///
/// # Errors
/// Returns an error if j has fewer steps than i.
pub fn idid_tiger(models: u32, t1: u32, t0: u32, level: u32) -> Result<String, Error> {
    check(t1, t0)?;
    let mut text = String::from(
        "# The tiger problem of two agents: behind one of two doors is a tiger, and gold behind the other.\n\
         # Who listens hears a growl; agent i also hears creaks of the doors that the other opens.\n",
    );
    header(&mut text, models, t1, t0, "[0.5, 0.5]");
    let mut path = String::from("frame");
    for _ in 1..level {
        path += ".j";
        put(&mut text, format_args!("\n[{path}]\n"));
        header(&mut text, models, t0, t0, "[0.5, 0.5]");
        path += ".frame";
        put(&mut text, format_args!("\n[{path}.i]\ntext = \"\"\"\n{}\"\"\"\n", both(false)));
    }
    put(&mut text, format_args!("\n[{path}.j]\ntext = \"\"\"\n{ALONE}\"\"\"\n"));
    put(&mut text, format_args!("\n[frame.i]\ntext = \"\"\"\n{}\"\"\"\n", both(true)));
    Ok(text)
}

/// Returns the tiger problem of two agents. If `creaking` is set, the first agent also hears creaks.
fn both(creaking: bool) -> String {
    const CREAKS: [&str; 3] = ["creak-left", "creak-right", "silence"];
    const GROWLS: [&str; 2] = ["growl-left", "growl-right"];
    let heard = |growl: &str| CREAKS.map(|creak| format!("{growl}+{creak}")).join(" ");
    let mine = if creaking { GROWLS.map(heard).join(" ") } else { GROWLS.join(" ") };
    let mut text = format!(
        "agents: i j\ndiscount: 1\nvalues: reward\nstates: tiger-left tiger-right\nstart: uniform\nactions:\n\
         listen open-left open-right\nlisten open-left open-right\nobservations:\n{mine}\n{}\n\
         T: * : uniform\nT: listen listen : identity\n",
        GROWLS.join(" ")
    );
    let growl = [[0.85, 0.15], [0.15, 0.85]];
    let actions = ["listen", "open-left", "open-right"];
    let creaks: [&[f64]; 3] = match creaking {
        true => [&[0.05, 0.05, 0.9], &[0.9, 0.05, 0.05], &[0.05, 0.9, 0.05]],
        false => [&[1.0]; 3],
    };
    for (i, mine) in actions.iter().enumerate() {
        for (j, theirs) in actions.iter().enumerate() {
            for (state, name) in ["tiger-left", "tiger-right"].iter().enumerate() {
                put(&mut text, format_args!("O: {mine} {theirs} : {name} :"));
                let count = creaks[j].len();
                for seen in 0..2 * count {
                    // an agent that opens a door learns nothing
                    let of_i = match i {
                        0 => growl[state][seen / count] * creaks[j][seen % count],
                        _ => 1.0 / (2 * count) as f64,
                    };
                    for heard in growl[state] {
                        put(&mut text, format_args!(" {}", of_i * if j == 0 { heard } else { 0.5 }));
                    }
                }
                text.push('\n');
            }
        }
    }
    text + "R: listen * : * : * : * : -1\nR: open-left * : tiger-left : * : * : -100\n\
            R: open-left * : tiger-right : * : * : 10\nR: open-right * : tiger-left : * : * : 10\n\
            R: open-right * : tiger-right : * : * : -100\n"
}

/// Number of squares of a side of the grid.
const SIDE: usize = 3;
/// The actions of the agents. `SEEN` has their observations.
const MOVES: [&str; 5] = ["north", "east", "south", "west", "stay"];
const SEEN: [&str; 5] = ["north", "east", "south", "west", "near"];

/// Returns the problem of a reconnaissance aircraft, i, and a fugitive, j, on a grid of 3 by 3 squares with a safe
/// house. The sizes are those of Adoe, Chen, Doshi, section 7: 25 states of i, 9 of j, 5 actions and 5 observations
/// each. The paper gives no tables, so these are drawn from the seed. The states of i are the fugitive's position
/// relative to it, up to two squares in either direction; the states of j are its square.
///
/// # Errors
/// Returns an error if j has fewer steps than i.
pub fn idid_uav(models: u32, t1: u32, t0: u32, rng: &mut Rng) -> Result<String, Error> {
    check(t1, t0)?;
    // in hundredths, so that all written numbers are exact
    let slip = 5 + rng.below(11);
    let right = 70 + rng.below(16);
    let house = rng.index(SIDE * SIDE);
    let mut text = format!(
        "# An aircraft that looks for a fugitive on a grid of 3 x 3 squares; the fugitive makes for a safe house.\n\
         # Sizes as in the literature; tables of our own: moves fail {slip} times in 100, sensors are right {right}\n\
         # times in 100, the safe house is square {house}.\n"
    );
    let belief = format!("[{}]", ["0.04"; 25].join(", "));
    header(&mut text, models, t1, t0, &belief);
    text += "\n[frame.j]\ntext = \"\"\"\n";
    fugitive(&mut text, house, slip, right);
    text += "\"\"\"\n\n[frame.i]\ntext = \"\"\"\n";
    aircraft(&mut text, house, slip, right);
    text += "\"\"\"\n";
    Ok(text)
}

/// A square of a grid.
#[derive(Clone, Copy)]
struct Square {
    x: i64,
    y: i64,
}

impl Square {
    fn of(index: usize, side: usize) -> Square {
        Square { x: (index % side) as i64, y: (index / side) as i64 }
    }

    fn index(self, side: usize) -> usize {
        self.y as usize * side + self.x as usize
    }

    /// Returns the square to which a move leads within a grid of `side` squares a side.
    fn moved(self, action: usize, side: usize) -> Square {
        let (dx, dy) = [(0, -1), (1, 0), (0, 1), (-1, 0), (0, 0)][action];
        let most = side as i64 - 1;
        Square { x: (self.x + dx).clamp(0, most), y: (self.y + dy).clamp(0, most) }
    }
}

/// Returns the reading of a sensor for an object at this relative position.
fn bearing(dx: i64, dy: i64) -> usize {
    match (dx.abs() >= dy.abs(), dx.signum(), dy.signum()) {
        (_, 0, 0) => 4,
        (true, 1, _) => 1,
        (true, _, _) => 3,
        (false, _, 1) => 2,
        (false, _, _) => 0,
    }
}

/// Appends the frame of the fugitive.
fn fugitive(text: &mut String, house: usize, slip: u64, right: u64) {
    *text += "discount: 1\nvalues: reward\nstates: 9\n";
    put(text, format_args!("actions: {}\nobservations: {}\nstart: uniform\n", MOVES.join(" "), SEEN.join(" ")));
    let goal = Square::of(house, SIDE);
    for action in 0..MOVES.len() {
        for square in 0..SIDE * SIDE {
            let to = Square::of(square, SIDE).moved(action, SIDE).index(SIDE);
            for (next, p) in outcomes(square, to, slip) {
                put(text, format_args!("T: {action} : {square} : {next} {p}\n"));
            }
        }
    }
    for square in 0..SIDE * SIDE {
        let Square { x, y } = Square::of(square, SIDE);
        let true_one = bearing(goal.x - x, goal.y - y);
        put(text, format_args!("O: * : {square}\n{}\n", sensor(true_one, right)));
        let gain = if square == house { 10 } else { -1 };
        put(text, format_args!("R: * : {square} : * : * {gain}\n"));
    }
}

/// Appends the frame of the aircraft.
fn aircraft(text: &mut String, house: usize, slip: u64, right: u64) {
    *text += "agents: i j\ndiscount: 1\nvalues: reward\nstates: 25\nstart: uniform\n";
    let (moves, seen) = (MOVES.join(" "), SEEN.join(" "));
    put(text, format_args!("actions:\n{moves}\n{moves}\nobservations:\n{seen}\n{seen}\n"));
    let opposite = [2, 3, 0, 1, 4];
    for (mine, &against) in opposite.iter().enumerate() {
        for theirs in 0..MOVES.len() {
            for state in 0..25 {
                // the fugitive's move changes its relative position, and the aircraft's move changes it by the opposite
                let to = Square::of(state, 5).moved(theirs, 5).moved(against, 5).index(5);
                for (next, p) in outcomes(state, to, slip) {
                    put(text, format_args!("T: {mine} {theirs} : {state} : {next} : {p}\n"));
                }
            }
        }
    }
    let goal = Square::of(house, SIDE);
    for state in 0..25 {
        let Square { x, y } = Square::of(state, 5);
        let true_one = bearing(x - 2, y - 2);
        put(text, format_args!("O: * : {state} :\n"));
        for own in 0..SEEN.len() {
            // the fugitive's own sensor points to its house, wherever the aircraft is
            let p = hundredths(own == true_one, right);
            for other in 0..SEEN.len() {
                let q = hundredths(other == bearing(goal.x - 1, goal.y - 1), right);
                put(text, format_args!("{} ", p * q));
            }
        }
        text.push('\n');
        let gain = if state == 12 { 20 } else { -1 };
        put(text, format_args!("R: * : {state} : * : * : {gain}\n"));
    }
}

fn check(t1: u32, t0: u32) -> Result<(), Error> {
    if t0 < t1 {
        return usage(format!("t0 = {t0}: expected at least t1 = {t1}, as agent j acts to the end"));
    }
    Ok(())
}

fn header(text: &mut String, models: u32, t1: u32, t0: u32, belief: &str) {
    put(
        text,
        format_args!(
            "\nhorizon_1 = {t1}   # steps of agent i\nhorizon_0 = {t0}   # steps that agent j has to go at first\n\
             belief = {belief}\nmodels = {{ count = {models}, spread = \"uniform\" }}\n"
        ),
    );
}

/// Returns the outcomes of a move with their probabilities: it fails with a probability of `slip` hundredths.
fn outcomes(from: usize, to: usize, slip: u64) -> Vec<(usize, f64)> {
    match from == to {
        true => vec![(to, 1.0)],
        false => vec![(from, slip as f64 / 100.0), (to, (100 - slip) as f64 / 100.0)],
    }
}

/// Returns the probability of one of five readings, the true one of which has `right` hundredths.
fn hundredths(is_true: bool, right: u64) -> f64 {
    if is_true { right as f64 / 100.0 } else { (100 - right) as f64 / 400.0 }
}

fn sensor(true_one: usize, right: u64) -> String {
    (0..SEEN.len()).map(|seen| hundredths(seen == true_one, right).to_string()).collect::<Vec<_>>().join(" ")
}

fn put(text: &mut String, more: std::fmt::Arguments<'_>) {
    // writing to a string cannot fail
    let _ = text.write_fmt(more);
}
