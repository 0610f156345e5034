// SPDX-License-Identifier: BSD-2-Clause
//! For the system: one line in each openssl.cnf, which includes a file of our own beside it.

use super::edit::{self, Found};
use super::files::{self, Like, Replacement, Time};
use super::find::{self, Program};
use super::report::{Outcome, Report, Site};
use super::state::{self, checksum, Entry, State};
use super::trial::{self, Subject, Trial};
use super::{OWN, OWN_HEAD};
use crate::error::{Error, Result};
use crate::libcrypto::{Conf, LibCrypto};
use crate::provider;
use crate::run::config;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub fn state_dir(root: &Path) -> PathBuf {
    find::below(root, Path::new("/var/lib/tenrounds"))
}

pub fn enable(root: &Path) -> Result<Report> {
    let libcrypto = LibCrypto::open()?;
    let module = provider::find(Some(&libcrypto))?;
    files::only_mine(&module)?;
    let found = find::installations(root, &libcrypto);
    let mut report = Report::default();
    if found.sites.is_empty() {
        let over: Vec<String> = found
            .passed_over
            .iter()
            .map(|(path, why)| format!("{} {why}", path.display()))
            .collect();
        return Err(Error::failure(format!(
            "found no OpenSSL 3 or later to enable tenrounds in{}{}; install one",
            if over.is_empty() { "" } else { ": " },
            over.join("; ")
        )));
    }
    let mut state = State::lock(&state_dir(root))?;
    for site in found.sites {
        let mut shown = Site::new("system", site.conf.clone(), site.programs.clone());
        let mut work = Work {
            libcrypto: &libcrypto,
            module: &module,
            state: &mut state,
            rooted: root != Path::new("/"),
            site: &site,
            notes: &mut report.notes,
        };
        if let Err(error) = work.enable(&mut shown) {
            shown.outcome = Outcome::Refused;
            shown.reason = Some(error.to_string());
        }
        report.note_version(shown.provider_version.as_deref(), Some(&module));
        report.sites.push(shown);
    }
    report.passed_over(found.passed_over);
    report.note_overrides(None);
    Ok(report)
}

struct Work<'a> {
    libcrypto: &'a LibCrypto,
    module: &'a Path,
    state: &'a mut State,
    /// Whether the programs are told where the configuration is, instead of looking where they always do.
    rooted: bool,
    site: &'a find::Site,
    notes: &'a mut Vec<String>,
}

/// What there is before anything is changed.
struct Before {
    /// With all symbolic links followed.
    file: PathBuf,
    own: PathBuf,
    line: Vec<u8>,
    current: Option<Vec<u8>>,
    /// Without our lines.
    original: Option<Vec<u8>>,
    /// Whether our lines are in it.
    present: bool,
}

