// SPDX-License-Identifier: BSD-2-Clause
//! Whether this kernel would load a module that was built on this machine. With Secure Boot it
//! takes only signed ones, kernel_lockdown(7); DKMS signs with a key of its own, which the
//! machine's owner has to enrol.

use super::module::Module;
use crate::root::Root;
use serde::Serialize;
use terminal::style::clean;

const EFIVARS: &str = "/sys/firmware/efi/efivars";
/// The variable of the UEFI specification, section 3.3, with its vendor's GUID.
const SECURE_BOOT: &str = "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c";
/// What shim leaves of the enrolled keys for the system, with its GUID (shim, README.mok and
/// lib.h).
const ENROLLED: &str = "MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23";
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
/// The end of a signed module (Linux, admin-guide/module-signing.rst).
const SIGNED: &[u8] = b"~Module signature appended~\n";

#[derive(Debug, Clone, Serialize)]
pub struct Signatures {
    /// null: no UEFI, or its variables cannot be read.
    pub secure_boot: Option<bool>,
    /// "none", "integrity", "confidentiality"; null: the kernel has none, or this user may not read
    /// it.
    pub lockdown: Option<String>,
    /// The kernel refuses modules without a signature that it knows.
    pub required: bool,
    /// The certificate of the key with which DKMS signs.
    pub certificate: String,
    /// Whether that exists: DKMS makes it when it first builds a module.
    pub exists: bool,
    /// Whether the firmware's list of the owner's keys has it; null: cannot be told.
    pub enrolled: Option<bool>,
    /// Whether the module for the running kernel is signed; null: there is none, or it is
    /// compressed.
    pub signed: Option<bool>,
    /// Whether a module of DKMS would load here; null: cannot be told.
    pub loads: Option<bool>,
}

impl Signatures {
    pub fn read(root: &Root, module: &Module) -> Signatures {
        let secure_boot = variable(root, SECURE_BOOT).and_then(|value| Some(*value.first()? == 1));
        let lockdown = root.line(LOCKDOWN).map(|line| clean(chosen(&line)));
        let forced = root.line("/sys/module/module/parameters/sig_enforce");
        let required = match &lockdown {
            _ if forced.as_deref() == Some("Y") => true,
            Some(level) => level != "none",
            None => secure_boot == Some(true),
        };
        let certificate = certificate(root);
        let bytes = root.bytes(&certificate).ok();
        let enrolled = match &bytes {
            None if root.exists(&certificate) => None,
            None => Some(false),
            Some(bytes) => variable(root, ENROLLED).map(|list| holds(&list, bytes)),
        };
        let signed = module.file.as_ref().and_then(|file| signed(root, file));
        let loads = match (required, signed) {
            _ if !module.loadable => Some(false),
            (false, _) => Some(true),
            (true, Some(false)) => Some(false),
            (true, _) => enrolled,
        };
        Signatures {
            secure_boot,
            lockdown,
            required,
            exists: root.exists(&certificate),
            certificate: clean(certificate),
            enrolled,
            signed,
            loads,
        }
    }

    /// The line that asks for the key to be enrolled at the next boot.
    pub fn line(&self) -> String {
        format!("mokutil --import {}", self.certificate)
    }
}

/// A variable of the firmware: four bytes of attributes stand before it (Linux,
/// filesystems/efivarfs.rst).
fn variable(root: &Root, name: &str) -> Option<Vec<u8>> {
    let bytes = root.bytes(format!("{EFIVARS}/{name}")).ok()?;
    Some(bytes.get(4..)?.to_vec())
}

/// Signature lists hold certificates as they are (UEFI specification, section 32.4.1).
fn holds(list: &[u8], certificate: &[u8]) -> bool {
    !certificate.is_empty() && memchr::memmem::find(list, certificate).is_some()
}

/// "none [integrity] confidentiality": the word in brackets.
fn chosen(line: &str) -> String {
    let word = line
        .split_whitespace()
        .find_map(|w| w.strip_prefix('[')?.strip_suffix(']'));
    word.unwrap_or(line).to_owned()
}

fn signed(root: &Root, file: &str) -> Option<bool> {
    if !file.ends_with(".ko") {
        return None;
    }
    Some(root.bytes(file).ok()?.ends_with(SIGNED))
}

/// The certificate that DKMS is configured for; else that of the distribution: Ubuntu's DKMS takes
/// the key that its shim-signed makes, all others make their own (dkms, framework.conf and
/// prepare_signing).
fn certificate(root: &Root) -> String {
    let mut files = vec!["/etc/dkms/framework.conf".to_owned()];
    let more = "/etc/dkms/framework.conf.d";
    let names = root.names(more).into_iter();
    files.extend(
        names
            .filter(|n| n.ends_with(".conf"))
            .map(|n| format!("{more}/{n}")),
    );
    let mut configured = files.iter().filter_map(|file| {
        let text = root.text(file).ok()?;
        let mut lines = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("mok_certificate="));
        lines
            .next_back()
            .map(|value| value.trim_matches(&['"', '\''][..]).to_owned())
    });
    match configured.next_back() {
        Some(path) if path.starts_with('/') => path,
        _ if is_like(root, "ubuntu") => "/var/lib/shim-signed/mok/MOK.der".to_owned(),
        _ => "/var/lib/dkms/mok.pub".to_owned(),
    }
}

/// Whether the distribution, or one it names as its model, is this one (os-release(5)).
fn is_like(root: &Root, wanted: &str) -> bool {
    let text = root
        .text("/etc/os-release")
        .or_else(|_| root.text("/usr/lib/os-release"));
    let text = text.unwrap_or_default();
    let mut values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        ["ID", "ID_LIKE"]
            .contains(&key)
            .then(|| value.trim_matches(&['"', '\''][..]))
    });
    values.any(|value| value.split_whitespace().any(|word| word == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_in_brackets() {
        assert_eq!(chosen("none [integrity] confidentiality"), "integrity");
        assert_eq!(chosen("[none] integrity confidentiality"), "none");
        assert_eq!(chosen("surprise"), "surprise");
    }

    #[test]
    fn an_empty_certificate_is_nowhere() {
        assert!(holds(b"abcdef", b"cde"));
        assert!(!holds(b"abcdef", b"cdf"));
        assert!(!holds(b"abcdef", b""));
    }
}
