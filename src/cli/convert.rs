//! `fangs convert`: writes a network in another format.

use super::input::{Input, InputFlags};
use super::worker::{self, Session};
use super::{Exit, help, output, values};
use clap::Args;
use fangs_base::Error;
use fangs_formats::convert::{Converted, convert};
use fangs_formats::{self as formats, Format};
use fangs_model::model::{Network, Variable};
use fangs_report::{Console, ReplacedFile};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Args, Debug)]
pub struct ConvertFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The file to write, in the format of its extension; - is standard output
    output: PathBuf,
    /// Format to write [default: by the extension of the file]
    #[arg(long, value_name = "NAME", value_parser = Format::written_as, help_heading = help::OUTPUT)]
    to: Option<Format>,
    /// Drop the limit on totals (`top`) if the format cannot express it
    #[arg(long, help_heading = help::OUTPUT)]
    without_top: bool,
}

/// A checked call of `fangs convert`.
pub struct Config {
    input: Input,
    /// The file to write; `None` for standard output.
    output: Option<PathBuf>,
    to: Format,
    without_top: bool,
}

impl TryFrom<ConvertFlags> for Config {
    type Error = Error;

    fn try_from(flags: ConvertFlags) -> Result<Self, Error> {
        let ConvertFlags { input, output, to, without_top } = flags;
        let input = Input::try_from(input)?;
        let output = Some(output).filter(|path| path != Path::new("-"));
        let extension = |path: &PathBuf| path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let packed =
            output.as_ref().and_then(extension).filter(|own| formats::compressed_extensions().any(|e| e == own));
        if let Some(packed) = packed {
            return Err(Error::Usage(format!("files are written plain, not as .{packed}: {packed} packs them")));
        }
        let to = match (to, &output) {
            (Some(to), _) => to,
            (None, Some(path)) => Format::written_to(path)?,
            (None, None) => return Err(Error::Usage(format!("standard output needs --to; {}", formats::written()))),
        };
        let _ = input.files()?.writes("the output", output.as_deref())?;
        Ok(Config { input, output, to, without_top })
    }
}

/// Reads a network, writes it in another format, reads the result again and compares both.
pub fn run(config: Config, started: Instant) -> Result<Exit, Error> {
    worker::command(started, None, move |session| write(config, session))
}

fn write(config: Config, session: &Session) -> Result<Exit, Error> {
    values::use_threads(None)?;
    let Session { stop, activity, console } = session;
    let file = config.output.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let (network, _) = config.input.load_by_all(console, stop)?;
    activity.step("writing and comparing");
    let network = if config.without_top { network.without_top() } else { network };
    let path = config.output.as_deref().unwrap_or(Path::new("<stdout>"));
    let Converted { text, again, scale } = convert(&network, config.to, config.input.options(), path, stop)?;
    match file {
        Some(mut file) => file.write_to_end(text, stop)?,
        None => output::print_raw(&text)?,
    }
    tell(&network, &again, scale, console);
    Ok(Exit::Done)
}

/// Reports how the numbers of the written file differ from those of the file read, and which names it lacks.
fn tell(network: &Network, again: &Network, scale: u32, console: &Console) {
    let (objective, own) = (again.objective(), network.objective());
    let minus = network.units().maximise != again.units().maximise;
    if scale > 0 {
        console.tell(&format!("{objective}s are {}10^{scale} times the {own}", if minus { "-" } else { "" }));
    } else if minus {
        console.tell(&format!("{objective}s are minus the {own}"));
    }
    if network.reading().is_some() && again.reading().is_none() && network.units().rounded > 0 {
        let (decimals, slack) = (network.units().decimals, network.units().precision_slack(None));
        console.tell(&format!("logarithms are rounded to {decimals} decimals: totals are off by at most {slack:e}"));
    }
    let differ = |(one, two): (&Variable, &Variable)| two.name.is_some() && one.name != two.name && one.name.is_some();
    if network.variables().iter().zip(again.variables()).any(differ) {
        console.tell("the format cannot hold the names of all variables: some were changed");
    }
    let is_other = |variable: usize, value: u32| {
        network.value_name(variable, value) != again.value_name(variable, value)
            && again.variables()[variable].values.is_some()
    };
    let changed = |variable: usize| (0..network.domains()[variable]).find(|&value| is_other(variable, value));
    if let Some((variable, value)) = (0..network.domains().len()).find_map(|v| changed(v).map(|value| (v, value))) {
        let [one, two] = [network, again].map(|network| network.value_name(variable, value));
        let name = network.variable_name(variable);
        console.tell(&format!("names of values were changed, such as {one} of {name}, which is {two}"));
    }
    let names = |network: &Network| network.variables().iter().any(|v| v.name.is_some() || v.values.is_some());
    if names(network) && !names(again) {
        console.tell("the format has no place for names: variables and values are their indices");
    }
}
