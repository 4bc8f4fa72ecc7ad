//! A walk of changes and of repairs of the sums that they violate, with prices of violated sums that rise while these
//! stay violated. All decisions are mixed from the walk's key and the step. They use integers, and sums, products and
//! quotients of doubles in the same order as `kernels/sums.cu`, so that both make equal walks to the last bit.

use super::progress::{Ground, LARGEST_PRICE, LEAST_PRICE, NOWHERE, PRICES, SumProgress, VALUES, decision, window};
use crate::constants::sums::{CHAIN, FALL, RISE, TRIED};
use crate::constants::walks::LOOK_EVERY;
use crate::core::layout::{UNWATCHED, ValueMove, energy};
use crate::core::sum_space::SumSpace;
use crate::error::Error;
use crate::rng::{below, mix};
use crate::stop::Stop;
use crate::value_tables::ValueTables;
use crate::walks::search::{self, Limit};

/// The state of a walk, whose temperature falls.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumWalk {
    progress: SumProgress,
    pub values: Vec<u16>,
    /// The cost of each value in the tables, given the values of the other variables.
    costs: Vec<i32>,
    /// The total of each sum.
    totals: Vec<i64>,
    /// The cost of each sum: a price if it is violated.
    paid: Vec<f64>,
    /// The violated sums.
    broken: Vec<u32>,
    /// The position of each sum in `broken`; [`NOWHERE`] if it is not violated.
    place: Vec<u32>,
    /// For each sum, the price of a distance of one from its nearest feasible total.
    prices: Vec<f64>,
    /// The best assignment without a violated sum, or the first one.
    pub best: Vec<u16>,
    /// The changes of the present move: variables with their values before it.
    changed: Vec<(u32, u16)>,
    work: u64,
}

