//! The `.wcsp` format: a stream of words. Line ends have no meaning, except in the parameters of two global functions.
//!
//! A file has `name variables largest-domain functions top`, the domain sizes, then each function: `arity variables…
//! default tuples`, and for each tuple its values and its cost. A negative arity offers the function for sharing; a
//! negative number of tuples -k means the table of the k-th function offered. A default of -1 before a word introduces
//! a global cost function.

mod parts;
mod write;

pub(super) use write::write;

use super::global::{self, Form};
use super::limits::{Domains, check_sums};
use super::options::ReadOptions;
use super::tables::Listed;
use super::tokens::{Part, Reach, Tokens};
use crate::error::{Error, ModelError};
use crate::globals::Decomposer;
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Network, Scope, Table};

/// Reads a network.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    let network = read_network(tokens)?;
    let functions = network.function_count();
    tokens.finish(|| format!("the first line announces {functions} functions"))?;
    Ok(network)
}

/// Reads a network among the parameters of a function. Returns it with its number of decimal digits, which is 0.
pub(super) fn nested(tokens: &mut Tokens<'_>) -> Result<(Network, u32), Error> {
    Ok((read_network(tokens)?, 0))
}

/// Reads a network that other text may follow.
pub(super) fn read_network(tokens: &mut Tokens<'_>) -> Result<Network, Error> {
    read_ahead(tokens, Reach::of_threads())
}

/// Reads a network that other text may follow; several threads share the work if `reach` is given.
fn read_ahead(tokens: &mut Tokens<'_>, reach: Option<Reach>) -> Result<Network, Error> {
    let _ = tokens.word("the name of the problem")?;
    let variables = tokens.count("the number of variables")?;
    let _ = tokens.count("the largest domain size")?;
    let functions = tokens.count("the number of functions")?;
    let written = tokens.peek()?.to_vec();
    let top = tokens.integer("the upper bound on costs")?;
    // costs that exceed 64 bits may still be below such a bound
    let beyond = (top == Cost::MAX).then_some(&written[..]);

    let mut builder = Network::builder(tokens.file());
    let _ = builder.top(if top > COST_LIMIT { FORBIDDEN } else { top });
    let mut domains = Domains::default();
    for _ in 0..variables {
        let size = tokens.integer("a domain size")?;
        // a negative size stands for an interval of that size
        domains.declare(size.saturating_abs(), &mut builder, tokens)?;
    }
    let mut reader = Reader {
        tokens,
        builder,
        form: Form::Wcsp { top, beyond },
        scope: Vec::new(),
        sizes: Vec::new(),
        offered: Vec::new(),
        decomposer: Decomposer::default(),
    };
    // whenever the text ahead cannot be read in parts, twice as many functions are read sequentially before the next
    // attempt
    let (mut left, mut next, mut pause) = (functions, functions, 1);
    while left > 0 {
        if let Some(reach) = reach.filter(|_| left <= next) {
            let read = reader.ahead(left, reach)?;
            left -= read;
            pause = if read > 0 { 1 } else { 2 * pause };
            next = left.saturating_sub(pause);
            if left == 0 {
                break;
            }
        }
        reader.function()?;
        left -= 1;
    }
    let Reader { builder, decomposer, .. } = reader;
    check_sums(top, &builder, &decomposer, tokens)?;
    Ok(builder.build())
}

struct Reader<'r, 't, 'n> {
    tokens: &'r mut Tokens<'t>,
    builder: Builder,
    /// The syntax of costs, with `top` as in the file; [`Network::top`] is [`FORBIDDEN`] if the file's exceeds every
    /// cost.
    form: Form<'n>,
    scope: Vec<u32>,
    /// The domain sizes of the scope.
    sizes: Vec<u32>,
    /// The functions offered for sharing.
    offered: Vec<u32>,
    decomposer: Decomposer,
}

