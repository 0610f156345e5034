// SPDX-License-Identifier: BSD-2-Clause
//! The caller's buffers. They stay pointers: input and output may be the same memory, which Rust's
//! slices do not allow.

use crate::rv::{ensure, fail, Error, Result};
use cryptoki_sys::*;
use zeroize::Zeroizing;

/// Input of a call.
#[derive(Clone, Copy)]
pub struct Input {
    data: *const u8,
    len: usize,
}

impl Input {
    pub const EMPTY: Input = Input {
        data: std::ptr::NonNull::dangling().as_ptr(),
        len: 0,
    };

    /// # Safety
    /// A pointer that is not NULL is valid for len bytes until the call returns.
    pub unsafe fn new(data: *const u8, len: CK_ULONG) -> Result<Input> {
        let len = usize::try_from(len).map_err(|_| Error(CKR_ARGUMENTS_BAD))?;
        ensure(isize::try_from(len).is_ok(), CKR_ARGUMENTS_BAD)?;
        match (data.is_null(), len) {
            (true, 0) => Ok(Input::EMPTY),
            (true, _) => fail(CKR_ARGUMENTS_BAD),
            (false, _) => Ok(Input { data, len }),
        }
    }

    pub fn of(bytes: &[u8]) -> Input {
        Input {
            data: bytes.as_ptr(),
            len: bytes.len(),
        }
    }

    pub fn len(self) -> usize {
        self.len
    }

    pub fn as_ptr(self) -> *const u8 {
        self.data
    }

    /// The bytes, for calls that do not write at the same time.
    ///
    /// # Safety
    /// Nobody writes to the memory while the slice lives.
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        // SAFETY: new()'s caller.
        unsafe { std::slice::from_raw_parts(self.data, self.len) }
    }

    /// A copy, for output that begins inside the input.
    pub fn copied(self) -> Result<Zeroizing<Vec<u8>>> {
        // SAFETY: new()'s caller; nothing is written while this copies.
        copy_of(unsafe { self.bytes() }).map(Zeroizing::new)
    }
}

/// Where a call writes its result: a pointer, NULL to ask for the length, and the length.
pub struct Output<'a> {
    data: *mut u8,
    len: &'a mut CK_ULONG,
}

/// Input and output of a call, or what is wrong with its pointers.
pub type Buffers<'a> = Result<(Input, Output<'a>)>;

/// # Safety
/// As for Input::new() and Output::new().
pub unsafe fn buffers<'a>(
    data: *const u8,
    len: CK_ULONG,
    out: *mut u8,
    out_len: *mut CK_ULONG,
) -> Buffers<'a> {
    // SAFETY: the caller's.
    unsafe { Ok((Input::new(data, len)?, Output::new(out, out_len)?)) }
}

impl<'a> Output<'a> {
    /// # Safety
    /// The pointers are NULL or valid: the data for *len bytes.
    pub unsafe fn new(data: *mut u8, len: *mut CK_ULONG) -> Result<Output<'a>> {
        // SAFETY: the caller's.
        match unsafe { len.as_mut() } {
            Some(len) => Ok(Output { data, len }),
            None => fail(CKR_ARGUMENTS_BAD),
        }
    }

    /// Whether the caller only asks for the length.
    pub fn is_query(&self) -> bool {
        self.data.is_null()
    }

    /// The bytes that fit.
    pub fn room(&self) -> usize {
        usize::try_from(*self.len).unwrap_or(usize::MAX)
    }

    /// Sets the length to `need`, and returns where so many bytes go; None: the caller asks only
    /// for the length. If they do not fit, the caller learns the length by CKR_BUFFER_TOO_SMALL
    /// (PKCS#11 section 5.2).
    pub fn need(&mut self, need: usize) -> Result<Option<*mut u8>> {
        let room = self.room();
        *self.len = need as CK_ULONG;
        match (self.data.is_null(), need > room) {
            (true, _) => Ok(None),
            (false, true) => fail(CKR_BUFFER_TOO_SMALL),
            (false, false) => Ok(Some(self.data)),
        }
    }

    /// The number of bytes that were written, if it is less than what need() reserved.
    pub fn set_len(&mut self, len: usize) {
        *self.len = len as CK_ULONG;
    }

    /// Writes bytes that do not depend on where they go. Returns false for a query.
    pub fn put(&mut self, bytes: &[u8]) -> Result<bool> {
        match self.need(bytes.len())? {
            None => Ok(false),
            Some(to) => {
                // SAFETY: new()'s caller, and they fit. The source is our own memory.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
                Ok(true)
            }
        }
    }
}

/// A vector with room for some bytes. What C asks for may be more than there is, and Rust's own
/// allocations would then end the process.
pub fn with_room(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| Error(CKR_HOST_MEMORY))?;
    Ok(bytes)
}

/// A copy of bytes of the caller.
pub fn copy_of(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = with_room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// So many zeros, for a secret to be written there.
pub fn zeros(len: usize) -> Result<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(with_room(len)?);
    bytes.resize(len, 0);
    Ok(bytes)
}

