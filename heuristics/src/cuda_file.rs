//! Heuristics that users write in CUDA alone: a source for `kernels/network.cuh`, compiled at run time.

use super::{INPUTS, Inputs, Needs, Neighbourhood, ValueHeuristic, View};
use crate::device;
use crate::device::{DeviceError, Source};
use crate::error::Error;
use crate::files;
use crate::files::LARGEST_TEXT;
use crate::rng::Rng;
use crate::stop::Stop;
use crate::texts::HEURISTICS;
use std::path::Path;

/// A heuristic of a `.cuh` file, which runs on devices only.
#[derive(Clone, Debug)]
pub struct FromCuda {
    file: String,
    text: String,
    needs: Needs,
}

impl FromCuda {
    /// Reads a file.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read; [`Error::Waiting`] if `stop` is set before a pipe is at its end.
    pub fn read(path: &Path, stop: &Stop) -> Result<FromCuda, Error> {
        let text = files::read_text(path, LARGEST_TEXT, stop)?;
        let needs = needs(&text);
        Ok(FromCuda { file: path.display().to_string(), text, needs })
    }

    /// Compiles the heuristic, without a device.
    ///
    /// # Errors
    /// Returns the compiler's messages, with the file's name and lines, or an error if there is no compiler.
    pub fn check(&self) -> Result<(), DeviceError> {
        device::compiles(&super::cuda::instance_of(self))
    }
}

/// Returns the inputs whose names follow a point, as in `in.cost`. Names in comments count too, which only costs time.
fn needs(text: &str) -> Needs {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fields = text.split('.').skip(1).map(|rest| rest.split(|c| !word(c)).next().unwrap_or_default());
    fields.fold(Needs::NONE, |needs, field| {
        INPUTS.iter().filter(|input| input.name == field).fold(needs, |needs, input| needs | input.needs)
    })
}

impl ValueHeuristic for FromCuda {
    fn name(&self) -> &str {
        &self.file
    }

    fn needs(&self) -> Needs {
        self.needs
    }

    fn weigh(&self, _: &Inputs<'_>, weights: &mut [u32]) {
        // never called: see `is_for_devices`
        weights.fill(0);
    }

    fn is_for_devices(&self) -> bool {
        true
    }

    fn neighbourhood(&self) -> Option<&dyn Neighbourhood> {
        self.text.contains("struct Groups").then_some(&InText)
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.own(&*self.file, &*self.text))
    }
}

struct InText;

impl Neighbourhood for InText {
    fn propose(&self, _: &View<'_>, _: &mut Rng, group: &mut Vec<(u32, u16)>) {
        // never called
        group.clear();
    }

    fn cuda(&self) -> Option<Source> {
        Some(HEURISTICS.own("groups", ""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_a_point_is_needed() {
        let text = "return in.cost == in.least ? 1u : (u32)in.h_of + 3.cost_x; // in.age";
        let expected = [Needs::COST, Needs::LEAST, Needs::AGE];
        assert_eq!(needs(text), Needs::of(expected));
        assert_eq!(needs("cost"), Needs::NONE);
    }
}
