// SPDX-License-Identifier: BSD-2-Clause
//! CMAC through libcrypto's EVP_MAC interface: one keyed context, started afresh for each message.

use super::evp::{absent, key, verify_provider};
use super::implementation::Implementation;
use super::message::{Messages, Tag, TAG_BYTES};
use crate::ciphers::Cipher;
use libcrypto::functions::{Functions, Param, Ptr, OSSL_PARAM_UTF8_STRING};
use libcrypto::LibCrypto;
use std::ffi::{c_int, CStr, CString};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

/// A MAC, fetched from the implementation's provider and from nowhere else, with a context.
pub struct EvpMac {
    subject: Cipher,
    f: Functions,
    mac: Ptr,
    context: Ptr,
}

// SAFETY: libcrypto ties no context to a thread, and only the owner calls it.
unsafe impl Send for EvpMac {}

impl EvpMac {
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Cipher,
    ) -> Result<EvpMac> {
        let f = libcrypto.functions;
        let provider = implementation.provider(false);
        let name = CString::new(subject.fetched()).expect("a name without zero bytes");
        let properties = CString::new(format!("provider={provider}")).expect("the same");
        // SAFETY: both strings outlive the call, and NULL stands for the default library context.
        let mac = unsafe { (f.EVP_MAC_fetch)(null_mut(), name.as_ptr(), properties.as_ptr()) };
        if mac.is_null() {
            return Err(absent(libcrypto, provider, subject));
        }
        let job = EvpMac {
            subject,
            f,
            mac,
            // SAFETY: EVP_MAC_fetch() returned this MAC, and it is not NULL.
            context: unsafe { (f.EVP_MAC_CTX_new)(mac) },
        };
        // SAFETY: a fetched MAC has a provider; `job` keeps it alive while `from` is used.
        let from =
            unsafe { CStr::from_ptr((f.OSSL_PROVIDER_get0_name)((f.EVP_MAC_get0_provider)(mac))) };
        verify_provider(subject, &from.to_string_lossy(), provider)?;
        job.start()?;
        Ok(job)
    }

    /// Sets cipher and key.
    fn start(&self) -> Result<()> {
        let cipher =
            CString::new(format!("AES-{}-CBC", self.subject.key_bits())).expect("no zeros");
        let name = c"cipher";
        let length = cipher.as_bytes().len();
        let params = [
            Param::new(name, OSSL_PARAM_UTF8_STRING, cipher.as_ptr(), length),
            Param::END,
        ];
        let key = key(self.subject);
        let init = self.f.EVP_MAC_init;
        // SAFETY: an end marker closes the parameters; they and the key outlive the call.
        let status = unsafe { init(self.context, key.as_ptr(), key.len(), params.as_ptr()) };
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
        let (f, mut status, mut tag, mut length) = (&self.f, 1, Tag::default(), 0);
        for _ in 0..times {
            // SAFETY: each pointer has its length; start() has set the cipher and the key.
            unsafe {
                status &= (f.EVP_MAC_init)(self.context, null(), 0, null());
                status &= (f.EVP_MAC_update)(self.context, data.as_ptr(), data.len());
                status &= (f.EVP_MAC_final)(self.context, tag.as_mut_ptr(), &mut length, TAG_BYTES);
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
            (self.f.EVP_MAC_CTX_free)(self.context);
            (self.f.EVP_MAC_free)(self.mac);
        }
    }
}
