// SPDX-License-Identifier: BSD-2-Clause
//! `enable --java-home`: the PKCS#11 module as the first provider of one JDK, for all its programs.
//!
//! Lines at the end of java.security do it, because the last value of a property counts. They name
//! a configuration of SunPKCS11 beside it. Both are tried with the JDK's keytool first.

use super::files;
use super::site::Site;
use super::state::{self, State};
use super::target::{head, Files, Target, Tried};
use crate::home::Home;
use crate::pkcs11::{self, java};
use base::limited;
use base::trust;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::error::{Error, Result};

/// The time that keytool has.
const LIMIT: Duration = Duration::from_secs(120);

const OWN: &str = "tenrounds-pkcs11.cfg";

/// The arguments with which keytool makes an AES key, which takes the first provider that can.
const KEYTOOL: &str = "-genseckey -alias trial -keyalg AES -keysize 256 -storetype PKCS12 \
                       -storepass trial-of-tenrounds -keystore";

/// One JDK.
pub struct Jdk {
    home: PathBuf,
    /// java.security, as the JDK calls it.
    file: PathBuf,
}

impl Jdk {
    pub fn find(home: &Path) -> Result<Jdk> {
        let all = java::in_home(home);
        let found = all.iter().find(|file| file.is_file()).ok_or_else(|| {
            let list: Vec<String> = all.iter().map(|file| file.display().to_string()).collect();
            let list = list.join(", ");
            Error::failure(format!("{} is no JDK: looked for {list}", home.display()))
        })?;
        Ok(Jdk {
            home: home.canonicalize().map_err(Error::from_reason)?,
            file: files::real(found)?,
        })
    }
}

/// Where the state is kept: the system's for root, else the user's.
pub fn state_dir() -> Result<PathBuf> {
    match trust::is_root() && std::env::var_os("XDG_STATE_HOME").is_none() {
        true => Ok(state::system_dir(Path::new("/"))),
        false => Ok(Home::mine()?.state),
    }
}

/// The JDKs that `enable` knows of.
pub fn known(state: &State) -> Vec<Box<dyn Target>> {
    let jdks = state.files.iter().filter_map(|entry| {
        Some(Jdk {
            home: entry.java_home.clone()?,
            file: entry.file.clone(),
        })
    });
    jdks.map(|jdk| Box::new(jdk) as Box<dyn Target>).collect()
}

impl Target for Jdk {
    fn site(&self) -> Site {
        Site::new("java", self.options(), self.file.clone(), Vec::new())
    }

    fn options(&self) -> String {
        format!(" --java-home {}", self.home.display())
    }

    fn files(&self) -> Result<Files> {
        Ok(Files {
            own: self.file.with_file_name(OWN),
            edited: Some(self.file.clone()),
        })
    }

    fn text(&self, _files: &Files, _base: Option<&Path>) -> Result<(Vec<u8>, PathBuf)> {
        let module = pkcs11::find()?;
        trust::only_mine(&module)?;
        let text = head() + &java::configuration(&module)?;
        Ok((text.into_bytes(), module))
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
        let library = java::value_of(&own, "library")?;
        Some(PathBuf::from(library.trim_matches('"')))
    }

    fn java_home(&self) -> Option<PathBuf> {
        Some(self.home.clone())
    }
}

impl Jdk {
    /// Has keytool make a key, with a copy of java.security in the place of the JDK's own.
    fn make_key(&self, copies: Option<&Files>, scratch: &Path) -> Result<()> {
        let program = self.home.join("bin/keytool");
        let mut keytool = Command::new(&program);
        if let Some(file) = copies.and_then(|copies| copies.edited.as_ref()) {
            keytool.arg(format!("-J-Djava.security.properties=={}", file.display()));
        }
        keytool
            .args(KEYTOOL.split_whitespace())
            .arg(scratch.join("store.p12"))
            .env_remove("JAVA_TOOL_OPTIONS");
        let output = limited::run(keytool, b"", LIMIT).map_err(Error::failure)?;
        match output.success {
            true => Ok(()),
            false => {
                let said = [output.out, output.err].concat();
                Err(files::at(
                    &program,
                    format!("{} {}", output.status, said.trim()),
                ))
            }
        }
    }
}
