// SPDX-License-Identifier: BSD-2-Clause
//! For the system: one line in each openssl.cnf, which includes a file of our own beside it.

use super::change::Change;
use super::edit::{self, Found};
use super::files::{self, Like, Replacement, Time};
use super::report::Report;
use super::running;
use super::site::{Outcome, Site};
use super::state::{self, checksum, Entry, State};
use super::status;
use crate::inventory::install::{self, Install};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, Config, OWN, OWN_HEAD};
use crate::openssl::nodejs::Nodejs;
use crate::openssl::programs;
use crate::openssl::trial::{self, Subject, Trial};
use crate::root::Root;
use crate::settings::config::{self, Source};
use crate::settings::starts;
use crate::trust;
use crate::trust::{Loose, Trusted};
use libcrypto::LibCrypto;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// Enables tenrounds in each openssl.cnf. A dry run only says what would be written.
pub fn enable(root: &Path, dry_run: bool) -> Result<Report> {
    let libcrypto = LibCrypto::open()?;
    let module = libcrypto::module::find(Some(&libcrypto))?;
    trust::only_mine(&module)?;
    let mut found = programs::installations(root, Some(&libcrypto));
    pass_over_untrusted(root, &mut found);
    let mut report = Report::new(dry_run);
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
    let dir = state::system_dir(root);
    let mut state = match dry_run {
        true => State::dry_run(&dir)?,
        false => State::lock(&dir)?,
    };
    let scratch = state.trial()?;
    let nodejs = Nodejs::look(&Root::new(root));
    report.notes.extend(nodejs.note());
    for site in found.sites {
        let mut shown = Site::new("system", site.conf.clone(), site.programs.clone());
        let mut work = Work {
            libcrypto: &libcrypto,
            module: &module,
            nodejs: &nodejs,
            state: &mut state,
            rooted: root != Path::new("/"),
            site: &site,
            scratch: scratch.clone(),
            notes: &mut report.notes,
        };
        if let Err(error) = work.enable(&mut shown) {
            shown.outcome = Outcome::Refused;
            shown.reason = Some(error.to_string());
        }
        report.note_version(shown.provider_version.as_deref(), Some(&module));
        report.note_opaque_keys(&shown.openssl);
        report.sites.push(shown);
    }
    report.note_state(&dir);
    report.running = running::find(&Root::new(root), &report.sites);
    report.passed_over(found.passed_over);
    report.note_overrides(None);
    Ok(report)
}

/// Root tries no configuration that another user can replace: it would load that user's modules.
fn pass_over_untrusted(root: &Path, found: &mut programs::Found) {
    if !trust::is_root() {
        return;
    }
    let installs = install::find(&Root::new(root), &[]);
    for site in std::mem::take(&mut found.sites) {
        match replaceable(root, &site, &installs) {
            None => found.sites.push(site),
            Some(loose) => {
                let why = status::not_tried(&loose);
                found.passed_over.push((site.conf, why));
            }
        }
    }
}

/// The part of a site that another user can replace: the directory of its configuration, a file of
/// the configuration, or a module.
fn replaceable(root: &Path, site: &programs::Site, installs: &[Install]) -> Option<Loose> {
    let machine = Root::machine();
    let directory = site.conf.parent().unwrap_or(root);
    let loose = Trusted::root_and(machine.top(), 0).loose(directory);
    if let Some(loose) = loose.ok().and_then(|loose| loose.into_iter().next()) {
        return Some(loose);
    }
    let reads = |install: &&Install| {
        let library = programs::below(root, &install.library);
        site.libraries.contains(&library)
    };
    // Each library looks for modules in a directory of its own.
    let readers = installs.iter().filter(reads).map(Some).chain([None]);
    readers.into_iter().find_map(|install| {
        let source = Source {
            view: &machine,
            file: site.conf.clone(),
            reader: String::new(),
            install,
            by_variable: false,
        };
        starts::refused_to_root(&source, &config::check(&source))
    })
}

