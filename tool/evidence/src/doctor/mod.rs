// SPDX-License-Identifier: BSD-2-Clause
//! `doctor`: what on this machine keeps AES from being fast, or will break programs, each with its
//! evidence and its cure. It only reads.

pub mod args;
mod disks;
mod environment;
mod examination;
mod kernel;
mod module;
mod pkcs11;
mod processes;
mod starts;
mod system;
mod text;
mod verdict;

use crate::doctor::args::DoctorArgs;
pub use base::finding::Severity;
use base::root::Root;
pub use examination::Doctor;
use machine::document::document;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::output;

/// Looks, tells, and says by the exit status what a monitoring plugin says: 0 healthy, 1 warnings,
/// 2 problems. What could not be done at all is 3, by main.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    let root = Root::new(args.root.as_deref().unwrap_or(Path::new("/")));
    if !root.has_proc() {
        return Err(Error::unknown(
            "there is no /proc, so the doctor cannot look at anything; mount it",
        ));
    }
    let doctor = Doctor::examine(&root);
    match args.json {
        true => output::out(document("doctor", &doctor))?,
        false => output::out(text::render(&doctor, args.verbose))?,
    }
    Ok(doctor.status)
}
