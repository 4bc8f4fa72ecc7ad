//! The kernels of one state over a whole device (`kernels/wide.cu`), and their numbers of threads.

use super::launch_shape::value_bytes;
use crate::core::context::SearchContext;
use crate::core::cuda::{CoreArgument, Device};
use crate::cuda::lanes::StateLanes;
use crate::device::shared::{constants, device_structs};
use crate::device::{DeviceError, Kernel, Source, ValidAsZeroBits};
use crate::partition::PartClasses;
use crate::tuning::wide::{MOST_PARTS, OCCUPANCY, WAIT_NANOSECONDS};
use crate::{generation, kernels, value_tables};

/// Threads of a block without barriers between blocks (`kernels/wide.cu`).
pub(super) const THREADS: u32 = 256;
/// Threads of a block that waits for other blocks (`kernels/wide.cu`).
pub(super) const WAITING: u32 = 1024;
/// Threads that wait for other parts, at most one for each part.
pub(super) const PACE: u32 = 32;

device_structs! {
    /// Mirrors `Step` in `kernels/wide.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Step as "Step" {
        pub order: u64,
        pub draw: u64,
        pub boltzmann: [u32; 2],
        pub least: i64,
    }

    /// Mirrors `Outcome` in `kernels/wide.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Outcome as "Outcome" {
        pub moves: u64,
        pub total: i64,
        pub hash: u64,
        pub violations: u32,
        pub arrived: u32,
        pub awaited: u64,
    }

    /// Mirrors `PartVisits` in `kernels/wide.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct PartVisits as "PartVisits" {
        pub values: [u64; MOST_PARTS],
        pub arrived: [u64; MOST_PARTS],
        pub done: u64,
        pub part: u32,
        pub parts: u32,
        pub number: u32,
        pub begin: u32,
        pub border_end: u32,
        pub end: u32,
    }

    /// Mirrors `Kept` in `kernels/wide.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct Kept as "Kept" {
        pub rows: [u64; MOST_PARTS],
        pub child_bytes: u64,
        pub effects_of: u64,
        pub effects: u64,
        pub part: u32,
        pub parts: u32,
        pub group_bits: u32,
        pub children: u32,
    }

    /// Mirrors `Crossover` in `kernels/crossover.cuh`.
    #[derive(Clone, Copy, Debug, Default)]
    pub(crate) struct CrossoverArgument as "Crossover" {
        pub label: u64,
        pub delta: u64,
    }
}

// SAFETY: all fields are numbers, for which zero bits are valid.
unsafe impl ValidAsZeroBits for Outcome {}

/// The kernels of a reduced problem, or of a part of it, on a device.
pub(super) struct Program {
    pub scatter: Kernel,
    /// The kernel of all sweeps of a launch, or of the visits of a class.
    pub sweeps: Kernel,
    pub by_class: bool,
    /// Whether parts wait for each other.
    pub in_step: bool,
    /// The kernels that connect parts; `None` if there is one part.
    pub between: Option<PartKernels>,
    /// The range of each class in the list of members.
    pub classes: Vec<ClassPlaces>,
    /// The number of lanes of a visit.
    pub lanes: u32,
    pub combine: Kernel,
    pub measure: Kernel,
    /// The kernel that computes the rows of evaluations.
    pub keep: Kernel,
    pub effects: EffectKernels,
    /// The blocks of sweeps and of a combination that are on the device at once. Sweeps take all that fit, an equal
    /// number for each child; a combination takes those that its variables need.
    pub blocks: [u32; 2],
}

/// The kernels that connect parts.
pub(super) struct PartKernels {
    /// Copies the values of all parts to the first one.
    pub gather: Kernel,
    /// Waits for parts that are behind.
    pub pace: Kernel,
}

/// The kernels that find which rows of evaluations change with a variable.
pub(super) struct EffectKernels {
    pub count: Kernel,
    pub place: Kernel,
    pub write: Kernel,
}

/// The range of a color class in the list of members. Members at the border of a part come first.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassPlaces {
    pub begin: u32,
    pub border_end: u32,
    pub end: u32,
}

