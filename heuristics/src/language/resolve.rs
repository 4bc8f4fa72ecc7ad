//! The semantics of expressions: names are looked up, types are checked, and everything becomes nodes of one graph.

use super::arithmetic::{Aggregate, Binary, Unary};
use super::dag::{Dag, Id, Node};
use super::file::File;
use super::names::{CONSTANTS, EXPRESSIONS, FUNCTIONS};
use super::syntax::{Expr, Kind, Operator, Sign, parse};
use crate::text::{Wrong, names};
use crate::{INPUTS, Kind as Shape, Needs};
use rustc_hash::FxHashMap;

const RATING: &str = "cost";
const WEIGHT: &str = "exp((min(rating) - rating) / temperature)";

/// Deepest nesting of names, so that no file overflows the stack.
const DEPTH: usize = 400;

#[derive(Clone, Debug)]
pub(super) struct Meaning {
    pub dag: Dag,
    /// Whether the variable is visited: not 0.
    pub active: Id,
    pub rating: Id,
    /// The weight of each value, not yet an integer.
    pub weight: Id,
    /// The weight that becomes the largest integer, if the file states it.
    pub largest: Option<Id>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Type {
    Truth,
    Number,
}

struct Resolver<'a> {
    file: &'a File,
    dag: Dag,
    known: FxHashMap<&'a str, (Id, Type)>,
    /// The names that are being looked up, each for the one before.
    open: Vec<&'a str>,
    depth: usize,
    /// Whether values are still unknown, as in `active`.
    early: bool,
}

type Typed = Result<(Id, Type), Wrong>;

impl Meaning {
    pub fn of(file: &File) -> Result<Meaning, Wrong> {
        let dag = Dag::default();
        let mut resolver = Resolver { file, dag, known: FxHashMap::default(), open: Vec::new(), depth: 0, early: true };
        let active = match resolver.part("active") {
            Some((name, expression)) => resolver.named_truth(name, expression)?,
            None => resolver.dag.number(1.0),
        };
        resolver.early = false;
        for (name, expression) in &file.expressions {
            // unused expressions are checked too
            let _ = resolver.named(name, expression)?;
        }
        let rating = resolver.rating()?.0;
        let (mut weight, typed) = match resolver.part("weight") {
            Some((name, expression)) => resolver.named(name, expression)?,
            // the default weight is at most 1, like a truth value
            None => (resolver.expression(&parse(WEIGHT, 0..WEIGHT.len())?)?.0, Type::Truth),
        };
        if let Some((name, expression)) = resolver.part("allowed") {
            let allowed = resolver.named_truth(name, expression)?;
            let nothing = resolver.dag.number(0.0);
            weight = resolver.dag.add(Node::Choose(allowed, weight, nothing));
        }
        let largest = match resolver.part("largest") {
            Some((name, expression)) => {
                let (id, _) = resolver.named(name, expression)?;
                if resolver.dag.get(id).column {
                    let wrong = Wrong::new(expression.at.clone(), "one number a visit").found("one number a value");
                    return Err(wrong.hint("aggregates (min, max, count, best) make one of a column"));
                }
                Some(id)
            }
            None => (typed == Type::Truth).then(|| resolver.dag.number(1.0)),
        };
        Ok(Meaning { dag: resolver.dag, active, rating, weight, largest })
    }

    /// Returns the inputs that `roots` use.
    pub fn needs(&self, roots: &[Id]) -> Needs {
        let used = self.dag.needed(roots);
        let value = INPUTS.iter().find(|input| input.name == "value").map_or(Needs::NONE, |input| input.needs);
        (0..self.dag.len()).filter(|&id| used[id]).fold(Needs::NONE, |needs, id| match self.dag.get(id).node {
            Node::Scalar(place) | Node::Column(place) => needs | INPUTS[place].needs,
            Node::ByValue(_) => needs | value,
            _ => needs,
        })
    }
}

impl<'a> Resolver<'a> {
    fn part(&self, name: &str) -> Option<(&'a str, &'a Expr)> {
        let found = self.file.expressions.iter().find(|(other, _)| other == name);
        found.map(|(name, expression)| (name.as_str(), expression))
    }

    /// Resolves a named expression; each name is looked up once.
    fn named(&mut self, name: &'a str, expression: &'a Expr) -> Typed {
        if let Some(&known) = self.known.get(name) {
            return Ok(known);
        }
        self.open.push(name);
        let typed = match name {
            "active" | "allowed" => (self.truth(expression)?, Type::Truth),
            _ => self.expression(expression)?,
        };
        let _ = self.open.pop();
        let _ = self.known.insert(name, typed);
        Ok(typed)
    }

    fn named_truth(&mut self, name: &'a str, expression: &'a Expr) -> Result<Id, Wrong> {
        self.named(name, expression).map(|(id, _)| id)
    }

    /// Resolves the rating, which is always a column: aggregates of a scalar would be meaningless.
    fn rating(&mut self) -> Typed {
        match self.part("rating") {
            Some((name, expression)) => {
                let typed = self.named(name, expression)?;
                if self.dag.get(typed.0).column { Ok(typed) } else { Err(one_a_value(expression)) }
            }
            None => self.expression(&parse(RATING, 0..RATING.len())?),
        }
    }

