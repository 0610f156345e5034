// SPDX-License-Identifier: BSD-2-Clause
//! `enable --java-home`: the PKCS#11 module as the first provider of one JDK, for all its programs.
//!
//! Lines at the end of java.security do it, because the last value of a property counts. They name
//! a configuration of SunPKCS11 beside it. Both are tried with the JDK's keytool first.

use super::change::Change;
use super::files::{self, Like, Time};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{self, checksum, Entry, State};
use super::undo::remove_own;
use super::user::Home;
use crate::limited;
use crate::openssl::configuration::OWN_HEAD;
use crate::pkcs11::{self, java, registered};
use crate::trust;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::error::{Error, Result};

/// The time that keytool has.
const LIMIT: Duration = Duration::from_secs(120);

const OWN: &str = "tenrounds-pkcs11.cfg";
const BEGIN: &str = "# tenrounds: begin. 'tenrounds enable --java-home' added these lines; 'tenrounds disable --java-home' removes them.\n";
const END: &str = "# tenrounds: end.\n";

/// One JDK, and what there is of it.
struct Jdk {
    home: PathBuf,
    /// java.security, with all symbolic links followed.
    file: PathBuf,
    own: PathBuf,
    current: Vec<u8>,
}

impl Jdk {
    fn find(home: &Path) -> Result<Jdk> {
        let all = java::in_home(home);
        let found = all.iter().find(|file| file.is_file()).ok_or_else(|| {
            let list: Vec<String> = all.iter().map(|file| file.display().to_string()).collect();
            Error::failure(format!(
                "{} is no JDK: looked for {}",
                home.display(),
                list.join(", ")
            ))
        })?;
        let file = files::real(found)?;
        let current = files::read(&file)?.unwrap_or_default();
        let home = home.canonicalize();
        Ok(Jdk {
            home: home.map_err(Error::from_reason)?,
            own: file.with_file_name(OWN),
            file,
            current,
        })
    }

    fn site(&self) -> Site {
        let mut site = Site::new("java", self.file.clone(), Vec::new());
        site.own_file = Some(self.own.clone());
        site
    }

    /// java.security without our lines. None: it has none.
    fn without(&self) -> Result<Option<Vec<u8>>> {
        let text = &self.current;
        let find = |mark: &str, from: usize| {
            let mut windows = text[from..].windows(mark.len());
            windows
                .position(|window| window == mark.as_bytes())
                .map(|at| from + at)
        };
        let Some(begin) = find(BEGIN, 0) else {
            return Ok(None);
        };
        let end = find(END, begin).filter(|_| find(BEGIN, begin + 1).is_none());
        let end = end.ok_or_else(|| {
            Error::failure(format!(
                "{}: somebody has changed the lines of tenrounds; remove them by hand, from \
                 '# tenrounds: begin' on",
                self.file.display()
            ))
        })?;
        let begin = match text[..begin].ends_with(b"\n\n") {
            true => begin - 1, // the empty line that was added with them
            false => begin,
        };
        Ok(Some([&text[..begin], &text[end + END.len()..]].concat()))
    }

    /// java.security with our lines, which name a configuration.
    fn with(&self, original: &[u8], config: &Path) -> Result<Vec<u8>> {
        let text = String::from_utf8_lossy(original);
        let lines = java::providers(&text, &self.file, config)?;
        let gap: &[u8] = match original.last() {
            None => b"",
            Some(b'\n') => b"\n",
            Some(_) => b"\n\n",
        };
        let parts = [
            original,
            gap,
            BEGIN.as_bytes(),
            lines.as_bytes(),
            END.as_bytes(),
        ];
        Ok(parts.concat())
    }

    /// Has keytool make an AES key, which takes the first provider that can. With a file of
    /// properties in the place of the JDK's own.
    fn works(&self, properties: Option<&Path>, scratch: &Path) -> Result<()> {
        let store = scratch.join("store.p12");
        let _ = std::fs::remove_file(&store);
        let mut keytool = Command::new(self.home.join("bin/keytool"));
        if let Some(file) = properties {
            keytool.arg(format!("-J-Djava.security.properties=={}", file.display()));
        }
        keytool
            .args([
                "-genseckey",
                "-alias",
                "trial",
                "-keyalg",
                "AES",
                "-keysize",
                "256",
            ])
            .args([
                "-storetype",
                "PKCS12",
                "-storepass",
                "trial-of-tenrounds",
                "-keystore",
            ])
            .arg(&store)
            .env_remove("JAVA_TOOL_OPTIONS");
        let failed =
            |why: String| Error::failure(format!("{}/bin/keytool: {why}", self.home.display()));
        let output = limited::run(keytool, b"", LIMIT).map_err(Error::failure)?;
        match output.success {
            true => Ok(()),
            false => {
                let said = [output.out, output.err].concat();
                Err(failed(format!("{} {}", output.status, said.trim())))
            }
        }
    }
}

