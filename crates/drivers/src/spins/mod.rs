//! Thermal cycling (Möbius, Neklioudov, Díaz-Sánchez, Hoffmann, Fachat, Schreiber, "Optimization by thermal cycling",
//! 1997) for networks of binary variables and functions of at most two variables, on the network as it was read.
//! Anneals begin at the best solution, warmed up again; afterwards each component of the changes that lowers the cost
//! is kept (partition crossover, as Whitley, Hains, Howe, 2009, for tours). A variable is a word with its value and the
//! change by its flip; a sweep reads one word for each variable. On a device each block of threads has an assignment,
//! on the CPU each thread.

mod anneals;
mod cpu;
mod cuda;
#[cfg(test)]
mod cuda_tests;
mod walk;

use self::anneals::{Anneal, Anneals};
use self::cpu::CpuSpins;
use self::cuda::CudaSpins;
use self::walk::Rule;
use super::constants::spins::LONGEST;
use super::constants::spins::TOPS;
use crate::core::bandit::Bandit;
use crate::core::context::SearchContext;
use crate::core::driver::{Driver, Setup};
use crate::core::effort::{Effort, Found};
use crate::core::elite::Elite;
use crate::core::pool::{Pool, Translate};
use crate::core::quadratic::form::SweepForm;
use crate::core::quadratic::on_weights;
use crate::core::tuning::ROUND_WORK;
use crate::device::{Cuda, DeviceError, Source};
use crate::error::Error;
use crate::reduce::Reducer;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::tuning::tuning;
use std::sync::Arc;

/// The name of the driver.
pub const NAME: &str = "spins";

/// Returns the driver's kernel sources.
pub fn sources() -> Vec<Source> {
    cuda::sources()
}

/// Makes the driver.
pub fn make(setup: &mut Setup<'_>) -> Option<Box<dyn Driver>> {
    Some(Box::new(Spins::new(setup.stream(), setup.device.clone())))
}

pub(crate) struct Spins {
    rng: Rng,
    device: Option<Arc<Cuda>>,
    /// The form of the network; `None` before the first round, `Some(None)` if it has none.
    form: Option<Option<Arc<SweepForm>>>,
    /// The backend; `None` before the first round.
    anneals: Option<Box<dyn Anneals>>,
    /// The best value of each assignment.
    values: Vec<i64>,
    /// The best value of all assignments.
    best: i64,
    /// The energy of the pool's best elite that was last read.
    seen: i64,
    sweeps: u32,
    /// The rules of the anneals from each initial temperature; empty before they are needed.
    rules: Vec<Vec<Rule>>,
    tops: Bandit,
    /// Number of cycles since the last improvement.
    in_vain: u32,
}

impl Spins {
    pub fn new(rng: Rng, device: Option<Arc<Cuda>>) -> Self {
        Spins {
            rng,
            device,
            form: None,
            anneals: None,
            values: Vec::new(),
            best: i64::MAX,
            seen: i64::MAX,
            sweeps: tuning().spins.first_sweeps,
            rules: Vec::new(),
            tops: Bandit::new(TOPS, tuning().spins.floor),
            in_vain: 0,
        }
    }

    /// Returns the form, which is made at the first call.
    fn form(&mut self, context: &SearchContext, stop: &Stop) -> Result<Option<Arc<SweepForm>>, Error> {
        if self.form.is_none() {
            self.form = Some(context.form(stop)?);
        }
        Ok(self.form.clone().flatten())
    }

    /// Returns the backend. Its assignments receive the pool's best elite as a guide if it is better than theirs, or
    /// begin there or at random.
    fn open(
        &mut self,
        context: &SearchContext,
        form: &SweepForm,
        origin: &Reducer,
        pool: &Pool,
        stop: &Stop,
    ) -> Result<Box<dyn Anneals>, Trouble> {
        let elite = pool.elites().first().filter(|elite| elite.energy.total < self.seen);
        let heard = match elite {
            Some(elite) => {
                self.seen = elite.energy.total;
                let core: Vec<u32> = elite.values.iter().map(|&value| value.into()).collect();
                let values = form.ordered(&origin.lift(&core, stop)?);
                Some((form.quadratic.value(&values), values))
            }
            None => None,
        };
        if let Some(mut anneals) = self.anneals.take() {
            if let Some((value, heard)) = heard.filter(|(value, _)| *value < self.best) {
                anneals.hear(&heard)?;
                self.best = value;
            }
            return Ok(anneals);
        }
        let mut random = || -> Vec<bool> { (0..form.variables()).map(|_| self.rng.below(2) == 1).collect() };
        let (value, first) = heard.unwrap_or_else(|| {
            let first = random();
            (form.quadratic.value(&first), first)
        });
        let anneals = match &self.device {
            // reading rows is faster than following links on a device
            Some(cuda) if !form.quadratic.has_rows() => {
                let count = |room| if context.portable { tuning().spins.portable } else { room };
                on_weights!(&form.quadratic, of => boxed(CudaSpins::open(cuda, form, of, &first, count)?))
            }
            _ => {
                let count = if context.portable { tuning().spins.portable } else { rayon::current_num_threads() };
                on_weights!(&form.quadratic, of => boxed(CpuSpins::new(of, &first, count)))
            }
        };
        (self.values, self.best) = (vec![value; anneals.count()], value);
        Ok(anneals)
    }

