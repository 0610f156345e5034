// SPDX-License-Identifier: BSD-2-Clause
//! libgcrypt, opened at run time. Declarations of gcrypt.h, version 1.12.

use super::{fetched, single};
use crate::call::{operation, whole};
use crate::peer::{Aad, Direction, Inputs, Mode, Operation, Peer, Prepared, Spec, TAG};
use libcrypto::functions;
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use std::ptr::{null, null_mut};
use std::rc::Rc;
use terminal::error::{Error, Result};

const NONCE: usize = 12;

// enum gcry_ctl_cmds
const GCRYCTL_RESET: c_int = 4;
const GCRYCTL_DISABLE_SECMEM: c_int = 37;
const GCRYCTL_INITIALIZATION_FINISHED: c_int = 38;
const GCRYCTL_SET_CCM_LENGTHS: c_int = 69;
// enum gcry_mac_algos
const GCRY_MAC_CMAC_AES: c_int = 201;

type Handle = *mut c_void;

functions! {
    /// gcrypt.h
    Functions {
        fn gcry_check_version(*const c_char) -> *const c_char;
        fn gcry_cipher_open(*mut Handle, c_int, c_int, c_uint) -> c_uint;
        fn gcry_cipher_close(Handle);
        fn gcry_cipher_ctl(Handle, c_int, *mut c_void, usize) -> c_uint;
        fn gcry_cipher_setkey(Handle, *const u8, usize) -> c_uint;
        fn gcry_cipher_setiv(Handle, *const u8, usize) -> c_uint;
        fn gcry_cipher_setctr(Handle, *const u8, usize) -> c_uint;
        fn gcry_cipher_authenticate(Handle, *const u8, usize) -> c_uint;
        fn gcry_cipher_gettag(Handle, *mut u8, usize) -> c_uint;
        fn gcry_cipher_checktag(Handle, *const u8, usize) -> c_uint;
        fn gcry_cipher_encrypt(Handle, *mut u8, usize, *const u8, usize) -> c_uint;
        fn gcry_cipher_decrypt(Handle, *mut u8, usize, *const u8, usize) -> c_uint;
        fn gcry_mac_open(*mut Handle, c_int, c_uint, *mut c_void) -> c_uint;
        fn gcry_mac_close(Handle);
        fn gcry_mac_ctl(Handle, c_int, *mut c_void, usize) -> c_uint;
        fn gcry_mac_setkey(Handle, *const u8, usize) -> c_uint;
        fn gcry_mac_write(Handle, *const u8, usize) -> c_uint;
        fn gcry_mac_read(Handle, *mut u8, *mut usize) -> c_uint;
    }
}

pub fn open() -> Result<Peer> {
    let (_, origin) = fetched::known("libgcrypt")?;
    let library = fetched::open("libgcrypt.so.20")?;
    let functions = Functions::load(library)?;
    // It takes what the command wants, which is one int here.
    type Control = unsafe extern "C" fn(c_int, ...) -> c_uint;
    // SAFETY: this is its declaration.
    let control: Control = unsafe { library.symbol("gcry_control") }?;
    // SAFETY: gcry_check_version() comes first, as its manual says, and returns a constant string.
    let version = unsafe {
        let version = (functions.gcry_check_version)(null());
        control(GCRYCTL_DISABLE_SECMEM, 0 as c_int);
        control(GCRYCTL_INITIALIZATION_FINISHED, 0 as c_int);
        CStr::from_ptr(version)
    };
    let (version, path) = (
        version.to_string_lossy(),
        library.file("gcry_cipher_encrypt")?,
    );
    let (title, version) = (
        format!("libgcrypt {version}"),
        format!("{version} ({})", path.display()),
    );
    let prepare = move |spec: Spec, bytes, inputs: &Inputs| match spec.mode {
        Mode::Cmac => mac(functions, bytes, inputs).map(Some),
        _ => cipher(functions, spec, bytes, inputs),
    };
    Ok(single("libgcrypt", &title, version, origin, prepare))
}

fn cipher(f: Functions, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
    let Some(cipher) = Cipher::new(f, spec, inputs)? else {
        return Ok(None);
    };
    let cipher = Rc::new(cipher);
    let first = cipher.clone();
    let aad = inputs.aad(spec);
    Ok(Some(match spec.mode {
        // The tweak, and all of the sector.
        Mode::Xts => whole(move |input, output| {
            let done = cipher.set_iv() && cipher.crypt(&input[..bytes], output);
            assert!(done, "libgcrypt's XTS failed");
        }),
        mode if mode.is_aead() => whole(move |input, output| {
            let done = cipher.message(&aad, bytes, input, output);
            assert!(done, "libgcrypt failed, or the tag is wrong");
        }),
        _ => operation(
            move || assert!(first.set_iv(), "libgcrypt takes no IV"),
            move |(), input, output| {
                let done = cipher.crypt(&input[..bytes], output);
                assert!(done, "libgcrypt failed");
            },
        ),
    }))
}

/// gcry_cipher_hd_t with its key and IV.
struct Cipher {
    f: Functions,
    handle: Handle,
    mode: Mode,
    encrypt: bool,
    iv: [u8; 16],
}

