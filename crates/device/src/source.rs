//! Compilation units: a text with all that it may include.

use super::shared::{CONSTANTS, DeviceStruct};
use std::borrow::Cow;

/// A text that others may include, by the name that they include it by.
pub type Text = (&'static str, Cow<'static, str>);

/// A compilation unit: a text, constants set before it, and the kernels wanted from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The name that error messages show.
    pub name: String,
    /// Kernels wanted, as C++ expressions such as `sweep<4, 8>`; all are instantiated.
    pub kernels: Vec<String>,
    /// Macros set before the text: constants of the problem.
    pub constants: Vec<(String, String)>,
    /// The text.
    pub text: String,
    /// The texts that it may include.
    library: &'static [Text],
    /// What `constants.cuh` declares.
    declared: String,
}

impl Source {
    /// A text that may include others of a library; `kernels` has the program's own.
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

    /// The texts that it includes, directly or indirectly, by name.
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

    /// Declares constants of Rust, as `constants!` writes them: `constants.cuh` has them.
    #[must_use]
    pub fn declare(mut self, constants: &str) -> Source {
        if self.declared.is_empty() {
            self.declared.push_str("#pragma once\n");
        }
        self.declared.push_str(constants);
        self
    }

    /// Asserts that a structure of Rust lies as the text's own does.
    #[must_use]
    pub fn asserts<T: DeviceStruct>(mut self) -> Source {
        self.text.push_str(&T::assertions());
        self
    }

    /// Asserts that a constant that the text states itself, so that it can be copied, is that of Rust.
    #[must_use]
    pub fn agrees(mut self, name: &str, value: u32) -> Source {
        self.text.push_str(&format!("\nstatic_assert({name} == {value}u, \"the host's {name} is {value}\");\n"));
        self
    }

    /// Appends another text with what it needs.
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

    /// Adds a kernel.
    #[must_use]
    pub fn kernel(mut self, expression: impl Into<String>) -> Source {
        self.kernels.push(expression.into());
        self
    }
}
