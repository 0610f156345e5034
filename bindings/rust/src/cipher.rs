// SPDX-License-Identifier: BSD-2-Clause
//! CTR and CBC.

use crate::object::Object;
use crate::raw;
use crate::{check, Error, Result};
use core::ffi::c_uint;

/// An expanded AES key of `KEY` bytes (16, 24 or 32), for [`Ctr`], [`CbcEncryptor`],
/// [`CbcDecryptor`] and key wrap.
pub struct Aes<const KEY: usize>(pub(crate) Object<raw::tr_aes_key>);

impl<const KEY: usize> Clone for Aes<KEY> {
    fn clone(&self) -> Self {
        // SAFETY: no call changes the key.
        Aes(unsafe { self.0.copy() })
    }
}

impl<const KEY: usize> Aes<KEY> {
    /// Expands a key.
    pub fn with_key(key: &[u8; KEY]) -> Self {
        Self::expand(key)
    }

    /// Expands a key of KEY bytes.
    pub(crate) fn expand(key: &[u8]) -> Self {
        const {
            assert!(
                matches!(KEY, 16 | 24 | 32),
                "AES takes no keys of KEY bytes"
            )
        }
        Aes(Object::new(raw::tr_aes_set_key(), key))
    }
}

/// An [`Aes`], or a reference to one.
#[doc(hidden)]
pub trait AesKey: sealed::Sealed {
    fn as_ptr(&self) -> raw::Key;
}

mod sealed {
    pub trait Sealed {}
    impl<const KEY: usize> Sealed for super::Aes<KEY> {}
    impl<T: Sealed> Sealed for &T {}
}

impl<const KEY: usize> AesKey for Aes<KEY> {
    fn as_ptr(&self) -> raw::Key {
        self.0.as_ptr()
    }
}

impl<T: AesKey> AesKey for &T {
    fn as_ptr(&self) -> raw::Key {
        T::as_ptr(self)
    }
}

/// A message of CTR (NIST SP 800-38A section 6.5). The counter is a big-endian number of 128 bits,
/// which wraps. `C` is an [`Aes`], or a reference to one.
///
/// ```
/// use tenrounds::{Aes, Ctr};
///
/// let key = Aes::with_key(&[7; 16]);
/// let counter = [0; 16]; // never twice under one key, nor any that a message reaches
/// let mut data = *b"attack at dawn";
/// Ctr::start(&key, &counter).apply(&mut data);
/// Ctr::start(&key, &counter).apply(&mut data);
/// assert_eq!(&data, b"attack at dawn");
/// ```
#[derive(Clone)]
pub struct Ctr<C: AesKey> {
    key: C,
    #[cfg_attr(not(feature = "cipher"), allow(dead_code))] // where a position counts from
    first: [u8; 16],
    counter: [u8; 16],
    keystream: [u8; 16],
    used: c_uint,
}

impl<C: AesKey> Ctr<C> {
    /// Starts a message at a counter block.
    pub fn start(key: C, counter: &[u8; 16]) -> Self {
        Ctr {
            key,
            first: *counter,
            counter: *counter,
            keystream: [0; 16],
            used: 0,
        }
    }

    /// Encrypts or decrypts the next bytes of the message.
    #[inline]
    pub fn apply(&mut self, data: &mut [u8]) {
        let (out, len) = (data.as_mut_ptr(), data.len());
        // SAFETY: the data are a slice, encrypted in place.
        unsafe { self.run(out, out, len) }
    }

    /// # Safety
    /// Output and input are valid for the length, and the same or disjoint.
    #[inline]
    unsafe fn run(&mut self, out: *mut u8, input: *const u8, len: usize) {
        let (counter, keystream) = (self.counter.as_mut_ptr(), self.keystream.as_mut_ptr());
        let (key, used) = (self.key.as_ptr(), &mut self.used);
        // SAFETY: the key is set; the rest is the caller's.
        let status = unsafe { raw::tr_ctr(key, counter, keystream, used, out, input, len) };
        debug_assert_eq!(status, raw::TR_OK);
    }
}

impl<C: AesKey> Drop for Ctr<C> {
    fn drop(&mut self) {
        // SAFETY: the keystream has 16 bytes.
        unsafe { raw::tr_cleanse(self.keystream.as_mut_ptr().cast(), 16) }
    }
}

