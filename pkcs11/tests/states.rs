// SPDX-License-Identifier: BSD-2-Clause
//! Random sequences of calls against a model of the standard's states (PKCS#11 sections 5.1 and
//! 5.2). The seed is printed; SEED= repeats a run.

// The seed is printed, and the arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::ptr::null_mut;
use support::{mechanism, result, Session, Way};

/// What the model knows of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Idle,
    Begun,
    /// After so many pieces of data.
    InPieces(usize),
}
use State::{Begun, Idle, InPieces};

/// How a call passes its output. C_Verify and C_VerifyFinal get a signature instead: one of a wrong
/// length, a wrong one, the right one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Room {
    Query,
    Small,
    Enough,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Init,
    InitBadKey,
    /// An Init function without a mechanism. A search has none.
    Cancel,
    Whole(Room),
    /// C_FindObjects, of a search.
    Update,
    /// The same with a pointer that is NULL.
    BadUpdate,
    Final(Room),
}

/// The operations of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Encrypt,
    Decrypt,
    Sign,
    Verify,
    Find,
}
use Kind::{Decrypt, Encrypt, Find, Sign, Verify};

const KINDS: [Kind; 5] = [Encrypt, Decrypt, Sign, Verify, Find];
struct Tested {
    session: Session,
    key: CK_ULONG,
    /// DATA under AES-GCM, and its AES-CMAC.
    sealed: Vec<u8>,
    mac: [u8; 16],
    states: [State; 5],
}

const DATA: [u8; 20] = [3; 20];
const IV: [u8; 12] = [1; 12];
/// Room for all pieces that a run may decrypt.
const MOST: usize = 20_000;

/// CK_GCM_PARAMS without ulIvBits.
fn gcm() -> Vec<u8> {
    let words = [IV.as_ptr() as CK_ULONG, 12, 0, 0, 128];
    words.iter().flat_map(|w| w.to_ne_bytes()).collect()
}

impl Tested {
    fn new() -> Tested {
        let session = Session::open();
        let key = session.key(CKK_AES, &[1; 16]);
        let gcm = gcm();
        let m = mechanism(CKM_AES_GCM, &gcm);
        let sealed = session.crypt(Way::Encrypt, &m, key, &DATA).unwrap();
        let (mut m, mut mac, mut n) = (mechanism(CKM_AES_CMAC, &[]), [0; 16], 16);
        let data = DATA.as_ptr().cast_mut();
        assert_eq!(ck!(C_SignInit(session.0, &mut m, key)), CKR_OK);
        let signed = ck!(C_Sign(session.0, data, 20, mac.as_mut_ptr(), &mut n));
        assert_eq!(signed, CKR_OK);
        Tested {
            session,
            key,
            sealed,
            mac,
            states: [Idle; 5],
        }
    }

    /// What an operation gets in one piece.
    fn input(&self, kind: Kind) -> (*mut u8, CK_ULONG) {
        let bytes = match kind {
            Decrypt => &self.sealed[..],
            _ => &DATA,
        };
        (bytes.as_ptr().cast_mut(), bytes.len() as CK_ULONG)
    }

    fn init(&self, kind: Kind, m: *mut CK_MECHANISM, key: CK_ULONG) -> CK_RV {
        let s = self.session.0;
        match kind {
            Encrypt => ck!(C_EncryptInit(s, m, key)),
            Decrypt => ck!(C_DecryptInit(s, m, key)),
            Sign => ck!(C_SignInit(s, m, key)),
            Verify => ck!(C_VerifyInit(s, m, key)),
            Find => ck!(C_FindObjectsInit(s, null_mut(), 0)),
        }
    }

