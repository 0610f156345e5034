// SPDX-License-Identifier: BSD-2-Clause
//! The one writer of files. A file is replaced whole or not at all: the new content is written
//! beside it, synchronised and renamed. Readers find the old file or the new one, also after a
//! crash. Root writes through no symbolic link of another user, who could let it lead to any file.

use crate::{fault, trust};
use nix::errno::Errno;
use nix::fcntl::{openat, openat2, renameat, OFlag, OpenHow, ResolveFlag, AT_FDCWD};
use nix::sys::stat::Mode;
use nix::unistd::{unlinkat, UnlinkatFlags};
use rustix::fs::{fsetxattr, getxattr, listxattr, XattrFlags};
use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{fchown, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// Between any two of these something on the disk changes: tests kill the process here.
pub fn step() {
    fault::at(fault::Place::Change);
}

/// The attributes of a written file.
#[derive(Clone, Copy)]
pub enum Look<'a> {
    /// The mode of the file that it replaces; for a new file the umask decides.
    Usual,
    Mode(u32),
    /// Owner, mode, access lists and labels of another file.
    Like(&'a Path),
}

/// Writes a file at once.
pub fn write(named: &Path, text: &str) -> Result<()> {
    Replaced::prepare(named)?.fill(text, Look::Usual)
}

/// A file that can be written, as far as can be known before it is.
pub struct Replaced {
    /// As it was named, for messages.
    named: PathBuf,
    place: Place,
}

enum Place {
    File(Beside),
    /// A device or a pipe, which is written itself.
    Device(PathBuf),
}

impl Replaced {
    /// Tries what `fill` will do, so that an error shows before the text is made.
    pub fn prepare(named: &Path) -> Result<Replaced> {
        Replaced::tried(named).map_err(|error| cannot_write(named, &error))
    }

    fn tried(named: &Path) -> Result<Replaced> {
        refuse_foreign_link(named)?;
        // What /proc/self/fd names need not have a path of its own.
        let path = match named.canonicalize().is_err() && named.exists() {
            true => named.to_owned(),
            false => real(named, io::Error::to_string)?,
        };
        let place = match fs::metadata(&path) {
            Ok(meta) if meta.is_dir() => {
                return Err(Error::failure("it is a directory; name a file in it"))
            }
            Ok(meta) if !meta.is_file() => Place::Device(path),
            found => {
                // The directory may be writable although the file is not.
                if found.is_ok() {
                    let opened = OpenOptions::new().append(true).open(&path);
                    opened.map_err(Error::from_reason)?;
                }
                let beside = Beside::of(&path, &std::process::id().to_string());
                let tried = beside.and_then(|beside| {
                    beside.create(0o666)?;
                    beside.remove()?;
                    Ok(beside)
                });
                Place::File(tried.map_err(Error::from_reason)?)
            }
        };
        Ok(Replaced {
            named: named.to_owned(),
            place,
        })
    }

    /// Writes the text, and puts it in the place of the file.
    pub fn fill(self, text: &str, look: Look<'_>) -> Result<()> {
        let done = match &self.place {
            Place::Device(path) => write_device(path, text),
            Place::File(beside) => beside.replace(text.as_bytes(), look),
        };
        done.map_err(|error| cannot_write(&self.named, &error))
    }
}

/// Replaces a file. `suffix` keeps apart the names that writers use beside it. Only one process may
/// use a suffix at a time: a file that a killed one has left under that name is removed.
pub fn replace(path: &Path, suffix: &str, content: &[u8], look: Look<'_>) -> io::Result<()> {
    // Another user may have put a link there since the path was resolved.
    refuse_foreign_link(directory(path)).map_err(|error| io::Error::other(error.to_string()))?;
    let real = directory(path).canonicalize()?;
    let beside = Beside::of(&real.join(path.file_name().unwrap_or_default()), suffix)?;
    match beside.remove() {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => beside.replace(content, look),
    }
}

/// The hidden file that gets the new content, in the directory of the file that it replaces.
struct Beside {
    path: PathBuf,
    directory: OwnedFd,
    name: OsString,
}

/// The name of a file beside another. It ends in neither .cnf nor .conf, which libcrypto would read
/// in a directory that a configuration includes.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{suffix}"));
    path.with_file_name(name)
}

