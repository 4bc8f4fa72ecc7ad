//! A network as an integer program: a column for each value of each variable, and rows that bound weighted sums.
//!
//! Weighted sums, counts and equal distributions (`Linear`, `Counting`, `Same`) are rows. The tuples of a table are the
//! values of a variable of its own, and rows tie them to the values of the table's variables (the local polytope).
//! Chains of other global functions count as their least cost, so the program is then a relaxation.

use crate::error::Error;
use crate::model::{
    Cost, CostFunction, CountCost, Counting, FORBIDDEN, Function, Global, GlobalKind, Linear, Measure, Network, Price,
    Same, Target, add,
};
use crate::stop::Stop;
use crate::tuning::tuning;

/// No limit of a row's total.
pub const NO_LOW: i64 = i64::MIN;
/// No limit of a row's total.
pub const NO_HIGH: i64 = i64::MAX;
/// The largest sum of the absolute weights of a row, so that totals and distances fit 64 bits.
const LARGEST: u128 = 1 << 60;

/// A weighted sum of the values, with bounds on its total and the prices of each unit beyond them.
#[derive(Clone, Debug)]
pub struct Row {
    pub low: i64,
    pub high: i64,
    /// The cost of each unit below `low`; [`FORBIDDEN`] if the bound is hard.
    pub short: Cost,
    /// The cost of each unit above `high`; [`FORBIDDEN`] if the bound is hard.
    pub excess: Cost,
    /// The weighted columns, ascending.
    pub terms: Vec<(u32, i64)>,
}

/// An integer program whose minimum is at most the optimum of the network.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// First column of each variable, then the number of columns. The network's variables come first.
    pub firsts: Vec<u32>,
    /// The variable of each column.
    pub owner: Vec<u32>,
    /// The cost of each column; [`FORBIDDEN`] if no solution uses it.
    pub costs: Vec<Cost>,
    pub constant: Cost,
    pub rows: Vec<Row>,
    /// For each column its rows and weights.
    pub terms: Vec<Vec<(u32, i64)>>,
    /// Number of rows that are the network's own; covers follow.
    pub own_rows: usize,
    /// Number of variables of the network.
    pub own: usize,
    /// Whether each solution costs as much in the program as in the network.
    pub is_exact: bool,
    /// All costs of solutions differ by multiples of this.
    pub step: Cost,
    /// The cost of an assignment without the prices of rows.
    base: i128,
}

impl Program {
    /// Makes the program of a network.
    ///
    /// # Errors
    /// Returns [`Error::Usage`] if the network has no weighted sums, [`Error::Memory`] if the program is too large, and
    /// [`Error::Stopped`] once `stop` is set.
    pub fn new(network: &Network, stop: &Stop) -> Result<Program, Error> {
        let mut program = Program { own: network.domains().len(), is_exact: true, ..Program::default() };
        for &domain in network.domains() {
            program.variable(std::iter::repeat_n(0, domain as usize));
        }
        let most = tuning().linear.columns;
        let is_too_large = || Error::Memory(format!("the linear program has more than {most} values"));
        if program.costs.len() > most {
            return Err(is_too_large());
        }
        let mut parts = Vec::new();
        for number in 0..network.function_count() {
            stop.check()?;
            match network.function(number) {
                Some(Function::Global(global)) => {
                    if program.global(global) {
                        continue;
                    }
                    let own = network.domains().len() as u32;
                    program.is_exact &= !network.parts(number).any(|part| part.scope.iter().any(|&v| v >= own));
                    parts.extend(network.parts(number));
                }
                Some(Function::Table(function)) => parts.push(function),
                None => {}
            }
        }
        let domains = network.expanded().domains();
        let (mut tables, mut entries) = (Vec::new(), 0u64);
        for function in parts {
            match function.scope[..] {
                [v] if (v as usize) < program.own => program.unary(function, v, domains),
                ref scope if !scope.is_empty() && scope.iter().all(|&v| (v as usize) < program.own) => {
                    let sizes = scope.iter().map(|&v| u64::from(domains[v as usize]));
                    entries = entries.saturating_add(sizes.fold(1, u64::saturating_mul));
                    tables.push(function);
                }
                // a constant, or a table of variables that only a chain has
                _ => program.constant = add(program.constant, function.min(domains)),
            }
        }
        if program.rows.is_empty() {
            return Err(Error::Usage(
                "linear needs functions that are weighted sums or counts: it does not run".into(),
            ));
        }
        let fit = entries <= tuning().linear.tuples;
        for function in tables {
            stop.check()?;
            program.table(function, domains, fit);
        }
        program.own_rows = program.rows.len();
        program.index();
        if program.terms.iter().map(Vec::len).sum::<usize>() > most {
            return Err(is_too_large());
        }
        program.step = program.common_step();
        let first = |v: usize| program.costs[program.columns(v)].iter().find(|&&cost| cost < FORBIDDEN);
        let firsts = (0..program.variables()).filter_map(first).map(|&cost| i128::from(cost));
        program.base = firsts.sum::<i128>() + i128::from(program.constant);
        Ok(program)
    }

