// SPDX-License-Identifier: BSD-2-Clause
//! Measuring: speed and compare.

use crate::cli::{CompareArgs, SpeedArgs};
use crate::error::{Error, Result};
use std::ffi::OsString;

pub fn speed(_args: &SpeedArgs) -> Result<()> {
    Err(Error::failure("speed: not written yet"))
}

pub fn compare(_args: &CompareArgs) -> Result<()> {
    Err(Error::failure("compare: not written yet"))
}

pub fn worker(_args: &[OsString]) -> Result<()> {
    Err(Error::failure("worker: not written yet"))
}
