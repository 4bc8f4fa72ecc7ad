//! Random heuristics: their text, and their meaning by direct evaluation of their trees, value by value.

use fangs_base::rng::Rng;
use fangs_heuristics::language::Numbers;
use fangs_heuristics::language::arithmetic::{exp, log, max, min, scale};
use fangs_heuristics::{INPUTS, Kind};
use std::fmt::{self, Display, Formatter};

/// An expression.
#[derive(Clone, Debug)]
pub enum Tree {
    Number(f64),
    /// An input by its index; the tables `priority` and `wish` follow the inputs.
    Input(usize),
    Group,
    Rating,
    Call(&'static str, Vec<Tree>),
    Minus(Box<Tree>),
    Not(Box<Tree>),
    Joined(&'static str, Box<Tree>, Box<Tree>),
}

pub const PRIORITY: usize = INPUTS.len();
pub const WISH: usize = INPUTS.len() + 1;
pub const INPUTS_AND_TABLES: usize = INPUTS.len() + 2;

/// The known numbers: one of each input and table for each value.
#[derive(Clone, Debug)]
pub struct Visit {
    pub variable: usize,
    pub known: Vec<[f64; INPUTS_AND_TABLES]>,
    columns: Vec<Vec<f64>>,
}

/// A heuristic.
#[derive(Clone, Debug)]
pub struct Sample {
    pub active: Option<Tree>,
    pub allowed: Option<Tree>,
    pub rating: Tree,
    pub weight: Option<Tree>,
    pub largest: Option<Tree>,
}

/// What an expression may refer to.
#[derive(Clone, Copy)]
struct May {
    columns: bool,
    /// Limit on the nesting of aggregates.
    aggregates: u32,
    rating: bool,
    best: bool,
}

fn pick<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[rng.index(items.len())]
}

impl Tree {
    fn column(rng: &mut Rng) -> Tree {
        let columns: Vec<usize> = (0..INPUTS.len()).filter(|&place| INPUTS[place].kind == Kind::Column).collect();
        let place = pick(rng, &columns);
        Tree::Input(if rng.below(8) == 0 { WISH } else { place })
    }

    fn scalar(rng: &mut Rng) -> Tree {
        let scalars: Vec<usize> = (0..INPUTS.len() - 1).filter(|&place| INPUTS[place].kind == Kind::Scalar).collect();
        match rng.below(6) {
            0 => Tree::Number(pick(rng, &[0.0, 1.0, 2.0, 0.5, 10.0, 1e-3, 1e9, 1e300, 0.1])),
            1 => Tree::Number((rng.unit() * 100.0).round()),
            2 if rng.below(2) == 0 => Tree::Group,
            3 => Tree::Input(PRIORITY),
            _ => Tree::Input(pick(rng, &scalars)),
        }
    }

    fn number(rng: &mut Rng, depth: u32, may: May) -> Tree {
        if depth == 0 || rng.below(8) == 0 {
            return match rng.below(4) {
                0 if may.rating => Tree::Rating,
                1 | 2 if may.columns => Tree::column(rng),
                _ => Tree::scalar(rng),
            };
        }
        let next = |rng: &mut Rng| Tree::number(rng, depth - 1, may);
        match rng.below(12) {
            0 => Tree::Call(pick(rng, &["abs", "floor", "sqrt", "exp", "log"]), vec![next(rng)]),
            1 => Tree::Call("exp", vec![Tree::Minus(next(rng).into())]),
            2 => Tree::Minus(next(rng).into()),
            3 => {
                let count = 2 + rng.index(3);
                Tree::Call(pick(rng, &["min", "max"]), (0..count).map(|_| next(rng)).collect())
            }
            4 => Tree::Call("clamp", vec![next(rng), next(rng), next(rng)]),
            5 => Tree::Call("if", vec![Tree::truth(rng, depth - 1, may), next(rng), next(rng)]),
            6 | 7 if may.aggregates > 0 && may.columns => {
                let inner = May { aggregates: may.aggregates - 1, ..may };
                let column = Tree::column(rng);
                if rng.below(4) == 0 {
                    let compared = Tree::number(rng, depth - 1, inner);
                    let truth = Tree::Joined(pick(rng, COMPARISONS), column.into(), compared.into());
                    return Tree::Call("count", vec![truth]);
                }
                let other = Tree::number(rng, depth - 1, inner);
                let joined = Tree::Joined(pick(rng, &["+", "-", "*", "/"]), column.into(), other.into());
                let name = pick(rng, if may.best { &["min", "max", "best"] } else { &["min", "max"] });
                Tree::Call(name, vec![joined])
            }
            8 => Tree::truth(rng, depth - 1, may),
            _ => Tree::Joined(pick(rng, &["+", "-", "*", "/"]), next(rng).into(), next(rng).into()),
        }
    }

