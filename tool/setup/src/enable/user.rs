// SPDX-License-Identifier: BSD-2-Clause
//! For one user: a configuration that includes the system's, and the line that sets OPENSSL_CONF.

use super::edit::Lines;
use super::files::{self, at};
use super::report::Report;
use super::site::Site;
use super::state::State;
use super::target::{Files, Present, Target, Tried};
use super::{apply, undo};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration;
use crate::openssl::nodejs::Nodejs;
use crate::openssl::programs::{self, Program};
use crate::openssl::trial::Subject;
use base::root::Root;
use base::trust::is_root;
use libcrypto::LibCrypto;
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

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

    /// The same, if it belongs to this user. Under sudo HOME may still be the caller's: root leaves
    /// nothing there, and runs nothing that is enabled there.
    pub fn mine() -> Result<Home> {
        let home = Home::find()?;
        let user = geteuid().as_raw();
        let name = home.home.display();
        let meta = fs::metadata(&home.home);
        let meta = meta.map_err(|error| Error::failure(format!("HOME, {name}: {error}")))?;
        let owner = meta.uid();
        if owner != user {
            return Err(Error::failure(format!(
                "HOME, {name}, belongs to user {owner}, and this is user {user}; run it as that user, or with --system"
            )));
        }
        for path in [&home.config, &home.state] {
            if let Ok(meta) = fs::metadata(path) {
                refuse_owner(path, meta.uid())?;
            }
        }
        if is_root() {
            let folders = [home.own.parent(), Some(&home.state)];
            folders.into_iter().flatten().try_for_each(refuse_below)?;
        }
        Ok(home)
    }

    /// The file that the user's shell reads when it begins.
    fn profile(&self) -> PathBuf {
        let shell = std::env::var("SHELL").unwrap_or_default();
        let usual = self.home.join(".profile");
        match shell.rsplit('/').next() {
            Some("zsh") => {
                let dir = std::env::var_os("ZDOTDIR").map_or(self.home.clone(), PathBuf::from);
                dir.join(".zprofile")
            }
            Some("fish") => self.config.join("fish/config.fish"),
            Some("bash") => {
                let names = [".bash_profile", ".bash_login"].map(|name| self.home.join(name));
                names
                    .into_iter()
                    .find(|path| path.exists())
                    .unwrap_or(usual)
            }
            _ => usual,
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
                let why = "this path is not UTF-8, so no line of a shell can name it; set XDG_CONFIG_HOME to a directory whose name is";
                return Err(at(&self.own, why));
            }
        };
        Ok(match profile.extension().is_some_and(|e| e == "fish") {
            true => {
                let path = path.replace('\\', r"\\").replace('\'', r"\'");
                format!("set -gx OPENSSL_CONF {home}'{path}'\n")
            }
            false => {
                let path = path.replace('\'', r"'\''");
                format!("export OPENSSL_CONF={home}'{path}'\n")
            }
        })
    }
}

/// Refuses a directory of another user.
fn refuse_owner(dir: &Path, owner: u32) -> Result<()> {
    let user = geteuid().as_raw();
    if owner == user {
        return Ok(());
    }
    let name = dir.display();
    let cure = format!("run it as that user, or change the owner: chown {user} {name}");
    Err(at(dir, format!("belongs to user {owner}; {cure}")))
}

/// Refuses a directory that root would create in a directory of another user.
fn refuse_below(dir: &Path) -> Result<()> {
    let look = |dir: &Path| Some((dir.to_owned(), fs::metadata(dir).ok()?.uid()));
    let Some((nearest, owner)) = dir.ancestors().find_map(look) else {
        return Ok(());
    };
    // In a user namespace the owner of "/" stands for root, and has another number.
    let root = fs::metadata("/").map(|meta| meta.uid());
    if nearest != dir && root.is_ok_and(|root| root == owner) {
        return Ok(());
    }
    refuse_owner(&nearest, owner)
}

/// Enables tenrounds for this user. An empty profile stands for that of the user's shell.
pub fn enable(root: &Path, profile: Option<&Path>, report: &mut Report) -> Result<()> {
    let home = Home::mine()?;
    let libcrypto = LibCrypto::open()?;
    let module = libcrypto::module::find(Some(&libcrypto))?;
    let nodejs = Nodejs::look(&Root::new(root));
    let found = programs::installations(root, Some(&libcrypto));
    let profile = profile.map(|path| match path.as_os_str().is_empty() {
        true => home.profile(),
        false => std::env::current_dir().map_or(path.to_owned(), |dir| dir.join(path)),
    });
    let profile = profile.map(|path| files::real(&path)).transpose()?;
    report.notes.extend(nodejs.note());
    let line = home.line(profile.as_deref().unwrap_or(Path::new("")))?;
    report.export = Some(line.trim_end().to_owned());
    let programs = found.sites.into_iter().flat_map(|site| site.programs);
    let user = User {
        means: Some(Means {
            base: base(&libcrypto, &home.own),
            libcrypto,
            module,
            nodejs,
        }),
        ..User::of(&home, programs.collect())
    };
    let profile_target = profile.as_ref().map(|file| Profile { home: &home, file });
    if let Some(target) = &profile_target {
        // A profile that cannot be changed is an error before anything is.
        Present::read(target, target.files()?, &State::look(&home.state)?)?;
    }
    apply::enable(&home.state, &[Box::new(user)], report)?;
    if let Some(target) = profile_target.filter(|_| !report.is_bad()) {
        apply::enable(&home.state, &[Box::new(target)], report)?;
    }
    report.profile = profile;
    report.passed_over(found.passed_over);
    Ok(())
}

