//! Reads `.fangs` files. All contents are checked: by checksums, by the builder, and here.

use super::blocks::{Blocks, Framed, damaged};
use super::records::{self, AgentsRecord, Block, Body, FunctionRecord, Head, NameRecord, NumbersRecord};
use super::records::{ReadingRecord, Totals, VariableRecord};
use super::{MAGIC, VERSION};
use crate::error::Error;
use crate::global::{self, Form};
use crate::globals::Decomposer;
use crate::limits::{Domains, check_sums};
use crate::model::{Builder, COST_LIMIT, Network, Numbers, Reading, Scale, Scope, Stated, Table, Variable};
use crate::options::ReadOptions;
use crate::tokens::{Reach, Tokens};
use crate::wcsp;
use rayon::prelude::*;
use std::sync::Arc;

/// The maximum number of decimal digits of a cost.
const MOST_DECIMALS: u32 = 18;

/// The message for a file whose last block does not fit the others.
pub(super) const WRONG_TOTALS: &str = "it has more or fewer variables or functions than its last block says";

/// Reads a network in the binary form.
pub(crate) fn read(tokens: &mut Tokens<'_>, _: &ReadOptions) -> Result<Network, Error> {
    check_version(tokens)?;
    let mut loader = Loader::new(tokens.file());
    let mut blocks = Blocks::new(tokens);
    let mut before = Vec::new();
    loop {
        let framed = blocks.next()?;
        let is_end = framed.is_empty();
        // add the previous blocks while these are decoded
        let parts = std::mem::take(&mut before).into_iter();
        let add = || { parts }.try_for_each(|part| loader.add(part, blocks.tokens));
        let mut decoded = Ok(Vec::new());
        match Reach::of_threads() {
            Some(_) => rayon::in_place_scope(|scope| {
                scope.spawn(|_| decoded = framed.par_iter().map(decode).collect());
                add()
            })?,
            None => {
                add()?;
                decoded = framed.iter().map(decode).collect();
            }
        }
        before = decoded.map_err(|what: String| damaged(blocks.tokens, &what))?;
        if is_end {
            return loader.finish(blocks.tokens);
        }
    }
}

pub(super) fn check_version(tokens: &mut Tokens<'_>) -> Result<(), Error> {
    let mut start = Vec::new();
    tokens.bytes((MAGIC.len() + size_of_val(&VERSION)) as u64, &mut start)?;
    let version = start.strip_prefix(&MAGIC).and_then(|version| version.try_into().ok()).map(u32::from_le_bytes);
    match version {
        Some(VERSION) => Ok(()),
        Some(other) => Err(Error::Usage(format!(
            "{}: it has version {other} of the binary form, this program reads version {VERSION}",
            tokens.file()
        ))),
        None => Err(damaged(tokens, "it does not begin as a .fangs file does")),
    }
}

/// A decoded block.
pub(super) enum Part {
    Head(Head),
    Variables(Vec<Variable>),
    Functions(Vec<(Scope, Decoded)>),
    Names(Vec<(u32, Box<str>)>),
    Agents(AgentsRecord),
    Numbers(Vec<NumbersRecord>),
    Reading(ReadingRecord),
    End(Totals),
}

pub(super) enum Decoded {
    Table(Table),
    Like(u32),
    Global { limit: i64, keyword: String, parameters: String },
}