    fn call(&self, kind: Kind, call: Call) -> Result<(), CK_RV> {
        let s = self.session.0;
        let (mut data, len) = self.input(kind);
        if matches!(call, Call::BadUpdate) {
            data = null_mut();
        }
        let mut memory = vec![0u64; MOST / 8]; // also for handles
        let memory = memory.as_mut_ptr().cast::<u8>();
        let out = |room: Room| match room {
            Room::Query => (null_mut(), 0),
            Room::Small => (memory, 15),
            Room::Enough => (memory, MOST as CK_ULONG),
        };
        let signature = |room: Room| {
            let (mut mac, mut len) = (self.mac, 16);
            match room {
                Room::Query => len = 15,
                Room::Small => mac[0] ^= 1,
                Room::Enough => {}
            }
            (mac, len)
        };
        let gcm = gcm();
        let mut m = match kind {
            Encrypt | Decrypt => mechanism(CKM_AES_GCM, &gcm),
            Sign | Verify | Find => mechanism(CKM_AES_CMAC, &[]),
        };
        let rv = match call {
            Call::Init => self.init(kind, &mut m, self.key),
            Call::InitBadKey => self.init(kind, &mut m, 12345),
            Call::Cancel => self.init(kind, null_mut(), 0),
            Call::Whole(room) => {
                let (to, mut n) = out(room);
                match kind {
                    Encrypt => ck!(C_Encrypt(s, data, len, to, &mut n)),
                    Decrypt => ck!(C_Decrypt(s, data, len, to, &mut n)),
                    Sign => ck!(C_Sign(s, data, len, to, &mut n)),
                    Verify => {
                        let (mut mac, n) = signature(room);
                        ck!(C_Verify(s, data, len, mac.as_mut_ptr(), n))
                    }
                    Find => ck!(C_FindObjects(s, null_mut(), 1, &mut n)),
                }
            }
            Call::Update | Call::BadUpdate => {
                let mut n = MOST as CK_ULONG;
                match kind {
                    Encrypt => ck!(C_EncryptUpdate(s, data, len, memory, &mut n)),
                    Decrypt => ck!(C_DecryptUpdate(s, data, len, memory, &mut n)),
                    Sign => ck!(C_SignUpdate(s, data, len)),
                    Verify => ck!(C_VerifyUpdate(s, data, len)),
                    Find => {
                        let to = if data.is_null() { data } else { memory };
                        ck!(C_FindObjects(s, to.cast(), 1, &mut n))
                    }
                }
            }
            Call::Final(room) => {
                let (to, mut n) = out(room);
                match kind {
                    Encrypt => ck!(C_EncryptFinal(s, to, &mut n)),
                    Decrypt => ck!(C_DecryptFinal(s, to, &mut n)),
                    Sign => ck!(C_SignFinal(s, to, &mut n)),
                    Verify => {
                        let (mut mac, n) = signature(room);
                        ck!(C_VerifyFinal(s, mac.as_mut_ptr(), n))
                    }
                    Find => ck!(C_FindObjectsFinal(s)),
                }
            }
        };
        result(rv)
    }

    /// What a call has to return, and the state after it.
    fn expected(&self, kind: Kind, call: Call) -> (Result<(), CK_RV>, State) {
        let state = self.states[kind as usize];
        let has_key = kind != Find;
        match (call, state) {
            (Call::Cancel, _) => (Ok(()), Idle),
            (Call::Init | Call::InitBadKey, Begun | InPieces(_)) => {
                (Err(CKR_OPERATION_ACTIVE), state)
            }
            (Call::InitBadKey, Idle) if has_key => (Err(CKR_KEY_HANDLE_INVALID), Idle),
            (Call::Init | Call::InitBadKey, Idle) => (Ok(()), Begun),
            (_, Idle) => (Err(CKR_OPERATION_NOT_INITIALIZED), Idle),
            (Call::BadUpdate, _) => (Err(CKR_ARGUMENTS_BAD), Idle),
            (Call::Whole(_), _) if kind == Find => (Err(CKR_ARGUMENTS_BAD), Idle),
            (Call::Final(_), _) if kind == Find => (Ok(()), Idle),
            (Call::Whole(_), InPieces(_)) => (Err(CKR_OPERATION_ACTIVE), Idle),
            (Call::Whole(room), Begun) => self.ended(kind, room, 1, Begun),
            (Call::Update, _) => (Ok(()), InPieces(pieces(state) + 1)),
            (Call::Final(room), state) => self.ended(kind, room, pieces(state), state),
        }
    }

    /// What the end of a message of so many pieces returns. With one piece, tag and MAC are right.
    fn ended(&self, kind: Kind, room: Room, n: usize, state: State) -> (Result<(), CK_RV>, State) {
        match (kind, room) {
            (Verify, Room::Query) => (Err(CKR_SIGNATURE_LEN_RANGE), Idle),
            (Verify, _) if room == Room::Small || n != 1 => (Err(CKR_SIGNATURE_INVALID), Idle),
            (Verify, _) => (Ok(()), Idle),
            (Decrypt, _) if n == 0 => (Err(CKR_ENCRYPTED_DATA_LEN_RANGE), Idle),
            (_, Room::Query) => (Ok(()), state),
            (_, Room::Small) => (Err(CKR_BUFFER_TOO_SMALL), state),
            (Decrypt, Room::Enough) if n != 1 => (Err(CKR_ENCRYPTED_DATA_INVALID), Idle),
            (_, Room::Enough) => (Ok(()), Idle),
        }
    }
}

fn pieces(state: State) -> usize {
    match state {
        InPieces(n) => n,
        _ => 0,
    }
}

