// SPDX-License-Identifier: BSD-2-Clause
//! For one user: a configuration that includes the system's, and the line that sets OPENSSL_CONF.

use super::change::Change;
use super::edit::{self, Found};
use super::files::{self, Like, Replacement, Time};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{checksum, Entry, State};
use super::undo::{loads, remove_own, undo_edit};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, Config, OWN_HEAD};
use crate::openssl::nodejs::Nodejs;
use crate::openssl::programs::{self, Program};
use crate::openssl::trial::{Subject, Trial};
use libcrypto::LibCrypto;
use terminal::error::{Error, Result};

use crate::root::Root;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The user's directories.
pub struct Home {
    pub home: PathBuf,
    pub config: PathBuf,
    /// The configuration.
    pub own: PathBuf,
    pub state: PathBuf,
}

impl Home {
    pub fn find() -> Result<Home> {
        let absolute = |name: &str| {
            let path = std::env::var_os(name).map(PathBuf::from);
            path.filter(|path| path.is_absolute())
        };
        let home = absolute("HOME").ok_or_else(|| {
            Error::failure("HOME is not set to a directory; set it, or use --system")
        })?;
        let config = absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let state = absolute("XDG_STATE_HOME").unwrap_or_else(|| home.join(".local/state"));
        Ok(Home {
            own: config.join("tenrounds/openssl.cnf"),
            config,
            state: state.join("tenrounds"),
            home,
        })
    }

    /// Under sudo HOME may still be the caller's, where root should leave nothing.
    fn refuse_foreign(&self) -> Result<()> {
        // SAFETY: it has no arguments and cannot fail.
        let user = unsafe { libc::geteuid() };
        let owner = fs::metadata(&self.home).map(|meta| meta.uid());
        let owner = owner
            .map_err(|error| Error::failure(format!("HOME, {}: {error}", self.home.display())))?;
        match owner == user {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "HOME, {}, belongs to user {owner}, and this is user {user}; run it as that user, or with --system",
                self.home.display()
            ))),
        }
    }

    /// The file that the user's shell reads when it begins.
    fn profile(&self) -> PathBuf {
        let shell = std::env::var("SHELL").unwrap_or_default();
        let bash = [".bash_profile", ".bash_login", ".profile"];
        match shell.rsplit('/').next() {
            Some("zsh") => std::env::var_os("ZDOTDIR")
                .map_or(self.home.clone(), PathBuf::from)
                .join(".zprofile"),
            Some("fish") => match self.own.ancestors().nth(2) {
                Some(config) => config.join("fish/config.fish"),
                None => self.home.join(".config/fish/config.fish"),
            },
            Some("bash") => bash
                .iter()
                .map(|name| self.home.join(name))
                .find(|path| path.exists())
                .unwrap_or_else(|| self.home.join(".profile")),
            _ => self.home.join(".profile"),
        }
    }

    /// The line that sets the variable, in the language of a profile. If the path is not UTF-8, the
    /// shell's $HOME has to stand for a part of it.
    fn line(&self, profile: &Path) -> Result<String> {
        let below = self.own.strip_prefix(&self.home).ok();
        let (home, path) = match (self.own.to_str(), below.and_then(Path::to_str)) {
            (Some(path), _) => ("", path.to_owned()),
            (None, Some(below)) => (r#""$HOME""#, format!("/{below}")),
            (None, None) => {
                return Err(Error::failure(format!(
                    "{}: this path is not UTF-8, so no line of a shell can name it; set XDG_CONFIG_HOME to a directory whose name is",
                    self.own.display()
                )))
            }
        };
        Ok(match profile.extension().is_some_and(|e| e == "fish") {
            true => format!(
                "set -gx OPENSSL_CONF {home}'{}'",
                path.replace('\\', r"\\").replace('\'', r"\'")
            ),
            false => format!(
                "export OPENSSL_CONF={home}'{}'",
                path.replace('\'', r"'\''")
            ),
        })
    }
}

/// The configuration that programs of this user read without us.
fn base(libcrypto: &LibCrypto, own: &Path) -> Option<PathBuf> {
    let named = std::env::var_os("OPENSSL_CONF").filter(|path| path != own.as_os_str());
    match named {
        Some(_) => configuration::base(libcrypto),
        None => libcrypto
            .config_dir()
            .map(|dir| dir.join("openssl.cnf"))
            .filter(|path| path.exists()),
    }
}

