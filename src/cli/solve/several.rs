//! Several solutions of a network: all, their number, the best ones, or some that differ.

use crate::cli::{help, values};
use clap::Args;
use fangs_base::Error;
use fangs_base::memory;
use fangs_base::stop::Stop;
use fangs_bounds::bounds::{Best, Counted, SolutionOptions, best, count, solutions};
use fangs_check::{self as check, Evaluation};
use fangs_formats::Named;
use fangs_model::model::{Cost, Names, Network, Notation, Number};
use fangs_report::text::grouped;
use fangs_search::{Diverse, Member, Options, Status, Summary, diverse};
use serde::Serialize;
use serde_json::value::RawValue;
use std::fmt::{self, Write};
use std::ops::ControlFlow;
use std::time::Instant;

/// Which solutions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Which {
    /// Those of the optimal cost.
    Optimal,
    /// All feasible ones, whatever they cost.
    Feasible,
}

// no doc comment, because clap would show it in place of the command's description
#[derive(Args, Clone, Debug)]
pub struct SeveralFlags {
    /// List all optimal solutions, or with --all=feasible all solutions of any cost [default: off]
    ///
    /// Optimal solutions are listed if the optimum is proved. In a network without costs every solution is optimal.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "optimal",
        value_enum, help_heading = help::SEVERAL, conflicts_with_all = ["count", "best", "diverse"])]
    all: Option<Which>,
    /// Count the optimal solutions exactly, or with --count=feasible all solutions [default: off]
    ///
    /// If time runs out, the number is a lower bound and reported as such.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "optimal",
        value_enum, help_heading = help::SEVERAL, conflicts_with_all = ["best", "diverse"])]
    count: Option<Which>,
    /// List the K best solutions by cost, or all if there are fewer [default: off]
    #[arg(long, value_name = "K", value_parser = values::positive::<usize>, help_heading = help::SEVERAL,
        conflicts_with = "diverse")]
    best: Option<usize>,
    /// List K solutions: each next one is the best at the distance from all earlier ones [default: off]
    #[arg(long, value_name = "K", value_parser = values::positive::<usize>, help_heading = help::SEVERAL,
        requires = "distance")]
    diverse: Option<usize>,
    /// With --diverse, the least number of variables in which any two solutions differ [default: none]
    #[arg(long, value_name = "D", value_parser = values::positive::<u32>, help_heading = help::SEVERAL,
        requires = "diverse")]
    distance: Option<u32>,
    /// With --diverse, the variables that are compared, by names or indices: A,B [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = help::SEVERAL, requires = "diverse")]
    diverse_on: Vec<String>,
    /// With --all, stop after N solutions [default: no limit]
    #[arg(long, value_name = "N", value_parser = values::positive::<usize>, help_heading = help::SEVERAL,
        requires = "all")]
    most: Option<usize>,
}

impl SeveralFlags {
    /// Returns the option that asks for several solutions, if one does.
    pub fn named(&self) -> Option<&'static str> {
        let options = [
            ("--all", self.all.is_some()),
            ("--count", self.count.is_some()),
            ("--best", self.best.is_some()),
            ("--diverse", self.diverse.is_some()),
        ];
        options.into_iter().find(|(_, given)| *given).map(|(name, _)| name)
    }

    /// Returns the cost that ends the search for the optimum, if the optimum is not needed: any solution reaches it.
    pub fn target(&self, network: &Network) -> Option<Number> {
        let any = if network.units().maximise { Cost::MIN + 1 } else { Cost::MAX };
        let is_any = [self.all, self.count].contains(&Some(Which::Feasible));
        is_any.then_some(Number::Integer(any))
    }

    /// Returns the variables that `--diverse-on` names, all if it names none.
    fn on(&self, network: &Network) -> Result<Vec<u32>, Error> {
        if self.diverse_on.is_empty() {
            return Ok((0..network.variables().len() as u32).collect());
        }
        let names = Names::new(network.variables());
        let mut on = Vec::new();
        for name in &self.diverse_on {
            let v = names.variable(name).map_err(|error| Error::Usage(format!("--diverse-on: {error}")))?;
            if on.contains(&v) {
                return Err(Error::Usage(format!("--diverse-on: {name} is named twice")));
            }
            on.push(v);
        }
        Ok(on)
    }

    /// Checks the variables that are named.
    pub fn check(&self, network: &Network) -> Result<(), Error> {
        let on = self.on(network)?;
        match self.distance.filter(|&distance| distance as usize > on.len()) {
            Some(distance) => Err(Error::Usage(format!(
                "--distance {distance}: only {} variables are compared, so no two solutions differ in more",
                on.len()
            ))),
            None => Ok(()),
        }
    }

    /// Finds what is asked for after a run; `None` if one solution is enough. An error leaves the result of the run,
    /// and is a warning.
    pub fn find<'a>(&self, run: &Finished<'a, '_>, warn: impl FnOnce(&str)) -> Option<Several<'a>> {
        let several = match (self.all, self.count, self.best, self.diverse) {
            (Some(which), ..) => run.all(which, self.most),
            (_, Some(which), ..) => run.count(which),
            (.., Some(most), _) => run.best(most),
            (.., Some(count)) => self.on(run.network).and_then(|on| {
                let distance = self.distance.unwrap_or(1);
                run.diverse(Diverse { count, distance, on: &on, deadline: run.deadline })
            }),
            _ => return None,
        };
        Some(several.unwrap_or_else(|error| {
            let several = self.named().unwrap_or_default();
            warn(&format!("{several}: {error}"));
            let solutions = self.count.is_none().then(Vec::new);
            Several { solutions, count: raw("0"), complete: false, note: "none: see the warning".into() }
        }))
    }
}

