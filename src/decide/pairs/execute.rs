//! Executes plans on the host.

use super::Pairs;
use super::plan::{Group, Plan, Step};
use crate::algebra::{OfNumbers, SumProduct};
use crate::decide::tuning::{POLL, REGULAR, TIE};
use crate::elimination::cpu::fill;
use crate::elimination::cpu::kernel::{Join, Shape};
use crate::error::Error;
use crate::model::{DecisionRule, ROUNDOFF, Scaled, scale};
use crate::stop::Stop;
use crate::tensor::{Storage, strides};
use rayon::prelude::*;

/// A table over positions, ascending, the last one running fastest. The entries are off by at most `error` unit
/// roundoffs, relatively.
#[derive(Debug)]
struct Table {
    scope: Vec<u32>,
    entries: Storage<f64>,
    error: f64,
}

/// The result of elimination.
#[derive(Debug)]
pub(in crate::decide) struct Outcome {
    /// The product of the constants of probabilities.
    pub normaliser: Scaled,
    /// The expected utility, given what the normaliser is the probability of.
    pub utility: f64,
    /// How far it may be from that of exact arithmetic.
    pub error: f64,
    /// The relative error of the normaliser.
    pub normaliser_error: f64,
    /// What the decisions choose, in the order of elimination; names are left out.
    pub rules: Vec<DecisionRule>,
    /// Of the variables that are left, ascending: probability times expected utility.
    pub left: Vec<f64>,
    /// Their probabilities.
    pub left_probability: Vec<f64>,
}

/// Executes a plan. A decision on which probabilities depend by more than `irregular`, relatively, is an error.
///
/// # Errors
/// [`Error::Stopped`], no memory, a diagram that is not regular.
pub(in crate::decide) fn execute(pairs: &Pairs, plan: &Plan, irregular: f64, stop: &Stop) -> Result<Outcome, Error> {
    let mut run = Run {
        plan,
        stop,
        tolerance: REGULAR + irregular,
        probabilities: Vec::new(),
        utilities: Vec::new(),
        exponent: 0,
        constant: Scaled::ONE,
        rules: Vec::new(),
        shift: 0.0,
        shifted: 0.0,
    };
    let mut position = vec![0; plan.sequence.len()];
    plan.sequence.iter().zip(0..).for_each(|(&v, p)| position[v as usize] = p);
    for function in &pairs.probabilities {
        let mut entries = arranged(&function.scope, &function.table, &position, plan)?;
        run.exponent += SumProduct.normalise(&mut entries.1).exponent;
        run.probabilities.push(Some(Table { scope: entries.0, entries: entries.1, error: 0.0 }));
    }
    for function in &pairs.utilities {
        let (scope, mut entries) = arranged(&function.scope, &function.table, &position, plan)?;
        let least = entries.iter().copied().fold(f64::INFINITY, f64::min);
        entries.iter_mut().for_each(|entry| *entry -= least);
        run.shift += least;
        run.shifted += least.abs();
        run.utilities.push(Some(Table { scope, entries, error: 1.0 }));
    }
    for step in &plan.steps {
        stop.check()?;
        if step.decision { run.decide(step)? } else { run.sum(step)? }
    }
    run.finish()
}

/// A table with its axes in the order of positions.
fn arranged(scope: &[u32], table: &[f64], position: &[u32], plan: &Plan) -> Result<(Vec<u32>, Storage<f64>), Error> {
    let mut axes: Vec<usize> = (0..scope.len()).collect();
    axes.sort_by_key(|&axis| position[scope[axis] as usize]);
    let made: Vec<u32> = axes.iter().map(|&axis| position[scope[axis] as usize]).collect();
    let size = |p: u32| plan.domains[p as usize] as usize;
    let steps = strides(&scope.iter().map(|&v| size(position[v as usize])).collect::<Vec<_>>());
    let mut entries = Storage::try_new(table.len())?;
    let sizes: Vec<usize> = made.iter().map(|&p| size(p)).collect();
    let steps: Vec<usize> = axes.iter().map(|&axis| steps[axis]).collect();
    sweep(&sizes, [&steps], 0, table.len(), |index, [from]| entries[index] = table[from]);
    Ok((made, entries))
}

/// Walks over some entries of a table of these sizes, with the offsets of others along it.
fn sweep<const N: usize>(
    sizes: &[usize],
    steps: [&Vec<usize>; N],
    begin: usize,
    end: usize,
    mut each: impl FnMut(usize, [usize; N]),
) {
    let mut digits = vec![0; sizes.len()];
    let mut rest = begin;
    for (digit, &size) in digits.iter_mut().zip(sizes).rev() {
        *digit = rest % size;
        rest /= size;
    }
    let mut offsets = steps.map(|steps| digits.iter().zip(steps).map(|(d, s)| d * s).sum::<usize>());
    for index in begin..end {
        each(index, offsets);
        for axis in (0..sizes.len()).rev() {
            digits[axis] += 1;
            offsets.iter_mut().zip(steps).for_each(|(offset, steps)| *offset += steps[axis]);
            if digits[axis] < sizes[axis] {
                break;
            }
            digits[axis] = 0;
            offsets.iter_mut().zip(steps).for_each(|(offset, steps)| *offset -= steps[axis] * sizes[axis]);
        }
    }
}