impl Work<'_> {
    fn enable(&mut self, shown: &mut Site) -> Result<()> {
        let before = self.before()?;
        shown.file = Some(before.file.clone());
        let scratch = self.state.trial()?;
        let base = self.base(&before, &scratch)?;
        let base = base.as_deref();
        self.refuse_fips(base, &before.file)?;
        let comments = [
            OWN_HEAD.to_owned(),
            format!("{} includes it.", before.file.display()),
        ];
        let named = (base, before.file.as_path());
        let config = config::addition(self.libcrypto, &comments, None, named, self.module)?;
        shown.own_file = Some(before.own.clone());
        shown.module = Some(self.module.to_owned());
        let own_now = files::read(&before.own)?;
        let nothing_to_do = before.present && own_now.as_deref() == Some(&config.text);
        if !nothing_to_do {
            let candidate = self.candidate(&before, &config, &scratch)?;
            let trial = self.try_out(Some(&candidate), base, &scratch);
            if let Some(problem) = trial.problem() {
                shown.tried(trial);
                return Err(self.untried(&problem, base, &before.file));
            }
        }
        let entry = self.entry(&before, &config.text)?;
        shown.backup.clone_from(&entry.backup);
        if nothing_to_do {
            shown.tried(self.verify(base, &scratch));
            if let Some(problem) = failed(&shown.checks) {
                shown.outcome = Outcome::Broken;
                shown.reason = Some(format!("enabled already, but {problem}"));
                return Ok(());
            }
            shown.outcome = Outcome::AlreadyEnabled;
            return self.state.put(Entry {
                done: true,
                ..entry
            });
        }
        self.install(shown, &before, &config.text, own_now, entry, base, &scratch)
    }

    fn before(&self) -> Result<Before> {
        let file = files::real(&self.site.conf)?;
        let own = file.with_file_name(OWN);
        files::sweep(&file);
        files::sweep(&own);
        refuse_foreign(&own)?;
        let current = files::read(&file)?;
        let links = fs::metadata(&file).map_or(1, |meta| meta.nlink());
        if links > 1 {
            return Err(Error::failure(format!(
                "{}: the file has {links} names (hard links), and only this one would be changed; make it a file of its own",
                file.display()
            )));
        }
        refuse_zeros(&file, current.as_deref().unwrap_or_default())?;
        let line = config::include_line(&own);
        let (original, present) = original(self.state, &file, current.as_deref(), &line, &own)?;
        Ok(Before {
            file,
            own,
            line,
            current,
            original,
            present,
        })
    }

    /// A file to parse that has not our lines in it.
    fn base(&self, before: &Before, scratch: &Path) -> Result<Option<PathBuf>> {
        match &before.original {
            None => Ok(None),
            Some(_) if !before.present => Ok(Some(self.site.conf.clone())),
            Some(original) => {
                let path = scratch.join("base");
                files::replace(&path, original, Like::New(0o600), None)?;
                Ok(Some(path))
            }
        }
    }

    fn refuse_fips(&mut self, base: Option<&Path>, file: &Path) -> Result<()> {
        let Some(base) = base else { return Ok(()) };
        let conf = Conf::load(self.libcrypto, base)?;
        if let Some(why) = config::fips(&conf) {
            return Err(Error::failure(format!(
                "{}: FIPS is in force ('{why}'), and tenrounds is not validated; it stays off here",
                file.display()
            )));
        }
        if config::lacks_default(&conf) {
            self.notes.push(format!(
                "{} activates providers and not 'default', which switches that off; with tenrounds it is on",
                file.display()
            ));
        }
        Ok(())
    }

    /// What is to be, in a private place.
    fn candidate(
        &self,
        before: &Before,
        config: &config::Config,
        scratch: &Path,
    ) -> Result<PathBuf> {
        let own = scratch.join(OWN);
        let file = scratch.join("openssl.cnf");
        files::replace(&own, &config.text, Like::New(0o600), None)?;
        let original = before.original.as_deref().unwrap_or_default();
        let text = edit::add(original, &config::include_line(&own));
        files::replace(&file, &text, Like::New(0o600), None)?;
        config.verify(self.libcrypto, &file, self.module)?;
        Ok(file)
    }

    fn untried(&self, problem: &str, base: Option<&Path>, file: &Path) -> Error {
        let base = base.unwrap_or(Path::new("/dev/null"));
        let cure = match works(&self.site.programs, base) {
            Ok(()) => String::new(),
            Err(why) => format!(
                "; nor does OpenSSL work without tenrounds ({why}): mend {} first",
                file.display()
            ),
        };
        Error::failure(format!(
            "tried in child processes, nothing was changed: {problem}{cure}"
        ))
    }

    fn try_out(&self, conf: Option<&Path>, without: Option<&Path>, scratch: &Path) -> Trial {
        let subject = Subject {
            programs: &self.site.programs,
            libcrypto: self.site.ours || self.rooted,
            conf,
            without: Some(without.unwrap_or(Path::new("/dev/null"))),
            scratch,
        };
        subject.run()
    }

    /// Tries what is in force.
    fn verify(&self, without: Option<&Path>, scratch: &Path) -> Trial {
        let conf = self.rooted.then_some(self.site.conf.as_path());
        self.try_out(conf, without, scratch)
    }

    /// What undoes it, kept on the disk.
    fn entry(&self, before: &Before, own: &[u8]) -> Result<Entry> {
        let text = after(before);
        let known = self.state.entry(&before.file).filter(|_| before.present);
        let (backup, time) = match (known, &before.original) {
            (Some(known), _) => (known.backup.clone(), known.time),
            (None, Some(original)) => (
                Some(self.state.keep(&before.file, original)?),
                Time::of(&before.file),
            ),
            (None, None) => (None, None),
        };
        Ok(Entry {
            file: before.file.clone(),
            backup,
            before: before.original.as_deref().map(checksum),
            after: checksum(&text),
            time,
            line: String::from_utf8_lossy(&before.line).into_owned(),
            own: Some(before.own.clone()),
            own_sum: Some(checksum(own)),
            done: false,
        })
    }

    #[allow(clippy::too_many_arguments)]
    fn install(
        &mut self,
        shown: &mut Site,
        before: &Before,
        own: &[u8],
        own_now: Option<Vec<u8>>,
        entry: Entry,
        base: Option<&Path>,
        scratch: &Path,
    ) -> Result<()> {
        let known = self.state.entry(&before.file).cloned();
        self.state.put(entry.clone())?;
        let mut made = Vec::new();
        let done = self.replace(before, own, own_now.as_deref(), &mut made);
        let done = done.and_then(|()| {
            let trial = self.verify(base, scratch);
            let problem = trial.problem();
            shown.tried(trial);
            problem.map_or(Ok(()), |problem| Err(Error::failure(problem)))
        });
        match done {
            Ok(()) => {
                made.into_iter().for_each(Replacement::keep);
                shown.outcome = Outcome::Enabled;
                self.state.put(Entry {
                    done: true,
                    ..entry
                })
            }
            Err(error) => {
                made.into_iter()
                    .rev()
                    .try_for_each(Replacement::take_back)?;
                match known {
                    Some(known) => self.state.put(known)?,
                    None => self.state.forget(&before.file)?,
                }
                Err(Error::failure(format!("{error}; all is as it was")))
            }
        }
    }

    /// Our own file first: nothing reads it before the line is there.
    fn replace(
        &self,
        before: &Before,
        own: &[u8],
        own_now: Option<&[u8]>,
        made: &mut Vec<Replacement>,
    ) -> Result<()> {
        let like = || match before.current.is_some() {
            true => Like::File(&before.file),
            false => Like::New(0o644),
        };
        made.push(Replacement::make(&before.own, own_now, own, like())?);
        if !before.present {
            let text = after(before);
            let current = before.current.as_deref();
            made.push(Replacement::make(&before.file, current, &text, like())?);
        }
        Ok(())
    }
}