    /// Keeps the covers that `is_kept` names by their number among all rows, and adds others.
    pub fn replace_covers(&mut self, is_kept: impl Fn(usize) -> bool, more: Vec<Row>) {
        let mut number = 0;
        self.rows.retain(|_| {
            number += 1;
            number <= self.own_rows || is_kept(number - 1)
        });
        self.rows.extend(more);
        self.index();
    }

    /// Lists the rows of each column.
    fn index(&mut self) {
        self.terms = vec![Vec::new(); self.costs.len()];
        for (number, row) in (0..).zip(&self.rows) {
            row.terms.iter().for_each(|&(column, weight)| self.terms[column as usize].push((number, weight)));
        }
    }

    /// Returns the approximate bytes of the program and of the methods that work on it.
    pub fn bytes(&self) -> u64 {
        let terms: usize = self.terms.iter().map(Vec::len).sum();
        (128 * (self.costs.len() + self.rows.len()) + 96 * terms) as u64
    }

    /// Returns the columns of a variable.
    pub fn columns(&self, variable: usize) -> std::ops::Range<usize> {
        self.firsts[variable] as usize..self.firsts[variable + 1] as usize
    }

    /// Returns the number of variables, those of tables included.
    pub fn variables(&self) -> usize {
        self.firsts.len() - 1
    }

    fn variable(&mut self, costs: impl Iterator<Item = Cost>) {
        let variable = self.firsts.len().max(1) as u32 - 1;
        if self.firsts.is_empty() {
            self.firsts.push(0);
        }
        self.costs.extend(costs);
        self.owner.resize(self.costs.len(), variable);
        self.firsts.push(self.costs.len() as u32);
    }

    fn unary(&mut self, function: &CostFunction, v: u32, domains: &[u32]) {
        let mut values = vec![0; domains.len()];
        for column in self.columns(v as usize) {
            values[v as usize] = column as u32 - self.firsts[v as usize];
            self.costs[column] = add(self.costs[column], function.cost(domains, &values));
        }
    }

    /// Adds a variable for the tuples of a table, and the rows that tie it to the table's variables; only the least
    /// cost if it does not fit.
    fn table(&mut self, function: &CostFunction, domains: &[u32], fits: bool) {
        if !fits {
            self.is_exact = false;
            self.constant = add(self.constant, function.min(domains));
            return;
        }
        let scope = &function.scope;
        let mut values = vec![0; domains.len()];
        let (mut tuples, mut costs) = (Vec::new(), Vec::new());
        loop {
            let cost = function.cost(domains, &values);
            if cost < FORBIDDEN {
                tuples.push(scope.iter().map(|&v| values[v as usize]).collect::<Vec<u32>>());
                costs.push(cost);
            }
            let Some(&next) = scope.iter().rev().find(|&&v| values[v as usize] + 1 < domains[v as usize]) else {
                break;
            };
            let after = scope.iter().rev().take_while(|&&v| v != next);
            after.for_each(|&v| values[v as usize] = 0);
            values[next as usize] += 1;
        }
        let first = self.costs.len() as u32;
        if costs.is_empty() {
            // no tuple is feasible
            (tuples, costs) = (vec![vec![0; scope.len()]], vec![FORBIDDEN]);
        }
        self.variable(costs.into_iter());
        for (place, &v) in scope.iter().enumerate() {
            // the row of the first value follows from the others
            for value in 1..domains[v as usize] {
                let of_tuples = (first..).zip(&tuples).filter(|(_, tuple)| tuple[place] == value);
                let mut terms = vec![(self.firsts[v as usize] + value, -1)];
                terms.extend(of_tuples.map(|(column, _)| (column, 1)));
                self.rows.push(Row { low: 0, high: 0, short: FORBIDDEN, excess: FORBIDDEN, terms });
            }
        }
    }

    /// Adds the rows of a global function. Returns whether it is a sum.
    fn global(&mut self, global: &Global) -> bool {
        match &global.kind {
            GlobalKind::Linear(linear) => self.linear(linear, global),
            GlobalKind::Counting(counting) => self.counting(counting, global),
            GlobalKind::Same(same) => self.same(same, global),
            _ => return false,
        }
        true
    }

    fn linear(&mut self, Linear { weights, target, price, at_most_one }: &Linear, global: &Global) {
        let of = |place: usize, value: u32| weights[place][value as usize];
        match *target {
            Target::Within(low, high) => self.row(global, [low, high], *price, of),
            Target::Not(_) => self.is_exact = false,
        }
        for set in at_most_one {
            let times =
                |place: usize, value: u32| set.iter().filter(|&&pair| pair == (place as u32, value)).count() as i64;
            self.row(global, [0, 1], Price::HARD, times);
        }
    }