impl SumWalk {
    /// Begins a walk. Its prices are those of an earlier walk, if there are any.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    pub fn until(
        space: &SumSpace,
        mut progress: SumProgress,
        values: Vec<u16>,
        prices: Vec<f64>,
        stop: &Stop,
    ) -> Result<SumWalk, Error> {
        let SumSpace { tables, layout, sums, .. } = space;
        let mut costs = vec![0; layout.moves()];
        for v in stop.each(0..values.len()) {
            let v = v?;
            tables.rate(v, &values, &mut costs[layout.range(v)], |_| true);
        }
        progress.energy = energy(tables, &values, stop)?;
        progress.left = space.free.len() as u32;
        let mut walk = SumWalk {
            progress,
            totals: sums.totals(&values),
            paid: vec![0.0; sums.sums.len()],
            place: vec![NOWHERE; sums.sums.len()],
            best: values.clone(),
            values,
            costs,
            broken: Vec::new(),
            prices,
            changed: Vec::new(),
            work: layout.moves() as u64,
        };
        if progress.kept & PRICES == 0 {
            let stake = walk.stake(space).max(1.0);
            walk.prices = sums.sums.iter().map(|sum| stake / sum.step).collect();
        }
        for sum in 0..sums.sums.len() {
            walk.settle(space, sum, None);
        }
        walk.keep_best(space);
        walk.progress.begun = walk.progress.best;
        walk.progress.broken = walk.broken.len() as u32;
        Ok(walk)
    }

    /// Returns the average change of the cost in tables by changing a variable.
    fn stake(&self, space: &SumSpace) -> f64 {
        let (mut total, mut count) = (0i64, 0u64);
        for &v in &space.free {
            let costs = &self.costs[space.layout.range(v as usize)][..space.tables.domain(v as usize)];
            let own = costs[usize::from(self.values[v as usize])];
            for &cost in costs.iter().filter(|&&cost| cost != own && (cost - own).abs() < space.tables.hard) {
                total += i64::from((cost - own).abs());
                count += 1;
            }
        }
        if count > 0 { total as f64 * space.unit / count as f64 } else { 0.0 }
    }

    /// Makes one move, and accepts or undoes it.
    fn step(&mut self, ground: &Ground) {
        let space = &*ground.space;
        self.progress.step += 1;
        self.progress.moves += 1;
        self.work += 100;
        self.progress.temperature *= self.progress.cooling;
        let draw = mix(self.progress.key, self.progress.step);
        self.changed.clear();
        let v = self.draw(space, draw);
        let (value, mut climb) = self.cheapest(space, v, mix(draw, decision::CHOICES));
        self.take(space, v, value);
        for answer in 0..CHAIN as u64 {
            let Some((u, value, rise)) = self.answer(space, draw, answer).filter(|found| found.2 < 0.0) else { break };
            climb += rise;
            self.take(space, u, value);
        }
        if climb > 0.0 && climb < f64::from(space.tables.hard) * space.unit {
            self.progress.climbs += climb;
            self.progress.climbed += 1;
        }
        if climb <= 0.0 || climb < self.progress.temperature * ground.threshold(mix(draw, decision::ACCEPT)) {
            self.keep_best(space);
            return;
        }
        for place in (0..self.changed.len()).rev() {
            let (v, value) = self.changed[place];
            self.set(space, v as usize, value);
        }
    }

    /// Draws a variable, often one of a violated function if there are any.
    fn draw(&self, space: &SumSpace, draw: u64) -> usize {
        let any = |number: u64| space.free[below(mix(draw, number), space.free.len() as u64) as usize] as usize;
        let v = any(decision::ANY);
        if !self.broken.is_empty() && mix(draw, decision::OF_BROKEN) >> 63 == 1 {
            let sum = self.broken[below(mix(draw, decision::BROKEN), self.broken.len() as u64) as usize];
            let readers = space.sums.readers(sum as usize);
            let reader = readers.get(below(mix(draw, decision::READER), readers.len() as u64) as usize);
            return reader.map_or(v, |&reader| if space.is_free[reader as usize] { reader as usize } else { v });
        }
        if self.progress.energy >= i64::from(space.tables.hard) {
            let violates = |&v: &usize| self.costs_of(space, v)[usize::from(self.values[v])] >= space.tables.hard;
            return (0..TRIED as u64).map(|k| any(decision::OTHERS + k)).find(violates).unwrap_or(v);
        }
        v
    }

    /// Returns the best of some of a variable's other values, the first of equals, and its increase of the cost.
    fn cheapest(&mut self, space: &SumSpace, v: usize, who: u64) -> (u16, f64) {
        let (values, own) = (&space.values[v], self.values[v]);
        let (mut at, count) = window(who, values.len());
        let mut found = None::<(u16, f64)>;
        for _ in 0..count {
            let value = values[at];
            at = if at + 1 < values.len() { at + 1 } else { 0 };
            if value == own {
                continue;
            }
            let rise = self.rise(space, v, value);
            if found.is_none_or(|best| rise < best.1) {
                found = Some((value, rise));
            }
        }
        found.unwrap_or((own, 0.0))
    }

    /// Returns the best of some changes of variables of the most expensive sum that the last change affects and that is
    /// violated; `None` if there is no such sum.
    fn answer(&mut self, space: &SumSpace, draw: u64, number: u64) -> Option<(usize, u16, f64)> {
        let &(v, before) = self.changed.last()?;
        let terms = |value: u16| space.sums.terms(v as usize, value.into()).iter();
        let touched = terms(self.values[v as usize]).chain(terms(before)).map(|term| term.0 as usize);
        let mut dearest = None::<usize>;
        for sum in touched.filter(|&sum| self.place[sum] != NOWHERE) {
            if dearest.is_none_or(|dearest| self.paid[sum] > self.paid[dearest]) {
                dearest = Some(sum);
            }
        }
        let readers = space.sums.readers(dearest?);
        let first = below(mix(draw, decision::ANSWERS + number), readers.len() as u64) as usize;
        let mut found = None::<(usize, u16, f64)>;
        for k in 0..readers.len().min(TRIED) {
            let place = first + k;
            let u = readers[if place < readers.len() { place } else { place - readers.len() }] as usize;
            if !space.is_free[u] || self.changed.iter().any(|change| change.0 as usize == u) {
                continue;
            }
            let (value, rise) =
                self.cheapest(space, u, mix(draw, decision::CHOICES + (number + 1) * TRIED as u64 + k as u64));
            if found.is_none_or(|best| rise < best.2) {
                found = Some((u, value, rise));
            }
        }
        found
    }

    /// Returns the increase of the cost by a change.
    fn rise(&mut self, space: &SumSpace, v: usize, value: u16) -> f64 {
        let own = self.values[v];
        let costs = self.costs_of(space, v);
        let mut rise = f64::from(costs[usize::from(value)] - costs[usize::from(own)]) * space.unit;
        let mut terms = 0;
        space.changes(v, own, value, |sum, weight| {
            terms += 1;
            rise += self.price(space, sum, self.totals[sum] + weight) - self.paid[sum];
        });
        self.progress.ratings += 1;
        self.work += 10 + 6 * terms;
        rise
    }

    /// Returns the cost of a total of a sum.
    #[inline]
    fn price(&self, space: &SumSpace, sum: usize, total: i64) -> f64 {
        let own = &space.sums.sums[sum];
        match own.cost(total) {
            Some(cost) => cost as f64,
            None => self.prices[sum] * own.distance(total) as f64,
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
        self.progress.energy += i64::from(costs[usize::from(value)]) - i64::from(costs[usize::from(own)]);
        space.layout.update(
            &space.tables,
            ValueMove { values: &self.values, variable: v, value },
            &mut self.costs,
            |cost| cost,
            UNWATCHED,
        );
        space.changes(v, own, value, |sum, weight| {
            let before = self.totals[sum];
            self.totals[sum] += weight;
            self.settle(space, sum, Some(before));
        });
        self.values[v] = value;
        self.work += 20 + 4 * space.layout.affected(v).len() as u64;
    }

    /// Updates the cost of a sum. `before` is its previous total, if it has been settled before.
    fn settle(&mut self, space: &SumSpace, sum: usize, before: Option<i64>) {
        let own = &space.sums.sums[sum];
        self.progress.charged -= before.and_then(|total| own.cost(total)).unwrap_or(0);
        let cost = own.cost(self.totals[sum]);
        self.progress.charged += cost.unwrap_or(0);
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

    /// Raises the prices of violated sums; if there are none, lowers all prices. If each price fell as soon as its sum
    /// is satisfied, many sums would hardly ever be satisfied at once.
    fn reprice(&mut self, space: &SumSpace) {
        for &sum in &self.broken {
            let price = &mut self.prices[sum as usize];
            *price = (*price * RISE).min(LARGEST_PRICE);
            self.paid[sum as usize] = self.price(space, sum as usize, self.totals[sum as usize]);
        }
        if self.broken.is_empty() {
            self.prices.iter_mut().for_each(|price| *price = (*price * FALL).max(LEAST_PRICE));
        }
        self.work += self.prices.len() as u64;
    }

    /// Records an accepted move as the best if no sum is violated and its cost is lower.
    fn keep_best(&mut self, space: &SumSpace) {
        if !self.broken.is_empty() {
            return;
        }
        let cost = (self.progress.energy << space.tables.shift).saturating_add(self.progress.charged);
        if cost < self.progress.best {
            self.work += self.values.len() as u64 / u64::from(LOOK_EVERY);
            self.progress.best = cost;
            self.best.copy_from_slice(&self.values);
        }
    }

    #[inline]
    fn costs_of(&self, space: &SumSpace, v: usize) -> &[i32] {
        &self.costs[space.layout.range(v)]
    }
}

impl search::Walk<SumProgress, Ground> for SumWalk {
    fn begin(
        &mut self,
        _: &ValueTables,
        ground: &Ground,
        progress: SumProgress,
        values: &[u16],
        stop: &Stop,
    ) -> Result<(), Error> {
        let values = if progress.kept & VALUES == 0 { values.to_vec() } else { self.values.clone() };
        *self = SumWalk::until(&ground.space, progress, values, self.prices.clone(), stop)?;
        Ok(())
    }

    fn walk(&mut self, _: &ValueTables, ground: &Ground, limit: Limit, stop: &Stop) -> u64 {
        let mut steps = 0;
        while steps < limit.steps && self.work < limit.work && !self.progress.is_over() {
            if steps.is_multiple_of(LOOK_EVERY) && stop.is_set() {
                break;
            }
            steps += 1;
            self.step(ground);
            self.progress.left -= 1;
            if self.progress.left == 0 {
                self.progress.left = ground.space.free.len() as u32;
                self.reprice(&ground.space);
            }
        }
        self.progress.broken = self.broken.len() as u32;
        std::mem::take(&mut self.work)
    }

    fn progress(&self) -> SumProgress {
        self.progress
    }

    fn best(&self) -> &[u16] {
        &self.best
    }
}

#[cfg(test)]
impl SumWalk {
    /// Compares all data kept up to date with recomputed ones.
    pub fn assert_kept(&self, space: &SumSpace) {
        let totals = space.sums.totals(&self.values);
        assert_eq!(self.totals, totals);
        let of = |(sum, &total): (usize, &i64)| space.sums.sums[sum].cost(total);
        let costs: Vec<_> = totals.iter().enumerate().map(of).collect();
        assert_eq!(self.progress.charged, costs.iter().flatten().sum::<i64>());
        for (sum, cost) in costs.iter().enumerate() {
            assert_eq!(self.place[sum] == NOWHERE, cost.is_some());
            assert_eq!(self.paid[sum], self.price(space, sum, totals[sum]));
        }
        assert!(self.broken.iter().zip(0..).all(|(&sum, place)| self.place[sum as usize] == place));
        let energy = crate::core::layout::energy(&space.tables, &self.values, &Stop::new());
        assert_eq!(self.progress.energy, energy.expect("no stop is set"));
    }
}
