// SPDX-License-Identifier: BSD-2-Clause
//! `enable --java-home`: our provider as the first one of one JDK, for all its programs.
//!
//! Lines at the end of java.security do it, because the last value of a property counts. A JDK has
//! no folder for a jar that all programs see. So the first line has SunPKCS11 load a library of
//! ours, which adds the jar to the class path; the second names the provider. All is
//! tried with the JDK's keytool first.

use super::files;
use super::site::Site;
use super::state::{self, State};
use super::target::{head, Files, Target, Tried};
use crate::home::Home;
use crate::java;
use crate::openssl::programs;
use base::limited;
use base::trust;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::error::{Error, Result};

/// The time that keytool has.
const LIMIT: Duration = Duration::from_secs(120);

const OWN: &str = "tenrounds.cfg";

/// The arguments with which keytool makes an AES key, which takes the first provider that can.
const KEYTOOL: &str = "-genseckey -alias trial -keyalg AES -keysize 256 -storetype PKCS12 \
                       -storepass trial-of-tenrounds -keystore";
/// What the JVM says of it, told to say how it loads providers.
const LOADED: &str = "Loaded provider tenrounds";
/// What our provider says before the reason why it has no algorithms (TenroundsProvider.java).
const INACTIVE: &str = "tenrounds is inactive: ";

/// One JDK.
pub struct Jdk {
    home: PathBuf,
    /// java.security, as the JDK calls it.
    file: PathBuf,
}

impl Jdk {
    pub fn find(home: &Path) -> Result<Jdk> {
        let file = java::security(home);
        if !file.is_file() {
            let (home, file) = (home.display(), file.display());
            let text = format!("{home} is no JDK: there is no {file}");
            return Err(Error::failure(text));
        }
        Ok(Jdk {
            home: home.canonicalize().map_err(Error::from_reason)?,
            file: files::real(&file)?,
        })
    }
}

/// The options that lead to a JDK, after a blank.
pub fn options(home: &Path) -> String {
    format!(" --java-home {}", home.display())
}

/// Where the state is kept: the system's for root, else the user's.
pub fn state_dir() -> Result<PathBuf> {
    match trust::is_root() && std::env::var_os("XDG_STATE_HOME").is_none() {
        true => Ok(state::system_dir(Path::new("/"))),
        false => Ok(Home::mine()?.state),
    }
}

/// The JDKs that `enable` knows of, which may be gone.
pub fn known(state: &State) -> impl Iterator<Item = Jdk> + '_ {
    state.files.iter().filter_map(|entry| {
        Some(Jdk {
            home: entry.java_home.clone()?,
            file: entry.file.clone(),
        })
    })
}

/// What `disable` takes back: all that is recorded of a JDK, else the JDK as it is.
pub fn recorded(home: &Path, state: &State) -> Result<Vec<Box<dyn Target>>> {
    let real = real(home)?;
    let same = chosen(state, |jdk| jdk.home == real);
    match same.is_empty() {
        true => Ok(vec![Box::new(Jdk::find(home)?)]),
        false => Ok(same),
    }
}

/// The recorded JDKs that use a jar, and those of which nothing tells which one they use.
pub fn using(jar: &Path, state: &State) -> Result<Vec<Box<dyn Target>>> {
    let real = real(jar)?;
    let uses = |jdk: &Jdk| jdk.module(&jdk.file.with_file_name(OWN));
    Ok(chosen(state, |jdk| uses(jdk).is_none_or(|it| it == real)))
}

/// A path as it was recorded. What it names may be gone.
fn real(path: &Path) -> Result<PathBuf> {
    let real = path.canonicalize().or_else(|_| std::path::absolute(path));
    real.map_err(Error::from_reason)
}

fn chosen(state: &State, is_it: impl Fn(&Jdk) -> bool) -> Vec<Box<dyn Target>> {
    let jdks = known(state).filter(is_it);
    jdks.map(|jdk| Box::new(jdk) as _).collect()
}

