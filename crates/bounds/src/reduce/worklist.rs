//! A queue of indices, each of which is queued at most once.

use std::collections::VecDeque;

/// A first-in, first-out queue; pushing an index that is already queued does nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Worklist {
    items: VecDeque<u32>,
    queued: Vec<bool>,
}

impl Worklist {
    pub(super) fn push(&mut self, item: u32) {
        let index = item as usize;
        if index >= self.queued.len() {
            self.queued.resize(index + 1, false);
        }
        if !std::mem::replace(&mut self.queued[index], true) {
            self.items.push_back(item);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    pub(super) fn pop(&mut self) -> Option<u32> {
        let item = self.items.pop_front()?;
        self.queued[item as usize] = false;
        Some(item)
    }
}
