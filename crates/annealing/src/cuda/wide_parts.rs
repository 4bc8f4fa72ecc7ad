//! One state that several devices sweep together: each device visits a part of the variables and holds their
//! evaluations, which the moves of all devices change. If the parts are in step (`kernels/wide.cu`: visits_of_part), a
//! color class is visited after all parts have exchanged the class before it, so the values equal those of one device
//! bit for bit. Otherwise a part continues while changes arrive, and neighbours in different parts may move at the same
//! time.

use super::wide_program::{ClassPlaces, Kept, Outcome, PACE, PartVisits, Program, Shape, Step, THREADS, WAITING};
use super::wide_ratings::Ratings;
use crate::core::context::SearchContext;
use crate::core::cuda::{CoreArrays, Device, DeviceCore};
use crate::core::effort::LostDevice;
use crate::core::row_shape::RowShape;
use crate::device::{Blocks, CudaSlice, DeviceError, PushKernelArg, connect};
use crate::partition::{PartClasses, owners};
use crate::sweep::class_numbers;
use crate::threads;
use crate::tuning::wide::{LEG, MOST_PARTS};
use std::ops::Range;

/// A part of the variables on a device.
pub(super) struct Part {
    pub cuda: Device,
    pub core: DeviceCore,
    pub program: Program,
    /// The children's values of all variables, one row after another.
    pub children: CudaSlice<u8>,
    ratings: Ratings,
    /// The counters and energy of each child.
    pub outcomes: CudaSlice<Outcome>,
    arrived: CudaSlice<u32>,
    done: CudaSlice<u32>,
}

impl Part {
    fn lost(&self, error: DeviceError) -> LostDevice {
        LostDevice { ordinal: self.cuda.info.ordinal, error }
    }

    /// Returns the range of a child's values among those of all children.
    pub fn row_of(&self, child: usize) -> Range<usize> {
        let row = self.children.len() / self.outcomes.len();
        child * row..(child + 1) * row
    }

    /// Resets the counters of launches.
    pub fn forget_counts(&self) -> Result<(), DeviceError> {
        self.cuda.set_bytes(&self.outcomes, 0)
    }

    /// Launches all sweeps as one kernel; the steps of each child follow those of the one before.
    fn sweep_at_once(&self, kept: &Kept, steps: &[Step]) -> Result<(), DeviceError> {
        let (cuda, count) = (&*self.cuda, steps.len() as u32 / kept.children);
        let steps = cuda.upload(steps)?;
        let blocks = Blocks::new(self.program.blocks[0], WAITING);
        // SAFETY: the arguments are the kernel's; these blocks are on the device at once.
        unsafe {
            self.program.sweeps.launch_together(cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.children);
                arguments.arg(kept).arg(&steps).arg(&count).arg(&self.outcomes)
            })
        }
    }

    fn blocks_of(&self, members: u32) -> u32 {
        (members * self.program.lanes).div_ceil(THREADS)
    }

    /// Launches the visits of a class if this part waits for no other.
    fn visit(&self, kept: &Kept, step: &Step, class: usize) -> Result<(), DeviceError> {
        let ClassPlaces { begin, end, .. } = self.program.classes[class];
        let blocks = Blocks::new(self.blocks_of(end - begin).max(1), THREADS);
        // SAFETY: the arguments are the kernel's; a thread beyond the class does nothing.
        unsafe {
            self.program.sweeps.launch(self.cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.children);
                arguments.arg(kept).arg(step).arg(&begin).arg(&end).arg(&self.outcomes)
            })
        }
    }

    /// Launches, if there are several parts, the wait for those that are two legs behind.
    fn keep_pace(&self, visits: PartVisits) -> Result<(), DeviceError> {
        let Some(between) = &self.program.between else { return Ok(()) };
        // SAFETY: the arguments are the kernel's, and all parts' memory is there until all have ended.
        unsafe {
            between.pace.launch(self.cuda.stream(), Blocks::new(1, PACE), |arguments| {
                arguments.arg(&visits).arg(&self.outcomes)
            })
        }
    }

    /// Launches this part's visits of a class if parts are in step.
    fn visit_part(&self, kept: &Kept, step: &Step, class: usize, visits: PartVisits) -> Result<(), DeviceError> {
        let ClassPlaces { begin, border_end, end } = self.program.classes[class];
        let visits = PartVisits { begin, border_end, end, ..visits };
        let border = self.blocks_of(border_end - begin).max(1);
        let blocks = Blocks::new(border + self.blocks_of(end - border_end), THREADS);
        // SAFETY: the arguments are the kernel's, and all parts' memory is there until all have ended.
        unsafe {
            self.program.sweeps.launch(self.cuda.stream(), blocks, |arguments| {
                let arguments = arguments.arg(&self.core.argument).arg(&self.children);
                arguments.arg(kept).arg(step).arg(&visits).arg(&self.outcomes)
            })
        }
    }
}