#[test]
fn random_sequences() {
    let seed = std::env::var("SEED").map_or_else(
        |_| fastrand::u64(..),
        |seed| seed.parse().expect("SEED: a number"),
    );
    println!("states: SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let rooms = [Room::Query, Room::Small, Room::Enough];
    for _ in 0..100 {
        let mut tested = Tested::new();
        for step in 0..400 {
            let kind = KINDS[random.usize(0..KINDS.len())];
            let room = rooms[random.usize(0..3)];
            let before = tested.states;
            let call = match random.u32(0..16) {
                0..=5 => Call::Init,
                6 => Call::InitBadKey,
                7 if kind != Find => Call::Cancel,
                7..=9 => Call::Whole(room),
                10..=12 => Call::Update,
                13 => Call::BadUpdate,
                _ => Call::Final(room),
            };
            let (expected, next) = tested.expected(kind, call);
            let got = tested.call(kind, call);
            assert_eq!(
                got, expected,
                "step {step}: {kind:?} {call:?} in {before:?}"
            );
            tested.states[kind as usize] = next;
        }
    }
}

/// Every function answers a wrong session, and before C_Initialize there is nothing.
#[test]
fn wrong_handles_and_arguments() {
    let session = Session::open();
    for handle in [0, CK_ULONG::MAX, session.0 ^ 1 << 40] {
        assert_eq!(ck!(C_CloseSession(handle)), CKR_SESSION_HANDLE_INVALID);
        assert_eq!(
            ck!(C_EncryptFinal(handle, null_mut(), &mut 0)),
            CKR_SESSION_HANDLE_INVALID
        );
        assert_eq!(ck!(C_FindObjectsFinal(handle)), CKR_SESSION_HANDLE_INVALID);
    }
    let s = session.0;
    let mut info = CK_SLOT_ID::default();
    assert_eq!(
        ck!(C_GetSlotList(0, &mut info, null_mut())),
        CKR_ARGUMENTS_BAD
    );
    assert_eq!(ck!(C_GetInfo(null_mut())), CKR_ARGUMENTS_BAD);
    assert_eq!(ck!(C_GetSlotInfo(7, null_mut())), CKR_SLOT_ID_INVALID);
    assert_eq!(
        ck!(C_OpenSession(0, 0, null_mut(), None, null_mut())),
        CKR_SESSION_PARALLEL_NOT_SUPPORTED
    );
    assert_eq!(
        ck!(C_Initialize(null_mut())),
        CKR_CRYPTOKI_ALREADY_INITIALIZED
    );
    assert_eq!(ck!(C_GenerateRandom(s, null_mut(), 5)), CKR_ARGUMENTS_BAD);
    assert_eq!(
        ck!(C_GenerateRandom(s, null_mut(), CK_ULONG::MAX)),
        CKR_ARGUMENTS_BAD
    );
    assert_eq!(
        ck!(C_GetOperationState(s, null_mut(), &mut 0)),
        CKR_STATE_UNSAVEABLE
    );
    assert_eq!(ck!(C_GetFunctionStatus(s)), CKR_FUNCTION_NOT_PARALLEL);
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [0; 16];
    session
        .init(Way::Encrypt, &mechanism(CKM_AES_CBC, &iv), key)
        .unwrap();
    let mut one = 1u8;
    let bad: [&dyn Fn(*mut u8) -> CK_RV; 3] = [
        &|_| ck!(C_Encrypt(s, null_mut(), 16, null_mut(), &mut 0)),
        &|one| ck!(C_Encrypt(s, one, CK_ULONG::MAX, null_mut(), &mut 0)),
        &|one| ck!(C_EncryptUpdate(s, one, 1, null_mut(), null_mut())),
    ];
    for call in bad {
        assert_eq!(call(&mut one), CKR_ARGUMENTS_BAD);
        // It has ended the operation.
        assert_eq!(call(&mut one), CKR_OPERATION_NOT_INITIALIZED);
        session
            .init(Way::Encrypt, &mechanism(CKM_AES_CBC, &iv), key)
            .unwrap();
    }
}

/// Wrong arguments end a search, and do not hide that there is none.
#[test]
fn an_error_ends_searches() {
    let session = Session::open();
    let s = session.0;
    let (mut handle, mut count) = (0, 0);
    let lists = [
        (null_mut(), 1, &mut count as *mut CK_ULONG),
        (&mut handle, 1, null_mut()),
        (&mut handle, CK_ULONG::MAX, &mut count),
    ];
    for (to, most, count) in lists {
        let find = || ck!(C_FindObjects(s, to, most, count));
        assert_eq!(find(), CKR_OPERATION_NOT_INITIALIZED);
        assert_eq!(ck!(C_FindObjectsInit(s, null_mut(), 0)), CKR_OK);
        assert_eq!(find(), CKR_ARGUMENTS_BAD);
        assert_eq!(find(), CKR_OPERATION_NOT_INITIALIZED);
    }
}
