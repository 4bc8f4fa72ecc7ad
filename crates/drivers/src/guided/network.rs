//! A problem on a device, and the kernel source that weighs its values: `kernels/network.cuh`.

use super::arguments::{BatchArgument, TrajectoryProgress};
use super::guidance::{GuidanceArgument, GuidanceOnDevice};
use super::round_context::RoundContext;
use crate::core::context::SearchContext;
use crate::core::cuda;
use crate::core::cuda::{CoreArgument, DeviceCore};
use crate::core::layout::MoveLayout;
use crate::device::shared::device_structs;
use crate::device::{Cuda, CudaSlice, DeviceError, Held, Source};
use crate::elimination::Term;
use crate::fang::cuda::Shape;
use crate::heuristics;
use crate::heuristics::cuda::{MEMBERS, expression, source_of};
use crate::heuristics::{Needs, ValueHeuristic, View};
use crate::value_tables::ValueTables;

/// The pass at which a value was left that was never left.
const NEVER: u32 = u32::MAX;
/// Words of a child after those of a state: the result of a visit, and a variable with a strange weight.
const OWN: usize = 2;
/// Words of a member of a group.
const MEMBER: usize = 3;

device_structs! {
    /// The struct `NetworkProblem` of `kernels/network.cuh`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct NetworkProblem as "NetworkProblem" {
        core: CoreArgument,
        floors: u64,
        places: u64,
        origins: u64,
        incumbent: u64,
        reduced: u64,
        counted: u64,
        guidance: GuidanceArgument,
        tables: u64,
        variables as "tables.variables": u32,
        moves as "tables.places": u32,
        hard: i32,
        left: u32,
        taken: u32,
        visits: u32,
        picked: u32,
        strange: u32,
        marks: u32,
        group: u32,
        proposals: u32,
        unused: u32,
    }
}

/// A problem on a device, and the heuristic that weighs its values.
pub(crate) struct NetworkOnDevice {
    pub problem: NetworkProblem,
    pub source: Source,
    needs: Needs,
    pub variables: usize,
    /// Words of a state: its values and its memory.
    pub words: usize,
    pub working_words: usize,
    ages: std::ops::Range<usize>,
    incumbent: CudaSlice<u32>,
    reduced: CudaSlice<f64>,
    guidance: Option<GuidanceOnDevice>,
    shift: u32,
    _core: DeviceCore,
    _held: Held,
}

/// Returns why a heuristic's trajectories must be made on the CPU; `None` if they need not.
pub(crate) fn unfit(context: &SearchContext, heuristic: &dyn ValueHeuristic) -> Option<String> {
    let name = heuristic.name();
    if heuristic.cuda().is_none() {
        return Some(format!("heuristic {name} has no CUDA text"));
    }
    if heuristic.neighbourhood().is_some_and(|neighbourhood| neighbourhood.cuda().is_none()) {
        return Some(format!("heuristic {name} proposes groups of variables that have no CUDA text"));
    }
    cuda::unfit(context)
}

fn source(heuristic: &dyn ValueHeuristic, asserts: bool, half: bool, wide: bool) -> Option<Source> {
    let source = source_of(heuristic, asserts, half, wide)?.asserts::<CoreArgument>().asserts::<NetworkProblem>();
    Some(
        source
            .asserts::<GuidanceArgument>()
            .asserts::<Term>()
            .asserts::<TrajectoryProgress>()
            .asserts::<BatchArgument>(),
    )
}

/// Returns the driver's kernel sources: an instance for each heuristic that has one.
pub fn sources() -> Vec<Source> {
    let of = |(place, heuristic): (usize, &std::sync::Arc<dyn ValueHeuristic>)| {
        let source = source(&**heuristic, place % 3 == 1, place % 2 == 1, place % 5 == 2)?;
        let instance = |threads, keep, shared| expression(&Shape { threads, keep: vec![keep] }, shared);
        Some(source.kernel(instance(8, 2, true)).kernel(instance(64, 0, false)))
    };
    heuristics::all().iter().enumerate().filter_map(of).collect()
}

