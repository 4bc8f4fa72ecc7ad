//! The `.pre` format: pedigrees with genotypes at one locus, in lines `pedigree individual father mother sex allele
//! allele`. 0 is an unknown parent or allele; a genotype with negative alleles is certain. The problem is to explain
//! the genotypes with the fewest errors.
//!
//! The variables are the individuals that are genotyped or have genotyped descendants. Their values are the pairs of
//! alleles (1,1) (1,2) … (2,2) …, where the alleles of the file are numbered in ascending order. A child has an allele
//! of each parent, and each genotype that differs from the file's costs 1 (de Givry, Palhiere, Vitezica, Schiex,
//! "Mendelian error detection in complex pedigree using weighted constraint satisfaction techniques", 2005).

use super::options::ReadOptions;
use super::tokens::Tokens;
use crate::error::Error;
use crate::model::{Builder, Cost, FORBIDDEN, Network, Variable};
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

/// The maximum number of alleles of a locus: the table of a child has about as many tuples as its fourth power.
const ALLELES: usize = 40;

#[derive(Clone, Debug)]
struct Individual {
    name: [i64; 2],
    /// Names of father and mother within the pedigree; 0 is unknown.
    parents: [i64; 2],
    alleles: [i64; 2],
}

/// Reads a pedigree.
pub(super) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    let (mut all, mut places) = (Vec::new(), FxHashMap::default());
    while !tokens.at_end()? {
        let mut field = |what: &str| tokens.integer(what);
        let name = [field("a pedigree")?, field("an individual")?];
        let parents = [field("a father or 0")?, field("a mother or 0")?];
        let _ = field("a sex")?;
        let alleles = [field("an allele or 0")?, field("an allele or 0")?];
        if !tokens.at_line_end()? {
            let _ = tokens.word("the end of the line")?;
            return Err(tokens.error_with(
                "the end of the line",
                "a line has one genotype; more of them are haplotype data, which is another problem and not read",
            ));
        }
        if parents[0] == parents[1] && parents[0] != 0 || parents.contains(&name[1]) {
            return Err(tokens.error_with("other parents", format!("those of individual {}", name[1])));
        }
        if places.insert(name, all.len()).is_some() {
            return Err(tokens.error_with("one line an individual", format!("individual {} has another", name[1])));
        }
        all.push(Individual { name, parents, alleles });
    }
    if all.is_empty() {
        let _ = tokens.word("an individual")?;
    }
    let place = |own: &Individual, parent: i64| places.get(&[own.name[0], parent]).copied();
    for own in &all {
        if let Some(parent) = own.parents.iter().find(|&&parent| parent != 0 && place(own, parent).is_none()) {
            return Err(tokens.error_with(format!("a line for individual {parent}"), "it is a parent"));
        }
    }
    let is_typed = |own: &Individual| own.alleles != [0, 0];
    let mut needed: Vec<bool> = all.iter().map(is_typed).collect();
    let mut open: Vec<usize> = (0..all.len()).filter(|&index| needed[index]).collect();
    while let Some(index) = open.pop() {
        for parent in all[index].parents.iter().filter_map(|&parent| place(&all[index], parent)) {
            if !std::mem::replace(&mut needed[parent], true) {
                open.push(parent);
            }
        }
    }
    let alleles: BTreeSet<u64> =
        all.iter().flat_map(|own| own.alleles.map(i64::unsigned_abs)).filter(|&a| a != 0).collect();
    let alleles: Vec<u64> = alleles.into_iter().collect();
    if alleles.len() > ALLELES {
        return Err(tokens.error_with(format!("at most {ALLELES} alleles"), format!("there are {}", alleles.len())));
    }
    let locus = Locus::new(alleles);
    let mut builder = Network::builder(tokens.file());
    let mut variables = vec![None; all.len()];
    for (index, own) in all.iter().enumerate().filter(|&(index, _)| needed[index]) {
        let name = own.name.map(|part| part.to_string()).join(":");
        let (domain, values) = (locus.pairs.len() as u32, Some(locus.names()));
        variables[index] = Some(builder.named_variable(Variable { domain, name: Some(name.into()), values })?);
    }
    let mut children = [None, None];
    for item in tokens.stop().each(all.iter().zip(&variables)) {
        let (own, &Some(variable)) = item? else { continue };
        if is_typed(own) {
            let _ = builder.dense(&[variable], locus.typing(own.alleles))?;
        }
        let parents = own.parents.iter().filter_map(|&parent| variables[place(own, parent)?]);
        let scope: Vec<u32> = parents.chain([variable]).collect();
        if scope.len() > 1 {
            locus.inherit(&scope, &mut builder, &mut children)?;
        }
    }
    let typings = all.iter().filter(|own| is_typed(own)).count();
    let _ = builder.top(typings as Cost + 1);
    Ok(builder.build())
}

