// SPDX-License-Identifier: BSD-2-Clause
//! The state of the process: its sessions and objects. It exists between C_Initialize and
//! C_Finalize.
//!
//! A child after fork() has no state until it calls C_Initialize itself (PKCS#11 section 2.2 of the
//! usage guide): locks that other threads of the parent held would stay locked for ever.

use crate::attribute::{Flags, Template};
use crate::object::{Attributes, Object};
use crate::rv::{ensure, fail, Error, Result};
use crate::session::{Objects, Session};
use crate::slab::{Guard, Slab};
use cryptoki_sys::*;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::Arc;

/// The slot of session objects: no PIN and no files.
pub const SLOT: CK_SLOT_ID = 0;

pub struct Module {
    sessions: Slab<Session>,
    pub objects: Objects,
    /// The sessions that may write.
    writing: AtomicUsize,
}

/// NULL: not initialised.
static CURRENT: AtomicPtr<Module> = AtomicPtr::new(std::ptr::null_mut());
/// The state of before C_Finalize, for the next C_Initialize. It is never freed: a thread that
/// breaks the rules and is still in a call finds an empty module instead of freed memory.
static SPARE: AtomicPtr<Module> = AtomicPtr::new(std::ptr::null_mut());

extern "C" fn forget_in_child() {
    CURRENT.store(std::ptr::null_mut(), Ordering::Release);
    SPARE.store(std::ptr::null_mut(), Ordering::Release);
}

/// The module, if it is initialised.
pub fn current() -> Result<&'static Module> {
    let current = CURRENT.load(Ordering::Acquire);
    // SAFETY: modules are never freed.
    unsafe { current.as_ref() }.ok_or(Error(CKR_CRYPTOKI_NOT_INITIALIZED))
}

/// C_Initialize.
pub fn initialize() -> Result<()> {
    static WATCHES_FORK: AtomicBool = AtomicBool::new(false);
    ensure(current().is_err(), CKR_CRYPTOKI_ALREADY_INITIALIZED)?;
    crate::object::backend()?;
    // Two threads may both register the handler, which does no harm.
    if !WATCHES_FORK.load(Ordering::Acquire) {
        // SAFETY: the handler only stores two pointers.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
        ensure(failed == 0, CKR_HOST_MEMORY)?;
        WATCHES_FORK.store(true, Ordering::Release);
    }
    let mut module = SPARE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    if module.is_null() {
        module = Box::into_raw(Box::new(Module {
            sessions: Slab::new(),
            objects: Slab::new(),
            writing: AtomicUsize::new(0),
        }));
    }
    // What a call that raced with C_Finalize has left.
    // SAFETY: modules are never freed.
    unsafe { &*module }.close_all();
    let null = std::ptr::null_mut();
    let other = CURRENT.compare_exchange(null, module, Ordering::AcqRel, Ordering::Acquire);
    if other.is_err() {
        SPARE.store(module, Ordering::Release);
        return fail(CKR_CRYPTOKI_ALREADY_INITIALIZED);
    }
    Ok(())
}

/// C_Finalize.
pub fn finalize() -> Result<()> {
    let module = CURRENT.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: modules are never freed.
    let state = unsafe { module.as_ref() }.ok_or(Error(CKR_CRYPTOKI_NOT_INITIALIZED))?;
    state.close_all();
    SPARE.store(module, Ordering::Release);
    Ok(())
}

fn no_session() -> Error {
    Error(CKR_SESSION_HANDLE_INVALID)
}

impl Module {
    pub fn open(&self, writes: bool) -> Result<CK_SESSION_HANDLE> {
        let handle = self.sessions.insert(Session::new(writes));
        let handle = handle.ok_or(Error(CKR_SESSION_COUNT))?;
        self.writing.fetch_add(writes.into(), Ordering::Relaxed);
        Ok(handle as CK_SESSION_HANDLE)
    }

    pub fn session(&self, handle: CK_SESSION_HANDLE) -> Result<Guard<'_, Session>> {
        self.sessions.get(handle as usize).ok_or_else(no_session)
    }

    /// The numbers of sessions, and of those that may write.
    pub fn sessions(&self) -> (usize, usize) {
        (self.sessions.len(), self.writing.load(Ordering::Relaxed))
    }

    /// Closes a session and destroys its objects.
    pub fn close(&self, handle: CK_SESSION_HANDLE) -> Result<()> {
        let session = self.sessions.remove(handle as usize);
        let session = session.ok_or_else(no_session)?;
        self.writing
            .fetch_sub(session.writes.into(), Ordering::Relaxed);
        if session.has_created {
            for object in self.objects.select(|_, o| o.session == handle) {
                self.remove(object);
            }
        }
        Ok(())
    }

    pub fn close_all(&self) {
        for session in self.sessions.select(|_, _| true) {
            // Another thread may have closed it.
            let _ = self.close(session as CK_SESSION_HANDLE);
        }
        for object in self.objects.select(|_, _| true) {
            self.remove(object);
        }
    }

    fn remove(&self, handle: usize) {
        if let Some(object) = self.objects.remove(handle) {
            object.retire();
        }
    }

    pub fn object(&self, handle: CK_OBJECT_HANDLE) -> Result<Arc<Object>> {
        let object = self.objects.get(handle as usize);
        object
            .map(|o| o.clone())
            .ok_or(Error(CKR_OBJECT_HANDLE_INVALID))
    }

    /// Stores a new object of a session, which the caller has locked: so it cannot close before the
    /// object is there. This slot keeps nothing beyond its sessions.
    pub fn add(&self, session: &mut Session, object: Object) -> Result<CK_OBJECT_HANDLE> {
        ensure(!object.has(Flags::TOKEN), CKR_TOKEN_WRITE_PROTECTED)?;
        session.has_created = true;
        let handle = self.objects.insert(Arc::new(object));
        handle.map(|h| h as _).ok_or(Error(CKR_DEVICE_MEMORY))
    }

    /// The object that C_CopyObject makes.
    pub fn copy_of(
        &self,
        handle: CK_OBJECT_HANDLE,
        template: &Template<'_>,
        session: CK_SESSION_HANDLE,
    ) -> Result<Object> {
        let object = self.object(handle)?;
        ensure(object.has(Flags::COPYABLE), CKR_ACTION_PROHIBITED)?;
        let mut attributes: Attributes = object.attributes.clone();
        attributes.change(template, true)?;
        Ok(Object::new(attributes, object.secret.clone(), session))
    }

    /// C_DestroyObject.
    pub fn destroy(&self, handle: CK_OBJECT_HANDLE) -> Result<()> {
        let object = self.object(handle)?;
        ensure(object.has(Flags::DESTROYABLE), CKR_ACTION_PROHIBITED)?;
        self.remove(handle as usize);
        Ok(())
    }

    /// C_SetAttributeValue: another object takes the place of this one.
    pub fn change(&self, handle: CK_OBJECT_HANDLE, template: &Template<'_>) -> Result<()> {
        let place = self.objects.get(handle as usize);
        let mut place = place.ok_or(Error(CKR_OBJECT_HANDLE_INVALID))?;
        ensure(place.has(Flags::MODIFIABLE), CKR_ACTION_PROHIBITED)?;
        let mut attributes = place.attributes.clone();
        attributes.change(template, false)?;
        let changed = Object::new(attributes, place.secret.clone(), place.session);
        place.retire();
        *place = Arc::new(changed);
        Ok(())
    }

    /// The handles of the objects that match a template.
    pub fn find(&self, template: &Template<'_>) -> Vec<usize> {
        self.objects
            .select(|handle, object| object.matches(template, handle as CK_OBJECT_HANDLE))
    }
}
