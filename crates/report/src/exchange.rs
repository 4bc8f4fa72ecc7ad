//! Exchange of elites and bounds between runs through a folder. Each process has one file there, replaced as a whole,
//! and reads those of the others. No process waits for another one; processes may end or join at any time.

use super::file::ReplacedFile;
use crate::error::Error;
use crate::files;
use crate::model::Network;
use crate::search::{Checkpoint, Extent, Keeper};
use crate::stop::Stop;
use crate::{terminal, threads};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Extension of the files of an exchange.
const ENDING: &str = "fangs";
/// Prefix of temporary files.
const TEMPORARY: &str = ".fangs-";
/// Interval between two reads of the folder, and between two files of a process.
const EVERY: Duration = Duration::from_secs(1);
/// Number of elites that a process shares: a few different ones, for crossover.
const ELITES: usize = 8;
/// Divisor of the interval: creating a file may take a hundredth of it.
const SHARE: u32 = 100;
/// Largest number of bytes per value of an assignment in a file, and of everything else in it.
const VALUE: u64 = 11;
const BESIDES: u64 = 1 << 20;
/// Age after which a temporary file counts as left behind by a process that died.
const LEFT: Duration = Duration::from_secs(3600);

/// A folder through which processes exchange elites and bounds.
#[derive(Debug)]
pub struct ExchangeFolder {
    shared: Arc<Shared>,
    last: Mutex<Instant>,
}

#[derive(Debug)]
struct Shared {
    folder: PathBuf,
    network: Arc<str>,
    /// Largest number of bytes of a file of another process.
    most: u64,
    name: OsString,
    /// The checkpoint that is to be written next.
    next: Mutex<Option<Checkpoint>>,
    own: Mutex<Own>,
    seen: Mutex<Seen>,
    news: Mutex<Vec<Checkpoint>>,
    troubles: Mutex<Vec<String>>,
}

/// The file of this process, and its content.
#[derive(Debug)]
struct Own {
    file: ReplacedFile,
    written: Option<Checkpoint>,
    has_failed: bool,
}

impl ExchangeFolder {
    /// Creates the folder if there is none, and starts to read it; `digest` is that of the network.
    ///
    /// # Errors
    /// Fails if the folder cannot be created or written to, or no thread can be started for it.
    pub fn new(folder: &Path, network: &Network, digest: &Arc<str>) -> Result<Self, Error> {
        let shared = Arc::new(Shared::new(folder, network, digest)?);
        let weak = Arc::downgrade(&shared);
        let look = move || {
            while let Some(shared) = weak.upgrade() {
                shared.write();
                shared.read();
                drop(shared);
                std::thread::sleep(EVERY);
            }
        };
        let _ = threads::start("exchange", look).map_err(|source| cannot(folder, source))?;
        let last = Instant::now().checked_sub(EVERY).unwrap_or_else(Instant::now);
        Ok(ExchangeFolder { shared, last: Mutex::new(last) })
    }
}

impl Keeper for ExchangeFolder {
    fn extent(&self) -> Extent {
        Extent { elites: ELITES, drivers: false, time: EVERY / SHARE }
    }

    fn is_due(&self) -> bool {
        lock(&self.last).elapsed() >= EVERY
    }

    fn keep(&self, checkpoint: Checkpoint, is_end: bool) -> Result<(), String> {
        *lock(&self.last) = Instant::now();
        *lock(&self.shared.next) = Some(checkpoint);
        if is_end {
            self.shared.write();
        }
        Ok(())
    }

    fn news(&self) -> Vec<Checkpoint> {
        std::mem::take(&mut lock(&self.shared.news))
    }

    fn last_news(&self) -> Vec<Checkpoint> {
        self.shared.write();
        self.shared.read();
        self.news()
    }

    fn troubles(&self) -> Vec<String> {
        std::mem::take(&mut lock(&self.shared.troubles))
    }
}

/// The known files of the folder.
#[derive(Debug, Default)]
struct Seen {
    /// Modification time and length of each file.
    files: FxHashMap<OsString, (Option<SystemTime>, u64)>,
    /// Files that were refused, so that each is reported once.
    refused: FxHashSet<OsString>,
}

impl Shared {
    fn new(folder: &Path, network: &Network, digest: &Arc<str>) -> Result<Self, Error> {
        std::fs::create_dir_all(folder).map_err(|source| cannot(folder, source))?;
        let random = RandomState::new().build_hasher().finish();
        let name = format!("{}-{random:016x}.{ENDING}", std::process::id());
        let file = ReplacedFile::new(&folder.join(&name))?.synced();
        let own = Own { file, written: None, has_failed: false };
        Ok(Shared {
            folder: folder.into(),
            network: digest.clone(),
            // the elites and the solution have a value for every variable
            most: BESIDES + network.domains().len() as u64 * VALUE * (ELITES as u64 + 1),
            name: name.into(),
            next: Mutex::default(),
            own: Mutex::new(own),
            seen: Mutex::default(),
            news: Mutex::default(),
            troubles: Mutex::default(),
        })
    }

