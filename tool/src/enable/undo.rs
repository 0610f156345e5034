// SPDX-License-Identifier: BSD-2-Clause
//! Undoing: `disable --system`, and what it shares with that of a user.

use super::edit::{self, Found};
use super::files::{self, Like};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{self, checksum, Entry, State};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, OWN, OWN_HEAD};
use crate::openssl::programs::{self, Program};
use crate::openssl::trial;
use crate::root::Root;
use libcrypto::LibCrypto;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// Undoes all changes of `enable`, or only those that load one of these modules, if any are given.
pub fn disable(root: &Path, modules: &[PathBuf]) -> Result<Report> {
    let dir = state::system_dir(root);
    // libcrypto may be missing: our lines are removed even if OpenSSL was uninstalled since.
    let libcrypto = LibCrypto::open().ok();
    let found = programs::installations(root, libcrypto.as_ref());
    let mut report = Report::default();
    let sites = places(&State::look(&dir)?, &found.sites, modules);
    refuse_others(root, &sites, modules)?;
    // What a killed run left is tidied up by whoever undoes everything.
    let is_left = modules.is_empty() && State::is_left(&dir);
    if sites.iter().all(|place| !place.touched) && !is_left {
        for place in sites {
            report
                .sites
                .push(Site::new("system", place.conf, place.programs));
        }
        report.passed_over(found.passed_over);
        return Ok(report);
    }
    let mut state = State::lock(&dir)?;
    for place in places(&state, &found.sites, modules) {
        let mut shown = Site::new("system", place.conf.clone(), place.programs.clone());
        if place.touched {
            let rooted = root != Path::new("/");
            if let Err(error) = undo(&mut state, &place, rooted, &mut shown, &mut report.notes) {
                shown.outcome = Outcome::Refused;
                shown.reason = Some(error.to_string());
            }
        }
        report.sites.push(shown);
    }
    report.passed_over(found.passed_over);
    Ok(report)
}

/// A file to look at, and whether there is something of ours.
struct Place {
    conf: PathBuf,
    file: PathBuf,
    programs: Vec<Program>,
    touched: bool,
}

/// What was changed, by the state or by the looks of it.
fn places(state: &State, sites: &[programs::Site], modules: &[PathBuf]) -> Vec<Place> {
    let mut places: Vec<Place> = sites
        .iter()
        .map(|site| {
            let file = files::real(&site.conf).unwrap_or_else(|_| site.conf.clone());
            let own = file.with_file_name(OWN);
            let text = files::read(&file).ok().flatten().unwrap_or_default();
            let line = configuration::include_line(&own);
            let inside = edit::find(&text, &line, &own.to_string_lossy()) != Found::Nothing;
            Place {
                touched: inside || state.entry(&file).is_some(),
                conf: site.conf.clone(),
                programs: site.programs.clone(),
                file,
            }
        })
        .collect();
    for entry in &state.files {
        if !places.iter().any(|place| place.file == entry.file) {
            places.push(Place {
                conf: entry.file.clone(),
                file: entry.file.clone(),
                programs: Vec::new(),
                touched: true,
            });
        }
    }
    for place in &mut places {
        let own = place.file.with_file_name(OWN);
        place.touched &= modules.is_empty() || loads(&own, modules);
    }
    places
}

/// Whether our own file loads one of these modules. True if the file is gone: it may have loaded
/// one.
pub fn loads(own: &Path, modules: &[PathBuf]) -> bool {
    let text = files::read(own).ok().flatten();
    let lines: Vec<Vec<u8>> = names(modules)
        .iter()
        .map(|module| configuration::module_line(module))
        .collect();
    text.is_none_or(|text| {
        let mut there = text.split_inclusive(|&byte| byte == b'\n');
        there.any(|line| lines.iter().any(|ours| ours == line))
    })
}

/// The paths of the modules as given, and with symbolic links resolved, as `enable` writes them.
fn names(modules: &[PathBuf]) -> Vec<PathBuf> {
    let real = modules.iter().filter_map(|path| path.canonicalize().ok());
    modules.iter().cloned().chain(real).collect()
}

/// Refuses if a line that `enable` did not write loads one of these modules.
fn refuse_others(root: &Path, places: &[Place], modules: &[PathBuf]) -> Result<()> {
    let names = names(modules);
    let view = Root::new(root);
    for place in places.iter().filter(|_| !modules.is_empty()) {
        let inside = place.file.strip_prefix(root).unwrap_or(&place.file);
        let cnf = Cnf::read(&view, &Path::new("/").join(inside));
        let named = cnf.assignments.iter().find(|a| {
            let ours = a.place.file.file_name() == Some(OWN.as_ref());
            !ours
                && names
                    .iter()
                    .any(|name| name.as_os_str() == a.value.as_str())
        });
        if let Some(a) = named {
            return Err(Error::failure(format!(
                "{}: loads {}, but 'tenrounds enable' did not write this line; remove it by hand",
                a.place, a.value
            )));
        }
    }
    Ok(())
}

