// SPDX-License-Identifier: BSD-2-Clause
//! The objects by handle, and the calls that make, change and remove them.
//!
//! A session keeps the key of its last message for the next one, so that a message changes no
//! counter that threads share. An object that is removed is therefore told to the sessions that
//! keep it: each call ends by [`crate::module::settle`].

use crate::attribute::{Flags, Template};
use crate::lock::Lock;
use crate::object::Object;
use crate::rv::{ensure, Error, Result};
use crate::slab::Slab;
use cryptoki_sys::*;
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

    /// An object, or this code.
    pub fn get(&self, handle: CK_OBJECT_HANDLE, unknown: CK_RV) -> Result<Arc<Object>> {
        let object = self.by_handle.get(handle as usize);
        object.map(|o| o.clone()).ok_or(Error(unknown))
    }

    /// An object that an attribute of its own lets a call change, copy or destroy.
    fn to(&self, allowed: Flags, handle: CK_OBJECT_HANDLE) -> Result<Arc<Object>> {
        let object = self.get(handle, CKR_OBJECT_HANDLE_INVALID)?;
        ensure(object.has(allowed), CKR_ACTION_PROHIBITED).map(|()| object)
    }

    pub fn insert(&self, object: Object) -> Result<CK_OBJECT_HANDLE> {
        let handle = self.by_handle.insert(Arc::new(object));
        handle.map(|h| h as _).ok_or(Error(CKR_HOST_MEMORY))
    }

    /// A copy, for C_CopyObject to store.
    pub fn copy(
        &self,
        handle: CK_OBJECT_HANDLE,
        template: &Template<'_>,
        session: CK_SESSION_HANDLE,
    ) -> Result<Object> {
        let object = self.to(Flags::COPYABLE, handle)?;
        object.changed(template, true, session)
    }

    /// C_DestroyObject.
    pub fn destroy(&self, handle: CK_OBJECT_HANDLE) -> Result<()> {
        self.to(Flags::DESTROYABLE, handle)?;
        self.retire(handle as usize);
        Ok(())
    }

    /// C_SetAttributeValue: another object takes the place of this one, unless another thread was
    /// faster.
    pub fn change(&self, handle: CK_OBJECT_HANDLE, template: &Template<'_>) -> Result<()> {
        let object = self.to(Flags::MODIFIABLE, handle)?;
        let changed = Arc::new(object.changed(template, false, object.session)?);
        let place = self.by_handle.get(handle as usize);
        let mut place = place.ok_or(Error(CKR_OBJECT_HANDLE_INVALID))?;
        ensure(Arc::ptr_eq(&place, &object), CKR_FUNCTION_FAILED)?;
        self.retired(std::mem::replace(&mut place, changed));
        Ok(())
    }

    /// The handles of the objects that match a template.
    pub fn find(&self, template: &Template<'_>) -> Result<Vec<usize>> {
        let matches = |handle: usize, object: &Arc<Object>| object.matches(template, handle as _);
        let mut found = Vec::new();
        for handle in self.by_handle.select(matches) {
            found.try_reserve(1).map_err(|_| Error(CKR_HOST_MEMORY))?;
            found.push(handle);
        }
        Ok(found)
    }

    /// Removes the objects that a condition selects.
    pub fn retire_all(&self, condition: impl Fn(&Object) -> bool) {
        for handle in self.by_handle.select(|_, object| condition(object)) {
            self.retire(handle);
        }
    }

    /// Removes an object. Its handle is never valid again.
    fn retire(&self, handle: usize) {
        if let Some(object) = self.by_handle.remove(handle) {
            self.retired(object);
        }
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
