// SPDX-License-Identifier: BSD-2-Clause
//! Encrypted disks (dm-crypt), by what the kernel shows to everybody.

use base::finding::{Finding, Group};
use base::root::Root;
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct Disk {
    pub name: String,
    /// "dm-0".
    device: String,
    /// "LUKS2", "PLAIN", by its UUID.
    kind: String,
    /// The bytes that are encrypted as one unit (dm-crypt's limit of its queue).
    sector_size: u64,
    /// The sector of the device below.
    physical_block: u64,
}

pub fn find(root: &Root) -> Vec<Disk> {
    let devices = root.names("/sys/block").into_iter();
    let devices = devices.filter(|name| name.starts_with("dm-"));
    devices.filter_map(|device| disk(root, device)).collect()
}

fn disk(root: &Root, device: String) -> Option<Disk> {
    let line = |file: &str| root.line(format!("/sys/block/{device}/{file}"));
    let size = |file| line(file).and_then(|n| n.parse().ok()).unwrap_or(512);
    let uuid = line("dm/uuid")?;
    Some(Disk {
        kind: uuid.strip_prefix("CRYPT-")?.split('-').next()?.to_owned(),
        name: line("dm/name")?,
        sector_size: size("queue/logical_block_size"),
        physical_block: size("queue/physical_block_size"),
        device,
    })
}

impl Disk {
    pub fn check(&self) -> Option<Finding> {
        let (name, sector, block) = (&self.name, self.sector_size, self.physical_block);
        let says = format!("{name} is encrypted in sectors of {sector} bytes on a device of {block}: the cipher starts anew for each");
        let queue = format!("/sys/block/{}/queue", self.device);
        let cure = format!("cryptsetup reencrypt --sector-size 4096 DEVICE   (LUKS2, offline, after a backup; the DEVICE of {name})");
        let finding = Finding::warning(Group::Kernel, "disk-sector", says)
            .seen(format!("{queue}/logical_block_size"), sector)
            .seen(format!("{queue}/physical_block_size"), block)
            .cure("shell", cure);
        (sector < block.min(4096)).then_some(finding)
    }
}
