//! The context of a search: a problem prepared for local search, which all drivers share.

use crate::error::Error;
use crate::fang::gcd;
use crate::forest::Forest;
use crate::graph::{Graph, Region};
use crate::heuristics::{Origin, View};
use crate::interchangeable::interchangeable;
use crate::layout::MoveLayout;
use crate::lazy::Lazy;
use crate::model::{Cost, Network, Problem};
use crate::quadratic::form::SweepForm;
use crate::quadratic::is_form;
use crate::reduce::{ReducedProblem, Reducer};
use crate::rng::{Rng, mix};
use crate::row_shape::RowShape;
use crate::schedule::Schedule;
use crate::size::is_dense;
use crate::stop::Stop;
use crate::sum_space::SumSpace;
use crate::threads;
use crate::tuning::size::{LARGE_CHILD_WORK, LEAST_SWEEPS};
use crate::tuning::tuning;
use crate::value_tables::ValueTables;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The options of a run that decide how a problem is prepared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// The requested number of states; `None` if none was requested.
    pub population: Option<usize>,
    /// Whether the run must be equal on every machine and device.
    pub portable: bool,
    /// Whether a single driver is selected, whatever the size.
    pub one_driver: bool,
    /// Whether there is a heuristic, which reads tables.
    pub has_heuristic: bool,
    /// Whether the tables of all functions are laid out, whatever their size.
    pub needs_tables: bool,
}

/// A reduced problem prepared for local search.
#[derive(Debug)]
pub struct SearchContext {
    /// The tables of each variable.
    pub tables: ValueTables,
    /// The constraint graph: variables are adjacent if they share a function.
    pub graph: Graph,
    /// The order in which sweeps visit the variables.
    pub order: SweepOrder,
    /// The temperatures of anneals.
    pub schedule: Schedule,
    /// The number of values if all are interchangeable, as colors are.
    pub interchangeable: Option<usize>,
    /// The constant part of the cost of every assignment.
    pub constant: Cost,
    /// Approximate work of visiting every variable once, in nanoseconds of one CPU core.
    pub sweep_work: u64,
    size: Size,
    /// The requested number of states; `None` if none was requested.
    pub population: Option<usize>,
    /// Whether the run must be equal on every machine and device.
    pub portable: bool,
    /// The reductions that led from the network to the problem; `None` if the problem is the network.
    pub origin: Option<Arc<Reducer>>,
    /// The network with its linear sums, if it has functions that are sums, for which the problem has chains of tables.
    pub sums: Option<Arc<SumSpace>>,
    original: Original,
    on_demand: OnDemand,
    reduced: Mutex<Reduced>,
}

/// The order in which sweeps assign the variables.
#[derive(Debug)]
pub struct SweepOrder {
    /// Color classes of the constraint graph. Sweeps assign one class after the other, because the variables of a class
    /// are not adjacent.
    pub classes: Vec<Vec<u32>>,
    /// Strides of the orders in which sweeps visit the classes: numbers below that of the classes and coprime to it.
    pub strides: Vec<u32>,
}

/// The size of a problem, which decides how it is searched.
#[derive(Debug)]
struct Size {
    /// Whether functions have rows in the tables, and edges in the graph.
    has_rows: bool,
    is_large: bool,
    is_vast: bool,
    has_one_state: bool,
    falls_into_parts: bool,
}

/// The network as it was read, if the problem comes from one.
#[derive(Debug, Default)]
struct Original {
    network: Option<Network>,
    is_quadratic: OnceLock<bool>,
    form: Lazy<Option<Arc<SweepForm>>>,
}

/// Data that are made when a driver first asks for them, and the seeds of their random draws.
#[derive(Debug)]
struct OnDemand {
    forest_draw: u64,
    forests: Lazy<Vec<Forest>>,
    region_draw: u64,
    regions: Lazy<Vec<u32>>,
    layout: Lazy<Arc<MoveLayout>>,
    row_shape: OnceLock<RowShape>,
}

