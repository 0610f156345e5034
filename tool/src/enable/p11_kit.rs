// SPDX-License-Identifier: BSD-2-Clause
//! `enable --p11-kit`: the PKCS#11 module for every program that uses p11-kit, of a user or of the
//! machine, by a module file of our own (pkcs11.conf(5)).
//!
//! The name differs from that of the packages' file, because p11-kit joins files of one name: the
//! packages' list of programs would stay in force.

use super::change::Change;
use super::files::{self, Like};
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{self, checksum, Entry, State};
use super::user::Home;
use crate::limited;
use crate::openssl::configuration::OWN_HEAD;
use crate::openssl::programs::below;
use crate::openssl::trial::on_path;
use crate::pkcs11::{self, look, registered};
use crate::trust;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::error::{Error, Result};

const OWN: &str = "tenrounds-enabled.module";
/// Showing modules takes milliseconds, but each of them runs its own code.
const LIMIT: Duration = Duration::from_secs(10);

/// Where the file of one scope is, and its state.
struct Place {
    file: PathBuf,
    state: PathBuf,
    /// What p11-kit can be shown in the place of the user's ~/.config.
    of_user: bool,
    /// Whether p11-kit reads the file, which it does not below another root.
    is_read: bool,
    /// Words of the command line for this scope.
    words: &'static str,
}

impl Place {
    fn system(root: &Path) -> Place {
        Place {
            file: below(root, &Path::new("/etc/pkcs11/modules").join(OWN)),
            state: state::system_dir(root).join("p11-kit"),
            of_user: false,
            is_read: root == Path::new("/"),
            words: "--system --p11-kit",
        }
    }

    fn user() -> Result<Place> {
        let home = Home::find()?;
        Ok(Place {
            file: home.config.join("pkcs11/modules").join(OWN),
            state: home.state.join("p11-kit"),
            of_user: true,
            is_read: true,
            words: "--p11-kit",
        })
    }

    /// The user's, unless HOME and the variables beside it name another user's: root tries no
    /// module that somebody else enabled for himself.
    fn user_of_this_process() -> Option<Place> {
        let home = Home::find().ok()?;
        let place = Place::user().ok()?;
        // SAFETY: the function has no arguments and cannot fail.
        let user = unsafe { libc::geteuid() };
        let mine = |path: &PathBuf| match std::fs::symlink_metadata(path) {
            Ok(meta) => meta.uid() == user,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        let all_mine = [&home.home, &place.file, &place.state]
            .into_iter()
            .all(mine);
        all_mine.then_some(place)
    }

    fn of(root: &Path, system: bool) -> Result<Place> {
        if system {
            return Ok(Place::system(root));
        }
        // SAFETY: the function has no arguments and cannot fail.
        let is_root = unsafe { libc::geteuid() } == 0;
        match is_root && root == Path::new("/") {
            true => Err(Error::failure(
                "p11-kit ignores the files of the user root; run it as another user, or with \
                 --system",
            )),
            false => Place::user(),
        }
    }

    fn site(&self) -> Site {
        let mut site = Site::new("p11-kit", self.file.clone(), Vec::new());
        site.own_file = Some(self.file.clone());
        site
    }

    /// The folders that would have to be made, the innermost last.
    fn missing_folders(&self) -> Vec<PathBuf> {
        let folders = self.file.ancestors().skip(1);
        let missing = folders.take_while(|folder| !folder.exists());
        let mut list: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        list.reverse();
        list
    }

    /// Our file as it is. Fails if somebody else wrote or changed it.
    fn own(&self, entry: Option<&Entry>) -> Result<Option<Vec<u8>>> {
        let Some(text) = files::read(&self.file)? else {
            return Ok(None);
        };
        let head = format!("# {OWN_HEAD}\n");
        let known = entry.filter(|entry| entry.done);
        let why = match known {
            _ if !text.starts_with(head.as_bytes()) => "'tenrounds enable' has not written it",
            Some(entry) if entry.after != checksum(&text) => {
                "somebody has changed it after 'tenrounds enable'"
            }
            _ => return Ok(Some(text)),
        };
        let file = self.file.display();
        Err(Error::failure(format!("{file}: {why}; move it away")))
    }

    /// Tries the module, then whether p11-kit shows it. `config` stands for the user's ~/.config.
    fn works(&self, module: &Path, config: Option<&Path>) -> Result<()> {
        let tried = look::ask(module).map_err(|error| {
            let why = format!("{}: does not work: {error}", module.display());
            Error::failure(why)
        });
        tried?;
        if !self.is_read || (config.is_some() && !self.of_user) {
            return Ok(());
        }
        // Programs use its library without it.
        let Some(program) = on_path("p11-kit") else {
            return Ok(());
        };
        let mut p11_kit = Command::new(program);
        p11_kit.arg("list-modules");
        if let Some(config) = config {
            p11_kit.env("XDG_CONFIG_HOME", config);
        }
        let output = limited::run(p11_kit, b"", LIMIT).map_err(Error::failure)?;
        let said = [output.out, output.err].concat();
        let path = module.display().to_string();
        match said.lines().any(|line| line.ends_with(&path)) {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "'p11-kit list-modules' does not show {path}; see its configuration \
                 (pkcs11.conf(5)). It says: {}",
                said.trim()
            ))),
        }
    }
}

/// What p11-kit reads. Nothing asks the module for certificates, and a program that cannot load it
/// goes on.
fn text(module: &Path) -> Result<Vec<u8>> {
    let path = module.to_str().filter(|path| !path.contains(['\n', '\r']));
    let path = path.ok_or_else(|| {
        let why = "p11-kit cannot read this path of the module";
        Error::failure(format!("{}: {why}", module.display()))
    })?;
    let lines = "priority: -10\ntrust-policy: no\ncritical: no\n";
    Ok(format!("# {OWN_HEAD}\nmodule: {path}\n{lines}").into_bytes())
}

