//! `--tune`: tuned values other than the defaults, for studies. It is in no help, because users have no need of it.

use super::output;
use fangs_base::Error;
use fangs_base::tuning::{self, Field, Setting};
use fangs_search::tuning::AREAS;
use std::fmt::Write;

/// The setting that lists all values.
const LIST: &str = "list";

/// Reads a setting, `NAME=VALUE` or `list`.
pub fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) => Ok(Setting { name: name.into(), value: value.into() }),
        None if text == LIST => Ok(Setting { name: text.into(), value: String::new() }),
        None => Err(format!("expected NAME=VALUE, or {LIST} for all names, defaults and ranges")),
    }
}

/// Sets the values of this process. Returns whether they were listed instead, so that nothing else is to be done.
pub fn apply(settings: &[Setting]) -> Result<bool, Error> {
    if settings.iter().any(|setting| setting.name == LIST) {
        output::print(&list())?;
        return Ok(true);
    }
    tuning::install(&AREAS, settings)?;
    Ok(false)
}

fn list() -> String {
    let mut text = String::new();
    for Field { name, about, unit, source, default, range: [least, most] } in
        AREAS.iter().flat_map(|area| (area.fields)())
    {
        // a string takes everything
        let _ = writeln!(text, "{name}={default}  ({unit}; {least} to {most}; {source})\n    {about}");
    }
    text
}
