//! Pseudo-Boolean problems: `.opb` (an objective, and constraints on sums of products of Boolean variables) and `.wbo`
//! (constraints that cost their weight if they are violated), as in the competitions (Roussel and Manquinho,
//! "Input/output format and solver requirements for the competitions of pseudo-Boolean solvers", 2012).

mod linear;
mod products;

use super::limits::ANNOUNCED;
use super::options::ReadOptions;
use super::tokens::{Place, Tokens};
use crate::error::{Error, ModelError};
use crate::globals::{Decomposer, Refusal};
use crate::model::{Builder, COST_LIMIT, Cost, FORBIDDEN, Network, Units, Variable};
use linear::{Constraint, Shape};
use num_bigint::BigInt;
use products::Products;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Reads an `.opb` file.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    Reader::new(tokens, false)?.problem()
}

/// Reads a `.wbo` file.
pub(super) fn read_weighted(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    Reader::new(tokens, true)?.problem()
}

/// A product of literals: each variable, and whether it is negated.
type Product = BTreeMap<u32, bool>;

struct Reader<'r, 't> {
    tokens: &'r mut Tokens<'t>,
    weighted: bool,
    names: Vec<Box<str>>,
    variables: FxHashMap<Box<str>, u32>,
    /// The terms of the objective, to be minimised.
    objective: Vec<(Cost, Product)>,
    maximise: bool,
    /// The constraints, each with its position and the cost of violating it.
    constraints: Vec<(Constraint, Place, Cost)>,
    top: Cost,
    /// The sum of all absolute costs.
    sum: i128,
}

impl<'r, 't> Reader<'r, 't> {
    /// Starts to read a file, and creates the variables that a comment at its beginning announces.
    fn new(tokens: &'r mut Tokens<'t>, weighted: bool) -> Result<Self, Error> {
        let mut reader = Reader {
            tokens,
            weighted,
            names: Vec::new(),
            variables: FxHashMap::default(),
            objective: Vec::new(),
            maximise: false,
            constraints: Vec::new(),
            top: FORBIDDEN,
            sum: 0,
        };
        let mut in_comment = reader.tokens.peek()?.starts_with(b"*");
        while in_comment {
            let word = reader.tokens.word("a comment")?;
            let given = word.strip_prefix(b"#variable=").or(word.strip_prefix(b"*#variable="));
            let Some(given) = given else {
                in_comment = !reader.tokens.at_line_end()?;
                continue;
            };
            let count = match std::str::from_utf8(given).ok().and_then(|text| text.parse().ok()) {
                Some(count) => count,
                None => reader.tokens.count("a number of variables")?,
            };
            if count > ANNOUNCED {
                return Err(reader.tokens.error(format!("at most {ANNOUNCED} variables")));
            }
            for number in 1..=count {
                let _ = reader.variable(format!("x{number}").as_bytes());
            }
            reader.tokens.skip_line()?;
            break;
        }
        Ok(reader)
    }

    fn problem(mut self) -> Result<Network, Error> {
        while !self.at_end()? {
            let word = self.tokens.peek()?.to_ascii_lowercase();
            if word.starts_with(b"min:") || word.starts_with(b"max:") {
                self.objective(word.starts_with(b"max:"))?;
            } else if self.weighted && word.starts_with(b"soft:") {
                self.limit()?;
            } else {
                self.constraint()?;
            }
        }
        if self.names.is_empty() && self.objective.is_empty() && self.constraints.is_empty() {
            return Err(self.tokens.error("an objective or a constraint"));
        }
        self.network()
    }

    /// Skips comments, each of which begins a line. Returns whether nothing else is left.
    fn at_end(&mut self) -> Result<bool, Error> {
        while self.tokens.peek()?.starts_with(b"*") && self.tokens.place().1 == 1 {
            let _ = self.tokens.word("a comment")?;
            self.tokens.skip_line()?;
        }
        self.tokens.at_end()
    }

    /// Consumes the next piece of a statement.
    fn piece(&mut self, expected: &str) -> Result<Vec<u8>, Error> {
        if self.at_end()? {
            let _ = self.tokens.word(expected)?;
        }
        self.tokens.part(expected, length).map(<[u8]>::to_vec)
    }

    /// Returns the next piece without consuming it; empty at the end.
    fn next(&mut self) -> Result<Vec<u8>, Error> {
        let _ = self.at_end()?;
        let word = self.tokens.peek()?;
        Ok(word[..length(word)].to_vec())
    }

