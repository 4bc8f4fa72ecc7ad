//! The `.wcsp` format: a stream of words; line ends have no meaning.
//!
//! `name variables largest-domain functions top`, the domain sizes, then each function:
//! `arity variables… default tuples`, and for each tuple its values and its cost.
//! A negative arity offers the function for sharing; a negative number of tuples -k takes the table of the k-th one
//! offered. A default of -1 before a word is a global cost function (`global`).

mod global;
mod write;

pub(super) use write::write;

use super::ReadOptions;
use super::limits::Domains;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Network};

/// Tables of up to this number of combinations are dense, however few tuples are listed: a page or two, found by one
/// index.
const SMALL: u64 = 1 << 12;

/// Tables of more combinations are never dense.
const LARGEST_DENSE: u64 = 1 << 26;

/// Between the two, a table is dense once one in DENSE_SHARE combinations is listed. A listed tuple of a sparse table
/// takes 8 bytes and 4 a value, and a search for every look-up.
const DENSE_SHARE: u64 = 16;

/// Reads a network.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    let _ = tokens.word("the name of the problem")?;
    let variables = tokens.count("the number of variables")?;
    let _ = tokens.count("the largest domain size")?;
    let functions = tokens.count("the number of functions")?;
    let top = tokens.integer("the upper bound on costs")?;

    let mut builder = Network::builder(tokens.file());
    let _ = builder.top(if top > COST_LIMIT { FORBIDDEN } else { top });
    let mut domains = Domains::default();
    for _ in 0..variables {
        let size = tokens.integer("a domain size")?;
        domains.declare(size.saturating_abs(), &mut builder, tokens)?; // negative: an interval of that size
    }
    let mut reader = Reader {
        tokens,
        builder,
        top,
        variables: variables as u32, // as many as were declared, so it fits
        scope: Vec::new(),
        sizes: Vec::new(),
        ranges: Vec::new(),
        offered: Vec::new(),
    };
    for _ in 0..functions {
        reader.function()?;
    }
    reader.check_sums()?;
    reader.tokens.finish(|| format!("the first line announces {functions} functions"))?;
    Ok(reader.builder.build())
}

struct Reader<'r, 't> {
    tokens: &'r mut Tokens<'t>,
    builder: Builder,
    /// As the file has it; [`Network::top`] is [`FORBIDDEN`] where it exceeds every cost.
    top: i64,
    variables: u32,
    scope: Vec<u32>,
    /// Domain sizes along the scope.
    sizes: Vec<u32>,
    /// Least and largest finite cost of each function.
    ranges: Vec<(Cost, Cost)>,
    /// Functions offered for sharing.
    offered: Vec<u32>,
}

/// Tuples as they are read: a list at first, a dense table once there are enough of them. Nothing is allocated for a
/// claim of the file.
struct Listed {
    values: Vec<u32>,
    costs: Vec<Cost>,
    dense: Option<Vec<Cost>>,
}

impl Reader<'_, '_> {
    fn function(&mut self) -> Result<(), Error> {
        let arity = self.tokens.integer("the arity of a function")?;
        self.read_scope(arity.unsigned_abs())?;
        let default = self.cost("a default cost")?;
        if let Some(function) = self.global()? {
            if arity < 0 {
                self.offered.push(function);
            }
            return Ok(());
        }
        let tuples = self.tokens.integer("a number of tuples")?;
        let function =
            if tuples < 0 { self.share(tuples.unsigned_abs())? } else { self.table(default, tuples as u64)? };
        if arity < 0 {
            self.offered.push(function);
        }
        Ok(())
    }

    fn read_scope(&mut self, arity: u64) -> Result<(), Error> {
        self.scope.clear();
        self.sizes.clear();
        if arity > u64::from(self.variables) {
            return Err(self.tokens.error(format!("an arity of at most {}", self.variables)));
        }
        for _ in 0..arity {
            let variable = self.tokens.index(self.variables, "a variable")?;
            // the builder sorts long scopes
            if arity <= 64 && self.scope.contains(&variable) {
                return Err(self.tokens.error("a variable that the function does not have yet"));
            }
            self.scope.push(variable);
            self.sizes.extend(self.builder.domain(variable));
        }
        Ok(())
    }

    /// A cost of at least `top` is forbidden, whatever negative costs stand elsewhere.
    fn cost(&mut self, expected: &str) -> Result<Cost, Error> {
        let cost = self.tokens.integer(expected)?;
        if cost >= self.top {
            Ok(FORBIDDEN)
        } else if cost.unsigned_abs() < COST_LIMIT as u64 {
            Ok(cost)
        } else {
            Err(self.tokens.error(format!("{expected} within ±{COST_LIMIT}")))
        }
    }

    fn share(&mut self, number: u64) -> Result<u32, Error> {
        let offered = self.offered.len();
        let original = usize::try_from(number - 1).ok().and_then(|index| self.offered.get(index).copied());
        let Some(original) = original else {
            return Err(self
                .tokens
                .error(format!("a number of tuples, or one of the {offered} functions shared so far")));
        };
        let _ = self
            .builder
            .shared(&self.scope, original)
            .map_err(|error| self.tokens.error_with("a shared table that fits", error.to_string()))?;
        self.ranges.push(self.ranges[original as usize]);
        Ok(self.ranges.len() as u32 - 1)
    }

