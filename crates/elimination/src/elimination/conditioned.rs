//! Exact elimination by cutset conditioning: each slice has its own run, and several devices share the slices.

use super::costs::{CostExecutor, CostMessages};
use super::cuda::Gpu;
use super::executor::{Failure, Progress};
use super::plan::{Cutset, EliminationPlan, Limits, Placement, Plan, Slices};
use super::run::Run;
use crate::device::DeviceError;
use crate::error::Error;
use crate::model::{Cost, Problem};
use crate::order::Order;
use crate::stop::Stop;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Combinations that each of several devices makes before it waits for the others: half a second of a large device.
const TURN: u64 = 1 << 38;

/// The state of an execution of a plan's slices.
#[derive(Debug)]
pub(super) struct Conditioned {
    cutset: Arc<Cutset>,
    /// The plan that each slice executes.
    plan: Plan,
    /// One worker for each device, or one on the host if there is no device.
    workers: Vec<Worker>,
    state: Mutex<State>,
    /// The run that repeats the best slice to obtain its assignment.
    again: Option<Box<Run>>,
    /// Devices that have failed and are not reported yet, each by its index among the devices that were left at that
    /// time.
    lost: Vec<(usize, DeviceError)>,
    work: u64,
}

#[derive(Debug)]
struct Worker {
    gpu: Option<Arc<Gpu>>,
    /// The slice in progress and its run.
    run: Option<(u64, Run)>,
}

/// The slices that are left, and the best result so far.
#[derive(Debug, Default)]
struct State {
    /// The first slice that has not begun. Slices that a failed device has left are in `left`.
    next: u64,
    left: Vec<u64>,
    /// The least cost, without the problem's constant, and the first slice that has it.
    best: Option<(Cost, u64)>,
}

/// The data that all workers share during one call.
struct Turn<'a> {
    cutset: &'a Cutset,
    problem: &'a Problem,
    plan: &'a Plan,
    work: u64,
    state: &'a Mutex<State>,
    stop: &'a Stop,
}

impl Conditioned {
    /// Creates an execution that has not begun, on the given devices, or on the host if there are none.
    pub fn new(gpus: &[Arc<Gpu>], plan: &Plan, cutset: &Arc<Cutset>) -> Self {
        let joint_entries = plan.steps.iter().map(|step| step.joint).fold(0, u64::saturating_add);
        let plan = Plan {
            structure: EliminationPlan { joint_entries, ..plan.structure.clone() },
            placement: Placement { cutset: None, keep_messages: false, ..plan.placement.clone() },
            costs: plan.costs,
        };
        let devices = gpus.iter().cloned().map(|gpu| Worker { gpu: Some(gpu), run: None });
        let workers = if gpus.is_empty() { vec![Worker { gpu: None, run: None }] } else { devices.collect() };
        Conditioned {
            cutset: cutset.clone(),
            plan,
            workers,
            state: Mutex::default(),
            again: None,
            lost: Vec::new(),
            work: 0,
        }
    }
}

impl State {
    fn take(&mut self, slices: u64) -> Option<u64> {
        let slice = self.left.pop().or((self.next < slices).then_some(self.next))?;
        self.next = self.next.max(slice + 1);
        Some(slice)
    }
}

impl Turn<'_> {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next slice whose constant is below the limit, and its problem.
    fn next(&self, done: &mut u64) -> Option<(u64, Arc<Problem>)> {
        loop {
            let slice = self.state().take(self.cutset.slices())?;
            let problem = self.cutset.condition(self.problem, slice);
            if problem.constant < self.plan.costs.limit {
                return Some((slice, problem.into()));
            }
            *done += self.plan.joint_entries;
        }
    }

    /// Works on slices until `done`, to which the combinations made are added, reaches the work of this call.
    fn advance(&self, worker: &mut Worker, done: &mut u64) -> Result<(), Failure> {
        while *done < self.work && !self.stop.is_set() {
            let (slice, mut run) = match worker.run.take() {
                Some(begun) => begun,
                None => {
                    let Some((slice, problem)) = self.next(done) else { break };
                    (slice, Run::on(worker.gpu.as_ref(), problem, self.plan.clone()))
                }
            };
            let before = run.work_done();
            let progress = run.advance(self.work.saturating_sub(*done), self.stop);
            if let Some(error) = run.trouble().filter(|_| worker.gpu.is_some()) {
                self.state().left.push(slice);
                return Err(Failure::Device(error.clone()));
            }
            if let Some(error) = run.take_failure() {
                return Err(Failure::Host(error));
            }
            *done += run.work_done().saturating_sub(before).max(1);
            if progress == Progress::More {
                worker.run = Some((slice, run));
                continue;
            }
            let Some((next, problem)) = self.next(done) else {
                self.end(slice, run);
                break;
            };
            let run = match run.restart(problem.clone()) {
                Ok(Some(bound)) => {
                    self.note(slice, bound);
                    run
                }
                Ok(None) => {
                    self.end(slice, run);
                    Run::on(worker.gpu.as_ref(), problem, self.plan.clone())
                }
                Err(failure) => {
                    self.state().left.extend([slice, next]);
                    return Err(failure);
                }
            };
            worker.run = Some((next, run));
        }
        Ok(())
    }

    fn end(&self, slice: u64, run: Run) {
        self.note(slice, run.finish().map_or(Cost::MAX, |outcome| outcome.lower_bound()));
    }

    /// Records the bound of a slice.
    fn note(&self, slice: u64, bound: Cost) {
        if bound < self.plan.costs.limit {
            let best = &mut self.state().best;
            let own = (bound - self.problem.constant, slice);
            *best = Some(best.map_or(own, |best| best.min(own)));
        }
    }
}

