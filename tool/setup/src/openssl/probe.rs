// SPDX-License-Identifier: BSD-2-Clause
//! Whether a libcrypto that reads a given configuration works and prefers the provider: found out
//! in a child process, before any command depends on it.

use libcrypto::functions::{Param, Ptr, OSSL_PARAM_UTF8_PTR};
use libcrypto::string;
use libcrypto::LibCrypto;
use measure::child;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{c_char, CString, OsString};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

/// What the child saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The provider that AES-128-CTR is fetched from.
    pub provider: Option<String>,
    /// That provider's own version.
    pub version: Option<String>,
    /// Random numbers can be had, for which libcrypto needs its default provider, too.
    pub random: bool,
    /// What libcrypto said where something failed.
    pub error: Option<String>,
    /// The algorithms that were asked about.
    pub served: BTreeMap<String, Served>,
    /// Why libcrypto refuses its configuration, if it does. Ciphers may still work, but programs
    /// that initialise libcrypto explicitly fail: `openssl`, and all that use TLS.
    pub refused: Option<String>,
}

/// Who has an algorithm.
#[derive(Debug, Serialize, Deserialize)]
pub struct Served {
    /// The provider that it is fetched from.
    pub by: Option<String>,
    /// Whether OpenSSL's default provider has it.
    pub by_default: bool,
}

// include/openssl/crypto.h
const OPENSSL_INIT_LOAD_CONFIG: u64 = 0x40;

/// Looks, in this process, with whatever configuration the environment names.
pub fn look(algorithms: &[String]) -> Result<Probe> {
    let libcrypto = LibCrypto::open()?;
    let init = libcrypto.functions.OPENSSL_init_crypto;
    // SAFETY: with these arguments it may be called at any time.
    let started = unsafe { init(OPENSSL_INIT_LOAD_CONFIG, null()) } == 1;
    let refused = (!started).then(|| libcrypto.take_error());
    let found = fetch(&libcrypto, "AES-128-CTR", None)?;
    let provider = found.and_then(|found| name_of(&libcrypto, found));
    let version = found.and_then(|found| version_of(&libcrypto, found));
    let random = random_works(&libcrypto);
    let mut probe = Probe {
        provider,
        version,
        random,
        error: None,
        served: BTreeMap::new(),
        refused,
    };
    if !probe.works() {
        probe.error = Some(libcrypto.take_error());
    }
    for name in algorithms {
        let by = fetch(&libcrypto, name, None)?;
        let served = Served {
            by: by.and_then(|by| name_of(&libcrypto, by)),
            by_default: fetch(&libcrypto, name, Some("provider=default"))?.is_some(),
        };
        probe.served.insert(name.clone(), served);
    }
    Ok(probe)
}

/// The provider that a cipher or MAC is fetched from.
fn fetch(libcrypto: &LibCrypto, name: &str, properties: Option<&str>) -> Result<Option<Ptr>> {
    let name = CString::new(name).map_err(|_| Error::usage("a zero byte in a name"))?;
    let properties = properties.map(|p| CString::new(p).expect("no zero byte"));
    let properties = properties.as_ref().map_or(null(), |p| p.as_ptr());
    let f = &libcrypto.functions;
    // SAFETY: the name is a C string, the properties are one or NULL, and NULL stands for the
    // default library context. Nothing is freed: this process only looks.
    unsafe {
        let cipher = (f.EVP_CIPHER_fetch)(null_mut(), name.as_ptr(), properties);
        if !cipher.is_null() {
            return Ok(Some((f.EVP_CIPHER_get0_provider)(cipher)));
        }
        let mac = (f.EVP_MAC_fetch)(null_mut(), name.as_ptr(), properties);
        Ok((!mac.is_null()).then(|| (f.EVP_MAC_get0_provider)(mac)))
    }
}

fn name_of(libcrypto: &LibCrypto, provider: Ptr) -> Option<String> {
    // SAFETY: libcrypto returns a C string that lives as long as the provider.
    unsafe { string((libcrypto.functions.OSSL_PROVIDER_get0_name)(provider)) }
}

/// What a provider says of its version (provider-base(7)).
fn version_of(libcrypto: &LibCrypto, provider: Ptr) -> Option<String> {
    let mut version: *const c_char = null();
    let pointer: *mut *const c_char = &mut version;
    let wanted = Param::new(c"version", OSSL_PARAM_UTF8_PTR, pointer, 0);
    let mut params = [wanted, Param::END];
    let get = libcrypto.functions.OSSL_PROVIDER_get_params;
    // SAFETY: an end marker closes the parameters, and the provider sets `version` to a C string.
    unsafe {
        match get(provider, params.as_mut_ptr()) {
            1 => string(version),
            _ => None,
        }
    }
}

fn random_works(libcrypto: &LibCrypto) -> bool {
    let mut bytes = [0u8; 16];
    // SAFETY: there is room for 16 bytes.
    unsafe { (libcrypto.functions.RAND_bytes)(bytes.as_mut_ptr(), 16) == 1 }
}

/// Has a child look, with this environment.
pub fn ask(environment: &[(&'static str, OsString)]) -> Result<Probe> {
    ask_with(|command| {
        command.envs(environment.iter().map(|(name, value)| (name, value)));
    })
}

/// In seconds. A module can wait for something that never comes.
const LIMIT: u32 = 20;

/// Ends this process, a child of `ask_with`, if it takes for ever.
pub fn limit() {
    // SAFETY: neither call has requirements.
    unsafe {
        libc::signal(libc::SIGALRM, libc::SIG_DFL);
        libc::alarm(LIMIT);
    }
}

/// Has a child look in this environment, and ask for these algorithms.
pub fn ask_for(algorithms: &[String]) -> Result<Probe> {
    ask_with(|command| {
        command.args(algorithms);
    })
}

/// Has a child look, whose environment is changed by the caller.
pub fn ask_with(change: impl FnOnce(&mut Command)) -> Result<Probe> {
    // In a chroot without /proc a program knows only what it was called by, which is looked for on
    // PATH again.
    let called = || {
        std::env::args_os()
            .next()
            .unwrap_or_else(|| "tenrounds".into())
    };
    let program = std::env::current_exe().unwrap_or_else(|_| called().into());
    let failed =
        |why: String| Error::failure(format!("the configuration could not be tried: {why}"));
    let mut command = Command::new(program);
    change(command.arg("probe").stdin(Stdio::null()));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // Without threads, whose start would change a signal that the command of `run` may ignore.
    let child = child::spawn(&mut command).map_err(|error| failed(error.to_string()))?;
    let output = child.wait_with_output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    if output.status.signal() == Some(libc::SIGALRM) {
        return Err(failed(format!("it has not ended after {LIMIT} seconds")));
    }
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(failed(format!("{} {said}", output.status)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

impl Probe {
    /// Whether libcrypto works at all.
    pub fn works(&self) -> bool {
        self.provider.is_some() && self.random
    }

    /// What is wrong, if libcrypto does not work or does not prefer the provider.
    pub fn problem(&self) -> Option<String> {
        let said = self.error.as_deref().unwrap_or("no reason given");
        match self.provider.as_deref() {
            _ if !self.random => Some(format!("random numbers do not work ({said})")),
            None => Some(format!("there is no AES-128-CTR ({said})")),
            Some("tenrounds") => None,
            Some(other) => Some(format!("AES-128-CTR still comes from '{other}'")),
        }
    }
}
