//! Influence diagrams in three files with the same stem: `.uai` with the header `ID` or `LIMID`, `.id` with the kinds
//! of variables and functions, `.pvo` with blocks of variables (Lee, Marinescu, Dechter, 2021).

use super::bayes::warn_of_sums_of;
use super::input::{Source, compressed_extensions, read_tokens};
use super::tokens::Tokens;
use super::uai;
use crate::error::{Error, Warning};
use crate::model::{Diagram, DiagramKind, Node, Potential};
use crate::stop::Stop;
use crate::terminal::among;
use std::path::{Path, PathBuf};

/// The maximum number of values of all variables together.
const VALUES: u64 = 1 << 27;

/// The names and texts of the files of a diagram.
pub struct Parts<'a> {
    /// Name and text of the `.uai` file, with scopes and tables.
    pub uai: (&'a str, &'a [u8]),
    /// Name and text of the `.id` file, with the kinds of variables and functions.
    pub id: (&'a str, &'a [u8]),
    /// Name and text of the `.pvo` file, with blocks of variables.
    pub pvo: (&'a str, &'a [u8]),
}

/// Reads a diagram from its `.uai` file; the other two files must be in the same folder.
///
/// # Errors
/// Returns an error if a file is missing, or cannot be read or parsed, with line and column, and [`Error::Stopped`] if
/// `stop` is set.
pub fn read_diagram(path: &Path, stop: &Stop) -> Result<(Diagram, Vec<Warning>), Error> {
    let mut files =
        [read_tokens(&Source::File(path.into()), stop)?, beside(path, "id", stop)?, beside(path, "pvo", stop)?];
    parse(&path.display().to_string(), &mut files)
}

/// Parses a diagram from texts.
///
/// # Errors
/// Returns an error if a text cannot be parsed, with line and column, and [`Error::Stopped`] if `stop` is set.
pub fn parse_diagram(parts: &Parts<'_>, stop: &Stop) -> Result<(Diagram, Vec<Warning>), Error> {
    let tokens = |(name, text): (&str, &[u8])| -> Tokens<'_> {
        let text = std::io::Cursor::new(text.to_vec());
        Tokens::new(Box::new(text), name.to_string(), stop)
    };
    parse(parts.uai.0, &mut [parts.uai, parts.id, parts.pvo].map(tokens))
}

/// Opens the file with the same stem and another extension, compressed or not.
fn beside<'a>(path: &Path, extension: &str, stop: &'a Stop) -> Result<Tokens<'a>, Error> {
    let mut stem: PathBuf = path.into();
    let packed = |e: &str| compressed_extensions().any(|known| known.eq_ignore_ascii_case(e));
    if stem.extension().is_some_and(|e| packed(&e.to_string_lossy())) {
        let _ = stem.set_extension("");
    }
    let plain = stem.with_extension(extension);
    let names = compressed_extensions().map(|packed| stem.with_extension(format!("{extension}.{packed}")));
    let found = std::iter::once(plain.clone()).chain(names).find(|name| name.exists());
    read_tokens(&Source::File(found.unwrap_or(plain)), stop)
}

