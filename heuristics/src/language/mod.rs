//! Heuristics that users write: a small TOML file states which variables are visited and how their values are weighted,
//! in expressions over the inputs of a visit ([`INPUTS`]) and tables of their own.
//!
//! ```text
//! file ─ file, syntax ─► trees ─ resolve ─► operations (dag) ─┬─ program: columns on the CPU
//!                                                             └─ cuda: source for a device
//! ```
//!
//! Both sides use the same arithmetic in doubles (`arithmetic`), so that they sample from equal weights.
//! docs/heuristics-language.md is the reference of the language.

pub mod arithmetic;
mod cuda;
mod dag;
mod file;
mod names;
mod program;
mod resolve;
mod syntax;
mod tables;

pub(super) use crate::text::names;
pub use cuda::sources;
pub use names::{CONSTANTS, FUNCTIONS, Function};
pub use program::{Numbers, Scratch};
pub use tables::Table;

use super::{INPUTS, Input, Kind, Needs};
use crate::error::Error;
use crate::model::Variable;
use crate::stop::Stop;
use crate::text::Text;
use file::File;
use program::{Program, View, Visit, largest};
use resolve::Meaning;
use std::path::{Path, PathBuf};
use tables::Variables;

/// A heuristic read from a file.
#[derive(Clone, Debug)]
pub struct Heuristic {
    file: File,
    meaning: Meaning,
    needs: Needs,
    /// The user's tables, followed by the number of each variable's group.
    tables: Vec<Table>,
    /// The positions of the column inputs that the heuristic needs.
    columns: Vec<usize>,
    active: Program,
    /// The program whose roots are the weights and, if stated, the largest weight.
    weights: Program,
}

/// The result of weighting the values of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weighed {
    /// The sum of the weights.
    pub sum: u64,
    /// The first value whose weight is not a number, or `None`. Such values have weight 0; the others keep their
    /// weights.
    pub nonsense: Option<usize>,
}

impl Heuristic {
    /// Reads a file for a network of `variables`.
    ///
    /// # Errors
    /// Returns the error in the file or in one of its tables, with line and column and the names that exist;
    /// [`Error::Waiting`] if `stop` is set before a pipe is at its end.
    pub fn read(path: &Path, variables: &[Variable], stop: &Stop) -> Result<Heuristic, Error> {
        Heuristic::of(File::read(path, &Variables::of(variables), stop)?)
    }

    /// Parses a text that messages call `file`; tables are searched in the working directory.
    ///
    /// # Errors
    /// Returns the error in the text or in one of its tables, with line and column and the names that exist.
    pub fn parse(file: &str, text: &str, variables: &[Variable]) -> Result<Heuristic, Error> {
        let text = Text { file: file.into(), text: text.into() };
        Heuristic::of(File::parse(text, Path::new(""), &Variables::of(variables), &Stop::new())?)
    }

    /// Checks a file alone, without a network: everything except which variables and values its tables and groups name.
    ///
    /// # Errors
    /// Returns the error in the file or in one of its tables, with line and column; [`Error::Waiting`] if `stop` is set
    /// before a pipe is at its end.
    pub fn check(path: &Path, stop: &Stop) -> Result<(), Error> {
        Heuristic::of(File::read(path, &Variables::default(), stop)?).map(|_| ())
    }

    /// Returns the files of tables that the file at `path` names, as far as it can be parsed; none if it is a pipe.
    pub fn tables_of(path: &Path) -> Vec<PathBuf> {
        file::tables_of(path)
    }

    fn of(mut file: File) -> Result<Heuristic, Error> {
        let meaning = Meaning::of(&file).map_err(|wrong| file.text.error(wrong))?;
        let roots: Vec<dag::Id> = [meaning.weight].into_iter().chain(meaning.largest).collect();
        let mut tables: Vec<Table> = file.tables.iter_mut().map(|(_, table)| std::mem::take(table)).collect();
        tables.push(Table::of_groups(std::mem::take(&mut file.group_of)));
        let needs = meaning.needs(&[&roots[..], &[meaning.active, meaning.rating]].concat());
        let column = |place: &usize| INPUTS[*place].kind == Kind::Column && needs.any(INPUTS[*place].needs);
        Ok(Heuristic {
            active: Program::new(&meaning.dag, &[meaning.active]),
            weights: Program::new(&meaning.dag, &roots),
            columns: (0..INPUTS.len()).filter(column).collect(),
            needs,
            tables,
            meaning,
            file,
        })
    }

    /// Returns the name of the file as it was given.
    pub fn file(&self) -> &str {
        &self.file.text.file
    }

    /// Returns the author's description.
    pub fn about(&self) -> &str {
        &self.file.about
    }

    /// Returns the inputs that it uses; others need not be known.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Returns the file's expression of `active`, and the inputs that it uses.
    pub fn condition(&self) -> (&str, Needs) {
        let active = self.file.expressions.iter().find(|(name, _)| name == "active");
        let text = active.and_then(|(_, expression)| self.file.text.text.get(expression.at.clone()));
        (text.unwrap_or("true"), self.meaning.needs(&[self.meaning.active]))
    }

