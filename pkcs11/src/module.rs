// SPDX-License-Identifier: BSD-2-Clause
//! The state of the process: its sessions and slots. It exists between C_Initialize and C_Finalize.
//!
//! A child after fork() has no state until it calls C_Initialize itself (PKCS#11 section 2.2 of the
//! usage guide): locks that other threads of the parent held would stay locked for ever.

use crate::object::backend;
use crate::objects::set_settled;
use crate::rv::{ensure, fail, Error, Result};
use crate::session::Session;
use crate::slab::{Busy, Guard, Slab};
use crate::slot::Slot;
use crate::stored::Stored;
use cryptoki_sys::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

pub struct Module {
    sessions: Slab<Session>,
    /// Slot 0 has session objects alone. The others have token files.
    slots: Vec<Slot>,
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
    backend()?;
    let (tokens, _) = token::place::tokens();
    // Two threads may both register the handler, which does no harm.
    if !WATCHES_FORK.load(Ordering::Acquire) {
        // SAFETY: the handler only stores two pointers.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(forget_in_child)) };
        ensure(failed == 0, CKR_HOST_MEMORY)?;
        WATCHES_FORK.store(true, Ordering::Release);
    }
    let module = match spare(&tokens) {
        Some(module) => module,
        None => Box::into_raw(Box::new(Module::new(tokens)?)),
    };
    // What a call that raced with C_Finalize has left.
    // SAFETY: modules are never freed.
    unsafe { &*module }.close_all()?;
    let null = std::ptr::null_mut();
    let other = CURRENT.compare_exchange(null, module, Ordering::AcqRel, Ordering::Acquire);
    if other.is_err() {
        SPARE.store(module, Ordering::Release);
        return fail(CKR_CRYPTOKI_ALREADY_INITIALIZED);
    }
    Ok(())
}

/// The module of before C_Finalize, if the configuration still names the same tokens.
fn spare(tokens: &[PathBuf]) -> Option<*mut Module> {
    let module = SPARE.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: modules are never freed.
    let state = unsafe { module.as_ref() }?;
    let had = state.slots.iter().filter_map(Slot::stored);
    let same = had.map(|stored| stored.file.path()).eq(tokens);
    same.then_some(module)
}

/// C_Finalize.
pub fn finalize() -> Result<()> {
    let module = CURRENT.swap(std::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: modules are never freed.
    let state = unsafe { module.as_ref() }.ok_or(Error(CKR_CRYPTOKI_NOT_INITIALIZED))?;
    let closed = state.close_all();
    state.settle();
    SPARE.store(module, Ordering::Release);
    closed
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

fn no_session() -> Error {
    Error(CKR_SESSION_HANDLE_INVALID)
}

impl Module {
    fn new(tokens: Vec<PathBuf>) -> Result<Module> {
        let backend = backend()?;
        let stored = tokens.into_iter().map(|path| Stored::new(path, backend));
        Ok(Module {
            sessions: Slab::new(),
            slots: std::iter::once(None)
                .chain(stored.map(Some))
                .map(Slot::new)
                .collect(),
        })
    }

    /// See settle(). A message that uses a key lets go of it at its end. A session that is in a
    /// call of another thread is left to the end of that call, which settles, too.
    fn settle(&self) {
        for slot in &self.slots {
            for object in slot.objects.take_removed() {
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
                    slot.objects.put_back(object);
                }
            }
        }
    }

    pub fn slots(&self) -> Vec<CK_SLOT_ID> {
        (0..self.slots.len() as CK_SLOT_ID).collect()
    }

    pub fn slot(&self, id: CK_SLOT_ID) -> Result<&Slot> {
        let slot = usize::try_from(id).ok().and_then(|id| self.slots.get(id));
        slot.ok_or(Error(CKR_SLOT_ID_INVALID))
    }

    pub fn open(&self, id: CK_SLOT_ID, writes: bool) -> Result<CK_SESSION_HANDLE> {
        let slot = self.slot(id)?;
        slot.admit(writes)?;
        let handle = self.sessions.insert(Session::new(id as usize, writes));
        let handle = handle.ok_or(Error(CKR_HOST_MEMORY))?;
        slot.count_opened(writes);
        Ok(handle as CK_SESSION_HANDLE)
    }

    /// A session, locked.
    #[inline]
    pub fn locked(&self, handle: CK_SESSION_HANDLE) -> Result<Guard<'_, Session>> {
        self.sessions.get(handle as usize).ok_or_else(no_session)
    }

    /// The slot of a session.
    pub fn slot_of(&self, session: &Session) -> &Slot {
        &self.slots[session.slot]
    }

    /// A session, locked, and its slot.
    pub fn session(&self, handle: CK_SESSION_HANDLE) -> Result<(Guard<'_, Session>, &Slot)> {
        let session = self.locked(handle)?;
        let slot = self.slot_of(&session);
        Ok((session, slot))
    }

    pub fn close(&self, handle: CK_SESSION_HANDLE) -> Result<()> {
        let session = self.sessions.remove(handle as usize);
        let session = session.ok_or_else(no_session)?;
        self.slots[session.slot].close(handle, &session);
        Ok(())
    }

    /// C_CloseAllSessions.
    pub fn close_slot(&self, id: CK_SLOT_ID) -> Result<()> {
        self.slot(id)?;
        for session in self.sessions.select(|_, s| s.slot == id as usize) {
            // Another thread may have closed it.
            let _ = self.close(session as CK_SESSION_HANDLE);
        }
        Ok(())
    }

    fn close_all(&self) -> Result<()> {
        for id in self.slots() {
            let _ = self.close_slot(id);
        }
        self.slots.iter().try_for_each(Slot::clear)
    }
}
