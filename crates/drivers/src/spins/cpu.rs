//! Thermal cycling on the CPU.

use super::anneals::{Anneal, Anneals, Cycled};
use super::walk::{Room, Rule, Words};
use crate::core::quadratic::{Quadratic, Weight};
use crate::device::DeviceError;
use crate::stop::Stop;
use crate::threads;
use std::sync::Arc;

/// The assignments on the CPU, one for each thread.
pub(super) struct CpuSpins<W: Weight> {
    form: Arc<Quadratic<W>>,
    pub slots: Vec<(Words<W>, Room)>,
    guide: Option<Words<W>>,
}

impl<W: Weight> CpuSpins<W> {
    /// Creates `count` assignments, which all begin at `first`.
    pub fn new(form: &Arc<Quadratic<W>>, first: &[bool], count: usize) -> Self {
        CpuSpins { form: form.clone(), slots: vec![(Words::new(form, first), Room::default()); count], guide: None }
    }
}

impl<W: Weight> Anneals for CpuSpins<W> {
    fn count(&self) -> usize {
        self.slots.len()
    }

    fn hear(&mut self, guide: &[bool]) -> Result<(), DeviceError> {
        self.guide = Some(Words::new(&self.form, guide));
        Ok(())
    }

    fn lead(&mut self, slot: usize) -> Result<(), DeviceError> {
        self.guide = Some(self.slots[slot].0.clone());
        Ok(())
    }

    fn cycle(&mut self, anneals: &[Anneal], rules: &[Vec<Rule>], stop: &Stop) -> Result<Vec<Cycled>, DeviceError> {
        let (form, guide) = (&*self.form, self.guide.take());
        let cycle = |((known, room), anneal): (&mut (Words<W>, Room), &Anneal)| {
            if let Some(guide) = &guide {
                known.take_better(form, guide, room, stop);
            }
            let mut walk = known.clone();
            let annealed = walk.anneal(form, &rules[anneal.top], anneal.key, stop);
            let Some((flips, sweeps)) = annealed else { return Cycled { value: known.value, ..Cycled::default() } };
            walk.take_better(form, known, room, stop);
            // a merge that was cut short may be worse
            if walk.value <= known.value {
                *known = walk;
            }
            Cycled { value: known.value, flips, sweeps: sweeps.into() }
        };
        Ok(threads::map(self.slots.iter_mut().zip(anneals), cycle))
    }

    fn known(&self, slot: usize) -> Result<Vec<bool>, DeviceError> {
        Ok(self.slots[slot].0.values())
    }
}
