// SPDX-License-Identifier: BSD-2-Clause
//! The file itself: who may have it, how it is read, locked and replaced.

use crate::error::{Error, Exposure, Result};
use crate::format::{Contents, MOST};
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for another process that writes.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for others that log in. Each of them may wait for half a minute.
const PATIENCE_AT_LOGIN: Duration = Duration::from_secs(120);

/// Tells one version of a file from another. Each is a file of its own, and its times differ, even
/// if the file system gives it an inode that was free again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Identity {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    len: u64,
}

impl Identity {
    fn of(m: &Metadata) -> Identity {
        Identity {
            device: m.dev(),
            inode: m.ino(),
            changed: (m.ctime(), m.ctime_nsec()),
            len: m.len(),
        }
    }
}

/// A path with an ending appended.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// The version of the file that is there now. None: there is none.
pub fn identity(path: &Path) -> Result<Option<Identity>> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(Identity::of(&metadata))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Reads the file whole. None: there is none.
pub fn read(path: &Path) -> Result<Option<(Identity, Contents)>> {
    let not_found = std::io::ErrorKind::NotFound;
    let folder = folder_of(path);
    match std::fs::metadata(folder) {
        Ok(metadata) => check_folder(path, folder, &metadata)?,
        Err(error) if error.kind() == not_found => return Ok(None),
        Err(error) => return Err(Error::io("read", folder)(error)),
    }
    let (file, metadata) = match open(path, libc::O_NOFOLLOW) {
        Ok(opened) => opened,
        Err(error) if error.kind() == not_found => return Ok(None),
        Err(error) if error.raw_os_error() == Some(libc::ELOOP) => {
            let exposure = Exposure {
                why: "it is a symbolic link, which a change would replace".to_owned(),
                cure: format!("readlink {}   (name the file itself)", path.display()),
            };
            return Err(Error::Exposed(path.to_owned(), exposure));
        }
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    check(path, &metadata)?;
    if metadata.len() > MOST {
        let what = format!("it has {} bytes, and {MOST} are allowed", metadata.len());
        return Err(Error::Damaged(path.to_owned(), what));
    }
    let mut bytes = Vec::new();
    let room = bytes.try_reserve_exact(metadata.len() as usize);
    room.map_err(|_| Error::NoMemory)?;
    let read = (&file).take(MOST).read_to_end(&mut bytes);
    read.map_err(Error::io("read", path))?;
    let contents = Contents::decode(&bytes, path)?;
    Ok(Some((Identity::of(&metadata), contents)))
}

/// Opens a file that may be anything: a FIFO does not hold up the caller.
pub fn open(path: &Path, flags: i32) -> std::io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | flags);
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    Ok((file, metadata))
}

fn me() -> libc::uid_t {
    // SAFETY: the function has no arguments and cannot fail.
    unsafe { libc::geteuid() }
}

impl Exposure {
    fn foreign(what: &str, path: &Path, owner: libc::uid_t) -> Exposure {
        let (me, path) = (me(), path.display());
        Exposure {
            why: format!("{what} belongs to user {owner}, and this process runs as user {me}"),
            cure: format!("chown {me} {path}"),
        }
    }

    fn irregular(path: &Path) -> Exposure {
        Exposure {
            why: "it is not a regular file".to_owned(),
            cure: format!("ls -l {}   (name a file)", path.display()),
        }
    }

    /// Through users other than this one and root, who could change a file or folder.
    fn to_changes(what: &str, path: &Path, m: &Metadata) -> Option<Exposure> {
        let (owner, mode) = (m.uid(), m.mode() & 0o7777);
        if owner != me() && owner != 0 {
            return Some(Exposure::foreign(what, path, owner));
        }
        (mode & 0o022 != 0).then(|| Exposure {
            why: format!("{what} has mode {mode:o}, so other users could change it"),
            cure: format!("chmod go-w {}", path.display()),
        })
    }

    /// Of a configuration file.
    pub fn of_configuration(path: &Path, m: &Metadata) -> Option<Exposure> {
        match m.is_file() {
            true => Exposure::to_changes("it", path, m),
            false => Some(Exposure::irregular(path)),
        }
    }
}

/// Whoever can write to the folder of a token can replace the token by an old one. In a folder with
/// the sticky bit, such as /tmp, only the owner of a file can replace it.
fn check_folder(path: &Path, folder: &Path, m: &Metadata) -> Result<()> {
    let what = format!("its folder {}", folder.display());
    match Exposure::to_changes(&what, folder, m) {
        Some(exposure) if m.mode() & libc::S_ISVTX == 0 => {
            Err(Error::Exposed(path.to_owned(), exposure))
        }
        _ => Ok(()),
    }
}

