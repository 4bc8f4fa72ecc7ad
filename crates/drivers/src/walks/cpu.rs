//! Walks on the CPU.

use super::search::{Limit, LocalSearch, Start, Walk, Walked, Walks};
use crate::core::context::SearchContext;
use crate::device::DeviceError;
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// Walks on the CPU, with a thread for each walk.
pub(crate) struct CpuWalks<S: LocalSearch> {
    layout: Arc<S::Layout>,
    walks: Vec<S::Walk>,
}

impl<S: LocalSearch> CpuWalks<S> {
    /// Creates walks that have not begun.
    pub fn new(layout: Arc<S::Layout>, count: usize) -> Self {
        CpuWalks { layout, walks: vec![S::Walk::default(); count] }
    }
}

impl<S: LocalSearch> Walks<S::Progress> for CpuWalks<S> {
    fn count(&self) -> usize {
        self.walks.len()
    }

    fn walk(
        &mut self,
        context: &SearchContext,
        begin: &[Start<S::Progress>],
        limit: Limit,
        stop: &Stop,
    ) -> Walked<S::Progress> {
        let (tables, layout) = (S::tables(context), &*self.layout);
        let work = threads::map(self.walks.iter_mut().enumerate(), |(slot, walk)| {
            if let Some(start) = begin.iter().find(|start| start.slot == slot)
                && walk.begin(tables, layout, start.progress, &start.values, stop).is_err()
            {
                return 0;
            }
            walk.walk(tables, layout, limit, stop)
        });
        Ok((self.walks.iter().map(S::Walk::progress).collect(), work.into_iter().sum()))
    }

    fn bests(&self, slots: &[usize]) -> Result<Vec<Vec<u16>>, DeviceError> {
        Ok(slots.iter().map(|&slot| self.walks[slot].best().to_vec()).collect())
    }
}
