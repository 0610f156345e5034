// SPDX-License-Identifier: BSD-2-Clause
//! The slot with a token file: PINs, logins, objects that stay, and who may see them. One test,
//! because where the token lies is the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::thread::ScopedJoinHandle;
use support::{attribute, child, forked, init_pin, login, logout, mechanism, passed, result};
use support::{set_pin, Session, Way};
use tenrounds_pkcs11::keyring::{self, Keyring};

const SLOT: CK_SLOT_ID = 1;
const TRUE: &[u8] = &[CK_TRUE];
const FALSE: &[u8] = &[CK_FALSE];
const SO_PIN: &[u8] = b"of the officer";
const PIN: &[u8] = b"1234";

fn init_token(slot: CK_SLOT_ID, pin: &[u8]) -> Result<(), CK_RV> {
    let mut label = [b' '; 32];
    label[..7].copy_from_slice(b"a token");
    let len = pin.len() as CK_ULONG;
    let pin = pin.as_ptr().cast_mut();
    result(ck!(C_InitToken(slot, pin, len, label.as_mut_ptr())))
}

fn token_info() -> Result<CK_TOKEN_INFO, CK_RV> {
    // SAFETY: the struct is of numbers and bytes.
    let mut info = unsafe { std::mem::zeroed() };
    result(ck!(C_GetTokenInfo(SLOT, &mut info)))?;
    Ok(info)
}

fn state(session: &Session) -> CK_STATE {
    // SAFETY: the struct is of numbers.
    let mut info: CK_SESSION_INFO = unsafe { std::mem::zeroed() };
    result(ck!(C_GetSessionInfo(session.0, &mut info))).unwrap();
    assert_eq!(info.slotID, SLOT);
    info.state
}

fn found(session: &Session, label: &[u8]) -> Result<Vec<CK_ULONG>, CK_RV> {
    let mut template = [attribute(CKA_LABEL, label)];
    let list = template.as_mut_ptr();
    result(ck!(C_FindObjectsInit(session.0, list, 1)))?;
    let (mut handles, mut count) = ([0; 100], 0);
    let to = handles.as_mut_ptr();
    result(ck!(C_FindObjects(session.0, to, 100, &mut count)))?;
    result(ck!(C_FindObjectsFinal(session.0)))?;
    Ok(handles[..count as usize].to_vec())
}

fn destroy(session: &Session, object: CK_ULONG) -> Result<(), CK_RV> {
    result(ck!(C_DestroyObject(session.0, object)))
}

fn change(
    session: &Session,
    object: CK_ULONG,
    kind: CK_ATTRIBUTE_TYPE,
    value: &[u8],
) -> Result<(), CK_RV> {
    let mut template = [attribute(kind, value)];
    let list = template.as_mut_ptr();
    result(ck!(C_SetAttributeValue(session.0, object, list, 1)))
}

fn stored_key(session: &Session, label: &[u8], value: &[u8]) -> Result<CK_ULONG, CK_RV> {
    session.key_with(CKK_AES, value, &[(CKA_TOKEN, TRUE), (CKA_LABEL, label)])
}

/// Before there is a file, the slot has a token that is not initialised.
fn without_a_file(path: &Path) {
    support::initialized();
    let flags = token_info().unwrap().flags;
    assert_eq!(
        flags & (CKF_TOKEN_INITIALIZED | CKF_USER_PIN_INITIALIZED),
        0
    );
    let refused = Session::on(SLOT, true).err();
    assert_eq!(refused, Some(CKR_TOKEN_NOT_RECOGNIZED));
    assert_eq!(init_token(SLOT, b"123"), Err(CKR_PIN_LEN_RANGE));
    assert_eq!(init_token(0, SO_PIN), Err(CKR_TOKEN_WRITE_PROTECTED));
    assert_eq!(init_token(7, SO_PIN), Err(CKR_SLOT_ID_INVALID));
    assert!(!path.exists());
}

