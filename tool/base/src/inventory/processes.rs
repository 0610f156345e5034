// SPDX-License-Identifier: BSD-2-Clause
//! Running processes: which libcrypto each has mapped, whether tenrounds is in it, and which carry
//! cryptography of their own. By /proc/PID/maps; nothing is attached to, and processes may vanish.

use super::scan::{Scanner, Seen};
use super::{is_libcrypto, VARIABLES};
use crate::root::Root;
use mappings::{Mapping, Maps};
use progress::Progress;
use serde::Serialize;
use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::str::FromStr;
use terminal::style::clean;

/// A libcrypto in a process.
#[derive(Debug, Clone, Serialize)]
pub struct Library {
    pub path: String,
    /// "3.0.13"; null if the file is gone or does not say.
    pub version: Option<String>,
    /// The file was replaced or removed since the process started.
    pub deleted: bool,
}

#[derive(Debug, Clone, Serialize)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    /// Its root, "/proc/PID/root", if that differs from ours, as in a container or chroot.
    pub root: Option<String>,
    /// The root in which its paths are resolved.
    #[serde(skip)]
    pub view: Root,
    /// The systemd unit that it belongs to.
    pub unit: Option<String>,
    pub libcrypto: Vec<Library>,
    /// The provider or engine of ours that is mapped.
    pub tenrounds: Option<String>,
    /// Its file was replaced or removed since the process started.
    pub tenrounds_deleted: bool,
    /// Files with cryptography of their own, as "PATH (library)".
    pub carries: Vec<String>,
    /// Files with a property query that excludes tenrounds, as "PATH (query)".
    pub queries: Vec<String>,
    /// The variables that matter; null if they cannot be read.
    #[serde(serialize_with = "as_map")]
    pub variables: Option<Vec<(&'static str, String)>>,
}

fn as_map<S: serde::Serializer>(
    variables: &Option<Vec<(&'static str, String)>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match variables {
        Some(list) => serializer.collect_map(list.iter().map(|(name, value)| (name, value))),
        None => serializer.serialize_none(),
    }
}

#[derive(Debug, Default, Serialize)]
pub struct Processes {
    /// Processes with programs in them (kernel threads have none).
    pub seen: usize,
    /// Processes of other users, of which only the name can be read.
    pub unreadable: usize,
    /// Files that were not looked into, because that would have taken too long.
    pub unscanned: usize,
    /// Those that have a libcrypto or cryptography of their own, or such a variable.
    pub list: Vec<Process>,
}

/// The file name of the provider, and of the engine.
const OUR_FILE: &str = "tenrounds.so";

/// The processes that run now, sorted.
pub fn pids(root: &Root) -> Vec<u32> {
    let names = root.names("/proc").into_iter();
    let mut pids: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    pids.sort_unstable();
    pids
}

/// The PID and the mappings of each process, and the number of processes whose mappings this user
/// may not read.
pub fn maps(root: &Root) -> (Vec<(u32, Maps)>, usize) {
    let own = root.is_machine().then(std::process::id);
    let mut found = Vec::new();
    let mut unreadable = 0;
    for pid in pids(root).into_iter().filter(|pid| Some(*pid) != own) {
        match executable(root, pid) {
            // Kernel threads have no mappings.
            Ok(maps) if maps.is_empty() => {}
            Ok(maps) => found.push((pid, maps)),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => unreadable += 1,
            // It has ended since.
            Err(_) => {}
        }
    }
    (found, unreadable)
}

pub fn find(root: &Root, scanner: &mut Scanner) -> Processes {
    let (maps, unreadable) = maps(root);
    let progress = Progress::new(maps.len(), "processes");
    let mut list = Vec::new();
    for (pid, maps) in &maps {
        progress.step();
        list.extend(process(root, *pid, maps, scanner));
    }
    progress.finish();
    Processes {
        seen: maps.len() + unreadable,
        unreadable,
        unscanned: scanner.skipped(),
        list,
    }
}

