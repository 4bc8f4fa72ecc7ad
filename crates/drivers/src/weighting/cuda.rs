//! Constraint-weighting walks in device memory, with a warp for each walk.

#![allow(unsafe_code, reason = "structures that kernels take")]

use super::ConstraintWeighting;
use super::incidences::IncidenceLists;
use super::walk::WeightingProgress;
use crate::constants::weighting::RESIDENT;
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, Uploads, unfit};
use crate::device::shared::device_structs;
use crate::device::{DeviceError, Info, Source, ValidAsZeroBits};
use crate::kernels;
use crate::walks::cuda::{DeviceSearch, Program, asserted, group};

device_structs! {
    /// The struct `WalkInput` of `kernels/weighting.cu`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct InputArgument as "WalkInput" {
        variables: u32,
        functions: u32,
        group: u32,
        hard: i32,
        entries: u64,
        first: u64,
        domains: u64,
        starts: u64,
        incidences: u64,
        ranges: u64,
        on: u64,
        further: u64,
    }
}

// SAFETY: the fields are numbers, for which zeros are valid.
unsafe impl ValidAsZeroBits for WeightingProgress {}

/// Returns the driver's kernel sources.
pub fn sources() -> Vec<Source> {
    vec![source()]
}

fn source() -> Source {
    let source = kernels::source("weighting.cu").declare(&super::walk::declared());
    asserted::<ConstraintWeighting>(source).kernel("walk")
}

impl DeviceSearch for ConstraintWeighting {
    type Argument = InputArgument;

    fn fits_device(context: &SearchContext) -> bool {
        unfit(context).is_none()
    }

    fn source(_: &Info, _: &SearchContext) -> Source {
        source()
    }

    fn program(cuda: &Device, context: &SearchContext, _: &IncidenceLists) -> Result<Program, DeviceError> {
        let kernel = cuda.load(&source())?.kernel("walk", 0)?;
        let (tables, n) = (&context.tables, context.variables());
        let words = 3 * n + 2 * tables.moves() + 4 * tables.problem.functions.len();
        Ok(Program::of_warps(kernel, words, RESIDENT))
    }

    fn upload(
        up: &mut Uploads,
        context: &SearchContext,
        layout: &IncidenceLists,
    ) -> Result<InputArgument, DeviceError> {
        let (tables, n) = (&context.tables, context.variables());
        let IncidenceLists { starts, incidences } = layout;
        let mut first: Vec<u32> = (0..n).map(|v| tables.unary_at(v)).collect();
        first.push(tables.moves() as u32);
        // for each variable, its functions with their incidences
        let mut on = vec![Vec::new(); n];
        for (function, range) in starts.windows(2).enumerate() {
            for incidence in range[0]..range[1] {
                on[incidences[incidence as usize].0 as usize].push([function as u32, incidence]);
            }
        }
        let mut ranges = vec![0];
        ranges.extend(on.iter().scan(0, |end, list| {
            *end += list.len() as u32;
            Some(*end)
        }));
        let (mut packed, mut further) = (Vec::with_capacity(8 * incidences.len()), Vec::new());
        for (v, incidence) in incidences {
            let rest = tables.further(incidence);
            packed.extend([incidence.base, *v, incidence.first, incidence.first_stride]);
            packed.extend([incidence.second, incidence.second_stride, further.len() as u32 / 2, rest.len() as u32]);
            further.extend(rest.iter().flat_map(|&(variable, stride)| [variable, stride]));
        }
        Ok(InputArgument {
            variables: n as u32,
            functions: tables.problem.functions.len() as u32,
            group: group(tables.width.iter().max().map_or(1, |width| width / 4)),
            hard: tables.hard,
            entries: up.items(&tables.rows().words())?,
            first: up.items(&first)?,
            domains: up.items(&tables.problem.domains)?,
            starts: up.items(starts)?,
            incidences: up.items(&packed)?,
            ranges: up.items(&ranges)?,
            on: up.items(on.concat().as_flattened())?,
            further: up.items(&further)?,
        })
    }
}
