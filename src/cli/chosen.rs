//! The `--heuristic` option: a built-in heuristic, or one in a file.

use super::output::Files;
use fangs_base::Error;
use fangs_base::stop::Stop;
use fangs_heuristics::language::Heuristic;
use fangs_heuristics::{self as heuristics, FromCuda, FromFile, ValueHeuristic};
use fangs_model::model::Network;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A heuristic that `--heuristic` names.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// A built-in heuristic.
    Known(Arc<dyn ValueHeuristic>),
    /// A heuristic in a file.
    File(PathBuf),
}

impl Chosen {
    /// Returns the heuristic, prepared for a network.
    pub fn of(&self, network: &Network, stop: &Stop) -> Result<Arc<dyn ValueHeuristic>, Error> {
        match self {
            Chosen::Known(heuristic) => Ok(heuristic.clone()),
            Chosen::File(path) if is_cuda(path) => Ok(Arc::new(FromCuda::read(path, stop)?)),
            Chosen::File(path) => Ok(Arc::new(FromFile::read(path, network, stop)?)),
        }
    }

    /// Returns the name of the heuristic, or the path of its file.
    pub fn name(&self) -> String {
        match self {
            Chosen::Known(heuristic) => heuristic.name().into(),
            Chosen::File(path) => path.display().to_string(),
        }
    }
}

/// Adds the files of heuristics and of the tables that they name.
pub fn reads<'a>(mut files: Files, chosen: impl Iterator<Item = &'a Chosen>) -> Result<Files, Error> {
    for chosen in chosen {
        if let Chosen::File(path) = chosen {
            files = files.reads("--heuristic", Some(path))?;
            for table in Heuristic::tables_of(path) {
                files = files.reads("a table of --heuristic", Some(&table))?;
            }
        }
    }
    Ok(files)
}

/// Returns whether a file is a heuristic in CUDA, by its extension.
pub fn is_cuda(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "cuh")
}

/// Parses the argument of `--heuristic`.
pub fn parse(text: &str) -> Result<Chosen, String> {
    match heuristics::all().iter().find(|heuristic| heuristic.name().eq_ignore_ascii_case(text)).cloned() {
        Some(heuristic) => Ok(Chosen::Known(heuristic)),
        None if text.contains(['.', '/']) => Ok(Chosen::File(text.into())),
        None => {
            let (names, hint) = heuristics::meant(text);
            let hint = hint.map_or_else(String::new, |hint| format!("; {hint}"));
            Err(format!("expected a file such as my.toml or my.cuh, or one of {names}{hint}"))
        }
    }
}
