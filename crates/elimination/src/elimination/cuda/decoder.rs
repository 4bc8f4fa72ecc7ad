//! Decoding of an assignment from the messages of a finished run on the device that has them.
//!
//! kernels/assign.cu follows the reverse elimination order. This module prepares what it reads: for each position the
//! tables that [`CostToGo::rate`](crate::elimination::CostToGo::rate) looks up, as addresses and strides. Functions are
//! copied as they are, not capped, so that the sums are those of the CPU. (Beam search with states drawn by these sums
//! brought no gain: results/notes/bounds-cuda.md.)

#![allow(unsafe_code, reason = "launches of kernels are foreign")]

use super::gpu::{Gpu, Text};
use super::program::Program;
use super::semiring::Element;
use crate::device::shared::{constants, device_structs};
use crate::device::{Blocks, DeviceError, Held, Kernel, PushKernelArg, Source};
use crate::elimination::plan::{self, EliminationPlan};
use crate::elimination::table;
use crate::kernels;
use crate::model::{Cost, FORBIDDEN, Problem};
use crate::tensor::strides;
use std::sync::Arc;

/// Largest number of entries of functions that are copied: a gigabyte.
const FUNCTIONS: u64 = 1 << 27;
/// Bytes of a block's shared memory that are not for rows.
const OWN: u32 = 1 << 10;

const FUNCTION: u32 = 0;
const MESSAGE: u32 = 1;
const SENT: u32 = 2;

device_structs! {
    /// `Term` of kernels/assign.cu.
    #[derive(Clone, Copy, Debug, Default)]
    struct Term as "Term" {
        /// Until it is uploaded, an index into the entries of the functions or of the device's tables; then an address.
        address: u64,
        own: u64,
        first: u32,
        digits: u32,
        kind: u32,
        unused: u32,
    }

    /// `Digit` of kernels/assign.cu.
    #[derive(Clone, Copy, Debug, Default)]
    struct Digit as "Digit" {
        stride: u64,
        position: u32,
        unused: u32,
    }

    /// `Place` of kernels/assign.cu.
    #[derive(Clone, Copy, Debug, Default)]
    struct Place as "Place" {
        domain: u32,
        unary: u32,
        first: u32,
        terms: u32,
    }

    /// `Guide` of kernels/assign.cu.
    #[derive(Clone, Copy, Debug, Default)]
    struct Guide as "Guide" {
        places: u64,
        terms: u64,
        digits: u64,
        unary: u64,
        positions: u32,
        row: u32,
    }
}

/// The source of the decoding kernel.
const DECODER: Text = Text { source: Decoder::source, shared: Decoder::shared };

/// The arrays that the kernel reads, on the host.
#[derive(Debug, Default)]
struct Layout {
    places: Vec<Place>,
    terms: Vec<Term>,
    digits: Vec<Digit>,
    unary: Vec<Cost>,
    functions: Vec<Cost>,
}

impl Layout {
    /// Lays out the arrays for a program; `None` if the functions have too many entries.
    fn new(problem: &Problem, plan: &EliminationPlan, program: &Program) -> Option<Layout> {
        let size = |scope: &[u32]| {
            scope.iter().fold(1u64, |size, &v| size.saturating_mul(u64::from(problem.domains[v as usize])))
        };
        let all = problem.functions.iter().map(|function| size(&function.scope)).fold(0, u64::saturating_add);
        if all > FUNCTIONS {
            return None;
        }
        let mut position = vec![0u32; plan.sequence.len()];
        for (place, &v) in plan.sequence.iter().enumerate() {
            position[v as usize] = place as u32;
        }
        let mut layout = Layout::default();
        for (place, &variable) in plan.sequence.iter().enumerate() {
            let first = layout.terms.len() as u32;
            for (number, step) in plan.bucket(place).iter().enumerate() {
                for input in &step.inputs {
                    match input.source {
                        plan::Source::Unary => {}
                        plan::Source::Function(f) => {
                            let function = &problem.functions[f as usize];
                            let at = layout.functions.len() as u64;
                            let entries = table::costs(function, &function.scope, &problem.domains, FORBIDDEN);
                            layout.functions.extend_from_slice(&entries);
                            let sizes: Vec<usize> =
                                function.scope.iter().map(|&v| problem.domains[v as usize] as usize).collect();
                            let strides = strides(&sizes);
                            let digits = function.scope.iter().zip(strides);
                            let digits = digits.map(|(&v, stride)| (position[v as usize], stride as u64));
                            layout.term(FUNCTION, at, place as u32, digits);
                        }
                        plan::Source::Message(from) => {
                            layout.message(MESSAGE, plan, program, from as usize, place as u32);
                        }
                    }
                }
                layout.message(SENT, plan, program, plan.first[place] as usize + number, place as u32);
            }
            layout.places.push(Place {
                domain: plan.domains[place],
                unary: layout.unary.len() as u32,
                first,
                terms: layout.terms.len() as u32 - first,
            });
            layout.unary.extend(&problem.unary[variable as usize]);
        }
        Some(layout)
    }

