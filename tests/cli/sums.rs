//! Bounds of networks with weighted sums by linear programming.

use super::{Result, fangs, folder_with, object};
use std::fmt::Write;

/// Returns a knapsack problem of items with two weights, and the lowest cost, by enumeration.
fn knapsack(items: u32, seed: u64) -> Result<(String, i64)> {
    let mut state = seed;
    let mut number = |most: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        1 + ((state >> 33) % most) as i64
    };
    let mut row = || (0..items).map(|_| number(1000)).collect::<Vec<i64>>();
    let (values, weights) = (row(), [row(), row()]);
    let rooms = weights.each_ref().map(|own| own.iter().sum::<i64>() / 2);
    let terms = |own: &[i64]| {
        own.iter().zip(1..).try_fold(String::new(), |mut text, (c, k)| write!(text, "-{c} x{k} ").map(|()| text))
    };
    let mut text = format!("min: {};\n", terms(&values)?);
    for (own, room) in weights.iter().zip(rooms) {
        writeln!(text, "{}>= -{room} ;", terms(own)?)?;
    }
    let total = |own: &[i64], set: u32| own.iter().enumerate().map(|(k, c)| c * i64::from((set >> k) & 1)).sum::<i64>();
    let fits = |set: &u32| weights.iter().zip(rooms).all(|(own, room)| total(own, *set) <= room);
    let best = (0..1 << items).filter(fits).map(|set| total(&values, set)).max();
    Ok((text, -best.ok_or("the empty set fits")?))
}

#[test]
fn linear_programming_proves_knapsacks() -> Result {
    for seed in 1..4 {
        let (text, best) = knapsack(16, seed)?;
        let (_folder, path) = folder_with("knapsack.opb", &text)?;
        for method in ["linear", "auto"] {
            let result = object(fangs().args(["bound", "--json", "--no-reduce", "--method", method]).arg(&path), 0)?;
            assert_eq!((&result["bound"], &result["cost"]), (&best.into(), &best.into()), "{method}: {result}");
        }
        let solved = object(fangs().args(["solve", "--json", "--rounds", "3"]).arg(&path), 0)?;
        assert!(solved["bound"].as_i64().is_some_and(|bound| bound <= best), "{solved}");
    }
    Ok(())
}

#[test]
fn linear_programming_is_refused_without_sums() -> Result {
    let (_folder, path) = super::hard()?;
    let output = fangs().args(["bound", "--method", "linear", "--time", "2"]).arg(&path).output()?;
    let text = String::from_utf8(output.stderr)?;
    assert!(text.contains("weighted sums or counts"), "{text}");
    Ok(())
}