    fn truth(rng: &mut Rng, depth: u32, may: May) -> Tree {
        if depth > 0 {
            let next = |rng: &mut Rng| Tree::truth(rng, depth - 1, may).into();
            match rng.below(5) {
                0 => return Tree::Not(next(rng)),
                1 => return Tree::Joined(pick(rng, &["and", "or"]), next(rng), next(rng)),
                _ => {}
            }
        }
        let depth = depth.saturating_sub(1);
        let sides = [0; 2].map(|_| Tree::number(rng, depth, may));
        let [x, y] = sides.map(Box::new);
        Tree::Joined(pick(rng, COMPARISONS), x, y)
    }

    /// Returns the value of the expression for a value of the variable.
    pub fn value(&self, sample: &Sample, visit: &Visit, value: usize) -> f64 {
        let of = |tree: &Tree| tree.value(sample, visit, value);
        let truth = |holds: bool| f64::from(u8::from(holds));
        match self {
            Tree::Number(number) => *number,
            Tree::Input(place) => visit.known[value][*place],
            Tree::Group => [0.0, 1.0, -1.0][visit.variable % 3],
            Tree::Rating => of(&sample.rating),
            Tree::Minus(x) => -of(x),
            Tree::Not(x) => truth(of(x) == 0.0),
            Tree::Joined(operator, x, y) => {
                let (x, y) = (of(x), of(y));
                match *operator {
                    "+" => x + y,
                    "-" => x - y,
                    "*" => x * y,
                    "/" => x / y,
                    "<" => truth(x < y),
                    "<=" => truth(x <= y),
                    ">" => truth(x > y),
                    ">=" => truth(x >= y),
                    "==" => truth(x == y),
                    "!=" => truth(x != y),
                    "and" => truth(x != 0.0 && y != 0.0),
                    "or" => truth(x != 0.0 || y != 0.0),
                    other => panic!("{other}"),
                }
            }
            Tree::Call(name, arguments) => {
                let first = || of(&arguments[0]);
                let column = || (0..visit.known.len()).map(|value| arguments[0].value(sample, visit, value) + 0.0);
                match (*name, arguments.len()) {
                    ("abs", _) => first().abs(),
                    ("floor", _) => first().floor(),
                    ("sqrt", _) => first().sqrt(),
                    ("exp", _) => exp(first()),
                    ("log", _) => log(first()),
                    ("clamp", _) => min(max(first(), of(&arguments[1])), of(&arguments[2])),
                    ("if", _) => of(&arguments[if first() != 0.0 { 1 } else { 2 }]),
                    ("count", _) => column().filter(|&holds| holds != 0.0).count() as f64,
                    ("min", 1) => column().fold(f64::INFINITY, min),
                    ("max", 1) => column().fold(f64::NEG_INFINITY, max),
                    ("best", _) => {
                        let allowed = |value: usize| sample.allows(visit, value);
                        let numbers = column().enumerate().filter(|(value, _)| allowed(*value));
                        numbers.map(|(_, number)| number).fold(f64::INFINITY, min)
                    }
                    ("min", _) => arguments[1..].iter().fold(first(), |least, x| min(least, of(x))),
                    ("max", _) => arguments[1..].iter().fold(first(), |most, x| max(most, of(x))),
                    (other, _) => panic!("{other}"),
                }
            }
        }
    }

