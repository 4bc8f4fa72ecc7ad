//! Walks on sums in device memory, with a warp for each walk.

#![allow(unsafe_code, reason = "structures that kernels take")]

use super::SumSearch;
use super::progress::{Ground, LARGEST_PRICE, LEAST_PRICE, SumProgress, declared};
use crate::constants::sums::{FALL, RESIDENT, RISE};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, Uploads};
use crate::core::sum_space::SumSpace;
use crate::device::shared::device_structs;
use crate::device::{DeviceError, Info, Source, ValidAsZeroBits};
use crate::globals::sums::{self, SumArgument};
use crate::kernels;
use crate::tabu::cuda::{LayoutArgument, upload_layout};
use crate::walks::cuda::{DeviceSearch, Program, asserted};
use std::f64::consts::LN_2;

device_structs! {
    /// The struct `SumInput` of `kernels/sums.cu`.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct InputArgument as "SumInput" {
        layout: LayoutArgument,
        sums: u32,
        frees: u32,
        hard: i32,
        shift: u32,
        unit: f64,
        rise: f64,
        fall: f64,
        least: f64,
        largest: f64,
        halving: f64,
        free: u64,
        is_free: u64,
        choices_of: u64,
        choices: u64,
        values_of: u64,
        terms_of: u64,
        terms: u64,
        readers_of: u64,
        readers: u64,
        rules: u64,
        logarithms: u64,
    }
}

// SAFETY: the fields are numbers; zeros represent a walk that has not begun.
unsafe impl ValidAsZeroBits for SumProgress {}

/// Returns the driver's kernel sources.
pub fn sources() -> Vec<Source> {
    vec![source()]
}

fn source() -> Source {
    let source = kernels::source("sums.cu").declare(&sums::declared()).declare(&declared());
    let source = source.asserts::<SumArgument>().asserts::<LayoutArgument>();
    asserted::<SumSearch>(source).kernel("walk")
}

/// Returns the number of words of a walk's tables, which is even: three 64-bit numbers and two words for each sum.
fn words(space: &SumSpace) -> usize {
    (8 * space.sums.sums.len() + space.layout.moves() + space.tables.variables()).next_multiple_of(2)
}

impl DeviceSearch for SumSearch {
    type Argument = InputArgument;

    fn source(_: &Info, _: &SearchContext) -> Source {
        source()
    }

    fn program(cuda: &Device, _: &SearchContext, ground: &Ground) -> Result<Program, DeviceError> {
        let kernel = cuda.load(&source())?.kernel("walk", 0)?;
        let words = words(&ground.space);
        Ok(Program::of_warps(kernel, words, RESIDENT))
    }

    fn upload(up: &mut Uploads, _: &SearchContext, ground: &Ground) -> Result<InputArgument, DeviceError> {
        let SumSpace { tables, layout, sums, values, free, is_free, .. } = &*ground.space;
        let mut choices_of = vec![0u32];
        choices_of.extend(values.iter().scan(0, |end, values| {
            *end += values.len() as u32;
            Some(*end)
        }));
        let is_free: Vec<u8> = is_free.iter().map(|&is_free| is_free.into()).collect();
        let terms: Vec<[i64; 2]> = sums.terms.iter().map(|&(sum, weight)| [sum.into(), weight]).collect();
        let rules: Vec<SumArgument> = sums.sums.iter().map(sums::Sum::argument).collect();
        Ok(InputArgument {
            layout: upload_layout(up, tables, layout)?,
            sums: sums.sums.len() as u32,
            frees: free.len() as u32,
            hard: tables.hard,
            shift: tables.shift,
            unit: ground.space.unit,
            rise: RISE,
            fall: FALL,
            least: LEAST_PRICE,
            largest: LARGEST_PRICE,
            halving: LN_2,
            free: up.items(free)?,
            is_free: up.items(&is_free)?,
            choices_of: up.items(&choices_of)?,
            choices: up.items(&values.concat())?,
            values_of: up.items(&sums.firsts)?,
            terms_of: up.items(&sums.starts)?,
            terms: up.items(terms.as_flattened())?,
            readers_of: up.items(&sums.readers.0)?,
            readers: up.items(&sums.readers.1)?,
            rules: up.items(&rules)?,
            logarithms: up.items(&ground.logarithms)?,
        })
    }
}
