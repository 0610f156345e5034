// SPDX-License-Identifier: BSD-2-Clause
//! What a measuring process is to do.

use crate::grid::Cell;
pub use crate::grid::Environment;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub environment: Environment,
    pub cells: Vec<Cell>,
    /// Nothing but this project's provider and the default provider, side by side in each
    /// libcrypto.
    pub replace: bool,
    /// Ids, or their beginnings; none for all.
    pub peers: Vec<String>,
    pub seed: u64,
    pub window_us: u64,
    /// 0: outputs are checked, nothing is timed.
    pub rounds: usize,
    /// Outputs of longer calls are not checked: another process has.
    pub check_up_to: usize,
    /// Cells that another process found to be wrong.
    pub wrong: Vec<(usize, String)>,
    pub probe_windows: usize,
}

impl Plan {
    /// Whether a subject takes part. What is masked for OpenSSL and for us is masked for nobody
    /// else.
    pub fn wants(&self, id: &str) -> bool {
        let ours = id == "core" || id.starts_with("evp") || id.starts_with("core-");
        let here = self.environment == Environment::Plain || ours || id.starts_with("openssl");
        here && (ours || self.peers.is_empty() || self.peers.iter().any(|p| id.starts_with(&**p)))
    }
}
