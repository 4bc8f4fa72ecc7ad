//! Writes `.fangs` files.

use super::records::{AgentsRecord, Block, Body, FunctionRecord, Head, NameRecord, NumbersRecord};
use super::records::{ReadingRecord, Totals, VariableRecord};
use super::{MAGIC, VERSION, blocks};
use crate::global::{Style, Written};
use crate::model::{CostFunction, Function, Global, Network, Reading, Table};
use crate::wcsp;
use crate::writing::with_globals;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// The approximate number of bytes of a block of functions.
const BLOCK: usize = 1 << 20;

/// The number of variables, names or lists of numbers in a block.
const ITEMS: usize = 1 << 16;

/// The number of blocks that are encoded in parallel.
const TOGETHER: usize = 32;

/// Writes a network as `.fangs`.
///
/// # Errors
/// Returns errors of writing to `out`, and [`io::ErrorKind::InvalidInput`] for global functions that have neither a
/// keyword nor a table.
pub(crate) fn write(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    let style = |_: &_, global: &Global| Style::Wcsp { top: global.limit, nested: wcsp::write };
    let (network, globals) = with_globals(network, style)?;
    out.write_all(&MAGIC)?;
    out.write_all(&VERSION.to_le_bytes())?;
    let units = network.units();
    write_block(
        &Block::Head(Head {
            top: network.top(),
            decimals: units.decimals,
            maximise: units.maximise,
            rounded: units.rounded,
            notation: network.notation().into(),
        }),
        out,
    )?;
    write_variables(network, out)?;
    let functions = write_functions(network, globals, out)?;
    if let Some(agents) = network.agents() {
        write_block(&Block::Agents(AgentsRecord::from(agents)), out)?;
    }
    if let Some(reading) = network.reading() {
        write_reading(reading, out)?;
    }
    write_block(&Block::End(Totals { variables: network.variables().len() as u64, functions }), out)
}

fn write_block(block: &Block<'_>, out: &mut dyn Write) -> io::Result<()> {
    blocks::write(&encoded(block)?, out)
}

fn encoded(block: &Block<'_>) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(block).map_err(io::Error::other)
}

fn write_variables(network: &Network, out: &mut dyn Write) -> io::Result<()> {
    for some in network.variables().chunks(ITEMS) {
        let records = some.iter().map(|variable| VariableRecord {
            domain: variable.domain,
            name: variable.name.as_deref(),
            values: variable.values.as_ref().map(|values| values.iter().map(|value| &**value).collect()),
        });
        write_block(&Block::Variables(records.collect()), out)?;
    }
    Ok(())
}

/// The form in which a function is written.
enum Source<'n> {
    Table(&'n Table),
    Like(u32),
    Global(i64, Written),
}

impl<'n> Source<'n> {
    /// Returns the approximate number of bytes of the encoded function.
    fn size(&self) -> usize {
        match self {
            Source::Table(table) => table.bytes(),
            Source::Like(_) => 4,
            Source::Global(_, Written { keyword, parameters }) => keyword.len() + parameters.len(),
        }
    }

    fn record<'s>(&'s self, scope: &'s [u32]) -> FunctionRecord<'s> {
        let body = match self {
            Source::Table(table) => Body::from(*table),
            Source::Like(number) => Body::Like(*number),
            Source::Global(limit, Written { keyword, parameters }) => {
                Body::Global { limit: *limit, keyword: (*keyword).into(), parameters: parameters.as_str().into() }
            }
        };
        FunctionRecord { scope: scope.into(), body }
    }
}

