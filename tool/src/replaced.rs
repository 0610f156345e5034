// SPDX-License-Identifier: BSD-2-Clause
//! A file that is replaced whole or not at all: the new text is written beside it, and renamed.
//! Root writes through no symbolic link of another user, who could let it lead to any file.

use crate::trust;
use nix::errno::Errno;
use nix::fcntl::{openat, openat2, renameat, OFlag, OpenHow, ResolveFlag, AT_FDCWD};
use nix::sys::stat::Mode;
use nix::unistd::{unlinkat, UnlinkatFlags};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// A file that can be written, as far as can be known before it is.
pub struct Replaced {
    /// As it was named, for messages.
    named: PathBuf,
    /// Behind all symbolic links.
    path: PathBuf,
    /// None for a device or a pipe, which is written itself.
    beside: Option<Beside>,
    /// The mode of the new file; None for that of the old one, or what the umask leaves.
    mode: Option<u32>,
}

/// The file that gets the new text.
struct Beside {
    directory: OwnedFd,
    name: OsString,
}

/// Writes a file at once.
pub fn write(named: &Path, text: &str) -> Result<()> {
    Replaced::prepare(named)?.fill(text)
}

impl Replaced {
    /// Tries what `fill` will do, so that an error shows before the text is made.
    pub fn prepare(named: &Path) -> Result<Replaced> {
        let failed = |why: &dyn std::fmt::Display| cannot_write(named, why);
        if let Some(link) = trust::foreign_link(named) {
            let why = format!("{link}, which could lead anywhere; remove it, or name another file");
            return Err(failed(&why));
        }
        let path = real(named);
        let is_replaced = match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(failed(&"it is a directory; name a file in it"))
            }
            Ok(meta) if !meta.is_file() => false,
            // The directory may be writable although the file is not.
            Ok(_) => {
                let file = OpenOptions::new().append(true).open(&path);
                file.map_err(|error| failed(&error))?;
                true
            }
            Err(_) => true,
        };
        let beside = is_replaced.then(|| Beside::of(&path)).transpose();
        let beside = beside.map_err(|error| failed(&error))?;
        if let Some(beside) = &beside {
            let tried = beside.create().and_then(|_| beside.remove());
            tried.map_err(|error| failed(&error))?;
        }
        Ok(Replaced {
            named: named.to_owned(),
            path,
            beside,
            mode: None,
        })
    }

    /// The same, with this mode of the new file.
    pub fn with_mode(self, mode: u32) -> Replaced {
        Replaced {
            mode: Some(mode),
            ..self
        }
    }

    /// Writes the text, and puts it in the place of the file.
    pub fn fill(self, text: &str) -> Result<()> {
        let done = match &self.beside {
            None => self.written(text),
            Some(beside) => {
                let done = self.renamed(beside, text);
                if done.is_err() {
                    let _ = beside.remove();
                }
                done
            }
        };
        done.map_err(|error| cannot_write(&self.named, &error))
    }

    /// Writes to a device or a pipe. Another user could have put a link or a file in its place
    /// since `prepare`, so neither is written to.
    fn written(&self, text: &str) -> std::io::Result<()> {
        let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
        let opened = match is_descriptor(&self.path) {
            true => openat(AT_FDCWD, &self.path, flags, Mode::empty())?,
            false => without_links(&self.path, flags)?,
        };
        let mut file = File::from(opened);
        match file.metadata()?.is_file() {
            true => Err(std::io::Error::other(
                "a file took the place of the device or pipe meanwhile",
            )),
            false => file.write_all(text.as_bytes()),
        }
    }

    fn renamed(&self, beside: &Beside, text: &str) -> std::io::Result<()> {
        let mut file = beside.create()?;
        let old = fs::metadata(&self.path).map(|meta| meta.permissions());
        if let Some(mode) = self.mode.map(Permissions::from_mode).or(old.ok()) {
            file.set_permissions(mode)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        let name = self.path.file_name().unwrap_or_default();
        let directory = &beside.directory;
        Ok(renameat(
            directory,
            beside.name.as_os_str(),
            directory,
            name,
        )?)
    }
}