/// The security officer makes the token and the user's PIN.
fn officer() {
    assert_eq!(init_token(SLOT, SO_PIN), Ok(()));
    let info = token_info().unwrap();
    assert_eq!(&info.label[..9], b"a token  ");
    assert_ne!(info.flags & CKF_TOKEN_INITIALIZED, 0);
    assert_eq!(info.flags & CKF_USER_PIN_INITIALIZED, 0);

    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(state(&session), CKS_RW_PUBLIC_SESSION);
    assert_eq!(init_token(SLOT, SO_PIN), Err(CKR_SESSION_EXISTS));
    assert_eq!(
        login(&session, CKU_USER, PIN),
        Err(CKR_USER_PIN_NOT_INITIALIZED)
    );
    assert_eq!(init_pin(&session, PIN), Err(CKR_USER_NOT_LOGGED_IN));
    {
        let _reader = Session::on(SLOT, false).unwrap();
        let refused = login(&session, CKU_SO, SO_PIN);
        assert_eq!(refused, Err(CKR_SESSION_READ_ONLY_EXISTS));
    }
    assert_eq!(login(&session, CKU_SO, PIN), Err(CKR_PIN_INCORRECT));
    assert_ne!(token_info().unwrap().flags & CKF_SO_PIN_COUNT_LOW, 0);
    assert_eq!(login(&session, CKU_SO, SO_PIN), Ok(()));
    assert_eq!(token_info().unwrap().flags & CKF_SO_PIN_COUNT_LOW, 0);
    assert_eq!(state(&session), CKS_RW_SO_FUNCTIONS);
    assert_eq!(
        login(&session, CKU_SO, SO_PIN),
        Err(CKR_USER_ALREADY_LOGGED_IN)
    );
    let refused = login(&session, CKU_USER, PIN);
    assert_eq!(refused, Err(CKR_USER_ANOTHER_ALREADY_LOGGED_IN));
    let refused = Session::on(SLOT, false).err();
    assert_eq!(refused, Some(CKR_SESSION_READ_WRITE_SO_EXISTS));
    assert_eq!(init_pin(&session, b"1"), Err(CKR_PIN_LEN_RANGE));
    assert_eq!(init_pin(&session, PIN), Ok(()));
    // The officer has no objects.
    assert_eq!(
        stored_key(&session, b"k", &[1; 16]),
        Err(CKR_USER_NOT_LOGGED_IN)
    );
    assert_eq!(logout(&session), Ok(()));
    assert_eq!(logout(&session), Err(CKR_USER_NOT_LOGGED_IN));
    assert_ne!(token_info().unwrap().flags & CKF_USER_PIN_INITIALIZED, 0);
}

