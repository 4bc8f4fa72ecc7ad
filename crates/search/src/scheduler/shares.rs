//! Shares of work for drivers by their gain per work. Shares are of work and not of rounds, because a round of
//! annealing may take as long as ten of tabu search. Gains are decreases of the best cost, because improvements in
//! every short round may total less than one in a long round. Both alternatives were tried (results/notes/coloring.md).

use crate::tuning::tuning;

#[derive(Clone, Debug)]
pub(crate) struct Shares {
    shares: Vec<f64>,
    floors: Vec<f64>,
    /// Work of each driver since the last change of shares, plus its excess before.
    spent: Vec<f64>,
    rounds: u32,
    /// Gains in cost in this period.
    gains: Vec<f64>,
    /// Work in this period.
    work: Vec<f64>,
    /// Decaying sums of each driver's part of the gains in earlier periods, whose costs had other orders of magnitude.
    gained: Vec<f64>,
    /// Decaying sums of each driver's part of the work in earlier periods.
    done: Vec<f64>,
}

impl Shares {
    /// Starts with shares in proportion to weights. Each pair is a weight and the part of all work that the driver
    /// always has.
    pub fn new(drivers: Vec<(f64, f64)>) -> Self {
        let (weights, own): (Vec<f64>, Vec<f64>) = drivers.into_iter().unzip();
        let (sum, none) = (weights.iter().sum::<f64>(), vec![0.0; weights.len()]);
        let even = (1.0 - own.iter().sum::<f64>()) * tuning().shares.floor / own.len() as f64;
        Shares {
            floors: own.iter().map(|own| own + even).collect(),
            shares: weights.iter().map(|weight| weight / sum).collect(),
            spent: none.clone(),
            rounds: 0,
            gains: none.clone(),
            work: none.clone(),
            gained: none.clone(),
            done: none,
        }
    }

