//! Parsing of XML.

use crate::error::Error;
use crate::text::{Text, Wrong};
use roxmltree::{Document, ParsingOptions};

/// Parses a text as XML.
///
/// # Errors
/// Returns an error at the position that is not valid XML.
pub fn xml<'t>(text: &'t Text, options: ParsingOptions<'t>) -> Result<Document<'t>, Error> {
    Document::parse_with_options(&text.text, options).map_err(|error| {
        let place = error.pos();
        let line = text.text.split_inclusive('\n').take(place.row as usize - 1).map(str::len).sum::<usize>();
        let column = text.text[line..].char_indices().nth(place.col as usize - 1).map_or(0, |(byte, _)| byte);
        text.error(Wrong::new(line + column..line + column, "XML").hint(error.to_string()))
    })
}