/// Keys need a login, and stay when the sessions are gone.
fn keys() {
    let value = [7; 32];
    let session = Session::on(SLOT, true).unwrap();
    let refused = stored_key(&session, b"kept", &value);
    assert_eq!(refused, Err(CKR_USER_NOT_LOGGED_IN));
    let private = [(CKA_PRIVATE, TRUE)];
    let refused = session.key_with(CKK_AES, &value, &private);
    assert_eq!(refused, Err(CKR_USER_NOT_LOGGED_IN));
    let public = session.key(CKK_AES, &value);

    assert_eq!(login(&session, CKU_USER, b"4321"), Err(CKR_PIN_INCORRECT));
    assert_ne!(token_info().unwrap().flags & CKF_USER_PIN_COUNT_LOW, 0);
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    assert_eq!(state(&session), CKS_RW_USER_FUNCTIONS);
    let key = stored_key(&session, b"kept", &value).unwrap();
    assert_eq!(session.read(key, CKA_PRIVATE).as_deref(), Ok(TRUE));
    // Also if it is called public, it needs the login.
    let public_key: [(CK_ATTRIBUTE_TYPE, &[u8]); 3] = [
        (CKA_TOKEN, TRUE),
        (CKA_PRIVATE, FALSE),
        (CKA_LABEL, b"open"),
    ];
    let in_the_open = session.key_with(CKK_AES, &value, &public_key).unwrap();
    assert_eq!(session.read(in_the_open, CKA_PRIVATE).as_deref(), Ok(FALSE));

    // A reader sees it and uses it, but does not change the token.
    let reader = Session::on(SLOT, false).unwrap();
    assert_eq!(state(&reader), CKS_RO_USER_FUNCTIONS);
    assert_eq!(found(&reader, b"kept"), Ok(vec![key]));
    assert_eq!(
        stored_key(&reader, b"x", &value),
        Err(CKR_SESSION_READ_ONLY)
    );
    assert_eq!(destroy(&reader, key), Err(CKR_SESSION_READ_ONLY));
    assert_eq!(
        change(&reader, key, CKA_LABEL, b"x"),
        Err(CKR_SESSION_READ_ONLY)
    );
    // The slots share no handles.
    let other = Session::open();
    assert_eq!(found(&other, b"kept"), Ok(vec![]));

    let iv = [1; 16];
    let m = mechanism(CKM_AES_CBC_PAD, &iv);
    let sealed = session.crypt(Way::Encrypt, &m, key, b"some text").unwrap();
    let same = session.crypt(Way::Encrypt, &m, public, b"some text");
    assert_eq!(same.as_ref(), Ok(&sealed));

    // After a logout private handles are gone for good, and public ones are not.
    assert_eq!(logout(&session), Ok(()));
    assert_eq!(found(&session, b"kept"), Ok(vec![]));
    assert_eq!(found(&session, b"open"), Ok(vec![]));
    let refused = session.crypt(Way::Encrypt, &m, key, b"some text");
    assert_eq!(refused, Err(CKR_KEY_HANDLE_INVALID));
    assert!(session.crypt(Way::Encrypt, &m, public, b"x").is_ok());
    drop((session, reader));

    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(state(&session), CKS_RW_PUBLIC_SESSION);
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let again = found(&session, b"kept").unwrap();
    assert!(again.len() == 1 && again[0] != key);
    assert_eq!(found(&session, b"open").unwrap().len(), 1);
    let opened = session.crypt(Way::Decrypt, &m, again[0], &sealed);
    assert_eq!(opened.as_deref(), Ok(&b"some text"[..]));
    // The last session ends the login.
    drop(session);
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(state(&session), CKS_RW_PUBLIC_SESSION);
}

/// Attributes are stored with the key, and changes, too.
fn attributes() {
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let allowed = [CKM_AES_GCM.to_ne_bytes(), CKM_AES_CTR.to_ne_bytes()].concat();
    let given: [(CK_ATTRIBUTE_TYPE, &[u8]); 8] = [
        (CKA_TOKEN, TRUE),
        (CKA_LABEL, b"whole"),
        (CKA_ID, b"\0\x01id"),
        (CKA_SENSITIVE, TRUE),
        (CKA_EXTRACTABLE, FALSE),
        (CKA_WRAP, FALSE),
        (CKA_END_DATE, b"20991231"),
        (CKA_ALLOWED_MECHANISMS, &allowed),
    ];
    let before = session.key_with(CKK_AES, &[3; 24], &given).unwrap();
    let kinds = [
        CKA_CLASS,
        CKA_KEY_TYPE,
        CKA_ENCRYPT,
        CKA_VALUE_LEN,
        CKA_CHECK_VALUE,
        CKA_KEY_GEN_MECHANISM,
        CKA_ALWAYS_SENSITIVE,
        CKA_NEVER_EXTRACTABLE,
        CKA_LOCAL,
        CKA_START_DATE,
        CKA_UNIQUE_ID,
    ];
    let all = |session: &Session, key| -> Vec<_> {
        let given = given.iter().map(|(kind, _)| kind);
        let kinds = given.chain(&kinds);
        kinds.map(|kind| session.read(key, *kind)).collect()
    };
    let attributes = all(&session, before);
    assert!(attributes.iter().all(Result::is_ok));
    assert_eq!(
        session.read(before, CKA_VALUE),
        Err(CKR_ATTRIBUTE_SENSITIVE)
    );
    assert_eq!(logout(&session), Ok(()));
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let after = found(&session, b"whole").unwrap()[0];
    assert_eq!(all(&session, after), attributes);
    assert_eq!(session.read(after, CKA_VALUE), Err(CKR_ATTRIBUTE_SENSITIVE));

    assert_eq!(change(&session, after, CKA_ID, b"another"), Ok(()));
    assert_eq!(session.read(after, CKA_ID).as_deref(), Ok(&b"another"[..]));
    assert_eq!(
        change(&session, after, CKA_SENSITIVE, FALSE),
        Err(CKR_ATTRIBUTE_READ_ONLY)
    );
    assert_eq!(logout(&session), Ok(()));
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let after = found(&session, b"whole").unwrap()[0];
    assert_eq!(session.read(after, CKA_ID).as_deref(), Ok(&b"another"[..]));
    assert_eq!(destroy(&session, after), Ok(()));
    assert_eq!(found(&session, b"whole"), Ok(vec![]));
    assert_eq!(destroy(&session, after), Err(CKR_OBJECT_HANDLE_INVALID));
}

