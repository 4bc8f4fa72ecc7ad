//! `.cnf` and `.wcnf`: clauses of binary variables, of which each that is not satisfied costs its weight. Value 1 is
//! true.
//!
//! `.wcnf` has two dialects: `p wcnf VARIABLES CLAUSES [TOP]` and `WEIGHT LITERALS 0`, where a weight of at least `top`
//! is hard; and since 2022 without a header, `h LITERALS 0` for hard clauses (MaxSAT Evaluation, rules of 2022). A
//! clause of a `.cnf` has weight 1.

mod write;

pub(super) use write::write;

use super::ReadOptions;
use super::limits::ANNOUNCED;
use super::repeated::Repeated;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{COST_LIMIT, Cost, FORBIDDEN, Network};

/// Clauses of up to this number of literals have all their 2^n costs in a row; the others list the assignment that
/// does not satisfy them.
const DENSE: usize = 6;

/// Reads a `.cnf`.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    read_clauses(tokens, false)
}

/// Reads a `.wcnf`.
pub(super) fn read_weighted(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    read_clauses(tokens, true)
}

/// What precedes the clauses.
struct Header {
    variables: usize,
    clauses: usize,
    /// Weights from here on are hard.
    top: Option<i64>,
}

/// Clauses one after the other.
#[derive(Default)]
struct Clauses {
    literals: Vec<i32>,
    /// The end of each clause among the literals, and its cost.
    ends: Vec<(usize, Cost)>,
    /// The largest variable.
    largest: usize,
}

fn read_clauses(tokens: &mut Tokens<'_>, weighted: bool) -> Result<Network, Error> {
    while tokens.peek()?.starts_with(b"c") {
        let _ = tokens.word("a comment")?;
        tokens.skip_line()?;
    }
    let has_header = tokens.peek()?.first() == Some(&b'p');
    let header = if has_header || !weighted { Some(read_header(tokens, weighted)?) } else { None };
    let mut clauses = Clauses::default();
    tokens.skip_comments_after(b'c'); // not before, because of the word `cnf`
    let (mut surplus, mut sum) = (Repeated::default(), 0i64);
    // files of SATLIB end with a line `%`
    while !tokens.at_end()? && tokens.peek()? != b"%" {
        let cost = if weighted { weight(tokens, header.as_ref())? } else { 1 };
        if cost < FORBIDDEN {
            sum = sum.saturating_add(cost);
        }
        if sum >= COST_LIMIT {
            return Err(tokens.error_with("smaller weights", "the weights add up to more than 64-bit costs hold"));
        }
        if header.as_ref().is_some_and(|header| clauses.ends.len() >= header.clauses) {
            surplus.note(tokens.place());
        }
        clauses.read(tokens, header.as_ref(), cost)?;
    }
    // an archive that is cut short tells so at its end
    while !tokens.at_end()? {
        let _ = tokens.word("the rest")?;
    }
    if let Some(Header { clauses: announced, .. }) = header {
        if clauses.ends.len() < announced {
            let hint = format!("{} of them were read", clauses.ends.len());
            return Err(tokens.error_with(format!("{announced} clauses, as the header says"), hint));
        }
        surplus.warn(tokens, |times| format!("clauses beyond the {announced} that the header announces ({times})"));
    }
    if header.is_none() && clauses.ends.is_empty() {
        return Err(tokens.error("a clause or `p wcnf`"));
    }
    let announced = header.map_or(0, |header| header.variables);
    clauses.network(tokens, announced)
}

fn read_header(tokens: &mut Tokens<'_>, weighted: bool) -> Result<Header, Error> {
    let (line, kind) = if weighted { ("`p wcnf`", "wcnf") } else { ("`p cnf VARIABLES CLAUSES`", "cnf") };
    if tokens.word(line)? != b"p" {
        return Err(tokens.error(line));
    }
    if tokens.word(kind)? != kind.as_bytes() {
        return Err(tokens.error(format!("`{kind}`")));
    }
    let variables = tokens.count("a number of variables")?;
    let clauses = tokens.count("a number of clauses")?;
    let has_top = weighted && !tokens.at_line_end()?;
    let top = has_top.then(|| tokens.integer("the weight of hard clauses")).transpose()?;
    Ok(Header { variables, clauses, top })
}

