// SPDX-License-Identifier: BSD-2-Clause
//! `scan`: which programs and libraries hold AES code, how wide it is, and whether tenrounds
//! reaches it. Files are read, nothing is executed.

mod files;
mod reach;
mod targets;
mod text;

use crate::cli::ScanArgs;
use crate::error::Result;
use crate::libcrypto::LibCrypto;
use crate::schema::Document;
use crate::{host, output};
use classify::Module;
pub use reach::Reach;
use serde::Serialize;
use std::time::Instant;

/// A file, and why it was not examined.
#[derive(Debug, Clone, Serialize)]
struct Trouble {
    path: String,
    why: String,
}

/// A file with AES code or with other cryptographic instructions.
#[derive(Debug, Serialize)]
struct Entry {
    path: String,
    #[serde(flatten)]
    module: Module,
    holds: Holds,
    reach: Reach,
    /// What to do, in words; null where nothing is to be done.
    advice: Option<&'static str>,
}

/// The AES code of a file, from most to least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holds {
    Instructions,
    /// A Java virtual machine, which writes its AES code when it runs.
    WritesCode,
    Tables,
    /// AES instructions for other work: hash functions, the S-boxes of other ciphers.
    OtherUse,
    /// Carry-less multiplication or SHA, but no AES.
    Others,
}

#[derive(Debug, Default, Serialize)]
struct Scan {
    /// The ELF files that were examined.
    examined: usize,
    /// ELF files for processors that are not examined.
    other_processors: usize,
    /// Files that hold something, the most AES first.
    files: Vec<Entry>,
    /// Files and directories that were met and could not be examined.
    troubles: Vec<Trouble>,
    /// Directories where another file system is mounted, which was not entered.
    not_entered: Vec<String>,
    seconds: f64,
}

#[derive(Serialize)]
struct Body {
    scan: Scan,
}

/// Examines what the arguments name. The exit status is 1 if one of them could not be examined; the
/// others are reported nonetheless.
pub fn run(args: &ScanArgs) -> Result<u8> {
    let begun = Instant::now();
    let mut complaints = Vec::new();
    let targets = targets::find(&args.targets, &mut complaints);
    let mut scan = files::examine(targets, &mut complaints);
    scan.seconds = begun.elapsed().as_secs_f64();
    for complaint in &complaints {
        output::complain(complaint);
    }
    let nothing = !complaints.is_empty() && scan.examined == 0;
    if args.json {
        let host = host::read(LibCrypto::open().as_ref().ok());
        output::out(Document::new("scan", host, Vec::new(), Body { scan }).to_json())?;
    } else if !nothing {
        output::out(text::render(&scan, args.verbose))?;
    }
    Ok(u8::from(!complaints.is_empty()))
}