/// Data may be public: everybody reads them, and only the user writes them.
fn data() {
    let session = Session::on(SLOT, true).unwrap();
    let class = CKO_DATA.to_ne_bytes();
    let template: [(CK_ATTRIBUTE_TYPE, &[u8]); 4] = [
        (CKA_CLASS, &class),
        (CKA_TOKEN, TRUE),
        (CKA_LABEL, b"note"),
        (CKA_VALUE, b"for everybody"),
    ];
    assert_eq!(session.create(&template), Err(CKR_USER_NOT_LOGGED_IN));
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    session.create(&template).unwrap();
    assert_eq!(logout(&session), Ok(()));
    let note = found(&session, b"note").unwrap()[0];
    let value = session.read(note, CKA_VALUE);
    assert_eq!(value.as_deref(), Ok(&b"for everybody"[..]));
    assert_eq!(destroy(&session, note), Err(CKR_USER_NOT_LOGGED_IN));
}

fn pins() {
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(
        set_pin(&session, b"wrong", b"new pin"),
        Err(CKR_PIN_INCORRECT)
    );
    assert_eq!(set_pin(&session, PIN, b"new"), Err(CKR_PIN_LEN_RANGE));
    assert_eq!(set_pin(&session, PIN, b"new pin"), Ok(()));
    assert_eq!(login(&session, CKU_USER, PIN), Err(CKR_PIN_INCORRECT));
    assert_eq!(login(&session, CKU_USER, b"new pin"), Ok(()));
    assert_eq!(found(&session, b"kept").unwrap().len(), 1);
    let reader = Session::on(SLOT, false).unwrap();
    assert_eq!(
        set_pin(&reader, b"new pin", PIN),
        Err(CKR_SESSION_READ_ONLY)
    );
    assert_eq!(set_pin(&session, b"new pin", PIN), Ok(()));
    assert_eq!(
        login(&session, CKU_CONTEXT_SPECIFIC, PIN),
        Err(CKR_OPERATION_NOT_INITIALIZED)
    );
    assert_eq!(login(&session, 9, PIN), Err(CKR_USER_TYPE_INVALID));
}

/// C_LoginUser: a token's user has no name.
fn user_by_name() {
    let session = Session::on(SLOT, true).unwrap();
    let login_user = |name: &[u8], pin: &[u8]| {
        let (at, len) = (pin.as_ptr().cast_mut(), pin.len() as CK_ULONG);
        let name_len = name.len() as CK_ULONG;
        let name = name.as_ptr().cast_mut();
        let s = session.0;
        result(ck!(C_LoginUser(s, CKU_USER, at, len, name, name_len)))
    };
    assert_eq!(login_user(b"somebody", PIN), Err(CKR_ARGUMENTS_BAD));
    assert_eq!(login_user(b"", b"wrong"), Err(CKR_PIN_INCORRECT));
    assert_eq!(login_user(b"", PIN), Ok(()));
    assert_eq!(state(&session), CKS_RW_USER_FUNCTIONS);
    assert_eq!(
        login(&session, CKU_USER, PIN),
        Err(CKR_USER_ALREADY_LOGGED_IN)
    );
}

