//! Thermal cycling on a device, with a block of threads for each assignment.

#![allow(unsafe_code, reason = "kernel launches and structures that kernels take")]

use super::anneals::{Anneal, Anneals, Cycled};
use super::walk::{Rule, Words, values_of};
use crate::core::cuda::Device;
use crate::core::quadratic::form::{SweepForm, WARP};
use crate::core::quadratic::{Quadratic, Weight, on_weights};
use crate::device::shared::device_structs;
use crate::device::{
    Blocks, CudaSlice, CudaStream, DeviceError, DeviceRepr, Held, Info, Kernel, PushKernelArg, Source, ValidAsZeroBits,
};
use crate::kernels;
use crate::stop::Stop;
use std::ops::Range;
use std::sync::Arc;

device_structs! {
    /// The struct `Form` of `kernels/spins.cu`.
    #[derive(Clone, Copy, Debug)]
    struct FormArgument as "Form" {
        variables: u32,
        classes: u32,
        ends: u64,
        starts: u64,
        links: u64,
        shift: u32,
        unused: u32,
    }

    /// The struct `States` of `kernels/spins.cu`.
    #[derive(Clone, Copy, Debug)]
    struct StatesArgument as "States" {
        words: u64,
        known: u64,
        parts: u64,
        gains: u64,
        cycled: u64,
        anneals: u64,
        rules: u64,
        guide: u64,
        stop: u64,
        sweeps: u32,
        guided: u32,
    }

    /// The struct `Anneal` of `kernels/spins.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    struct AnnealArgument as "Anneal" {
        key: u64,
        top: u64,
    }

    /// The struct `Cycled` of `kernels/spins.cu`.
    #[derive(Clone, Copy, Debug, Default)]
    struct CycledArgument as "Cycled" {
        value: i64,
        flips: u64,
        sweeps: u64,
    }
}

// SAFETY: the fields are numbers, for which zeros are valid.
unsafe impl ValidAsZeroBits for AnnealArgument {}
// SAFETY: the fields are numbers, for which zeros are valid.
unsafe impl ValidAsZeroBits for CycledArgument {}

/// Largest number of threads of a block.
const THREADS: u32 = 1024;
/// Average number of links of a variable from which on a warp visits the links of one variable together.
const TOGETHER: usize = WARP / 2;
/// Bytes of shared memory that the kernel uses apart from the words.
const BESIDE: u32 = 1 << 10;

/// A type of weights that kernels support.
pub(super) trait DeviceWeight: Weight + DeviceRepr + ValidAsZeroBits {
    /// The type's name in the kernels.
    const NAME: &str;
}

impl DeviceWeight for i32 {
    const NAME: &str = "int";
}

impl DeviceWeight for i64 {
    const NAME: &str = "i64";
}

/// The kernel and the launch parameters for a form.
struct Shape {
    kernel: String,
    threads: u32,
    /// Bytes of shared memory; 0 if the words do not fit.
    shared: u32,
}

impl Shape {
    fn of<W: DeviceWeight>(info: &Info, form: &SweepForm, quadratic: &Quadratic<W>) -> Shape {
        let bytes = (size_of::<W>() * form.variables()) as u64;
        let fits = bytes <= u64::from(info.shared_memory.saturating_sub(BESIDE));
        let shared = if fits { bytes as u32 } else { 0 };
        let together = !form.has_classes || quadratic.degree() >= TOGETHER;
        let kernel = format!("cycle<{}, {fits}, {}, {together}>", W::NAME, form.has_classes);
        let widest = form.classes.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(1);
        let threads = if form.has_classes { widest.next_multiple_of(WARP as u32).min(THREADS) } else { WARP as u32 };
        Shape { kernel, threads, shared }
    }
}

fn source_of(kernels: &[&str]) -> Source {
    let source = kernels::source("spins.cu")
        .asserts::<FormArgument>()
        .asserts::<StatesArgument>()
        .asserts::<AnnealArgument>()
        .asserts::<CycledArgument>();
    kernels.iter().fold(source, |source, kernel| source.kernel(*kernel))
}

pub fn sources() -> Vec<Source> {
    let all = [<i32 as DeviceWeight>::NAME, <i64 as DeviceWeight>::NAME].map(|weight| {
        ["true", "false"].map(|shared| {
            ["true, true", "true, false", "false, true"].map(|rest| format!("cycle<{weight}, {shared}, {rest}>"))
        })
    });
    let all = all.as_flattened().as_flattened();
    vec![source_of(&all.iter().map(String::as_str).collect::<Vec<_>>())]
}

/// Returns the kernel source for a form.
pub(super) fn source(info: &Info, form: &SweepForm) -> Source {
    source_of(&[&on_weights!(&form.quadratic, of => Shape::of(info, form, of)).kernel])
}

pub(super) struct CudaSpins<W: DeviceWeight> {
    cuda: Device,
    /// A stream for what cannot wait for the kernels' stream.
    aside: Arc<CudaStream>,
    kernel: Kernel,
    shape: Shape,
    quadratic: Arc<Quadratic<W>>,
    form: FormArgument,
    count: usize,
    known: CudaSlice<W>,
    guide: CudaSlice<W>,
    cycled: CudaSlice<CycledArgument>,
    anneals: CudaSlice<AnnealArgument>,
    /// Not 0 if a round must end early.
    stop: CudaSlice<u32>,
    /// Whether the next cycle has a guide.
    guided: bool,
    words: u64,
    parts: u64,
    gains: u64,
    /// Keeps the memory allocated.
    _held: Held,
}