/// The cost of not satisfying the clause that begins here.
fn weight(tokens: &mut Tokens<'_>, header: Option<&Header>) -> Result<Cost, Error> {
    if header.is_none() && tokens.peek()? == b"h" {
        let _ = tokens.word("`h`")?;
        return Ok(FORBIDDEN);
    }
    let expected = if header.is_none() { "a weight or `h`" } else { "a weight" };
    let weight = tokens.integer(expected)?;
    if header.is_some_and(|header| header.top.is_some_and(|top| weight >= top)) {
        return Ok(FORBIDDEN);
    }
    if !(0..COST_LIMIT).contains(&weight) {
        return Err(tokens.error(format!("{expected} of at least 0 and below {COST_LIMIT}")));
    }
    Ok(weight)
}

impl Clauses {
    /// Reads literals up to the 0.
    fn read(&mut self, tokens: &mut Tokens<'_>, header: Option<&Header>, cost: Cost) -> Result<(), Error> {
        let limit = header.map_or(i64::from(i32::MAX), |header| header.variables.min(i32::MAX as usize) as i64);
        let start = self.literals.len();
        let mut is_tautology = false;
        loop {
            let literal = tokens.integer("a literal, or 0 at the end of a clause")?;
            if literal == 0 {
                break;
            }
            if literal.abs() > limit {
                return Err(tokens.error(format!("a literal of a variable from 1 to {limit}")));
            }
            let literal = literal as i32;
            self.largest = self.largest.max(literal.unsigned_abs() as usize);
            self.literals.push(literal);
        }
        let clause = &mut self.literals[start..];
        clause.sort_unstable_by_key(|literal| (literal.unsigned_abs(), *literal));
        is_tautology |= clause.windows(2).any(|pair| pair[0] == -pair[1]);
        let mut kept = start;
        for at in start..self.literals.len() {
            if at == start || self.literals[at] != self.literals[at - 1] {
                self.literals[kept] = self.literals[at];
                kept += 1;
            }
        }
        self.literals.truncate(kept);
        self.ends.push((kept, if is_tautology { 0 } else { cost }));
        Ok(())
    }

    fn network(self, tokens: &Tokens<'_>, announced: usize) -> Result<Network, Error> {
        let variables = announced.max(self.largest);
        let most = ANNOUNCED.max(self.literals.len());
        if variables > most {
            return Err(tokens.error_with(format!("at most {most} variables"), format!("there are {variables}")));
        }
        let mut builder = Network::builder(tokens.file());
        for _ in 0..variables {
            let _ = builder.variable(2)?;
        }
        let mut start = 0;
        let mut scope = Vec::new();
        for item in tokens.stop().each(self.ends) {
            let (end, cost) = item?;
            let clause = &self.literals[std::mem::replace(&mut start, end)..end];
            if cost == 0 {
                continue;
            }
            scope.clear();
            scope.extend(clause.iter().map(|literal| literal.unsigned_abs() - 1));
            let unsatisfied = clause.iter().map(|&literal| u32::from(literal < 0));
            if clause.len() <= DENSE {
                let mut costs = vec![0; 1 << clause.len()];
                costs[unsatisfied.fold(0, |index, value| 2 * index + value as usize)] = cost;
                let _ = builder.dense(&scope, costs)?;
            } else {
                let _ = builder.sparse(&scope, 0, unsatisfied.collect(), vec![cost])?;
            }
        }
        Ok(builder.build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::model::{Table, add};
    use crate::stop::Stop;

    fn parse(text: &str, format: Format) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &Stop::new())
    }

