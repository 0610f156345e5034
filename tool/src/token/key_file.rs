// SPDX-License-Identifier: BSD-2-Clause
//! Files with one key: bytes, or hexadecimal digits.

use super::shown::hexadecimal;
use crate::error::{Error, Result};
use crate::output;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use tenrounds_pkcs11::keyring::KeyType;
use zeroize::Zeroizing;

/// No key is longer, wrapped and in hexadecimal.
const MOST: u64 = 4096;

/// "-": standard input or output.
pub fn is_stream(path: &Path) -> bool {
    path == Path::new("-")
}

/// Digits in pairs. None: something else.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let pair = |pair: &[u8]| match pair {
        [a, b] if a.is_ascii_hexdigit() && b.is_ascii_hexdigit() => {
            u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
        }
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

pub fn read(path: &Path, hex: bool) -> Result<Zeroizing<Vec<u8>>> {
    let failed = |error| Error::failure(format!("cannot read {}: {error}", path.display()));
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST as usize + 1));
    let read = match is_stream(path) {
        true => std::io::stdin().take(MOST + 1).read_to_end(&mut bytes),
        false => {
            let file = File::open(path).map_err(failed)?;
            file.take(MOST + 1).read_to_end(&mut bytes)
        }
    };
    if read.map_err(failed)? as u64 > MOST {
        return Err(Error::failure(format!(
            "{} has more than {MOST} bytes, so it is no key",
            path.display()
        )));
    }
    if !hex {
        return Ok(bytes);
    }
    let text = std::str::from_utf8(&bytes).unwrap_or("?").trim();
    let value = from_hexadecimal(text).ok_or_else(|| {
        Error::failure(format!(
            "{} has something else than pairs of hexadecimal digits",
            path.display()
        ))
    })?;
    Ok(Zeroizing::new(value))
}

/// Refuses a key of the wrong length, and says what the file may have instead.
pub fn check_len(path: &Path, key_type: KeyType, len: usize) -> Result<()> {
    if key_type.lengths().contains(&len) {
        return Ok(());
    }
    let lengths: Vec<String> = key_type.lengths().iter().map(usize::to_string).collect();
    let hint = match key_type {
        KeyType::Aes if len == 64 => {
            "; the keys of XTS need --type aes-xts, and hexadecimal digits --hex"
        }
        _ if matches!(len, 32..=129) => "; hexadecimal digits need --hex",
        _ => "",
    };
    Err(Error::failure(format!(
        "the key in {} has {len} bytes, and one of this type has {}{hint}",
        path.display(),
        lengths.join(", ")
    )))
}

/// Creates the file. One that exists stays as it is.
pub fn write(path: &Path, value: &[u8], hex: bool) -> Result<()> {
    let text = Zeroizing::new(match hex {
        true => (hexadecimal(value) + "\n").into_bytes(),
        false => value.to_vec(),
    });
    if is_stream(path) {
        return output::plain(&text);
    }
    let failed = |error| Error::failure(format!("cannot write {}: {error}", path.display()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    let mut file = options.open(path).map_err(failed)?;
    file.write_all(&text)
        .and_then(|()| file.sync_all())
        .map_err(|error| {
            let _ = std::fs::remove_file(path);
            failed(error)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits() {
        assert_eq!(from_hexadecimal("00ffA1"), Some(vec![0, 255, 0xa1]));
        assert_eq!(from_hexadecimal(""), Some(vec![]));
        for wrong in ["0", "0g", "+1", " 1", "00 11", "\u{e4}\u{e4}"] {
            assert_eq!(from_hexadecimal(wrong), None, "{wrong}");
        }
    }
}