/// A finished run, before several solutions are found.
pub struct Finished<'a, 'r> {
    pub network: &'a Network,
    pub summary: &'r Summary,
    pub options: &'r Options,
    pub stop: &'r Stop,
    pub deadline: Option<Instant>,
}

impl<'a> Finished<'a, '_> {
    /// Returns the cost of the optimum, if it is proved.
    fn optimum(&self) -> Option<Cost> {
        let least = self.summary.least.as_deref().filter(|_| self.summary.status == Status::Optimal);
        least.map(|values| check::evaluate(self.network, values).cost)
    }

    /// Returns the options that select all solutions.
    fn any(&self) -> SolutionOptions {
        SolutionOptions::default().with(|options| options.memory = self.options.table_bytes())
    }

    /// Returns the options that select the solutions; `None` if the optimum that is needed is not proved.
    fn selected(&self, which: Which) -> Option<SolutionOptions> {
        let worst = match which {
            Which::Feasible => None,
            Which::Optimal => Some(self.network.units().number(self.optimum()?)),
        };
        Some(self.any().with(|options| options.worst = worst))
    }

    fn none(&self, asks_count: bool, complete: bool) -> Several<'a> {
        let note = if complete { "none: the network is infeasible" } else { "none: the optimum is not proved" };
        let solutions = (!asks_count).then(Vec::new);
        Several { solutions, count: raw("0"), complete, note: note.into() }
    }

    fn all(&self, which: Which, most: Option<usize>) -> Result<Several<'a>, Error> {
        if self.summary.status == Status::Infeasible {
            return Ok(self.none(false, true));
        }
        let Some(options) = self.selected(which) else { return Ok(self.none(false, false)) };
        let (most, room) = (most.unwrap_or(usize::MAX), memory::available() / 4);
        let bytes = (self.network.variables().len() * size_of::<u32>() + size_of::<Entry<'_>>()) as u64;
        let (mut listed, mut is_full) = (Vec::new(), false);
        let mut tell = |assignment: &[u32], evaluation: &Evaluation| {
            listed.push(self.entry(assignment, evaluation));
            is_full = (listed.len() as u64).saturating_mul(bytes) > room;
            if listed.len() >= most || is_full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let complete = solutions(self.network, &options, self.stop, &mut tell)?;
        let why = match complete {
            true => ", which are all".to_string(),
            false if is_full => "; there may be more, but the memory is full".into(),
            false if listed.len() >= most => "; there may be more (--most)".into(),
            false => "; stopped, there may be more".into(),
        };
        let note = format!("{}{why}", grouped(listed.len()));
        Ok(self.listed(listed, complete, note))
    }

    fn listed(&self, listed: Vec<Entry<'a>>, complete: bool, note: String) -> Several<'a> {
        let count = raw(&listed.len().to_string());
        Several { solutions: Some(listed), count, complete, note }
    }

    fn count(&self, which: Which) -> Result<Several<'a>, Error> {
        if self.summary.status == Status::Infeasible {
            return Ok(self.none(true, true));
        }
        let Some(options) = self.selected(which) else { return Ok(self.none(true, false)) };
        let Counted { number, complete } = count(self.network, &options, self.stop)?;
        let note = match complete {
            true => format!("{number}, exactly"),
            false => format!("at least {number}; stopped before all were counted"),
        };
        Ok(Several { solutions: None, count: raw(&number.to_string()), complete, note })
    }

    fn best(&self, most: usize) -> Result<Several<'a>, Error> {
        if self.summary.status == Status::Infeasible {
            return Ok(self.none(false, true));
        }
        let Best { solutions, complete } = best(self.network, &self.any(), most, self.optimum(), self.stop)?;
        let mut listed: Vec<_> =
            solutions.iter().map(|(assignment, evaluation)| self.entry(assignment, evaluation)).collect();
        if let Some(least) = self.summary.least.as_deref().filter(|_| listed.is_empty()) {
            // the time was over before the enumeration found any
            listed.push(self.entry(least, &check::evaluate(self.network, least)));
        }
        let note = match (complete, listed.len() < most) {
            (true, true) => format!("{}: there are no more", grouped(listed.len())),
            (true, false) => format!("the {} best, proved", grouped(listed.len())),
            (false, _) => format!("{} found before the stop; better ones may exist", grouped(listed.len())),
        };
        Ok(self.listed(listed, complete, note))
    }

    fn diverse(&self, wanted: Diverse<'_>) -> Result<Several<'a>, Error> {
        let Some(first) = &self.summary.least else {
            return Ok(self.none(false, self.summary.status == Status::Infeasible));
        };
        let proven = self.summary.status == Status::Optimal;
        let evaluation = check::evaluate(self.network, first);
        let mut members = vec![Member { assignment: first.clone(), evaluation, distance: None, proven }];
        let complete = diverse(self.network, wanted, self.options, self.stop, &mut members)?;
        let listed: Vec<_> = members
            .iter()
            .map(|member| Entry {
                distance: member.distance,
                proven: Some(member.proven),
                ..self.entry(&member.assignment, &member.evaluation)
            })
            .collect();
        let note = match (complete, listed.len() < wanted.count) {
            (true, true) => format!("{}: no other solution differs enough", grouped(listed.len())),
            (true, false) => format!("{}, each proved the best at its distance", grouped(listed.len())),
            (false, _) => format!("{}, not all proved the best at their distance", grouped(listed.len())),
        };
        Ok(self.listed(listed, complete, note))
    }

    fn entry(&self, assignment: &[u32], evaluation: &Evaluation) -> Entry<'a> {
        Entry {
            cost: evaluation.value(self.network, assignment),
            solution: Values { network: self.network, values: assignment.into() },
            distance: None,
            proven: None,
        }
    }
}