    fn truth(&mut self, expression: &Expr) -> Result<Id, Wrong> {
        match self.expression(expression)? {
            (id, Type::Truth) => Ok(id),
            (_, Type::Number) => {
                let wrong = Wrong::new(expression.at.clone(), "true or false").found("a number");
                Err(wrong.hint("compare it, as in `x > 0`"))
            }
        }
    }

    fn number(&mut self, expression: &Expr) -> Result<Id, Wrong> {
        self.expression(expression).map(|(id, _)| id)
    }

    fn expression(&mut self, expression: &Expr) -> Typed {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Wrong::new(expression.at.clone(), format!("names that lead at most {DEPTH} levels deep")));
        }
        let typed = match &expression.kind {
            Kind::Number(number) => Ok((self.dag.number(*number), Type::Number)),
            Kind::Name(name) => self.name(name, expression),
            Kind::Prefixed(Sign::Minus, x) => {
                self.number(x).map(|x| (self.dag.add(Node::Unary(Unary::Neg, x)), Type::Number))
            }
            Kind::Prefixed(Sign::Not, x) => {
                self.truth(x).map(|x| (self.dag.add(Node::Unary(Unary::Not, x)), Type::Truth))
            }
            Kind::Joined(operator, x, y) => self.joined(*operator, x, y),
            Kind::Call(name, arguments) => self.call(name, arguments, expression),
        };
        self.depth -= 1;
        typed
    }

    fn joined(&mut self, operator: Operator, x: &Expr, y: &Expr) -> Typed {
        if let Operator::And | Operator::Or = operator {
            let (x, y) = (self.truth(x)?, self.truth(y)?);
            // truth values are 1 and 0
            let function = if operator == Operator::And { Binary::Mul } else { Binary::Max };
            return Ok((self.dag.add(Node::Binary(function, x, y)), Type::Truth));
        }
        let (x, y) = (self.number(x)?, self.number(y)?);
        let (function, typed, x, y) = match operator {
            Operator::Add => (Binary::Add, Type::Number, x, y),
            Operator::Sub => (Binary::Sub, Type::Number, x, y),
            Operator::Mul => (Binary::Mul, Type::Number, x, y),
            Operator::Div => (Binary::Div, Type::Number, x, y),
            Operator::Less => (Binary::Less, Type::Truth, x, y),
            Operator::AtMost => (Binary::AtMost, Type::Truth, x, y),
            Operator::Greater => (Binary::Less, Type::Truth, y, x),
            Operator::AtLeast => (Binary::AtMost, Type::Truth, y, x),
            Operator::Equal => (Binary::Equal, Type::Truth, x, y),
            Operator::Differ | Operator::And | Operator::Or => (Binary::Differ, Type::Truth, x, y),
        };
        Ok((self.dag.add(Node::Binary(function, x, y)), typed))
    }

    fn name(&mut self, name: &str, expression: &Expr) -> Typed {
        let at = || expression.at.clone();
        if let Some(&open) = self.open.iter().find(|&&open| open == name) {
            let round = self.open.iter().skip_while(|&&other| other != open).chain([&open]).copied();
            let hint = round.collect::<Vec<_>>().join(" -> ");
            return Err(Wrong::new(at(), "a name that does not need itself").hint(hint));
        }
        let own = self.part(name).filter(|(name, _)| !EXPRESSIONS.contains(name));
        let place = INPUTS.iter().position(|input| input.name == name && name != "group");
        let table = self.file.tables.iter().position(|(table, _)| table == name);
        let group = self.file.groups.iter().position(|group| group == name);
        let constant = CONSTANTS.iter().find(|(constant, _)| *constant == name);
        // a name that is used too early is reported at its use
        let early = std::mem::replace(&mut self.early, false);
        let (id, kind) = if name == "rating" {
            self.rating()?
        } else if let Some((name, expression)) = own {
            self.named(name, expression)?
        } else if name == "group" {
            let groups = !self.file.groups.is_empty();
            let node =
                if groups { Node::ByVariable(self.file.tables.len()) } else { Node::Constant((-1.0f64).to_bits()) };
            (self.dag.add(node), Type::Number)
        } else if let Some(place) = place {
            let column = INPUTS[place].kind == Shape::Column;
            (self.dag.add(if column { Node::Column(place) } else { Node::Scalar(place) }), Type::Number)
        } else if let Some(table) = table {
            let by_value = self.file.tables[table].1.by_value();
            (self.dag.add(if by_value { Node::ByValue(table) } else { Node::ByVariable(table) }), Type::Number)
        } else if let Some(group) = group {
            (self.dag.number(group as f64), Type::Number)
        } else if let Some(&(name, number)) = constant {
            (self.dag.number(number), if name == "inf" { Type::Number } else { Type::Truth })
        } else {
            return Err(self.unknown(name, expression));
        };
        self.early = early;
        self.in_time(id, kind, expression)
    }

    /// Rejects inputs of values while values are unknown.
    fn in_time(&self, id: Id, kind: Type, expression: &Expr) -> Typed {
        let known = self.dag.get(id);
        if self.early && (known.column || known.level > 0) {
            let wrong =
                Wrong::new(expression.at.clone(), "what is known before the values are: numbers of the variable");
            let scalars = INPUTS.iter().filter(|input| input.kind == Shape::Scalar).map(|input| input.name);
            return Err(wrong.hint(format!("such as {}", scalars.collect::<Vec<_>>().join(", "))));
        }
        Ok((id, kind))
    }

    fn unknown(&self, name: &str, expression: &Expr) -> Wrong {
        let own = self.file.expressions.iter().map(|(name, _)| name.as_str());
        let own = own.filter(|name| !EXPRESSIONS.contains(name));
        let own = own.chain(self.file.tables.iter().map(|(name, _)| name.as_str()));
        let own = own.chain(self.file.groups.iter().map(String::as_str));
        let all =
            INPUTS.iter().map(|input| input.name).chain(["rating"]).chain(own).chain(CONSTANTS.map(|(name, _)| name));
        let (known, hint) = names(all, name);
        let function = FUNCTIONS.iter().find(|function| function.name == name);
        let hint = function.map(|function| format!("the function is {}", function.call)).or(hint);
        Wrong::new(expression.at.clone(), format!("one of the names {known}")).hinted(hint)
    }

    fn call(&mut self, name: &str, arguments: &[Expr], expression: &Expr) -> Typed {
        let at = expression.at.start..expression.at.start + name.len();
        let Some(function) = FUNCTIONS.iter().find(|function| function.name == name) else {
            let (known, hint) = names(FUNCTIONS.iter().map(|function| function.name), name);
            return Err(Wrong::new(at, format!("one of the functions {known}")).hinted(hint));
        };
        let (least, most) = function.arguments;
        if arguments.len() < least || arguments.len() > most {
            let found = format!("{} arguments", arguments.len());
            return Err(Wrong::new(at, function.call).found(found));
        }
        let (id, kind) = match (name, arguments) {
            ("min" | "max", [x]) => {
                let aggregate = if name == "min" { Aggregate::Min } else { Aggregate::Max };
                let id = self.number(x)?;
                (self.aggregate(aggregate, id, x)?, Type::Number)
            }
            ("min" | "max", [first, others @ ..]) => {
                let function = if name == "min" { Binary::Min } else { Binary::Max };
                let mut id = self.number(first)?;
                for x in others {
                    let x = self.number(x)?;
                    id = self.dag.add(Node::Binary(function, id, x));
                }
                (id, Type::Number)
            }
            ("count", [x]) => {
                let id = self.truth(x)?;
                (self.aggregate(Aggregate::Count, id, x)?, Type::Number)
            }
            ("best", [x]) => {
                let id = self.number(x)?;
                let of_all = self.aggregate(Aggregate::Min, id, x)?;
                match self.part("allowed") {
                    None => (of_all, Type::Number),
                    Some((part, _)) if self.open.contains(&part) => {
                        return Err(Wrong::new(at, "an expression without `best`, which needs `allowed` itself"));
                    }
                    Some((part, allowed)) => {
                        let allowed = self.named_truth(part, allowed)?;
                        let nothing = self.dag.number(f64::INFINITY);
                        let id = self.dag.add(Node::Choose(allowed, id, nothing));
                        // if `allowed` is constant, this may be constant too
                        let column = self.dag.get(id).column;
                        (if column { self.dag.add(Node::Aggregate(Aggregate::Min, id)) } else { id }, Type::Number)
                    }
                }
            }
            ("clamp", [x, low, high]) => {
                let (x, low, high) = (self.number(x)?, self.number(low)?, self.number(high)?);
                let raised = self.dag.add(Node::Binary(Binary::Max, x, low));
                (self.dag.add(Node::Binary(Binary::Min, raised, high)), Type::Number)
            }
            ("if", [condition, x, y]) => {
                let condition = self.truth(condition)?;
                let ((x, of_x), (y, of_y)) = (self.expression(x)?, self.expression(y)?);
                let typed = if of_x == of_y { of_x } else { Type::Number };
                (self.dag.add(Node::Choose(condition, x, y)), typed)
            }
            (_, arguments) => {
                let function = match name {
                    "abs" => Unary::Abs,
                    "floor" => Unary::Floor,
                    "sqrt" => Unary::Sqrt,
                    "exp" => Unary::Exp,
                    _ => Unary::Log,
                };
                let x = arguments.first().map_or(Ok(0), |x| self.number(x))?;
                (self.dag.add(Node::Unary(function, x)), Type::Number)
            }
        };
        self.in_time(id, kind, expression)
    }

    fn aggregate(&mut self, aggregate: Aggregate, id: Id, argument: &Expr) -> Result<Id, Wrong> {
        if self.dag.get(id).column {
            return Ok(self.dag.add(Node::Aggregate(aggregate, id)));
        }
        Err(one_a_value(argument))
    }
}

fn one_a_value(expression: &Expr) -> Wrong {
    Wrong::new(expression.at.clone(), "one number a value, such as cost").found("one number a visit")
}
