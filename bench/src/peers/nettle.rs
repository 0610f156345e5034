// SPDX-License-Identifier: BSD-2-Clause
//! nettle, opened at run time (Debian: libnettle8). It cannot stop in mid-block, so there are only
//! whole blocks in the modes that stream. Names and structures are those of nettle 3.8: aes.h,
//! cbc.h, cfb.h, ctr.h, xts.h, gcm.h, ccm.h, cmac.h.

use super::call::{operation, Memory};
use super::{check_tag, takes_part};
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, TAG};
use libcrypto::library::Library;
use std::ffi::c_void;
use std::path::PathBuf;
use terminal::error::{Error, Result};

const NONCE: usize = 12;

type SetKey = unsafe extern "C" fn(*mut c_void, *const u8);
/// aes128_encrypt(); also nettle_cipher_func, by which the modes call it back.
type Crypt = unsafe extern "C" fn(*const c_void, usize, *mut u8, *const u8);
type CbcAes = unsafe extern "C" fn(*const c_void, *mut u8, usize, *mut u8, *const u8);
/// cbc_decrypt(), cfb_encrypt(), cfb_decrypt(), ctr_crypt()
type OfBlocks =
    unsafe extern "C" fn(*const c_void, Crypt, usize, *mut u8, usize, *mut u8, *const u8);
/// xts_aes128_encrypt_message()
type Xts = unsafe extern "C" fn(*const c_void, *const u8, usize, *mut u8, *const u8);
/// gcm_aes128_set_iv(), gcm_aes128_update(), cmac_aes128_update()
type Take = unsafe extern "C" fn(*mut c_void, usize, *const u8);
/// gcm_aes128_digest(), cmac_aes128_digest()
type Digest = unsafe extern "C" fn(*mut c_void, usize, *mut u8);
/// gcm_aes128_encrypt()
type GcmCrypt = unsafe extern "C" fn(*mut c_void, usize, *mut u8, *const u8);
/// ccm_aes128_encrypt_message(): nonce, additional data, length of the tag, output, input
type CcmSeal = unsafe extern "C" fn(
    *mut c_void,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    usize,
    *mut u8,
    *const u8,
);
type CcmOpen = unsafe extern "C" fn(
    *mut c_void,
    usize,
    *const u8,
    usize,
    *const u8,
    usize,
    usize,
    *mut u8,
    *const u8,
) -> i32;

pub struct Nettle {
    library: &'static Library,
    path: PathBuf,
    version: (i32, i32),
}

/// nettle from where the dynamic linker finds it.
pub fn open() -> Result<Nettle> {
    let library = Library::open("libnettle.so.8")
        .map_err(|e| Error::absent(format!("{e}; install libnettle8")))?;
    type Version = unsafe extern "C" fn() -> i32; // version.h
                                                  // SAFETY: these take nothing and return a
                                                  // constant.
    let version = unsafe {
        let version = |name| library.symbol::<Version>(name);
        (
            version("nettle_version_major")?(),
            version("nettle_version_minor")?(),
        )
    };
    let path = library.file("nettle_ctr_crypt")?;
    Ok(Nettle {
        library,
        path,
        version,
    })
}

impl Nettle {
    /// nettle_aes128_..., or what mode it is before that.
    ///
    /// # Safety
    /// T is the type of this function.
    unsafe fn symbol<T: Copy>(&self, spec: Spec, mode: &str, rest: &str) -> Result<T> {
        let name = format!("nettle_{mode}aes{}_{rest}", spec.key_bits);
        // SAFETY: the caller vouches for T.
        unsafe { self.library.symbol(&name) }
    }
}

impl Peer for Nettle {
    fn id(&self) -> String {
        "nettle".to_owned()
    }

    fn title(&self) -> String {
        "nettle".to_owned()
    }