impl Cipher {
    /// None if it has no such mode.
    fn new(f: Functions, spec: Spec, inputs: &Inputs) -> Result<Option<Cipher>> {
        // enum gcry_cipher_modes
        let mode = match spec.mode {
            Mode::Ecb => 1,
            Mode::Cfb128 => 2,
            Mode::Cbc => 3,
            Mode::Ofb => 5,
            Mode::Ctr => 6,
            Mode::Ccm => 8,
            Mode::Gcm => 9,
            Mode::Xts => 13,
            _ => return Ok(None),
        };
        // enum gcry_cipher_algos
        let algorithm = match spec.key_bits {
            128 => 7,
            192 => 8,
            _ => 9,
        };
        let mut cipher = Cipher {
            f,
            handle: null_mut(),
            mode: spec.mode,
            encrypt: spec.direction == Direction::Encrypt,
            iv: inputs.iv,
        };
        let key = &inputs.key;
        // SAFETY: the handle is written if there is such a mode; the key has the length that is
        // given.
        unsafe {
            if (f.gcry_cipher_open)(&mut cipher.handle, algorithm, mode, 0) != 0 {
                return Ok(None);
            }
            if (f.gcry_cipher_setkey)(cipher.handle, key.as_ptr(), key.len()) != 0 {
                return Err(Error::failure(format!(
                    "libgcrypt does not take the key of {spec:?}"
                )));
            }
        }
        Ok(Some(cipher))
    }

    #[inline]
    fn set_iv(&self) -> bool {
        let (f, iv) = (&self.f, self.iv.as_ptr());
        // SAFETY: the IV has 16 bytes.
        let error = unsafe {
            match self.mode {
                Mode::Ecb => 0,
                Mode::Ctr => (f.gcry_cipher_setctr)(self.handle, iv, 16),
                mode if mode.is_aead() => (f.gcry_cipher_setiv)(self.handle, iv, NONCE),
                _ => (f.gcry_cipher_setiv)(self.handle, iv, 16),
            }
        };
        error == 0
    }

    #[inline]
    fn crypt(&self, input: &[u8], output: &mut [u8]) -> bool {
        let n = input.len();
        let (to, from) = (output[..n].as_mut_ptr(), input.as_ptr());
        // SAFETY: both have n bytes.
        let error = unsafe {
            match self.encrypt {
                true => (self.f.gcry_cipher_encrypt)(self.handle, to, n, from, n),
                false => (self.f.gcry_cipher_decrypt)(self.handle, to, n, from, n),
            }
        };
        error == 0
    }

    /// Seals or opens a whole message. CCM has to know its lengths first.
    #[inline]
    fn message(&self, aad: &Aad, n: usize, input: &[u8], output: &mut [u8]) -> bool {
        let (f, handle) = (&self.f, self.handle);
        let lengths = [n as u64, aad.len() as u64, TAG as u64];
        let (list, size) = (lengths.as_ptr().cast_mut().cast(), size_of_val(&lengths));
        // SAFETY: these are the lengths of the data and of the list.
        let ready = || unsafe {
            let ccm = self.mode == Mode::Ccm;
            (!ccm || (f.gcry_cipher_ctl)(handle, GCRYCTL_SET_CCM_LENGTHS, list, size) == 0)
                && (f.gcry_cipher_authenticate)(handle, aad.pointer(), aad.len()) == 0
        };
        if !self.set_iv() || !ready() || !self.crypt(&input[..n], output) {
            return false;
        }
        // SAFETY: both have the tag's bytes.
        let error = unsafe {
            match self.encrypt {
                true => (f.gcry_cipher_gettag)(handle, output[n..n + TAG].as_mut_ptr(), TAG),
                false => (f.gcry_cipher_checktag)(handle, input[n..n + TAG].as_ptr(), TAG),
            }
        };
        error == 0
    }
}

impl Drop for Cipher {
    fn drop(&mut self) {
        // SAFETY: NULL, or what came from gcry_cipher_open(), closed once.
        unsafe { (self.f.gcry_cipher_close)(self.handle) }
    }
}

/// gcry_mac_hd_t with its key.
struct Mac {
    f: Functions,
    handle: Handle,
}

fn mac(f: Functions, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
    let mut mac = Mac {
        f,
        handle: null_mut(),
    };
    let key = &inputs.key;
    // SAFETY: the handle is written if it returns 0; the key has the length that is given.
    let done = unsafe {
        (f.gcry_mac_open)(&mut mac.handle, GCRY_MAC_CMAC_AES, 0, null_mut()) == 0
            && (f.gcry_mac_setkey)(mac.handle, key.as_ptr(), key.len()) == 0
    };
    if !done {
        return Err(Error::failure("libgcrypt's CMAC takes no key"));
    }
    Ok(whole(move |input, output| {
        let (mac, input, tag) = (&mac, &input[..bytes], &mut output[..TAG]);
        let mut len = TAG;
        // SAFETY: the tag has room for 16 bytes.
        let done = unsafe {
            (f.gcry_mac_ctl)(mac.handle, GCRYCTL_RESET, null_mut(), 0) == 0
                && (f.gcry_mac_write)(mac.handle, input.as_ptr(), bytes) == 0
                && (f.gcry_mac_read)(mac.handle, tag.as_mut_ptr(), &mut len) == 0
        };
        assert!(done && len == TAG, "libgcrypt does not sign");
    }))
}

impl Drop for Mac {
    fn drop(&mut self) {
        // SAFETY: NULL, or what came from gcry_mac_open(), closed once.
        unsafe { (self.f.gcry_mac_close)(self.handle) }
    }
}
