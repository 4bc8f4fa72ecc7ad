//! A walk of changes and what their sums then ask for, with prices of violated sums that rise while these stay so.

use crate::error::Error;
use crate::rng::Rng;
use crate::search::context::sums::SumSpace;
use crate::search::drivers::tabu::walk::{UNWATCHED, energy_until};
use crate::search::drivers::tuning::sums::{CHAIN, COLD, FALL, LOOK_MOVES, RISE, TRIED};
use crate::search::drivers::tuning::walks::LOOK_EVERY;
use crate::stop::Stop;

/// Not among the violated ones.
const NOWHERE: u32 = u32::MAX;

/// One assignment, on its way from warm to cold.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    pub values: Vec<u16>,
    /// What each value costs in tables under the others' values.
    costs: Vec<i32>,
    /// Sum of the tables' entries.
    energy: i64,
    /// What each sum adds up to, and what it costs: a price for a violated one.
    totals: Vec<i64>,
    paid: Vec<f64>,
    /// What the sums that are not violated cost.
    charged: i64,
    /// The violated sums, and where each stands among them.
    broken: Vec<u32>,
    place: Vec<u32>,
    /// For each sum the price of being off by one of its weights.
    pub prices: Vec<f64>,
    /// The best assignment without a violated sum, and its cost.
    pub best: Option<(i64, Vec<u16>)>,
    begun: i64,
    warmth: f64,
    length: u64,
    pub moves: u64,
    /// What the move at work has changed: variables with the values that they had.
    changed: Vec<(u32, u16)>,
    /// Sum and number of what moves would have cost.
    climbs: (f64, u64),
    pub work: u64,
    pub ratings: u64,
}

