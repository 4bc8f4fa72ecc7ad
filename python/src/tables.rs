//! Arrays of numpy as tables of costs.

use crate::error::usage;
use fangs_base::error::Error;
use fangs_model::model::{COST_LIMIT, Cost, FORBIDDEN, rounding};
use numpy::{PyReadonlyArrayDyn, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// Largest number of decimals of tables of doubles, unless the user asks for more.
pub const MOST_CHOSEN: u32 = 6;

/// The numbers of an array in the order of a table, and its shape.
pub enum Numbers<'py> {
    Integers(PyReadonlyArrayDyn<'py, i64>),
    Doubles(PyReadonlyArrayDyn<'py, f64>),
}

/// Returns an array of integers, in C order.
pub fn integers<'py>(array: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, i64>> {
    match Numbers::of(array)? {
        Numbers::Integers(array) => Ok(array),
        // an empty list has type float64
        Numbers::Doubles(array) if array.is_empty() => array.as_any().call_method1("astype", ("int64",))?.extract(),
        Numbers::Doubles(_) => Err(usage("indices are integers, these numbers are not")),
    }
}

/// Costs in units of 10^-decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    pub decimals: u32,
    pub maximise: bool,
}

impl<'py> Numbers<'py> {
    pub fn of(numbers: &Bound<'py, PyAny>) -> PyResult<Self> {
        let numpy = numbers.py().import("numpy")?;
        let array = numpy.call_method1("asarray", (numbers,))?;
        let (kind, bytes): (String, usize) = {
            let own = array.getattr("dtype")?;
            (own.getattr("kind")?.extract()?, own.getattr("itemsize")?.extract()?)
        };
        let as_type = |name: &str| {
            let options = PyDict::new(numbers.py());
            options.set_item("dtype", name)?;
            options.set_item("order", "C")?;
            numpy.call_method("asarray", (&array,), Some(&options))
        };
        match (&*kind, bytes) {
            ("i" | "b", _) | ("u", ..8) => Ok(Numbers::Integers(as_type("int64")?.extract()?)),
            // integers that exceed 63 bits are refused as doubles, too
            ("u", _) => {
                let most: u64 = array.call_method1("max", ())?.extract().unwrap_or(0);
                let name = if most < 1 << 63 { "int64" } else { "float64" };
                match name {
                    "int64" => Ok(Numbers::Integers(as_type(name)?.extract()?)),
                    _ => Ok(Numbers::Doubles(as_type(name)?.extract()?)),
                }
            }
            ("f", ..=8) => Ok(Numbers::Doubles(as_type("float64")?.extract()?)),
            _ if array.getattr("size")?.extract::<usize>()? == 0 => {
                Ok(Numbers::Doubles(as_type("float64")?.extract()?))
            }
            _ => Err(usage(format!("a table has integers or doubles, not {}", array.getattr("dtype")?))),
        }
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Numbers::Integers(array) => array.shape(),
            Numbers::Doubles(array) => array.shape(),
        }
    }

    /// Returns the decimals that represent all numbers exactly, up to `MOST_CHOSEN`, or those that the user asked for.
    pub fn decimals(&self, asked: Option<u32>) -> Result<u32, Error> {
        match (self, asked) {
            (_, Some(asked)) => Ok(asked),
            (Numbers::Integers(_), None) => Ok(0),
            (Numbers::Doubles(array), None) => Ok(rounding::decimals(slice(array.as_slice())?, 0, MOST_CHOSEN)),
        }
    }

    /// Returns the costs of each part of `size` numbers, and whether one of them was rounded.
    pub fn parts(&self, size: usize, scale: Scale) -> Result<Vec<(Vec<Cost>, bool)>, Error> {
        match self {
            Numbers::Integers(array) => {
                let factor = 10i64.pow(scale.decimals);
                let sign = if scale.maximise { -1 } else { 1 };
                let cost = |&number: &i64| {
                    let cost = number.checked_mul(sign * factor).filter(|cost| cost.abs() < COST_LIMIT);
                    cost.ok_or_else(|| too_large(number as f64, scale))
                };
                let part = |part: &[i64]| Ok((part.iter().map(cost).collect::<Result<Vec<Cost>, Error>>()?, false));
                slice(array.as_slice())?.chunks_exact(size.max(1)).map(part).collect()
            }
            Numbers::Doubles(array) => {
                let part = |part: &[f64]| {
                    let mut rounded = false;
                    let costs: Result<Vec<Cost>, Error> = part
                        .iter()
                        .map(|&number| {
                            let (cost, exact) = of_double(number, scale)?;
                            rounded |= !exact;
                            Ok(cost)
                        })
                        .collect();
                    Ok((costs?, rounded))
                };
                slice(array.as_slice())?.chunks_exact(size.max(1)).map(part).collect()
            }
        }
    }
}

/// Returns the contiguous numbers of an array.
fn slice<T, E: Display>(numbers: Result<&[T], E>) -> Result<&[T], Error> {
    numbers.map_err(|error| Error::Usage(error.to_string()))
}

/// Converts a number to a cost; returns whether the cost is exact.
pub fn of_double(number: f64, scale: Scale) -> Result<(Cost, bool), Error> {
    let least = if scale.maximise { -number } else { number };
    if least == f64::INFINITY {
        return Ok((FORBIDDEN, true));
    }
    let cost = rounding::round(least, scale.decimals).filter(|(cost, _)| cost.abs() < COST_LIMIT);
    cost.ok_or_else(|| match number.is_finite() {
        true => too_large(number, scale),
        false => {
            let forbids = if scale.maximise { "-inf" } else { "inf" };
            Error::Usage(format!("{number} is no cost: costs are finite, or {forbids}, which forbids"))
        }
    })
}

fn too_large(number: f64, Scale { decimals, .. }: Scale) -> Error {
    Error::Usage(format!(
        "{number} with {decimals} decimals passes 64-bit costs: fewer decimals have room (decimals=…)"
    ))
}