    /// Makes a cycle of all assignments. `many` states that they fill a device. Returns the assignment that is better
    /// than all were before, if there is one.
    fn cycle(
        &mut self,
        anneals: &mut dyn Anneals,
        form: &SweepForm,
        many: bool,
        stop: &Stop,
        effort: &mut Effort,
    ) -> Cycle {
        let (tops, rng) = (&self.tops, &mut self.rng);
        let mut ask = |_: &i64| Anneal { key: rng.draw(), top: tops.choose(rng.unit()) };
        let asked: Vec<Anneal> = self.values.iter().map(&mut ask).collect();
        if self.rules.is_empty() {
            let rules = |top: usize| rules(form, form.hot / f64::from(1u32 << top), self.sweeps);
            self.rules = (0..TOPS).map(rules).collect();
        }
        let cycled = anneals.cycle(&asked, &self.rules, stop)?;
        for ((anneal, cycled), value) in asked.iter().zip(&cycled).zip(&mut self.values) {
            // improvements by the guide do not count for the anneal
            let gain = (self.best.min(*value) - cycled.value).max(0);
            self.tops.note(anneal.top, gain as f64, cycled.sweeps as f64);
            *value = cycled.value;
            effort.moves += cycled.flips;
            effort.ratings += cycled.sweeps * form.variables() as u64;
        }
        self.tops.update();
        let slot = (0..cycled.len()).min_by_key(|&slot| cycled[slot].value);
        let slot = slot.filter(|&slot| cycled[slot].value < self.best);
        self.in_vain = if slot.is_some() { 0 } else { self.in_vain + 1 };
        if self.in_vain >= if many { tuning().spins.device_patience } else { tuning().spins.patience }
            && self.sweeps < LONGEST
        {
            (self.sweeps, self.in_vain) = (2 * self.sweeps, 0);
            self.rules.clear();
        }
        if let Some(slot) = slot {
            self.best = cycled[slot].value;
            anneals.lead(slot)?;
        }
        Ok(slot)
    }

    fn search(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Result<Effort, Trouble> {
        let (mut effort, mut sweeps, mut leader) = (Effort::default(), 0, None);
        let (Some(form), Some(origin)) = (self.form(context, stop)?, &context.origin) else {
            return Ok(Effort { work: ROUND_WORK, ..effort });
        };
        let mut anneals = self.open(context, &form, origin, pool, stop)?;
        let many = self.device.is_some() && !context.portable && !form.quadratic.has_rows();
        while sweeps < tuning().spins.shown && (many || effort.work < ROUND_WORK) && !stop.is_set() {
            sweeps += self.sweeps;
            leader = self.cycle(&mut *anneals, &form, many, stop, &mut effort)?.or(leader);
            effort.work = effort.ratings + form.move_work() * effort.moves;
        }
        if many {
            // a device works on all at once
            effort.work /= self.values.len() as u64;
        }
        if let Some(slot) = leader {
            let own = form.own(&anneals.known(slot)?);
            let counted = form.quadratic.value(&form.ordered(&own));
            if counted != self.best {
                let cause = format!("an assignment's value is {}, counted again {counted}", self.best);
                return Err(Trouble::Device(DeviceError::Failed { what: "comparing values".into(), cause }));
            }
            let elite = |core: Vec<u32>| {
                Elite::until(&context.tables, core.into_iter().map(|value| value as u16).collect(), stop)
            };
            if let Ok(elite) = origin.project(&own, stop).and_then(elite) {
                self.seen = self.seen.min(elite.energy.total);
                pool.offer(&elite);
            }
            // also if the rest of the round is dropped
            effort.found = Some(Found { source: NAME, cost: form.quadratic.zero() + counted, values: own });
        }
        self.anneals = Some(anneals);
        Ok(effort)
    }
}

/// Makes cycles on this thread alone, from an assignment of the network, until `over` is set. Reports better
/// assignments to `found`, but not more often than the time for computing their costs justifies.
pub fn alone(form: &SweepForm, first: &[u32], rng: Rng, over: &Stop, found: &mut dyn FnMut(Vec<u32>)) {
    let first = form.ordered(first);
    let (mut spins, value) = (Spins::new(rng, None), form.quadratic.value(&first));
    let mut anneals = on_weights!(&form.quadratic, of => boxed(CpuSpins::new(of, &first, 1)));
    (spins.values, spins.best) = (vec![value], value);
    let (mut told, mut effort) = (value, Effort::default());
    let is_worth = |effort: &Effort| effort.ratings + form.move_work() * effort.moves >= form.count_work();
    while !over.is_set() {
        // the CPU does not fail
        let _ = spins.cycle(&mut *anneals, form, false, over, &mut effort);
        if spins.best < told && (is_worth(&effort) || over.is_set()) {
            (told, effort) = (spins.best, Effort::default());
            let _ = anneals.known(0).map(|known| found(form.own(&known)));
        }
    }
}

fn boxed(anneals: impl Anneals + 'static) -> Box<dyn Anneals> {
    Box::new(anneals)
}

/// Returns the rules of an anneal of `sweeps` sweeps, from temperature `top` down to almost 0.
fn rules(form: &SweepForm, top: f64, sweeps: u32) -> Vec<Rule> {
    let progress = |sweep: u32| f64::from(sweep) / f64::from(sweeps);
    (0..sweeps).map(|sweep| Rule::at(top * (1.0 - progress(sweep)), form.shift)).collect()
}

/// The assignment that is better than all were before, if there is one.
type Cycle = Result<Option<usize>, DeviceError>;

/// The reason why a round ended early.
enum Trouble {
    Stopped,
    Device(DeviceError),
}

impl From<Error> for Trouble {
    fn from(_: Error) -> Self {
        Trouble::Stopped
    }
}

impl From<DeviceError> for Trouble {
    fn from(error: DeviceError) -> Self {
        Trouble::Device(error)
    }
}

impl Driver for Spins {
    fn population(&self) -> usize {
        self.values.len()
    }

