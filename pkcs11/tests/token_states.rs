// SPDX-License-Identifier: BSD-2-Clause
//! Random calls on the slot with a token file against a model of who is logged in, which sessions
//! are open, and who sees which object (PKCS#11 2.40 sections 5.4 to 5.7, and 2.4 of the usage
//! guide). The seed is printed; SEED= repeats a run. One test, because where the token lies is the
//! process's.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::collections::HashSet;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};
use support::{attribute, init_pin, login, logout, mechanism, result, set_pin, Session, Way};

const SLOT: CK_SLOT_ID = 1;
const STEPS: usize = 8000;
const MOST_SESSIONS: usize = 5;
const MOST_OBJECTS: usize = 30;
/// The next login after so many wrong PINs in a row does not wait yet.
const WRONG_PINS: u32 = 2;
const OFFICER: usize = 0;
const USER: usize = 1;
const TYPES: [CK_USER_TYPE; 2] = [CKU_SO, CKU_USER];

/// An object as the model knows it.
#[derive(Clone, Debug)]
struct Known {
    label: String,
    value: [u8; 16],
    is_key: bool,
    /// The session that a session object ends with. None: it is in the token.
    session: Option<CK_SESSION_HANDLE>,
    private: bool,
    destroyable: bool,
    /// None: no search has told it since it became visible.
    handle: Option<CK_OBJECT_HANDLE>,
}

impl Known {
    /// Whether it is there only for a role that is logged in. Keys of the token are encrypted, also
    /// if they are not private.
    fn needs_login(&self) -> bool {
        self.private || self.is_key && self.session.is_none()
    }
}

struct Model {
    path: PathBuf,
    random: fastrand::Rng,
    pins: [Option<Vec<u8>>; 2],
    wrong: [u32; 2],
    /// The index of the role.
    logged_in: Option<usize>,
    /// Handles, and whether they may write.
    sessions: Vec<(CK_SESSION_HANDLE, bool)>,
    closed: CK_SESSION_HANDLE,
    objects: Vec<Known>,
    /// Handles that must never be valid again.
    dead: HashSet<CK_OBJECT_HANDLE>,
    made: u64,
    /// Calls that succeeded, and others.
    ran: [usize; 2],
}

/// A session that the model closes by itself.
fn at(handle: CK_SESSION_HANDLE) -> ManuallyDrop<Session> {
    ManuallyDrop::new(Session(handle))
}

fn bool_of(value: &bool) -> &[u8] {
    match value {
        true => &[CK_TRUE],
        false => &[CK_FALSE],
    }
}

/// The codes that a call may return: none for success. Where several things are wrong, the standard
/// does not rank them.
type Codes = Vec<CK_RV>;

fn codes(list: &[(bool, CK_RV)]) -> Codes {
    let holds = list.iter().filter(|(holds, _)| *holds);
    holds.map(|(_, code)| *code).collect()
}

impl Model {
    fn new(path: &Path, seed: u64) -> Model {
        let mut model = Model {
            path: path.to_owned(),
            random: fastrand::Rng::with_seed(seed),
            pins: [None, None],
            wrong: [0; 2],
            logged_in: None,
            sessions: Vec::new(),
            closed: 0,
            objects: Vec::new(),
            dead: HashSet::new(),
            made: 0,
            ran: [0; 2],
        };
        model.begin_anew(b"officer".to_vec(), Some(b"1234".to_vec()));
        model
    }

    /// Another token in the place of the one before, with PINs that cost little to check.
    fn begin_anew(&mut self, officer: Vec<u8>, user: Option<Vec<u8>>) {
        support::cheap_token(&self.path, &officer, user.as_deref());
        self.pins = [Some(officer), user];
        self.wrong = [0; 2];
        self.objects.clear();
    }

    fn chance(&mut self, one_of: u32) -> bool {
        self.random.u32(0..one_of) == 0
    }

    /// Compares what a call returned. Returns whether it succeeded.
    fn check(&mut self, what: &str, got: Result<(), CK_RV>, expected: &[CK_RV]) -> bool {
        let right = match got {
            Ok(()) => expected.is_empty(),
            Err(code) => expected.contains(&code),
        };
        assert!(
            right,
            "{what}: {got:x?}, not {expected:x?}; logged in: {:?}; sessions: {:?}",
            self.logged_in, self.sessions
        );
        self.ran[usize::from(got.is_err())] += 1;
        got.is_ok()
    }

