//! Function bodies: statements in lines, with blocks by indentation.

use super::compute::Values;
use super::{DEPTH, Expr, Expression, Kind, Operator, Parser, Value, Word};
use crate::text::Wrong;
use std::ops::Range;

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Statement<'a> {
    Return(Expr<'a>),
    Assign(usize, Expr<'a>),
    /// Conditions with their blocks, and the `else` block.
    If(Vec<(Expr<'a>, Vec<Statement<'a>>)>, Vec<Statement<'a>>),
}

const STATEMENT: &str = "an assignment, `if`, `elif`, `else`, `pass` or `return`";

/// Operators of augmented assignments.
const CHANGES: [(&str, Operator); 4] =
    [("+=", Operator::Add), ("-=", Operator::Subtract), ("*=", Operator::Multiply), ("/=", Operator::Divide)];

/// Returns whether a text is a function body, that is, contains the word `return`.
pub(super) fn are_in(text: &str) -> bool {
    text.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "return")
}

/// A line of code: its indentation, and the byte range of its text.
struct Line {
    indent: usize,
    at: Range<usize>,
}

/// Splits a text into lines without comments, and omits empty lines; a line continues while parentheses are open.
fn lines(text: &str) -> Vec<Line> {
    let (mut lines, mut start, mut open, mut quote, mut comment) = (Vec::new(), 0, 0i32, None, None);
    for (at, c) in text.char_indices().chain([(text.len(), '\n')]) {
        match (c, quote) {
            ('\n', _) if open <= 0 || at == text.len() => {
                let code = text[start..comment.unwrap_or(at)].trim_end();
                let inner = code.trim_start();
                if !inner.is_empty() {
                    let indent = code.len() - inner.len();
                    lines.push(Line { indent, at: start + indent..start + code.len() });
                }
                (start, open, quote, comment) = (at + 1, 0, None, None);
            }
            _ if comment.is_some() => {}
            (_, Some(own)) => quote = quote.filter(|_| c != own),
            ('"' | '\'', None) => quote = Some(c),
            ('#', None) if open <= 0 => comment = Some(at),
            ('(', None) => open += 1,
            (')', None) => open -= 1,
            _ => {}
        }
    }
    lines
}

/// Parses the statements of a function body.
pub(super) fn body<'a>(parser: &mut Parser<'a, '_>) -> Result<Vec<Statement<'a>>, Wrong> {
    let whole = parser.text;
    let lines = lines(whole);
    let mut blocks = Blocks { parser, whole, left: &lines };
    let body = blocks.block(lines.first().map_or(0, |line| line.indent), 0)?;
    match blocks.left.first() {
        Some(line) => Err(Wrong::new(line.at.clone(), "a line with the indentation of those before it")),
        None => Ok(body),
    }
}

/// A function body while it is parsed.
struct Blocks<'p, 'a, 'b> {
    parser: &'p mut Parser<'a, 'b>,
    whole: &'a str,
    /// The lines that are not yet parsed.
    left: &'p [Line],
}

impl<'a> Blocks<'_, 'a, '_> {
    /// Parses the statements of one indentation; `depth` is the number of enclosing blocks.
    fn block(&mut self, indent: usize, depth: u32) -> Result<Vec<Statement<'a>>, Wrong> {
        let mut statements = Vec::new();
        while let [line, ..] = self.left
            && line.indent == indent
        {
            if depth > DEPTH {
                return Err(Wrong::new(line.at.clone(), format!("blocks of at most {DEPTH} levels")));
            }
            self.begin(line)?;
            match self.parser.next.0 {
                Word::Name("if") => statements.push(self.cases(indent, depth)?),
                _ => statements.extend(simple(self.parser)?),
            }
        }
        Ok(statements)
    }

    /// Parses an `if` statement whose first word is the current one.
    fn cases(&mut self, indent: usize, depth: u32) -> Result<Statement<'a>, Wrong> {
        let mut cases = Vec::new();
        loop {
            // skip the word `if` or `elif`
            self.parser.advance()?;
            let condition = self.parser.ternary()?;
            cases.push((condition, self.after_colon(indent, depth)?));
            let Some(next) = self.left.first().filter(|next| next.indent == indent) else { break };
            let is = |word: &str| {
                let rest = self.whole[next.at.clone()].strip_prefix(word);
                rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
            };
            let (is_elif, is_else) = (is("elif"), is("else"));
            if !is_elif && !is_else {
                break;
            }
            self.begin(next)?;
            if is_else {
                self.parser.advance()?;
                return Ok(Statement::If(cases, self.after_colon(indent, depth)?));
            }
        }
        Ok(Statement::If(cases, Vec::new()))
    }

    /// Starts to parse the next line at its first word.
    fn begin(&mut self, line: &Line) -> Result<(), Wrong> {
        self.left = &self.left[1..];
        self.parser.text = &self.whole[..line.at.end];
        self.parser.place = line.at.start;
        self.parser.advance()
    }

    /// Parses a colon, and a statement on the same line or an indented block.
    fn after_colon(&mut self, indent: usize, depth: u32) -> Result<Vec<Statement<'a>>, Wrong> {
        self.parser.must_take(":")?;
        if self.parser.next.0 != Word::End {
            return Ok(simple(self.parser)?.into_iter().collect());
        }
        match self.left.first() {
            Some(next) if next.indent > indent => self.block(next.indent, depth + 1),
            _ => Err(self.parser.unexpected("a block of deeper lines")),
        }
    }
}

