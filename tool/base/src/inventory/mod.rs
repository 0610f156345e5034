// SPDX-License-Identifier: BSD-2-Clause
//! What of OpenSSL is installed on a machine, and what runs of it. Only reads; nothing is executed.

pub mod install;
pub mod processes;
pub mod scan;

use machine::masks;

/// The variables that decide what a program's OpenSSL does.
pub const VARIABLES: [&str; 6] = [
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "OPENSSL_CONF_INCLUDE",
    masks::LIBCRYPTO_MASK,
    masks::TENROUNDS_MASK,
];

/// "libcrypto.so", "libcrypto.so.3", "libcrypto-1a2b3c.so.1.1" as in wheels.
pub fn is_libcrypto(name: &str) -> bool {
    let rest = name.strip_prefix("libcrypto");
    rest.is_some_and(|rest| rest.starts_with(['.', '-']) && rest.contains(".so"))
}

/// Whether a library belongs to an OpenSSL before 3.0, by its name.
pub fn is_old(name: &str) -> bool {
    let of = |library: &str| {
        name.strip_prefix(library)
            .and_then(|rest| rest.strip_prefix(".so."))
    };
    let version = of("libcrypto").or_else(|| of("libssl"));
    version.is_some_and(|version| version.starts_with("0.") || version.starts_with("1."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_libraries() {
        for name in ["libcrypto.so.1.1", "libssl.so.1.0.0", "libcrypto.so.0.9.8"] {
            assert!(is_old(name), "{name}");
        }
        for name in ["libcrypto.so.3", "libssl.so.4", "libc.so.6", "libcrypto.so"] {
            assert!(!is_old(name), "{name}");
        }
    }
}
