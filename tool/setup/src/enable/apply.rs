// SPDX-License-Identifier: BSD-2-Clause
//! Enabling one target. Tries the target's new files as copies, then in their places. A dry run
//! ends before the second step.

use super::change::{make_all, Change};
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
        if let Err(error) = enable_one(target.as_ref(), &mut state, &mut site) {
            site.refuse(&error);
        }
        report.add(site);
    }
    Ok(())
}

fn enable_one(target: &dyn Target, state: &mut State, site: &mut Site) -> Result<()> {
    let files = target.files()?;
    if !state.is_dry_run() {
        files.sweep();
    }
    let present = Present::read(target, files, state)?;
    let wanted = Wanted::of(target, &present, &state.trial()?)?;
    site.own_file = Some(present.files.own.clone());
    site.module = Some(wanted.module.clone());
    let changes = wanted.changes(target, &present);
    let copies = (!changes.is_empty()).then_some(&wanted.copies);
    let Tried { trial, problem } = target.try_out(copies, &wanted.base);
    site.tried(trial);
    site.outcome = Outcome::AlreadyEnabled;
    match problem {
        Some(problem) if changes.is_empty() => {
            site.broken(&format!("enabled already, but {problem}"));
        }
        Some(problem) => {
            let when = "tried in child processes, nothing was changed";
            return Err(Error::failure(format!("{when}: {problem}")));
        }
        None => {}
    }
    if state.is_dry_run() {
        site.changes = changes.iter().map(Change::diff).collect();
        if !changes.is_empty() {
            site.outcome = Outcome::WouldEnable;
        }
        return Ok(());
    }
    let key = present.files.key();
    let known = state.entry(key);
    let is_known = known.is_some();
    let before = present.original.as_deref().map(checksum);
    let time = match present.has_lines {
        true => known
            .filter(|known| known.before == before)
            .and_then(|known| known.time),
        false => modified(key),
    };
    state.put(Entry {
        scope: site.scope.to_owned(),
        file: key.to_owned(),
        before,
        time,
        java_home: target.java_home(),
    })?;
    if changes.is_empty() {
        return Ok(());
    }
    let made = make_all(&changes, || in_place(target, &wanted, site));
    let Err(failed) = made else {
        site.outcome = Outcome::Enabled;
        return Ok(());
    };
    if !failed.is_restored {
        // The entry stays, so that `disable` can restore the files later.
        let options = target.options();
        let again = format!("'tenrounds disable{options}' tries again");
        return Err(Error::failure(format!("{}; {again}", failed.error)));
    }
    if !present.has_lines {
        files::set_modified(key, time);
    }
    remove_folder(&present.files);
    if !is_known {
        state.forget(key)?;
    }
    Err(failed.error)
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
    fn of(target: &dyn Target, present: &Present, scratch: &Path) -> Result<Wanted> {
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
        let (own, module) = target.text(files, base.as_deref())?;
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
            if present.has_lines && target.known(files).is_some() {
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

/// When a file was last changed. The state can hold no time before the epoch.
fn modified(file: &Path) -> Option<SystemTime> {
    let time = fs::metadata(file).and_then(|meta| meta.modified()).ok();
    time.filter(|time| *time >= SystemTime::UNIX_EPOCH)
}

/// Removes the folder of a file that only this user reads, unless it has other files.
pub fn remove_folder(files: &Files) {
    if let (None, Some(folder)) = (&files.edited, files.own.parent()) {
        base::replaced::step();
        let _ = fs::remove_dir(folder);
    }
}
