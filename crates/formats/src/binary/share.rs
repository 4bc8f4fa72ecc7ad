//! Reads the part of a network that one of several processes holds.

use super::blocks::{Blocks, damaged};
use super::read::{Decoded, Part, add_variable, check_version, decode, refused};
use crate::error::Error;
use crate::limits::Domains;
use crate::model::{Builder, COST_LIMIT, Network, Share, Table};
use crate::tokens::Tokens;
use rustc_hash::{FxHashMap, FxHashSet};

/// Returns the numbers of the functions whose tables later functions have, too.
pub(crate) fn originals(tokens: &mut Tokens<'_>) -> Result<FxHashSet<u32>, Error> {
    let mut originals = FxHashSet::default();
    each_block(tokens, |part, _| {
        if let Part::Functions(functions) = part {
            originals.extend(functions.iter().filter_map(|(_, function)| match function {
                Decoded::Like(earlier) => Some(*earlier),
                Decoded::Table(_) | Decoded::Global { .. } => None,
            }));
        }
        Ok(())
    })?;
    Ok(originals)
}

/// Reads all variables and the functions of a part. `originals` are the numbers of the functions whose tables are kept
/// for later ones.
pub(crate) fn read_share(tokens: &mut Tokens<'_>, share: Share, originals: FxHashSet<u32>) -> Result<Network, Error> {
    let mut loader = ShareLoader {
        builder: Network::builder(tokens.file()),
        domains: Domains::default(),
        share,
        number: 0,
        originals,
        tables: FxHashMap::default(),
    };
    each_block(tokens, |part, tokens| loader.add(part, tokens))?;
    Ok(loader.builder.build())
}

/// Calls `add` with the contents of each block.
fn each_block(
    tokens: &mut Tokens<'_>,
    mut add: impl FnMut(Part, &Tokens<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    check_version(tokens)?;
    let (mut blocks, mut is_complete) = (Blocks::new(tokens), false);
    loop {
        let framed = blocks.next()?;
        if framed.is_empty() {
            return if is_complete { Ok(()) } else { Err(damaged(blocks.tokens, "it ends before its last block")) };
        }
        for block in &framed {
            let part = decode(block).map_err(|what| damaged(blocks.tokens, &what))?;
            is_complete |= matches!(part, Part::End(_));
            add(part, blocks.tokens)?;
        }
    }
}

/// Puts a part of a network together.
struct ShareLoader {
    builder: Builder,
    domains: Domains,
    share: Share,
    /// The number of the next function, among all of the file.
    number: u32,
    originals: FxHashSet<u32>,
    /// The tables of `originals`.
    tables: FxHashMap<u32, Table>,
}

impl ShareLoader {
    fn add(&mut self, part: Part, tokens: &Tokens<'_>) -> Result<(), Error> {
        match part {
            Part::Head(head) => {
                let _ = self.builder.units(head.units()).top(head.top.max(-COST_LIMIT));
                let _ = self.builder.notation(head.notation.into());
                Ok(())
            }
            Part::Variables(variables) => variables
                .into_iter()
                .try_for_each(|variable| add_variable(&mut self.builder, &mut self.domains, variable, tokens)),
            Part::Functions(functions) => {
                functions.into_iter().try_for_each(|(scope, function)| self.function(&scope, function, tokens))
            }
            // functions are named by their numbers among all
            Part::Names(_) | Part::End(_) => Ok(()),
            Part::Agents(_) | Part::Numbers(_) | Part::Reading(_) => Err(undivided(tokens, "agents or real numbers")),
        }
    }

    fn function(&mut self, scope: &[u32], function: Decoded, tokens: &Tokens<'_>) -> Result<(), Error> {
        let (number, variables) = (self.number, self.builder.domains().len());
        self.number += 1;
        let table = match function {
            Decoded::Table(table) => table,
            Decoded::Like(earlier) => self
                .tables
                .get(&earlier)
                .cloned()
                .ok_or_else(|| damaged(tokens, "a function has the table of one that comes later"))?,
            Decoded::Global { .. } => return Err(undivided(tokens, "global cost functions")),
        };
        if self.originals.contains(&number) {
            let _ = self.tables.insert(number, table.clone());
        }
        if !self.share.reads(scope, variables) {
            return Ok(());
        }
        self.builder.distinct(scope, table).map(drop).map_err(|error| refused(tokens, &error.to_string()))
    }
}

fn undivided(tokens: &Tokens<'_>, what: &str) -> Error {
    Error::Usage(format!("{}: a network with {what} cannot be read in parts", tokens.file()))
}
