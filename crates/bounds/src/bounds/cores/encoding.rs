//! The encoding of a problem as clauses: literals of values, hard clauses for forbidden tuples, and for each function
//! literals that state lower bounds of its cost.
//!
//! Exactly one tuple of a function is chosen, so its cost is a sum over levels. The literal of a level holds if the
//! function costs that much or more, and its weight is the distance from the level below. A tuple implies the literal
//! of its level, and each level's literal implies that of the level below.

use super::solver::{self, Lit, Sat};
use crate::bounds::tuning::cores::{DOMAIN, LARGEST, PAIRS, TUPLES};
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Odometer, Problem, Table};
use crate::stop::Stop;
use std::ops::Range;

/// The encoding of a problem.
#[derive(Debug)]
pub struct Encoding {
    /// The literals of all values, one variable after the other.
    literals: Vec<Lit>,
    /// Index of the first literal of each variable, with an end mark.
    starts: Vec<usize>,
    /// Literals that should hold, with the cost if they do not; a literal may occur several times.
    pub softs: Vec<(Lit, Cost)>,
    /// Cost that all solutions have in addition to the weights of false literals.
    pub constant: Cost,
    /// Pairs of literals of which one must hold; only the first of many are kept.
    pub pairs: Vec<(Lit, Lit)>,
}

/// An encoding in the making.
struct Encoder<'a> {
    problem: &'a Problem,
    /// Cost from which entries are forbidden.
    limit: Cost,
    sat: &'a mut Sat,
    encoding: Encoding,
}

/// Estimates the bytes of the clauses of a problem.
///
/// # Errors
/// Returns [`Error::Memory`] with the number of tuples if the problem has too many for the encoding to be sensible, and
/// [`Error::Stopped`] once `stop` is set.
pub fn bytes(problem: &Problem, stop: &Stop) -> Result<u64, Error> {
    let (mut variables, mut clauses, mut literals) = (0u64, 0u64, 0u64);
    for &domain in stop.each(&problem.domains).collect::<Result<Vec<_>, _>>()? {
        let (domain, pairwise) = (u64::from(domain), domain <= DOMAIN);
        variables += 2 * domain;
        clauses += 3 * domain + if pairwise { domain * domain / 2 } else { 0 };
        literals += 6 * domain + if pairwise { domain * domain } else { 0 };
    }
    let mut tuples = 0u64;
    for function in stop.each(&problem.functions) {
        let function = function?;
        let own = match listed(function) {
            Some(listed) => listed as u64,
            None => function.combinations(&problem.domains),
        };
        if own > LARGEST {
            let arity = function.scope.len();
            return Err(Error::Memory(format!(
                "cores does not run: a function of {arity} variables has {own} tuples, {LARGEST} at most"
            )));
        }
        tuples += own;
        // at most one level for each tuple
        variables += own;
        clauses += 2 * own;
        literals += (function.scope.len() as u64 + 3) * own;
    }
    if tuples > TUPLES {
        return Err(Error::Memory(format!("cores does not run: the functions have {tuples} tuples, {TUPLES} at most")));
    }
    Ok(solver::bytes(variables, clauses, literals))
}

/// Returns the number of listed tuples if all others have the least cost; `None` otherwise.
fn listed(function: &CostFunction) -> Option<usize> {
    match &function.table {
        Table::Sparse(table) if table.costs().iter().all(|&cost| cost >= table.default_cost()) => Some(table.len()),
        _ => None,
    }
}

impl Encoding {
    /// Adds the clauses for solutions that cost less than `upper` to `sat`.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] once `stop` is set.
    pub fn new(problem: &Problem, upper: Cost, sat: &mut Sat, stop: &Stop) -> Result<Encoding, Error> {
        let limit = upper.saturating_sub(problem.constant).min(FORBIDDEN);
        let (literals, starts, softs, pairs) = (Vec::new(), vec![0], Vec::new(), Vec::new());
        let encoding = Encoding { literals, starts, softs, constant: problem.constant, pairs };
        let mut encoder = Encoder { problem, limit, sat, encoding };
        for variable in stop.each(0..problem.variables()) {
            encoder.variable(variable?);
        }
        for function in stop.each(&problem.functions) {
            encoder.function(function?, stop)?;
        }
        Ok(encoder.encoding)
    }

    /// Returns the assignment that the last model chooses.
    pub fn assignment(&self, sat: &Sat) -> Vec<u32> {
        let value = |range: &[usize]| self.literals[range[0]..range[1]].iter().position(|&literal| sat.holds(literal));
        // if several values of a variable hold, each will do: clauses only state what values entail
        self.starts.windows(2).map(|range| value(range).unwrap_or(0) as u32).collect()
    }

    fn values(&self, variable: usize) -> Range<usize> {
        self.starts[variable]..self.starts[variable + 1]
    }
}

