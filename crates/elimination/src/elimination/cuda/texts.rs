//! The sources of the kernels that make the steps of plans.

use super::gpu::Text;
use super::program::NEVER;
use super::semiring::NoWords;
use super::shape::{DIGITS, INPUTS, SETTLED, THREADS, TILE_DIGITS, TILE_THREADS};
use super::variant::{CONSTANT, EXPECT, LARGEST, MANY, MEASURE, RUN, SCALE, SINGLE, STAGES, Variant, WHOLE};
use super::words::{Addresses, BoxWords, DigitWords, FoldWords, InputWords, SettledWords, StepWords};
use super::{stage, variant};
use crate::algebra::{Counting, MinSum};
use crate::device::Source;
use crate::device::shared::constants;
use crate::kernels;

/// The sources of the kernels: steps in tiles or of single outputs, the backward pass, probabilities with utilities,
/// and large steps of few inputs.
pub(crate) const BUCKET: Text = Text::new(bucket);
pub(crate) const PROPAGATE: Text = Text::new(propagate);
pub(crate) const PAIRS: Text = Text::new(pairs);
pub(crate) const STAGED: Text = Text { source: staged, shared: |most| most };

/// Returns a source with the declarations that all sources of steps share.
fn steps(name: &str) -> Source {
    let shared = constants! { u32: THREADS, TILE_THREADS, INPUTS, DIGITS, TILE_DIGITS; i32: MANY, RUN, SINGLE; };
    let settling = constants! { u64: SETTLED, NEVER; i32: WHOLE, MEASURE, SCALE; };
    let source = kernels::source(name).declare(&shared).declare(&settling);
    let source = source.asserts::<MinSum<i32>>().asserts::<MinSum<i64>>().asserts::<Counting>();
    let source = source.asserts::<NoWords>().asserts::<StepWords>().asserts::<Addresses>();
    source.asserts::<DigitWords>().asserts::<InputWords>().asserts::<BoxWords>().asserts::<SettledWords>()
}

pub(crate) fn bucket() -> Source {
    steps("bucket.cu")
}

pub(crate) fn propagate() -> Source {
    steps("propagate.cu").asserts::<FoldWords>()
}

pub(crate) fn pairs() -> Source {
    steps("pairs.cu").declare(&constants! { i32: EXPECT, LARGEST, CONSTANT; })
}

pub(crate) fn staged() -> Source {
    // bytes of a copy
    const PIECE: u32 = stage::PIECE * variant::ENTRY;
    steps("staged.cu").declare(&constants! { u32: STAGES, PIECE; })
}

impl Variant {
    /// Returns the source that contains the kernel.
    pub fn text(&self) -> Text {
        match self {
            Variant::Staged(..) => STAGED,
            Variant::Down | Variant::Settle(_) => PROPAGATE,
            Variant::Pair(_) => PAIRS,
            Variant::Each | Variant::Tile(..) => BUCKET,
        }
    }
}
