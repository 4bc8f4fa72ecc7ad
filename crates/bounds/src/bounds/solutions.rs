//! Enumeration of all solutions up to a cost: depth-first search along the reverse elimination order, pruned by
//! mini-bucket messages. If the tables are exact, every branch ends at a solution.

use crate::check::{self, Evaluation};
use crate::elimination::{CostToGo, Limits, Outcome, Plan, Progress, Run, cap};
use crate::error::Error;
use crate::memory;
use crate::model::{Cost, CostFunction, FORBIDDEN, Network, Number, Problem};
use crate::order::{Method, Order, promising_order, restarts};
use crate::reduce::Reducer;
use crate::stop::Stop;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes of the first tables, which take milliseconds.
const FIRST: u64 = 1 << 20;
/// Growth factor of the tables: earlier tables then cost little compared with the last ones.
const GROWTH: u64 = 8;
/// Combinations that elimination visits in the time in which the search tries one value: a microsecond or two.
const VALUE_WORK: u64 = 256;
/// Combinations between two checks of the stop flag, and the largest table that is scanned as a whole: milliseconds.
const SLICE: u64 = 1 << 22;

/// Which solutions to enumerate, for example `SolutionOptions::default().with(|options| options.worst =
/// Some(3.0.into()))`.
#[derive(Clone, Debug)]
pub struct SolutionOptions {
    /// Variables whose joint values must differ between any two solutions. `None` means all variables.
    pub of: Option<Vec<u32>>,
    /// The worst value of a reported solution, in the file's convention; `None` means any.
    pub worst: Option<Number>,
    /// Memory limit of the tables in bytes.
    pub memory: u64,
}

impl Default for SolutionOptions {
    fn default() -> Self {
        SolutionOptions { of: None, worst: None, memory: memory::available() / 2 }
    }
}

impl SolutionOptions {
    /// Returns these options after `change` has been applied.
    pub fn with(mut self, change: impl FnOnce(&mut SolutionOptions)) -> SolutionOptions {
        change(&mut self);
        self
    }
}

/// The receiver of each solution.
type Tell<'a> = &'a mut dyn FnMut(&[u32], &Evaluation) -> ControlFlow<()>;

/// Enumerates the solutions that the options select, each evaluated by [`check`], until `tell` breaks. Their order is
/// deterministic, but not by cost. Returns whether all solutions were reported.
///
/// ```
/// use fangs_bounds::bounds::{SolutionOptions, solutions};
/// use std::ops::ControlFlow;
///
/// let network = fangs_generate::generate("coloring", &[("n", "5"), ("p", "0"), ("k", "2")], 1)?;
/// let mut count = 0;
/// let all = solutions(&network, &SolutionOptions::default(), &fangs_base::stop::Stop::new(), &mut |_, _| {
///     count += 1;
///     ControlFlow::Continue(())
/// })?;
/// assert!(all && count == 32);
/// # Ok::<(), fangs_base::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Memory`] if even the smallest tables do not fit, and an error if a variable does not exist. A set
/// stop flag is no error: the function then returns `false`.
pub fn solutions(network: &Network, options: &SolutionOptions, stop: &Stop, tell: Tell<'_>) -> Result<bool, Error> {
    match all(network, options, FIRST, stop, tell) {
        Err(Error::Stopped) => Ok(false),
        ended => ended,
    }
}