pub fn enable(root: &Path, system: bool, dry_run: bool) -> Result<Report> {
    let place = Place::of(root, system)?;
    let module = pkcs11::find()?;
    trust::only_mine(&module)?;
    let mut state = match dry_run {
        true => State::dry_run(&place.state)?,
        false => State::lock(&place.state)?,
    };
    let mut report = Report::new(dry_run);
    let mut site = place.site();
    site.module = Some(module.clone());
    if let Err(error) = put_in(&place, &module, &mut state, &mut site) {
        site.outcome = Outcome::Refused;
        site.reason = Some(error.to_string());
    }
    report.sites.push(site);
    end(&place, state);
    Ok(report)
}

fn put_in(place: &Place, module: &Path, state: &mut State, site: &mut Site) -> Result<()> {
    let own = place.own(state.entry(&place.file))?;
    let text = text(module)?;
    if own.as_ref() == Some(&text) && state.entry(&place.file).is_some_and(|entry| entry.done) {
        place.works(module, None)?;
        site.outcome = Outcome::AlreadyEnabled;
        return Ok(());
    }
    let scratch = state.trial()?;
    let trial = scratch.join("pkcs11/modules");
    files::make_directory(&trial, 0o700)?;
    files::replace(&trial.join(OWN), &text, Like::New(0o600), None)?;
    place.works(module, Some(&scratch))?;
    if state.is_dry_run() {
        site.changes
            .extend(Change::of(&place.file, own.as_deref(), &text));
        site.outcome = Outcome::WouldEnable;
        return Ok(());
    }
    let known = state.entry(&place.file);
    let mut entry = Entry {
        folders: known.map_or_else(|| place.missing_folders(), |known| known.folders.clone()),
        ..Entry::created(&place.file, &text)
    };
    state.put(entry.clone())?;
    if let Some(folder) = place.file.parent() {
        files::make_directory(folder, 0o755)?;
    }
    files::sweep(&place.file);
    files::replace(&place.file, &text, Like::New(0o644), None)?;
    if let Err(error) = place.works(module, None) {
        remove(place, state)?;
        return Err(Error::failure(format!("{error}; all is as it was")));
    }
    entry.done = true;
    state.put(entry)?;
    site.outcome = Outcome::Enabled;
    Ok(())
}

pub fn disable(root: &Path, system: bool) -> Result<Report> {
    let place = Place::of(root, system)?;
    let mut report = Report::default();
    let mut site = place.site();
    let known = State::look(&place.state)?;
    if known.entry(&place.file).is_none() && files::read(&place.file)?.is_none() {
        site.own_file = None;
        report.sites.push(site);
        return Ok(report);
    }
    let mut state = State::lock(&place.state)?;
    let entry = state.entry(&place.file).cloned();
    match place
        .own(entry.as_ref())
        .and_then(|_| remove(&place, &mut state))
    {
        Ok(()) => site.outcome = Outcome::Disabled,
        Err(error) => {
            site.outcome = Outcome::Refused;
            site.reason = Some(error.to_string());
        }
    }
    report.sites.push(site);
    end(&place, state);
    Ok(report)
}

/// Leaves nothing of ours, unless something is enabled.
fn end(place: &Place, state: State) {
    drop(state);
    if let Some(parent) = place.state.parent() {
        let _ = std::fs::remove_dir(parent);
    }
}

/// Takes away our file, and the folders that `enable` made, if nobody else uses them.
fn remove(place: &Place, state: &mut State) -> Result<()> {
    files::sweep(&place.file);
    files::remove(&place.file)?;
    let folders = state.entry(&place.file).map(|entry| entry.folders.clone());
    for folder in folders.unwrap_or_default().iter().rev() {
        files::step();
        let _ = std::fs::remove_dir(folder);
    }
    state.forget(&place.file)
}

/// What `enable` has done, for `status`: tried as `enable` tries it.
pub fn look(root: &Path, report: &mut Report) {
    let places = [Some(Place::system(root)), Place::user_of_this_process()];
    for place in places.into_iter().flatten() {
        match State::look(&place.state) {
            Ok(state) => report.sites.extend(looked(&place, &state)),
            Err(error) => report.notes.push(error.to_string()),
        }
    }
}

fn looked(place: &Place, state: &State) -> Option<Site> {
    let entry = state.entry(&place.file)?;
    let mut site = place.site();
    let again = format!(
        "'tenrounds enable {0}' or 'tenrounds disable {0}'",
        place.words
    );
    let (outcome, reason) = match place.own(Some(entry)) {
        Err(error) => (Outcome::Damaged, Some(error.to_string())),
        Ok(None) if entry.done => {
            let why = format!("somebody removed the file: {again}");
            (Outcome::NotEnabled, Some(why))
        }
        Ok(_) if !entry.done => (Outcome::HalfDone, Some(format!("to complete it: {again}"))),
        Ok(own) => {
            let own = own.unwrap_or_default();
            let module = registered::value_of(&String::from_utf8_lossy(&own), "module");
            site.module = module.map(PathBuf::from);
            let module = site.module.as_deref();
            let works =
                module.map(|path| trust::only_mine(path).and_then(|()| place.works(path, None)));
            match works {
                Some(Err(error)) => {
                    let undo = format!(
                        "{error}; to disable tenrounds: tenrounds disable {}",
                        place.words
                    );
                    (Outcome::Broken, Some(undo))
                }
                _ => (Outcome::Enabled, None),
            }
        }
    };
    (site.outcome, site.reason) = (outcome, reason);
    Some(site)
}