    /// An open session, or seldom one that was closed.
    fn session(&mut self) -> (CK_SESSION_HANDLE, bool) {
        if self.sessions.is_empty() || self.chance(50) {
            return (self.closed, false);
        }
        self.sessions[self.random.usize(0..self.sessions.len())]
    }

    fn is_open(&self, handle: CK_SESSION_HANDLE) -> bool {
        self.sessions.iter().any(|(open, _)| *open == handle)
    }

    fn sees(&self, object: &Known) -> bool {
        match self.logged_in {
            None => !object.needs_login(),
            Some(OFFICER) => !object.private,
            Some(_) => true,
        }
    }

    /// A handle is gone for good.
    fn retire(&mut self, handle: Option<CK_OBJECT_HANDLE>) {
        self.dead.extend(handle);
    }

    /// Private session objects are destroyed, and handles of what needs a login end.
    fn log_out(&mut self) {
        self.logged_in = None;
        let objects = std::mem::take(&mut self.objects);
        for mut object in objects {
            if object.needs_login() {
                let handle = object.handle.take();
                self.retire(handle);
            }
            if object.session.is_none() || !object.needs_login() {
                self.objects.push(object);
            }
        }
    }

    fn open(&mut self) {
        let (writes, officer) = (self.random.bool(), self.logged_in == Some(OFFICER));
        let opened = Session::on(SLOT, writes);
        let expected = codes(&[(!writes && officer, CKR_SESSION_READ_WRITE_SO_EXISTS)]);
        let got = opened.as_ref().map(|_| ()).map_err(|code| *code);
        if self.check("C_OpenSession", got, &expected) {
            let session = ManuallyDrop::new(opened.unwrap());
            assert!(!self.is_open(session.0) && session.0 != self.closed);
            self.sessions.push((session.0, writes));
        }
    }

    /// What ends with a session: its objects, and with the last one the login.
    fn ended(&mut self, handle: CK_SESSION_HANDLE) {
        self.closed = handle;
        self.sessions.retain(|(open, _)| *open != handle);
        let objects = std::mem::take(&mut self.objects);
        for object in objects {
            match object.session == Some(handle) {
                true => self.retire(object.handle),
                false => self.objects.push(object),
            }
        }
        if self.sessions.is_empty() {
            self.log_out();
            // The standard leaves open whether handles survive the last session.
            self.objects.iter_mut().for_each(|o| o.handle = None);
        }
    }

    fn close(&mut self) {
        let (handle, _) = self.session();
        let got = result(ck!(C_CloseSession(handle)));
        let expected = codes(&[(!self.is_open(handle), CKR_SESSION_HANDLE_INVALID)]);
        if self.check("C_CloseSession", got, &expected) {
            self.ended(handle);
        }
    }

    fn close_all(&mut self) {
        let got = result(ck!(C_CloseAllSessions(SLOT)));
        self.check("C_CloseAllSessions", got, &[]);
        while let Some((handle, _)) = self.sessions.last() {
            self.ended(*handle);
        }
    }

    /// The PIN of a role, or a wrong one, but not so often that the next login waits. Returns
    /// whether it is right.
    fn pin(&mut self, role: usize) -> (Vec<u8>, bool) {
        let may_err = self.wrong[role] < WRONG_PINS;
        match self.pins[role].clone() {
            Some(pin) if !may_err || !self.chance(4) => (pin, true),
            Some(mut pin) if self.random.bool() => {
                pin[0] ^= 1;
                (pin, false)
            }
            Some(pin) => (pin[..pin.len() - 1].to_vec(), false),
            None => (b"1234".to_vec(), false),
        }
    }

    /// A new PIN; one of three is too short or too long.
    fn new_pin(&mut self) -> (Vec<u8>, bool) {
        let len = [4, 5, 255, 3, 256][self.random.usize(0..5)];
        let pin = std::iter::repeat_with(|| self.random.alphanumeric() as u8);
        let pin: Vec<u8> = pin.take(len).collect();
        (pin, (4..=255).contains(&len))
    }

