// SPDX-License-Identifier: BSD-2-Clause
//! Intel's ipsec-mb, opened at run time. One and many streams: ECB, CBC and CTR as a burst of
//! ciphers, many streams of CCM and CMAC through its queue of jobs, without its checks of
//! arguments; GCM by its direct calls. CCM and CMAC not with keys of 192 bits. A job is a whole
//! message, so there are only whole blocks in the modes that stream, and the adapter carries the IV
//! on.
//!
//! Numbers and structures are those of intel-ipsec-mb.h, version 2.0.

use super::{check_tag, fetched, takes_part};
use crate::call::{whole, Memory};
use crate::peer::{Aad, Direction, Inputs, Mode, Operation, Peer, Prepared, Spec, TAG};
use libcrypto::functions;
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};
use terminal::error::{Error, Result};

const NONCE: usize = 12;
/// IMB_MAX_BURST_SIZE
const MOST_STREAMS: usize = 128;
/// What jobs side by side may have: their lengths are 16 bits inside, and longer ones are left
/// undone without its checks.
const LONGEST_IN_LANES: usize = (1 << 16) - 2;

// IMB_CIPHER_MODE
const CBC: c_int = 1;
const CNTR: c_int = 2;
const NULL: c_int = 3;
const CCM: c_int = 9;
const ECB: c_int = 12;
// IMB_HASH_ALG
const AUTH_NULL: c_int = 8;
const AUTH_CCM: c_int = 11;
const AUTH_CMAC: c_int = 12;
const AUTH_CMAC_256: c_int = 27;
// IMB_CHAIN_ORDER
const CIPHER_HASH: c_int = 1;
const HASH_CIPHER: c_int = 2;

/// The places in IMB_MGR of the functions that are used, counted from get_next_job.
const KEYEXP_128: usize = 6;
const CMAC_SUBKEY_GEN_128: usize = 9;
const CMAC_SUBKEY_GEN_256: usize = 93;
const GCM128_ENC: usize = 24;
const GCM128_DEC: usize = 27;
const GCM128_PRE: usize = 48;
const GET_NEXT_BURST: usize = 111;
const SUBMIT_BURST_NOCHECK: usize = 113;
const FLUSH_BURST: usize = 114;
const SUBMIT_CIPHER_BURST_NOCHECK: usize = 116;
const SET_SUITE_ID: usize = 122;
const FUNCTIONS: usize = 123;

/// The beginning of IMB_MGR.
#[repr(C)]
struct Manager {
    flags: u64,
    features: u64,
    reserved: [u64; 5],
    used_arch: u32,
    imb_errno: c_int,
    functions: [*const c_void; FUNCTIONS],
}

/// IMB_JOB
#[repr(C)]
#[derive(Clone, Copy)]
struct Job {
    enc_keys: *const c_void,
    dec_keys: *const c_void,
    key_len_in_bytes: u64,
    src: *const u8,
    dst: *mut u8,
    cipher_start_src_offset_in_bytes: u64,
    msg_len_to_cipher_in_bytes: u64,
    hash_start_src_offset_in_bytes: u64,
    msg_len_to_hash_in_bytes: u64,
    iv: *const u8,
    iv_len_in_bytes: u64,
    auth_tag_output: *mut u8,
    auth_tag_output_len_in_bytes: u64,
    /// CCM: additional data and its length; CMAC: the expanded key, and two subkeys.
    u: [*const c_void; 3],
    status: c_int,
    cipher_mode: c_int,
    cipher_direction: c_int,
    hash_alg: c_int,
    chain_order: c_int,
    user_data: [*mut c_void; 2],
    custom: [*const c_void; 2],
    sgl_state: c_int,
    next_iv: *mut c_void,
    /// The library fills these.
    suite: [u64; 2],
}
const _: () = assert!(size_of::<Job>() == 216);