impl NetworkOnDevice {
    /// Uploads a problem that is not [`unfit`].
    pub fn new(cuda: &Cuda, round: &RoundContext<'_>, heuristic: &dyn ValueHeuristic) -> Result<Self, DeviceError> {
        let (context, layout) = (round.context, round.layout);
        let needs = heuristic.needs();
        let core = DeviceCore::new(cuda, context)?;
        let textless = || DeviceError::Unusable(format!("heuristic {} has no CUDA text", heuristic.name()));
        let source = source(heuristic, round.asserts, core.shape.half, core.shape.wide).ok_or_else(textless)?;
        let tables = &context.tables;
        let (n, moves) = (tables.variables(), layout.moves());
        let values = vec![0; n];
        let view = context.view(&values);
        let origins = origins(&view, tables, layout);
        let numbers = numbers(heuristic, &view, tables, layout);
        let floors: Vec<u32> = layout.floors.iter().map(|floor| floor.cast_unsigned()).collect();
        let counted = if round.asserts { counted(tables) } else { Vec::new() };
        let mut held = Held::default();
        let ages = if needs.any(Needs::AGE) { moves } else { 0 };
        let (counts, visits) = if needs.any(Needs::FREQUENCY) { (moves, n) } else { (0, 0) };
        let words = n + ages + counts + visits;
        let proposals = heuristic.neighbourhood().map_or(0, |neighbourhood| neighbourhood.proposals(n));
        let room = if proposals > 0 { n + MEMBER * MEMBERS } else { 0 };
        let problem = NetworkProblem {
            core: core.argument,
            floors: held.upload(cuda, &floors)?,
            places: held.upload(cuda, &layout.starts[..n])?,
            origins: held.upload(cuda, &origins)?,
            incumbent: 0,
            reduced: 0,
            counted: held.upload(cuda, &counted)?,
            guidance: GuidanceArgument::default(),
            tables: held.upload(cuda, &numbers)?,
            variables: n as u32,
            moves: moves as u32,
            hard: tables.hard,
            left: n as u32,
            taken: (n + ages) as u32,
            visits: (n + ages + counts) as u32,
            picked: words as u32,
            strange: words as u32 + 1,
            marks: (words + OWN) as u32,
            group: (words + OWN + n) as u32,
            proposals: proposals as u32,
            unused: 0,
        };
        let incumbent = cuda.zeros(if needs.any(Needs::INCUMBENT) { n.max(1) } else { 1 })?;
        let reduced = cuda.zeros(if needs.any(Needs::REDUCED) { moves.max(1) } else { 1 })?;
        Ok(NetworkOnDevice {
            problem,
            source,
            needs,
            variables: n,
            words,
            working_words: words + OWN + room,
            ages: n..n + ages,
            incumbent,
            reduced,
            guidance: None,
            shift: tables.shift,
            _core: core,
            _held: held,
        })
    }

    /// Fills in the words of a state without memory.
    pub fn begin(&self, words: &mut [u32], values: &[u16]) {
        words.fill(0);
        words[self.ages.clone()].fill(NEVER);
        words.iter_mut().zip(values).for_each(|(word, &value)| *word = value.into());
    }

    /// Uploads the results of other drivers and bounds: the incumbent, bounds of values, mini-buckets.
    pub fn look(&mut self, cuda: &Cuda, round: &RoundContext<'_>) -> Result<(), DeviceError> {
        if let (true, Some(values)) = (self.needs.any(Needs::INCUMBENT), round.incumbent) {
            let values: Vec<u32> = values.iter().map(|&value| value.into()).collect();
            cuda.write(&values, &mut self.incumbent)?;
            self.problem.incumbent = cuda.address(&self.incumbent);
        }
        if let (true, Some(known)) = (self.needs.any(Needs::REDUCED), round.reduced) {
            let mut reduced = vec![0.0; round.layout.moves()];
            for (v, known) in known.iter().enumerate() {
                let row = round.layout.range(v).zip(known);
                row.for_each(|(place, &cost)| reduced[place] = round.units(cost));
            }
            cuda.write(&reduced, &mut self.reduced)?;
            self.problem.reduced = cuda.address(&self.reduced);
        }
        let guidance = round.guidance.as_ref().filter(|_| self.needs.any(Needs::H));
        if self.guidance.as_ref().map(|known| known.number) != guidance.map(|guidance| guidance.number) {
            // the old memory is freed before new memory is allocated
            self.guidance = None;
            self.guidance = guidance.map(|guidance| GuidanceOnDevice::new(cuda, guidance, self.shift)).transpose()?;
        }
        self.problem.guidance =
            self.guidance.as_ref().map_or_else(GuidanceArgument::default, |guidance| guidance.argument);
        Ok(())
    }
}

/// Returns the network's value for each value of the problem, by move.
fn origins(view: &View<'_>, tables: &ValueTables, layout: &MoveLayout) -> Vec<u32> {
    let mut origins = vec![0; layout.moves()];
    for v in 0..tables.variables() {
        for value in 0..tables.domain(v) {
            origins[layout.range(v).start + value] = view.origin_value(v, value) as u32;
        }
    }
    origins
}

/// Returns the tables of a heuristic, one after the other, by move or by variable.
fn numbers(heuristic: &dyn ValueHeuristic, view: &View<'_>, tables: &ValueTables, layout: &MoveLayout) -> Vec<f64> {
    let n = tables.variables();
    let mut numbers = Vec::new();
    for table in heuristic.tables() {
        if table.by_value() {
            let first = numbers.len();
            numbers.resize(first + layout.moves(), f64::NAN);
            for v in 0..n {
                let row = table.row(view.origin(v));
                for value in 0..tables.domain(v) {
                    let number = row.get(view.origin_value(v, value)).copied();
                    numbers[first + layout.range(v).start + value] = number.unwrap_or(f64::NAN);
                }
            }
        } else {
            numbers.extend((0..n).map(|v| table.number(view.origin(v))));
        }
    }
    numbers
}

/// Returns for each incidence, in the order of a device, whether it is its function's first, at which the function
/// counts.
fn counted(tables: &ValueTables) -> Vec<u32> {
    let of = |v: usize| {
        let mut own: Vec<_> = tables.incidences(v).iter().zip(tables.functions_on(v)).collect();
        own.sort_by_key(|(incidence, _)| ValueTables::binary(incidence).is_none());
        own.into_iter().map(move |(_, &f)| u32::from(tables.problem.functions[f as usize].scope[0] as usize == v))
    };
    (0..tables.variables()).flat_map(of).collect()
}