impl Walk {
    /// Begins with these values, and with prices of sums that an earlier walk had.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn new(
        space: &SumSpace,
        values: Vec<u16>,
        prices: Vec<f64>,
        (warmth, length): (f64, u64),
        stop: &Stop,
    ) -> Result<Walk, Error> {
        let SumSpace { tables, layout, sums, .. } = space;
        let mut costs = vec![0; layout.moves()];
        for v in stop.each(0..values.len()) {
            let v = v?;
            tables.rate(v, &values, &mut costs[layout.range(v)], |_| true);
        }
        let energy = energy_until(tables, layout, &values, stop)?;
        let mut walk = Walk {
            totals: sums.totals(&values),
            paid: vec![0.0; sums.sums.len()],
            place: vec![NOWHERE; sums.sums.len()],
            values,
            costs,
            energy,
            charged: 0,
            broken: Vec::new(),
            prices,
            best: None,
            begun: i64::MAX,
            warmth,
            length,
            moves: 0,
            changed: Vec::new(),
            climbs: (0.0, 0),
            work: 0,
            ratings: 0,
        };
        if walk.prices.is_empty() {
            walk.prices = vec![walk.stake(space).max(1.0); sums.sums.len()];
        }
        for sum in 0..sums.sums.len() {
            walk.settle(space, sum, None);
        }
        walk.keep_best(space);
        walk.begun = walk.best.as_ref().map_or(i64::MAX, |best| best.0);
        Ok(walk)
    }

    /// What changing a variable costs or saves in tables on average.
    fn stake(&self, space: &SumSpace) -> f64 {
        let (mut total, mut count) = (0.0, 0.0);
        for &v in &space.free {
            let costs = &self.costs[space.layout.range(v as usize)][..space.tables.domain(v as usize)];
            let own = costs[usize::from(self.values[v as usize])];
            for &cost in costs.iter().filter(|&&cost| cost != own && (cost - own).abs() < space.tables.hard) {
                total += f64::from((cost - own).abs()) * space.unit;
                count += 1.0;
            }
        }
        if count > 0.0 { total / count } else { 0.0 }
    }

    pub fn is_over(&self) -> bool {
        self.moves >= self.length
    }

    /// What moves that cost something cost on average; none where none was tried.
    pub fn climb(&self) -> Option<f64> {
        (self.climbs.1 > 0).then(|| self.climbs.0 / self.climbs.1 as f64)
    }

    /// Moves of the walk after it.
    pub fn next_length(&self) -> u64 {
        let is_better = self.best.as_ref().is_some_and(|best| best.0 < self.begun);
        if is_better { self.length } else { self.length.saturating_mul(2) }
    }

    /// Moves for so much work.
    pub fn advance(&mut self, space: &SumSpace, work: u64, rng: &mut Rng, stop: &Stop) {
        let end = self.work.saturating_add(work);
        let sweep = space.free.len() as u64;
        while self.work < end && !self.is_over() && !(self.moves.is_multiple_of(LOOK_MOVES) && stop.is_set()) {
            self.step(space, rng);
            if self.moves.is_multiple_of(sweep) {
                self.reprice(space);
            }
        }
    }

    /// One move, taken or undone.
    fn step(&mut self, space: &SumSpace, rng: &mut Rng) {
        self.moves += 1;
        self.work += 100;
        self.changed.clear();
        let (v, value, mut climb) = self.draw(space, rng);
        self.take(space, v, value);
        for _ in 0..CHAIN {
            let Some((u, value, rise)) = self.answer(space, rng).filter(|answer| answer.2 < 0.0) else { break };
            climb += rise;
            self.take(space, u, value);
        }
        if climb > 0.0 && climb < f64::from(space.tables.hard) * space.unit {
            self.climbs = (self.climbs.0 + climb, self.climbs.1 + 1);
        }
        let cold = (self.moves as f64 / self.length as f64) * COLD.ln();
        let temperature = self.warmth * (-cold).exp();
        if climb <= 0.0 || climb < -temperature * (1.0 - rng.unit()).ln() {
            self.keep_best(space);
            return;
        }
        for place in (0..self.changed.len()).rev() {
            let (v, value) = self.changed[place];
            self.set(space, v as usize, value);
        }
    }

    /// A variable, often one of a violated function if there are any, the cheapest of some of its other values, and
    /// what that costs more.
    fn draw(&mut self, space: &SumSpace, rng: &mut Rng) -> (usize, u16, f64) {
        let any = |rng: &mut Rng| space.free[rng.index(space.free.len())] as usize;
        let mut v = any(rng);
        if !self.broken.is_empty() && rng.below(2) == 0 {
            let readers = space.sums.readers(self.broken[rng.index(self.broken.len())] as usize);
            let reader = readers[rng.index(readers.len())];
            if space.is_free[reader as usize] {
                v = reader as usize;
            }
        } else if self.energy >= i64::from(space.tables.hard) {
            let violates = |&v: &usize| self.costs_of(space, v)[usize::from(self.values[v])] >= space.tables.hard;
            v = std::iter::repeat_with(|| any(rng)).take(TRIED).find(violates).unwrap_or(v);
        }
        let (value, rise) = self.cheapest(space, v, rng);
        (v, value, rise)
    }

    /// The cheapest of some of a variable's other values, and what it costs more.
    fn cheapest(&mut self, space: &SumSpace, v: usize, rng: &mut Rng) -> (u16, f64) {
        let values = &space.values[v];
        let own = self.values[v];
        let tried = match values.len() - 1 {
            1 => 1,
            most => ((values.len() as f64).powf(rng.unit()) as usize).clamp(1, most),
        };
        let (mut at, mut found) = (rng.index(values.len()), None::<(u16, f64)>);
        let mut left = tried;
        while left > 0 {
            let value = values[at];
            at = (at + 1) % values.len();
            if value == own {
                continue;
            }
            left -= 1;
            let rise = self.rise(space, v, value);
            if found.is_none_or(|best| rise < best.1) {
                found = Some((value, rise));
            }
        }
        found.unwrap_or((own, 0.0))
    }

    /// The cheapest of some changes of variables of the sum that the move has made the most expensive, if it is
    /// violated.
    fn answer(&mut self, space: &SumSpace, rng: &mut Rng) -> Option<(usize, u16, f64)> {
        let &(v, _) = self.changed.last()?;
        let own = usize::from(self.values[v as usize]);
        let terms = space.sums.terms(v as usize, own).iter();
        let before = self.changed.last().map(|&(_, value)| space.sums.terms(v as usize, value.into()));
        let touched = terms.chain(before?).map(|term| term.0 as usize).filter(|&sum| self.place[sum] != NOWHERE);
        let sum = touched.max_by(|&a, &b| self.paid[a].total_cmp(&self.paid[b]))?;
        let readers = space.sums.readers(sum);
        let (first, mut found) = (rng.index(readers.len()), None::<(usize, u16, f64)>);
        for k in 0..readers.len().min(TRIED) {
            let u = readers[(first + k) % readers.len()] as usize;
            if !space.is_free[u] || self.changed.iter().any(|change| change.0 as usize == u) {
                continue;
            }
            let (value, rise) = self.cheapest(space, u, rng);
            if found.is_none_or(|best| rise < best.2) {
                found = Some((u, value, rise));
            }
        }
        found
    }

    /// What a change costs.
    fn rise(&mut self, space: &SumSpace, v: usize, value: u16) -> f64 {
        let own = self.values[v];
        let costs = self.costs_of(space, v);
        let mut rise = f64::from(costs[usize::from(value)] - costs[usize::from(own)]) * space.unit;
        let mut terms = 0;
        space.changes(v, own, value, |sum, weight| {
            terms += 1;
            rise += self.price(space, sum, self.totals[sum] + weight) - self.paid[sum];
        });
        self.ratings += 1;
        self.work += 10 + 6 * terms;
        rise
    }

    /// What a total of a sum costs.
    #[inline]
    fn price(&self, space: &SumSpace, sum: usize, total: i64) -> f64 {
        let own = &space.sums.sums[sum];
        match own.cost(total) {
            Some(cost) => cost as f64,
            None => self.prices[sum] * (own.distance(total) as f64 / own.step),
        }
    }

    /// Changes a variable as a part of the move.
    fn take(&mut self, space: &SumSpace, v: usize, value: u16) {
        self.changed.push((v as u32, self.values[v]));
        self.set(space, v, value);
    }

    fn set(&mut self, space: &SumSpace, v: usize, value: u16) {
        let own = self.values[v];
        let costs = self.costs_of(space, v);
        self.energy += i64::from(costs[usize::from(value)]) - i64::from(costs[usize::from(own)]);
        space.layout.update(&space.tables, (&self.values, v, value), &mut self.costs, |cost| cost, UNWATCHED);
        space.changes(v, own, value, |sum, weight| {
            let before = self.totals[sum];
            self.totals[sum] += weight;
            self.settle(space, sum, Some(before));
        });
        self.values[v] = value;
        self.work += 20 + 4 * space.layout.affected(v).len() as u64;
    }

    /// What a sum costs now; `before` is its total until now, where it was settled.
    fn settle(&mut self, space: &SumSpace, sum: usize, before: Option<i64>) {
        let own = &space.sums.sums[sum];
        self.charged -= before.and_then(|total| own.cost(total)).unwrap_or(0);
        let cost = own.cost(self.totals[sum]);
        self.charged += cost.unwrap_or(0);
        self.paid[sum] = self.price(space, sum, self.totals[sum]);
        match (cost.is_none(), self.place[sum]) {
            (true, NOWHERE) => {
                self.place[sum] = self.broken.len() as u32;
                self.broken.push(sum as u32);
            }
            (false, place) if place != NOWHERE => {
                let _ = self.broken.swap_remove(place as usize);
                if let Some(&moved) = self.broken.get(place as usize) {
                    self.place[moved as usize] = place;
                }
                self.place[sum] = NOWHERE;
            }
            _ => {}
        }
    }

    /// Violated sums become dearer; where there are none all become cheaper. Were each cheaper as soon as it is not
    /// violated, hardly ever would all of many be right at once.
    fn reprice(&mut self, space: &SumSpace) {
        for &sum in &self.broken {
            self.prices[sum as usize] *= RISE;
            self.paid[sum as usize] = self.price(space, sum as usize, self.totals[sum as usize]);
        }
        if self.broken.is_empty() {
            self.prices.iter_mut().for_each(|price| *price *= FALL);
        }
        self.work += self.prices.len() as u64;
    }

    /// That the move is taken.
    fn keep_best(&mut self, space: &SumSpace) {
        if !self.broken.is_empty() {
            return;
        }
        let cost = (self.energy << space.tables.shift).saturating_add(self.charged);
        if self.best.as_ref().is_none_or(|best| cost < best.0) {
            self.work += self.values.len() as u64 / u64::from(LOOK_EVERY);
            match &mut self.best {
                Some((best, values)) => {
                    *best = cost;
                    values.copy_from_slice(&self.values);
                }
                None => self.best = Some((cost, self.values.clone())),
            }
        }
    }

    #[inline]
    fn costs_of(&self, space: &SumSpace, v: usize) -> &[i32] {
        &self.costs[space.layout.range(v)]
    }
}

#[cfg(test)]
impl Walk {
    /// All that is kept against what is computed again.
    pub fn assert_kept(&self, space: &SumSpace) {
        let totals = space.sums.totals(&self.values);
        assert_eq!(self.totals, totals);
        let of = |(sum, &total): (usize, &i64)| space.sums.sums[sum].cost(total);
        let costs: Vec<_> = totals.iter().enumerate().map(of).collect();
        assert_eq!(self.charged, costs.iter().flatten().sum::<i64>());
        for (sum, cost) in costs.iter().enumerate() {
            assert_eq!(self.place[sum] == NOWHERE, cost.is_some());
            assert_eq!(self.paid[sum], self.price(space, sum, totals[sum]));
        }
        assert!(self.broken.iter().zip(0..).all(|(&sum, place)| self.place[sum as usize] == place));
        let energy = energy_until(&space.tables, &space.layout, &self.values, &Stop::new());
        assert_eq!(self.energy, energy.expect("no stop is set"));
    }
}