// A CBC message in one direction.
macro_rules! cbc {
    ($name:ident, $method:ident, $call:ident, $does:literal) => {
        /// A message of CBC (NIST SP 800-38A section 6.2), which this
        #[doc = concat!($does, ".")]
        /// `C` is an [`Aes`], or a reference to one. CBC does not notice forgeries.
        #[derive(Clone)]
        pub struct $name<C: AesKey> {
            key: C,
            iv: [u8; 16],
        }

        impl<C: AesKey> $name<C> {
            /// Starts a message.
            pub fn start(key: C, iv: &[u8; 16]) -> Self {
                $name { key, iv: *iv }
            }

            #[doc = concat!("Processes the next blocks of the message: ", $does, " them.")]
            ///
            /// # Errors
            /// The length is not a multiple of 16; `data` is unchanged.
            #[inline]
            pub fn $method(&mut self, data: &mut [u8]) -> Result<()> {
                let (out, len) = (data.as_mut_ptr(), data.len());
                // SAFETY: the data are a slice, processed in place.
                unsafe { self.run(out, out, len) }
            }

            /// # Safety
            /// Output and input are valid for the length, and the same or disjoint.
            #[inline]
            unsafe fn run(&mut self, out: *mut u8, input: *const u8, len: usize) -> Result<()> {
                let (key, iv) = (self.key.as_ptr(), self.iv.as_mut_ptr());
                // SAFETY: the key is set; the rest is the caller's.
                check(unsafe { raw::$call()(key, iv, out, input, len) })
            }
        }
    };
}

cbc!(CbcEncryptor, encrypt, tr_cbc_encrypt, "encrypts");
cbc!(CbcDecryptor, decrypt, tr_cbc_decrypt, "decrypts");

/// Key wrap (NIST SP 800-38F). The padded form takes keys of any length.
impl<const KEY: usize> Aes<KEY> {
    /// Wraps `key` (KW, RFC 3394) to `out`.
    ///
    /// # Errors
    /// `key` has less than 16 bytes, or no multiple of 8; `out` is not 8 bytes longer.
    pub fn wrap_key(&self, key: &[u8], out: &mut [u8]) -> Result<()> {
        same(out.len(), key.len().checked_add(8))?;
        self.wrap(raw::tr_kw_wrap(), key, out)
    }

    /// Unwraps a key (KW, RFC 3394) to `out`.
    ///
    /// # Errors
    /// `wrapped` was not wrapped under this key; `out` holds zeros. Or `wrapped` has less than 24
    /// bytes, or no multiple of 8; or `out` is not 8 bytes shorter.
    pub fn unwrap_key(&self, wrapped: &[u8], out: &mut [u8]) -> Result<()> {
        same(out.len(), wrapped.len().checked_sub(8))?;
        self.wrap(raw::tr_kw_unwrap(), wrapped, out)
    }

    /// Wraps `key` (KWP, RFC 5649) to `out`.
    ///
    /// # Errors
    /// `key` is empty, or `out` has not its length, rounded up to a multiple of 8, plus 8.
    pub fn wrap_key_padded(&self, key: &[u8], out: &mut [u8]) -> Result<()> {
        same(
            out.len(),
            key.len()
                .checked_next_multiple_of(8)
                .and_then(|n| n.checked_add(8)),
        )?;
        self.wrap(raw::tr_kwp_wrap(), key, out)
    }

    /// Unwraps a key (KWP, RFC 5649) to `out`, and returns the key's length.
    ///
    /// # Errors
    /// As of [`Aes::unwrap_key`], but the shortest `wrapped` has 16 bytes.
    pub fn unwrap_key_padded(&self, wrapped: &[u8], out: &mut [u8]) -> Result<usize> {
        same(out.len(), wrapped.len().checked_sub(8))?;
        let mut written = 0;
        let (key, icv, input) = (self.0.as_ptr(), core::ptr::null(), wrapped.as_ptr());
        // SAFETY: out has the length that the core asks for.
        check(unsafe {
            raw::tr_kwp_unwrap(
                key,
                0,
                icv,
                out.as_mut_ptr(),
                &mut written,
                input,
                wrapped.len(),
            )
        })?;
        Ok(written)
    }

