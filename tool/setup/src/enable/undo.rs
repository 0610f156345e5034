// SPDX-License-Identifier: BSD-2-Clause
//! Disabling: files become what they were. Where somebody has changed one since, only our lines go.

use super::apply::remove_folder;
use super::edit::{self, Found};
use super::files::{self, at};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{Entry, State};
use super::target::{damaged, is_ours, original, refuse_foreign, Files, Target};
use base::replaced::Look;
use std::path::{Path, PathBuf};
use terminal::error::Result;

/// Disables all targets of one state that have something of ours, and reports on each.
pub fn disable(dir: &Path, targets: &[Box<dyn Target + '_>], report: &mut Report) -> Result<()> {
    // A killed run may have left a lock, which goes with the state.
    let known = State::look(dir)?;
    let touched = targets.iter().any(|it| is_touched(it.as_ref(), &known));
    let mut state = match touched || State::is_left(dir) {
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
        .is_some_and(|text| edit::find(&text, None) != Found::Nothing);
    let is_there = files.edited.is_none() && files.own.exists();
    state.entry(files.key()).is_some() || has_lines || is_there
}

fn undo(target: &dyn Target, state: &mut State, notes: &mut Vec<String>) -> Result<()> {
    let files = target.files()?;
    files
        .all()
        .try_for_each(|file| files::refuse_foreign_link(file))?;
    files.sweep();
    // Programs read it without any line elsewhere.
    if files.edited.is_none() {
        refuse_foreign(&files.own)?;
    }
    let entry = state.entry(files.key()).cloned();
    if let Some(file) = &files.edited {
        undo_edit(target, &files, file, entry.as_ref(), &state.trial()?, notes)?;
    }
    remove_own(&files.own, notes)?;
    remove_folder(&files);
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
    let range = match edit::find(&current, target.known(files).as_deref()) {
        Found::Nothing => return Ok(()),
        Found::Damaged(why) => return Err(damaged(file, &why)),
        Found::Ours(range) => range,
    };
    let (text, is_proved) = original(&current, &range, entry);
    let Some(text) = text else {
        return files::remove(file);
    };
    if !is_proved {
        refuse_dependent(target, file, &current, &text, scratch)?;
        notes.push(format!(
            "{name} was changed by somebody after 'tenrounds enable': only our lines were removed"
        ));
    }
    if files::read(file)?.as_deref() != Some(&current) {
        return Err(at(file, "somebody changed it just now; try again"));
    }
    files::replace(file, &text, Look::Like(file))?;
    let known = entry.filter(|_| is_proved);
    files::set_modified(file, known.and_then(|entry| entry.time));
    Ok(())
}

/// Refuses to remove our lines from a file that works with them and does not without.
fn refuse_dependent(
    target: &dyn Target,
    file: &Path,
    with: &[u8],
    without: &[u8],
    scratch: &Path,
) -> Result<()> {
    let tried = |name: &str, text: &[u8]| -> Result<std::result::Result<(), String>> {
        let copy = scratch.join(name);
        files::replace(&copy, text, Look::Mode(0o600))?;
        Ok(target.works(&copy))
    };
    match tried("without", without)? {
        Err(why) if tried("with", with)?.is_ok() => Err(at(file, format!("it was changed after 'tenrounds enable', and does not work without our lines ({why}); fix it by hand"))),
        _ => Ok(()),
    }
}

/// Removes our own file, unless somebody has put another one there.
fn remove_own(own: &Path, notes: &mut Vec<String>) -> Result<()> {
    match files::read(own)? {
        Some(text) if !is_ours(&text) => {
            let name = own.display();
            notes.push(format!(
                "{name}: 'tenrounds enable' did not write it; it stays, and nothing reads it"
            ));
            Ok(())
        }
        _ => files::remove(own),
    }
}
