//! What the experiments of papers share on the command line: flags, the device, rows.

use super::output::{self, Rows};
use super::{Exit, help, values};
use clap::Args;
use fangs::device::{Choice, Opened};
use fangs::elimination::Gpu;
use fangs::stop::Stop;
use fangs::{Error, memory};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Args, Debug)]
pub struct ExperimentFlags {
    /// Where to run besides the CPU: auto (a CUDA device where one works), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one,
        help_heading = help::BOUNDS)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = values::threads, help_heading = help::BOUNDS)]
    pub threads: Option<usize>,
    /// Leave out the CPU where there is a device
    #[arg(long, help_heading = help::BOUNDS)]
    pub no_cpu: bool,
    /// Memory for tables, such as 512M or 4G [default: half of free memory]
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = help::BOUNDS)]
    bound_memory: Option<u64>,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE", help_heading = help::OUTPUT)]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long, help_heading = help::OUTPUT)]
    json: bool,
}

/// The rows of an experiment, printed and written as they come.
pub struct Experiment<R> {
    opened: Opened,
    csv: Rows,
    json: bool,
    rows: Vec<R>,
}

impl ExperimentFlags {
    /// Bytes that tables may take.
    pub fn memory(&self) -> u64 {
        self.bound_memory.unwrap_or_else(|| memory::available() / 2)
    }

    /// The file of rows.
    pub fn csv(&self) -> Option<&Path> {
        self.csv.as_deref()
    }

    /// Opens file and device, and prints the head of the table.
    pub fn begin<R: Serialize>(self, head: &str) -> Result<(Experiment<R>, Option<Arc<Gpu>>), Error> {
        let csv = Rows::create(self.csv)?;
        let opened = self.device.open().map_err(|error| Error::Usage(error.to_string()))?;
        if !self.json {
            let threads = rayon::current_num_threads();
            output::print(&format_args!("{opened}; CPU with {threads} threads; {head}\n"))?;
        }
        let gpu = opened.cuda.clone().map(Gpu::new);
        Ok((Experiment { opened, csv, json: self.json, rows: Vec::new() }, gpu))
    }
}

impl<R: Serialize> Experiment<R> {
    /// Measures each row and its line of the table, until the run is stopped, and ends what was printed and written.
    pub fn run<S>(
        mut self,
        settings: impl IntoIterator<Item = S>,
        mut measure: impl FnMut(S) -> Result<(R, String), Error>,
    ) -> Result<Exit, Error> {
        for setting in settings {
            let (row, line) = match measure(setting) {
                Err(Error::Stopped) => break,
                measured => measured?,
            };
            self.csv.push(&row)?;
            if !self.json {
                output::print(&format_args!("{line}\n"))?;
            }
            self.rows.push(row);
        }
        if self.json {
            let (device, threads) = (self.opened.name(), rayon::current_num_threads());
            output::print_json(&json!({"device": device, "threads": threads, "rows": self.rows}))?;
        }
        self.csv.finish(&Stop::new()).map(|()| Exit::Done)
    }
}
