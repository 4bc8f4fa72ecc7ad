//! Checkpoints, exchanges, and the checkpoint that a run resumes from.

use super::checkpoint::CheckpointFile;
use super::exchange::ExchangeFolder;
use crate::error::Error;
use crate::model::Network;
use crate::search::{Checkpoint, Keeper, Keeping};
use crate::stop::Stop;
use crate::terminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The keepers of a run before its network is read, so that unusable files are reported early.
#[derive(Debug, Default)]
pub struct Keepers {
    all: Vec<Arc<dyn Keeper>>,
    checkpoint: Option<Arc<CheckpointFile>>,
    exchange: Option<PathBuf>,
    resumed: Option<(PathBuf, Checkpoint)>,
}

impl Keepers {
    /// Adds another keeper of checkpoints.
    pub fn keep(&mut self, keeper: Arc<dyn Keeper>) {
        self.all.push(keeper);
    }

    /// Writes checkpoints to a file.
    ///
    /// # Errors
    /// Fails if the path cannot be written.
    pub fn write(&mut self, path: &Path, every: Duration) -> Result<(), Error> {
        let file = Arc::new(CheckpointFile::new(path, every)?);
        self.checkpoint = Some(file.clone());
        self.keep(file);
        Ok(())
    }

    /// Returns the file of checkpoints, if there is one.
    pub fn checkpoint(&self) -> Option<Arc<CheckpointFile>> {
        self.checkpoint.clone()
    }

    /// Shares elites and bounds with other processes through a folder.
    pub fn exchange(&mut self, folder: &Path) {
        self.exchange = Some(folder.into());
    }

    /// Resumes from a checkpoint.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is no checkpoint, or was changed or cut short.
    pub fn resume(&mut self, path: &Path, stop: &Stop) -> Result<(), Error> {
        self.resumed = Some((path.into(), Checkpoint::read(path, stop)?));
        Ok(())
    }

    /// Returns the checkpoint that the run resumes from, if there is one.
    pub fn resumed(&self) -> Option<&Checkpoint> {
        self.resumed.as_ref().map(|(_, checkpoint)| checkpoint)
    }

    /// Binds the keepers to a network; computes its digest, which takes time if the network is large.
    ///
    /// # Errors
    /// Fails if the checkpoint does not fit the network, or the folder cannot be used.
    pub fn of(self, network: &Network) -> Result<Keeping, Error> {
        if self.all.is_empty() && self.exchange.is_none() && self.resumed.is_none() {
            return Ok(Keeping::default());
        }
        let mut keeping = self.all.into_iter().fold(Keeping::of(network), Keeping::keep);
        if let Some(folder) = &self.exchange {
            let exchange = ExchangeFolder::new(folder, network, keeping.network())?;
            keeping = keeping.keep(Arc::new(exchange));
        }
        let Some((path, checkpoint)) = self.resumed else { return Ok(keeping) };
        let named = |error| Error::Usage(format!("{}: {error}", terminal::path(&path)));
        keeping.resume(checkpoint, network).map_err(named)
    }
}
