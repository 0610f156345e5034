// SPDX-License-Identifier: BSD-2-Clause
//! The directories of this user, and the configuration that `enable` writes there.

use crate::openssl::configuration::OWN_HEAD;
use base::replaced;
use nix::unistd::geteuid;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The user's directories.
#[derive(Debug)]
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
        let folders = [home.own.parent(), Some(&home.state)];
        folders.into_iter().flatten().try_for_each(refuse_foreign)?;
        Ok(home)
    }

    /// Whether `enable` has written the configuration.
    pub fn is_enabled(&self) -> bool {
        let head = format!("# {OWN_HEAD}\n");
        fs::read(&self.own).is_ok_and(|text| text.starts_with(head.as_bytes()))
    }

    /// The line that sets the variable in a shell. In fish, `export` is a function.
    pub fn line(&self) -> Result<String> {
        let path = self.own.to_str().ok_or_else(|| {
            at(&self.own, "no line of a shell can name this path, which is not UTF-8; set XDG_CONFIG_HOME to a directory whose name is")
        })?;
        let path = path.replace('\'', r"'\''");
        Ok(format!("export OPENSSL_CONF='{path}'"))
    }
}

/// Refuses a directory of another user, or one in such a directory, which that user can replace.
fn refuse_foreign(dir: &Path) -> Result<()> {
    replaced::refuse_foreign_link(dir).map_err(|error| at(dir, error))?;
    let look = |dir: &Path| Some((dir.to_owned(), fs::metadata(dir).ok()?.uid()));
    let mut places: Vec<(PathBuf, u32)> = dir.ancestors().take(2).filter_map(look).collect();
    if places.is_empty() {
        places.extend(dir.ancestors().find_map(look));
    }
    // In a user namespace the owner of "/" stands for root, and has another number.
    let root = fs::metadata("/").map(|root| root.uid()).ok();
    let user = geteuid().as_raw();
    let is_fine = |place: &Path, owner| owner == user || (place != dir && root == Some(owner));
    let Some((place, owner)) = places.iter().find(|(place, owner)| !is_fine(place, *owner)) else {
        return Ok(());
    };
    let name = place.display();
    let cure = format!("run it as that user, or change the owner: chown {user} {name}");
    Err(at(place, format!("belongs to user {owner}; {cure}")))
}

/// An error about a file.
pub fn at(path: &Path, why: impl std::fmt::Display) -> Error {
    Error::failure(format!("{}: {why}", path.display()))
}