impl OnDemand {
    fn new(rng: &mut Rng) -> OnDemand {
        OnDemand {
            forest_draw: rng.draw(),
            forests: Lazy::default(),
            region_draw: rng.draw(),
            regions: Lazy::default(),
            layout: Lazy::default(),
            row_shape: OnceLock::default(),
        }
    }
}

/// Lower bounds by variable and value; `None` if none are known.
pub type Reduced = Option<Arc<Vec<Vec<Cost>>>>;

impl SearchContext {
    /// Returns an assignment in the form that heuristics read.
    pub fn view<'a>(&'a self, values: &'a [u16]) -> View<'a> {
        let origin = self.origin.as_deref();
        let origin = origin.map(|origin| Origin { variables: origin.variables(), values: origin.all_values() });
        View { tables: &self.tables, graph: &self.graph, origin, values }
    }

    /// Prepares a problem. A forbidden entry costs `price` in the problem's units.
    pub fn new(problem: &Arc<Problem>, price: Cost, population: Option<usize>, rng: &mut Rng) -> SearchContext {
        SearchContext::until(problem, u64::MAX, price, population, rng, &Stop::new()).expect("no stop is set")
    }

    /// Prepares a problem. Tables of at most `copied` entries have their rows copied for each variable; if that is 0,
    /// functions have no rows at all.
    ///
    /// # Errors
    /// [`Error::Stopped`].
    fn until(
        problem: &Arc<Problem>,
        copied: u64,
        price: Cost,
        population: Option<usize>,
        rng: &mut Rng,
        stop: &Stop,
    ) -> Result<SearchContext, Error> {
        let has_rows = copied > 0;
        let of_rows = || {
            let tables = ValueTables::copying(problem, price, copied, stop)?;
            let schedule = Schedule::of(&tables, stop)?;
            let interchangeable = interchangeable(problem, stop)?;
            Ok::<_, Error>((tables, schedule, interchangeable))
        };
        let of_graph = || {
            let graph = if has_rows { Graph::new(problem, stop)? } else { Graph::default() };
            let classes = graph.classes(stop)?;
            Ok::<_, Error>((graph, classes))
        };
        let (of_rows, of_graph) = rayon::join(of_rows, of_graph);
        let ((tables, schedule, interchangeable), (graph, classes)) = (of_rows?, of_graph?);
        let falls_into_parts = graph.falls_into_parts();
        let n = problem.variables();
        let choices = (0..n).filter(|&v| tables.domain(v) > 1 && tables.degree(v) > 0).count();
        let of_variable = |v: usize| 30 + tables.degree(v) as u64 * (2 + u64::from(tables.width[v]) / 4);
        let sweep_work = (0..n).map(of_variable).sum();
        let is_large =
            !has_rows || choices > tuning().size.large_class * classes.len() || sweep_work > tuning().size.large_sweep;
        Ok(SearchContext {
            tables,
            graph,
            order: SweepOrder { strides: strides(classes.len(), is_large), classes },
            schedule,
            interchangeable,
            constant: problem.constant,
            sweep_work,
            size: Size { has_rows, is_large, is_vast: false, has_one_state: false, falls_into_parts },
            population,
            portable: false,
            origin: None,
            sums: None,
            original: Original::default(),
            on_demand: OnDemand::new(rng),
            reduced: Mutex::default(),
        })
    }

    /// Prepares a reduced problem. A forbidden entry costs the problem's top, which the incumbent may have lowered,
    /// less the constant.
    ///
    /// # Errors
    /// [`Error::Stopped`]; [`Error::Memory`].
    pub fn of_core(
        network: &Network,
        ReducedProblem { problem, reducer }: &ReducedProblem,
        request: Request,
        rng: &mut Rng,
        stop: &Stop,
    ) -> Result<Arc<SearchContext>, Error> {
        let price = problem.top.saturating_sub(problem.constant).max(1);
        let sums = SumSpace::until(reducer, problem.top, stop)?;
        let is_free = !request.one_driver && request.population.is_none() && !request.portable;
        let copied = match sums {
            _ if request.needs_tables => u64::MAX,
            Some(_) => tuning().size.copied_chain,
            None if is_free && !request.has_heuristic && reducer.is_unreduced() && is_dense(network) => 0,
            None => u64::MAX,
        };
        let mut context = SearchContext::until(problem, copied, price, request.population, rng, stop)?;
        context.portable = request.portable;
        context.size.is_vast = !context.size.has_rows || context.sweep_work > tuning().size.vast_sweep && is_free;
        let suits_one =
            context.is_large() && context.variables() >= tuning().size.one_state && !context.falls_into_parts();
        context.size.has_one_state = suits_one && request.population.is_none();
        context.origin = Some(reducer.clone());
        context.original.network = Some(network.clone());
        context.sums = sums.map(Arc::new);
        Ok(Arc::new(context))
    }

