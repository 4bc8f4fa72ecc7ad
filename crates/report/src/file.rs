//! Files replaced as a whole, growing files, and outputs written in place: devices and pipes. No write waits for space
//! on a disk or for a pipe's reader: unwritten bytes are kept until the next attempt.

use crate::error::Error;
use crate::files::{self, PATIENCE};
use crate::stop::Stop;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long a pipe's reader may accept nothing before an attempt ends, and how long an attempt may take.
const SLOW: Duration = Duration::from_millis(20);
const LONGEST: Duration = Duration::from_millis(200);
/// Number of attempts to write to a pipe after the stop flag is set.
const LAST_TRIES: u32 = 2;

/// Attempts to write until it succeeds or fails; waits for a pipe's reader as long as the stop flag is not set.
///
/// # Errors
/// Returns the error of the last attempt.
pub fn insist(stop: &Stop, mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    let mut left = LAST_TRIES;
    loop {
        match attempt() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                left -= u32::from(stop.is_set());
                if left == 0 {
                    return Err(error);
                }
                std::thread::sleep(PATIENCE);
            }
            result => return result,
        }
    }
}

/// A file whose readers see either the old content or the new one, never a part of it.
///
/// The new content goes to a temporary file in the same folder, which then takes the name and, if there was a file, its
/// mode and owner. An irregular file (a device, a pipe) is written in place instead, and a symbolic link keeps its
/// target.
#[derive(Debug)]
pub struct ReplacedFile {
    path: PathBuf,
    /// The newest content, kept until it is written.
    content: Vec<u8>,
    /// Whether writing of the content has not begun.
    waits: bool,
    /// Whether each content must survive a power failure.
    synced: bool,
    in_place: Option<AppendedFile>,
}

impl ReplacedFile {
    /// Prepares to write `path`; the file is unchanged until the first [`ReplacedFile::write`].
    ///
    /// # Errors
    /// Fails if the folder does not exist or cannot be written to, or if the path is a folder.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let cannot = |source| Error::Io { path: path.into(), action: "cannot write", source };
        let mut file = ReplacedFile {
            path: files::target(path),
            content: Vec::new(),
            waits: false,
            synced: false,
            in_place: None,
        };
        match std::fs::metadata(path) {
            Ok(metadata) if metadata.is_dir() => return Err(cannot(ErrorKind::IsADirectory.into())),
            Ok(metadata) if !metadata.is_file() => {
                file.path = path.into();
                file.in_place = Some(AppendedFile::in_place(path));
            }
            _ => drop(file.temporary(None).map_err(cannot)?),
        }
        Ok(file)
    }

    /// Makes the content survive a power failure at any moment: it is on the disk before the file takes the name, and
    /// the name is on the disk afterwards.
    pub fn synced(self) -> Self {
        ReplacedFile { synced: true, ..self }
    }

    /// Returns the path, with symbolic links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content.
    ///
    /// # Errors
    /// Returns the system's error; the old content then remains, and [`retry`](Self::retry) tries again. A pipe without
    /// a reader gives [`ErrorKind::WouldBlock`].
    pub fn write(&mut self, content: Vec<u8>) -> io::Result<()> {
        self.content = content;
        self.waits = true;
        self.retry()
    }

    /// Writes the content that could not be written before, if there is any.
    ///
    /// # Errors
    /// Returns the errors of [`write`](Self::write).
    pub fn retry(&mut self) -> io::Result<()> {
        match &mut self.in_place {
            Some(file) => {
                if file.lost {
                    // readers of the rewritten file need all of it
                    *file = AppendedFile::in_place(&self.path);
                    self.waits = true;
                }
                file.flush()?;
                if self.waits {
                    self.waits = false;
                    file.write_all(&self.content)?;
                    let length = file.pending.len();
                    let result = file.flush();
                    if result.is_err() && file.pending.len() == length {
                        // nothing was accepted: the next attempt may have newer content
                        file.pending.clear();
                        self.waits = true;
                    }
                    result?;
                }
            }
            None if self.waits => self.replace()?,
            None => return Ok(()),
        }
        self.waits = false;
        self.content = Vec::new();
        Ok(())
    }

    /// Writes content completely: waits for a pipe's reader until the stop flag is set.
    ///
    /// # Errors
    /// Fails if the file could not be written, and states why.
    pub fn write_to_end(&mut self, content: Vec<u8>, stop: &Stop) -> Result<(), Error> {
        drop(self.write(content));
        self.finish(stop)
    }

    /// Writes the remaining content completely: waits for a pipe's reader until the stop flag is set.
    ///
    /// # Errors
    /// Returns the errors of [`write_to_end`](Self::write_to_end).
    pub fn finish(&mut self, stop: &Stop) -> Result<(), Error> {
        let result = insist(stop, || self.retry());
        result.map_err(|source| Error::Io { path: self.path.clone(), action: "cannot write", source })
    }

    fn replace(&self) -> io::Result<()> {
        let old = std::fs::metadata(&self.path).ok();
        let mut temporary = self.temporary(old.as_ref())?;
        temporary.write_all(&self.content)?;
        if let Some(old) = old {
            keep_access(temporary.as_file(), &old)?;
        }
        if self.synced {
            temporary.as_file().sync_all()?;
        }
        let _ = temporary.persist(&self.path).map_err(|error| error.error)?;
        // not every file system can sync folders, and the file is written nevertheless
        #[cfg(unix)]
        if self.synced {
            drop(File::open(files::folder(&self.path)).and_then(|folder| folder.sync_all()));
        }
        Ok(())
    }

    /// Creates the temporary file, open to no more users than the `old` one. Temporary files are private by default; a
    /// new file gets the mode of the umask.
    fn temporary(&self, old: Option<&Metadata>) -> io::Result<tempfile::NamedTempFile> {
        let mut builder = tempfile::Builder::new();
        let _ = builder.prefix(".fangs-");
        #[cfg(unix)]
        if old.is_none() {
            let _ = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        }
        #[cfg(not(unix))]
        let _ = old;
        builder.tempfile_in(files::folder(&self.path))
    }
}

