//! The variables that a function reads.

use smallvec::SmallVec;
use std::ops::{Deref, DerefMut};

/// The number of variables up to which a scope needs no heap allocation.
const INLINE: usize = 4;

/// The variables that a function reads, in order; dereferences to a slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope(SmallVec<[u32; INLINE]>);

impl Deref for Scope {
    type Target = [u32];

    #[inline]
    fn deref(&self) -> &[u32] {
        &self.0
    }
}

impl DerefMut for Scope {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u32] {
        &mut self.0
    }
}

impl From<&[u32]> for Scope {
    fn from(variables: &[u32]) -> Self {
        Scope(SmallVec::from_slice(variables))
    }
}

impl<const N: usize> From<[u32; N]> for Scope {
    fn from(variables: [u32; N]) -> Self {
        Scope(SmallVec::from_slice(&variables))
    }
}

impl From<Vec<u32>> for Scope {
    fn from(variables: Vec<u32>) -> Self {
        variables[..].into()
    }
}

impl From<Box<[u32]>> for Scope {
    fn from(variables: Box<[u32]>) -> Self {
        variables[..].into()
    }
}

impl From<Scope> for Box<[u32]> {
    fn from(scope: Scope) -> Self {
        scope[..].into()
    }
}

impl FromIterator<u32> for Scope {
    fn from_iter<I: IntoIterator<Item = u32>>(variables: I) -> Self {
        Scope(variables.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a Scope {
    type Item = &'a u32;
    type IntoIter = std::slice::Iter<'a, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}
