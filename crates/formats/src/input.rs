//! Sources of bytes: files and standard input, which are decompressed and converted to UTF-8 according to their first
//! bytes.

use super::encoding;
use super::tokens::Tokens;
use crate::error::Error;
use crate::files::{self, LARGEST_TEXT, Patient, Stream, cannot_read, read_all};
use crate::stop::Stop;
use std::fmt;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};

/// A file or standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Source {
    /// Returns the source named on the command line: `-` is standard input.
    pub fn new(name: impl AsRef<Path>) -> Self {
        let name = name.as_ref();
        if name == Path::new("-") { Source::Stdin } else { Source::File(name.into()) }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Stdin => f.write_str("<stdin>"),
            Source::File(path) => path.display().fmt(f),
        }
    }
}

/// Opens a source and decompresses its contents.
pub(super) fn open<'a>(source: &Source, stop: &'a Stop) -> io::Result<Stream<'a>> {
    let raw: Stream<'a> = match source {
        Source::Stdin => Box::new(Patient::new(|| Ok(io::stdin()), stop)?),
        Source::File(path) => files::open(path, stop)?,
    };
    decompress(raw)
}

/// A compression format: its name, file extension, and the test of its first bytes.
struct Compression {
    name: &'static str,
    extension: &'static str,
    is_start: fn(&[u8]) -> bool,
    reader: for<'a> fn(Stream<'a>) -> io::Result<Stream<'a>>,
}

/// Every compression format that is read.
const COMPRESSIONS: [Compression; 4] = [
    Compression {
        name: "gzip",
        extension: "gz",
        is_start: |head| head.starts_with(&[0x1f, 0x8b]),
        reader: decoders::gzip,
    },
    Compression {
        name: "bzip2",
        extension: "bz2",
        // a text could begin with "BZh" and a digit, but not with the block mark (pi, or the root of pi for no block)
        is_start: |head| {
            let block = head.get(4..HEAD).unwrap_or_default();
            head.starts_with(b"BZh")
                && (block == [0x31, 0x41, 0x59, 0x26, 0x53, 0x59] || block == [0x17, 0x72, 0x45, 0x38, 0x50, 0x90])
        },
        reader: decoders::bzip2,
    },
    Compression {
        name: "xz",
        extension: "xz",
        is_start: |head| head.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]),
        reader: decoders::xz,
    },
    Compression {
        name: "zstd",
        extension: "zst",
        is_start: |head| head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]),
        reader: decoders::zstd,
    },
];

#[cfg(feature = "compression")]
mod decoders {
    use super::Stream;
    use std::io::{self, Error};

    /// The maximum memory of a decoder in bytes; `xz -9` takes 65 MiB.
    const XZ_MEMORY: u64 = 1 << 29;

