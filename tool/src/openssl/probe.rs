// SPDX-License-Identifier: BSD-2-Clause
//! Whether a libcrypto that reads a given configuration works and prefers the provider: found out
//! in a child process, before any command depends on it.

use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, c_void, CStr, CString, OsString};
use std::process::{Command, Stdio};

/// What the child saw.
#[derive(Debug, Serialize, Deserialize)]
pub struct Probe {
    /// The provider that AES-128-CTR is fetched from.
    pub provider: Option<String>,
    /// That provider's own version.
    pub version: Option<String>,
    /// Random numbers can be had.
    pub random: bool,
    /// SHA-256 can be computed.
    pub digest: bool,
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

type Fetch = extern "C" fn(*const c_void, *const c_char, *const c_char) -> *const c_void;
type ProviderOf = extern "C" fn(*const c_void) -> *const c_void;

/// Looks, in this process, with whatever configuration the environment names.
pub fn look(algorithms: &[String]) -> Result<Probe> {
    let libcrypto = LibCrypto::open()?;
    let init: extern "C" fn(u64, *const c_void) -> c_int =
        libcrypto.symbol("OPENSSL_init_crypto")?;
    let started = init(OPENSSL_INIT_LOAD_CONFIG, std::ptr::null()) == 1;
    let refused = (!started).then(|| libcrypto.take_error());
    let found = fetch(&libcrypto, "AES-128-CTR", None)?;
    let provider = found.map(|found| name_of(&libcrypto, found)).transpose()?;
    let version = found.and_then(|found| version_of(&libcrypto, found));
    let random = random_works(&libcrypto)?;
    let digest = digest_works(&libcrypto)?;
    let mut probe = Probe {
        provider,
        version,
        random,
        digest,
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
            by: by.map(|by| name_of(&libcrypto, by)).transpose()?,
            by_default: fetch(&libcrypto, name, Some("provider=default"))?.is_some(),
        };
        probe.served.insert(name.clone(), served);
    }
    Ok(probe)
}

/// The provider that a cipher or MAC is fetched from.
fn fetch(
    libcrypto: &LibCrypto,
    name: &str,
    properties: Option<&str>,
) -> Result<Option<*const c_void>> {
    let name = CString::new(name).map_err(|_| Error::usage("a zero byte in a name"))?;
    let properties = properties.map(|p| CString::new(p).expect("no zero byte"));
    let properties = properties.as_ref().map_or(std::ptr::null(), |p| p.as_ptr());
    for kind in ["CIPHER", "MAC"] {
        let fetch: Fetch = libcrypto.symbol(&format!("EVP_{kind}_fetch"))?;
        let provider_of: ProviderOf = libcrypto.symbol(&format!("EVP_{kind}_get0_provider"))?;
        // It is not freed: this process only looks.
        let method = fetch(std::ptr::null(), name.as_ptr(), properties);
        if !method.is_null() {
            return Ok(Some(provider_of(method)));
        }
    }
    Ok(None)
}

fn name_of(libcrypto: &LibCrypto, provider: *const c_void) -> Result<String> {
    let name_of: extern "C" fn(*const c_void) -> *const c_char =
        libcrypto.symbol("OSSL_PROVIDER_get0_name")?;
    // SAFETY: libcrypto returns a C string that lives as long as the provider.
    let name = unsafe { CStr::from_ptr(name_of(provider)) };
    Ok(name.to_string_lossy().into_owned())
}

/// include/openssl/core.h: OSSL_PARAM.
#[repr(C)]
struct Param {
    key: *const c_char,
    data_type: u32,
    data: *mut c_void,
    data_size: usize,
    return_size: usize,
}

// include/openssl/core.h and params.h
const OSSL_PARAM_UTF8_PTR: u32 = 6;
const OSSL_PARAM_UNMODIFIED: usize = usize::MAX;

/// What a provider says of its version (provider-base(7)).
fn version_of(libcrypto: &LibCrypto, provider: *const c_void) -> Option<String> {
    let get: extern "C" fn(*const c_void, *mut Param) -> c_int =
        libcrypto.symbol("OSSL_PROVIDER_get_params").ok()?;
    let mut version: *const c_char = std::ptr::null();
    let param = |key: *const c_char, data_type, data| Param {
        key,
        data_type,
        data,
        data_size: 0,
        return_size: OSSL_PARAM_UNMODIFIED,
    };
    let pointer: *mut *const c_char = &mut version;
    let mut params = [
        param(c"version".as_ptr(), OSSL_PARAM_UTF8_PTR, pointer.cast()),
        param(std::ptr::null(), 0, std::ptr::null_mut()),
    ];
    let answered = get(provider, params.as_mut_ptr()) == 1;
    (answered && !version.is_null()).then(|| {
        // SAFETY: the provider has set it to a C string.
        unsafe { CStr::from_ptr(version) }
            .to_string_lossy()
            .into_owned()
    })
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
        c"SHA256".as_ptr(),
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
    ask_with(|command| {
        command.envs(environment.iter().map(|(name, value)| (name, value)));
    })
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
    let output = command
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
