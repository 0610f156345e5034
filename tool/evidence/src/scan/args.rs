// SPDX-License-Identifier: BSD-2-Clause
//! The arguments of `scan`.

use clap::{Args, ValueHint};
use std::ffi::OsString;

#[derive(Args, Debug)]
pub struct ScanArgs {
    /// Files, directories, process IDs or installed packages [default: all that is installed]
    ///
    /// A directory is scanned with everything below it, but without symbolic links and other file
    /// systems. For a process, its program and libraries are scanned. If a file has the name of a
    /// process or package, the file is scanned. The default is /usr, /opt, /bin and /lib.
    #[arg(value_name = "FILE|DIR|PID|PACKAGE", value_hint = ValueHint::AnyPath)]
    pub targets: Vec<OsString>,

    /// Write JSON instead of text, with functions, addresses, and files with other cryptographic
    /// instructions
    #[arg(long)]
    pub json: bool,
}