/// Enables tenrounds for this user. A dry run only says what would be written.
pub fn enable(root: &Path, profile: Option<&Path>, dry_run: bool) -> Result<Report> {
    let home = Home::find()?;
    home.refuse_foreign()?;
    let libcrypto = LibCrypto::open()?;
    let module = libcrypto::module::find(Some(&libcrypto))?;
    let base = base(&libcrypto, &home.own);
    refuse_foreign(&home.own)?;
    let read = |base: &PathBuf| read_base(&libcrypto, base);
    let cnf = base.as_ref().map(read).transpose()?;
    let named = (cnf.as_ref(), base.as_deref().unwrap_or(&home.own));
    let comments = [OWN_HEAD.to_owned()];
    let nodejs = Nodejs::look(&Root::new(root));
    let config = configuration::addition(&comments, base.as_deref(), named, &module, &nodejs)?;
    let edited = profile.map(|path| edited(&home, path)).transpose()?;
    let line_for = edited.as_ref().map_or(Path::new(""), |edited| &edited.file);
    let export = home.line(line_for)?;
    let found = programs::installations(root, Some(&libcrypto));

    let mut state = match dry_run {
        true => State::dry_run(&home.state)?,
        false => State::lock(&home.state)?,
    };
    let work = Work {
        libcrypto: &libcrypto,
        module: &module,
        home: &home,
        programs: found.sites.into_iter().flat_map(|s| s.programs).collect(),
        base: base.as_deref().unwrap_or(Path::new("/dev/null")),
        scratch: state.trial()?,
    };
    let mut shown = Site::new("user", home.own.clone(), work.programs.clone());
    work.enable(&mut state, &config, &mut shown)?;
    let mut report = Report::new(dry_run);
    report.note_state(&home.state);
    report.notes.extend(nodejs.note());
    if let Some(edited) = edited {
        match dry_run {
            true => shown.changes.extend(edited.change()),
            false => edited.write(&mut state)?,
        }
        report.profile = Some(edited.file);
    }
    report.export = Some(export);
    report.note_version(shown.provider_version.as_deref(), Some(&module));
    report.note_opaque_keys(&shown.openssl);
    report.sites.push(shown);
    report.passed_over(found.passed_over);
    report.note_overrides(Some(&home.own));
    Ok(report)
}

struct Work<'a> {
    libcrypto: &'a LibCrypto,
    module: &'a Path,
    home: &'a Home,
    programs: Vec<Program>,
    base: &'a Path,
    /// A private directory to try things in.
    scratch: PathBuf,
}

impl Work<'_> {
    fn enable(&self, state: &mut State, config: &Config, shown: &mut Site) -> Result<()> {
        let own = &self.home.own;
        shown.own_file = Some(own.clone());
        shown.module = Some(self.module.to_owned());
        if !state.is_dry_run() {
            files::sweep(own);
        }
        let current = files::read(own)?;
        let mut entry = Entry::created(own, &config.text);
        if current.as_deref() == Some(&config.text) {
            let trial = self.try_out(own);
            shown.outcome = Outcome::AlreadyEnabled;
            if let Some(problem) = trial.problem() {
                shown.broken(&format!("enabled already, but {problem}"));
            }
            shown.tried(trial);
            if state.is_dry_run() {
                return Ok(());
            }
        } else {
            let candidate = self.scratch.join("openssl.cnf");
            files::replace(&candidate, &config.text, Like::New(0o600), None)?;
            config.verify(self.libcrypto, &candidate, self.module)?;
            let trial = self.try_out(&candidate);
            refused(&trial, "tried in child processes, nothing was changed")?;
            if state.is_dry_run() {
                let change = Change::of(own, current.as_deref(), &config.text);
                shown.changes.extend(change);
                shown.outcome = Outcome::WouldEnable;
                shown.tried(trial);
                return Ok(());
            }
            state.put(entry.clone())?;
            shown.tried(self.replace(state, current.as_deref(), &config.text)?);
            shown.outcome = Outcome::Enabled;
        }
        entry.done = true;
        state.put(entry)
    }

    fn try_out(&self, conf: &Path) -> Trial {
        let subject = Subject {
            programs: &self.programs,
            libcrypto: true,
            conf: Some(conf),
            without: Some(self.base),
            libraries: &[],
            others: false,
        };
        subject.run()
    }

    /// Puts the configuration in its place, and tries it there.
    fn replace(&self, state: &mut State, current: Option<&[u8]>, text: &[u8]) -> Result<Trial> {
        let own = &self.home.own;
        files::make_directory(own.parent().unwrap_or(Path::new("/")), 0o700)?;
        let made = Replacement::make(own, current, text, Like::New(0o600))?;
        let trial = self.try_out(own);
        if let Err(error) = refused(&trial, "tried again in its place, and undone") {
            made.take_back()?;
            state.forget(own)?;
            return Err(error);
        }
        made.keep();
        Ok(trial)
    }
}

fn refused(trial: &Trial, when: &str) -> Result<()> {
    match trial.problem() {
        None => Ok(()),
        Some(problem) => Err(Error::failure(format!("{when}: {problem}"))),
    }
}

