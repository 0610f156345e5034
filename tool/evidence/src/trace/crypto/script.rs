// SPDX-License-Identifier: BSD-2-Clause
//! The functions of the kernel that are counted, and the script for bpftrace that counts them:
//! requests.bt.

use crate::trace::bpftrace;
use serde_json::{json, Value};

/// Maps: of `Maps::sums`, with the numbers of `Key`; drivers by the address of struct crypto_alg,
/// which is the last number; and names of processes.
pub const COUNTS: &str = "@counts";
pub const DRIVERS: &str = "@drivers";
pub const NAMES: &str = "@names";

/// Numbers of the context. That of a process is 0.
pub const KERNEL_THREAD: u64 = 1;
pub const INTERRUPT: u64 = 2;

/// The functions of the kernel that are counted. The third of these kinds checks a copy between a
/// program's memory and the kernel's (CONFIG_HARDENED_USERCOPY): the functions that copy may have
/// no probes in many kernels.
pub const PROBES: [&str; 7] = [
    "crypto_skcipher_encrypt",
    "crypto_skcipher_decrypt",
    "crypto_aead_encrypt",
    "crypto_aead_decrypt",
    SENDS,
    RECEIVES,
    COPIES,
];
pub const SENDS: &str = "security_socket_sendmsg";
pub const RECEIVES: &str = "security_socket_recvmsg";
pub const COPIES: &str = "__check_object_size";

/// Where the call returns to.
const RETURNS_TO: &str = match cfg!(target_arch = "aarch64") {
    true => "(uint64)reg(\"r30\")",
    false => "*(uint64 *)$stack",
};

/// The script for functions, by their indexes in `PROBES`.
pub fn script(probes: &[usize]) -> String {
    let probe = |&index: &usize| json!({ "index": index, "name": PROBES[index] });
    let probes: Vec<Value> = probes.iter().map(probe).collect();
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
