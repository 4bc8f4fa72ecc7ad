//! The published operations on factors (Adoe, Chen, Doshi, algorithms 1 and 2): the host's side of `paper_id.cu`, as a
//! baseline of the table `decide`.
//!
//! Diagrams are eliminated along the plans that `fangs decide` follows, with the paper's operations: probabilities are
//! multiplied in pairs, utilities are added in pairs, the two results are multiplied, the variable is summed out, and
//! the sum is divided (section 2.1). A decision takes the maximum. Each operation is a launch whose result is in
//! memory. Choices that the paper leaves open are made in its favour; docs/benchmarks.md lists them.

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use crate::device::shared::{constants, device_structs};
use crate::device::{Blocks, Cuda, CudaSlice, DeviceError, Kernel, PushKernelArg, Source};
use crate::error::Error;
use crate::kernels;
use crate::stop::Stop;
use crate::tensor::{Storage, strides};
use crate::terms::AXES;
use fangs_decide::pairs::{Group, Maker, Outcome, Pairs, Picks, Plan, Step, Sums, Table, begin, finish, walk};
use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// The threads of a block that the paper found best (figure 9).
pub(super) const THREADS: u32 = 512;

/// The entries of a factor that a block holds in shared memory at a time (section 5).
const CHUNK: usize = 512;

device_structs! {
    /// Mirrors `Digits` in `paper_id.cu`.
    #[derive(Clone, Copy, Debug)]
    struct Digits as "Digits" {
        count: u32,
        div: [u32; AXES],
        modulus as "mod": [u32; AXES],
        second: [u32; AXES],
        out: [u32; AXES],
    }
}

impl Digits {
    /// Returns the digits of indices over axes of the given sizes, of which the last varies fastest, with strides along
    /// them.
    fn new(sizes: &[usize], second: &[usize], out: &[usize]) -> Digits {
        let mut digits =
            Digits { count: sizes.len() as u32, div: [1; AXES], modulus: [1; AXES], second: [0; AXES], out: [0; AXES] };
        let lists = [
            (&mut digits.div, &strides(sizes)[..]),
            (&mut digits.modulus, sizes),
            (&mut digits.second, second),
            (&mut digits.out, out),
        ];
        for (own, list) in lists {
            own.iter_mut().zip(list).for_each(|(own, &number)| *own = number as u32);
        }
        digits
    }
}

/// The operation on two entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Times,
    Plus,
    Over,
}

/// The parameters of a launch.
#[derive(Clone, Copy, Debug)]
struct Job {
    /// The digits of a thread's number.
    own: Digits,
    /// The digits of the entries that each thread visits.
    others: Digits,
    /// The number of threads.
    entries: u32,
    /// The number of entries that each thread visits.
    times: u32,
    /// The number of entries of the result.
    made: usize,
}

/// The operations on factors, by a backend.
trait Operations {
    type Factor;
    fn upload(&self, entries: &[f64]) -> Result<Self::Factor, DeviceError>;
    /// Joins two factors (algorithm 1) by the operation `how`.
    fn join(
        &self,
        how: How,
        first: &Self::Factor,
        second: &Self::Factor,
        job: &Job,
    ) -> Result<Self::Factor, DeviceError>;
    /// Sums out a variable (algorithm 2). If `largest` is set, it takes the maximum instead, and the chosen values
    /// follow the entries.
    fn marginalise(&self, largest: bool, factor: &Self::Factor, job: &Job) -> Result<Self::Factor, DeviceError>;
    fn read(&self, factor: &Self::Factor, entries: Range<usize>) -> Result<Vec<f64>, DeviceError>;
}

/// Computes the tables of steps, one operation at a time.
struct Published<'a, O: Operations> {
    plan: &'a Plan,
    operations: &'a O,
    /// For each decision, the factor of its maximum utilities and their number.
    largest: Vec<(Rc<O::Factor>, usize)>,
}

type Factor<O> = Table<Rc<<O as Operations>::Factor>>;

fn failed(error: DeviceError) -> Error {
    Error::Internal(format!("the published kernels: {error}"))
}