/// Returns a number of any size as JSON.
fn raw(digits: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(digits.into()).ok()
}

/// Several solutions of a network, as JSON and as text.
#[derive(Serialize)]
pub struct Several<'a> {
    /// The solutions, unless they are only counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    solutions: Option<Vec<Entry<'a>>>,
    /// The number of solutions listed or counted.
    count: Option<Box<RawValue>>,
    /// Whether the list or the number is complete and proved.
    complete: bool,
    /// The number of solutions, in words.
    #[serde(skip)]
    note: String,
}

/// A solution of a list.
#[derive(Serialize)]
struct Entry<'a> {
    cost: Option<Number>,
    #[serde(flatten)]
    solution: Values<'a>,
    /// The least distance from an earlier solution of the list.
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<usize>,
    /// Whether no better solution differs enough from the earlier ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    proven: Option<bool>,
}

/// The values of a solution, by indices and, in networks that name them, by names.
struct Values<'a> {
    network: &'a Network,
    values: Box<[u32]>,
}

impl Values<'_> {
    fn named(&self) -> Option<Named<'_>> {
        let by_names = self.network.notation() == Notation::Names;
        by_names.then_some(Named { network: self.network, assignment: &self.values })
    }
}

impl Serialize for Values<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("solution", &self.values)?;
        self.named().iter().try_for_each(|named| map.serialize_entry("assignment", named))?;
        map.end()
    }
}

impl Several<'_> {
    /// Returns whether the list or the number is complete.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the solutions, one a line: value indices, or an object of names.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for Entry { solution, .. } in self.solutions.iter().flatten() {
            match solution.named().and_then(|named| serde_json::to_string(&named).ok()) {
                Some(named) => text.push_str(&named),
                None => {
                    for (place, value) in solution.values.iter().enumerate() {
                        let _ = write!(text, "{}{value}", if place > 0 { " " } else { "" });
                    }
                }
            }
            text.push('\n');
        }
        text
    }
}

impl fmt::Display for Several<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<12}{}", "solutions", self.note)
    }
}
