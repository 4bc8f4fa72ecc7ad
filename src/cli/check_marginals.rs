//! `fangs check FILE --marginals OUT.json`: recomputes sums and posteriors.

use super::input::Input;
use super::marginals::cases::of_object;
use super::worker::Session;
use super::{Exit, output};
use fangs_base::Error;
use fangs_base::files::{self, LARGEST_TEXT};
use fangs_base::terminal::{self, line};
use fangs_check::{MarginalsCheck, MarginalsClaim, check_marginals};
use fangs_formats as formats;
use fangs_model::model::{Names, Potentials};
use fangs_report::text::counted;
use serde::Serialize;
use serde_json::{Deserializer, Map, Value};
use std::fmt;
use std::path::Path;

/// Recomputes the sums and posteriors of all objects of a file, and reports the largest differences.
pub fn run(input: &Input, path: &Path, json: bool, session: &Session) -> Result<Exit, Error> {
    let Session { stop, activity, console } = session;
    let name = terminal::path(path);
    let text = files::read_text(path, LARGEST_TEXT, stop)?;
    let mut objects = Vec::new();
    for object in Deserializer::from_str(&text).into_iter::<Map<String, Value>>() {
        objects.push(object.map_err(|error| Error::Usage(format!("{name}: {error}")))?);
    }
    let Some(first) = objects.first() else { return Err(Error::Usage(format!("{name}: there is no object"))) };
    let temperature = first.get("temperature").and_then(Value::as_f64);
    let potentials =
        formats::read_potentials(input.source(), Some(input.format()), input.options(), temperature, stop)?;
    console.warn_of(&potentials.warnings);
    let given = input.evidence().of(&potentials.variables, console, stop)?;
    let names = Names::new(&potentials.variables);
    activity.step("summing");
    let mut checked = Vec::new();
    for (place, object) in objects.iter().enumerate() {
        let prefixed = |error: Error| match error {
            Error::Usage(what) => Error::Usage(format!("{name}, object {}: {what}", place + 1)),
            Error::Refused(what) => Error::Refused(format!("{name}, object {}: refused: {what}", place + 1)),
            other => other,
        };
        let claim = claim(object, &potentials, &names).map_err(prefixed)?;
        if let Some(given) = &given {
            let sorted = |mut pairs: Vec<(u32, u32)>| {
                pairs.sort_unstable();
                pairs.dedup();
                pairs
            };
            if sorted(given.pairs()) != sorted(claim.values.clone()) {
                let what = "it states other evidence than --evidence and --observe".to_string();
                return Err(prefixed(Error::Refused(what)));
            }
        }
        checked.push(check_marginals(&potentials, &claim, stop).map_err(prefixed)?);
    }
    output::print_report(&Report::new(&potentials, &checked), json)?;
    Ok(Exit::Done)
}

/// Returns the claims that an object of `fangs marginals` makes.
fn claim(object: &Map<String, Value>, potentials: &Potentials, names: &Names<'_>) -> Result<MarginalsClaim, Error> {
    let wrong = |what: &str| Error::Usage(format!("expected an object of `fangs marginals --json`: {what}"));
    let map = |key: &str| match object.get(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(map)) => Ok(map.clone()),
        Some(_) => Err(wrong(&format!("`{key}` is no object"))),
    };
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    let status = object.get("status").and_then(Value::as_str).unwrap_or_default();
    let assignment = map("assignment")?;
    // marginal MAP claims values whose sum is at least the lower bound
    let at_least = status == "bounds" && !assignment.is_empty();
    if !at_least && !matches!(status, "exact" | "impossible evidence") {
        return Err(wrong("its status is neither `exact` nor `impossible evidence`, nor has it an `assignment`"));
    }
    let of = |object: &Map<String, Value>| of_object(object, potentials, names);
    let (mut evidence, soft) = (of(&map("evidence")?)?, of(&map("soft")?)?);
    // for marginal MAP, the sum at its values is recomputed
    evidence.values.extend(of(&assignment)?.values);
    let mut posteriors = Vec::new();
    for (name, values) in &map("marginals")? {
        let variable = names.variable(name).map_err(|error| wrong(&error.to_string()))?;
        let values: Option<Vec<f64>> = values.as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
        posteriors.push((variable, values.ok_or_else(|| wrong(&format!("`{name}` has no list of numbers")))?));
    }
    let key = if at_least { "ln_z_lower" } else { "ln_z" };
    if status != "impossible evidence" && number(key).is_none() {
        return Err(wrong(&format!("it has no `{key}`")));
    }
    Ok(MarginalsClaim {
        values: evidence.values,
        weights: soft.weights,
        ln_z: number(key).filter(|_| status != "impossible evidence"),
        at_least,
        error_bound: number("error_bound").unwrap_or(0.0),
        posteriors,
        posterior_error: number("posterior_error").unwrap_or(0.0),
    })
}

/// The result of the check, as JSON and as text.
#[derive(Serialize)]
struct Report<'a> {
    instance: &'a str,
    version: &'static str,
    /// Number of objects whose claims hold.
    checked: usize,
    posteriors: usize,
    /// Logarithm of the sum of the last object; null if the sum is 0.
    ln_z: Option<f64>,
    /// Largest difference of a logarithm between claim and recomputation.
    ln_z_off: f64,
    posteriors_off: f64,
}

impl<'a> Report<'a> {
    fn new(potentials: &'a Potentials, checked: &[MarginalsCheck]) -> Self {
        let largest = |off: &dyn Fn(&MarginalsCheck) -> f64| checked.iter().map(off).fold(0.0, f64::max);
        Report {
            instance: &potentials.name,
            version: fangs_base::VERSION,
            checked: checked.len(),
            posteriors: checked.iter().map(|one| one.posteriors).sum(),
            ln_z: checked.last().map(|last| last.ln_z).filter(|ln_z| ln_z.is_finite()),
            ln_z_off: largest(&|one| one.off),
            posteriors_off: largest(&|one| one.posteriors_off),
        }
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sums, posteriors) = (counted(self.checked, "sum"), counted(self.posteriors, "posterior"));
        writeln!(f, "{}: {sums} and {posteriors} agree", line(self.instance))?;
        writeln!(f, "largest differences: {:.1e} of ln Z, {:.1e} of a posterior", self.ln_z_off, self.posteriors_off)
    }
}