impl Target for Jdk {
    fn site(&self) -> Site {
        Site::new("java", self.options(), self.file.clone(), Vec::new())
    }

    fn options(&self) -> String {
        options(&self.home)
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: self.file.with_file_name(OWN),
            edited: Some(self.file.clone()),
        })
    }

    fn text(&self, _files: &Files, _base: Option<&Path>) -> Result<(Vec<u8>, PathBuf)> {
        // No locale changes these characters in the configuration of SunPKCS11.
        let jar = java::jar(char::is_ascii)?;
        let library = java::loader(&jar)?;
        trust::only_mine(&jar)?;
        trust::only_mine(&library)?;
        // SunPKCS11 passes nssArgs to any library ("Java PKCS#11 Reference Guide").
        let text = format!(
            "{}name = tenrounds-loader\nlibrary = \"{}\"\nnssArgs = \"{}\"\nhandleStartupErrors = ignoreAll\n",
            head(),
            library.display(),
            jar.display()
        );
        Ok((text.into_bytes(), jar))
    }

    fn lines(&self, own: &Path, original: &[u8]) -> Result<Vec<u8>> {
        let text = String::from_utf8_lossy(original);
        java::providers(&text, &self.file, own).map(String::into_bytes)
    }

    fn try_out(&self, copies: Option<&Files>, _base: &Path) -> Tried {
        let scratch = files::private_directory().map_err(Error::from_reason);
        let tried = scratch.and_then(|scratch| self.make_key(copies, scratch.path()));
        tried.into()
    }

    fn module(&self, own: &Path) -> Option<PathBuf> {
        let own = std::fs::read_to_string(own).ok()?;
        let jar = java::value_of(&own, "nssArgs")?;
        Some(PathBuf::from(jar.trim_matches('"')))
    }

    fn java_home(&self) -> Option<PathBuf> {
        Some(self.home.clone())
    }
}

impl Jdk {
    /// Its keytool, without symbolic links: root runs what was checked.
    fn keytool(&self) -> Result<PathBuf> {
        let program = self.home.join("bin/keytool");
        let real = program.canonicalize();
        let real = real.map_err(|error| files::at(&program, error))?;
        programs::trusted(&real).map_err(|why| files::at(&real, why))?;
        Ok(real)
    }

    /// Why this process cannot tell whether it works.
    pub fn untried(&self) -> Option<String> {
        let why = self.keytool().err()?;
        Some(format!("cannot tell whether it works: {why}"))
    }

    /// Has keytool make a key, with a copy of java.security in the place of the JDK's own.
    fn make_key(&self, copies: Option<&Files>, scratch: &Path) -> Result<()> {
        let program = self.keytool()?;
        let mut keytool = Command::new(&program);
        if let Some(file) = copies.and_then(|copies| copies.edited.as_ref()) {
            keytool.arg(format!("-J-Djava.security.properties=={}", file.display()));
        }
        keytool
            .arg("-J-Djava.security.debug=jca")
            .args(KEYTOOL.split_whitespace())
            .arg(scratch.join("store.p12"))
            .env_remove("JAVA_TOOL_OPTIONS");
        let output = limited::run(keytool, b"", LIMIT).map_err(Error::failure)?;
        // What the JVM says of providers is on standard error.
        let said = match output.out.trim() {
            "" => output.err.trim().lines().last().unwrap_or_default(),
            said => said,
        };
        let mut lines = output.err.lines();
        let inactive = lines.find_map(|line| line.strip_prefix(INACTIVE));
        let why = match (output.success, inactive) {
            (true, None) if output.err.contains(LOADED) => return Ok(()),
            (true, inactive) => format!(
                "makes a key, but without tenrounds: {}",
                inactive.unwrap_or("the JVM does not load it")
            ),
            (false, _) => format!("{} {said}", output.status),
        };
        Err(files::at(&program, why))
    }
}