fn undo(
    state: &mut State,
    place: &Place,
    rooted: bool,
    shown: &mut Site,
    notes: &mut Vec<String>,
) -> Result<()> {
    let file = &place.file;
    shown.file = Some(file.clone());
    let own = file.with_file_name(OWN);
    files::sweep(file);
    files::sweep(&own);
    let scratch = state.trial()?;
    let check = |conf: &Path| trial::works(&place.programs, conf);
    undo_edit(
        state,
        file,
        &configuration::include_line(&own),
        &own.to_string_lossy(),
        &check,
        &scratch,
        notes,
    )?;
    remove_own(state.entry(file), &own, notes)?;
    state.forget(file)?;
    shown.outcome = Outcome::Disabled;
    let conf = if rooted {
        Some(place.conf.as_path())
    } else {
        None
    };
    for program in &place.programs {
        if let Err(why) = trial::random(&program.path, conf) {
            notes.push(format!(
                "{}, as it is without tenrounds: {why}",
                program.path.display()
            ));
        }
    }
    Ok(())
}

type Works<'a> = dyn Fn(&Path) -> std::result::Result<(), String> + 'a;

/// Makes a file what it was; or, where somebody has changed it since, removes our lines and no
/// more.
pub fn undo_edit(
    state: &State,
    file: &Path,
    line: &[u8],
    needle: &str,
    works: &Works<'_>,
    scratch: &Path,
    notes: &mut Vec<String>,
) -> Result<()> {
    let Some(current) = files::read(file)? else {
        notes.push(format!("{} is gone", file.display()));
        return Ok(());
    };
    let entry = state.entry(file);
    let sum = checksum(&current);
    if let Some(entry) = entry.filter(|entry| entry.after == sum) {
        return match state::kept(entry) {
            Ok(Some(original)) => files::replace(file, &original, Like::Replaced, entry.time),
            Ok(None) => files::remove(file),
            Err(error) => {
                notes.push(format!("{error}; our lines were removed instead"));
                take_out(file, &current, line, needle, works, scratch).map(|_| ())
            }
        };
    }
    if entry.is_some_and(|entry| entry.before.as_deref() == Some(&sum)) {
        return Ok(());
    }
    match take_out(file, &current, line, needle, works, scratch)? {
        true => notes.push(format!(
            "{} was changed by somebody after 'tenrounds enable': only our lines were removed",
            file.display()
        )),
        false => notes.push(format!(
            "{} was changed by somebody, and our lines are no longer in it: it stays as it is",
            file.display()
        )),
    }
    Ok(())
}

fn take_out(
    file: &Path,
    current: &[u8],
    line: &[u8],
    needle: &str,
    works: &Works<'_>,
    scratch: &Path,
) -> Result<bool> {
    let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
    let range = match edit::find(current, line, needle) {
        Found::Nothing => return Ok(false),
        Found::Damaged(why) => {
            return Err(wrong(format!(
                "{why}; remove these lines by hand, then try again"
            )))
        }
        Found::Ours(range) => range,
    };
    let text = edit::without(current, &range);
    let (with, without) = (scratch.join("with"), scratch.join("without"));
    files::replace(&with, current, Like::New(0o600), None)?;
    files::replace(&without, &text, Like::New(0o600), None)?;
    if let Err(why) = works(&without) {
        if works(&with).is_ok() {
            return Err(wrong(format!(
                "it was changed after 'tenrounds enable', and does not work without our lines ({why}); fix it by hand"
            )));
        }
    }
    if files::read(file)?.as_deref() != Some(current) {
        return Err(wrong("somebody changed it just now; try again".to_owned()));
    }
    files::replace(file, &text, Like::Replaced, None).map(|()| true)
}

/// Our own file goes, unless somebody has made it theirs.
pub fn remove_own(entry: Option<&Entry>, own: &Path, notes: &mut Vec<String>) -> Result<()> {
    let Some(text) = files::read(own)? else {
        return Ok(());
    };
    let head = format!("# {OWN_HEAD}\n");
    let as_written = match entry.and_then(|entry| entry.own_sum.as_deref()) {
        Some(sum) => sum == checksum(&text) || entry.is_some_and(|entry| !entry.done),
        None => true,
    };
    match text.starts_with(head.as_bytes()) && as_written {
        true => files::remove(own),
        false => {
            notes.push(format!(
                "{} was changed by somebody after 'tenrounds enable': it stays, and nothing reads it",
                own.display()
            ));
            Ok(())
        }
    }
}
