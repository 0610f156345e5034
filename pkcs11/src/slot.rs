// SPDX-License-Identifier: BSD-2-Clause
//! A slot: its objects, and the number of its sessions. The first slot has objects of sessions
//! alone: no PIN and no files. The others have a token file each.

use crate::attribute::{Flags, Template};
use crate::object::{Attributes, Home, Object};
use crate::objects::Objects;
use crate::rv::{ensure, fail, Error, Result};
use crate::session::Session;
use crate::stored::{Login, Stored};
use cryptoki_sys::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

pub struct Slot {
    pub objects: Objects,
    /// None: the slot of session objects.
    stored: Option<Stored>,
    sessions: AtomicUsize,
    /// The sessions that may write.
    writing: AtomicUsize,
}

impl Slot {
    pub fn new(stored: Option<Stored>) -> Slot {
        Slot {
            objects: Objects::new(),
            stored,
            sessions: AtomicUsize::new(0),
            writing: AtomicUsize::new(0),
        }
    }

    /// The token, if this slot has a file.
    pub fn stored(&self) -> Option<&Stored> {
        self.stored.as_ref()
    }

    /// The token, for calls that the slot of session objects refuses.
    pub fn token(&self, refusal: CK_RV) -> Result<&Stored> {
        self.stored.as_ref().ok_or(Error(refusal))
    }

    /// The numbers of sessions, and of those that may write.
    pub fn sessions(&self) -> (usize, usize) {
        let of = |count: &AtomicUsize| count.load(Ordering::Relaxed);
        (of(&self.sessions), of(&self.writing))
    }