struct Work<'a> {
    libcrypto: &'a LibCrypto,
    module: &'a Path,
    nodejs: &'a Nodejs,
    state: &'a mut State,
    /// Whether the programs are told where the configuration is, instead of looking where they
    /// always do.
    rooted: bool,
    site: &'a programs::Site,
    /// A private directory to try things in.
    scratch: PathBuf,
    notes: &'a mut Vec<String>,
}

/// What there is before anything is changed.
struct Before {
    /// With all symbolic links followed.
    file: PathBuf,
    own: PathBuf,
    own_now: Option<Vec<u8>>,
    line: Vec<u8>,
    current: Option<Vec<u8>>,
    /// Without our lines.
    original: Option<Vec<u8>>,
    /// Whether our lines are in it.
    present: bool,
    /// A file that has not our lines in it; None if there is no configuration.
    base: Option<PathBuf>,
}

impl Work<'_> {
    fn enable(&mut self, shown: &mut Site) -> Result<()> {
        let before = self.before()?;
        let base = self.read_base(&before)?;
        let comments = [
            OWN_HEAD.to_owned(),
            format!("{} includes it.", before.file.display()),
        ];
        let named = (base.as_ref(), before.file.as_path());
        let config = configuration::addition(&comments, None, named, self.module, self.nodejs)?;
        shown.file = Some(before.file.clone());
        shown.own_file = Some(before.own.clone());
        shown.module = Some(self.module.to_owned());
        let there = before.present && before.own_now.as_deref() == Some(&config.text);
        if !there {
            let candidate = self.candidate(&before, &config)?;
            let trial = self.try_out(Some(&candidate), &before);
            let problem = trial.problem();
            shown.tried(trial);
            if let Some(problem) = problem {
                return Err(self.untried(&problem, &before));
            }
        }
        if there {
            self.look_again(shown, &before);
        }
        if self.state.is_dry_run() {
            propose(shown, &before, &config.text);
            return Ok(());
        }
        let entry = self.entry(&before, &config.text)?;
        shown.backup.clone_from(&entry.backup);
        let done = true;
        match there {
            true => self.state.put(Entry { done, ..entry }),
            false => self.install(shown, &before, &config.text, entry),
        }
    }

    /// There is nothing to do but to see whether it works.
    fn look_again(&self, shown: &mut Site, before: &Before) {
        let trial = self.verify(before);
        shown.outcome = Outcome::AlreadyEnabled;
        let problem = trial.problem().or_else(|| self.hidden(&trial, before));
        if let Some(problem) = problem {
            shown.broken(&format!("enabled already, but {problem}"));
        }
        shown.tried(trial);
    }

    fn before(&self) -> Result<Before> {
        let file = files::real(&self.site.conf)?;
        let own = file.with_file_name(OWN);
        if !self.state.is_dry_run() {
            files::sweep(&file);
            files::sweep(&own);
        }
        let own_now = refuse_foreign(&own, self.state.entry(&file))?;
        let current = files::read(&file)?;
        let links = fs::metadata(&file).map_or(1, |meta| meta.nlink());
        if links > 1 {
            return Err(Error::failure(format!(
                "{}: the file has {links} names (hard links), and only this one would be changed; make it a file of its own",
                file.display()
            )));
        }
        refuse_zeros(&file, current.as_deref().unwrap_or_default())?;
        let line = configuration::include_line(&own);
        let (original, present) = original(self.state, &file, current.as_deref(), &line, &own)?;
        let base = self.base(original.as_deref(), present)?;
        Ok(Before {
            file,
            own,
            own_now,
            line,
            current,
            original,
            present,
            base,
        })
    }

    /// A file to parse that has not our lines in it.
    fn base(&self, original: Option<&[u8]>, present: bool) -> Result<Option<PathBuf>> {
        match original {
            None => Ok(None),
            Some(_) if !present => Ok(Some(self.site.conf.clone())),
            Some(original) => {
                let path = self.scratch.join("base");
                files::replace(&path, original, Like::New(0o600), None)?;
                Ok(Some(path))
            }
        }
    }

    /// Reads the configuration as it is without our lines, and refuses it if FIPS is in force.
    fn read_base(&mut self, before: &Before) -> Result<Option<Cnf>> {
        let Some(base) = &before.base else {
            return Ok(None);
        };
        let file = &before.file;
        let cnf = configuration::load(self.libcrypto, base)?;
        if let Some(why) = configuration::fips(&cnf) {
            return Err(Error::failure(format!(
                "{}: FIPS is in force ('{why}'), and tenrounds is not validated; it stays off here",
                file.display()
            )));
        }
        if configuration::lacks_default(&cnf) {
            self.notes.push(format!(
                "{} activates providers and not 'default', which switches that off; with tenrounds it is on",
                file.display()
            ));
        }
        Ok(Some(cnf))
    }

    /// What is to be, in a private place.
    fn candidate(&self, before: &Before, config: &Config) -> Result<PathBuf> {
        let own = self.scratch.join(OWN);
        let file = self.scratch.join("openssl.cnf");
        files::replace(&own, &config.text, Like::New(0o600), None)?;
        let original = before.original.as_deref().unwrap_or_default();
        let text = edit::add(original, &configuration::include_line(&own));
        files::replace(&file, &text, Like::New(0o600), None)?;
        config.verify(self.libcrypto, &file, self.module)?;
        Ok(file)
    }

    fn untried(&self, problem: &str, before: &Before) -> Error {
        let base = before.base.as_deref().unwrap_or(Path::new("/dev/null"));
        let cure = match trial::works(&self.site.programs, base) {
            Ok(()) => String::new(),
            Err(why) => format!(
                "; nor does OpenSSL work without tenrounds ({why}): fix {} first",
                before.file.display()
            ),
        };
        Error::failure(format!(
            "tried in child processes, nothing was changed: {problem}{cure}"
        ))
    }

    fn try_out(&self, conf: Option<&Path>, before: &Before) -> Trial {
        let subject = Subject {
            programs: &self.site.programs,
            libcrypto: self.site.ours || self.rooted,
            conf,
            libraries: self.site.alone(),
            without: before.base.as_deref().or(Some(Path::new("/dev/null"))),
            others: conf.is_none(),
        };
        subject.run()
    }

    /// Why other users' programs do not take AES from tenrounds: as tried, or by the modes of
    /// files.
    fn hidden(&self, trial: &Trial, before: &Before) -> Option<String> {
        let saw = match trial.others() {
            _ if self.rooted => return None,
            Some(Ok(())) => return None,
            Some(Err(saw)) => Some(saw),
            None => None,
        };
        let files = [self.module, &before.own, &before.file];
        let mut hidden = files
            .into_iter()
            .filter_map(|file| trust::hidden(Path::new("/"), file));
        let why = hidden.next().map(|hidden| hidden.advice());
        why.or(saw.map(str::to_owned))
            .map(|why| format!("not for all users: {why}"))
    }

    /// Tries what is in force.
    fn verify(&self, before: &Before) -> Trial {
        let conf = self.rooted.then_some(self.site.conf.as_path());
        self.try_out(conf, before)
    }

    /// What undoes it, kept on the disk.
    fn entry(&self, before: &Before, own: &[u8]) -> Result<Entry> {
        let text = after(before);
        let sum = before.original.as_deref().map(checksum);
        let known = self.state.entry(&before.file).filter(|_| before.present);
        let known = known.filter(|known| known.before == sum);
        let (backup, time) = match (known, &before.original) {
            (Some(known), _) => (known.backup.clone(), known.time),
            (None, Some(original)) => {
                let time = Time::of(&before.file).filter(|_| !before.present);
                (Some(self.state.keep(&before.file, original)?), time)
            }
            (None, None) => (None, None),
        };
        Ok(Entry {
            backup,
            before: sum,
            time,
            line: String::from_utf8_lossy(&before.line).into_owned(),
            own: Some(before.own.clone()),
            own_sum: Some(checksum(own)),
            ..Entry::created(&before.file, &text)
        })
    }

    fn install(
        &mut self,
        shown: &mut Site,
        before: &Before,
        own: &[u8],
        entry: Entry,
    ) -> Result<()> {
        let known = self.state.entry(&before.file).cloned();
        self.state.put(entry.clone())?;
        let mut made = Vec::new();
        let done = self.replace(before, own, &mut made).and_then(|()| {
            let trial = self.verify(before);
            let problem = trial.problem().or_else(|| self.hidden(&trial, before));
            shown.tried(trial);
            problem.map_or(Ok(()), |problem| Err(Error::failure(problem)))
        });
        if let Err(error) = done {
            let mut made = made.into_iter().rev();
            made.try_for_each(Replacement::take_back)?;
            match known {
                Some(known) => self.state.put(known)?,
                None => self.state.forget(&before.file)?,
            }
            return Err(Error::failure(format!("{error}; all is as it was")));
        }
        made.into_iter().for_each(Replacement::keep);
        shown.outcome = Outcome::Enabled;
        let done = true;
        self.state.put(Entry { done, ..entry })
    }

    /// Our own file first: nothing reads it before the line is there.
    fn replace(&self, before: &Before, own: &[u8], made: &mut Vec<Replacement>) -> Result<()> {
        let like = || match before.current.is_some() {
            true => Like::File(&before.file),
            false => Like::New(0o644),
        };
        let own_now = before.own_now.as_deref();
        made.push(Replacement::make(&before.own, own_now, own, like())?);
        if !before.present {
            let text = after(before);
            let current = before.current.as_deref();
            made.push(Replacement::make(&before.file, current, &text, like())?);
        }
        Ok(())
    }
}

