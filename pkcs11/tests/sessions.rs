// SPDX-License-Identifier: BSD-2-Clause
//! Random calls against a model of which sessions are open and which objects exist (PKCS#11 2.40
//! sections 5.4 to 5.7). The token has no login and stores nothing. The seed is printed; SEED=
//! repeats a run. One test, because C_CloseAllSessions closes the sessions of the whole process.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::collections::HashSet;
use std::mem::ManuallyDrop;
use support::{attribute, mechanism, result, Session, Way};

const STEPS: usize = 8000;
const MOST_SESSIONS: usize = 5;
const MOST_OBJECTS: usize = 30;

/// An object as the model knows it.
#[derive(Clone, Debug)]
struct Known {
    label: String,
    value: [u8; 16],
    /// The session that it ends with.
    session: CK_SESSION_HANDLE,
    destroyable: bool,
    handle: CK_OBJECT_HANDLE,
}

struct Model {
    random: fastrand::Rng,
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
    fn new(seed: u64) -> Model {
        Model {
            random: fastrand::Rng::with_seed(seed),
            sessions: Vec::new(),
            closed: 0,
            objects: Vec::new(),
            dead: HashSet::new(),
            made: 0,
            ran: [0; 2],
        }
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
        let sessions = &self.sessions;
        assert!(
            right,
            "{what}: {got:x?}, not {expected:x?}; sessions: {sessions:?}"
        );
        self.ran[usize::from(got.is_err())] += 1;
        got.is_ok()
    }

    /// An open session, or seldom one that was closed.
    fn session(&mut self) -> CK_SESSION_HANDLE {
        if self.sessions.is_empty() || self.chance(50) {
            return self.closed;
        }
        self.sessions[self.random.usize(0..self.sessions.len())].0
    }

    fn is_open(&self, handle: CK_SESSION_HANDLE) -> bool {
        self.sessions.iter().any(|(open, _)| *open == handle)
    }

    /// What a call returns that has to have an open session.
    fn if_open(&self, handle: CK_SESSION_HANDLE, more: &[(bool, CK_RV)]) -> Codes {
        let closed = [(!self.is_open(handle), CKR_SESSION_HANDLE_INVALID)];
        codes(&[&closed, more].concat())
    }

    fn open(&mut self) {
        let writes = self.random.bool();
        let opened = Session::of_kind(writes);
        let got = opened.as_ref().map(|_| ()).map_err(|code| *code);
        if self.check("C_OpenSession", got, &[]) {
            let session = ManuallyDrop::new(opened.unwrap());
            assert!(!self.is_open(session.0) && session.0 != self.closed);
            self.sessions.push((session.0, writes));
        }
    }

    /// What ends with a session: its objects.
    fn ended(&mut self, handle: CK_SESSION_HANDLE) {
        self.closed = handle;
        self.sessions.retain(|(open, _)| *open != handle);
        let its = |object: &&Known| object.session == handle;
        let dead = self.objects.iter().filter(its).map(|object| object.handle);
        self.dead.extend(dead);
        self.objects.retain(|object| object.session != handle);
    }

    fn close(&mut self) {
        let handle = self.session();
        let got = result(ck!(C_CloseSession(handle)));
        let expected = self.if_open(handle, &[]);
        if self.check("C_CloseSession", got, &expected) {
            self.ended(handle);
        }
    }

    fn close_all(&mut self) {
        let got = result(ck!(C_CloseAllSessions(0)));
        self.check("C_CloseAllSessions", got, &[]);
        while let Some((handle, _)) = self.sessions.last() {
            self.ended(*handle);
        }
    }

    /// Nobody logs in, and no PIN is set.
    fn login(&mut self) {
        let s = self.session();
        let (mut pin, mut label) = (*b"1234", [b' '; 32]);
        let (pin, label) = (pin.as_mut_ptr(), label.as_mut_ptr());
        let user = [CKU_USER, CKU_SO, CKU_CONTEXT_SPECIFIC, 9][self.random.usize(0..4)];
        for (what, got, refusal) in [
            (
                "C_Login",
                ck!(C_Login(s, user, pin, 4)),
                CKR_USER_PIN_NOT_INITIALIZED,
            ),
            ("C_Logout", ck!(C_Logout(s)), CKR_USER_NOT_LOGGED_IN),
            (
                "C_InitPIN",
                ck!(C_InitPIN(s, pin, 4)),
                CKR_USER_NOT_LOGGED_IN,
            ),
            (
                "C_SetPIN",
                ck!(C_SetPIN(s, pin, 4, pin, 4)),
                CKR_TOKEN_WRITE_PROTECTED,
            ),
            (
                "C_InitToken",
                ck!(C_InitToken(0, pin, 4, label)),
                CKR_TOKEN_WRITE_PROTECTED,
            ),
        ] {
            self.check(what, result(got), &[refusal]);
        }
    }

