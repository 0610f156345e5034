// SPDX-License-Identifier: BSD-2-Clause
//! Encrypted disks (dm-crypt), read only: cipher, sector size, and whether requests wait in queues.
//! What stands for the key in dmsetup's answer is measured and thrown away.

use crate::finding::{Finding, Group};
use crate::kernel::drivers::{is_software, selected, Driver};
use crate::limited;
use crate::root::Root;
use serde::Serialize;
use std::process::Command;
use std::time::Duration;

const GROUP: Group = Group::Kernel;
/// The time that dmsetup has.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Serialize)]
pub struct Disk {
    pub name: String,
    /// "dm-0".
    device: String,
    /// "LUKS2", "PLAIN", by its UUID.
    kind: String,
    #[serde(flatten)]
    table: Table,
    /// The kernel's driver for the cipher.
    driver: Option<String>,
    #[serde(skip)]
    physical_block: u64,
    #[serde(skip)]
    rotational: bool,
}

/// All null where the table could not be read.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
struct Table {
    cipher: Option<String>,
    key_bits: Option<u64>,
    sector_size: Option<u64>,
    no_read_workqueue: Option<bool>,
    no_write_workqueue: Option<bool>,
}

/// A line of `dmsetup table` (Linux, admin-guide/device-mapper/dm-crypt.rst): start, length,
/// "crypt", cipher, key, IV offset, device, offset, number of options, options.
fn parse(line: &str) -> Option<Table> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().take(4).position(|word| *word == "crypt")?;
    let options = words.get(at + 7..).unwrap_or_default();
    let mut sectors = options.iter();
    let sector = sectors.find_map(|word| word.strip_prefix("sector_size:")?.parse().ok());
    Some(Table {
        cipher: Some((*words.get(at + 1)?).to_owned()),
        key_bits: key_bits(words.get(at + 2)?),
        sector_size: sector.or(Some(512)),
        no_read_workqueue: Some(options.contains(&"no_read_workqueue")),
        no_write_workqueue: Some(options.contains(&"no_write_workqueue")),
    })
}

/// The size of the key: of ":32:logon:NAME" the number of bytes, else the hexadecimal digits.
fn key_bits(field: &str) -> Option<u64> {
    match field.strip_prefix(':') {
        Some(rest) => rest.split(':').next()?.parse::<u64>().ok()?.checked_mul(8),
        None => Some(field.len() as u64 * 4).filter(|bits| *bits > 4),
    }
}

/// The kernel's name of a cipher: "xts(aes)" of "aes-xts-plain64".
fn algorithm(cipher: &str) -> Option<String> {
    if let Some(rest) = cipher.strip_prefix("capi:") {
        return Some(
            rest.rsplit_once('-')
                .map_or(rest, |(name, _)| name)
                .to_owned(),
        );
    }
    let mut parts = cipher.split('-');
    let (name, mode) = (parts.next()?, parts.next()?);
    Some(format!("{mode}({})", name.split(':').next()?))
}

pub fn find(root: &Root, drivers: &[Driver]) -> Vec<Disk> {
    let names = root.names("/sys/block").into_iter();
    names
        .filter(|name| name.starts_with("dm-"))
        .filter_map(|device| disk(root, device, drivers))
        .collect()
}

fn disk(root: &Root, device: String, drivers: &[Driver]) -> Option<Disk> {
    let line = |file: &str| root.line(format!("/sys/block/{device}/{file}"));
    let uuid = line("dm/uuid")?;
    let kind = uuid.strip_prefix("CRYPT-")?.split('-').next()?.to_owned();
    let name = line("dm/name")?;
    let table = table(root, &name).unwrap_or_default();
    let wanted = table.cipher.as_deref().and_then(algorithm);
    let driver = wanted.and_then(|algorithm| selected(drivers, &algorithm));
    let block = line("queue/physical_block_size").and_then(|n| n.parse().ok());
    Some(Disk {
        driver: driver.map(|driver| driver.driver.clone()),
        physical_block: block.unwrap_or(512),
        rotational: line("queue/rotational").is_some_and(|value| value == "1"),
        table,
        kind,
        name,
        device,
    })
}