/// A part on the device that the launches are for, and their arguments.
struct PartHere<'a> {
    part: &'a Part,
    kept: Kept,
    visits: PartVisits,
}

/// The parts of a state. The device of the first part also holds the parent and computes energies.
pub(super) struct Parts {
    all: Vec<Part>,
    /// The part of each variable, in the memory of the first device.
    owners: CudaSlice<u8>,
    /// The number of classes that each part has visited so far or, if parts are not in step, of legs.
    visited: u32,
}

impl Parts {
    /// Makes a part for each device. Parts on the same device share a stream and alternate.
    pub fn new(devices: &[Device], context: &SearchContext, shape: Shape) -> Result<Parts, LostDevice> {
        let on = |place: usize| move |error| LostDevice { ordinal: devices[place].info.ordinal, error };
        for other in 1..devices.len() {
            connect(&devices[..=other]).map_err(on(other))?;
        }
        let row_shape = RowShape { links: shape.links, ..context.row_shape().with_ratings() };
        let (owners, arrays) = rayon::join(
            || if shape.in_parts { owners(context, devices.len()) } else { Vec::new() },
            || CoreArrays::without_moves(context, row_shape),
        );
        let part = |place: usize| {
            let cuda = devices[place].clone();
            let classes = match shape.in_parts {
                true => PartClasses::new(context, &owners, place as u8),
                false => PartClasses::whole(context),
            };
            let core = arrays.upload(&cuda, &[], &classes.members)?;
            let program = Program::new(&cuda, context, shape, &classes)?;
            let (row, children) = (core.argument.pad as usize * shape.bytes as usize, shape.children as usize);
            Ok(Part {
                children: cuda.zeros(row * children)?,
                ratings: Ratings::new(&cuda, &core, &program, shape.children, &owners)?,
                program,
                outcomes: cuda.zeros(children)?,
                arrived: cuda.zeros(MOST_PARTS)?,
                done: cuda.zeros(1)?,
                core,
                cuda,
            })
        };
        let all = threads::try_map(0..devices.len(), |place| part(place).map_err(on(place)))?;
        let parts = Parts { owners: devices[0].upload(&owners).map_err(on(0))?, all, visited: 0 };
        // the memory that other parts write to is allocated
        parts.meet()?;
        Ok(parts)
    }

    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the device of each part.
    pub fn devices(&self) -> Vec<Device> {
        self.all.iter().map(|part| part.cuda.clone()).collect()
    }

    pub fn first(&self) -> &Part {
        &self.all[0]
    }

    /// Makes later work of each part wait for all work launched so far.
    fn meet(&self) -> Result<(), LostDevice> {
        if self.all.len() < 2 {
            return Ok(());
        }
        let mark = |part: &Part| part.cuda.mark(part.cuda.stream()).map_err(|error| part.lost(error));
        let marks = self.all.iter().map(mark).collect::<Result<Vec<_>, _>>()?;
        for part in &self.all {
            for mark in &marks {
                part.cuda.wait(part.cuda.stream(), mark).map_err(|error| part.lost(error))?;
            }
        }
        Ok(())
    }

