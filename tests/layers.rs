//! The areas form layers, each importing only from those before it; and no file or line is too long to be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The areas of `src`, a layer a line, base first: an area imports from earlier lines only.
const LAYERS: &[&[&str]] = &[
    &["activity", "rng", "terminal"],
    &["error"],
    &["memory", "stop"],
    &["threads"],
    &["device", "files", "model"],
    &["algebra", "globals", "graph"],
    &["tensor"],
    &["certificate", "formats", "generate", "kernels", "order", "value_tables"],
    &["check", "elimination", "fang", "reduce"],
    &["bounds", "convert", "decide", "heuristics", "marginals"],
    &["dcop", "search"],
    &["bench", "explain", "record"],
    &["all_kernels"],
    &["cli"],
];

/// Lines of a file and characters of a line, at most.
const LONGEST_FILE: usize = 500;
const LONGEST_LINE: usize = 120;

/// Folders whose files are read by people, and how these end.
const FOLDERS: [&str; 9] =
    ["benches", "examples", "fuzz/fuzz_targets", "heuristics", "kernels", "python", "src", "tests", "tools"];
const ENDINGS: [&str; 5] = ["cu", "cuh", "py", "rs", "toml"];

/// The area of a file: the first folder below `src`, or its own name.
fn area(path: &Path) -> String {
    let first = path.strip_prefix("src").unwrap_or(path).components().next();
    let first = first.map(|part| part.as_os_str().to_string_lossy().into_owned()).unwrap_or_default();
    first.trim_end_matches(".rs").into()
}

/// Areas that a line names, of those that are one: `crate::AREA`, or each of `crate::{AREA, AREA::item}`.
fn imports(line: &str) -> Vec<String> {
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for rest in line.split("crate::").skip(1) {
        match rest.strip_prefix('{') {
            None => found.push(word(rest)),
            Some(list) => {
                // what stands in braces within the braces are items
                let mut depth = 1;
                let mut begins = true;
                for (place, c) in list.char_indices() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        ',' if depth == 1 => begins = true,
                        c if begins && !c.is_whitespace() => {
                            found.push(word(&list[place..]));
                            begins = false;
                        }
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            }
        }
    }
    found.retain(|name| layer(name).is_some());
    found
}

fn layer(area: &str) -> Option<usize> {
    LAYERS.iter().position(|areas| areas.contains(&area))
}

/// The code of a file without comments and without the modules of its tests; statements that go over several lines are
/// joined to the line that they begin on.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let (mut test, mut open) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split("//").next().unwrap_or_default();
        if line.starts_with("#[cfg(test)]") {
            test = true;
        } else if test {
            // the item below the attribute: one line, or up to the brace that ends it
            test = !(line.starts_with('}') || (line.trim_end().ends_with(';') && !line.starts_with(' ')));
        } else if open && let Some((_, last)) = lines.last_mut() {
            last.push_str(line.trim());
            open = !line.contains(';');
        } else {
            let begins = line.trim_start().trim_start_matches("pub").trim_start_matches("(crate)");
            open = begins.trim_start().starts_with("use ") && !line.contains(';');
            lines.push((number, line.into()));
        }
    }
    lines
}

/// Imports of a file that are not from a layer below its own.
fn upward(path: &Path, text: &str) -> Vec<String> {
    let own = area(path);
    let Some(height) = layer(&own) else {
        return vec![format!("{}: no layer lists the area {own}", path.display())];
    };
    let mut found = Vec::new();
    for (number, line) in code(text) {
        for other in imports(&line) {
            if other != own && layer(&other).is_none_or(|layer| layer >= height) {
                found.push(format!("{}:{number}: {own} imports from {other}", path.display()));
            }
        }
    }
    found
}

/// What is too long about a file.
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

/// All files of these folders and their texts, by path from the package's root.
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

#[test]
fn areas_import_downwards_only() {
    let all = files(&["src"]);
    assert!(all.len() > 100, "the sources are there");
    // beside the areas: the roots of library and command, and tests in files of their own
    let is_test = |path: &Path| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"));
    let roots = ["src/lib.rs", "src/main.rs", "src/search/testing.rs"].map(Path::new);
    let sources = all.iter().filter(|(path, _)| !is_test(path) && !roots.contains(&path.as_path()));
    let found: Vec<String> = sources.flat_map(|(path, text)| upward(path, text)).collect();
    assert!(found.is_empty(), "{} imports:\n{}", found.len(), found.join("\n"));
    for area in LAYERS.iter().flat_map(|areas| areas.iter()) {
        assert!(all.keys().any(|path| self::area(path) == *area), "there is no area {area}");
    }
}

#[test]
fn files_and_lines_are_short() {
    let all = files(&FOLDERS);
    let found: Vec<String> = all.iter().flat_map(|(path, text)| long(path, text)).collect();
    assert!(found.is_empty(), "{} too long:\n{}", found.len(), found.join("\n"));
}

#[test]
fn wrong_imports_are_found() {
    let text = "\
use crate::model::Cost;
use crate::search::Options; // upward
// use crate::search::Status;
use crate::{
    error::Error,
    check::{evaluate, search},
};
pub(crate) use crate::elimination::plan::Plan;
fn f(_: crate::fang::Seed) {}
#[cfg(test)]
use crate::bounds::Bound;
#[cfg(test)]
mod tests {
    use crate::search::solve;
}
fn g() { crate::heuristics::all(); }
";
    let expected = [
        "src/reduce/made_up.rs:2: reduce imports from search",
        "src/reduce/made_up.rs:4: reduce imports from check",
        "src/reduce/made_up.rs:8: reduce imports from elimination",
        "src/reduce/made_up.rs:9: reduce imports from fang",
        "src/reduce/made_up.rs:16: reduce imports from heuristics",
    ];
    assert_eq!(upward(Path::new("src/reduce/made_up.rs"), text), expected);
    assert_eq!(upward(Path::new("src/record.rs"), text), [] as [String; 0]);
    assert_eq!(upward(Path::new("src/new.rs"), ""), ["src/new.rs: no layer lists the area new"]);
}

#[test]
fn long_files_and_lines_are_found() {
    let text = format!("{}\n{}\n{}", "é".repeat(120), "x".repeat(121), "\n".repeat(498));
    assert_eq!(long(Path::new("a.cu"), &text), ["a.cu:2: 121 characters"]);
    assert_eq!(long(Path::new("a.cu"), &(text + "\n\n")), ["a.cu:2: 121 characters", "a.cu: 502 lines"]);
}