fn refuse_foreign(own: &Path) -> Result<()> {
    let head = format!("# {OWN_HEAD}\n");
    match files::read(own)? {
        Some(text) if !text.starts_with(head.as_bytes()) => Err(Error::failure(format!(
            "{}: is there already, and 'tenrounds enable' did not write it; move it away",
            own.display()
        ))),
        _ => Ok(()),
    }
}

/// Reads the configuration to include, and refuses it if FIPS is in force.
fn read_base(libcrypto: &LibCrypto, base: &Path) -> Result<Cnf> {
    let cnf = configuration::load(libcrypto, base)?;
    match configuration::fips(&cnf) {
        None => Ok(cnf),
        Some(why) => Err(Error::failure(format!(
            "{}: FIPS is in force ('{why}'), and tenrounds is not validated; it stays off here",
            base.display()
        ))),
    }
}

/// A profile and what it is to become.
struct Edited {
    file: PathBuf,
    line: String,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

/// An empty name stands for the profile of the user's shell.
fn edited(home: &Home, profile: &Path) -> Result<Edited> {
    let profile = match profile.as_os_str().is_empty() {
        true => home.profile(),
        false => std::env::current_dir().map_or(profile.to_owned(), |dir| dir.join(profile)),
    };
    let file = files::real(&profile)?;
    let line = home.line(&file)? + "\n";
    let before = files::read(&file)?;
    let text = before.as_deref().unwrap_or_default();
    let after = match edit::find(text, line.as_bytes(), "OPENSSL_CONF=") {
        Found::Nothing => Some(edit::add(text, line.as_bytes())),
        Found::Ours(_) => None,
        Found::Damaged(why) => {
            return Err(Error::failure(format!(
                "{}: {why}; remove that line, or put this one there by hand: {}",
                file.display(),
                line.trim_end()
            )))
        }
    };
    Ok(Edited {
        file,
        line,
        before,
        after,
    })
}

impl Edited {
    fn change(&self) -> Option<Change> {
        Change::of(&self.file, self.before.as_deref(), self.after.as_deref()?)
    }

    fn write(&self, state: &mut State) -> Result<()> {
        let Some(after) = &self.after else {
            return Ok(());
        };
        if files::read(&self.file)? != self.before {
            return Err(Error::failure(format!(
                "{}: somebody changed it just now; try again",
                self.file.display()
            )));
        }
        files::sweep(&self.file);
        let backup = self.before.as_deref();
        let backup = backup
            .map(|text| state.keep(&self.file, text))
            .transpose()?;
        let mut entry = Entry {
            backup,
            before: self.before.as_deref().map(checksum),
            time: Time::of(&self.file),
            line: self.line.clone(),
            ..Entry::created(&self.file, after)
        };
        state.put(entry.clone())?;
        let like = match self.before.is_some() {
            true => Like::Replaced,
            false => Like::New(0o644),
        };
        files::replace(&self.file, after, like, None)?;
        entry.done = true;
        state.put(entry)
    }
}

/// Undoes all changes of `enable`, or only those that load one of these modules, if any are given.
pub fn disable(modules: &[PathBuf]) -> Result<Report> {
    let home = Home::find()?;
    let mut report = Report::default();
    let mut shown = Site::new("user", home.own.clone(), Vec::new());
    let concerned = modules.is_empty() || (home.own.exists() && loads(&home.own, modules));
    if !concerned {
        report.sites.push(shown);
        return Ok(report);
    }
    home.refuse_foreign()?;
    let known = State::look(&home.state)?;
    if known.files.is_empty() && !home.own.exists() && !State::is_left(&home.state) {
        report.sites.push(shown);
        return Ok(report);
    }
    let mut state = State::lock(&home.state)?;
    let scratch = state.trial()?;
    for entry in state.files.clone() {
        files::sweep(&entry.file);
        if !entry.line.is_empty() {
            let line = entry.line.as_bytes();
            let notes = &mut report.notes;
            undo_edit(
                &state,
                &entry.file,
                line,
                "OPENSSL_CONF=",
                &|_| Ok(()),
                &scratch,
                notes,
            )?;
            state.forget(&entry.file)?;
        }
    }
    let entry = state.entry(&home.own).cloned().map(|entry| Entry {
        own_sum: Some(entry.after.clone()),
        ..entry
    });
    remove_own(entry.as_ref(), &home.own, &mut report.notes)?;
    state.forget(&home.own)?;
    if let Some(dir) = home.own.parent() {
        // It stays where somebody keeps something else in it.
        let _ = fs::remove_dir(dir);
    }
    if std::env::var_os("OPENSSL_CONF").is_some_and(|value| value == home.own.as_os_str()) {
        report
            .notes
            .push("this shell still has OPENSSL_CONF; to remove it: unset OPENSSL_CONF".into());
    }
    shown.outcome = Outcome::Disabled;
    report.sites.push(shown);
    Ok(report)
}