fn all(
    network: &Network,
    options: &SolutionOptions,
    first_tables: u64,
    stop: &Stop,
    tell: Tell<'_>,
) -> Result<bool, Error> {
    let count = network.domains().len();
    let (reducer, problem) = Reducer::unreduced(network, stop)?;
    let mut asked = vec![false; problem.variables()];
    match &options.of {
        None => asked[..count].fill(true),
        Some(of) => {
            for &v in of {
                let unknown = || Error::Usage(format!("there is no variable {v}: there are {count}"));
                *asked[..count].get_mut(v as usize).ok_or_else(unknown)? = true;
            }
        }
    }
    let units = network.units();
    // one more, because of rounding; the comparison of values below decides
    let limit = |worst: Number| units.largest_cost(worst).saturating_add(1);
    let ub = options.worst.map_or(FORBIDDEN, limit).min(problem.top);
    // messages are clamped to this cost, so they cannot distinguish higher ones
    let ub = ub.min(problem.constant.saturating_add(cap(&problem, ub, stop)?));
    let mut leaf = |core: &[u32]| {
        let assignment = reducer.lift(core, stop)?;
        let evaluation = check::evaluate(network, &assignment);
        let value = units.number(evaluation.cost);
        let is_worse = options.worst.is_some_and(|worst| units.is_better(worst, value));
        if !evaluation.is_solution() || is_worse {
            return Ok(Leaf::Refused);
        }
        Ok(if tell(&assignment, &evaluation).is_break() { Leaf::Last } else { Leaf::Taken })
    };
    add_determined(&problem, &mut asked, stop)?;
    let problem = Arc::new(problem);
    let (order, first) = order(&problem, &asked, stop)?;
    let mut walk = Walk::new(&problem, ub, first);
    let mut size = first_tables;
    let mut outcome = eliminated(&problem, &order, size.min(options.memory), ub, stop)?;
    loop {
        let Some(guide) = outcome.cost_to_go() else { return Err(Error::Memory("messages of mini-buckets".into())) };
        // larger tables once the search with these has taken as long as they took
        let is_last = outcome.plan.exact || size >= options.memory;
        let steps = if is_last { u64::MAX } else { outcome.plan.joint_entries.div_ceil(VALUE_WORK) };
        if let Some(end) = walk.search(&guide, steps, stop, &mut leaf)? {
            return Ok(end);
        }
        size = size.saturating_mul(GROWTH);
        match eliminated(&problem, &order, size.min(options.memory), ub, stop) {
            Ok(larger) => outcome = larger,
            // the search continues with the present tables
            Err(Error::Memory(_)) => size = u64::MAX,
            Err(error) => return Err(error),
        }
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
    if all > SLICE {
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

/// Returns mini-bucket messages of at most `bytes` bytes for solutions that cost less than `ub`.
fn eliminated(problem: &Arc<Problem>, order: &Order, bytes: u64, ub: Cost, stop: &Stop) -> Result<Outcome, Error> {
    let limits = Limits::new(bytes).with(|limits| limits.ub = Some(ub));
    let mut run = Run::new(problem.clone(), Plan::until(problem, order, &limits, stop)?);
    while run.advance(SLICE, stop) == Progress::More {
        stop.check()?;
    }
    match run.take_failure() {
        Some(error) => Err(error),
        None => run.finish().ok_or(Error::Stopped),
    }
}

/// What the receiver makes of a complete assignment.
enum Leaf {
    Refused,
    Taken,
    Last,
}

/// The path of a depth-first search: positions of the order from `position` on are assigned, and the preceding position
/// tries its next value.
struct Walk {
    ub: Cost,
    /// First position of the requested variables.
    first: usize,
    position: usize,
    /// Values by variable.
    values: Vec<u32>,
    /// Next value to try, by position.
    next: Vec<u32>,
    /// Amount by which each value raises the bound, by position.
    rows: Vec<Vec<Cost>>,
    /// Bound when the positions from here on are assigned.
    bounds: Vec<Cost>,
}

impl Walk {
    fn new(problem: &Problem, ub: Cost, first: usize) -> Walk {
        let count = problem.variables();
        let rows = problem.unary.iter().map(|_| Vec::new()).collect();
        let (values, next, bounds) = (vec![0; count], vec![0; count], vec![0; count + 1]);
        Walk { ub, first, position: count, values, next, rows, bounds }
    }

    /// Computes the amount by which each value of a position raises the bound.
    fn rate(&mut self, guide: &CostToGo<'_>, position: usize) {
        let row = &mut self.rows[position];
        row.resize(guide.domain(position), 0);
        guide.rate(position, &self.values, row);
    }

    /// Tries at most `steps` values with these messages. Returns `None` if the search is not over, else whether all
    /// solutions were reported.
    fn search(
        &mut self,
        guide: &CostToGo<'_>,
        steps: u64,
        stop: &Stop,
        leaf: &mut dyn FnMut(&[u32]) -> Result<Leaf, Error>,
    ) -> Result<Option<bool>, Error> {
        let count = guide.positions();
        self.bounds[count] = guide.start();
        if self.bounds[count] >= self.ub {
            return Ok(Some(true));
        }
        if count == 0 {
            return Ok(Some(!matches!(leaf(&self.values)?, Leaf::Last)));
        }
        // bounds the present path by these messages, and cuts it where they exclude it
        for position in (self.position..count).rev() {
            self.rate(guide, position);
            let value = self.values[guide.variable(position) as usize] as usize;
            self.bounds[position] = self.bounds[position + 1].saturating_add(self.rows[position][value]);
            if self.bounds[position] >= self.ub {
                self.position = position + 1;
                break;
            }
        }
        self.rate(guide, self.position - 1);
        for _ in 0..steps {
            stop.check()?;
            let (place, before) = (self.position - 1, self.bounds[self.position]);
            let may = |&value: &usize| before.saturating_add(self.rows[place][value]) < self.ub;
            let Some(value) = (self.next[place] as usize..self.rows[place].len()).find(may) else {
                if self.position == count {
                    return Ok(Some(true));
                }
                self.position += 1;
                continue;
            };
            self.next[place] = value as u32 + 1;
            self.values[guide.variable(place) as usize] = value as u32;
            self.bounds[place] = before.saturating_add(self.rows[place][value]);
            if place > 0 {
                self.position = place;
                self.next[place - 1] = 0;
                self.rate(guide, place - 1);
                continue;
            }
            match leaf(&self.values)? {
                Leaf::Refused => {}
                Leaf::Last => return Ok(Some(false)),
                // other values of variables that were not requested make no different solution
                Leaf::Taken if self.first == count => return Ok(Some(true)),
                Leaf::Taken => self.position = self.first + 1,
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_testing::networks::{assignments, random};
    use std::collections::BTreeSet;

    /// Returns the solutions, and whether they are all; the receiver breaks after `most` of them.
    fn found(network: &Network, options: &SolutionOptions, first: u64, most: usize) -> (Vec<Vec<u32>>, bool) {
        let (mut solutions, stop) = (Vec::new(), Stop::new());
        let mut tell = |assignment: &[u32], evaluation: &Evaluation| {
            assert_eq!(evaluation.cost, check::evaluate(network, assignment).cost);
            solutions.push(assignment.to_vec());
            if solutions.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let complete = all(network, options, first, &stop, &mut tell).expect("small tables");
        (solutions, complete)
    }

    #[test]
    fn solutions_are_those_of_enumeration_each_once() {
        let (mut rng, mut count) = (Rng::new(5), [0; 3]);
        for case in 0..3000 {
            let network = if case % 2 == 0 { random(&mut rng) } else { fangs_testing::globals::network(&mut rng) };
            let variables = network.domains().len();
            let of = (rng.below(2) == 0).then(|| (0..variables as u32).filter(|_| rng.below(2) == 0).collect());
            let every = assignments(&network).into_iter().map(|values| (check::evaluate(&network, &values), values));
            let every: Vec<_> = every.filter(|(evaluation, _)| evaluation.is_solution()).collect();
            let worst = every.get(rng.index(every.len().max(1))).filter(|_| rng.below(2) == 0);
            let worst = worst.map(|(evaluation, _)| network.units().number(evaluation.cost));
            let options = SolutionOptions::default().with(|options| (options.of, options.worst) = (of.clone(), worst));
            let wanted = every
                .iter()
                .filter(|(evaluation, _)| worst.is_none_or(|worst| network.units().number(evaluation.cost) <= worst));
            let part = |values: &Vec<u32>| match &of {
                Some(of) => of.iter().map(|&v| values[v as usize]).collect(),
                None => values.clone(),
            };
            let wanted: BTreeSet<Vec<u32>> = wanted.map(|(_, values)| part(values)).collect();
            // some of the first tables are so small that they hardly bound anything
            let first = [FIRST, 8, 256][rng.index(3)];
            let (solutions, complete) = found(&network, &options, first, usize::MAX);
            let parts: Vec<Vec<u32>> = solutions.iter().map(part).collect();
            assert!(complete && parts.len() == wanted.len(), "case {case}: {} of {}", parts.len(), wanted.len());
            assert_eq!(parts.into_iter().collect::<BTreeSet<_>>(), wanted, "case {case}");
            if solutions.len() > 1 {
                let (few, complete) = found(&network, &options, first, solutions.len() / 2);
                assert!(!complete && few.len() == solutions.len() / 2 && few[..] == solutions[..few.len()]);
            }
            count[solutions.len().min(2)] += 1;
        }
        assert!(count.iter().all(|&count| count > 100), "{count:?}");
    }

    #[test]
    fn values_are_compared_in_the_files_convention() {
        let mut builder = Network::builder("t");
        let _ = builder.variable(4).expect("a variable");
        let _ = builder.dense(&[0], vec![28, 29, 30, 31]).expect("a table");
        for maximise in [false, true] {
            let _ = builder.units(crate::model::Units { decimals: 2, maximise, rounded: 0 });
            let network = builder.clone().build();
            let worst = Some(if maximise { -0.29 } else { 0.29 });
            let options = SolutionOptions::default().with(|options| options.worst = worst.map(Number::Real));
            assert_eq!(found(&network, &options, FIRST, 9), (vec![vec![0], vec![1]], true));
        }
    }

    #[test]
    fn forbidden_values_end_branches() {
        let mut builder = Network::builder("t");
        (0..40).for_each(|_| drop(builder.variable(10)));
        for v in 1..40 {
            let equal = (0..100).map(|entry| if entry % 11 == 0 { 0 } else { FORBIDDEN });
            let _ = builder.dense(&[v - 1, v], equal.collect()).expect("a table");
        }
        let (solutions, complete) = found(&builder.build(), &SolutionOptions::default(), FIRST, usize::MAX);
        assert!(complete && solutions.len() == 10);
    }

    #[test]
    fn a_stop_leaves_what_was_told() {
        let network = crate::generate::generate("coloring", &[("n", "40"), ("p", "0.05"), ("k", "3")], 1);
        let (stop, mut count) = (Stop::new(), 0);
        let all = solutions(&network.expect("a family"), &SolutionOptions::default(), &stop, &mut |_, _| {
            count += 1;
            if count == 1000 {
                stop.set(crate::stop::Cause::Signal);
            }
            ControlFlow::Continue(())
        });
        assert!(matches!(all, Ok(false)) && (1000..3000).contains(&count), "{count}");
    }
}
