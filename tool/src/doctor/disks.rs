// SPDX-License-Identifier: BSD-2-Clause
//! Encrypted disks (dm-crypt), read only: cipher, sector size, and whether requests wait in queues.
//! What stands for the key in dmsetup's answer is measured and thrown away.

use super::means::Means;
use crate::finding::{Finding, Group};
use crate::kernel::drivers::{is_software, Driver};
use crate::limited;
use crate::root::Root;
use serde::Serialize;
use std::process::Command;
use std::time::Duration;

/// The time that dmsetup has.
const LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Serialize)]
pub struct Disk {
    pub name: String,
    /// "dm-0".
    pub device: String,
    /// "LUKS2", "PLAIN", by its UUID.
    pub kind: String,
    /// What follows is null where the table could not be read.
    pub cipher: Option<String>,
    pub key_bits: Option<u64>,
    pub sector_size: Option<u64>,
    pub no_read_workqueue: Option<bool>,
    pub no_write_workqueue: Option<bool>,
    /// The kernel's driver for the cipher.
    pub driver: Option<String>,
    #[serde(skip)]
    physical_block: u64,
    #[serde(skip)]
    rotational: bool,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    cipher: String,
    key_bits: Option<u64>,
    sector_size: u64,
    no_read_workqueue: bool,
    no_write_workqueue: bool,
}

/// A line of `dmsetup table` (Linux, admin-guide/device-mapper/dm-crypt.rst): start, length,
/// "crypt", cipher, key, IV offset, device, offset, number of options, options.
fn parse(line: &str) -> Option<Table> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().take(4).position(|word| *word == "crypt")?;
    let options = words.get(at + 7..).unwrap_or_default();
    let has = |name: &str| options.contains(&name);
    let sector = options
        .iter()
        .find_map(|word| word.strip_prefix("sector_size:")?.parse().ok());
    Some(Table {
        cipher: (*words.get(at + 1)?).to_owned(),
        key_bits: key_bits(words.get(at + 2)?),
        sector_size: sector.unwrap_or(512),
        no_read_workqueue: has("no_read_workqueue"),
        no_write_workqueue: has("no_write_workqueue"),
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
    let dir = format!("/sys/block/{device}");
    let uuid = root.line(format!("{dir}/dm/uuid"))?;
    let kind = uuid.strip_prefix("CRYPT-")?.split('-').next()?.to_owned();
    let name = root.line(format!("{dir}/dm/name"))?;
    let table = table(root, &name);
    let wanted = table.as_ref().and_then(|table| algorithm(&table.cipher));
    let driver = drivers
        .iter()
        .find(|driver| driver.selected && Some(&driver.algorithm) == wanted.as_ref());
    let queue = |file: &str| root.line(format!("{dir}/queue/{file}"));
    Some(Disk {
        driver: driver.map(|driver| driver.driver.clone()),
        cipher: table.as_ref().map(|t| t.cipher.clone()),
        key_bits: table.as_ref().and_then(|t| t.key_bits),
        sector_size: table.as_ref().map(|t| t.sector_size),
        no_read_workqueue: table.as_ref().map(|t| t.no_read_workqueue),
        no_write_workqueue: table.as_ref().map(|t| t.no_write_workqueue),
        physical_block: queue("physical_block_size")
            .and_then(|n| n.parse().ok())
            .unwrap_or(512),
        rotational: queue("rotational").is_some_and(|value| value == "1"),
        kind,
        name,
        device,
    })
}

/// Without --showkeys dmsetup writes zeros for a key.
fn table(root: &Root, name: &str) -> Option<Table> {
    let programs = ["/usr/sbin/dmsetup", "/sbin/dmsetup", "/usr/bin/dmsetup"];
    let program = programs
        .iter()
        .map(|file| root.path(file))
        .find(|file| file.is_file())?;
    let mut dmsetup = Command::new(program);
    dmsetup.args(["table", "--target", "crypt", "--", name]);
    for (variable, _) in std::env::vars_os() {
        dmsetup.env_remove(variable);
    }
    let output = limited::run(dmsetup, b"", LIMIT).ok()?;
    parse(output.out.lines().next()?)
}

pub fn check(means: &Means, disks: &[Disk]) -> Vec<Finding> {
    let of_disk = |disk| of_disk(means, disk);
    disks.iter().flat_map(of_disk).collect()
}

fn of_disk(means: &Means, disk: &Disk) -> Vec<Finding> {
    let group = Group::Kernel;
    let from = format!("dmsetup table {}", disk.name);
    let Some(cipher) = &disk.cipher else {
        let says = format!(
            "{} is an encrypted disk whose table this user cannot read",
            disk.name
        );
        let finding = Finding::note(group, "disk-unread", says);
        let finding = finding.seen(
            format!("/sys/block/{}/dm/uuid", disk.device),
            format!("CRYPT-{}-...", disk.kind),
        );
        return vec![finding.cure("shell", "sudo tenrounds doctor   (needs dmsetup)")];
    };
    let mut found = Vec::new();
    let sector = disk.sector_size.unwrap_or(512);
    if sector < disk.physical_block.min(4096) {
        let says = format!(
            "{} is encrypted in sectors of {sector} bytes on a device of {}: the cipher starts anew eight times as often",
            disk.name, disk.physical_block
        );
        found.push(
            Finding::warning(group, "disk-sector", says)
                .seen(&from, format!("{cipher}, sector_size {sector}"))
                .seen(format!("/sys/block/{}/queue/physical_block_size", disk.device), disk.physical_block)
                .cure("shell", format!("cryptsetup reencrypt --sector-size 4096 DEVICE   (LUKS2, offline, after a backup; the DEVICE of {})", disk.name)),
        );
    }
    let queues = disk.no_read_workqueue == Some(false) || disk.no_write_workqueue == Some(false);
    if queues && !disk.rotational {
        let says = format!("requests to {} wait in work queues, which on a solid-state disk may cost more than the cipher", disk.name);
        found.push(
            Finding::note(group, "disk-queues", says)
                .seen(&from, "no_read_workqueue and no_write_workqueue are not both set")
                .cure("shell", format!("cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue --persistent {}", disk.name)),
        );
    }
    if let Some(driver) = disk.driver.as_deref().filter(|driver| is_software(driver)) {
        let says = format!(
            "{} is encrypted in software: the kernel uses no AES instructions for it",
            disk.name
        );
        let finding = Finding::warning(group, "disk-software", says)
            .seen(&from, cipher)
            .seen("/proc/crypto", driver);
        found.push(match means.can_load("aesni_intel") {
            true => finding.cure(
                "shell",
                "modprobe aesni_intel   (then close and open the disk again)",
            ),
            false => finding.cure("system", "boot a kernel with CONFIG_CRYPTO_AES_NI_INTEL"),
        });
    }
    found
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
            (4096, true, false)
        );
        let named =
            parse("data: 0 9 crypt capi:xts(aes)-plain64 :64:logon:cryptsetup:x 0 8:2 0").unwrap();
        assert_eq!((named.key_bits, named.sector_size), (Some(512), 512));
        assert_eq!(algorithm(&named.cipher).as_deref(), Some("xts(aes)"));
        assert_eq!(
            algorithm("aes-cbc-essiv:sha256").as_deref(),
            Some("cbc(aes)")
        );
        for wrong in ["", "crypt", "0 1 linear 8:2 0", "0 1 crypt aes-xts-plain64"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
