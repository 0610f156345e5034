// SPDX-License-Identifier: BSD-2-Clause
//! Finds the services that run without tenrounds after `enable --system` until they are restarted.
//! OpenSSL reads its configuration once, when a program starts.

use super::site::{Outcome, Site};
use crate::inventory::install::{Install, Known};
use crate::inventory::processes;
use crate::root::Root;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The maximum number of services that the text names.
const SHOWN: usize = 8;

#[derive(Debug, Serialize)]
pub struct Running {
    pub services: Vec<Service>,
    /// The number of processes that this user may not inspect.
    pub unreadable: usize,
}

#[derive(Debug, Serialize)]
pub struct Service {
    /// The systemd unit, or the program's name if there is no unit.
    pub name: String,
    pub is_unit: bool,
    pub pids: Vec<u32>,
}

/// Finds processes without tenrounds whose libcrypto reads one of the enabled configurations. None
/// if no site is enabled, or if there is no /proc.
pub fn find(root: &Root, sites: &[Site]) -> Option<Running> {
    let enabled = |site: &&Site| matches!(site.outcome, Outcome::Enabled | Outcome::AlreadyEnabled);
    let machine = Root::machine();
    let files = sites.iter().filter(enabled);
    let files: Vec<(u64, u64)> = files
        .filter_map(|site| machine.identity(&site.configuration))
        .collect();
    if files.is_empty() || !root.has_proc() {
        return None;
    }
    let mut known = Known::new();
    let mut groups: BTreeMap<(bool, String), Vec<u32>> = BTreeMap::new();
    let (maps, unreadable) = processes::maps(root);
    for (pid, maps) in maps {
        let mapped = processes::openssl(root, pid, &maps);
        if mapped.tenrounds || mapped.libcrypto.is_empty() {
            continue;
        }
        let Some(view) = root.of_process(pid) else {
            continue;
        };
        let reads = |library: &String| {
            let install = Install::read(&view, None, PathBuf::from(library), &mut known);
            let configuration = install.filter(|i| i.major() >= 3)?.configuration()?;
            view.identity(configuration)
        };
        let mut read = mapped.libcrypto.iter().filter_map(reads);
        if read.any(|file| files.contains(&file)) && !processes::has_own_configuration(root, pid) {
            let unit = processes::unit(root, pid);
            let name = processes::name(root, pid);
            let group = (unit.is_none(), unit.unwrap_or(name));
            groups.entry(group).or_default().push(pid);
        }
    }
    let services = groups
        .into_iter()
        .map(|((is_program, name), pids)| Service {
            name,
            is_unit: !is_program,
            pids,
        });
    Some(Running {
        services: services.collect(),
        unreadable,
    })
}

impl Running {
    /// The notes for people; none if there is no such service.
    pub fn lines(&self) -> Vec<String> {
        let Some(first) = self.services.first() else {
            return Vec::new();
        };
        let names: Vec<String> = self.services.iter().take(SHOWN).map(label).collect();
        let more = match self.services.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let mut lines = vec![
            format!(
                "Running without tenrounds until restarted: {}{more}.",
                names.join(", ")
            ),
            "To list the processes: sudo tenrounds doctor --verbose".to_owned(),
        ];
        if first.is_unit {
            lines.push(format!("To restart one: systemctl restart {}", first.name));
        }
        lines
    }
}

fn label(service: &Service) -> String {
    match service.pids.len() {
        1 => service.name.clone(),
        n => format!("{} ({n} processes)", service.name),
    }
}