/// Parses a statement that fills a line. Returns `None` for `pass` and `import math`.
fn simple<'a>(parser: &mut Parser<'a, '_>) -> Result<Option<Statement<'a>>, Wrong> {
    let (word, at) = parser.next.clone();
    let Word::Name(name) = word else { return Err(parser.unexpected(STATEMENT)) };
    parser.advance()?;
    let statement = match name {
        "return" => Some(Statement::Return(parser.ternary()?)),
        "pass" => None,
        "import" if parser.takes("math")? => None,
        _ => {
            let change = match parser.next.0 {
                Word::Symbol("=") => None,
                Word::Symbol(symbol) => {
                    let known = CHANGES.iter().find(|(known, _)| *known == symbol);
                    Some(known.ok_or_else(|| Wrong::new(at.clone(), STATEMENT))?.1)
                }
                _ => return Err(Wrong::new(at, STATEMENT)),
            };
            parser.advance()?;
            let before = change.map(|operator| (operator, parser.named(name)));
            let value = parser.ternary()?;
            let value = match before {
                None => value,
                Some((operator, Some(kind))) => {
                    let first = Expr { kind, at: at.clone() };
                    let whole = at.start..value.at.end;
                    Expr { kind: Kind::Arithmetic(Box::new(first), vec![(operator, value)]), at: whole }
                }
                Some((_, None)) => return Err(Wrong::new(at, "a name that is assigned before")),
            };
            Some(Statement::Assign(local(parser, name, at), value))
        }
    };
    if parser.next.0 != Word::End {
        return Err(parser.unexpected("an operator or the end of the line"));
    }
    Ok(statement)
}

/// Returns the index of a local name, which keeps its previous meaning until it is assigned.
fn local<'a>(parser: &mut Parser<'a, '_>, name: &'a str, at: Range<usize>) -> usize {
    if let Some(known) = parser.names.iter().position(|known| *known == name) {
        return known;
    }
    let before = parser.named(name).map(|kind| Expr { kind, at });
    parser.names.push(name);
    parser.locals.push(before);
    parser.names.len() - 1
}

impl<'a> Expression<'a> {
    /// Evaluates the expression to a number for these values of all variables.
    pub fn number(&self, value: &dyn Fn(u32) -> Value<'a>) -> Result<f64, Wrong> {
        let mut values = Values { of: value, locals: Vec::new() };
        for before in &self.locals {
            let before = before.as_ref().map(|before| before.value(&values)).transpose()?;
            values.locals.push(before);
        }
        let Some(root) = run(&self.body, &mut values)? else {
            return Err(Wrong::new(0..0, "a `return` for all values").found("none"));
        };
        let number = root.number(&values)?;
        if number.is_nan() { Err(root.fails("not a number")) } else { Ok(number) }
    }
}

/// Executes statements up to the first `return`, and returns its expression; `None` if there is none.
fn run<'s, 'a>(body: &'s [Statement<'a>], values: &mut Values<'a, '_>) -> Result<Option<&'s Expr<'a>>, Wrong> {
    for statement in body {
        match statement {
            Statement::Return(value) => return Ok(Some(value)),
            Statement::Assign(local, value) => values.locals[*local] = Some(value.value(values)?),
            Statement::If(cases, otherwise) => {
                let mut chosen = otherwise;
                for (condition, block) in cases {
                    if condition.value(values)?.is_true() {
                        chosen = block;
                        break;
                    }
                }
                if let Some(found) = run(chosen, values)? {
                    return Ok(Some(found));
                }
            }
        }
    }
    Ok(None)
}
