// SPDX-License-Identifier: BSD-2-Clause
//! Something that tenrounds can be enabled in: a configuration of OpenSSL, or a JDK. Each has
//! a file of our own, perhaps lines in somebody else's file that lead to it, and a way to try them.
//! `apply`, `undo` and `status` do the rest for all of them.

use super::edit::{self, Found};
use super::files::{self, at};
use super::site::Site;
use super::state::{checksum, Entry, State};
use crate::openssl::configuration::{self, OWN_HEAD};
use crate::openssl::nodejs::Nodejs;
use crate::openssl::trial::Trial;
use base::root::Root;
use libcrypto::LibCrypto;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::Result;

pub trait Target {
    /// What is shown of it before anything is known.
    fn site(&self) -> Site;

    /// The options of the command line that lead to it, after a blank: " --system".
    fn options(&self) -> String;

    fn files(&self) -> Result<Files>;

    /// Our lines in the edited file; None if they depend on that file.
    fn known(&self, _files: &Files) -> Option<Vec<u8>> {
        None
    }

    /// Our own file's text, and the module that it names. `base` is the edited file as it is
    /// without our lines; None if there is no such file.
    fn text(&self, _files: &Files, _base: Option<&Path>) -> Result<(Vec<u8>, PathBuf)>;

    /// The lines of the edited file, which lead to our own file.
    fn lines(&self, _own: &Path, _original: &[u8]) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }

    /// Tries copies of the files, or the files in their places. `base` is the configuration without
    /// tenrounds.
    fn try_out(&self, copies: Option<&Files>, base: &Path) -> Tried;

    /// Whether the edited file works with these contents.
    fn works(&self, _conf: &Path) -> std::result::Result<(), String> {
        Ok(())
    }

    /// The mode of our own file, if no edited file tells it.
    fn mode(&self) -> u32 {
        0o644
    }

    /// The module that our own file, which is in its place, names.
    fn module(&self, own: &Path) -> Option<PathBuf>;

    fn java_home(&self) -> Option<PathBuf> {
        None
    }
}

/// What it takes to prefer tenrounds in a configuration of OpenSSL.
pub struct Means {
    pub libcrypto: LibCrypto,
    pub module: PathBuf,
    pub nodejs: Nodejs,
}

impl Means {
    /// Looks on this machine, and below a root for a Node.js that is too old.
    pub fn find(root: &Path, notes: &mut Vec<String>) -> Result<Means> {
        let libcrypto = LibCrypto::open()?;
        let nodejs = Nodejs::look(&Root::new(root));
        notes.extend(nodejs.note());
        Ok(Means {
            module: libcrypto::module::find(Some(&libcrypto))?,
            libcrypto,
            nodejs,
        })
    }

    /// The text of our own file, which includes a configuration or is included by it, and the
    /// module. In messages `base`, the configuration without us, is called `named`.
    pub fn text(
        &self,
        included: Option<&Path>,
        base: Option<&Path>,
        named: &Path,
    ) -> Result<(Vec<u8>, PathBuf)> {
        let base = base.map(configuration::load).transpose()?;
        if let Some(base) = &base {
            configuration::refuse_fips(base, named)?;
        }
        let (module, nodejs) = (&self.module, &self.nodejs);
        let text = configuration::addition(included, base.as_ref(), named, module, nodejs)?;
        Ok((text, module.clone()))
    }
}

/// The files of a target.
pub struct Files {
    /// Our own file.
    pub own: PathBuf,
    /// Somebody else's file that gets our lines, with all symbolic links followed.
    pub edited: Option<PathBuf>,
}

impl Files {
    /// The file that identifies the target in the state.
    pub fn key(&self) -> &Path {
        self.edited.as_deref().unwrap_or(&self.own)
    }

    pub fn all(&self) -> impl Iterator<Item = &PathBuf> {
        std::iter::once(&self.own).chain(&self.edited)
    }

    /// Takes away what a run that was killed has left beside these files.
    pub fn sweep(&self) {
        self.all().for_each(|file| files::sweep(file));
    }
}

