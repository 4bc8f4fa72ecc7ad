//! Global cost functions of `.wcsp` and `.cfn`: one list of keywords, and the parameters of each.

mod counts;
mod names;
mod others;
mod parameters;
mod sums;
mod write;
#[cfg(test)]
mod write_tests;

pub(super) use names::Names;
pub(super) use parameters::{Bound, Form, Parameters, ReadNested, closes, open, take};
pub(super) use write::{Style, Written, written};

use super::tokens::{self, Tokens};
use crate::error::Error;
use crate::globals::{Decomposer, Refusal};
use crate::model::{Builder, Global, GlobalKind};

/// The result of reading the parameters of a function.
type Read = Result<GlobalKind, Error>;

/// The parameters that are being read.
type P<'a, 'p, 't> = &'a mut Parameters<'p, 't>;

/// A keyword of a global function.
struct Keyword {
    name: &'static str,
    /// The only format that has the keyword; `None` if both have it.
    only: Option<&'static str>,
    read: fn(P<'_, '_, '_>) -> Read,
}

const fn both(name: &'static str, read: fn(P<'_, '_, '_>) -> Read) -> Keyword {
    Keyword { name, only: None, read }
}

const fn wcsp(name: &'static str, read: fn(P<'_, '_, '_>) -> Read) -> Keyword {
    Keyword { name, only: Some("wcsp"), read }
}

/// Every keyword that is read.
static KEYWORDS: &[Keyword] = &[
    both("salldiff", counts::salldiff),
    both("salldiffdp", counts::salldiffdp),
    both("salldiffkp", counts::salldiffkp),
    both("walldiff", counts::walldiff),
    wcsp("walldifferent", counts::walldiff),
    both("alldiff", counts::alldiff),
    both("sgcc", counts::sgcc),
    both("sgccdp", counts::sgccdp),
    both("sgcckp", counts::sgcckp),
    both("wgcc", counts::wgcc),
    both("gcc", counts::gcc),
    both("ssame", counts::ssame),
    both("wsame", counts::wsame),
    both("wsamegcc", counts::wsamegcc),
    both("samong", sums::samong),
    both("samongdp", sums::samong),
    both("wamong", sums::wamong),
    both("wvaramong", sums::wvaramong),
    both("wsum", sums::wsum),
    both("wvarsum", sums::wvarsum),
    both("woverlap", sums::woverlap),
    both("wdiverse", sums::wdiverse),
    both("whdiverse", sums::wdiverse),
    both("wtdiverse", sums::wdiverse),
    both("knapsack", sums::knapsack),
    both("knapsackv", sums::knapsackv),
    wcsp("knapsackp", sums::knapsackp),
    wcsp("knapsackc", sums::knapsackc),
    both("clique", sums::clique),
    both("sregular", others::sregular),
    both("sregulardp", others::sregular),
    both("wregular", others::wregular),
    both("sgrammar", others::sgrammar),
    both("sgrammardp", others::sgrammar),
    both("max", others::max),
    both("smaxdp", others::max),
    both("MST", others::tree),
    both("smstdp", others::tree),
    both(">=", others::at_least),
    both(">", others::above),
    both("<=", others::at_most),
    both("<", others::below),
    both("=", others::equal),
    both("disj", others::disj),
    both("sdisj", others::sdisj),
    wcsp("wcsp", others::wcsp),
    Keyword { name: "cfnconstraint", only: Some("cfn"), read: others::cfnconstraint },
];

/// The destination of a global function that is read.
pub(super) struct Place<'p> {
    pub form: Form<'p>,
    pub scope: &'p [u32],
    pub builder: &'p mut Builder,
    pub decomposer: &'p mut Decomposer,
    /// Reads a nested network, in the file's format, among the parameters.
    pub nested: ReadNested,
}

/// Returns the entry of a keyword, which stands at position `at`; an error if it is unknown.
fn known(
    tokens: &Tokens<'_>,
    keyword: &str,
    at: tokens::Place,
    form: Form<'_>,
    number: u32,
) -> Result<&'static Keyword, Error> {
    let own = if let Form::Cfn { .. } = form { "cfn" } else { "wcsp" };
    let is_read = |known: &&Keyword| known.only.is_none_or(|only| only == own);
    KEYWORDS.iter().filter(is_read).find(|known| known.name == keyword).ok_or_else(|| {
        let all: Vec<&str> = KEYWORDS.iter().filter(is_read).map(|known| known.name).collect();
        let hint = format!("function {number} is a global cost function, {keyword}; those read are {}", all.join(" "));
        tokens.error_at(at, keyword, "another global cost function, or a table", hint)
    })
}

/// Reads the parameters of a function after its keyword, and adds it to the network. Messages refer to the function by
/// its number among all functions.
pub(super) fn read(tokens: &mut Tokens<'_>, keyword: &str, at: tokens::Place, place: Place<'_>) -> Result<(), Error> {
    let Place { form, scope, builder, decomposer, nested } = place;
    let number = builder.function_count();
    let known = known(tokens, keyword, at, form, number)?;
    let sizes: Vec<u32> = scope.iter().filter_map(|&v| builder.domain(v)).collect();
    if scope.is_empty() {
        return Err(tokens.error_at(at, keyword, "a scope", format!("function {number} has no variables")));
    }
    let refused = |refusal: Refusal, tokens: &Tokens<'_>| match refusal {
        Refusal::Error(error) => error,
        Refusal::TooLarge(what) => {
            let hint = format!(
                "function {number} is a global cost function of {} variables, which would take {what}",
                scope.len()
            );
            tokens.error_at(at, keyword, "a smaller function", hint)
        }
    };
    Decomposer::must_fit(&sizes).map_err(|refusal| refused(refusal, tokens))?;
    let mut parameters = Parameters { tokens, form, scope, sizes: &sizes, nested };
    parameters.tag("params")?;
    let kind = parameters.group(known.read)?;
    let global = Global { scope: scope.into(), keyword: keyword.into(), kind, limit: form.limit() };
    let added = decomposer.add(builder, global, tokens.stop());
    added.map(drop).map_err(|refusal| refused(refusal, tokens))
}
