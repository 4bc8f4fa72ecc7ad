//! Evidence: observed values and likelihoods.

use crate::error::Error;
use crate::model::{Names, Potentials};
use crate::terminal::line;

/// Observed values of variables, and likelihoods of values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Pairs of a variable and its observed value.
    pub values: Vec<(u32, u32)>,
    /// Variables with a weight of each value, which multiply the product; weights are finite and not negative.
    pub weights: Vec<(u32, Vec<f64>)>,
}

impl Evidence {
    /// Adds an observation `NAME=VALUE`; both sides are names or indices.
    ///
    /// # Errors
    /// Returns an error if there is no such variable or value.
    pub fn observe(&mut self, potentials: &Potentials, text: &str) -> Result<(), Error> {
        let observed = Names::new(&potentials.variables).observed(text);
        self.values.push(observed.map_err(|error| Error::Usage(format!("evidence `{}`: {error}", line(text))))?);
        Ok(())
    }

    /// Adds a likelihood `NAME=W:W:...`, with a weight for each value.
    ///
    /// # Errors
    /// Returns an error if there is no such variable, or if the weights are not one valid number for each value.
    pub fn weigh(&mut self, potentials: &Potentials, text: &str) -> Result<(), Error> {
        let names = Names::new(&potentials.variables);
        let wrong = |what: String| Error::Usage(format!("soft evidence `{}`: {what}", line(text)));
        let (variable, list) = names.assigned(text).map_err(|error| wrong(error.to_string()))?;
        let weights: Option<Vec<f64>> = list.split(':').map(|word| word.trim().parse().ok()).collect();
        let weights = weights.filter(|weights| weights.iter().all(|weight| (0.0..f64::INFINITY).contains(weight)));
        let domain = names.domain(variable) as usize;
        match weights.filter(|weights| weights.len() == domain) {
            Some(weights) => self.weights.push((variable, weights)),
            None => return Err(wrong(format!("expected {domain} numbers of at least 0 with : between them"))),
        }
        Ok(())
    }

    /// Returns the observed value of each variable, or `None` if a variable has two different ones.
    ///
    /// # Errors
    /// Returns an error if variables, values or weights do not fit the potentials.
    pub(crate) fn by_variable(&self, potentials: &Potentials) -> Result<Option<Vec<Option<u32>>>, Error> {
        let domains = &potentials.domains;
        let wrong = |what: String| Err(Error::Usage(format!("evidence: {what}")));
        let mut observed = vec![None; domains.len()];
        let mut agrees = true;
        for &(variable, value) in &self.values {
            match domains.get(variable as usize) {
                None => return wrong(format!("variable {variable}, but there are {}", domains.len())),
                Some(&domain) if value >= domain => {
                    return wrong(format!("value {value} of variable {variable}, which has {domain}"));
                }
                Some(_) => {}
            }
            agrees &= observed[variable as usize].is_none_or(|known| known == value);
            observed[variable as usize] = Some(value);
        }
        for (variable, weights) in &self.weights {
            let fits = domains.get(*variable as usize).is_some_and(|&domain| domain as usize == weights.len());
            if !fits || weights.iter().any(|weight| !(0.0..f64::INFINITY).contains(weight)) {
                return wrong(format!("weights of variable {variable} that do not fit it"));
            }
        }
        Ok(agrees.then_some(observed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Variable;

    #[test]
    fn names_and_indices() {
        let mut potentials = Potentials::new("t");
        let values = Some(["yes".into(), "no".into()].into());
        for name in ["rain", "a=b"] {
            let variable = Variable { domain: 2, name: Some(name.into()), values: values.clone() };
            let _ = potentials.variable(variable).expect("a variable");
        }
        let mut evidence = Evidence::default();
        for text in ["rain=no", "a=b=yes", "1=1", " x0 = yes "] {
            evidence.observe(&potentials, text).expect(text);
        }
        assert_eq!(evidence.values, [(0, 1), (1, 0), (1, 1), (0, 0)]);
        assert_eq!(evidence.by_variable(&potentials).expect("they exist"), None);
        evidence.weigh(&potentials, "rain=0.5:2").expect("weights");
        assert_eq!(evidence.weights, [(0, vec![0.5, 2.0])]);
        for text in ["rain", "snow=yes", "rain=2", "rain=maybe", "2=0"] {
            assert!(evidence.observe(&potentials, text).is_err(), "{text}");
        }
        for text in ["rain", "rain=1", "rain=1:2:3", "rain=1:-1", "rain=1:inf", "rain=1:x"] {
            assert!(evidence.weigh(&potentials, text).is_err(), "{text}");
        }
        for wrong in [
            Evidence { values: vec![(2, 0)], weights: vec![] },
            Evidence { values: vec![(0, 2)], weights: vec![] },
            Evidence { values: vec![], weights: vec![(0, vec![1.0])] },
        ] {
            assert!(wrong.by_variable(&potentials).is_err());
        }
    }
}
