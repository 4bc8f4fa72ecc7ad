//! Tuned values: one struct a crate, each field with its meaning, unit, default, range and evidence, from one list.
//!
//! A process has one set of values, which [`Area::install`] sets before a run begins; a run without it has the
//! defaults. The values are global, because handing them down would add a parameter to every function between a command
//! and the code that needs one of some hundred values. A read is one load and one branch. Inner loops read a value
//! once, before they begin; values that a compiler must know (sizes of arrays, blocks of kernels) stay constants.

use crate::error::Error;
use crate::text::names;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::Duration;

/// The settings of the process.
static GIVEN: OnceLock<Vec<Setting>> = OnceLock::new();

/// A type that a tuned value may have.
pub trait Tuned: Copy + PartialOrd + Debug {
    /// What a text has to be.
    const EXPECTED: &'static str;

    /// Reads a value; returns `None` if the text is none.
    fn read(text: &str) -> Option<Self>;

    /// Returns the text that [`Tuned::read`] reads.
    fn show(self) -> String {
        format!("{self:?}")
    }
}

macro_rules! numbers {
    ($expected:literal: $($type:ty),*) => {
        $(impl Tuned for $type {
            const EXPECTED: &'static str = $expected;

            fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }
        })*
    };
}

numbers!("a whole number": u32, u64, usize, i64);
numbers!("a number": f64);

impl Tuned for bool {
    const EXPECTED: &'static str = "on or off";

    fn read(text: &str) -> Option<Self> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }

    fn show(self) -> String {
        if self { "on" } else { "off" }.into()
    }
}

impl Tuned for Duration {
    const EXPECTED: &'static str = "a number of seconds";

    fn read(text: &str) -> Option<Self> {
        Duration::try_from_secs_f64(text.parse().ok()?).ok()
    }

    fn show(self) -> String {
        self.as_secs_f64().to_string()
    }
}

/// A tuned value as lists show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name: crate, group and field, such as `search.shares.floor`.
    pub name: &'static str,
    /// What the value means, and what measurements led to it.
    pub about: &'static str,
    /// The unit.
    pub unit: &'static str,
    /// The rows or the paper that chose the default: `text` if `about` has the measurement, `estimate` if there is
    /// none.
    pub source: &'static str,
    /// The default.
    pub default: String,
    /// The least and the greatest value that is accepted.
    pub range: [String; 2],
}

/// A value for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of the field.
    pub name: String,
    /// The text of the value.
    pub value: String,
}

/// The tuned values of a crate.
#[derive(Clone, Copy, Debug)]
pub struct Area {
    /// The first part of the names.
    pub name: &'static str,
    /// Returns all fields.
    pub fields: fn() -> Vec<Field>,
    /// Sets the values of the process for the names of this area, and ignores other names.
    ///
    /// # Errors
    /// Fails if a value is not of the field's type or range, or if the process has values already.
    pub install: fn(&[Setting]) -> Result<(), Error>,
}

/// Sets the values of the process.
///
/// # Errors
/// Fails if a name is unknown, a value is not of the field's type or range, or the process has values already.
pub fn install(areas: &[&Area], settings: &[Setting]) -> Result<(), Error> {
    let known: Vec<&'static str> = areas.iter().flat_map(|area| (area.fields)()).map(|field| field.name).collect();
    for Setting { name, .. } in settings {
        if !known.contains(&name.as_str()) {
            let hint = names(known.iter().copied(), name).1.map_or(String::new(), |hint| format!(", {hint}"));
            return Err(Error::Usage(format!("--tune {name}: there is no such value{hint} (--tune list shows all)")));
        }
    }
    areas.iter().try_for_each(|area| (area.install)(settings))?;
    let taken = || Error::Internal("tuned values are set twice".into());
    GIVEN.set(settings.to_vec()).map_err(|_| taken())
}

/// Returns the settings of the process by name, for reports: numbers as such, switches as text.
pub fn given() -> BTreeMap<String, Value> {
    let read = |text: &str| text.parse().map_or_else(|_| Value::from(text), Value::Number);
    GIVEN.get().into_iter().flatten().map(|setting| (setting.name.clone(), read(&setting.value))).collect()
}

/// Reads a value that a setting gives.
///
/// # Errors
/// Fails if the value is not of the type or out of range.
pub fn value<T: Tuned>(setting: &Setting, range: &RangeInclusive<T>) -> Result<T, Error> {
    let Setting { name, value } = setting;
    let wrong = |expected: String| Error::Usage(format!("--tune {name}={value}: expected {expected}"));
    let found = T::read(value).ok_or_else(|| wrong(T::EXPECTED.into()))?;
    match range.contains(&found) {
        true => Ok(found),
        false => Err(wrong(format!("{} from {} to {}", T::EXPECTED, range.start().show(), range.end().show()))),
    }
}