    fn message(&mut self, kind: u32, plan: &EliminationPlan, program: &Program, step: usize, place: u32) {
        let table = &program.tables[program.messages[step]];
        let strides = table.strides(&plan.domains);
        self.term(kind, table.at, place, table.scope.iter().copied().zip(strides));
    }

    fn term(&mut self, kind: u32, address: u64, place: u32, digits: impl Iterator<Item = (u32, u64)>) {
        let mut term = Term { address, first: self.digits.len() as u32, kind, ..Term::default() };
        for (position, stride) in digits {
            if position == place {
                term.own = stride;
            } else {
                self.digits.push(Digit { stride, position, unused: 0 });
            }
        }
        term.digits = self.digits.len() as u32 - term.first;
        self.terms.push(term);
    }
}

/// Decodes an assignment on the device that has the messages.
#[derive(Debug)]
pub(crate) struct Decoder<'a> {
    gpu: &'a Arc<Gpu>,
    kernel: Kernel,
    guide: Guide,
    _held: Held,
    sequence: &'a [u32],
}

impl<'a> Decoder<'a> {
    /// Returns the source of the kernel.
    pub(crate) fn source() -> Source {
        kernels::source("assign.cu")
            .declare(&constants! { i64: FORBIDDEN; u32: FUNCTION, MESSAGE, SENT; })
            .asserts::<Term>()
            .asserts::<Digit>()
            .asserts::<Place>()
            .asserts::<Guide>()
    }

    /// Begins to compile the kernel for an entry type.
    pub(crate) fn begin<E: Element>(gpu: &Gpu) {
        gpu.begin(DECODER, &Self::expression(E::NAME));
    }

    /// Returns the kernel's name for entries of a C type.
    pub(crate) fn expression(entry: &str) -> String {
        format!("grow<{entry}>")
    }

    /// Returns the bytes of dynamic shared memory that the kernel may use if the device permits `limit`.
    pub(crate) fn shared(limit: u32) -> u32 {
        limit.saturating_sub(OWN)
    }

    /// Prepares decoding for messages of costs in device memory that begins at `address`. `None` if functions or
    /// domains are too large.
    pub(crate) fn new<E: Element>(
        gpu: &'a Arc<Gpu>,
        program: &Program,
        address: u64,
        problem: &Problem,
        plan: &'a EliminationPlan,
    ) -> Result<Option<Self>, DeviceError> {
        let cuda = gpu.cuda();
        let row = plan.domains.iter().copied().max().unwrap_or(0);
        let fits = u64::from(row) * 8 <= u64::from(Self::shared(cuda.info.shared_memory));
        let Some(mut layout) = Layout::new(problem, plan, program).filter(|_| fits) else { return Ok(None) };
        let kernel = gpu.kernel(DECODER, &Self::expression(E::NAME))?;
        let mut held = Held::default();
        let (own, theirs) = (held.upload(cuda, &layout.functions)?, address);
        for term in &mut layout.terms {
            term.address = match term.kind {
                FUNCTION => own + term.address * size_of::<Cost>() as u64,
                _ => theirs + term.address * size_of::<E>() as u64,
            };
        }
        let guide = Guide {
            places: held.upload(cuda, &layout.places)?,
            terms: held.upload(cuda, &layout.terms)?,
            digits: held.upload(cuda, &layout.digits)?,
            unary: held.upload(cuda, &layout.unary)?,
            positions: plan.sequence.len() as u32,
            row,
        };
        Ok(Some(Decoder { gpu, kernel, guide, _held: held, sequence: &plan.sequence }))
    }

    /// Returns the assignment of [`Outcome::assign`](crate::elimination::Outcome::assign).
    pub(crate) fn assign(&self) -> Result<Vec<u32>, DeviceError> {
        let cuda = self.gpu.cuda();
        let positions = self.sequence.len();
        let mut values = cuda.zeros::<u32>(positions)?;
        // SAFETY: the arguments are grow's; `values` has a number for each position, and `self` holds all memory to
        // which the guide points.
        unsafe {
            let blocks = Blocks { count: 1, threads: 32, shared: 8 * self.guide.row };
            self.kernel.launch(cuda.stream(), blocks, |arguments| arguments.arg(&self.guide).arg(&mut values))?;
        }
        let mut assignment = vec![0; positions];
        for (&v, value) in self.sequence.iter().zip(cuda.read(&values)?) {
            assignment[v as usize] = value;
        }
        Ok(assignment)
    }
}
