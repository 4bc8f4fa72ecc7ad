//! Rules that no compiler checks: the checker's dependencies, the lengths of files and lines, and phrases of comments.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Limits on lines of a file and characters of a line.
const LONGEST_FILE: usize = 500;
const LONGEST_LINE: usize = 120;

/// Folders whose files people read, and the extensions of these files.
const FOLDERS: [&str; 10] =
    ["benches", "crates", "examples", "fuzz/fuzz_targets", "heuristics", "kernels", "python", "src", "tests", "tools"];
const ENDINGS: [&str; 5] = ["cu", "cuh", "py", "rs", "toml"];

/// Phrases that a reader who has not seen the code cannot resolve.
const PHRASES: [&str; 9] =
    ["so many", "so much", "in vain", "comes to", "come to", "none where", "nothing where", "dearer", "/ The same"];

/// Returns the lines of comments with such a phrase.
fn unclear(path: &Path, text: &str) -> Vec<String> {
    let comments = (1..).zip(text.lines()).filter(|(_, line)| line.trim_start().starts_with("//"));
    let found = comments.filter_map(|(number, line)| {
        let phrase = PHRASES.iter().find(|phrase| line.contains(**phrase))?;
        Some(format!("{}:{number}: {phrase}", path.display()))
    });
    found.collect()
}

/// Returns what is too long about a file.
fn long(path: &Path, text: &str) -> Vec<String> {
    let lines = (1..).zip(text.lines().map(|line| line.chars().count()));
    let mut found: Vec<String> = lines
        .filter(|&(_, length)| length > LONGEST_LINE)
        .map(|(number, length)| format!("{}:{number}: {length} characters", path.display()))
        .collect();
    let count = text.lines().count();
    if count > LONGEST_FILE {
        found.push(format!("{}: {count} lines", path.display()));
    }
    found
}

/// Returns all files of some folders and their texts, by path from the package's root.
fn files(folders: &[&str]) -> BTreeMap<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).filter(|path| path.is_dir()).collect();
    let mut found = BTreeMap::new();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known)) {
                let text = fs::read_to_string(&path).expect("sources are UTF-8");
                let _ = found.insert(path.strip_prefix(root).expect("it is below the root").into(), text);
            }
        }
    }
    found
}

/// The checker shares nothing with the search except the plain data of networks and certificates.
#[test]
fn the_checker_depends_on_base_and_model_alone() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/check/Cargo.toml");
    let text = fs::read_to_string(manifest).expect("the checker has a manifest");
    let (_, behind) = text.split_once("[dependencies]\n").expect("dependencies");
    let own = behind.lines().take_while(|line| !line.starts_with('['));
    let own: Vec<&str> =
        own.filter_map(|line| line.strip_prefix("fangs-")?.strip_suffix(".workspace = true")).collect();
    assert_eq!(own, ["base", "model"]);
}

/// Returns the folder or file of a crate's `src` that contains a path.
fn area(path: &Path) -> &str {
    let area = path.iter().nth(3).expect("a path in crates/NAME/src");
    Path::new(area).file_stem().and_then(|name| name.to_str()).expect("names are UTF-8")
}

/// Returns a file's text without its tests.
fn code<'a>(path: &Path, text: &'a str) -> &'a str {
    let is_test = path.file_stem().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with("tests"));
    text.split("#[cfg(test)]\nmod tests").next().filter(|_| !is_test).unwrap_or_default()
}

#[test]
fn folders_of_the_search_import_those_before_them() {
    const ORDER: [&str; 3] = ["scheduler", "run", "coloring"];
    for (path, text) in files(&["crates/search/src"]) {
        let Some(place) = ORDER.iter().position(|name| area(&path) == *name) else { continue };
        for later in &ORDER[place + 1..] {
            assert!(!code(&path, &text).contains(&format!("crate::{later}")), "{} imports {later}", path.display());
        }
    }
}

#[test]
fn files_and_lines_are_short() {
    let all = files(&FOLDERS);
    let found: Vec<String> = all.iter().flat_map(|(path, text)| long(path, text)).collect();
    assert!(found.is_empty(), "{} too long:\n{}", found.len(), found.join("\n"));
}

#[test]
fn long_files_and_lines_are_found() {
    let text = format!("{}\n{}\n{}", "é".repeat(120), "x".repeat(121), "\n".repeat(498));
    assert_eq!(long(Path::new("a.cu"), &text), ["a.cu:2: 121 characters"]);
    assert_eq!(long(Path::new("a.cu"), &(text + "\n\n")), ["a.cu:2: 121 characters", "a.cu: 502 lines"]);
}

#[test]
fn comments_have_no_phrases_that_a_stranger_cannot_resolve() {
    let all = files(&["crates", "heuristics", "kernels", "python", "src", "tools"]);
    let found: Vec<String> = all.iter().flat_map(|(path, text)| unclear(path, text)).collect();
    assert!(found.is_empty(), "{} unclear comments:\n{}", found.len(), found.join("\n"));
}

#[test]
fn unclear_phrases_are_found() {
    let text = "let so_many = 1; // as it is\n    /// The same, sorted.\n//! so many bytes";
    assert_eq!(unclear(Path::new("a.rs"), text), ["a.rs:2: / The same", "a.rs:3: so many"]);
}

/// Returns the embedded files, from the package's root, that lie outside the folder of their crate.
fn embedded_from_elsewhere(path: &Path, text: &str) -> Vec<PathBuf> {
    let depth = if path.starts_with("crates") { 2 } else { usize::from(!path.starts_with("src")) };
    let mut found = Vec::new();
    for call in text.split("include_str!(\"").skip(1).chain(text.split("include_bytes!(\"").skip(1)) {
        let mut place: PathBuf = path.parent().unwrap_or(path).into();
        for part in Path::new(call.split('"').next().unwrap_or_default()) {
            if part == ".." {
                let _ = place.pop();
            } else {
                place.push(part);
            }
        }
        if place.iter().take(depth).ne(path.iter().take(depth)) {
            found.push(place);
        }
    }
    found
}

/// A crate that embeds other files cannot be published.
#[test]
fn crates_embed_files_of_their_own_folders() {
    for (path, text) in files(&["crates", "heuristics", "kernels", "src"]) {
        let found = embedded_from_elsewhere(&path, code(&path, &text));
        assert!(found.is_empty() || path.ends_with("tests.rs"), "{} embeds {found:?}", path.display());
    }
    let found = embedded_from_elsewhere(
        Path::new("kernels/src/lib.rs"),
        "include_str!(\"../a.cu\") include_str!(\"../../b/c\")",
    );
    assert_eq!(found, [PathBuf::from("b/c")]);
}