    fn version(&self) -> String {
        let (major, minor) = self.version;
        format!("{major}.{minor} ({})", self.path.display())
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        if spec.streams != 1
            || !takes_part(spec, bytes)
            || spec.mode.streams() && !bytes.is_multiple_of(16)
        {
            return Ok(None);
        }
        let has_it = match spec.mode {
            Mode::Xts | Mode::Cmac => spec.key_bits != 192,
            Mode::Ecb | Mode::Cbc | Mode::Cfb128 | Mode::Ctr | Mode::Gcm | Mode::Ccm => true,
            _ => false,
        };
        if !has_it {
            return Ok(None);
        }
        match spec.mode {
            Mode::Xts => self.xts(spec, bytes, inputs),
            Mode::Gcm => self.gcm(spec, bytes, inputs),
            Mode::Ccm => self.ccm(spec, bytes, inputs),
            Mode::Cmac => self.cmac(spec, bytes, inputs),
            _ => self.stream(spec, bytes, inputs),
        }
        .map(Some)
    }
}

/// Larger than any structure of nettle here: gcm_aes256_ctx has 4.4 KiB.
const CONTEXT: usize = 8192;

impl Nettle {
    fn stream(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        let encrypt = spec.direction == Direction::Encrypt;
        let forward = encrypt || !matches!(spec.mode, Mode::Ecb | Mode::Cbc);
        let direction = if forward { "encrypt" } else { "decrypt" };
        // SAFETY: these are their types.
        let (set_key, block, cbc_encrypt): (SetKey, Crypt, CbcAes) = unsafe {
            (
                self.symbol(spec, "", &format!("set_{direction}_key"))?,
                self.symbol(spec, "", direction)?,
                self.symbol(spec, "cbc_", "encrypt")?,
            )
        };
        let context = Memory::new(CONTEXT);
        // SAFETY: the context is as large, and the key as long, as nettle wants.
        unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
        let iv = inputs.iv;
        let of_blocks = match (spec.mode, encrypt) {
            (Mode::Ecb, _) => {
                return Ok(operation(
                    || (),
                    move |(), input, output| {
                        let (input, output) = (&input[..bytes], &mut output[..bytes]);
                        let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                        // SAFETY: input and output have the lengths that are given; the context has
                        // its key.
                        unsafe { block(context.pointer(), bytes, to, from) }
                    },
                ));
            }
            (Mode::Cbc, true) => {
                return Ok(operation(
                    move || iv,
                    move |iv, input, output| {
                        let (input, output) = (&input[..bytes], &mut output[..bytes]);
                        let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                        // SAFETY: input and output have the lengths that are given; the context has
                        // its key.
                        unsafe { cbc_encrypt(context.pointer(), iv.as_mut_ptr(), bytes, to, from) }
                    },
                ));
            }
            (Mode::Cbc, false) => "nettle_cbc_decrypt",
            (Mode::Cfb128, true) => "nettle_cfb_encrypt",
            (Mode::Cfb128, false) => "nettle_cfb_decrypt",
            _ => "nettle_ctr_crypt",
        };
        // SAFETY: this is its type.
        let of_blocks: OfBlocks = unsafe { self.library.symbol(of_blocks) }?;
        Ok(operation(
            move || iv,
            move |iv, input, output| {
                let (input, output) = (&input[..bytes], &mut output[..bytes]);
                let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                // SAFETY: input and output have the lengths that are given; the context has its
                // key.
                unsafe {
                    of_blocks(
                        context.pointer(),
                        block,
                        16,
                        iv.as_mut_ptr(),
                        bytes,
                        to,
                        from,
                    )
                }
            },
        ))
    }

    fn xts(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        let direction = spec.direction.name();
        // SAFETY: these are their types.
        let (set_key, message): (SetKey, Xts) = unsafe {
            (
                self.symbol(spec, "xts_", &format!("set_{direction}_key"))?,
                self.symbol(spec, "xts_", &format!("{direction}_message"))?,
            )
        };
        let context = Memory::new(CONTEXT);
        // SAFETY: the context is as large, and the key as long, as nettle wants.
        unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
        let iv = inputs.iv;
        Ok(operation(
            || (),
            move |(), input, output| {
                let (input, output) = (&input[..bytes], &mut output[..bytes]);
                let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                // SAFETY: input and output have the lengths that are given; the context has its
                // key.
                unsafe { message(context.pointer(), iv.as_ptr(), bytes, to, from) }
            },
        ))
    }

