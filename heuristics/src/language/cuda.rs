//! Expressions as CUDA source: the graph of operations, one line for each node.

use super::Heuristic;
use super::arithmetic::{Aggregate, Binary, Unary};
use super::dag::{Id, Node};
use crate::INPUTS;
use crate::device::Source;
use crate::texts::HEURISTICS;
use std::fmt::Write;

/// Returns the source of an example, for tests without a device.
pub fn sources() -> Vec<Source> {
    let example = include_str!("../../boltzmann.toml");
    let heuristic = Heuristic::parse("boltzmann.toml", example, &[]);
    let text = heuristic.map_or_else(|error| format!("#error {error}\n"), |heuristic| heuristic.cuda("Example"));
    vec![HEURISTICS.own("heuristic.cu", text)]
}

impl Heuristic {
    /// Returns the CUDA struct `name`, whose functions weight values; it includes `inputs.cuh` and `expression.cuh`.
    ///
    /// `Known` holds the inputs of a value and its visit: [`INPUTS`], and `table_NAME` for each of the user's tables,
    /// which `look` reads. A visit scans its values `PASSES` times. In each scan, `accumulate` adds a value to the
    /// aggregates, which begin with `none()`. Subsets of the values start from copies of the last scan's aggregates,
    /// and `merge` joins them in any order. Then `weight` is a value's integer weight, and `nonsense` is whether it is
    /// 0 because it is not a number. `active` reads only the variable's inputs; `EARLY` means that it does not read
    /// `least`.
    pub fn cuda(&self, name: &str) -> String {
        let mut text = Text::new(self);
        // writing to a string cannot fail
        let _ = text.write(name);
        text.text
    }
}

struct Text<'a> {
    heuristic: &'a Heuristic,
    text: String,
    /// The nodes that determine a value's weight: its number, and the largest number if an expression names it.
    roots: Vec<Id>,
    /// The aggregates that the roots need.
    aggregates: Vec<Aggregated>,
    /// The number of scans that aggregates take.
    levels: usize,
}

/// An aggregate: its node, its function, and its operand.
#[derive(Clone, Copy)]
struct Aggregated {
    id: Id,
    function: Aggregate,
    of: Id,
}

impl<'a> Text<'a> {
    fn new(heuristic: &'a Heuristic) -> Self {
        let meaning = &heuristic.meaning;
        let roots: Vec<Id> = [meaning.weight].into_iter().chain(meaning.largest).collect();
        let needed = meaning.dag.needed(&roots);
        let aggregates = (0..meaning.dag.len())
            .filter(|&id| needed[id])
            .filter_map(|id| match meaning.dag.get(id).node {
                Node::Aggregate(function, of) => Some(Aggregated { id, function, of }),
                _ => None,
            })
            .collect();
        let levels = roots.iter().map(|&id| meaning.dag.get(id).level).max().unwrap_or(0);
        Text { heuristic, text: String::new(), roots, aggregates, levels }
    }

    fn write(&mut self, name: &str) -> std::fmt::Result {
        self.constants(name)?;
        self.structures()?;
        self.function("void look(const Tables &tables, u32 variable, u32 place, Known &in)", Self::look)?;
        self.function("bool active(const Known &in)", |text| {
            let active = text.nodes(&[text.heuristic.meaning.active], "        ")?;
            writeln!(text.text, "        return {} != 0.0;", active[0])
        })?;
        self.function("Aggregates none()", |text| {
            writeln!(text.text, "        Aggregates all;")?;
            for Aggregated { id, function, .. } in &text.aggregates {
                writeln!(text.text, "        all.n{id} = {};", constant(function.of_none()))?;
            }
            writeln!(text.text, "        all.top = 0.0;\n        return all;")
        })?;
        self.function("void accumulate(int pass, const Known &in, Aggregates &all)", Self::accumulate)?;
        self.function("void merge(int pass, Aggregates &all, const Aggregates &other)", Self::merge)?;
        self.function("u32 weight(const Known &in, const Aggregates &all)", |text| {
            let found = text.nodes(&text.roots.clone(), "        ")?;
            let top = found.get(1).map_or("all.top", String::as_str);
            writeln!(text.text, "        return expression::scale({}, {top});", found[0])
        })?;
        self.function("bool nonsense(const Known &in, const Aggregates &all)", |text| {
            let found = text.nodes(&text.roots.clone(), "        ")?;
            let top = found.get(1).map(|top| format!(" || !({top} > 0.0)")).unwrap_or_default();
            writeln!(text.text, "        return expression::is_nan({}){top};", found[0])
        })?;
        writeln!(self.text, "}};")
    }

