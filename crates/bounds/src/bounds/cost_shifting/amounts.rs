//! Long lists of costs, in 32 bits each until one of them needs more.
//!
//! Costs that are moved are mostly as small as entries, but nothing says that they stay so: passes may carry the same
//! amount around ever again. So every list is looked at as it is written, and made wider once.

use crate::error::Error;
use crate::model::Cost;
use crate::stop::Stop;
use crate::tensor::tiles::NEVER;
use crate::threads::Large;
use std::ops::Range;

/// Costs one after the other; [`NEVER`] and what is less by twice that fit into either form.
#[derive(Clone, Debug)]
pub(crate) enum Amounts {
    Short(Large<i32>),
    Long(Large<Cost>),
}

/// Costs that are made wider between two looks at the stop flag, some milliseconds, and read at a time.
const PART: usize = 1 << 20;

#[inline(always)]
fn fits(cost: Cost) -> bool {
    // the ends stand for NEVER
    (cost > Cost::from(i32::MIN) && cost < Cost::from(i32::MAX)) | (cost == NEVER) | (cost == -NEVER)
}

/// Of a cost that fits.
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
    /// Nothing, with room for so many.
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

    /// Makes all wider unless these fit. Once `stop` is set nothing has happened.
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

    /// Replaces those from a place on; the list has been prepared for them.
    #[inline]
    pub fn write(&mut self, start: usize, costs: &[Cost]) {
        match self {
            Amounts::Short(short) => {
                short[start..].iter_mut().zip(costs).for_each(|(to, &cost)| *to = narrow(cost));
            }
            Amounts::Long(long) => long[start..][..costs.len()].copy_from_slice(costs),
        }
    }

    /// Goes on with these.
    ///
    /// # Errors
    /// [`Error::Stopped`], where they do not fit.
    pub fn extend(&mut self, costs: &[Cost], stop: &Stop) -> Result<(), Error> {
        self.prepare(costs, stop)?;
        match self {
            Amounts::Short(short) => short.extend(costs.iter().map(|&cost| narrow(cost))),
            Amounts::Long(long) => long.extend_from_slice(costs),
        }
        Ok(())
    }

    /// Appends a part of the list to `to`.
    #[inline(always)]
    pub fn read(&self, part: Range<usize>, to: &mut Vec<Cost>) {
        match self {
            Amounts::Short(short) => to.extend(short[part].iter().map(|&cost| wide(cost))),
            Amounts::Long(long) => to.extend_from_slice(&long[part]),
        }
    }

    /// A part of the list.
    pub fn part(&self, part: Range<usize>) -> Vec<Cost> {
        let mut costs = Vec::with_capacity(part.len());
        self.read(part, &mut costs);
        costs
    }

    /// The list in parts, with where each begins.
    pub fn parts(&self) -> impl Iterator<Item = (usize, Vec<Cost>)> {
        let end = |start: usize| (start + PART).min(self.len());
        (0..self.len()).step_by(PART).map(move |start| (start, self.part(start..end(start))))
    }
}

impl PartialEq for Amounts {
    /// Whether they are the same costs, in whatever form.
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