/// Each slot has the object of the profile, also before a login.
fn profile() {
    let session = Session::on(SLOT, false).unwrap();
    let class = CKO_PROFILE.to_ne_bytes();
    let mut template = [attribute(CKA_CLASS, &class)];
    let list = template.as_mut_ptr();
    assert_eq!(ck!(C_FindObjectsInit(session.0, list, 1)), CKR_OK);
    let (mut handles, mut count) = ([0; 2], 0);
    let to = handles.as_mut_ptr();
    assert_eq!(ck!(C_FindObjects(session.0, to, 2, &mut count)), CKR_OK);
    assert_eq!(count, 1);
}

/// The security officer vouches for wrapping keys that are not private.
fn trust(path: &Path) {
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let refused = session.key_with(CKK_AES, &[1; 16], &[(CKA_TRUSTED, TRUE)]);
    assert_eq!(refused, Err(CKR_ATTRIBUTE_READ_ONLY));
    let open: [(CK_ATTRIBUTE_TYPE, &[u8]); 3] = [
        (CKA_TOKEN, TRUE),
        (CKA_PRIVATE, FALSE),
        (CKA_LABEL, b"wrapper"),
    ];
    let wrapper = session.key_with(CKK_AES, &[1; 16], &open).unwrap();
    let trusted = |session: &Session, key| change(session, key, CKA_TRUSTED, TRUE);
    assert_eq!(trusted(&session, wrapper), Err(CKR_ATTRIBUTE_READ_ONLY));
    assert_eq!(logout(&session), Ok(()));

    assert_eq!(login(&session, CKU_SO, SO_PIN), Ok(()));
    assert_eq!(found(&session, b"kept"), Ok(vec![])); // private
    let wrapper = found(&session, b"wrapper").unwrap()[0];
    assert_eq!(trusted(&session, wrapper), Ok(()));
    let own: [(CK_ATTRIBUTE_TYPE, &[u8]); 4] = [
        (CKA_TOKEN, TRUE),
        (CKA_PRIVATE, FALSE),
        (CKA_TRUSTED, TRUE),
        (CKA_LABEL, b"own"),
    ];
    let own = session.key_with(CKK_AES, &[1; 16], &own).unwrap();
    assert_eq!(destroy(&session, own), Ok(()));
    assert_eq!(logout(&session), Ok(()));
    assert_eq!(found(&session, b"wrapper"), Ok(vec![]));

    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let wrapper = found(&session, b"wrapper").unwrap()[0];
    assert_eq!(session.read(wrapper, CKA_TRUSTED).as_deref(), Ok(TRUE));
    let careful: [(CK_ATTRIBUTE_TYPE, &[u8]); 3] = [
        (CKA_TOKEN, TRUE),
        (CKA_WRAP_WITH_TRUSTED, TRUE),
        (CKA_LABEL, b"careful"),
    ];
    let secret = session.key_with(CKK_AES, &[2; 16], &careful).unwrap();
    let wrap = |by| {
        let (mut m, mut out, mut n) = (mechanism(CKM_AES_KEY_WRAP_KWP, &[]), [0; 40], 40);
        let to = out.as_mut_ptr();
        result(ck!(C_WrapKey(session.0, &mut m, by, secret, to, &mut n)))
    };
    assert_eq!(wrap(wrapper), Ok(()));
    let other = session.key(CKK_AES, &[1; 16]);
    assert_eq!(wrap(other), Err(CKR_KEY_NOT_WRAPPABLE));
    // The tool, too.
    let keyring = Keyring::open(path.to_owned(), PIN).unwrap();
    let entries = keyring.entries().unwrap();
    let number = |label| entries.iter().find(|e| e.label == label).unwrap().number;
    let wrap = |by| keyring.wrap(number("careful"), number(by));
    assert!(wrap("wrapper").is_ok());
    assert!(matches!(wrap("open"), Err(keyring::Error::Forbidden(_))));
    assert_eq!(destroy(&session, secret), Ok(()));
    assert_eq!(destroy(&session, wrapper), Ok(()));
}

