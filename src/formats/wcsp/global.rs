//! Global cost functions, expanded to tables. One is read so far: `salldiff`, in toulbar2's form `salldiff METRIC
//! COST`, where the metric `var` counts for each value the variables beyond the first that have it, and `dec` (or
//! `decbi`) the pairs of equal variables.

use super::Reader;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN};

/// Combinations of values that a function is expanded to: 8 MiB of costs.
const COMBINATIONS: u64 = 1 << 20;

impl Reader<'_, '_> {
    /// Reads the global function after a default cost of -1, if there is one. Returns the function's number.
    pub(super) fn global(&mut self) -> Result<Option<u32>, Error> {
        if !self.tokens.peek()?.first().is_some_and(u8::is_ascii_alphabetic) {
            return Ok(None);
        }
        let function = self.ranges.len();
        let keyword = String::from_utf8_lossy(self.tokens.word("a keyword")?).into_owned();
        if keyword != "salldiff" {
            let hint =
                format!("function {function} is a global cost function, {keyword}; only tables and salldiff are read");
            return Err(self.tokens.error_with("a number of tuples", hint));
        }
        let combinations = self.sizes.iter().fold(1u64, |n, &size| n.saturating_mul(size.into()));
        if combinations > COMBINATIONS {
            let hint = format!(
                "function {function} is a global cost function, expanded to a table: its {} variables have \
                 {combinations} combinations of values, at most {COMBINATIONS} are possible",
                self.scope.len()
            );
            return Err(self.tokens.error_with("a smaller scope", hint));
        }
        let excess = match self.tokens.word("a metric")? {
            b"var" => |count: u64| count.saturating_sub(1),
            b"dec" | b"decbi" => |count: u64| count * count.saturating_sub(1) / 2,
            _ => return Err(self.tokens.error("`var`, `dec` or `decbi`")),
        };
        let price = self.cost("a cost")?;
        let mut values = vec![0u32; self.sizes.len()];
        let mut costs = Vec::with_capacity(combinations as usize);
        for _ in 0..combinations {
            if self.tokens.stop().is_set() {
                return Err(Error::Stopped);
            }
            // each variable once for each value: that of the first of its value
            let count = |&value: &u32| values.iter().filter(|&&other| other == value).count() as u64;
            let is_first = |k: usize| !values[..k].contains(&values[k]);
            let times: u64 = (0..values.len()).filter(|&k| is_first(k)).map(|k| excess(count(&values[k]))).sum();
            costs.push(self.times(price, times));
            for (value, &size) in values.iter_mut().zip(&self.sizes).rev() {
                *value = (*value + 1) % size;
                if *value > 0 {
                    break;
                }
            }
        }
        let range = costs.iter().filter(|&&cost| cost < FORBIDDEN);
        let range = range.fold((0, 0), |(least, most): (Cost, Cost), &cost| (least.min(cost), most.max(cost)));
        let function = self.builder.dense(&self.scope, costs);
        let function = function.map_err(|error| self.tokens.error_with("a smaller cost", error.to_string()))?;
        self.ranges.push(range);
        Ok(Some(function))
    }

    /// A multiple of a price; what reaches `top` is forbidden.
    fn times(&self, price: Cost, times: u64) -> Cost {
        let cost = i128::from(price) * i128::from(times);
        let is_forbidden = times > 0 && price >= FORBIDDEN || cost >= i128::from(self.top);
        if is_forbidden { FORBIDDEN } else { cost as Cost }
    }
}

#[cfg(test)]
mod tests {
    use crate::formats::wcsp::tests::{cost, message, parse};
    use crate::model::FORBIDDEN;

    #[test]
    fn salldiff_counts_values_or_pairs() {
        for (metric, costs) in [("var", [0, 3, 6, 9]), ("dec", [0, 3, 9, FORBIDDEN]), ("decbi", [0, 3, 9, FORBIDDEN])] {
            let text = format!("t 4 5 1 18 5 5 5 5 4 2 0 3 1 -1 salldiff {metric} 3");
            let network = parse(&text).expect("a network");
            let all = [[0, 1, 2, 4], [0, 4, 2, 4], [1, 1, 1, 4], [2, 2, 2, 2]];
            assert_eq!(all.map(|values| cost(&network, &values)), costs, "{metric}");
        }
        let network = parse("t 2 2 1 18 2 2 2 0 1 -1 salldiff var 99").expect("a network");
        assert_eq!([cost(&network, &[0, 1]), cost(&network, &[1, 1])], [0, FORBIDDEN]);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("t 2 2 1 9 2 2 2 0 1 -1 salldiff lin 3", "found `lin`, expected `var`, `dec` or `decbi`"),
            ("t 2 2 1 9 2 2 2 0 1 -1 salldiff var", "found the end of the file, expected a cost"),
            ("t 2 2000 1 9 2000 2000 2 0 1 -1 salldiff var 1", "4000000 combinations of values, at most 1048576"),
            ("t 2 2 1 9 2 2 2 0 1 -1 sgcc var 3", "a global cost function, sgcc; only tables and salldiff are read"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
