// SPDX-License-Identifier: BSD-2-Clause
//! PINs, from the terminal or from a file. Never from the command line, which every user can read.

use crate::error::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use token::PIN_LEN;
use zeroize::Zeroizing;

pub type Pin = Zeroizing<String>;

/// A PIN that exists: from its file if there is one, else asked for once.
pub fn known(whose: &str, option: &str, file: Option<&Path>) -> Result<Pin> {
    match file {
        Some(file) => from_file(file),
        None => asked(&format!("PIN of the {whose}: "), option),
    }
}

/// A PIN that is to be set: asked for twice.
pub fn new(whose: &str, option: &str, file: Option<&Path>) -> Result<Pin> {
    let pin = match file {
        Some(file) => from_file(file)?,
        None => {
            let pin = asked(&format!("New PIN of the {whose}: "), option)?;
            let again = asked("The same again: ", option)?;
            if pin != again {
                return Err(Error::failure("the two PINs differ; nothing was changed"));
            }
            pin
        }
    };
    match PIN_LEN.contains(&pin.len()) {
        true => Ok(pin),
        false => Err(Error::failure(format!(
            "the PIN of the {whose} has {} bytes; it needs {} to {}. Nothing was changed",
            pin.len(),
            PIN_LEN.start(),
            PIN_LEN.end()
        ))),
    }
}

fn asked(prompt: &str, option: &str) -> Result<Pin> {
    let pin = rpassword::prompt_password(prompt);
    pin.map(Zeroizing::new).map_err(|error| {
        Error::failure(format!(
            "cannot ask for the PIN on a terminal: {error}; use {option} FILE"
        ))
    })
}

/// The first line of a file that only its owner may read.
fn from_file(path: &Path) -> Result<Pin> {
    let failed = |error| Error::failure(format!("cannot read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    let mode = metadata.mode() & 0o777;
    if metadata.is_file() && mode & 0o077 != 0 {
        return Err(Error::failure(format!(
            "{} has mode {mode:o}, so others can read the PIN; chmod 600 {0}",
            path.display()
        )));
    }
    // More than the longest PIN and its line's end.
    let mut text = Zeroizing::new(Vec::with_capacity(1024));
    let read = (&mut file).take(1000).read_to_end(&mut text);
    read.map_err(failed)?;
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let pin = std::str::from_utf8(line)
        .map_err(|_| Error::failure(format!("the PIN in {} is not UTF-8", path.display())))?;
    Ok(Zeroizing::new(pin.to_owned()))
}
