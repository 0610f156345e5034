// SPDX-License-Identifier: BSD-2-Clause
//! What `status` tells about a machine beside its configurations, so that many machines can be
//! watched: the selection, the processor's findings and the processes.

use base::inventory::processes;
use base::processor;
use base::root::Root;
use machine::selection;
use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub struct Fleet {
    /// The backend that programs started from here select.
    pub backend: Option<&'static str>,
    /// Backends that failed their known-answer tests.
    pub failed: Vec<&'static str>,
    /// The doctor's findings about the processor and its hypervisor, by their names.
    pub processor: Vec<&'static str>,
    /// None if there is no /proc.
    pub processes: Option<Processes>,
}

/// Processes with OpenSSL 3 or later.
#[derive(Debug, Default, Serialize)]
pub struct Processes {
    /// They have loaded tenrounds.
    pub loaded: usize,
    pub not_loaded: usize,
    /// The number of processes that this user may not inspect.
    pub unreadable: usize,
}

impl Fleet {
    pub fn look(root: &Root) -> Fleet {
        let selection = selection::here();
        let (maps, unreadable) = processes::maps(root);
        let mut found = Processes {
            unreadable,
            ..Processes::default()
        };
        for (pid, maps) in &maps {
            let mapped = processes::openssl(root, *pid, maps);
            match mapped.libcrypto.iter().any(|path| !is_old(path)) {
                // Also by an OpenSSL inside a program or another library.
                _ if mapped.tenrounds => found.loaded += 1,
                true => found.not_loaded += 1,
                false => {}
            }
        }
        Fleet {
            backend: selection.backend.map(|backend| backend.name()),
            failed: selection.failed.iter().map(|b| b.name()).collect(),
            processor: processor::check(root).iter().map(|f| f.id).collect(),
            processes: root.has_proc().then_some(found),
        }
    }
}

fn is_old(path: &str) -> bool {
    base::inventory::is_old(path.rsplit('/').next().unwrap_or_default())
}
