//! The kernels that a device compiles before it searches a reduced problem.

use super::launch_shape::{Block, LaunchShape, Overrides};
use super::{wide, wide_program};
use crate::core::context::SearchContext;
use crate::core::cuda::{Device, unfit};
use crate::device::Source;
use crate::tuning::device::PATIENCE;

/// Returns the kernels of the first population on a reduced problem if a device searches it, alone or with partners.
pub fn first_kernels(cuda: &Device, context: &SearchContext, has_partners: bool) -> Option<Source> {
    if context.variables() == 0 || unfit(context).is_some() {
        return None;
    }
    if wide::suits(context) {
        return Some(wide_program::source_of(cuda, context, has_partners && wide::is_shared(context)));
    }
    let (launch_shape, block) = first_block(cuda, context);
    Some(launch_shape.source(block))
}

/// Returns the kernels of a population of many states; `None` if a state is too long for a multiprocessor.
pub(crate) fn population_kernels(cuda: &Device, context: &SearchContext) -> Option<Source> {
    let (launch_shape, block) = first_block(cuda, context);
    block.fits(&cuda.info).then(|| launch_shape.source(block))
}

/// Returns the blocks of the first population of many states.
fn first_block(cuda: &Device, context: &SearchContext) -> (LaunchShape, Block) {
    let launch_shape = LaunchShape::of(context, context.row_shape());
    let states = context.population.unwrap_or(0) as u32;
    (launch_shape, launch_shape.block(&cuda.info, states, Overrides::default()))
}

/// Returns whether a device has the first kernels or loads them from the cache. If not, it starts to compile them.
pub fn has_first_kernels(cuda: &Device, context: &SearchContext, has_partners: bool) -> bool {
    first_kernels(cuda, context, has_partners).is_none_or(|source| !matches!(cuda.poll(&source, PATIENCE), Ok(None)))
}