type Pre = unsafe extern "C" fn(*const u8, *mut c_void);
type KeyExp = unsafe extern "C" fn(*const u8, *mut c_void, *mut c_void);
type Subkeys = unsafe extern "C" fn(*const c_void, *mut c_void, *mut c_void);
type Gcm = unsafe extern "C" fn(
    *const c_void,
    *mut c_void,
    *mut u8,
    *const u8,
    u64,
    *const u8,
    *const u8,
    u64,
    *mut u8,
    u64,
);
type SetSuite = unsafe extern "C" fn(*mut Manager, *mut Job);
type Burst = unsafe extern "C" fn(*mut Manager, u32, *mut *mut Job) -> u32;
type CipherBurst = unsafe extern "C" fn(*mut Manager, *mut Job, u32, c_int, c_int, c_int) -> u32;

functions! {
    /// intel-ipsec-mb.h
    Functions {
        fn imb_get_version() -> u32;
        fn imb_get_version_str() -> *const c_char;
        fn alloc_mb_mgr(u64) -> *mut Manager;
        fn free_mb_mgr(*mut Manager);
        fn init_mb_mgr_auto(*mut Manager, *mut c_int);
    }
}

#[derive(Clone, Copy)]
struct IpsecMb {
    calls: Functions,
}

pub fn open() -> Result<Peer> {
    let (_, origin) = fetched::known("ipsec-mb")?;
    let library = fetched::open("libIPSec_MB.so.2")?;
    let calls = Functions::load(library)?;
    // SAFETY: these take nothing and return constants.
    let (number, version) = unsafe {
        let text = CStr::from_ptr((calls.imb_get_version_str)());
        ((calls.imb_get_version)(), text)
    };
    let version = version.to_string_lossy().into_owned();
    if number >> 8 != 0x200 {
        return Err(Error::absent(format!(
            "this is {version}, and only the structures of 2.0 are known"
        )));
    }
    let path = library.file("alloc_mb_mgr")?;
    let (title, version) = (
        format!("ipsec-mb {version}"),
        format!("{version} ({})", path.display()),
    );
    let opened = IpsecMb { calls };
    let prepare = move |spec: Spec, bytes, inputs: &Inputs| opened.prepare(spec, bytes, inputs);
    let peer = Peer::new("ipsec-mb".into(), title, version, prepare);
    Ok(peer.from(origin))
}

impl IpsecMb {
    fn prepare(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Prepared {
        let apart = spec.gap > 0 && spec.mode != Mode::Cbc;
        if spec.streams > MOST_STREAMS || !takes_part(spec, bytes) || apart {
            return Ok(None);
        }
        if spec.mode.streams() && spec.lengths(bytes).iter().any(|n| n % 16 != 0) {
            return Ok(None);
        }
        let in_lanes = match spec.mode {
            Mode::Cbc => spec.direction == Direction::Encrypt,
            mode => matches!(mode, Mode::Ccm | Mode::Cmac),
        };
        let longest = spec.lengths(bytes).into_iter().max().unwrap_or(0);
        if in_lanes && longest > LONGEST_IN_LANES {
            return Ok(None);
        }
        match (spec.mode, spec.key_bits) {
            (Mode::Gcm, _) if spec.streams == 1 => self.gcm(spec, bytes, inputs).map(Some),
            // Counters of 32 bits overflow in one stream or another.
            (Mode::Ctr, _) if spec.streams > 1 => Ok(None),
            (Mode::Ecb, _) if spec.streams > 1 => Ok(None),
            (Mode::Ecb | Mode::Cbc | Mode::Ctr, _) => {
                Ok(Some(Box::new(Bursts(self.jobs(spec, bytes, inputs)?))))
            }
            (Mode::Ccm | Mode::Cmac, 128 | 256) if spec.streams > 1 => {
                Ok(Some(Box::new(Queue(self.jobs(spec, bytes, inputs)?))))
            }
            _ => Ok(None),
        }
    }
}

/// An IMB_MGR of its own for each operation.
struct Owned {
    manager: *mut Manager,
    calls: Functions,
}

impl Owned {
    /// One of its functions. T is its type, for which the caller vouches.
    fn function<T: Copy>(&self, place: usize) -> T {
        const { assert!(size_of::<T>() == size_of::<*const c_void>()) };
        // SAFETY: the manager was initialised, which has set all its functions.
        unsafe { std::mem::transmute_copy(&(&(*self.manager).functions)[place]) }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it came from alloc_mb_mgr(), and is freed once.
        unsafe { (self.calls.free_mb_mgr)(self.manager) }
    }
}

impl IpsecMb {
    fn manager(&self) -> Result<Owned> {
        // SAFETY: it is initialised before it is used; nobody asks for the architecture.
        unsafe {
            let manager = (self.calls.alloc_mb_mgr)(0);
            if manager.is_null() {
                return Err(Error::failure("ipsec-mb: no memory"));
            }
            (self.calls.init_mb_mgr_auto)(manager, null_mut());
            let calls = self.calls;
            Ok(Owned { manager, calls })
        }
    }