    /// Writes the next checkpoint, if it differs from the written one.
    fn write(&self) {
        let mut own = lock(&self.own);
        let Some(next) = lock(&self.next).take() else { return };
        if own.written.as_ref().is_some_and(|written| next.is_no_news_after(written)) {
            return;
        }
        let text = next.to_text().unwrap_or_default();
        let result = own.file.write(text.into_bytes());
        match result {
            Ok(()) => (own.written, own.has_failed) = (Some(next), false),
            Err(error) => {
                if !std::mem::replace(&mut own.has_failed, true) {
                    let path = terminal::path(&self.folder);
                    lock(&self.troubles).push(format!("{path}: what is known here cannot be written: {error}"));
                }
                let _ = lock(&self.next).get_or_insert(next);
            }
        }
    }

    /// Reads the new files of other processes.
    fn read(&self) {
        let mut seen = lock(&self.seen);
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let now = std::fs::metadata(self.folder.join(&self.name)).and_then(|metadata| metadata.modified()).ok();
        for entry in entries.flatten().filter(|entry| entry.file_name() != self.name) {
            let (name, path) = (entry.file_name(), entry.path());
            // a file that disappears meanwhile is ignored
            let Ok(metadata) = entry.metadata() else { continue };
            let written = metadata.modified().ok();
            if name.to_string_lossy().starts_with(TEMPORARY) {
                // compared by the clock of the folder's machine
                let age = now.zip(written).and_then(|(now, written)| now.duration_since(written).ok());
                drop(age.filter(|age| *age > LEFT).map(|_| std::fs::remove_file(&path)));
                continue;
            }
            let state = (written, metadata.len());
            if seen.files.insert(name.clone(), state) == Some(state) {
                continue;
            }
            match self.parsed(&path) {
                Ok(checkpoint) => lock(&self.news).extend(checkpoint),
                Err(what) if seen.refused.insert(name) => {
                    lock(&self.troubles).push(format!("{}: not taken: {what}", terminal::path(&path)));
                }
                Err(_) => {}
            }
        }
    }

    /// Returns the content of a file; `None` if the file has disappeared.
    fn parsed(&self, path: &Path) -> Result<Option<Checkpoint>, String> {
        if path.extension().is_none_or(|ending| ending != ENDING) {
            return Err(format!("files of an exchange end in .{ENDING}"));
        }
        let text = match files::read_regular_text(path, self.most, &Stop::new()) {
            Ok(text) => text,
            Err(_) if !path.exists() => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let checkpoint = Checkpoint::from_text(&text)?;
        match checkpoint.network == *self.network {
            true => Ok(Some(checkpoint)),
            false => Err(format!("it is of another network: {}", checkpoint.instance)),
        }
    }
}

fn cannot(folder: &Path, source: io::Error) -> Error {
    Error::Io { path: folder.into(), action: "cannot exchange there", source }
}

/// Locks a mutex even if a thread panicked while it held it, because its content is always consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::generate;
    use crate::search::{Keeping, Options, solve};

    type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

    #[test]
    fn what_is_torn_or_foreign_is_told_once_and_the_rest_is_taken() -> Result {
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        let family = |seed| generate("grid", &[("side", "6"), ("p2", "0.2")], seed);
        let (network, other) = (family(1)?, family(2)?);
        let digest = Keeping::of(&network).network().clone();
        let run = |network: &crate::model::Network| -> Result<()> {
            let keeping = Keeping::of(network);
            let exchange = ExchangeFolder::new(folder.path(), network, keeping.network())?;
            let keeping = keeping.keep(Arc::new(exchange));
            let options = Options::default().with(|options| options.keeping = keeping);
            let _ = solve(network, &options, &Stop::new(), &mut |_| ())?;
            Ok(())
        };
        run(&network)?;
        run(&other)?;
        let files = || -> Result<Vec<PathBuf>> {
            Ok(std::fs::read_dir(folder.path())?
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<std::result::Result<_, _>>()?)
        };
        let written = files()?;
        assert_eq!(written.len(), 2, "a file a process: {written:?}");
        let text = std::fs::read_to_string(&written[0])?;
        std::fs::write(at("torn.fangs"), &text[..text.len() - 10])?;
        std::fs::write(at("notes.txt"), "mine")?;
        std::fs::write(at(".fangs-left"), "half")?;
        #[cfg(unix)]
        std::os::unix::fs::symlink("/dev/zero", at("endless.fangs"))?;
        std::fs::File::create(at("vast.fangs"))?.set_len(1 << 34)?;
        let exchange = Shared::new(folder.path(), &network, &digest)?;
        exchange.read();
        let news = std::mem::take(&mut *lock(&exchange.news));
        let own: Vec<&Checkpoint> = news.iter().filter(|news| *news.network == *digest).collect();
        assert!(own.len() == news.len() && !own.is_empty() && own[0].solution.is_some(), "{news:?}");
        let troubles = std::mem::take(&mut *lock(&exchange.troubles));
        assert_eq!(troubles.len(), if cfg!(unix) { 5 } else { 4 }, "{troubles:?}");
        for word in ["another network", "changed or cut short", "notes.txt", "vast.fangs"] {
            assert!(troubles.iter().any(|trouble| trouble.contains(word)), "{word}: {troubles:?}");
        }
        std::fs::write(at("torn.fangs"), "still torn")?;
        exchange.read();
        assert!(lock(&exchange.troubles).is_empty(), "it was told already");
        assert!(at(".fangs-left").exists(), "it may be on its way");
        Ok(())
    }
}
