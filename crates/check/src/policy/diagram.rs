//! Policies of influence diagrams: products weighted with their probabilities, summed out one variable after the other.

use super::refused;
use crate::error::Error;
use crate::memory;
use crate::model::{Diagram, Potential, Rules};
use crate::stop::Stop;

/// A function with a probability and a utility multiplied by it: in a product each utility is weighted by the other's
/// probability.
struct Weighted {
    scope: Vec<u32>,
    probability: Vec<f64>,
    utility: Option<Vec<f64>>,
}

/// Returns the expected utility of a policy (not divided by the probability of the evidence), and the sum of all
/// probabilities.
///
/// # Errors
/// Returns [`Error::Refused`] if the policy does not fit the diagram, [`Error::Memory`] if a sum does not fit, and
/// [`Error::Stopped`] once `stop` is set.
pub fn worth_in_diagram(
    diagram: &Diagram,
    rules: &Rules,
    observed: &[(u32, u32)],
    stop: &Stop,
) -> Result<(f64, f64), Error> {
    let domain = |v: u32| diagram.nodes[v as usize].domain as usize;
    let mut functions: Vec<Weighted> = Vec::new();
    for Potential { scope, table } in &diagram.probabilities {
        functions.push(Weighted { scope: scope.to_vec(), probability: table.to_vec(), utility: None });
    }
    for Potential { scope, table } in &diagram.utilities {
        let probability = vec![1.0; table.len()];
        functions.push(Weighted { scope: scope.to_vec(), probability, utility: Some(table.to_vec()) });
    }
    for &(v, value) in observed {
        if v as usize >= diagram.nodes.len() || value as usize >= domain(v) {
            return refused(format!("variable {v} has no value {value}, which the policy observes"));
        }
        let table = (0..domain(v)).map(|own| if own == value as usize { 1.0 } else { 0.0 }).collect();
        functions.push(Weighted { scope: vec![v], probability: table, utility: None });
    }
    let seen = diagram.decisions();
    for (v, may_see) in &seen {
        functions.push(rule_of(diagram, rules, *v, may_see)?);
    }
    if rules.decisions.len() != seen.len() {
        return refused("the policy has rules of what is no decision");
    }
    let mut left: Vec<u32> = (0..diagram.nodes.len() as u32).collect();
    while !left.is_empty() {
        stop.check()?;
        // the variable whose product is smallest
        let joint = |v: u32| {
            let mut all: Vec<u32> =
                functions.iter().filter(|f| f.scope.contains(&v)).flat_map(|f| f.scope.clone()).collect();
            all.push(v);
            all.sort_unstable();
            all.dedup();
            all
        };
        let size = |scope: &[u32]| scope.iter().map(|&v| domain(v) as f64).product::<f64>();
        let sizes = left.iter().map(|&v| size(&joint(v)));
        let Some((place, size)) = sizes.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        let v = left.remove(place);
        memory::must_fit((16.0 * size) as u64, || format!("the sum over variable {v}"))?;
        let scope: Vec<u32> = joint(v).into_iter().filter(|&other| other != v).chain([v]).collect();
        let (own, others) = functions.into_iter().partition(|f: &Weighted| f.scope.contains(&v));
        functions = others;
        let made = sum_out(&own, scope, &domain, stop)?;
        functions.push(made);
    }
    let (mut probability, mut utility) = (1.0, 0.0);
    for function in &functions {
        let own = function.utility.as_ref().map_or(0.0, |utility| utility[0]);
        utility = utility * function.probability[0] + probability * own;
        probability *= function.probability[0];
    }
    Ok((utility, probability))
}

/// Returns the rule of a decision, which may observe only `may_see`, as a function: 1 for the chosen values.
fn rule_of(diagram: &Diagram, rules: &Rules, v: u32, may_see: &[u32]) -> Result<Weighted, Error> {
    let domain = |v: u32| diagram.nodes[v as usize].domain as usize;
    let mut own = rules.decisions.iter().filter(|rule| rule.decision == v);
    let (Some(rule), None) = (own.next(), own.next()) else {
        return refused(format!("decision {} has no rule, or several", diagram.nodes[v as usize].name));
    };
    // decisions of one block are made together; each may depend on those whose rules precede its own
    let block = diagram.blocks.iter().find(|block| block.contains(&v));
    let earlier = rules.decisions.iter().take_while(|other| other.decision != v).map(|other| other.decision);
    let together: Vec<u32> = earlier.filter(|other| block.is_some_and(|block| block.contains(other))).collect();
    if let Some(hidden) = rule.sees.iter().find(|s| !may_see.contains(s) && !together.contains(s)) {
        return refused(format!("decision {} does not see variable {hidden}", diagram.nodes[v as usize].name));
    }
    let mut distinct = rule.sees.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let rows: usize = rule.sees.iter().map(|&s| domain(s)).fold(1, usize::saturating_mul);
    let fits = rows == rule.choices.len() && distinct.len() == rule.sees.len();
    if !fits || rule.choices.iter().any(|&choice| choice as usize >= domain(v)) {
        return refused(format!("the rule of decision {} does not fit it", diagram.nodes[v as usize].name));
    }
    let row = |&choice: &u32| (0..domain(v)).map(move |own| if own == choice as usize { 1.0 } else { 0.0 });
    let probability = rule.choices.iter().flat_map(row).collect();
    let scope = rule.sees.iter().copied().chain([v]).collect();
    Ok(Weighted { scope, probability, utility: None })
}

/// Returns the product of functions, summed over the last variable of `scope`.
fn sum_out(
    functions: &[Weighted],
    mut scope: Vec<u32>,
    domain: &dyn Fn(u32) -> usize,
    stop: &Stop,
) -> Result<Weighted, Error> {
    let weighted = functions.iter().any(|function| function.utility.is_some());
    let strides: Vec<Vec<usize>> = functions
        .iter()
        .map(|function| {
            let stride = |v: &u32| {
                let axis = function.scope.iter().position(|own| own == v);
                axis.map_or(0, |axis| function.scope[axis + 1..].iter().map(|&v| domain(v)).product())
            };
            scope.iter().map(stride).collect()
        })
        .collect();
    let sizes: Vec<usize> = scope.iter().map(|&v| domain(v)).collect();
    let inner = sizes[sizes.len() - 1];
    let rows: usize = sizes[..sizes.len() - 1].iter().product();
    let mut probability = Vec::with_capacity(rows);
    let mut utility = Vec::with_capacity(if weighted { rows } else { 0 });
    let mut digits = vec![0; sizes.len()];
    for row in 0..rows {
        if row % 4096 == 0 {
            stop.check()?;
        }
        let (mut all, mut worth) = (0.0, 0.0);
        for value in 0..inner {
            digits[sizes.len() - 1] = value;
            let (mut p, mut u) = (1.0, 0.0);
            for (function, strides) in functions.iter().zip(&strides) {
                let at: usize = digits.iter().zip(strides).map(|(digit, stride)| digit * stride).sum();
                let own = function.utility.as_ref().map_or(0.0, |utility| utility[at]);
                u = u * function.probability[at] + p * own;
                p *= function.probability[at];
            }
            all += p;
            worth += u;
        }
        probability.push(all);
        if weighted {
            utility.push(worth);
        }
        for axis in (0..sizes.len() - 1).rev() {
            digits[axis] += 1;
            if digits[axis] < sizes[axis] {
                break;
            }
            digits[axis] = 0;
        }
    }
    let _ = scope.pop();
    Ok(Weighted { scope, probability, utility: weighted.then_some(utility) })
}
