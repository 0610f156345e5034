// SPDX-License-Identifier: BSD-2-Clause
//! The functions of the kernel that are counted, and the script for bpftrace that counts them:
//! requests.bt.

use crate::trace::bpftrace;
use crate::trace::result::Operation;
use serde::Serialize;
use serde_json::json;

/// Maps: of `Maps::sums`, with the numbers of `Key`; drivers by the address of struct crypto_alg,
/// which is the last number; and names of processes.
pub const COUNTS: &str = "@counts";
pub const DRIVERS: &str = "@drivers";
pub const NAMES: &str = "@names";

/// Numbers of the context. That of a process is 0.
pub const KERNEL_THREAD: u64 = 1;
pub const INTERRUPT: u64 = 2;

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    Request {
        operation: Operation,
    },
    /// Between a program's memory and the kernel's: the check before it (CONFIG_HARDENED_USERCOPY).
    /// The functions that copy may have no probes in many kernels.
    Copy,
    Message {
        is_sent: bool,
    },
}

const ENCRYPTS: Kind = Kind::Request {
    operation: Operation::Encrypt,
};
const DECRYPTS: Kind = Kind::Request {
    operation: Operation::Decrypt,
};

/// The functions of the kernel that are counted.
pub const PROBES: [(&str, Kind); 7] = [
    ("crypto_skcipher_encrypt", ENCRYPTS),
    ("crypto_skcipher_decrypt", DECRYPTS),
    ("crypto_aead_encrypt", ENCRYPTS),
    ("crypto_aead_decrypt", DECRYPTS),
    ("__check_object_size", Kind::Copy),
    ("security_socket_sendmsg", Kind::Message { is_sent: true }),
    ("security_socket_recvmsg", Kind::Message { is_sent: false }),
];

#[derive(Serialize)]
struct Probe {
    index: usize,
    name: &'static str,
    #[serde(flatten)]
    kind: Kind,
}

/// Where the call returns to.
const RETURNS_TO: &str = match cfg!(target_arch = "aarch64") {
    true => "(uint64)reg(\"r30\")",
    false => "*(uint64 *)$stack",
};

/// The script for functions, by their indexes in `PROBES`.
pub fn script(probes: &[usize]) -> String {
    let probe = |&index: &usize| {
        let (name, kind) = PROBES[index];
        Probe { index, name, kind }
    };
    let probes: Vec<Probe> = probes.iter().map(probe).collect();
    let context = json!({
        "probes": probes,
        "returns_to": RETURNS_TO,
        "kernel_thread": KERNEL_THREAD,
        "interrupt": INTERRUPT,
    });
    bpftrace::script(include_str!("requests.bt"), &context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_function() {
        let text = script(&(0..PROBES.len()).collect::<Vec<usize>>());
        assert_eq!(text.matches("\nkprobe:").count() + 1, PROBES.len());
        assert_eq!(
            text.matches(&format!("    {COUNTS}[")).count(),
            PROBES.len()
        );
        let of = |name: &str| {
            let start = text.find(&format!("kprobe:{name}\n")).unwrap();
            text[start..].split_once("\n}\n").unwrap().0
        };
        assert!(of("crypto_aead_decrypt").contains("(struct aead_request *)arg0"));
        assert!(of("crypto_skcipher_encrypt").contains(&format!("{DRIVERS}[$algorithm]")));
        assert!(of("__check_object_size").contains("if (@seen[$thread] == 0) { return; }"));
        assert!(of("security_socket_sendmsg").contains("->msg_flags & 134217728)"));
        assert!(!of("security_socket_recvmsg").contains("msg_flags"));
    }
}
