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
    InPieces,
}
use State::{Begun, Idle, InPieces};

/// How a call passes its output.
#[derive(Clone, Copy, Debug)]
enum Room {
    Query,
    Small,
    Enough,
}

#[derive(Clone, Copy, Debug)]
enum Call {
    Init,
    InitBadKey,
    Cancel,
    Whole(Room),
    Update,
    Final(Room),
}

/// The operations under test: those with output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Gcm,
    Digest,
    Cmac,
}

struct Tested {
    session: Session,
    key: CK_ULONG,
    states: [State; 3],
}

const DATA: [u8; 20] = [3; 20];

impl Tested {
    fn call(&self, kind: Kind, call: Call) -> Result<(), CK_RV> {
        let s = self.session.0;
        let (data, len) = (DATA.as_ptr().cast_mut(), DATA.len() as CK_ULONG);
        let mut memory = [0; 100];
        let out = |room: Room| match room {
            Room::Query => (null_mut(), 0),
            Room::Small => (memory.as_ptr().cast_mut(), 15),
            Room::Enough => (memory.as_ptr().cast_mut(), 100),
        };
        let iv = [1u8; 12];
        let words = [iv.as_ptr() as CK_ULONG, 12, 0, 0, 128];
        let gcm: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        let mut m = match kind {
            Kind::Gcm => mechanism(CKM_AES_GCM, &gcm),
            Kind::Digest => mechanism(CKM_SHA256, &[]),
            Kind::Cmac => mechanism(CKM_AES_CMAC, &[]),
        };
        let init = |m: *mut CK_MECHANISM, key| match kind {
            Kind::Gcm => ck!(C_EncryptInit(s, m, key)),
            Kind::Digest => ck!(C_DigestInit(s, m)),
            Kind::Cmac => ck!(C_SignInit(s, m, key)),
        };
        let rv = match call {
            Call::Init => init(&mut m, self.key),
            Call::InitBadKey => init(&mut m, 12345),
            Call::Cancel => init(null_mut(), 0),
            Call::Whole(room) => {
                let (to, mut n) = out(room);
                match kind {
                    Kind::Gcm => ck!(C_Encrypt(s, data, len, to, &mut n)),
                    Kind::Digest => ck!(C_Digest(s, data, len, to, &mut n)),
                    Kind::Cmac => ck!(C_Sign(s, data, len, to, &mut n)),
                }
            }
            Call::Update => match kind {
                Kind::Gcm => {
                    let mut n = 100;
                    ck!(C_EncryptUpdate(s, data, len, memory.as_mut_ptr(), &mut n))
                }
                Kind::Digest => ck!(C_DigestUpdate(s, data, len)),
                Kind::Cmac => ck!(C_SignUpdate(s, data, len)),
            },
            Call::Final(room) => {
                let (to, mut n) = out(room);
                match kind {
                    Kind::Gcm => ck!(C_EncryptFinal(s, to, &mut n)),
                    Kind::Digest => ck!(C_DigestFinal(s, to, &mut n)),
                    Kind::Cmac => ck!(C_SignFinal(s, to, &mut n)),
                }
            }
        };
        result(rv)
    }

