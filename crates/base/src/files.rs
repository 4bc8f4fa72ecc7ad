//! Files of the system: reading that ends with the stop flag, and the identity of files under different names.

use crate::error::Error;
use crate::stop::Stop;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

/// The maximum number of bytes of a text that is read as a whole: enough for each of 40 million variables.
pub const LARGEST_TEXT: u64 = 1 << 29;

/// The time between two checks of the stop flag while waiting.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// A stream of bytes.
pub type Stream<'a> = Box<dyn Read + 'a>;

/// Opens a file. A pipe without a writer does not delay the end of the run.
pub fn open<'a>(path: &Path, stop: &'a Stop) -> io::Result<Stream<'a>> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_file() || metadata.is_dir() {
        return Ok(Box::new(File::open(path)?));
    }
    let path = path.to_path_buf();
    Ok(Box::new(Patient::new(move || File::open(path), stop)?))
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// Returns an error if the file cannot be read or has more bytes, and [`Error::Waiting`] if `stop` is set before a pipe
/// is at its end.
pub fn read(path: &Path, most: u64, stop: &Stop) -> Result<Vec<u8>, Error> {
    let name = path.display().to_string();
    open(path, stop).and_then(|stream| read_all(stream, most)).map_err(|error| cannot_read(&name, error, stop))
}

/// Reads a UTF-8 file of at most `most` bytes.
///
/// # Errors
/// Returns an error if the file cannot be read, has more bytes, or is not UTF-8, and [`Error::Waiting`] if `stop` is
/// set before a pipe is at its end.
pub fn read_text(path: &Path, most: u64, stop: &Stop) -> Result<String, Error> {
    let text = String::from_utf8(read(path, most, stop)?);
    text.map_err(|error| Error::Unreadable {
        path: path.into(),
        source: io::Error::new(ErrorKind::InvalidData, error.utf8_error()),
    })
}

/// Reads UTF-8 like [`read_text`], but from a regular file only, because a pipe or a device may never end.
///
/// # Errors
/// Returns an error if the path is not a regular file, or if the file cannot be read, has more bytes, or is not UTF-8.
pub fn read_regular_text(path: &Path, most: u64, stop: &Stop) -> Result<String, Error> {
    let unreadable = |source| Error::Unreadable { path: path.into(), source };
    if !std::fs::metadata(path).map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file")));
    }
    read_text(path, most, stop)
}

/// The beginning of the second line of a sealed text.
const SEAL: &str = "sha256 ";

/// Returns a text of two lines, the second with the SHA-256 of the first, which reveals changes and truncation.
pub fn sealed(line: &str) -> String {
    format!("{line}\n{SEAL}{}\n", hex(Sha256::digest(line)))
}

/// Returns the first line of a sealed text, or an error message if its SHA-256 does not match.
pub fn unsealed(text: &str) -> Result<&str, &'static str> {
    let line = text.lines().next().unwrap_or_default();
    match text == sealed(line) {
        true => Ok(line),
        false => Err("its first line does not have the SHA-256 that the second states: it was changed or cut short"),
    }
}

