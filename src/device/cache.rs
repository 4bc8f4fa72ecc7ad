//! Compiled kernels on disk. Whatever is wrong with the cache, kernels are compiled again.

use super::nvrtc::Image;
use super::source::Source;
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Bytes that the folder may hold; the files that were not used for longest go first.
const MOST: u64 = 64 << 20;
/// How files end; others in the folder are left alone.
const EXTENSION: &str = "kernel";

/// A file of the cache: a line of JSON, then the code.
#[derive(Serialize, Deserialize)]
struct Header {
    /// Everything that the code depends on, compared as a whole: a hash may collide.
    key: String,
    symbols: Vec<(String, String)>,
    length: usize,
    /// Of the code, so that a damaged file is noticed.
    hash: u64,
}

/// A folder of compiled kernels, or none.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    folder: Option<PathBuf>,
    most: u64,
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// What an image depends on: the texts, the constants, the kernels, the architecture, the compiler.
pub(super) fn key(source: &Source, architecture: i32, compiler: (i32, i32)) -> String {
    let Source { text, constants, kernels, .. } = source;
    let included = source.includes();
    format!("{}\n{architecture} {compiler:?} {constants:?} {kernels:?}\n{text}\n{included:?}", crate::VERSION)
}

impl Cache {
    /// The user's: `FANGS_CACHE`, or `fangs` where the system keeps caches.
    pub fn of_user() -> Cache {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let system = || {
            let home = || Some(set("HOME")?.join(".cache"));
            set("XDG_CACHE_HOME").or_else(home).or_else(|| set("LOCALAPPDATA")).map(|caches| caches.join("fangs"))
        };
        Cache { folder: set("FANGS_CACHE").or_else(system), most: MOST }
    }

    fn file(&self, key: &str) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(format!("{:016x}.{EXTENSION}", hash(key.as_bytes()))))
    }

    /// The image of a key, if it is there and whole.
    pub fn load(&self, key: &str) -> Option<Image> {
        let path = self.file(key)?;
        let mut bytes = fs::read(&path).ok()?;
        let end = bytes.iter().position(|&byte| byte == b'\n')?;
        let code = bytes.split_off(end + 1);
        let header: Header = serde_json::from_slice(&bytes).ok()?;
        let whole = header.key == key && header.length == code.len() && header.hash == hash(&code);
        if whole {
            // used just now; where that cannot be noted the file only goes sooner
            let _ = File::options().append(true).open(&path).and_then(|file| file.set_modified(SystemTime::now()));
        }
        whole.then_some(Image { code, symbols: header.symbols })
    }

    /// Keeps an image; a folder that cannot be written to is no reason to fail.
    pub fn store(&self, key: &str, image: &Image) {
        if let Some(path) = self.file(key)
            && let Some(folder) = path.parent()
            && self.write(folder, &path, key, image).is_ok()
        {
            self.prune(folder);
        }
    }

    fn write(&self, folder: &Path, path: &Path, key: &str, image: &Image) -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let header = Header {
            key: key.into(),
            symbols: image.symbols.clone(),
            length: image.code.len(),
            hash: hash(&image.code),
        };
        // renamed into place: another process never reads half of a file
        let mut file = tempfile::Builder::new().suffix(&format!(".{EXTENSION}")).tempfile_in(folder)?;
        serde_json::to_writer(&mut file, &header)?;
        file.write_all(b"\n")?;
        file.write_all(&image.code)?;
        let _ = file.persist(path).map_err(|error| error.error)?;
        Ok(())
    }

    /// Removes what was not used for longest until the rest fits. A file that another process removes or still reads is
    /// no trouble: it compiles again, or has the file open.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(folder: &Path) -> Cache {
        Cache { folder: Some(folder.into()), most: MOST }
    }

    fn image(code: &[u8]) -> Image {
        Image { code: code.into(), symbols: vec![("f<3>".into(), "_Z1f".into())] }
    }

    fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
    }

    #[test]
    fn images_come_back() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
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
        let folder = tempfile::tempdir()?;
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
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("file");
        fs::write(&file, "here")?;
        for place in [Some(file.join("below")), Some("/dev/null".into()), Some("/proc/none".into()), None] {
            let cache = Cache { folder: place, most: MOST };
            cache.store("key", &image(b"code"));
            assert_eq!(cache.load("key"), None);
        }
        assert_eq!(fs::read(&file)?, b"here");
        Ok(())
    }

    #[test]
    fn the_oldest_go_and_other_files_stay() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let cache = Cache { folder: Some(folder.path().into()), most: 5_000 };
        let foreign = folder.path().join("notes.txt");
        fs::write(&foreign, vec![0; 10_000])?;
        for number in 0..8u64 {
            let key = format!("key {number}");
            cache.store(&key, &image(&[7; 1_000]));
            // time does not pass within a test
            let age = Duration::from_secs(1_000 - 100 * number);
            let file = cache.file(&key).map(|path| File::options().append(true).open(path)).transpose()?;
            let _ = file.map(|file| file.set_modified(SystemTime::now() - age)).transpose()?;
            // the first one is used all the time
            assert!(cache.load("key 0").is_some(), "{number}");
        }
        let kept: Vec<u64> = (0..8).filter(|number| cache.load(&format!("key {number}")).is_some()).collect();
        assert_eq!(kept, [0, 5, 6, 7]);
        assert!(foreign.exists());
        Ok(())
    }
}
