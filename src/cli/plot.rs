//! `fangs plot`.

use super::{Exit, output};
use clap::Args;
use fangs::Error;
use fangs::record::plot::{Chart, PictureFile, TimeScale};
use fangs::record::read_curve;
use std::path::{Path, PathBuf};

#[derive(Args, Debug)]
pub struct PlotFlags {
    /// Convergence CSVs, one a run
    #[arg(required = true, value_name = "CSV")]
    runs: Vec<PathBuf>,
    /// The picture: .svg or .png
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Title of the chart
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Logarithmic time axis [default: where most changes come early]
    #[arg(long, conflicts_with = "linear_time")]
    log_time: bool,
    /// Linear time axis
    #[arg(long)]
    linear_time: bool,
}

/// Draws the curves of some runs.
pub fn run(flags: PlotFlags) -> Result<Exit, Error> {
    let inputs: Vec<Option<&Path>> = flags.runs.iter().map(|path| Some(path.as_path())).collect();
    output::all_different(&inputs, &[Some(&flags.output)])?;
    let curves = flags.runs.iter().map(|path| read_curve(path, label(path))).collect::<Result<Vec<_>, _>>()?;
    let picture = output::as_usage(PictureFile::new(&flags.output))?;
    let title = flags.title.unwrap_or_else(|| match &curves[..] {
        [curve] => curve.label.clone(),
        _ => "Convergence".into(),
    });
    let time = match (flags.log_time, flags.linear_time) {
        (true, _) => TimeScale::Log,
        (_, true) => TimeScale::Linear,
        _ => TimeScale::Auto,
    };
    picture.save(&Chart { title, curves, time })?;
    Ok(Exit::Done)
}

fn label(path: &Path) -> String {
    path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