/// Bytes of a parameter: an IV or AAD. Short ones need no allocation.
pub struct Bytes {
    short: [u8; Bytes::SHORT],
    len: usize,
    long: Option<Box<[u8]>>,
}

impl Bytes {
    const SHORT: usize = 32;
    /// An IV's usual length (SP 800-38D section 5.2.1.1 recommends it).
    const USUAL: usize = 12;

    pub const EMPTY: Bytes = Bytes {
        short: [0; Bytes::SHORT],
        len: 0,
        long: None,
    };

    /// Copies bytes to where they stay. A processor waits when it loads what it has just stored in
    /// pieces of another size, so they are not moved again.
    #[inline]
    pub fn set(&mut self, bytes: &[u8]) -> Result<()> {
        self.long = None;
        if bytes.len() > Bytes::SHORT {
            self.long = Some(copy_of(bytes)?.into());
        } else if let Ok(usual) = <[u8; Bytes::USUAL]>::try_from(bytes) {
            self.short[..Bytes::USUAL].copy_from_slice(&usual);
        } else {
            self.short[..bytes.len()].copy_from_slice(bytes);
        }
        self.len = bytes.len();
        Ok(())
    }

    /// Copies a block, which block() returns.
    #[inline]
    pub fn set_block(&mut self, block: &[u8; 16]) {
        *self.short.first_chunk_mut().expect("room for a block") = *block;
        (self.len, self.long) = (block.len(), None);
    }

    #[inline]
    pub fn block(&self) -> &[u8; 16] {
        self.short.first_chunk().expect("room for a block")
    }

    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        match &self.long {
            None => &self.short[..self.len.min(Bytes::SHORT)],
            Some(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_any_length() {
        let bytes: Vec<u8> = (1..=100).collect();
        let mut kept = Bytes::EMPTY;
        assert!(kept.as_slice().is_empty());
        for len in [0, 1, 11, 12, 13, 16, 31, 32, 33, 100, 32, 0] {
            kept.set(&bytes[..len]).unwrap();
            assert_eq!(kept.as_slice(), &bytes[..len]);
            // Short ones stay in place.
            assert_eq!(kept.long.is_some(), len > 32, "{len}");
        }
        kept.set(&bytes).unwrap();
        kept.set_block(&[9; 16]);
        assert_eq!((kept.as_slice(), kept.block()), (&[9; 16][..], &[9; 16]));
    }

    #[test]
    fn inputs() {
        let bytes = [1, 2, 3];
        // SAFETY: NULL, or valid for its length; what is longer is refused.
        let new = |data: *const u8, len| unsafe { Input::new(data, len) };
        let pointer = bytes.as_ptr();
        let len = |input: Result<Input>| input.map(Input::len).map_err(|error| error.0);
        assert_eq!(len(new(pointer, 3)), Ok(3));
        assert_eq!(len(new(pointer, 0)), Ok(0));
        assert_eq!(len(new(std::ptr::null(), 0)), Ok(0));
        assert_eq!(len(new(std::ptr::null(), 1)), Err(CKR_ARGUMENTS_BAD));
        let most = isize::MAX as CK_ULONG;
        assert_eq!(len(new(pointer, most)), Ok(most as usize));
        assert_eq!(len(new(pointer, most + 1)), Err(CKR_ARGUMENTS_BAD));
        assert_eq!((Input::EMPTY.len(), Input::of(&bytes).len()), (0, 3));
        assert_eq!(Input::of(&bytes).copied().unwrap()[..], bytes);
    }

    #[test]
    fn outputs_tell_their_length() {
        let mut memory = [0u8; 4];
        let data = memory.as_mut_ptr();
        // SAFETY: NULL, or valid for its length.
        let with = |data: *mut u8, mut len: CK_ULONG, bytes: &[u8]| unsafe {
            let mut out = Output::new(data, &mut len).unwrap();
            let put = out.put(bytes).map_err(|error| error.0);
            (put, len)
        };
        let nowhere = std::ptr::null_mut();
        assert_eq!(with(data, 4, &[1, 2, 3]), (Ok(true), 3));
        assert_eq!(with(data, 3, &[1, 2, 3]), (Ok(true), 3));
        let small = Err(CKR_BUFFER_TOO_SMALL);
        assert_eq!(with(data, 2, &[1, 2, 3]), (small, 3));
        assert_eq!(with(nowhere, 0, &[1, 2, 3]), (Ok(false), 3));
        assert_eq!(with(nowhere, 9, &[]), (Ok(false), 0));
        assert_eq!(memory, [1, 2, 3, 0]);
        // SAFETY: NULL is no length.
        let none = unsafe { Output::new(data, std::ptr::null_mut()) };
        assert!(none.is_err());
        assert_eq!(zeros(3).unwrap()[..], [0; 3]);
        assert!(with_room(isize::MAX as usize).is_err());
        assert!(with_room(10).unwrap().capacity() >= 10);
    }
}