    fn count_pin(&mut self, role: usize, got: Result<(), CK_RV>) {
        match got {
            Ok(()) => self.wrong[role] = 0,
            Err(CKR_PIN_INCORRECT) if self.pins[role].is_some() => self.wrong[role] += 1,
            Err(_) => {}
        }
    }

    fn login(&mut self) {
        let ((handle, _), role) = (self.session(), self.random.usize(0..2));
        let (pin, right) = self.pin(role);
        let got = login(&at(handle), TYPES[role], &pin);
        let reader = self.sessions.iter().any(|(_, writes)| !writes);
        let there = self.logged_in;
        let other = there.is_some_and(|there| there != role);
        let expected = codes(&[
            (!self.is_open(handle), CKR_SESSION_HANDLE_INVALID),
            (there == Some(role), CKR_USER_ALREADY_LOGGED_IN),
            (other, CKR_USER_ANOTHER_ALREADY_LOGGED_IN),
            (role == OFFICER && reader, CKR_SESSION_READ_ONLY_EXISTS),
            (self.pins[role].is_none(), CKR_USER_PIN_NOT_INITIALIZED),
            (self.pins[role].is_some() && !right, CKR_PIN_INCORRECT),
        ]);
        self.count_pin(role, got);
        if self.check("C_Login", got, &expected) {
            self.logged_in = Some(role);
        }
    }

    fn logout(&mut self) {
        let (handle, _) = self.session();
        let got = logout(&at(handle));
        let expected = codes(&[
            (!self.is_open(handle), CKR_SESSION_HANDLE_INVALID),
            (self.logged_in.is_none(), CKR_USER_NOT_LOGGED_IN),
        ]);
        if self.check("C_Logout", got, &expected) {
            self.log_out();
        }
    }

    fn init_pin(&mut self) {
        let ((handle, _), (pin, fits)) = (self.session(), self.new_pin());
        let got = init_pin(&at(handle), &pin);
        let officer = self.logged_in == Some(OFFICER);
        let expected = codes(&[
            (!self.is_open(handle), CKR_SESSION_HANDLE_INVALID),
            (!officer, CKR_USER_NOT_LOGGED_IN),
            (!fits, CKR_PIN_LEN_RANGE),
        ]);
        if self.check("C_InitPIN", got, &expected) {
            (self.pins[USER], self.wrong[USER]) = (Some(pin), 0);
        }
    }

    /// C_SetPIN is for the role that is logged in, else for the user.
    fn set_pin(&mut self) {
        let ((handle, writes), role) = (self.session(), self.logged_in.unwrap_or(USER));
        let ((old, right), (new, fits)) = (self.pin(role), self.new_pin());
        let got = set_pin(&at(handle), &old, &new);
        let is_open = self.is_open(handle);
        let expected = codes(&[
            (!is_open, CKR_SESSION_HANDLE_INVALID),
            (is_open && !writes, CKR_SESSION_READ_ONLY),
            (!fits, CKR_PIN_LEN_RANGE),
            (!right, CKR_PIN_INCORRECT),
        ]);
        self.count_pin(role, got);
        if self.check("C_SetPIN", got, &expected) {
            self.pins[role] = Some(new);
        }
    }

    fn init_token(&mut self) {
        let ((pin, right), mut label) = (self.pin(OFFICER), [b' '; 32]);
        label[0] = b'l';
        let (to, len) = (pin.as_ptr().cast_mut(), pin.len() as CK_ULONG);
        let got = result(ck!(C_InitToken(SLOT, to, len, label.as_mut_ptr())));
        let expected = codes(&[
            (!self.sessions.is_empty(), CKR_SESSION_EXISTS),
            (!right, CKR_PIN_INCORRECT),
            (!(4..=255).contains(&pin.len()), CKR_PIN_LEN_RANGE),
        ]);
        self.count_pin(OFFICER, got);
        if self.check("C_InitToken", got, &expected) {
            self.pins[USER] = None;
            self.wrong = [0; 2];
            self.objects.clear();
            self.compare_token();
            self.begin_anew(pin, None); // its PINs cost less
        }
    }

