//! Tables as files list them: a default cost and tuples, which become dense if that saves memory or time.

use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Cost, SparseTable, Table};

/// The number of combinations up to which tables are dense, however few tuples are listed: a page or two of memory,
/// with direct look-up.
const SMALL: u64 = 1 << 12;

/// The number of combinations above which tables are never dense.
const LARGEST_DENSE: u64 = 1 << 26;

/// The inverse of the fraction of listed combinations from which on a table of medium size is dense. In a sparse table,
/// a listed tuple takes 8 bytes and 4 bytes for each value, and each look-up is a search.
const DENSE_SHARE: u64 = 16;

/// Tuples while they are read: a list at first, and a dense table once there are enough of them. No memory is allocated
/// for mere claims of the file.
pub(super) struct Listed<'s> {
    sizes: &'s [u32],
    default: Cost,
    combinations: u64,
    /// The number of tuples from which on the table is dense.
    enough: u64,
    values: Vec<u32>,
    costs: Vec<Cost>,
    dense: Option<Vec<Cost>>,
}

impl<'s> Listed<'s> {
    /// Makes a table over variables of these domain sizes, without tuples.
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

    /// Reads a tuple: its values, for which `value` gets domain size and position, and its cost.
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

    /// Returns the table.
    pub fn table(self) -> Table {
        match self.dense {
            Some(costs) => Table::dense(costs),
            None => Table::Sparse(SparseTable::new(self.sizes.len(), self.default, self.values, self.costs).into()),
        }
    }
}
