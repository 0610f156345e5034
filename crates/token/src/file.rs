// SPDX-License-Identifier: BSD-2-Clause
//! The file itself: who may have it, how it is read, locked and replaced.

use crate::error::{Error, Result};
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
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(Identity::of(&metadata))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io("read", path)(error)),
    }
}

/// Reads the file whole. None: there is none.
pub fn read(path: &Path) -> Result<Option<(Identity, Contents)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::io("open", path)(error)),
    };
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    check(path, &metadata)?;
    if metadata.len() > MOST {
        let what = format!("it has {} bytes, and {MOST} are allowed", metadata.len());
        return Err(Error::Damaged(path.to_owned(), what));
    }
    let mut bytes = Vec::with_capacity(metadata.len() as usize);
    let read = (&file).take(MOST).read_to_end(&mut bytes);
    read.map_err(Error::io("read", path))?;
    let contents = Contents::decode(&bytes, path)?;
    Ok(Some((Identity::of(&metadata), contents)))
}

/// Only the owner may have a token file: whoever can write to it could bring back an old one, and
/// whoever can read it could try PINs.
fn check(path: &Path, m: &Metadata) -> Result<()> {
    let exposed = |what: String| Err(Error::Exposed(path.to_owned(), what));
    // SAFETY: the function has no arguments and cannot fail.
    let me = unsafe { libc::geteuid() };
    if !m.is_file() {
        return exposed("it is not a regular file".to_owned());
    }
    if m.uid() != me {
        let owner = m.uid();
        return exposed(format!(
            "user {owner} owns it, and this process is of user {me}"
        ));
    }
    match m.mode() & 0o077 {
        0 => Ok(()),
        _ => exposed(format!(
            "its mode is {:o}, so others could use it. Run 'chmod 600' on it, and change the PIN \
             if somebody may have read it",
            m.mode() & 0o777
        )),
    }
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

/// Takes the lock. It is a file of its own, because the token file is replaced.
pub fn lock(path: &Path) -> Result<Lock> {
    let name = beside(path, ".lock");
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
        if begun.elapsed() > PATIENCE {
            return Err(Error::Locked(name, PATIENCE));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Replaces the file, or makes it. Whoever reads it sees the old or the new one, and after a loss of
/// power, too. The caller holds the lock.
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
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let opened = File::open(folder).and_then(|f| f.sync_all());
    opened.map_err(Error::io("write", folder))?;
    step();
    let metadata = file.metadata().map_err(Error::io("read", path))?;
    Ok(Identity::of(&metadata))
}

/// Makes the folder of a token, for its owner alone.
pub fn make_folder(path: &Path) -> Result<()> {
    let Some(folder) = path.parent().filter(|p| !p.as_os_str().is_empty()) else {
        return Ok(());
    };
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
