//! The grammar of expressions, from text to trees.
//!
//! ```text
//! expression  or  <  and  <  not  <  < <= > >= == !=  <  + -  <  * /  <  -
//! operand     number | name | name ( expression , ... ) | ( expression )
//! ```
//!
//! Operators by `winnow`'s Pratt parser; comparisons do not chain.

use crate::text::Wrong;
use std::ops::Range;
use winnow::ascii::{digit0, digit1, multispace0};
use winnow::combinator::{Infix, Prefix, alt, cut_err, expression, fail, opt, preceded, separated};
use winnow::error::{ErrMode, ModalResult, ParserError};
use winnow::prelude::*;
use winnow::stream::{LocatingSlice, Location, Stateful, Stream};
use winnow::token::{one_of, take_while};

/// An expression with its position in a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Expr {
    pub kind: Kind,
    pub at: Range<usize>,
    depth: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `2.5`
    Number(f64),
    /// `cost`
    Name(String),
    /// `-x`, `not x`
    Prefixed(Sign, Box<Expr>),
    /// `x + y`
    Joined(Operator, Box<Expr>, Box<Expr>),
    /// `max(x, y)`
    Call(String, Vec<Expr>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Minus,
    Not,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Differ,
    And,
    Or,
}

/// Deepest nesting of expressions, so that no file overflows the stack.
const DEPTH: u32 = 100;

type In<'s> = Stateful<LocatingSlice<&'s str>, State>;
type Out<T> = ModalResult<T, Failure>;

#[derive(Clone, Debug)]
struct State {
    /// The position of the text in its file.
    base: usize,
    /// The positions of open brackets and signs.
    open: Vec<usize>,
}

/// The error that stopped the parser.
#[derive(Clone, Debug, PartialEq)]
struct Failure(Box<Wrong>);

/// Characters of operators other than `+`, `-` and `/`, and of misspelled operators.
const SYMBOLS: fn(char) -> bool = |c| "<>=!*&|^%?".contains(c);

pub(super) const KEYWORDS: [&str; 3] = ["and", "or", "not"];

const OPERAND: &str = "a number, a name, `(`, `-` or `not`";
const OPERATOR: &str = "an operator (+ - * / < <= > >= == != and or)";

impl<'s> ParserError<In<'s>> for Failure {
    type Inner = Self;

    fn from_input(input: &In<'s>) -> Self {
        Failure(Box::new(Wrong::new(word(input), OPERAND)))
    }

    fn into_inner(self) -> Result<Self, Self> {
        Ok(self)
    }
}

fn wrong<T>(wrong: Wrong) -> Out<T> {
    Err(ErrMode::Cut(Failure(Box::new(wrong))))
}

fn too_deep<T>(at: Range<usize>) -> Out<T> {
    wrong(Wrong::new(at, format!("an expression of at most {DEPTH} levels")).hint("give its parts names under [let]"))
}

fn here(input: &In<'_>) -> usize {
    input.state.base + input.current_token_start()
}

fn rest<'s>(input: &In<'s>) -> &'s str {
    input.peek_slice(input.eof_offset())
}

fn word(input: &In<'_>) -> Range<usize> {
    let (start, rest) = (here(input), rest(input));
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let run = |wanted: fn(char) -> bool| rest.find(|c| !wanted(c)).unwrap_or(rest.len());
    let length = run(|c| c.is_alphanumeric() || c == '_' || c == '.').max(run(SYMBOLS)).max(first);
    start..start + length
}

impl Expr {
    fn new(kind: Kind, at: Range<usize>) -> Out<Expr> {
        let depth = 1 + match &kind {
            Kind::Number(_) | Kind::Name(_) => 0,
            Kind::Prefixed(_, x) => x.depth,
            Kind::Joined(_, x, y) => x.depth.max(y.depth),
            Kind::Call(_, arguments) => arguments.iter().map(|x| x.depth).max().unwrap_or(0),
        };
        if depth > DEPTH { too_deep(at) } else { Ok(Expr { kind, at, depth }) }
    }
}

/// Parses the expression in `text` from `at.start` to `at.end`.
pub(super) fn parse(text: &str, at: Range<usize>) -> Result<Expr, Wrong> {
    let state = State { base: at.start, open: Vec::new() };
    let input = LocatingSlice::new(text.get(at.clone()).unwrap_or_default());
    let parsed = whole.parse_next(&mut Stateful { input, state }).map_err(|error| match error.into_inner() {
        Ok(Failure(wrong)) => *wrong,
        Err(_) => Wrong::new(at.clone(), OPERAND),
    });
    parsed.map_err(|wrong| if wrong.at.start >= at.end { wrong.found("the end of the expression") } else { wrong })
}