    /// What creating, copying, changing or destroying an object may return.
    fn to_write(&self, (handle, writes): (CK_SESSION_HANDLE, bool), object: &Known) -> Codes {
        let stored = object.session.is_none();
        let is_open = self.is_open(handle);
        // Also a public object of the token: its seal takes the key that only a PIN opens.
        let allowed = match self.logged_in {
            None => !stored && !object.private,
            Some(OFFICER) => !object.private,
            Some(_) => true,
        };
        codes(&[
            (!is_open, CKR_SESSION_HANDLE_INVALID),
            (is_open && stored && !writes, CKR_SESSION_READ_ONLY),
            (!allowed, CKR_USER_NOT_LOGGED_IN),
        ])
    }

    fn next_label(&mut self) -> String {
        self.made += 1;
        format!("object {}", self.made)
    }

    fn create(&mut self) {
        let session = self.session();
        let (token, is_key) = (self.random.bool(), self.random.bool());
        let given = [None, Some(true), Some(false)][self.random.usize(0..3)];
        let object = Known {
            label: self.next_label(),
            value: std::array::from_fn(|_| self.random.u8(..)),
            is_key,
            session: (!token).then_some(session.0),
            // By default, a key of the token is.
            private: given.unwrap_or(is_key && token),
            destroyable: !self.chance(8),
            handle: None,
        };
        let (class, aes) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
        let data = CKO_DATA.to_ne_bytes();
        let mut template: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![
            (CKA_CLASS, if is_key { &class } else { &data }),
            (CKA_TOKEN, bool_of(&token)),
            (CKA_LABEL, object.label.as_bytes()),
            (CKA_VALUE, &object.value),
            (CKA_DESTROYABLE, bool_of(&object.destroyable)),
        ];
        if is_key {
            template.push((CKA_KEY_TYPE, &aes));
        }
        if let Some(private) = &given {
            template.push((CKA_PRIVATE, bool_of(private)));
        }
        let made = at(session.0).create(&template);
        let expected = self.to_write(session, &object);
        self.made_object("C_CreateObject", made, &expected, object);
    }

    fn made_object(
        &mut self,
        what: &str,
        made: Result<CK_OBJECT_HANDLE, CK_RV>,
        expected: &[CK_RV],
        object: Known,
    ) {
        if self.check(what, made.map(|_| ()), expected) {
            let handle = made.unwrap();
            let known = self.objects.iter().any(|o| o.handle == Some(handle));
            assert!(!known && !self.dead.contains(&handle), "{what}: {handle}");
            let handle = Some(handle);
            self.objects.push(Known { handle, ..object });
        }
    }

    /// The index of an object with a known handle, or a handle that is dead.
    fn object(&mut self) -> Result<usize, CK_OBJECT_HANDLE> {
        let with_handle = |o: &Known| o.handle.is_some();
        let live: Vec<usize> = (0..self.objects.len())
            .filter(|i| with_handle(&self.objects[*i]))
            .collect();
        if live.is_empty() || self.chance(8) {
            let mut dead: Vec<_> = self.dead.iter().copied().collect();
            dead.sort_unstable();
            return Err(self.random.choice(dead).unwrap_or(12345));
        }
        Ok(live[self.random.usize(0..live.len())])
    }

    /// A call that changes an object, or with a copy makes another one.
    fn change(&mut self) {
        let (session, index) = (self.session(), self.object());
        let handle = index.map_or_else(|dead| dead, |i| self.objects[i].handle.unwrap());
        let label = self.next_label();
        let call = match self.objects.len() < MOST_OBJECTS {
            true => self.random.u32(0..3),
            false => 0,
        };
        let there = index.ok().map(|i| self.objects[i].clone());
        let mut expected = match &there {
            None => codes(&[
                (!self.is_open(session.0), CKR_SESSION_HANDLE_INVALID),
                (true, CKR_OBJECT_HANDLE_INVALID),
            ]),
            Some(object) => {
                assert!(self.sees(object), "{object:?}");
                self.to_write(session, object)
            }
        };
        match call {
            0 => {
                let got = result(ck!(C_DestroyObject(session.0, handle)));
                let stays = there.is_some_and(|object| !object.destroyable);
                expected.extend(stays.then_some(CKR_ACTION_PROHIBITED));
                if self.check("C_DestroyObject", got, &expected) {
                    self.objects.remove(index.unwrap());
                    self.retire(Some(handle));
                }
            }
            1 => {
                let mut template = [attribute(CKA_LABEL, label.as_bytes())];
                let list = template.as_mut_ptr();
                let got = result(ck!(C_SetAttributeValue(session.0, handle, list, 1)));
                if self.check("C_SetAttributeValue", got, &expected) {
                    self.objects[index.unwrap()].label = label;
                }
            }
            _ => self.copy(session, handle, there, label),
        }
    }

