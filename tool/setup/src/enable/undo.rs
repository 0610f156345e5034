// SPDX-License-Identifier: BSD-2-Clause
//! Disabling: files become what they were. Where somebody has changed one since, only our lines go.

use super::apply::remove_folders;
use super::edit::{self, Found};
use super::files::{self, at};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{checksum, Entry, State};
use super::target::{damaged, not_ours, original, Files, Target};
use base::replaced::Look;
use std::path::{Path, PathBuf};
use terminal::error::Result;

/// Disables all targets of one state that have something of ours, and reports on each.
pub fn disable(dir: &Path, targets: &[Box<dyn Target + '_>], report: &mut Report) -> Result<()> {
    // A killed run may have left a lock, which goes with the state.
    let known = State::look(dir)?;
    let mut touched = targets
        .iter()
        .map(|target| is_touched(target.as_ref(), &known));
    let mut state = match touched.any(|is| is) || State::is_left(dir) {
        true => Some(State::lock(dir)?),
        false => None,
    };
    for target in targets {
        let site = disable_one(target.as_ref(), state.as_mut(), &mut report.notes);
        report.add(site);
    }
    Ok(())
}

/// Undoes one target, if it has something of ours.
fn disable_one(target: &dyn Target, state: Option<&mut State>, notes: &mut Vec<String>) -> Site {
    let mut site = target.site();
    if let Some(state) = state.filter(|state| is_touched(target, state)) {
        match undo(target, state, notes) {
            Ok(()) => site.outcome = Outcome::Disabled,
            Err(error) => site.refuse(&error),
        }
    }
    site
}

/// Whether there is something of ours, by the state or by the looks of the files.
fn is_touched(target: &dyn Target, state: &State) -> bool {
    let Ok(files) = target.files() else {
        return false;
    };
    let read = |file: &PathBuf| files::read(file).ok().flatten();
    let has_lines = files
        .edited
        .as_ref()
        .and_then(read)
        .is_some_and(|text| edit::find(&text, &target.known(&files)) != Found::Nothing);
    let is_there = files.edited.is_none() && files.own.exists();
    state.entry(files.key()).is_some() || has_lines || is_there
}

/// Refuses a target whose own file programs read without any line elsewhere, if the file has to
/// stay.
fn refusal(target: &dyn Target, state: &State) -> Result<()> {
    let files = target.files()?;
    if files.edited.is_some() {
        return Ok(());
    }
    let text = files::read(&files.own)?;
    let why = text.and_then(|text| not_ours(&text, state.entry(files.key())));
    why.map_or(Ok(()), |why| {
        Err(at(&files.own, format!("{why}; move it away")))
    })
}

fn undo(target: &dyn Target, state: &mut State, notes: &mut Vec<String>) -> Result<()> {
    let files = target.files()?;
    files
        .all()
        .try_for_each(|file| files::refuse_foreign_link(file))?;
    files.sweep();
    refusal(target, state)?;
    let entry = state.entry(files.key()).cloned();
    if let Some(file) = &files.edited {
        undo_edit(target, &files, file, entry.as_ref(), &state.trial()?, notes)?;
    }
    remove_own(&files.own, entry.as_ref(), notes)?;
    remove_folders(entry.as_ref().map_or(&[], |entry| &entry.folders));
    state.forget(files.key())
}

fn undo_edit(
    target: &dyn Target,
    files: &Files,
    file: &Path,
    entry: Option<&Entry>,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<()> {
    let name = file.display();
    let Some(current) = files::read(file)? else {
        notes.push(format!("{name} is gone"));
        return Ok(());
    };
    // A recorded file can be a symbolic link now, which stays.
    let file = &files::real(file)?;
    let sum = checksum(&current);
    let untouched = entry.filter(|entry| entry.after == sum);
    match (untouched, untouched.and_then(|entry| entry.before.as_ref())) {
        (Some(_), None) => return files::remove(file),
        (Some(entry), Some(before)) => {
            let Found::Ours(range) = edit::find(&current, &target.known(files)) else {
                return Err(damaged(
                    file,
                    "the lines of 'tenrounds enable' are not in it",
                ));
            };
            let original = original(file, &current, &range, before, notes);
            return files::replace_dated(file, &original, Look::Like(file), entry.time);
        }
        (None, _) if entry.is_some_and(|entry| entry.before.as_deref() == Some(&sum)) => {
            return Ok(());
        }
        (None, _) => {}
    }
    let is_taken_out = take_out(target, files, file, &current, scratch)?;
    notes.push(match is_taken_out {
        true => format!(
            "{name} was changed by somebody after 'tenrounds enable': only our lines were removed"
        ),
        false => format!(
            "{name} was changed by somebody, and our lines are no longer in it: it stays as it is"
        ),
    });
    Ok(())
}

/// Removes our lines, if the file works without them as it does with them. False: it has none.
fn take_out(
    target: &dyn Target,
    files: &Files,
    file: &Path,
    current: &[u8],
    scratch: &Path,
) -> Result<bool> {
    let range = match edit::find(current, &target.known(files)) {
        Found::Nothing => return Ok(false),
        Found::Damaged(why) => return Err(damaged(file, &why)),
        Found::Ours(range) => range,
    };
    let text = edit::without(current, &range);
    let tried = |name: &str, text: &[u8]| -> Result<std::result::Result<(), String>> {
        let copy = scratch.join(name);
        files::replace(&copy, text, Look::Mode(0o600))?;
        Ok(target.works(&copy))
    };
    if let Err(why) = tried("without", &text)? {
        if tried("with", current)?.is_ok() {
            return Err(at(file, format!("it was changed after 'tenrounds enable', and does not work without our lines ({why}); fix it by hand")));
        }
    }
    if files::read(file)?.as_deref() != Some(current) {
        return Err(at(file, "somebody changed it just now; try again"));
    }
    files::replace(file, &text, Look::Like(file)).map(|()| true)
}

/// Removes our own file, unless somebody has made it theirs.
fn remove_own(own: &Path, entry: Option<&Entry>, notes: &mut Vec<String>) -> Result<()> {
    let Some(text) = files::read(own)? else {
        return Ok(());
    };
    let Some(why) = not_ours(&text, entry) else {
        return files::remove(own);
    };
    notes.push(format!(
        "{} {why}: it stays, and nothing reads it",
        own.display()
    ));
    Ok(())
}