/// Says what would be written. If nothing would, the site is enabled already.
fn propose(shown: &mut Site, before: &Before, own: &[u8]) {
    let files = [
        Change::of(&before.own, before.own_now.as_deref(), own),
        Change::of(&before.file, before.current.as_deref(), &after(before)),
    ];
    shown.changes.extend(files.into_iter().flatten());
    if !shown.changes.is_empty() {
        shown.outcome = Outcome::WouldEnable;
    }
}

/// The file as it is to be. Where our lines are in it, it stays.
fn after(before: &Before) -> Vec<u8> {
    match (&before.current, before.present) {
        (Some(current), true) => current.clone(),
        _ => edit::add(before.original.as_deref().unwrap_or_default(), &before.line),
    }
}

/// libcrypto reads lines as strings of C, of which a zero byte would hide the rest.
fn refuse_zeros(file: &Path, text: &[u8]) -> Result<()> {
    match text.iter().position(|&byte| byte == 0) {
        None => Ok(()),
        Some(at) => Err(Error::failure(format!(
            "{}: has a zero byte at {at} and is damaged; fix it first",
            file.display()
        ))),
    }
}

/// Our own file's name must be free, or its file ours and as we left it. Returns its content.
fn refuse_foreign(own: &Path, entry: Option<&Entry>) -> Result<Option<Vec<u8>>> {
    let wrong = |why: &str| {
        Err(Error::failure(format!(
            "{}: {why}; move it away",
            own.display()
        )))
    };
    let Ok(meta) = fs::symlink_metadata(own) else {
        return Ok(None);
    };
    if !meta.is_file() {
        return wrong("is there already, and 'tenrounds enable' did not write it");
    }
    let text = files::read(own)?.unwrap_or_default();
    if !text.starts_with(format!("# {OWN_HEAD}\n").as_bytes()) {
        return wrong("is there already, and 'tenrounds enable' did not write it");
    }
    let known = entry
        .filter(|entry| entry.done)
        .and_then(|entry| entry.own_sum.as_deref());
    match known.is_some_and(|sum| sum != checksum(&text)) {
        true => wrong("was changed by somebody after 'tenrounds enable'"),
        false => Ok(Some(text)),
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
            "{}: {why}; remove these lines by hand, then try again",
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