/// The root of a process as a path in ours; None unless the process is in a chroot. The kernel
/// shows the mappings of a chrooted process by their paths in our root. It shows those of a
/// container's process by their paths in the container.
fn chroot(root: &Root, pid: u32) -> Option<String> {
    let link = root.link(format!("/proc/{pid}/root"))?;
    let link = link.into_os_string().into_string().ok()?;
    (link != "/").then_some(link)
}

/// Converts the path of a mapped file to its path in the root of its process.
fn inside<'a>(chroot: Option<&str>, path: &'a str) -> &'a str {
    let rest = chroot.and_then(|chroot| path.strip_prefix(chroot));
    rest.filter(|rest| rest.starts_with('/')).unwrap_or(path)
}

/// The OpenSSL files that a process has mapped.
pub struct Mapped {
    /// The paths of its libcryptos. If one was replaced since, the new file at its path is assumed
    /// to read the same configuration.
    pub libcrypto: BTreeSet<String>,
    pub tenrounds: bool,
}

pub fn openssl(root: &Root, pid: u32, maps: &Maps) -> Mapped {
    let chroot = chroot(root, pid);
    let mut found = Mapped {
        libcrypto: BTreeSet::new(),
        tenrounds: false,
    };
    for mapping in maps.files() {
        match mapping.name() {
            name if name == OUR_FILE => found.tenrounds = true,
            name if is_libcrypto(name) => {
                let path = inside(chroot.as_deref(), &mapping.path);
                found.libcrypto.insert(path.to_owned());
            }
            _ => {}
        }
    }
    found
}

fn executable(root: &Root, pid: u32) -> std::io::Result<Maps> {
    Ok(Maps::parse(&root.text(format!("/proc/{pid}/maps"))?))
}

/// The files that a process has mapped for execution, by their paths in its root, and whether each
/// was deleted or replaced since.
pub fn files(root: &Root, pid: u32) -> std::io::Result<BTreeSet<(String, bool)>> {
    let maps = executable(root, pid)?;
    let chroot = chroot(root, pid);
    let path = |mapping: &Mapping| inside(chroot.as_deref(), &mapping.path).to_owned();
    let files = maps.files().map(|mapping| (path(mapping), mapping.deleted));
    Ok(files.collect())
}

/// Says why the mappings of a process cannot be read, and what to do. Root of a container often
/// lacks the capability to read them, even of its own processes.
pub fn hidden(root: &Root, pid: u32) -> String {
    // SAFETY: it has no arguments and cannot fail.
    let user = unsafe { libc::geteuid() };
    match owner(root, pid) {
        _ if user == 0 => "cannot be read: root lacks CAP_SYS_PTRACE here, as in many containers; add this capability, or run the command outside".to_owned(),
        Some(owner) if owner == user => "cannot be read, although it is yours: it has capabilities, a changed user, or hides its memory; run the command as root".to_owned(),
        _ => "belongs to another user; run the command as root".to_owned(),
    }
}

/// The effective user of a process.
fn owner(root: &Root, pid: u32) -> Option<u32> {
    let users = status::<String>(root, pid, "Uid")?;
    users.split_whitespace().nth(1)?.parse().ok()
}

/// A field of the status of a process.
pub fn status<T: FromStr>(root: &Root, pid: u32, field: &str) -> Option<T> {
    let status = root.text(format!("/proc/{pid}/status")).ok()?;
    let mut fields = status.lines().filter_map(|line| line.split_once(':'));
    let (_, value) = fields.find(|(name, _)| *name == field)?;
    value.trim().parse().ok()
}

pub fn name(root: &Root, pid: u32) -> String {
    clean(root.line(format!("/proc/{pid}/comm")).unwrap_or_default())
}

