// SPDX-License-Identifier: BSD-2-Clause
//! Paths in JSON, as people see them: what is not UTF-8 becomes U+FFFD.

use serde::{Serialize, Serializer};
use std::path::PathBuf;

/// A path, or none.
pub trait Paths {
    fn text(&self) -> Option<String>;
}

impl Paths for PathBuf {
    fn text(&self) -> Option<String> {
        Some(self.display().to_string())
    }
}

impl Paths for Option<PathBuf> {
    fn text(&self) -> Option<String> {
        self.as_ref().and_then(Paths::text)
    }
}

pub fn shown<P: Paths, S: Serializer>(path: &P, serializer: S) -> Result<S::Ok, S::Error> {
    path.text().serialize(serializer)
}