/// Defines the struct `Tuning` of a crate with a struct a group, its defaults, the function `tuning`, which returns the
/// values of the process, and the `AREA` that lists and sets them.
#[macro_export]
macro_rules! tuning {
    (
        $area:literal;
        $(
            $(#[doc = $group_doc:literal])+
            $group:ident: $Group:ident {
                $(
                    $(#[doc = $doc:literal])+
                    $field:ident: $type:ty = $default:expr, $range:expr, $unit:literal, $source:literal;
                )+
            }
        )+
    ) => {
        $(
            $(#[doc = $group_doc])+
            #[derive(Clone, Copy, Debug)]
            pub struct $Group {
                $($(#[doc = $doc])+ pub $field: $type,)+
            }
        )+

        /// The tuned values of the crate.
        #[derive(Clone, Copy, Debug)]
        pub struct Tuning {
            $($(#[doc = $group_doc])+ pub $group: $Group,)+
        }

        impl Tuning {
            /// The values of a process that sets none.
            pub const DEFAULT: Tuning = Tuning { $($group: $Group { $($field: $default,)+ },)+ };
        }

        static CHOSEN: ::std::sync::OnceLock<Tuning> = ::std::sync::OnceLock::new();

        /// Returns the values of the process.
        #[inline]
        pub fn tuning() -> &'static Tuning {
            CHOSEN.get().unwrap_or(&Tuning::DEFAULT)
        }

        fn fields() -> Vec<$crate::tuning::Field> {
            vec![$($({
                let range: ::std::ops::RangeInclusive<$type> = $range;
                $crate::tuning::Field {
                    name: concat!($area, ".", stringify!($group), ".", stringify!($field)),
                    about: concat!($($doc),+).trim(),
                    unit: $unit,
                    source: $source,
                    default: $crate::tuning::Tuned::show(Tuning::DEFAULT.$group.$field),
                    range: [*range.start(), *range.end()].map($crate::tuning::Tuned::show),
                }
            },)+)+]
        }

        fn install(settings: &[$crate::tuning::Setting]) -> Result<(), $crate::Error> {
            let mut chosen = Tuning::DEFAULT;
            for setting in settings {
                $($(if setting.name == concat!($area, ".", stringify!($group), ".", stringify!($field)) {
                    chosen.$group.$field = $crate::tuning::value(setting, &($range))?;
                })+)+
            }
            let taken = || $crate::Error::Internal(concat!("the values of ", $area, " are set twice").into());
            CHOSEN.set(chosen).map_err(|_| taken())
        }

        /// The list of the crate's tuned values.
        pub static AREA: $crate::tuning::Area = $crate::tuning::Area { name: $area, fields, install };
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    mod sample {
        crate::tuning! {
            "sample";

            /// Shares of
            /// two halves.
            shares: Shares {
                /// The least share
                /// of a half.
                floor: f64 = 0.25, 0.0..=0.5, "part of the time", "estimate";
                /// Whether there are halves.
                halves: bool = true, false..=true, "switch", "results/halves";
                /// The length of a half.
                length: std::time::Duration = std::time::Duration::from_millis(50),
                    std::time::Duration::ZERO..=std::time::Duration::from_secs(1), "s", "estimate";
            }
        }
    }

    fn refusal(name: &str, value: &str) -> String {
        let setting = Setting { name: name.into(), value: value.into() };
        let Err(error) = install(&[&sample::AREA], &[setting]) else { return String::new() };
        error.to_string()
    }

    #[test]
    fn values_are_listed_checked_and_set_once() {
        let fields = (sample::AREA.fields)();
        assert_eq!(fields[0].name, "sample.shares.floor");
        assert_eq!((fields[0].about, fields[0].unit), ("The least share of a half.", "part of the time"));
        assert_eq!((fields[0].default.as_str(), &fields[0].range), ("0.25", &["0.0".to_string(), "0.5".to_string()]));
        assert_eq!((fields[1].default.as_str(), fields[2].default.as_str()), ("on", "0.05"));

        assert!(refusal("sample.shares.flor", "0.1").contains("did you mean `sample.shares.floor`?"));
        assert!(refusal("sample.shares.floor", "0.6").contains("expected a number from 0.0 to 0.5"));
        assert!(refusal("sample.shares.floor", "x").contains("sample.shares.floor=x: expected a number"));
        assert!(refusal("sample.shares.floor", "NaN").contains("expected a number"));
        assert!(refusal("sample.shares.halves", "1").contains("expected on or off"));
        assert!(refusal("sample.shares.length", "-1").contains("expected a number of seconds"));

        assert!(sample::tuning().shares.halves && sample::tuning().shares.floor == 0.25);
        let settings = [("sample.shares.halves", "off"), ("sample.shares.length", "0.125")];
        let settings = settings.map(|(name, value)| Setting { name: name.into(), value: value.into() });
        assert!(given().is_empty());
        assert!(install(&[&sample::AREA], &settings).is_ok());
        let told = given();
        assert_eq!((&told["sample.shares.halves"], &told["sample.shares.length"]), (&"off".into(), &0.125.into()));
        let sample::Shares { floor, halves, length } = sample::tuning().shares;
        assert_eq!((floor, halves, length), (0.25, false, Duration::from_millis(125)));
        assert!(refusal("sample.shares.halves", "on").contains("set twice"));
    }
}
