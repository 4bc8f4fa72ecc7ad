//! The heuristic of each variable (variable types, sections 3 and 3.8).

use super::LocalHeuristic;
use super::engine::{Scratch, assign_variable};
use crate::Error;

/// Finds the heuristic of a variable. It is resolved at compile time: the engine is instantiated for each heuristic,
/// like the paper's kernels.
pub trait Dispatch<S: ?Sized> {
    /// Storage that assignments reuse, one for each thread.
    type Scratch: Default;

    /// Returns the number of types of variables.
    fn types(&self) -> usize {
        1
    }

    /// Returns the type of `variable`, below [`types`](Self::types). Types are assigned in ascending order.
    #[inline(always)]
    fn type_of(&self, variable: usize) -> usize {
        let _ = variable;
        0
    }

    /// Calls [`assign_variable`] with the variable's heuristic.
    fn assign(&self, state: &mut S, variable: usize, draw: u64, scratch: &mut Self::Scratch) -> Option<usize>;
}

/// A dispatch with one heuristic for all variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uniform<H>(pub H);

impl<S: ?Sized, H: LocalHeuristic<S>> Dispatch<S> for Uniform<H> {
    type Scratch = Scratch<H::Rating>;

    #[inline(always)]
    fn assign(&self, state: &mut S, variable: usize, draw: u64, scratch: &mut Self::Scratch) -> Option<usize> {
        assign_variable(&self.0, state, variable, draw, scratch)
    }
}

/// A dispatch with a heuristic for each type of variable: a tuple of two to four.
#[derive(Clone, Debug)]
pub struct ByType<H> {
    types: Vec<u8>,
    heuristics: H,
}

impl<H: Heuristics> ByType<H> {
    /// Returns the dispatch in which `types[variable]` is the index in `heuristics` of the variable's heuristic.
    ///
    /// # Errors
    /// Returns an error if a type has no heuristic.
    pub fn new(types: Vec<u8>, heuristics: H) -> Result<Self, Error> {
        match types.iter().position(|&kind| usize::from(kind) >= H::COUNT) {
            Some(variable) => Err(Error::Usage(format!(
                "variable {variable} is of type {}, but the {} types are numbered from 0",
                types[variable],
                H::COUNT
            ))),
            None => Ok(ByType { types, heuristics }),
        }
    }
}

/// A tuple of heuristics for [`ByType`].
pub trait Heuristics {
    /// The number of heuristics.
    const COUNT: usize;
}

macro_rules! by_type {
    ($count:literal: $($place:tt $heuristic:ident),+; $last:tt $other:ident) => {
        impl<$($heuristic,)+ $other> Heuristics for ($($heuristic,)+ $other) {
            const COUNT: usize = $count;
        }

        impl<S: ?Sized, $($heuristic: LocalHeuristic<S>,)+ $other: LocalHeuristic<S>> Dispatch<S>
            for ByType<($($heuristic,)+ $other)>
        {
            type Scratch = ($(Scratch<$heuristic::Rating>,)+ Scratch<$other::Rating>);

            fn types(&self) -> usize {
                $count
            }

            #[inline(always)]
            fn type_of(&self, variable: usize) -> usize {
                usize::from(self.types[variable])
            }

            #[inline(always)]
            fn assign(&self, state: &mut S, variable: usize, draw: u64, scratch: &mut Self::Scratch) -> Option<usize> {
                match self.types[variable] {
                    $($place => assign_variable(&self.heuristics.$place, state, variable, draw, &mut scratch.$place),)+
                    _ => assign_variable(&self.heuristics.$last, state, variable, draw, &mut scratch.$last),
                }
            }
        }
    };
}

by_type!(2: 0 A; 1 B);
by_type!(3: 0 A, 1 B; 2 C);
by_type!(4: 0 A, 1 B, 2 C; 3 D);