    /// Returns the user's tables by name, followed by that of the groups, whose name is `group`.
    pub fn tables(&self) -> impl Iterator<Item = (&str, &Table)> {
        let names = self.file.tables.iter().map(|(name, _)| name.as_str()).chain(["group"]);
        names.zip(&self.tables)
    }

    /// Returns whether the variable may get a new value. `variable` is its number in the network; only scalar inputs
    /// are read.
    pub fn active(&self, variable: usize, inputs: &impl Numbers, scratch: &mut Scratch) -> bool {
        let visit = Visit { inputs, variable, tables: &self.tables, length: 0 };
        self.active.run(&visit, scratch);
        matches!(self.active.result(0, &visit, scratch), View::One(holds) if holds != 0.0)
    }

    /// Weights the values of a variable, one for each entry of `weights`. `variable` is its number in the network; the
    /// input `value` holds the values' numbers in the network, which index the user's tables.
    pub fn weigh(&self, variable: usize, inputs: &impl Numbers, scratch: &mut Scratch, weights: &mut [u32]) -> Weighed {
        let visit = Visit { inputs, variable, tables: &self.tables, length: weights.len() };
        if self.columns.iter().any(|&place| inputs.column(place).len() < weights.len()) {
            // the driver has not filled the inputs that the heuristic needs
            weights.fill(0);
            return Weighed { sum: 0, nonsense: Some(0) };
        }
        pulp::Arch::new().dispatch(Weigh { heuristic: self, visit, scratch, weights })
    }

    /// Returns a message about a weight that is not a number: the file, the variable and its value by their numbers in
    /// the network, and all inputs. `value` is the index of the weight.
    pub fn explain(&self, variable: usize, inputs: &impl Numbers, value: usize) -> String {
        let used = INPUTS.iter().enumerate().filter(|(_, input)| self.needs.any(input.needs));
        let input = |(place, input): (usize, &Input)| {
            let number = match input.kind {
                Kind::Scalar => inputs.scalar(place),
                Kind::Column => inputs.column(place).get(value).copied().unwrap_or(f64::NAN),
            };
            format!("{} = {number}", input.name)
        };
        let place = INPUTS.iter().position(|input| input.name == "value").unwrap_or_default();
        let number = inputs.column(place).get(value).map_or(value, |&number| number as usize);
        let table = |(name, table): (&str, &Table)| {
            let found =
                if table.by_value() { table.row(variable).get(number).copied() } else { Some(table.number(variable)) };
            Some(format!("{name} = {}", found.filter(|found| !found.is_nan())?))
        };
        let known = used.map(input).chain(self.tables().filter_map(table)).collect::<Vec<_>>().join(", ");
        let file = self.file();
        format!("{file}: the weight of value {number} of variable {variable} is no number where {known}")
    }
}

/// [`Heuristic::weigh`] with the widest vectors of this machine; a type, because closures are not inlined into such
/// code.
struct Weigh<'a, 'b, N> {
    heuristic: &'a Heuristic,
    visit: Visit<'a, N>,
    scratch: &'b mut Scratch,
    weights: &'b mut [u32],
}

impl<N: Numbers> pulp::WithSimd for Weigh<'_, '_, N> {
    type Output = Weighed;

    #[inline(always)]
    fn with_simd<S: pulp::Simd>(self, _: S) -> Weighed {
        let Weigh { heuristic, visit, scratch, weights } = self;
        let told = heuristic.meaning.largest.is_some();
        heuristic.weights.run(&visit, scratch);
        let reals = heuristic.weights.result(0, &visit, scratch);
        let top = match told.then(|| heuristic.weights.result(1, &visit, scratch)) {
            Some(View::One(top)) => top,
            _ => largest(reals),
        };
        scaled(reals, top, told, weights)
    }
}

/// Computes integer weights, in which `top` becomes the largest; `told` means that the file states the largest.
#[inline(always)]
fn scaled(reals: View<'_>, top: f64, told: bool, weights: &mut [u32]) -> Weighed {
    let mut nan = false;
    match reals {
        View::One(real) => {
            nan |= real.is_nan();
            weights.fill(arithmetic::scale(real, top));
        }
        View::Many(reals) => {
            for (weight, &real) in weights.iter_mut().zip(reals) {
                nan |= real.is_nan();
                *weight = arithmetic::scale(real, top);
            }
        }
    }
    // 2^10 weights of up to 2^20 fit a 32-bit sum
    let sum = weights.chunks(1024).map(|chunk| u64::from(chunk.iter().sum::<u32>())).sum();
    let nonsense = match reals {
        _ if told && (top <= 0.0 || top.is_nan()) => Some(0),
        View::Many(reals) if nan => reals.iter().position(|real| real.is_nan()),
        _ => nan.then_some(0),
    };
    Weighed { sum, nonsense }
}
