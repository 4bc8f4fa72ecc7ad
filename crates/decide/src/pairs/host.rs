//! A maker of tables on the host.

use super::plan::{Group, Plan, Step};
use super::walk::{Maker, Picks, Table, not_regular, sweep};
use crate::algebra::{OfNumbers, SumProduct};
use crate::elimination::cpu::{Join, Shape, fill};
use crate::error::Error;
use crate::stop::Stop;
use crate::tensor::Storage;
use crate::tuning::{POLL, TIE};
use rayon::prelude::*;

/// A maker of tables on the host.
#[derive(Debug)]
pub(super) struct Host<'a> {
    plan: &'a Plan,
    stop: &'a Stop,
    /// The exponent of the power of two taken out of the probabilities.
    pub exponent: i64,
    /// The choices of each decision.
    pub picks: Vec<Picks>,
}

type Tables = Table<Storage<f64>>;

impl<'a> Host<'a> {
    pub fn new(plan: &'a Plan, stop: &'a Stop) -> Self {
        Host { plan, stop, exponent: 0, picks: Vec::new() }
    }

    /// Returns the sum over a step's variable of the product of tables.
    fn join(&self, step: &Step, output: &[u32], tables: &[&Tables]) -> Result<Storage<f64>, Error> {
        let domains = &self.plan.domains;
        let domain = self.plan.domain(step);
        let shape = Shape::new(output, domains, domain as usize);
        let inputs = tables.iter().map(|table| (&table.scope[..], &table.entries[..]));
        let join = Join::new(shape, output, domains, inputs, SumProduct);
        let mut made = Storage::try_new(self.plan.sizes(output).iter().product())?;
        let tile = join.tile();
        let slice = (POLL * rayon::current_num_threads() / (tile * domain as usize)).max(1) * tile;
        for (number, out) in made.chunks_mut(slice).enumerate() {
            self.stop.check()?;
            fill(&join, u64::from(domain), number * slice / tile, out);
        }
        Ok(made)
    }

    /// Returns the sum of utilities over the scope of their group.
    fn add(&self, group: &Group, tables: Vec<Tables>) -> Result<Tables, Error> {
        let mut tables = tables.into_iter();
        let mut sum = match tables.next() {
            Some(first) if first.scope == group.scope => first,
            first => {
                let mut entries = Storage::try_new(self.plan.sizes(&group.scope).iter().product())?;
                let mut onto = |first: &Tables| self.plan.add_onto(&group.scope, &mut entries, first, self.stop);
                first.iter().try_for_each(&mut onto)?;
                Table { scope: group.scope.clone(), entries, error: 0.0 }
            }
        };
        for table in tables {
            self.plan.add_onto(&group.scope, &mut sum.entries, &table, self.stop)?;
        }
        Ok(sum)
    }
}

impl Maker for Host<'_> {
    type Entries = Storage<f64>;

    fn sum(
        &mut self,
        step: &Step,
        probabilities: &[Tables],
        utilities: Vec<Vec<Tables>>,
    ) -> Result<(Option<Storage<f64>>, Vec<Storage<f64>>), Error> {
        let inputs: Vec<&Tables> = probabilities.iter().collect();
        let none = inputs.is_empty();
        let mut sums = match none {
            true => Storage::from_iter([f64::from(self.plan.domain(step))]),
            false => self.join(step, &step.output, &inputs)?,
        };
        let mut all_made = Vec::new();
        for (group, tables) in step.groups.iter().zip(utilities) {
            let utility = self.add(group, tables)?;
            let all: Vec<&Tables> = inputs.iter().copied().chain([&utility]).collect();
            let mut made = self.join(step, &group.output, &all)?;
            let sizes = self.plan.sizes(&group.output);
            let steps = self.plan.along(&group.output, if none { &[] } else { &step.output });
            made.par_chunks_mut(POLL).enumerate().try_for_each(|(number, made)| {
                self.stop.check()?;
                let begin = number * POLL;
                sweep(&sizes, [&steps], begin, begin + made.len(), |index, [at]| {
                    let (sum, entry) = (sums[at], &mut made[index - begin]);
                    // subnormal probabilities have no digits to divide by, and no weight
                    *entry = if sum < f64::MIN_POSITIVE { 0.0 } else { *entry / sum };
                });
                Ok::<_, Error>(())
            })?;
            all_made.push(made);
        }
        if none {
            return Ok((None, all_made));
        }
        self.exponent += SumProduct.normalise(&mut sums).exponent;
        Ok((Some(sums), all_made))
    }

    fn constant(&mut self, step: &Step, probabilities: &[Tables], tolerance: f64) -> Result<Storage<f64>, Error> {
        let domain = self.plan.domain(step) as usize;
        let scope: Vec<u32> = [step.position].into_iter().chain(step.output.iter().copied()).collect();
        let sizes = self.plan.sizes(&scope);
        let mut product = Storage::try_new(sizes.iter().product())?;
        product.fill(1.0);
        for table in probabilities {
            let steps = self.plan.along(&scope, &table.scope);
            product.par_chunks_mut(POLL).enumerate().try_for_each(|(number, product)| {
                self.stop.check()?;
                let begin = number * POLL;
                sweep(&sizes, [&steps], begin, begin + product.len(), |index, [at]| {
                    product[index - begin] *= table.entries[at];
                });
                Ok::<_, Error>(())
            })?;
        }
        let entries = product.len() / domain;
        let deviation = |at: usize| {
            let all = (0..domain).map(|value| product[value * entries + at]);
            let (least, most) = all.fold((f64::INFINITY, 0.0f64), |(l, m), p| (l.min(p), m.max(p)));
            if most > 0.0 { (most - least) / most } else { 0.0 }
        };
        let worst = (0..entries).map(deviation).fold(0.0, f64::max);
        if worst > tolerance {
            return Err(not_regular(self.plan, step, worst));
        }
        Ok(product[..entries].iter().copied().collect())
    }

    fn largest(
        &mut self,
        step: &Step,
        group: &Group,
        utilities: Vec<Tables>,
        unsure: f64,
    ) -> Result<Storage<f64>, Error> {
        let domain = self.plan.domain(step) as usize;
        let sum = self.add(group, utilities)?;
        let entries = sum.entries.len() / domain;
        let mut made = Storage::try_new(entries)?;
        let mut choices = vec![0u32; entries];
        let mut certain = vec![false; entries];
        // entries of consecutive values of the decision are a whole table apart
        let parts = made.par_chunks_mut(POLL).zip(choices.par_chunks_mut(POLL)).zip(certain.par_chunks_mut(POLL));
        parts.enumerate().try_for_each(|(number, ((made, choices), certain))| {
            self.stop.check()?;
            for (place, made) in made.iter_mut().enumerate() {
                let at = |value: usize| sum.entries[value * entries + number * POLL + place];
                let most = (0..domain).map(at).fold(0.0, f64::max);
                let choice = (0..domain).find(|&value| at(value) >= most * (1.0 - TIE)).unwrap_or(0);
                let second = (0..domain).filter(|&value| value != choice).map(at).fold(f64::NEG_INFINITY, f64::max);
                *made = most;
                choices[place] = choice as u32;
                certain[place] = domain == 1 || at(choice) - second > unsure * most;
            }
            Ok::<_, Error>(())
        })?;
        self.picks.push(Picks { choices, certain });
        Ok(made)
    }
}
