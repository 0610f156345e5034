// SPDX-License-Identifier: BSD-2-Clause
//! The objects that a token file stores, and who is logged in. What is in memory is what the file
//! had when it was last looked at: at C_OpenSession, C_FindObjectsInit, C_Login and every change.
//! Calls that encrypt look at no file.
//!
//! Locks are taken in this order: session, this state, object.

use crate::attribute::Flags;
use crate::object::{Home, Object};
use crate::objects::Objects;
use crate::record;
use crate::rv::{ensure, fail, Error, Result};
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
        Locked(..) => CKR_DEVICE_ERROR,
        Changed(_) => CKR_FUNCTION_FAILED,
        WrongPin(_) => CKR_PIN_INCORRECT,
        PinLength(_) => CKR_PIN_LEN_RANGE,
        NoPin => CKR_USER_PIN_NOT_INITIALIZED,
        NoMemory => CKR_HOST_MEMORY,
        Machine(_) => CKR_FUNCTION_FAILED,
        Full => CKR_DEVICE_MEMORY,
    })
}

impl State {
    /// The master key of whoever is logged in.
    fn master(&self) -> Option<&MasterKey> {
        match &self.login {
            Login::Nobody => None,
            Login::SecurityOfficer(master) | Login::User(master) => Some(master),
        }
    }

    /// Whether the role that is logged in sees an object. The user sees every one, and the security
    /// officer those that are not private (PKCS#11 section 2.4 of the usage guide).
    fn shows(&self, object: &Object) -> bool {
        match &self.login {
            Login::Nobody => !object.needs_login(),
            Login::SecurityOfficer(_) => !object.has(Flags::PRIVATE),
            Login::User(_) => true,
        }
    }

    /// The master key for a change of an object.
    fn to_change(&self, object: &Object) -> Result<&MasterKey> {
        let master = self.master().filter(|_| self.shows(object));
        master.ok_or(Error(CKR_USER_NOT_LOGGED_IN))
    }