/// Writes functions and their names. Returns the number of functions written.
fn write_functions(network: &Network, globals: Vec<Vec<Written>>, out: &mut dyn Write) -> io::Result<u64> {
    let mut globals = globals.into_iter();
    let mut shared = Shared::default();
    let mut waiting = Waiting::default();
    let mut names = Vec::new();
    for (number, function) in network.all_functions().enumerate() {
        if let Some(name) = network.function_name(number) {
            names.push(NameRecord { function: waiting.functions as u32, name });
        }
        let scope = function.scope();
        match function {
            Function::Table(function) => {
                let source = match shared.earlier(network, function) {
                    Some(earlier) => Source::Like(earlier),
                    None => Source::Table(&function.table),
                };
                waiting.add(scope, source, out)?;
            }
            Function::Global(global) => {
                for part in globals.next().unwrap_or_default() {
                    waiting.add(scope, Source::Global(global.limit, part), out)?;
                }
            }
        }
    }
    let functions = waiting.finish(out)?;
    for some in names.chunks(ITEMS) {
        let records = some.iter().map(|&NameRecord { function, name }| NameRecord { function, name });
        write_block(&Block::Names(records.collect()), out)?;
    }
    Ok(functions)
}

/// The first functions of shared tables.
#[derive(Default)]
struct Shared {
    /// The index of the first function with a table, by the table's address.
    first: FxHashMap<usize, u32>,
    functions: u32,
}

impl Shared {
    /// Counts a function. Returns an earlier function that shares its table and has equal domain sizes, if there is
    /// one.
    fn earlier(&mut self, network: &Network, function: &CostFunction) -> Option<u32> {
        let number = self.functions;
        self.functions += 1;
        if function.table.owners() == 1 {
            return None;
        }
        let first = *self.first.entry(function.table.address()).or_insert(number);
        let sizes = |function: &CostFunction| -> Vec<u32> {
            function.scope.iter().map(|&v| network.domains()[v as usize]).collect()
        };
        let is_like = || sizes(function) == sizes(&network.functions()[first as usize]);
        (first < number && is_like()).then_some(first)
    }
}

/// Functions that are not yet written.
#[derive(Default)]
struct Waiting<'n> {
    blocks: Vec<Vec<(&'n [u32], Source<'n>)>>,
    /// The approximate number of bytes of the last block.
    bytes: usize,
    functions: u64,
}

impl<'n> Waiting<'n> {
    fn add(&mut self, scope: &'n [u32], source: Source<'n>, out: &mut dyn Write) -> io::Result<()> {
        if self.blocks.is_empty() || self.bytes >= BLOCK {
            if self.blocks.len() == TOGETHER {
                self.write(out)?;
            }
            self.blocks.push(Vec::new());
            self.bytes = 0;
        }
        self.bytes += size_of_val(scope) + source.size();
        self.functions += 1;
        if let Some(last) = self.blocks.last_mut() {
            last.push((scope, source));
        }
        Ok(())
    }

    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let texts = std::mem::take(&mut self.blocks).into_par_iter().map(|block| {
            let records = block.iter().map(|(scope, source)| source.record(scope)).collect();
            encoded(&Block::Functions(records))
        });
        texts.collect::<io::Result<Vec<_>>>()?.iter().try_for_each(|text| blocks::write(text, out))
    }

    fn finish(mut self, out: &mut dyn Write) -> io::Result<u64> {
        self.write(out)?;
        Ok(self.functions)
    }
}

fn write_reading(reading: &Reading, out: &mut dyn Write) -> io::Result<()> {
    let mut known: FxHashMap<*const _, u32> = FxHashMap::default();
    for (block, some) in reading.functions.chunks(ITEMS).enumerate() {
        let records = (block * ITEMS..).zip(some).map(|(number, numbers)| {
            match *known.entry(Arc::as_ptr(numbers)).or_insert(number as u32) {
                first if (first as usize) < number => NumbersRecord::Like(first),
                _ => NumbersRecord::from(&**numbers),
            }
        });
        write_block(&Block::Numbers(records.collect()), out)?;
    }
    write_block(
        &Block::Reading(ReadingRecord {
            scale: reading.scale,
            precision: reading.precision,
            witness: reading.witness.as_ref().map(|witness| witness.to_vec()),
        }),
        out,
    )
}
