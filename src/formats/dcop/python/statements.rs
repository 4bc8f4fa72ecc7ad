//! Functions of several lines, as pyDCOP takes them: values for names, `if`, `elif`, `else` and `return`. There are no
//! loops, so that each call ends.

use super::{DEPTH, Expr, Kind, Meaning, Operator, Parser, Value, Word};
use crate::formats::text::Wrong;
use std::ops::Range;

/// Numbers of names that lines give a value, in place of those of variables.
const LOCAL: u32 = 1 << 31;

/// Assignments that are an operation, too.
const AUGMENTED: [(&str, Operator); 4] =
    [("+=", Operator::Add), ("-=", Operator::Subtract), ("*=", Operator::Multiply), ("/=", Operator::Divide)];

const STATEMENT: &str = "a value for a name, `if`, `elif`, `else`, `return` or `pass`";

#[derive(Debug)]
enum Statement<'a> {
    Set(u32, Expr<'a>),
    /// Conditions with what is done where each is the first to hold, and what else.
    If(Vec<(Expr<'a>, Vec<Statement<'a>>)>, Vec<Statement<'a>>),
    Return(Expr<'a>),
}

/// The lines of a function.
#[derive(Debug)]
pub(super) struct Body<'a> {
    statements: Vec<Statement<'a>>,
    locals: usize,
    at: Range<usize>,
}

impl<'a> Body<'a> {
    /// The number that is returned for these values of all variables.
    pub fn number(&self, value: &dyn Fn(u32) -> Value<'a>) -> Result<f64, Wrong> {
        let mut locals = vec![Value::Number(0.0); self.locals];
        let returned = returned(&self.statements, &mut locals, value)?;
        returned.ok_or_else(|| Wrong::new(self.at.clone(), "a function that returns a number for all values"))
    }
}

fn returned<'a>(
    statements: &[Statement<'a>],
    locals: &mut [Value<'a>],
    value: &dyn Fn(u32) -> Value<'a>,
) -> Result<Option<f64>, Wrong> {
    for statement in statements {
        let known = |v: u32| if v >= LOCAL { locals[(v - LOCAL) as usize] } else { value(v) };
        match statement {
            Statement::Return(expr) => return expr.result(&known).map(Some),
            Statement::Set(local, expr) => {
                let set = expr.value(&known)?;
                locals[*local as usize] = set;
            }
            Statement::If(branches, otherwise) => {
                let mut taken = otherwise;
                for (condition, branch) in branches {
                    if condition.value(&known)?.is_true() {
                        taken = branch;
                        break;
                    }
                }
                if let Some(number) = returned(taken, locals, value)? {
                    return Ok(Some(number));
                }
            }
        }
    }
    Ok(None)
}

/// Whether a text is the lines of a function, not an expression.
pub(super) fn is_body(text: &str) -> bool {
    let returns = |part: &str| first_word(part.trim_start()) == "return";
    text.lines().any(|line| line.split(':').any(returns))
}

/// Reads the lines of a function; returns the variables that they read, too.
pub(super) fn parse<'a>(
    text: &'a str,
    meaning: &dyn Fn(&str) -> Option<Meaning<'a>>,
    all: &[Box<str>],
) -> Result<(Body<'a>, Vec<u32>), Wrong> {
    let lines = lines(text)?;
    let mut reader = Reader {
        text,
        lines,
        at: 0,
        depth: 0,
        meaning,
        all,
        locals: Vec::new(),
        begin: Vec::new(),
        variables: Vec::new(),
    };
    let indent = reader.lines.first().map_or(0, |line| line.indent);
    let mut known = Known::default();
    let mut statements = std::mem::take(&mut reader.begin);
    let body = reader.block(indent, &mut known)?;
    if let Some(line) = reader.lines.get(reader.at) {
        return Err(Wrong::new(line.range.clone(), "the indentation of the first line"));
    }
    statements.append(&mut reader.begin);
    statements.extend(body);
    Ok((Body { statements, locals: reader.locals.len(), at: 0..text.len() }, reader.variables))
}

/// A line without its comment; lines within brackets are one.
struct Line {
    indent: usize,
    range: Range<usize>,
}

fn lines(text: &str) -> Result<Vec<Line>, Wrong> {
    let mut lines: Vec<Line> = Vec::new();
    let (mut begin, mut depth) = (0, 0usize);
    for own in text.split_inclusive('\n') {
        let (start, mut end) = (begin, begin + own.len());
        begin = end;
        let mut quote = None;
        let is_joined = depth > 0;
        for (place, c) in own.char_indices() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '(') => depth += 1,
                (None, ')') => depth = depth.saturating_sub(1),
                (None, '#') => {
                    end = start + place;
                    break;
                }
                _ => {}
            }
        }
        let content = text[start..end].trim_end();
        let indent = content.len() - content.trim_start().len();
        match lines.last_mut() {
            Some(line) if is_joined => line.range.end = start + content.len(),
            _ if content.trim_start().is_empty() => {}
            _ => lines.push(Line { indent, range: start + indent..start + content.len() }),
        }
        if depth > 0 && end < start + own.trim_end().len() {
            return Err(Wrong::new(end..start + own.trim_end().len(), "no comment within brackets"));
        }
    }
    Ok(lines)
}

