// SPDX-License-Identifier: BSD-2-Clause
//! A cipher through libcrypto's EVP interface, as `openssl speed -evp` drives it: one initialised context,
//! the same buffer in place again and again. An AEAD does whole messages: IV, data, final, tag.

use super::buffer::Buffer;
use super::implementation::Implementation;
use super::subject::Subject;
use super::window::{Job, SAMPLE_CALLS};
use crate::algorithm::Direction;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr, CString};

pub type Ptr = *mut c_void;
type InitFn = unsafe extern "C" fn(Ptr, Ptr, *const u8, *const u8, c_int, Ptr) -> c_int;
type UpdateFn = unsafe extern "C" fn(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
type FinalFn = unsafe extern "C" fn(Ptr, *mut u8, *mut c_int) -> c_int;

// include/openssl/evp.h
const EVP_CTRL_AEAD_GET_TAG: c_int = 0x10;
const TAG_BYTES: c_int = 16;

/// The functions of libcrypto that are needed here.
#[derive(Clone, Copy)]
struct Api {
    fetch: unsafe extern "C" fn(Ptr, *const c_char, *const c_char) -> Ptr,
    cipher_free: unsafe extern "C" fn(Ptr),
    provider_of: unsafe extern "C" fn(Ptr) -> Ptr,
    provider_name: unsafe extern "C" fn(Ptr) -> *const c_char,
    new: unsafe extern "C" fn() -> Ptr,
    free: unsafe extern "C" fn(Ptr),
    init: InitFn,
    set_padding: unsafe extern "C" fn(Ptr, c_int) -> c_int,
    control: unsafe extern "C" fn(Ptr, c_int, c_int, Ptr) -> c_int,
    encrypt_update: UpdateFn,
    decrypt_update: UpdateFn,
    final_: FinalFn,
}

impl Api {
    fn new(libcrypto: &LibCrypto) -> Result<Api> {
        Ok(Api {
            fetch: libcrypto.symbol("EVP_CIPHER_fetch")?,
            cipher_free: libcrypto.symbol("EVP_CIPHER_free")?,
            provider_of: libcrypto.symbol("EVP_CIPHER_get0_provider")?,
            provider_name: libcrypto.symbol("OSSL_PROVIDER_get0_name")?,
            new: libcrypto.symbol("EVP_CIPHER_CTX_new")?,
            free: libcrypto.symbol("EVP_CIPHER_CTX_free")?,
            init: libcrypto.symbol("EVP_CipherInit_ex2")?,
            set_padding: libcrypto.symbol("EVP_CIPHER_CTX_set_padding")?,
            control: libcrypto.symbol("EVP_CIPHER_CTX_ctrl")?,
            encrypt_update: libcrypto.symbol("EVP_EncryptUpdate")?,
            decrypt_update: libcrypto.symbol("EVP_DecryptUpdate")?,
            final_: libcrypto.symbol("EVP_CipherFinal_ex")?,
        })
    }
}

/// Loads a provider by name; the error is what libcrypto says.
pub fn load_provider(libcrypto: &LibCrypto, name: &str) -> Result<Ptr> {
    let load: unsafe extern "C" fn(Ptr, *const c_char) -> Ptr =
        libcrypto.symbol("OSSL_PROVIDER_load")?;
    let c_name = CString::new(name).expect("a name without zero bytes");
    match unsafe { load(std::ptr::null_mut(), c_name.as_ptr()) } {
        provider if provider.is_null() => Err(Error::failure(format!(
            "OpenSSL does not load the provider \"{name}\": {}",
            libcrypto.take_error()
        ))),
        provider => Ok(provider),
    }
}

/// OSSL_PARAM(3).
#[repr(C)]
struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: Ptr,
    data_size: usize,
    return_size: usize,
}

const OSSL_PARAM_UTF8_PTR: c_uint = 6;

/// What the provider's parameter "selected-backend" says. This environment's configuration loads it.
pub fn selected_backend(libcrypto: &LibCrypto, provider: &str) -> Result<String> {
    let provider = load_provider(libcrypto, provider)?;
    let get: unsafe extern "C" fn(Ptr, *mut Param) -> c_int =
        libcrypto.symbol("OSSL_PROVIDER_get_params")?;
    let mut name: *const c_char = std::ptr::null();
    let param = |key, data_type, data| Param {
        key,
        data_type,
        data,
        data_size: 0,
        return_size: usize::MAX, // OSSL_PARAM_UNMODIFIED
    };
    let null = std::ptr::null_mut();
    let data = std::ptr::addr_of_mut!(name).cast();
    let mut params = [
        param(
            b"selected-backend\0".as_ptr().cast(),
            OSSL_PARAM_UTF8_PTR,
            data,
        ),
        param(std::ptr::null(), 0, null),
    ];
    match unsafe { get(provider, params.as_mut_ptr()) } {
        1 if !name.is_null() => Ok(unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()),
        _ => Err(Error::failure("the provider does not tell its backend")),
    }
}

/// One context with its buffer.
pub struct EvpJob {
    api: Api,
    subject: Subject,
    direction: Direction,
    cipher: Ptr,
    context: Ptr,
    buffer: Buffer,
    bytes: usize,
}

// A context and its buffer are used by the thread that owns the job, and by no other.
unsafe impl Send for EvpJob {}