fn parse(name: &str, [tables, kinds, blocks]: &mut [Tokens<'_>; 3]) -> Result<(Diagram, Vec<Warning>), Error> {
    for tokens in [&mut *tables, kinds, blocks] {
        tokens.skip_comments();
    }
    let kind = match &tables.word("ID or LIMID")?.to_ascii_uppercase()[..] {
        b"ID" => DiagramKind::Recall,
        b"LIMID" => DiagramKind::Limited,
        _ => return Err(tables.error_with("ID or LIMID", "only influence diagrams are decided")),
    };
    let count = tables.count("the number of variables")?;
    let mut nodes = Vec::new();
    let mut values = 0u64;
    for index in 0..count {
        let domain = tables.integer("a domain size")?;
        values = values.saturating_add(domain.unsigned_abs());
        if domain < 1 || values > VALUES {
            return Err(tables.error(format!("a domain size of at least 1, and at most {VALUES} values in all")));
        }
        nodes.push(Node { name: index.to_string(), domain: domain as u32, values: Vec::new(), decision: false });
    }
    let scopes = uai::read_scopes(tables, count as u32)?;
    read_kinds(kinds, "variables", count, [b"C", b"D"], |index, decision| nodes[index].decision = decision)?;
    let mut utilities = vec![false; scopes.len()];
    read_kinds(kinds, "functions", scopes.len(), [b"P", b"U"], |index, utility| utilities[index] = utility)?;
    kinds.leave_rest("the kinds of functions")?;
    let mut diagram = Diagram {
        name: name.into(),
        kind,
        nodes,
        probabilities: Vec::new(),
        utilities: Vec::new(),
        blocks: Vec::new(),
        informed: Vec::new(),
    };
    let mut places = Vec::new();
    for (function, (scope, &utility)) in scopes.into_iter().zip(&utilities).enumerate() {
        let table = read_table(tables, function, &scope, &diagram.nodes, utility)?;
        if utility {
            diagram.utilities.push(Potential { scope, table });
        } else {
            diagram.probabilities.push(Potential { scope, table });
            places.push(tables.place());
        }
    }
    warn_of_sums_of(&diagram, &places, &mut |place, text| tables.warn(place, text));
    tables.leave_rest("the last table")?;
    diagram.blocks = read_blocks(blocks, &diagram.nodes)?;
    // without perfect recall, a decision sees nothing if the block before its own is empty, so empty blocks matter
    if kind == DiagramKind::Recall {
        diagram.blocks.retain(|block| !block.is_empty());
    }
    let warnings = [tables, kinds, blocks].into_iter().flat_map(|tokens| tokens.take_warnings()).collect();
    Ok((diagram, warnings))
}

/// Reads a count, and one of two words for each item.
fn read_kinds(
    tokens: &mut Tokens<'_>,
    what: &str,
    count: usize,
    words: [&[u8]; 2],
    mut take: impl FnMut(usize, bool),
) -> Result<(), Error> {
    let [first, second] = words.map(String::from_utf8_lossy);
    if tokens.count(&format!("the number of {what}"))? != count {
        return Err(tokens.error_with(count.to_string(), format!("the .uai file has {count} {what}")));
    }
    for index in 0..count {
        let expected = format!("{first} or {second}");
        let word = tokens.word(&expected)?.to_ascii_uppercase();
        match words.iter().position(|known| **known == word[..]) {
            Some(place) => take(index, place == 1),
            None => return Err(tokens.error(expected)),
        }
    }
    Ok(())
}

fn read_table(
    tokens: &mut Tokens<'_>,
    function: usize,
    scope: &[u32],
    nodes: &[Node],
    utility: bool,
) -> Result<Box<[f64]>, Error> {
    let combinations = scope.iter().fold(1u64, |n, &v| n.saturating_mul(u64::from(nodes[v as usize].domain)));
    let entries = tokens.count("a number of entries")?;
    if entries as u64 != combinations {
        return Err(tokens.error(format!("{combinations} entries, as the scope of function {function} has it")));
    }
    let mut table = Vec::with_capacity(entries.min(1 << 12));
    for _ in 0..entries {
        let expected = if utility { "a utility" } else { "a probability of at least 0" };
        // utilities are not normalised, so small ones must not be read as 0
        let number = std::str::from_utf8(tokens.word(expected)?).ok().and_then(|word| word.parse::<f64>().ok());
        match number.filter(|number| number.is_finite() && (utility || *number >= 0.0)) {
            Some(number) => table.push(number),
            None => return Err(tokens.error(expected)),
        }
    }
    Ok(table.into())
}

/// Reads numbers between semicolons: the number of variables, the number of blocks, then the blocks.
fn read_blocks(tokens: &mut Tokens<'_>, nodes: &[Node]) -> Result<Vec<Vec<u32>>, Error> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new()];
    let mut known = vec![false; nodes.len()];
    while !tokens.at_end()? {
        let word = tokens.word("a number")?.to_vec();
        for (place, part) in word.split(|&byte| byte == b';').enumerate() {
            if place > 0 {
                lists.push(Vec::new());
            }
            if part.is_empty() {
                continue;
            }
            let number = std::str::from_utf8(part).ok().and_then(|text| text.parse::<u32>().ok());
            let number = number.ok_or_else(|| tokens.error("numbers and semicolons"))?;
            let header = lists.len() <= 2;
            let list = lists.last_mut().expect("there is a list from the beginning");
            list.push(number);
            let index = number as usize;
            match (header, known.get(index)) {
                (true, _) => {
                    // empty blocks may stand before, between and after those with variables
                    let limit = if lists.len() == 1 { nodes.len() } else { 2 * nodes.len() + 1 };
                    let fits = if lists.len() == 1 { index == limit } else { index <= limit };
                    if !fits || lists.last().is_some_and(|list| list.len() > 1) {
                        return Err(tokens.error_with(
                            "the number of variables, a semicolon, the number of blocks, a semicolon",
                            format!("the .uai file has {} variables", nodes.len()),
                        ));
                    }
                }
                (false, None) => return Err(tokens.error(format!("a variable{}", among(nodes.len())))),
                (false, Some(true)) => return Err(tokens.error("a variable that is in no block yet")),
                (false, Some(false)) => {
                    known[index] = true;
                    let list = &lists[lists.len() - 1];
                    if nodes[index].decision != nodes[list[0] as usize].decision {
                        let hint = "a block is all decisions or all chance variables";
                        return Err(tokens.error_with("a variable of the same kind as the block's first one", hint));
                    }
                }
            }
        }
    }
    let _ = lists.pop_if(|list| list.is_empty());
    let announced = lists.get(1).and_then(|list| list.first()).copied();
    let blocks: Vec<Vec<u32>> = lists.into_iter().skip(2).collect();
    if announced != Some(blocks.len() as u32) {
        let announced = announced.map_or("no number of".into(), |count| count.to_string());
        return Err(tokens.error_with(format!("{} blocks", blocks.len()), format!("{announced} blocks are announced")));
    }
    if let Some(missing) = known.iter().position(|known| !known) {
        return Err(tokens.error(format!("a block with variable {missing}")));
    }
    Ok(blocks)
}
