// SPDX-License-Identifier: BSD-2-Clause
//! What `token` says of a token and its objects.

use crate::error::Result;
use crate::host;
use crate::libcrypto::LibCrypto;
use crate::output;
use crate::paths::shown;
use crate::schema::Document;
use crate::style::{paint, BOLD};
use crate::table::Table;
use serde::Serialize;
use std::path::{Path, PathBuf};
use tenrounds_pkcs11::keyring::Entry;
use token::Contents;

/// The document of one command.
#[derive(Serialize)]
pub struct Shown {
    token: Described,
}

#[derive(Serialize)]
struct Described {
    action: &'static str,
    #[serde(serialize_with = "shown")]
    path: PathBuf,
    label: String,
    serial: String,
    /// All of `list`; those that the other commands were about.
    objects: Vec<Object>,
}

#[derive(Serialize)]
struct Object {
    number: u64,
    label: String,
    id: String,
    kind: &'static str,
    bytes: usize,
    uses: Vec<&'static str>,
    sensitive: bool,
    extractable: bool,
}

pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Object {
    fn of(entry: &Entry) -> Object {
        Object {
            number: entry.number,
            label: entry.label.clone(),
            id: hexadecimal(&entry.id),
            kind: entry.kind,
            bytes: entry.bytes,
            uses: entry.uses.clone(),
            sensitive: entry.sensitive,
            extractable: entry.extractable,
        }
    }
}

/// "the AES key 'backup' of 256 bits".
pub fn named(entry: &Entry) -> String {
    let what = match entry.kind {
        "data" => "the data".to_owned(),
        kind => format!("the {kind} key"),
    };
    let size = match entry.kind {
        "data" => format!("{} bytes", entry.bytes),
        _ => format!("{} bits", 8 * entry.bytes),
    };
    format!(
        "{what} '{}' (#{}, {size})",
        printable(&entry.label),
        entry.number
    )
}

/// A label without characters that would steer a terminal.
fn printable(label: &str) -> String {
    label.escape_debug().to_string()
}

fn label_of(contents: &Contents) -> String {
    let label = String::from_utf8_lossy(&contents.label);
    label.trim_end_matches(' ').to_owned()
}

impl Shown {
    pub fn new(action: &'static str, path: &Path, contents: &Contents, objects: &[Entry]) -> Shown {
        Shown {
            token: Described {
                action,
                path: path.to_owned(),
                label: label_of(contents),
                serial: String::from_utf8_lossy(&contents.serial).into_owned(),
                objects: objects.iter().map(Object::of).collect(),
            },
        }
    }

    /// Writes JSON, or a text instead.
    pub fn write(self, json: bool, text: impl FnOnce(&Shown) -> String) -> Result<()> {
        output::out(match json {
            true => {
                let host = host::read(LibCrypto::open().ok().as_ref());
                Document::new("token", host, Vec::new(), self).to_json()
            }
            false => text(&self),
        })
    }

    /// The token, and a table of its objects.
    pub fn listed(&self) -> String {
        let token = &self.token;
        let mut out = format!(
            "{} {}, serial {}\n",
            paint(BOLD, printable(&token.label)),
            token.path.display(),
            token.serial
        );
        if token.objects.is_empty() {
            return out + "It has no keys. Store one by 'tenrounds token import'.\n";
        }
        let heads = [
            "#",
            "label",
            "CKA_ID",
            "type",
            ">bits",
            "leaves the token",
            "may",
        ];
        let mut table = Table::new(&heads);
        for object in &token.objects {
            table.row(vec![
                object.number.to_string(),
                printable(&object.label),
                object.id.clone(),
                object.kind.to_owned(),
                (8 * object.bytes).to_string(),
                leaves(object).to_owned(),
                object.uses.join(", "),
            ]);
        }
        out += &table.to_string();
        out
    }
}

fn leaves(object: &Object) -> &'static str {
    match (object.extractable, object.sensitive) {
        (false, _) => "never",
        (true, true) => "wrapped",
        (true, false) => "readable",
    }
}
