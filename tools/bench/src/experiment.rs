//! The parts that all tables share: command-line options, the device, rows.

use crate::device::{Choice, Opened};
use crate::elimination::Gpu;
use crate::error::Error;
use crate::memory;
use clap::Args;
use fangs_base::files::Identity;
use fangs_base::threads;
use serde::Serialize;
use serde_json::json;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options of every table.
#[derive(Args, Debug)]
pub struct ExperimentFlags {
    /// Where to run besides the CPU: auto (a CUDA device if one works), cpu, cuda or cuda:I
    #[arg(long, value_name = "DEVICE", default_value = "auto", value_parser = Choice::of_one)]
    device: Choice,
    /// CPU threads [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    threads: Option<u16>,
    /// Leave out the CPU if there is a device
    #[arg(long)]
    pub no_cpu: bool,
    /// Bytes of memory for tables [default: half of free memory]
    #[arg(long, value_name = "BYTES")]
    bound_memory: Option<u64>,
    /// Write the rows of the table to a file
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Print exactly one JSON object on standard output instead of text
    #[arg(long)]
    json: bool,
}

/// The rows of a table, printed and written as soon as they are measured.
pub struct Experiment<R> {
    opened: Opened,
    csv: Option<csv::Writer<File>>,
    json: bool,
    rows: Vec<R>,
}

impl ExperimentFlags {
    /// Returns the maximum bytes of tables.
    pub fn memory(&self) -> u64 {
        self.bound_memory.unwrap_or_else(|| memory::available() / 2)
    }

    /// Refuses to write rows over one of the files in `read`.
    ///
    /// # Errors
    /// [`Error::Usage`] if the output is one of these files.
    pub fn spare(&self, read: &[PathBuf]) -> Result<(), Error> {
        let Some(csv) = &self.csv else { return Ok(()) };
        let own = Identity::of(csv);
        match read.iter().find(|path| own.is_some() && Identity::of(path) == own) {
            Some(path) => Err(Error::Usage(format!("--csv {}: the same file as {}", csv.display(), path.display()))),
            None => Ok(()),
        }
    }

    /// Opens the file and the device, and prints the head of the table.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device does not exist or the file cannot be created.
    pub fn begin<R: Serialize>(self, head: &str) -> Result<(Experiment<R>, Option<Arc<Gpu>>), Error> {
        let usage = |error: &dyn std::fmt::Display| Error::Usage(error.to_string());
        threads::share(self.threads.map(usize::from)).map_err(|error| usage(&format!("--threads: {error}")))?;
        let create = |path: &Path| csv::Writer::from_path(path).map_err(|error| usage(&error));
        let csv = self.csv.as_deref().map(create).transpose()?;
        let opened = self.device.open().map_err(|error| usage(&error))?;
        if !self.json {
            println!("{opened}; CPU with {} threads; {head}", rayon::current_num_threads());
        }
        let gpu = opened.cuda.clone().map(Gpu::new);
        Ok((Experiment { opened, csv, json: self.json, rows: Vec::new() }, gpu))
    }
}

impl<R: Serialize> Experiment<R> {
    /// Measures one row and one line of the table for each setting. See [`Experiment::run_many`].
    ///
    /// # Errors
    /// Errors of `measure`; an error if a file cannot be written.
    pub fn run<S>(
        self,
        settings: impl IntoIterator<Item = S>,
        mut measure: impl FnMut(S) -> Result<(R, String), Error>,
    ) -> Result<(), Error> {
        self.run_many(settings, |setting| measure(setting).map(Some))
    }

    /// Measures the rows and lines of the table for each setting, prints and writes them at once, and ends the output.
    ///
    /// # Errors
    /// Errors of `measure`; an error if a file cannot be written.
    pub fn run_many<S, M: IntoIterator<Item = (R, String)>>(
        mut self,
        settings: impl IntoIterator<Item = S>,
        mut measure: impl FnMut(S) -> Result<M, Error>,
    ) -> Result<(), Error> {
        for setting in settings {
            for (row, line) in measure(setting)? {
                self.add(row, line)?;
            }
        }
        if self.json {
            let (device, threads) = (self.opened.name(), rayon::current_num_threads());
            println!("{}", json!({"device": device, "threads": threads, "rows": self.rows}));
        }
        Ok(())
    }

    fn add(&mut self, row: R, line: String) -> Result<(), Error> {
        if let Some(csv) = &mut self.csv {
            let written = csv.serialize(&row).and_then(|()| Ok(csv.flush()?));
            written.map_err(|error| Error::Internal(format!("CSV: {error}")))?;
        }
        if !self.json {
            println!("{line}");
        }
        self.rows.push(row);
        Ok(())
    }
}
