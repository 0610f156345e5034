// SPDX-License-Identifier: BSD-2-Clause
//! Files that are replaced whole or not at all: written beside, synchronised, renamed. Whoever
//! looks meanwhile, or after a crash, sees the old file or the new one.

use crate::{fault, trust};
use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{fchown, DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use terminal::error::{Error, Result};

/// Between any two of these something on the disk changes: tests kill the process here.
pub fn step() {
    fault::at(fault::Place::Change);
}

/// The largest configuration that is looked at.
const LARGEST: u64 = 4 << 20;

/// A regular file's content; None if there is none.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let wrong = |why: String| Error::failure(format!("{}: {why}", path.display()));
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(wrong(explain(&error))),
    };
    if !meta.is_file() {
        return Err(wrong("is not a regular file".to_owned()));
    }
    if meta.len() > LARGEST {
        return Err(wrong(format!(
            "has {} bytes, which is no configuration",
            meta.len()
        )));
    }
    fs::read(path).map(Some).map_err(|e| wrong(explain(&e)))
}

/// The file that a path leads to through all symbolic links, whether or not it exists at their end.
pub fn real(path: &Path) -> Result<PathBuf> {
    if let Some(link) = trust::foreign_link(path) {
        return Err(Error::failure(format!(
            "{}: {link}, and root writes through no link of another user; replace the link by what it leads to",
            path.display()
        )));
    }
    match path.canonicalize() {
        Ok(real) => Ok(real),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            if let Ok(target) = fs::read_link(path) {
                return Err(Error::failure(format!(
                    "{}: is a symbolic link to {}, which does not exist; fix or remove the link",
                    path.display(),
                    target.display()
                )));
            }
            let dir = path.parent().unwrap_or(Path::new("/"));
            let dir = dir.canonicalize().map_err(|error| {
                Error::failure(format!("{}: {}", dir.display(), explain(&error)))
            })?;
            Ok(dir.join(path.file_name().unwrap_or_default()))
        }
        Err(error) => Err(Error::failure(format!(
            "{}: {}",
            path.display(),
            explain(&error)
        ))),
    }
}

/// Whether this run changes one user's files, not the system's.
static FOR_USER: AtomicBool = AtomicBool::new(false);

pub fn for_user(is_so: bool) {
    FOR_USER.store(is_so, Ordering::Relaxed);
}

/// Explains a system error at a path, and says what to do.
pub fn explain_at(path: &Path, error: &std::io::Error) -> String {
    let denied = matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM));
    let locked = [Some(path), path.parent()].into_iter().flatten();
    match locked.filter(|_| denied).find_map(locked_by) {
        Some(why) => format!("{error}; {why}"),
        None => explain(error),
    }
}

/// Names the attribute (chattr(1)) that keeps even root from changing a file or directory, and the
/// command that clears it.
fn locked_by(path: &Path) -> Option<String> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: all zeros is a valid statx.
    let mut found: libc::statx = unsafe { std::mem::zeroed() };
    let (flags, nothing) = (libc::AT_SYMLINK_NOFOLLOW, 0);
    // SAFETY: the name is a C string, and the pointer is valid.
    let status = unsafe { libc::statx(libc::AT_FDCWD, name.as_ptr(), flags, nothing, &mut found) };
    let has = |bit: libc::c_int| status == 0 && found.stx_attributes & bit as u64 != 0;
    let (word, letter) = match () {
        () if has(libc::STATX_ATTR_IMMUTABLE) => ("immutable", 'i'),
        () if has(libc::STATX_ATTR_APPEND) => ("append-only", 'a'),
        () => return None,
    };
    let path = path.display();
    Some(format!(
        "{path} is {word}, even for root (lsattr -d {path} shows it); to allow the change: chattr -{letter} {path}"
    ))
}

