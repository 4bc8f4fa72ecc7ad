//! The problem whose solutions are enumerated or counted, with an elimination order that ends with the requested
//! variables.

use crate::elimination::cap;
use crate::error::Error;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Problem};
use crate::order::{Method, Order, promising_order, restarts};
use crate::reduce::Reducer;
use crate::stop::Stop;
use std::sync::Arc;

/// The largest number of combinations of a function that is scanned as a whole: milliseconds.
const SCANNED: u64 = 1 << 22;

/// A problem of all variables of a network, without reductions, which would lose solutions.
pub(super) struct Setting {
    pub reducer: Reducer,
    pub problem: Arc<Problem>,
    /// By variable, whether its value makes a solution a different one.
    pub asked: Vec<bool>,
    /// Whether these variables include those that others determine, that is, all of them.
    pub asks_all: bool,
    pub order: Order,
    /// Position of the first requested variable in the order.
    pub first: usize,
}

impl Setting {
    /// Creates the problem of a network; `of` are the requested variables, all if it is `None`.
    ///
    /// # Errors
    /// Returns an error if a variable does not exist, if values do not fit into memory, or if `stop` is set.
    pub fn new(network: &Network, of: Option<&[u32]>, stop: &Stop) -> Result<Setting, Error> {
        let count = network.domains().len();
        let (reducer, problem) = Reducer::unreduced(network, stop)?;
        let mut asked = vec![false; problem.variables()];
        match of {
            None => asked[..count].fill(true),
            Some(of) => {
                for &v in of {
                    let unknown = || Error::Usage(format!("there is no variable {v}: there are {count}"));
                    *asked[..count].get_mut(v as usize).ok_or_else(unknown)? = true;
                }
            }
        }
        add_determined(&problem, &mut asked, stop)?;
        let problem = Arc::new(problem);
        let (order, first) = order(&problem, &asked, stop)?;
        Ok(Setting { reducer, problem, asks_all: !asked.contains(&false), asked, order, first })
    }

    /// Returns whether some finite cost is not 0.
    pub fn has_costs(&self) -> bool {
        let is_cost = |cost: Cost| cost != 0 && cost < FORBIDDEN;
        self.problem.unary.iter().flatten().any(|&cost| is_cost(cost))
            || self.problem.functions.iter().any(|function| function.table.costs().any(is_cost))
    }

    /// Returns whether every assignment that no function forbids costs less than `ub`.
    pub fn all_below(&self, ub: Cost, stop: &Stop) -> Result<bool, Error> {
        let sum = cap(&self.problem, FORBIDDEN, stop)? - 1;
        Ok(ub >= FORBIDDEN || self.problem.constant.saturating_add(sum) < ub)
    }

    /// Replaces finite costs by 0.
    pub fn forget_costs(&mut self) {
        let problem = Arc::make_mut(&mut self.problem);
        let hard = |cost: Cost| if cost >= FORBIDDEN { FORBIDDEN } else { 0 };
        problem.unary.iter_mut().flatten().for_each(|cost| *cost = hard(*cost));
        problem.functions.iter_mut().for_each(|function| function.table = function.table.map(hard));
        (problem.constant, problem.top) = (hard(problem.constant), FORBIDDEN);
    }
}

/// Returns an elimination order that ends with the requested variables, and the position of the first of them.
fn order(problem: &Problem, asked: &[bool], stop: &Stop) -> Result<(Order, usize), Error> {
    let (rules, seeds) = ([Method::MinFill, Method::WeightedMinFill], restarts(problem));
    let mut order = if asked.contains(&false) {
        let runs = (1..=u64::from(seeds)).flat_map(|seed| rules.map(|rule| (rule, seed)));
        let orders = stop.each(runs).map(|run| {
            let (rule, seed) = run?;
            Ok(Order::constrained(problem, rule, seed, asked, f64::INFINITY, stop))
        });
        let orders: Vec<Order> = orders.collect::<Result<_, Error>>()?;
        let best = orders.into_iter().min_by(|a, b| a.joint_entries.total_cmp(&b.joint_entries));
        best.expect("at least one seed")
    } else {
        promising_order(problem, &rules, 1, seeds, stop)
    };
    stop.check()?;
    // the order may list connected components one after the other, so the requested variables are moved to the end
    let is_asked = |v: &u32| asked[*v as usize];
    order.sequence.sort_by_key(is_asked);
    let first = order.sequence.partition_point(|v| !is_asked(v));
    Ok((order, first))
}

/// Adds to the requested variables those that they determine, such as counters of sums. This adds no solutions, and
/// constrains the order less.
fn add_determined(problem: &Problem, asked: &mut [bool], stop: &Stop) -> Result<(), Error> {
    let mut of = vec![Vec::new(); problem.variables()];
    let mut open: Vec<usize> = Vec::with_capacity(problem.functions.len());
    let mut ready = Vec::new();
    for (index, function) in problem.functions.iter().enumerate() {
        function.scope.iter().for_each(|&v| of[v as usize].push(index));
        open.push(function.scope.iter().filter(|&&v| !asked[v as usize]).count());
        ready.extend((open[index] == 1).then_some(index));
    }
    while let Some(index) = ready.pop() {
        stop.check()?;
        let function = &problem.functions[index];
        let Some(place) = function.scope.iter().position(|&v| !asked[v as usize]) else { continue };
        if determines(problem, function, place) {
            let v = function.scope[place] as usize;
            asked[v] = true;
            for &index in &of[v] {
                open[index] -= 1;
                ready.extend((open[index] == 1).then_some(index));
            }
        }
    }
    Ok(())
}

/// Returns whether a function admits at most one value of the variable at `place` for each combination of the others;
/// `false` for functions too large to scan.
fn determines(problem: &Problem, function: &CostFunction, place: usize) -> bool {
    let (domains, v) = (&problem.domains, function.scope[place] as usize);
    let (size, all) = (domains[v] as usize, function.combinations(domains));
    if all > SCANNED {
        return false;
    }
    let inner = function.scope[place + 1..].iter().map(|&v| domains[v as usize] as usize).product::<usize>();
    let mut met = vec![false; all as usize / size];
    function.entries(domains).enumerate().all(|(index, cost)| {
        let (outer, value) = (index / inner / size, index / inner % size);
        let is_allowed = cost < FORBIDDEN && problem.unary[v][value] < FORBIDDEN;
        !is_allowed || !std::mem::replace(&mut met[outer * inner + index % inner], true)
    })
}
