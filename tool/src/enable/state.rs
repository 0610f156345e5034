// SPDX-License-Identifier: BSD-2-Clause
//! What was changed, and how to undo it: a directory with a lock, the list of changed files, and a
//! copy of each as it was.

use super::files::{self, Like, Time};
use crate::openssl::programs::below;
use crate::paths::exact;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal::error::{Error, Result};
use terminal::output;

/// Where the state of the system is kept.
pub fn system_dir(root: &Path) -> PathBuf {
    below(root, Path::new("/var/lib/tenrounds"))
}

const FILE: &str = "enabled.json";
const LOCK: &str = "lock";
const TRIAL: &str = "trial";
const VERSION: u32 = 1;
/// How long another run is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// SHA-256 in hexadecimal digits.
pub fn checksum(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// One changed file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The file, with all symbolic links followed.
    #[serde(with = "exact")]
    pub file: PathBuf,
    /// Its copy; None if there was no such file.
    #[serde(default, with = "exact")]
    pub backup: Option<PathBuf>,
    /// Checksums of the file before and after.
    pub before: Option<String>,
    pub after: String,
    /// When it was last changed before.
    pub time: Option<Time>,
    /// The line that was added.
    pub line: String,
    /// The file of our own that the line includes, and its checksum.
    #[serde(default, with = "exact")]
    pub own: Option<PathBuf>,
    pub own_sum: Option<String>,
    /// Tried, replaced and verified; false while that is under way.
    pub done: bool,
    /// Of `--java-home`: the JDK, which the file need not lie in.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "exact")]
    pub java_home: Option<PathBuf>,
    /// Of `--p11-kit`: the folders that were made for the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "exact")]
    pub folders: Vec<PathBuf>,
}

impl Entry {
    /// Of a file that did not exist, and is about to have this text: removal undoes it.
    pub fn created(file: &Path, text: &[u8]) -> Entry {
        Entry {
            file: file.to_owned(),
            backup: None,
            before: None,
            after: checksum(text),
            time: None,
            line: String::new(),
            own: None,
            own_sum: None,
            done: false,
            java_home: None,
            folders: Vec::new(),
        }
    }

