// SPDX-License-Identifier: BSD-2-Clause
//! The objects that a token file stores, and who is logged in. What is in memory is what the file
//! had when it was last looked at: at C_OpenSession, C_FindObjectsInit, C_Login and every change.
//! Calls that encrypt look at no file.
//!
//! Locks are taken in this order: session, this state, object.

use crate::object::{Home, Object};
use crate::record;
use crate::rv::{ensure, fail, Error, Result};
use crate::session::Objects;
use cryptoki_sys::*;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tenrounds_sys::Backend;
use token::format::{Nonce, SERIAL_LEN};
use token::{Contents, Identity, MasterKey, Record, Role, Token, LABEL_LEN};

/// Who is logged in: all sessions of the slot share it.
pub enum Login {
    Nobody,
    SecurityOfficer(MasterKey),
    User(MasterKey),
}

/// What C_GetTokenInfo tells of a token.
#[derive(Clone)]
pub struct Summary {
    pub label: [u8; LABEL_LEN],
    pub serial: [u8; SERIAL_LEN],
    pub has_pin: bool,
    /// In a row: of the security officer, of the user.
    pub wrong_pins: [u32; 2],
}

pub struct Stored {
    pub file: Token,
    state: Mutex<State>,
}

pub struct State {
    pub login: Login,
    /// The version of the file that is in memory.
    seen: Option<Identity>,
    pub summary: Option<Summary>,
    /// The objects in memory, by their numbers in the file: version and handle.
    loaded: HashMap<u64, (Nonce, usize)>,
}

/// What Cryptoki says to an error of a token file. The file's name does not fit into a code:
/// 'tenrounds token list' and 'tenrounds doctor' tell it.
fn of_file(error: token::Error) -> Error {
    use token::Error::*;
    Error(match error {
        Io(_, _, error) => match error.raw_os_error() {
            Some(libc::EROFS | libc::EACCES | libc::EPERM) => CKR_TOKEN_WRITE_PROTECTED,
            Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG) => CKR_DEVICE_MEMORY,
            _ => CKR_DEVICE_ERROR,
        },
        Damaged(..) | Newer(..) | Exposed(..) | Missing(_) => CKR_TOKEN_NOT_RECOGNIZED,
        Locked(_) => CKR_DEVICE_ERROR,
        WrongPin(_) => CKR_PIN_INCORRECT,
        PinLength(_) => CKR_PIN_LEN_RANGE,
        NoPin => CKR_USER_PIN_NOT_INITIALIZED,
        Machine(_) => CKR_FUNCTION_FAILED,
        Full => CKR_DEVICE_MEMORY,
    })
}

fn retire(objects: &Objects, handle: usize) {
    if let Some(object) = objects.remove(handle) {
        object.retire();
    }
}

impl State {
    /// The master key of whoever is logged in.
    fn master(&self) -> Option<&MasterKey> {
        match &self.login {
            Login::Nobody => None,
            Login::SecurityOfficer(master) | Login::User(master) => Some(master),
        }
    }

    /// The user's master key: only the user changes objects.
    fn of_user(&self) -> Result<&MasterKey> {
        match &self.login {
            Login::User(master) => Ok(master),
            _ => fail(CKR_USER_NOT_LOGGED_IN),
        }
    }

    pub fn is_user(&self) -> bool {
        matches!(self.login, Login::User(_))
    }

    fn decode(&self, contents: &Contents, record: &Record) -> Result<Object> {
        let home = Home::Token(record.id, record.nonce);
        match record.is_private {
            false => record::decode(&record.attributes, home),
            true => {
                let opened = self.of_user()?.open(&contents.serial, record);
                record::decode(&opened.ok_or(Error(CKR_TOKEN_NOT_RECOGNIZED))?, home)
            }
        }
    }

