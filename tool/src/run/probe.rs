// SPDX-License-Identifier: BSD-2-Clause
//! Whether a libcrypto that reads a given configuration works and prefers the provider: found out in a
//! child process, before any command depends on it.

use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use serde::{Deserialize, Serialize};
use std::ffi::{c_char, c_int, c_void, CStr, OsString};
use std::process::{Command, Stdio};

/// What the child saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The provider that AES-128-CTR is fetched from.
    pub provider: Option<String>,
    /// Random numbers can be had.
    pub random: bool,
    /// SHA-256 can be computed.
    pub digest: bool,
    /// What libcrypto said where something failed.
    pub error: Option<String>,
}

/// Looks, in this process, with whatever configuration the environment names.
pub fn look() -> Result<Probe> {
    let libcrypto = LibCrypto::open()?;
    type Fetch = extern "C" fn(*const c_void, *const c_char, *const c_char) -> *const c_void;
    let fetch: Fetch = libcrypto.symbol("EVP_CIPHER_fetch")?;
    let provider_of: extern "C" fn(*const c_void) -> *const c_void =
        libcrypto.symbol("EVP_CIPHER_get0_provider")?;
    let name_of: extern "C" fn(*const c_void) -> *const c_char =
        libcrypto.symbol("OSSL_PROVIDER_get0_name")?;
    let name = b"AES-128-CTR\0".as_ptr().cast();
    let cipher = fetch(std::ptr::null(), name, std::ptr::null());
    let provider = (!cipher.is_null()).then(|| {
        let name = name_of(provider_of(cipher));
        unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()
    });
    let random = random_works(&libcrypto)?;
    let digest = digest_works(&libcrypto)?;
    let mut probe = Probe {
        provider,
        random,
        digest,
        error: None,
    };
    if !probe.works() {
        probe.error = Some(libcrypto.take_error());
    }
    Ok(probe)
}

fn random_works(libcrypto: &LibCrypto) -> Result<bool> {
    let random: extern "C" fn(*mut u8, c_int) -> c_int = libcrypto.symbol("RAND_bytes")?;
    let mut bytes = [0u8; 16];
    Ok(random(bytes.as_mut_ptr(), 16) == 1)
}

fn digest_works(libcrypto: &LibCrypto) -> Result<bool> {
    type Quick = extern "C" fn(
        *const c_void,
        *const c_char,
        *const c_char,
        *const c_void,
        usize,
        *mut u8,
        *mut usize,
    ) -> c_int;
    let digest: Quick = libcrypto.symbol("EVP_Q_digest")?;
    let mut out = [0u8; 64];
    let mut len = 0usize;
    let done = digest(
        std::ptr::null(),
        b"SHA256\0".as_ptr().cast(),
        std::ptr::null(),
        b"abc".as_ptr().cast(),
        3,
        out.as_mut_ptr(),
        &mut len,
    );
    // FIPS 180-4, example of one block.
    Ok(done == 1 && len == 32 && out[..4] == [0xba, 0x78, 0x16, 0xbf])
}

/// Has a child look, with this environment.
pub fn ask(environment: &[(&'static str, OsString)]) -> Result<Probe> {
    let program = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let failed =
        |why: String| Error::failure(format!("the configuration could not be tried: {why}"));
    let output = Command::new(program)
        .arg("probe")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(format!("{} {said}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

impl Probe {
    /// Whether libcrypto works at all.
    pub fn works(&self) -> bool {
        self.provider.is_some() && self.random && self.digest
    }

    /// What is wrong, if libcrypto does not work or does not prefer the provider.
    pub fn problem(&self) -> Option<String> {
        let said = self.error.as_deref().unwrap_or("no reason given");
        match self.provider.as_deref() {
            _ if !self.random => Some(format!("random numbers do not work ({said})")),
            _ if !self.digest => Some(format!("SHA-256 does not work ({said})")),
            None => Some(format!("there is no AES-128-CTR ({said})")),
            Some("tenrounds") => None,
            Some(other) => Some(format!("AES-128-CTR still comes from '{other}'")),
        }
    }
}