impl<W: DeviceWeight> CudaSpins<W> {
    /// Creates as many assignments as the device processes at once and as fit into a quarter of its memory. All begin
    /// at `first`.
    pub fn open(
        cuda: &Device,
        form: &SweepForm,
        quadratic: &Arc<Quadratic<W>>,
        first: &[bool],
        count: impl FnOnce(usize) -> usize,
    ) -> Result<Self, DeviceError> {
        let cuda = cuda.beside()?;
        let (aside, shape, n) = (cuda.fork()?, Shape::of(&cuda.info, form, quadratic), form.variables());
        let first = Words::new(quadratic, first);
        let kernel = cuda.load(&source(&cuda.info, form))?.kernel(&shape.kernel, shape.shared)?;
        let resident = kernel.blocks_per_multiprocessor(shape.threads, shape.shared)? * cuda.info.multiprocessors;
        let bytes = n * (2 * size_of::<W>() + size_of::<u32>() + size_of::<i64>());
        let count = count((resident as usize).min(cuda.free_memory()? as usize / 4 / bytes).max(1));
        let mut held = Held::default();
        let (starts, links) = quadratic.arrays();
        // sums of slopes are stored above the lowest bit
        let twice = |&(other, weight): &(u32, W)| [W::of(other.into()), weight << 1];
        let links: Vec<[W; 2]> = links.iter().map(twice).collect();
        let argument = FormArgument {
            variables: n as u32,
            classes: form.classes.len() as u32 - 1,
            ends: held.upload(&cuda, &form.classes)?,
            starts: held.upload(&cuda, starts)?,
            links: held.upload(&cuda, links.as_flattened())?,
            shift: form.shift,
            unused: 0,
        };
        let in_memory = if shape.shared == 0 { count * n } else { 1 };
        let words = held.keep(&cuda, cuda.zeros::<W>(in_memory)?);
        let parts = held.keep(&cuda, cuda.zeros::<u32>(count * n)?);
        let gains = held.keep(&cuda, cuda.zeros::<i64>(count * n)?);
        let mut known = cuda.zeros::<W>(count * n)?;
        for slot in 0..count {
            cuda.write(&first.words, &mut known.slice_mut(slot * n..(slot + 1) * n))?;
        }
        let begun = CycledArgument { value: first.value, ..CycledArgument::default() };
        Ok(CudaSpins {
            guide: cuda.zeros(n)?,
            cycled: cuda.upload(&vec![begun; count])?,
            anneals: cuda.zeros(count)?,
            stop: cuda.zeros(1)?,
            guided: false,
            known,
            cuda,
            aside,
            kernel,
            shape,
            quadratic: quadratic.clone(),
            form: argument,
            count,
            words,
            parts,
            gains,
            _held: held,
        })
    }
}

impl<W: DeviceWeight> CudaSpins<W> {
    /// Returns the range of an assignment's words.
    fn range(&self, slot: usize) -> Range<usize> {
        let n = self.form.variables as usize;
        slot * n..(slot + 1) * n
    }

    /// Returns the words of the best of one assignment.
    pub fn words(&self, slot: usize) -> Result<Vec<W>, DeviceError> {
        self.cuda.read(&self.known.slice(self.range(slot)))
    }
}

impl<W: DeviceWeight> Anneals for CudaSpins<W> {
    fn count(&self) -> usize {
        self.count
    }

    fn hear(&mut self, guide: &[bool]) -> Result<(), DeviceError> {
        self.guided = true;
        self.cuda.write(&Words::new(&self.quadratic, guide).words, &mut self.guide)
    }

    fn lead(&mut self, slot: usize) -> Result<(), DeviceError> {
        self.guided = true;
        self.cuda.copy(&self.known.slice(self.range(slot)), &mut self.guide)
    }

    fn cycle(&mut self, anneals: &[Anneal], rules: &[Vec<Rule>], stop: &Stop) -> Result<Vec<Cycled>, DeviceError> {
        let cuda = &*self.cuda;
        let told: Vec<AnnealArgument> =
            anneals.iter().map(|anneal| AnnealArgument { key: anneal.key, top: anneal.top as u64 }).collect();
        cuda.write(&told, &mut self.anneals)?;
        let numbers: Vec<[u32; 2]> = rules.iter().flatten().map(Rule::numbers).collect();
        let numbers = cuda.upload(numbers.as_flattened())?;
        let states = StatesArgument {
            words: self.words,
            known: cuda.address(&self.known),
            parts: self.parts,
            gains: self.gains,
            cycled: cuda.address(&self.cycled),
            anneals: cuda.address(&self.anneals),
            rules: cuda.address(&numbers),
            guide: cuda.address(&self.guide),
            stop: cuda.address(&self.stop),
            sweeps: rules[0].len() as u32,
            guided: std::mem::take(&mut self.guided).into(),
        };
        let blocks = Blocks { count: self.count as u32, threads: self.shape.threads, shared: self.shape.shared };
        // SAFETY: the arguments are the kernel's; all memory that it reads and writes was allocated for this form and
        // number of assignments.
        unsafe {
            self.kernel.launch(cuda.stream(), blocks, |arguments| arguments.arg(&self.form).arg(&states))?;
        }
        crate::core::watch::watch(cuda, &self.aside, &self.stop, stop)?;
        let cycled = cuda.read(&self.cycled)?;
        Ok(cycled.iter().map(|of| Cycled { value: of.value, flips: of.flips, sweeps: of.sweeps }).collect())
    }

    fn known(&self, slot: usize) -> Result<Vec<bool>, DeviceError> {
        Ok(values_of(&self.words(slot)?))
    }
}
