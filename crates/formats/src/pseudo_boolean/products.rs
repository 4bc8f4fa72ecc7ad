//! Boolean variables that stand for products of literals, in constraints with many variables.

use super::{DENSE, Product};
use crate::error::ModelError;
use crate::model::{Builder, FORBIDDEN, Variable};
use rustc_hash::FxHashMap;

/// The variables of products, each defined once.
pub(super) struct Products {
    /// The names of the variables of the file.
    names: Vec<Box<str>>,
    bits: FxHashMap<Vec<(u32, bool)>, u32>,
}

impl Products {
    /// Makes an empty collection; `names` are the names of the file's variables.
    pub fn new(names: Vec<Box<str>>) -> Self {
        Products { names, bits: FxHashMap::default() }
    }

    /// Returns the variable of a product, which is 1 if all of its literals are true. If it is new, it is added to the
    /// network behind the file's variables, with a name such as `x1*~x2`.
    pub fn bit(&mut self, builder: &mut Builder, product: &Product) -> Result<u32, ModelError> {
        let literals: Vec<(u32, bool)> = product.iter().map(|(&v, &negated)| (v, negated)).collect();
        if let Some(&bit) = self.bits.get(&literals) {
            return Ok(bit);
        }
        let name =
            |&(v, negated): &(u32, bool)| format!("{}{}", if negated { "~" } else { "" }, self.names[v as usize]);
        let name = literals.iter().map(name).collect::<Vec<_>>().join("*");
        let bit = builder.domains().len() as u32;
        let _ = builder.named_variable(Variable { domain: 2, name: Some(name.into()), values: None })?;
        let mut scope: Vec<u32> = literals.iter().map(|&(v, _)| v).collect();
        scope.push(bit);
        let true_values = literals.iter().map(|&(_, negated)| u32::from(!negated));
        if scope.len() <= DENSE {
            let all = true_values.fold(0, |index, value| 2 * index + value as usize);
            let costs = (0..1usize << scope.len()).map(|index| {
                let is_right = (index >> 1 == all) == (index & 1 == 1);
                if is_right { 0 } else { FORBIDDEN }
            });
            let _ = builder.dense(&scope, costs.collect())?;
        } else {
            for &(v, negated) in &literals {
                let mut costs = vec![0; 4];
                costs[2 * usize::from(negated) + 1] = FORBIDDEN;
                let _ = builder.dense(&[v, bit], costs)?;
            }
            let _ = builder.sparse(&scope, 0, true_values.chain([0]).collect(), vec![FORBIDDEN])?;
        }
        let _ = self.bits.insert(literals, bit);
        Ok(bit)
    }
}