    fn wrap(&self, call: raw::Wrapping, input: &[u8], out: &mut [u8]) -> Result<()> {
        let (key, icv) = (self.0.as_ptr(), core::ptr::null());
        // SAFETY: the callers checked the length of out.
        check(unsafe { call(key, 0, icv, out.as_mut_ptr(), input.as_ptr(), input.len()) })
    }
}

fn same(len: usize, wanted: Option<usize>) -> Result<()> {
    if wanted == Some(len) {
        Ok(())
    } else {
        Err(Error)
    }
}

#[cfg(feature = "cipher")]
mod traits {
    use super::*;
    use ::cipher::array::AssocArraySize;
    use ::cipher::common::{InnerUser, ParBlocks, ParBlocksSizeUser};
    use ::cipher::consts::{U16, U64};
    use ::cipher::inout::{InOut, InOutBuf, NotEqualError};
    use ::cipher::*;

    impl<const KEY: usize> KeySizeUser for Aes<KEY>
    where
        [u8; KEY]: AssocArraySize,
    {
        type KeySize = <[u8; KEY] as AssocArraySize>::Size;
    }

    impl<const KEY: usize> KeyInit for Aes<KEY>
    where
        [u8; KEY]: AssocArraySize,
    {
        fn new(key: &Key<Self>) -> Self {
            Self::expand(key)
        }
    }

    macro_rules! started {
        ($($name:ident)*) => {$(
            impl<C: AesKey> InnerUser for $name<C> {
                type Inner = C;
            }
            impl<C: AesKey> IvSizeUser for $name<C> {
                type IvSize = U16;
            }
            impl<C: AesKey> InnerIvInit for $name<C> {
                fn inner_iv_init(key: C, iv: &Iv<Self>) -> Self {
                    $name::start(key, iv.into())
                }
            }
        )*};
    }
    started!(Ctr CbcEncryptor CbcDecryptor);

    impl<C: AesKey> StreamCipher for Ctr<C> {
        // A message of 2^128 blocks is not possible.
        fn check_remaining(&self, _: usize) -> core::result::Result<(), StreamCipherError> {
            Ok(())
        }
        fn unchecked_apply_keystream_inout(&mut self, buf: InOutBuf<'_, '_, u8>) {
            let len = buf.len();
            let (input, out) = buf.into_raw();
            // SAFETY: a buffer's output is its input or disjoint.
            unsafe { self.run(out, input, len) }
        }
        fn unchecked_write_keystream(&mut self, buf: &mut [u8]) {
            buf.fill(0);
            self.apply(buf);
        }
    }

    impl<C: AesKey> StreamCipherSeek for Ctr<C> {
        fn try_current_pos<T: SeekNum>(&self) -> core::result::Result<T, OverflowError> {
            let next = u128::from_be_bytes(self.counter);
            let blocks = next.wrapping_sub(u128::from_be_bytes(self.first));
            // The trait counts 1 to 16 bytes of the last block.
            let used = if self.used == 0 { 16 } else { self.used as u8 };
            T::from_block_byte(blocks, used, 16)
        }
        fn try_seek<T: SeekNum>(&mut self, pos: T) -> core::result::Result<(), StreamCipherError> {
            let (block, used) = pos
                .into_block_byte::<u128>(16)
                .map_err(|_| StreamCipherError)?;
            let first = u128::from_be_bytes(self.first);
            self.counter = first.wrapping_add(block).to_be_bytes();
            self.used = 0;
            self.apply(&mut [0; 16][..usize::from(used)]);
            Ok(())
        }
    }

    macro_rules! block_sizes {
        ($([$($generics:tt)*] $name:ty;)*) => {$(
            impl<$($generics)*> BlockSizeUser for $name {
                type BlockSize = U16;
            }
            impl<$($generics)*> ParBlocksSizeUser for $name {
                type ParBlocksSize = U64;
            }
        )*};
    }
    block_sizes! {
        [const KEY: usize] Aes<KEY>;
        [C: AesKey] CbcEncryptor<C>;
        [C: AesKey] CbcDecryptor<C>;
    }