/// Returns bytes as hexadecimal digits.
pub fn hex(digest: impl AsRef<[u8]>) -> String {
    let mut text = String::new();
    for byte in digest.as_ref() {
        // writing to a string cannot fail
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads a stream of at most `most` bytes.
pub fn read_all(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let _ = stream.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}

/// Returns the error of a failed read. After a stop, a reader may fail with any error.
pub fn cannot_read(name: &str, source: io::Error, stop: &Stop) -> Error {
    match (stop.is_set(), source.kind()) {
        (true, ErrorKind::TimedOut) => Error::Waiting(PathBuf::from(name)),
        (true, _) => Error::Stopped,
        _ => Error::Unreadable { path: PathBuf::from(name), source },
    }
}

/// A source that may block (a pipe, a terminal), read on a separate thread, so that the stop flag still works.
///
/// After a stop, the thread stays in its read until the other side closes or the process ends.
pub struct Patient<'a> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    stop: &'a Stop,
}

impl<'a> Patient<'a> {
    /// Starts a thread that opens the source by `open` and reads it.
    pub fn new<R: Read>(open: impl FnOnce() -> io::Result<R> + Send + 'static, stop: &'a Stop) -> io::Result<Self> {
        let (sender, chunks) = sync_channel(4);
        let _ = crate::threads::start("input", move || {
            let mut reader = match open() {
                Ok(reader) => reader,
                Err(error) => return drop(sender.send(Err(error))),
            };
            loop {
                let mut chunk = vec![0; 1 << 16];
                let result = reader.read(&mut chunk);
                let last = match &result {
                    Ok(bytes) => *bytes == 0,
                    Err(error) => error.kind() != ErrorKind::Interrupted,
                };
                let sent = sender.send(result.map(|bytes| {
                    chunk.truncate(bytes);
                    chunk
                }));
                if last || sent.is_err() {
                    return;
                }
            }
        })?;
        Ok(Patient { chunks, chunk: Cursor::default(), stop })
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let bytes = self.chunk.read(buffer)?;
            if bytes > 0 || buffer.is_empty() {
                return Ok(bytes);
            }
            match self.chunks.recv_timeout(PATIENCE) {
                Ok(chunk) => self.chunk = Cursor::new(chunk?),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if self.stop.is_set() => return Err(ErrorKind::TimedOut.into()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }
}

/// Returns the target of a path after following symbolic links, even if no file exists there yet.
pub fn target(path: &Path) -> PathBuf {
    let mut path = path.to_path_buf();
    // the maximum number of links that Linux follows
    for _ in 0..40 {
        match (path.canonicalize(), std::fs::read_link(&path)) {
            (Ok(place), _) => return place,
            (Err(_), Ok(link)) => path = folder(&path).join(link),
            _ => break,
        }
    }
    match (folder(&path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Returns the folder that contains a path.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The identity of a file, independent of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Device and inode number of an existing file.
    File(u64, u64),
    /// The path of a file that does not exist, or whose inode number the system does not provide.
    Place(PathBuf),
}

impl Identity {
    /// Returns the identity of a path. `None` for devices and folders, because writing there replaces nothing.
    pub fn of(path: &Path) -> Option<Identity> {
        match std::fs::metadata(path) {
            Ok(metadata) => Identity::of_metadata(&metadata, path),
            Err(_) => Some(Identity::Place(target(path))),
        }
    }

    /// Returns the identity of an open file; `None` if the system does not provide one.
    pub fn of_open(file: &File) -> Option<Identity> {
        let metadata = file.metadata().ok()?;
        Identity::of_metadata(&metadata, Path::new("")).filter(|identity| matches!(identity, Identity::File(..)))
    }

    #[cfg(unix)]
    fn of_metadata(metadata: &std::fs::Metadata, _: &Path) -> Option<Identity> {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        let kind = metadata.file_type();
        (kind.is_file() || kind.is_fifo()).then(|| Identity::File(metadata.dev(), metadata.ino()))
    }

    #[cfg(not(unix))]
    fn of_metadata(metadata: &std::fs::Metadata, path: &Path) -> Option<Identity> {
        metadata.is_file().then(|| Identity::Place(target(path)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    type Result<T = ()> = std::result::Result<T, Box<dyn std::error::Error>>;

    #[test]
    fn texts_have_a_limit() -> Result {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("text");
        fs::write(&path, "12345")?;
        assert_eq!(read_text(&path, 5, &Stop::new())?, "12345");
        let error = read(&path, 4, &Stop::new()).expect_err("a byte too many");
        assert!(error.is_input() && error.to_string().contains("more than 4 bytes"), "{error}");
        fs::write(&path, [0xff])?;
        assert!(read_text(&path, 5, &Stop::new()).is_err_and(|error| error.is_input()));
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_refused_at_once() -> Result {
        let folder = tempfile::tempdir()?;
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status()?.success());
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = read_regular_text(path, 100, &Stop::new()).expect_err("it may never end");
            assert!(error.is_input() && error.to_string().contains("not a regular file"), "{error}");
        }
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn pipes_without_a_writer_end_with_the_stop_flag() -> Result {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status()?.success());
        let stop = Stop::new();
        stop.set(crate::stop::Cause::Time);
        let error = read(&path, 100, &stop).expect_err("no process writes");
        assert!(matches!(&error, Error::Waiting(waited) if *waited == path), "{error}");
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn files_are_told_apart_whatever_they_are_called() -> Result {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir()?;
        let at = |name: &str| folder.path().join(name);
        fs::write(at("a"), "")?;
        fs::write(at("b"), "")?;
        fs::hard_link(at("a"), at("hard"))?;
        symlink(at("a"), at("soft"))?;
        symlink("new", at("dangling"))?;
        symlink("dangling", at("twice"))?;
        symlink("circle", at("circle"))?;
        fs::create_dir(at("inner"))?;
        let same = |x: PathBuf, y: PathBuf| {
            let (x, y) = (Identity::of(&x), Identity::of(&y));
            x.is_some() && x == y
        };
        assert!(same(at("a"), at("hard")) && same(at("hard"), at("soft")) && same(at("inner/../a"), at("a")));
        assert!(same(at("new"), at("dangling")) && same(at("twice"), at("inner/../new")));
        assert!(!same(at("a"), at("b")) && !same(at("new"), at("newer")) && !same(at("a"), at("circle")));
        assert_eq!((Identity::of(Path::new("/dev/null")), Identity::of(folder.path())), (None, None));
        assert_eq!(Identity::of_open(&File::open(at("hard"))?), Identity::of(&at("a")));
        Ok(())
    }
}