/// Without --showkeys dmsetup writes zeros for a key.
fn table(root: &Root, name: &str) -> Option<Table> {
    let programs = ["/usr/sbin/dmsetup", "/sbin/dmsetup", "/usr/bin/dmsetup"];
    let mut programs = programs.iter().map(|file| root.path(file));
    let mut dmsetup = Command::new(programs.find(|file| file.is_file())?);
    dmsetup.args(["table", "--target", "crypt", "--", name]);
    for (variable, _) in std::env::vars_os() {
        dmsetup.env_remove(variable);
    }
    let output = limited::run(dmsetup, b"", LIMIT).ok()?;
    parse(output.out.lines().next()?)
}

impl Disk {
    pub fn check(&self) -> Vec<Finding> {
        let Disk { name, table, .. } = self;
        let from = format!("dmsetup table {name}");
        let Some(cipher) = &table.cipher else {
            let says = format!("{name} is an encrypted disk whose table this user cannot read");
            let uuid = format!("/sys/block/{}/dm/uuid", self.device);
            let finding = Finding::note(GROUP, "disk-unread", says);
            let finding = finding.seen(uuid, format!("CRYPT-{}-...", self.kind));
            return vec![finding.cure("shell", "sudo tenrounds doctor   (needs dmsetup)")];
        };
        let mut found = Vec::new();
        let sector = table.sector_size.unwrap_or(512);
        let block = self.physical_block;
        if sector < block.min(4096) {
            let says = format!("{name} is encrypted in sectors of {sector} bytes on a device of {block}: the cipher starts anew eight times as often");
            let finding = Finding::warning(GROUP, "disk-sector", says);
            let finding = finding.seen(&from, format!("{cipher}, sector_size {sector}"));
            found.push(finding.cure("shell", format!("cryptsetup reencrypt --sector-size 4096 DEVICE   (LUKS2, offline, after a backup; the DEVICE of {name})")));
        }
        let is_queued = [table.no_read_workqueue, table.no_write_workqueue].contains(&Some(false));
        if is_queued && !self.rotational {
            let says = format!("requests to {name} wait in work queues, which on a solid-state disk may cost more than the cipher");
            let finding = Finding::note(GROUP, "disk-queues", says);
            let value = "no_read_workqueue and no_write_workqueue are not both set";
            found.push(finding.seen(&from, value).cure("shell", format!("cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue --persistent {name}")));
        }
        if let Some(driver) = self.driver.as_deref().filter(|driver| is_software(driver)) {
            let says = format!(
                "{name} is encrypted in software: the kernel uses no AES instructions for it"
            );
            let finding = Finding::warning(GROUP, "disk-software", says);
            found.push(finding.seen(&from, cipher).seen("/proc/crypto", driver));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        let zeros = "0".repeat(128);
        let line = format!("0 1000 crypt aes-xts-plain64 {zeros} 0 8:2 32768 3 allow_discards sector_size:4096 no_read_workqueue");
        let table = parse(&line).unwrap();
        assert_eq!(table.key_bits, Some(512));
        assert_eq!(
            (
                table.sector_size,
                table.no_read_workqueue,
                table.no_write_workqueue
            ),
            (Some(4096), Some(true), Some(false))
        );
        let named =
            parse("data: 0 9 crypt capi:xts(aes)-plain64 :64:logon:cryptsetup:x 0 8:2 0").unwrap();
        assert_eq!((named.key_bits, named.sector_size), (Some(512), Some(512)));
        assert_eq!(
            algorithm(named.cipher.as_deref().unwrap()).as_deref(),
            Some("xts(aes)")
        );
        assert_eq!(
            algorithm("aes-cbc-essiv:sha256").as_deref(),
            Some("cbc(aes)")
        );
        for wrong in ["", "crypt", "0 1 linear 8:2 0", "0 1 crypt aes-xts-plain64"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