    fn copy(
        &mut self,
        session: (CK_SESSION_HANDLE, bool),
        handle: CK_OBJECT_HANDLE,
        source: Option<Known>,
        label: String,
    ) {
        let [token, private] = [(); 2].map(|()| {
            let given = [None, Some(true), Some(false)];
            given[self.random.usize(0..3)]
        });
        let mut template = vec![attribute(CKA_LABEL, label.as_bytes())];
        for (kind, given) in [(CKA_TOKEN, &token), (CKA_PRIVATE, &private)] {
            template.extend(given.as_ref().map(|value| attribute(kind, bool_of(value))));
        }
        let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
        let mut copy = 0;
        let got = result(ck!(C_CopyObject(session.0, handle, list, count, &mut copy)));
        let Some(source) = source else {
            let expected = codes(&[
                (!self.is_open(session.0), CKR_SESSION_HANDLE_INVALID),
                (true, CKR_OBJECT_HANDLE_INVALID),
            ]);
            self.check("C_CopyObject", got, &expected);
            return;
        };
        let token = token.unwrap_or(source.session.is_none());
        let object = Known {
            label,
            session: (!token).then_some(session.0),
            private: private.unwrap_or(source.private || source.is_key && token),
            ..source
        };
        let expected = self.to_write(session, &object);
        self.made_object("C_CopyObject", got.map(|()| copy), &expected, object);
    }

    /// A search finds what the role sees, nothing else, under handles that stay the same.
    fn find(&mut self) {
        let (session, by_label) = (self.session(), self.random.bool());
        let wanted = match self.objects.is_empty() || !by_label {
            true => None,
            false => Some(self.random.usize(0..self.objects.len())),
        };
        let label = wanted.map(|i| self.objects[i].label.clone());
        let mut template = match &label {
            Some(label) => vec![attribute(CKA_LABEL, label.as_bytes())],
            None => vec![],
        };
        let (s, count) = (session.0, template.len() as CK_ULONG);
        let got = result(ck!(C_FindObjectsInit(s, template.as_mut_ptr(), count)));
        let expected = codes(&[(!self.is_open(s), CKR_SESSION_HANDLE_INVALID)]);
        if !self.check("C_FindObjectsInit", got, &expected) {
            return;
        }
        let (mut handles, mut count) = ([0; MOST_OBJECTS + 1], 0);
        let most = handles.len() as CK_ULONG;
        let list = handles.as_mut_ptr();
        assert_eq!(ck!(C_FindObjects(s, list, most, &mut count)), CKR_OK);
        assert_eq!(ck!(C_FindObjectsFinal(s)), CKR_OK);
        let mut found = Vec::new();
        for handle in &handles[..count as usize] {
            let label = at(s).read(*handle, CKA_LABEL).unwrap();
            found.push((String::from_utf8(label).unwrap(), *handle));
        }
        let of_label = |o: &&Known| label.as_ref().is_none_or(|label| *label == o.label);
        let seen = self.objects.iter().filter(|o| self.sees(o));
        let mut expected: Vec<&str> = seen.filter(of_label).map(|o| &o.label[..]).collect();
        let mut labels: Vec<&str> = found.iter().map(|(label, _)| &label[..]).collect();
        expected.sort_unstable();
        labels.sort_unstable();
        assert_eq!(labels, expected, "logged in: {:?}", self.logged_in);
        for (label, handle) in found {
            assert!(!self.dead.contains(&handle), "{label}: {handle} comes back");
            let object = self.objects.iter_mut().find(|o| o.label == label);
            let known = object.unwrap().handle.get_or_insert(handle);
            assert_eq!(*known, handle, "{label}");
        }
    }