    fn gcm(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        let manager = self.manager()?;
        let size = usize::from(spec.key_bits - 128) / 64;
        let pre: Pre = manager.function(GCM128_PRE + size);
        let direction = match spec.direction {
            Direction::Encrypt => GCM128_ENC,
            Direction::Decrypt => GCM128_DEC,
        };
        let crypt: Gcm = manager.function(direction + size);
        // struct gcm_key_data has up to 1264 bytes, struct gcm_context_data 88.
        let (key, context) = (Memory::new(2048), Memory::new(128));
        // SAFETY: the key is as long as the function wants it.
        unsafe { pre(inputs.key.as_ptr(), key.pointer()) };
        let (iv, aad) = (inputs.iv, inputs.aad(spec));
        let message = move |input: &[u8], output: &mut [u8], tag: &mut [u8; TAG]| {
            let _ = &manager;
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            let (key, context) = (key.pointer(), context.pointer());
            let (from, to, n) = (input.as_ptr(), output.as_mut_ptr(), bytes as u64);
            let (iv, data, tag) = (iv.as_ptr(), aad.pointer(), tag.as_mut_ptr());
            let aad_len = aad.len() as u64;
            // SAFETY: the lengths are those of the buffers.
            unsafe {
                crypt(
                    key, context, to, from, n, iv, data, aad_len, tag, TAG as u64,
                )
            }
        };
        Ok(match spec.direction {
            Direction::Encrypt => whole(move |input, output| {
                let (data, tag) = output.split_at_mut(bytes);
                let tag = tag.first_chunk_mut().expect("room for the tag");
                message(input, data, tag);
            }),
            Direction::Decrypt => whole(move |input, output| {
                let (data, tag) = input.split_at(bytes);
                let mut computed = [0; TAG];
                message(data, output, &mut computed);
                check_tag(&computed, tag);
            }),
        })
    }

