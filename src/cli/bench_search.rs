//! `fangs bench search`: measures the sweeps of the search.

use super::output::{self, Files, Rows};
use super::{Exit, chosen, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_base::terminal;
use fangs_device::{Choice, Cuda, DeviceError};
use fangs_formats::{self as formats, Source};
use fangs_model::model::Network;
use fangs_report::{Console, Verbosity};
use fangs_search::measure::{Bench, Core, Place, Speed};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct SearchFlags {
    /// Networks to sweep, after the exact reductions
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Repetitions; their median is reported
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = values::positive::<u16>)]
    repeats: u16,
    /// States processed at a time on the device; several numbers separated by commas [default: enough to fill it]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    states: Vec<usize>,
    /// Sweep by this heuristic instead of annealing; give several to compare them with the first [default: none]
    #[arg(long, value_name = "NAME|FILE", value_parser = chosen::parse)]
    heuristic: Vec<chosen::Chosen>,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// A row of the table: one measurement of a network.
#[derive(Serialize)]
struct Row {
    instance: String,
    heuristic: String,
    variables: usize,
    degree: f64,
    domain: u32,
    place: String,
    states: usize,
    sweeps: u32,
    trees: bool,
    variation_ms: f64,
    replacement_ms: f64,
    visits_s: f64,
    ratings_s: f64,
    moves_s: f64,
    /// Evaluations per second, relative to the first heuristic on the same device.
    share: f64,
}

/// The name of a heuristic and its measured speed.
struct Measured {
    name: String,
    speed: Result<Speed, DeviceError>,
}

/// The first speed measured at a place with a number of states, which the other speeds there are compared with.
struct Baseline {
    place: String,
    states: usize,
    ratings: f64,
}

impl Baseline {
    fn of(speed: &Speed) -> Baseline {
        Baseline { place: speed.place.clone(), states: speed.states, ratings: speed.ratings }
    }

    fn compares(&self, speed: &Speed) -> bool {
        (&self.place, self.states) == (&speed.place, speed.states)
    }
}

impl Row {
    fn new(file: &Path, core: &Core, heuristic: String, speed: Speed, baseline: &Baseline) -> Row {
        Row {
            heuristic,
            share: speed.ratings / baseline.ratings,
            instance: file.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            variables: core.variables,
            degree: core.degree,
            domain: core.domain,
            place: speed.place,
            states: speed.states,
            sweeps: speed.sweeps,
            trees: speed.trees,
            variation_ms: speed.variation_ms,
            replacement_ms: speed.replacement_ms,
            visits_s: speed.visits,
            ratings_s: speed.ratings,
            moves_s: speed.moves,
        }
    }
}

/// Measures the sweeps of each network and prints a table or one JSON object.
pub fn run(flags: SearchFlags) -> Result<Exit, Error> {
    let reads = |files: Files, path: &PathBuf| files.reads("the network", Some(path));
    let files = chosen::reads(flags.files.iter().try_fold(Files::default(), reads)?, flags.heuristic.iter())?;
    let _ = files.writes("--csv", flags.csv.as_deref())?;
    let mut csv = Rows::create(flags.csv.clone())?;
    let opened = Choice::Auto.open().map_err(|error| Error::Usage(error.to_string()))?;
    if !flags.json {
        output::print(&format_args!("{opened}; CPU with {} threads\n", rayon::current_num_threads()))?;
        output::print(&format_args!(
            "instance                heuristic           variables  degree  domain  place   states  trees  \
             variation ms  replacement ms  G visits/s  G ratings/s  share\n"
        ))?;
    }
    let mut rows = Vec::new();
    for file in &flags.files {
        let network = formats::read(&Source::File(file.clone()), None, &Default::default(), &Stop::new())?;
        Console::new(Verbosity::Quiet).warn_of(network.warnings());
        let bench = Bench::new(&network)?;
        let core = bench.core();
        if core.variables == 0 {
            let nothing = "the reductions solve the network: there is nothing to measure";
            return Err(Error::Usage(format!("{}: {nothing}", terminal::path(file))));
        }
        let mut first: Option<Baseline> = None;
        for Measured { name, speed } in measure(&bench, &network, &flags, opened.cuda.as_ref())? {
            let speed = speed.map_err(|error| Error::Usage(format!("{}: {error}", terminal::path(file))))?;
            let baseline = first.take().filter(|first| first.compares(&speed));
            let baseline = baseline.unwrap_or_else(|| Baseline::of(&speed));
            let row = Row::new(file, &core, name, speed, &baseline);
            first = Some(baseline);
            if !flags.json {
                output::print(&line(&row))?;
            }
            csv.push(&row)?;
            rows.push(row);
        }
    }
    if flags.json {
        output::print_json(&json!({ "device": opened.to_string(), "rows": rows }))?;
    }
    csv.finish(&Stop::new())?;
    Ok(Exit::Done)
}

/// Measures the heuristics of the flags, or annealing without and with tree moves, on the device and on the CPU.
fn measure(
    bench: &Bench,
    network: &Network,
    flags: &SearchFlags,
    cuda: Option<&Arc<Cuda>>,
) -> Result<Vec<Measured>, Error> {
    let repeats = usize::from(flags.repeats);
    let mut places: Vec<(Place, Option<usize>)> = Vec::new();
    if let Some(cuda) = cuda {
        let place = Place::Device(cuda.clone());
        match &flags.states[..] {
            [] => places.push((place, None)),
            all => places.extend(all.iter().map(|&states| (place.clone(), Some(states)))),
        }
    }
    places.push((Place::Cpu, None));
    let mut measured: Vec<Measured> = Vec::new();
    for (place, states) in places {
        for chosen in &flags.heuristic {
            let heuristic = chosen.of(network, &Stop::new())?;
            if heuristic.is_for_devices() && matches!(place, Place::Cpu) {
                continue;
            }
            let speed = bench.passes(&place, &*heuristic, states, repeats).transpose();
            measured.extend(speed.map(|speed| Measured { name: chosen.name(), speed }));
        }
        if flags.heuristic.is_empty() {
            let sweeps = [false, true].map(|trees| bench.run(&place, states, trees, repeats));
            measured.extend(sweeps.map(|speed| Measured { name: "anneal".into(), speed }));
        }
    }
    Ok(measured)
}

fn line(row: &Row) -> String {
    // the file of a heuristic is shown without its folder
    let heuristic = row.heuristic.rsplit('/').next().unwrap_or_default();
    format!(
        "{:22.22}  {:18.18}  {:9}  {:6.1}  {:6}  {:6}  {:6}  {:5}  {:12.3}  {:14.3}  {:10.3}  {:11.2}  {:5.2}\n",
        row.instance,
        heuristic,
        row.variables,
        row.degree,
        row.domain,
        row.place,
        row.states,
        row.trees,
        row.variation_ms,
        row.replacement_ms,
        row.visits_s / 1e9,
        row.ratings_s / 1e9,
        row.share,
    )
}
