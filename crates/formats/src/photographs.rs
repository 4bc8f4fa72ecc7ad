//! The `.bep` format: photographs of agile Earth observation satellites. The problem is which photographs to take, and
//! when, so that the least gain is lost.
//!
//! A file has two lines of title, a line that begins with the number n, n lines `id x y duration earliest latest gain`,
//! and n times n transition times. Value v of a photograph starts it v after its earliest start; the last value rejects
//! it. Each pair of photographs charges the gain of a rejected one, as in toulbar2, so the cost of a solution is n - 1
//! times the lost gain.

use super::limits::Domains;
use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::memory;
use crate::model::{COST_LIMIT, FORBIDDEN, Network};

/// The maximum number of photographs: each pair has a function.
const PHOTOGRAPHS: usize = 1 << 12;

/// The strict upper limit of times.
const TIME: i64 = 1 << 40;

/// The number of bytes of a listed start, with its cost and reserve capacity.
const LISTED: u64 = 16;

struct Photograph {
    earliest: i64,
    duration: i64,
    /// The number of possible starts.
    starts: i64,
}

/// Reads a problem.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    for _ in 0..2 {
        let _ = tokens.word("a line of title")?;
        tokens.skip_line()?;
    }
    let n = tokens.count("the number of photographs")?;
    if n > PHOTOGRAPHS {
        return Err(tokens.error(format!("at most {PHOTOGRAPHS} photographs")));
    }
    tokens.skip_line()?;
    let mut builder = Network::builder(tokens.file());
    let mut domains = Domains::default();
    let (mut photographs, mut gains, mut sum) = (Vec::new(), Vec::new(), 0i64);
    for _ in 0..n {
        for what in ["a number of a photograph", "a place", "a place"] {
            let _ = tokens.word(what)?;
        }
        let duration = time(tokens, "a duration")?;
        let earliest = time(tokens, "an earliest start")?.max(0);
        let latest = time(tokens, "a latest end")?;
        let starts = (latest - duration - earliest + 1).max(0);
        domains.declare(starts + 1, &mut builder, tokens)?;
        let gain = tokens.integer("a gain")?;
        sum = sum.saturating_add(gain.saturating_abs().saturating_mul(n as i64));
        if sum >= COST_LIMIT {
            return Err(tokens.error_with("a smaller gain", "the gains add up to more than 64-bit costs hold"));
        }
        photographs.push(Photograph { earliest, duration, starts });
        gains.push(gain);
    }
    let mut delays = Vec::new();
    for _ in 0..n * n {
        delays.push(time(tokens, "a transition time")?);
    }
    tokens.finish(|| format!("transition times of {n} photographs"))?;
    for (index, (photograph, gain)) in photographs.iter().zip(&gains).enumerate() {
        let lost = gain * (n as i64 - 1);
        let starts = photograph.starts as u32;
        let _ = builder.sparse(&[index as u32], 0, vec![starts], vec![lost])?;
    }
    for i in 0..n {
        for j in i + 1..n {
            tokens.stop().check()?;
            let (one, other) = (&photographs[i], &photographs[j]);
            // starts of the second photograph that are neither late enough after the first nor early enough before it
            let mut tuples = Vec::new();
            for start in 0..one.starts {
                tokens.stop().check()?;
                memory::must_fit(LISTED * tuples.len() as u64, || {
                    format!("{}: the starts at which two photographs overlap", tokens.file())
                })?;
                let at = one.earliest + start - other.earliest;
                let first = (at - other.duration - delays[j * n + i] + 1).max(0);
                let end = (at + one.duration + delays[i * n + j]).min(other.starts);
                tuples.extend((first..end).flat_map(|second| [start as u32, second as u32]));
            }
            let costs = vec![FORBIDDEN; tuples.len() / 2];
            if !costs.is_empty() {
                let _ = builder.sparse(&[i as u32, j as u32], 0, tuples, costs)?;
            }
        }
    }
    Ok(builder.build())
}

fn time(tokens: &mut Tokens<'_>, what: &str) -> Result<i64, Error> {
    let time = tokens.integer(what)?;
    if time.abs() < TIME { Ok(time) } else { Err(tokens.error(format!("{what} of less than {TIME}"))) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, add};
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.bep", Format::Bep, &ReadOptions::default(), &Stop::new())
    }

    const THREE: &str = "made by hand\nphotographs\n3 0 0 0\n1 0 0 2 0 6 5\n2 0 0 3 -1 7 7\n3 0 0 1 2 4 11\n\
        0 1 0\n2 0 1\n0 0 0\n";

    #[test]
    fn photographs_do_not_overlap_and_lost_gain_counts() {
        let network = parse(THREE).expect("a problem");
        // starts 0..=4, 0..=4, 2..=3
        assert_eq!(network.domains(), [6, 6, 3]);
        let cost = |assignment: [u32; 3]| -> Cost {
            network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &assignment)))
        };
        assert_eq!(cost([5, 5, 2]), 2 * (5 + 7 + 11));
        assert_eq!(cost([0, 5, 0]), 2 * 7, "the third one starts as the first one ends");
        assert_eq!(cost([1, 5, 0]), FORBIDDEN);
        assert_eq!([cost([0, 3, 2]), cost([0, 2, 2])], [22, FORBIDDEN], "one unit of transition");
        assert_eq!(cost([4, 0, 2]), FORBIDDEN, "two units the other way");
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("a\nb\n9999\n", "3:1: found `9999`, expected at most 4096 photographs"),
            ("a\nb\n1\n1 0 0 x", "4:7: found `x`, expected a duration"),
            ("a\nb\n1\n1 0 0 1 0 9999999999 3\n0", "expected domains of at most"),
            ("a\nb\n1\n1 0 0 1 0 9 3\n", "found the end of the file, expected a transition time"),
            ("a\nb\n1\n1 0 0 1 0 9 3\n0 0", "5:3: found `0`, expected the end of the file"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