    /// Returns the level of a node: the number of scans after which it is known.
    fn level(&self, id: Id) -> usize {
        self.heuristic.meaning.dag.get(id).level
    }

    /// Writes the head of the struct, and its compile-time constants.
    fn constants(&mut self, name: &str) -> std::fmt::Result {
        let meaning = &self.heuristic.meaning;
        let passes = self.levels + usize::from(meaning.largest.is_none());
        writeln!(self.text, "#include \"expression.cuh\"\n#include \"inputs.cuh\"\n")?;
        writeln!(self.text, "struct {name} {{")?;
        writeln!(self.text, "    static constexpr int PASSES = {passes};")?;
        let asked = meaning.dag.needed(&[meaning.active]);
        let is_least =
            |id: &Id| matches!(meaning.dag.get(*id).node, Node::Scalar(place) if INPUTS[place].name == "least");
        let early = !(0..meaning.dag.len()).filter(|&id| asked[id]).any(|id| is_least(&id));
        writeln!(self.text, "    static constexpr bool EARLY = {early};\n")
    }

    /// Writes `Known` and `Aggregates`.
    fn structures(&mut self) -> std::fmt::Result {
        writeln!(self.text, "    struct Known : Inputs {{")?;
        for (table, _) in &self.heuristic.file.tables {
            writeln!(self.text, "        double table_{table};")?;
        }
        writeln!(self.text, "    }};\n")?;
        writeln!(self.text, "    struct Aggregates {{")?;
        for Aggregated { id, .. } in &self.aggregates {
            writeln!(self.text, "        double n{id};")?;
        }
        writeln!(self.text, "        double top;\n    }};\n")
    }

    /// Writes the code that reads the user's tables.
    fn look(&mut self) -> std::fmt::Result {
        let (mut by_variable, mut by_value) = (0, 0);
        let names = self.heuristic.file.tables.iter().map(|(name, _)| format!("table_{name}"));
        let groups = (!self.heuristic.file.groups.is_empty()).then(|| "group".into());
        for (name, table) in names.chain(groups).zip(&self.heuristic.tables) {
            let at = if table.by_value() { "place" } else { "variable" };
            writeln!(self.text, "        in.{name} = tables.at({by_variable}, {by_value}, {at});")?;
            *(if table.by_value() { &mut by_value } else { &mut by_variable }) += 1;
        }
        Ok(())
    }

    /// Writes the code that adds a value to the aggregates of a scan, or after them to the largest number.
    fn accumulate(&mut self) -> std::fmt::Result {
        for pass in 0..self.levels {
            let own = self.aggregates.iter().copied();
            let now: Vec<Aggregated> = own.filter(|aggregate| self.level(aggregate.id) == pass + 1).collect();
            writeln!(self.text, "        if (pass == {pass}) {{")?;
            let columns = self.nodes(&now.iter().map(|aggregate| aggregate.of).collect::<Vec<Id>>(), "            ")?;
            for (Aggregated { id, function, .. }, column) in now.into_iter().zip(columns) {
                let joined = with(function, &format!("all.n{id}"), &column);
                writeln!(self.text, "            all.n{id} = {joined};")?;
            }
            writeln!(self.text, "        }}")?;
        }
        let meaning = &self.heuristic.meaning;
        if meaning.largest.is_none() {
            writeln!(self.text, "        if (pass == {}) {{", self.levels)?;
            let weight = self.nodes(&[meaning.weight], "            ")?;
            writeln!(self.text, "            all.top = expression::larger(all.top, {});\n        }}", weight[0])?;
        }
        Ok(())
    }

    /// Writes the code that joins the aggregates of two subsets of the values.
    fn merge(&mut self) -> std::fmt::Result {
        for &Aggregated { id, function, .. } in &self.aggregates {
            let joined = with(function, &format!("all.n{id}"), &format!("other.n{id}"));
            let level = self.heuristic.meaning.dag.get(id).level;
            writeln!(self.text, "        if (pass == {}) all.n{id} = {joined};", level - 1)?;
        }
        let levels = self.levels;
        writeln!(self.text, "        if (pass == {levels}) all.top = expression::larger(all.top, other.top);")
    }

