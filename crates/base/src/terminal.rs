//! Safe display of text from outside: file names, keywords and fields may contain control sequences of a terminal.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Returns a text that may have several lines; control characters except line breaks and tabs are escaped.
pub fn text(text: &str) -> Cow<'_, str> {
    escape(text, |c| c != '\n' && c != '\t' && is_control(c))
}

/// Returns a text for a single line; all control characters are escaped.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, is_control)
}

/// Returns a path for messages, on one line.
pub fn path(path: &Path) -> String {
    line(&path.display().to_string()).into_owned()
}

/// Returns the range of indices of `count` items, to follow a noun in a message: ` from 0 to 4`.
pub fn among(count: impl TryInto<u64>) -> String {
    match count.try_into().unwrap_or(0).checked_sub(1) {
        Some(last) => format!(" from 0 to {last}"),
        None => ", of which there are none".into(),
    }
}

/// Returns whether a character is a control character or changes the direction of writing, which can make one text look
/// like another.
fn is_control(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escape(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&wanted) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // writing to a string cannot fail
        let _ = if wanted(c) { write!(shown, "{}", c.escape_default()) } else { write!(shown, "{c}") };
    }
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_and_the_rest_stays() {
        for plain in ["", "a b", "ü → 名", "C:\\x", "`it's`"] {
            assert!(matches!((text(plain), line(plain)), (Cow::Borrowed(_), Cow::Borrowed(_))), "{plain}");
        }
        assert_eq!(text("a\u{1b}[31mb\r\n\tc\u{7f}\u{9b}"), "a\\u{1b}[31mb\\r\n\tc\\u{7f}\\u{9b}");
        assert_eq!(line("a\nb\tc\u{7}\u{202e}"), "a\\nb\\tc\\u{7}\\u{202e}");
    }
}