    fn costs(network: &Network) -> Vec<Cost> {
        let n = network.domains().len();
        let of = |bits: u32| -> Vec<u32> { (0..n).map(|v| bits >> v & 1).collect() };
        let cost = |assignment: &[u32]| {
            network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), assignment)))
        };
        (0..1 << n).map(|bits| cost(&of(bits))).collect()
    }

    #[test]
    fn both_dialects_count_the_weight_that_is_not_satisfied() {
        // assignments in the order 00, x1, x2, x1 x2
        let old = "c old\np wcnf 2 4 10\n10 1 2 0\n3 -1\n0\n4 -2 0 c not 10\n2 1 -2 1 0\n";
        let new = "c{\nc \"n\": 2\nc}\nh 1 2 0\n3 -1 0\n4 -2 0\nc\n2 1 -2 1 0\n";
        for text in [old, new, &new.replace('\n', "\r\n")] {
            let network = parse(text, Format::Wcnf).expect("clauses");
            assert_eq!(costs(&network), [FORBIDDEN, 3, 4 + 2, 3 + 4], "{text}");
        }
        let soft = parse("p wcnf 1 2\n99999999 1 0\n1 -1 0\n", Format::Wcnf).expect("clauses");
        assert_eq!(costs(&soft), [99_999_999, 1], "without top all are soft");
    }

    #[test]
    fn oddities() {
        // a tautology, an empty clause, a variable that no clause has
        let network = parse("p wcnf 3 3 9\n5 1 -1 0 2 0 9 -3 -3 0", Format::Wcnf).expect("clauses");
        assert_eq!((network.domains().len(), network.functions().len()), (3, 2));
        assert_eq!(costs(&network)[..5], [2, 2, 2, 2, FORBIDDEN]);
        let empty = parse("h 0\n", Format::Wcnf).expect("clauses");
        assert_eq!((empty.domains().len(), costs(&empty)), (0, vec![FORBIDDEN]));
        let satlib = parse("c\np cnf 2 2\n1 -2 0\n2 0\n%\n0\n", Format::Cnf).expect("clauses");
        assert_eq!(costs(&satlib), [1, 1, 1, 0]);
        let more = parse("p cnf 1 1\n1 0\n-1 0\n", Format::Cnf).expect("clauses");
        assert_eq!((costs(&more), more.warnings().len()), (vec![1, 1], 1));
    }

    #[test]
    fn long_clauses_list_one_assignment() {
        let literals: Vec<String> = (1..=70).map(|v| if v % 3 == 0 { -v } else { v }.to_string()).collect();
        let network = parse(&format!("p cnf 70 1\n{} 0", literals.join(" ")), Format::Cnf).expect("a clause");
        assert!(matches!(&network.functions()[0].table, Table::Sparse(table) if table.len() == 1));
        let mut assignment: Vec<u32> = (1..=70).map(|v| u32::from(v % 3 == 0)).collect();
        assert_eq!(network.functions()[0].cost(network.domains(), &assignment), 1);
        assignment[69] ^= 1;
        assert_eq!(network.functions()[0].cost(network.domains(), &assignment), 0);
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "1:1: found the end of the file, expected `p cnf VARIABLES CLAUSES`"),
            ("p dnf 1 1\n", "1:3: found `dnf`, expected `cnf`"),
            ("p cnf 2 1\n3 0", "2:1: found `3`, expected a literal of a variable from 1 to 2"),
            ("p cnf 2 1\n1 x 0", "2:3: found `x`, expected a literal"),
            ("p cnf 2 2\n1 0", "2:4: found the end of the file, expected 2 clauses, as the header says (1 of them"),
            ("p cnf 2 1\n1 2", "found the end of the file, expected a literal"),
            ("p cnf 99999999999 0\n", "expected at most 4194304 variables"),
        ] {
            let error = parse(text, Format::Cnf).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        for (text, part) in [
            ("p cnf 1 1\n1 0", "1:3: found `cnf`, expected `wcnf`"),
            ("p wcnf 1 1 9\nh 1 0", "2:1: found `h`, expected a weight"),
            ("", "1:1: found the end of the file, expected a clause or `p wcnf`"),
            ("-1 1 0", "1:1: found `-1`, expected a weight or `h` of at least 0"),
            ("1.5 1 0", "1:1: found `1.5`, expected a weight or `h`"),
            ("1 2147483647 0", "expected at most 4194304 variables (there are 2147483647)"),
            ("200000000000000000 1 0 200000000000000000 1 0", "expected smaller weights"),
        ] {
            let error = parse(text, Format::Wcnf).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