impl Conditioned {
    /// Lets all workers work on slices until each has done about `work`. Returns whether all slices are done.
    fn slices(&mut self, problem: &Problem, work: u64, stop: &Stop) -> Result<bool, Failure> {
        let Conditioned { cutset, plan, workers, state, .. } = self;
        let turn =
            Turn { cutset, problem, plan, work: if workers.len() > 1 { work.max(TURN) } else { work }, state, stop };
        let advance = |worker: &mut Worker| {
            let mut done = 0;
            (turn.advance(worker, &mut done), done)
        };
        let ended: Vec<(Result<(), Failure>, u64)> = match &mut workers[..] {
            [worker] => vec![advance(worker)],
            workers => std::thread::scope(|scope| {
                let threads: Vec<_> = workers.iter_mut().map(|worker| scope.spawn(|| advance(worker))).collect();
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                threads.into_iter().map(join).collect()
            }),
        };
        let mut place = 0;
        for (result, done) in ended {
            self.work += done;
            match result {
                Ok(()) => place += 1,
                Err(Failure::Device(error)) if self.workers.len() > 1 => {
                    let _ = self.workers.remove(place);
                    self.lost.push((place, error));
                }
                Err(failure) => return Err(failure),
            }
        }
        let is_idle = self.workers.iter().all(|worker| worker.run.is_none());
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        Ok(is_idle && state.left.is_empty() && state.next == self.cutset.slices())
    }

    /// Prepares a run that repeats the best slice and keeps its messages, cut into smaller slices if they do not fit.
    fn again(&self, problem: &Problem, plan: &Plan, slice: u64, stop: &Stop) -> Result<Box<Run>, Error> {
        let bytes = self.cutset.bytes;
        let devices = self.workers.iter().filter(|worker| worker.gpu.is_some()).count() as u32;
        let problem = Arc::new(self.cutset.condition(problem, slice));
        let order = Order::given(&problem, &plan.sequence, stop)?;
        let limits =
            Limits { slices: Some(Slices { bytes, devices }), ub: Some(plan.costs.limit), ..Limits::new(bytes) };
        let plan = Plan::until(&problem, &order, &limits, stop)?;
        let gpus: Vec<Arc<Gpu>> = self.workers.iter().filter_map(|worker| worker.gpu.clone()).collect();
        Ok(Box::new(Run::on_all(&gpus, problem, plan)))
    }
}

impl CostExecutor for Conditioned {
    /// Works on slices; if one of several devices fails, its slice goes to the others.
    fn advance(&mut self, problem: &Problem, plan: &Plan, work: u64, stop: &Stop) -> Result<Progress, Failure> {
        if self.again.is_none() {
            if !self.slices(problem, work, stop)? {
                return Ok(Progress::More);
            }
            let best = self.state.get_mut().unwrap_or_else(PoisonError::into_inner).best;
            let Some((_, slice)) = best.filter(|_| plan.placement.keep_messages) else { return Ok(Progress::Done) };
            match self.again(problem, plan, slice, stop) {
                Ok(run) => self.again = Some(run),
                Err(Error::Stopped) => return Ok(Progress::More),
                Err(error) => return Err(Failure::Host(error)),
            }
        }
        let Some(run) = &mut self.again else { return Ok(Progress::Done) };
        let before = run.work_done();
        let progress = run.advance(work, stop);
        self.work += run.work_done().saturating_sub(before).max(1);
        // the run continues on the host
        if let Some(error) = run.trouble()
            && self.workers[0].gpu.take().is_some()
        {
            self.lost.push((0, error.clone()));
        }
        Ok(progress)
    }

    fn work_done(&self) -> u64 {
        self.work
    }

    fn on_device(&self) -> bool {
        self.workers.iter().any(|worker| worker.gpu.is_some())
    }

    fn take_lost(&mut self) -> Vec<(usize, DeviceError)> {
        std::mem::take(&mut self.lost)
    }

