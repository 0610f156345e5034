// SPDX-License-Identifier: BSD-2-Clause
//! Whether the user of a process can read a file, by the modes of its path. Access control lists
//! and capabilities are not considered, except that root reads everything.

use crate::root::Root;
use std::os::unix::fs::MetadataExt;
use terminal::style::clean;

/// The identities of a process.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    user: u32,
    groups: Vec<u32>,
}

/// Says why the user of a process cannot read a file in its root; None if it can, or if that cannot
/// be told.
pub fn refused(root: &Root, pid: u32, view: &Root, file: &str) -> Option<String> {
    let status = root.text(format!("/proc/{pid}/status")).ok()?;
    let identity = identity(&status)?;
    if identity.user == 0 {
        return None;
    }
    let real = view.path(file).canonicalize().ok()?;
    let mut parts: Vec<_> = real
        .ancestors()
        .filter(|part| part.starts_with(view.top()))
        .collect();
    parts.reverse();
    parts.into_iter().find_map(|part| {
        let meta = std::fs::metadata(part).ok()?;
        let needed = if meta.is_dir() { 0o1 } else { 0o4 };
        let bits = identity.bits(meta.mode(), meta.uid(), meta.gid());
        let path = part.strip_prefix(view.top()).unwrap_or(part);
        (bits & needed == 0).then(|| {
            format!(
                "user {} cannot {} /{} (mode {:o})",
                identity.user,
                if meta.is_dir() { "search" } else { "read" },
                clean(path.display().to_string()),
                meta.mode() & 0o7777
            )
        })
    })
}

impl Identity {
    /// The permission bits that apply, of a mode.
    fn bits(&self, mode: u32, user: u32, group: u32) -> u32 {
        match () {
            () if self.user == user => mode >> 6 & 7,
            () if self.groups.contains(&group) => mode >> 3 & 7,
            () => mode & 7,
        }
    }
}

/// The effective user and all groups (proc_pid_status(5)).
fn identity(status: &str) -> Option<Identity> {
    let numbers = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let numbers = line.split_whitespace().map(|word| word.parse().ok());
        numbers.collect::<Option<Vec<u32>>>()
    };
    let mut groups = numbers("Groups:").unwrap_or_default();
    groups.push(*numbers("Gid:")?.get(1)?);
    let user = *numbers("Uid:")?.get(1)?;
    Some(Identity { user, groups })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_that_apply() {
        let status = "Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t6\t7\t8\nGroups:\t9 10 \n";
        let identity = identity(status).unwrap();
        assert_eq!(
            identity,
            Identity {
                user: 2,
                groups: vec![9, 10, 6]
            }
        );
        assert_eq!(identity.bits(0o421, 2, 6), 4);
        assert_eq!(identity.bits(0o421, 1, 10), 2);
        assert_eq!(identity.bits(0o421, 1, 5), 1);
    }
}