    /// Starts the children at random values, each from its own draw.
    pub fn scatter(&mut self, variables: usize, draws: &[u64]) -> Result<(), LostDevice> {
        let blocks = Blocks::new((variables as u32).div_ceil(THREADS), THREADS);
        for part in &self.all {
            for (child, draw) in draws.iter().enumerate() {
                let values = part.children.slice(part.row_of(child));
                // SAFETY: the arguments are the kernel's; there is a value for each variable.
                let launched = unsafe {
                    part.program.scatter.launch(part.cuda.stream(), blocks, |arguments| {
                        arguments.arg(&part.core.argument).arg(&values).arg(draw)
                    })
                };
                launched.map_err(|error| part.lost(error))?;
            }
        }
        self.meet()
    }

    /// Starts all children as copies of a state in the first device's memory.
    pub fn copy(&mut self, state: &CudaSlice<u8>) -> Result<(), LostDevice> {
        self.meet()?;
        for part in &mut self.all {
            for child in 0..part.outcomes.len() {
                let row = part.row_of(child);
                let copied = part.cuda.copy(state, &mut part.children.slice_mut(row));
                copied.map_err(|error| part.lost(error))?;
            }
        }
        self.meet()
    }

    /// Launches the computation of the children's evaluations.
    pub fn keep(&mut self) -> Result<(), LostDevice> {
        for (place, part) in (0..).zip(&self.all) {
            let (kept, members) = (self.kept_of(place), part.program.classes.last().map_or(0, |class| class.end));
            let blocks = Blocks::new(part.blocks_of(members).max(1) * kept.children, THREADS);
            // SAFETY: the arguments are the kernel's; a thread beyond the members does nothing.
            let launched = unsafe {
                part.program.keep.launch(part.cuda.stream(), blocks, |arguments| {
                    arguments.arg(&part.core.argument).arg(&part.children).arg(&kept)
                })
            };
            launched.map_err(|error| part.lost(error))?;
        }
        self.meet()
    }

    /// Launches the next sweeps, with separate steps for each child.
    pub fn sweep(&mut self, context: &SearchContext, steps: &[Step]) -> Result<(), LostDevice> {
        for part in &self.all {
            part.forget_counts().map_err(|error| part.lost(error))?;
        }
        let first = self.first();
        if !first.program.by_class {
            return first.sweep_at_once(&self.kept_of(0), steps).map_err(|error| first.lost(error));
        }
        let mut ordinals: Vec<usize> = self.all.iter().map(|part| part.cuda.info.ordinal).collect();
        ordinals.sort_unstable();
        ordinals.dedup();
        let launched = match &ordinals[..] {
            &[ordinal] => self.launch_on(ordinal, context, steps),
            _ => self.launch_on_all(&ordinals, context, steps),
        };
        let count = match first.program.in_step {
            true => steps.len() * context.order.classes.len(),
            false => steps.len().div_ceil(LEG),
        };
        self.visited = self.visited.wrapping_add(count as u32);
        launched
    }

