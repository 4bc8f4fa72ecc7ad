//! Long lists of costs, stored in 32 bits each until one of them needs more.
//!
//! Shifted costs are mostly as small as table entries, but nothing guarantees that: passes may carry the same amount
//! around repeatedly. Therefore each write checks its costs, and a list is widened at most once.

use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use crate::threads::Large;
use std::ops::Range;

/// A list of costs. [`NEVER`] and `-NEVER` fit into both forms.
#[derive(Clone, Debug)]
pub(crate) enum Amounts {
    Short(Large<i32>),
    Long(Large<Cost>),
}

/// Number of costs that are widened between two checks of the stop flag, some milliseconds, or read at once.
const PART: usize = 1 << 20;

#[inline(always)]
fn fits(cost: Cost) -> bool {
    // the extreme values stand for NEVER and -NEVER
    (cost > Cost::from(i32::MIN) && cost < Cost::from(i32::MAX)) | (cost == NEVER) | (cost == -NEVER)
}

/// Returns the 32-bit form of a cost that fits.
#[inline(always)]
fn narrow(cost: Cost) -> i32 {
    match cost {
        NEVER => i32::MAX,
        cost if cost == -NEVER => i32::MIN,
        cost => cost as i32,
    }
}

#[inline(always)]
fn wide(cost: i32) -> Cost {
    match cost {
        i32::MAX => NEVER,
        i32::MIN => -NEVER,
        cost => Cost::from(cost),
    }
}

impl Amounts {
    /// Returns an empty list with room for `length` costs.
    pub fn with_capacity(length: usize, short: bool) -> Amounts {
        if short {
            Amounts::Short(Vec::with_capacity(length).into())
        } else {
            Amounts::Long(Vec::with_capacity(length).into())
        }
    }

    pub fn zeros(length: usize, short: bool) -> Amounts {
        if short { Amounts::Short(vec![0; length].into()) } else { Amounts::Long(vec![0; length].into()) }
    }

    pub fn len(&self) -> usize {
        match self {
            Amounts::Short(costs) => costs.len(),
            Amounts::Long(costs) => costs.len(),
        }
    }

    /// Widens the list unless `costs` fit. If `stop` is set, the list stays as it is.
    #[inline]
    pub fn prepare(&mut self, costs: &[Cost], stop: &Stop) -> Result<(), Error> {
        if let Amounts::Short(short) = self
            && !costs.iter().fold(true, |all, &cost| all & fits(cost))
        {
            let mut long = Vec::with_capacity(short.capacity());
            for part in short.chunks(PART) {
                stop.check()?;
                long.extend(part.iter().map(|&cost| wide(cost)));
            }
            *self = Amounts::Long(long.into());
        }
        Ok(())
    }

    /// Replaces the costs from index `start` on. The list must have been prepared for them.
    #[inline]
    pub fn write(&mut self, start: usize, costs: &[Cost]) {
        match self {
            Amounts::Short(short) => {
                short[start..].iter_mut().zip(costs).for_each(|(to, &cost)| *to = narrow(cost));
            }
            Amounts::Long(long) => long[start..][..costs.len()].copy_from_slice(costs),
        }
    }

    /// Appends costs.
    ///
    /// # Errors
    /// Returns [`Error::Stopped`] if the list must be widened and `stop` is set.
    pub fn extend(&mut self, costs: &[Cost], stop: &Stop) -> Result<(), Error> {
        self.prepare(costs, stop)?;
        match self {
            Amounts::Short(short) => short.extend(costs.iter().map(|&cost| narrow(cost))),
            Amounts::Long(long) => long.extend_from_slice(costs),
        }
        Ok(())
    }

    /// Appends a range of the list to `to`.
    #[inline(always)]
    pub fn read(&self, part: Range<usize>, to: &mut Vec<Cost>) {
        match self {
            Amounts::Short(short) => to.extend(short[part].iter().map(|&cost| wide(cost))),
            Amounts::Long(long) => to.extend_from_slice(&long[part]),
        }
    }

    /// Returns a range of the list.
    pub fn part(&self, part: Range<usize>) -> Vec<Cost> {
        let mut costs = Vec::with_capacity(part.len());
        self.read(part, &mut costs);
        costs
    }

    /// Returns the list in pieces, each with the index of its first cost.
    pub fn parts(&self) -> impl Iterator<Item = (usize, Vec<Cost>)> {
        let end = |start: usize| (start + PART).min(self.len());
        (0..self.len()).step_by(PART).map(move |start| (start, self.part(start..end(start))))
    }
}

impl PartialEq for Amounts {
    /// Returns whether both lists have the same costs, whatever their form.
    fn eq(&self, other: &Amounts) -> bool {
        self.len() == other.len() && self.parts().eq(other.parts())
    }
}

impl Eq for Amounts {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Cause;

    #[test]
    fn amounts_become_wider_where_they_have_to() {
        let (most, stop) = (Cost::from(i32::MAX), Stop::new());
        let small = [0, 7, -7, most - 1, 1 - most, NEVER, -NEVER, 3];
        for large in [most, -most - 1, NEVER - 1, 1 - NEVER, -most - 2, Cost::MAX, Cost::MIN] {
            let mut amounts = Amounts::with_capacity(0, true);
            amounts.extend(&small, &stop).expect("no stop is set");
            assert!(matches!(amounts, Amounts::Short(_)) && amounts.part(0..8) == small);
            let mut long = Amounts::zeros(8, false);
            long.write(0, &small);
            assert!(matches!(long, Amounts::Long(_)) && amounts == long);
            let set = Stop::new();
            set.set(Cause::Signal);
            assert!(amounts.prepare(&[2, large], &set).is_err() && amounts == long);
            amounts.prepare(&[2, large], &stop).expect("no stop is set");
            assert!(matches!(amounts, Amounts::Long(_)) && amounts == long);
            amounts.write(3, &[2, large]);
            assert_eq!(amounts.part(2..6), [-7, 2, large, NEVER]);
            assert!(amounts != long);
            let mut grown = Amounts::with_capacity(2, true);
            grown.extend(&amounts.part(0..8), &stop).expect("no stop is set");
            assert!(matches!(grown, Amounts::Long(_)) && grown == amounts);
        }
        let mut zeros = Amounts::zeros(3, true);
        zeros.write(1, &[-NEVER]);
        assert_eq!(zeros.part(0..3), [0, -NEVER, 0]);
    }
}
