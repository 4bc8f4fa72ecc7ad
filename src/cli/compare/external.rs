//! Other solvers: a command, and the lines of its output that report costs and bounds.

use super::setting::named;
use fangs_model::model::Number;
use fangs_report::Recorded;
use fangs_report::plot::Point;

/// Another solver's command.
#[derive(Clone, Debug)]
pub struct External {
    /// The name in tables.
    pub name: String,
    /// The command and its arguments, before their replacement.
    pub words: Vec<String>,
}

/// What stands for the words in braces of a command.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// The network.
    pub file: &'a str,
    /// The time limit in seconds.
    pub time: f64,
    /// The seed.
    pub seed: u64,
    /// A file for the solution.
    pub solution: &'a str,
}

impl External {
    /// Parses `NAME: COMMAND`.
    pub fn parse(text: &str) -> Result<External, String> {
        const EXPECTED: &str = "expected \"NAME: COMMAND\", such as \"toulbar2: toulbar2 {file} -timer={time}\"";
        let (name, command) = named(text).ok_or(EXPECTED)?;
        let words = shlex::split(command).ok_or("a quote has no end")?;
        if words.is_empty() || text.trim().starts_with('-') {
            return Err(EXPECTED.into());
        }
        if !words.iter().any(|word| word.contains("{file}")) {
            return Err("the command has no {file}, which stands for the network".into());
        }
        Ok(External { name, words })
    }

    /// Returns whether the solver writes its solution to a file, so that its cost can be recomputed.
    pub fn writes_solution(&self) -> bool {
        self.words.iter().any(|word| word.contains("{solution}"))
    }

    /// Returns the words of a run.
    pub fn command(&self, by: Replacement<'_>) -> Vec<String> {
        let replace = |word: &String| {
            let word = word.replace("{time}", &format!("{:.0}", by.time.max(1.0).ceil()));
            let word = word.replace("{seed}", &by.seed.to_string());
            word.replace("{solution}", by.solution).replace("{file}", by.file)
        };
        self.words.iter().map(replace).collect()
    }
}

/// What a line of a solver's output reports.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reported {
    /// The cost of a solution.
    pub cost: Option<Number>,
    /// A bound.
    pub bound: Option<Number>,
    /// Whether the last solution is optimal.
    pub optimal: bool,
}

impl Reported {
    /// Reads a line of toulbar2 (`New solution: 7 (…)`, `Optimality gap: [5, 7] …`, `Optimum: 7 in …`) or of the
    /// competitions of MaxSAT and pseudo-Boolean solvers (`o 7`, `s OPTIMUM FOUND`).
    pub fn of(line: &str) -> Reported {
        let line = line.trim();
        let number = |text: &str| {
            let text = text.trim_start();
            let end = text.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(text.len());
            Number::parse(text[..end].trim_start_matches('+'))
        };
        let after = |start: &str| line.strip_prefix(start).map(|rest| rest.trim_start_matches(':'));
        let mut reported = Reported::default();
        if let Some(rest) = after("New solution").or_else(|| after("o ")) {
            reported.cost = number(rest);
        } else if let Some(rest) = after("Optimum") {
            reported.cost = number(rest);
            reported.optimal = reported.cost.is_some();
        } else if let Some(rest) = line.strip_prefix("Optimality gap: [") {
            reported.bound = number(rest);
        } else if let Some(rest) = after("Dual bound") {
            reported.bound = number(rest);
        } else {
            reported.optimal = line == "s OPTIMUM FOUND";
        }
        reported
    }

    /// Adds the report, made at a time in seconds, to a run; a cost that is not lower than an earlier one is left out.
    pub fn add_to(self, run: &mut Recorded, time: f64) {
        let is_better = |cost: &Number| run.cost.is_none_or(|known| *cost < known);
        let is_higher = |bound: &Number| run.bound.is_none_or(|known| *bound > known);
        let (cost, bound) = (self.cost.filter(is_better), self.bound.filter(is_higher));
        run.curve.optimal |= self.optimal && (run.cost.is_some() || cost.is_some());
        if cost.is_some() || bound.is_some() || run.curve.optimal {
            run.cost = cost.or(run.cost);
            run.bound = if run.curve.optimal { run.cost } else { bound.or(run.bound) };
            let [found, bound] = [run.cost, run.bound].map(|number| number.map(Number::as_f64));
            run.curve.points.push(Point { time, found, bound });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_file_and_have_their_words_replaced() {
        let solver = External::parse("tb2: toulbar2 {file} -timer={time} -seed={seed} '-w={solution}'").expect("one");
        let by = Replacement { file: "a b.wcsp", time: 2.5, seed: 7, solution: "s.sol" };
        assert_eq!(solver.command(by), ["toulbar2", "a b.wcsp", "-timer=3", "-seed=7", "-w=s.sol"]);
        assert!(solver.writes_solution());
        for text in ["toulbar2 {file}", "x: ", "x: toulbar2", "x: 'a {file}", "-x {file}"] {
            assert!(External::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn lines_of_known_solvers_are_read() {
        let mut run = Recorded::default();
        let lines = [
            "Read 12 variables",
            "New solution: 30 (0 backtracks, 12 nodes, depth 13, 0.010 seconds)",
            "Optimality gap: [10, 30] 66.667 % (4 backtracks, 9 nodes)",
            "New solution: 31 (…)",
            "o 27",
            "c o 3",
            "Optimum: 27 in 3 backtracks and 4 nodes",
        ];
        for (time, line) in lines.iter().enumerate() {
            Reported::of(line).add_to(&mut run, time as f64);
        }
        assert_eq!((run.cost, run.bound), (Some(Number::Integer(27)), Some(Number::Integer(27))));
        assert!(run.curve.optimal);
        let found: Vec<Option<f64>> = run.curve.points.iter().map(|point| point.found).collect();
        assert_eq!(found, [Some(30.0), Some(30.0), Some(27.0), Some(27.0)]);
        assert_eq!(Reported::of("s OPTIMUM FOUND"), Reported { optimal: true, ..Reported::default() });
        let mut none = Recorded::default();
        Reported::of("s OPTIMUM FOUND").add_to(&mut none, 1.0);
        assert!(!none.curve.optimal && none.curve.points.is_empty(), "there is no solution that could be optimal");
    }
}
