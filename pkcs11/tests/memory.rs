// SPDX-License-Identifier: BSD-2-Clause
//! Failing allocations. Rust ends the process when a small one fails, which stable Rust cannot
//! prevent. Messages with a key that the session keeps therefore allocate nothing. If an allocation
//! fails whose size depends on the caller, or on the number of sessions or objects, the call
//! returns CKR_HOST_MEMORY. One test, because the allocator is the process's.

// The arguments of ck! may be unsafe.
#![allow(clippy::disallowed_macros, clippy::macro_metavars_in_unsafe)]

mod support;

use cryptoki_sys::*;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use support::{attribute, bytes_of, mechanism, result, Session, Way};

/// An allocator that can fail, and counts.
struct Failing;

#[global_allocator]
static ALLOCATOR: Failing = Failing;

/// The least size that fails.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The allocations until one fails; those after it do not.
static COUNTDOWN: AtomicUsize = AtomicUsize::new(usize::MAX);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

/// No allocation of a call is larger, except those that the test makes fail.
const LARGE: usize = 4096;

// SAFETY: passes everything on to the system's allocator, or fails.
unsafe impl GlobalAlloc for Failing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        let fails = COUNTDOWN.load(Relaxed) != usize::MAX && COUNTDOWN.fetch_sub(1, Relaxed) == 1;
        if fails || layout.size() >= LIMIT.load(Relaxed) {
            return null_mut();
        }
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Runs a call while large allocations fail.
fn without_memory<T>(call: impl FnOnce() -> T) -> T {
    LIMIT.store(LARGE, Relaxed);
    let result = call();
    LIMIT.store(usize::MAX, Relaxed);
    result
}

/// The number of allocations of a call.
fn allocations(call: impl FnOnce()) -> usize {
    let before = ALLOCATIONS.load(Relaxed);
    call();
    ALLOCATIONS.load(Relaxed) - before
}

const REFUSED: Result<(), CK_RV> = Err(CKR_HOST_MEMORY);

fn open(handle: &mut CK_SESSION_HANDLE) -> Result<(), CK_RV> {
    let flags = CKF_SERIAL_SESSION | CKF_RW_SESSION;
    result(ck!(C_OpenSession(0, flags, null_mut(), None, handle)))
}

/// Opens sessions until there is no memory for more. All work, and more open when there is memory.
fn sessions() {
    let mut handles = Vec::with_capacity(10_000);
    let mut handle = 0;
    while without_memory(|| open(&mut handle)) != REFUSED {
        handles.push(handle);
        assert!(handles.len() < 10_000, "sessions need memory");
    }
    assert_eq!(without_memory(|| open(&mut handle)), REFUSED);
    for _ in 0..100 {
        open(&mut handle).unwrap();
        handles.push(handle);
    }
    let info = &mut CK_SESSION_INFO::default();
    for handle in handles {
        assert_eq!(ck!(C_GetSessionInfo(handle, info)), CKR_OK);
        let closed = without_memory(|| ck!(C_CloseSession(handle)));
        assert_eq!(closed, CKR_OK);
    }
}

/// Creates keys until there is no memory for more, and searches for them.
fn objects(session: &Session) {
    let class = CKO_SECRET_KEY.to_ne_bytes();
    let (kind, value) = (CKK_AES.to_ne_bytes(), [1; 16]);
    let mut template = [
        attribute(CKA_CLASS, &class),
        attribute(CKA_KEY_TYPE, &kind),
        attribute(CKA_VALUE, &value),
    ];
    let (s, at, count) = (session.0, template.as_mut_ptr(), template.len() as CK_ULONG);
    let create = || {
        let mut object = 0;
        result(ck!(C_CreateObject(s, at, count, &mut object))).map(|()| object)
    };
    let mut created = Vec::with_capacity(10_000);
    while let Ok(object) = without_memory(create) {
        created.push(object);
    }
    assert_eq!(without_memory(create), Err(CKR_HOST_MEMORY));
    for _ in 0..LARGE / size_of::<usize>() {
        created.push(create().unwrap());
    }
    let find = || result(ck!(C_FindObjectsInit(s, null_mut(), 0)));
    assert_eq!(without_memory(find), REFUSED);
    find().unwrap();
    let (mut found, mut n) = (vec![0; 10_000], 0);
    let all = || ck!(C_FindObjects(s, found.as_mut_ptr(), 10_000, &mut n));
    assert_eq!(without_memory(all), CKR_OK);
    assert_eq!(n as usize, created.len() + 1); // and the key of the other parts
    assert_eq!(ck!(C_FindObjectsFinal(s)), CKR_OK);
    for object in created {
        let destroyed = without_memory(|| ck!(C_DestroyObject(s, object)));
        assert_eq!(destroyed, CKR_OK);
    }
}