    /// Consumes an integer of any size.
    fn big(&mut self, expected: &str) -> Result<BigInt, Error> {
        let mut piece = self.piece(expected)?;
        if matches!(&piece[..], b"+" | b"-") {
            piece.extend(self.piece(expected)?); // the sign is separate from its number
        }
        let number = std::str::from_utf8(&piece).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.tokens.error(expected))
    }

    /// Consumes an integer that costs can hold.
    fn integer(&mut self, expected: &str) -> Result<i64, Error> {
        let number = i64::try_from(self.big(expected)?).ok();
        match number.filter(|number| number.unsigned_abs() < COST_LIMIT as u64) {
            Some(number) => Ok(number),
            None => Err(self.tokens.error_with(expected, format!("of less than {COST_LIMIT}"))),
        }
    }

    fn end(&mut self) -> Result<(), Error> {
        match &self.piece("`;`")?[..] {
            b";" => Ok(()),
            _ => Err(self.tokens.error("`;`")),
        }
    }

    fn variable(&mut self, name: &[u8]) -> u32 {
        let name: Box<str> = super::encoding::word(name).into();
        let next = self.names.len() as u32;
        *self.variables.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        })
    }

    /// Reads the literals up to the next coefficient or the end of a sum. Returns `None` for a product that is always 0
    /// because it contains a variable and its negation.
    fn product(&mut self) -> Result<Option<Product>, Error> {
        let (mut product, mut is_zero) = (Product::new(), false);
        loop {
            let mut piece = self.next()?;
            if piece == b"*" {
                let _ = self.piece("a variable")?;
                piece = self.next()?;
            }
            let negated = piece == b"~";
            if negated {
                let _ = self.piece("a variable")?;
                piece = self.next()?;
            }
            if !piece.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_') {
                if negated {
                    let _ = self.piece("a variable")?;
                    return Err(self.tokens.error("a variable"));
                }
                return Ok((!is_zero).then_some(product));
            }
            let name = self.piece("a variable")?;
            let variable = self.variable(&name);
            is_zero |= product.insert(variable, negated).is_some_and(|other| other != negated);
        }
    }

    fn cost(&mut self, cost: Cost) -> Result<(), Error> {
        self.sum += i128::from(cost.unsigned_abs());
        if self.sum >= COST_LIMIT.into() {
            return Err(self.tokens.error_with("smaller numbers", "they add up to more than 64-bit costs hold"));
        }
        Ok(())
    }

    fn objective(&mut self, maximise: bool) -> Result<(), Error> {
        let _ = self.tokens.part("an objective", |_| 4)?;
        if !self.objective.is_empty() {
            return Err(self.tokens.error("one objective"));
        }
        self.maximise = maximise;
        while self.next()? != b";" {
            let coefficient = self.integer("a coefficient or `;`")?;
            self.cost(coefficient)?;
            let cost = if maximise { -coefficient } else { coefficient };
            if let Some(product) = self.product()? {
                self.objective.push((cost, product));
            }
        }
        self.end()
    }

    /// Reads `soft: [TOP] ;`.
    fn limit(&mut self) -> Result<(), Error> {
        let _ = self.tokens.part("`soft:`", |_| 5)?;
        if self.next()? != b";" {
            self.top = self.integer("the limit of the total cost or `;`")?;
        }
        self.end()
    }

    fn constraint(&mut self) -> Result<(), Error> {
        let mut cost = FORBIDDEN;
        let begin = self.next()?;
        let place = self.tokens.place();
        if begin == b"[" {
            let _ = self.piece("`[`")?;
            if !self.weighted {
                return Err(self.tokens.error_with("a coefficient", "soft constraints stand in .wbo"));
            }
            cost = self.integer("a weight")?;
            if cost < 0 {
                return Err(self.tokens.error("a weight of at least 0"));
            }
            if self.piece("`]`")? != b"]" {
                return Err(self.tokens.error("`]`"));
            }
            if cost >= self.top {
                cost = FORBIDDEN;
            } else {
                self.cost(cost)?;
            }
        }
        let mut constraint = Constraint::default();
        let shape = loop {
            match &self.next()?[..] {
                b">=" => break Shape::AtLeast,
                b"<=" => break Shape::AtMost,
                b"=" => break Shape::Equal,
                _ => {}
            }
            let coefficient = self.big("a coefficient, `>=`, `<=` or `=`")?;
            match self.product()? {
                Some(product) if product.is_empty() => {
                    return Err(self.tokens.error("a variable behind its coefficient"));
                }
                Some(product) => constraint.add(coefficient, product),
                None => {} // a product that is always 0
            }
        };
        let _ = self.piece("`>=`")?;
        let bound = self.big("a number")?;
        constraint.close(shape, &bound);
        self.constraints.push((constraint, place, cost));
        self.end()
    }

    fn network(self) -> Result<Network, Error> {
        let mut builder = Network::builder(self.tokens.file());
        let stop = self.tokens.stop();
        for name in &self.names {
            let _ = builder.named_variable(Variable { domain: 2, name: Some(name.clone()), values: None })?;
        }
        for item in stop.each(&self.objective) {
            let (cost, product) = item?;
            add_product(&mut builder, *cost, product)?;
        }
        let mut decomposer = Decomposer::default();
        let mut products = Products::new(self.names);
        let (builder_, decomposer, products) = (&mut builder, &mut decomposer, &mut products);
        let mut network = linear::Network { builder: builder_, decomposer, products, stop };
        for item in stop.each(self.constraints.iter().enumerate()) {
            let (index, (constraint, place, cost)) = item?;
            constraint.add_to(&mut network, *cost).map_err(|refusal| match refusal {
                Refusal::TooLarge(what) => {
                    let (found, hint) = (format!("constraint {}", index + 1), format!("it takes {what}"));
                    self.tokens.error_at(*place, &found, "a smaller constraint", hint)
                }
                Refusal::Error(error) => error,
            })?;
        }
        let _ = builder.top(self.top).units(Units { maximise: self.maximise, ..Units::INTEGER });
        Ok(builder.build())
    }
}

