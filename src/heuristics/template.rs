//! What `fangs heuristics new` writes.

use crate::Error;
use crate::kernels::TEXTS;
use crate::terminal::path as shown;
use std::path::Path;

/// The line of the list before which a new entry is inserted.
const LIST: &str = "src/heuristics/list.rs";
/// Where modules are declared.
const MODULES: &str = "src/heuristics/mod.rs";
/// Where texts for devices are named.
const SOURCES: &str = "src/kernels/mod.rs";

/// Writes the files of a heuristic called `name` into the sources in `folder`, in Rust and in CUDA, its module and its
/// line of the list; says what was written.
///
/// # Errors
/// A name that is invalid or taken, a folder without such sources, files that cannot be written.
pub fn template(name: &str, folder: &Path) -> Result<Vec<String>, Error> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase());
    if !begins || !name.bytes().all(plain) || name.ends_with('-') || name.contains("--") {
        return Err(Error::Usage(format!("{name}: a name is of lower-case letters, digits and single hyphens")));
    }
    let (module, type_name) = (name.replace('-', "_"), camel(name));
    let path = |file: &str| folder.join(file);
    let read = |file: &str| {
        std::fs::read_to_string(path(file)).map_err(|error| {
            Error::Usage(format!("{}: {error}: --folder names the folder of Fangs' sources", shown(&path(file))))
        })
    };
    let (list, modules, sources) = (read(LIST)?, read(MODULES)?, read(SOURCES)?);
    let (file, text) = (format!("src/heuristics/{module}.rs"), format!("{module}.cuh"));
    let device = format!("heuristics/{text}");
    let known = super::find(name).is_some() || TEXTS.iter().any(|(known, _)| *known == text);
    if known || path(&file).exists() || path(&device).exists() || modules.contains(&format!("mod {module};")) {
        return Err(Error::Usage(format!("{name}: there is such a heuristic, or a module of that name")));
    }
    let changed = |text: &str, file: &str, before: &str, line: String| match text.find(before) {
        Some(place) => Ok(format!("{}{line}{}", &text[..place], &text[place..])),
        None => Err(Error::Usage(format!("{}: no line {before:?} that a new one goes before", shown(&path(file))))),
    };
    let list = changed(&list, LIST, "    ]\n", format!("        Arc::new(super::{type_name}),\n"))?;
    let modules = changed(&modules, MODULES, "mod view;\n", format!("mod {module};\n"))?;
    let modules = changed(&modules, MODULES, "pub use view::View;\n", format!("pub use {module}::{type_name};\n"))?;
    let line = format!("    (\"{text}\", include_str!(\"../../{device}\")),\n");
    let sources = changed(&sources, SOURCES, "    (\"network.cuh\"", line)?;
    let filled = |body: &str| body.replace("NAME", name).replace("MODULE", &module).replace("Type", &type_name);
    let write = |file: &str, text: &str| {
        let cannot = |source| Error::Io { path: path(file), action: "cannot write", source };
        std::fs::write(path(file), text).map_err(cannot)
    };
    write(&file, &filled(BODY))?;
    write(&device, &filled(DEVICE_BODY))?;
    write(LIST, &list)?;
    write(MODULES, &modules)?;
    write(SOURCES, &sources)?;
    Ok(vec![
        format!("{file}: the heuristic and its test"),
        format!("{device}: the same in CUDA"),
        format!("{LIST}, {MODULES}, {SOURCES}: its lines"),
        format!("next: cargo test --release --lib heuristics::{module}"),
        format!("and:  cargo run --release -- heuristics try FILE --heuristic default --heuristic {name}"),
    ])
}

/// `MyOwn` of `my-own`.
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
        std::fs::create_dir_all(folder.path().join("src/heuristics"))?;
        for folder_of in ["src/kernels", "heuristics"] {
            std::fs::create_dir_all(folder.path().join(folder_of))?;
        }
        for file in [LIST, MODULES, SOURCES] {
            let _ = std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), folder.path().join(file))?;
        }
        for bad in ["", "core", "My", "my--own", "-x", "x-", "a b", "boltzmann"] {
            assert!(template(bad, folder.path()).is_err(), "{bad}");
        }
        let _ = template("my-own", folder.path())?;
        assert!(template("my-own", folder.path()).is_err(), "it is there already");
        let read = |file: &str| std::fs::read_to_string(folder.path().join(file));
        assert!(read(LIST)?.contains("        Arc::new(super::MyOwn),\n    ]\n"));
        assert!(read(MODULES)?.contains("mod my_own;\nmod view;\n"));
        assert!(read("src/heuristics/my_own.rs")?.contains("impl ValueHeuristic for MyOwn {"));
        assert!(read("src/heuristics/my_own.rs")?.contains("kernels::source(\"my_own.cuh\")"));
        assert!(read("heuristics/my_own.cuh")?.contains("struct Heuristic"));
        assert!(read(SOURCES)?.contains("include_str!(\"../../heuristics/my_own.cuh\")"));
        assert!(template("other", &folder.path().join("nowhere")).is_err());
        Ok(())
    }
}
