//! What all drivers see: a problem prepared for local search.

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
use crate::tuning::size::{
    COPIED_CHAIN, LARGE_CHILD_WORK, LARGE_CLASS, LARGE_SWEEP, LARGE_TREE, LEAST_SWEEPS, ONE_STATE, VAST_SWEEP,
};
use crate::value_tables::ValueTables;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What a run asks for that decides how a core is prepared.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// States wanted, if the caller said so.
    pub population: Option<usize>,
    /// Whether the run must do the same on every machine and device.
    pub portable: bool,
    /// Whether one driver searches alone, whatever the size.
    pub one_driver: bool,
    /// Whether a heuristic is given: it reads tables.
    pub has_heuristic: bool,
    /// Whether the tables of all functions are laid out, whatever they take.
    pub needs_tables: bool,
}

/// A core prepared for local search.
#[derive(Debug)]
pub struct SearchContext {
    /// The core's tables by variable.
    pub tables: ValueTables,
    /// Who shares a function with whom.
    pub graph: Graph,
    /// In which order sweeps visit variables.
    pub order: SweepOrder,
    /// Temperatures.
    pub schedule: Schedule,
    /// How many values there are, where all are interchangeable, as colors are.
    pub interchangeable: Option<usize>,
    /// What every assignment pays besides.
    pub constant: Cost,
    /// About what visiting every variable once costs, in units of one nanosecond or so.
    pub sweep_work: u64,
    size: Size,
    /// States wanted, where the caller said so.
    pub population: Option<usize>,
    /// Whether a run must do the same on every machine and device.
    pub portable: bool,
    /// How the core came from the network; it is the network without it.
    pub origin: Option<Arc<Reducer>>,
    /// The network itself where functions of it are sums, for which the core has chains of tables.
    pub sums: Option<Arc<SumSpace>>,
    original: Original,
    on_demand: OnDemand,
    reduced: Mutex<Reduced>,
}

/// In which order sweeps assign the variables.
#[derive(Debug)]
pub struct SweepOrder {
    /// Color classes: sweeps assign one after the other, as the variables of a class do not see each other.
    pub classes: Vec<Vec<u32>>,
    /// Numbers prime to that of the classes, below it: strides of the orders in which sweeps go through them.
    pub strides: Vec<u32>,
}

/// How large a core is, in what decides how it is searched.
#[derive(Debug)]
struct Size {
    /// Whether functions have rows in the tables, and edges in the graph.
    has_rows: bool,
    is_large: bool,
    is_vast: bool,
    has_one_state: bool,
    falls_into_parts: bool,
}

/// The network as it was read, where the core comes from one.
#[derive(Debug, Default)]
struct Original {
    network: Option<Network>,
    is_quadratic: OnceLock<bool>,
    form: Lazy<Option<Arc<SweepForm>>>,
}

/// What is made of a core when a driver first asks for it, and where its draws come from.
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

/// By variable and value; nothing where nothing is known.
pub type Reduced = Option<Arc<Vec<Vec<Cost>>>>;

impl SearchContext {
    /// An assignment as heuristics see it.
    pub fn view<'a>(&'a self, values: &'a [u16]) -> View<'a> {
        let origin = self.origin.as_deref();
        let origin = origin.map(|origin| Origin { variables: origin.variables(), values: origin.all_values() });
        View { tables: &self.tables, graph: &self.graph, origin, values }
    }

    /// Prepares a core. A forbidden entry costs `price` in the core's units.
    pub fn new(problem: &Arc<Problem>, price: Cost, population: Option<usize>, rng: &mut Rng) -> SearchContext {
        SearchContext::until(problem, u64::MAX, price, population, rng, &Stop::new()).expect("no stop is set")
    }

    /// Prepares a core with copies of tables of at most `copied` entries; without any rows of functions if that is 0.
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
        let is_large = !has_rows || choices > LARGE_CLASS * classes.len() || sweep_work > LARGE_SWEEP;
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

