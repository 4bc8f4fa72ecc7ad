//! Reads the part of a network that one of several processes holds.

use super::blocks::{Blocks, damaged};
use super::read::{Decoded, Part, WRONG_TOTALS, add_variable, check_version, decode, refused};
use super::records::Totals;
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
            if std::mem::replace(&mut is_complete, matches!(part, Part::End(_))) {
                return Err(damaged(blocks.tokens, "blocks follow its last one"));
            }
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
            Part::Names(_) => Ok(()),
            Part::End(totals) => {
                let variables = self.builder.domains().len() as u64;
                match totals == (Totals { variables, functions: self.number.into() }) {
                    true => Ok(()),
                    false => Err(damaged(tokens, WRONG_TOTALS)),
                }
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::CostFunction;
    use crate::stop::Stop;

    #[test]
    fn parts_have_their_functions_and_damaged_files_are_refused() {
        // all functions of two variables share one table
        let network = crate::generate::generate("coloring", &[("n", "40"), ("p", "0.2"), ("k", "3")], 2);
        let network = network.expect("a kind");
        let mut bytes = Vec::new();
        super::super::write(&network, &mut bytes).expect("memory suffices");
        let stop = Stop::new();
        let read = |bytes: &[u8], share: Share| {
            let tokens = || Tokens::new(Box::new(std::io::Cursor::new(bytes.to_vec())), "net".into(), &stop);
            let originals = originals(&mut tokens())?;
            read_share(&mut tokens(), share, originals)
        };
        for place in 0..3 {
            let share = Share { place, of: 3 };
            let (own, expected) = (read(&bytes, share).expect("it is complete"), network.share(share));
            let contents = |function: &CostFunction| {
                (function.scope.to_vec(), function.entries(network.domains()).collect::<Vec<_>>())
            };
            assert_eq!(own.domains(), expected.domains());
            assert!(own.functions().iter().map(contents).eq(expected.functions().iter().map(contents)), "{place}");
        }
        let share = Share { place: 0, of: 2 };
        assert!(read(&bytes[..bytes.len() - 1], share).is_err() && read(&bytes[..20], share).is_err());
    }
}
