//! Parallel reading: the text ahead is cut into parts that all threads share.

use super::Tokens;
use crate::error::Error;
use crate::memory;
use crate::stop::Stop;
use memchr::{memchr, memchr_iter};
use rayon::prelude::*;
use std::ops::Range;

/// The number of bytes of text to read ahead, and the minimum number of bytes of a part.
#[derive(Clone, Copy)]
pub(crate) struct Reach {
    pub ahead: usize,
    pub part: usize,
}

impl Reach {
    /// A few hundred parts, each of which takes some hundred microseconds.
    const LONG: Reach = Reach { ahead: 1 << 24, part: 1 << 16 };

    /// Returns the sizes for a pool of several threads. Returns `None` if there is one thread, or if the caller is
    /// outside of a pool, because the size of the pool may not be known yet; words are then read sequentially.
    pub fn of_threads() -> Option<Reach> {
        let are_several = rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1;
        are_several.then_some(Reach::LONG)
    }
}

/// A part of the text ahead, which consists of whole lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// The byte range of the part in the text ahead.
    pub bytes: Range<usize>,
    /// The number of line ends in the part.
    pub lines: u64,
    /// The number of items to read from the part.
    pub items: u64,
}

/// Text that was read ahead.
#[derive(Clone, Copy)]
pub(crate) struct Ahead<'t> {
    pub text: &'t [u8],
    comments: Option<u8>,
    stop: &'t Stop,
}

impl Ahead<'_> {
    /// Reads consecutive parts, from the beginning of the text, with `read`. Returns the results up to the first part
    /// that cannot be read completely; its error is found when its words are read sequentially. Consumes nothing: see
    /// [`Tokens::pass`].
    pub fn read<T: Send>(
        &self,
        parts: &[Part],
        read: impl Fn(&mut Tokens<'_>, &Part) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let read = |part: &Part| {
            self.stop.check()?;
            let mut tokens =
                Tokens { comments: self.comments, ..Tokens::over(&self.text[part.bytes.clone()], self.stop) };
            let value = read(&mut tokens, part)?;
            if tokens.at_end()? { Ok(value) } else { Err(tokens.error("the end of the part")) }
        };
        let outcomes: Vec<Result<T, Error>> = parts.par_iter().map(read).collect();
        self.stop.check()?;
        Ok(outcomes.into_iter().map_while(Result::ok).collect())
    }
}

/// Cuts text into parts of at least `least` bytes, each of whole lines.
fn lines(text: &[u8], least: usize) -> Vec<Part> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    while let Some(end) = text.get(begin + least..).and_then(|rest| memchr(b'\n', rest)) {
        let bytes = begin..begin + least + end + 1;
        begin = bytes.end;
        parts.push(Part { lines: memchr_iter(b'\n', &text[bytes.clone()]).count() as u64, bytes, items: 0 });
    }
    parts
}