impl<O: Operations> Published<'_, O> {
    fn size(&self, scope: &[u32]) -> usize {
        self.plan.sizes(scope).iter().product()
    }

    fn join(&self, how: How, first: &Factor<O>, second: &Factor<O>) -> Result<Factor<O>, Error> {
        let plan = self.plan;
        let others: Vec<u32> = second.scope.iter().copied().filter(|axis| !first.scope.contains(axis)).collect();
        let mut scope = [&first.scope[..], &others].concat();
        scope.sort_unstable();
        let digits =
            |axes: &[u32]| Digits::new(&plan.sizes(axes), &plan.along(axes, &second.scope), &plan.along(axes, &scope));
        let job = Job {
            own: digits(&first.scope),
            others: digits(&others),
            entries: self.size(&first.scope) as u32,
            times: self.size(&others) as u32,
            made: self.size(&scope),
        };
        let entries = self.operations.join(how, &first.entries, &second.entries, &job).map_err(failed)?;
        Ok(Table { scope, entries: Rc::new(entries), error: 0.0 })
    }

    /// Joins factors in pairs. The larger factor of a pair is the first, and each of its entries has a thread.
    fn all(&self, how: How, factors: &[Factor<O>]) -> Result<Option<Factor<O>>, Error> {
        let Some((first, rest)) = factors.split_first() else { return Ok(None) };
        let mut made = Table { scope: first.scope.clone(), entries: first.entries.clone(), error: 0.0 };
        for factor in rest {
            let swap = self.size(&made.scope) < self.size(&factor.scope);
            let (first, second) = if swap { (factor, &made) } else { (&made, factor) };
            made = self.join(how, first, second)?;
        }
        Ok(Some(made))
    }

    fn marginalise(&self, step: &Step, factor: &Factor<O>) -> Result<Factor<O>, Error> {
        let (plan, gone) = (self.plan, [step.position]);
        let scope: Vec<u32> = factor.scope.iter().copied().filter(|axis| !gone.contains(axis)).collect();
        let digits =
            |axes: &[u32]| Digits::new(&plan.sizes(axes), &plan.along(axes, &factor.scope), &vec![0; axes.len()]);
        let entries = self.size(&scope);
        let made = if step.decision { 2 * entries } else { entries };
        let (own, others) = (digits(&scope), digits(&gone));
        let job = Job { own, others, entries: entries as u32, times: plan.domain(step), made };
        let entries = self.operations.marginalise(step.decision, &factor.entries, &job).map_err(failed)?;
        Ok(Table { scope, entries: Rc::new(entries), error: 0.0 })
    }
}

impl<O: Operations> Maker for Published<'_, O> {
    type Entries = Rc<O::Factor>;

    fn sum(
        &mut self,
        step: &Step,
        probabilities: &[Factor<O>],
        utilities: Vec<Vec<Factor<O>>>,
    ) -> Result<Sums<Rc<O::Factor>>, Error> {
        let product = self.all(How::Times, probabilities)?;
        let sum = match &product {
            Some(product) => self.marginalise(step, product)?,
            None => {
                let domain = self.operations.upload(&[f64::from(self.plan.domain(step))]).map_err(failed)?;
                Table { scope: Vec::new(), entries: Rc::new(domain), error: 0.0 }
            }
        };
        let mut made = Vec::new();
        for factors in utilities {
            let Some(utility) = self.all(How::Plus, &factors)? else { continue };
            let weighted = match &product {
                Some(product) => self.join(How::Times, product, &utility)?,
                None => utility,
            };
            let folded = self.marginalise(step, &weighted)?;
            made.push(self.join(How::Over, &folded, &sum)?.entries);
        }
        Ok((product.map(|_| sum.entries), made))
    }

    /// Takes the maximum of all entries, as in section 2.1. The elimination of Fangs checks that they are equal.
    fn constant(&mut self, step: &Step, probabilities: &[Factor<O>], _: f64) -> Result<Rc<O::Factor>, Error> {
        let product = self.all(How::Times, probabilities)?;
        let product = product.ok_or_else(|| Error::Internal("a product of no probabilities".into()))?;
        Ok(self.marginalise(step, &product)?.entries)
    }

    fn largest(
        &mut self,
        step: &Step,
        group: &Group,
        utilities: Vec<Factor<O>>,
        _: f64,
    ) -> Result<Rc<O::Factor>, Error> {
        let sum = self.all(How::Plus, &utilities)?;
        let sum = sum.ok_or_else(|| Error::Internal("a sum of no utilities".into()))?;
        let entries = self.marginalise(step, &sum)?.entries;
        self.largest.push((entries.clone(), self.size(&group.output)));
        Ok(entries)
    }
}