    fn fits(&self, context: &SearchContext, _: &Pool) -> bool {
        self.can_move(context)
    }

    fn can_move(&self, context: &SearchContext) -> bool {
        context.is_quadratic() && self.form.as_ref().is_none_or(Option::is_some)
    }

    fn reads_tables(&self) -> bool {
        false
    }

    fn weight(&self, context: &SearchContext, _: &Pool) -> f64 {
        if context.is_quadratic() { tuning().spins.opening } else { 1.0 }
    }

    fn floor(&self, context: &SearchContext, pool: &Pool) -> f64 {
        if pool.solved && context.is_quadratic() { tuning().spins.own_share } else { 0.0 }
    }

    fn kernels(&self, _: &SearchContext) -> Option<Source> {
        let cuda = self.device.as_ref().filter(|_| self.anneals.is_none())?;
        let form = self.form.as_ref()?.as_ref().filter(|form| !form.quadratic.has_rows())?;
        Some(cuda::source(&cuda.info, form))
    }

    fn round(&mut self, context: &SearchContext, pool: &mut Pool, stop: &Stop) -> Effort {
        self.search(context, pool, stop).unwrap_or_else(|trouble| match trouble {
            Trouble::Stopped => Effort::default(),
            Trouble::Device(error) => {
                // the pool has the elites, and new assignments begin on the CPU
                (self.device, self.anneals, self.seen) = (None, None, i64::MAX);
                Effort { lost: Some(error), ..Effort::default() }
            }
        })
    }

    /// The network stays the same.
    fn rebase(&mut self, _: &SearchContext, _: &Translate<'_>) {
        self.seen = i64::MAX;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::context::Request;
    use crate::generate::generate;
    use crate::reduce::ReducedProblem;

    #[test]
    fn rounds_improve_the_pool_and_repeat_for_any_number_of_threads() {
        let dense: &[_] = &[("n", "60"), ("d", "2"), ("functions", "900")];
        for (family, settings) in [("ising", &[("side", "20")] as &[_]), ("large-sparse", dense)] {
            let network = generate(family, settings, 3).expect("a family");
            let reducer = Reducer::new(&network, true, &Stop::new()).expect("no stop is set");
            let core = ReducedProblem::new(reducer, &Stop::new()).expect("no stop is set");
            let request = Request { portable: true, ..Request::default() };
            let run = |threads: usize| {
                let context = SearchContext::of_core(&network, &core, request, &mut Rng::new(1), &Stop::new());
                let context = context.expect("no stop is set");
                let (mut driver, mut pool) = (Spins::new(Rng::new(5), None), Pool::default());
                assert!(driver.fits(&context, &pool));
                let threads = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
                threads.install(|| {
                    let mut moves = 0;
                    for round in 0..6 {
                        let before = pool.best();
                        moves += driver.round(&context, &mut pool, &Stop::new()).moves;
                        assert!(pool.best() <= before, "{family}");
                        if round == 3 {
                            driver.rebase(&context, &|values| Some(Elite::new(&context.tables, values.to_vec())));
                        }
                    }
                    pool.assert_energies(&core.problem).expect("they are the costs");
                    // the projection to the reduced problem may lower the cost further
                    assert!(pool.elites().iter().any(|elite| elite.energy.total <= driver.seen));
                    (pool.elites().iter().map(|elite| elite.values.clone()).collect::<Vec<_>>(), moves)
                })
            };
            let (elites, moves) = run(1);
            assert_eq!(run(3), (elites.clone(), moves), "{family}");
            assert!(!elites.is_empty() && moves > 1000, "{family}: {moves}");
        }
    }

    #[test]
    fn other_networks_have_no_form() {
        let network = generate("potts", &[("side", "5")], 3).expect("a family");
        assert!(SweepForm::of(&network, &Stop::new()).expect("no stop is set").is_none());
    }
}
