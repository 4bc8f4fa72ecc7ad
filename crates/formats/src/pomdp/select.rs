//! Resolution of the names and numbers of a field.

use super::words::{Word, Words};
use crate::error::Error;
use crate::text::names;

/// Consumes the words of a field: `*`, or a name or number for each list. Returns joint indices, with the last list
/// varying fastest.
pub(super) fn select(words: &mut Words<'_>, lists: &[Vec<String>], what: &str) -> Result<Vec<usize>, Error> {
    let all = lists.iter().map(Vec::len).product::<usize>();
    let index = |word: Word<'_>, list: &[String]| match word.text.parse::<usize>() {
        Ok(number) => Some(number).filter(|&number| number < list.len()),
        Err(_) => list.iter().position(|name| name == word.text),
    };
    let second = words.peek(1);
    let alone = lists.len() > 1
        && second.is_none_or(|word| word.text != "*" && (index(word, &lists[1]).is_none() || word.text.contains('.')));
    if alone {
        let word = words.expect(what)?;
        return match word.text.parse::<usize>() {
            Ok(number) if number < all => Ok(vec![number]),
            _ if word.text == "*" => Ok((0..all).collect()),
            _ => Err(words.error(Some(word), format!("{what} of each agent, or `*`"), None)),
        };
    }
    let mut chosen = vec![0];
    for list in lists {
        let word = words.expect(what)?;
        let own: Vec<usize> = match (word.text, index(word, list)) {
            ("*", _) => (0..list.len()).collect(),
            (_, Some(index)) => vec![index],
            _ => {
                let hint = match word.text.parse::<usize>() {
                    Ok(_) => Some(format!("there are {}, numbered from 0", list.len())),
                    Err(_) => names(list.iter().map(String::as_str), word.text).1,
                };
                return Err(words.error(Some(word), what, hint));
            }
        };
        chosen = chosen.iter().flat_map(|&joint| own.iter().map(move |&own| joint * list.len() + own)).collect();
    }
    Ok(chosen)
}