impl Beside {
    /// The directory's path has no symbolic links, so one that appears meanwhile is not followed.
    fn of(path: &Path, suffix: &str) -> io::Result<Beside> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        let directory = without_links(directory(path), flags)?;
        let name = beside(path, suffix);
        Ok(Beside {
            name: name.file_name().unwrap_or_default().to_owned(),
            path: path.to_owned(),
            directory,
        })
    }

    fn create(&self, mode: u32) -> io::Result<File> {
        step();
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_CLOEXEC;
        let mode = Mode::from_bits_truncate(mode);
        Ok(openat(&self.directory, self.name.as_os_str(), flags, mode)?.into())
    }

    fn remove(&self) -> io::Result<()> {
        let flag = UnlinkatFlags::NoRemoveDir;
        Ok(unlinkat(&self.directory, self.name.as_os_str(), flag)?)
    }

    fn replace(&self, content: &[u8], look: Look<'_>) -> io::Result<()> {
        let done = self.renamed(content, look);
        if done.is_err() {
            let _ = self.remove();
        }
        done
    }

    fn renamed(&self, content: &[u8], look: Look<'_>) -> io::Result<()> {
        let mut file = self.create(self.first_mode(look))?;
        for half in [&content[..content.len() / 2], &content[content.len() / 2..]] {
            step();
            file.write_all(half)?;
        }
        self.dress(&file, look)?;
        file.sync_all()?;
        step();
        let (directory, name) = (&self.directory, self.path.file_name().unwrap_or_default());
        renameat(directory, self.name.as_os_str(), directory, name)?;
        step();
        sync_directory(directory)
    }

    /// The mode of the hidden file until it has its content. A file that replaces another one must
    /// not be readable by more users meanwhile.
    fn first_mode(&self, look: Look<'_>) -> u32 {
        match look {
            Look::Usual if !self.path.exists() => 0o666,
            _ => 0o600,
        }
    }

    fn dress(&self, file: &File, look: Look<'_>) -> io::Result<()> {
        let mode = match look {
            Look::Mode(mode) => mode,
            Look::Usual => match fs::metadata(&self.path) {
                Ok(old) => old.mode(),
                Err(_) => return Ok(()),
            },
            Look::Like(model) => {
                let (meta, now) = (fs::metadata(model)?, file.metadata()?);
                if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
                    fchown(file, Some(meta.uid()), Some(meta.gid()))?;
                }
                copy_attributes(model, file)?;
                meta.mode()
            }
        };
        file.set_permissions(Permissions::from_mode(mode & 0o7777))
    }
}

