//! The evaluations of children in device memory, and the effects of a move on them (`kernels/wide.cu`: Kept).

use super::wide_program::{Kept, Program, THREADS};
use crate::core::cuda::{Device, DeviceCore};
use crate::device::{Blocks, DeviceError, Held, Kernel, PushKernelArg};

/// Words of an effect.
const EFFECT: usize = 4;
/// The alignment of rows in bytes.
const ROW: usize = 16;

/// The rows of evaluations of all variables, and the effects of each variable's moves.
pub(super) struct Ratings {
    /// The argument of kernels. Its first rows are those held here.
    pub argument: Kept,
    _held: Held,
}

impl Ratings {
    /// Allocates the rows of each child and finds the effects on the device. `owners` are the parts of the variables if
    /// there are several parts.
    pub fn new(
        cuda: &Device,
        core: &DeviceCore,
        program: &Program,
        children: u32,
        owners: &[u8],
    ) -> Result<Ratings, DeviceError> {
        let n = core.argument.variables as usize;
        let blocks = Blocks::new((n as u32).div_ceil(THREADS).max(1), THREADS);
        let mut held = Held::default();
        let (effects_of, reserved) = (cuda.zeros::<u32>(2 * n.max(1))?, cuda.zeros::<u32>(1)?);
        let owners_at = if owners.is_empty() { 0 } else { held.upload(cuda, owners)? };
        let launch = |kernel: &Kernel, more: [Option<u64>; 2]| {
            // SAFETY: the arguments are the kernel's, and there is an entry for each variable's effects.
            unsafe {
                kernel.launch(cuda.stream(), blocks, |arguments| {
                    let arguments = arguments.arg(&core.argument).arg(&effects_of);
                    more.iter().flatten().fold(arguments, |arguments, address| arguments.arg(address))
                })
            }
        };
        launch(&program.effects.count, [None, None])?;
        launch(&program.effects.place, [Some(cuda.address(&reserved)), None])?;
        let count = cuda.read(&reserved)?[0] as usize;
        let effects = cuda.zeros::<u32>(EFFECT * count.max(1))?;
        launch(&program.effects.write, [Some(cuda.address(&effects)), Some(owners_at)])?;
        let child_bytes = (core.unary_entries * if core.shape.half { 2 } else { 4 }).next_multiple_of(ROW).max(ROW);
        let mut argument = Kept {
            child_bytes: child_bytes as u64,
            children,
            effects_of: held.keep(cuda, effects_of),
            effects: held.keep(cuda, effects),
            group_bits: group_bits(program.lanes, count / n.max(1)),
            ..Kept::default()
        };
        argument.rows[0] = held.keep(cuda, cuda.zeros::<u8>(child_bytes * children as usize)?);
        Ok(Ratings { argument, _held: held })
    }
}

/// Returns the binary logarithm of the number of threads that follow a move: about one for each effect and lane, at
/// most those of a block.
fn group_bits(lanes: u32, effects: usize) -> u32 {
    (lanes as usize * effects.max(1)).next_power_of_two().min(THREADS as usize).ilog2()
}
