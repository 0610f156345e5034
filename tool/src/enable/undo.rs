// SPDX-License-Identifier: BSD-2-Clause
//! Disabling: files become what they were. Where somebody has changed one since, only our lines go.

use super::apply::remove_folders;
use super::edit::{self, Found};
use super::files::{self, at};
use super::report::Report;
use super::site::Outcome;
use super::state::{checksum, Entry, State};
use super::target::{damaged, is_ours, Files, Target};
use crate::openssl::configuration;
use crate::replaced::Look;
use std::path::{Path, PathBuf};
use terminal::error::Result;

/// Disables all targets of one state that have something of ours, and reports on each.
pub fn disable(
    dir: &Path,
    targets: &[Box<dyn Target + '_>],
    tidies: bool,
    report: &mut Report,
) -> Result<()> {
    let known = State::look(dir)?;
    let mut touched = targets
        .iter()
        .map(|target| is_touched(target.as_ref(), &known));
    // A killed run can have left a lock and copies, which go with the state.
    let mut state = match touched.any(|touched| touched) || (tidies && State::is_left(dir)) {
        true => Some(State::open(dir, false)?),
        false => None,
    };
    for target in targets {
        let mut site = target.site();
        let state = state.as_mut();
        if let Some(state) = state.filter(|state| is_touched(target.as_ref(), state)) {
            match undo(target.as_ref(), state, &mut report.notes) {
                Ok(()) => site.outcome = Outcome::Disabled,
                Err(error) => site.refuse(&error),
            }
        }
        report.add(site);
    }
    Ok(())
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
    let is_there = files.edited.is_none() && files.own.as_ref().is_some_and(|own| own.exists());
    state.entry(files.key()).is_some() || has_lines || is_there
}

fn undo(target: &dyn Target, state: &mut State, notes: &mut Vec<String>) -> Result<()> {
    let files = target.files()?;
    files.sweep();
    let entry = state.entry(files.key()).cloned();
    if let Some(file) = &files.edited {
        undo_edit(target, &files, file, entry.as_ref(), &state.trial()?, notes)?;
    }
    if let Some(own) = &files.own {
        remove_own(own, entry.as_ref(), files.edited.is_none(), notes)?;
    }
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
    let sum = checksum(&current);
    if let Some(entry) = entry.filter(|entry| entry.after == sum) {
        match entry.kept() {
            Ok(Some(original)) => {
                return files::replace_dated(file, &original, Look::Like(file), entry.time)
            }
            Ok(None) => return files::remove(file),
            Err(error) => notes.push(format!("{error}; our lines were removed instead")),
        }
    } else if entry.is_some_and(|entry| entry.before.as_deref() == Some(&sum)) {
        return Ok(());
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

/// Our own file goes, unless somebody has made it theirs. That is an error if programs read it
/// without any line elsewhere.
fn remove_own(
    own: &Path,
    entry: Option<&Entry>,
    is_read: bool,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(text) = files::read(own)? else {
        return Ok(());
    };
    let sum = entry
        .filter(|entry| entry.done)
        .and_then(|entry| entry.own_sum.as_deref());
    let why = match sum {
        _ if !is_ours(&text) => "'tenrounds enable' did not write it",
        Some(sum) if sum != checksum(&text) => "was changed by somebody after 'tenrounds enable'",
        _ => return files::remove(own),
    };
    if is_read {
        return Err(at(own, format!("{why}; move it away")));
    }
    notes.push(format!(
        "{} {why}: it stays, and nothing reads it",
        own.display()
    ));
    Ok(())
}

/// Whether our own file loads one of these modules. True if the file is gone: it may have loaded
/// one.
pub fn loads(own: &Path, modules: &[PathBuf]) -> bool {
    let text = files::read(own).ok().flatten();
    let lines: Vec<Vec<u8>> = names(modules)
        .iter()
        .map(|m| configuration::module_line(m))
        .collect();
    text.is_none_or(|text| {
        let mut there = text.split_inclusive(|&byte| byte == b'\n');
        there.any(|line| lines.iter().any(|ours| ours == line))
    })
}

/// The paths of the modules as given, and with symbolic links resolved, as `enable` writes them.
pub fn names(modules: &[PathBuf]) -> Vec<PathBuf> {
    let real = modules.iter().filter_map(|path| path.canonicalize().ok());
    modules.iter().cloned().chain(real).collect()
}
