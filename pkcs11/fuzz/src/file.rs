// SPDX-License-Identifier: BSD-2-Clause
//! Token files: a file with the records that an input describes, then with bytes of it changed, the
//! hash made right again or not. Whoever forges one knows the format; records under the right seal
//! stand for somebody with a PIN. What the module shows of it agrees with what it reads, and
//! nothing ends the process.

use crate::arguments::ATTRIBUTES;
use crate::ck;
use crate::input::Input;
use crate::support::{result, Session};
use cryptoki_sys::*;
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::OnceLock;
use tenrounds_pkcs11::keyring;
use token::format::{Costs, SERIAL_LEN};
use token::{Contents, Error, MasterKey, Record, Role, LABEL_LEN};

const SLOT: CK_SLOT_ID = 1;
const PIN: &[u8] = b"1234";
const SERIAL: [u8; SERIAL_LEN] = [b'5'; SERIAL_LEN];
const HASH_LEN: usize = 32;
/// As little as Argon2id takes, so that a login takes microseconds.
const COSTS: Costs = Costs {
    memory: 8,
    passes: 1,
    lanes: 1,
};

/// What all inputs share.
struct Base {
    path: PathBuf,
    master: MasterKey,
    contents: Contents,
}

/// Where scripts/fuzz says. The module reads the variable when it is first initialised.
fn base() -> &'static Base {
    static BASE: OnceLock<Base> = OnceLock::new();
    BASE.get_or_init(|| {
        let path = std::env::var_os(token::place::VARIABLE).expect("TENROUNDS_TOKEN is set");
        let backend = tenrounds_sys::select(None, 0).backend.expect("a backend");
        let master = MasterKey::generate(backend).expect("a key");
        let wrap = |role| {
            master
                .wrap(PIN, &SERIAL, role, COSTS, backend)
                .expect("a PIN")
        };
        let contents = Contents {
            label: [b'l'; LABEL_LEN],
            serial: SERIAL,
            costs: COSTS,
            wrong_pins: [0; 2],
            security_officer: wrap(Role::SecurityOfficer),
            user: Some(wrap(Role::User)),
            next_id: 1,
            written: 1,
            records: Vec::new(),
            seal: Default::default(),
        };
        Base {
            path: path.into(),
            master,
            contents,
        }
    })
}

pub fn fuzz(mut input: Input<'_>) {
    let base = base();
    let mut contents = base.contents.clone();
    for _ in 0..input.byte() % 6 {
        contents
            .records
            .push(record(&mut input, base, contents.next_id));
        contents.next_id += 1;
    }
    contents.seal = base.master.sign(&contents).expect("a seal");
    let mut bytes = contents.encode().expect("a file");
    let is_whole = !forge(&mut input, &mut bytes);
    let read = read(&bytes, &base.path);
    assert!(!is_whole || read.as_ref() == Some(&contents));
    replace(&base.path, &bytes);
    use_it(read.as_ref());
}

/// A record of attributes, each of a type that there is with a value of the right size or any; or a
/// record of any bytes.
fn record(input: &mut Input<'_>, base: &Base, id: u64) -> Record {
    let private = input.flag();
    let mut bytes = Vec::new();
    if input.byte() >= 0xe0 {
        bytes.extend_from_slice(input.bytes());
    } else {
        for _ in 0..input.byte() % 24 {
            put_attribute(input, &mut bytes);
        }
    }
    let record = base.master.seal(&SERIAL, id, private, &bytes);
    record.expect("a record")
}

// CK_ULONG is shorter on 32-bit systems.
#[allow(clippy::useless_conversion)]
fn put_attribute(input: &mut Input<'_>, out: &mut Vec<u8>) {
    let kind = u64::from(input.one_of(&ATTRIBUTES));
    let number;
    let value: &[u8] = match input.byte() {
        0..=0x3f => &[CK_TRUE],
        0x40..=0x7f => &[CK_FALSE],
        0x80..=0xbf => {
            number = u64::from(input.number()).to_le_bytes();
            &number
        }
        _ => input.bytes(),
    };
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(value);
}

/// Changes bytes of a file, cuts it off or lengthens it, and mostly makes its hash right again.
/// Returns whether the input asked for any.
fn forge(input: &mut Input<'_>, bytes: &mut Vec<u8>) -> bool {
    let changes = input.byte() % 8;
    bytes.truncate(bytes.len() - HASH_LEN);
    for _ in 0..changes {
        let at = usize::from(input.word());
        let value = input.byte();
        match at.checked_sub(0xff00) {
            Some(cut) => bytes.truncate(bytes.len() - cut.min(bytes.len())),
            None if at < bytes.len() => bytes[at] = value,
            None => bytes.extend(std::iter::repeat_n(value, at % 64)),
        }
    }
    let hash = Sha256::digest(&bytes);
    bytes.extend_from_slice(&hash);
    if changes > 0 && input.byte() == 0xff {
        let last = bytes.len() - 1;
        bytes[last] ^= 1;
    }
    changes > 0
}

