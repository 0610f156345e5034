// SPDX-License-Identifier: BSD-2-Clause
//! `detect`: what this machine can do for AES, what is selected, what really executes, and which
//! setting would make it better.

mod code;
mod facts;
mod instructions;
mod modes;
mod table;
mod text;
mod verdict;

pub use code::Code;
pub use facts::Detect;
pub use table::Row;

use crate::cli::DetectArgs;
use crate::error::Result;
use crate::libcrypto::LibCrypto;
use crate::root::Root;
use crate::schema::{Document, Host};
use crate::{host, output};
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Body {
    detect: Detect,
}

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

pub fn run(args: &DetectArgs) -> Result<()> {
    let root = Root::new(args.root.as_deref().unwrap_or(Path::new("/")));
    let (host, detect) = look(&root);
    let detect = detect?;
    for warning in &detect.warnings {
        output::complain(warning);
    }
    match args.json {
        true => output::out(Document::new("detect", host, Vec::new(), Body { detect }).to_json()),
        false => output::out(text::render(&host, &detect, args.verbose)),
    }
}
