//! Python expressions of pyDCOP's files, over numbers, texts and truth values, which are tabulated over the domains of
//! variables. A text with `return` is a function body: assignments, `if` with `elif` and `else`, and `return`.
//!
//! The grammar is the part of Python's that such files use; anything else is an error with its position. Arithmetic
//! uses doubles, `round` rounds halves to even, and `//` and `%` round towards minus infinity, as in Python.

mod compute;
mod statements;
#[cfg(test)]
mod tests;

use crate::text::{Wrong, names};
use statements::Statement;
use std::ops::Range;

/// A value during the evaluation of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value<'a> {
    Number(f64),
    Truth(bool),
    Text(&'a str),
}

/// The meaning of a name.
pub(super) enum Meaning<'a> {
    /// A variable, given by its index.
    Variable(u32),
    /// An external variable, which has a constant value.
    Fixed(Value<'a>),
}

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Expression<'a> {
    body: Vec<Statement<'a>>,
    /// The initial value of each local name: that of the variable with this name, if there is one.
    locals: Vec<Option<Expr<'a>>>,
    /// The variables that the expression reads, ascending.
    pub variables: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Expr<'a> {
    kind: Kind<'a>,
    at: Range<usize>,
}

#[derive(Clone, Debug)]
enum Kind<'a> {
    Value(Value<'a>),
    Variable(u32),
    /// A name that statements assign.
    Local(usize),
    Minus(Box<Expr<'a>>),
    Plus(Box<Expr<'a>>),
    Not(Box<Expr<'a>>),
    /// A left-associative chain: the first operand, and the others, each with the operator before it.
    Arithmetic(Box<Expr<'a>>, Vec<(Operator, Expr<'a>)>),
    Compared(Box<Expr<'a>>, Vec<(Comparison, Expr<'a>)>),
    And(Vec<Expr<'a>>),
    Or(Vec<Expr<'a>>),
    /// A conditional expression: value, condition, value otherwise.
    If(Box<[Expr<'a>; 3]>),
    Call(Function, Vec<Expr<'a>>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Floor,
    Modulo,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Differ,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Abs,
    Round,
    Min,
    Max,
    Int,
    Float,
    Sqrt,
    Floor,
    Ceil,
    Exp,
    Log,
}

/// The functions, with their minimum and maximum numbers of arguments.
const FUNCTIONS: [(&str, Function, usize, usize); 11] = [
    ("abs", Function::Abs, 1, 1),
    ("round", Function::Round, 1, 2),
    ("min", Function::Min, 2, usize::MAX),
    ("max", Function::Max, 2, usize::MAX),
    ("int", Function::Int, 1, 1),
    ("float", Function::Float, 1, 1),
    ("math.sqrt", Function::Sqrt, 1, 1),
    ("math.floor", Function::Floor, 1, 1),
    ("math.ceil", Function::Ceil, 1, 1),
    ("math.exp", Function::Exp, 1, 1),
    ("math.log", Function::Log, 1, 2),
];

/// Names of constants.
const CONSTANTS: [(&str, Value<'static>); 5] = [
    ("True", Value::Truth(true)),
    ("False", Value::Truth(false)),
    ("math.pi", Value::Number(std::f64::consts::PI)),
    ("math.e", Value::Number(std::f64::consts::E)),
    ("math.inf", Value::Number(f64::INFINITY)),
];

/// Words that cannot be names.
const WORDS: [&str; 7] = ["if", "elif", "else", "and", "or", "not", "return"];

/// The maximum nesting depth of expressions, so that no file overflows the stack.
const DEPTH: u32 = 100;

/// Operators and punctuation; longer ones precede their prefixes.
const SYMBOLS: [&str; 23] = [
    "**", "//", "<=", ">=", "==", "!=", "<>", "+=", "-=", "*=", "/=", "<", ">", "+", "-", "*", "/", "%", "(", ")", ",",
    "=", ":",
];

const OPERAND: &str = "a number, a name, a text in quotes, `(`, `-` or `not`";

/// A word of the text.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word<'a> {
    Number(f64),
    Text(&'a str),
    Name(&'a str),
    Symbol(&'static str),
    End,
}

/// Parses an expression; `meaning` resolves names, and `all` lists the existing names for hints. Positions are bytes of
/// `text`.
pub(super) fn parse<'a>(
    text: &'a str,
    meaning: &dyn Fn(&str) -> Option<Meaning<'a>>,
    all: &[Box<str>],
) -> Result<Expression<'a>, Wrong> {
    let mut parser = Parser {
        text,
        place: 0,
        next: (Word::End, 0..0),
        depth: 0,
        meaning,
        all,
        variables: Vec::new(),
        names: Vec::new(),
        locals: Vec::new(),
    };
    let body = if statements::are_in(text) { statements::body(&mut parser)? } else { vec![parser.whole()?] };
    parser.variables.sort_unstable();
    parser.variables.dedup();
    Ok(Expression { body, locals: parser.locals, variables: parser.variables })
}

struct Parser<'a, 'b> {
    text: &'a str,
    place: usize,
    next: (Word<'a>, Range<usize>),
    depth: u32,
    meaning: &'b dyn Fn(&str) -> Option<Meaning<'a>>,
    all: &'b [Box<str>],
    variables: Vec<u32>,
    /// Names that statements assign, and their initial values.
    names: Vec<&'a str>,
    locals: Vec<Option<Expr<'a>>>,
}

impl<'a> Parser<'a, '_> {
    /// Parses a single expression.
    fn whole(&mut self) -> Result<Statement<'a>, Wrong> {
        self.advance()?;
        let root = self.ternary()?;
        if self.next.0 != Word::End {
            return Err(self.unexpected("an operator or the end of the expression"));
        }
        Ok(Statement::Return(root))
    }

    fn unexpected(&self, expected: &str) -> Wrong {
        let wrong = Wrong::new(self.next.1.clone(), expected);
        match self.next.0 {
            Word::End => wrong.found("the end of the expression"),
            Word::Symbol("=") => wrong.hint("equality is `==`"),
            Word::Name("if") => wrong.hint("an expression has `x if c else y`, statements end with `return`"),
            _ => wrong,
        }
    }

    /// Advances to the next word.
    fn advance(&mut self) -> Result<(), Wrong> {
        let rest = &self.text[self.place..];
        let start = self.place + (rest.len() - rest.trim_start().len());
        let rest = &self.text[start..];
        let (word, length) = match rest.chars().next() {
            None => (Word::End, 0),
            Some(c) if c.is_ascii_digit() || (c == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit())) => {
                let length = number_length(rest);
                let number = rest[..length].replace('_', "").parse().ok();
                let at = start..start + length;
                (Word::Number(number.ok_or_else(|| Wrong::new(at, "a number"))?), length)
            }
            Some(c) if c.is_alphabetic() || c == '_' => {
                let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.')).unwrap_or(rest.len());
                (Word::Name(&rest[..length]), length)
            }
            Some(quote @ ('"' | '\'')) => {
                let Some(length) = rest[1..].find(quote) else {
                    return Err(Wrong::new(start..self.text.len(), format!("a text that ends with {quote}")));
                };
                let inner = &rest[1..1 + length];
                if inner.contains(['\\', '\n']) {
                    let at = start..start + length + 2;
                    return Err(Wrong::new(at, "a text on one line without `\\`"));
                }
                (Word::Text(inner), length + 2)
            }
            Some(c) => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Word::Symbol(symbol), symbol.len()),
                None => {
                    let hint = "of Python's expressions, arithmetic, comparisons, and/or/not, if/else and some \
                                functions are read";
                    return Err(Wrong::new(start..start + c.len_utf8(), OPERAND).hint(hint));
                }
            },
        };
        self.next = (word, start..start + length);
        self.place = start + length;
        Ok(())
    }

    /// Consumes the next word if it is this name or symbol.
    fn takes(&mut self, wanted: &str) -> Result<bool, Wrong> {
        let is = matches!(self.next.0, Word::Name(word) | Word::Symbol(word) if word == wanted);
        if is {
            self.advance()?;
        }
        Ok(is)
    }

    fn must_take(&mut self, wanted: &str) -> Result<(), Wrong> {
        if self.takes(wanted)? { Ok(()) } else { Err(self.unexpected(&format!("`{wanted}`"))) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Wrong>) -> Result<T, Wrong> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(Wrong::new(self.next.1.clone(), format!("an expression of at most {DEPTH} levels")));
        }
        let read = read(self)?;
        self.depth -= 1;
        Ok(read)
    }

    fn ternary(&mut self) -> Result<Expr<'a>, Wrong> {
        self.deeper(|parser| {
            let value = parser.or()?;
            if !parser.takes("if")? {
                return Ok(value);
            }
            let condition = parser.or()?;
            parser.must_take("else")?;
            let other = parser.ternary()?;
            let at = value.at.start..other.at.end;
            Ok(Expr { kind: Kind::If(Box::new([value, condition, other])), at })
        })
    }

    fn or(&mut self) -> Result<Expr<'a>, Wrong> {
        self.list("or", Kind::Or, Self::and)
    }

    fn and(&mut self) -> Result<Expr<'a>, Wrong> {
        self.list("and", Kind::And, Self::not)
    }

    fn list(
        &mut self,
        word: &str,
        kind: fn(Vec<Expr<'a>>) -> Kind<'a>,
        operand: fn(&mut Self) -> Result<Expr<'a>, Wrong>,
    ) -> Result<Expr<'a>, Wrong> {
        let first = operand(self)?;
        let (start, mut end) = (first.at.start, first.at.end);
        let mut all = vec![first];
        while self.takes(word)? {
            all.push(operand(self)?);
            end = all[all.len() - 1].at.end;
        }
        match all.len() {
            1 => Ok(all.remove(0)),
            _ => Ok(Expr { kind: kind(all), at: start..end }),
        }
    }

    fn not(&mut self) -> Result<Expr<'a>, Wrong> {
        let start = self.next.1.start;
        if !self.takes("not")? {
            return self.comparison();
        }
        let inner = self.deeper(Self::not)?;
        Ok(Expr { at: start..inner.at.end, kind: Kind::Not(Box::new(inner)) })
    }

    fn comparison(&mut self) -> Result<Expr<'a>, Wrong> {
        let first = self.sum()?;
        let mut others = Vec::new();
        loop {
            let comparison = match self.next.0 {
                Word::Symbol("<") => Comparison::Less,
                Word::Symbol("<=") => Comparison::AtMost,
                Word::Symbol(">") => Comparison::Greater,
                Word::Symbol(">=") => Comparison::AtLeast,
                Word::Symbol("==") => Comparison::Equal,
                Word::Symbol("!=") => Comparison::Differ,
                _ => break,
            };
            self.advance()?;
            others.push((comparison, self.sum()?));
        }
        let Some((_, last)) = others.last() else { return Ok(first) };
        let at = first.at.start..last.at.end;
        Ok(Expr { kind: Kind::Compared(Box::new(first), others), at })
    }

    fn sum(&mut self) -> Result<Expr<'a>, Wrong> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.chain(&operators, Self::product)
    }

    fn product(&mut self) -> Result<Expr<'a>, Wrong> {
        let operators =
            [("*", Operator::Multiply), ("/", Operator::Divide), ("//", Operator::Floor), ("%", Operator::Modulo)];
        self.chain(&operators, Self::signed)
    }

    fn chain(
        &mut self,
        operators: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Expr<'a>, Wrong>,
    ) -> Result<Expr<'a>, Wrong> {
        let first = operand(self)?;
        let mut others = Vec::new();
        while let Word::Symbol(symbol) = self.next.0
            && let Some(&(_, operator)) = operators.iter().find(|(known, _)| *known == symbol)
        {
            self.advance()?;
            others.push((operator, operand(self)?));
        }
        let Some((_, last)) = others.last() else { return Ok(first) };
        let at = first.at.start..last.at.end;
        Ok(Expr { kind: Kind::Arithmetic(Box::new(first), others), at })
    }

    fn signed(&mut self) -> Result<Expr<'a>, Wrong> {
        let start = self.next.1.start;
        let kind: fn(Box<Expr<'a>>) -> Kind<'a> = match self.next.0 {
            Word::Symbol("-") => Kind::Minus,
            Word::Symbol("+") => Kind::Plus,
            _ => return self.power(),
        };
        self.advance()?;
        let inner = self.deeper(Self::signed)?;
        Ok(Expr { at: start..inner.at.end, kind: kind(Box::new(inner)) })
    }

    /// Parses a power, which binds tighter than a sign on its left and looser than one on its right.
    fn power(&mut self) -> Result<Expr<'a>, Wrong> {
        let base = self.operand()?;
        if !self.takes("**")? {
            return Ok(base);
        }
        let exponent = self.deeper(Self::signed)?;
        let at = base.at.start..exponent.at.end;
        Ok(Expr { kind: Kind::Arithmetic(Box::new(base), vec![(Operator::Power, exponent)]), at })
    }

    fn operand(&mut self) -> Result<Expr<'a>, Wrong> {
        let (word, at) = self.next.clone();
        match word {
            Word::Number(number) => {
                self.advance()?;
                Ok(Expr { kind: Kind::Value(Value::Number(number)), at })
            }
            Word::Text(text) => {
                self.advance()?;
                Ok(Expr { kind: Kind::Value(Value::Text(text)), at })
            }
            Word::Symbol("(") => {
                self.advance()?;
                let inner = self.ternary()?;
                let end = self.next.1.end;
                self.must_take(")")?;
                Ok(Expr { at: at.start..end, ..inner })
            }
            Word::Name(name) if !WORDS.contains(&name) => {
                self.advance()?;
                if self.next.0 == Word::Symbol("(") {
                    return self.call(name, at);
                }
                let kind = match self.named(name) {
                    Some(kind) => kind,
                    None => match CONSTANTS.iter().find(|(known, _)| *known == name) {
                        Some(&(_, value)) => Kind::Value(value),
                        None => {
                            let (_, hint) = names(self.all.iter().map(|name| &**name), name);
                            return Err(Wrong::new(at, "a variable, a function or a number").hinted(hint));
                        }
                    },
                };
                Ok(Expr { kind, at })
            }
            _ => Err(self.unexpected(OPERAND)),
        }
    }

    /// Returns the meaning of a name, which may be assigned by statements; `None` if it is unknown.
    fn named(&mut self, name: &str) -> Option<Kind<'a>> {
        if let Some(local) = self.names.iter().position(|known| *known == name) {
            return Some(Kind::Local(local));
        }
        Some(match (self.meaning)(name)? {
            Meaning::Variable(variable) => {
                self.variables.push(variable);
                Kind::Variable(variable)
            }
            Meaning::Fixed(value) => Kind::Value(value),
        })
    }

    fn call(&mut self, name: &str, at: Range<usize>) -> Result<Expr<'a>, Wrong> {
        let Some(&(_, function, least, most)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
            let (known, hint) = names(FUNCTIONS.iter().map(|(name, ..)| *name), name);
            return Err(Wrong::new(at, format!("one of the functions {known}")).hinted(hint));
        };
        self.must_take("(")?;
        let mut arguments = Vec::new();
        loop {
            arguments.push(self.ternary()?);
            if !self.takes(",")? {
                break;
            }
        }
        let at = at.start..self.next.1.end;
        self.must_take(")")?;
        if arguments.len() < least || arguments.len() > most {
            let count = if least == most { least.to_string() } else { format!("at least {least}") };
            return Err(Wrong::new(at, format!("{count} arguments of {name}")));
        }
        Ok(Expr { kind: Kind::Call(function, arguments), at })
    }
}

/// Returns the number of bytes of the number at the beginning of a text.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|byte| byte.is_ascii_digit() || *byte == b'_') {
            at += 1;
        }
        at
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if bytes.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}