    /// Returns the driver with the largest share among those that `may`, the first of equals.
    pub fn largest(&self, may: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.shares.len())
            .filter(|&arm| may(arm))
            .reduce(|a, b| if self.shares[b] > self.shares[a] { b } else { a })
    }

    /// Returns the driver furthest behind its share among those that `may`, the first of equals. The others do not
    /// catch up later.
    pub fn next(&mut self, may: impl Fn(usize) -> bool) -> Option<usize> {
        let level = |arm: usize| self.spent[arm] / self.shares[arm];
        let all = 0..self.shares.len();
        let taken = all.clone().filter(|&arm| may(arm)).reduce(|a, b| if level(b) < level(a) { b } else { a })?;
        let least = level(taken);
        for arm in all.filter(|&arm| !may(arm)) {
            self.spent[arm] = self.spent[arm].max(least * self.shares[arm]);
        }
        Some(taken)
    }

    pub fn note(&mut self, arm: usize, gain: f64, work: f64) {
        self.spent[arm] += work;
        self.gains[arm] += gain;
        self.work[arm] += work;
        self.rounds += 1;
        if self.rounds >= tuning().shares.period && self.gains.iter().sum::<f64>() > 0.0 {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let fold = |parts: &mut [f64], period: &mut [f64]| {
            let sum = period.iter().sum::<f64>();
            for (part, amount) in parts.iter_mut().zip(period) {
                *part = tuning().shares.fading * *part + std::mem::take(amount) / sum;
            }
        };
        fold(&mut self.gained, &mut self.gains);
        fold(&mut self.done, &mut self.work);
        let count = self.shares.len() as f64;
        let believed = |parts: &[f64]| tuning().shares.belief * parts.iter().sum::<f64>() / count;
        let (gain, work) = (believed(&self.gained), believed(&self.done));
        let rates = self
            .gained
            .iter()
            .zip(&self.done)
            .map(|(&g, &w)| ((g + gain) / (w + work)).powf(tuning().shares.sharpness));
        let rates: Vec<f64> = rates.collect();
        let sum = rates.iter().sum::<f64>();
        let levels = self.spent.iter().zip(&self.shares).map(|(spent, share)| spent / share);
        let paid = levels.fold(f64::INFINITY, f64::min);
        let left = 1.0 - self.floors.iter().sum::<f64>();
        for (((share, spent), floor), rate) in self.shares.iter_mut().zip(&mut self.spent).zip(&self.floors).zip(rates)
        {
            // work beyond a share is carried over, because one round may take as long as a period of others
            *spent -= *share * paid;
            *share = floor + left * rate / sum;
        }
        self.rounds = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_follows_the_shares_however_much_a_round_does() {
        let mut shares = Shares::new(vec![(6.0, 0.0), (1.0, 0.0), (3.0, 0.0)]);
        let each = [50.0, 200.0, 1.0];
        let run = |shares: &mut Shares, absent: usize| {
            let mut work = [0.0; 3];
            for _ in 0..10_000 {
                let arm = shares.next(|arm| arm != absent).expect("two may be taken");
                shares.note(arm, 0.0, each[arm]);
                work[arm] += each[arm];
            }
            work
        };
        let work = run(&mut shares, 1);
        assert!(work[1] == 0.0 && (work[0] / work[2] - 2.0).abs() < 0.1, "{work:?}");
        let work = run(&mut shares, 3);
        let all = work.iter().sum::<f64>();
        assert!((0..3).all(|arm| (work[arm] / all - shares.shares[arm]).abs() < 0.03), "{work:?}");
        assert_eq!(shares.next(|_| false), None);
    }

    #[test]
    fn a_driver_that_gains_more_for_the_work_has_more_whatever_the_order_of_costs() {
        let mut shares = Shares::new(vec![(1.0, 0.0); 3]);
        for round in 0..400 {
            // the last driver takes over, at a thousandth of the gains
            let gains = if round < 200 { [1e6, 0.0, 1e3] } else { [0.0, 0.0, 1.0] };
            let arm = shares.next(|_| true).expect("any");
            shares.note(arm, gains[arm], 100.0);
            let leader = if round < 200 { 0 } else { 2 };
            if round % 200 > 150 {
                assert!(shares.shares[leader] > 0.6, "{round}: {:?}", shares.shares);
            }
            assert!((shares.shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!(shares.shares.iter().all(|&share| share >= tuning().shares.floor / 3.0 - 1e-12));
        }
    }

    #[test]
    fn a_round_longer_than_a_period_is_paid_for_in_later_ones() {
        let mut shares = Shares::new(vec![(1.0, 0.0); 2]);
        let mut work = [0.0; 2];
        for _ in 0..4000 {
            let arm = shares.next(|_| true).expect("any");
            // the second driver gains, in many short rounds
            let each = [100.0, 1.0][arm];
            shares.note(arm, arm as f64, each);
            work[arm] += each;
        }
        let part = work[0] / (work[0] + work[1]);
        // with one long round per period it would be 0.86
        assert!(part < 0.5, "{part}: {:?}", shares.shares);
    }

    #[test]
    fn what_is_a_drivers_own_is_not_lost() {
        let mut shares = Shares::new(vec![(1.0, 0.5), (1.0, 0.0)]);
        for _ in 0..1000 {
            let arm = shares.next(|_| true).expect("any");
            shares.note(arm, arm as f64, 1.0);
        }
        assert!(shares.shares[0] > 0.5 && shares.shares[1] > 0.3, "{:?}", shares.shares);
    }

    #[test]
    fn nothing_changes_where_none_gains() {
        let mut shares = Shares::new(vec![(3.0, 0.5), (1.0, 0.0)]);
        for _ in 0..100 {
            let arm = shares.next(|_| true).expect("any");
            shares.note(arm, 0.0, 1.0);
        }
        assert_eq!(shares.shares, [0.75, 0.25]);
    }
}