/// What is read is written in the same way.
fn read(bytes: &[u8], path: &Path) -> Option<Contents> {
    match Contents::decode(bytes, path) {
        Ok(contents) => {
            assert_eq!(contents.encode().expect("it was read"), bytes);
            Some(contents)
        }
        Err(Error::Damaged(..) | Error::Newer(..)) => None,
        Err(error) => panic!("{error}"),
    }
}

/// As every program replaces a token file, but not kept if the machine stops.
fn replace(path: &Path, bytes: &[u8]) {
    use std::os::unix::fs::OpenOptionsExt;
    let new = path.with_extension("fuzzed");
    let mut options = std::fs::OpenOptions::new();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    let mut file = options.open(&new).expect("a file");
    std::io::Write::write_all(&mut file, bytes).expect("room");
    std::fs::rename(&new, path).expect("a file");
}

/// Uses the token as a program does. `contents`: None if the file is damaged.
fn use_it(contents: Option<&Contents>) {
    // SAFETY: the struct is of numbers and bytes.
    let mut info: CK_TOKEN_INFO = unsafe { std::mem::zeroed() };
    let told = expected("C_GetTokenInfo", ck!(C_GetTokenInfo(SLOT, &mut info)));
    assert!(contents.is_some() || told.is_err() || info.flags & CKF_TOKEN_INITIALIZED == 0);
    let Ok(session) = Session::on(SLOT, true) else {
        return;
    };
    let Some(contents) = contents else {
        assert!(objects(&session).is_err(), "objects of a damaged file");
        return;
    };
    let public = objects(&session);
    // Such a login waits for seconds, or takes them.
    let Costs { memory, passes, .. } = contents.costs;
    if contents.wrong_pins[Role::User as usize] > 2 || memory > 64 || passes > 8 {
        return;
    }
    let (pin, len) = (PIN.as_ptr().cast_mut(), PIN.len() as CK_ULONG);
    let code = ck!(C_Login(session.0, CKU_USER, pin, len));
    if expected("C_Login", code).is_ok() {
        let all = objects(&session);
        if let (Ok(public), Ok(all)) = (public, all) {
            assert!(public <= all && all <= contents.records.len() + 1);
        }
        expected("C_Logout", ck!(C_Logout(session.0))).expect("somebody is logged in");
    } else {
        return; // the next one would wait for a second
    }
    if let Ok(keyring) = keyring::Keyring::open(base().path.clone(), PIN) {
        let _ = keyring.entries();
    }
}

/// Reads and uses every object; returns how many there are.
fn objects(session: &Session) -> Result<usize, CK_RV> {
    let s = session.0;
    expected(
        "C_FindObjectsInit",
        ck!(C_FindObjectsInit(s, null_mut(), 0)),
    )?;
    let (mut handles, mut count) = ([0; 16], 0);
    let to = handles.as_mut_ptr();
    expected("C_FindObjects", ck!(C_FindObjects(s, to, 16, &mut count)))?;
    expected("C_FindObjectsFinal", ck!(C_FindObjectsFinal(s)))?;
    for object in &handles[..count as usize] {
        for kind in ATTRIBUTES {
            match session.read(*object, kind) {
                Ok(_) | Err(CKR_ATTRIBUTE_TYPE_INVALID | CKR_ATTRIBUTE_SENSITIVE) => {}
                Err(code) => panic!("attribute {kind:#x}: {code:#x}"),
            }
        }
        let mut m = crate::support::mechanism(CKM_AES_ECB, &[]);
        if result(ck!(C_EncryptInit(s, &mut m, *object))).is_ok() {
            let (mut block, mut n) = ([0; 16], 16);
            let at = block.as_mut_ptr();
            let code = ck!(C_Encrypt(s, at, 16, at, &mut n));
            expected("C_Encrypt", code).expect("a block");
        }
        let mut copy = 0;
        let mut template = [crate::support::attribute(CKA_TOKEN, &[CK_FALSE])];
        let code = ck!(C_CopyObject(
            s,
            *object,
            template.as_mut_ptr(),
            1,
            &mut copy
        ));
        let _ = expected("C_CopyObject", code);
    }
    Ok(count as usize)
}

/// A code that the standard knows. Argon2id refuses costs by CKR_FUNCTION_FAILED.
fn expected(what: &str, code: CK_RV) -> Result<(), CK_RV> {
    let known = crate::is_expected(code) || (what == "C_Login" && code == CKR_FUNCTION_FAILED);
    assert!(known, "{what} returns {code:#x}");
    result(code)
}