/// The file as it is to be. Where our lines are in it, it stays.
fn after(before: &Before) -> Vec<u8> {
    match (&before.current, before.present) {
        (Some(current), true) => current.clone(),
        _ => edit::add(before.original.as_deref().unwrap_or_default(), &before.line),
    }
}

fn failed(checks: &[trial::Check]) -> Option<String> {
    let failed = checks
        .iter()
        .find(|c| c.verdict == trial::Verdict::Failed)?;
    Some(format!("{}: {}", failed.name, failed.saw))
}

/// libcrypto reads lines as strings of C, of which a zero byte would hide the rest.
fn refuse_zeros(file: &Path, text: &[u8]) -> Result<()> {
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(()),
        Some(at) => Err(Error::failure(format!(
            "{}: has a zero byte at {at} and is damaged; mend it first",
            file.display()
        ))),
    }
}

/// Our own file's name must be free, or its file ours.
fn refuse_foreign(own: &Path) -> Result<()> {
    let Ok(meta) = fs::symlink_metadata(own) else {
        return Ok(());
    };
    let head = format!("# {OWN_HEAD}\n");
    let ours = meta.is_file() && fs::read(own).is_ok_and(|text| text.starts_with(head.as_bytes()));
    match ours {
        true => Ok(()),
        false => Err(Error::failure(format!(
            "{}: is there already, and 'tenrounds enable' did not write it; move it away",
            own.display()
        ))),
    }
}

/// The file without our lines, and whether it has them.
fn original(
    state: &State,
    file: &Path,
    current: Option<&[u8]>,
    line: &[u8],
    own: &Path,
) -> Result<(Option<Vec<u8>>, bool)> {
    let Some(current) = current else {
        return Ok((None, false));
    };
    match edit::find(current, line, &own.to_string_lossy()) {
        Found::Nothing => Ok((Some(current.to_vec()), false)),
        Found::Damaged(why) => Err(Error::failure(format!(
            "{}: {why}; take these lines out by hand, then try again",
            file.display()
        ))),
        Found::Ours(range) => {
            let untouched = state
                .entry(file)
                .filter(|entry| entry.after == checksum(current));
            match untouched {
                Some(entry) => Ok((state::kept(entry)?, true)),
                None => Ok((Some(edit::without(current, &range)), true)),
            }
        }
    }
}

pub fn disable(root: &Path) -> Result<Report> {
    let dir = state_dir(root);
    let libcrypto = LibCrypto::open()?;
    let found = find::installations(root, &libcrypto);
    let mut report = Report::default();
    let sites = places(&State::look(&dir)?, &found.sites);
    if sites.iter().all(|place| !place.touched) && !State::is_left(&dir) {
        for place in sites {
            report
                .sites
                .push(Site::new("system", place.conf, place.programs));
        }
        report.passed_over(found.passed_over);
        return Ok(report);
    }
    let mut state = State::lock(&dir)?;
    for place in places(&state, &found.sites) {
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
fn places(state: &State, sites: &[find::Site]) -> Vec<Place> {
    let mut places: Vec<Place> = sites
        .iter()
        .map(|site| {
            let file = files::real(&site.conf).unwrap_or_else(|_| site.conf.clone());
            let own = file.with_file_name(OWN);
            let text = files::read(&file).ok().flatten().unwrap_or_default();
            let line = config::include_line(&own);
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
    places
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
    let check = |conf: &Path| works(&place.programs, conf);
    undo_edit(
        state,
        file,
        &config::include_line(&own),
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

/// Whether OpenSSL works with a configuration, as far as it does without any.
fn works(programs: &[Program], conf: &Path) -> std::result::Result<(), String> {
    programs
        .iter()
        .try_for_each(|program| trial::random(&program.path, Some(conf)).map(|_| ()))
}

type Works<'a> = dyn Fn(&Path) -> std::result::Result<(), String> + 'a;

/// Makes a file what it was; or, where somebody has changed it since, takes out our lines and no more.
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
                notes.push(format!("{error}; our lines were taken out instead"));
                take_out(file, &current, line, needle, works, scratch).map(|_| ())
            }
        };
    }
    if entry.is_some_and(|entry| entry.before.as_deref() == Some(&sum)) {
        return Ok(());
    }
    match take_out(file, &current, line, needle, works, scratch)? {
        true => notes.push(format!(
            "{} was changed by somebody after 'tenrounds enable': only our lines were taken out",
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
                "{why}; take these lines out by hand, then try again"
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
                "it was changed after 'tenrounds enable', and does not work without our lines ({why}); mend it by hand"
            )));
        }
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