/// Eliminates along a plan. The choices are read as well. None of them counts as certain, because the paper does not
/// count rounding errors.
fn along<O: Operations>(operations: &O, pairs: &Pairs, plan: &Plan, stop: &Stop) -> Result<Outcome, Error> {
    let begun = begin(pairs, plan)?;
    let upload = |tables: &[Table<Storage<f64>>]| -> Result<Vec<Factor<O>>, Error> {
        let upload = |table: &Table<Storage<f64>>| {
            let entries = Rc::new(operations.upload(&table.entries).map_err(failed)?);
            Ok(Table { scope: table.scope.clone(), entries, error: table.error })
        };
        tables.iter().map(upload).collect()
    };
    let functions = (upload(&begun.probabilities)?, upload(&begun.utilities)?);
    let mut published = Published { plan, operations, largest: Vec::new() };
    let left = walk(plan, &mut published, functions, 0.0, stop)?;
    let pick = |(factor, entries): &(Rc<O::Factor>, usize)| -> Result<Picks, Error> {
        let chosen = operations.read(factor, *entries..2 * entries).map_err(failed)?;
        Ok(Picks { choices: chosen.into_iter().map(|value| value as u32).collect(), certain: vec![false; *entries] })
    };
    let picks = published.largest.iter().map(pick).collect::<Result<_, _>>()?;
    let read = |factor: &Factor<O>| operations.read(&factor.entries, 0..published.size(&factor.scope));
    let left = left.map(|factor| read(factor).map(Storage::from)).map_err(failed)?;
    finish(plan, &begun, &left, 0, picks, stop)
}

/// Returns the source of the kernels, which compile without a device.
pub(super) fn source() -> Source {
    let shared = constants! { u32: AXES, CHUNK; };
    let text = kernels::own("paper_id.cu", include_str!("../kernels/paper_id.cu")).declare(&shared).asserts::<Digits>();
    KERNELS.into_iter().fold(text, Source::kernel)
}

const KERNELS: [&str; 5] = ["join<Times>", "join<Plus>", "join<Over>", "marginalise<false>", "marginalise<true>"];

/// Chunks of device memory that no factor uses.
type Free = Rc<RefCell<Vec<CudaSlice<f64>>>>;

/// A factor in a chunk of memory that may be larger. The chunk becomes free when the factor is dropped (section 5).
struct Chunk {
    memory: Option<CudaSlice<f64>>,
    free: Free,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        self.free.borrow_mut().extend(self.memory.take());
    }
}

/// A device with the published kernels.
pub(super) struct OnDevice {
    cuda: Arc<Cuda>,
    threads: u32,
    kernels: Vec<Kernel>,
    free: Free,
    /// The maximum bytes of factors.
    room: u64,
}

impl OnDevice {
    /// Loads the kernels, with blocks of `threads` threads and at most `room` bytes of factors.
    pub fn new(cuda: &Arc<Cuda>, threads: u32, room: u64) -> Result<Self, Error> {
        let module = cuda.load(&source()).map_err(failed)?;
        let kernels = KERNELS.map(|name| module.kernel(name, 0)).into_iter().collect::<Result<_, _>>();
        Ok(OnDevice { cuda: cuda.clone(), threads, kernels: kernels.map_err(failed)?, free: Free::default(), room })
    }

    /// Eliminates along a plan; `None` if its factors do not fit in memory.
    pub fn eliminate(&self, pairs: &Pairs, plan: &Plan, stop: &Stop) -> Result<Option<Outcome>, Error> {
        match fits(plan, self.room) {
            true => along(self, pairs, plan, stop).map(Some),
            false => Ok(None),
        }
    }

    /// Returns the smallest free chunk that is large enough, or a new one.
    fn take(&self, entries: usize) -> Result<Chunk, DeviceError> {
        let mut free = self.free.borrow_mut();
        let large = (0..free.len()).filter(|&place| free[place].len() >= entries);
        let memory = match large.min_by_key(|&place| free[place].len()) {
            Some(place) => free.swap_remove(place),
            None => self.cuda.reserve(entries)?,
        };
        Ok(Chunk { memory: Some(memory), free: self.free.clone() })
    }

