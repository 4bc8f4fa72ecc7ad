//! Tables as files list them: a default cost and tuples, which become dense where that pays.

use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Cost, SparseTable, Table};

/// Tables of up to this number of combinations are dense, however few tuples are listed: a page or two, found by one
/// index.
const SMALL: u64 = 1 << 12;

/// Tables of more combinations are never dense.
const LARGEST_DENSE: u64 = 1 << 26;

/// Between the two, a table is dense once one in DENSE_SHARE combinations is listed. A listed tuple of a sparse table
/// takes 8 bytes and 4 a value, and a search for every look-up.
const DENSE_SHARE: u64 = 16;

/// Tuples as they are read: a list at first, a dense table once there are enough of them. Nothing is allocated for a
/// claim of the file.
pub(super) struct Listed<'s> {
    sizes: &'s [u32],
    default: Cost,
    combinations: u64,
    /// How many tuples make the table dense.
    enough: u64,
    values: Vec<u32>,
    costs: Vec<Cost>,
    dense: Option<Vec<Cost>>,
}

impl<'s> Listed<'s> {
    /// A table of variables of these domain sizes, without tuples yet.
    pub fn new(sizes: &'s [u32], default: Cost) -> Self {
        let combinations = sizes.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
        let enough = match combinations {
            n if n <= SMALL => 1,
            n if n <= LARGEST_DENSE => n.div_ceil(DENSE_SHARE),
            _ => u64::MAX,
        };
        // constants and unary costs
        let dense = (combinations <= SMALL && sizes.len() < 2).then(|| vec![default; combinations as usize]);
        Listed { sizes, default, combinations, enough, values: Vec::new(), costs: Vec::new(), dense }
    }

    /// Reads a tuple: its values, each by domain size and position, and its cost.
    #[inline]
    pub fn push<'t>(
        &mut self,
        tokens: &mut Tokens<'t>,
        mut value: impl FnMut(&mut Tokens<'t>, u32, usize) -> Result<u32, Error>,
        cost: impl FnOnce(&mut Tokens<'t>) -> Result<Cost, Error>,
    ) -> Result<(), Error> {
        if let Some(dense) = &mut self.dense {
            let mut index = 0;
            for (position, &size) in self.sizes.iter().enumerate() {
                index = index * size as usize + value(tokens, size, position)? as usize;
            }
            dense[index] = cost(tokens)?;
            return Ok(());
        }
        for (position, &size) in self.sizes.iter().enumerate() {
            self.values.push(value(tokens, size, position)?);
        }
        self.costs.push(cost(tokens)?);
        if self.costs.len() as u64 >= self.enough {
            self.spread();
        }
        Ok(())
    }

    /// Moves the tuples listed so far to a dense table.
    fn spread(&mut self) {
        let mut dense = vec![self.default; self.combinations as usize];
        let arity = self.sizes.len();
        for (row, &cost) in self.costs.iter().enumerate() {
            let values = &self.values[row * arity..(row + 1) * arity];
            let index = values.iter().zip(self.sizes).fold(0, |index, (&v, &size)| index * size as usize + v as usize);
            dense[index] = cost;
        }
        (self.values, self.costs, self.dense) = (Vec::new(), Vec::new(), Some(dense));
    }

    /// The table.
    pub fn table(self) -> Table {
        match self.dense {
            Some(costs) => Table::dense(costs),
            None => Table::Sparse(SparseTable::new(self.sizes.len(), self.default, self.values, self.costs).into()),
        }
    }
}