/// Attributes, AAD, pieces and overlapping buffers that are large.
fn large_arguments(session: &Session, key: CK_ULONG) {
    let large = vec![7; 2 * LARGE];
    let secret = |more: &[_]| session.key_with(CKK_AES, &[1; 16], more).map(|_| ());
    for kind in [CKA_LABEL, CKA_ID, CKA_ALLOWED_MECHANISMS] {
        assert_eq!(without_memory(|| secret(&[(kind, &large)])), REFUSED);
    }
    let long = || {
        session
            .key_with(CKK_GENERIC_SECRET, &large, &[])
            .map(|_| ())
    };
    assert_eq!(without_memory(long), REFUSED);

    let mut iv = [1; 12];
    let params = CK_GCM_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: large.as_ptr().cast_mut(),
        ulAADLen: large.len() as CK_ULONG,
        ulTagBits: 128,
    };
    let gcm = mechanism(CKM_AES_GCM, bytes_of(&params));
    let begin = || session.init(Way::Encrypt, &gcm, key);
    assert_eq!(without_memory(begin), REFUSED);
    let sealed = session.crypt(Way::Encrypt, &gcm, key, b"text").unwrap();
    assert_eq!(
        session.crypt(Way::Decrypt, &gcm, key, &sealed).unwrap(),
        b"text"
    );

    // Decryption in pieces collects them. An error ends the operation.
    session.init(Way::Decrypt, &gcm, key).unwrap();
    let piece = || session.update(Way::Decrypt, &large, &mut []).map(|_| ());
    assert_eq!(without_memory(piece), REFUSED);
    assert_eq!(piece(), Err(CKR_OPERATION_NOT_INITIALIZED));

    let cbc = mechanism(CKM_AES_CBC, &[3; 16]);
    session.init(Way::Encrypt, &cbc, key).unwrap();
    let mut room = large.clone();
    let (from, mut n) = (room.as_mut_ptr(), LARGE as CK_ULONG);
    let to = from.wrapping_add(5);
    let overlap = || result(ck!(C_Encrypt(session.0, from, n, to, &mut n)));
    assert_eq!(without_memory(overlap), REFUSED);
    assert_eq!(room, large, "an error leaves the output unchanged");
}

/// Messages with the key of the last message allocate nothing, whole or in pieces.
fn messages_allocate_nothing(session: &Session, key: CK_ULONG) {
    let ctr_params = CK_AES_CTR_PARAMS {
        ulCounterBits: 128,
        cb: [7; 16],
    };
    let mut iv = [1; 12];
    let gcm_params = CK_GCM_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: null_mut(),
        ulAADLen: 0,
        ulTagBits: 128,
    };
    let mechanisms = [
        mechanism(CKM_AES_ECB, &[]),
        mechanism(CKM_AES_CBC, &[3; 16]),
        mechanism(CKM_AES_CBC_PAD, &[3; 16]),
        mechanism(CKM_AES_CTR, bytes_of(&ctr_params)),
        mechanism(CKM_AES_GCM, bytes_of(&gcm_params)),
    ];
    let (text, mut out, mut back) = ([5; 320], [0; 400], [0; 400]);
    for m in &mechanisms {
        for way in [Way::Encrypt, Way::Decrypt] {
            session.init(way, m, key).unwrap(); // takes the key
            support::cancel(session.0, CKF_ENCRYPT | CKF_DECRYPT);
        }
        let mut round = || {
            session.init(Way::Encrypt, m, key).unwrap();
            let n = session.whole(Way::Encrypt, &text, Some(&mut out)).unwrap();
            session.init(Way::Decrypt, m, key).unwrap();
            let n = session.whole(Way::Decrypt, &out[..n], Some(&mut back));
            assert_eq!(n, Ok(text.len()));
            session.init(Way::Encrypt, m, key).unwrap();
            let n = session.update(Way::Encrypt, &text, &mut out).unwrap();
            session.finish(Way::Encrypt, Some(&mut out[n..])).unwrap();
        };
        round();
        assert_eq!(allocations(round), 0, "{:#x}", m.mechanism);
        assert_eq!(&back[..text.len()], &text);
    }
}