    /// Everything that the jobs of one operation have, but where input and output are.
    fn jobs(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Jobs> {
        let manager = self.manager()?;
        let size = usize::from(spec.key_bits - 128) / 64;
        let expand: KeyExp = manager.function(KEYEXP_128 + size);
        // 15 round keys for each direction, and two subkeys, on 64 bytes each.
        let keys = Memory::new(1024);
        let at = |offset: usize| keys.pointer().wrapping_byte_add(offset);
        let (enc, dec, subkeys) = (at(0), at(256), [at(512), at(576)]);
        let long = spec.key_bits == 256;
        let subkey: Subkeys = manager.function(if long {
            CMAC_SUBKEY_GEN_256
        } else {
            CMAC_SUBKEY_GEN_128
        });
        // SAFETY: the key is as long as the function wants it, and there is room for what it
        // writes.
        unsafe {
            expand(inputs.key.as_ptr(), enc, dec);
            if spec.mode == Mode::Cmac {
                subkey(enc, subkeys[0], subkeys[1]);
            }
        }
        let encrypt = spec.direction == Direction::Encrypt;
        let aad = inputs.aad(spec);
        let (cipher, hash) = match spec.mode {
            Mode::Ecb => (ECB, AUTH_NULL),
            Mode::Cbc => (CBC, AUTH_NULL),
            Mode::Ctr => (CNTR, AUTH_NULL),
            Mode::Ccm => (CCM, AUTH_CCM),
            _ => (NULL, if long { AUTH_CMAC_256 } else { AUTH_CMAC }),
        };
        let ccm = spec.mode == Mode::Ccm;
        let template = Job {
            enc_keys: enc,
            dec_keys: if ccm { enc } else { dec },
            key_len_in_bytes: u64::from(spec.key_bits) / 8,
            iv_len_in_bytes: if ccm { NONCE as u64 } else { 16 },
            auth_tag_output_len_in_bytes: TAG as u64,
            u: match ccm {
                true => [aad.pointer().cast(), aad.len() as *const c_void, null()],
                false => [enc.cast_const(), subkeys[0], subkeys[1]],
            },
            cipher_mode: cipher,
            cipher_direction: if encrypt { 1 } else { 2 },
            hash_alg: hash,
            chain_order: match encrypt && hash != AUTH_NULL {
                true => HASH_CIPHER,
                false => CIPHER_HASH,
            },
            // SAFETY: numbers and pointers may be 0.
            ..unsafe { std::mem::zeroed() }
        };
        let lengths = spec.lengths(bytes);
        let ivs: Vec<[u8; 16]> = (0..lengths.len()).map(|i| inputs.iv_of(i)).collect();
        let jobs = lengths.iter().zip(&ivs).map(|(&n, iv)| Job {
            msg_len_to_cipher_in_bytes: n as u64,
            msg_len_to_hash_in_bytes: n as u64,
            iv: iv.as_ptr(),
            ..template
        });
        let mut jobs: Vec<Job> = jobs.collect();
        let set: SetSuite = manager.function(SET_SUITE_ID);
        for job in &mut jobs {
            // SAFETY: its algorithms are set.
            unsafe { set(manager.manager, job) };
        }
        Ok(Jobs {
            jobs,
            manager,
            _keys: keys,
            _aad: aad,
            ivs,
            first_iv: inputs.iv,
            tags: vec![[0; TAG]; lengths.len()],
            lengths,
            spec,
            input_bytes: spec.input_bytes(bytes),
            output_bytes: spec.output_bytes(bytes),
        })
    }
}

struct Jobs {
    manager: Owned,
    /// The jobs point into these four.
    _keys: Memory,
    _aad: Aad,
    ivs: Vec<[u8; 16]>,
    tags: Vec<[u8; TAG]>,
    jobs: Vec<Job>,
    lengths: Vec<usize>,
    first_iv: [u8; 16],
    spec: Spec,
    input_bytes: usize,
    output_bytes: usize,
}

impl Jobs {
    /// Lets the jobs point to these buffers, stream after stream.
    #[inline]
    fn point(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(input.len() >= self.input_bytes && output.len() >= self.output_bytes);
        let (mut from, mut to) = (input.as_ptr(), output.as_mut_ptr());
        let encrypt = self.spec.direction == Direction::Encrypt;
        for ((job, &n), tag) in self.jobs.iter_mut().zip(&self.lengths).zip(&mut self.tags) {
            (job.src, job.dst) = (from, to);
            from = from.wrapping_add(n + self.spec.gap);
            // What is sealed has its tag behind it; what is to be opened brings one, which is
            // compared afterwards.
            match self.spec.mode {
                Mode::Cmac => {
                    job.auth_tag_output = to;
                    to = to.wrapping_add(TAG);
                }
                Mode::Ccm if encrypt => {
                    job.auth_tag_output = to.wrapping_add(n);
                    to = to.wrapping_add(n + TAG);
                }
                Mode::Ccm => {
                    job.auth_tag_output = tag.as_mut_ptr();
                    from = from.wrapping_add(TAG);
                    to = to.wrapping_add(n);
                }
                _ => to = to.wrapping_add(n + self.spec.gap),
            }
        }
    }

