// SPDX-License-Identifier: BSD-2-Clause
//! What most commands write with --json.

use crate::host;
use crate::schema::Document;
use libcrypto::LibCrypto;
use serde::Serialize;
use std::collections::BTreeMap;

/// The document of a command that measures nothing: the host, and the command's object.
pub fn document(command: &'static str, object: impl Serialize) -> String {
    let host = host::read(LibCrypto::open().ok().as_ref());
    let body = BTreeMap::from([(command, object)]);
    Document::new(command, host, Vec::new(), body).to_json()
}