    /// Returns the precedence of the expression's operator.
    fn level(&self) -> u32 {
        match self {
            Tree::Joined("or", ..) => 1,
            Tree::Joined("and", ..) => 2,
            Tree::Not(_) => 3,
            Tree::Joined("+" | "-", ..) => 5,
            Tree::Joined("*" | "/", ..) => 6,
            Tree::Joined(..) => 4,
            Tree::Minus(_) => 7,
            _ => 8,
        }
    }

    /// Writes the expression with brackets only if they are needed.
    fn show(&self, f: &mut Formatter<'_>, level: u32) -> fmt::Result {
        if self.level() < level {
            write!(f, "(")?;
            self.show(f, 0)?;
            return write!(f, ")");
        }
        match self {
            Tree::Number(number) => write!(f, "{number:?}"),
            Tree::Input(PRIORITY) => write!(f, "priority"),
            Tree::Input(WISH) => write!(f, "wish"),
            Tree::Input(place) => write!(f, "{}", INPUTS[*place].name),
            Tree::Group => write!(f, "group"),
            Tree::Rating => write!(f, "rating"),
            Tree::Minus(x) => {
                write!(f, "-")?;
                x.show(f, 7)
            }
            Tree::Not(x) => {
                write!(f, "not ")?;
                x.show(f, 3)
            }
            Tree::Joined(operator, x, y) => {
                let compares = COMPARISONS.contains(operator);
                x.show(f, self.level() + u32::from(compares))?;
                write!(f, " {operator} ")?;
                y.show(f, self.level() + 1)
            }
            Tree::Call(name, arguments) => {
                write!(f, "{name}(")?;
                for (index, argument) in arguments.iter().enumerate() {
                    write!(f, "{}", if index > 0 { ", " } else { "" })?;
                    argument.show(f, 0)?;
                }
                write!(f, ")")
            }
        }
    }
}

const COMPARISONS: &[&str] = &["<", "<=", ">", ">=", "==", "!="];

impl Display for Tree {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.show(f, 0)
    }
}

impl Sample {
    pub fn random(rng: &mut Rng) -> Sample {
        let depth = 1 + rng.below(5) as u32;
        let some = |rng: &mut Rng, share: u64| rng.below(share) == 0;
        let may = May { columns: true, aggregates: 2, rating: false, best: false };
        let early = May { columns: false, aggregates: 0, ..may };
        Sample {
            active: some(rng, 2).then(|| Tree::truth(rng, depth, early)),
            allowed: some(rng, 3).then(|| Tree::truth(rng, depth.min(3), May { rating: true, aggregates: 1, ..may })),
            rating: {
                let (column, other) =
                    (Tree::column(rng), Tree::number(rng, depth.min(3), May { aggregates: 1, ..may }));
                Tree::Joined(pick(rng, &["+", "-", "*", "/"]), column.into(), other.into())
            },
            weight: (!some(rng, 8)).then(|| Tree::number(rng, depth, May { rating: true, best: true, ..may })),
            largest: some(rng, 4).then(|| Tree::scalar(rng)),
        }
    }

    /// Returns the file.
    pub fn text(&self, priority: &str, wish: &str) -> String {
        let mut text = format!("rating = \"{}\"\n", self.rating);
        for (name, tree) in
            [("active", &self.active), ("allowed", &self.allowed), ("weight", &self.weight), ("largest", &self.largest)]
        {
            text.extend(tree.iter().map(|tree| format!("{name} = '{tree}'\n")));
        }
        text + &format!("[tables]\npriority = '{priority}'\nwish = {{ file = '{wish}', default = -2.5 }}\n")
            + "[groups]\nfirst = [0, 3, 6]\nsecond = [1, 4, 7]\n"
    }