/// A session that closes when the flow ends.
fn opened() -> Result<Session, CK_RV> {
    let mut handle = 0;
    open(&mut handle)?;
    Ok(Session(handle))
}

/// Every kind of call with a session key.
fn calls() -> Result<(), CK_RV> {
    let session = opened()?;
    let mut other = 0;
    open(&mut other)?;
    let key = session.key_with(CKK_AES, &[1; 16], &[(CKA_LABEL, b"a name")])?;
    let cbc = mechanism(CKM_AES_CBC_PAD, &[3; 16]);
    let (mut sealed, mut text, mut mac) = ([0; 64], [0; 64], [0; 16]);
    session.init(Way::Encrypt, &cbc, key)?;
    let n = session.whole(Way::Encrypt, b"plaintext", Some(&mut sealed))?;
    session.init(Way::Decrypt, &cbc, key)?;
    let n = session.whole(Way::Decrypt, &sealed[..n], Some(&mut text))?;
    assert_eq!(&text[..n], b"plaintext");
    let (mut cmac, mut len) = (mechanism(CKM_AES_CMAC, &[]), 16);
    result(ck!(C_SignInit(session.0, &mut cmac, key)))?;
    let data = text.as_mut_ptr();
    result(ck!(C_Sign(session.0, data, 9, mac.as_mut_ptr(), &mut len)))?;
    result(ck!(C_FindObjectsInit(session.0, null_mut(), 0)))?;
    result(ck!(C_FindObjectsFinal(session.0)))?;
    result(ck!(C_DestroyObject(session.0, key)))?;
    result(ck!(C_CloseSession(other)))
}

/// The module from the start to its end.
fn whole_life() -> Result<(), CK_RV> {
    result(ck!(C_Initialize(null_mut())))?;
    calls()?;
    result(ck!(C_Finalize(null_mut())))
}

/// GCM in one call, and in pieces, which decryption collects.
fn gcm() -> Result<(), CK_RV> {
    let session = opened()?;
    let (mut iv, mut aad) = ([1; 12], [2; 20]);
    let params = CK_GCM_PARAMS {
        pIv: iv.as_mut_ptr(),
        ulIvLen: 12,
        ulIvBits: 96,
        pAAD: aad.as_mut_ptr(),
        ulAADLen: 20,
        ulTagBits: 128,
    };
    let m = mechanism(CKM_AES_GCM, bytes_of(&params));
    let key = session.key_with(CKK_AES, &[4; 32], &[])?;
    let (text, mut sealed, mut back) = ([5; 300], [0; 316], [0; 300]);
    session.init(Way::Encrypt, &m, key)?;
    session.whole(Way::Encrypt, &text, Some(&mut sealed))?;
    session.init(Way::Decrypt, &m, key)?;
    session.whole(Way::Decrypt, &sealed, Some(&mut back))?;
    assert_eq!(back, text);
    back.fill(0);
    session.init(Way::Decrypt, &m, key)?;
    for piece in sealed.chunks(100) {
        assert_eq!(session.update(Way::Decrypt, piece, &mut [])?, 0);
    }
    assert_eq!(session.finish(Way::Decrypt, Some(&mut back))?, 300);
    assert_eq!(back, text);
    Ok(())
}

fn generated(session: &Session) -> Result<CK_ULONG, CK_RV> {
    let (len, yes) = ((32 as CK_ULONG).to_ne_bytes(), [CK_TRUE]);
    let (mut m, mut key) = (mechanism(CKM_AES_KEY_GEN, &[]), 0);
    let mut template = [
        attribute(CKA_VALUE_LEN, &len),
        attribute(CKA_EXTRACTABLE, &yes),
        attribute(CKA_SENSITIVE, &[CK_FALSE]),
    ];
    let at = template.as_mut_ptr();
    result(ck!(C_GenerateKey(session.0, &mut m, at, 3, &mut key))).map(|()| key)
}