/// The lock of logins.
struct Logins {
    name: PathBuf,
    file: std::fs::File,
}

impl Logins {
    fn of(token: &Path) -> Logins {
        let name = token.with_extension("login");
        let file = std::fs::File::open(&name).unwrap();
        Logins { name, file }
    }

    /// Returns whether the lock was free.
    fn lock(&self) -> bool {
        // SAFETY: the descriptor is open.
        let locked = unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
        locked == 0
    }

    fn unlock(&self) {
        // SAFETY: the descriptor is open.
        let unlocked = unsafe { libc::flock(self.file.as_raw_fd(), libc::LOCK_UN) };
        assert_eq!(unlocked, 0);
    }

    /// Whether a login waits for the lock, which this holds, or is over.
    fn is_waited_for(&self, login: &ScopedJoinHandle<'_, Result<(), CK_RV>>) -> bool {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let links = links.filter_map(|link| std::fs::read_link(link.ok()?.path()).ok());
        login.is_finished() || links.filter(|link| *link == self.name).count() == 2
    }
}

/// A login that waits holds up neither C_CloseSession nor C_Finalize.
fn a_login_that_waits(path: &Path) {
    let logins = Logins::of(path);
    for finalizes in [false, true] {
        let session = Session::on(SLOT, true).unwrap();
        assert!(logins.lock());
        let waits = std::thread::scope(|scope| {
            let waits = scope.spawn(|| login(&session, CKU_USER, PIN));
            while !logins.is_waited_for(&waits) {
                std::thread::yield_now();
            }
            let ended = match finalizes {
                false => ck!(C_CloseSession(session.0)),
                true => ck!(C_Finalize(null_mut())),
            };
            assert_eq!(ended, CKR_OK);
            assert!(!waits.is_finished());
            logins.unlock();
            waits.join().unwrap()
        });
        if finalizes {
            assert_eq!(waits, Err(CKR_CRYPTOKI_NOT_INITIALIZED));
            assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
        } else {
            assert_eq!(waits, Err(CKR_SESSION_HANDLE_INVALID));
        }
        let session = Session::on(SLOT, true).unwrap();
        assert_eq!(state(&session), CKS_RW_PUBLIC_SESSION);
    }
}

/// A child of fork() has a token of its own, whatever another thread of the parent did.
fn in_child() {
    // SAFETY: the struct is of numbers and bytes.
    let mut info = unsafe { std::mem::zeroed() };
    assert_eq!(ck!(C_GetInfo(&mut info)), CKR_CRYPTOKI_NOT_INITIALIZED);
    assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(state(&session), CKS_RW_PUBLIC_SESSION);
    assert_eq!(found(&session, b"kept"), Ok(vec![]));
}

/// Forks while another thread waits in C_Login.
fn fork_beside_a_login_that_waits(path: &Path) {
    let (logins, session) = (Logins::of(path), Session::on(SLOT, true).unwrap());
    assert!(logins.lock());
    let waits = std::thread::scope(|scope| {
        let waits = scope.spawn(|| login(&session, CKU_USER, PIN));
        while !logins.is_waited_for(&waits) {
            std::thread::yield_now();
        }
        forked("a thread waits in C_Login", in_child);
        assert!(!waits.is_finished());
        logins.unlock();
        waits.join().unwrap()
    });
    assert_eq!(waits, Ok(()));
    assert_eq!(found(&session, b"kept").unwrap().len(), 1);
}

