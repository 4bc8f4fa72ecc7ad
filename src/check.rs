//! The independent evaluator: what an assignment of a [`Network`] costs, recomputed from the tables.
//!
//! It shares nothing with the search, the reductions or inference but the model's plain data: own indexing, own
//! look-up of sparse tuples, own summation (128 bits, so that nothing can overflow or saturate on the way).

use crate::model::{Cost, CostFunction, FORBIDDEN, Network, SparseTable, Table};

/// What an assignment costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evaluation {
    /// The total; [`FORBIDDEN`] where an entry forbids the assignment.
    pub cost: Cost,
    /// The sum without the violated functions.
    pub soft: Cost,
    /// The functions, ascending, whose entry forbids the assignment or reaches `top` alone.
    pub violated: Vec<usize>,
    /// The limit that the total must stay below.
    pub top: Cost,
}

impl Evaluation {
    /// Whether the total stays below `top`.
    pub fn is_solution(&self) -> bool {
        self.cost < self.top
    }
}

/// Evaluates an assignment (value indices in file order).
///
/// # Panics
/// If `assignment` has another length than the network has variables, or a value is outside its domain: what comes
/// from a file is checked by its reader.
pub fn evaluate(network: &Network, assignment: &[u32]) -> Evaluation {
    assert_eq!(assignment.len(), network.domains().len(), "one value for every variable");
    let (mut soft, mut hard) = (0i128, 0i128);
    let mut violated = Vec::new();
    let mut forbidden = false;
    for (index, function) in network.functions().iter().enumerate() {
        let cost = entry(function, network.domains(), assignment);
        if cost >= network.top() || cost >= FORBIDDEN {
            violated.push(index);
            forbidden |= cost >= FORBIDDEN;
            hard += i128::from(cost);
        } else {
            soft += i128::from(cost);
        }
    }
    let cost = if forbidden { FORBIDDEN } else { saturate(soft + hard) };
    Evaluation { cost, soft: saturate(soft), violated, top: network.top() }
}

/// The entry of one function under an assignment of all variables.
pub fn entry(function: &CostFunction, domains: &[u32], assignment: &[u32]) -> Cost {
    match &function.table {
        Table::Dense(costs) => {
            let (mut index, mut stride) = (0usize, 1usize);
            for &variable in function.scope.iter().rev() {
                let (domain, value) = (domains[variable as usize], assignment[variable as usize]);
                assert!(value < domain, "value {value} of variable {variable} is outside its domain");
                index += stride * value as usize;
                stride *= domain as usize;
            }
            costs[index]
        }
        Table::Sparse(table) => look_up(table, function.scope.iter().map(|&v| assignment[v as usize])),
    }
}

/// Narrows the range of tuples one value at a time.
fn look_up(table: &SparseTable, values: impl Iterator<Item = u32>) -> Cost {
    let (tuples, arity) = (table.tuples(), table.arity());
    let mut range = 0..table.costs().len();
    for (column, value) in values.enumerate() {
        let at = |row: usize| tuples[row * arity + column];
        let start = first(range.clone(), |row| at(row) >= value);
        let end = first(start..range.end, |row| at(row) > value);
        range = start..end;
    }
    if range.is_empty() { table.default_cost() } else { table.costs()[range.end - 1] }
}

/// The first row for which `holds` is true; it must stay true from there on.
fn first(range: std::ops::Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) { high = middle } else { low = middle + 1 }
    }
    low
}

fn saturate(sum: i128) -> Cost {
    sum.clamp(-i128::from(FORBIDDEN), i128::from(FORBIDDEN)) as Cost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelError;

    /// Three variables; every kind of table once.
    fn network(top: Cost) -> Result<Network, ModelError> {
        let mut builder = Network::builder("small");
        let _ = builder.top(top);
        let a = builder.variable(2)?;
        let b = builder.variable(3)?;
        let c = builder.variable(2)?;
        let _ = builder.dense(&[], vec![5])?;
        let _ = builder.dense(&[c, b], vec![0, 1, 2, 3, 4, FORBIDDEN])?;
        let _ = builder.sparse(&[a, b, c], 10, vec![1, 2, 0, 0, 0, 0, 1, 0, 1], vec![7, -3, 100])?;
        Ok(builder.build())
    }

    #[test]
    fn sums_dense_and_sparse_entries() -> Result<(), ModelError> {
        let network = network(1000)?;
        assert_eq!(evaluate(&network, &[0, 0, 0]).cost, 5 - 3);
        assert_eq!(evaluate(&network, &[1, 2, 0]).cost, 5 + 2 + 7);
        assert_eq!(evaluate(&network, &[1, 1, 1]).cost, 5 + 4 + 10);
        assert!(evaluate(&network, &[1, 1, 1]).is_solution());
        Ok(())
    }

    #[test]
    fn tells_forbidden_from_dear() -> Result<(), ModelError> {
        let forbidden = evaluate(&network(1000)?, &[0, 2, 1]);
        assert_eq!((forbidden.cost, forbidden.violated.as_slice(), forbidden.soft), (FORBIDDEN, &[1][..], 15));
        let dear = evaluate(&network(100)?, &[1, 0, 1]);
        assert_eq!((dear.cost, dear.violated.as_slice(), dear.soft), (108, &[2][..], 8));
        let sum = evaluate(&network(15)?, &[1, 0, 0]);
        assert!(sum.violated.is_empty() && !sum.is_solution(), "5 + 0 + 10 reaches 15 without any entry that does");
        Ok(())
    }

    #[test]
    fn agrees_with_the_models_own_evaluation() -> Result<(), ModelError> {
        let network = network(FORBIDDEN)?;
        for code in 0..12u32 {
            let assignment = [code % 2, code / 2 % 3, code / 6];
            for function in network.functions() {
                assert_eq!(
                    entry(function, network.domains(), &assignment),
                    function.cost(network.domains(), &assignment)
                );
            }
        }
        Ok(())
    }

    #[test]
    fn sums_far_beyond_64_bits() -> Result<(), ModelError> {
        let mut builder = Network::builder("huge");
        let _ = builder.variable(1)?;
        for _ in 0..100 {
            let _ = builder.dense(&[0], vec![-(1 << 57)])?;
        }
        assert_eq!(evaluate(&builder.build(), &[0]).cost, -FORBIDDEN);
        Ok(())
    }
}
