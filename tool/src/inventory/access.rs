// SPDX-License-Identifier: BSD-2-Clause
//! Whether the user of a process can read a file, by the modes of its path. Access control lists
//! and capabilities are not considered, except that root reads everything.

use crate::root::Root;
use crate::trust;
use std::fs::Metadata;
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
    let bits = |meta: &Metadata| identity.bits(meta.mode(), meta.uid(), meta.gid());
    let whom = format!("user {}", identity.user);
    let blind = trust::unreadable(view.top(), &view.path(file), &whom, bits)?;
    let part = blind.part.strip_prefix(view.top()).unwrap_or(&blind.part);
    Some(clean(format!("/{} {}", part.display(), blind.why)))
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

/// The effective user of a process.
pub fn owner(root: &Root, pid: u32) -> Option<u32> {
    let status = root.text(format!("/proc/{pid}/status")).ok()?;
    Some(identity(&status)?.user)
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
