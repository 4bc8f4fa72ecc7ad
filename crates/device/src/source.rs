//! Compilation units: a source with all that it may include.

use super::shared::{CONSTANTS, DeviceStruct};
use std::borrow::Cow;

/// A source that others may include, with the name by which they include it.
pub type Text = (&'static str, Cow<'static, str>);

/// A compilation unit: a source, constants set before it, and the kernels requested from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that error messages show.
    pub name: String,
    /// The requested kernels, as C++ expressions such as `sweep<4, 8>`; all are instantiated.
    pub kernels: Vec<String>,
    /// Macros set before the source: constants of the problem.
    pub constants: Vec<(String, String)>,
    /// The source text.
    pub text: String,
    /// The sources that it may include.
    library: &'static [Text],
    /// The declarations in `constants.cuh`.
    declared: String,
}

impl Source {
    /// Makes a unit of a source that may include others of a library. The crate `kernels` has the program's library.
    pub fn new(name: impl Into<String>, text: impl Into<String>, library: &'static [Text]) -> Source {
        Source {
            name: name.into(),
            text: text.into(),
            constants: Vec::new(),
            kernels: Vec::new(),
            library,
            declared: String::new(),
        }
    }

    /// Returns the sources that it includes, directly or indirectly, sorted by name.
    pub fn includes(&self) -> Vec<(&str, &str)> {
        let names = |text: &str| -> Vec<String> {
            let lines =
                text.lines().filter_map(|line| line.trim_start().strip_prefix("#include \"")?.split('"').next());
            lines.map(String::from).collect()
        };
        let mut rest: Vec<(&str, &str)> = self.library.iter().map(|(name, text)| (*name, &**text)).collect();
        rest.push((CONSTANTS, &self.declared));
        let mut found = Vec::new();
        let mut open = names(&self.text);
        while let Some(name) = open.pop() {
            // the compiler reports missing ones
            if let Some(place) = rest.iter().position(|(known, _)| *known == name) {
                open.extend(names(rest[place].1));
                found.push(rest.swap_remove(place));
            }
        }
        found.sort();
        found
    }

    /// Declares constants of Rust in `constants.cuh`; `constants!` writes the declarations.
    #[must_use]
    pub fn declare(mut self, constants: &str) -> Source {
        if self.declared.is_empty() {
            self.declared.push_str("#pragma once\n");
        }
        self.declared.push_str(constants);
        self
    }

    /// Asserts that a structure of Rust has the layout of the source's own.
    #[must_use]
    pub fn asserts<T: DeviceStruct>(mut self) -> Source {
        self.text.push_str(&T::assertions());
        self
    }

    /// Asserts that a constant that the source states itself, so that the source can be copied, equals that of Rust.
    #[must_use]
    pub fn agrees(mut self, name: &str, value: u32) -> Source {
        self.text.push_str(&format!("\nstatic_assert({name} == {value}u, \"the host's {name} is {value}\");\n"));
        self
    }

    /// Appends another source with its constants and declarations.
    #[must_use]
    pub fn followed_by(mut self, other: &Source) -> Source {
        self.text.push_str(&format!("\n#line 1 \"{}\"\n{}", other.name, other.text));
        self.constants.extend_from_slice(&other.constants);
        self.declared.push_str(&other.declared);
        self
    }

    /// Sets a constant.
    #[must_use]
    pub fn constant(mut self, name: &str, value: impl ToString) -> Source {
        self.constants.push((name.into(), value.to_string()));
        self
    }

    /// Requests a kernel.
    #[must_use]
    pub fn kernel(mut self, expression: impl Into<String>) -> Source {
        self.kernels.push(expression.into());
        self
    }
}
