//! Parameters of global functions in the syntax of `.wcsp` and `.cfn`.

use super::Names;
use crate::decimal::{self, is_at_least};
use crate::error::Error;
use crate::model::{COST_LIMIT, Cost, FORBIDDEN, Measure, Network, Price, Target};
use crate::tokens::Tokens;
use std::sync::atomic::{AtomicBool, Ordering};

/// The largest absolute bound of a sum: the distance of any sum to it exceeds every finite cost.
const FARTHEST: i64 = 2 * FORBIDDEN;

/// The syntax of the parameters in a file.
#[derive(Clone, Copy)]
pub(crate) enum Form<'n> {
    /// The syntax of `.wcsp`: plain numbers, with counts before lists; costs from `top` on are forbidden.
    Wcsp {
        /// The file's upper bound, clamped to 64 bits.
        top: Cost,
        /// The file's upper bound as written, if it exceeds 64 bits.
        beyond: Option<&'n [u8]>,
    },
    /// The syntax of `.cfn`: tags before values if `tagged`, and lists in brackets; costs are decimals, and `inf` is
    /// forbidden.
    Cfn { tagged: bool, decimals: u32, maximise: bool, names: &'n Names, bound: &'n Bound },
}

/// The bound of a `.cfn`, as needed to interpret costs above [`COST_LIMIT`].
pub(crate) struct Bound {
    /// The strict upper limit of the cost of solutions, clamped to 64 bits; `Cost::MAX` if there is none.
    pub top: Cost,
    /// Whether a cost was forbidden because it is at least both [`COST_LIMIT`] and `top`.
    pub passed: AtomicBool,
}

impl Bound {
    /// Returns whether this cost alone reaches the bound and exceeds single costs, and records it.
    fn forbids(&self, cost: Cost) -> bool {
        let reaches = cost >= COST_LIMIT && cost >= self.top && self.top < Cost::MAX;
        if reaches {
            self.passed.store(true, Ordering::Relaxed);
        }
        reaches
    }
}

impl Form<'_> {
    /// Reads a cost, in units and in the sense of minimisation.
    pub fn cost(self, tokens: &mut Tokens<'_>, expected: &str) -> Result<Cost, Error> {
        match self {
            Form::Wcsp { top, beyond } => {
                let is_below = match beyond {
                    Some(top) => is_at_least(tokens.peek()?, top) == Some(false),
                    None => false,
                };
                let cost = tokens.integer(expected)?;
                if cost >= top && !is_below {
                    Ok(FORBIDDEN)
                } else if cost.unsigned_abs() < COST_LIMIT as u64 {
                    Ok(cost)
                } else {
                    Err(tokens.error(format!("{expected} within ±{COST_LIMIT}")))
                }
            }
            Form::Cfn { decimals, maximise, bound, .. } => {
                let word = tokens.word(expected)?;
                let is_worst = word.strip_prefix(if maximise { b"-" } else { b"+" }).unwrap_or(word);
                if is_worst.eq_ignore_ascii_case(b"inf") || is_worst.eq_ignore_ascii_case(b"infinity") {
                    return Ok(FORBIDDEN);
                }
                match decimal::fixed(word, decimals) {
                    Some(cost) if bound.forbids(if maximise { -cost } else { cost }) => Ok(FORBIDDEN),
                    Some(cost) if cost.unsigned_abs() < COST_LIMIT as u64 => Ok(if maximise { -cost } else { cost }),
                    Some(_) => Err(tokens.error_with(
                        format!("{expected} within ±{COST_LIMIT} units of 10^-{decimals}"),
                        "inf, or a cost of at least the bound of the problem, forbids",
                    )),
                    None => Err(tokens.error(format!("{expected}: digits, perhaps with a point, or inf"))),
                }
            }
        }
    }

    /// Returns the cost from which on global functions forbid.
    pub fn limit(self) -> Cost {
        match self {
            Form::Wcsp { top, .. } => top.min(FORBIDDEN),
            Form::Cfn { .. } => FORBIDDEN,
        }
    }
}