impl Reader<'_, '_, '_> {
    fn function(&mut self) -> Result<(), Error> {
        let arity = self.tokens.integer("the arity of a function")?;
        read_scope(self.tokens, self.builder.domains(), arity.unsigned_abs(), &mut self.scope, &mut self.sizes)?;
        let default = self.form.cost(self.tokens, "a default cost")?;
        if is_keyword(self.tokens.peek()?) {
            return self.global(arity < 0);
        }
        let tuples = self.tokens.integer("a number of tuples")?;
        let function =
            if tuples < 0 { self.share(tuples.unsigned_abs())? } else { self.table(default, tuples as u64)? };
        if arity < 0 {
            self.offered.push(function);
        }
        Ok(())
    }

    fn global(&mut self, offers: bool) -> Result<(), Error> {
        let keyword = String::from_utf8_lossy(self.tokens.word("a keyword")?).into_owned();
        if offers {
            return Err(self.tokens.error_with("a number of tuples", "global cost functions are not shared"));
        }
        let at = self.tokens.place();
        let Reader { tokens, builder, form, scope, decomposer, .. } = self;
        global::read(tokens, &keyword, at, global::Place { form: *form, scope, builder, decomposer, nested })
    }

    fn share(&mut self, number: u64) -> Result<u32, Error> {
        let offered = self.offered.len();
        let original = usize::try_from(number - 1).ok().and_then(|index| self.offered.get(index).copied());
        let Some(original) = original else {
            return Err(self
                .tokens
                .error(format!("a number of tuples, or one of the {offered} functions shared so far")));
        };
        let function = self.builder.shared(&self.scope, original);
        function.map_err(|error| self.tokens.error_with("a shared table that fits", error.to_string()))
    }

    fn table(&mut self, default: Cost, tuples: u64) -> Result<u32, Error> {
        let listed = read_tuples(self.tokens, self.form, &self.sizes, default, tuples)?;
        let function = self.builder.table(&self.scope, &listed.table());
        function.map_err(|error| self.tokens.error_with("a table that fits", error.to_string()))
    }

    /// Reads the next functions in parallel, as long as they have plain tables. Returns their number.
    fn ahead(&mut self, most: usize, reach: Reach) -> Result<usize, Error> {
        let (form, domains) = (self.form, self.builder.domains().clone());
        let read = |tokens: &mut Tokens<'_>, part: &Part| {
            let (mut scope, mut sizes, mut functions) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..part.items {
                let arity = tokens.count("the arity of a function")?;
                read_scope(tokens, &domains, arity as u64, &mut scope, &mut sizes)?;
                let default = form.cost(tokens, "a default cost")?;
                let tuples = tokens.count("a number of tuples")?;
                let listed = read_tuples(tokens, form, &sizes, default, tuples as u64)?;
                functions.push((Scope::from(&scope[..]), listed.table()));
            }
            Ok(functions)
        };
        let (mut count, mut before) = (0, Vec::new());
        loop {
            let Reader { tokens, builder, .. } = self;
            let ahead = tokens.ahead(reach.ahead)?;
            let parts = parts::parts(ahead.text, most - count, reach.part);
            // add the previous functions while these are read
            let add = || add(builder, std::mem::take(&mut before));
            let (added, read) = rayon::join(add, || ahead.read(&parts, read));
            added.map_err(|error| tokens.error_with("a table that fits", error.to_string()))?;
            before = read?;
            let read = &parts[..before.len()];
            tokens.pass(read);
            count += read.iter().map(|part| part.items as usize).sum::<usize>();
            if read.is_empty() {
                return Ok(count);
            }
        }
    }
}

fn add(builder: &mut Builder, functions: Vec<Vec<(Scope, Table)>>) -> Result<(), ModelError> {
    functions.into_iter().flatten().try_for_each(|(scope, table)| builder.table(&scope, &table).map(drop))
}

fn read_scope(
    tokens: &mut Tokens<'_>,
    domains: &[u32],
    arity: u64,
    scope: &mut Vec<u32>,
    sizes: &mut Vec<u32>,
) -> Result<(), Error> {
    scope.clear();
    sizes.clear();
    if arity > domains.len() as u64 {
        return Err(tokens.error(format!("an arity of at most {}", domains.len())));
    }
    for _ in 0..arity {
        // these are the declared variables, so their number fits
        let variable = tokens.index(domains.len() as u32, "a variable")?;
        // the builder checks long scopes, by sorting
        if arity <= 64 && scope.contains(&variable) {
            return Err(tokens.error("a variable that the function does not have yet"));
        }
        scope.push(variable);
        sizes.push(domains[variable as usize]);
    }
    Ok(())
}