    /// Reads and uses an object: one that is gone gives the handle's code.
    fn touch(&mut self) {
        let ((session, _), index) = (self.session(), self.object());
        let iv = [1; 16];
        let m = mechanism(CKM_AES_CBC_PAD, &iv);
        let handle = index.map_or_else(|dead| dead, |i| self.objects[i].handle.unwrap());
        let open = self.is_open(session);
        let session = at(session);
        let read = session.read(handle, CKA_VALUE);
        let sealed = session.crypt(Way::Encrypt, &m, handle, b"text");
        let closed = Err(CKR_SESSION_HANDLE_INVALID);
        match index {
            _ if !open => assert_eq!((read, sealed), (closed.clone(), closed)),
            Err(_) => assert_eq!(
                (read, sealed),
                (Err(CKR_OBJECT_HANDLE_INVALID), Err(CKR_KEY_HANDLE_INVALID))
            ),
            Ok(i) => {
                let object = &self.objects[i];
                assert_eq!(read.as_deref(), Ok(&object.value[..]));
                match object.is_key {
                    true => assert!(sealed.is_ok(), "{sealed:x?}"),
                    false => assert_eq!(sealed, Err(CKR_KEY_HANDLE_INVALID)),
                }
            }
        }
    }

    /// C_GetSessionInfo of each session.
    fn compare_sessions(&self) {
        for (handle, writes) in &self.sessions {
            // SAFETY: the struct is of numbers.
            let mut info: CK_SESSION_INFO = unsafe { std::mem::zeroed() };
            assert_eq!(ck!(C_GetSessionInfo(*handle, &mut info)), CKR_OK);
            let state = match (self.logged_in, writes) {
                (None, false) => CKS_RO_PUBLIC_SESSION,
                (None, true) => CKS_RW_PUBLIC_SESSION,
                (Some(USER), false) => CKS_RO_USER_FUNCTIONS,
                (Some(USER), true) => CKS_RW_USER_FUNCTIONS,
                _ => CKS_RW_SO_FUNCTIONS,
            };
            assert_eq!((info.slotID, info.state), (SLOT, state));
        }
    }

    /// C_GetTokenInfo: PINs and the numbers of sessions.
    fn compare_token(&self) {
        // SAFETY: the struct is of numbers and bytes.
        let mut info: CK_TOKEN_INFO = unsafe { std::mem::zeroed() };
        assert_eq!(ck!(C_GetTokenInfo(SLOT, &mut info)), CKR_OK);
        let writing = self.sessions.iter().filter(|(_, writes)| *writes).count();
        let counts = (info.ulSessionCount, info.ulRwSessionCount);
        assert_eq!(
            counts,
            (self.sessions.len() as CK_ULONG, writing as CK_ULONG)
        );
        let flags = [
            CKF_TOKEN_INITIALIZED,
            CKF_USER_PIN_INITIALIZED,
            CKF_SO_PIN_COUNT_LOW,
            CKF_USER_PIN_COUNT_LOW,
        ];
        let got = flags.map(|flag| info.flags & flag != 0);
        let [officer, user] = self.wrong.map(|count| count > 0);
        assert_eq!(got, [true, self.pins[USER].is_some(), officer, user]);
    }

    fn step(&mut self) {
        match self.random.u32(0..100) {
            0..=9 if self.sessions.len() < MOST_SESSIONS => self.open(),
            0..=13 => self.close(),
            14 => self.close_all(),
            15..=28 => self.login(),
            29..=32 => self.logout(),
            33 | 34 => self.init_pin(),
            35 | 36 => self.set_pin(),
            37 if !self.sessions.is_empty() || self.chance(3) => self.init_token(),
            38..=60 if self.objects.len() < MOST_OBJECTS => self.create(),
            38..=77 => self.change(),
            78..=87 => self.touch(),
            _ => self.find(),
        }
        self.compare_sessions();
        self.compare_token();
    }
}

#[test]
fn random_calls() {
    let seed = std::env::var("SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("SEED: a number"),
    );
    println!("token_states: SEED={seed}");
    let name = format!("tenrounds-token-states-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("token");
    std::env::set_var(token::place::VARIABLE, &path);
    let mut model = Model::new(&path, seed);
    support::initialized();
    for step in 0..STEPS {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.step()));
        if let Err(panic) = done {
            println!("in step {step}; the token stays in {}", folder.display());
            std::panic::resume_unwind(panic);
        }
    }
    let [right, refused] = model.ran;
    println!("{right} calls succeeded, {refused} were refused");
    assert!(right > STEPS / 4 && refused > STEPS / 20);
    std::fs::remove_dir_all(folder).unwrap();
}
