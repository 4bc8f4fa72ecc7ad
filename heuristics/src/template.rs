//! The files that `fangs heuristics new` writes.

use crate::Error;
use crate::kernels;
use crate::terminal::path as shown;
use std::path::Path;

/// The file with the list of all heuristics.
const LIST: &str = "heuristics/src/list.rs";

/// Writes the files of a heuristic called `name` into the sources in `folder`, in Rust and in CUDA, and its lines of
/// the list. Returns a report of what was written.
///
/// # Errors
/// Returns an error if the name is invalid or taken, if the folder has no such sources, or if files cannot be written.
pub fn template(name: &str, folder: &Path) -> Result<Vec<String>, Error> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if !begins || !name.bytes().all(plain) || name.ends_with('-') || name.contains("--") {
        return Err(Error::Usage(format!("{name}: a name is of lower-case letters, digits and single hyphens")));
    }
    let (module, type_name) = (name.replace('-', "_"), camel(name));
    let path = |file: &str| folder.join(file);
    let list = std::fs::read_to_string(path(LIST)).map_err(|error| {
        Error::Usage(format!("{}: {error}: --folder names the folder of Fangs' sources", shown(&path(LIST))))
    })?;
    let file = format!("heuristics/src/list/{module}.rs");
    let device = format!("heuristics/{module}.cuh");
    let known = super::TEXTS.iter().chain(kernels::TEXTS).any(|(known, _)| *known == format!("{module}.cuh"));
    if known || super::find(name).is_some() || path(&file).exists() || path(&device).exists() {
        return Err(Error::Usage(format!("{name}: there is such a heuristic, or a module of that name")));
    }
    let changed = |text: &str, before: &str, line: String| match text.find(before) {
        Some(place) => Ok(format!("{}{line}{}", &text[..place], &text[place..])),
        None => Err(Error::Usage(format!("{}: no line {before:?} that a new one goes before", shown(&path(LIST))))),
    };
    let list = changed(&list, "    ]\n", format!("        Arc::new({module}::{type_name}),\n"))?;
    let list = changed(&list, "mod swap;\n", format!("mod {module};\n"))?;
    let filled = |body: &str| body.replace("NAME", name).replace("MODULE", &module).replace("Type", &type_name);
    let write = |file: &str, text: &str| {
        let cannot = |source| Error::Io { path: path(file), action: "cannot write", source };
        std::fs::write(path(file), text).map_err(cannot)
    };
    write(&file, &filled(BODY))?;
    write(&device, &filled(DEVICE_BODY))?;
    write(LIST, &list)?;
    Ok(vec![
        format!("{file}: the heuristic"),
        format!("{device}: its CUDA source"),
        format!("{LIST}: its two lines"),
        format!("next: cargo test --release --package fangs-drivers guided::"),
        format!("and:  cargo run --release -- heuristics try FILE --heuristic default --heuristic {name}"),
    ])
}

/// Returns a name in camel case: `MyOwn` for `my-own`.
fn camel(name: &str) -> String {
    let capital = |word: &str| word[..1].to_ascii_uppercase() + &word[1..];
    name.split('-').map(capital).collect()
}

const BODY: &str = include_str!("template.txt");
const DEVICE_BODY: &str = include_str!("template_cuda.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_types() {
        assert_eq!(camel("my-own2"), "MyOwn2");
    }

    #[test]
    fn what_is_written_has_its_lines() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        std::fs::create_dir_all(folder.path().join("heuristics/src/list"))?;
        let _ = std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../").join(LIST), folder.path().join(LIST))?;
        for bad in ["", "swap", "My", "my--own", "-x", "x-", "a b", "boltzmann"] {
            assert!(template(bad, folder.path()).is_err(), "{bad}");
        }
        let _ = template("my-own", folder.path())?;
        assert!(template("my-own", folder.path()).is_err(), "it is there already");
        let read = |file: &str| std::fs::read_to_string(folder.path().join(file));
        assert!(read(LIST)?.contains("        Arc::new(my_own::MyOwn),\n    ]\n"));
        assert!(read(LIST)?.contains("mod my_own;\nmod swap;\n"));
        let written = read("heuristics/src/list/my_own.rs")?;
        assert!(written.contains("impl ValueHeuristic for MyOwn {"));
        assert!(written.contains("include_str!(\"../../my_own.cuh\")"));
        assert!(read("heuristics/my_own.cuh")?.contains("struct Heuristic"));
        assert!(template("other", &folder.path().join("nowhere")).is_err());
        Ok(())
    }
}
