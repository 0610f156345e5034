// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds.h` in Rust: structs, and the functions as they are. The header says what each
//! function needs. build.rs reads this file, and compares the layouts with C.

#![allow(non_camel_case_types)]

use core::ffi::{c_char, c_int, c_uint, c_void};

/// enum tr_status.
pub type tr_status = c_int;
pub const TR_OK: tr_status = 0;
pub const TR_ERR_LENGTH: tr_status = 2;
pub const TR_ERR_OVERLAP: tr_status = 3;
pub const TR_ERR_PADDING: tr_status = 4;
pub const TR_ERR_IV_LENGTH: tr_status = 7;
pub const TR_ERR_TAG: tr_status = 9;
pub const TR_ERR_EQUAL_KEYS: tr_status = 11;

// enum tr_mode.
pub const TR_ECB: c_int = 1;
pub const TR_CBC: c_int = 2;
pub const TR_CFB128: c_int = 3;
pub const TR_OFB: c_int = 4;
pub const TR_CTR: c_int = 5;

macro_rules! opaque {
    ($($(#[$doc:meta])* $name:ident: $size:literal;)*) => {$(
        $(#[$doc])*
        #[repr(C, align(16))]
        pub struct $name([u8; $size]);
    )*};
}

// Sizes on 64-bit systems, as in the header.
opaque! {
    tr_aes_key: 496;
    tr_gcm_key: 1104;
    tr_ccm_key: 496;
    tr_ocb_key: 784;
    tr_siv_key: 1040;
    tr_gcm_siv_key: 496;
    tr_xts_key: 1008;
    tr_cmac_key: 528;
    /// A GCM message.
    tr_gcm: 208;
    /// A CCM message.
    tr_ccm: 96;
    /// A CMAC message.
    tr_cmac: 48;
    /// A SIV message.
    tr_siv: 32;
    /// A message of ECB, CBC, CFB, OFB or CTR.
    tr_cipher: 48;
}

/// Where the round keys are in a GCM key: the first ones are the key itself (FIPS 197 section 5.2).
pub const GCM_ROUND_KEYS: usize = 608;

/// A backend's table, of which only the address is known.
#[repr(C)]
pub struct tr_backend {
    _opaque: [u8; 0],
}

#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct tr_cpu {
    pub present: u32,
    pub usable: u32,
    /// XGETBV(0): the register state that the operating system saves.
    pub xcr0: u64,
}

#[repr(C)]
pub struct tr_selection {
    pub backend: *const tr_backend,
    pub cpu: tr_cpu,
    pub masked: u32,
    pub avoided: u32,
    pub failed: u32,
    pub bad_mask: *const c_char,
}

#[repr(C)]
pub struct tr_tuning {
    pub name: *const c_char,
    pub aes_latency: u8,
    pub aes512_per_cycle: u8,
    pub separate_clmul: u8,
    pub clock_drops: u8,
}

#[repr(C)]
pub struct tr_stream {
    pub key: *const c_void,
    pub iv: *mut u8,
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
}

#[repr(C)]
pub struct tr_cmac_job {
    pub key: *const c_void,
    pub data: *const u8,
    pub len: usize,
    pub tag: [u8; 16],
    pub working: [u8; 16],
}

#[repr(C)]
pub struct tr_ccm_job {
    pub key: *const c_void,
    pub nonce: *const u8,
    pub nonce_len: usize,
    pub aad: *const u8,
    pub aad_len: usize,
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
    pub tag: *mut u8,
    pub tag_len: usize,
    pub status: tr_status,
    pub working: core::mem::MaybeUninit<tr_ccm>,
}

#[repr(C)]
pub struct tr_mask_job {
    pub key: *const c_void,
    pub sample: *const u8,
    pub mask: *mut u8,
}

#[repr(C)]
pub struct tr_gcm_job {
    pub key: *const c_void,
    pub iv: *const u8,
    pub iv_len: usize,
    pub aad: *const u8,
    pub aad_len: usize,
    pub out: *mut u8,
    pub input: *const u8,
    pub len: usize,
    pub tag: *mut u8,
    pub tag_len: usize,
    pub status: tr_status,
}

/// A key object of any mode. Rust checks the mode where it takes the address (object.rs).
pub type Key = *const c_void;

pub type SetKey =
    unsafe extern "C" fn(*mut c_void, *const tr_backend, *const u8, usize) -> tr_status;
pub type Plain = unsafe extern "C" fn(Key, *mut u8, *const u8, usize) -> tr_status;
pub type Chained = unsafe extern "C" fn(Key, *mut u8, *mut u8, *const u8, usize) -> tr_status;
pub type Feedback =
    unsafe extern "C" fn(Key, *mut u8, *mut c_uint, *mut u8, *const u8, usize) -> tr_status;
pub type Tweaked = unsafe extern "C" fn(Key, *const u8, *mut u8, *const u8, usize) -> tr_status;
/// CBC-CTS: form, IV, out, in.
pub type Stealing =
    unsafe extern "C" fn(Key, c_int, *mut u8, *mut u8, *const u8, usize) -> tr_status;
/// Key wrap: with the inverse cipher or not, ICV, out, in.
pub type Wrapping =
    unsafe extern "C" fn(Key, c_int, *const u8, *mut u8, *const u8, usize) -> tr_status;
/// CMAC: data, tag. Verification only reads the tag.
pub type Signing = unsafe extern "C" fn(Key, *const u8, usize, *mut u8, usize) -> tr_status;
/// XTS: the first tweak, out, in, the length and the number of data units.
pub type Units =
    unsafe extern "C" fn(Key, *const u8, *mut u8, *const u8, usize, usize) -> tr_status;
/// Nonce, AAD, out, in, tag: each with its length, but out. Opening only reads the tag.
pub type Sealing = unsafe extern "C" fn(
    Key,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    *const u8,
    usize,
    *mut u8,
    usize,
) -> tr_status;
/// GCM-SIV: nonce of 12 bytes, AAD, out, in, tag of 16 bytes.
pub type SealingGcmSiv = unsafe extern "C" fn(
    Key,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    *const u8,
    usize,
    *mut u8,
) -> tr_status;
/// SIV: AAD, out, in, tag of 16 bytes.
pub type SealingSiv =
    unsafe extern "C" fn(Key, *const u8, usize, *mut u8, *const u8, usize, *mut u8) -> tr_status;

macro_rules! functions {
    ($($kind:ty: $($name:ident),*;)*) => {$($(
        /// As in the header.
        pub const fn $name() -> $kind {
            extern "C" {
                fn $name();
            }
            // SAFETY: the header declares the function with this type, but for `const`.
            unsafe { core::mem::transmute::<unsafe extern "C" fn(), $kind>($name) }
        }
    )*)*};
}

functions! {
    SetKey: tr_aes_set_key, tr_gcm_set_key, tr_ccm_set_key, tr_ocb_set_key, tr_siv_set_key,
        tr_gcm_siv_set_key, tr_xts_set_key, tr_cmac_set_key;
    Plain: tr_ecb_encrypt, tr_ecb_decrypt;
    Chained: tr_cbc_encrypt, tr_cbc_decrypt, tr_cfb8_encrypt, tr_cfb8_decrypt, tr_cfb1_encrypt,
        tr_cfb1_decrypt;
    Feedback: tr_cfb128_encrypt, tr_cfb128_decrypt, tr_ofb;
    Tweaked: tr_xts_encrypt, tr_xts_decrypt;
    Sealing: tr_gcm_seal, tr_gcm_open, tr_ccm_seal, tr_ccm_open, tr_ocb_seal, tr_ocb_open;
    SealingGcmSiv: tr_gcm_siv_seal, tr_gcm_siv_open;
    SealingSiv: tr_siv_seal, tr_siv_open;
    Stealing: tr_cbc_cts_encrypt, tr_cbc_cts_decrypt;
    Wrapping: tr_kw_wrap, tr_kw_unwrap, tr_kwp_wrap;
    Signing: tr_cmac_sign, tr_cmac_verify;
    Units: tr_xts_encrypt_units, tr_xts_decrypt_units;
}

extern "C" {
    pub fn tr_strerror(status: tr_status) -> *const c_char;
    pub fn tr_version() -> *const c_char;
    pub fn tr_cleanse(memory: *mut c_void, len: usize);
    pub fn tr_cpu_detect(cpu: *mut tr_cpu);
    pub fn tr_feature_name(index: c_uint) -> *const c_char;
    pub fn tr_backend_at(index: c_uint) -> *const tr_backend;
    pub fn tr_backend_name(backend: *const tr_backend) -> *const c_char;
    pub fn tr_backend_features(backend: *const tr_backend) -> u32;
    pub fn tr_select(
        mask: *const c_char,
        also_masked: u32,
        selection: *mut tr_selection,
    ) -> tr_status;
    pub fn tr_tuning_at(index: c_uint) -> *const tr_tuning;
    pub fn tr_tuning_selected() -> *const tr_tuning;
    pub fn tr_ctr(
        key: Key,
        counter: *mut u8,
        keystream: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> tr_status;
    pub fn tr_kwp_unwrap(
        key: Key,
        inverse: c_int,
        icv: *const u8,
        out: *mut u8,
        out_len: *mut usize,
        input: *const u8,
        len: usize,
    ) -> tr_status;
    pub fn tr_cipher_start(
        cipher: *mut tr_cipher,
        key: Key,
        mode: c_int,
        decrypt: c_int,
        padding: c_int,
        iv: *const u8,
    ) -> tr_status;
    pub fn tr_cipher_update(
        cipher: *mut tr_cipher,
        out: *mut u8,
        out_len: *mut usize,
        input: *const u8,
        len: usize,
    ) -> tr_status;
    pub fn tr_cipher_room(cipher: *const tr_cipher, len: usize) -> usize;
    pub fn tr_cipher_final(cipher: *mut tr_cipher, out: *mut u8, out_len: *mut usize) -> tr_status;
    pub fn tr_gcm_start(gcm: *mut tr_gcm, key: Key, iv: *const u8, iv_len: usize) -> tr_status;
    pub fn tr_gcm_aad(gcm: *mut tr_gcm, aad: *const u8, len: usize) -> tr_status;
    pub fn tr_gcm_encrypt(
        gcm: *mut tr_gcm,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> tr_status;
    pub fn tr_gcm_decrypt(
        gcm: *mut tr_gcm,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> tr_status;
    pub fn tr_gcm_check(gcm: *mut tr_gcm, tag: *const u8, tag_len: usize) -> tr_status;
    pub fn tr_gcm_tag(gcm: *mut tr_gcm, tag: *mut u8, tag_len: usize) -> tr_status;
    pub fn tr_siv_start(siv: *mut tr_siv, key: Key) -> tr_status;
    pub fn tr_siv_aad(siv: *mut tr_siv, aad: *const u8, len: usize) -> tr_status;
    pub fn tr_siv_encrypt(
        siv: *mut tr_siv,
        out: *mut u8,
        input: *const u8,
        len: usize,
        tag: *mut u8,
    ) -> tr_status;
    pub fn tr_siv_decrypt(
        siv: *mut tr_siv,
        out: *mut u8,
        input: *const u8,
        len: usize,
        tag: *const u8,
    ) -> tr_status;
    pub fn tr_cmac_start(cmac: *mut tr_cmac, key: Key) -> tr_status;
    pub fn tr_cmac_rebind(cmac: *mut tr_cmac, key: Key);
    pub fn tr_cmac_update(cmac: *mut tr_cmac, data: *const u8, len: usize) -> tr_status;
    pub fn tr_cmac_tag(cmac: *mut tr_cmac, tag: *mut u8, tag_len: usize) -> tr_status;
    pub fn tr_cbc_encrypt_many(jobs: *const tr_stream, count: usize) -> tr_status;
    pub fn tr_cfb128_encrypt_many(jobs: *const tr_stream, count: usize) -> tr_status;
    pub fn tr_cmac_sign_many(jobs: *mut tr_cmac_job, count: usize) -> tr_status;
    pub fn tr_ecb_masks(jobs: *const tr_mask_job, count: usize) -> tr_status;
    pub fn tr_gcm_seal_many(jobs: *mut tr_gcm_job, count: usize) -> tr_status;
    pub fn tr_gcm_open_many(jobs: *mut tr_gcm_job, count: usize) -> tr_status;
    pub fn tr_ccm_seal_many(jobs: *mut tr_ccm_job, count: usize) -> tr_status;
    pub fn tr_ccm_open_many(jobs: *mut tr_ccm_job, count: usize) -> tr_status;
}
