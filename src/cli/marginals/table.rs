//! The files of `fangs marginals`: a table of sums and posteriors, and a picture of the posteriors.

use super::report::Report;
use crate::cli::output::{Rows, as_usage};
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_report::plot::{Bar, Distribution, MOST_BARS, PictureFile, bars_svg};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A row of the table: a value of a variable, or a sum without posteriors.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TableRow {
    /// Line of the case in the file of `--cases`, from 1.
    pub case: Option<u64>,
    pub status: &'static str,
    pub ln_z: Option<f64>,
    pub log10_z: Option<f64>,
    /// Least and largest possible logarithm of the sum.
    pub ln_z_lower: Option<f64>,
    pub ln_z_upper: Option<f64>,
    pub variable: Option<String>,
    pub value: Option<String>,
    /// The posterior of the value; `None` if it is only bounded, and for values of marginal MAP.
    pub probability: Option<f64>,
    /// Least and largest possible posterior.
    pub lower: Option<f64>,
    pub upper: Option<f64>,
}

/// The files that a run writes beside its report.
#[derive(Default)]
pub struct Files {
    table: Option<Rows>,
    picture: Option<(PictureFile, String)>,
}

impl Files {
    /// Opens the files that are wanted; `title` is that of the picture.
    pub fn create(table: Option<&Path>, picture: Option<&Path>, title: String) -> Result<Files, Error> {
        let table = table.map(|path| Rows::create(Some(PathBuf::from(path)))).transpose()?;
        let picture = picture.map(|path| as_usage(PictureFile::new(path))).transpose()?;
        Ok(Files { table, picture: picture.map(|picture| (picture, title)) })
    }

    /// Refuses a picture of more bars than it shows, before anything is computed.
    pub fn refuse(picture: Option<&Path>, domains: impl Iterator<Item = u32>) -> Result<(), Error> {
        let bars: u64 = domains.map(u64::from).sum();
        match picture {
            Some(_) if bars > MOST_BARS as u64 => Err(Error::Usage(format!(
                "--plot: the variables have {bars} values, a picture shows at most {MOST_BARS}: choose by --variables"
            ))),
            _ => Ok(()),
        }
    }

    /// Adds the rows of a report to the table.
    pub fn push(&mut self, report: &Report<'_>, case: Option<u64>) -> Result<(), Error> {
        let Some(table) = &mut self.table else { return Ok(()) };
        let sum = TableRow { case, ..report.sum_row() };
        let mut rows = report.value_rows();
        if rows.is_empty() {
            rows.push(TableRow::default());
        }
        rows.into_iter().try_for_each(|row| {
            let TableRow { variable, value, probability, lower, upper, .. } = row;
            table.push(&TableRow { variable, value, probability, lower, upper, ..sum.clone() })
        })
    }

    /// Draws the posteriors of a report, and completes the files.
    pub fn finish(self, report: Option<&Report<'_>>, stop: &Stop) -> Result<(), Error> {
        self.table.map_or(Ok(()), |table| table.finish(stop))?;
        let (Some((mut picture, title)), Some(report)) = (self.picture, report) else { return Ok(()) };
        let rows = report.value_rows();
        if rows.is_empty() {
            return Err(Error::Usage("--plot: there are no posteriors to draw".into()));
        }
        picture.save_svg(bars_svg(&distributions(rows), &title)?, stop)
    }
}

/// Groups rows by variable.
fn distributions(rows: Vec<TableRow>) -> Vec<Distribution> {
    let mut groups: Vec<Distribution> = Vec::new();
    for TableRow { variable, value, probability, lower, upper, .. } in rows {
        let (name, value) = (variable.unwrap_or_default(), value.unwrap_or_default());
        let [lower, upper] = match probability {
            Some(known) => [known; 2],
            None => [lower, upper].map(Option::unwrap_or_default),
        };
        let bar = Bar { name: value, lower, upper };
        match groups.last_mut().filter(|last| last.name == name) {
            Some(last) => last.bars.push(bar),
            None => groups.push(Distribution { name, bars: vec![bar] }),
        }
    }
    groups
}