    fn counting(&mut self, Counting { bounds, cost, classes }: &Counting, global: &Global) {
        for (k, bound) in bounds.iter().enumerate() {
            let class = |place: usize, value: u32| match classes {
                Some(classes) => classes[place][value as usize],
                None => value,
            };
            let is = |place: usize, value: u32| i64::from(class(place, value) == bound.value);
            let limits = [bound.low, bound.high];
            match cost {
                CountCost::Each(price) => self.row(global, limits, *price, is),
                CountCost::Weighted(costs) => {
                    let linear = |cost: Cost| Price { cost, measure: Measure::Linear };
                    let (short, excess) = costs[k];
                    self.row(global, [bound.low, NO_HIGH], linear(short), is);
                    self.row(global, [NO_LOW, bound.high], linear(excess), is);
                }
                CountCost::Larger(_) => self.is_exact = false,
            }
        }
    }

    fn same(&mut self, same: &Same, global: &Global) {
        let times = |group: &[u32], place: usize| group.iter().filter(|&&own| own as usize == place).count() as i64;
        let largest = global.scope.iter().map(|&v| self.columns(v as usize).len() as u32).max().unwrap_or(0);
        for value in 0..largest {
            let low = if same.one_sided { NO_LOW } else { 0 };
            let apart = |place: usize, own: u32| {
                if own == value { times(&same.left, place) - times(&same.right, place) } else { 0 }
            };
            self.row(global, [low, 0], same.price, apart);
            for bound in same.bounds.iter().filter(|bound| bound.value == value) {
                for group in [&same.left, &same.right] {
                    let counted = |place: usize, own: u32| if own == value { times(group, place) } else { 0 };
                    self.row(global, [bound.low, bound.high], same.price, counted);
                }
            }
        }
    }

    /// Adds a row with its price. A price for each deviation alike becomes a binary variable that pays for any; one
    /// that grows with the square becomes a linear one.
    fn row(&mut self, global: &Global, [low, high]: [i64; 2], price: Price, weight: impl Fn(usize, u32) -> i64) {
        let mut terms: Vec<(u32, i64)> = Vec::new();
        let (mut least, mut most) = (0i128, 0i128);
        for (place, &v) in global.scope.iter().enumerate() {
            let columns = self.columns(v as usize);
            let weights = (0..columns.len() as u32).map(|value| i128::from(weight(place, value)));
            least += weights.clone().min().unwrap_or(0);
            most += weights.clone().max().unwrap_or(0);
            terms.extend(
                (columns.start as u32..).zip(0..columns.len() as u32).filter_map(|(column, value)| {
                    Some((column, weight(place, value))).filter(|&(_, weight)| weight != 0)
                }),
            );
        }
        terms.sort_unstable();
        let size = terms.iter().map(|&(_, weight)| u128::from(weight.unsigned_abs())).sum::<u128>();
        // bounds that no total passes are dropped
        let low = if i128::from(low) <= least { NO_LOW } else { low };
        let high = if i128::from(high) >= most { NO_HIGH } else { high };
        if low == NO_LOW && high == NO_HIGH || price.cost == 0 {
            return;
        }
        let reach = [low, high].into_iter().filter(|&end| end != NO_LOW && end != NO_HIGH).map(i64::unsigned_abs);
        if size > LARGEST || reach.map(u128::from).any(|end| end > LARGEST) {
            // rounded, the row would no longer be the network's own
            self.is_exact = false;
            return;
        }
        let hard = Row { low, high, short: FORBIDDEN, excess: FORBIDDEN, terms };
        match price.measure {
            _ if price.cost >= FORBIDDEN => self.rows.push(hard),
            Measure::Hard => {
                let column = self.costs.len() as u32;
                self.variable([0, price.cost].into_iter());
                // the binary variable makes up for the largest deviation
                for row in [Row { high: NO_HIGH, ..hard.clone() }, Row { low: NO_LOW, ..hard }] {
                    let gap = match (row.low, row.high) {
                        (NO_LOW, NO_HIGH) => continue,
                        (low, NO_HIGH) => i128::from(low) - least,
                        (_, high) => i128::from(high) - most,
                    };
                    let mut row = row;
                    row.terms.push((column, gap as i64));
                    self.rows.push(row);
                }
            }
            measure => {
                // the square of an integer is at least its absolute value
                self.is_exact &= measure == Measure::Linear;
                self.rows.push(Row { short: price.cost, excess: price.cost, ..hard });
            }
        }
    }

    /// Returns the cost of an assignment of the program, from which others differ by multiples of `step`.
    pub fn base(&self) -> i128 {
        self.base
    }

    /// Returns the greatest common divisor of all differences of costs; 1 if the program is a relaxation.
    fn common_step(&self) -> Cost {
        if !self.is_exact {
            return 1;
        }
        let mut step = 0;
        for v in 0..self.variables() {
            let costs = self.costs[self.columns(v)].iter().filter(|&&cost| cost < FORBIDDEN);
            let Some(&first) = costs.clone().next() else { continue };
            step = costs.fold(step, |step, &cost| gcd(step, cost.abs_diff(first)));
        }
        let prices = self.rows.iter().flat_map(|row| [row.short, row.excess]).filter(|&price| price < FORBIDDEN);
        prices.fold(step, |step, price| gcd(step, price.unsigned_abs())).clamp(1, 1 << 60) as Cost
    }
}

fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}