/// Only the owner may have rights to a token file. Users who can write to it could bring back an
/// old one, and users who can read it could try PINs.
fn check(path: &Path, m: &Metadata) -> Result<()> {
    let (owner, mode) = (m.uid(), m.mode() & 0o777);
    let exposure = if !m.is_file() {
        Exposure::irregular(path)
    } else if owner != me() {
        Exposure::foreign("it", path, owner)
    } else if mode & 0o077 != 0 {
        Exposure {
            why: format!("its mode is {mode:o}, so others could use it"),
            cure: format!(
                "chmod 600 {}   (change the PIN if somebody may have read it)",
                path.display()
            ),
        }
    } else {
        return Ok(());
    };
    Err(Error::Exposed(path.to_owned(), exposure))
}

/// The lock of a token: held while this lives.
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // Unlocking ends the lock for copies of the descriptor, too, which a child may have.
        // SAFETY: the descriptor is open.
        unsafe { libc::flock(self.0.as_raw_fd(), libc::LOCK_UN) };
    }
}

/// Takes the lock of whoever changes the token. It is a file of its own, because the token file is
/// replaced.
pub fn lock(path: &Path) -> Result<Lock> {
    take(beside(path, ".lock"), PATIENCE)
}

/// Takes the lock of whoever tries a PIN, which is held for as long as the PIN's wait. None: this
/// user cannot write to the folder, so no wrong PIN can be counted, either.
pub fn lock_for_login(path: &Path) -> Result<Option<Lock>> {
    match take(beside(path, ".login"), PATIENCE_AT_LOGIN) {
        Err(Error::Io(_, _, error)) if is_read_only(&error) => Ok(None),
        other => other.map(Some),
    }
}

fn is_read_only(error: &std::io::Error) -> bool {
    let refusals = [libc::EROFS, libc::EACCES, libc::EPERM];
    error.raw_os_error().is_some_and(|e| refusals.contains(&e))
}

fn take(name: PathBuf, patience: Duration) -> Result<Lock> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    options.mode(0o600).custom_flags(libc::O_NOFOLLOW);
    let file = options.open(&name).map_err(Error::io("lock", &name))?;
    let begun = Instant::now();
    loop {
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(Lock(file));
        }
        let error = std::io::Error::last_os_error();
        let busy = matches!(error.raw_os_error(), Some(libc::EWOULDBLOCK | libc::EINTR));
        if !busy {
            return Err(Error::io("lock", &name)(error));
        }
        if begun.elapsed() > patience {
            return Err(Error::Locked(name, patience));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Replaces the file, or makes it. Whoever reads it sees the old or the new one, and after a loss
/// of power, too. The caller holds the lock.
pub fn replace(_lock: &Lock, path: &Path, contents: &Contents) -> Result<Identity> {
    let bytes = contents.encode()?;
    let new = beside(path, ".new");
    step();
    // One that a killed process has left.
    match std::fs::remove_file(&new) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(Error::io("remove", &new)(error))
        }
        _ => step(),
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(&new).map_err(Error::io("write", &new))?;
    let (half, rest) = bytes.split_at(bytes.len() / 2);
    step();
    file.write_all(half).map_err(Error::io("write", &new))?;
    step();
    file.write_all(rest).map_err(Error::io("write", &new))?;
    step();
    file.sync_all().map_err(Error::io("write", &new))?;
    step();
    std::fs::rename(&new, path).map_err(Error::io("replace", path))?;
    step();
    let folder = folder_of(path);
    let opened = File::open(folder).and_then(|f| f.sync_all());
    opened.map_err(Error::io("write", folder))?;
    step();
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    Ok(Identity::of(&metadata))
}

fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Makes the folder of a token, for its owner alone.
pub fn make_folder(path: &Path) -> Result<()> {
    let folder = folder_of(path);
    let mut builder = std::fs::DirBuilder::new();
    let made = builder.recursive(true).mode(0o700).create(folder);
    made.map_err(Error::io("make the folder", folder))
}

/// Each step of replace() calls this, so that tests can kill the process there.
#[cfg(not(test))]
fn step() {}

#[cfg(test)]
pub use killed::step;

#[cfg(test)]
pub mod killed {
    use std::sync::atomic::{AtomicI32, Ordering};

    /// The number of steps until the process is killed. Negative: never.
    pub static AFTER: AtomicI32 = AtomicI32::new(-1);

    pub fn step() {
        if AFTER.load(Ordering::Relaxed) >= 0 && AFTER.fetch_sub(1, Ordering::Relaxed) == 0 {
            // SAFETY: the process ends here, as the test wants it to.
            unsafe { libc::raise(libc::SIGKILL) };
        }
    }
}