/// Generates two keys, and wraps and unwraps one with the other.
fn wrap() -> Result<(), CK_RV> {
    let session = opened()?;
    let (by, key) = (generated(&session)?, generated(&session)?);
    let (mut m, mut wrapped, mut n) = (mechanism(CKM_AES_KEY_WRAP, &[]), [0; 40], 40);
    let to = wrapped.as_mut_ptr();
    result(ck!(C_WrapKey(session.0, &mut m, by, key, to, &mut n)))?;
    let (class, aes) = (CKO_SECRET_KEY.to_ne_bytes(), CKK_AES.to_ne_bytes());
    let (yes, mut back) = ([CK_TRUE], 0);
    let mut template = [
        attribute(CKA_CLASS, &class),
        attribute(CKA_KEY_TYPE, &aes),
        attribute(CKA_EXTRACTABLE, &yes),
        attribute(CKA_SENSITIVE, &[CK_FALSE]),
    ];
    let list = template.as_mut_ptr();
    result(ck!(C_UnwrapKey(
        session.0, &mut m, by, to, n, list, 4, &mut back
    )))?;
    assert_eq!(
        session.read(back, CKA_VALUE)?,
        session.read(key, CKA_VALUE)?
    );
    Ok(())
}

/// Fails allocation n of a flow, and then runs the flow again, in a child. Returns how the child
/// ended: 0 right, 1 refused, 2 the flow has fewer allocations.
fn fail_in_child(n: usize, starts: bool, flow: fn() -> Result<(), CK_RV>) -> CK_RV {
    if starts {
        assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
    }
    COUNTDOWN.store(n, Relaxed);
    let first = flow();
    let failed = matches!(COUNTDOWN.swap(usize::MAX, Relaxed), 0 | usize::MAX);
    if first.is_err() {
        ck!(C_Finalize(null_mut())); // whether or not C_Initialize has succeeded
        if starts {
            assert_eq!(ck!(C_Initialize(null_mut())), CKR_OK);
        }
    }
    assert_eq!(flow(), Ok(()), "afterwards");
    match (first, failed) {
        (Ok(()), true) => 0,
        (Err(CKR_HOST_MEMORY), _) => 1,
        (Ok(()), false) => 2,
        (Err(rv), _) => panic!("the flow returns {rv:#x}"),
    }
}

/// Fails each allocation of some flows, in a child: a call fails or is right, or the process ends
/// by Rust's abort(). It never goes on with a wrong state. At least `least` have to fail, so that
/// the flow cannot end early unnoticed.
fn each_allocation(name: &str, starts: bool, least: usize, flow: fn() -> Result<(), CK_RV>) {
    let (mut right, mut refused, mut aborted) = (0, 0, 0);
    for n in 1.. {
        // SAFETY: the child only calls the module, and leaves by _exit().
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that waits for ever.
            unsafe { libc::alarm(60) };
            let passed = std::panic::catch_unwind(|| fail_in_child(n, starts, flow));
            // SAFETY: ends the child.
            unsafe { libc::_exit(passed.map_or(3, |code| code as i32)) };
        }
        let mut status = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        match (libc::WIFEXITED(status), libc::WEXITSTATUS(status)) {
            (true, 0) => right += 1,
            (true, 1) => refused += 1,
            (true, 2) => break,
            (false, _) if libc::WTERMSIG(status) == libc::SIGABRT => aborted += 1,
            _ => panic!("{name}, allocation {n}: status {status:#x}"),
        }
    }
    println!("{name}: {right} right, {refused} refused, {aborted} ended the process");
    assert!(right + refused + aborted >= least, "{name}");
}

#[test]
fn without_memory_calls_are_refused() {
    let session = Session::open();
    let key = session.key(CKK_AES, &[9; 16]);
    messages_allocate_nothing(&session, key);
    large_arguments(&session, key);
    sessions();
    objects(&session);
    each_allocation("calls", true, 10, calls);
    each_allocation("from start to end", false, 15, whole_life);
    each_allocation("GCM", true, 10, gcm);
    each_allocation("keys", true, 15, wrap);
}
