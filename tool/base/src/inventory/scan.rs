// SPDX-License-Identifier: BSD-2-Clause
//! Looks into files that processes have mapped: each file once, for a bounded time.

use crate::root::Root;
use libcrypto::elf::Elf;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// Nobody waits longer for a doctor; what is left is counted.
pub const BUDGET: Duration = Duration::from_secs(10);

/// What matters of a file.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// Cryptography of its own; None where it uses a libcrypto outside itself.
    pub own: Option<String>,
    /// libcrypto's version in it.
    pub version: Option<String>,
    /// A property query in it that excludes tenrounds.
    pub query: Option<String>,
}

pub struct Scanner {
    begun: Instant,
    known: HashMap<(u64, u64), Seen>,
    skipped: usize,
}

impl Default for Scanner {
    fn default() -> Scanner {
        Scanner {
            begun: Instant::now(),
            known: HashMap::new(),
            skipped: 0,
        }
    }
}

impl Scanner {
    pub fn skipped(&self) -> usize {
        self.skipped
    }

    /// Scans a mapped file, whose path is resolved in the root of its process.
    pub fn scan(&mut self, root: &Root, path: &str) -> Seen {
        let Ok(file) = root.open(path) else {
            return Seen::default();
        };
        let Ok(meta) = file.metadata() else {
            return Seen::default();
        };
        let key = (meta.dev(), meta.ino());
        if let Some(seen) = self.known.get(&key) {
            return seen.clone();
        }
        if self.begun.elapsed() > BUDGET {
            self.skipped += 1;
            return Seen::default();
        }
        let seen = look(file);
        self.known.insert(key, seen.clone());
        seen
    }
}

fn look(file: File) -> Seen {
    let Some(elf) = Elf::read(file) else {
        return Seen::default();
    };
    let version = elf.openssl_version();
    let query = elf.excluding_query();
    let own = match (elf.names_openssl(), elf.own) {
        (false, Some(own)) if own == "OpenSSL" => match &version {
            Some(version) => Some(format!("OpenSSL {version}")),
            None => Some(own),
        },
        (false, own) => own,
        (true, _) => None,
    };
    Seen {
        own,
        version,
        query,
    }
}
