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

use crate::cli::DetectArgs;
use crate::error::Result;
use crate::libcrypto::LibCrypto;
use crate::root::Root;
use crate::schema::Document;
use crate::{host, output};
use facts::Detect;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Body {
    detect: Detect,
}

pub fn run(args: &DetectArgs) -> Result<()> {
    let libcrypto = LibCrypto::open();
    let host = host::read(libcrypto.as_ref().ok());
    let root = Root::new(args.root.as_deref().unwrap_or(Path::new("/")));
    let mut detect = Detect::here(&host, &libcrypto, &root)?;
    detect.verdict = verdict::lines(&host, &detect);
    for warning in &detect.warnings {
        output::complain(warning);
    }
    match args.json {
        true => output::out(Document::new("detect", host, Vec::new(), Body { detect }).to_json()),
        false => output::out(text::render(&host, &detect, args.verbose)),
    }
}
