//! The `.cnf` and `.wcnf` formats: clauses over Boolean variables. Each violated clause costs its weight. Value 1 is
//! true.
//!
//! `.wcnf` has two dialects. The older one starts with `p wcnf VARIABLES CLAUSES [TOP]` and has clauses `WEIGHT
//! LITERALS 0`; a weight of at least `TOP` is hard. Since 2022 there is no header, and hard clauses are `h LITERALS 0`
//! (MaxSAT Evaluation, rules of 2022). Files that mix both are read, and weights may be decimals. A clause of a `.cnf`
//! has weight 1. The header, not the file's name, distinguishes both formats.

mod write;

pub(super) use write::write;

use super::cost_units::{Range, Unit};
use super::decimal::{Real, is_at_least};
use super::limits::ANNOUNCED;
use super::options::ReadOptions;
use super::repeated::Repeated;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{FORBIDDEN, Network};

/// The largest number of literals of a clause that becomes a dense table of 2^n costs; larger clauses become sparse
/// tables with the violating assignment.
const DENSE: usize = 6;

/// Reads a `.cnf` file.
pub(super) fn read(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_clauses(tokens, false, options)
}

/// Reads a `.wcnf` file.
pub(super) fn read_weighted(tokens: &mut Tokens<'_>, options: &ReadOptions) -> Result<Network, Error> {
    read_clauses(tokens, true, options)
}

/// The header of a file.
struct Header {
    variables: usize,
    clauses: usize,
    weighted: bool,
    /// The weight from which on clauses are hard, as digits of any length.
    top: Option<Box<[u8]>>,
}

/// The cost of violating a clause.
#[derive(Clone, Copy)]
enum Weight {
    Hard,
    Soft(Real),
}

/// Clauses in a flat list.
#[derive(Default)]
struct Clauses {
    literals: Vec<i32>,
    /// The end of each clause in `literals`, and its weight.
    ends: Vec<(usize, Weight)>,
    /// The largest variable, numbered from 1.
    largest: usize,
}

fn read_clauses(tokens: &mut Tokens<'_>, weighted: bool, options: &ReadOptions) -> Result<Network, Error> {
    while tokens.peek()?.starts_with(b"c") {
        let _ = tokens.word("a comment")?;
        tokens.skip_line()?;
    }
    let has_header = tokens.peek()?.first().is_some_and(|first| first.eq_ignore_ascii_case(&b'p'));
    let header = if has_header || !weighted { Some(read_header(tokens, weighted)?) } else { None };
    let weighted = header.as_ref().map_or(weighted, |header| header.weighted);
    let mut clauses = Clauses::default();
    tokens.skip_comments_after(b'c'); // only now, because `cnf` begins with a c
    let mut surplus = Repeated::default();
    // files of SATLIB end with a line `%`
    while !tokens.at_end()? && tokens.peek()? != b"%" {
        let weight = if weighted { weight(tokens, header.as_ref())? } else { Weight::Soft(Real::integer(1)) };
        if header.as_ref().is_some_and(|header| clauses.ends.len() >= header.clauses) {
            surplus.note(tokens.place());
        }
        clauses.read(tokens, header.as_ref(), weight)?;
    }
    // reading to the end reveals truncated archives
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
    clauses.network(tokens, announced, options)
}

fn read_header(tokens: &mut Tokens<'_>, weighted: bool) -> Result<Header, Error> {
    let line = if weighted { "`p wcnf`" } else { "`p cnf VARIABLES CLAUSES`" };
    if !tokens.word(line)?.eq_ignore_ascii_case(b"p") {
        return Err(tokens.error(line));
    }
    let weighted = match &tokens.word("`cnf` or `wcnf`")?.to_ascii_lowercase()[..] {
        b"wcnf" => true,
        b"cnf" => false,
        _ => return Err(tokens.error("`cnf` or `wcnf`")),
    };
    let variables = tokens.count("a number of variables")?;
    let clauses = tokens.count("a number of clauses")?;
    let mut top = None;
    if weighted && !tokens.at_line_end()? {
        let word: Box<[u8]> = tokens.word("the weight of hard clauses")?.into();
        if is_at_least(&word, b"0").is_none() {
            return Err(tokens.error("the weight of hard clauses"));
        }
        top = Some(word);
    }
    Ok(Header { variables, clauses, weighted, top })
}

/// Reads the weight of the next clause.
fn weight(tokens: &mut Tokens<'_>, header: Option<&Header>) -> Result<Weight, Error> {
    if tokens.peek()?.eq_ignore_ascii_case(b"h") {
        let _ = tokens.word("`h`")?;
        return Ok(Weight::Hard);
    }
    let top = header.and_then(|header| header.top.as_deref());
    if top.is_some_and(|top| is_at_least(tokens.peek().unwrap_or_default(), top) == Some(true)) {
        let _ = tokens.word("a weight")?;
        return Ok(Weight::Hard);
    }
    let weight = tokens.real("a weight or `h`")?;
    match weight.as_f64() {
        0.0.. => Ok(Weight::Soft(weight)),
        _ => Err(tokens.error("a weight of at least 0, or `h`")),
    }
}

