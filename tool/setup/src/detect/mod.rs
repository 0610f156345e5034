// SPDX-License-Identifier: BSD-2-Clause
//! What this machine can do for AES, what is selected, what really executes, and which setting
//! would make it better. `status` and `report` show it.

mod code;
mod facts;
mod instructions;
mod table;
mod text;
mod verdict;

pub use code::Code;
pub use facts::Detect;
pub use text::{details, table};

use base::root::Root;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Host;
use terminal::error::Result;

/// The machine, and what is selected on it.
pub fn look(root: &Root) -> (Host, Result<Detect>) {
    let libcrypto = LibCrypto::open();
    let host = host::read(libcrypto.as_ref().ok());
    let mut detect = Detect::here(&host, &libcrypto, root);
    if let Ok(detect) = &mut detect {
        detect.verdict = verdict::lines(&host, detect);
    }
    (host, detect)
}