/// Copies access lists and security labels.
fn copy_attributes(from: &Path, to: &File) -> io::Result<()> {
    let mut names = vec![0u8; 4096];
    // Some file systems have no such attributes.
    let len = listxattr(from, &mut names[..]).unwrap_or(0);
    for name in names[..len].split(|&byte| byte == 0) {
        let name = CString::new(name)?;
        let mut value = vec![0u8; 65536];
        let Ok(len) = getxattr(from, &name, &mut value[..]) else {
            continue;
        };
        match fsetxattr(to, &name, &value[..len], XattrFlags::empty()) {
            // The system itself gives a label that this user may not set.
            Ok(()) | Err(rustix::io::Errno::PERM) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Writes to a device or a pipe. Another user could have put a link or a file in its place since
/// `prepare`, so neither is written to.
fn write_device(path: &Path, text: &str) -> io::Result<()> {
    let flags = OFlag::O_WRONLY | OFlag::O_CLOEXEC;
    let opened = match is_descriptor(path) {
        true => openat(AT_FDCWD, path, flags, Mode::empty())?,
        false => without_links(path, flags)?,
    };
    let mut file = File::from(opened);
    match file.metadata()?.is_file() {
        true => Err(io::Error::other(
            "a file took the place of the device or pipe meanwhile",
        )),
        false => file.write_all(text.as_bytes()),
    }
}

/// Makes renames and removals in a directory last.
fn sync_directory(directory: &OwnedFd) -> io::Result<()> {
    let flags = OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
    let opened = openat(directory, ".", flags, Mode::empty());
    match opened.and_then(nix::unistd::fsync) {
        // Some file systems cannot do it, and some directories can only be written to.
        Ok(()) | Err(Errno::EINVAL | Errno::EACCES) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Removes a file. It is no error if there is none.
pub fn remove(path: &Path) -> io::Result<()> {
    step();
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory(&File::open(directory(path))?.into()),
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

fn directory(path: &Path) -> &Path {
    let parent = path.parent();
    let parent = parent.filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// Refuses a path on which a symbolic link of another user lies, if this is root.
pub fn refuse_foreign_link(path: &Path) -> Result<()> {
    match trust::foreign_link(path) {
        None => Ok(()),
        Some(link) => Err(Error::failure(format!(
            "{link}, which could lead anywhere, so root writes nothing through it; remove it, or \
             replace it by what it leads to"
        ))),
    }
}

/// The file that a path leads to through all symbolic links. It need not exist. `explain` adds
/// advice to a system error.
pub fn real(path: &Path, explain: fn(&io::Error) -> String) -> Result<PathBuf> {
    refuse_foreign_link(path)?;
    match (path.canonicalize(), fs::read_link(path)) {
        (Ok(real), _) => Ok(real),
        (Err(error), Ok(target)) if error.kind() == ErrorKind::NotFound => {
            Err(Error::failure(format!(
                "is a symbolic link to {}, which does not exist; fix or remove the link",
                target.display()
            )))
        }
        (Err(error), _) if error.kind() == ErrorKind::NotFound => {
            let directory = directory(path);
            let found = directory.canonicalize().map_err(|error| {
                let why = explain(&error);
                Error::failure(format!("{}: {why}", directory.display()))
            })?;
            Ok(found.join(path.file_name().unwrap_or_default()))
        }
        (Err(error), _) if error.raw_os_error() == Some(libc::ELOOP) => {
            Err(Error::failure(format!("{error}; fix the symbolic links")))
        }
        (Err(error), _) => Err(Error::failure(explain(&error))),
    }
}

/// A suffix for `replace` that no other process uses, even in another PID namespace.
pub fn unique_suffix() -> String {
    // Each of these states has a random key.
    let random = RandomState::new().build_hasher().finish();
    format!("{}-{random:016x}", std::process::id())
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

    #[test]
    fn a_replaced_file_is_never_readable_by_more_users() {
        let dir = folder("mode");
        let file = dir.join("report");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        let first = |path: &Path| Beside::of(path, "new").unwrap().first_mode(Look::Usual);
        assert_eq!(first(&file), 0o600);
        assert_eq!(first(&dir.join("other")), 0o666);
        write(&file, "new").unwrap();
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o600);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn root_writes_through_no_link_of_another_user() {
        if !trust::is_root() {
            return;
        }
        let dir = folder("foreign");
        let (link, own) = (dir.join("link"), dir.join("own"));
        fs::create_dir(&own).unwrap();
        std::os::unix::fs::symlink(&own, &link).unwrap();
        std::os::unix::fs::lchown(&link, Some(12345), None).unwrap();
        let file = link.join("file");
        let said = replace(&file, "new", b"text", Look::Mode(0o600)).unwrap_err();
        assert!(said.to_string().contains("link of user 12345"), "{said}");
        assert!(Replaced::prepare(&file).is_err());
        assert_eq!(fs::read_dir(&own).unwrap().count(), 0);
        fs::remove_dir_all(&dir).unwrap();
    }

    /// A missing directory is named, not only the file.
    #[test]
    fn an_error_names_the_missing_directory() {
        let parent = folder("missing");
        let dir = parent.join("none");
        let explained = |error: &io::Error| format!("{error}; advice");
        let said = real(&dir.join("file"), explained).unwrap_err().to_string();
        assert!(said.starts_with(&dir.display().to_string()), "{said}");
        assert!(said.ends_with("; advice"), "{said}");
        fs::remove_dir(&parent).unwrap();
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
            assert!(replaced.fill("new", Look::Usual).is_err());
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
        let beside = beside(&file, &std::process::id().to_string());
        fs::create_dir(&beside).unwrap();
        assert!(replaced.fill("new", Look::Usual).is_err());
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        fs::remove_dir(beside).unwrap();
        Replaced::prepare(&file)
            .unwrap()
            .fill("new", Look::Usual)
            .unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 1);
        fs::remove_dir_all(&dir).unwrap();
    }
}
