//! Compiled kernels on disk. If anything is wrong with the cache, kernels are compiled again.

use super::nvrtc::{Image, Nvrtc};
use super::source::Source;
use crate::terminal;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The maximum number of bytes in the folder; the least recently used files are removed first.
const MOST: u64 = 64 << 20;
/// The extension of the cache's files; other files in the folder are not touched.
const EXTENSION: &str = "kernel";

/// The header of a file of the cache, one line of JSON; the code follows.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Everything on which the code depends, compared as a whole.
    key: String,
    symbols: Vec<(String, String)>,
    /// The SHA-256 of key, symbols and code.
    hash: String,
}

impl Header {
    fn new(key: &str, image: &Image) -> Header {
        let mut hasher = Sha256::new();
        let mut add = |bytes: &[u8]| {
            // with lengths, so that bytes cannot move from one part to the next
            hasher.update((bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(key.as_bytes());
        for (name, symbol) in &image.symbols {
            add(name.as_bytes());
            add(symbol.as_bytes());
        }
        add(&image.code);
        Header { key: key.into(), symbols: image.symbols.clone(), hash: hex(hasher.finalize()) }
    }
}

/// A folder of compiled kernels; without a folder, nothing is cached.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    most: u64,
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    digest.as_ref().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Returns everything on which an image depends: the sources, constants, kernels, architecture and compiler.
pub(super) fn key(source: &Source, architecture: i32, nvrtc: &Nvrtc) -> String {
    let Source { text, constants, kernels, .. } = source;
    let included = source.includes();
    format!("{}\n{architecture} {:?} {constants:?} {kernels:?}\n{text}\n{included:?}", crate::VERSION, nvrtc.version)
}

impl Cache {
    /// Returns the user's cache: `FANGS_CACHE`, or `fangs` in the system's folder for caches.
    pub fn of_user() -> Cache {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let system = || {
            let home = || Some(set("HOME")?.join(".cache"));
            set("XDG_CACHE_HOME").or_else(home).or_else(|| set("LOCALAPPDATA")).map(|caches| caches.join("fangs"))
        };
        Cache { folder: set("FANGS_CACHE").or_else(system), most: MOST }
    }

    /// Returns why an existing folder is not used; `None` if it can be used. Its code would be executed, so no other
    /// user may be able to write to it.
    pub fn trouble(&self) -> Option<String> {
        let folder = self.folder.as_ref()?;
        let what = privacy(&fs::metadata(folder).ok().filter(fs::Metadata::is_dir)?)?;
        Some(format!("kernels are compiled without the cache {}: {what}", terminal::path(folder)))
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        let folder = self.folder.as_ref().filter(|_| self.trouble().is_none())?;
        Some(folder.join(format!("{}.{EXTENSION}", hex(Sha256::digest(key)))))
    }

    /// Returns the image of a key; `None` if there is none, or it is damaged.
    pub fn load(&self, key: &str) -> Option<Image> {
        let path = self.file(key)?;
        let mut bytes = fs::read(&path).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let code = bytes.split_off(end + 1);
        let Header { symbols, hash, .. } = serde_json::from_slice(&bytes).ok()?;
        let image = Image { code, symbols };
        let whole = Header::new(key, &image).hash == hash;
        if whole {
            // marks the file as just used; if that fails, the file is only removed earlier
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        whole.then_some(image)
    }

    /// Stores an image; a folder without write access is not an error.
    pub fn store(&self, key: &str, image: &Image) {
        if let Some(path) = self.file(key)
            && let Some(folder) = path.parent()
            && self.write(folder, &path, key, image).is_ok()
        {
            self.prune(folder);
        }
    }

    fn write(&self, folder: &Path, path: &Path, key: &str, image: &Image) -> io::Result<()> {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        let _ = std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder)?;
        // renamed into place, so another process never reads half of a file
        let mut file = tempfile::Builder::new().suffix(&format!(".{EXTENSION}")).tempfile_in(folder)?;
        serde_json::to_writer(&mut file, &Header::new(key, image))?;
        file.write_all(b"\n")?;
        file.write_all(&image.code)?;
        let _ = file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes the least recently used files until the rest is within the limit. If another process removes or reads a
    /// file at the same time, no harm is done: that process compiles again, or has the file open.
    fn prune(&self, folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let ours = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == EXTENSION));
        let mut files: Vec<(Duration, u64, PathBuf)> = ours
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                let age = metadata.modified().ok()?.elapsed().unwrap_or_default();
                metadata.is_file().then(|| (age, metadata.len(), entry.path()))
            })
            .collect();
        files.sort();
        let mut total = 0;
        for (_, bytes, path) in files {
            total += bytes;
            if total > self.most {
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// Returns why a folder is not private to the user of this process; `None` if it is.
fn privacy(folder: &fs::Metadata) -> Option<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (owner, mode, own) = (folder.uid(), folder.mode() & 0o777, rustix::process::geteuid().as_raw());
        if owner != own {
            return Some(format!("it belongs to user {owner}, not to {own}"));
        }
        if mode & 0o077 != 0 {
            return Some(format!("others may enter it (its mode is {mode:o}; chmod 700 makes it private)"));
        }
    }
    #[cfg(not(unix))]
    let _ = folder;
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a folder that a cache accepts.
    fn private() -> io::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        #[cfg(unix)]
        fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
        Ok(folder)
    }

    fn cache(folder: &Path) -> Cache {
        Cache { folder: Some(folder.into()), most: MOST }
    }

    #[cfg(unix)]
    #[test]
    fn folders_are_private() -> io::Result<()> {
        use std::os::unix::fs::{PermissionsExt, chown};
        let folder = private()?;
        let cache = cache(&folder.path().join("outer/kernels"));
        cache.store("key", &image(b"code"));
        for made in ["outer", "outer/kernels"] {
            assert_eq!(fs::metadata(folder.path().join(made))?.permissions().mode() & 0o777, 0o700);
        }
        let place = cache.folder.clone().expect("a folder");
        for mode in [0o755, 0o770, 0o777, 0o701] {
            fs::set_permissions(&place, PermissionsExt::from_mode(mode))?;
            assert!(cache.trouble().is_some_and(|what| what.contains(&format!("{mode:o}"))));
            assert_eq!(cache.load("key"), None);
            cache.store("other", &image(b"code"));
            assert_eq!(files(&place)?.len(), 1);
        }
        fs::set_permissions(&place, PermissionsExt::from_mode(0o700))?;
        assert_eq!((cache.trouble(), cache.load("key")), (None, Some(image(b"code"))));
        // only root may give folders away
        if chown(&place, Some(12345), None).is_ok() {
            assert!(cache.trouble().is_some_and(|what| what.contains("12345")));
            assert_eq!(cache.load("key"), None);
        }
        Ok(())
    }

    #[test]
    fn a_file_that_was_put_there_is_not_taken() -> io::Result<()> {
        let folder = private()?;
        let cache = cache(folder.path());
        cache.store("key", &image(b"code"));
        cache.store("other", &image(b"foreign"));
        let [own, other] = ["key", "other"].map(|key| cache.file(key).expect("a path"));
        let _ = fs::copy(&other, &own)?;
        assert_eq!(cache.load("key"), None, "of another key");
        let header = Header { symbols: vec![("g".into(), "h".into())], ..Header::new("key", &image(b"code")) };
        let mut text = serde_json::to_vec(&header)?;
        text.extend_from_slice(b"\ncode");
        fs::write(&own, text)?;
        assert_eq!(cache.load("key"), None, "other symbols");
        Ok(())
    }

    fn image(code: &[u8]) -> Image {
        Image { code: code.into(), symbols: vec![("f<3>".into(), "_Z1f".into())] }
    }

    fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    #[test]
    fn images_come_back() -> std::io::Result<()> {
        let folder = private()?;
        let cache = cache(&folder.path().join("made/when/needed"));
        assert_eq!(cache.load("key"), None);
        cache.store("key", &image(b"one\n\0two"));
        assert_eq!(cache.load("key"), Some(image(b"one\n\0two")));
        assert_eq!(cache.load("other"), None);
        cache.store("key", &image(b"three"));
        assert_eq!(cache.load("key"), Some(image(b"three")));
        Ok(())
    }

    #[test]
    fn damaged_files_are_not_taken() -> std::io::Result<()> {
        let folder = private()?;
        let cache = cache(folder.path());
        cache.store("key", &image(b"machine code"));
        let file = files(folder.path())?.remove(0);
        let whole = fs::read(&file)?;
        for end in 0..whole.len() {
            fs::write(&file, &whole[..end])?;
            assert_eq!(cache.load("key"), None, "the first {end} bytes");
        }
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&file, damaged)?;
            let loaded = cache.load("key");
            assert!(loaded.is_none_or(|loaded| loaded.code == b"machine code"), "byte {place}");
        }
        fs::write(&file, [0xff; 64])?;
        assert_eq!(cache.load("key"), None);
        cache.store("key", &image(b"machine code"));
        assert_eq!(cache.load("key"), Some(image(b"machine code")));
        Ok(())
    }

    #[test]
    fn folders_that_are_none_are_ignored() -> std::io::Result<()> {
        let folder = private()?;
        let file = folder.path().join("file");
        fs::write(&file, "here")?;
        for place in [Some(file.join("below")), Some("/dev/null".into()), Some("/proc/none".into()), None] {
            let cache = Cache { folder: place, most: MOST };
            cache.store("key", &image(b"code"));
            assert_eq!((cache.load("key"), cache.trouble()), (None, None));
        }
        assert_eq!(fs::read(&file)?, b"here");
        Ok(())
    }

    #[test]
    fn the_oldest_go_and_other_files_stay() -> std::io::Result<()> {
        let folder = private()?;
        let cache = Cache { folder: Some(folder.path().into()), most: 5_000 };
        let foreign = folder.path().join("notes.txt");
        fs::write(&foreign, vec![0; 10_000])?;
        for number in 0..8u64 {
            let key = format!("key {number}");
            cache.store(&key, &image(&[7; 1_000]));
            // the clock does not advance enough within a test
            let age = Duration::from_secs(1_000 - 100 * number);
            let file = cache.file(&key).map(|path| File::options().append(true).open(path)).transpose()?;
            let _ = file.map(|file| file.set_modified(SystemTime::now() - age)).transpose()?;
            // key 0 is used all the time
            assert!(cache.load("key 0").is_some(), "{number}");
        }
        let kept: Vec<u64> = (0..8).filter(|number| cache.load(&format!("key {number}")).is_some()).collect();
        assert_eq!(kept, [0, 5, 6, 7]);
        assert!(foreign.exists());
        Ok(())
    }
}