    fn next_label(&mut self) -> String {
        self.made += 1;
        format!("object {}", self.made)
    }

    /// CKA_TOKEN and CKA_PRIVATE of a template: each given or not.
    fn storage(&mut self) -> [Option<bool>; 2] {
        let given = [None, Some(false), Some(true)];
        [2, 3].map(|choices| given[self.random.usize(0..choices)])
    }

    fn create(&mut self) {
        let session = self.session();
        let [mut token, private] = self.storage();
        if self.chance(8) {
            token = Some(true);
        }
        let object = Known {
            label: self.next_label(),
            value: std::array::from_fn(|_| self.random.u8(..)),
            session,
            destroyable: !self.chance(8),
            handle: 0,
        };
        let (class, aes) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
        let mut template: Vec<(CK_ATTRIBUTE_TYPE, &[u8])> = vec![
            (CKA_CLASS, &class),
            (CKA_KEY_TYPE, &aes),
            (CKA_LABEL, object.label.as_bytes()),
            (CKA_VALUE, &object.value),
            (CKA_DESTROYABLE, bool_of(&object.destroyable)),
        ];
        for (kind, given) in [(CKA_TOKEN, &token), (CKA_PRIVATE, &private)] {
            template.extend(given.as_ref().map(|value| (kind, bool_of(value))));
        }
        let made = at(session).create(&template);
        let stored = (token == Some(true), CKR_TOKEN_WRITE_PROTECTED);
        let expected = self.if_open(session, &[stored]);
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
            let known = self.objects.iter().any(|o| o.handle == handle);
            assert!(!known && !self.dead.contains(&handle), "{what}: {handle}");
            self.objects.push(Known { handle, ..object });
        }
    }

    /// An object, or a handle that is dead.
    fn object(&mut self) -> Result<Known, CK_OBJECT_HANDLE> {
        if self.objects.is_empty() || self.chance(8) {
            let mut dead: Vec<_> = self.dead.iter().copied().collect();
            dead.sort_unstable();
            return Err(self.random.choice(dead).unwrap_or(12345));
        }
        Ok(self.objects[self.random.usize(0..self.objects.len())].clone())
    }

    /// A call that changes an object, or with a copy makes another one.
    fn change(&mut self) {
        let (session, object) = (self.session(), self.object());
        let handle = object.as_ref().map_or_else(|dead| *dead, |o| o.handle);
        let label = self.next_label();
        let call = match self.objects.len() < MOST_OBJECTS {
            true => self.random.u32(0..3),
            false => 0,
        };
        let mut expected = self.if_open(session, &[(object.is_err(), CKR_OBJECT_HANDLE_INVALID)]);
        match call {
            0 => {
                let got = result(ck!(C_DestroyObject(session, handle)));
                let stays = object.is_ok_and(|object| !object.destroyable);
                expected.extend(stays.then_some(CKR_ACTION_PROHIBITED));
                if self.check("C_DestroyObject", got, &expected) {
                    self.objects.retain(|object| object.handle != handle);
                    self.dead.insert(handle);
                }
            }
            1 => {
                let mut template = [attribute(CKA_LABEL, label.as_bytes())];
                let list = template.as_mut_ptr();
                let got = result(ck!(C_SetAttributeValue(session, handle, list, 1)));
                if self.check("C_SetAttributeValue", got, &expected) {
                    let mut objects = self.objects.iter_mut();
                    objects.find(|o| o.handle == handle).unwrap().label = label;
                }
            }
            _ => {
                let [token, private] = self.storage();
                let mut template = vec![attribute(CKA_LABEL, label.as_bytes())];
                for (kind, given) in [(CKA_TOKEN, &token), (CKA_PRIVATE, &private)] {
                    template.extend(given.as_ref().map(|value| attribute(kind, bool_of(value))));
                }
                let (list, count) = (template.as_mut_ptr(), template.len() as CK_ULONG);
                let mut copy = 0;
                let got = ck!(C_CopyObject(session, handle, list, count, &mut copy));
                let made = result(got).map(|()| copy);
                let source = object.unwrap_or(Known {
                    label: String::new(),
                    value: [0; 16],
                    session,
                    destroyable: true,
                    handle,
                });
                let object = Known {
                    label,
                    session,
                    ..source
                };
                self.made_object("C_CopyObject", made, &expected, object);
            }
        }
    }

    /// A search finds every object, nothing else, under handles that stay the same.
    fn find(&mut self) {
        let (s, by_label) = (self.session(), self.random.bool());
        let wanted = match self.objects.is_empty() || !by_label {
            true => None,
            false => Some(self.random.usize(0..self.objects.len())),
        };
        let label = wanted.map(|i| self.objects[i].label.clone());
        let mut template = match &label {
            Some(label) => vec![attribute(CKA_LABEL, label.as_bytes())],
            None => vec![],
        };
        let count = template.len() as CK_ULONG;
        let got = result(ck!(C_FindObjectsInit(s, template.as_mut_ptr(), count)));
        let expected = self.if_open(s, &[]);
        if !self.check("C_FindObjectsInit", got, &expected) {
            return;
        }
        let (mut handles, mut count) = ([0; MOST_OBJECTS + 1], 0);
        let most = handles.len() as CK_ULONG;
        let list = handles.as_mut_ptr();
        assert_eq!(ck!(C_FindObjects(s, list, most, &mut count)), CKR_OK);
        assert_eq!(ck!(C_FindObjectsFinal(s)), CKR_OK);
        let found = handles[..count as usize].iter().map(|handle| {
            let label = at(s).read(*handle, CKA_LABEL).unwrap();
            (String::from_utf8(label).unwrap(), *handle)
        });
        let mut found: Vec<_> = found.collect();
        let of_label = |o: &&Known| label.as_ref().is_none_or(|label| *label == o.label);
        let there = self.objects.iter().filter(of_label);
        let mut expected: Vec<_> = there.map(|o| (o.label.clone(), o.handle)).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    /// Reads and uses an object: one that is gone gives the handle's code.
    fn touch(&mut self) {
        let (session, object) = (self.session(), self.object());
        let iv = [1; 16];
        let m = mechanism(CKM_AES_CBC_PAD, &iv);
        let handle = object.as_ref().map_or_else(|dead| *dead, |o| o.handle);
        let open = self.is_open(session);
        let session = at(session);
        let read = session.read(handle, CKA_VALUE);
        let sealed = session.crypt(Way::Encrypt, &m, handle, b"text");
        let closed = Err(CKR_SESSION_HANDLE_INVALID);
        match object {
            _ if !open => assert_eq!((read, sealed), (closed.clone(), closed)),
            Err(_) => assert_eq!(
                (read, sealed),
                (Err(CKR_OBJECT_HANDLE_INVALID), Err(CKR_KEY_HANDLE_INVALID))
            ),
            Ok(object) => {
                assert_eq!(read.as_deref(), Ok(&object.value[..]));
                assert!(sealed.is_ok(), "{sealed:x?}");
            }
        }
    }

    /// C_GetSessionInfo of each session.
    fn compare_sessions(&self) {
        for (handle, writes) in &self.sessions {
            // SAFETY: the struct is of numbers.
            let mut info: CK_SESSION_INFO = unsafe { std::mem::zeroed() };
            assert_eq!(ck!(C_GetSessionInfo(*handle, &mut info)), CKR_OK);
            let state = match writes {
                false => CKS_RO_PUBLIC_SESSION,
                true => CKS_RW_PUBLIC_SESSION,
            };
            assert_eq!((info.slotID, info.state), (0, state));
        }
    }

    fn step(&mut self) {
        match self.random.u32(0..100) {
            0..=9 if self.sessions.len() < MOST_SESSIONS => self.open(),
            0..=13 => self.close(),
            14 => self.close_all(),
            15..=18 => self.login(),
            19..=50 if self.objects.len() < MOST_OBJECTS => self.create(),
            19..=70 => self.change(),
            71..=84 => self.touch(),
            _ => self.find(),
        }
        self.compare_sessions();
    }
}

/// The flags tell programs not to ask for a PIN.
fn token_needs_no_login() {
    // SAFETY: the struct is of numbers and bytes.
    let mut info: CK_TOKEN_INFO = unsafe { std::mem::zeroed() };
    assert_eq!(ck!(C_GetTokenInfo(0, &mut info)), CKR_OK);
    assert_eq!(info.flags, CKF_RNG | CKF_TOKEN_INITIALIZED);
}

#[test]
fn random_calls() {
    let seed = std::env::var("SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("SEED: a number"),
    );
    println!("sessions: SEED={seed}");
    support::initialized();
    token_needs_no_login();
    let mut model = Model::new(seed);
    for step in 0..STEPS {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| model.step()));
        if let Err(panic) = done {
            println!("in step {step}");
            std::panic::resume_unwind(panic);
        }
    }
    let [right, refused] = model.ran;
    println!("{right} calls succeeded, {refused} were refused");
    assert!(right > STEPS / 4 && refused > STEPS / 20);
}
