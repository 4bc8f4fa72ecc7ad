//! Solutions by names: a JSON object of variables and values.

use crate::error::{Error, ParseError};
use crate::model::Network;
use rustc_hash::FxHashMap;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;
use std::fmt;

/// An assignment that serialises as an object: the names of the variables in file order, each with the name of its
/// value.
#[derive(Clone, Copy, Debug)]
pub struct Named<'a> {
    /// The network with the names.
    pub network: &'a Network,
    /// A value for each variable.
    pub assignment: &'a [u32],
}

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |(variable, &value): (usize, &u32)| {
            (self.network.variable_name(variable), self.network.value_name(variable, value))
        };
        serializer.collect_map(self.assignment.iter().enumerate().map(name))
    }
}

/// The pairs of a JSON object, in order.
struct Pairs<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = Pairs<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<'de>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(Object)
    }
}

/// Reads an object of names, or the one under `assignment` in the output of `fangs solve --json`. Returns `None` if the
/// text is neither. Variables that the object does not name have no value.
pub(super) fn read(text: &[u8], file: &str, network: &Network) -> Result<Option<Vec<Option<u32>>>, Error> {
    let Ok(Pairs(mut pairs)) = serde_json::from_slice(text) else { return Ok(None) };
    let inner = pairs.iter().find(|(name, value)| name == "assignment" && value.get().starts_with('{'));
    if let Some(Ok(Pairs(inner))) = inner.map(|(_, value)| serde_json::from_str(value.get())) {
        pairs = inner;
    } else if pairs.iter().any(|(name, value)| name == "solution" && !value.get().starts_with('"')) {
        return Ok(None);
    }
    let misfit = |value: &RawValue, expected: String, name: &str| {
        let offset = value.get().as_ptr().addr() - text.as_ptr().addr();
        let start = text[..offset].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let line = 1 + text[..offset].iter().filter(|&&byte| byte == b'\n').count() as u64;
        let column = 1 + (offset - start) as u64;
        let (found, hint) = (format!("`{}`", value.get()), Some(format!("for `{name}`")));
        Error::Parse(ParseError { file: file.into(), line, column, found, expected, hint })
    };
    let variables: FxHashMap<String, usize> =
        (0..network.domains().len()).map(|variable| (network.variable_name(variable), variable)).collect();
    let mut assignment = vec![None; network.domains().len()];
    for (name, value) in &pairs {
        let Some(&variable) = variables.get(name) else {
            return Err(misfit(value, "a value of a variable of the network".into(), name));
        };
        let text = serde_json::from_str::<String>(value.get()).unwrap_or_else(|_| value.get().into());
        let Some(index) = network.value_index(variable, &text) else {
            let names = (0..network.domains()[variable]).take(MOST_NAMES);
            let names: Vec<String> = names.map(|value| network.value_name(variable, value)).collect();
            let more = if names.len() < network.domains()[variable] as usize { " …" } else { "" };
            return Err(misfit(value, format!("one of {}{more}", names.join(" ")), name));
        };
        if assignment[variable].replace(index).is_some_and(|other| other != index) {
            return Err(misfit(value, "one value".into(), name));
        }
    }
    Ok(Some(assignment))
}

/// The number of names of values that a message lists.
const MOST_NAMES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Variable;

    fn network() -> Network {
        let mut builder = Network::builder("t");
        let values = |names: &[&str]| Some(names.iter().map(|&name| name.into()).collect());
        for (name, domain, values) in
            [(Some("rain"), 2, values(&["no", "yes"])), (None, 3, None), (Some("solution"), 2, values(&["1", "0"]))]
        {
            let variable = Variable { domain, name: name.map(Into::into), values };
            let _ = builder.named_variable(variable).expect("a variable");
        }
        builder.build()
    }

    #[test]
    fn what_is_written_is_read() {
        let network = network();
        let text = serde_json::to_string(&Named { network: &network, assignment: &[1, 2, 0] }).expect("an object");
        assert_eq!(text, r#"{"rain":"yes","x1":"2","solution":"1"}"#);
        for text in [
            &text[..],
            r#"{"x1": 2, "rain": "yes", "solution": "1"}"#,
            r#"{"cost": 3, "solution": [0, 0, 0], "assignment": {"x1": 2, "rain": "yes", "solution": "1"}}"#,
        ] {
            assert_eq!(
                read(text.as_bytes(), "s", &network).expect("a solution"),
                Some([1, 2, 0].map(Some).to_vec()),
                "{text}"
            );
        }
        let part = read(br#"{"x1": "1"}"#, "s", &network).expect("a part of a solution");
        assert_eq!(part, Some(vec![None, Some(1), None]));
        for text in ["1 2 0", r#"{"solution": [1, 2, 0]}"#, "{", ""] {
            assert_eq!(read(text.as_bytes(), "s", &network).expect("another text"), None, "{text}");
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("{\"rain\": \"yes\",\n \"x1\": 3}", "s:2:8: found `3`, expected one of 0 1 2 (for `x1`)"),
            (
                r#"{"snow": "yes"}"#,
                "s:1:10: found `\"yes\"`, expected a value of a variable of the network (for `snow`)",
            ),
            (r#"{"rain": "yes", "rain": "no"}"#, "expected one value (for `rain`)"),
        ] {
            let error = read(text.as_bytes(), "s", &network()).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
