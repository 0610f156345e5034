// SPDX-License-Identifier: BSD-2-Clause
//! The files of a configuration, in the chunks in which libcrypto reads them.

use super::Place;
use std::path::{Path, PathBuf};

/// The longest part of a line that libcrypto reads at once: CONFBUFSIZE in conf_def.c, less one
/// byte for the caller and one for the zero. A carriage return at the end of such a chunk ends the
/// line, even in its middle.
const CHUNK: usize = 510;

/// A file that is being read.
pub struct Input {
    file: PathBuf,
    bytes: Vec<u8>,
    at: usize,
    /// The number of the line that the last chunk belongs to.
    line: usize,
}

impl Input {
    pub fn new(file: &Path, bytes: Vec<u8>) -> Input {
        Input {
            file: file.to_owned(),
            bytes,
            at: 0,
            line: 0,
        }
    }

    /// Skips this text if the file begins with it.
    pub fn skip(&mut self, prefix: &[u8]) {
        if self.bytes.starts_with(prefix) {
            self.bytes.drain(..prefix.len());
        }
    }

    /// The next part of the file, up to the end of a line; empty at the end of the file. A zero
    /// byte hides the rest of its chunk, because libcrypto reads C strings.
    pub fn chunk(&mut self) -> &[u8] {
        let begin = self.at;
        let rest = &self.bytes[begin..];
        if !rest.is_empty() && (begin == 0 || self.bytes[begin - 1] == b'\n') {
            self.line += 1;
        }
        let rest = &rest[..rest.len().min(CHUNK)];
        let newline = rest.iter().position(|&b| b == b'\n');
        let chunk = &rest[..newline.map_or(rest.len(), |at| at + 1)];
        self.at += chunk.len();
        let zero = chunk.iter().position(|&b| b == 0);
        &chunk[..zero.unwrap_or(chunk.len())]
    }

    pub fn place(&self) -> Place {
        Place {
            file: self.file.clone(),
            line: self.line,
        }
    }
}

/// Whether a file of an included directory is included: its name ends in .cnf or .conf, in any
/// case, and has something before that.
pub fn is_included(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let stem = name.strip_suffix(".conf").or(name.strip_suffix(".cnf"));
    stem.is_some_and(|stem| !stem.is_empty())
}