fn whole(input: &mut In<'_>) -> Out<Expr> {
    let parsed = any_expression(input)?;
    end(input, "", "the end")?;
    Ok(parsed)
}

/// Checks that one of `ends`, or the end of the text, follows an expression; `named` is its name in messages.
fn end(input: &mut In<'_>, ends: &str, named: &str) -> Out<()> {
    let _ = multispace0.parse_next(input)?;
    if rest(input).chars().next().map_or(ends.is_empty(), |next| ends.contains(next)) {
        return Ok(());
    }
    let at = word(input);
    let hint = match rest(input).get(..at.len()).unwrap_or_default() {
        "<" | "<=" | ">" | ">=" | "==" | "!=" => "comparisons do not chain: write `a < b and b < c`",
        "=" => "equality is `==`",
        "&&" | "&" => "write `and`",
        "||" | "|" => "write `or`",
        "!" => "write `not`, or `!=`",
        "^" | "**" => "powers are products: `x * x`",
        "?" => "write `if(condition, then, else)`",
        "\\" => "expressions need no escapes; those of several lines stand between '''",
        _ => return wrong(Wrong::new(at, format!("{OPERATOR} or {named}"))),
    };
    wrong(Wrong::new(at, format!("{OPERATOR} or {named}")).hint(hint))
}

fn any_expression(input: &mut In<'_>) -> Out<Expr> {
    expression(operand).prefix(sign).infix(operator).parse_next(input)
}

fn open(input: &mut In<'_>, at: usize) -> Out<()> {
    input.state.open.push(at);
    if input.state.open.len() > DEPTH as usize { too_deep(at..at + 1) } else { Ok(()) }
}

/// Returns a parser of a keyword that is not the beginning of a name.
fn keyword<'s>(text: &'static str) -> impl Parser<In<'s>, (), ErrMode<Failure>> {
    name.verify(move |found: &str| found == text).void()
}

fn name<'s>(input: &mut In<'s>) -> Out<&'s str> {
    let first = one_of(|c: char| c.is_ascii_alphabetic() || c == '_');
    (first, take_while(0.., |c: char| c.is_ascii_alphanumeric() || c == '_')).take().parse_next(input)
}

fn sign<'s>(input: &mut In<'s>) -> Out<Prefix<In<'s>, Expr, ErrMode<Failure>>> {
    fn signed(input: &mut In<'_>, sign: Sign, operand: Expr) -> Out<Expr> {
        let start = input.state.open.pop().unwrap_or(operand.at.start);
        let at = start..operand.at.end;
        Expr::new(Kind::Prefixed(sign, Box::new(operand)), at)
    }
    let _ = multispace0.parse_next(input)?;
    let start = here(input);
    let sign = alt((
        '-'.map(|_| Prefix(12, |input: &mut In<'s>, x| signed(input, Sign::Minus, x))),
        keyword("not").map(|()| Prefix(6, |input: &mut In<'s>, x| signed(input, Sign::Not, x))),
    ))
    .parse_next(input)?;
    open(input, start)?;
    Ok(sign)
}

/// The precedence of operators; fold functions capture nothing, so each operator has its own.
macro_rules! infix {
    ($side:ident $power:literal $operator:ident) => {
        Infix::$side($power, |_, x, y| joined(Operator::$operator, x, y))
    };
}

fn joined(operator: Operator, left: Expr, right: Expr) -> Out<Expr> {
    let at = left.at.start..right.at.end;
    Expr::new(Kind::Joined(operator, Box::new(left), Box::new(right)), at)
}

fn operator<'s>(input: &mut In<'s>) -> Out<Infix<In<'s>, Expr, ErrMode<Failure>>> {
    let symbol = alt((one_of(['+', '-', '/']).take(), take_while(1.., SYMBOLS), name));
    Ok(match preceded(multispace0, symbol).parse_next(input)? {
        "or" => infix!(Left 2 Or),
        "and" => infix!(Left 4 And),
        "<" => infix!(Neither 8 Less),
        "<=" => infix!(Neither 8 AtMost),
        ">" => infix!(Neither 8 Greater),
        ">=" => infix!(Neither 8 AtLeast),
        "==" => infix!(Neither 8 Equal),
        "!=" => infix!(Neither 8 Differ),
        "+" => infix!(Left 10 Add),
        "-" => infix!(Left 10 Sub),
        "*" => infix!(Left 11 Mul),
        "/" => infix!(Left 11 Div),
        _ => return fail.parse_next(input),
    })
}

fn operand(input: &mut In<'_>) -> Out<Expr> {
    let _ = multispace0.parse_next(input)?;
    alt((number, bracket, named)).parse_next(input)
}

fn number(input: &mut In<'_>) -> Out<Expr> {
    let start = here(input);
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digit1);
    let mantissa = alt(((digit1, opt(('.', digit0))).void(), ('.', digit1).void()));
    let text = (mantissa, opt(exponent)).take().parse_next(input)?;
    let at = start..here(input);
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Expr::new(Kind::Number(number), at),
        _ => wrong(Wrong::new(at, "a number below 1.8e308").hint("`inf` is infinite")),
    }
}

