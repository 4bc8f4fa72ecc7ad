//! Values that zeros leave a variable alone with: arc consistency (Mackworth, 1977) on the entries that are not 0.

use super::Evidence;
use crate::error::Error;
use crate::model::{Odometer, Potentials};
use crate::stop::Stop;

/// The functions that have an entry of 0.
#[derive(Debug)]
pub(super) struct Zeros<'a> {
    potentials: &'a Potentials,
    functions: Vec<u32>,
    /// By variable, places among these functions.
    reading: Vec<Vec<u32>>,
}

impl<'a> Zeros<'a> {
    pub fn new(potentials: &'a Potentials) -> Self {
        let has_zero = |f: &u32| potentials.functions[*f as usize].table.contains(&0.0);
        let functions: Vec<u32> = (0..potentials.functions.len() as u32).filter(has_zero).collect();
        let mut reading = vec![Vec::new(); potentials.domains.len()];
        for (place, &f) in (0..).zip(&functions) {
            let scope = &potentials.functions[f as usize].scope;
            scope.iter().for_each(|&v| reading[v as usize].push(place));
        }
        Zeros { potentials, functions, reading }
    }

    /// The evidence with all values that follow from it; nothing where every product is 0.
    ///
    /// # Errors
    /// Evidence that does not fit; [`Error::Stopped`].
    pub fn imply(&self, evidence: &Evidence, stop: &Stop) -> Result<Option<Evidence>, Error> {
        let domains = &self.potentials.domains;
        let Some(observed) = evidence.by_variable(self.potentials)? else { return Ok(None) };
        let whole = |(&domain, seen): (&u32, &Option<u32>)| (0..domain).map(|v| seen.is_none_or(|s| s == v)).collect();
        let mut possible: Vec<Vec<bool>> = domains.iter().zip(&observed).map(whole).collect();
        for (variable, weights) in &evidence.weights {
            possible[*variable as usize].iter_mut().zip(weights).for_each(|(own, &weight)| *own &= weight > 0.0);
        }
        let mut open: Vec<u32> = (0..self.functions.len() as u32).collect();
        let mut waits = vec![true; self.functions.len()];
        while let Some(place) = open.pop() {
            stop.check()?;
            waits[place as usize] = false;
            let function = self.functions[place as usize];
            let supported = self.supported(function, &possible);
            for (&v, supported) in self.potentials.functions[function as usize].scope.iter().zip(supported) {
                if possible[v as usize] == supported {
                    continue;
                }
                possible[v as usize] = supported;
                for &other in &self.reading[v as usize] {
                    if !std::mem::replace(&mut waits[other as usize], true) {
                        open.push(other);
                    }
                }
            }
        }
        let mut implied = Evidence { values: Vec::new(), weights: evidence.weights.clone() };
        for (variable, possible) in (0..).zip(&possible) {
            let mut values = (0..).zip(possible).filter(|&(_, &possible)| possible).map(|(value, _)| value);
            match (values.next(), values.next()) {
                (None, _) => return Ok(None),
                (Some(value), None) => implied.values.push((variable, value)),
                _ => {}
            }
        }
        Ok(Some(implied))
    }

    /// By variable of a function, the values that an entry above 0 has with possible values of the others.
    fn supported(&self, function: u32, possible: &[Vec<bool>]) -> Vec<Vec<bool>> {
        let function = &self.potentials.functions[function as usize];
        let lists: Vec<&[bool]> = function.scope.iter().map(|&v| &possible[v as usize][..]).collect();
        let mut supported: Vec<Vec<bool>> = lists.iter().map(|list| vec![false; list.len()]).collect();
        let mut odometer = Odometer::new(lists.iter().map(|list| list.len()).collect());
        for &entry in function.table.iter() {
            if entry > 0.0 && odometer.digits.iter().zip(&lists).all(|(&digit, list)| list[digit]) {
                odometer.digits.iter().zip(&mut supported).for_each(|(&digit, own)| own[digit] = true);
            }
            let _ = odometer.advance();
        }
        supported
    }
}