impl Encoder<'_> {
    fn variable(&mut self, variable: usize) {
        let domain = self.problem.domains[variable];
        let literals = &mut self.encoding.literals;
        let start = literals.len();
        if domain == 2 {
            let one = self.sat.literal();
            literals.extend([!one, one]);
        } else {
            literals.extend((0..domain).map(|_| self.sat.literal()));
        }
        self.encoding.starts.push(literals.len());
        let own: Vec<Lit> = literals[start..].to_vec();
        if domain != 2 {
            self.sat.add(&own);
        }
        // larger domains have no such clauses: they would be too many, and are not needed
        if (3..=DOMAIN).contains(&domain) {
            for (place, &one) in own.iter().enumerate() {
                own[..place].iter().for_each(|&other| self.sat.add(&[!one, !other]));
            }
        }
        let costs = &self.problem.unary[variable];
        let Some(levels) = self.levels(costs.iter().copied()) else { return };
        // a value that is alone at or above a level, or alone below it, stands for the level
        let alone = |range: Range<Cost>| {
            let mut inside =
                own.iter().zip(costs).filter(|&(_, cost)| range.contains(cost)).map(|(&literal, _)| literal);
            inside.next().filter(|_| inside.next().is_none())
        };
        let given = levels.iter().skip(1).map(|&level| {
            let below = || alone(Cost::MIN..level).filter(|_| domain <= DOMAIN).map(|literal| !literal);
            alone(level..self.limit).or_else(below)
        });
        let given: Vec<Option<Lit>> = given.collect();
        let outputs = self.outputs(&levels, given);
        for (&literal, &cost) in own.iter().zip(costs) {
            self.entails(vec![!literal], cost, &levels, &outputs);
        }
    }

    fn function(&mut self, function: &CostFunction, stop: &Stop) -> Result<(), Error> {
        let Some(levels) = self.levels(function.table.costs()) else { return Ok(()) };
        let outputs = self.outputs(&levels, vec![None; levels.len() - 1]);
        if let (Table::Sparse(table), Some(_)) = (&function.table, listed(function)) {
            for item in stop.each(table.iter()) {
                let (values, cost) = item?;
                self.entails(self.not_all(&function.scope, values), cost, &levels, &outputs);
            }
            return Ok(());
        }
        let Some((&last, others)) = function.scope.split_last() else { return Ok(()) };
        let domain = |v: &u32| self.problem.domains[*v as usize] as usize;
        let mut odometer = Odometer::new(others.iter().map(domain).collect());
        let (length, mut entries) = (domain(&last), function.entries(&self.problem.domains));
        loop {
            stop.check()?;
            let row: Vec<Cost> = entries.by_ref().take(length).collect();
            let Some(&least) = row.iter().min() else { return Ok(()) };
            let values: Vec<u32> = odometer.digits.iter().map(|&digit| digit as u32).collect();
            let clause = self.not_all(others, &values);
            // one clause states the least cost of the whole row
            self.entails(clause.clone(), least, &levels, &outputs);
            for (value, &cost) in (0..).zip(&row) {
                if cost > least && least < self.limit {
                    let mut clause = clause.clone();
                    clause.extend(self.not_all(&[last], &[value]));
                    self.entails(clause, cost, &levels, &outputs);
                }
            }
            if odometer.advance().is_none() {
                return Ok(());
            }
        }
    }

    /// Returns the different costs below the limit, ascending, and adds the least to the constant. If there are none,
    /// makes the clauses unsatisfiable.
    fn levels(&mut self, costs: impl Iterator<Item = Cost>) -> Option<Vec<Cost>> {
        let mut levels: Vec<Cost> = costs.filter(|&cost| cost < self.limit).collect();
        levels.sort_unstable();
        levels.dedup();
        match levels.first() {
            Some(&least) => self.encoding.constant += least,
            None => self.sat.add(&[]),
        }
        (!levels.is_empty()).then_some(levels)
    }

    /// Returns a literal for each level but the first, a new one if none is given.
    fn outputs(&mut self, levels: &[Cost], given: Vec<Option<Lit>>) -> Vec<Lit> {
        let mut outputs: Vec<Lit> = Vec::with_capacity(given.len());
        for (place, given) in given.into_iter().enumerate() {
            let output = given.unwrap_or_else(|| self.sat.literal());
            self.encoding.softs.push((!output, levels[place + 1] - levels[place]));
            if let Some(&below) = outputs.last() {
                self.add(&[!output, below]);
            }
            outputs.push(output);
        }
        outputs
    }

    /// Adds clauses by which the cost is at least `cost` if no literal of `clause` holds.
    fn entails(&mut self, mut clause: Vec<Lit>, cost: Cost, levels: &[Cost], outputs: &[Lit]) {
        if cost < self.limit {
            let Some(&output) = levels.partition_point(|&level| level < cost).checked_sub(1).map(|at| &outputs[at])
            else {
                return;
            };
            if clause == [!output] {
                return;
            }
            clause.push(output);
        }
        self.add(&clause);
    }

    fn not_all(&self, scope: &[u32], values: &[u32]) -> Vec<Lit> {
        let literal =
            |(&v, &value): (&u32, &u32)| !self.encoding.literals[self.encoding.values(v as usize)][value as usize];
        scope.iter().zip(values).map(literal).collect()
    }

    fn add(&mut self, clause: &[Lit]) {
        if let &[one, other] = clause
            && self.encoding.pairs.len() < PAIRS
        {
            self.encoding.pairs.push((one, other));
        }
        self.sat.add(clause);
    }
}
