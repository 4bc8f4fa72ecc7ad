//! The reduced problem in the layout that evaluations read: for each variable and each function on it, the table with
//! that variable running fastest, so that the costs of all its values under given values of the others are one
//! contiguous row.
//!
//! Entries are i32. If the costs of the reduced problem are too wide they are shifted right (a state's energy is still
//! the exact sum in 64 bits, see [`ValueTables::energy`]); a forbidden entry costs [`ValueTables::hard`].

mod in_turn;
mod orient;
mod quantization;
mod rows;
mod tables;
mod together;

use crate::device::shared::constants;
use crate::error::Error;
use crate::model::{Cost, FORBIDDEN, Problem, Readers};
use crate::stop::Stop;
use quantization::{Quantum, quantum};
pub use rows::{PADDING, Row, RowEntry, Rows, on_rows};
use std::sync::Arc;
pub use tables::{Energy, Incidence, ValueTables};

/// Returns the declarations of the constants of rows for kernels.
pub fn declared() -> String {
    constants! { i32: PADDING; i64: FORBIDDEN; }
}

/// Largest number of entries of a table that is copied, once for each of its variables. A larger one is read in place.
const COPY_LIMIT: u64 = 1 << 22;

impl ValueTables {
    /// Lays out the rows of a reduced problem. A forbidden entry costs `price`, in the problem's units. If the rows
    /// would otherwise not fit i32 it costs less, but at least the largest sum of the finite costs of a variable.
    #[doc(hidden)]
    pub fn new(problem: &Arc<Problem>, price: Cost) -> ValueTables {
        ValueTables::until(problem, price, &Stop::new()).expect("no stop is set")
    }

    /// Lays out the tables as [`ValueTables::new`] does, or returns [`Error::Stopped`].
    pub fn until(problem: &Arc<Problem>, price: Cost, stop: &Stop) -> Result<ValueTables, Error> {
        ValueTables::copying(problem, price, COPY_LIMIT, stop)
    }

    /// Lays out the tables of functions with at most `limit` entries; if that is 0, only the unary costs.
    pub fn copying(problem: &Arc<Problem>, price: Cost, limit: u64, stop: &Stop) -> Result<ValueTables, Error> {
        let n = problem.variables();
        let incidence = || if limit > 0 { problem.incidence(stop) } else { Ok(Readers::of_none(n)) };
        let (quantum, incidence) = rayon::join(|| quantum(problem, price, stop), incidence);
        let (Quantum { shift, hard, forbidding, most }, incidence) = (quantum?, incidence?);
        let mut tables = ValueTables {
            problem: problem.clone(),
            width: problem.domains.iter().map(|&d| padded(d)).collect(),
            shift,
            hard,
            forbidding,
            rows: Rows::default(),
            unary: Vec::with_capacity(n),
            ranges: Vec::with_capacity(n + 1),
            incidences: Vec::new(),
            functions: Vec::new(),
            further: Vec::new(),
            in_place: Vec::new(),
            limit: limit.min(COPY_LIMIT),
        };
        if limit == 0 || !together::lay_out(&mut tables, &incidence, most, stop)? {
            in_turn::lay_out(&mut tables, &incidence, stop)?;
        }
        Ok(tables)
    }
}

/// Returns the padded length of a row, in entries: 4, which a device loads at once, or whole vectors of 8.
fn padded(domain: u32) -> u32 {
    match domain {
        0..=4 => 4,
        _ => domain.next_multiple_of(8),
    }
}
