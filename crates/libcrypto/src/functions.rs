// SPDX-License-Identifier: BSD-2-Clause
//! What the crates of this project call in libcrypto, as the headers of OpenSSL 3.0 declare it.

use std::ffi::{c_char, c_int, c_uint, c_ulong, c_void, CStr};
use std::ptr::{null, null_mut};

// include/openssl/evp.h
pub const EVP_CTRL_AEAD_SET_IVLEN: c_int = 0x9;
pub const EVP_CTRL_AEAD_GET_TAG: c_int = 0x10;
pub const EVP_CTRL_AEAD_SET_TAG: c_int = 0x11;
// include/openssl/core.h
pub const OSSL_PARAM_UNSIGNED_INTEGER: c_uint = 2;
pub const OSSL_PARAM_UTF8_STRING: c_uint = 4;
pub const OSSL_PARAM_OCTET_STRING: c_uint = 5;
pub const OSSL_PARAM_UTF8_PTR: c_uint = 6;

/// An object of libcrypto, such as an EVP_CIPHER.
pub type Ptr = *mut c_void;
pub type Init =
    unsafe extern "C" fn(Ptr, *const c_void, *const u8, *const u8, *const Param) -> c_int;
pub type Update = unsafe extern "C" fn(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
pub type Final = unsafe extern "C" fn(Ptr, *mut u8, *mut c_int) -> c_int;

/// OSSL_PARAM of include/openssl/core.h.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Param {
    key: *const c_char,
    data_type: c_uint,
    data: Ptr,
    data_size: usize,
    return_size: usize,
}

impl Param {
    pub fn new<T>(key: &'static CStr, data_type: c_uint, data: *const T, size: usize) -> Param {
        Param {
            key: key.as_ptr(),
            data_type,
            data: data as Ptr,
            data_size: size,
            return_size: usize::MAX, // OSSL_PARAM_UNMODIFIED
        }
    }

    pub const END: Param = Param {
        key: null(),
        data_type: 0,
        data: null_mut(),
        data_size: 0,
        return_size: 0,
    };
}

crate::functions! {
    /// include/openssl/crypto.h, err.h, evp.h, objects.h, provider.h, rand.h
    Functions {
        fn OPENSSL_init_crypto(u64, *const c_void) -> c_int;
        fn OPENSSL_info(c_int) -> *const c_char;
        fn OpenSSL_version(c_int) -> *const c_char;
        fn ERR_get_error_all(*mut *const c_char, *mut c_int, *mut *const c_char, *mut *const c_char, *mut c_int) -> c_ulong;
        fn ERR_reason_error_string(c_ulong) -> *const c_char;
        fn ERR_clear_error();
        fn OBJ_nid2ln(c_int) -> *const c_char;
        fn RAND_bytes(*mut u8, c_int) -> c_int;
        fn OSSL_LIB_CTX_new() -> Ptr;
        fn OSSL_PROVIDER_load(Ptr, *const c_char) -> Ptr;
        fn OSSL_PROVIDER_get0_name(Ptr) -> *const c_char;
        fn OSSL_PROVIDER_get_params(Ptr, *mut Param) -> c_int;
        fn EVP_CIPHER_fetch(Ptr, *const c_char, *const c_char) -> Ptr;
        fn EVP_CIPHER_free(Ptr);
        fn EVP_CIPHER_get0_provider(Ptr) -> Ptr;
        fn EVP_CIPHER_get_mode(*const c_void) -> c_int;
        fn EVP_CIPHER_get_iv_length(*const c_void) -> c_int;
        fn EVP_CIPHER_CTX_new() -> Ptr;
        fn EVP_CIPHER_CTX_free(Ptr);
        fn EVP_CIPHER_CTX_copy(Ptr, *const c_void) -> c_int;
        fn EVP_CIPHER_CTX_reset(Ptr) -> c_int;
        fn EVP_CIPHER_CTX_ctrl(Ptr, c_int, c_int, *mut c_void) -> c_int;
        fn EVP_CIPHER_CTX_set_padding(Ptr, c_int) -> c_int;
        fn EVP_CIPHER_CTX_get_params(Ptr, *mut Param) -> c_int;
        fn EVP_CipherInit_ex2(Ptr, *const c_void, *const u8, *const u8, c_int, *const Param) -> c_int;
        fn EVP_CipherUpdate(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
        fn EVP_CipherFinal_ex(Ptr, *mut u8, *mut c_int) -> c_int;
        fn EVP_EncryptInit_ex2(Ptr, *const c_void, *const u8, *const u8, *const Param) -> c_int;
        fn EVP_DecryptInit_ex2(Ptr, *const c_void, *const u8, *const u8, *const Param) -> c_int;
        fn EVP_EncryptUpdate(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
        fn EVP_DecryptUpdate(Ptr, *mut u8, *mut c_int, *const u8, c_int) -> c_int;
        fn EVP_EncryptFinal_ex(Ptr, *mut u8, *mut c_int) -> c_int;
        fn EVP_DecryptFinal_ex(Ptr, *mut u8, *mut c_int) -> c_int;
        fn EVP_MAC_fetch(Ptr, *const c_char, *const c_char) -> Ptr;
        fn EVP_MAC_free(Ptr);
        fn EVP_MAC_get0_provider(Ptr) -> Ptr;
        fn EVP_MAC_CTX_new(Ptr) -> Ptr;
        fn EVP_MAC_CTX_free(Ptr);
        fn EVP_MAC_init(Ptr, *const u8, usize, *const Param) -> c_int;
        fn EVP_MAC_update(Ptr, *const u8, usize) -> c_int;
        fn EVP_MAC_final(Ptr, *mut u8, *mut usize, usize) -> c_int;
    }
}