/// Where the state is kept: the system's for root, else the user's.
fn state_dir() -> Result<PathBuf> {
    // SAFETY: the function has no arguments and cannot fail.
    Ok(match unsafe { libc::geteuid() } {
        0 if std::env::var_os("XDG_STATE_HOME").is_none() => state::system_dir(Path::new("/")),
        _ => Home::find()?.state,
    }
    .join("java"))
}

/// The JDKs that `enable` knows of, for `status`: each is tried as `enable` tries it.
pub fn look(root: &Path, report: &mut Report) {
    let mut dirs = vec![state::system_dir(root).join("java")];
    dirs.extend(Home::find().map(|home| home.state.join("java")));
    for dir in dirs {
        let state = match State::look(&dir) {
            Ok(state) if state.files.is_empty() => continue,
            // This one has a folder for the trial.
            Ok(_) => State::dry_run(&dir),
            Err(error) => Err(error),
        };
        match state {
            Ok(state) => report
                .sites
                .extend(state.files.iter().filter_map(|entry| looked(entry, &state))),
            Err(error) => report.notes.push(error.to_string()),
        }
    }
}

fn looked(entry: &Entry, state: &State) -> Option<Site> {
    let home = entry.java_home.as_ref()?;
    let mut site = Site::new("java", entry.file.clone(), Vec::new());
    site.backup.clone_from(&entry.backup);
    let (outcome, reason) = match Jdk::find(home) {
        Err(error) => (Outcome::NotEnabled, Some(error.to_string())),
        Ok(jdk) => state_of(&jdk, entry, state, &mut site),
    };
    (site.outcome, site.reason) = (outcome, reason);
    Some(site)
}

fn state_of(jdk: &Jdk, entry: &Entry, state: &State, site: &mut Site) -> (Outcome, Option<String>) {
    let home = jdk.home.display();
    let command = |verb: &str| format!("'tenrounds {verb} --java-home {home}'");
    let (enable, disable) = (command("enable"), command("disable"));
    match jdk.without() {
        Err(error) => return (Outcome::Damaged, Some(error.to_string())),
        Ok(None) if entry.done => {
            let why = format!(
                "somebody, or an update of the JDK, took our lines out; {enable} puts them back, \
                 {disable} forgets them"
            );
            return (Outcome::NotEnabled, Some(why));
        }
        Ok(None) => {
            let why = format!("nothing is in force; {enable} or {disable} completes it");
            return (Outcome::HalfDone, Some(why));
        }
        Ok(Some(_)) => {}
    }
    let own = files::read(&jdk.own).ok().flatten();
    let own = own.map(|own| String::from_utf8_lossy(&own).into_owned());
    site.own_file = own.as_ref().map(|_| jdk.own.clone());
    site.module = own
        .and_then(|own| registered::value_of(&own, "library"))
        .map(PathBuf::from);
    if let Err(error) = state.trial().and_then(|scratch| jdk.works(None, &scratch)) {
        let why = format!("{error}; to disable tenrounds: {disable}");
        return (Outcome::Broken, Some(why));
    }
    let changed = entry.after != checksum(&jdk.current);
    let why = format!("changed since 'tenrounds enable': {disable} will remove only our lines");
    (Outcome::Enabled, changed.then_some(why))
}

pub fn enable(home: &Path, dry_run: bool) -> Result<Report> {
    let dir = state_dir()?;
    let jdk = Jdk::find(home)?;
    let module = pkcs11::find()?;
    trust::only_mine(&module)?;
    let mut state = match dry_run {
        true => State::dry_run(&dir)?,
        false => State::lock(&dir)?,
    };
    let mut report = Report::new(dry_run);
    let mut site = jdk.site();
    site.module = Some(module.clone());
    site.provider_version = Some(env!("CARGO_PKG_VERSION").to_owned());
    let done = put_in(&jdk, &module, &mut state, &mut site);
    if let Err(error) = done {
        site.outcome = Outcome::Refused;
        site.reason = Some(error.to_string());
    }
    report.sites.push(site);
    Ok(report)
}

