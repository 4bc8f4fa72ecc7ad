//! Sparse matrices and scalar products of the methods that choose multipliers.

/// Columns or rows of a sparse matrix.
#[derive(Clone, Debug, Default)]
pub struct Sparse {
    starts: Vec<u32>,
    entries: Vec<(u32, f64)>,
}

impl Sparse {
    /// Returns the lists, one after the other.
    pub fn of(lists: &[Vec<(u32, f64)>]) -> Sparse {
        let mut sparse = Sparse { starts: vec![0], entries: Vec::new() };
        for list in lists {
            sparse.entries.extend_from_slice(list);
            sparse.starts.push(sparse.entries.len() as u32);
        }
        sparse
    }

    /// Returns the transposed matrix, given its number of lists.
    pub fn turned(&self, size: usize) -> Sparse {
        let mut lists = vec![Vec::new(); size];
        for (at, list) in (0..).zip(self.starts.windows(2)) {
            for &(row, weight) in &self.entries[list[0] as usize..list[1] as usize] {
                lists[row as usize].push((at, weight));
            }
        }
        Sparse::of(&lists)
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the entries of a column or row.
    #[inline]
    pub fn of_index(&self, at: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Returns the scalar product, in partial sums that vector instructions can form.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, b) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a.zip(b) {
        sums.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum += a * b);
    }
    sums.iter().sum::<f64>() + rest
}