    fn table(&mut self, default: Cost, tuples: u64) -> Result<u32, Error> {
        let combinations = self.sizes.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
        let enough = match combinations {
            n if n <= SMALL => 1,
            n if n <= LARGEST_DENSE => n.div_ceil(DENSE_SHARE),
            _ => u64::MAX,
        };
        let mut listed = Listed { values: Vec::new(), costs: Vec::new(), dense: None };
        if combinations <= SMALL && self.scope.len() < 2 {
            listed.dense = Some(vec![default; combinations as usize]); // constants and unary costs
        }
        for _ in 0..tuples {
            if let Some(dense) = &mut listed.dense {
                let mut index = 0;
                for &size in &self.sizes {
                    index = index * size as usize + self.tokens.index(size, "a value")? as usize;
                }
                dense[index] = self.cost("a cost")?;
                continue;
            }
            for &size in &self.sizes {
                listed.values.push(self.tokens.index(size, "a value")?);
            }
            listed.costs.push(self.cost("a cost")?);
            if listed.costs.len() as u64 >= enough {
                listed.spread(&self.sizes, default, combinations as usize);
            }
        }
        self.ranges.push(range(default, listed.dense.as_deref().unwrap_or(&listed.costs)));
        let function = match listed.dense {
            Some(costs) => self.builder.dense(&self.scope, costs),
            None => self.builder.sparse(&self.scope, default, listed.values, listed.costs),
        };
        function.map_err(|error| self.tokens.error_with("a table that fits its scope", error.to_string()))
    }

    /// Sums have 64 bits and saturate at [`FORBIDDEN`]. That is right only for sums that reach `top` and stay there.
    fn check_sums(&self) -> Result<(), Error> {
        let sum = |f: fn(&(Cost, Cost)) -> Cost| self.ranges.iter().fold(0, |s: Cost, r| s.saturating_add(f(r).max(0)));
        let (below, above) = (sum(|range| -range.0), sum(|range| range.1));
        let fits = match self.top {
            ..=COST_LIMIT => below == 0 || above < FORBIDDEN,
            top => above < FORBIDDEN.min(top),
        };
        if fits && below < FORBIDDEN {
            return Ok(());
        }
        let hint = "the sum of the largest costs of all functions passes 64-bit arithmetic";
        Err(self.tokens.error_with("smaller costs", hint))
    }
}

impl Listed {
    /// Moves the tuples listed so far to a dense table.
    fn spread(&mut self, sizes: &[u32], default: Cost, combinations: usize) {
        let mut dense = vec![default; combinations];
        let arity = sizes.len();
        for (row, &cost) in self.costs.iter().enumerate() {
            let values = &self.values[row * arity..(row + 1) * arity];
            let index = values.iter().zip(sizes).fold(0, |index, (&v, &size)| index * size as usize + v as usize);
            dense[index] = cost;
        }
        *self = Listed { values: Vec::new(), costs: Vec::new(), dense: Some(dense) };
    }
}

/// Least and largest finite cost; 0 where there is none.
fn range(default: Cost, costs: &[Cost]) -> (Cost, Cost) {
    let finite = |cost: Cost| if cost == FORBIDDEN { 0 } else { cost };
    costs.iter().fold((finite(default), finite(default)), |(least, largest), &cost| {
        (least.min(finite(cost)), largest.max(finite(cost)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{Format, read_from};
    use crate::model::{Table, add};
    use crate::stop::Stop;

    pub(super) fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.wcsp", Format::Wcsp, &ReadOptions::default(), &Stop::new())
    }

    pub(super) fn message(text: &str) -> String {
        parse(text).expect_err("wrong on purpose").to_string()
    }

    pub(super) fn cost(network: &Network, assignment: &[u32]) -> Cost {
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
            if std::sync::Arc::ptr_eq(a, b) && std::sync::Arc::ptr_eq(a, c)));
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
        assert!(message(&format!("t 1 1 5 9223372036854775807 1 {large}")).contains("64-bit"));
    }

    #[test]
    fn negative_costs() {
        let network = parse("t 1 2 1 9 2 1 0 -1 1 0 -3").expect("a network");
        assert_eq!((cost(&network, &[0]), cost(&network, &[1])), (-3, -1));
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
    fn global_functions_are_named() {
        let error = message(
            "t 2 2 2 9
2 2
1 0 0 0
2 0 1 -1 sregular var 10
",
        );
        assert_eq!(
            error,
            "t.wcsp:4:10: found `sregular`, expected a number of tuples \
             (function 1 is a global cost function, sregular; only tables and salldiff are read)"
        );
        assert!(message("t 2 2 1 9 2 2 2 0 1-1 alldiff 0").contains("cost function, alldiff;"));
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
            ("t 1 2 1 9 2 1 1 0 0", "found `1`, expected a variable in 0..1"),
            ("t 2 2 1 9 2 2 2 0 0 0 0", "1:19: found `0`, expected a variable that"),
            ("t 1 2 1 9 2 1 0 0 1\n2 1", "2:1: found `2`, expected a value in 0..2"),
            ("t 1 2 1 9 2 1 0 0 1\n1 1.5", "2:3: found `1.5`, expected a cost"),
            ("t 1 2 1 9 2 1 0 0 0\n1", "2:1: found `1`, expected the end of the file (the first line announces 1"),
        ] {
            assert!(message(text).contains(part), "{text}: {}", message(text));
        }
    }
}