    /// Looks whether another process has changed the token.
    pub fn refresh(&self) -> Result<()> {
        match &self.stored {
            Some(stored) => stored.refresh(&self.objects).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Whether a session may open.
    pub fn admit(&self, writes: bool) -> Result<()> {
        let Some(stored) = &self.stored else {
            return Ok(());
        };
        let state = stored.refresh(&self.objects)?;
        ensure(state.summary.is_some(), CKR_TOKEN_NOT_RECOGNIZED)?;
        let officer = matches!(state.login, Login::SecurityOfficer(_));
        ensure(writes || !officer, CKR_SESSION_READ_WRITE_SO_EXISTS)
    }

    pub fn count_opened(&self, writes: bool) {
        self.sessions.fetch_add(1, Ordering::Relaxed);
        self.writing.fetch_add(writes.into(), Ordering::Relaxed);
    }

    /// Ends what ends with a session: its objects, and with the last one the login (PKCS#11 section
    /// 5.6.2).
    pub fn close(&self, handle: CK_SESSION_HANDLE, session: &Session) {
        self.writing
            .fetch_sub(session.writes.into(), Ordering::Relaxed);
        if session.has_created {
            let its = |object: &Arc<Object>| object.home == Home::Session(handle);
            for object in self.objects.select(|_, object| its(object)) {
                self.objects.retire(object);
            }
        }
        let was_last = self.sessions.fetch_sub(1, Ordering::Relaxed) == 1;
        if let (true, Some(stored)) = (was_last, &self.stored) {
            // Nobody may have been logged in.
            let _ = stored.logout(&self.objects);
        }
    }

    /// Removes all objects, also those that a call that raced with C_Finalize has left. Only the
    /// profile is there again.
    pub fn clear(&self) -> Result<()> {
        if let Some(stored) = &self.stored {
            stored.clear(&self.objects);
        }
        for object in self.objects.select(|_, _| true) {
            self.objects.retire(object);
        }
        // A session that ended by a panic was not counted off.
        self.sessions.store(0, Ordering::Relaxed);
        self.writing.store(0, Ordering::Relaxed);
        let profile = self.objects.insert(Arc::new(Object::profile()?));
        profile.map(|_| ()).ok_or(Error(CKR_HOST_MEMORY))
    }

    pub fn object(&self, handle: CK_OBJECT_HANDLE) -> Result<Arc<Object>> {
        let object = self.objects.get(handle as usize);
        object
            .map(|o| o.clone())
            .ok_or(Error(CKR_OBJECT_HANDLE_INVALID))
    }

    /// Only the security officer vouches for a key by CKA_TRUSTED.
    fn check_trust(&self, object: &Object, was_trusted: bool) -> Result<()> {
        let is_officer = || {
            let stored = self.stored.as_ref();
            stored.is_some_and(|stored| matches!(stored.lock().login, Login::SecurityOfficer(_)))
        };
        let right = was_trusted || !object.has(Flags::TRUSTED) || is_officer();
        ensure(right, CKR_ATTRIBUTE_READ_ONLY)
    }

    /// Stores a new object. The caller has locked the session, so it cannot close before the object
    /// is there.
    pub fn add(&self, session: &mut Session, object: Object) -> Result<CK_OBJECT_HANDLE> {
        self.check_trust(&object, false)?;
        self.store(session, object)
    }

    fn store(&self, session: &mut Session, object: Object) -> Result<CK_OBJECT_HANDLE> {
        let (persists, private) = (object.has(Flags::TOKEN), object.has(Flags::PRIVATE));
        let Some(stored) = &self.stored else {
            ensure(!persists, CKR_TOKEN_WRITE_PROTECTED)?;
            return self.insert(session, object);
        };
        if persists {
            ensure(session.writes, CKR_SESSION_READ_ONLY)?;
            return Ok(stored.add(&self.objects, &object)? as _);
        }
        // The lock is held until the object is there, so that C_Logout finds it.
        let state = stored.lock();
        ensure(!private || state.is_user(), CKR_USER_NOT_LOGGED_IN)?;
        self.insert(session, object)
    }

    fn insert(&self, session: &mut Session, object: Object) -> Result<CK_OBJECT_HANDLE> {
        session.has_created = true;
        let handle = self.objects.insert(Arc::new(object));
        handle.map(|h| h as _).ok_or(Error(CKR_HOST_MEMORY))
    }

    /// C_CopyObject.
    pub fn copy(
        &self,
        (session, owner): (CK_SESSION_HANDLE, &mut Session),
        handle: CK_OBJECT_HANDLE,
        template: &Template<'_>,
    ) -> Result<CK_OBJECT_HANDLE> {
        let object = self.object(handle)?;
        ensure(object.has(Flags::COPYABLE), CKR_ACTION_PROHIBITED)?;
        let mut attributes: Attributes = object.attributes.clone();
        attributes.change(template, true)?;
        attributes.hide_stored_key(template);
        let home = Home::Session(session);
        let copy = Object::new(attributes, object.secret.clone(), home);
        self.check_trust(&copy, object.has(Flags::TRUSTED))?;
        self.store(owner, copy)
    }

    /// C_DestroyObject.
    pub fn destroy(&self, session: &Session, handle: CK_OBJECT_HANDLE) -> Result<()> {
        let object = self.object(handle)?;
        ensure(object.has(Flags::DESTROYABLE), CKR_ACTION_PROHIBITED)?;
        match (object.home, &self.stored) {
            (Home::Token(id, _), Some(stored)) => {
                ensure(session.writes, CKR_SESSION_READ_ONLY)?;
                stored.remove(&self.objects, id, &object)
            }
            _ => {
                self.objects.retire(handle as usize);
                Ok(())
            }
        }
    }

    /// C_SetAttributeValue: another object takes the place of this one.
    pub fn change(
        &self,
        session: &Session,
        handle: CK_OBJECT_HANDLE,
        template: &Template<'_>,
    ) -> Result<()> {
        let object = self.object(handle)?;
        ensure(object.has(Flags::MODIFIABLE), CKR_ACTION_PROHIBITED)?;
        let mut attributes = object.attributes.clone();
        attributes.change(template, false)?;
        let changed = Object::new(attributes, object.secret.clone(), object.home);
        self.check_trust(&changed, object.has(Flags::TRUSTED))?;
        match (object.home, &self.stored) {
            (Home::Token(id, version), Some(stored)) => {
                ensure(session.writes, CKR_SESSION_READ_ONLY)?;
                stored.replace(&self.objects, (id, version), &changed)
            }
            _ => self.exchange(handle, &object, changed),
        }
    }

    /// Puts a changed object into its place, unless another thread was faster.
    fn exchange(&self, handle: CK_OBJECT_HANDLE, old: &Arc<Object>, new: Object) -> Result<()> {
        let place = self.objects.get(handle as usize);
        let mut place = place.ok_or(Error(CKR_OBJECT_HANDLE_INVALID))?;
        if !Arc::ptr_eq(&place, old) {
            return fail(CKR_FUNCTION_FAILED);
        }
        self.objects.replace(&mut place, Arc::new(new));
        Ok(())
    }

    /// The handles of the objects that match a template.
    pub fn find(&self, template: &Template<'_>) -> Result<Vec<usize>> {
        self.refresh()?;
        let matches = |handle: usize, object: &Arc<Object>| object.matches(template, handle as _);
        let mut found = Vec::new();
        for handle in self.objects.select(matches) {
            let room = found.try_reserve(1);
            room.map_err(|_| Error(CKR_HOST_MEMORY))?;
            found.push(handle);
        }
        Ok(found)
    }
}