    fn finish(self: Box<Self>, plan: &mut Plan) -> (Cost, Box<dyn CostMessages>) {
        let Some((cost, slice)) = self.state.into_inner().unwrap_or_else(PoisonError::into_inner).best else {
            return (plan.costs.cap, Box::new(Assigned(None)));
        };
        let mut assignment = self.again.and_then(|run| run.finish()?.assign(&Stop::new()));
        for (variable, value) in self.cutset.values(slice) {
            assignment.iter_mut().for_each(|values| values[variable as usize] = value);
        }
        (cost, Box::new(Assigned(assignment)))
    }
}

/// An assignment without the messages from which it was made.
#[derive(Debug)]
struct Assigned(Option<Vec<u32>>);

impl CostMessages for Assigned {
    fn entries(&self, _: &[(u32, u64)]) -> Result<Vec<Cost>, Failure> {
        Err(Failure::Host(Error::Internal("slices leave no messages".into())))
    }

    fn decode(&self, _: &Problem, _: &Plan) -> Option<Vec<u32>> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elimination::tests::{assignments, random, run, shuffled};
    use crate::rng::Rng;

    /// Executes to the end and returns the cost, which includes the problem's constant, and the assignment.
    fn end(mut executor: Conditioned, problem: &Problem, plan: &Plan, work: u64) -> (Cost, Option<Vec<u32>>) {
        let stop = Stop::new();
        while executor.advance(problem, plan, work, &stop).expect("there is memory") == Progress::More {}
        assert!(executor.work_done() >= plan.joint_entries, "{} of {}", executor.work, plan.joint_entries);
        let (total, messages) = Box::new(executor).finish(&mut plan.clone());
        let cost = if total >= plan.costs.cap { plan.costs.limit } else { problem.constant + total };
        (cost, messages.decode(problem, plan))
    }

    #[test]
    fn nothing_is_cut_beyond_counting() {
        let wide: [(&str, &str); 3] = [("n", "40"), ("d", "9"), ("p2", "0")];
        let network = crate::generate::generate("random", &wide, 1).expect("a kind");
        let stop = Stop::new();
        let problem = crate::reduce::Reducer::new(&network, false, &stop)
            .expect("no limit")
            .problem(&Stop::new())
            .expect("no stop is set");
        let order = crate::order::best_order(&problem, &[crate::order::Method::MinFill], 1, 1, &stop);
        let slices = Some(Slices { bytes: 1 << 20, devices: 0 });
        let plan = Plan::new(&problem, &order, &Limits { slices, ..Limits::new(1 << 20) });
        assert!(order.joint_entries > 1e20 && !plan.exact && plan.slices() == 1, "{:e}", order.joint_entries);
    }

    #[test]
    fn slices_find_the_optimum_on_any_number_of_workers() {
        let mut rng = Rng::new(43);
        let (mut sliced, mut improved) = (0, 0);
        let gpu = fangs_testing::gpu().map(Gpu::new);
        for case in 0..1500 {
            let problem = Arc::new(random(&mut rng, 7));
            let optimum = assignments(&problem).map(|values| problem.cost(&values)).min().expect("there is one");
            let order = shuffled(&problem, &mut rng);
            let roomy = Plan::new(&problem, &order, &Limits::new(1 << 30));
            let bytes = rng.below(roomy.placement.peak_bytes + 2);
            let ub = (rng.below(3) == 0).then_some(optimum + 1 - rng.below(3) as Cost);
            let devices = rng.below(3) as u32;
            let slices = Some(Slices { bytes, devices });
            let plan = Plan::new(&problem, &order, &Limits { slices, ub, ..Limits::new(bytes) });
            let Some(cutset) = plan.placement.cutset.clone() else { continue };
            assert!(plan.exact && plan.placement.peak_bytes <= bytes && plan.slices() > 1, "case {case}");
            assert!(plan.joint_entries / 4 <= roomy.joint_entries, "case {case}");
            sliced += 1;
            let outcome = run(&problem, plan.clone());
            let limit = plan.costs.limit;
            assert_eq!(outcome.lower_bound(), optimum.min(limit), "case {case}");
            let assignment = outcome.assign(&Stop::new());
            if optimum < limit {
                assert_eq!(assignment.as_ref().map(|values| problem.cost(values)), Some(optimum), "case {case}");
                improved += 1;
            }
            for workers in 1..=3 {
                let mut executor = Conditioned::new(&[], &plan, &cutset);
                executor.workers = (0..workers).map(|_| Worker { gpu: None, run: None }).collect();
                let work = if rng.below(2) == 0 { 1 } else { u64::MAX };
                assert_eq!(
                    end(executor, &problem, &plan, work),
                    (optimum.min(limit), assignment.clone()),
                    "case {case}"
                );
            }
            if let Some(gpu) = &gpu {
                let executor = Conditioned::new(&[gpu.clone(), gpu.clone()], &plan, &cutset);
                assert_eq!(end(executor, &problem, &plan, 1), (optimum.min(limit), assignment), "case {case}");
            }
        }
        assert!(sliced > 100 && improved > 50, "{sliced} {improved}");
    }
}
