// SPDX-License-Identifier: BSD-2-Clause
//! Whether tenrounds reaches the AES code in a file, and what to do. docs/reach.md has the reasons.

use super::Holds;
use base::inventory::is_libcrypto;
use classify::Module;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// It is tenrounds.
    Itself,
    /// By the provider.
    Provider,
    /// By the engine.
    Engine,
    /// By the PKCS#11 module.
    Java,
    /// By the kernel module.
    Kernel,
    /// An OpenSSL in a file of another name: only if it loads providers.
    Bundled,
    /// Go's own AES.
    Go,
    /// Another library, without providers.
    OtherLibrary,
    /// The library is not known.
    Unknown,
    /// There is no encryption to replace.
    NotNeeded,
}

impl Reach {
    pub fn of(path: &str, module: &Module, holds: Holds) -> Reach {
        if matches!(holds, Holds::OtherUse | Holds::Others) {
            return Reach::NotNeeded;
        }
        let Some(library) = &module.library else {
            return Reach::Unknown;
        };
        let file = path.rsplit('/').next().unwrap_or_default();
        let of_system = is_libcrypto(file) && !file.starts_with("libcrypto-");
        let version = library.version.as_deref().unwrap_or_default();
        match library.name {
            "tenrounds" => Reach::Itself,
            "OpenSSL" if !of_system => Reach::Bundled,
            "OpenSSL" if version.starts_with("1.1.1") => Reach::Engine,
            "OpenSSL" if version.starts_with(['0', '1']) => Reach::OtherLibrary,
            "OpenSSL" => Reach::Provider,
            "HotSpot" => Reach::Java,
            "Linux" => Reach::Kernel,
            "Go" => Reach::Go,
            _ => Reach::OtherLibrary,
        }
    }

    /// One or two words for the table.
    pub fn name(self) -> &'static str {
        match self {
            Reach::Itself => "itself",
            Reach::Provider => "yes",
            Reach::Engine => "by the engine",
            Reach::Java => "with --java",
            Reach::Kernel => "by the module",
            Reach::Bundled => "perhaps",
            Reach::Go | Reach::OtherLibrary => "no",
            Reach::Unknown => "unknown",
            Reach::NotNeeded => "not needed",
        }
    }

    /// What to do; None where nothing is to be done.
    pub fn advice(self) -> Option<&'static str> {
        Some(match self {
            Reach::Itself | Reach::NotNeeded => return None,
            Reach::Provider => "The provider replaces this AES code. `tenrounds run -- COMMAND` uses it for one command, `tenrounds enable` for your account.",
            Reach::Engine => "OpenSSL 1.1.1 loads no providers, but engines: docs/migration.md says how to use that of tenrounds.",
            Reach::Java => "Java writes its AES code when it runs. tenrounds run --java -- COMMAND puts our Java provider before it.",
            Reach::Kernel => "The kernel prefers tenrounds' kernel module once that is loaded: docs/kernel.md.",
            Reach::Bundled => "This OpenSSL is part of another file, or has a name of its own. tenrounds run --count -- COMMAND tells whether it loads providers. If not, use a build with the system's libcrypto.",
            Reach::Go => "Go has its own AES: build the program with a Go that calls OpenSSL (golang-fips).",
            Reach::OtherLibrary => "This library loads no providers: use a build of the program with the system's OpenSSL, if there is one.",
            Reach::Unknown => "The library is not known. tenrounds run --count -- COMMAND tells whether tenrounds is reached.",
        })
    }
}
