//! `fangs convert`.

use super::input::{Input, InputFlags};
use super::{Exit, help, output, values};
use clap::Args;
use fangs::formats::{self, Format};
use fangs::model::{Cost, FORBIDDEN, Network};
use fangs::record::{Console, ReplacedFile, Verbosity};
use fangs::rng::Rng;
use fangs::stop::Stop;
use fangs::{Error, check, terminal};
use rayon::prelude::*;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct ConvertFlags {
    #[command(flatten)]
    input: InputFlags,
    /// The file to write, in the format of its extension; - is standard output
    output: PathBuf,
    /// Format to write [default: by the extension of the file]
    #[arg(long, value_name = "NAME", help_heading = help::OUTPUT)]
    to: Option<Format>,
    /// Leave out the limit on totals (`top`) where the format has no place for it
    #[arg(long, help_heading = help::OUTPUT)]
    without_top: bool,
}

/// A checked call.
pub struct Config {
    input: Input,
    /// None for standard output.
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
        let to = match (to, &output) {
            (Some(to), _) => to,
            (None, Some(path)) => Format::of_path(path)?,
            (None, None) => return Err(Error::Usage("standard output needs --to".into())),
        };
        let extension = |path: &PathBuf| path.extension().map(|e| e.to_string_lossy().to_ascii_lowercase());
        let packed =
            output.as_ref().and_then(extension).filter(|own| formats::compressed_extensions().any(|e| e == own));
        if let Some(packed) = packed {
            return Err(Error::Usage(format!("files are written plain, not as .{packed}: {packed} packs them")));
        }
        let _ = input.files()?.writes("the output", output.as_deref())?;
        Ok(Config { input, output, to, without_top })
    }
}

/// Assignments at which the written network is compared with the one read.
const COMPARED: u64 = 1000;

/// Reads a network, writes it in another format, reads that again and compares.
pub fn run(config: Config) -> Result<Exit, Error> {
    values::use_threads(None)?;
    let (stop, console) = (Stop::new(), Console::new(Verbosity::Normal));
    let file = config.output.as_deref().map(|path| output::as_usage(ReplacedFile::new(path))).transpose()?;
    let network = config.input.load(&console, &stop)?;
    let network = if config.without_top { network.without_top() } else { network };
    let (to, name) = (config.to.info().name, config.output.as_deref().unwrap_or(Path::new("<stdout>")));
    let mut text = Vec::new();
    formats::write(&network, config.to, &mut text).map_err(|error| match error.kind() {
        ErrorKind::InvalidInput => {
            Error::Usage(format!("{}: .{to} cannot hold {error}", terminal::path(Path::new(&network.name))))
        }
        ErrorKind::Unsupported => Error::Usage(error.to_string()),
        _ => Error::Io { path: name.into(), action: "cannot write", source: error },
    })?;
    let options = config.input.options();
    let again = formats::read_from(&text[..], &name.to_string_lossy(), config.to, options, &stop);
    let again = again.map_err(|error| Error::Internal(format!("what was written cannot be read: {error}")))?;
    let scale = compare(&network, &again).map_err(|what| Error::Internal(format!("written wrong: {what}")))?;
    match file {
        Some(mut file) => file.write_to_end(text, &stop)?,
        None => output::print_raw(&String::from_utf8_lossy(&text))?,
    }
    tell(&network, &again, scale, &console);
    Ok(Exit::Done)
}

/// Says what the numbers of the written file mean, where they are not those of the file read, and what it lacks.
fn tell(network: &Network, again: &Network, scale: u32, console: &Console) {
    let (objective, own) = (again.objective(), network.objective());
    let minus = network.units().maximise != again.units().maximise;
    if scale > 0 {
        console.tell(&format!("{objective}s are {}10^{scale} times the {own}", if minus { "-" } else { "" }));
    } else if minus {
        console.tell(&format!("{objective}s are minus the {own}"));
    }
    let names = |network: &Network| network.variables().iter().any(|v| v.name.is_some() || v.values.is_some());
    if names(network) && !names(again) {
        console.tell("the format has no place for names: variables and values are their indices");
    }
}

/// Compares two networks at random assignments, half of them repaired, so that fewer functions are violated. Returns by
/// how many digits the costs of the second one are larger.
fn compare(network: &Network, again: &Network) -> Result<u32, String> {
    if network.domains() != again.domains() {
        return Err("it has other variables".into());
    }
    let (own, other) = (network.units(), again.units());
    // integers in place of decimals
    let scale = if other.decimals == 0 && !other.maximise { own.decimals } else { 0 };
    let compared = (0..COMPARED).into_par_iter().map(|index| {
        let mut rng = Rng::new(index);
        let mut assignment: Vec<u32> =
            network.domains().iter().map(|&domain| rng.below(u64::from(domain)) as u32).collect();
        if index % 2 == 1 {
            repair(network, &mut assignment);
        }
        let [one, two] = [network, again].map(|network| {
            let evaluation = check::evaluate(network, &assignment);
            (evaluation.cost, evaluation.value(network, &assignment))
        });
        let sign = |maximise: bool| if maximise { -1.0 } else { 1.0 };
        let equal = match (one, two) {
            _ if scale > 0 || own.decimals == other.decimals && own.rounded + other.rounded == 0 => one.0 == two.0,
            ((FORBIDDEN.., None), (FORBIDDEN.., None)) => true,
            ((_, Some(a)), (_, Some(b))) => {
                let (a, b) = (a.as_f64() * sign(own.maximise), b.as_f64() * sign(other.maximise));
                let slack = network.units().precision_slack(None) + again.units().precision_slack(None);
                (a - b).abs() <= slack + a.abs().max(b.abs()) * (f64::EPSILON * 64.0)
            }
            _ => false,
        };
        let shown = |(cost, value): (Cost, Option<fangs::model::Number>)| {
            value.map_or_else(
                || if cost >= FORBIDDEN { "forbidden".into() } else { cost.to_string() },
                |v| v.to_string(),
            )
        };
        if equal { Ok(()) } else { Err(format!("an assignment had {} and now has {}", shown(one), shown(two))) }
    });
    compared.collect::<Result<(), String>>().map(|()| scale)
}

/// Changes a variable of each violated function, where that helps it.
fn repair(network: &Network, assignment: &mut [u32]) {
    let domains = network.domains();
    for function in network.all_functions() {
        if check::function_cost(function, domains, assignment) < FORBIDDEN {
            continue;
        }
        // a combination that the function allows, by one variable
        'function: for &v in function.scope() {
            let before = assignment[v as usize];
            for value in 0..domains[v as usize] {
                assignment[v as usize] = value;
                if check::function_cost(function, domains, assignment) < FORBIDDEN {
                    break 'function;
                }
            }
            assignment[v as usize] = before;
        }
    }
}