    fn allows(&self, visit: &Visit, value: usize) -> bool {
        self.allowed.as_ref().is_none_or(|allowed| allowed.value(self, visit, value) != 0.0)
    }

    pub fn is_active(&self, visit: &Visit) -> bool {
        self.active.as_ref().is_none_or(|active| active.value(self, visit, 0) != 0.0)
    }

    /// Returns the weights, and the first value whose weight is NaN.
    pub fn weights(&self, visit: &Visit) -> (Vec<u32>, Option<usize>) {
        let values = 0..visit.known.len();
        let least = values.clone().map(|value| self.rating.value(self, visit, value) + 0.0).fold(f64::INFINITY, min);
        let temperature = INPUTS.iter().position(|input| input.name == "temperature").expect("it is in the list");
        let real = |value: usize| match &self.weight {
            _ if !self.allows(visit, value) => 0.0,
            Some(weight) => weight.value(self, visit, value),
            None => exp((least - self.rating.value(self, visit, value)) / visit.known[value][temperature]),
        };
        let reals: Vec<f64> = values.map(real).collect();
        let told = match (&self.largest, &self.weight) {
            (Some(largest), _) => Some(largest.value(self, visit, 0)),
            (None, None) => Some(1.0),
            (None, Some(_)) => None,
        };
        let top = told.unwrap_or_else(|| reals.iter().copied().filter(|real| !real.is_nan()).fold(0.0, f64::max));
        let weights = reals.iter().map(|&real| scale(real, top)).collect();
        let strange = if told.is_some() && (top <= 0.0 || top.is_nan()) {
            Some(0)
        } else {
            reals.iter().position(|real| real.is_nan())
        };
        (weights, strange)
    }
}

impl Visit {
    /// Returns random inputs of a variable with `domain` values, sometimes infinite, huge or NaN.
    pub fn random(rng: &mut Rng, variable: usize, domain: usize, priority: f64, wishes: &[f64]) -> Visit {
        let wild = rng.below(4) == 0;
        let mut number = |name: &str| match (name, rng.below(40)) {
            ("temperature", _) => rng.unit() * 10.0 + 0.01,
            (_, 0) if wild => pick(rng, &[f64::INFINITY, f64::NAN, -0.0, 1e308, 5e-324, -1e9, 700.0]),
            (_, 1..=20) => rng.below(5) as f64,
            (_, 21..=24) => rng.unit() - 0.5,
            _ => rng.unit() * 1000.0,
        };
        let scalars: Vec<f64> = INPUTS.iter().map(|input| number(input.name)).collect();
        let row = |value: usize| {
            std::array::from_fn(|place| match place {
                PRIORITY => priority,
                WISH => wishes[value],
                place => match (INPUTS[place].name, INPUTS[place].kind) {
                    ("value", _) => value as f64,
                    ("domain", _) => domain as f64,
                    ("group", _) => [0.0, 1.0, -1.0][variable % 3],
                    (_, Kind::Scalar) => scalars[place],
                    (name, Kind::Column) => number(name),
                },
            })
        };
        let known: Vec<[f64; INPUTS_AND_TABLES]> = (0..domain).map(row).collect();
        let columns = (0..INPUTS.len()).map(|place| known.iter().map(|known| known[place]).collect()).collect();
        Visit { variable, known, columns }
    }

    /// Changes an input's column.
    pub fn set(&mut self, name: &str, numbers: &[f64]) {
        let place = INPUTS.iter().position(|input| input.name == name).expect("it is in the list");
        self.columns[place] = numbers.to_vec();
        for (known, &number) in self.known.iter_mut().zip(numbers) {
            known[place] = number;
        }
    }
}

impl Numbers for Visit {
    fn scalar(&self, place: usize) -> f64 {
        self.known[0][place]
    }

    fn column(&self, place: usize) -> &[f64] {
        &self.columns[place]
    }
}
