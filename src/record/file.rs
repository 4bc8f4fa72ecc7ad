//! Files that are replaced as a whole.

use crate::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file whose readers see either the old content or the new one, never a part.
///
/// The new content goes to a temporary file in the same folder, which then takes the name. What is no regular file
/// (a device, a pipe) is written in place instead, and a symbolic link keeps pointing where it does.
#[derive(Clone, Debug)]
pub struct ReplacedFile {
    path: PathBuf,
    in_place: bool,
}

impl ReplacedFile {
    /// Prepares to write `path`; the file itself stays as it is until the first [`ReplacedFile::write`].
    ///
    /// # Errors
    /// A folder that does not exist or cannot be written to, or a path that is a folder.
    pub fn new(path: &Path) -> Result<Self, Error> {
        let error = |source| Error::Io { path: path.into(), action: "cannot write", source };
        let resolved = path.canonicalize().unwrap_or_else(|_| path.into());
        let in_place = match std::fs::metadata(&resolved) {
            Ok(metadata) if metadata.is_dir() => return Err(error(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) => !metadata.is_file(),
            Err(_) => false,
        };
        let file = ReplacedFile { path: resolved, in_place };
        if !in_place {
            drop(file.temporary().map_err(error)?);
        }
        Ok(file)
    }

    /// Where it is, symbolic links followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces the content.
    ///
    /// # Errors
    /// What the system says; the old content stays then.
    pub fn write(&self, content: &[u8]) -> io::Result<()> {
        if self.in_place {
            return std::fs::OpenOptions::new().write(true).open(&self.path)?.write_all(content);
        }
        let mut temporary = self.temporary()?;
        temporary.write_all(content)?;
        let _ = temporary.persist(&self.path).map_err(|error| error.error)?;
        Ok(())
    }

    fn temporary(&self) -> io::Result<tempfile::NamedTempFile> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        let _ = builder.prefix(".fangs-");
        // temporary files are private by default; this one becomes the user's file, so the umask decides
        #[cfg(unix)]
        let _ = builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        builder.tempfile_in(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_content_and_leaves_nothing_else() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("best.sol");
        let file = ReplacedFile::new(&path)?;
        assert!(!path.exists());
        file.write(b"long first content")?;
        file.write(b"second")?;
        assert_eq!(std::fs::read(&path)?, b"second");
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
        Ok(())
    }

    #[cfg(unix)]
    #[test]
    fn keeps_links_and_devices() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        std::fs::write(&target, "old")?;
        std::os::unix::fs::symlink(&target, &link)?;
        ReplacedFile::new(&link)?.write(b"new")?;
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&target)?, b"new");
        ReplacedFile::new(Path::new("/dev/null"))?.write(b"gone")?;
        assert!(!Path::new("/dev/null").is_file());
        Ok(())
    }

    #[test]
    fn refuses_folders_and_what_has_none() {
        assert!(ReplacedFile::new(&std::env::temp_dir()).is_err());
        assert!(ReplacedFile::new(Path::new("/no/such/folder/file")).is_err());
    }
}
