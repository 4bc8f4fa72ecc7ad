//! Encodings of texts. UTF-8 is the default. UTF-16 is recognised by its first bytes, an XML declaration may name
//! another encoding, and bytes that are not UTF-8 are read as windows-1252, which includes ISO-8859-1.

use super::tokens::BYTE_ORDER_MARK;
use crate::files::Stream;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use encoding_rs_io::DecodeReaderBytesBuilder;
use std::borrow::Cow;
use std::io::{self, Cursor, Read};

/// The number of bytes by which UTF-16 is recognised.
const HEAD: usize = 2;

/// Returns the stream in UTF-8 if its first bytes are those of UTF-16, with or without a byte order mark, and the
/// unchanged stream otherwise.
pub(super) fn transcoded<'a>(mut raw: Stream<'a>) -> io::Result<Stream<'a>> {
    let mut head = Vec::with_capacity(HEAD);
    let _ = raw.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    // every format begins with an ASCII character, whose other byte in UTF-16 is 0
    let encoding = match head[..] {
        [0xff, 0xfe] => Some(UTF_16LE),
        [0xfe, 0xff] => Some(UTF_16BE),
        [first, 0] if first != 0 => Some(UTF_16LE),
        [0, second] if second != 0 => Some(UTF_16BE),
        _ => None,
    };
    let whole = Cursor::new(head).chain(raw);
    Ok(match encoding {
        None => Box::new(whole),
        Some(_) => Box::new(DecodeReaderBytesBuilder::new().encoding(encoding).build(whole)),
    })
}

/// Decodes a word: UTF-8, or windows-1252 if it is not valid UTF-8.
pub(super) fn word(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    }
}

/// Decodes a whole text, which may begin with a byte order mark, with the encoding that its XML declaration names.
/// Without a declaration it is decoded like a [`word`]; if it is not UTF-8, the length of the valid beginning in bytes
/// is returned too.
pub(super) fn document(mut bytes: Vec<u8>) -> (String, Option<usize>) {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        drop(bytes.drain(..BYTE_ORDER_MARK.len()));
    }
    // a stream in UTF-16 was already converted to UTF-8, whatever the declaration states
    let named = declared(&bytes).filter(|&own| own != UTF_8 && own != UTF_16LE && own != UTF_16BE);
    if let Some(encoding) = named {
        return (encoding.decode_without_bom_handling(&bytes).0.into_owned(), None);
    }
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            (word(error.as_bytes()).into_owned(), Some(valid))
        }
    }
}

/// Returns the encoding that an XML declaration names; `None` if there is none, or it is unknown.
fn declared(text: &[u8]) -> Option<&'static Encoding> {
    let text = text.strip_prefix(b"<?xml")?;
    let declaration = &text[..memchr::memmem::find(text, b"?>")?];
    let after = &declaration[memchr::memmem::find(declaration, b"encoding")? + b"encoding".len()..];
    let quoted = after.trim_ascii_start().strip_prefix(b"=")?.trim_ascii_start();
    let (&quote, rest) = quoted.split_first()?;
    Encoding::for_label(&rest[..memchr::memchr(quote, rest)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> String {
        let mut text = String::new();
        let stream = transcoded(Box::new(Cursor::new(bytes.to_vec()))).expect("a stream");
        let _ = { stream }.read_to_string(&mut text).expect("text");
        text
    }

    #[test]
    fn utf_16_is_recognised_by_its_first_bytes() {
        let text = "<é>";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [&little, &big, &[&[0xff, 0xfe], &little[..]].concat(), &[&[0xfe, 0xff], &big[..]].concat()] {
            assert_eq!(read(bytes), text, "{bytes:?}");
        }
        for text in ["", "t", "t 1", "\u{feff}t"] {
            assert_eq!(read(text.as_bytes()), text);
        }
    }

    #[test]
    fn documents_name_their_encoding() {
        let decode = |bytes: &[u8]| document(bytes.to_vec());
        let latin = b"<?xml version='1.0' encoding = 'ISO-8859-1' ?><a>\xe9</a>";
        assert_eq!(decode(latin), (latin[..50].iter().map(|&b| char::from(b)).collect::<String>() + "</a>", None));
        let declared = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>é</a>";
        assert_eq!(decode(declared.as_bytes()), (declared.into(), None));
        assert_eq!(decode(b"<a>\x80</a>"), ("<a>€</a>".into(), Some(3)));
        assert_eq!((word(b"R\xe9al"), word("Réal".as_bytes())), ("Réal".into(), "Réal".into()));
    }
}
