// SPDX-License-Identifier: BSD-2-Clause
//! nettle, opened at run time (Debian: libnettle8): ECB, CBC and CMAC, the modes in which it is the
//! fastest of the others for short messages. It cannot stop in mid-block, so there are only whole
//! blocks in the modes that stream. Names and structures are those of nettle 3.8: aes.h, cbc.h,
//! cmac.h.

use super::takes_part;
use crate::call::{operation, whole, Memory};
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, BLOCK, TAG};
use libcrypto::library::Library;
use std::ffi::c_void;
use terminal::error::{Error, Result};

type SetKey = unsafe extern "C" fn(*mut c_void, *const u8);
/// aes128_encrypt(); also nettle_cipher_func, by which cbc_decrypt() calls it back.
type Crypt = unsafe extern "C" fn(*const c_void, usize, *mut u8, *const u8);
type CbcEncrypt = unsafe extern "C" fn(*const c_void, *mut u8, usize, *mut u8, *const u8);
type CbcDecrypt =
    unsafe extern "C" fn(*const c_void, Crypt, usize, *mut u8, usize, *mut u8, *const u8);
/// cmac_aes128_update()
type Take = unsafe extern "C" fn(*mut c_void, usize, *const u8);
/// cmac_aes128_digest()
type Digest = unsafe extern "C" fn(*mut c_void, usize, *mut u8);

/// nettle from where the dynamic linker finds it.
pub fn open() -> Result<Peer> {
    type Version = unsafe extern "C" fn() -> i32;
    let library = Library::open("libnettle.so.8")
        .map_err(|e| Error::absent(format!("{e}; install libnettle8")))?;
    // SAFETY: these take nothing and return a constant (version.h).
    let number = |name| unsafe { Ok::<i32, Error>(library.symbol::<Version>(name)?()) };
    let (major, minor) = (
        number("nettle_version_major")?,
        number("nettle_version_minor")?,
    );
    let path = library.file("nettle_cbc_decrypt")?;
    let version = format!("{major}.{minor} ({})", path.display());
    Ok(Peer::new(
        "nettle".into(),
        "nettle".into(),
        version,
        |spec, bytes, inputs| match spec.mode {
            _ if spec.streams != 1 || !takes_part(spec, bytes) => Ok(None),
            Mode::Ecb | Mode::Cbc => stream(library, spec, bytes, inputs).map(Some),
            Mode::Cmac if spec.key_bits != 192 => cmac(library, spec, bytes, inputs).map(Some),
            _ => Ok(None),
        },
    ))
}

/// Larger than any structure of nettle here.
const CONTEXT: usize = 2048;

/// nettle_aes128_..., or what mode it is before that.
///
/// # Safety
/// T is the type of this function.
unsafe fn symbol<T: Copy>(
    library: &'static Library,
    spec: Spec,
    mode: &str,
    rest: &str,
) -> Result<T> {
    let name = format!("nettle_{mode}aes{}_{rest}", spec.key_bits);
    // SAFETY: the caller vouches for T.
    unsafe { library.symbol(&name) }
}

fn stream(
    library: &'static Library,
    spec: Spec,
    bytes: usize,
    inputs: &Inputs,
) -> Result<Box<dyn Operation>> {
    let direction = spec.direction.name();
    // SAFETY: these are their types.
    let (set_key, block, encrypt, decrypt) = unsafe {
        (
            symbol::<SetKey>(library, spec, "", &format!("set_{direction}_key"))?,
            symbol::<Crypt>(library, spec, "", direction)?,
            symbol::<CbcEncrypt>(library, spec, "cbc_", "encrypt")?,
            library.symbol::<CbcDecrypt>("nettle_cbc_decrypt")?,
        )
    };
    let context = Memory::new(CONTEXT);
    // SAFETY: the context is as large, and the key as long, as nettle wants.
    unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
    let iv = inputs.iv;
    let buffers = move |input: &[u8], output: &mut [u8]| {
        let (input, output) = (&input[..bytes], &mut output[..bytes]);
        (output.as_mut_ptr(), input.as_ptr())
    };
    Ok(match (spec.mode, spec.direction) {
        (Mode::Ecb, _) => whole(move |input, output| {
            let (to, from) = buffers(input, output);
            // SAFETY: the buffers have these lengths, and the context its key.
            unsafe { block(context.pointer(), bytes, to, from) }
        }),
        (_, Direction::Encrypt) => operation(
            move || iv,
            move |iv, input, output| {
                let (to, from) = buffers(input, output);
                // SAFETY: as above.
                unsafe { encrypt(context.pointer(), iv.as_mut_ptr(), bytes, to, from) }
            },
        ),
        (_, Direction::Decrypt) => operation(
            move || iv,
            move |iv, input, output| {
                let ((to, from), iv) = (buffers(input, output), iv.as_mut_ptr());
                // SAFETY: as above.
                unsafe { decrypt(context.pointer(), block, BLOCK, iv, bytes, to, from) }
            },
        ),
    })
}

fn cmac(
    library: &'static Library,
    spec: Spec,
    bytes: usize,
    inputs: &Inputs,
) -> Result<Box<dyn Operation>> {
    // SAFETY: these are their types.
    let (set_key, update, digest): (SetKey, Take, Digest) = unsafe {
        (
            symbol(library, spec, "cmac_", "set_key")?,
            symbol(library, spec, "cmac_", "update")?,
            symbol(library, spec, "cmac_", "digest")?,
        )
    };
    let context = Memory::new(CONTEXT);
    // SAFETY: the context is as large, and the key as long, as nettle wants.
    unsafe { set_key(context.pointer(), inputs.key.as_ptr()) };
    Ok(whole(move |input, output| {
        let (input, tag) = (&input[..bytes], &mut output[..TAG]);
        // SAFETY: the buffers have these lengths, and the context its key.
        unsafe {
            update(context.pointer(), bytes, input.as_ptr());
            digest(context.pointer(), TAG, tag.as_mut_ptr());
        }
    }))
}
