//! Files and folders, as far as operating systems differ.

#[cfg(unix)]
pub(crate) use unix::{free, read, write};

#[cfg(not(unix))]
pub(crate) use elsewhere::{free, read, write};

#[cfg(unix)]
mod unix {
    use std::fs::File;
    use std::io;
    use std::os::unix::fs::FileExt;
    use std::path::Path;

    /// Returns the free bytes of a folder; 0 for a folder in memory, as `/tmp` is on many systems.
    pub fn free(folder: &Path) -> io::Result<u64> {
        if in_memory(folder)? {
            return Ok(0);
        }
        let told = rustix::fs::statvfs(folder)?;
        Ok(told.f_bavail.saturating_mul(told.f_frsize))
    }

    #[cfg(target_os = "linux")]
    fn in_memory(folder: &Path) -> io::Result<bool> {
        // tmpfs and ramfs, from linux/magic.h
        const MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];
        Ok(MEMORY.contains(&(rustix::fs::statfs(folder)?.f_type as i64)))
    }

    #[cfg(not(target_os = "linux"))]
    fn in_memory(_: &Path) -> io::Result<bool> {
        Ok(false)
    }

    /// Reads all of `out` from offset `from`; several threads may read at a time.
    pub fn read(file: &File, out: &mut [u8], from: u64) -> io::Result<()> {
        file.read_exact_at(out, from)
    }

    /// Writes all bytes from offset `from`.
    pub fn write(file: &File, bytes: &[u8], from: u64) -> io::Result<()> {
        file.write_all_at(bytes, from)
    }
}

/// On other systems no folder has room, so that plans stay within memory.
#[cfg(not(unix))]
mod elsewhere {
    use std::fs::File;
    use std::io::{Error, ErrorKind, Result};
    use std::path::Path;

    pub fn free(_: &Path) -> Result<u64> {
        Ok(0)
    }

    pub fn read(_: &File, _: &mut [u8], _: u64) -> Result<()> {
        Err(Error::from(ErrorKind::Unsupported))
    }

    pub fn write(_: &File, _: &[u8], _: u64) -> Result<()> {
        Err(Error::from(ErrorKind::Unsupported))
    }
}