    /// Returns orders of all variables, one after the other, in which every prefix is a connected region. They are made
    /// at the first call, so that the first solutions do not wait for them.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    /// [`Error::Stopped`] before they are made.
    pub fn regions(&self, stop: &Stop) -> Result<&[u32], Error> {
        let made = self.on_demand.regions.get(|| {
            let n = self.variables();
            // together as long as 32 orders of 62500 variables; at least four
            let count = (2_000_000 / n.max(1)).clamp(4, 256) as u64;
            let grow = |k| {
                let mut rng = Rng::new(mix(self.on_demand.region_draw, k));
                Region::default().grow(&self.graph, n, &mut rng, stop).map(<[u32]>::to_vec)
            };
            let mut regions = Vec::with_capacity(count as usize * n);
            for region in threads::try_map(0..count, grow)? {
                stop.check()?;
                regions.extend_from_slice(&region);
            }
            Ok(regions)
        });
        made.map(Vec::as_slice)
    }

    /// Makes the regions and forests in advance, while the run waits for something else.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    pub fn prepare(&self, stop: &Stop) -> Result<(), Error> {
        let _ = (self.regions(stop)?, self.forests(stop)?);
        Ok(())
    }

    /// Returns random induced forests for tree moves; none if they would have few edges. They are made at the first
    /// call, which must come before code that makes children in parallel.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    pub fn forests(&self, stop: &Stop) -> Result<&[Forest], Error> {
        let made = self.on_demand.forests.get(|| {
            let n = self.variables();
            let count = (1_000_000 / n.max(1)).clamp(8, 128) as u64;
            let largest = if self.is_large() { tuning().size.large_tree } else { u32::MAX };
            let forest =
                |k| Forest::random(&self.tables, largest, &mut Rng::new(mix(self.on_demand.forest_draw, k)), stop);
            // a forest of few edges is a sweep at a higher price
            let first = forest(0)?;
            if first.edges() * 10 < n {
                return Ok(Vec::new());
            }
            let others = threads::try_map(1..count, forest)?;
            Ok(std::iter::once(first).chain(others).collect())
        });
        made.map(Vec::as_slice)
    }

    /// Returns the evaluations that each move changes; `None` if some tables are not copied. It is made at the first
    /// call, by all threads.
    ///
    /// # Errors
    /// [`Error::Stopped`] before it is made.
    pub fn layout(&self, stop: &Stop) -> Result<Option<&Arc<MoveLayout>>, Error> {
        let make = || MoveLayout::new(&self.tables, stop).map(Arc::new);
        self.tables.all_copied().then(|| self.on_demand.layout.get(make)).transpose()
    }

    /// Returns the layout of rows on a device.
    pub fn row_shape(&self) -> RowShape {
        *self.on_demand.row_shape.get_or_init(|| RowShape::of(&self.tables, self.is_large()))
    }

    /// Returns whether solutions of the reduced problem may violate the network.
    pub fn is_relaxed(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| sums.is_relaxed)
    }

    /// Returns whether only the driver `sums` is useful: the problem is relaxed, or the chains of sums are so large
    /// that their rows are not copied.
    pub fn is_for_sums(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| sums.is_relaxed || !self.tables.all_copied())
    }

    /// Returns whether functions have tables at all.
    pub fn has_tables(&self) -> bool {
        self.size.has_rows
    }

    /// Returns whether the tables of all functions are laid out.
    pub fn has_all_tables(&self) -> bool {
        self.size.has_rows && self.tables.all_copied()
    }

    /// Returns whether drivers that read tables are useful.
    pub fn is_for_tables(&self) -> bool {
        self.size.has_rows && !self.is_for_sums()
    }

    /// Returns whether the network, as it was read, has only variables of two values and functions of at most two
    /// variables.
    pub fn is_quadratic(&self) -> bool {
        *self.original.is_quadratic.get_or_init(|| self.original.network.as_ref().is_some_and(is_form))
    }

    /// Returns the network as a quadratic form; `None` if it is none. The form is made at the first call.
    ///
    /// # Errors
    /// [`Error::Stopped`] before it is made.
    pub fn form(&self, stop: &Stop) -> Result<Option<Arc<SweepForm>>, Error> {
        let Original { network, form, .. } = &self.original;
        let make =
            || Ok(network.as_ref().map(|network| SweepForm::of(network, stop)).transpose()?.flatten().map(Arc::new));
        form.get(make).cloned()
    }

    /// Takes over the form of the same network, if it is given and this context has none.
    pub fn have_form(&self, form: Option<Arc<SweepForm>>) {
        let _ = form.map(|form| self.original.form.get(|| Ok(Some(form))));
    }

    /// Takes over the form of another context of the same network, if that has made one.
    pub fn have_form_of(&self, other: &SearchContext) {
        self.have_form(other.original.form.made().cloned().flatten());
    }

    /// Returns whether all values are interchangeable, as colors are.
    pub fn is_coloring(&self) -> bool {
        self.interchangeable.is_some()
    }

    /// Returns, for each variable and value, a lower bound on how much more solutions with the value cost than with the
    /// variable's best value; `None` if no bounds are known.
    pub fn reduced(&self) -> Reduced {
        self.reduced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the lower bounds that [`SearchContext::reduced`] returns.
    pub fn learn_reduced(&self, reduced: Vec<Vec<Cost>>) {
        *self.reduced.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(reduced));
    }

    /// Returns whether a child of annealing takes long even with the least sweeps of a large problem.
    pub fn takes_long(&self) -> bool {
        self.sweep_work * u64::from(LEAST_SWEEPS) > LARGE_CHILD_WORK
    }

    /// Returns the number of variables.
    pub fn variables(&self) -> usize {
        self.tables.variables()
    }

    /// Returns whether few states with long sweeps, merged by components, are better than many states with short ones.
    pub fn is_large(&self) -> bool {
        self.size.is_large
    }

    /// Returns whether annealing keeps one state, which all threads or a whole device sweep together. If differences
    /// between states have several components, as on grids, many states with tree moves find better solutions.
    pub fn has_one_state(&self) -> bool {
        self.size.is_vast || self.size.has_one_state
    }

    /// Returns whether the anneals of one state double during the run. A long anneal gains more than short ones with
    /// the same total of sweeps, unless components of several can be combined (results/notes/cpu.md).
    pub fn climbs(&self) -> bool {
        self.has_one_state() && !self.falls_into_parts()
    }

    /// Returns whether the differences between two states mostly have several components.
    pub fn falls_into_parts(&self) -> bool {
        self.size.falls_into_parts
    }

    /// Returns the context marked as vast, whatever its size.
    #[doc(hidden)]
    pub fn into_vast(mut self) -> Self {
        self.size.is_vast = true;
        self
    }

    /// Returns whether all threads of the CPU sweep one state together. False in a repeatable run, also on a device.
    pub fn is_vast(&self) -> bool {
        self.size.is_vast
    }
}

/// Returns the numbers below `classes` that are coprime to it; only 1 on large problems, whose few classes keep their
/// order.
fn strides(classes: usize, is_large: bool) -> Vec<u32> {
    let last = if is_large { 1 } else { classes.saturating_sub(1).max(1) };
    let is_prime = |&stride: &u64| gcd(stride, classes.max(1) as u64) == 1;
    (1..=last as u64).filter(is_prime).map(|stride| stride as u32).collect()
}