struct Run<'a> {
    plan: &'a Plan,
    stop: &'a Stop,
    tolerance: f64,
    probabilities: Vec<Option<Table>>,
    utilities: Vec<Option<Table>>,
    /// The power of two taken out of probabilities.
    exponent: i64,
    /// Domain sizes of variables without probabilities.
    constant: Scaled,
    rules: Vec<DecisionRule>,
    /// What was taken off utilities, and the sum of the absolute values.
    shift: f64,
    shifted: f64,
}

impl Run<'_> {
    fn sizes(&self, scope: &[u32]) -> Vec<usize> {
        scope.iter().map(|&p| self.plan.domains[p as usize] as usize).collect()
    }

    /// Strides of a table along the axes of a scope; 0 where it does not read one.
    fn along(&self, scope: &[u32], table: &[u32]) -> Vec<usize> {
        let own = strides(&self.sizes(table));
        scope.iter().map(|p| table.binary_search(p).map_or(0, |axis| own[axis])).collect()
    }

    /// Takes the tables of these numbers.
    fn take(tables: &mut [Option<Table>], numbers: &[usize]) -> Vec<Table> {
        numbers.iter().filter_map(|&number| tables[number].take()).collect()
    }

    /// The sum over the variable of a step of the product of tables.
    fn join(&self, step: &Step, output: &[u32], tables: &[&Table]) -> Result<Storage<f64>, Error> {
        let domains = &self.plan.domains;
        let domain = domains[step.position as usize];
        let shape = Shape::new(output, domains, domain as usize);
        let inputs = tables.iter().map(|table| (&table.scope[..], &table.entries[..]));
        let join = Join::new(shape, output, domains, inputs, SumProduct);
        let mut made = Storage::try_new(self.sizes(output).iter().product())?;
        let tile = join.tile();
        let slice = (POLL * rayon::current_num_threads() / (tile * domain as usize)).max(1) * tile;
        for (number, out) in made.chunks_mut(slice).enumerate() {
            self.stop.check()?;
            fill(&join, u64::from(domain), number * slice / tile, out);
        }
        Ok(made)
    }

    /// The sum of utilities over the scope of their group.
    fn add(&self, group: &Group, tables: Vec<Table>) -> Result<Table, Error> {
        let error = tables.iter().map(|table| table.error).fold(0.0, f64::max) + (tables.len() - 1) as f64;
        let mut tables = tables.into_iter();
        let mut sum = match tables.next() {
            Some(first) if first.scope == group.scope => first,
            first => {
                let mut sum = Storage::try_new(self.sizes(&group.scope).iter().product())?;
                first.iter().try_for_each(|first| self.add_onto(&group.scope, &mut sum, first))?;
                Table { scope: group.scope.clone(), entries: sum, error: 0.0 }
            }
        };
        for table in tables {
            self.add_onto(&group.scope, &mut sum.entries, &table)?;
        }
        Ok(Table { error, ..sum })
    }

    fn add_onto(&self, scope: &[u32], sum: &mut [f64], table: &Table) -> Result<(), Error> {
        let (sizes, steps) = (self.sizes(scope), self.along(scope, &table.scope));
        sum.par_chunks_mut(POLL).enumerate().try_for_each(|(number, sum)| {
            self.stop.check()?;
            let begin = number * POLL;
            sweep(&sizes, [&steps], begin, begin + sum.len(), |index, [at]| sum[index - begin] += table.entries[at]);
            Ok(())
        })
    }

    /// Takes a chance variable out.
    fn sum(&mut self, step: &Step) -> Result<(), Error> {
        let domain = self.plan.domains[step.position as usize];
        let own = Run::take(&mut self.probabilities, &step.probabilities);
        let inputs: Vec<&Table> = own.iter().collect();
        let error = own.iter().map(|table| table.error).sum::<f64>() + (own.len() + domain as usize) as f64;
        let sums = match own[..] {
            [] => Storage::from_iter([f64::from(domain)]),
            _ => self.join(step, &step.output, &inputs)?,
        };
        for group in &step.groups {
            let tables = Run::take(&mut self.utilities, &group.inputs);
            let utility = self.add(group, tables)?;
            let all: Vec<&Table> = inputs.iter().copied().chain([&utility]).collect();
            let mut made = self.join(step, &group.output, &all)?;
            let sizes = self.sizes(&group.output);
            let steps = self.along(&group.output, if own.is_empty() { &[] } else { &step.output });
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
            // weights and their sum are off by as much
            let error = utility.error + 2.0 * error + 2.0;
            self.utilities.push(Some(Table { scope: group.output.clone(), entries: made, error }));
        }
        if own.is_empty() {
            let product = self.constant.mantissa * f64::from(domain);
            self.constant = Scaled::with(product, self.constant.exponent);
        } else {
            let mut sums = sums;
            self.exponent += SumProduct.normalise(&mut sums).exponent;
            self.probabilities.push(Some(Table { scope: step.output.clone(), entries: sums, error }));
        }
        Ok(())
    }

    /// Takes a decision out, on which probabilities do not depend.
    fn decide(&mut self, step: &Step) -> Result<(), Error> {
        let own = Run::take(&mut self.probabilities, &step.probabilities);
        let decision = self.plan.sequence[step.position as usize];
        let domain = self.plan.domains[step.position as usize] as usize;
        if !own.is_empty() {
            let (made, error) = self.constant_in(step, &own)?;
            self.probabilities.push(Some(Table { scope: step.output.clone(), entries: made, error }));
        }
        let rule = |sees: &[u32], choices: Vec<u32>, certain: Vec<bool>| DecisionRule {
            decision,
            name: String::new(),
            sees: sees.iter().map(|&p| self.plan.sequence[p as usize]).collect(),
            choices,
            certain,
        };
        let Some(group) = step.groups.first() else {
            let rule = rule(&[], vec![0], vec![domain == 1]);
            self.rules.push(rule);
            return Ok(());
        };
        let tables = Run::take(&mut self.utilities, &group.inputs);
        let sum = self.add(group, tables)?;
        let entries = sum.entries.len() / domain;
        let mut made = Storage::try_new(entries)?;
        let mut choices = vec![0u32; entries];
        let mut certain = vec![false; entries];
        // values of the decision lie a whole table apart
        let unsure = 2.0 * sum.error * ROUNDOFF;
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
        let rule = rule(&group.output, choices, certain);
        self.rules.push(rule);
        let table = Table { scope: group.output.clone(), entries: made, error: sum.error };
        self.utilities.push(Some(table));
        Ok(())
    }

    /// The product of probabilities, which must be the same for all values of the decision; and its error.
    fn constant_in(&self, step: &Step, own: &[Table]) -> Result<(Storage<f64>, f64), Error> {
        let domain = self.plan.domains[step.position as usize] as usize;
        let scope: Vec<u32> = [step.position].into_iter().chain(step.output.iter().copied()).collect();
        let sizes = self.sizes(&scope);
        let mut product = Storage::try_new(sizes.iter().product())?;
        product.fill(1.0);
        for table in own {
            let steps = self.along(&scope, &table.scope);
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
        let error = own.iter().map(|table| table.error).sum::<f64>() + own.len() as f64;
        let tolerance = self.tolerance + 2.0 * error * ROUNDOFF;
        for at in 0..entries {
            let all = (0..domain).map(|value| product[value * entries + at]);
            let (least, most) = all.fold((f64::INFINITY, 0.0f64), |(l, m), p| (l.min(p), m.max(p)));
            if most - least > tolerance * most {
                return Err(Error::Usage(format!(
                    "the diagram is not regular: what is observed before decision {} depends on it (probabilities from \
                     {least:e} to {most:e})",
                    self.plan.sequence[step.position as usize]
                )));
            }
        }
        Ok((product[..entries].iter().copied().collect(), error))
    }

    /// Combines what is left.
    fn finish(self) -> Result<Outcome, Error> {
        let left = self.plan.steps.len() as u32;
        let scope: Vec<u32> = (left..self.plan.sequence.len() as u32).collect();
        let entries = self.sizes(&scope).iter().product();
        let mut normaliser = self.constant;
        normaliser.exponent += self.exponent;
        let (mut error, mut most) = (1.0, 0.0f64);
        let all: Vec<&Table> = self.probabilities.iter().flatten().collect();
        for table in all.iter().filter(|table| table.scope.is_empty()) {
            normaliser = Scaled::with(normaliser.mantissa * table.entries[0], normaliser.exponent);
        }
        error += all.iter().map(|table| table.error + 1.0).sum::<f64>();
        let mut probability = vec![1.0; entries];
        for table in all.iter().filter(|table| !table.scope.is_empty()) {
            let (sizes, steps) = (self.sizes(&scope), self.along(&scope, &table.scope));
            sweep(&sizes, [&steps], 0, entries, |index, [at]| probability[index] *= table.entries[at]);
        }
        let mut sums = Storage::try_new(entries)?;
        let mut of_utility = 0.0f64;
        for table in self.utilities.iter().flatten() {
            self.add_onto(&scope, &mut sums, table)?;
            of_utility = of_utility.max(table.error) + 1.0;
        }
        sums.iter().for_each(|sum| most = most.max(*sum));
        let factor = scale(normaliser.mantissa, normaliser.exponent);
        let weigh = |probability: &f64| probability * factor;
        Ok(Outcome {
            utility: sums.first().copied().unwrap_or(0.0) + self.shift,
            // the shifts are added up and taken off again
            error: ROUNDOFF * ((of_utility + 2.0) * most + (self.utilities.len() + 2) as f64 * self.shifted),
            normaliser,
            normaliser_error: error * ROUNDOFF,
            rules: self.rules,
            left: probability.iter().zip(sums.iter()).map(|(p, u)| weigh(p) * (u + self.shift)).collect(),
            left_probability: probability.iter().map(weigh).collect(),
        })
    }
}
