// SPDX-License-Identifier: BSD-2-Clause
//! What was changed, and how to undo it: a directory with a lock, the list of changed files, and a
//! copy of each as it was.

use super::files::{self, at, explain};
use crate::openssl::programs::below;
use base::paths::exact;
use base::replaced::Look;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};
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
const VERSION: u32 = 2;
/// How long another run is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// SHA-256 in hexadecimal digits.
pub fn checksum(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What one target got, and how to undo it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Entry {
    /// The scope of its site: "system", "user", "profile", "java" or "p11-kit".
    pub scope: String,
    /// The file that identifies it, with all symbolic links followed: somebody else's file that got
    /// our lines, or our own.
    #[serde(with = "exact")]
    pub file: PathBuf,
    /// A copy of the file; None if there was no such file.
    #[serde(default, with = "exact")]
    pub backup: Option<PathBuf>,
    /// Checksums of the file before and after.
    pub before: Option<String>,
    pub after: String,
    /// When it was last changed before.
    pub time: Option<SystemTime>,
    /// Our own file, and its checksum.
    #[serde(default, with = "exact")]
    pub own: Option<PathBuf>,
    pub own_sum: Option<String>,
    /// The folders that were made for our own file, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "exact")]
    pub folders: Vec<PathBuf>,
    /// The JDK of the scope "java", which the file need not lie in.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "exact")]
    pub java_home: Option<PathBuf>,
    /// Tried, replaced and verified; false while that is under way.
    pub done: bool,
}

impl Entry {
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

    /// What the kept copy holds, if it is still what was kept.
    pub fn kept(&self) -> Result<Option<Vec<u8>>> {
        let Some(path) = &self.backup else {
            return Ok(None);
        };
        let content = files::read(path)?;
        let of = self.file.display();
        let content = content.ok_or_else(|| at(path, format!("the copy of {of} is gone")))?;
        match Some(checksum(&content)) == self.before {
            true => Ok(Some(content)),
            false => Err(at(
                path,
                format!("the copy of {of} was changed: its checksum differs"),
            )),
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

    /// Parses the version first, because the rest differs between versions.
    fn parse(file: &Path, bytes: &[u8]) -> Result<State> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let damaged = |error: serde_json::Error| {
            at(file, format!("{error}; it should say how to undo 'tenrounds enable': restore it, or remove it and remove the lines from openssl.cnf by hand"))
        };
        let Head { version } = serde_json::from_slice(bytes).map_err(damaged)?;
        if version != VERSION {
            return Err(at(file, format!("has version {version}, and this tool knows {VERSION}; use the tool that wrote it")));
        }
        serde_json::from_slice(bytes).map_err(damaged)
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

    /// Keeps a copy of a file, named after its content.
    pub fn keep(&self, file: &Path, content: &[u8]) -> Result<PathBuf> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let place = checksum(file.as_os_str().as_bytes());
        let path = self.dir.join(format!(
            "{name}.{}.{}",
            &place[..8],
            &checksum(content)[..16]
        ));
        let is_there = fs::read(&path).is_ok_and(|there| there == content);
        if !is_there {
            files::replace(&path, content, Look::Mode(0o600))?;
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
        self.tidy();
        if self.files.is_empty() {
            // Whoever waits for this lock sees that its file is gone, and takes a new one.
            let _ = fs::remove_file(self.dir.join(LOCK));
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

fn wait_for_lock(dir: &Path) -> Result<Flock<File>> {
    let path = dir.join(LOCK);
    let begin = Instant::now();
    let mut told = false;
    let failed = |error: std::io::Error| at(&path, explain(&path, &error));
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
        let mine = file.metadata().map_err(failed)?;
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => {
                let same =
                    |there: fs::Metadata| (mine.dev(), mine.ino()) == (there.dev(), there.ino());
                if fs::metadata(&path).is_ok_and(same) {
                    return Ok(lock);
                }
                continue;
            }
            Err((_, nix::errno::Errno::EWOULDBLOCK)) => {}
            Err((_, error)) => return Err(failed(error.into())),
        }
        if begin.elapsed() > PATIENCE {
            let seconds = PATIENCE.as_secs();
            return Err(at(&path, format!("another tenrounds has held this lock for {seconds} seconds; see what it does, and try again")));
        }
        if !told && begin.elapsed() > Duration::from_secs(1) {
            let path = path.display();
            output::complain(format!(
                "waiting for another tenrounds process that holds {path}"
            ));
            told = true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