fn bracket(input: &mut In<'_>) -> Out<Expr> {
    let start = here(input);
    let _ = '('.parse_next(input)?;
    open(input, start)?;
    let inner = cut_err(any_expression).parse_next(input)?;
    end(input, ")", "`)`")?;
    let _ = (')').parse_next(input)?;
    let _ = input.state.open.pop();
    Ok(Expr { at: start..here(input), ..inner })
}

fn named(input: &mut In<'_>) -> Out<Expr> {
    let start = here(input);
    let name = name.verify(|name: &str| !KEYWORDS.contains(&name)).parse_next(input)?.to_string();
    let at = start..here(input);
    if opt((multispace0, '(')).parse_next(input)?.is_none() {
        return Expr::new(Kind::Name(name), at);
    }
    open(input, start)?;
    let argument = |input: &mut In<'_>| {
        let parsed = cut_err(any_expression).parse_next(input)?;
        end(input, ",)", "`,` or `)`")?;
        Ok(parsed)
    };
    let arguments = separated(1.., argument, ',').parse_next(input)?;
    let _ = ')'.parse_next(input)?;
    let _ = input.state.open.pop();
    Expr::new(Kind::Call(name, arguments), start..here(input))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a tree in prefix notation.
    fn shown(expression: &Expr) -> String {
        match &expression.kind {
            Kind::Number(number) => number.to_string(),
            Kind::Name(name) => name.clone(),
            Kind::Prefixed(sign, x) => format!("({sign:?} {})", shown(x)),
            Kind::Joined(operator, x, y) => format!("({operator:?} {} {})", shown(x), shown(y)),
            Kind::Call(name, arguments) => {
                format!("({name} {})", arguments.iter().map(shown).collect::<Vec<_>>().join(" "))
            }
        }
    }

    #[test]
    fn trees() {
        for (text, expected) in [
            ("a", "a"),
            (" .5 ", "0.5"),
            ("2.", "2"),
            ("1e3", "1000"),
            ("1E-1", "0.1"),
            ("a+b-c", "(Sub (Add a b) c)"),
            ("a-b*c/d", "(Sub a (Div (Mul b c) d))"),
            ("(a-b)*c", "(Mul (Sub a b) c)"),
            ("-a*b", "(Mul (Minus a) b)"),
            ("-a-b", "(Sub (Minus a) b)"),
            ("a*-b", "(Mul a (Minus b))"),
            ("a--b", "(Sub a (Minus b))"),
            ("a<-b", "(Less a (Minus b))"),
            ("--a", "(Minus (Minus a))"),
            ("a+1<b*2", "(Less (Add a 1) (Mul b 2))"),
            ("a<=b and c>=d", "(And (AtMost a b) (AtLeast c d))"),
            ("a or b and c", "(Or a (And b c))"),
            ("a and b or c", "(Or (And a b) c)"),
            ("not a and b", "(And (Not a) b)"),
            ("not a < b", "(Not (Less a b))"),
            ("not not a", "(Not (Not a))"),
            ("not -a == b", "(Not (Equal (Minus a) b))"),
            ("a and not b or c", "(Or (And a (Not b)) c)"),
            ("a != b", "(Differ a b)"),
            ("a > b", "(Greater a b)"),
            ("f(a)", "(f a)"),
            ("f ( a , b+c )*d", "(Mul (f a (Add b c)) d)"),
            ("f(g(-a),(b))", "(f (g (Minus a)) b)"),
            ("nota", "nota"),
            ("android or order", "(Or android order)"),
            ("a\n +\tb", "(Add a b)"),
            ("(a<b)*2", "(Mul (Less a b) 2)"),
            ("a_1+_b", "(Add a_1 _b)"),
        ] {
            let tree = parse(text, 0..text.len()).unwrap_or_else(|wrong| panic!("{text}: {wrong:?}"));
            assert_eq!(shown(&tree), expected, "{text}");
        }
    }

    #[test]
    fn places_are_those_of_the_file() {
        let text = "x = \"-a * (b + c)\"";
        let tree = parse(text, 5..text.len() - 1).expect("nothing is wrong");
        assert_eq!(&text[tree.at.clone()], "-a * (b + c)");
        let Kind::Joined(_, x, y) = tree.kind else { panic!("{tree:?}") };
        assert_eq!((&text[x.at], &text[y.at]), ("-a", "(b + c)"));
    }
}
