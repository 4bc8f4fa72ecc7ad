//! Elimination orders on the command line: rules, or a file.

use super::values;
use fangs_base::Error;
use fangs_base::files::{self, LARGEST_TEXT};
use fangs_base::stop::Stop;
use fangs_base::terminal::{self, among};
use fangs_elimination::order::{Method, Order, Ordering};
use std::path::{Path, PathBuf};

/// The source of the elimination order.
#[derive(Clone, Debug)]
pub enum OrderChoice {
    /// The best of some runs of all rules if elimination may be exact, otherwise of min-fill.
    Best,
    /// The best of some runs of one rule.
    Rule(Method),
    /// A file that lists all variables of the network.
    File(PathBuf),
}

impl OrderChoice {
    /// Parses the argument of `--order`.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix("file:") {
            Some(path) => Ok(OrderChoice::File(path.into())),
            None if values::is_called(text, "best") => Ok(OrderChoice::Best),
            None => values::choice(text, &Method::ALL)
                .map(OrderChoice::Rule)
                .map_err(|error| format!("{error}, best, or file:ORDER")),
        }
    }

    /// Returns the name of the rule, or `file:` and the path.
    pub fn name(&self) -> String {
        match self {
            OrderChoice::Best => "best".into(),
            OrderChoice::Rule(method) => method.name().into(),
            OrderChoice::File(path) => format!("file:{}", path.display()),
        }
    }

    /// Returns the path of the file, if the order comes from one.
    pub fn path(&self) -> Option<&Path> {
        if let OrderChoice::File(path) = self { Some(path) } else { None }
    }

    /// Returns the ordering of a network with this number of variables; reads the file if the order comes from one.
    pub fn resolve(&self, variables: usize, stop: &Stop) -> Result<Ordering, Error> {
        let path = match self {
            OrderChoice::Best => return Ok(Ordering::Promising),
            OrderChoice::Rule(method) => return Ok(Ordering::Rule(*method)),
            OrderChoice::File(path) => path,
        };
        let text = files::read_text(path, LARGEST_TEXT, stop)?;
        let prefixed = |message: String| Error::Usage(format!("{}: {message}", terminal::path(path)));
        let sequence = Order::parse_sequence(&text).map_err(|error| prefixed(error.to_string()))?;
        permutation(&sequence, variables).map(Ordering::Given).map_err(prefixed)
    }
}

/// Returns the position of each variable in a sequence that must name each of `n` variables once.
fn permutation(sequence: &[u32], n: usize) -> Result<Vec<usize>, String> {
    let mut places = vec![usize::MAX; n];
    for (place, &variable) in sequence.iter().enumerate() {
        match places.get_mut(variable as usize) {
            None => return Err(format!("entry {} is variable {variable}, expected one{}", place + 1, among(n))),
            Some(known) if *known != usize::MAX => return Err(format!("entry {} repeats {variable}", place + 1)),
            Some(known) => *known = place,
        }
    }
    match places.iter().position(|&place| place == usize::MAX) {
        Some(variable) => Err(format!("variable {variable} is missing")),
        None => Ok(places),
    }
}

#[cfg(test)]
mod tests {
    use super::permutation;

    #[test]
    fn orders_name_each_variable_once() {
        assert_eq!(permutation(&[2, 0, 1], 3), Ok(vec![1, 2, 0]));
        for (sequence, message) in [
            (&[0, 1][..], "variable 2 is missing"),
            (&[0, 3, 1], "entry 2 is variable 3, expected one from 0 to 2"),
            (&[0, 0, 1], "entry 2 repeats 0"),
        ] {
            assert_eq!(permutation(sequence, 3), Err(message.into()));
        }
    }
}