impl EvpJob {
    /// Fetches the cipher from the implementation's provider and from nowhere else.
    pub fn new(
        libcrypto: &LibCrypto,
        implementation: Implementation,
        subject: Subject,
        direction: Direction,
        bytes: usize,
    ) -> Result<EvpJob> {
        let api = Api::new(libcrypto)?;
        let provider = implementation.provider(subject == Subject::Rc4);
        let name = CString::new(subject.name()).expect("a name without zero bytes");
        let properties = CString::new(format!("provider={provider}")).expect("the same");
        let cipher =
            unsafe { (api.fetch)(std::ptr::null_mut(), name.as_ptr(), properties.as_ptr()) };
        if cipher.is_null() {
            return Err(Error::failure(format!(
                "the provider \"{provider}\" has no {}: {}",
                subject.title(),
                libcrypto.take_error()
            )));
        }
        let context = unsafe { (api.new)() };
        let buffer = Buffer::new(bytes);
        let mut job = EvpJob {
            api,
            subject,
            direction,
            cipher,
            context,
            buffer,
            bytes,
        };
        job.verify_provider(provider)?;
        job.start()?;
        Ok(job)
    }

    fn verify_provider(&self, wanted: &str) -> Result<()> {
        let name = unsafe {
            let provider = (self.api.provider_of)(self.cipher);
            CStr::from_ptr((self.api.provider_name)(provider)).to_string_lossy()
        };
        match name == wanted {
            true => Ok(()),
            false => Err(Error::failure(format!(
                "{} comes from the provider \"{name}\" instead of \"{wanted}\"",
                self.subject.title()
            ))),
        }
    }

    fn check(&self, status: c_int, what: &str) -> Result<()> {
        match status {
            1 => Ok(()),
            _ => Err(Error::failure(format!(
                "{what} failed for {}, {} bytes, {}",
                self.subject.title(),
                self.bytes,
                self.direction.name()
            ))),
        }
    }

    fn start(&mut self) -> Result<()> {
        let key: Vec<u8> = (1..=self.subject.key_bytes() as u8).collect();
        let iv = [0x5a_u8; 16];
        let encrypt = c_int::from(self.direction == Direction::Encrypt);
        let null = std::ptr::null_mut();
        let Api {
            init, set_padding, ..
        } = self.api;
        let (context, cipher) = (self.context, self.cipher);
        self.check(
            unsafe { init(context, cipher, key.as_ptr(), iv.as_ptr(), encrypt, null) },
            "EVP_CipherInit_ex2",
        )?;
        // A padded decryption would hold back a block of each call.
        self.check(
            unsafe { set_padding(context, 0) },
            "EVP_CIPHER_CTX_set_padding",
        )
    }

    fn update(&self) -> UpdateFn {
        match self.direction {
            Direction::Encrypt => self.api.encrypt_update,
            Direction::Decrypt => self.api.decrypt_update,
        }
    }

    fn run_stream(&mut self, calls: u64) -> Result<()> {
        let (update, context, data) =
            (self.update(), self.context, self.buffer.data().as_mut_ptr());
        let mut status = 1;
        for _ in 0..calls {
            let mut written = 0;
            status &= unsafe { update(context, data, &mut written, data, self.bytes as c_int) };
        }
        self.check(status, "EVP_CipherUpdate")
    }

    /// Whole messages: a new nonce, the data, the end, and the tag.
    fn run_messages(&mut self, calls: u64, tag: &mut [u8; 16]) -> Result<()> {
        let Api {
            init,
            final_,
            control,
            ..
        } = self.api;
        let (update, context, data) =
            (self.update(), self.context, self.buffer.data().as_mut_ptr());
        let null = std::ptr::null_mut;
        let tag = tag.as_mut_ptr();
        let mut nonce = [0x5a_u8; 16];
        let mut status = 1;
        for call in 0..calls {
            nonce[..8].copy_from_slice(&call.to_le_bytes());
            let mut written = 0;
            unsafe {
                status &= init(
                    context,
                    null(),
                    std::ptr::null(),
                    nonce.as_ptr(),
                    -1,
                    null(),
                );
                status &= update(context, data, &mut written, data, self.bytes as c_int);
                status &= final_(context, tag, &mut written);
                status &= control(context, EVP_CTRL_AEAD_GET_TAG, TAG_BYTES, tag.cast());
            }
        }
        self.check(status, "a message of EVP_Cipher calls")
    }
}

impl Job for EvpJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        match self.subject {
            Subject::ChaCha20Poly1305 => self.run_messages(calls, &mut [0; 16])?,
            _ => self.run_stream(calls)?,
        }
        Ok(calls * self.bytes as u64)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.start()?;
        let mut output = Vec::new();
        for _ in 0..SAMPLE_CALLS {
            self.buffer.fill();
            let mut tag = [0; 16];
            match self.subject {
                Subject::ChaCha20Poly1305 => self.run_messages(1, &mut tag)?,
                _ => self.run_stream(1)?,
            }
            output.extend_from_slice(self.buffer.data());
            output.extend_from_slice(&tag);
        }
        Ok(output)
    }
}

impl Drop for EvpJob {
    fn drop(&mut self) {
        unsafe {
            (self.api.free)(self.context);
            (self.api.cipher_free)(self.cipher);
        }
    }
}