/// Reads a network that other text may follow. Returns it with its number of decimal digits.
pub(crate) type ReadNested = fn(&mut Tokens<'_>) -> Result<(Network, u32), Error>;

/// The parameters of one function, read in sequence.
pub(crate) struct Parameters<'p, 't> {
    pub tokens: &'p mut Tokens<'t>,
    pub form: Form<'p>,
    pub scope: &'p [u32],
    /// The domain sizes of the scope.
    pub sizes: &'p [u32],
    pub nested: ReadNested,
}

impl Parameters<'_, '_> {
    /// Consumes the tag of a value, in files with tags.
    pub fn tag(&mut self, tag: &str) -> Result<(), Error> {
        match self.form {
            Form::Cfn { tagged: true, .. } => take(self.tokens, tag),
            _ => Ok(()),
        }
    }

    /// Reads a tag and a number with which sums are compared.
    pub fn number(&mut self, tag: &str) -> Result<i64, Error> {
        self.tag(tag)?;
        self.bound(tag)
    }

    /// Reads a number with which sums are compared, clamped so that distances of sums to it fit 64 bits.
    pub fn bound(&mut self, expected: &str) -> Result<i64, Error> {
        let number = self.tokens.integer(expected)?;
        // no sum comes near this bound, and each unit of distance costs at least 1, so clamping still forbids
        Ok(number.clamp(-FARTHEST, FARTHEST))
    }

    pub fn cost(&mut self, tag: &str) -> Result<Cost, Error> {
        self.tag(tag)?;
        self.form.cost(self.tokens, "a cost")
    }

    /// Reads a tag and a cost of at least 0.
    pub fn price(&mut self, tag: &str) -> Result<Cost, Error> {
        let cost = self.cost(tag)?;
        if cost >= 0 {
            return Ok(cost);
        }
        let hint = "global functions make assignments worse, never better";
        match self.form {
            Form::Cfn { maximise: true, .. } => Err(self.tokens.error_with("a cost of at most 0, or inf", hint)),
            _ => Err(self.tokens.error_with("a cost of at least 0", hint)),
        }
    }

    /// Reads a tag and one of these words, and returns its index.
    pub fn one_of(&mut self, tag: &str, words: &[&str]) -> Result<usize, Error> {
        self.tag(tag)?;
        let found = self.tokens.word(tag)?;
        let place = words.iter().position(|word| word.as_bytes() == found);
        place.ok_or_else(|| self.tokens.error(format!("one of {}", words.join(" "))))
    }

    /// Reads a measure and a price.
    pub fn measured(&mut self) -> Result<Price, Error> {
        let place = self.one_of("metric", &["hard", "lin", "var", "dec", "quad"])?;
        let measure = [Measure::Hard, Measure::Linear, Measure::Linear, Measure::Linear, Measure::Quadratic][place];
        Ok(Price { cost: self.price("cost")?, measure })
    }

    /// Reads a comparison operator and a number.
    pub fn comparison(&mut self, with: impl FnOnce(&mut Self) -> Result<i64, Error>) -> Result<Target, Error> {
        let place = self.one_of("comparator", &["==", "<=", "<", ">=", ">", "!="])?;
        let k = with(self)?;
        Ok([
            Target::Within(k, k),
            Target::Within(i64::MIN, k),
            Target::Within(i64::MIN, k.saturating_sub(1)),
            Target::Within(k, i64::MAX),
            Target::Within(k.saturating_add(1), i64::MAX),
            Target::Not(k),
        ][place])
    }

    /// Reads the index of a value, which need not exist.
    pub fn value(&mut self) -> Result<u32, Error> {
        self.tokens.index(i32::MAX as u32, "a value")
    }

    /// Reads a variable of the scope, and returns its position there.
    pub fn variable(&mut self) -> Result<u32, Error> {
        let variable = match self.form {
            Form::Wcsp { .. } => self.tokens.index(u32::MAX, "a variable")?,
            Form::Cfn { names, .. } => names.variable(self.tokens)?,
        };
        let place = self.scope.iter().position(|&own| own == variable);
        place.map(|place| place as u32).ok_or_else(|| self.tokens.error("a variable of the function's scope"))
    }

    /// Reads a list of items: after their number in `.wcsp`, in brackets in `.cfn`.
    pub fn items<T>(&mut self, item: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        let count = match self.form {
            Form::Wcsp { .. } => Some(self.tokens.count("the number of items")?),
            Form::Cfn { .. } => None,
        };
        self.counted(count, item)
    }

    /// Reads a tag and a list of items: after their number in `.wcsp`, in brackets in `.cfn`.
    pub fn list<T>(&mut self, tag: &str, item: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        self.tag(tag)?;
        self.items(item)
    }

    /// Reads a tag and an item for each variable, without a preceding number of items.
    pub fn for_each<T>(&mut self, tag: &str, item: impl FnMut(&mut Self) -> Result<T, Error>) -> Result<Vec<T>, Error> {
        self.tag(tag)?;
        let n = self.scope.len();
        let list = self.counted(Some(n), item)?;
        if list.len() == n { Ok(list) } else { Err(self.tokens.error(format!("{n} items, one for each variable"))) }
    }

    /// Reads `count` items in `.wcsp`, or items in brackets in `.cfn`.
    pub fn counted<T>(
        &mut self,
        count: Option<usize>,
        mut item: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<Vec<T>, Error> {
        let mut list = Vec::new();
        match self.form {
            Form::Wcsp { .. } => {
                for _ in 0..count.unwrap_or(0) {
                    list.push(item(self)?);
                }
            }
            Form::Cfn { .. } => {
                open(self.tokens)?;
                while !closes(self.tokens)? {
                    list.push(item(self)?);
                }
            }
        }
        Ok(list)
    }

    /// Reads a group, which is enclosed in brackets in `.cfn`.
    pub fn group<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        let brackets = matches!(self.form, Form::Cfn { .. });
        if brackets {
            open(self.tokens)?;
        }
        let found = inner(self)?;
        if brackets && !closes(self.tokens)? {
            let _ = self.tokens.word("a closing bracket")?;
            return Err(self.tokens.error("a closing bracket"));
        }
        Ok(found)
    }

    /// Returns whether the file is a `.cfn`.
    pub fn is_cfn(&self) -> bool {
        matches!(self.form, Form::Cfn { .. })
    }
}

/// Consumes an opening bracket.
pub(crate) fn open(tokens: &mut Tokens<'_>) -> Result<(), Error> {
    match tokens.word("an opening bracket")? {
        b"{" | b"[" => Ok(()),
        _ => Err(tokens.error("an opening bracket")),
    }
}

/// Consumes a closing bracket if it comes next. Returns whether it did.
pub(crate) fn closes(tokens: &mut Tokens<'_>) -> Result<bool, Error> {
    let closes = matches!(tokens.peek()?, b"}" | b"]");
    if closes {
        let _ = tokens.word("a closing bracket")?;
    }
    Ok(closes)
}

/// Consumes this word.
pub(crate) fn take(tokens: &mut Tokens<'_>, word: &str) -> Result<(), Error> {
    if tokens.word(&format!("`{word}`"))? == word.as_bytes() {
        return Ok(());
    }
    Err(tokens.error(format!("`{word}`")))
}