    /// Launches the visits of all parts, with a thread per device: a single thread launches no faster than one device
    /// visits.
    fn launch_on_all(&self, ordinals: &[usize], context: &SearchContext, steps: &[Step]) -> Result<(), LostDevice> {
        std::thread::scope(|scope| {
            let start = |&ordinal: &usize| {
                let begun = threads::start_in(scope, "parts", move || self.launch_on(ordinal, context, steps));
                begun.map_err(|error| LostDevice {
                    ordinal,
                    error: DeviceError::Failed { what: "starting a thread".into(), cause: error.to_string() },
                })
            };
            let begun: Vec<_> = ordinals.iter().map(start).collect();
            let ended = begun.into_iter().zip(ordinals).map(|(thread, &ordinal)| {
                thread?.join().unwrap_or_else(|_| {
                    let (what, cause) = ("launching visits".into(), "the thread ended".into());
                    Err(LostDevice { ordinal, error: DeviceError::Failed { what, cause } })
                })
            });
            // every thread ends before an error is reported
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }

    /// Launches the visits of the parts on a device.
    fn launch_on(&self, ordinal: usize, context: &SearchContext, steps: &[Step]) -> Result<(), LostDevice> {
        let here = (0..).zip(&self.all).filter(|(_, part)| part.cuda.info.ordinal == ordinal);
        let of = |(place, part)| PartHere { part, kept: self.kept_of(place), visits: self.visits_of(place) };
        let here: Vec<PartHere> = here.map(of).collect();
        match self.first().program.in_step {
            true => self.launch_in_step(&here, context, steps),
            false => self.launch_legs(&here, context, steps),
        }
    }

    /// Launches visits class by class, so that no launch waits for a later one of its stream.
    fn launch_in_step(&self, here: &[PartHere<'_>], context: &SearchContext, steps: &[Step]) -> Result<(), LostDevice> {
        let mut number = self.visited;
        for step in steps {
            for class in class_numbers(context, step.order) {
                number = number.wrapping_add(1);
                for PartHere { part, kept, visits } in here {
                    let visits = PartVisits { number, ..*visits };
                    part.visit_part(kept, step, class, visits).map_err(|error| part.lost(error))?;
                }
            }
        }
        Ok(())
    }

    /// Launches visits class by class. After each leg the parts wait for those that are two legs behind.
    fn launch_legs(&self, here: &[PartHere<'_>], context: &SearchContext, steps: &[Step]) -> Result<(), LostDevice> {
        for (leg, count) in steps.chunks(LEG).zip(0..) {
            let number = self.visited.wrapping_add(count);
            for PartHere { part, visits, .. } in here {
                part.keep_pace(PartVisits { number, ..*visits }).map_err(|error| part.lost(error))?;
            }
            for step in leg {
                for class in class_numbers(context, step.order) {
                    for PartHere { part, kept, .. } in here {
                        part.visit(kept, step, class).map_err(|error| part.lost(error))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the evaluations of a part in the form that kernels take.
    fn kept_of(&self, part: u32) -> Kept {
        let mut kept = Kept { part, parts: self.all.len() as u32, ..self.all[part as usize].ratings.argument };
        for (place, other) in self.all.iter().enumerate() {
            kept.rows[place] = other.ratings.argument.rows[0];
        }
        kept
    }

    /// Returns the arguments that all visits of a part share.
    fn visits_of(&self, part: u32) -> PartVisits {
        let mut visits = PartVisits { part, parts: self.all.len() as u32, ..PartVisits::default() };
        for (place, other) in self.all.iter().enumerate() {
            visits.values[place] = other.cuda.address(&other.children);
            visits.arrived[place] = other.cuda.address(&other.arrived);
        }
        let own = &self.all[part as usize];
        visits.done = own.cuda.address(&own.done);
        visits
    }

    /// Copies the values of all parts to the first device. Later work of the other devices waits for the copy.
    pub fn gather(&mut self) -> Result<(), LostDevice> {
        let part = self.first();
        let Some(between) = &part.program.between else { return Ok(()) };
        self.meet()?;
        let (visits, blocks) = (self.visits_of(0), (part.core.argument.variables as u32).div_ceil(THREADS));
        // SAFETY: the arguments are the kernel's; there is a part for each variable.
        let launched = unsafe {
            between.gather.launch(part.cuda.stream(), Blocks::new(blocks, THREADS), |arguments| {
                arguments.arg(&part.core.argument).arg(&part.children).arg(&self.owners).arg(&visits)
            })
        };
        launched.map_err(|error| part.lost(error))?;
        self.meet()
    }

    /// Waits for all launches and returns the counters of each child, summed over its parts.
    pub fn outcomes(&self) -> Result<Vec<Outcome>, LostDevice> {
        let read = |part: &Part| part.cuda.read(&part.outcomes).map_err(|error| part.lost(error));
        let mut outcomes: Vec<Outcome> = self.all.iter().map(read).collect::<Result<Vec<_>, _>>()?.concat();
        if let Some(place) = outcomes.iter().find_map(|outcome| outcome.awaited.checked_sub(1)) {
            let (what, cause) = ("exchanging values".into(), "it did not answer".into());
            return Err(self.all[place as usize].lost(DeviceError::Failed { what, cause }));
        }
        if self.all.len() > 1 {
            outcomes[0].moves = outcomes.iter().map(|outcome| outcome.moves).sum();
            outcomes.truncate(1);
        }
        Ok(outcomes)
    }
}

impl Drop for Parts {
    /// Waits for all parts, because they write to each other's memory.
    fn drop(&mut self) {
        if self.all.len() > 1 {
            for part in &self.all {
                // a failed device executes nothing
                let _ = part.cuda.synchronize();
            }
        }
    }
}
