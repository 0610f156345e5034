// SPDX-License-Identifier: BSD-2-Clause
//! Node.js with an OpenSSL of its own, as nodejs.org builds it. It reads the system's openssl.cnf,
//! but begins with the section that `nodejs_conf` names, not with that of `openssl_conf`.

use base::root::Root;
use libcrypto::elf::Elf;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where installers and version managers put Node.js.
const PLACES: [&str; 11] = [
    "/usr/bin",
    "/usr/local/bin",
    "/usr/local/lib/nodejs/*/bin",
    "/opt/*/bin",
    "/usr/local/n/versions/node/*/bin",
    "/usr/local/nvm/versions/node/*/bin",
    "/home/*/.nvm/versions/node/*/bin",
    "/home/*/.asdf/installs/nodejs/*/bin",
    "/home/*/.volta/tools/image/node/*/bin",
    "/home/*/.local/share/fnm/node-versions/*/installation/bin",
    "/root/.nvm/versions/node/*/bin",
];

/// Whether a configuration may name our section for Node.js.
#[derive(Debug, Clone, Default)]
pub struct Nodejs {
    /// A Node.js of this machine, up to version 16, with OpenSSL 1.1.1. That has no providers: it
    /// ends with an error where its section names some.
    pub too_old: Option<PathBuf>,
}

impl Nodejs {
    pub fn look(root: &Root) -> Nodejs {
        let in_places = PLACES.iter().flat_map(|place| root.directories(place));
        let in_places = in_places.map(|dir| dir.join("node"));
        let programs: BTreeSet<PathBuf> = in_places
            .chain(on_path(root))
            .chain(running(root))
            .collect();
        let too_old = programs
            .into_iter()
            .find(|program| has_no_providers(root, program));
        Nodejs {
            too_old: too_old.map(|program| root.path(program)),
        }
    }

    /// The same for one program. To look at all takes too long before each start of a command.
    pub fn of(program: &Path) -> Nodejs {
        let is_old = program.ends_with("node") && has_no_providers(&Root::machine(), program);
        Nodejs {
            too_old: is_old.then(|| program.to_owned()),
        }
    }

    /// What is told to the user about a Node.js that is too old.
    pub fn note(&self) -> Option<String> {
        let program = self.too_old.as_ref()?.display();
        Some(format!(
            "'nodejs_conf' is left out, because {program} has OpenSSL 1.1.1 and would end with an error; no Node.js with an OpenSSL of its own is reached, unless it is started with --openssl-shared-config"
        ))
    }
}

fn on_path(root: &Root) -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").filter(|_| root.is_machine());
    let path = path.unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join("node"))
        .collect()
}

/// The programs of running processes, wherever they lie.
fn running(root: &Root) -> impl Iterator<Item = PathBuf> + '_ {
    let processes = root.names("/proc").into_iter();
    let processes = processes.filter(|name| name.parse::<u32>().is_ok());
    let programs = processes.filter_map(|pid| root.link(format!("/proc/{pid}/exe")));
    programs.filter(|program| program.ends_with("node"))
}

/// Root looks into the homes of others: what is no regular file there is not opened.
fn has_no_providers(root: &Root, program: &Path) -> bool {
    let elf = root.open(program).ok().and_then(Elf::read);
    let version = elf.and_then(|elf| elf.openssl_version());
    version.is_some_and(|version| version.starts_with("1."))
}
