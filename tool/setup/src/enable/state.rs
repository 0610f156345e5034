// SPDX-License-Identifier: BSD-2-Clause
//! What was changed, and how to know it again: a directory with a lock and a list of changed files.
//! A changed file has its original in it, before and after our lines, so that no copy is kept.

use super::files::{self, at, explain};
use crate::openssl::programs::below;
use base::replaced::Look;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tempfile::TempDir;
use terminal::error::{Error, Result};
use terminal::output;

/// Where the state of the system is kept.
pub fn system_dir(root: &Path) -> PathBuf {
    below(root, Path::new("/var/lib/tenrounds"))
}

const FILE: &str = "enabled.json";
const LOCK: &str = "lock";
const TRIAL: &str = "trial";
const VERSION: u32 = 3;

/// FNV-1a of 64 bits, in hexadecimal digits. It tells a changed file from the old one. Whoever may
/// write the state can change the file, too, so it need not resist a forger.
pub fn checksum(content: &[u8]) -> String {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(PRIME);
    format!("{:016x}", content.iter().fold(BASIS, step))
}

/// What one target got, and how to undo it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The scope of its site: "system", "user" or "java".
    pub scope: String,
    /// The file that identifies it, with all symbolic links followed: somebody else's file that got
    /// our lines, or our own.
    pub file: PathBuf,
    /// The checksum of the file before; None if there was no such file.
    pub before: Option<String>,
    /// When it was last changed before.
    pub time: Option<SystemTime>,
    /// The JDK of the scope "java", which the file need not lie in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub java_home: Option<PathBuf>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    version: u32,
    pub files: Vec<Entry>,
    #[serde(skip)]
    dir: PathBuf,
    #[serde(skip)]
    lock: Option<Flock<File>>,
    /// Of a dry run: the directory to try things in.
    #[serde(skip)]
    elsewhere: Option<TempDir>,
}

impl State {
    /// Nothing was changed.
    pub fn none() -> State {
        State {
            version: VERSION,
            files: Vec::new(),
            dir: PathBuf::new(),
            lock: None,
            elsewhere: None,
        }
    }

    /// Reads what there is, without the right to change it.
    pub fn look(dir: &Path) -> Result<State> {
        let file = dir.join(FILE);
        let mut state = match files::read(&file)? {
            None => State::none(),
            Some(bytes) => State::parse(&file, &bytes)?,
        };
        state.dir = dir.to_owned();
        Ok(state)
    }

    fn parse(file: &Path, bytes: &[u8]) -> Result<State> {
        let state: State = serde_json::from_slice(bytes).map_err(|error| {
            at(file, format!("{error}; it should say how to undo 'tenrounds enable': restore it, or remove it and remove the lines from openssl.cnf by hand"))
        })?;
        match state.version {
            VERSION => Ok(state),
            version => Err(at(file, format!("has version {version}, and this tool knows {VERSION}; use the tool that wrote it"))),
        }
    }

    /// Opens the state, for a dry run or to change it.
    pub fn open(dir: &Path, dry_run: bool) -> Result<State> {
        match dry_run {
            true => State::dry_run(dir),
            false => State::lock(dir),
        }
    }

    /// Waits until nobody else changes anything, and reads.
    pub fn lock(dir: &Path) -> Result<State> {
        files::make_directory(dir, 0o755)?;
        let lock = wait_for_lock(dir)?;
        let mut state = State::look(dir)?;
        state.lock = Some(lock);
        let _ = fs::remove_dir_all(dir.join(TRIAL));
        files::sweep(&dir.join(FILE));
        Ok(state)
    }

    /// Reads what there is for a dry run, which tries things in a temporary directory.
    fn dry_run(dir: &Path) -> Result<State> {
        let made = files::private_directory().map_err(|error| {
            Error::failure(format!("{error}; set TMPDIR to a writable directory"))
        })?;
        let mut state = State::look(dir)?;
        state.elsewhere = Some(made);
        Ok(state)
    }

    pub fn is_dry_run(&self) -> bool {
        self.elsewhere.is_some()
    }

    pub fn entry(&self, file: &Path) -> Option<&Entry> {
        self.files.iter().find(|entry| entry.file == file)
    }

    /// Adds or replaces what is known of a file.
    pub fn put(&mut self, entry: Entry) -> Result<()> {
        let before = self.files.clone();
        self.files.retain(|other| other.file != entry.file);
        self.files.push(entry);
        let saved = self.save();
        if saved.is_err() {
            // What was not saved is not left to undo.
            self.files = before;
        }
        saved
    }

    pub fn forget(&mut self, file: &Path) -> Result<()> {
        if self.entry(file).is_none() {
            return Ok(());
        }
        self.files.retain(|entry| entry.file != file);
        self.save()
    }

    /// Whether an interrupted run has left anything.
    pub fn is_left(dir: &Path) -> bool {
        dir.join(LOCK).exists()
    }

    fn save(&self) -> Result<()> {
        let file = self.dir.join(FILE);
        if self.files.is_empty() {
            return files::remove(&file);
        }
        // A path that is not UTF-8 is an error.
        let json = serde_json::to_vec_pretty(self);
        let mut json = json.map_err(|error| at(&file, error))?;
        json.push(b'\n');
        files::replace(&file, &json, Look::Mode(0o644))
    }

    /// A directory to try things in, gone when the state is.
    pub fn trial(&self) -> Result<PathBuf> {
        if let Some(elsewhere) = &self.elsewhere {
            return Ok(elsewhere.path().to_owned());
        }
        let dir = self.dir.join(TRIAL);
        files::make_directory(&dir, 0o700)?;
        Ok(dir)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.lock.is_none() {
            return;
        }
        let _ = fs::remove_dir_all(self.dir.join(TRIAL));
        if self.files.is_empty() {
            // Whoever waits for this lock sees that its file is gone, and takes a new one.
            let _ = fs::remove_file(self.dir.join(LOCK));
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// The lock of a directory. Whoever held it before may have removed the directory meanwhile.
fn wait_for_lock(dir: &Path) -> Result<Flock<File>> {
    let path = dir.join(LOCK);
    let failed = |error: std::io::Error| at(&path, explain(&error));
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = match options.custom_flags(libc::O_NOFOLLOW).open(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                files::make_directory(dir, 0o755)?;
                continue;
            }
            opened => opened.map_err(failed)?,
        };
        let mine = file.metadata().map_err(failed)?;
        let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).or_else(|(file, _)| {
            let path = path.display();
            output::complain(format!(
                "waiting for another tenrounds process that holds {path}"
            ));
            Flock::lock(file, FlockArg::LockExclusive)
        });
        let lock = lock.map_err(|(_, error)| failed(error.into()))?;
        let same = |there: fs::Metadata| (mine.dev(), mine.ino()) == (there.dev(), there.ino());
        if fs::metadata(&path).is_ok_and(same) {
            return Ok(lock);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::checksum;

    /// Vectors of FNV's reference code (draft-eastlake-fnv, appendix C).
    #[test]
    fn checksums() {
        for (text, sum) in [
            ("", "cbf29ce484222325"),
            ("a", "af63dc4c8601ec8c"),
            ("foobar", "85944171f73967e8"),
        ] {
            assert_eq!(checksum(text.as_bytes()), sum, "{text}");
        }
    }
}