    pub fn gzip(raw: Stream<'_>) -> io::Result<Stream<'_>> {
        Ok(Box::new(flate2::read::MultiGzDecoder::new(raw)))
    }

    pub fn bzip2(raw: Stream<'_>) -> io::Result<Stream<'_>> {
        Ok(Box::new(bzip2::read::MultiBzDecoder::new(raw)))
    }

    pub fn xz(raw: Stream<'_>) -> io::Result<Stream<'_>> {
        let stream = liblzma::stream::Stream::new_stream_decoder(XZ_MEMORY, liblzma::stream::CONCATENATED)?;
        Ok(Box::new(liblzma::read::XzDecoder::new_stream(raw, stream)))
    }

    pub fn zstd(raw: Stream<'_>) -> io::Result<Stream<'_>> {
        Ok(Box::new(zstd::stream::read::Decoder::new(raw)?))
    }

    /// Returns whether a decoder was out of memory, or was denied the amount that the data needs.
    pub fn is_out_of_memory(error: &Error) -> bool {
        use liblzma::stream::Error::{Mem, MemLimit};
        let of_xz = error.get_ref().and_then(|inner| inner.downcast_ref::<liblzma::stream::Error>());
        // zstd's errors have names but no kinds
        matches!(of_xz, Some(Mem | MemLimit)) || error.to_string().contains("not enough memory")
    }
}

#[cfg(not(feature = "compression"))]
mod decoders {
    use super::Stream;
    use std::io::{self, Error, ErrorKind};

    pub fn absent(_raw: Stream<'_>) -> io::Result<Stream<'_>> {
        let text = "the data is compressed, and this build cannot unpack it (the feature `compression` is off)";
        Err(Error::new(ErrorKind::Unsupported, text))
    }

    pub use {absent as gzip, absent as bzip2, absent as xz, absent as zstd};

    pub fn is_out_of_memory(_error: &Error) -> bool {
        false
    }
}

/// The number of first bytes by which compression is recognised.
const HEAD: usize = 10;

/// Returns whether a file extension is that of a compression format.
pub(super) fn is_compressed_extension(extension: &str) -> bool {
    COMPRESSIONS.iter().any(|c| c.extension.eq_ignore_ascii_case(extension))
}

/// Returns the file extensions of the compression formats.
pub fn compressed_extensions() -> impl Iterator<Item = &'static str> {
    COMPRESSIONS.iter().map(|c| c.extension)
}

/// Decompresses a stream whose first bytes are those of an archive, whatever its name; text in UTF-16 becomes UTF-8.
pub(super) fn decompress<'a>(mut raw: Stream<'a>) -> io::Result<Stream<'a>> {
    let mut head = Vec::with_capacity(HEAD);
    let _ = raw.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
    let compression = COMPRESSIONS.iter().find(|c| (c.is_start)(&head));
    let whole: Stream<'a> = Box::new(Cursor::new(head).chain(raw));
    encoding::transcoded(match compression {
        None => whole,
        Some(c) => Box::new(Unpacked { reader: (c.reader)(whole)?, name: c.name }),
    })
}

/// A decompressed stream that explains the decoder's errors.
struct Unpacked<'a> {
    reader: Stream<'a>,
    name: &'static str,
}

impl Read for Unpacked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer).map_err(|error| {
            if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted {
                return error;
            }
            if decoders::is_out_of_memory(&error) {
                let text = format!("out of memory: the {} data cannot be unpacked ({error})", self.name);
                return io::Error::new(io::ErrorKind::OutOfMemory, text);
            }
            io::Error::new(error.kind(), format!("the {} data is damaged or ends early ({error})", self.name))
        })
    }
}

#[cfg(all(test, feature = "compression"))]
mod tests {
    use super::*;

    /// A decoder that fails with this error.
    struct Failing(fn() -> io::Error);

    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err((self.0)())
        }
    }

    #[test]
    fn memory_that_is_short_is_no_damage() {
        use liblzma::stream::Error::{Data, Mem, MemLimit};
        let told = |error: fn() -> io::Error| {
            let mut unpacked = Unpacked { reader: Box::new(Failing(error)), name: "xz" };
            unpacked.read(&mut [0]).expect_err("it fails").to_string()
        };
        assert!(told(|| Data.into()).starts_with("the xz data is damaged or ends early"));
        for error in [|| Mem.into(), || MemLimit.into(), || io::Error::other("Allocation error : not enough memory")] {
            assert!(told(error).starts_with("out of memory: the xz data cannot be unpacked"), "{}", told(error));
        }
    }
}

/// Reads the whole text of a file that is parsed at once, such as evidence or a solution.
pub(super) fn read_text(source: &Source, stop: &Stop) -> Result<Vec<u8>, Error> {
    let text = open(source, stop).and_then(|stream| read_all(stream, LARGEST_TEXT));
    text.map_err(|error| cannot_read(&source.to_string(), error, stop))
}

/// Opens a file as a sequence of words.
pub(super) fn read_tokens<'a>(source: &Source, stop: &'a Stop) -> Result<Tokens<'a>, Error> {
    let name = source.to_string();
    let bytes = open(source, stop).map_err(|error| cannot_read(&name, error, stop))?;
    Ok(Tokens::new(bytes, name, stop))
}
