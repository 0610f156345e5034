// SPDX-License-Identifier: BSD-2-Clause
//! CMAC through libcrypto's EVP_MAC interface: one keyed context, started afresh for each message.

use super::evp::{absent, key, verify_provider, Param, Ptr};
use super::implementation::Implementation;
use super::message::{Messages, Tag, TAG_BYTES};
use super::subject::Subject;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use std::ffi::{c_char, c_int, c_uint, CStr, CString};

const OSSL_PARAM_UTF8_STRING: c_uint = 4;

type InitFn = unsafe extern "C" fn(Ptr, *const u8, usize, *const Param) -> c_int;
type UpdateFn = unsafe extern "C" fn(Ptr, *const u8, usize) -> c_int;
type FinalFn = unsafe extern "C" fn(Ptr, *mut u8, *mut usize, usize) -> c_int;

/// A MAC, fetched from the implementation's provider and from nowhere else, with a context.
pub struct EvpMac {
    subject: Subject,
    init: InitFn,
    update: UpdateFn,
    final_: FinalFn,
    free: unsafe extern "C" fn(Ptr),
    context_free: unsafe extern "C" fn(Ptr),
    mac: Ptr,
    context: Ptr,
}

// SAFETY: libcrypto ties no context to a thread, and only the owner calls it.
unsafe impl Send for EvpMac {}

impl EvpMac {
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Subject,
    ) -> Result<EvpMac> {
        let fetch: unsafe extern "C" fn(Ptr, *const c_char, *const c_char) -> Ptr =
            libcrypto.symbol("EVP_MAC_fetch")?;
        let provider_of: unsafe extern "C" fn(Ptr) -> Ptr =
            libcrypto.symbol("EVP_MAC_get0_provider")?;
        let provider_name: unsafe extern "C" fn(Ptr) -> *const c_char =
            libcrypto.symbol("OSSL_PROVIDER_get0_name")?;
        let new: unsafe extern "C" fn(Ptr) -> Ptr = libcrypto.symbol("EVP_MAC_CTX_new")?;
        let provider = implementation.provider(false);
        let name = CString::new(subject.fetched()).expect("a name without zero bytes");
        let properties = CString::new(format!("provider={provider}")).expect("the same");
        // SAFETY: both strings outlive the call, and NULL stands for the default library context.
        let mac = unsafe { fetch(std::ptr::null_mut(), name.as_ptr(), properties.as_ptr()) };
        if mac.is_null() {
            return Err(absent(libcrypto, provider, subject));
        }
        let job = EvpMac {
            subject,
            init: libcrypto.symbol("EVP_MAC_init")?,
            update: libcrypto.symbol("EVP_MAC_update")?,
            final_: libcrypto.symbol("EVP_MAC_final")?,
            free: libcrypto.symbol("EVP_MAC_free")?,
            context_free: libcrypto.symbol("EVP_MAC_CTX_free")?,
            mac,
            // SAFETY: EVP_MAC_fetch() returned this MAC, and it is not NULL.
            context: unsafe { new(mac) },
        };
        // SAFETY: a fetched MAC has a provider; `job` keeps it alive while `from` is used.
        let from = unsafe { CStr::from_ptr(provider_name(provider_of(mac))) };
        verify_provider(subject, &from.to_string_lossy(), provider)?;
        job.start()?;
        Ok(job)
    }

    /// Sets cipher and key.
    fn start(&self) -> Result<()> {
        let cipher =
            CString::new(format!("AES-{}-CBC", self.subject.key_bits())).expect("no zeros");
        let name = c"cipher";
        let data = cipher.as_ptr().cast_mut().cast();
        let length = cipher.as_bytes().len();
        let params = [
            Param::new(name, OSSL_PARAM_UTF8_STRING, data, length),
            Param::end(),
        ];
        let key = key(self.subject);
        // SAFETY: an end marker closes the parameters; they and the key outlive the call.
        let status = unsafe { (self.init)(self.context, key.as_ptr(), key.len(), params.as_ptr()) };
        self.check(status)
    }

    fn check(&self, status: c_int) -> Result<()> {
        match status {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "EVP_MAC failed for {}",
                self.subject.title()
            ))),
        }
    }
}

impl Messages for EvpMac {
    fn seal(&mut self, times: u64, data: &mut [u8]) -> Result<Tag> {
        let (mut status, mut tag, mut length) = (1, Tag::default(), 0);
        for _ in 0..times {
            // SAFETY: each pointer has its length; start() has set the cipher and the key.
            unsafe {
                status &= (self.init)(self.context, std::ptr::null(), 0, std::ptr::null());
                status &= (self.update)(self.context, data.as_ptr(), data.len());
                status &= (self.final_)(self.context, tag.as_mut_ptr(), &mut length, TAG_BYTES);
            }
        }
        self.check(status)?;
        Ok(tag)
    }

    fn open(&mut self, _: u64, _: &mut [u8], _: &[u8], _: &Tag) -> Result<()> {
        self.check(0) // there is nothing to open
    }
}

impl Drop for EvpMac {
    fn drop(&mut self) {
        // SAFETY: this value owns both, and nothing uses them later.
        unsafe {
            (self.context_free)(self.context);
            (self.free)(self.mac);
        }
    }
}