/// Forks while another thread checks a PIN: the child's copy of the lock's descriptor holds up
/// nobody, although the child lives on.
fn fork_beside_a_login_that_has_the_lock(path: &Path) {
    let (logins, session) = (Logins::of(path), Session::on(SLOT, true).unwrap());
    let mut ends = [0; 2];
    // SAFETY: the pointer is to two numbers.
    let made = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(made, 0);
    // SAFETY: the descriptors are open, and nobody else has them.
    let [mut reads, writes] = ends.map(|end| unsafe { std::fs::File::from_raw_fd(end) });
    let child = std::thread::scope(|scope| {
        let login = scope.spawn(|| login(&session, CKU_USER, PIN));
        while logins.lock() {
            logins.unlock();
            assert!(!login.is_finished(), "the login took no lock");
            std::thread::yield_now();
        }
        let child = child(|| {
            let writes = writes.as_raw_fd();
            // SAFETY: the child does not use it.
            unsafe { libc::close(writes) };
            reads.read_to_end(&mut Vec::new()).unwrap(); // until the parent closes its end
            in_child();
            let session = Session::on(SLOT, true).unwrap();
            assert_eq!(support::login(&session, CKU_USER, PIN), Ok(()));
            assert_eq!(found(&session, b"kept").unwrap().len(), 1);
        });
        assert_eq!(login.join().unwrap(), Ok(()));
        child
    });
    assert!(logins.lock(), "the child holds the lock of logins");
    logins.unlock();
    assert_eq!(logout(&session), Ok(()));
    drop(writes);
    passed("a thread checks a PIN", child);
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
}

/// A damaged file and one of a later version are refused, and stay as they are.
fn damaged(path: &Path) {
    let whole = std::fs::read(path).unwrap();
    let mut newer = whole.clone();
    newer[16] = 9;
    let mut spoiled = whole.clone();
    spoiled[300] ^= 1;
    for bad in [
        &newer,
        &spoiled,
        &whole[..whole.len() - 1].to_vec(),
        &vec![],
    ] {
        std::fs::write(path, bad).unwrap();
        assert_eq!(token_info().err(), Some(CKR_TOKEN_NOT_RECOGNIZED));
        let refused = Session::on(SLOT, true).err();
        assert_eq!(refused, Some(CKR_TOKEN_NOT_RECOGNIZED));
        assert_eq!(init_token(SLOT, SO_PIN), Err(CKR_TOKEN_NOT_RECOGNIZED));
        assert_eq!(&std::fs::read(path).unwrap(), bad);
    }
    std::fs::write(path, &whole).unwrap();
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    assert_eq!(found(&session, b"kept").unwrap().len(), 1);
}

/// What another process writes is seen at the next search.
fn another_process() {
    let session = Session::on(SLOT, true).unwrap();
    assert_eq!(login(&session, CKU_USER, PIN), Ok(()));
    let key = found(&session, b"kept").unwrap()[0];
    forked("another process", || {
        let changes = || -> Result<(), CK_RV> {
            result(ck!(C_Initialize(null_mut())))?;
            let session = Session::on(SLOT, true)?;
            login(&session, CKU_USER, PIN)?;
            stored_key(&session, b"of the child", &[5; 16])?;
            let kept = found(&session, b"kept")?;
            change(&session, kept[0], CKA_LABEL, b"renamed")
        };
        assert_eq!(changes(), Ok(()));
    });
    assert_eq!(found(&session, b"of the child").unwrap().len(), 1);
    // The same object under another label.
    assert_eq!(found(&session, b"renamed"), Ok(vec![key]));
    assert_eq!(found(&session, b"kept"), Ok(vec![]));
}

#[test]
fn a_token() {
    let name = format!("tenrounds-pkcs11-{}", std::process::id());
    let folder: PathBuf = std::env::temp_dir().join(name);
    let path = folder.join("token");
    std::env::set_var("TENROUNDS_TOKEN", &path);
    without_a_file(&path);
    officer();
    keys();
    attributes();
    data();
    pins();
    user_by_name();
    trust(&path);
    a_login_that_waits(&path);
    fork_beside_a_login_that_waits(&path);
    fork_beside_a_login_that_has_the_lock(&path);
    profile();
    damaged(&path);
    another_process();
    std::fs::remove_dir_all(&folder).unwrap();
}
