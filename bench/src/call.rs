// SPDX-License-Identifier: BSD-2-Clause
//! An operation made of a closure, and memory for what a C library keeps in a structure that its
//! users allocate.

use crate::peer::{Operation, TAG};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::c_void;

/// A call, the state that it changes, and how that begins.
struct Call<M, S, F> {
    make: M,
    state: S,
    call: F,
}

impl<M: Fn() -> S, S, F: Fn(&mut S, &[u8], &mut [u8])> Operation for Call<M, S, F> {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        (self.call)(&mut self.state, input, output);
    }

    fn restart(&mut self) {
        self.state = (self.make)();
    }
}

pub fn operation<S: 'static>(
    make: impl Fn() -> S + 'static,
    call: impl Fn(&mut S, &[u8], &mut [u8]) + 'static,
) -> Box<dyn Operation> {
    let state = make();
    Box::new(Call { make, state, call })
}

/// Whole messages: nothing changes from call to call.
pub fn whole(call: impl Fn(&[u8], &mut [u8]) + 'static) -> Box<dyn Operation> {
    operation(|| (), move |(), input, output| call(input, output))
}

/// Output, data and tag of a message. The tag follows the output when sealing, and the data when
/// opening.
#[inline(always)]
pub fn with_tag(
    seals: bool,
    bytes: usize,
    input: &[u8],
    output: &mut [u8],
) -> (*mut u8, *const u8, *mut u8) {
    let tag = match seals {
        true => output[bytes..][..TAG].as_mut_ptr(),
        false => input[bytes..][..TAG].as_ptr().cast_mut(),
    };
    let (input, output) = (&input[..bytes], &mut output[..bytes]);
    (output.as_mut_ptr(), input.as_ptr(), tag)
}

/// Zeroed memory, aligned to 64 bytes, for C alone to read and write.
pub struct Memory {
    memory: *mut u8,
    layout: Layout,
}

impl Memory {
    pub fn new(bytes: usize) -> Memory {
        let layout = Layout::from_size_align(bytes, 64).expect("a small size");
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        if memory.is_null() {
            handle_alloc_error(layout);
        }
        Memory { memory, layout }
    }

    pub fn pointer(&self) -> *mut c_void {
        self.memory.cast()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it came from alloc_zeroed() with this layout.
        unsafe { dealloc(self.memory, self.layout) }
    }
}
