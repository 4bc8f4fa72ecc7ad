//! Rules that end a run by the course of its solutions so far.

use crate::options::StopRule;
use crate::stop::Cause;
use crate::tuning::tuning;

/// The solutions of a run, each better than the one before.
pub(crate) struct Record {
    rules: Vec<StopRule>,
    /// The time in seconds and the value of each solution.
    solutions: Vec<(f64, f64)>,
}

impl Record {
    pub fn new(rules: &[StopRule]) -> Self {
        Record { rules: rules.to_vec(), solutions: Vec::new() }
    }

    /// Adds a better solution.
    pub fn better(&mut self, now: f64, value: f64) {
        self.solutions.push((now, value));
    }

    /// Returns the cause if a rule ends the run.
    pub fn ends(&self, now: f64) -> Option<Cause> {
        let (&(begin, first), &(last, best)) = (self.solutions.first()?, self.solutions.last()?);
        self.rules.iter().find_map(|rule| match rule {
            StopRule::Stall(time) => (now - last >= time.as_secs_f64()).then_some(Cause::Stall),
            StopRule::Diminishing => {
                let half = begin + (now - begin) / 2.0;
                let known = self.solutions.partition_point(|&(time, _)| time <= half);
                let (_, then) = self.solutions[known.saturating_sub(1)];
                let little = (then - best).abs() <= tuning().rules.hardly_any * (first - best).abs();
                (little && now - begin >= tuning().rules.least_time).then_some(Cause::Diminishing)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_run_stalls_where_nothing_better_comes() {
        let mut record = Record::new(&[StopRule::Stall(Duration::from_secs(5))]);
        assert_eq!(record.ends(100.0), None, "before a solution there is nothing to wait for");
        record.better(100.0, 7.0);
        assert_eq!([104.9, 105.0].map(|now| record.ends(now)), [None, Some(Cause::Stall)]);
        record.better(104.9, 6.0);
        assert_eq!([109.8, 109.9].map(|now| record.ends(now)), [None, Some(Cause::Stall)]);
    }

    #[test]
    fn returns_diminish_where_half_of_the_time_brought_hardly_anything() {
        for sign in [1.0, -1.0] {
            let mut record = Record::new(&[StopRule::Diminishing]);
            record.better(1.0, sign * 2000.0);
            record.better(2.0, sign * 1001.0);
            assert_eq!(record.ends(1.0 + tuning().rules.least_time - 0.1), None, "too early to tell");
            assert_eq!(record.ends(1.0 + tuning().rules.least_time), Some(Cause::Diminishing));
            // a thousandth of the whole gain, in the second half
            record.better(30.0, sign * 1000.0);
            assert_eq!(record.ends(31.0), Some(Cause::Diminishing));
            record.better(32.0, sign * 900.0);
            assert_eq!([33.0, 62.9, 63.1].map(|now| record.ends(now)), [None, None, Some(Cause::Diminishing)]);
        }
    }

    #[test]
    fn the_first_rule_that_holds_ends_the_run() {
        let mut record = Record::new(&[StopRule::Stall(Duration::from_secs(60)), StopRule::Diminishing]);
        record.better(0.0, 1.0);
        assert_eq!(
            [tuning().rules.least_time, 60.0].map(|now| record.ends(now)),
            [Some(Cause::Diminishing), Some(Cause::Stall)]
        );
    }
}
