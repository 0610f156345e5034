// SPDX-License-Identifier: BSD-2-Clause
//! Paths in JSON, whose texts are UTF-8. A path is any bytes but zero.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// A path, or several of them, as text.
pub trait Paths: Sized {
    type Text: Serialize + DeserializeOwned;
    fn to_text(&self, write: fn(&Path) -> String) -> Self::Text;
    fn from_text(text: Self::Text) -> Self;
}

impl Paths for PathBuf {
    type Text = String;
    fn to_text(&self, write: fn(&Path) -> String) -> String {
        write(self)
    }
    fn from_text(text: String) -> PathBuf {
        read(text)
    }
}

impl Paths for Option<PathBuf> {
    type Text = Option<String>;
    fn to_text(&self, write: fn(&Path) -> String) -> Option<String> {
        self.as_deref().map(write)
    }
    fn from_text(text: Option<String>) -> Option<PathBuf> {
        text.map(read)
    }
}

impl Paths for Vec<PathBuf> {
    type Text = Vec<String>;
    fn to_text(&self, write: fn(&Path) -> String) -> Vec<String> {
        self.iter().map(|path| write(path)).collect()
    }
    fn from_text(text: Vec<String>) -> Vec<PathBuf> {
        text.into_iter().map(read).collect()
    }
}

/// As people see it: what is not UTF-8 becomes U+FFFD.
pub fn shown<P: Paths, S: Serializer>(paths: &P, serializer: S) -> Result<S::Ok, S::Error> {
    paths
        .to_text(|path| path.display().to_string())
        .serialize(serializer)
}

/// What begins the text of a path that is not UTF-8. A path here is absolute, and begins with '/'.
const BYTES: &str = "bytes:";

/// So that the same path can be read again.
pub mod exact {
    use super::*;

    pub fn serialize<P: Paths, S: Serializer>(paths: &P, serializer: S) -> Result<S::Ok, S::Error> {
        paths.to_text(write).serialize(serializer)
    }

    pub fn deserialize<'de, P: Paths, D: Deserializer<'de>>(from: D) -> Result<P, D::Error> {
        Ok(P::from_text(
            P::Text::deserialize(from).map_err(D::Error::custom)?,
        ))
    }
}

fn write(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        None => {
            let bytes = path.as_os_str().as_bytes().iter();
            BYTES.to_owned() + &bytes.map(|byte| format!("{byte:02x}")).collect::<String>()
        }
    }
}

fn read(text: String) -> PathBuf {
    let bytes = text.strip_prefix(BYTES).and_then(digits);
    bytes.map_or(PathBuf::from(&text), |bytes| {
        PathBuf::from(OsString::from_vec(bytes))
    })
}

fn digits(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    let byte = |pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Kept {
        #[serde(with = "exact")]
        path: PathBuf,
        #[serde(with = "exact")]
        more: Vec<PathBuf>,
    }

    #[test]
    fn a_path_that_is_not_utf_8_comes_back() {
        let latin = PathBuf::from(OsString::from_vec(b"/home/caf\xe9".to_vec()));
        let kept = Kept {
            path: latin.clone(),
            more: vec!["/etc".into(), latin.clone()],
        };
        let json = serde_json::to_string(&kept).unwrap();
        assert_eq!(
            json,
            r#"{"path":"bytes:2f686f6d652f636166e9","more":["/etc","bytes:2f686f6d652f636166e9"]}"#
        );
        let read: Kept = serde_json::from_str(&json).unwrap();
        assert_eq!((read.path, read.more), (kept.path, kept.more));
    }
}