fn process(root: &Root, pid: u32, maps: &Maps, scanner: &mut Scanner) -> Option<Process> {
    let view = root.of_process(pid)?;
    let elsewhere = view.identity("/") != root.identity("/");
    let mut process = Process {
        pid,
        root: elsewhere.then(|| format!("/proc/{pid}/root")),
        view,
        name: name(root, pid),
        unit: unit(root, pid),
        libcrypto: Vec::new(),
        tenrounds: None,
        tenrounds_deleted: false,
        carries: Vec::new(),
        queries: Vec::new(),
        variables: variables(root, pid),
    };
    let mut paths = BTreeSet::new();
    let chroot = chroot(root, pid);
    for mapping in maps.files() {
        let path = inside(chroot.as_deref(), &mapping.path);
        if paths.insert(path) {
            process.take(path, mapping, scanner);
        }
    }
    let matters = !process.libcrypto.is_empty()
        || process.tenrounds.is_some()
        || !process.carries.is_empty()
        || process.variables.iter().flatten().next().is_some();
    matters.then_some(process)
}

impl Process {
    /// Takes a file by its path in the root of the process.
    fn take(&mut self, path: &str, mapping: &Mapping, scanner: &mut Scanner) {
        let name = mapping.name();
        if name == OUR_FILE {
            self.tenrounds = Some(clean(path));
            self.tenrounds_deleted = mapping.deleted;
            return;
        }
        let seen = match mapping.deleted {
            true => Seen::default(),
            false => scanner.scan(&self.view, path),
        };
        if is_libcrypto(name) {
            self.libcrypto.push(Library {
                path: clean(path),
                version: seen.version.or_else(|| by_name(name)),
                deleted: mapping.deleted,
            });
            return;
        }
        if name.starts_with("libssl.") || name.starts_with("libssl-") {
            return;
        }
        if let Some(own) = seen.own {
            self.carries.push(clean(format!("{} ({own})", path)));
        }
        if let Some(query) = seen.query {
            self.queries.push(clean(format!("{} ({query})", path)));
        }
    }

    /// "100 (nginx)".
    pub fn label(&self) -> String {
        format!("{} ({})", self.pid, self.name)
    }
}

/// "1.1" of libcrypto.so.1.1, where the file itself is gone.
fn by_name(name: &str) -> Option<String> {
    let (_, version) = name.split_once(".so.")?;
    Some(clean(version))
}

/// The last part of its control group that names a service.
pub fn unit(root: &Root, pid: u32) -> Option<String> {
    let groups = root.text(format!("/proc/{pid}/cgroup")).ok()?;
    let unit = groups
        .lines()
        .flat_map(|line| line.split('/'))
        .rfind(|part| part.ends_with(".service") && !part.starts_with("user@"))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:\\".contains(c);
    unit.chars().all(plain).then(|| unit.to_owned())
}

/// The environment with which a process executed its program. Empty for a moment while it does.
pub fn environment(root: &Root, pid: u32) -> std::io::Result<Vec<u8>> {
    root.bytes(format!("/proc/{pid}/environ"))
}

fn variables(root: &Root, pid: u32) -> Option<Vec<(&'static str, String)>> {
    let bytes = environment(root, pid).ok()?;
    let one = |entry: &[u8]| {
        let text = String::from_utf8_lossy(entry);
        let (name, value) = text.split_once('=')?;
        let known = VARIABLES.iter().find(|known| **known == name)?;
        Some((*known, clean(value)))
    };
    Some(bytes.split(|byte| *byte == 0).filter_map(one).collect())
}

/// "1 process", "3 processes".
pub fn count(n: usize) -> String {
    match n {
        1 => "1 process".to_owned(),
        n => format!("{n} processes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_in_a_chroot() {
        assert_eq!(inside(Some("/srv/a"), "/srv/a/lib/x.so"), "/lib/x.so");
        assert_eq!(inside(Some("/srv/a"), "/srv/ab/x.so"), "/srv/ab/x.so");
        assert_eq!(inside(None, "/lib/x.so"), "/lib/x.so");
    }
}