    /// What a call has to return, and the state after it.
    fn expected(&self, kind: Kind, call: Call) -> (Result<(), CK_RV>, State) {
        let state = self.states[kind as usize];
        let end = |room, state| match room {
            Room::Query => (Ok(()), state),
            Room::Small => (Err(CKR_BUFFER_TOO_SMALL), state),
            Room::Enough => (Ok(()), Idle),
        };
        match (call, state) {
            (Call::Cancel, _) => (Ok(()), Idle),
            (Call::Init | Call::InitBadKey, Begun | InPieces) => (Err(CKR_OPERATION_ACTIVE), state),
            (Call::Init, Idle) => (Ok(()), Begun),
            // A digest has no key.
            (Call::InitBadKey, Idle) if kind == Kind::Digest => (Ok(()), Begun),
            (Call::InitBadKey, Idle) => (Err(CKR_KEY_HANDLE_INVALID), Idle),
            (_, Idle) => (Err(CKR_OPERATION_NOT_INITIALIZED), Idle),
            (Call::Whole(room), Begun) => end(room, Begun),
            (Call::Whole(_), InPieces) => (Err(CKR_OPERATION_ACTIVE), Idle),
            (Call::Update, _) => (Ok(()), InPieces),
            (Call::Final(room), state) => end(room, state),
        }
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
    for _ in 0..50 {
        let session = Session::open();
        let key = session.key(CKK_AES, &[1; 16]);
        let mut tested = Tested {
            session,
            key,
            states: [Idle; 3],
        };
        for step in 0..400 {
            let kind = [Kind::Gcm, Kind::Digest, Kind::Cmac][random.usize(0..3)];
            let room = rooms[random.usize(0..3)];
            let call = match random.u32(0..8) {
                0 | 1 => Call::Init,
                2 => Call::InitBadKey,
                3 if random.bool() => Call::Cancel,
                3 | 4 => Call::Whole(room),
                5 | 6 => Call::Update,
                _ => Call::Final(room),
            };
            let (expected, next) = tested.expected(kind, call);
            let got = tested.call(kind, call);
            let state = tested.states[kind as usize];
            assert_eq!(got, expected, "step {step}: {kind:?} {call:?} in {state:?}");
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

/// The dual-function calls, and what an error does to both operations.
#[test]
fn dual_functions() {
    let session = Session::open();
    let s = session.0;
    let key = session.key(CKK_AES, &[1; 16]);
    let iv = [0; 16];
    let (mut cbc, mut sha) = (mechanism(CKM_AES_CBC, &iv), mechanism(CKM_SHA256, &[]));
    let (mut cmac, none) = (mechanism(CKM_AES_CMAC, &[]), null_mut());
    let data = [7u8; 64];
    let at = data.as_ptr().cast_mut();
    let (mut out, mut n) = ([0u8; 64], 64);
    assert_eq!(
        ck!(C_DigestEncryptUpdate(s, at, 64, out.as_mut_ptr(), &mut n)),
        CKR_OPERATION_NOT_INITIALIZED
    );
    assert_eq!(ck!(C_EncryptInit(s, &mut cbc, key)), CKR_OK);
    assert_eq!(ck!(C_DigestInit(s, &mut sha)), CKR_OK);
    // A question and too little room reach neither operation.
    assert_eq!(ck!(C_DigestEncryptUpdate(s, at, 64, none, &mut n)), CKR_OK);
    n = 63;
    assert_eq!(
        ck!(C_DigestEncryptUpdate(s, at, 64, out.as_mut_ptr(), &mut n)),
        CKR_BUFFER_TOO_SMALL
    );
    assert_eq!(
        ck!(C_DigestEncryptUpdate(s, at, 64, out.as_mut_ptr(), &mut n)),
        CKR_OK
    );
    let (mut hash, mut len) = ([0u8; 32], 32);
    assert_eq!(ck!(C_DigestFinal(s, hash.as_mut_ptr(), &mut len)), CKR_OK);
    assert_eq!(ck!(C_DigestInit(s, &mut sha)), CKR_OK);
    let mut expected = [0u8; 32];
    assert_eq!(
        ck!(C_Digest(s, at, 64, expected.as_mut_ptr(), &mut len)),
        CKR_OK
    );
    assert_eq!(hash, expected);
    assert_eq!(ck!(C_EncryptFinal(s, hash.as_mut_ptr(), &mut len)), CKR_OK);
    // Back, in place, with a MAC of the plaintext.
    let mut mac = [0u8; 16];
    len = 16;
    assert_eq!(ck!(C_SignInit(s, &mut cmac, key)), CKR_OK);
    assert_eq!(ck!(C_Sign(s, at, 64, mac.as_mut_ptr(), &mut len)), CKR_OK);
    assert_eq!(ck!(C_DecryptInit(s, &mut cbc, key)), CKR_OK);
    assert_eq!(ck!(C_VerifyInit(s, &mut cmac, key)), CKR_OK);
    let both = out.as_mut_ptr();
    assert_eq!(
        ck!(C_DecryptVerifyUpdate(s, both, 64, both, &mut n)),
        CKR_OK
    );
    assert_eq!(out, data);
    assert_eq!(ck!(C_VerifyFinal(s, mac.as_mut_ptr(), 16)), CKR_OK);
    // An error ends both.
    assert_eq!(ck!(C_VerifyInit(s, &mut cmac, key)), CKR_OK);
    assert_eq!(
        ck!(C_DecryptVerifyUpdate(s, none, 64, both, &mut n)),
        CKR_ARGUMENTS_BAD
    );
    assert_eq!(
        ck!(C_VerifyFinal(s, mac.as_mut_ptr(), 16)),
        CKR_OPERATION_NOT_INITIALIZED
    );
    assert_eq!(
        ck!(C_DecryptFinal(s, both, &mut n)),
        CKR_OPERATION_NOT_INITIALIZED
    );
}