    fn function(&mut self, head: &str, body: impl FnOnce(&mut Self) -> std::fmt::Result) -> std::fmt::Result {
        writeln!(self.text, "    __device__ static __forceinline__ {head} {{")?;
        body(self)?;
        writeln!(self.text, "    }}\n")
    }

    /// Writes the operations of `roots`, given the aggregates. Returns the name of each root.
    fn nodes(&mut self, roots: &[Id], indent: &str) -> Result<Vec<String>, std::fmt::Error> {
        let dag = &self.heuristic.meaning.dag;
        let mut needed = vec![false; dag.len()];
        roots.iter().for_each(|&root| needed[root] = true);
        for id in (0..dag.len()).rev().filter(|&id| !matches!(dag.get(id).node, Node::Aggregate(..))) {
            if needed[id] {
                dag.get(id).node.operands().for_each(|operand| needed[operand] = true);
            }
        }
        for id in (0..dag.len()).filter(|&id| needed[id]) {
            if let Some(line) = self.line(id) {
                writeln!(self.text, "{indent}const double n{id} = {line};")?;
            }
        }
        Ok(roots.iter().map(|&root| self.operand(root)).collect())
    }

    fn operand(&self, id: Id) -> String {
        match self.heuristic.meaning.dag.get(id).node {
            Node::Constant(bits) => constant(f64::from_bits(bits)),
            Node::Scalar(place) | Node::Column(place) => format!("in.{}", INPUTS[place].name),
            Node::ByVariable(table) | Node::ByValue(table) => match self.heuristic.file.tables.get(table) {
                Some((name, _)) => format!("in.table_{name}"),
                None => "in.group".into(),
            },
            Node::Aggregate(..) => format!("all.n{id}"),
            _ => format!("n{id}"),
        }
    }

    /// Returns the operation of a node, or `None` if the node is an operand with a name of its own.
    fn line(&self, id: Id) -> Option<String> {
        let of = |id| self.operand(id);
        Some(match self.heuristic.meaning.dag.get(id).node {
            Node::Unary(function, x) => {
                let x = of(x);
                match function {
                    Unary::Neg => format!("-{x}"),
                    Unary::Abs => format!("fabs({x})"),
                    Unary::Floor => format!("floor({x})"),
                    Unary::Sqrt => format!("__dsqrt_rn({x})"),
                    Unary::Exp => format!("expression::exp({x})"),
                    Unary::Log => format!("expression::log({x})"),
                    Unary::Not => format!("expression::truth({x} == 0.0)"),
                }
            }
            Node::Binary(function, x, y) => {
                let (x, y) = (of(x), of(y));
                match function {
                    Binary::Add => format!("{x} + {y}"),
                    Binary::Sub => format!("{x} - {y}"),
                    Binary::Mul => format!("{x} * {y}"),
                    Binary::Div => format!("{x} / {y}"),
                    Binary::Min => format!("expression::least({x}, {y})"),
                    Binary::Max => format!("expression::largest({x}, {y})"),
                    Binary::Less => format!("expression::truth({x} < {y})"),
                    Binary::AtMost => format!("expression::truth({x} <= {y})"),
                    Binary::Equal => format!("expression::truth({x} == {y})"),
                    Binary::Differ => format!("expression::truth({x} != {y})"),
                }
            }
            Node::Choose(condition, x, y) => format!("{} != 0.0 ? {} : {}", of(condition), of(x), of(y)),
            _ => return None,
        })
    }
}

/// Returns the code that adds one more value to an aggregate; the addition of 0 turns -0 into 0.
fn with(function: Aggregate, all: &str, x: &str) -> String {
    match function {
        Aggregate::Min => format!("expression::least({all}, {x} + 0.0)"),
        Aggregate::Max => format!("expression::largest({all}, {x} + 0.0)"),
        Aggregate::Count => format!("{all} + {x}"),
    }
}

fn constant(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 && number.is_sign_positive() {
        format!("{number:.1}")
    } else {
        format!("expression::from_bits(0x{:016X}ull)", number.to_bits())
    }
}