    /// Brings the objects in memory to what the file has. If a record is damaged, nothing changes.
    fn take_over(
        &mut self,
        objects: &Objects,
        (identity, contents): (Identity, &Contents),
    ) -> Result<()> {
        let visible = || {
            let records = contents.records.iter();
            records.filter(|r| !r.is_private || self.is_user())
        };
        let is_known = |r: &Record| self.loaded.get(&r.id).is_some_and(|l| l.0 == r.nonce);
        let mut changed = Vec::new();
        for record in visible().filter(|r| !is_known(r)) {
            let object = Arc::new(self.decode(contents, record)?);
            changed.push((record.id, record.nonce, object));
        }
        let there: HashSet<u64> = visible().map(|r| r.id).collect();
        self.loaded.retain(|id, (_, handle)| {
            let stays = there.contains(id);
            if !stays {
                retire(objects, *handle);
            }
            stays
        });
        for (id, nonce, object) in changed {
            let place = self.loaded.get(&id).map(|(_, handle)| *handle);
            let handle = match place.and_then(|handle| Some((handle, objects.get(handle)?))) {
                Some((handle, mut place)) => {
                    place.retire();
                    *place = object;
                    handle
                }
                None => objects.insert(object).ok_or(Error(CKR_DEVICE_MEMORY))?,
            };
            self.loaded.insert(id, (nonce, handle));
        }
        self.seen = Some(identity);
        self.summary = Some(Summary {
            label: contents.label,
            serial: contents.serial,
            has_pin: contents.user.is_some(),
            wrong_pins: contents.wrong_pins,
        });
        Ok(())
    }

    /// Nobody is logged in, and nothing private is in memory.
    fn forget(&mut self, objects: &Objects) {
        self.login = Login::Nobody;
        let private = objects.select(|_, object| object.needs_login());
        for handle in private {
            retire(objects, handle);
        }
        self.loaded
            .retain(|_, (_, handle)| objects.get(*handle).is_some());
    }
}

impl Stored {
    pub fn new(path: PathBuf, backend: Backend) -> Stored {
        Stored {
            file: Token::new(path, backend),
            state: Mutex::new(State {
                login: Login::Nobody,
                seen: None,
                summary: None,
                loaded: HashMap::new(),
            }),
        }
    }

