// SPDX-License-Identifier: BSD-2-Clause
//! `scan`: which programs and libraries hold AES code, how wide it is, and whether tenrounds
//! reaches it. Files are read, nothing is executed.

pub mod args;
mod files;
mod reach;
mod targets;
mod text;
mod walk;

use crate::scan::args::ScanArgs;
use classify::Module;
use machine::document::document;
pub use reach::Reach;
use serde::Serialize;
use std::time::{Duration, Instant};
use terminal::error::Result;
use terminal::output;

/// A file, and why it was not examined.
#[derive(Debug, Clone, Serialize)]
pub struct Trouble {
    pub path: String,
    pub why: String,
}

/// A file with AES code or with other cryptographic instructions.
#[derive(Debug, Serialize)]
pub struct Entry {
    pub path: String,
    #[serde(flatten)]
    pub module: Module,
    pub holds: Holds,
    pub reach: Reach,
    /// What to do, in words; null where nothing is to be done.
    pub advice: Option<&'static str>,
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

/// A named file, and the libraries that the dynamic linker loads with it.
#[derive(Debug, Serialize)]
pub struct Program {
    pub path: String,
    /// How many libraries were followed.
    pub libraries: usize,
    /// Those that hold AES instructions that encrypt, nearest first.
    pub through: Vec<Through>,
}

/// A library by the name that programs have for it, as "libcrypto.so.3", and by its path.
#[derive(Debug, Serialize)]
pub struct Through {
    pub name: String,
    pub path: String,
}

#[derive(Debug, Default, Serialize)]
pub struct Scan {
    /// The ELF files that were examined.
    pub examined: usize,
    /// ELF files for processors that are not examined.
    pub other_processors: usize,
    /// Files and directories that were not opened, because the time was over; only of `report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_reached: Option<usize>,
    /// Files that hold something, the most AES first.
    pub files: Vec<Entry>,
    /// The named files.
    pub programs: Vec<Program>,
    /// Files and directories that were met and could not be examined.
    pub troubles: Vec<Trouble>,
    /// Directories where another file system is mounted, which was not entered.
    pub not_entered: Vec<String>,
    pub seconds: f64,
}

/// Examines what the arguments name. The exit status is 1 if one of them could not be examined; the
/// others are reported nonetheless.
pub fn run(args: &ScanArgs) -> Result<u8> {
    let begun = Instant::now();
    let mut complaints = Vec::new();
    let targets = targets::find(&args.targets, &mut complaints);
    let mut scan = files::examine(targets, None, &mut complaints);
    scan.seconds = begun.elapsed().as_secs_f64();
    for complaint in &complaints {
        output::complain(complaint);
    }
    let nothing = !complaints.is_empty() && scan.examined == 0;
    if args.json {
        output::out(document("scan", &scan))?;
    } else if !nothing {
        output::out(text::render(&scan))?;
    }
    Ok(u8::from(!complaints.is_empty()))
}

/// Examines for so long what running processes have mapped, and then, unless the report is a brief
/// one, all that is installed.
pub fn for_so_long(time: Duration, is_brief: bool) -> Scan {
    let begun = Instant::now();
    let mut targets = targets::mapped();
    if !is_brief {
        targets.directories = targets::installed();
    }
    // No target is named, so none can be complained about.
    let mut scan = files::examine(targets, Some(begun + time), &mut Vec::new());
    scan.seconds = begun.elapsed().as_secs_f64();
    scan
}

/// Whether a file holds AES code for AES.
pub fn has_aes(entry: &Entry) -> bool {
    !matches!(entry.holds, Holds::OtherUse | Holds::Others)
}

/// Whether tenrounds can replace the code for certain.
pub fn is_reached(reach: Reach) -> bool {
    use Reach::{Engine, Itself, Java, Kernel, Provider};
    matches!(reach, Itself | Provider | Engine | Java | Kernel)
}
