// SPDX-License-Identifier: BSD-2-Clause
//! The objects of a slot by handle.
//!
//! A session keeps the key of its last message for the next one, so that a message changes no
//! counter that threads share. An object that is removed is therefore told to the sessions that
//! keep it: each call ends by [`crate::module::settle`].

use crate::lock::Lock;
use crate::object::Object;
use crate::slab::Slab;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Whether a session may keep an object that was removed.
static UNSETTLED: AtomicBool = AtomicBool::new(false);

pub struct Objects {
    by_handle: Slab<Arc<Object>>,
    /// What was removed while sessions kept it.
    removed: Lock<Vec<Arc<Object>>>,
}

/// Whether settle() has something to do.
#[inline]
pub fn is_unsettled() -> bool {
    UNSETTLED.load(Ordering::Relaxed)
}

/// What is removed from now on makes is_unsettled() true again.
pub fn set_settled() {
    UNSETTLED.store(false, Ordering::SeqCst);
}

impl Objects {
    pub fn new() -> Objects {
        Objects {
            by_handle: Slab::new(),
            removed: Lock::new(Vec::new()),
        }
    }

    /// Removes an object. Its handle is never valid again.
    pub fn retire(&self, handle: usize) {
        if let Some(object) = self.by_handle.remove(handle) {
            self.retired(object);
        }
    }

    /// Puts a changed object into the place of another.
    pub fn replace(&self, place: &mut Arc<Object>, object: Arc<Object>) {
        self.retired(std::mem::replace(place, object));
    }

    fn retired(&self, object: Arc<Object>) {
        if object.retire() {
            self.put_back(object);
        }
    }

    /// For settle(): a session that keeps this object is busy. Without memory for that, the session
    /// keeps the key until its next message or its end.
    pub fn put_back(&self, object: Arc<Object>) {
        let mut removed = self.removed.lock();
        if removed.try_reserve(1).is_ok() {
            removed.push(object);
            UNSETTLED.store(true, Ordering::SeqCst);
        }
    }

    /// The objects that were removed while sessions kept them.
    pub fn take_removed(&self) -> Vec<Arc<Object>> {
        std::mem::take(&mut self.removed.lock())
    }
}

impl Deref for Objects {
    type Target = Slab<Arc<Object>>;
    fn deref(&self) -> &Slab<Arc<Object>> {
        &self.by_handle
    }
}