    fn gcm(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        // SAFETY: these are their types.
        let (set_key, set_iv, update, crypt, digest): (SetKey, Take, Take, GcmCrypt, Digest) = unsafe {
            (
                self.symbol(spec, "gcm_", "set_key")?,
                self.symbol(spec, "gcm_", "set_iv")?,
                self.symbol(spec, "gcm_", "update")?,
                self.symbol(spec, "gcm_", spec.direction.name())?,
                self.symbol(spec, "gcm_", "digest")?,
            )
        };
        let context = Memory::new(CONTEXT);
        // SAFETY: the context is as large, and the key as long, as nettle wants.
        unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
        let (iv, aad) = (inputs.iv, inputs.aad);
        let message = move |input: &[u8], output: &mut [u8], tag: &mut [u8; TAG]| {
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            let context = context.pointer();
            // SAFETY: input and output have the lengths that are given; the context has its key.
            unsafe {
                set_iv(context, NONCE, iv.as_ptr());
                update(context, aad.len(), aad.as_ptr());
                crypt(context, bytes, output.as_mut_ptr(), input.as_ptr());
                digest(context, TAG, tag.as_mut_ptr());
            }
        };
        Ok(match spec.direction {
            Direction::Encrypt => operation(
                || (),
                move |(), input, output| {
                    let (data, tag) = output.split_at_mut(bytes);
                    message(
                        input,
                        data,
                        tag.first_chunk_mut().expect("room for the tag"),
                    );
                },
            ),
            Direction::Decrypt => operation(
                || (),
                move |(), input, output| {
                    let (data, tag) = input.split_at(bytes);
                    let mut computed = [0; TAG];
                    message(data, output, &mut computed);
                    check_tag(&computed, tag);
                },
            ),
        })
    }

    fn ccm(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        // SAFETY: these are their types.
        let (set_key, seal, open): (SetKey, CcmSeal, CcmOpen) = unsafe {
            (
                self.symbol(spec, "ccm_", "set_key")?,
                self.symbol(spec, "ccm_", "encrypt_message")?,
                self.symbol(spec, "ccm_", "decrypt_message")?,
            )
        };
        let context = Memory::new(CONTEXT);
        // SAFETY: the context is as large, and the key as long, as nettle wants.
        unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
        let (iv, aad) = (inputs.iv, inputs.aad);
        Ok(match spec.direction {
            Direction::Encrypt => operation(
                || (),
                move |(), input, output| {
                    let (input, output) = (&input[..bytes], &mut output[..bytes + TAG]);
                    let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                    let length = bytes + TAG;
                    // SAFETY: input and output have the lengths that are given; the context has its
                    // key.
                    unsafe {
                        seal(
                            context.pointer(),
                            NONCE,
                            iv.as_ptr(),
                            aad.len(),
                            aad.as_ptr(),
                            TAG,
                            length,
                            to,
                            from,
                        )
                    }
                },
            ),
            Direction::Decrypt => operation(
                || (),
                move |(), input, output| {
                    let (input, output) = (&input[..bytes + TAG], &mut output[..bytes]);
                    let (from, to) = (input.as_ptr(), output.as_mut_ptr());
                    // SAFETY: input and output have the lengths that are given; the context has its
                    // key.
                    let opened = unsafe {
                        open(
                            context.pointer(),
                            NONCE,
                            iv.as_ptr(),
                            aad.len(),
                            aad.as_ptr(),
                            TAG,
                            bytes,
                            to,
                            from,
                        )
                    };
                    assert_eq!(opened, 1, "nettle does not open");
                },
            ),
        })
    }

    fn cmac(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        // SAFETY: these are their types.
        let (set_key, update, digest): (SetKey, Take, Digest) = unsafe {
            (
                self.symbol(spec, "cmac_", "set_key")?,
                self.symbol(spec, "cmac_", "update")?,
                self.symbol(spec, "cmac_", "digest")?,
            )
        };
        let context = Memory::new(CONTEXT);
        // SAFETY: the context is as large, and the key as long, as nettle wants.
        unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
        Ok(operation(
            || (),
            move |(), input, output| {
                let (input, output) = (&input[..bytes], &mut output[..TAG]);
                // SAFETY: input and output have the lengths that are given; the context has its
                // key.
                unsafe {
                    update(context.pointer(), bytes, input.as_ptr());
                    digest(context.pointer(), TAG, output.as_mut_ptr());
                }
            },
        ))
    }
}