/// Returns the length of the piece that a word begins with.
fn length(word: &[u8]) -> usize {
    let run = |from: usize, is_in: fn(u8) -> bool| {
        from + word[from.min(word.len())..].iter().take_while(|&&byte| is_in(byte)).count()
    };
    match word.first() {
        None => 0,
        Some(b'>' | b'<') => 1 + usize::from(word.get(1) == Some(&b'=')),
        Some(b'+' | b'-' | b'0'..=b'9') => run(1, |byte| byte.is_ascii_digit()),
        Some(byte) if byte.is_ascii_alphabetic() || *byte == b'_' => {
            run(1, |byte| byte.is_ascii_alphanumeric() || byte == b'_')
        }
        Some(_) => 1,
    }
}

/// The largest number of variables of a function that becomes a dense table of 2^n costs.
const DENSE: usize = 6;

fn add_product(builder: &mut Builder, cost: Cost, product: &Product) -> Result<(), ModelError> {
    let scope: Vec<u32> = product.keys().copied().collect();
    add_tuple(builder, &scope, product.values().map(|&negated| u32::from(!negated)), cost)
}

/// Adds a function with a nonzero cost for one tuple.
fn add_tuple(
    builder: &mut Builder,
    scope: &[u32],
    tuple: impl Iterator<Item = u32>,
    cost: Cost,
) -> Result<(), ModelError> {
    if scope.len() <= DENSE {
        let mut costs = vec![0; 1 << scope.len()];
        costs[tuple.fold(0, |index, value| 2 * index + value as usize)] = cost;
        let _ = builder.dense(scope, costs)?;
    } else {
        let _ = builder.sparse(scope, 0, tuple.collect(), vec![cost])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str, format: Format) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t", format, &ReadOptions::default(), &Stop::new())
    }

    /// Returns the costs of all assignments, the first variable varying fastest.
    fn costs(network: &Network) -> Vec<Cost> {
        let n = network.domains().len();
        let cost = |bits: u32| {
            let assignment: Vec<u32> = (0..n).map(|v| bits >> v & 1).collect();
            check::evaluate(network, &assignment).cost
        };
        (0..1 << n).map(cost).collect()
    }

    #[test]
    fn objectives_and_constraints() {
        let text = "* #variable= 3 #constraint= 2\n* by hand\nmin: +2 x1 -3 x2 x3 4 ~x1 x2 ;\n+1 x1 +1 x2\n\
            +1 x3 >= 1;\n\
            -2 x1 +2 x3 <= 1 ;\n";
        let network = parse(text, Format::Opb).expect("a problem");
        let value = |x1: Cost, x2: Cost, x3: Cost| match x1 + x2 + x3 >= 1 && -2 * x1 + 2 * x3 <= 1 {
            true => 2 * x1 - 3 * x2 * x3 + 4 * (1 - x1) * x2,
            false => FORBIDDEN,
        };
        let all: Vec<Cost> = (0..8).map(|bits| value(bits & 1, bits >> 1 & 1, bits >> 2 & 1)).collect();
        assert_eq!(costs(&network), all);
        assert_eq!(network.variable_name(2), "x3");
        let late = parse("\n* by hand #variable= 2\n1 x2 >= 1 ;", Format::Opb).expect("a problem");
        assert_eq!(costs(&late), [FORBIDDEN, FORBIDDEN, 0, 0]);
        let packed = "max:+2*x1-3*x2*x3+4*~x1*x2;\n+1*x1+1*x2+1*x3>=1;-2*x1+2*x3<=1;";
        let network = parse(packed, Format::Opb).expect("a problem");
        assert!(network.units().maximise);
        assert_eq!(costs(&network), all.iter().map(|&c| if c < FORBIDDEN { -c } else { c }).collect::<Vec<_>>());
    }

    #[test]
    fn repeated_variables_add_up_and_contradictions_forbid() {
        let network = parse("1 a 1 a -1 ~b = 1 ;", Format::Opb).expect("a problem");
        // 2 a - (1 - b) = 1
        assert_eq!(costs(&network), [FORBIDDEN, 0, FORBIDDEN, FORBIDDEN]);
        let never = parse("1 a >= 2 ;", Format::Opb).expect("a problem");
        assert_eq!(costs(&never), [FORBIDDEN; 2]);
        let always = parse("1 a -1 a >= 0 ;", Format::Opb).expect("a problem");
        assert_eq!((costs(&always), always.functions().len()), (vec![0, 0], 0));
    }

    #[test]
    fn soft_constraints_cost_their_weight() {
        let text =
            "* #variable= 2 #constraint= 3 #soft= 2\nsoft: 9 ;\n[4] 1 x1 >= 1 ;\n[9] 1 x2 >= 1 ;\n1 x1 1 x2 <= 1 ;\n";
        let network = parse(text, Format::Wbo).expect("a problem");
        assert_eq!((costs(&network), network.top()), (vec![FORBIDDEN, FORBIDDEN, 4, FORBIDDEN], 9));
        let free = parse("soft: ;\n[3] 1 a 2 b = 2 ;\n", Format::Wbo).expect("a problem");
        assert_eq!((costs(&free), free.top()), (vec![3, 3, 0, 3], FORBIDDEN));
    }

    #[test]
    fn sums_of_many_bits_are_global_functions() {
        let terms: Vec<String> = (1..=60).map(|v| format!("{} x{v}", v % 5 + 1)).collect();
        let network = parse(&format!("{} >= 150 ;", terms.join(" ")), Format::Opb).expect("a problem");
        let cost = |ones: u32| {
            let assignment: Vec<u32> = (0..60).map(|v| u32::from(v < ones)).collect();
            let sum: u32 = (1..=ones).map(|v| v % 5 + 1).sum();
            (check::evaluate(&network, &assignment).cost < FORBIDDEN, sum >= 150)
        };
        assert!((0..=60).map(cost).all(|(is_solution, expected)| is_solution == expected));
        assert_eq!((network.domains().len(), network.globals().len()), (60, 1));
        let clause = parse("1 a 2 b -3 c >= -2 ;", Format::Opb).expect("a problem");
        assert_eq!((clause.functions().len(), clause.globals().len()), (1, 0), "one assignment violates it");
        assert_eq!(costs(&clause).iter().filter(|&&cost| cost == FORBIDDEN).count(), 1);
    }

    /// Returns which assignments of the variables x0, x1 and so on satisfy all constraints, the first variable varying
    /// fastest.
    fn satisfied(text: &str) -> Vec<bool> {
        costs(&parse(text, Format::Opb).expect(text)).into_iter().map(|cost| cost < FORBIDDEN).collect()
    }

    #[test]
    fn coefficients_of_any_size_keep_their_meaning() {
        let e = "0".repeat(30);
        // a greatest common divisor, a weight that decides alone, both, an equation without a solution
        for (huge, small) in [
            (format!("2{e} a 4{e} b -2{e} c >= 3{e} ;"), "1 a 2 b -1 c >= 2 ;"),
            (format!("7{e}1 a 1 b 1 c >= 2 ;"), "2 a 1 b 1 c >= 2 ;"),
            (format!("-7{e}1 a 1 b 1 c <= 1 ;"), "-2 a 1 b 1 c <= 1 ;"),
            (format!("7{e}1 a -3{e} b 1 c = 1 ;"), "100 a -10 b 1 c = 1 ;"),
            (format!("2{e} a 2{e} b 2{e} c = 3 ;"), "2 a 2 b 2 c = 3 ;"),
            (format!("7{e}3 a 5{e}1 b 11{e}7 c >= 12{e}5 ;"), "703 a 501 b 1107 c >= 1205 ;"),
        ] {
            assert_eq!(satisfied(&huge), satisfied(small), "{huge}");
        }
        let terms: Vec<String> = (0..40).map(|v| format!("{}{e}{} x{v}", v % 5 + 1, v + 1)).collect();
        let error = parse(&format!("1 z >= 0 ;\n{} = 9{e} ;", terms.join(" ")), Format::Opb).expect_err("too large");
        let error = error.to_string();
        assert!(error.contains("t:2:1: found `constraint 2`, expected a smaller constraint"), "{error}");
        // the 40 coefficients total 975 * 10^31 + 820
        assert!(error.contains("total has 113 bits") && error.contains("at most 58 bits fit"), "{error}");
        let alone = format!("{} 7{e} y >= 1 ;", terms.join(" "));
        let network = parse(&alone, Format::Opb).expect("any bit suffices");
        let of =
            |ones: usize| check::evaluate(&network, &(0..41).map(|v| u32::from(v < ones)).collect::<Vec<_>>()).cost;
        assert_eq!([of(0), of(1), of(41)], [FORBIDDEN, 0, 0]);
    }

    #[test]
    fn products_in_constraints() {
        let expected: Vec<bool> = (0..8).map(|bits| bits & 3 == 3 || bits & 4 == 4).collect();
        assert_eq!(satisfied("* #variable= 3\n1 x1 x2 1 x3 >= 1 ;"), expected);
        assert_eq!(satisfied("* #variable= 3\n1 x1 ~x1 1 x1 x2 1 x3 >= 1 ;"), expected, "a product that is 0");
        // more variables than a table has, so each product becomes a variable
        let sum: Vec<String> = (0..14).map(|v| format!("2 x{v} ~x{}", v + 1)).collect();
        let text = format!("{} 1 x0 x1 x2 x3 x4 x5 x6 x7 = 5 ;\n1 x0 ~x1 1 x2 <= 9 ;", sum.join(" "));
        let network = parse(&text, Format::Opb).expect("a problem");
        assert_eq!((network.domains().len(), network.variable_name(15)), (15 + 15, "x0*~x1".into()));
        for bits in [0b000_0000_0101_1111_1111u32, 0b101_0101_1111_1111, 0b001_0100_0000_1111] {
            let own: Vec<u32> = (0..15).map(|v| bits >> v & 1).collect();
            let pairs: Vec<u32> = (0..14).map(|v| own[v] * (1 - own[v + 1])).collect();
            let all = own[..8].iter().product::<u32>();
            let whole = [&own[..], &pairs[..], &[all]].concat();
            let is_solution = check::evaluate(&network, &whole).cost < FORBIDDEN;
            assert_eq!(is_solution, 2 * pairs.iter().sum::<u32>() + all == 5, "{bits:b}");
            let mut wrong = whole.clone();
            wrong[29] ^= 1;
            assert_eq!(check::evaluate(&network, &wrong).cost, FORBIDDEN);
        }
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "1:1: found the end of the file, expected an objective or a constraint"),
            ("min: 1 x1", "1:10: found the end of the file, expected a coefficient or `;`"),
            ("min: x1 ;", "1:6: found `x1`, expected a coefficient or `;`"),
            ("1 x1 > 1 ;", "1:6: found `>`, expected a coefficient, `>=`"),
            ("1 x1 >= 1 1 x2", "1:11: found `1`, expected `;`"),
            ("1 >= 1 ;", "expected a variable behind its coefficient"),
            ("1 ~ >= 1 ;", "1:5: found `>=`, expected a variable"),
            ("[3] 1 x1 >= 1 ;", "1:1: found `[`, expected a coefficient (soft constraints stand in .wbo)"),
            ("min: 1 a ;\nmin: 1 b ;", "2:1: found `min:`, expected one objective"),
            ("min: 300000000000000000 a ;", "found `300000000000000000`, expected a coefficient"),
            ("* #variable= 99999999\n", "expected at most 4194304 variables"),
        ] {
            let error = parse(text, Format::Opb).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
