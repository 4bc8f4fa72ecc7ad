//! The inputs of heuristics, in one list: the data about one visit of one variable.

use super::View;
use super::language::Numbers;
use std::ops::BitOr;

/// The shape of an input: one number for a visit, or one for each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One number for a visit.
    Scalar,
    /// One number for each value of the variable.
    Column,
}

/// An input of the list.
#[derive(Clone, Copy, Debug)]
pub struct Input {
    /// Its name, which is the same in Rust, in CUDA and in expressions.
    pub name: &'static str,
    /// Whether it is one number, or one for each value.
    pub kind: Kind,
    /// Its description.
    pub about: &'static str,
    /// The set that contains only this input.
    pub needs: Needs,
}

/// A set of inputs that a heuristic reads. Other inputs are not computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs(u32);

impl Needs {
    /// The empty set.
    pub const NONE: Needs = Needs(0);

    /// Returns the union of some sets.
    pub const fn of<const N: usize>(sets: [Needs; N]) -> Needs {
        let (mut all, mut place) = (0, 0);
        while place < N {
            all |= sets[place].0;
            place += 1;
        }
        Needs(all)
    }

    /// Returns whether the sets have a common input.
    #[inline(always)]
    pub const fn any(self, other: Needs) -> bool {
        self.0 & other.0 != 0
    }
}

impl BitOr for Needs {
    type Output = Needs;

    fn bitor(self, other: Needs) -> Needs {
        Needs(self.0 | other.0)
    }
}

macro_rules! of_kind {
    (Scalar $lifetime:lifetime) => {
        f64
    };
    (Column $lifetime:lifetime) => {
        &$lifetime[f64]
    };
}

macro_rules! number {
    (Scalar $inputs:ident $name:ident) => {
        $inputs.$name
    };
    (Column $inputs:ident $name:ident) => {
        f64::NAN
    };
}

macro_rules! numbers {
    (Scalar $inputs:ident $name:ident) => {
        &[]
    };
    (Column $inputs:ident $name:ident) => {
        $inputs.$name
    };
}

macro_rules! inputs {
    ($($kind:ident $name:ident $constant:ident $about:literal;)*) => {
        /// The data about one visit of one variable. Costs are in the units of the search: those of the reduced
        /// problem, or a power of two of them if 32 bits are too few. Columns that a heuristic does not need are empty,
        /// such scalars are 0.
        #[derive(Clone, Copy, Debug)]
        pub struct Inputs<'a> {
            /// The assignment of the visited state, for heuristics that need more than these numbers.
            pub view: &'a View<'a>,
            /// The visited variable, a number of the reduced problem; [`View::origin`] returns the network's.
            pub variable: usize,
            $(#[doc = $about] pub $name: of_kind!($kind 'a),)*
        }

        impl Numbers for Inputs<'_> {
            #[inline]
            fn scalar(&self, place: usize) -> f64 {
                match place {
                    $(place if place == Place::$name as usize => number!($kind self $name),)*
                    _ => f64::NAN,
                }
            }

            #[inline]
            fn column(&self, place: usize) -> &[f64] {
                match place {
                    $(place if place == Place::$name as usize => numbers!($kind self $name),)*
                    _ => &[],
                }
            }
        }

        /// The positions of the inputs in the list.
        #[allow(non_camel_case_types, reason = "named as the inputs are")]
        enum Place { $($name),* }

        impl Needs {
            $(#[doc = concat!("`", stringify!($name), "`: ", $about)]
            pub const $constant: Needs = Needs(1 << Place::$name as u32);)*
            /// All inputs.
            pub const ALL: Needs = Needs($(Needs::$constant.0)|*);
        }

        /// All inputs.
        pub const INPUTS: &[Input] = &[$(Input {
            name: stringify!($name), kind: Kind::$kind, about: $about, needs: Needs::$constant,
        }),*];
    };
}

inputs! {
    Column value VALUE "The value's number in the network.";
    Column cost COST "What the functions on the variable cost with the value, the others as they are, above the least \
        that they can.";
    Column delta DELTA "The cost less that of the variable's value.";
    Column current CURRENT "1 for the value that the variable has, 0 for others.";
    Column incumbent INCUMBENT "1 for the value in the best assignment known, 0 for others.";
    Column age AGE "Passes since the state left the value, 1e9 where it never had it.";
    Column frequency FREQUENCY "The part of the variable's visits after which it had the value.";
    Column h H "Mini-bucket cost to go: what is certain to follow, given the variables later in the elimination order; \
        0 before there is one.";
    Column reduced REDUCED "How much more solutions with the value cost at least than with the variable's best one, by \
        the bounds; 0 where unknown.";
    Column conflicts CONFLICTS "Functions that are violated with the value: it counts forbidden tuples only.";
    Column unary UNARY "The value's own cost.";
    Scalar domain DOMAIN "How many values the variable has.";
    Scalar degree DEGREE "How many functions are on the variable.";
    Scalar temperature TEMPERATURE "Falls during a trajectory, between ends that come from the cost tables.";
    Scalar round ROUND "Passes that the state has made.";
    Scalar since SINCE "Passes since the state last found something better.";
    Scalar current_cost CURRENT_COST "The cost of the value that the variable has.";
    Scalar current_conflicts CURRENT_CONFLICTS "The conflicts of the value that the variable has; it counts forbidden \
        tuples only.";
    Scalar least LEAST "The least cost among the values.";
    Scalar group GROUP "The number of the group that the user's file puts the variable into, -1 for none.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_places_are_unique() {
        for (place, input) in INPUTS.iter().enumerate() {
            assert!(INPUTS[..place].iter().all(|other| other.name != input.name && !other.needs.any(input.needs)));
            assert!(Needs::ALL.any(input.needs) && !Needs::NONE.any(input.needs) && input.about.ends_with('.'));
        }
        assert!((Needs::COST | Needs::AGE).any(Needs::AGE));
    }
}