    fn launch(&self, kernel: usize, factors: &[&Chunk], job: &Job) -> Result<Chunk, DeviceError> {
        let made = self.take(job.made)?;
        let Job { own, others, entries, times, .. } = job;
        let all = || [&made].into_iter().chain(factors.iter().copied()).filter_map(|factor| factor.memory.as_ref());
        let blocks = Blocks::new(entries.div_ceil(self.threads), self.threads);
        // SAFETY: the arguments are those of both kernels, which differ in their factors; each factor has the entries
        // that the job's digits reach.
        unsafe {
            self.kernels[kernel].launch(self.cuda.stream(), blocks, |arguments| {
                let arguments = all().fold(arguments, |arguments, factor| arguments.arg(factor));
                arguments.arg(own).arg(others).arg(entries).arg(times)
            })?;
        }
        Ok(made)
    }
}

/// Returns whether factors fit the kernels' axes and indices and `room` bytes: those that exist at a time, the largest
/// one three times because a step has three, and the choices.
fn fits(plan: &Plan, room: u64) -> bool {
    let decisions = plan.steps.iter().filter(|step| step.decision).flat_map(|step| &step.groups);
    let chosen: f64 = decisions.map(|group| plan.sizes(&group.output).iter().product::<usize>() as f64).sum();
    let entries = 3.0 * plan.largest + 2.0 * chosen;
    plan.width < AXES && plan.largest < f64::from(1u32 << 31) && plan.peak_bytes + 8.0 * entries <= room as f64
}

impl Operations for OnDevice {
    type Factor = Chunk;

    fn upload(&self, entries: &[f64]) -> Result<Chunk, DeviceError> {
        let mut made = self.take(entries.len())?;
        if let Some(memory) = &mut made.memory {
            self.cuda.write(entries, memory)?;
        }
        Ok(made)
    }

    fn join(&self, how: How, first: &Chunk, second: &Chunk, job: &Job) -> Result<Chunk, DeviceError> {
        self.launch(how as usize, &[first, second], job)
    }

    fn marginalise(&self, largest: bool, factor: &Chunk, job: &Job) -> Result<Chunk, DeviceError> {
        self.launch(3 + usize::from(largest), &[factor], job)
    }

