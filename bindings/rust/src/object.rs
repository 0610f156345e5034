// SPDX-License-Identifier: BSD-2-Clause
//! Storage for the core's objects.

use crate::raw;
use core::cell::UnsafeCell;
use core::mem::{size_of, MaybeUninit};
use core::ptr;

/// A key or message object, cleansed when dropped. It is in a cell, because the core adds powers of
/// H to a GCM key in calls that share it. Its alignment to cache lines is for these powers.
#[repr(align(64))]
pub(crate) struct Object<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the core's objects are bytes that belong to no thread.
unsafe impl<T> Send for Object<T> {}
// SAFETY: calls that share an object change it atomically ("Keys" in tenrounds.h).
unsafe impl<T> Sync for Object<T> {}

impl<T> Object<T> {
    /// An object that is not set.
    pub fn zeroed() -> Object<T> {
        Object(UnsafeCell::new(MaybeUninit::zeroed()))
    }

    /// Sets a key, whose length the caller knows to be right. With another length the object stays
    /// zero, and all its calls fail.
    pub fn new(set: raw::SetKey, key: &[u8]) -> Object<T> {
        let object = Object::zeroed();
        // SAFETY: the object has the size and alignment of the type that `set` takes, which the
        // build compares with C.
        let status = unsafe { set(object.0.get().cast(), ptr::null(), key.as_ptr(), key.len()) };
        debug_assert_eq!(status, raw::TR_OK);
        object
    }

    /// A copy.
    ///
    /// # Safety
    /// No call changes the object meanwhile.
    pub unsafe fn copy(&self) -> Object<T> {
        let copy = Object::zeroed();
        // SAFETY: both are objects of this type; the rest is the caller's.
        unsafe { ptr::copy_nonoverlapping(self.0.get(), copy.0.get(), 1) };
        copy
    }

    /// The object, for the core's functions of its type.
    pub fn as_ptr(&self) -> raw::Key {
        self.0.get().cast()
    }

    /// The object, for functions that change it.
    pub fn as_mut_ptr(&mut self) -> *mut T {
        self.0.get_mut().as_mut_ptr()
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        // SAFETY: the object has this size.
        unsafe { raw::tr_cleanse(self.0.get().cast(), size_of::<T>()) }
    }
}
