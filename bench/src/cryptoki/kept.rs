// SPDX-License-Identifier: BSD-2-Clause
//! Our module with a token that keeps 10,000 keys: the login, and the search for one by its label.

use super::module::{Kind, Module, PIN};
use super::OURS;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Instant;
use tenrounds_pkcs11::keyring::{self, KeyType, Keyring, NewKey, Use};
use terminal::error::{Error, Result};

const KEYS: usize = 10_000;
/// The variable that names the token to the module.
const TOKEN: &str = "TENROUNDS_TOKEN";

#[derive(Serialize, Deserialize)]
pub struct Times {
    pub keys: usize,
    pub login_ms: f64,
    /// Of each round, for another key.
    pub find_ms: Vec<f64>,
}

/// Removes the folder at the end.
struct Folder(std::path::PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

pub fn measure(module: &Path, rounds: usize) -> Result<Times> {
    let name = format!("tenrounds-kept-{}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    let token = folder.0.join("token");
    fill(&token).map_err(|why| Error::failure(format!("{}: {why}", token.display())))?;
    std::env::set_var(TOKEN, &token);
    // Loading takes some milliseconds, the login's Argon2id much more.
    let begin = Instant::now();
    let module = Module::open(OURS, module, Kind::Kept)?;
    let login_ms = milliseconds(begin);
    let find = |round: usize| {
        // A prime, so that the keys are spread over the file.
        let label = label(round * 7919 % KEYS);
        let begin = Instant::now();
        let found = module.find(label.as_bytes())?;
        let took = milliseconds(begin);
        match found {
            1 => Ok(took),
            n => Err(Error::failure(format!(
                "{OURS} finds {n} keys with the label '{label}'"
            ))),
        }
    };
    Ok(Times {
        keys: KEYS,
        login_ms,
        find_ms: (0..rounds).map(find).collect::<Result<_>>()?,
    })
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

fn label(number: usize) -> String {
    format!("key {number}")
}

fn fill(path: &Path) -> std::result::Result<(), keyring::Error> {
    let token = keyring::token(path.to_owned())?;
    token.create(&[b' '; 32], PIN, Some(PIN))?;
    let labels: Vec<String> = (0..KEYS).map(label).collect();
    let keys = labels.iter().map(|label| NewKey {
        key_type: KeyType::Aes,
        label,
        id: &[],
        value: &[7; 32],
        uses: &[Use::Encrypt],
        sensitive: true,
        extractable: false,
    });
    let keyring = Keyring::open(path.to_owned(), PIN)?;
    keyring.import_all(&keys.collect::<Vec<_>>()).map(|_| ())
}
