// SPDX-License-Identifier: BSD-2-Clause
//! The state of the process: the sessions and objects of the one slot. It exists between
//! C_Initialize and C_Finalize.
//!
//! A child after fork() has no state until it calls C_Initialize itself (PKCS#11 section 2.2 of the
//! usage guide): locks that other threads of the parent held would stay locked for ever.

use crate::object::{backend, Object};
use crate::objects::{set_settled, Objects};
use crate::rv::{ensure, fail, Error, Result};
use crate::session::Session;
use crate::slab::{Busy, Guard, Slab};
use cryptoki_sys::*;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

/// The slot, whose token is always present.
pub const SLOT: CK_SLOT_ID = 0;

pub struct Module {
    sessions: Slab<Session>,
    pub objects: Objects,
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

/// The module, if it is initialised and a slot exists.
pub fn of_slot(id: CK_SLOT_ID) -> Result<&'static Module> {
    let module = current()?;
    ensure(id == SLOT, CKR_SLOT_ID_INVALID).map(|()| module)
}

/// C_Initialize.
pub fn initialize() -> Result<()> {
    static WATCHES_FORK: AtomicBool = AtomicBool::new(false);
    ensure(current().is_err(), CKR_CRYPTOKI_ALREADY_INITIALIZED)?;
    backend()?;
    // Two threads may both register the handler, which does no harm.
    if !WATCHES_FORK.load(Ordering::Acquire) {
        // SAFETY: the handler only stores two pointers.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
        ensure(failed == 0, CKR_HOST_MEMORY)?;
        WATCHES_FORK.store(true, Ordering::Release);
    }
    let null = std::ptr::null_mut();
    let module = match SPARE.swap(null, Ordering::AcqRel) {
        spare if spare.is_null() => Box::into_raw(Box::new(Module {
            sessions: Slab::new(),
            objects: Objects::new(),
        })),
        spare => spare,
    };
    // What a call that raced with C_Finalize has left.
    // SAFETY: modules are never freed.
    unsafe { &*module }.clear();
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
    state.clear();
    state.settle();
    SPARE.store(module, Ordering::Release);
    Ok(())
}

/// Tells the sessions that keep removed objects to let go of them, so that the keys are cleansed.
/// The caller has locked nothing.
#[cold]
pub fn settle() {
    set_settled();
    if let Ok(module) = current() {
        module.settle();
    }
}

impl Module {
    /// See settle(). A message that uses a key lets go of it at its end. A session that is in a
    /// call of another thread is left to the end of that call, which settles, too.
    fn settle(&self) {
        for object in self.objects.take_removed() {
            let mut busy = false;
            for handle in object.take_keepers() {
                match self.sessions.try_get(handle as usize) {
                    Ok(Some(mut session)) => session.let_go(&object),
                    Ok(None) => {}
                    Err(Busy) => {
                        object.keep(handle);
                        busy = true;
                    }
                }
            }
            if busy {
                self.objects.put_back(object);
            }
        }
    }

    /// C_OpenSession.
    pub fn open(&self, writes: bool) -> Result<CK_SESSION_HANDLE> {
        let handle = self.sessions.insert(Session::new(writes));
        handle.map(|h| h as _).ok_or(Error(CKR_HOST_MEMORY))
    }

    /// A session, locked.
    #[inline]
    pub fn session(&self, handle: CK_SESSION_HANDLE) -> Result<Guard<'_, Session>> {
        self.sessions
            .get(handle as usize)
            .ok_or(Error(CKR_SESSION_HANDLE_INVALID))
    }

    /// Stores a new object. The caller has locked its session, which so cannot close before the
    /// object is there.
    pub fn add(&self, session: &mut Session, object: Object) -> Result<CK_OBJECT_HANDLE> {
        session.has_created = true;
        self.objects.insert(object)
    }

    /// C_CloseSession.
    pub fn close(&self, handle: CK_SESSION_HANDLE) -> Result<()> {
        let session = self.sessions.remove(handle as usize);
        if session
            .ok_or(Error(CKR_SESSION_HANDLE_INVALID))?
            .has_created
        {
            self.objects.retire_all(|object| object.session == handle);
        }
        Ok(())
    }

    /// C_CloseAllSessions.
    pub fn close_all(&self) {
        for session in self.sessions.select(|_, _| true) {
            // Another thread may have closed it.
            let _ = self.close(session as CK_SESSION_HANDLE);
        }
    }

    /// Closes all sessions, and removes all objects, also those that a call that raced with
    /// C_Finalize has left.
    fn clear(&self) {
        self.close_all();
        self.objects.retire_all(|_| true);
    }
}
