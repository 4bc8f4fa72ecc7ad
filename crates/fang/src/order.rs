//! The order in which the active variables of a state are assigned (section 3.5).

use super::Active;
use crate::rng::{Rng, below, mix};

/// The order of one pass over the active variables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order<'a> {
    /// Ascending order.
    #[default]
    Fixed,
    /// A random permutation i -> (start + i * stride) mod n with `stride` coprime to n, from one draw of the state's
    /// stream.
    ///
    /// To avoid the bias of section 3.5, each of two variables must come first half of the time. An affine permutation
    /// does that without a list for each state and with the same few lines on any device. Fisher-Yates reaches all n!
    /// orders but takes n draws and n indices of memory for each state.
    Permuted,
    /// The permutation i -> (start + i * stride) mod n; `stride` must be coprime to n. Many states that share it read
    /// the same tables at about the same time.
    Affine {
        /// The first variable, below n.
        start: usize,
        /// The distance from one variable to the next, below n (or 1).
        stride: usize,
    },
    /// The given variables in the given order, such as the classes of a coloring one after the other. Variables that
    /// are not listed keep their values.
    List(&'a [u32]),
}

impl<'a> Order<'a> {
    /// Begins a pass over `variables` variables. Takes one draw for [`Order::Permuted`], none otherwise.
    pub(super) fn walk(self, variables: usize, rng: &mut Rng) -> Walk<'a> {
        match self {
            Order::Fixed => Walk::Fixed { from: 0 },
            Order::Permuted => Walk::permuted(variables, rng.draw()),
            Order::Affine { start, stride } => Walk::Permuted { at: start, stride, left: variables, variables },
            Order::List(variables) => Walk::List(variables),
        }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Walk<'a> {
    Fixed { from: usize },
    Permuted { at: usize, stride: usize, left: usize, variables: usize },
    List(&'a [u32]),
}

impl Walk<'_> {
    fn permuted(variables: usize, draw: u64) -> Self {
        let n = variables as u64;
        let stride = if n < 3 {
            1
        } else {
            // For a given draw, `mix` is a bijection of its index, so a stride coprime to n is found (n - 1 is one);
            // averaged over n, six in ten are.
            let mut index = 0;
            loop {
                let stride = 1 + below(mix(draw, index), n - 1);
                if gcd(stride, n) == 1 {
                    break stride as usize;
                }
                index += 1;
            }
        };
        Walk::Permuted { at: below(draw, n) as usize, stride, left: variables, variables }
    }

    /// Returns the next variable of the order that is active now, or `None` at the end.
    #[inline]
    pub(super) fn next(&mut self, active: &Active) -> Option<usize> {
        match self {
            Walk::Fixed { from } => {
                let variable = active.next(*from)?;
                *from = variable + 1;
                Some(variable)
            }
            Walk::Permuted { at, stride, left, variables } => {
                while *left > 0 {
                    *left -= 1;
                    let variable = *at;
                    *at += *stride;
                    if *at >= *variables {
                        *at -= *variables;
                    }
                    if active.contains(variable) {
                        return Some(variable);
                    }
                }
                None
            }
            Walk::List(rest) => {
                while let Some((&variable, tail)) = rest.split_first() {
                    *rest = tail;
                    if active.contains(variable as usize) {
                        return Some(variable as usize);
                    }
                }
                None
            }
        }
    }
}

/// Returns the greatest common divisor.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(order: Order, active: &Active, rng: &mut Rng) -> Vec<usize> {
        let mut walk = order.walk(active.variables(), rng);
        std::iter::from_fn(|| walk.next(active)).collect()
    }

    #[test]
    fn every_order_visits_the_active_variables_once() {
        let mut rng = Rng::new(3);
        for variables in [0, 1, 2, 3, 4, 30, 64, 97, 210, 1000] {
            let mut active = Active::new(variables);
            for variable in (0..variables).filter(|v| v % 3 != 1) {
                active.activate(variable);
            }
            let expected: Vec<usize> = active.iter().collect();
            assert_eq!(visits(Order::Fixed, &active, &mut rng), expected);
            let listed: Vec<u32> = (0..variables as u32).rev().collect();
            let mut reversed = visits(Order::List(&listed), &active, &mut rng);
            reversed.reverse();
            assert_eq!(reversed, expected);
            for _ in 0..20 {
                let mut permuted = visits(Order::Permuted, &active, &mut rng);
                permuted.sort_unstable();
                assert_eq!(permuted, expected);
            }
        }
    }

    #[test]
    fn of_two_variables_each_comes_first_half_of_the_time() {
        let mut rng = Rng::new(5);
        for (variables, pair) in [(2, [0, 1]), (12, [3, 4]), (101, [7, 90])] {
            let mut active = Active::new(variables);
            pair.iter().for_each(|&variable| active.activate(variable));
            let first = (0..4000).filter(|_| visits(Order::Permuted, &active, &mut rng)[0] == pair[0]).count();
            assert!((1850..2150).contains(&first), "{first} of 4000 at n = {variables}");
        }
    }
}