/// The possible genotypes at a locus.
struct Locus {
    /// The alleles as the file numbers them, ascending.
    alleles: Vec<u64>,
    /// Pairs of indices into `alleles`, the smaller one first.
    pairs: Vec<[usize; 2]>,
}

impl Locus {
    fn new(alleles: Vec<u64>) -> Self {
        let n = alleles.len();
        let pairs = (0..n).flat_map(|a| (a..n).map(move |b| [a, b])).collect();
        Locus { alleles, pairs }
    }

    fn names(&self) -> Box<[Box<str>]> {
        self.pairs.iter().map(|pair| pair.map(|a| self.alleles[a].to_string()).join("/").into()).collect()
    }

    /// Returns the cost of each genotype of an individual with this observed genotype.
    fn typing(&self, typed: [i64; 2]) -> Vec<Cost> {
        let cost = if typed.iter().any(|&allele| allele < 0) { FORBIDDEN } else { 1 };
        let mut known: Vec<u64> = typed.map(i64::unsigned_abs).into_iter().filter(|&allele| allele != 0).collect();
        known.sort_unstable();
        let fits = |pair: &[usize; 2]| {
            let own = pair.map(|a| self.alleles[a]);
            if known.len() == 2 { own[..] == known[..] } else { known.iter().all(|allele| own.contains(allele)) }
        };
        self.pairs.iter().map(|pair| if fits(pair) { 0 } else { cost }).collect()
    }

    /// Adds the inheritance function of parents and a child; `first` holds the first such function with one and with
    /// two parents.
    fn inherit(&self, scope: &[u32], builder: &mut Builder, first: &mut [Option<u32>; 2]) -> Result<(), Error> {
        let first = &mut first[scope.len() - 2];
        if let Some(first) = *first {
            let _ = builder.shared(scope, first)?;
            return Ok(());
        }
        let number = |pair: [usize; 2]| {
            let sorted = [pair[0].min(pair[1]), pair[0].max(pair[1])];
            self.pairs.binary_search(&sorted).unwrap_or_default() as u32
        };
        let all = || (0..).zip(&self.pairs);
        let mut tuples: Vec<[u32; 3]> = Vec::new();
        for (one, pair) in all() {
            for &from_one in pair {
                if scope.len() == 2 {
                    tuples.extend((0..self.alleles.len()).map(|other| [one, number([from_one, other]), 0]));
                    continue;
                }
                for (two, pair) in all() {
                    tuples.extend(pair.map(|from_two| [one, two, number([from_one, from_two])]));
                }
            }
        }
        tuples.sort_unstable();
        tuples.dedup();
        let costs = vec![0; tuples.len()];
        let tuples = tuples.iter().flat_map(|tuple| &tuple[..scope.len()]).copied().collect();
        *first = Some(builder.sparse(scope, FORBIDDEN, tuples, costs)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::add;
    use crate::stop::Stop;
    use crate::{Format, read_from};

    fn parse(text: &str) -> Result<Network, Error> {
        read_from(text.as_bytes(), "t.pre", Format::Pre, &ReadOptions::default(), &Stop::new())
    }

    #[test]
    fn children_have_an_allele_of_each_parent() {
        // the second founder is not genotyped; the last individual is neither genotyped nor a parent
        let text = "1 1 0 0 1 3 3\n1 2 0 0 2 0 0\n1 3 1 2 1 3 7\n1 4 1 2 2 7 0\n1 5 3 0 1 -7 -7\n1 6 3 4 1 0 0\n";
        let network = parse(text).expect("a pedigree");
        assert_eq!((network.domains(), network.top()), (&[3, 3, 3, 3, 3][..], 5));
        assert_eq!((network.variable_name(4), network.value_name(4, 1)), ("1:5".into(), "3/7".into()));
        let cost = |assignment: [u32; 5]| -> Cost {
            network.functions().iter().fold(0, |sum, f| add(sum, f.cost(network.domains(), &assignment)))
        };
        assert_eq!(cost([0, 2, 1, 1, 2]), 0);
        assert_eq!(cost([0, 2, 0, 1, 2]), FORBIDDEN, "no 7 of the mother");
        assert_eq!(cost([1, 0, 1, 0, 2]), 1 + 1, "the first and the fourth differ");
        assert_eq!(cost([0, 2, 1, 1, 1]), FORBIDDEN, "a certain genotype");
    }

    #[test]
    fn misfits() {
        for (text, part) in [
            ("", "found the end of the file, expected an individual"),
            ("1 1 0 0 1 1 1 2 2\n", "1:15: found `2`, expected the end of the line (a line has one genotype"),
            ("1 1 2 2 1 1 1\n", "expected other parents (those of individual 1)"),
            ("1 1 1 0 1 1 1\n", "expected other parents"),
            ("1 1 0 0 1 1 1\n1 1 0 0 1 1 1\n", "expected one line an individual"),
            ("1 1 2 0 1 1 1\n", "expected a line for individual 2 (it is a parent)"),
            ("1 1 0 0 1 x 1\n", "1:11: found `x`, expected an allele or 0"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
