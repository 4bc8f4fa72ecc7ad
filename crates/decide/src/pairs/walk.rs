//! The steps of a plan with bounds on the rounding errors, for any maker of tables.

use super::plan::{Group, Plan, Step};
use crate::algebra::{OfNumbers, SumProduct};
use crate::error::Error;
use crate::model::{DecisionRule, Potential, ROUNDOFF, Scaled, scale};
use crate::pairs::Pairs;
use crate::stop::Stop;
use crate::tensor::{Storage, strides};
use crate::tuning::{POLL, REGULAR};
use rayon::prelude::*;

/// A table over ascending positions; the last one is the fastest index. The relative error of entries is at most
/// `error` unit roundoffs.
#[derive(Debug)]
pub struct Table<E> {
    /// The positions of its variables.
    pub scope: Vec<u32>,
    /// An entry for each combination.
    pub entries: E,
    /// The relative error of entries, in unit roundoffs, at most.
    pub error: f64,
}

/// Sums over a chance variable: that of its probabilities, if there are any, and those of its utilities.
pub type Sums<E> = (Option<E>, Vec<E>);
/// The tables of probabilities and of utilities.
type Tables<E> = (Vec<Table<E>>, Vec<Table<E>>);

/// A maker of the tables of steps, on the host or as a program for a device.
pub trait Maker {
    /// The entries of a table.
    type Entries;

    /// Sums over a chance variable. Returns the sum of the product of its probabilities, if there are any, and for each
    /// sum of utilities the sum of product times utility, divided by the first sum.
    fn sum(
        &mut self,
        step: &Step,
        probabilities: &[Table<Self::Entries>],
        utilities: Vec<Vec<Table<Self::Entries>>>,
    ) -> Result<Sums<Self::Entries>, Error>;

    /// Returns the product of probabilities, which must be equal for all values of the decision up to a relative
    /// `tolerance`.
    fn constant(
        &mut self,
        step: &Step,
        probabilities: &[Table<Self::Entries>],
        tolerance: f64,
    ) -> Result<Self::Entries, Error>;

    /// Returns the largest sum of utilities. A choice is certain if all others are lower by more than `unsure`,
    /// relatively.
    fn largest(
        &mut self,
        step: &Step,
        group: &Group,
        utilities: Vec<Table<Self::Entries>>,
        unsure: f64,
    ) -> Result<Self::Entries, Error>;
}

/// The choices of a decision by what it sees.
#[derive(Debug, Default)]
pub struct Picks {
    /// The chosen value in each situation.
    pub choices: Vec<u32>,
    /// Whether the chosen value is the best one in spite of rounding.
    pub certain: Vec<bool>,
}

/// The functions before any elimination.
#[derive(Debug, Default)]
pub struct Begun {
    /// Tables of probabilities.
    pub probabilities: Vec<Table<Storage<f64>>>,
    /// Tables of utilities.
    pub utilities: Vec<Table<Storage<f64>>>,
    /// The exponent of the power of two taken out of the probabilities.
    exponent: i64,
    /// The sum of the constants subtracted from utilities.
    shift: f64,
    /// The sum of their absolute values.
    shifted: f64,
}

/// The tables after all steps.
#[derive(Debug)]
pub struct Left<E> {
    /// Tables of probabilities.
    pub probabilities: Vec<Table<E>>,
    /// Tables of utilities.
    pub utilities: Vec<Table<E>>,
    /// The product of the domain sizes of variables without probabilities.
    constant: Scaled,
}

impl<E> Left<E> {
    /// Returns these tables with other entries.
    pub fn map<F, X>(&self, mut entries: impl FnMut(&Table<E>) -> Result<F, X>) -> Result<Left<F>, X> {
        let mut all = |tables: &[Table<E>]| -> Result<Vec<Table<F>>, X> {
            let table =
                |own: &Table<E>| Ok(Table { scope: own.scope.clone(), entries: entries(own)?, error: own.error });
            tables.iter().map(table).collect()
        };
        let (probabilities, utilities) = (all(&self.probabilities)?, all(&self.utilities)?);
        Ok(Left { probabilities, utilities, constant: self.constant })
    }
}

/// The result of elimination.
#[derive(Debug)]
pub struct Outcome {
    /// The product of the constants of the probabilities; the probability of the observation if there is one.
    pub normaliser: Scaled,
    /// The expected utility, conditional on the observation if there is one.
    pub utility: f64,
    /// The absolute error of `utility` against exact arithmetic, at most.
    pub error: f64,
    /// The relative error of `normaliser`, at most.
    pub normaliser_error: f64,
    /// The rules of the decisions in the order of elimination; their names are empty.
    pub rules: Vec<DecisionRule>,
    /// Probability times expected utility for each combination of the variables that are left, in ascending order.
    pub left: Vec<f64>,
    /// The probability of each combination of the variables that are left.
    pub left_probability: Vec<f64>,
}

impl Outcome {
    /// Returns the expected utility and its absolute error: the conditional one, or that multiplied by the normaliser.
    pub fn worth(&self, conditional: bool) -> (f64, f64) {
        let factor = if conditional { 1.0 } else { scale(self.normaliser.mantissa, self.normaliser.exponent) };
        let value = self.utility * factor;
        (value, self.error * factor + 2.0 * self.normaliser_error * value.abs())
    }
}

