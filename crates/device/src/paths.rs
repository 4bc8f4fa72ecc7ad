//! Possible places of the compiler's library: the user's choice, the loader's path, CUDA's folders, Python's packages.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names of the library; the version in the loader's path comes first.
const NAMES: [&str; 5] = ["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "nvrtc64_130_0.dll", "nvrtc64_120_0.dll"];

/// Folders of a toolkit that contain libraries.
const LIBRARIES: [&str; 5] = ["lib64", "lib", "bin", "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"];

/// Folders that the wheels `nvidia-cuda-nvrtc` (13) and `nvidia-cuda-nvrtc-cu12` install under `site-packages`.
const WHEELS: [&str; 4] = ["nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib", "nvidia/cu13/bin", "nvidia/cuda_nvrtc/bin"];

/// Folders to search in addition to those in the environment.
pub(super) struct Roots<'a> {
    /// Folders that contain `cuda`, `cuda-12.9` and the like.
    pub toolkits: &'a [&'a str],
    /// Folders that contain `python3.11` and the like.
    pub pythons: &'a [&'a str],
}

pub(super) const ROOTS: Roots<'static> =
    Roots { toolkits: &["/usr/local", "/opt"], pythons: &["/usr/local/lib", "/usr/lib"] };

/// Returns candidates, best first. Bare names are for the loader; all paths exist.
pub(super) fn candidates(environment: impl Fn(&str) -> Option<OsString>, roots: &Roots) -> Vec<PathBuf> {
    let variable = |name: &str| environment(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut toolkit = |root: &Path| folders.extend(LIBRARIES.map(|part| root.join(part)));
    for root in ["CUDA_PATH", "CUDA_HOME", "CONDA_PREFIX"].into_iter().filter_map(variable) {
        toolkit(&root);
    }
    for root in roots.toolkits.iter().flat_map(|folder| entries(Path::new(folder), "cuda")) {
        toolkit(&root);
    }

    // the prefix of a Python contains bin/python3 and lib/python3.11/site-packages
    let mut prefixes: Vec<PathBuf> = variable("VIRTUAL_ENV").into_iter().collect();
    for folder in environment("PATH").iter().flat_map(std::env::split_paths) {
        match (folder.parent(), folder.file_name()) {
            (Some(prefix), Some(name)) if name == "bin" => prefixes.push(prefix.into()),
            // pyenv puts scripts on the path that choose one of its versions
            (Some(pyenv), Some(name)) if name == "shims" => prefixes.extend(entries(&pyenv.join("versions"), "")),
            _ => {}
        }
    }
    prefixes.extend(variable("HOME").map(|home| home.join(".local")));
    let libraries = prefixes.iter().map(|prefix| prefix.join("lib"));
    for library in libraries.chain(roots.pythons.iter().map(PathBuf::from)) {
        for python in entries(&library, "python3") {
            for packages in ["site-packages", "dist-packages"].map(|name| python.join(name)) {
                folders.extend(WHEELS.map(|part| packages.join(part)));
            }
        }
    }
    let files = folders.iter().flat_map(|folder| NAMES.map(|name| folder.join(name)));
    let mut found: Vec<PathBuf> = NAMES.iter().map(PathBuf::from).chain(files.filter(|path| path.exists())).collect();
    let mut seen = Vec::new();
    found.retain(|path| {
        !seen.contains(path) && {
            seen.push(path.clone());
            true
        }
    });
    found
}

/// Returns the entries of a folder that begin with a prefix, in descending order, so that the highest versions come
/// first.
fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> =
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix)).map(|entry| entry.path()).collect();
    found.sort();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_place_is_looked_at_in_order() -> std::io::Result<()> {
        let folder = tempfile::tempdir()?;
        let root = folder.path();
        let file = |path: &str| -> std::io::Result<PathBuf> {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(root))?;
            fs::write(&path, "")?;
            Ok(path)
        };
        let expected = [
            file("named/lib64/libnvrtc.so")?,
            file("usr/local/cuda-13.0/lib64/libnvrtc.so")?,
            file("usr/local/cuda-12.9/targets/x86_64-linux/lib/libnvrtc.so.12")?,
            file("venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13")?,
            file("own/lib/python3.9/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")?,
            file("pyenv/versions/3.11.7/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")?,
            file("home/.local/lib/python3.10/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")?,
            file("usr/lib/python3/dist-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12")?,
        ];
        let _ = file("usr/local/curious/lib64/libnvrtc.so")?;
        let _ = file("venv/lib/python2.7/site-packages/nvidia/cu13/lib/libnvrtc.so.13")?;
        let path = ["venv/bin", "own/bin", "pyenv/shims", "missing/bin"].map(|part| root.join(part));
        let environment = |name: &str| match name {
            "CUDA_PATH" => Some(root.join("named").into()),
            "CUDA_HOME" => Some(OsString::new()),
            "HOME" => Some(root.join("home").into()),
            "PATH" => std::env::join_paths(&path).ok(),
            _ => None,
        };
        let place = |path: &str| root.join(path).to_string_lossy().into_owned();
        let (toolkits, pythons) = (place("usr/local"), place("usr/lib"));
        let roots = Roots { toolkits: &[&toolkits], pythons: &[&pythons] };
        let found = candidates(environment, &roots);
        assert_eq!(found[..NAMES.len()], NAMES.map(PathBuf::from));
        assert_eq!(found[NAMES.len()..], expected);
        Ok(())
    }

    #[test]
    fn nothing_set_is_no_failure() {
        let roots = Roots { toolkits: &["/no/such/folder"], pythons: &[] };
        assert_eq!(candidates(|_| None, &roots), NAMES.map(PathBuf::from));
    }
}