impl Clauses {
    /// Reads the literals of a clause up to the 0.
    fn read(&mut self, tokens: &mut Tokens<'_>, header: Option<&Header>, weight: Weight) -> Result<(), Error> {
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
        self.ends.push((kept, if is_tautology { Weight::Soft(Real::default()) } else { weight }));
        Ok(())
    }

    fn network(self, tokens: &Tokens<'_>, announced: usize, options: &ReadOptions) -> Result<Network, Error> {
        let variables = announced.max(self.largest);
        let most = ANNOUNCED.max(self.literals.len());
        if variables > most {
            return Err(tokens.error_with(format!("at most {most} variables"), format!("there are {variables}")));
        }
        let mut builder = Network::builder(tokens.file());
        for _ in 0..variables {
            let _ = builder.variable(2)?;
        }
        let mut range = Range::default();
        for (_, weight) in &self.ends {
            if let Weight::Soft(weight) = weight {
                range.add(&[*weight]);
            }
        }
        let mut unit: Unit = range.unit(tokens, options)?;
        let mut start = 0;
        let mut scope = Vec::new();
        for item in tokens.stop().each(self.ends) {
            let (end, weight) = item?;
            let [cost] = match weight {
                Weight::Hard => [FORBIDDEN],
                Weight::Soft(weight) => unit.costs([weight]),
            };
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
        let _ = builder.units(unit.units(false));
        Ok(builder.build())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Cost, Table, Units, add};
    use crate::stop::Stop;
    use crate::{Format, read_from};

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
    fn decimal_costs_are_written_as_decimal_weights() {
        let text = "{problem:{name:t,mustbe:\"<9.00\"},variables:{a:2,b:2},functions:{f:{scope:[a],costs:[0.25,1.5]},\
            g:{scope:[a,b],costs:[0.75,inf,0.5,2.25]}}}";
        let read = |text: &str, format| {
            read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &Stop::new()).expect("a network")
        };
        let network = read(text, Format::Cfn);
        let mut written = Vec::new();
        crate::write(&network, Format::Wcnf, &mut written).expect("weights");
        let written = String::from_utf8(written).expect("text");
        assert!(written.starts_with("p wcnf 2 5 5\n1.25 -1 0\n"), "{written}");
        let again = read(&written, Format::Wcnf);
        assert_eq!((costs(&again), again.units().decimals), (vec![100, 200, FORBIDDEN, 375], 2));
    }

    #[test]
    fn both_dialects_count_the_weight_that_is_not_satisfied() {
        // costs of the assignments in the order 00, x1, x2, x1 x2
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
    fn dialects_mix_and_weights_may_be_decimals() {
        let mixed = parse("p wcnf 2 3 10\nh 1 2 0\n10 -1 -2 0\n2.5 1 0\n", Format::Wcnf).expect("clauses");
        assert_eq!(costs(&mixed), [FORBIDDEN, 0, 25, FORBIDDEN]);
        assert_eq!(*mixed.units(), Units { decimals: 1, maximise: false, rounded: 0 });
        let new = parse("h 1 2 0\n0.75 -1 0\n1e-1 -2 0\n", Format::Wcnf).expect("clauses");
        assert_eq!(costs(&new), [FORBIDDEN, 75, 10, 85]);
        let plain = parse("P CNF 1 1\n1 0\n", Format::Wcnf).expect("clauses");
        assert_eq!(costs(&plain), [1, 0]);
        let weighted = parse("p wcnf 1 1\n7 1 0\n", Format::Cnf).expect("clauses");
        assert_eq!(costs(&weighted), [7, 0]);
        let huge = "p wcnf 1 2 36893488147419103232\n36893488147419103232 1 0\n00036893488147419103233.5 -1 0\n";
        assert_eq!(costs(&parse(huge, Format::Wcnf).expect("clauses")), [FORBIDDEN; 2]);
    }

    #[test]
    fn oddities() {
        // a tautology, an empty clause, and a variable that occurs in no clause
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
            ("p dnf 1 1\n", "1:3: found `dnf`, expected `cnf` or `wcnf`"),
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
            ("p wcnf 1 1 x\n9 1 0", "1:12: found `x`, expected the weight of hard clauses"),
            ("p wcnf 1 1 9\nx 1 0", "2:1: found `x`, expected a weight or `h`"),
            ("", "1:1: found the end of the file, expected a clause or `p wcnf`"),
            ("-1 1 0", "1:1: found `-1`, expected a weight of at least 0, or `h`"),
            ("p wcnf 1 1 36893488147419103232\n18446744073709551616 1 0", "expected smaller numbers"),
            ("1 2147483647 0", "expected at most 4194304 variables (there are 2147483647)"),
            ("200000000000000000 1 0 200000000000000000 1 0", "expected smaller numbers"),
        ] {
            let error = parse(text, Format::Wcnf).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