    #[inline]
    fn check_tags(&self, input: &[u8]) {
        if self.spec.mode == Mode::Ccm && self.spec.direction == Direction::Decrypt {
            let mut end = 0;
            for (n, tag) in self.lengths.iter().zip(&self.tags) {
                end += n + TAG;
                check_tag(tag, &input[end - TAG..end]);
            }
        }
    }
}

/// IMB_SUBMIT_CIPHER_BURST_NOCHECK(): done when it returns.
struct Bursts(Jobs);

impl Bursts {
    #[inline]
    fn submit(&mut self) {
        let j = &mut self.0;
        let burst: CipherBurst = j.manager.function(SUBMIT_CIPHER_BURST_NOCHECK);
        let count = j.jobs.len() as u32;
        let first = &j.jobs[0];
        let (mode, direction) = (first.cipher_mode, first.cipher_direction);
        let key = first.key_len_in_bytes as c_int;
        // SAFETY: the jobs are complete.
        let done = unsafe {
            burst(
                j.manager.manager,
                j.jobs.as_mut_ptr(),
                count,
                mode,
                direction,
                key,
            )
        };
        assert_eq!(done, count, "ipsec-mb does not complete its jobs");
    }

    /// Counter mode of one stream. The library counts in 32 bits, so a message ends where these
    /// overflow.
    #[inline]
    fn count(&mut self, input: &[u8], output: &mut [u8]) {
        let blocks = self.0.lengths[0] / 16;
        let mut done = 0;
        while done < blocks {
            let counter = u128::from_be_bytes(self.0.ivs[0]);
            let room = (1usize << 32) - (counter as u32) as usize;
            let now = room.min(blocks - done);
            let job = &mut self.0.jobs[0];
            job.src = input[done * 16..].as_ptr();
            job.dst = output[done * 16..].as_mut_ptr();
            job.msg_len_to_cipher_in_bytes = now as u64 * 16;
            self.submit();
            self.0.ivs[0] = counter.wrapping_add(now as u128).to_be_bytes();
            done += now;
        }
    }
}

impl Operation for Bursts {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.0.point(input, output);
        if self.0.spec.streams > 1 {
            return self.submit();
        }
        if self.0.spec.mode == Mode::Ctr {
            return self.count(input, output);
        }
        self.submit();
        if self.0.spec.mode == Mode::Ecb {
            return;
        }
        let n = self.0.lengths[0];
        let last = match self.0.spec.direction {
            Direction::Encrypt => &output[n - 16..n],
            Direction::Decrypt => &input[n - 16..n],
        };
        self.0.ivs[0].copy_from_slice(last);
    }

    fn restart(&mut self) {
        self.0.ivs[0] = self.0.first_iv;
    }
}

/// The queue: a job is handed in, and comes back when it is done, or when the queue is flushed.
struct Queue(Jobs);

impl Operation for Queue {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.0.point(input, output);
        let j = &self.0;
        let manager = j.manager.manager;
        let function = |place| j.manager.function::<Burst>(place);
        let count = j.jobs.len() as u32;
        let mut places = [null_mut::<Job>(); MOST_STREAMS];
        let list = places.as_mut_ptr();
        // SAFETY: the jobs are complete, and as large as the library's; as many come back as were
        // handed in.
        unsafe {
            let got = function(GET_NEXT_BURST)(manager, count, list);
            assert_eq!(got, count, "ipsec-mb's queue is not empty");
            for (job, place) in j.jobs.iter().zip(places) {
                place.write(*job);
            }
            let mut done = function(SUBMIT_BURST_NOCHECK)(manager, count, list);
            while done < count {
                let more = function(FLUSH_BURST)(manager, count - done, list);
                assert_ne!(more, 0, "ipsec-mb does not complete its jobs");
                done += more;
            }
        }
        self.0.check_tags(input);
    }
}