impl Plan {
    /// Returns the domain sizes along a scope.
    pub fn sizes(&self, scope: &[u32]) -> Vec<usize> {
        scope.iter().map(|&p| self.domains[p as usize] as usize).collect()
    }

    /// Returns the strides of a table along the axes of a scope, 0 for axes that it does not have.
    pub fn along(&self, scope: &[u32], table: &[u32]) -> Vec<usize> {
        let own = strides(&self.sizes(table));
        scope.iter().map(|p| table.binary_search(p).map_or(0, |axis| own[axis])).collect()
    }

    /// Returns the domain size of a step's variable.
    pub fn domain(&self, step: &Step) -> u32 {
        self.domains[step.position as usize]
    }

    /// Adds a table to a sum over a scope.
    pub(super) fn add_onto(
        &self,
        scope: &[u32],
        sum: &mut [f64],
        table: &Table<Storage<f64>>,
        stop: &Stop,
    ) -> Result<(), Error> {
        let (sizes, steps) = (self.sizes(scope), self.along(scope, &table.scope));
        sum.par_chunks_mut(POLL).enumerate().try_for_each(|(number, sum)| {
            stop.check()?;
            let begin = number * POLL;
            sweep(&sizes, [&steps], begin, begin + sum.len(), |index, [at]| sum[index - begin] += table.entries[at]);
            Ok(())
        })
    }
}

/// Returns the tables of all functions, scaled into range.
pub fn begin(pairs: &Pairs, plan: &Plan) -> Result<Begun, Error> {
    let mut position = vec![0; plan.sequence.len()];
    plan.sequence.iter().zip(0..).for_each(|(&v, p)| position[v as usize] = p);
    let mut begun = Begun::default();
    for function in &pairs.probabilities {
        let (scope, mut entries) = arranged(function, &position, plan)?;
        begun.exponent += SumProduct.normalise(&mut entries).exponent;
        begun.probabilities.push(Table { scope, entries, error: 0.0 });
    }
    for function in &pairs.utilities {
        let (scope, mut entries) = arranged(function, &position, plan)?;
        let least = entries.iter().copied().fold(f64::INFINITY, f64::min);
        entries.iter_mut().for_each(|entry| *entry -= least);
        begun.shift += least;
        begun.shifted += least.abs();
        begun.utilities.push(Table { scope, entries, error: 1.0 });
    }
    Ok(begun)
}

/// Returns a function with its axes in the order of positions.
fn arranged(function: &Potential, position: &[u32], plan: &Plan) -> Result<(Vec<u32>, Storage<f64>), Error> {
    let Potential { scope, table } = function;
    let mut axes: Vec<usize> = (0..scope.len()).collect();
    axes.sort_by_key(|&axis| position[scope[axis] as usize]);
    let made: Vec<u32> = axes.iter().map(|&axis| position[scope[axis] as usize]).collect();
    let steps = strides(&plan.sizes(&scope.iter().map(|&v| position[v as usize]).collect::<Vec<_>>()));
    let mut entries = Storage::try_new(table.len())?;
    let sizes = plan.sizes(&made);
    let steps: Vec<usize> = axes.iter().map(|&axis| steps[axis]).collect();
    sweep(&sizes, [&steps], 0, table.len(), |index, [from]| entries[index] = table[from]);
    Ok((made, entries))
}