/// What a system error means for the user.
pub fn explain(error: &std::io::Error) -> String {
    let for_user = FOR_USER.load(Ordering::Relaxed);
    // SAFETY: it has no arguments and cannot fail.
    let root = unsafe { libc::geteuid() } == 0;
    let advice = match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) if root => {
            "; this is root already, so check the mount options and the log of SELinux or AppArmor"
        }
        Some(libc::EACCES | libc::EPERM) if for_user => {
            "; make it writable for this user, or set XDG_CONFIG_HOME and XDG_STATE_HOME to writable directories"
        }
        Some(libc::EACCES | libc::EPERM) => "; run it as root (sudo), or with --user",
        Some(libc::EROFS) if for_user => {
            "; set XDG_CONFIG_HOME and XDG_STATE_HOME to writable directories, or make that file system writable"
        }
        Some(libc::EROFS) => "; make that file system writable, or use --user",
        Some(libc::ENOSPC | libc::EDQUOT) => "; make room there",
        Some(libc::EBUSY) => {
            "; a file that is a mount point cannot be replaced: change it where it is mounted from"
        }
        Some(libc::ELOOP) => "; fix the symbolic links",
        _ => "",
    };
    format!("{error}{advice}")
}

/// The name under which a file is written before it takes its place. It ends in neither .cnf nor
/// .conf, which libcrypto would read in a directory that a configuration includes.
fn beside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tenrounds-new");
    path.with_file_name(name)
}

/// The name under which the old file stays until the new one has proved itself.
fn aside(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".tenrounds-old");
    path.with_file_name(name)
}

/// Takes away what a run that was killed has left beside a file.
pub fn sweep(path: &Path) {
    let _ = fs::remove_file(beside(path));
    let _ = fs::remove_file(aside(path));
}

/// A replacement that can be taken back without needing room on the disk.
pub struct Replacement {
    path: PathBuf,
    existed: bool,
    /// The old file's second name, or its content where the file system has no hard links.
    old: std::result::Result<PathBuf, Vec<u8>>,
}

impl Replacement {
    /// Replaces a file whose content is `before`.
    pub fn make(
        path: &Path,
        before: Option<&[u8]>,
        content: &[u8],
        like: Like<'_>,
    ) -> Result<Self> {
        if read(path)?.as_deref() != before {
            return Err(Error::failure(format!(
                "{}: somebody changed it just now; try again",
                path.display()
            )));
        }
        let second = aside(path);
        step();
        let linked = before.is_some() && fs::hard_link(path, &second).is_ok();
        let replacement = Replacement {
            path: path.to_owned(),
            existed: before.is_some(),
            old: match linked {
                true => Ok(second),
                false => Err(before.unwrap_or_default().to_vec()),
            },
        };
        match replace(path, content, like, None) {
            Ok(()) => Ok(replacement),
            Err(error) => {
                // Renaming one name of a file to another of its names does nothing, and is no
                // error.
                let renamed = !matches!(read(path), Ok(now) if now.as_deref() == before);
                if linked || !replacement.existed || renamed {
                    replacement.restore()?;
                }
                replacement.keep();
                Err(error)
            }
        }
    }

    /// The new file stays.
    pub fn keep(self) {
        step();
        if let Ok(old) = &self.old {
            let _ = fs::remove_file(old);
        }
    }

    /// The old file comes back.
    pub fn take_back(self) -> Result<()> {
        self.restore()
    }

    fn restore(&self) -> Result<()> {
        match (&self.old, self.existed) {
            (_, false) if fs::symlink_metadata(&self.path).is_err() => Ok(()),
            (_, false) => remove(&self.path),
            (Err(content), true) => replace(&self.path, content, Like::Replaced, None),
            (Ok(old), true) => fs::rename(old, &self.path)
                .and_then(|()| sync_directory(&self.path))
                .map_err(|error| {
                    Error::failure(format!(
                        "{}: {}; the file as it was is {}",
                        self.path.display(),
                        explain_at(&self.path, &error),
                        old.display()
                    ))
                }),
        }
    }
}

/// How a written file is to look.
pub enum Like<'a> {
    /// As the file that it replaces: owner, mode, access lists and labels.
    Replaced,
    /// As another file.
    File(&'a Path),
    /// Of this user, with this mode.
    New(u32),
}

/// Replaces a file, or creates it. The caller holds the lock, so nobody else uses the name beside
/// it.
pub fn replace(path: &Path, content: &[u8], like: Like<'_>, mtime: Option<Time>) -> Result<()> {
    let temporary = beside(path);
    let done = write(&temporary, content)
        .and_then(|file| {
            dress(&file, path, like)?;
            if let Some(time) = mtime {
                time.set(&file)?;
            }
            file.sync_all()
        })
        .and_then(|()| {
            step();
            fs::rename(&temporary, path)
        })
        .and_then(|()| {
            step();
            sync_directory(path)
        });
    done.map_err(|error| {
        let _ = fs::remove_file(&temporary);
        let why = explain_at(path, &error);
        Error::failure(format!("writing {}: {why}", path.display()))
    })
}