/// Gives a file the owner and the mode of the file that it replaces.
fn keep_access(file: &File, old: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
            // only root may change the owner
            drop(fchown(file, Some(old.uid()), Some(old.gid())));
        }
    }
    file.set_permissions(old.permissions())
}

/// A growing file, or an output written in place. Bytes are kept until they are written: [`Write::write`] never fails,
/// and [`Write::flush`] may be repeated.
#[derive(Debug)]
pub struct AppendedFile {
    path: PathBuf,
    /// The open file; a pipe is opened once it has a reader.
    file: Option<File>,
    /// Bytes of a regular file that were written completely. If a write fails, the file is truncated to this length, so
    /// that it has no partial row.
    whole: Option<u64>,
    pending: Vec<u8>,
    /// Whether the reader has gone away.
    lost: bool,
}

impl AppendedFile {
    /// Creates an empty file.
    ///
    /// # Errors
    /// Fails if the path cannot be written.
    pub fn create(path: &Path) -> io::Result<Self> {
        if std::fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
            return Ok(AppendedFile::in_place(path));
        }
        Ok(AppendedFile { file: Some(File::create(path)?), whole: Some(0), ..AppendedFile::in_place(path) })
    }

    /// Appends to a file; creates it if there is none.
    ///
    /// # Errors
    /// Fails if the path cannot be written.
    pub fn resume(path: &Path) -> io::Result<Self> {
        let mut file = File::options().create(true).truncate(false).write(true).open(path)?;
        let whole = file.seek(SeekFrom::End(0))?;
        Ok(AppendedFile { file: Some(file), whole: Some(whole), ..AppendedFile::in_place(path) })
    }

    /// Returns a device or a pipe, which is opened when there is something to write.
    fn in_place(path: &Path) -> Self {
        AppendedFile { path: path.into(), file: None, whole: None, pending: Vec::new(), lost: false }
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes what a pipe's reader accepts; returns the number of bytes, and why it was not all.
    fn send(&self, mut file: &File) -> (usize, io::Result<()>) {
        let (began, mut sent, mut taken) = (Instant::now(), 0, Instant::now());
        while sent < self.pending.len() {
            match file.write(&self.pending[sent..]) {
                Ok(0) => return (sent, Err(ErrorKind::WriteZero.into())),
                Ok(bytes) => (sent, taken) = (sent + bytes, Instant::now()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if taken.elapsed() > SLOW || began.elapsed() > LONGEST {
                        return (sent, Err(io::Error::new(ErrorKind::WouldBlock, "its reader does not read on")));
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return (sent, Err(error)),
            }
        }
        (sent, Ok(()))
    }
}

impl Write for AppendedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.pending.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        if self.lost {
            return Err(io::Error::new(ErrorKind::BrokenPipe, "its reader has gone away"));
        }
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open_in_place(&self.path)?,
        };
        let result = match &mut self.whole {
            Some(whole) => match file.write_all(&self.pending) {
                Ok(()) => {
                    *whole += self.pending.len() as u64;
                    self.pending.clear();
                    Ok(())
                }
                Err(error) => {
                    let _ = file.set_len(*whole).and_then(|()| file.seek(SeekFrom::Start(*whole)));
                    Err(error)
                }
            },
            None => {
                let (sent, result) = self.send(&file);
                drop(self.pending.drain(..sent));
                result
            }
        };
        self.lost = result.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        self.file = Some(file);
        result
    }
}

