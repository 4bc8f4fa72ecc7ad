//! The set of active variables of a state.

/// The variables of a state that await an assignment. A variable takes one bit in words of 64, so that a scan skips
/// inactive regions a word at a time (section 3.8).
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Active {
    words: Vec<u64>,
    variables: usize,
}

impl Active {
    /// Returns a set over `variables` variables, none of which is active.
    pub fn new(variables: usize) -> Self {
        Active { words: vec![0; variables.div_ceil(64)], variables }
    }

    /// Returns the set with these [`words`](Self::words).
    pub(super) fn from_words(variables: usize, words: &[u64]) -> Self {
        debug_assert_eq!(words.len(), variables.div_ceil(64));
        Active { words: words.to_vec(), variables }
    }

    pub(super) fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the number of variables, active or not.
    pub fn variables(&self) -> usize {
        self.variables
    }

    /// Activates `variable`.
    ///
    /// # Panics
    ///
    /// Panics if there is no such variable.
    #[inline]
    pub fn activate(&mut self, variable: usize) {
        assert!(variable < self.variables, "variable {variable} of {}", self.variables);
        self.words[variable / 64] |= 1 << (variable % 64);
    }

    /// Deactivates `variable`; one that does not exist is never active.
    #[inline]
    pub fn deactivate(&mut self, variable: usize) {
        if let Some(word) = self.words.get_mut(variable / 64) {
            *word &= !(1 << (variable % 64));
        }
    }

    /// Activates every variable.
    pub fn activate_all(&mut self) {
        self.words.fill(u64::MAX);
        if let (Some(last), 1..) = (self.words.last_mut(), self.variables % 64) {
            *last = (1 << (self.variables % 64)) - 1;
        }
    }

    /// Deactivates every variable.
    pub fn deactivate_all(&mut self) {
        self.words.fill(0);
    }

    /// Returns whether `variable` is active.
    #[inline]
    pub fn contains(&self, variable: usize) -> bool {
        self.words.get(variable / 64).is_some_and(|word| word >> (variable % 64) & 1 != 0)
    }

    /// Returns the number of active variables.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether no variable is active.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// Returns the first active variable at or after `from`, or `None` if there is none.
    ///
    /// Unlike an iterator, this borrows nothing between two calls, so that an assignment may change the set.
    #[inline]
    pub fn next(&self, from: usize) -> Option<usize> {
        let first = from / 64;
        let mut word = self.words.get(first)? & (u64::MAX << (from % 64));
        let mut rest = self.words[first + 1..].iter();
        let mut base = first * 64;
        while word == 0 {
            word = *rest.next()?;
            base += 64;
        }
        Some(base + word.trailing_zeros() as usize)
    }

    /// Returns the active variables in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.next(0), |&variable| self.next(variable + 1))
    }
}

impl Clone for Active {
    fn clone(&self) -> Self {
        Active { words: self.words.clone(), variables: self.variables }
    }

    /// keeps the allocation of the words, unlike the derived implementation
    fn clone_from(&mut self, source: &Self) {
        self.words.clone_from(&source.words);
        self.variables = source.variables;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_activates_exactly_its_variables() {
        for variables in [0, 1, 63, 64, 65, 128, 200] {
            let mut active = Active::new(variables);
            assert!(active.is_empty());
            active.activate_all();
            assert_eq!(active.count(), variables);
            assert!(active.iter().eq(0..variables));
            assert!(!active.contains(variables));
            active.deactivate_all();
            assert_eq!(active.iter().next(), None);
        }
    }

    #[test]
    fn scans_pass_over_empty_words() {
        let mut active = Active::new(1000);
        for variable in [0, 63, 64, 640, 999] {
            active.activate(variable);
        }
        active.deactivate(64);
        active.deactivate(5000);
        assert!(active.iter().eq([0, 63, 640, 999]));
        assert_eq!(active.next(64), Some(640));
        assert_eq!(active.next(1000), None);
        assert_eq!(active.next(100_000), None);
        assert!(active.contains(640) && !active.contains(641) && !active.contains(5000));
    }

    #[test]
    fn clone_from_equals_clone() {
        let mut source = Active::new(100);
        source.activate(99);
        let mut target = Active::new(7);
        target.activate_all();
        target.clone_from(&source);
        assert_eq!(target, source);
    }
}