    /// The context of what the reductions have left. Hard violations cost what the best known total leaves, or what top
    /// allows, whichever is less.
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
            Some(_) => COPIED_CHAIN,
            None if is_free && !request.has_heuristic && reducer.is_unreduced() && is_dense(network) => 0,
            None => u64::MAX,
        };
        let mut context = SearchContext::until(problem, copied, price, request.population, rng, stop)?;
        context.portable = request.portable;
        context.size.is_vast = !context.size.has_rows || context.sweep_work > VAST_SWEEP && is_free;
        let suits_one = context.is_large() && context.variables() >= ONE_STATE && !context.falls_into_parts();
        context.size.has_one_state = suits_one && request.population.is_none();
        context.origin = Some(reducer.clone());
        context.original.network = Some(network.clone());
        context.sums = sums.map(Arc::new);
        Ok(Arc::new(context))
    }

    /// Returns orders of all variables whose every prefix is a connected region, one after the other. Made when first
    /// asked for: the first solutions do not wait for them.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    pub fn regions(&self, stop: &Stop) -> Result<&[u32], Error> {
        let made = self.on_demand.regions.get(|| {
            let n = self.variables();
            // as many as 32 of 62500 variables have, and no fewer than four
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

    /// Makes regions and forests, while the run waits for something else.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    pub fn prepare(&self, stop: &Stop) -> Result<(), Error> {
        let _ = (self.regions(stop)?, self.forests(stop)?);
        Ok(())
    }

    /// Returns random induced forests for tree moves; none where they would hold next to nothing. Made when first asked
    /// for, as regions are; code that makes children in parallel asks before.
    ///
    /// # Errors
    /// [`Error::Stopped`] before they are made.
    pub fn forests(&self, stop: &Stop) -> Result<&[Forest], Error> {
        let made = self.on_demand.forests.get(|| {
            let n = self.variables();
            let count = (1_000_000 / n.max(1)).clamp(8, 128) as u64;
            let largest = if self.is_large() { LARGE_TREE } else { u32::MAX };
            let forest =
                |k| Forest::random(&self.tables, largest, &mut Rng::new(mix(self.on_demand.forest_draw, k)), stop);
            // alone, a forest of few edges is a sweep that costs more
            let first = forest(0)?;
            if first.edges() * 10 < n {
                return Ok(Vec::new());
            }
            let others = threads::try_map(1..count, forest)?;
            Ok(std::iter::once(first).chain(others).collect())
        });
        made.map(Vec::as_slice)
    }

    /// Returns which ratings a move changes; `None` if some tables are read in place. Made when first asked for, by all
    /// threads, as regions are.
    ///
    /// # Errors
    /// [`Error::Stopped`] before it is made.
    pub fn layout(&self, stop: &Stop) -> Result<Option<&Arc<MoveLayout>>, Error> {
        let make = || MoveLayout::new(&self.tables, stop).map(Arc::new);
        self.tables.all_copied().then(|| self.on_demand.layout.get(make)).transpose()
    }

    /// How rows are laid out on a device.
    pub fn row_shape(&self) -> RowShape {
        *self.on_demand.row_shape.get_or_init(|| RowShape::of(&self.tables, self.is_large()))
    }

    /// Whether solutions of the core need not be solutions of the network.
    pub fn is_relaxed(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| sums.is_relaxed)
    }

    /// Whether only the driver `sums` has a chance: the core is relaxed, or has chains of so many sums that their rows
    /// are not copied.
    pub fn is_for_sums(&self) -> bool {
        self.sums.as_ref().is_some_and(|sums| sums.is_relaxed || !self.tables.all_copied())
    }

    /// Whether functions have tables at all.
    pub fn has_tables(&self) -> bool {
        self.size.has_rows
    }

    /// Whether the tables of all functions are laid out.
    pub fn has_all_tables(&self) -> bool {
        self.size.has_rows && self.tables.all_copied()
    }

    /// Whether drivers that read tables have a chance.
    pub fn is_for_tables(&self) -> bool {
        self.size.has_rows && !self.is_for_sums()
    }

    /// Whether the network, as it was read, has variables of two values and functions of two variables alone.
    pub fn is_quadratic(&self) -> bool {
        *self.original.is_quadratic.get_or_init(|| self.original.network.as_ref().is_some_and(is_form))
    }

    /// Returns the network as a quadratic form; `None` if it is none. Made when first asked for.
    ///
    /// # Errors
    /// [`Error::Stopped`] before it is made.
    pub fn form(&self, stop: &Stop) -> Result<Option<Arc<SweepForm>>, Error> {
        let Original { network, form, .. } = &self.original;
        let make =
            || Ok(network.as_ref().map(|network| SweepForm::of(network, stop)).transpose()?.flatten().map(Arc::new));
        form.get(make).cloned()
    }

    /// Takes the form of the same network, if it is made.
    pub fn have_form(&self, form: Option<Arc<SweepForm>>) {
        let _ = form.map(|form| self.original.form.get(|| Ok(Some(form))));
    }

    /// Takes the form that another core of the same network has, if it is made.
    pub fn have_form_of(&self, other: &SearchContext) {
        self.have_form(other.original.form.made().cloned().flatten());
    }

    /// Whether all values are interchangeable, as colors are.
    pub fn is_coloring(&self) -> bool {
        self.interchangeable.is_some()
    }

    /// How much more solutions with each value cost at least than with the best value of its variable, where bounds say
    /// so.
    pub fn reduced(&self) -> Reduced {
        self.reduced.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes what each value costs at least.
    pub fn learn_reduced(&self, reduced: Vec<Vec<Cost>>) {
        *self.reduced.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(reduced));
    }

    /// Whether a child of annealing takes long even with the least sweeps of a large core.
    pub fn takes_long(&self) -> bool {
        self.sweep_work * u64::from(LEAST_SWEEPS) > LARGE_CHILD_WORK
    }

    /// Whether the driver `cycling` shares the part of the time that annealing is sure of: on large cores where
    /// variables have two values, as a visit takes next to nothing then, and where children of annealing have the
    /// fewest sweeps; elsewhere it has what it gains (results/scale). If functions have two variables, too, `spins` is
    /// faster.
    pub fn suits_cycling(&self) -> bool {
        let is_binary = || self.tables.problem.domains.iter().all(|&domain| domain <= 2);
        let is_left = !self.is_vast() && !self.is_quadratic();
        self.is_large() && is_left && (self.takes_long() || is_binary())
    }

    /// How many variables there are.
    pub fn variables(&self) -> usize {
        self.tables.variables()
    }

    /// Whether few states with long sweeps, which are merged by parts, do better than many with short ones.
    pub fn is_large(&self) -> bool {
        self.size.is_large
    }

    /// Whether annealing keeps one state, which all threads or a whole device sweep together. Where what differs
    /// between states falls into parts, as on grids, many states with tree moves come further.
    pub fn has_one_state(&self) -> bool {
        self.size.is_vast || self.size.has_one_state
    }

    /// Whether the anneals of one state double as long as the run goes on: a long one gains more than short ones of as
    /// many sweeps together, unless parts of several can be put together (results/notes/cpu.md).
    pub fn climbs(&self) -> bool {
        self.has_one_state() && !self.falls_into_parts()
    }

    /// Whether what differs between two states mostly has several components.
    pub fn falls_into_parts(&self) -> bool {
        self.size.falls_into_parts
    }

    /// A context that counts as vast, whatever its size.
    #[doc(hidden)]
    pub fn into_vast(mut self) -> Self {
        self.size.is_vast = true;
        self
    }

    /// Whether one state's sweeps are work for all threads of the CPU. Not where a run must be repeated, on a device
    /// too.
    pub fn is_vast(&self) -> bool {
        self.size.is_vast
    }
}

/// The numbers below that of the classes that are prime to it. The few classes of a large core follow each other.
fn strides(classes: usize, is_large: bool) -> Vec<u32> {
    let last = if is_large { 1 } else { classes.saturating_sub(1).max(1) };
    let is_prime = |&stride: &u64| gcd(stride, classes.max(1) as u64) == 1;
    (1..=last as u64).filter(is_prime).map(|stride| stride as u32).collect()
}
