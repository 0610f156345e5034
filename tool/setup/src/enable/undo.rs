// SPDX-License-Identifier: BSD-2-Clause
//! Disabling: files become what they were. Where somebody has changed one since, only our lines go.

use super::apply::remove_folders;
use super::edit::{self, Found};
use super::files::{self, at};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{checksum, Entry, State};
use super::target::{damaged, is_ours, Files, Target};
use crate::openssl::configuration;
use base::replaced::Look;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// Disables all targets of one state that have something of ours, and reports on each.
pub fn disable(
    dir: &Path,
    targets: &[Box<dyn Target + '_>],
    tidies: bool,
    report: &mut Report,
) -> Result<()> {
    let all = targets.iter().map(|target| target.as_ref());
    let mut state = open(dir, all, tidies)?;
    for target in targets {
        let site = disable_one(target.as_ref(), state.as_mut(), &mut report.notes);
        report.add(site);
    }
    Ok(())
}

/// Disables a target whose own file other targets name. Their lines go first, because they must
/// not name a missing file: if one is refused, the own file stays. If the own file has to stay,
/// all lines stay.
pub fn disable_named(
    dir: &Path,
    named: &dyn Target,
    by: &[Box<dyn Target + '_>],
    report: &mut Report,
) -> Result<()> {
    let targets = by.iter().map(|target| target.as_ref());
    let mut state = open(dir, targets.chain([named]), true)?;
    let refused = state.as_ref().and_then(|state| refusal(named, state).err());
    let mut disable = |target: &dyn Target| match &refused {
        Some(why) => left(target, &format!("it names a file that stays: {why}")),
        None => disable_one(target, state.as_mut(), &mut report.notes),
    };
    let lines = by.iter().map(|target| disable(target.as_ref()));
    let sites: Vec<Site> = lines.collect();
    let kept = sites.iter().find(|site| site.outcome == Outcome::Refused);
    let kept = kept.and_then(|site| site.reason.as_deref());
    let site = match (&refused, kept) {
        (Some(why), _) => left(named, why),
        (None, Some(why)) => left(named, &format!("a file that stays names it: {why}")),
        (None, None) => disable_one(named, state.as_mut(), &mut report.notes),
    };
    report.add(site);
    sites.into_iter().for_each(|site| report.add(site));
    Ok(())
}

/// The site of a target that stays as it is.
fn left(target: &dyn Target, why: &dyn std::fmt::Display) -> Site {
    let mut site = target.site();
    site.refuse(&Error::from_reason(why));
    site
}

/// Opens the state if there is something to undo, or if a killed run has left a lock and copies,
/// which go with the state.
fn open<'t>(
    dir: &Path,
    mut targets: impl Iterator<Item = &'t dyn Target>,
    tidies: bool,
) -> Result<Option<State>> {
    let known = State::look(dir)?;
    let touched = targets.any(|target| is_touched(target, &known));
    match touched || (tidies && State::is_left(dir)) {
        true => State::open(dir, false).map(Some),
        false => Ok(None),
    }
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
    let is_there = files.edited.is_none() && files.own.as_ref().is_some_and(|own| own.exists());
    state.entry(files.key()).is_some() || has_lines || is_there
}

/// Refuses a target whose own file programs read without any line elsewhere, if the file has to
/// stay.
fn refusal(target: &dyn Target, state: &State) -> Result<()> {
    let files = target.files()?;
    let Some(own) = files.own.as_ref().filter(|_| files.edited.is_none()) else {
        return Ok(());
    };
    let text = files::read(own)?;
    let why = text.and_then(|text| not_ours(&text, state.entry(files.key())));
    why.map_or(Ok(()), |why| Err(at(own, format!("{why}; move it away"))))
}

fn undo(target: &dyn Target, state: &mut State, notes: &mut Vec<String>) -> Result<()> {
    let files = target.files()?;
    for file in files.own.iter().chain(&files.edited) {
        files::refuse_foreign_link(file)?;
    }
    files.sweep();
    refusal(target, state)?;
    let entry = state.entry(files.key()).cloned();
    if let Some(file) = &files.edited {
        undo_edit(target, &files, file, entry.as_ref(), &state.trial()?, notes)?;
    }
    if let Some(own) = &files.own {
        remove_own(own, entry.as_ref(), notes)?;
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
    // A recorded file can be a symbolic link now, which stays.
    let file = &files::real(file)?;
    let sum = checksum(&current);
    if let Some(entry) = entry.filter(|entry| entry.after == sum) {
        match entry.kept() {
            Ok(Some(original)) => {
                return files::replace_dated(file, &original, Look::Like(file), entry.time)
            }
            Ok(None) => return files::remove(file),
            Err(error) => {
                let instead = match take_out(target, files, file, &current, scratch)? {
                    true => "our lines were removed instead",
                    false => "our lines are not in the file, so it stays as it is",
                };
                notes.push(format!("{error}; {instead}"));
                return Ok(());
            }
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

/// Why the content of our own file is not ours any more; None if it is.
fn not_ours(text: &[u8], entry: Option<&Entry>) -> Option<&'static str> {
    let entry = entry.filter(|entry| entry.done);
    let sum = entry.and_then(|entry| entry.own_sum.as_deref());
    match sum {
        _ if !is_ours(text) => Some("'tenrounds enable' did not write it"),
        Some(sum) if sum != checksum(text) => {
            Some("was changed by somebody after 'tenrounds enable'")
        }
        _ => None,
    }
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
