//! `fangs plot`: draws runs from their CSV files.

use super::Exit;
use super::output::{self, Files};
use clap::Args;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_report::page::runs_page;
use fangs_report::plot::{Chart, Curve, PictureFile, TimeScale};
use fangs_report::{Recorded, ReplacedFile, read_run};
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct PlotFlags {
    /// Convergence rows of runs, as `solve --csv` and `bound --csv` write them
    #[arg(required = true, value_name = "CSV")]
    runs: Vec<PathBuf>,
    /// Picture to write, .svg, .png or .pdf, or a page, .html: a panel for each instance, and medians over its runs
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Title of the chart [default: the instance, unless the legend names it]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Draw a logarithmic time axis [default: if most changes come early]
    #[arg(long, conflicts_with = "linear_time")]
    log_time: bool,
    /// Draw a linear time axis
    #[arg(long)]
    linear_time: bool,
}

/// Draws the curves of some runs.
pub fn run(flags: PlotFlags) -> Result<Exit, Error> {
    let reads = |files: Files, path: &PathBuf| files.reads("the CSV", Some(path));
    let _ = flags.runs.iter().try_fold(Files::default(), reads)?.writes("--output", Some(&flags.output))?;
    let stop = Stop::new();
    let runs = flags.runs.iter().map(|path| read_run(path, &stop)).collect::<Result<Vec<_>, _>>()?;
    let labels = labels(&flags.runs, &runs);
    let time = match (flags.log_time, flags.linear_time) {
        (true, _) => TimeScale::Log,
        (_, true) => TimeScale::Linear,
        _ => TimeScale::Auto,
    };
    if flags.output.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html")) {
        let mut file = output::as_usage(ReplacedFile::new(&flags.output))?;
        let html = runs_page(&flags.title.unwrap_or_default(), labels.into_iter().zip(runs).collect(), time);
        file.write_to_end(html.into_bytes(), &stop)?;
        return Ok(Exit::Done);
    }
    let mut picture = output::as_usage(PictureFile::new(&flags.output))?;
    let title = flags.title.unwrap_or_else(|| title(&labels, &runs));
    let curves = runs.into_iter().zip(labels).map(|(run, label)| Curve { label, ..run.curve }).collect();
    picture.save(&Chart { title, curves, time, ..Chart::default() }, &stop)?;
    Ok(Exit::Done)
}

/// Returns the names of the runs in the legend: those of their files or, if these are equal, another difference.
fn labels(paths: &[PathBuf], runs: &[Recorded]) -> Vec<String> {
    let name = |place: usize| stem(&paths[place]);
    let instance = |place: usize| instance(&runs[place]).unwrap_or_else(|| name(place));
    let seed = |place: usize| runs[place].seed.as_ref().map_or_else(|| name(place), |seed| format!("seed {seed}"));
    let both = |place: usize| format!("{}, {}", instance(place), seed(place));
    let path = |place: usize| paths[place].display().to_string();
    let ways: [&dyn Fn(usize) -> String; 5] = [&name, &instance, &seed, &both, &path];
    let differ =
        |labels: &Vec<String>| labels.iter().enumerate().all(|(place, label)| !labels[..place].contains(label));
    let all = |way: &dyn Fn(usize) -> String| (0..runs.len()).map(way).collect();
    ways.into_iter().map(all).find(differ).unwrap_or_else(|| all(&path))
}

/// Returns the instance if all runs have the same, unless each label contains it.
fn title(labels: &[String], runs: &[Recorded]) -> String {
    let one = instance(&runs[0]).filter(|first| runs.iter().all(|run| instance(run).as_ref() == Some(first)));
    let told = |instance: &String| labels.len() > 1 && labels.iter().all(|label| label.contains(instance.as_str()));
    match labels {
        [label] => one.unwrap_or_else(|| label.clone()),
        _ => one.filter(|one| !told(one)).unwrap_or_default(),
    }
}

/// Returns the name of a run's network, without folder and extension.
fn instance(run: &Recorded) -> Option<String> {
    run.instance.as_ref().map(|instance| stem(Path::new(instance)))
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