    /// Whether a role may log in.
    fn admits(&self, role: Role) -> Result<()> {
        match (&self.login, role) {
            (Login::Nobody, _) => Ok(()),
            (Login::User(_), Role::User) | (Login::SecurityOfficer(_), Role::SecurityOfficer) => {
                fail(CKR_USER_ALREADY_LOGGED_IN)
            }
            _ => fail(CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
        }
    }

    pub fn is_user(&self) -> bool {
        matches!(self.login, Login::User(_))
    }

    fn decode(&self, contents: &Contents, record: &Record) -> Result<Object> {
        let home = Home::Token(record.id, record.nonce);
        let damaged = Error(CKR_TOKEN_NOT_RECOGNIZED);
        let object = match record.is_private {
            false => record::decode(&record.attributes, home),
            true => {
                let master = self.master().ok_or(Error(CKR_USER_NOT_LOGGED_IN))?;
                let opened = master.open(&contents.serial, record);
                record::decode(&opened.ok_or(damaged)?, home)
            }
        }?;
        let agrees = object.has(Flags::TOKEN) && object.needs_login() == record.is_private;
        ensure(agrees, damaged.0)?;
        Ok(object)
    }

    /// Brings the objects in memory to what the file has. If a record is damaged, nothing changes.
    fn take_over(
        &mut self,
        objects: &Objects,
        (identity, contents): (Identity, &Contents),
    ) -> Result<()> {
        let mut there = HashSet::new();
        let mut changed = Vec::new();
        let sealed_too = self.master().is_some();
        for record in contents
            .records
            .iter()
            .filter(|r| !r.is_private || sealed_too)
        {
            let known = self.loaded.get(&record.id);
            if known.is_some_and(|known| known.0 == record.nonce) {
                there.insert(record.id);
                continue;
            }
            let object = self.decode(contents, record)?;
            if self.shows(&object) {
                there.insert(record.id);
                changed.push((record.id, record.nonce, Arc::new(object)));
            }
        }
        self.loaded.retain(|id, (_, handle)| {
            let stays = there.contains(id);
            if !stays {
                objects.retire(*handle);
            }
            stays
        });
        for (id, nonce, object) in changed {
            let place = self.loaded.get(&id).map(|(_, handle)| *handle);
            let handle = match place.and_then(|handle| Some((handle, objects.get(handle)?))) {
                Some((handle, mut place)) => {
                    objects.replace(&mut place, object);
                    handle
                }
                None => objects.insert(object).ok_or(Error(CKR_HOST_MEMORY))?,
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
            objects.retire(handle);
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
            objects.retire(handle);
        }
        (state.seen, state.summary) = (None, None);
    }

    /// Forgets everything, as at C_Finalize.
    pub fn clear(&self, objects: &Objects) {
        self.empty(&mut self.lock(), objects);
    }

    /// C_InitToken.
    pub fn initialize(&self, objects: &Objects, pin: &[u8], label: &[u8; LABEL_LEN]) -> Result<()> {
        let made = match self.file.identity().map_err(of_file)? {
            None => self.file.create(label, pin, None),
            Some(_) => self.file.recreate(label, pin, None),
        };
        made.map_err(of_file)?;
        self.refresh(objects).map(|_| ())
    }

    /// The first half of C_Login: checks the PIN, while others use the token. It may wait for half
    /// a minute, so the caller holds no lock.
    pub fn check_pin(&self, role: Role, pin: &[u8]) -> Result<MasterKey> {
        self.lock().admits(role)?;
        self.file.login(role, pin).map_err(of_file)
    }

    /// The second half of C_Login. The caller has locked its session, so it does not close before
    /// the login is there.
    pub fn login(&self, objects: &Objects, role: Role, master: MasterKey) -> Result<()> {
        let mut state = self.lock();
        state.admits(role)?;
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
        // CKR_USER_PIN_NOT_INITIALIZED is C_Login's alone (PKCS#11 2.40 section 5.1.6).
        let master = self.file.login(role, old).map_err(|error| match error {
            token::Error::NoPin => Error(CKR_PIN_INCORRECT),
            error => of_file(error),
        })?;
        let set = self.file.set_pin(&master, role, new);
        set.map_err(of_file)?;
        self.refresh(objects).map(|_| ())
    }

    /// Stores a new object, and returns its handle.
    pub fn add(&self, objects: &Objects, object: &Object) -> Result<usize> {
        let mut state = self.lock();
        let (bytes, is_private) = form_of(object);
        let added = self.file.add(state.to_change(object)?, is_private, &bytes);
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
            .replace(state.to_change(object)?, version, is_private, &bytes);
        let (was_there, identity, contents) = replaced.map_err(of_file)?;
        state.take_over(objects, (identity, &contents))?;
        // Another process has changed or destroyed it in between: the caller looks again.
        ensure(was_there, CKR_FUNCTION_FAILED)
    }

    pub fn remove(&self, objects: &Objects, id: u64, object: &Object) -> Result<()> {
        let mut state = self.lock();
        let removed = self.file.remove(state.to_change(object)?, id);
        let (was_there, identity, contents) = removed.map_err(of_file)?;
        state.take_over(objects, (identity, &contents))?;
        ensure(was_there, CKR_OBJECT_HANDLE_INVALID)
    }
}

fn form_of(object: &Object) -> (zeroize::Zeroizing<Vec<u8>>, bool) {
    (record::encode(object), object.needs_login())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute::Template;
    use crate::entry;
    use crate::object::backend;

    const PIN: &[u8] = b"1234";

    /// A folder of a test with a token, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("tenrounds-stored-{}-{name}", std::process::id());
            let folder = Folder(std::env::temp_dir().join(name));
            let file = Token::new(folder.token(), backend().unwrap());
            let made = file.create(&[b' '; LABEL_LEN], b"officer", Some(PIN));
            made.unwrap();
            folder
        }

        fn token(&self) -> PathBuf {
            self.0.join("token")
        }

        /// Replaces the token's file, as other processes do.
        fn write(&self, contents: &Contents) {
            let new = self.0.join("new");
            std::fs::write(&new, contents.encode().unwrap()).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            std::fs::set_permissions(&new, mode).unwrap();
            std::fs::rename(&new, self.token()).unwrap();
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn object(list: &[(CK_ATTRIBUTE_TYPE, &[u8])]) -> Object {
        let class = match list.len() {
            1 => CKO_DATA,
            _ => CKO_SECRET_KEY,
        };
        let (class, token) = (class.to_ne_bytes(), [CK_TRUE]);
        let common: [(CK_ATTRIBUTE_TYPE, &[u8]); 2] = [(CKA_CLASS, &class), (CKA_TOKEN, &token)];
        let list = [&common[..], list].concat();
        crate::keys::create(&Template::of(&list).unwrap(), 1).unwrap()
    }

    /// Records that are wrong under a right seal: all of a file is taken over, or nothing.
    #[test]
    #[allow(clippy::disallowed_macros)] // the seed
    fn a_file_is_taken_over_whole_or_not_at_all() {
        let seed = match environment::text("SEED") {
            Some(seed) => seed.parse().expect("SEED: a number"),
            None => fastrand::u64(..),
        };
        println!("SEED={seed}");
        let mut random = fastrand::Rng::with_seed(seed);
        let folder = Folder::new("taken-over");
        let stored = Stored::new(folder.token(), backend().unwrap());
        let objects = Objects::new();
        let master = stored.check_pin(Role::User, PIN).unwrap();
        stored.login(&objects, Role::User, master).unwrap();
        let aes = CKK_AES.to_ne_bytes();
        for value in [[1; 16], [2; 16], [3; 16]] {
            let key = object(&[(CKA_KEY_TYPE, &aes), (CKA_VALUE, &value)]);
            stored.add(&objects, &key).unwrap();
        }
        stored.add(&objects, &object(&[(CKA_VALUE, b"x")])).unwrap();
        let master = stored.file.login(Role::User, PIN).unwrap();
        let (_, right) = stored.file.read().unwrap().unwrap();

        let all = || objects.select(|_, _| true).collect::<Vec<_>>();
        let (mut taken, mut refused) = (0, 0);
        for _ in 0..2000 {
            let mut contents = right.clone();
            for _ in 0..random.usize(1..3) {
                let serial = contents.serial;
                let at = random.usize(0..contents.records.len());
                let record = &mut contents.records[at];
                let mut plain = match record.is_private {
                    true => master.open(&serial, record).unwrap().to_vec(),
                    false => record.attributes.clone(),
                };
                for _ in 0..random.usize(0..3) {
                    let at = random.usize(0..plain.len());
                    plain[at] = random.u8(..);
                }
                let is_private = record.is_private ^ (random.u8(0..8) == 0);
                *record = master.seal(&serial, record.id, is_private, &plain).unwrap();
                if random.u8(0..8) == 0 {
                    contents.records.remove(at);
                }
            }
            contents.seal = master.sign(&contents).unwrap();
            folder.write(&contents);
            let before = all();
            match stored.refresh(&objects) {
                Ok(state) => {
                    taken += 1;
                    assert_eq!(state.loaded.len(), contents.records.len());
                    let mut handles: Vec<usize> = state.loaded.values().map(|l| l.1).collect();
                    handles.sort_unstable();
                    let mut there = all();
                    there.sort_unstable();
                    assert_eq!(there, handles);
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error, Error(CKR_TOKEN_NOT_RECOGNIZED));
                    assert_eq!(all(), before);
                }
            }
            folder.write(&right);
            drop(stored.refresh(&objects).unwrap());
            assert_eq!(all().len(), 4);
        }
        assert!(
            taken > 100 && refused > 100,
            "{taken} taken, {refused} refused"
        );
    }

    /// A panic in a change becomes an error, ends its own session, and leaves the file and the
    /// others as they were.
    #[test]
    fn a_panic_in_a_change_leaves_the_token() {
        let folder = Folder::new("panic");
        std::env::set_var(token::place::VARIABLE, folder.token());
        let null = std::ptr::null_mut();
        let open = || {
            let mut session = 0;
            let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
            // SAFETY: the pointer is valid.
            let code = unsafe { entry::C_OpenSession(1, flags, null, None, &mut session) };
            assert_eq!(code, CKR_OK);
            session
        };
        let login = |session| {
            let (pin, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
            // SAFETY: the PIN has this length.
            unsafe { entry::C_Login(session, CKU_USER, pin, len) }
        };
        let create = |session| {
            let (class, token) = (CKO_DATA.to_ne_bytes(), [CK_TRUE]);
            let attribute = |type_, value: &[u8]| CK_ATTRIBUTE {
                type_,
                pValue: value.as_ptr().cast_mut().cast(),
                ulValueLen: value.len() as CK_ULONG,
            };
            let mut list = [attribute(CKA_CLASS, &class), attribute(CKA_TOKEN, &token)];
            // SAFETY: the pointers are valid.
            unsafe { entry::C_CreateObject(session, list.as_mut_ptr(), 2, &mut 0) }
        };
        // SAFETY: the argument may be NULL.
        assert_eq!(unsafe { entry::C_Initialize(null) }, CKR_OK);
        let (first, second) = (open(), open());
        assert_eq!(login(first), CKR_OK);
        let before = std::fs::read(folder.token()).unwrap();
        let code = entry::guard(|| {
            let (_session, slot) = crate::module::current()?.session(first)?;
            let stored = slot.token(CKR_GENERAL_ERROR)?;
            let state = stored.lock();
            let changed = stored.file.change(state.master().unwrap(), |contents| {
                contents.records.clear();
                if contents.next_id > 0 {
                    panic!("in a call");
                }
                Ok(())
            });
            changed.map(|_| ()).map_err(of_file)
        });
        assert_eq!(code, CKR_GENERAL_ERROR);
        assert_eq!(std::fs::read(folder.token()).unwrap(), before);
        assert_eq!(create(first), CKR_SESSION_HANDLE_INVALID);
        assert_eq!(login(second), CKR_USER_ALREADY_LOGGED_IN);
        assert_eq!(create(second), CKR_OK);
        assert_ne!(std::fs::read(folder.token()).unwrap(), before);
        // After the next C_Initialize, no session counts.
        // SAFETY: the arguments may be NULL.
        let again = unsafe { (entry::C_Finalize(null), entry::C_Initialize(null)) };
        assert_eq!(again, (CKR_OK, CKR_OK));
        let slot = crate::module::current().unwrap().slot(1).unwrap();
        assert_eq!(slot.sessions(), (0, 0));
    }
}