impl Tokens<'_> {
    /// Returns the text ahead: `bytes` bytes, or all that is left.
    pub(crate) fn ahead(&mut self, bytes: usize) -> Result<Ahead<'_>, Error> {
        // the buffer grows only as the text arrives; if memory is short, the rest is read later
        while self.end - self.next < bytes {
            if self.end - self.next == self.buffer.len() {
                let (size, mut larger) = (bytes.min(2 * self.buffer.len()), Vec::new());
                if memory::reserve(&mut larger, size).is_err() {
                    break;
                }
                larger.extend_from_slice(&self.buffer);
                larger.resize(size, 0);
                self.buffer = larger.into_boxed_slice();
            }
            if !self.refill()? {
                break;
            }
        }
        let text = &self.buffer[self.next..self.end.min(self.next + bytes)];
        Ok(Ahead { text, comments: self.comments, stop: self.stop })
    }

    /// Consumes the first parts of the text ahead.
    pub(crate) fn pass(&mut self, parts: &[Part]) {
        let Some(last) = parts.last() else { return };
        self.next += last.bytes.end;
        self.line += parts.iter().map(|part| part.lines).sum::<u64>();
        (self.current, self.line_start) = (self.next, self.next as i64);
    }

    /// Reads at most `most` items, each of which may begin on any line, with `read`, which appends to a list. Several
    /// threads share the work if `reach` is given. Returns the lists, in the order of the text, and the number of items
    /// read.
    pub(crate) fn items<L: Default + Send>(
        &mut self,
        most: u64,
        mut reach: Option<Reach>,
        read: impl Fn(&mut Tokens<'_>, &mut L) -> Result<(), Error> + Sync,
    ) -> Result<(Vec<L>, u64), Error> {
        let (mut lists, mut last, mut left) = (Vec::new(), L::default(), most);
        while left > 0 && !(reach.is_none() && self.at_end()?) {
            let Some(Reach { ahead, part }) = reach else {
                read(self, &mut last)?;
                left -= 1;
                continue;
            };
            let ahead = self.ahead(ahead)?;
            let parts = lines(ahead.text, part);
            let mut of_parts = ahead.read(&parts, |tokens, _| {
                let (mut list, mut count) = (L::default(), 0);
                while !tokens.at_end()? {
                    read(tokens, &mut list)?;
                    count += 1;
                }
                Ok((list, count))
            })?;
            let mut fits = |own: &(L, u64)| left.checked_sub(own.1).map(|less| left = less).is_some();
            let count = of_parts.iter().take_while(|own| fits(own)).count();
            lists.extend(of_parts.drain(..count).map(|(list, _)| list));
            self.pass(&parts[..count]);
            if count < parts.len() || parts.is_empty() {
                reach = None;
            }
        }
        lists.push(last);
        Ok((lists, most - left))
    }
}

impl<'a> Tokens<'a> {
    /// Starts at the beginning of a text that ends with a line; positions are relative to this text.
    fn over(text: &[u8], stop: &'a Stop) -> Tokens<'a> {
        let tokens = Tokens::with_buffer(Box::new(std::io::empty()), String::new(), stop, text.into());
        Tokens { end: text.len(), unread: false, ..tokens }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Drip;
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn items_of_parts_are_those_of_the_whole() {
        let mut rng = Rng::new(9);
        let (mut errors, mut right) = (0, 0);
        for case in 0..500 {
            let word = |rng: &mut Rng| match rng.below(200) {
                0 => "x".into(),
                1 => "\n".into(),
                2 => "# 5 5".into(),
                _ => rng.below(1000).to_string(),
            };
            let lines = (0..rng.below(60)).map(|_| format!("{} {}\n", word(&mut rng), word(&mut rng)));
            let text: String = lines.collect();
            let most = [u64::MAX, rng.below(60)][rng.index(2)];
            let (stop, drips) = (Stop::new(), rng.below(4) == 0);
            let read = |reach: Option<Reach>| {
                let bytes = text.as_bytes();
                let source: Box<dyn std::io::Read> = if drips { Box::new(Drip(bytes)) } else { Box::new(bytes) };
                let mut tokens = Tokens::new(source, "t".into(), &stop);
                tokens.skip_comments();
                let item = |tokens: &mut Tokens<'_>, list: &mut Vec<(u32, usize)>| {
                    list.push((tokens.index(990, "a number")?, tokens.count("another")?));
                    Ok(())
                };
                let items = tokens.items(most, reach, item).map(|(lists, count)| (lists.concat(), count));
                format!("{items:?} {:?}", tokens.finish(String::new))
            };
            let reach = Reach { ahead: 8 << rng.below(10), part: 1 << rng.below(8) };
            let one_by_one = read(None);
            assert_eq!(read(Some(reach)), one_by_one, "case {case}: {text}");
            *(if one_by_one.starts_with("Err") { &mut errors } else { &mut right }) += 1;
        }
        assert!(errors > 50 && right > 50, "{errors} {right}");
    }
}
