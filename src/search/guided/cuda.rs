//! Networks as a domain of FANG on a device: `heuristics/network.cuh`, with the rows that the annealing kernels have.

#![allow(unsafe_code, reason = "kernel arguments are laid out as the device reads them")]

use super::state::{Places, State};
use crate::device::{Cuda, CudaSlice, DeviceError, DeviceRepr, Source};
use crate::fang::cuda::{Domain, Heuristic};
use crate::fang::{Active, State as _};
use crate::heuristics::{self, INPUTS, Needs, ValueHeuristic, View};
use crate::rng::Rng;
use crate::search::cuda::{CoreArgument, DeviceCore, address, unfit};
use crate::search::driver::Field;

/// What a device does not know yet.
const HOST_ONLY: Needs = Needs::of([Needs::H, Needs::REDUCED, Needs::SINCE]);

/// `NetworkProblem` of the text.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct NetworkProblem {
    core: CoreArgument,
    floors: u64,
    places: u64,
    origins: u64,
    incumbent: u64,
    pub temperature: f64,
    hard: i32,
    pub round: u32,
    left: u32,
    taken: u32,
    visits: u32,
    unused: u32,
}

// SAFETY: the same fields in the same order and sizes as on the device, without padding.
unsafe impl DeviceRepr for NetworkProblem {}

/// A core on a device, and the heuristic that weighs its values.
pub(super) struct NetworkOnDevice {
    pub problem: NetworkProblem,
    source: Source,
    needs: Needs,
    variables: usize,
    words: usize,
    moves: usize,
    possibilities: usize,
    _core: DeviceCore,
    _kept: [CudaSlice<u32>; 4],
}

/// A heuristic's text with what it needs.
fn source_of(heuristic: &dyn ValueHeuristic, half: bool, wide: bool) -> Option<Source> {
    let mut source = heuristic.cuda()?.constant("HALF_ROWS", u32::from(half));
    if wide {
        source = source.constant("WIDE", 1);
    }
    for input in INPUTS {
        let needed = u32::from(heuristic.needs().any(input.needs));
        source = source.constant(&format!("NEEDS_{}", input.name.to_ascii_uppercase()), needed);
    }
    Some(source)
}

/// An instance of each heuristic that has a text.
pub(in crate::search) fn sources() -> Vec<Source> {
    let of = |(place, heuristic): (usize, &std::sync::Arc<dyn ValueHeuristic>)| {
        let source = source_of(&**heuristic, place % 2 == 1, place == 2)?;
        Some(
            source
                .kernel("pass<8, true, u64, Slot<Network<Heuristic>, 2>>")
                .kernel("pass<64, false, u64, Slot<Network<Heuristic>, 0>>"),
        )
    };
    heuristics::all().iter().enumerate().filter_map(of).collect()
}

impl NetworkOnDevice {
    /// Uploads a core. `None` where it, or the heuristic, is the CPU's.
    ///
    /// # Errors
    /// The device's.
    pub fn new(
        cuda: &Cuda,
        field: &Field,
        heuristic: &dyn ValueHeuristic,
        (floors, incumbent): (&[i32], Option<&[u16]>),
    ) -> Result<Option<Self>, DeviceError> {
        let needs = heuristic.needs();
        if unfit(field).is_some() || needs.any(HOST_ONLY) {
            return Ok(None);
        }
        let core = DeviceCore::new(cuda, field)?;
        let Some(source) = source_of(heuristic, core.half, core.wide) else { return Ok(None) };
        let rows = &field.rows;
        let places = Places::new(&rows.width);
        let (n, moves) = (rows.variables(), places.end());
        let starts: Vec<u32> = (0..n).map(|v| places.row(v).start as u32).collect();
        let values = vec![0; n];
        let view = View::new(field, &values);
        let mut origins = vec![0; moves];
        for v in 0..n {
            for value in 0..rows.domain(v) {
                origins[places.row(v).start + value] = view.origin_value(v, value) as u32;
            }
        }
        let upload = |words: &[u32]| if words.is_empty() { cuda.zeros(1) } else { cuda.upload(words) };
        let floors: Vec<u32> = floors.iter().map(|floor| floor.cast_unsigned()).collect();
        let best: Vec<u32> = incumbent.unwrap_or_default().iter().map(|&value| u32::from(value)).collect();
        let kept = [upload(&floors)?, upload(&starts)?, upload(&origins)?, upload(&best)?];
        let [floors, places, origins, known] = [0, 1, 2, 3].map(|which| address(cuda, &kept[which]));
        let ages = if needs.any(Needs::AGE) { moves } else { 0 };
        let counts = if needs.any(Needs::FREQUENCY) { moves } else { 0 };
        let problem = NetworkProblem {
            core: core.argument,
            floors,
            places,
            origins,
            incumbent: if incumbent.is_some() { known } else { 0 },
            temperature: 1.0,
            hard: rows.hard,
            round: 0,
            left: n as u32,
            taken: (n + ages) as u32,
            visits: (n + ages + counts) as u32,
            unused: 0,
        };
        Ok(Some(NetworkOnDevice {
            problem,
            source,
            needs,
            variables: n,
            words: n + ages + counts + if counts > 0 { n } else { 0 },
            moves,
            possibilities: (0..n).map(|v| rows.domain(v)).max().unwrap_or(0),
            _core: core,
            _kept: kept,
        }))
    }
}

// SAFETY: the heuristics read a state's words, the core's tables and the arrays of `new`, and write the state's words, all at places
// that follow from values below the domains' sizes; words are as many as `words` says.
unsafe impl Domain for NetworkOnDevice {
    type State = State;
    type Problem = NetworkProblem;

    fn source(&self) -> Source {
        self.source.clone()
    }

    fn heuristics(&self) -> Vec<Heuristic> {
        let largest_sum = self.possibilities as u64 * u64::from(u32::MAX);
        let name = "Network<Heuristic>".into();
        vec![Heuristic { name, possibilities: self.possibilities, width: 1, parts: 1, keep: 8, largest_sum }]
    }

    fn variables(&self) -> usize {
        self.variables
    }

    fn words(&self) -> usize {
        self.words
    }

    fn problem(&self) -> &NetworkProblem {
        &self.problem
    }

    fn store(&self, state: &State, words: &mut [u32]) {
        let stored = state.values.iter().map(|&value| u32::from(value)).chain(state.memory());
        words.iter_mut().zip(stored).for_each(|(word, stored)| *word = stored);
    }

    fn load(&self, words: &[u32], active: Active, rng: Rng) -> State {
        let (values, memory) = words.split_at(self.variables);
        let mut state =
            State::remembering(values.iter().map(|&value| value as u16).collect(), active, memory, |need| {
                if self.needs.any(need) { self.moves } else { 0 }
            });
        *state.rng() = rng;
        state
    }
}
