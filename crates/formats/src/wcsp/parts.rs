//! Detection of the ends of functions by counting lines: almost all files have a function's first line and each of its
//! tuples on separate lines. In other files, functions are read sequentially.

use crate::tokens::Part;
use memchr::{memchr, memchr_iter};

/// Cuts text that begins with a function into parts of at least `least` bytes, each of whole functions, `most`
/// functions in total. Stops before a function of another form, and before one whose end is not in the text.
pub(super) fn parts(text: &[u8], most: usize, least: usize) -> Vec<Part> {
    let (mut parts, mut part) = (Vec::new(), Part::default());
    for _ in 0..most {
        let Some((bytes, lines)) = function(&text[part.bytes.end..]) else { break };
        part.bytes.end += bytes;
        part.lines += lines;
        part.items += 1;
        if part.bytes.len() >= least {
            let end = part.bytes.end;
            parts.push(std::mem::replace(&mut part, Part { bytes: end..end, ..Part::default() }));
        }
    }
    parts.extend((part.items > 0).then_some(part));
    parts
}

/// Returns the numbers of bytes and line ends of the function that a text begins with; `None` if it has another form or
/// is incomplete.
fn function(text: &[u8]) -> Option<(usize, u64)> {
    let blank = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
    let begin = blank + memchr(b'\n', &text[blank..])? + 1;
    let tuples = tuples(&text[blank..begin])?;
    let before = memchr_iter(b'\n', &text[..blank]).count() as u64;
    let end = match usize::try_from(tuples).ok()?.checked_sub(1) {
        Some(last) => begin + memchr_iter(b'\n', &text[begin..]).nth(last)? + 1,
        None => begin,
    };
    Some((end, before + 1 + tuples))
}

/// Returns the number of tuples that a function's first line announces; `None` if the line has another form.
fn tuples(line: &[u8]) -> Option<u64> {
    let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let number = |word: &[u8]| -> Option<u64> {
        let is_plain = word.iter().all(u8::is_ascii_digit);
        is_plain.then(|| std::str::from_utf8(word).ok()?.parse().ok()).flatten()
    };
    let arity = number(words.next()?)?;
    // the variables and the default cost
    let skipped = words.by_ref().take(usize::try_from(arity).ok()? + 1).count() as u64;
    let tuples = number(words.next()?)?;
    (skipped == arity + 1 && words.next().is_none()).then_some(tuples)
}

#[cfg(test)]
mod tests {
    use super::super::read_ahead;
    use crate::generate::generate;
    use crate::rng::Rng;
    use crate::stop::Stop;
    use crate::tokens::tests::Drip;
    use crate::tokens::{Reach, Tokens};

    /// Returns the network as text, or the error, and the position reached.
    fn read(text: &[u8], reach: Option<Reach>, drip: bool) -> (String, String) {
        let stop = Stop::new();
        let source: Box<dyn std::io::Read> = if drip { Box::new(Drip(text)) } else { Box::new(text) };
        let mut tokens = Tokens::new(source, "t".into(), &stop);
        let network = match read_ahead(&mut tokens, reach) {
            Ok(network) => {
                let mut written = Vec::new();
                super::super::write(&network, &mut written).expect("it can be written");
                String::from_utf8(written).expect("text")
            }
            Err(error) => error.to_string(),
        };
        (network, format!("{:?}", tokens.finish(String::new)))
    }

    #[test]
    fn parts_are_read_as_the_whole() {
        let mut rng = Rng::new(7);
        let kinds: [(&str, &[(&str, &str)]); 2] =
            [("random", &[("n", "20"), ("d", "3"), ("p2", "0.3")]), ("permutation", &[])];
        let mut texts: Vec<String> = Vec::new();
        for (kind, parameters) in kinds {
            let mut text = Vec::new();
            let network = generate(kind, parameters, 3).expect("a kind");
            super::super::write(&network, &mut text).expect("it can be written");
            texts.push(String::from_utf8(text).expect("text"));
        }
        texts.push(
            "t 3 2 5 9\n2 2 2\n-2 0 1 0 1\n1 1 5\n2 1 2 7 -1\n2 0 2 -1 salldiff var 3\n0 4 0\n1 0 3 0\n\n".into(),
        );
        let (mut errors, mut right) = (0, 0);
        for case in 0..600 {
            let mut text = texts[rng.index(texts.len())].clone();
            match rng.below(5) {
                0 => text = text.replace('\n', "\r\n"),
                1 => text = text.replace('\n', " \n\n "),
                2 => text = text.replace('\n', " "),
                _ => {}
            }
            let mut text = text.into_bytes();
            for _ in 0..rng.below(3) {
                let (at, byte) = (rng.index(text.len()), b"0123456789 \n-x"[rng.index(14)]);
                text[at] = byte;
            }
            text.truncate(text.len() - rng.index(2) * rng.index(text.len()));
            let one_by_one = read(&text, None, false);
            let reach = Reach { ahead: 8 << rng.below(10), part: 1 << rng.below(8) };
            assert_eq!(read(&text, Some(reach), rng.below(4) == 0), one_by_one, "case {case}");
            let is_wrong = one_by_one.0.contains("expected");
            (errors, right) = (errors + usize::from(is_wrong), right + usize::from(!is_wrong));
        }
        assert!(errors > 50 && right > 50, "{errors} {right}");
    }
}