pub(super) fn decode(framed: &Framed) -> Result<Part, String> {
    let invalid = |_| framed.says("it cannot be decoded");
    let (block, rest): (Block<'_>, _) = postcard::take_from_bytes(framed.contents()?).map_err(invalid)?;
    if !rest.is_empty() {
        return Err(framed.says("it is longer than its contents"));
    }
    Ok(match block {
        Block::Head(head) => Part::Head(head),
        Block::Variables(records) => Part::Variables(records.into_iter().map(variable).collect()),
        Block::Functions(records) => {
            let misfit = || framed.says("a table has another length than it should have");
            let functions = records.into_iter().map(|record| function(record).ok_or_else(misfit));
            Part::Functions(functions.collect::<Result<_, _>>()?)
        }
        Block::Names(records) => {
            Part::Names(records.into_iter().map(|NameRecord { function, name }| (function, name.into())).collect())
        }
        Block::Agents(record) => Part::Agents(record),
        Block::Numbers(records) => Part::Numbers(records),
        Block::Reading(record) => Part::Reading(record),
        Block::End(totals) => Part::End(totals),
    })
}

fn variable(VariableRecord { domain, name, values }: VariableRecord<'_>) -> Variable {
    let values = values.map(|values| values.into_iter().map(Into::into).collect());
    Variable { domain, name: name.map(Into::into), values }
}

fn function(FunctionRecord { scope, body }: FunctionRecord<'_>) -> Option<(Scope, Decoded)> {
    let decoded = match body {
        Body::Dense { width, entries } => Decoded::Table(Table::Dense(records::dense(width, &entries)?)),
        Body::Sparse { default, tuples, costs } => {
            Decoded::Table(records::sparse(scope.len(), default, tuples.into_owned(), costs.into_owned())?)
        }
        Body::Like(number) => Decoded::Like(number),
        Body::Global { limit, keyword, parameters } => {
            Decoded::Global { limit, keyword: keyword.into_owned(), parameters: parameters.into_owned() }
        }
    };
    Some((Scope::from(&scope[..]), decoded))
}

/// Builds a network from decoded blocks.
struct Loader {
    builder: Builder,
    decomposer: Decomposer,
    domains: Domains,
    has_head: bool,
    agents: Option<AgentsRecord>,
    numbers: Vec<Arc<Numbers>>,
    reading: Option<ReadingRecord>,
    end: Option<Totals>,
}

impl Loader {
    fn new(name: &str) -> Self {
        Loader {
            builder: Network::builder(name),
            decomposer: Decomposer::default(),
            domains: Domains::default(),
            has_head: false,
            agents: None,
            numbers: Vec::new(),
            reading: None,
            end: None,
        }
    }

    fn add(&mut self, part: Part, tokens: &Tokens<'_>) -> Result<(), Error> {
        let wrong = |what: &str| Err(damaged(tokens, what));
        if self.end.is_some() {
            return wrong("blocks follow its last one");
        }
        if self.has_head == matches!(part, Part::Head(_)) {
            return wrong("its blocks are not in their order");
        }
        match part {
            Part::Head(head) if head.decimals > MOST_DECIMALS => return wrong("its costs have too many digits"),
            Part::Head(head) => {
                let _ = self.builder.units(head.units()).top(head.top.max(-COST_LIMIT));
                let _ = self.builder.notation(head.notation.into());
                self.has_head = true;
            }
            Part::Variables(variables) => {
                let Loader { builder, domains, .. } = self;
                return variables.into_iter().try_for_each(|v| add_variable(builder, domains, v, tokens));
            }
            Part::Functions(functions) => {
                return functions.into_iter().try_for_each(|(scope, function)| self.function(&scope, function, tokens));
            }
            Part::Names(names) => {
                for (function, name) in names {
                    if function >= self.builder.function_count() {
                        return wrong("it names a function that it does not have");
                    }
                    let _ = self.builder.name_function(function, name);
                }
            }
            Part::Agents(record) => self.agents = Some(record),
            Part::Numbers(records) => {
                for record in records {
                    let known = match record {
                        NumbersRecord::Own { doubles, decimals } => records::numbers(doubles, &decimals).map(Arc::new),
                        NumbersRecord::Like(earlier) => self.numbers.get(earlier as usize).cloned(),
                    };
                    let Some(numbers) = known else { return wrong("its numbers have places that do not exist") };
                    self.numbers.push(numbers);
                }
            }
            Part::Reading(record) => self.reading = Some(record),
            Part::End(totals) => self.end = Some(totals),
        }
        Ok(())
    }

    fn function(&mut self, scope: &[u32], function: Decoded, tokens: &Tokens<'_>) -> Result<(), Error> {
        let Loader { builder, decomposer, .. } = self;
        let added = match function {
            Decoded::Table(table) => builder.distinct(scope, table),
            Decoded::Like(earlier) if (earlier as usize) < builder.functions().len() => builder.shared(scope, earlier),
            Decoded::Like(_) => return Err(damaged(tokens, "a function has the table of one that comes later")),
            Decoded::Global { limit, keyword, parameters } => {
                let source = Box::new(parameters.as_bytes());
                let mut words = Tokens::new(source, tokens.file().into(), tokens.stop());
                let form = Form::Wcsp { top: limit, beyond: None };
                let place = global::Place { form, scope, builder, decomposer, nested: wcsp::nested };
                global::read(&mut words, &keyword, (1, 1), place)?;
                return words.finish(|| "the parameters of a function are longer than they should be".into());
            }
        };
        added.map(drop).map_err(|error| refused(tokens, &error.to_string()))
    }

    fn finish(mut self, tokens: &Tokens<'_>) -> Result<Network, Error> {
        let Some(totals) = self.end else { return Err(damaged(tokens, "it ends before its last block")) };
        let found =
            Totals { variables: self.builder.domains().len() as u64, functions: self.builder.function_count().into() };
        if totals != found {
            return Err(damaged(tokens, WRONG_TOTALS));
        }
        // the network keeps its `top`, which sums of costs may reach
        check_sums(COST_LIMIT, &self.builder, &self.decomposer, tokens)?;
        if let Some(record) = self.agents.take() {
            let agents = record.agents(self.builder.domains());
            let agents = agents.ok_or_else(|| damaged(tokens, "its agents do not fit its variables"))?;
            let _ = self.builder.agents(agents);
        }
        if let Some(record) = self.reading.take() {
            let reading =
                self.reading(record).ok_or_else(|| damaged(tokens, "its numbers do not fit its functions"))?;
            let _ = self.builder.reading(reading);
        }
        Ok(self.builder.build())
    }

    /// Returns the file's own numbers; `None` if they do not fit the functions' tables.
    fn reading(&mut self, ReadingRecord { scale, precision, witness }: ReadingRecord) -> Option<Reading> {
        let (functions, domains) = (self.builder.functions(), self.builder.domains());
        let numbers = std::mem::take(&mut self.numbers);
        let are_all = numbers.len() <= functions.len()
            && numbers.iter().zip(functions).all(|(own, function)| own.len() as u64 == function.combinations(domains));
        let is_assignment = |witness: &Vec<u32>| {
            witness.len() == domains.len() && witness.iter().zip(&domains[..]).all(|(value, domain)| value < domain)
        };
        let is_number = |stated: Stated| match (scale, stated) {
            (Scale::Potentials, Stated::Double(potential)) => potential >= 0.0 && potential.is_finite(),
            (Scale::Logarithms, Stated::Double(log)) => log < f64::INFINITY,
            (Scale::Potentials, Stated::Decimal(_)) => true,
            (Scale::Logarithms, Stated::Decimal(_)) => false,
        };
        let are_all = are_all && numbers.iter().all(|own| own.iter().all(is_number));
        let fits = are_all && witness.as_ref().is_none_or(is_assignment);
        fits.then(|| Reading { scale, functions: numbers, precision, witness: witness.map(Vec::into_boxed_slice) })
    }
}

/// Adds a variable to a network.
pub(super) fn add_variable(
    builder: &mut Builder,
    domains: &mut Domains,
    variable: Variable,
    tokens: &Tokens<'_>,
) -> Result<(), Error> {
    if variable.values.as_ref().is_some_and(|values| values.len() as u64 != u64::from(variable.domain)) {
        return Err(damaged(tokens, "a variable has more or fewer values than names of values"));
    }
    domains.fit(variable.domain.into()).map_err(|limit| refused(tokens, &limit))?;
    builder.named_variable(variable).map(drop).map_err(|error| refused(tokens, &error.to_string()))
}

pub(super) fn refused(tokens: &Tokens<'_>, what: &str) -> Error {
    Error::Usage(format!("{}: {what}", tokens.file()))
}