impl Beside {
    /// A hidden file of this process in the same directory. The directory's path has no symbolic
    /// links, so one that appears meanwhile is not followed.
    fn of(path: &Path) -> std::io::Result<Beside> {
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = without_links(parent, flags)?;
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}", std::process::id()));
        Ok(Beside { directory, name })
    }

    fn name(&self) -> &OsStr {
        &self.name
    }

    fn create(&self) -> std::io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(0o666);
        Ok(openat(&self.directory, self.name(), flags, mode)?.into())
    }

    fn remove(&self) -> std::io::Result<()> {
        let flag = UnlinkatFlags::NoRemoveDir;
        Ok(unlinkat(&self.directory, self.name(), flag)?)
    }
}

/// Opens a path that has no symbolic links.
fn without_links(path: &Path, flags: OFlag) -> nix::Result<OwnedFd> {
    let how = OpenHow::new().flags(flags);
    let how = how.resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    match openat2(AT_FDCWD, path, how) {
        // Linux has it since 5.6, and a container's filter may refuse it.
        Err(Errno::ENOSYS | Errno::EPERM) => {
            openat(AT_FDCWD, path, flags | OFlag::O_NOFOLLOW, Mode::empty())
        }
        opened => opened,
    }
}

/// Whether a path names an open descriptor of this process, as /proc/self/fd/1, /dev/fd/1 and
/// /dev/stdout do. These are links that the kernel or the system provides.
fn is_descriptor(path: &Path) -> bool {
    let directory = path.parent().and_then(|parent| parent.canonicalize().ok());
    let is_standard = ["/dev/stdout", "/dev/stderr"]
        .map(Path::new)
        .contains(&path);
    is_standard || directory.is_some_and(|directory| directory.starts_with("/proc"))
}

/// A path without symbolic links. Of a file that does not exist, that of its directory.
fn real(named: &Path) -> PathBuf {
    let of_directory = || {
        let parent = named
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new(".")).canonicalize().ok()?;
        Some(parent.join(named.file_name()?))
    };
    let real = named.canonicalize().ok().filter(|real| real.exists());
    // What /proc/self/fd names need not be a path.
    let pipe = || named.exists().then(|| named.to_owned());
    let real = real.or_else(pipe).or_else(of_directory);
    real.unwrap_or_else(|| named.to_owned())
}

fn cannot_write(path: &Path, why: &dyn std::fmt::Display) -> Error {
    Error::failure(format!("cannot write {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::AsRawFd;

    /// A directory for one test.
    fn folder(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("tenrounds-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        dir.canonicalize().unwrap()
    }

    /// What takes the place of a pipe before the text is written is not followed, nor overwritten.
    #[test]
    fn what_takes_the_place_of_a_pipe_is_not_written_to() {
        let dir = folder("replaced");
        let (pipe, kept) = (dir.join("pipe"), dir.join("kept"));
        let refused = |put: &dyn Fn()| {
            nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
            let replaced = Replaced::prepare(&pipe).unwrap();
            fs::remove_file(&pipe).unwrap();
            fs::write(&kept, "kept").unwrap();
            put();
            assert!(replaced.fill("new").is_err());
            assert_eq!(fs::read_to_string(&kept).unwrap(), "kept");
            fs::remove_file(&pipe).unwrap();
        };
        refused(&|| std::os::unix::fs::symlink(&kept, &pipe).unwrap());
        refused(&|| fs::hard_link(&kept, &pipe).unwrap());
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_descriptor_of_a_pipe_is_written_to() {
        let (mut reader, writer) = std::io::pipe().unwrap();
        for folder in ["/dev/fd", "/proc/self/fd"] {
            let named = Path::new(folder).join(writer.as_raw_fd().to_string());
            write(&named, "text").unwrap();
            let mut text = [0; 4];
            reader.read_exact(&mut text).unwrap();
            assert_eq!(&text, b"text");
        }
        write(Path::new("/dev/null"), "text").unwrap();
    }

    /// A directory in which the file cannot be renamed keeps the old file.
    #[test]
    fn the_old_file_stays_whole_if_the_new_one_cannot_be_written() {
        let dir = std::env::temp_dir().join(format!("tenrounds-report-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join("page.html");
        fs::write(&file, "old").unwrap();
        let replaced = Replaced::prepare(&file).unwrap();
        // Something takes the name of the file beside meanwhile.
        let beside = dir.join(replaced.beside.as_ref().unwrap().name());
        fs::create_dir(&beside).unwrap();
        assert!(replaced.fill("new").is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        fs::remove_dir(beside).unwrap();
        Replaced::prepare(&file).unwrap().fill("new").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