    /// What a run that was interrupted has left, given the file's present content. None if the run
    /// that wrote this entry came to its end, and the file is no longer as before it.
    pub fn interrupted(&self, now: Option<&[u8]>) -> Option<&'static str> {
        match (self.done, now.map(checksum) == self.before) {
            (false, _) => Some("'tenrounds enable' was interrupted"),
            (true, true) => {
                Some("'tenrounds disable' was interrupted, or somebody removed our lines")
            }
            (true, false) => None,
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub struct State {
    version: u32,
    pub files: Vec<Entry>,
    #[serde(skip)]
    dir: PathBuf,
    #[serde(skip)]
    lock: Option<File>,
    /// Of a dry run: the directory to try things in.
    #[serde(skip)]
    elsewhere: Option<PathBuf>,
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
            Some(bytes) => serde_json::from_slice::<State>(&bytes).map_err(|error| {
                Error::failure(format!(
                    "{}: {error}; it should say how to undo 'tenrounds enable': restore it, or remove it and remove the lines from openssl.cnf by hand",
                    file.display()
                ))
            })?,
        };
        if state.version != VERSION {
            return Err(Error::failure(format!(
                "{}: has version {}, and this tool knows {VERSION}; use the tool that wrote it",
                file.display(),
                state.version
            )));
        }
        state.dir = dir.to_owned();
        Ok(state)
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
    pub fn dry_run(dir: &Path) -> Result<State> {
        let mut state = State::look(dir)?;
        let name = format!("tenrounds-dry-run-{:016x}", fastrand::u64(..));
        let elsewhere = std::env::temp_dir().join(name);
        // This fails if the directory exists, so nobody else has put anything there.
        let made = fs::DirBuilder::new().mode(0o700).create(&elsewhere);
        made.map_err(|error| {
            Error::failure(format!(
                "{}: {error}; set TMPDIR to a writable directory",
                elsewhere.display()
            ))
        })?;
        state.elsewhere = Some(elsewhere);
        Ok(state)
    }

    pub fn is_dry_run(&self) -> bool {
        self.elsewhere.is_some()
    }

    pub fn entry(&self, file: &Path) -> Option<&Entry> {
        self.files.iter().find(|entry| entry.file == file)
    }

    /// Keeps a copy of a file, named after its content.
    pub fn keep(&self, file: &Path, content: &[u8]) -> Result<PathBuf> {
        let name = files::file_name(file).to_string_lossy();
        let place = checksum(file.as_os_str().as_bytes());
        let path = self.dir.join(format!(
            "{name}.{}.{}",
            &place[..8],
            &checksum(content)[..16]
        ));
        let is_there = fs::read(&path).is_ok_and(|there| there == content);
        if !is_there {
            files::replace(&path, content, Like::New(0o600), None)?;
        }
        Ok(path)
    }

    /// Adds or replaces what is known of a file.
    pub fn put(&mut self, entry: Entry) -> Result<()> {
        let before = self.files.clone();
        self.files.retain(|other| other.file != entry.file);
        self.files.push(entry);
        let saved = self.save();
        if saved.is_err() {
            // Drops the entry that was not saved, so that tidy() removes its copy.
            self.files = before;
        }
        saved
    }

    /// Forgets a file and its copy.
    pub fn forget(&mut self, file: &Path) -> Result<()> {
        let gone: Vec<PathBuf> = self
            .files
            .iter()
            .filter(|entry| entry.file == file)
            .filter_map(|entry| entry.backup.clone())
            .collect();
        // The copies first: what has no copy any more is known to be as it was.
        gone.iter().try_for_each(|path| files::remove(path))?;
        let count = self.files.len();
        self.files.retain(|entry| entry.file != file);
        match self.files.len() == count {
            true => Ok(()),
            false => self.save(),
        }
    }

    /// Whether an interrupted run has left anything.
    pub fn is_left(dir: &Path) -> bool {
        dir.join(LOCK).exists()
    }

    /// Removes copies that nothing refers to, from a run that was killed.
    fn tidy(&self) {
        let kept = |path: &Path| {
            let backup = |entry: &Entry| entry.backup.as_deref() == Some(path);
            path.ends_with(LOCK)
                || (path.ends_with(FILE) && !self.files.is_empty())
                || self.files.iter().any(backup)
        };
        let files = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        for path in files.map(|entry| entry.path()).filter(|path| !kept(path)) {
            let _ = fs::remove_file(path);
        }
    }

    fn save(&self) -> Result<()> {
        let file = self.dir.join(FILE);
        if self.files.is_empty() {
            return files::remove(&file);
        }
        let mut json = serde_json::to_vec_pretty(self).expect("plain data serialises");
        json.push(b'\n');
        files::replace(&file, &json, Like::New(0o644), None)
    }

    /// A directory to try things in, gone when the state is.
    pub fn trial(&self) -> Result<PathBuf> {
        if let Some(elsewhere) = &self.elsewhere {
            return Ok(elsewhere.clone());
        }
        let dir = self.dir.join(TRIAL);
        files::make_directory(&dir, 0o700)?;
        Ok(dir)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if let Some(elsewhere) = &self.elsewhere {
            let _ = fs::remove_dir_all(elsewhere);
        }
        if self.lock.is_none() {
            return;
        }
        let _ = fs::remove_dir_all(self.dir.join(TRIAL));
        self.tidy();
        if self.files.is_empty() {
            // Whoever waits for this lock sees that its file is gone, and takes a new one.
            let _ = fs::remove_file(self.dir.join(LOCK));
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

fn wait_for_lock(dir: &Path) -> Result<File> {
    let path = dir.join(LOCK);
    let begin = Instant::now();
    let mut told = false;
    let failed = |error: std::io::Error| {
        Error::failure(format!(
            "{}: {}",
            path.display(),
            files::explain_at(&path, &error)
        ))
    };
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = match options.custom_flags(libc::O_NOFOLLOW).open(&path) {
            // The last user removes the directory, too.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                files::make_directory(dir, 0o755)?;
                continue;
            }
            opened => opened.map_err(failed)?,
        };
        // SAFETY: the descriptor is open.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            let same = |there: fs::Metadata| {
                file.metadata()
                    .is_ok_and(|mine| (mine.dev(), mine.ino()) == (there.dev(), there.ino()))
            };
            if fs::metadata(&path).is_ok_and(same) {
                return Ok(file);
            }
            continue;
        }
        let error = std::io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EWOULDBLOCK) {
            return Err(failed(error));
        }
        if begin.elapsed() > PATIENCE {
            return Err(Error::failure(format!(
                "{}: another tenrounds has held this lock for {} seconds; see what it does, and try again",
                path.display(),
                PATIENCE.as_secs()
            )));
        }
        if !told && begin.elapsed() > Duration::from_secs(1) {
            output::complain(format!(
                "waiting for another tenrounds process that holds {}",
                path.display()
            ));
            told = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// What a kept copy holds, if it is still what was kept.
pub fn kept(entry: &Entry) -> Result<Option<Vec<u8>>> {
    let Some(path) = &entry.backup else {
        return Ok(None);
    };
    let content = files::read(path)?.ok_or_else(|| {
        Error::failure(format!(
            "{}: the copy of {} is gone",
            path.display(),
            entry.file.display()
        ))
    })?;
    if Some(checksum(&content)) != entry.before {
        return Err(Error::failure(format!(
            "{}: the copy of {} was changed: its checksum differs",
            path.display(),
            entry.file.display()
        )));
    }
    Ok(Some(content))
}