    impl<const KEY: usize> Aes<KEY> {
        /// # Safety
        /// Output and input are valid for the length, and the same or disjoint.
        unsafe fn run(&self, call: raw::Plain, out: *mut u8, input: *const u8, len: usize) {
            // SAFETY: the key is set; the rest is the caller's.
            let status = unsafe { call(self.0.as_ptr(), out, input, len) };
            debug_assert_eq!(status, raw::TR_OK);
        }
    }

    // A block cipher or block mode in one direction, by a method of the type and its arguments.
    // `self` is a parameter, because it may have to be mutable.
    macro_rules! blocks {
        ($self:ident [$($mutable:tt)?] [$($generics:tt)*] $name:ty: $run:ident($($call:expr,)?);
         $mode:ident, $with:ident, $closure:ident, $backend:ident, $one:ident, $par:ident,
         $tail:ident, $inout:ident, $blocks:ident, $b2b:ident) => {
            impl<$($generics)*> $backend for $name {
                fn $one(&$($mutable)? $self, block: InOut<'_, '_, Block<Self>>) {
                    let (input, out) = block.into_raw();
                    // SAFETY: as below, for one block.
                    let _ = unsafe { $self.$run($($call,)? out.cast(), input.cast(), 16) };
                }
                fn $par(&$($mutable)? $self, blocks: InOut<'_, '_, ParBlocks<Self>>) {
                    $self.$inout(blocks.into_buf());
                }
                fn $tail(&$($mutable)? $self, blocks: InOutBuf<'_, '_, Block<Self>>) {
                    $self.$inout(blocks);
                }
            }
            // The core takes all blocks at once. The backend is for callers with their own loop.
            impl<$($generics)*> $mode for $name {
                fn $with(&$($mutable)? $self, f: impl $closure<BlockSize = U16>) {
                    f.call($self);
                }
                fn $inout(&$($mutable)? $self, blocks: InOutBuf<'_, '_, Block<Self>>) {
                    let len = 16 * blocks.len();
                    let (input, out) = blocks.into_raw();
                    // SAFETY: a buffer's output is its input or disjoint; whole blocks cannot fail.
                    let _ = unsafe { $self.$run($($call,)? out.cast(), input.cast(), len) };
                }
                fn $blocks(&$($mutable)? $self, blocks: &mut [Block<Self>]) {
                    $self.$inout(blocks.into());
                }
                fn $b2b(
                    &$($mutable)? $self,
                    input: &[Block<Self>],
                    out: &mut [Block<Self>],
                ) -> core::result::Result<(), NotEqualError> {
                    $self.$inout(InOutBuf::new(input, out)?);
                    Ok(())
                }
            }
        };
    }
    blocks!(self [] [const KEY: usize] Aes<KEY>: run(raw::tr_ecb_encrypt(),); BlockCipherEncrypt,
        encrypt_with_backend, BlockCipherEncClosure, BlockCipherEncBackend, encrypt_block,
        encrypt_par_blocks, encrypt_tail_blocks, encrypt_blocks_inout, encrypt_blocks,
        encrypt_blocks_b2b);
    blocks!(self [] [const KEY: usize] Aes<KEY>: run(raw::tr_ecb_decrypt(),); BlockCipherDecrypt,
        decrypt_with_backend, BlockCipherDecClosure, BlockCipherDecBackend, decrypt_block,
        decrypt_par_blocks, decrypt_tail_blocks, decrypt_blocks_inout, decrypt_blocks,
        decrypt_blocks_b2b);
    blocks!(self [mut] [C: AesKey] CbcEncryptor<C>: run(); BlockModeEncrypt, encrypt_with_backend,
        BlockModeEncClosure, BlockModeEncBackend, encrypt_block, encrypt_par_blocks,
        encrypt_tail_blocks, encrypt_blocks_inout, encrypt_blocks, encrypt_blocks_b2b);
    blocks!(self [mut] [C: AesKey] CbcDecryptor<C>: run(); BlockModeDecrypt, decrypt_with_backend,
        BlockModeDecClosure, BlockModeDecBackend, decrypt_block, decrypt_par_blocks,
        decrypt_tail_blocks, decrypt_blocks_inout, decrypt_blocks, decrypt_blocks_b2b);
}
