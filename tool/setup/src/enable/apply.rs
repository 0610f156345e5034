// SPDX-License-Identifier: BSD-2-Clause
//! Enabling one target. Tries the target's new files as copies, then in their places. A dry run
//! ends before the second step.

use super::change::{make_all, Change, Failed};
use super::edit;
use super::files;
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{checksum, Entry, State};
use super::target::{Files, Present, Target, Tried};
use base::replaced::Look;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use terminal::error::{Error, Result};

/// Enables all targets of one state, and reports on each.
pub fn enable(dir: &Path, targets: &[Box<dyn Target + '_>], report: &mut Report) -> Result<()> {
    let mut state = State::open(dir, report.dry_run)?;
    for target in targets {
        let mut site = target.site();
        let done = enable_one(target.as_ref(), &mut state, &mut site, &mut report.notes);
        if let Err(error) = done {
            site.refuse(&error);
        }
        report.add(site);
    }
    Ok(())
}

fn enable_one(
    target: &dyn Target,
    state: &mut State,
    site: &mut Site,
    notes: &mut Vec<String>,
) -> Result<()> {
    let files = target.files()?;
    if !state.is_dry_run() {
        files.sweep();
    }
    let present = Present::read(target, files, state, notes)?;
    let wanted = Wanted::of(target, &present, &state.trial()?, notes)?;
    site.own_file = Some(present.files.own.clone());
    site.module = Some(wanted.module.clone());
    let changes = wanted.changes(target, &present);
    if changes.is_empty() {
        let tried = target.try_out(None, &wanted.base);
        site.outcome = Outcome::AlreadyEnabled;
        if let Some(problem) = &tried.problem {
            site.broken(&format!("enabled already, but {problem}"));
        }
        site.tried(tried.trial);
    } else {
        let tried = target.try_out(Some(&wanted.copies), &wanted.base);
        site.tried(tried.trial);
        if let Some(problem) = tried.problem {
            let when = "tried in child processes, nothing was changed";
            return Err(Error::failure(format!("{when}: {problem}")));
        }
    }
    if state.is_dry_run() {
        site.changes = changes.iter().map(Change::diff).collect();
        if !changes.is_empty() {
            site.outcome = Outcome::WouldEnable;
        }
        return Ok(());
    }
    let known = state.entry(present.files.key()).cloned();
    let entry = entry(target, &present, &wanted, known.as_ref(), site.scope);
    if !changes.is_empty() {
        state.put(entry.clone())?;
        let made = make(target, &present.files, &changes, || {
            in_place(target, &wanted, site)
        });
        if let Err(failed) = made {
            return Err(give_up(target, state, &entry, known, failed));
        }
        site.outcome = Outcome::Enabled;
    }
    state.put(Entry {
        done: true,
        ..entry
    })
}

/// Makes the folders and the changes of a target.
fn make(
    target: &dyn Target,
    files: &Files,
    changes: &[Change<'_>],
    verify: impl FnOnce() -> Result<()>,
) -> std::result::Result<(), Failed> {
    make_folders(target, files).map_err(|error| Failed {
        error,
        is_restored: true,
    })?;
    make_all(changes, verify)
}

/// Makes the state as it was before changes that failed. If the files are not as they were, the
/// new entry stays, so that `disable` can restore the files later.
fn give_up(
    target: &dyn Target,
    state: &mut State,
    entry: &Entry,
    known: Option<Entry>,
    failed: Failed,
) -> Error {
    if !failed.is_restored {
        let options = target.options();
        let again = format!("'tenrounds disable{options}' tries again");
        return Error::failure(format!("{}; {again}", failed.error));
    }
    remove_folders(&entry.folders);
    let put = match known {
        Some(known) => state.put(known),
        None => state.forget(&entry.file),
    };
    put.err().unwrap_or(failed.error)
}

/// Tries the files in their places.
fn in_place(target: &dyn Target, wanted: &Wanted, site: &mut Site) -> Result<()> {
    let Tried { trial, problem } = target.try_out(None, &wanted.base);
    site.tried(trial);
    problem.map_or(Ok(()), |problem| Err(Error::failure(problem)))
}

/// The new content of a target's files.
struct Wanted {
    own: Vec<u8>,
    edited: Vec<u8>,
    /// The same in a private directory, where only the paths differ.
    copies: Files,
    /// A configuration without tenrounds.
    base: PathBuf,
    module: PathBuf,
}

impl Wanted {
    fn of(
        target: &dyn Target,
        present: &Present,
        scratch: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Wanted> {
        let copy = |path: &PathBuf| scratch.join(path.file_name().unwrap_or_default());
        let write = |path: &Path, text: &[u8]| files::replace(path, text, Look::Mode(0o600));
        let files = &present.files;
        let base = match (&present.original, &files.edited) {
            (Some(original), Some(_)) if present.has_lines => {
                let base = scratch.join("base");
                write(&base, original)?;
                Some(base)
            }
            (Some(_), edited) => edited.clone(),
            (None, _) => None,
        };
        let copies = Files {
            own: copy(&files.own),
            edited: files.edited.as_ref().map(copy),
        };
        let (own, module) = target.text(files, base.as_deref(), notes)?;
        write(&copies.own, &own)?;
        let original = present.original.as_deref().unwrap_or_default();
        let with = |own: &Path| -> Result<Vec<u8>> {
            Ok(edit::add(original, &target.lines(own, original)?))
        };
        let mut edited = Vec::new();
        if let Some(path) = &copies.edited {
            write(path, &with(&copies.own)?)?;
            edited = with(&files.own)?;
            // Where our lines are in it as they should be, it stays, whatever follows them.
            if present.has_lines && target.known(files).text.is_some() {
                edited = present.edited.clone().unwrap_or_default();
            }
        }
        Ok(Wanted {
            own,
            edited,
            copies,
            base: base.unwrap_or_else(|| PathBuf::from("/dev/null")),
            module,
        })
    }

    /// Our own file first: nothing reads it before the lines are there.
    fn changes<'a>(&'a self, target: &dyn Target, present: &'a Present) -> Vec<Change<'a>> {
        let (files, before) = (&present.files, present.edited.as_deref());
        let look = match (&files.edited, before) {
            (Some(edited), Some(_)) => Look::Like(edited),
            _ => Look::Mode(target.mode()),
        };
        let own = Change::of(&files.own, present.own.as_deref(), &self.own, look);
        let of_edited = |edited| Change::of(edited, before, &self.edited, look);
        let edited = files.edited.as_deref().and_then(of_edited);
        own.into_iter().chain(edited).collect()
    }
}

/// Makes the entry by which `disable` undoes the change.
fn entry(
    target: &dyn Target,
    present: &Present,
    wanted: &Wanted,
    known: Option<&Entry>,
    scope: &str,
) -> Entry {
    let file = present.files.key();
    let before = present.original.as_deref().map(checksum);
    let same = known.filter(|known| present.has_lines && known.before == before);
    let modified = || {
        let meta = fs::metadata(file).and_then(|meta| meta.modified()).ok();
        // The state can hold no time before the epoch.
        meta.filter(|time| !present.has_lines && *time >= SystemTime::UNIX_EPOCH)
    };
    let time = same.map_or_else(modified, |known| known.time);
    let folders = known.map(|known| known.folders.clone());
    Entry {
        scope: scope.to_owned(),
        file: file.to_owned(),
        before,
        after: checksum(
            present
                .files
                .edited
                .as_ref()
                .map_or(&wanted.own, |_| &wanted.edited),
        ),
        time,
        own_sum: checksum(&wanted.own),
        folders: folders.unwrap_or_else(|| missing_folders(file)),
        java_home: target.java_home(),
        done: false,
    }
}

/// The folders that have to be made for a file, the outermost first.
fn missing_folders(file: &Path) -> Vec<PathBuf> {
    let folders = file.ancestors().skip(1);
    let missing = folders.take_while(|folder| !folder.exists());
    let mut list: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    list.reverse();
    list
}

/// What only this user reads lies in folders that only this user sees.
fn make_folders(target: &dyn Target, files: &Files) -> Result<()> {
    let folder = files.key().parent().filter(|folder| !folder.exists());
    let mode = match target.mode() & 0o077 {
        0 => 0o700,
        _ => 0o755,
    };
    folder.map_or(Ok(()), |folder| files::make_directory(folder, mode))
}

/// Removes folders that `enable` made, unless somebody keeps something else in them.
pub fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        base::replaced::step();
        let _ = fs::remove_dir(folder);
    }
}