fn write(temporary: &Path, content: &[u8]) -> std::io::Result<File> {
    step();
    match fs::remove_file(temporary) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    step();
    let (first, rest) = content.split_at(content.len() / 2);
    file.write_all(first)?;
    step();
    file.write_all(rest)?;
    step();
    Ok(file)
}

fn dress(file: &File, path: &Path, like: Like<'_>) -> std::io::Result<()> {
    let model = match like {
        Like::New(mode) => return file.set_permissions(fs::Permissions::from_mode(mode)),
        Like::Replaced => path,
        Like::File(model) => model,
    };
    let meta = fs::metadata(model)?;
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (meta.uid(), meta.gid()) {
        fchown(file, Some(meta.uid()), Some(meta.gid()))?;
    }
    copy_attributes(model, file)?;
    file.set_permissions(fs::Permissions::from_mode(meta.mode() & 0o7777))
}

/// Access lists and security labels.
fn copy_attributes(from: &Path, to: &File) -> std::io::Result<()> {
    use std::os::fd::AsRawFd;
    let path = CString::new(from.as_os_str().as_bytes())?;
    let mut names = vec![0u8; 4096];
    // SAFETY: the path is a C string, and the buffer has this length.
    let len = unsafe { libc::listxattr(path.as_ptr(), names.as_mut_ptr().cast(), names.len()) };
    if len < 0 {
        // A file system without them.
        return Ok(());
    }
    names.truncate(len as usize);
    for name in names.split(|&byte| byte == 0).filter(|n| !n.is_empty()) {
        let name = CString::new(name)?;
        let mut value = vec![0u8; 65536];
        // SAFETY: path and name are C strings, and the buffer has this length.
        let len = unsafe {
            libc::getxattr(
                path.as_ptr(),
                name.as_ptr(),
                value.as_mut_ptr().cast(),
                value.len(),
            )
        };
        if len < 0 {
            continue;
        }
        // SAFETY: the descriptor is open, the name is a C string, and the buffer has
        // this length.
        let set = unsafe {
            libc::fsetxattr(
                to.as_raw_fd(),
                name.as_ptr(),
                value.as_ptr().cast(),
                len as usize,
                0,
            )
        };
        // A label that this user may not set is the system's own to give.
        if set != 0 && std::io::Error::last_os_error().raw_os_error() != Some(libc::EPERM) {
            return Err(std::io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Removes a file; that it is not there is as good.
pub fn remove(path: &Path) -> Result<()> {
    step();
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Ok(()) => sync_directory(path),
        Err(error) => Err(error),
    }
    .map_err(|error| {
        let why = explain_at(path, &error);
        Error::failure(format!("removing {}: {why}", path.display()))
    })
}

fn sync_directory(path: &Path) -> std::io::Result<()> {
    let dir = path.parent().unwrap_or(Path::new("/"));
    match File::open(dir)?.sync_all() {
        // Some file systems have no such thing.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(()),
        done => done,
    }
}

/// When a file was last changed.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub struct Time {
    seconds: i64,
    nanoseconds: i64,
}

impl Time {
    pub fn of(path: &Path) -> Option<Time> {
        let meta = fs::metadata(path).ok()?;
        Some(Time {
            seconds: meta.mtime(),
            nanoseconds: meta.mtime_nsec(),
        })
    }

    fn set(self, file: &File) -> std::io::Result<()> {
        use std::os::fd::AsRawFd;
        // SAFETY: all zeros is a valid timespec.
        let mut times: [libc::timespec; 2] = unsafe { std::mem::zeroed() };
        times[0].tv_nsec = libc::UTIME_OMIT;
        times[1].tv_sec = self.seconds as libc::time_t;
        times[1].tv_nsec = self.nanoseconds as _;
        // SAFETY: the descriptor is open, and there are two times.
        match unsafe { libc::futimens(file.as_raw_fd(), times.as_ptr()) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

/// A directory that nobody else writes to.
pub fn make_directory(dir: &Path, mode: u32) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    step();
    builder
        .recursive(true)
        .mode(mode)
        .create(dir)
        .map_err(|error| {
            let why = explain_at(dir, &error);
            Error::failure(format!("{}: {why}", dir.display()))
        })
}

/// A name with a suffix, for the directory that holds it.
pub fn file_name(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}