fn put_in(jdk: &Jdk, module: &Path, state: &mut State, site: &mut Site) -> Result<()> {
    let original = jdk.without()?.unwrap_or_else(|| jdk.current.clone());
    let text = jdk.with(&original, &jdk.own)?;
    let config = format!("# {OWN_HEAD}\n{}", java::configuration(module)?).into_bytes();
    let own_now = files::read(&jdk.own)?;
    let head = format!("# {OWN_HEAD}\n");
    if own_now
        .as_ref()
        .is_some_and(|own| !own.starts_with(head.as_bytes()))
    {
        return Err(Error::failure(format!(
            "{} exists, and 'tenrounds enable' has not written it; move it away",
            jdk.own.display()
        )));
    }
    if text == jdk.current && own_now.as_ref() == Some(&config) {
        site.outcome = Outcome::AlreadyEnabled;
        return Ok(());
    }
    let scratch = state.trial()?;
    let (trial, trial_config) = (scratch.join("java.security"), scratch.join(OWN));
    files::replace(&trial_config, &config, Like::New(0o600), None)?;
    let trial_text = jdk.with(&original, &trial_config)?;
    files::replace(&trial, &trial_text, Like::New(0o600), None)?;
    jdk.works(Some(&trial), &scratch)?;
    if state.is_dry_run() {
        let own = Change::of(&jdk.own, own_now.as_deref(), &config);
        let file = Change::of(&jdk.file, Some(&jdk.current), &text);
        site.changes = own.into_iter().chain(file).collect();
        site.outcome = Outcome::WouldEnable;
        return Ok(());
    }
    let mut entry = Entry {
        backup: Some(state.keep(&jdk.file, &original)?),
        before: Some(checksum(&original)),
        time: state
            .entry(&jdk.file)
            .map_or_else(|| Time::of(&jdk.file), |known| known.time),
        own: Some(jdk.own.clone()),
        own_sum: Some(checksum(&config)),
        java_home: Some(jdk.home.clone()),
        ..Entry::created(&jdk.file, &text)
    };
    site.backup.clone_from(&entry.backup);
    state.put(entry.clone())?;
    files::replace(&jdk.own, &config, Like::New(0o644), None)?;
    files::replace(&jdk.file, &text, Like::Replaced, None)?;
    if let Err(error) = jdk.works(None, &scratch) {
        files::replace(&jdk.file, &original, Like::Replaced, entry.time)?;
        files::remove(&jdk.own)?;
        state.forget(&jdk.file)?;
        return Err(error);
    }
    entry.done = true;
    state.put(entry)?;
    site.outcome = Outcome::Enabled;
    Ok(())
}

pub fn disable(home: &Path) -> Result<Report> {
    let dir = state_dir()?;
    let jdk = Jdk::find(home)?;
    let mut report = Report::default();
    let mut site = jdk.site();
    let known = State::look(&dir)?;
    if known.entry(&jdk.file).is_none() && jdk.without()?.is_none() {
        site.own_file = None;
        report.sites.push(site);
        return Ok(report);
    }
    let mut state = State::lock(&dir)?;
    match take_out(&jdk, &mut state, &mut report.notes) {
        Ok(()) => site.outcome = Outcome::Disabled,
        Err(error) => {
            site.outcome = Outcome::Refused;
            site.reason = Some(error.to_string());
        }
    }
    report.sites.push(site);
    drop(state);
    // Nothing of ours is left, unless something else is enabled.
    if let Some(parent) = dir.parent() {
        let _ = std::fs::remove_dir(parent);
    }
    Ok(report)
}

/// Brings back the file as it was. If somebody has changed it since, only our lines go.
fn take_out(jdk: &Jdk, state: &mut State, notes: &mut Vec<String>) -> Result<()> {
    let entry = state.entry(&jdk.file).cloned();
    let sum = checksum(&jdk.current);
    let kept = match entry.as_ref().filter(|entry| entry.after == sum) {
        Some(entry) => state::kept(entry)
            .map_err(|error| notes.push(error.to_string()))
            .ok(),
        None => None,
    };
    match (kept.flatten(), jdk.without()?) {
        (Some(original), _) => {
            let time = entry.as_ref().and_then(|entry| entry.time);
            files::replace(&jdk.file, &original, Like::Replaced, time)?;
        }
        (None, Some(text)) => {
            files::replace(&jdk.file, &text, Like::Replaced, None)?;
            notes.push(format!(
                "{} was changed by somebody after 'tenrounds enable': only our lines were removed",
                jdk.file.display()
            ));
        }
        (None, None) => {}
    }
    remove_own(entry.as_ref(), &jdk.own, notes)?;
    state.forget(&jdk.file)
}