/// Visits the entries from `begin` to `end` of a table of these sizes, with the offsets of others along it.
pub(super) fn sweep<const N: usize>(
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

/// Takes all steps.
///
/// # Errors
/// Returns an error if probabilities depend on a decision by more than `irregular`, relatively, or if there is no
/// memory, and [`Error::Stopped`] if `stop` is set.
pub fn walk<M: Maker>(
    plan: &Plan,
    maker: &mut M,
    (probabilities, utilities): Tables<M::Entries>,
    irregular: f64,
    stop: &Stop,
) -> Result<Left<M::Entries>, Error> {
    let mut probabilities: Vec<Option<Table<M::Entries>>> = probabilities.into_iter().map(Some).collect();
    let mut utilities: Vec<Option<Table<M::Entries>>> = utilities.into_iter().map(Some).collect();
    let mut constant = Scaled::ONE;
    let most = |tables: &[Table<M::Entries>]| tables.iter().map(|table| table.error).fold(0.0, f64::max);
    for step in &plan.steps {
        stop.check()?;
        let own = take(&mut probabilities, &step.probabilities);
        let of_own = own.iter().map(|table| table.error).sum::<f64>() + own.len() as f64;
        let groups: Vec<Vec<Table<M::Entries>>> =
            step.groups.iter().map(|group| take(&mut utilities, &group.inputs)).collect();
        let added: Vec<f64> = groups.iter().map(|tables| most(tables) + tables.len() as f64 - 1.0).collect();
        let put = |group: &Group, entries, error| Some(Table { scope: group.output.clone(), entries, error });
        if step.decision {
            if !own.is_empty() {
                let tolerance = REGULAR + irregular + 2.0 * of_own * ROUNDOFF;
                let entries = maker.constant(step, &own, tolerance)?;
                probabilities.push(Some(Table { scope: step.output.clone(), entries, error: of_own }));
            }
            for ((group, tables), error) in step.groups.iter().zip(groups).zip(added) {
                let entries = maker.largest(step, group, tables, 2.0 * error * ROUNDOFF)?;
                utilities.push(put(group, entries, error));
            }
            continue;
        }
        let domain = f64::from(plan.domain(step));
        let error = of_own + domain;
        let (sum, made) = maker.sum(step, &own, groups)?;
        for ((group, entries), added) in step.groups.iter().zip(made).zip(added) {
            // the weights and their sum both have this error
            utilities.push(put(group, entries, added + 2.0 * error + 2.0));
        }
        match sum {
            Some(entries) => probabilities.push(Some(Table { scope: step.output.clone(), entries, error })),
            None => constant = Scaled::with(constant.mantissa * domain, constant.exponent),
        }
    }
    let left = |tables: Vec<Option<Table<M::Entries>>>| tables.into_iter().flatten().collect();
    Ok(Left { probabilities: left(probabilities), utilities: left(utilities), constant })
}

/// Takes the tables of these numbers.
fn take<E>(tables: &mut [Option<Table<E>>], numbers: &[usize]) -> Vec<Table<E>> {
    numbers.iter().filter_map(|&number| tables[number].take()).collect()
}

/// Returns the error of an irregular diagram, in which an observation before a decision depends on it; probabilities
/// differ by `deviation`, relative to the largest.
pub(super) fn not_regular(plan: &Plan, step: &Step, deviation: f64) -> Error {
    let decision = plan.sequence[step.position as usize];
    Error::Usage(format!(
        "the diagram is not regular: what is observed before decision {decision} depends on it (probabilities differ \
         by {deviation:.3e} of the largest)"
    ))
}

/// Combines the tables that are left. Of `begun`, only the factors and constants taken out are used. `picks` are those
/// of the decisions that have utilities.
pub fn finish(
    plan: &Plan,
    begun: &Begun,
    left: &Left<Storage<f64>>,
    exponent: i64,
    picks: Vec<Picks>,
    stop: &Stop,
) -> Result<Outcome, Error> {
    let scope: Vec<u32> = (plan.steps.len() as u32..plan.sequence.len() as u32).collect();
    let entries = plan.sizes(&scope).iter().product();
    let mut normaliser = left.constant;
    normaliser.exponent += begun.exponent + exponent;
    let (mut error, mut most) = (1.0, 0.0f64);
    let all = &left.probabilities;
    for table in all.iter().filter(|table| table.scope.is_empty()) {
        normaliser = Scaled::with(normaliser.mantissa * table.entries[0], normaliser.exponent);
    }
    error += all.iter().map(|table| table.error + 1.0).sum::<f64>();
    let mut probability = vec![1.0; entries];
    for table in all.iter().filter(|table| !table.scope.is_empty()) {
        let (sizes, steps) = (plan.sizes(&scope), plan.along(&scope, &table.scope));
        sweep(&sizes, [&steps], 0, entries, |index, [at]| probability[index] *= table.entries[at]);
    }
    let mut sums = Storage::try_new(entries)?;
    let mut of_utility = 0.0f64;
    for table in &left.utilities {
        plan.add_onto(&scope, &mut sums, table, stop)?;
        of_utility = of_utility.max(table.error) + 1.0;
    }
    sums.iter().for_each(|sum| most = most.max(*sum));
    let factor = scale(normaliser.mantissa, normaliser.exponent);
    let weigh = |probability: &f64| probability * factor;
    Ok(Outcome {
        utility: sums.first().copied().unwrap_or(0.0) + begun.shift,
        // the constants are subtracted and added again
        error: ROUNDOFF * ((of_utility + 2.0) * most + (left.utilities.len() + 2) as f64 * begun.shifted),
        normaliser,
        normaliser_error: error * ROUNDOFF,
        rules: rules(plan, picks),
        left: probability.iter().zip(sums.iter()).map(|(p, u)| weigh(p) * (u + begun.shift)).collect(),
        left_probability: probability.iter().map(weigh).collect(),
    })
}

/// Returns the rules of all decisions in the order of elimination; a decision without utilities takes its first value.
fn rules(plan: &Plan, picks: Vec<Picks>) -> Vec<DecisionRule> {
    let mut picks = picks.into_iter();
    let rule = |step: &Step| {
        let own = step.groups.first().and_then(|group| Some((&group.output[..], picks.next()?)));
        let any = || Picks { choices: vec![0], certain: vec![plan.domain(step) == 1] };
        let (sees, Picks { choices, certain }) = own.unwrap_or_else(|| (&[], any()));
        DecisionRule {
            decision: plan.sequence[step.position as usize],
            name: String::new(),
            sees: sees.iter().map(|&p| plan.sequence[p as usize]).collect(),
            choices,
            certain,
        }
    };
    plan.steps.iter().filter(|step| step.decision).map(rule).collect()
}
