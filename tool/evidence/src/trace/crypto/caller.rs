// SPDX-License-Identifier: BSD-2-Clause
//! Which part of the kernel made a request, by the function that it returns to.

use crate::trace::result::{Caller, Entry};
use crate::trace::target::kernel::Symbols;
use terminal::style::clean;

/// The function that a call returns to.
pub fn of(symbols: &mut Symbols, address: u64) -> Option<Caller> {
    // The call itself is before that, which matters if it ends the function.
    let (function, module) = symbols.function(address.checked_sub(1)?)?;
    Some(Caller {
        function: clean(function.name?),
        module: module.to_owned(),
    })
}

/// Modules, and how their functions begin, by which they are known if they are built into the
/// kernel.
const ENTRIES: [(Entry, &[&str], &[&str]); 4] = [
    (
        Entry::AfAlg,
        &[
            "af_alg",
            "algif_skcipher",
            "algif_aead",
            "algif_hash",
            "algif_rng",
        ],
        &[
            "af_alg_",
            "skcipher_recvmsg",
            "_skcipher_recvmsg",
            "aead_recvmsg",
            "_aead_recvmsg",
            "hash_sendmsg",
            "hash_recvmsg",
            "hash_accept",
        ],
    ),
    (
        Entry::DmCrypt,
        &["dm_crypt"],
        &["crypt_convert", "crypt_iv_", "kcryptd_"],
    ),
    (
        Entry::Ipsec,
        &["esp4", "esp6", "esp4_offload", "esp6_offload", "ah4", "ah6"],
        &["esp_", "esp6_", "ah_", "ah6_"],
    ),
    (Entry::Ktls, &["tls"], &["tls_"]),
];

/// Whether a copy is one of data that a program sends to AF_ALG or receives from it, and not a copy
/// of keys.
pub fn transfers(caller: Option<&Caller>) -> bool {
    let is_message = |caller: &Caller| {
        let name = &caller.function;
        name.contains("sendmsg") || name.contains("recvmsg")
    };
    entry(caller) == Entry::AfAlg && caller.is_some_and(is_message)
}

pub fn entry(caller: Option<&Caller>) -> Entry {
    let Some(caller) = caller else {
        return Entry::Other;
    };
    let found = ENTRIES.iter().find(|(_, modules, functions)| {
        let begins = |start: &&str| caller.function.starts_with(*start);
        modules.contains(&caller.module.as_str())
            || caller.module == "kernel" && functions.iter().any(begins)
    });
    found.map_or(Entry::Other, |(entry, _, _)| *entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_by_module_and_by_function() {
        let entry = |function: &str, module: &str| {
            entry(Some(&Caller {
                function: function.to_owned(),
                module: module.to_owned(),
            }))
        };
        for (function, module, wanted) in [
            ("skcipher_recvmsg", "algif_skcipher", Entry::AfAlg),
            ("af_alg_sendmsg", "kernel", Entry::AfAlg),
            ("crypt_convert.constprop.0", "dm_crypt", Entry::DmCrypt),
            ("crypt_convert", "kernel", Entry::DmCrypt),
            ("esp_output_tail", "esp4", Entry::Ipsec),
            ("tls_push_record", "tls", Entry::Ktls),
            ("hash_sendmsg", "kernel", Entry::AfAlg),
            ("fscrypt_crypt_block", "kernel", Entry::Other),
            ("seqiv_aead_encrypt", "seqiv", Entry::Other),
            // A function of this name in another module is not the kernel's.
            ("tls_strange", "strange", Entry::Other),
        ] {
            assert_eq!(entry(function, module), wanted, "{function} [{module}]");
        }
        assert_eq!(super::entry(None), Entry::Other);
    }

    #[test]
    fn copies_of_keys_are_no_transfers() {
        let transfers = |function: &str, module: &str| {
            transfers(Some(&Caller {
                function: function.to_owned(),
                module: module.to_owned(),
            }))
        };
        assert!(transfers("af_alg_sendmsg", "af_alg"));
        assert!(transfers("hash_recvmsg", "algif_hash"));
        assert!(!transfers("alg_setkey.isra.0", "af_alg"));
        assert!(!transfers("unix_stream_sendmsg", "kernel"));
    }
}