    fn read(&self, factor: &Chunk, entries: Range<usize>) -> Result<Vec<f64>, DeviceError> {
        factor.memory.as_ref().map_or(Ok(Vec::new()), |memory| self.cuda.read(&memory.slice(entries)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use fangs_decide::pairs::plan;
    use fangs_decide::pairs::testing::{hub, near, on_host};

    /// The operations of the kernels on the host, with blocks of five threads and chunks of seven entries.
    struct OnHost;

    const FEW: usize = 5;
    const SHORT: usize = 7;

    impl Digits {
        /// Returns the index in the second factor and in the result.
        fn find(&self, index: u32) -> (usize, usize) {
            let along = |strides: &[u32; AXES]| {
                let state = |axis: usize| index / self.div[axis] % self.modulus[axis];
                (0..self.count as usize).map(|axis| (state(axis) * strides[axis]) as usize).sum()
            };
            (along(&self.second), along(&self.out))
        }
    }

    impl Operations for OnHost {
        type Factor = Vec<f64>;

        fn upload(&self, entries: &[f64]) -> Result<Vec<f64>, DeviceError> {
            Ok(entries.to_vec())
        }

        fn join(&self, how: How, first: &Vec<f64>, second: &Vec<f64>, job: &Job) -> Result<Vec<f64>, DeviceError> {
            let mut made = vec![f64::NAN; job.made];
            let of = |a: f64, b: f64| match how {
                How::Times => a * b,
                How::Plus => a + b,
                How::Over if b < f64::MIN_POSITIVE => 0.0,
                How::Over => a / b,
            };
            let all: Vec<u32> = (0..job.entries).collect();
            for block in all.chunks(FEW) {
                let common: Vec<(usize, usize)> = block.iter().map(|&entry| job.own.find(entry)).collect();
                let begin = common.iter().map(|common| common.0).min().expect("a thread");
                let last = job.others.find(job.times - 1).0;
                let end = common.iter().map(|common| common.0 + last + 1).max().expect("a thread");
                let mut next = vec![0; block.len()];
                for from in (begin..end).step_by(SHORT) {
                    let chunk = &second[from..end.min(from + SHORT)];
                    for ((&entry, common), j) in block.iter().zip(&common).zip(&mut next) {
                        while *j < job.times && common.0 + job.others.find(*j).0 < from + SHORT {
                            let (at, out) = job.others.find(*j);
                            let entry = of(first[entry as usize], chunk[common.0 + at - from]);
                            made[common.1 + out] = entry;
                            *j += 1;
                        }
                    }
                }
            }
            assert!(made.iter().all(|entry| entry.is_finite()), "all is made: {job:?}");
            Ok(made)
        }

        fn marginalise(&self, largest: bool, factor: &Vec<f64>, job: &Job) -> Result<Vec<f64>, DeviceError> {
            let each = |entry: u32| -> Vec<f64> {
                let from = job.own.find(entry).0;
                (0..job.times).map(|j| factor[from + job.others.find(j).0]).collect()
            };
            let all: Vec<Vec<f64>> = (0..job.entries).map(each).collect();
            if !largest {
                return Ok(all.iter().map(|each| each.iter().sum()).collect());
            }
            let most = |each: &Vec<f64>| each.iter().copied().fold(0.0, f64::max);
            let chosen = |each: &Vec<f64>| each.iter().position(|&entry| entry == most(each)).expect("a value") as f64;
            Ok(all.iter().map(most).chain(all.iter().map(chosen)).collect())
        }

        fn read(&self, factor: &Vec<f64>, entries: Range<usize>) -> Result<Vec<f64>, DeviceError> {
            Ok(factor[entries].to_vec())
        }
    }

    /// Returns random cases with a single variable.
    fn small() -> Vec<(String, Pairs)> {
        let mut rng = Rng::new(71);
        let one = |case: u32, rng: &mut Rng| {
            let (domain, leaves) = (2 + rng.below(6) as u32, 2 + rng.below(5) as u32);
            let (probabilities, utilities) = (rng.below(12) as u32, rng.below(12) as u32);
            (format!("case {case}"), hub(rng, domain, leaves, probabilities, utilities))
        };
        (0..200).map(|case| one(case, &mut rng)).collect()
    }

    /// Checks that values by the published operations equal those of elimination on the host, and that certain choices
    /// do.
    fn compare<O: Operations>(operations: &O) {
        let (stop, mut compared, mut certain) = (Stop::new(), 0, 0);
        for (what, pairs) in small() {
            let plan = plan(&pairs, &stop).expect("it is not stopped");
            let Ok(own) = on_host(&pairs, &plan) else { continue };
            let found = along(operations, &pairs, &plan, &stop).expect("a value");
            let _ = near(&what, &own, &found);
            for (own, found) in own.rules.iter().zip(&found.rules) {
                for (row, _) in own.certain.iter().enumerate().filter(|(_, certain)| **certain) {
                    assert_eq!(own.choices[row], found.choices[row], "{what}, decision {}, row {row}", own.decision);
                    certain += 1;
                }
            }
            compared += 1;
        }
        assert!(compared > 60 && certain > 200, "{compared} {certain}");
    }

    #[test]
    fn the_published_operations_find_the_same_values() {
        compare(&OnHost);
    }

    #[test]
    fn their_kernels_find_the_same_values() {
        let Some(cuda) = fangs_testing::gpu() else { return };
        for threads in [64, THREADS, 640] {
            compare(&OnDevice::new(&cuda, threads, u64::MAX).expect("a device"));
        }
    }

    #[test]
    fn what_has_no_room_is_not_made() {
        let stop = Stop::new();
        let (_, pairs) = small().pop().expect("a case");
        let plan = plan(&pairs, &stop).expect("it is not stopped");
        assert!(fits(&plan, 1 << 30) && !fits(&plan, plan.peak_bytes as u64));
        assert!(!fits(&Plan { width: AXES, ..plan.clone() }, u64::MAX));
        assert!(!fits(&Plan { largest: 3e9, ..plan }, u64::MAX));
    }
}