/// The parameters that the kernels of a reduced problem depend on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub lanes: StateLanes,
    /// Bytes of a value.
    pub bytes: u32,
    pub wide: bool,
    pub byte_rows: bool,
    pub links: bool,
    /// Whether a launch makes the visits of one class.
    pub by_class: bool,
    /// Whether a launch visits one of several parts.
    pub in_parts: bool,
    /// Whether a part waits for the changes of the class before from the other parts. If not, changes arrive while it
    /// continues.
    pub in_step: bool,
    /// The number of children that are swept at once.
    pub children: u32,
}

impl Shape {
    /// Returns the shape for a reduced problem on a device: a launch makes the visits of one class if the device has at
    /// most one thread for each of them, and whole sweeps otherwise.
    pub fn of(cuda: &Device, context: &SearchContext) -> Shape {
        let row = context.row_shape().with_ratings();
        let lanes = StateLanes::new(row.quads, row.half, 1);
        let by_class = (cuda.info.multiprocessors * OCCUPANCY) as usize / widest(context) < 2;
        // enough children to use all threads with one for each lane of the widest class; one child in a portable run,
        // as on the CPU
        let blocks = (widest(context) * lanes.count() as usize).div_ceil(WAITING as usize) as u32;
        let children = if by_class || context.portable { 1 } else { (cuda.info.multiprocessors / blocks).max(1) };
        Shape {
            lanes,
            bytes: value_bytes(context),
            wide: row.wide,
            byte_rows: row.bytes,
            links: row.links,
            by_class,
            in_parts: false,
            in_step: false,
            children,
        }
    }

    /// Returns the shape for one child at a time.
    pub fn of_one_child(self) -> Shape {
        Shape { children: 1, ..self }
    }

    /// Returns the shape for several parts, whose launches visit one class of one part. The parts are in step in
    /// portable runs, because values must not depend on time, and if the effect of a move depends on a third variable's
    /// value.
    pub fn in_parts(self, context: &SearchContext) -> Shape {
        let pairs = || context.tables.problem.functions.iter().all(|function| function.scope.len() <= 2);
        Shape { in_step: context.portable || !(self.links || pairs()), ..self.in_free_parts() }
    }

    /// Returns the shape for several parts that do not wait for each other in each class.
    fn in_free_parts(self) -> Shape {
        Shape { by_class: true, in_parts: true, in_step: false, children: 1, ..self }
    }

    /// Returns the shape for several parts in step.
    pub fn in_step(self) -> Shape {
        Shape { in_step: true, ..self.in_free_parts() }
    }

    fn source(self) -> Source {
        let source = kernels::source("wide.cu").declare(&value_tables::declared()).declare(&generation::declared());
        let source = source.asserts::<CoreArgument>().asserts::<Step>().asserts::<Outcome>();
        let source = source.asserts::<CrossoverArgument>();
        let source = if self.wide { source.constant("WIDE", 1) } else { source };
        let source = if self.byte_rows { source.constant("BYTE_ROWS", 1) } else { source };
        let source = if self.lanes.half { source.constant("HALF_ROWS", 1) } else { source };
        let source = if self.links { source.constant("LINKS", 1) } else { source };
        let source = source
            .declare(&constants! { u32: MOST_PARTS; u64: WAIT_NANOSECONDS; })
            .asserts::<PartVisits>()
            .asserts::<Kept>();
        let between = self.in_parts.then(|| self.part_names()).into_iter().flatten();
        self.names().into_iter().chain(self.effect_names()).chain(between).fold(source, Source::kernel)
    }

    /// Returns the names of the kernels for sweeps or visits, scatter, combine, measure and keep.
    fn names(self) -> [String; 5] {
        let StateLanes { parts, slots, units, half } = self.lanes;
        let value = format!("u{}", 8 * self.bytes);
        let sweeps = match self.by_class {
            true if self.in_step => "visits_of_part",
            true => "visits",
            false => "sweeps",
        };
        [
            format!("{sweeps}<{parts}, {slots}, {units}, {half}, {value}>"),
            format!("scatter<{value}>"),
            format!("combine<{value}>"),
            format!("measure<{value}>"),
            format!("keep<{parts}, {slots}, {units}, {half}, {value}>"),
        ]
    }