/// Undoes all changes of `enable`, or only those that load one of these modules, if any are given.
pub fn disable(modules: &[PathBuf], report: &mut Report) -> Result<()> {
    let home = Home::find()?;
    let is_concerned = modules.is_empty() || (home.own.exists() && undo::loads(&home.own, modules));
    if !is_concerned {
        report.add(User::of(&home, Vec::new()).site());
        return Ok(());
    }
    let home = Home::mine()?;
    let known = State::look(&home.state)?;
    let profiles = known.files.iter().filter(|entry| entry.scope == "profile");
    let profiles: Vec<PathBuf> = profiles.map(|entry| entry.file.clone()).collect();
    let mut by: Vec<Box<dyn Target + '_>> = Vec::new();
    for file in &profiles {
        by.push(Box::new(Profile { home: &home, file }));
    }
    let user: Box<dyn Target + '_> = Box::new(User::of(&home, Vec::new()));
    undo::disable_named(&home.state, user.as_ref(), &by, report)?;
    if std::env::var_os("OPENSSL_CONF").is_some_and(|value| value == home.own.as_os_str()) {
        let note = "this shell still has OPENSSL_CONF; to remove it: unset OPENSSL_CONF";
        report.notes.push(note.to_owned());
    }
    Ok(())
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

/// The user's configuration.
pub struct User<'a> {
    home: &'a Home,
    programs: Vec<Program>,
    /// What `enable` needs besides.
    means: Option<Means>,
}

struct Means {
    libcrypto: LibCrypto,
    module: PathBuf,
    nodejs: Nodejs,
    /// What it includes.
    base: Option<PathBuf>,
}

impl User<'_> {
    pub fn of(home: &Home, programs: Vec<Program>) -> User<'_> {
        User {
            home,
            programs,
            means: None,
        }
    }
}

impl Target for User<'_> {
    fn site(&self) -> Site {
        Site::new(
            "user",
            self.options(),
            self.home.own.clone(),
            self.programs.clone(),
        )
    }

    fn options(&self) -> String {
        String::new()
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: Some(self.home.own.clone()),
            edited: None,
        })
    }

    fn text(
        &self,
        _files: &Files,
        _base: Option<&Path>,
        _notes: &mut Vec<String>,
    ) -> Result<(Vec<u8>, PathBuf)> {
        let means = self.means.as_ref().expect("enable has them");
        let included = means.base.as_deref();
        let base = included.map(|base| configuration::load(&means.libcrypto, base));
        let base = base.transpose()?;
        let named = included.unwrap_or(&self.home.own);
        if let Some(base) = &base {
            configuration::refuse_fips(base, named)?;
        }
        let module = &means.module;
        let text = configuration::addition(included, base.as_ref(), named, module, &means.nodejs)?;
        Ok((text, module.clone()))
    }

    fn try_out(&self, copies: Option<&Files>, _base: &Path) -> Tried {
        let copy = copies.and_then(|copies| copies.own.as_deref());
        if let (Some(means), Some(copy)) = (&self.means, copy) {
            if let Err(error) = configuration::verify(&means.libcrypto, copy, &means.module) {
                return Err(error).into();
            }
        }
        let without = self.means.as_ref().and_then(|means| means.base.as_deref());
        let subject = Subject {
            programs: &self.programs,
            libcrypto: true,
            conf: Some(copy.unwrap_or(&self.home.own)),
            without: without.or(Some(Path::new("/dev/null"))),
            libraries: &[],
        };
        subject.run().into()
    }

    fn mode(&self) -> u32 {
        0o600
    }

    fn module(&self, own: &Path) -> Option<PathBuf> {
        configuration::module(&Cnf::read(&Root::machine(), own))
    }
}

/// The line in a shell's profile that leads to the configuration.
struct Profile<'a> {
    home: &'a Home,
    file: &'a Path,
}

impl Target for Profile<'_> {
    fn site(&self) -> Site {
        Site::new("profile", self.options(), self.file.to_owned(), Vec::new())
    }

    fn options(&self) -> String {
        " --profile".to_owned()
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: None,
            edited: Some(self.file.to_owned()),
        })
    }

    fn known(&self, _files: &Files) -> Lines {
        Lines {
            text: self.home.line(self.file).ok().map(String::into_bytes),
            needle: Some("OPENSSL_CONF=".to_owned()),
        }
    }

    fn lines(&self, _own: &Path, _original: &[u8]) -> Result<Vec<u8>> {
        self.home.line(self.file).map(String::into_bytes)
    }

    fn try_out(&self, _copies: Option<&Files>, _base: &Path) -> Tried {
        Tried::default()
    }
}
