//! Runs on sums that are too large for tables, against enumeration.

use crate::formats::{Format, ReadOptions, read_from};
use crate::model::{Network, Number};
use crate::rng::Rng;
use crate::stop::Stop;
use crate::{DriverChoice, Options, solve};
use std::time::Duration;

fn parse(text: &str) -> Network {
    read_from(text.as_bytes(), "t.opb", Format::Opb, &ReadOptions::default(), &Stop::new()).expect("a problem")
}

/// Items whose weights have nine digits, with two linear constraints.
#[test]
fn sums_too_large_for_tables_are_searched_and_bounded() {
    let mut rng = Rng::new(8);
    let n = 24;
    let rows: Vec<Vec<i64>> = (0..2).map(|_| (0..n).map(|_| 1 + rng.below(1_000_000_000) as i64).collect()).collect();
    let prices: Vec<i64> = (0..n).map(|_| 1 + rng.below(50) as i64).collect();
    let terms = |of: &[i64]| (1..).zip(of).map(|(k, c)| format!("+{c} x{k} ")).collect::<String>();
    let most: Vec<i64> = rows.iter().map(|row| row.iter().sum::<i64>() / 2).collect();
    let text =
        format!("max: {};\n{}<= {} ;\n{}<= {} ;\n", terms(&prices), terms(&rows[0]), most[0], terms(&rows[1]), most[1]);
    let network = parse(&text);
    assert!(network.is_relaxed());
    // enumerate all choices, changing one item at a time
    let (mut sums, mut worth, mut best, mut chosen) = ([0i64; 2], 0, 0, 0u32);
    for k in 1u32..1 << n {
        let item = k.trailing_zeros() as usize;
        let sign = if chosen >> item & 1 == 0 { 1 } else { -1 };
        chosen ^= 1 << item;
        worth += sign * prices[item];
        (0..2).for_each(|row| sums[row] += sign * rows[row][item]);
        if sums[0] <= most[0] && sums[1] <= most[1] {
            best = best.max(worth);
        }
    }
    // the last run has separate threads for bounds and drivers
    for (driver, rounds) in [("portfolio", Some(12)), ("sums", Some(12)), ("portfolio", None)] {
        let options = Options::default().with(|options| {
            (options.driver, options.rounds) = (DriverChoice::named(driver).expect("a driver"), rounds);
            if rounds.is_none() {
                options.threads = Some(8);
                (options.time, options.target) = (Some(Duration::from_secs(120)), Some(Number::Integer(best)));
            }
        });
        let mut bounds = Vec::new();
        let summary = solve(&network, &options, &Stop::new(), &mut |event| bounds.extend(event.bound));
        let summary = summary.expect("a run");
        assert_eq!(summary.cost, Some(Number::Integer(best)), "{driver}");
        assert!(bounds.iter().all(|bound| bound.as_f64() >= best as f64), "{driver}: {bounds:?}");
    }
}