/// What a trial saw, and what is wrong.
#[derive(Default)]
pub struct Tried {
    pub trial: Trial,
    pub problem: Option<String>,
}

impl From<Trial> for Tried {
    fn from(trial: Trial) -> Tried {
        let problem = trial.problem();
        Tried { trial, problem }
    }
}

impl From<Result<()>> for Tried {
    fn from(done: Result<()>) -> Tried {
        Tried {
            problem: done.err().map(|error| error.to_string()),
            ..Tried::default()
        }
    }
}

/// The files of a target as they are.
pub struct Present {
    pub files: Files,
    pub own: Option<Vec<u8>>,
    pub edited: Option<Vec<u8>>,
    /// The edited file without our lines.
    pub original: Option<Vec<u8>>,
    /// Whether our lines are in it.
    pub has_lines: bool,
}

impl Present {
    /// Reads the files, and refuses those that cannot be changed or are not as we left them.
    pub fn read(target: &dyn Target, files: Files, state: &State) -> Result<Present> {
        let own = refuse_foreign(&files.own)?;
        let edited = files.edited.as_deref().map(files::read).transpose()?;
        let edited = edited.flatten();
        let mut present = Present {
            own,
            original: edited.clone(),
            has_lines: false,
            edited,
            files,
        };
        if let (Some(file), Some(text)) = (&present.files.edited, &present.edited) {
            refuse_odd(file, text)?;
            match edit::find(text, target.known(&present.files).as_deref()) {
                Found::Nothing => {}
                Found::Damaged(why) => return Err(damaged(file, &why)),
                Found::Ours(range) => {
                    let entry = state.entry(file);
                    present.original = original(text, &range, entry).0;
                    present.has_lines = true;
                }
            }
        }
        Ok(present)
    }
}

/// A file's text as it was before our lines, None if there was none, and whether the entry's
/// checksum proves it. Otherwise somebody has changed the file since.
pub fn original(
    text: &[u8],
    range: &Range<usize>,
    entry: Option<&Entry>,
) -> (Option<Vec<u8>>, bool) {
    let plain = edit::without(text, range);
    let before = match entry.map(|entry| &entry.before) {
        Some(None) if plain.is_empty() => return (None, true),
        Some(Some(before)) => edit::original(text, range, |text| checksum(text) == *before),
        _ => None,
    };
    let is_proved = before.is_some();
    (Some(before.unwrap_or(plain)), is_proved)
}

pub fn damaged(file: &Path, why: &str) -> terminal::error::Error {
    at(
        file,
        format!("{why}; remove these lines by hand, then try again"),
    )
}

/// The first line of our own files.
pub fn head() -> String {
    format!("# {OWN_HEAD}\n")
}

/// Whether a text begins as our own files do.
pub fn is_ours(text: &[u8]) -> bool {
    text.starts_with(head().as_bytes())
}

/// Our own file's name must be free, or its file ours. Returns its content.
pub fn refuse_foreign(own: &Path) -> Result<Option<Vec<u8>>> {
    let Ok(meta) = fs::symlink_metadata(own) else {
        return Ok(None);
    };
    let text = match meta.is_file() {
        true => files::read(own)?.unwrap_or_default(),
        false => Vec::new(),
    };
    match is_ours(&text) {
        true => Ok(Some(text)),
        false => Err(at(own, "'tenrounds enable' did not write it; move it away")),
    }
}

/// Refuses a file that has other names, or a zero byte. libcrypto reads lines as strings of C, so
/// a zero byte would hide the rest of its line.
fn refuse_odd(file: &Path, text: &[u8]) -> Result<()> {
    let links = fs::metadata(file).map_or(1, |meta| meta.nlink());
    if links > 1 {
        return Err(at(file, format!("the file has {links} names (hard links), and only this one would be changed; make it a file of its own")));
    }
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(()),
        Some(place) => {
            let why = format!("has a zero byte at {place} and is damaged; fix it first");
            Err(at(file, why))
        }
    }
}