    pub fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the file, if it has changed.
    pub fn refresh(&self, objects: &Objects) -> Result<MutexGuard<'_, State>> {
        let mut state = self.lock();
        self.refresh_locked(&mut state, objects)?;
        Ok(state)
    }

    fn refresh_locked(&self, state: &mut State, objects: &Objects) -> Result<()> {
        let now = self.file.identity().map_err(of_file)?;
        if now.is_some() && now == state.seen {
            return Ok(());
        }
        let read = self.file.read();
        if !matches!(&read, Ok(Some(_))) {
            // The token is gone or damaged, and so is whatever was known of it.
            self.empty(state, objects);
        }
        let Some((identity, contents)) = read.map_err(of_file)? else {
            return Ok(());
        };
        let known = state.summary.as_ref().map(|s| s.serial);
        if known.is_some_and(|serial| serial != contents.serial) {
            self.empty(state, objects); // another token lies there now
        }
        if let Some(master) = state.master() {
            self.file.verify(&contents, master).map_err(of_file)?;
        }
        state.take_over(objects, (identity, &contents))
    }

    fn empty(&self, state: &mut State, objects: &Objects) {
        state.forget(objects);
        for (_, (_, handle)) in state.loaded.drain() {
            retire(objects, handle);
        }
        (state.seen, state.summary) = (None, None);
    }

    /// Forgets everything, as at C_Finalize.
    pub fn clear(&self, objects: &Objects) {
        self.empty(&mut self.lock(), objects);
    }

    /// C_InitToken.
    pub fn initialize(&self, objects: &Objects, pin: &[u8], label: &[u8; LABEL_LEN]) -> Result<()> {
        self.file.initialize(label, pin).map_err(of_file)?;
        self.refresh(objects).map(|_| ())
    }

    /// C_Login. The PIN is checked while others may use the token.
    pub fn login(&self, objects: &Objects, role: Role, pin: &[u8]) -> Result<()> {
        let is_free = |state: &State| match (&state.login, role) {
            (Login::Nobody, _) => Ok(()),
            (Login::User(_), Role::User) | (Login::SecurityOfficer(_), Role::SecurityOfficer) => {
                fail(CKR_USER_ALREADY_LOGGED_IN)
            }
            _ => fail(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        };
        is_free(&self.lock())?;
        let master = self.file.login(role, pin).map_err(of_file)?;
        let mut state = self.lock();
        is_free(&state)?;
        state.login = match role {
            Role::SecurityOfficer => Login::SecurityOfficer(master),
            Role::User => Login::User(master),
        };
        state.seen = None;
        let read = self.refresh_locked(&mut state, objects);
        if read.is_err() {
            state.forget(objects);
        }
        read
    }

    /// C_Logout, and what the end of the last session does.
    pub fn logout(&self, objects: &Objects) -> Result<()> {
        let mut state = self.lock();
        ensure(state.master().is_some(), CKR_USER_NOT_LOGGED_IN)?;
        state.forget(objects);
        Ok(())
    }

    /// C_InitPIN: the security officer gives the user a PIN.
    pub fn init_pin(&self, objects: &Objects, pin: &[u8]) -> Result<()> {
        let mut state = self.lock();
        let Login::SecurityOfficer(master) = &state.login else {
            return fail(CKR_USER_NOT_LOGGED_IN);
        };
        let set = self.file.set_pin(master, Role::User, pin);
        set.map_err(of_file)?;
        self.refresh_locked(&mut state, objects)
    }

    /// C_SetPIN: of the security officer if logged in, else of the user.
    pub fn set_pin(&self, objects: &Objects, old: &[u8], new: &[u8]) -> Result<()> {
        let role = match self.lock().login {
            Login::SecurityOfficer(_) => Role::SecurityOfficer,
            _ => Role::User,
        };
        let fits = token::PIN_LEN.contains(&new.len());
        ensure(fits, CKR_PIN_LEN_RANGE)?;
        let master = self.file.login(role, old).map_err(of_file)?;
        let set = self.file.set_pin(&master, role, new);
        set.map_err(of_file)?;
        self.refresh(objects).map(|_| ())
    }

    /// Stores a new object, and returns its handle.
    pub fn add(&self, objects: &Objects, object: &Object) -> Result<usize> {
        let mut state = self.lock();
        let (bytes, is_private) = form_of(object);
        let added = self.file.add(state.of_user()?, is_private, &bytes);
        let (id, identity, contents) = added.map_err(of_file)?;
        state.take_over(objects, (identity, &contents))?;
        let (_, handle) = state.loaded.get(&id).ok_or(Error(CKR_GENERAL_ERROR))?;
        Ok(*handle)
    }

    /// Puts a changed object in the place of what it was made from.
    pub fn replace(&self, objects: &Objects, version: (u64, Nonce), object: &Object) -> Result<()> {
        let mut state = self.lock();
        let (bytes, is_private) = form_of(object);
        let replaced = self
            .file
            .replace(state.of_user()?, version, is_private, &bytes);
        let (was_there, identity, contents) = replaced.map_err(of_file)?;
        state.take_over(objects, (identity, &contents))?;
        // Another process has changed or destroyed it in between: the caller looks again.
        ensure(was_there, CKR_FUNCTION_FAILED)
    }

    pub fn remove(&self, objects: &Objects, id: u64) -> Result<()> {
        let mut state = self.lock();
        let removed = self.file.remove(state.of_user()?, id);
        let (was_there, identity, contents) = removed.map_err(of_file)?;
        state.take_over(objects, (identity, &contents))?;
        ensure(was_there, CKR_OBJECT_HANDLE_INVALID)
    }
}

fn form_of(object: &Object) -> (zeroize::Zeroizing<Vec<u8>>, bool) {
    (record::encode(object), object.needs_login())
}