fn read_tuples<'s>(
    tokens: &mut Tokens<'_>,
    form: Form<'_>,
    sizes: &'s [u32],
    default: Cost,
    tuples: u64,
) -> Result<Listed<'s>, Error> {
    let mut listed = Listed::new(sizes, default);
    for _ in 0..tuples {
        let value = |tokens: &mut Tokens<'_>, size, _| tokens.index(size, "a value");
        listed.push(tokens, value, |tokens| form.cost(tokens, "a cost"))?;
    }
    Ok(listed)
}

/// Returns whether a word names a global cost function; some names are comparison operators.
fn is_keyword(word: &[u8]) -> bool {
    word.first().is_some_and(|first| first.is_ascii_alphabetic() || matches!(first, b'<' | b'=' | b'>'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::evaluate;
    use crate::model::{Table, add};
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.wcsp", Format::Wcsp, &ReadOptions::default(), &Stop::new())
    }

    fn message(text: &str) -> String {
        parse(text).expect_err("wrong on purpose").to_string()
    }

    fn cost(network: &Network, assignment: &[u32]) -> Cost {
        network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), assignment)))
    }

    #[test]
    fn plain_functions_in_one_stream() {
        for text in [
            "t 2 3 4 100\n2 3\n2 0 1 5 2\n0 0 1\n1 2 0\n1 0 0 1\n1 7\n0 3 0\n2 1 0 0 1\n2 0 9\n",
            "t 2 3 4 100\r\n2 3\r\n2 0 1 5 2\r\n0 0 1\r\n1 2 0\r\n1 0 0 1\r\n1 7\r\n0 3 0\r\n2 1 0 0 1\r\n2 0 9",
            "t 2 3 4 100 2 3 2 0 1 5 2 0 0 1 1 2 0 1 0 0 1 1 7 0 3 0 2 1 0 0 1 2 0 9",
        ] {
            let network = parse(text).expect("a network");
            assert_eq!((network.domains(), network.functions().len(), network.top()), (&[2, 3][..], 4, 100));
            assert_eq!(cost(&network, &[0, 0]), 4);
            assert_eq!(cost(&network, &[1, 2]), 10);
            assert_eq!(cost(&network, &[0, 2]), 5 + 3 + 9);
        }
    }

    #[test]
    fn constants_take_default_or_tuple() {
        assert_eq!(cost(&parse("t 1 1 2 9 1 0 4 0 0 4 1 2").expect("a network"), &[0]), 6);
    }

    #[test]
    fn interval_domains() {
        assert_eq!(parse("t 1 4 0 9 -4").expect("a network").domains(), &[4]);
    }

    #[test]
    fn shared_functions() {
        let network = parse("t 3 2 3 9 2 2 2 -2 0 1 0 1 1 1 5 2 1 2 7 -1 2 2 0 0 -1").expect("a network");
        assert_eq!(cost(&network, &[1, 1, 1]), 15);
        assert_eq!(cost(&network, &[1, 1, 0]), 5);
        let tables: Vec<_> = network.functions().iter().map(|f| &f.table).collect();
        assert!(matches!(tables[..], [Table::Dense(a), Table::Dense(b), Table::Dense(c)]
            if a.address() == b.address() && a.address() == c.address()));
        assert!(message("t 2 2 1 9 2 2 2 0 1 0 -1").contains("1:23: found `-1`"));
        assert!(message("t 2 3 2 9 2 3 -1 0 0 0 1 1 0 -1").contains("a shared table that fits"));
    }

    #[test]
    fn infinite_costs() {
        // 2^58 = 288230376151711744
        let network =
            parse("t 1 3 1 18978131763075670 3 1 0 0 2 0 18978131763075670 1 400000000000000000").expect("a network");
        assert_eq!(cost(&network, &[0]), FORBIDDEN);
        assert_eq!(cost(&network, &[1]), FORBIDDEN);
        let network = parse("t 1 3 1 9223372036854775807 3 1 0 0 2 0 9223372036854775807 1 5").expect("a network");
        assert_eq!((network.top(), cost(&network, &[0]), cost(&network, &[1])), (FORBIDDEN, FORBIDDEN, 5));
        assert!(message("t 1 3 1 9223372036854775807 3 1 0 0 1 0 400000000000000000").contains("within ±"));
        let large = "0 288230376151711743 0 ".repeat(5);
        assert!(parse(&format!("t 1 1 5 100 1 {large}")).is_ok());
        assert!(message(&format!("t 1 1 5 9223372036854775807 1 {large}")).contains("smaller costs"));
    }

    #[test]
    fn negative_costs() {
        let network = parse("t 1 2 1 9 2 1 0 -1 1 0 -3").expect("a network");
        assert_eq!((cost(&network, &[0]), cost(&network, &[1])), (-3, -1));
    }

    #[test]
    fn tops_of_any_length_are_compared_by_their_digits() {
        for (top, forbidden, below) in [
            ("9223372036854775807", "9223372036854775807", "9223372036854775806"),
            ("36893488147419103232", "36893488147419103232", "36893488147419103231"),
            ("1000000000000000000000000", "2000000000000000000000000", "999999999999999999999999"),
            ("+00020000000000000000000", "20000000000000000000", "10000000000000000000"),
        ] {
            let text = |cost: &str| format!("t 1 2 1 {top}\n2\n1 0 7 1\n1 {cost}\n");
            let network = parse(&text(forbidden)).expect(forbidden);
            assert_eq!((cost(&network, &[0]), cost(&network, &[1])), (7, FORBIDDEN), "{top}");
            let refused = parse(&text(below)).expect_err(below).to_string();
            assert!(refused.contains("expected a cost within"), "{refused}");
        }
    }

    #[test]
    fn what_reaches_top_is_forbidden_whatever_negative_costs_stand_elsewhere() {
        // a tuple, a default cost, a shared table, a negative cost, a constant
        let costs = |top: i64| {
            let text = format!("t 2 2 4 {top} 2 2 -1 0 4 1 0 7 1 1 0 -1 1 0 0 1 0 -9 0 5 0");
            let network = parse(&text).expect("a network");
            [[0, 0], [0, 1], [1, 1]].map(|assignment| cost(&network, &assignment))
        };
        assert_eq!(costs(8), [10, 7, 13]);
        assert_eq!(costs(7), [FORBIDDEN, FORBIDDEN, 13]);
        assert_eq!([costs(5), costs(0), costs(-9)], [[FORBIDDEN; 3]; 3]);
    }

    #[test]
    fn global_functions() {
        for (metric, costs) in [("var", [0, 3, 6, 9]), ("dec", [0, 3, 9, FORBIDDEN]), ("decbi", [0, 3, 9, FORBIDDEN])] {
            let text = format!("t 4 5 1 18 5 5 5 5 4 2 0 3 1 -1 salldiff {metric} 3");
            let network = parse(&text).expect("a network");
            let all = [[0, 1, 2, 4], [0, 4, 2, 4], [1, 1, 1, 4], [2, 2, 2, 2]];
            assert_eq!(all.map(|values| evaluate(&network, &values).cost), costs, "{metric}");
        }
        // the rest of the line is ignored
        let network = parse("t 2 2 2 9 2 2 2 0 1-1 alldiff 0 0 and more\n1 0 3 0").expect("a network");
        assert_eq!([[0, 1], [1, 1]].map(|values| evaluate(&network, &values).cost), [3, FORBIDDEN]);
        let network = parse("t 2 2 1 9 2 2 2 0 1 -1 >= 1 5").expect("a network");
        assert_eq!(evaluate(&network, &[0, 1]).cost, 2);
    }

    #[test]
    fn global_functions_that_are_not_read() {
        let error = message("t 2 2 2 9\n2 2\n1 0 0 0\n2 0 1 -1 slinear var 10\n");
        assert!(error.starts_with("t.wcsp:4:10: found `slinear`, expected another global cost function"), "{error}");
        assert!(error.contains("(function 1 is a global cost function, slinear; those read are salldiff"), "{error}");
        for (text, part) in [
            ("t 2 2 1 9 2 2 2 0 1 -1 salldiff lin 3", "found `lin`, expected one of var dec decbi"),
            ("t 2 2 1 9 2 2 2 0 1 -1 salldiff var", "found the end of the file, expected a cost"),
            ("t 2 2 1 9 2 2 2 0 1 -1 salldiff var -3", "found `-3`, expected a cost of at least 0"),
            ("t 2 2 1 9 2 2 -2 0 1 -1 salldiff var 3", "global cost functions are not shared"),
            ("t 2 2 1 9 2 2 2 0 1 -1 wsum lin 3 =< 4", "found `=<`, expected one of == <= < >= > !="),
            ("t 2 2 1 9 2 2 2 0 1 -1 ssame 3 1 1 0 2", "found `2`, expected a variable of the function's scope"),
            ("t 2 2 1 9 2 2 2 0 1 -1 sregular var 3 2 1 5", "found `5`, expected a state from 0 to 1"),
            ("t 1 3 1 9 3 1 0 -1 MST", "values that are positions of the scope"),
            ("t 1 3 1 9 3 0 -1 MST", "function 0 has no variables"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
        let long = (0..40).map(|v| v.to_string()).collect::<Vec<_>>().join(" ");
        let error = message(&format!("t 40 40 1 9\n{}\n40 {long} -1 MST\n", "40 ".repeat(40)));
        assert!(error.starts_with("t.wcsp:3:"), "{error}");
        assert!(
            error.contains("found `MST`") && error.contains("of 40 variables, which would take a table of"),
            "{error}"
        );
    }

    #[test]
    fn dense_when_it_pays() {
        let is_dense = |text: &str| matches!(parse(text).expect("a network").functions()[0].table, Table::Dense(_));
        assert!(is_dense("t 1 9 1 9 9 1 0 4 0"));
        assert!(is_dense("t 2 64 1 9 64 64 2 0 1 0 1 63 63 1"));
        assert!(!is_dense("t 2 65 1 9 65 64 2 0 1 0 1 63 63 1"));
        let listed: String = (0..260).map(|i| format!(" {} {} {i}", i / 64, i % 64)).collect();
        let text = format!("t 2 65 1 999 65 64 2 0 1 777 260{listed}");
        assert!(is_dense(&text));
        let network = parse(&text).expect("a network");
        assert_eq!((cost(&network, &[4, 3]), cost(&network, &[4, 4])), (259, 777));
    }

    #[test]
    fn claims_without_substance() {
        for text in [
            "t 1000000000000 2 1 9 2",
            "t 1 2 1000000000000 9 2",
            "t 1 2 1 9 2 1 0 0 1000000000000 0 1",
            "t 3 9000 1 9 9000 9000 9000 3 0 1 2 0 1000000000000 0 1 2 3",
            "t 2 2 1 9 2 2 2 0 1",
            "t 2 2 1",
            "",
        ] {
            assert!(message(text).contains("found the end of the file"), "{text}");
        }
        assert!(message("t 1 2 1 9 4000000000 1 0 0 0").contains("domains of at most"));
        assert!(message("t 2 2 1 9 2 2 1000000000000 0 1").contains("an arity of at most 2"));
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("t x", "1:3: found `x`, expected the number of variables"),
            ("t -1 2 1 9", "1:3: found `-1`"),
            ("t 1 2 1 9 0", "1:11: found `0`, expected a domain size of at least 1"),
            ("t 1 2 1 9 2 1 1 0 0", "found `1`, expected a variable from 0 to 0"),
            ("t 2 2 1 9 2 2 2 0 0 0 0", "1:19: found `0`, expected a variable that"),
            ("t 1 2 1 9 2 1 0 0 1\n2 1", "2:1: found `2`, expected a value from 0 to 1"),
            ("t 1 2 1 9 2 1 0 0 1\n1 1.5", "2:3: found `1.5`, expected a cost"),
            ("t 1 2 1 9 2 1 0 0 0\n1", "2:1: found `1`, expected the end of the file (the first line announces 1"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