    /// Returns the names of the kernels that count, place and write effects.
    fn effect_names(self) -> [String; 3] {
        let half = self.lanes.half;
        [format!("count_effects<{half}>"), "place_effects".into(), format!("write_effects<{half}>")]
    }

    /// Returns the names of the kernels that connect parts.
    fn part_names(self) -> [String; 2] {
        [format!("gather<u{}>", 8 * self.bytes), "pace".into()]
    }
}

/// Returns sources that cover the kernels of every kind of lanes.
pub fn sources() -> Vec<Source> {
    let lanes = |quads: u32, half: bool| StateLanes::new(quads, half, 1);
    let plain = |lanes| Shape {
        lanes,
        bytes: 1,
        wide: true,
        byte_rows: false,
        links: false,
        by_class: false,
        in_parts: false,
        in_step: false,
        children: 1,
    };
    let narrow = [1, 2, 4, 8, 16, 32, 64].map(|quads| {
        let shape = plain(lanes(quads, quads > 1));
        Shape { wide: quads < 8, byte_rows: quads == 8, ..shape }
    });
    let single = plain(StateLanes::new(2, true, 1));
    let long = Shape { bytes: 2, ..plain(lanes(128, false)) };
    let others = [single, Shape { byte_rows: true, ..single }, long];
    let all = narrow.into_iter().chain(others);
    let by_class = |shape| Shape { by_class: true, ..shape };
    let kinds = |shape| {
        let links = Shape { links: true, ..shape };
        [shape, links, by_class(links), links.in_step()]
    };
    let others = [by_class(single), single.in_step(), single.in_free_parts()];
    all.flat_map(kinds).chain(others).map(Shape::source).collect()
}

/// Returns the source of the kernels for a reduced problem, on one device or on several. The problem must suit.
pub(crate) fn source_of(cuda: &Device, context: &SearchContext, in_parts: bool) -> Source {
    let shape = Shape::of(cuda, context);
    if in_parts { shape.in_parts(context).source() } else { shape.source() }
}

/// Returns the number of variables of the widest class.
fn widest(context: &SearchContext) -> usize {
    context.order.classes.iter().map(Vec::len).max().unwrap_or(1).max(1)
}

impl Program {
    /// Loads the program of a shape for the classes of a reduced problem or of a part.
    pub fn new(
        cuda: &Device,
        context: &SearchContext,
        shape: Shape,
        classes: &PartClasses,
    ) -> Result<Program, DeviceError> {
        let module = cuda.load(&shape.source())?;
        let [sweeps, scatter, combine, measure, keep] = shape.names();
        let kernel = |name: &str| module.kernel(name, 0);
        let [count, place, write] = shape.effect_names();
        let effects = EffectKernels { count: kernel(&count)?, place: kernel(&place)?, write: kernel(&write)? };
        let (sweeps, combine) = (kernel(&sweeps)?, kernel(&combine)?);
        let at_once = |kernel: &Kernel, threads: u64| {
            let all = kernel.blocks_per_multiprocessor(WAITING, 0)? * cuda.info.multiprocessors;
            Ok::<_, DeviceError>(threads.div_ceil(WAITING.into()).clamp(1, all.max(1).into()) as u32)
        };
        let of_sweeps = at_once(&sweeps, u64::MAX)?;
        let blocks = [of_sweeps - of_sweeps % shape.children, at_once(&combine, context.variables() as u64)?];
        let mut end = 0;
        let places = classes.members.iter().zip(&classes.border).map(|(members, border)| {
            let begin = end;
            end += members.len() as u32;
            ClassPlaces { begin, border_end: begin + border, end }
        });
        let classes = places.collect();
        let between = match shape.in_parts {
            true => {
                let [gather, pace] = shape.part_names();
                Some(PartKernels { gather: kernel(&gather)?, pace: kernel(&pace)? })
            }
            false => None,
        };
        Ok(Program {
            scatter: kernel(&scatter)?,
            sweeps,
            by_class: shape.by_class,
            in_step: shape.in_step,
            between,
            classes,
            lanes: shape.lanes.count(),
            combine,
            measure: kernel(&measure)?,
            keep: kernel(&keep)?,
            effects,
            blocks,
        })
    }
}