/// Opens a device or a pipe without waiting for a pipe's reader.
fn open_in_place(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    let _ = options.write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
        let is_pipe = std::fs::metadata(path)?.file_type().is_fifo();
        let opened = options.custom_flags(libc::O_NONBLOCK).open(path);
        opened.map_err(|error| match error.raw_os_error() {
            Some(libc::ENXIO) if is_pipe => io::Error::new(ErrorKind::WouldBlock, "no process reads it"),
            _ => error,
        })
    }
    #[cfg(not(unix))]
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_content_and_leaves_nothing_else() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("best.sol");
        let mut file = ReplacedFile::new(&path)?;
        assert!(!path.exists());
        file.write(b"long first content".into())?;
        file.write(b"second".into())?;
        assert_eq!(std::fs::read(&path)?, b"second");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn keeps_links_and_devices() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::os::unix::fs::symlink(&target, &link)?;
        for content in ["first", "second"] {
            ReplacedFile::new(&link)?.write(content.into())?;
            assert!(link.is_symlink());
            assert_eq!(std::fs::read_to_string(&target)?, content);
        }
        ReplacedFile::new(Path::new("/dev/null"))?.write(b"gone".into())?;
        assert!(!Path::new("/dev/null").is_file());
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn keeps_modes() -> Result<(), Box<dyn std::error::Error>> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("best.sol");
        for mode in [0o600, 0o640, 0o666, 0o400] {
            std::fs::write(&path, "old")?;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
            ReplacedFile::new(&path)?.write(b"new".into())?;
            assert_eq!(std::fs::metadata(&path)?.permissions().mode() & 0o777, mode);
            std::fs::remove_file(&path)?;
        }
        Ok(())
    }

    #[test]
    fn what_failed_is_written_when_it_is_tried_again() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner)?;
        let mut file = ReplacedFile::new(&inner.join("best.sol"))?;
        file.write(b"first".into())?;
        std::fs::remove_dir_all(&inner)?;
        assert!(file.write(b"second".into()).is_err());
        assert!(file.write(b"third".into()).is_err() && file.retry().is_err());
        std::fs::create_dir(&inner)?;
        file.finish(&Stop::new())?;
        assert_eq!(std::fs::read(inner.join("best.sol"))?, b"third");
        std::fs::remove_file(inner.join("best.sol"))?;
        file.finish(&Stop::new())?;
        assert!(!inner.join("best.sol").exists(), "written once");
        Ok(())
    }

    #[cfg(unix)]
    fn pipe() -> Result<(tempfile::TempDir, PathBuf), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
        Ok((folder, path))
    }

    #[cfg(unix)]
    #[test]
    fn pipes_are_written_once_they_are_read() -> Result<(), Box<dyn std::error::Error>> {
        let (_folder, path) = pipe()?;
        let waits = |result: io::Result<()>| result.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        let mut rows = AppendedFile::create(&path)?;
        let mut solution = ReplacedFile::new(&path)?;
        rows.write_all(b"one ")?;
        assert!(waits(rows.flush()));
        rows.write_all(b"two ")?;
        assert!(waits(rows.flush()));
        assert!(waits(solution.write(b"old".into())) && waits(solution.write(vec![b'x'; 1_000_000])));
        let stop = Stop::new();
        stop.set(crate::stop::Cause::Time);
        let error = solution.finish(&stop).expect_err("no process reads").to_string();
        assert!(error.contains("pipe") && error.contains("no process reads it"), "{error}");
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read(path)
        });
        insist(&Stop::new(), || rows.flush())?;
        solution.finish(&Stop::new())?;
        drop((rows, solution));
        let read = reader.join().expect("no panic")?;
        assert_eq!(&read[..8], b"one two ");
        assert!(read.len() == 1_000_008 && read[8..].iter().all(|&byte| byte == b'x'));
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn a_reader_that_goes_away_or_stands_still_holds_up_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let (_folder, path) = pipe()?;
        let mut rows = AppendedFile::create(&path)?;
        // a pipe opened for both directions does not wait for the other end
        let reader = File::options().read(true).write(true).open(&path)?;
        rows.write_all(&[b'x'; 1_000_000])?;
        assert!(rows.flush().is_err_and(|error| error.kind() == ErrorKind::WouldBlock));
        drop(reader);
        for _ in 0..2 {
            assert!(rows.flush().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe));
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_devices_keep_what_is_to_be_written() -> io::Result<()> {
        let mut rows = AppendedFile::create(Path::new("/dev/full"))?;
        rows.write_all(b"row")?;
        assert!(rows.flush().is_err() && rows.flush().is_err());
        assert_eq!(rows.pending, b"row");
        Ok(())
    }

    #[test]
    fn refuses_folders_and_what_has_none() {
        assert!(ReplacedFile::new(&std::env::temp_dir()).is_err());
        assert!(ReplacedFile::new(Path::new("/no/such/folder/file")).is_err());
    }
}
