//! Compiled kernels on disk. Whatever is wrong with the cache, kernels are compiled again.

use super::nvrtc::Image;
use super::source::{Source, texts};
use rustc_hash::FxHasher;
use serde::{Deserialize, Serialize};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;

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

fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("FANGS_CACHE").or_else(|| {
        let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
        caches.map(|caches| caches.join("fangs"))
    })
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    bytes.hash(&mut hasher);
    hasher.finish()
}

/// What an image depends on: the texts, the constants, the kernels, the architecture, the compiler.
pub(super) fn key(source: &Source, architecture: i32, compiler: (i32, i32)) -> String {
    let Source { name, text, constants, kernels } = source;
    let included: Vec<_> = texts().into_iter().filter(|(header, _)| header != name).map(|(_, text)| text).collect();
    format!("{}\n{architecture} {compiler:?} {constants:?} {kernels:?}\n{text}\n{included:?}", crate::VERSION)
}

fn file(key: &str) -> Option<PathBuf> {
    Some(folder()?.join(format!("{:016x}.kernel", hash(key.as_bytes()))))
}

/// The image of a key, if it is there and whole.
pub(super) fn load(key: &str) -> Option<Image> {
    let bytes = std::fs::read(file(key)?).ok()?;
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    let header: Header = serde_json::from_slice(&bytes[..end]).ok()?;
    let code = bytes[end + 1..].to_vec();
    let whole = header.key == key && header.length == code.len() && header.hash == hash(&code);
    whole.then_some(Image { code, symbols: header.symbols })
}

/// Keeps an image; a folder that cannot be written to is no reason to fail.
pub(super) fn store(key: &str, image: &Image) {
    let write = || -> Option<()> {
        let path = file(key)?;
        let folder = path.parent()?;
        std::fs::create_dir_all(folder).ok()?;
        let header = Header {
            key: key.into(),
            symbols: image.symbols.clone(),
            length: image.code.len(),
            hash: hash(&image.code),
        };
        // renamed into place: another process never reads half of a file
        let mut file = tempfile::NamedTempFile::new_in(folder).ok()?;
        serde_json::to_writer(&mut file, &header).ok()?;
        file.write_all(b"\n").ok()?;
        file.write_all(&image.code).ok()?;
        file.persist(path).ok().map(|_| ())
    };
    let _ = write();
}