fn first_word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Which names have a value on every path to a line, and whether the line is never reached.
#[derive(Clone, Default)]
struct Known {
    locals: Vec<u32>,
    has_returned: bool,
}

struct Reader<'a, 'b> {
    text: &'a str,
    lines: Vec<Line>,
    /// The next line.
    at: usize,
    depth: u32,
    meaning: &'b dyn Fn(&str) -> Option<Meaning<'a>>,
    all: &'b [Box<str>],
    locals: Vec<&'a str>,
    /// Names of variables that lines give another value begin with their own.
    begin: Vec<Statement<'a>>,
    variables: Vec<u32>,
}

impl<'a> Reader<'a, '_> {
    /// The lines of one indentation, and those below them.
    fn block(&mut self, indent: usize, known: &mut Known) -> Result<Vec<Statement<'a>>, Wrong> {
        self.depth += 1;
        let mut statements = Vec::new();
        while let Some(line) = self.lines.get(self.at).filter(|line| line.indent >= indent) {
            let range = line.range.clone();
            if line.indent > indent || self.depth > DEPTH {
                return Err(Wrong::new(range, "the indentation of the line before it"));
            }
            self.at += 1;
            if first_word(&self.text[range.clone()]) == "if" {
                statements.push(self.branches(range, indent, known)?);
            } else {
                statements.extend(self.simple(range, known)?);
            }
        }
        self.depth -= 1;
        Ok(statements)
    }

    /// `if` and what follows it.
    fn branches(&mut self, first: Range<usize>, indent: usize, known: &mut Known) -> Result<Statement<'a>, Wrong> {
        let (mut branches, mut otherwise) = (Vec::new(), Vec::new());
        let mut ends: Vec<Known> = Vec::new();
        let (mut head, mut has_else) = (first, false);
        loop {
            let word = first_word(&self.text[head.clone()]);
            let after = head.start + word.len();
            let colon = self.colon(after..head.end)?;
            let condition = match word {
                "else" if self.text[after..colon].trim().is_empty() => None,
                "else" => return Err(Wrong::new(after..colon, "`:`")),
                _ => Some(self.expression(after..colon, known)?),
            };
            let mut own = known.clone();
            let inner = self.branch(colon + 1..head.end, indent, &mut own)?;
            ends.push(own);
            match condition {
                Some(condition) => branches.push((condition, inner)),
                None => (otherwise, has_else) = (inner, true),
            }
            let Some(line) = self.lines.get(self.at).filter(|line| line.indent == indent && !has_else) else { break };
            if !matches!(first_word(&self.text[line.range.clone()]), "elif" | "else") {
                break;
            }
            head = line.range.clone();
            self.at += 1;
        }
        if !has_else {
            ends.push(known.clone());
        }
        let mut on = ends.iter().filter(|end| !end.has_returned);
        match on.next() {
            None => known.has_returned = true,
            Some(one) => {
                let others: Vec<&Known> = on.collect();
                known.locals = one.locals.clone();
                known.locals.retain(|local| others.iter().all(|other| other.locals.contains(local)));
            }
        }
        Ok(Statement::If(branches, otherwise))
    }

    /// What stands behind a colon, or the lines below it.
    fn branch(&mut self, rest: Range<usize>, indent: usize, known: &mut Known) -> Result<Vec<Statement<'a>>, Wrong> {
        let text = &self.text[rest.clone()];
        if !text.trim().is_empty() {
            let start = rest.start + text.len() - text.trim_start().len();
            return Ok(self.simple(start..rest.end, known)?.into_iter().collect());
        }
        match self.lines.get(self.at).map(|line| line.indent).filter(|&own| own > indent) {
            Some(own) => self.block(own, known),
            None => Err(Wrong::new(rest, "lines with a deeper indentation").found("none")),
        }
    }

    /// The place of the colon that ends a condition.
    fn colon(&self, range: Range<usize>) -> Result<usize, Wrong> {
        let mut quote = None;
        for (place, c) in self.text[range.clone()].char_indices() {
            match (quote, c) {
                (Some(open), _) if c == open => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, ':') => return Ok(range.start + place),
                _ => {}
            }
        }
        Err(Wrong::new(range.end..range.end, "`:`").found("the end of the line"))
    }

    /// A line without lines below it; nothing for `pass`.
    fn simple(&mut self, range: Range<usize>, known: &mut Known) -> Result<Option<Statement<'a>>, Wrong> {
        let text = &self.text[range.clone()];
        let word = first_word(text);
        let rest = text[word.len()..].trim_start();
        let after = |taken: usize| range.end - rest.len() + taken..range.end;
        match word {
            "return" => {
                let value = self.expression(after(0), known)?;
                known.has_returned = true;
                return Ok(Some(Statement::Return(value)));
            }
            "pass" if rest.is_empty() => return Ok(None),
            _ => {}
        }
        let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '_') && !super::WORDS.contains(&word);
        let augmented = AUGMENTED.iter().find(|(symbol, _)| rest.starts_with(symbol));
        let value = match augmented {
            _ if !is_name => return Err(Wrong::new(range, STATEMENT)),
            Some(&(symbol, operator)) => {
                let at = range.start..range.start + word.len();
                let before = self.expression(at.clone(), known)?;
                let other = self.expression(after(symbol.len()), known)?;
                Expr { at: range.clone(), kind: Kind::Arithmetic(Box::new(before), vec![(operator, other)]) }
            }
            None if rest.starts_with('=') && !rest.starts_with("==") => self.expression(after(1), known)?,
            None => return Err(Wrong::new(range, STATEMENT)),
        };
        let local = self.local(word);
        if !known.locals.contains(&local) {
            known.locals.push(local);
        }
        Ok(Some(Statement::Set(local, value)))
    }

    /// The number of a name that gets a value.
    fn local(&mut self, name: &'a str) -> u32 {
        if let Some(place) = self.locals.iter().position(|known| *known == name) {
            return place as u32;
        }
        let local = self.locals.len() as u32;
        self.locals.push(name);
        let kind = match (self.meaning)(name) {
            Some(Meaning::Variable(variable)) => {
                self.variables.push(variable);
                Kind::Variable(variable)
            }
            Some(Meaning::Fixed(value)) => Kind::Value(value),
            None => return local,
        };
        self.begin.push(Statement::Set(local, Expr { kind, at: 0..0 }));
        local
    }

    fn expression(&mut self, range: Range<usize>, known: &Known) -> Result<Expr<'a>, Wrong> {
        let meaning = |name: &str| match self.locals.iter().position(|own| *own == name) {
            Some(local) if known.locals.contains(&(local as u32)) => Some(Meaning::Variable(LOCAL + local as u32)),
            // it begins with the value of its variable
            Some(local) if (self.meaning)(name).is_some() => Some(Meaning::Variable(LOCAL + local as u32)),
            _ => (self.meaning)(name),
        };
        let (text, place) = (&self.text[..range.end], range.start);
        let (all, next) = (self.all, (Word::End, 0..0));
        let mut parser = Parser { text, place, next, depth: 0, meaning: &meaning, all, variables: Vec::new() };
        let root = parser.whole()?;
        let read = parser.variables.into_iter().filter(|&variable| variable < LOCAL);
        let read: Vec<u32> = read.collect();
        self.variables.extend(read);
        Ok(root)
    }
}
