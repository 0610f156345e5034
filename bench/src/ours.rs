// SPDX-License-Identifier: BSD-2-Clause
//! The core by its own calls (tenrounds.h), of the selected backend or of another one.

use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, TAG};
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::ffi::{c_char, c_int, c_uint, c_void, CStr};
use tenrounds::core;
use tenrounds::error::{Error, Result};

type Object = *mut c_void;

#[repr(C)]
struct Stream {
    key: Object,
    iv: *mut u8,
    out: *mut u8,
    input: *const u8,
    len: usize,
}

/// The fields of struct tr_ccm_job that callers use; the core's own working memory follows.
#[repr(C)]
struct CcmJob {
    key: Object,
    nonce: *const u8,
    nonce_len: usize,
    aad: *const u8,
    aad_len: usize,
    out: *mut u8,
    input: *const u8,
    len: usize,
    tag: *mut u8,
    tag_len: usize,
    status: c_int,
}

#[repr(C)]
struct CmacJob {
    key: Object,
    data: *const u8,
    len: usize,
    tag: [u8; 16],
    working: [u8; 16],
}

type SetKey = unsafe extern "C" fn(Object, Object, *const u8, usize) -> c_int;
type Plain = unsafe extern "C" fn(Object, *mut u8, *const u8, usize) -> c_int;
type Chained = unsafe extern "C" fn(Object, *mut u8, *mut u8, *const u8, usize) -> c_int;
type Feedback =
    unsafe extern "C" fn(Object, *mut u8, *mut c_uint, *mut u8, *const u8, usize) -> c_int;
type Tweaked = unsafe extern "C" fn(Object, *const u8, *mut u8, *const u8, usize) -> c_int;
/// Nonce, additional data, output, input, tag, each pointer with its length but output.
type Sealing = unsafe extern "C" fn(
    Object,
    *const u8,
    usize,
    *const u8,
    usize,
    *mut u8,
    *const u8,
    usize,
    *mut u8,
    usize,
) -> c_int;
/// GCM-SIV's, whose nonce and tag have one length each.
type SealingSiv = unsafe extern "C" fn(
    Object,
    *const u8,
    *const u8,
    usize,
    *mut u8,
    *const u8,
    usize,
    *mut u8,
) -> c_int;

extern "C" {
    fn tr_strerror(status: c_int) -> *const c_char;
    fn tr_cleanse(memory: Object, len: usize);
    fn tr_backend_at(index: c_uint) -> Object;
    fn tr_aes_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_xts_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_cmac_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_gcm_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_ccm_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_ocb_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_gcm_siv_set_key(key: Object, backend: Object, raw: *const u8, len: usize) -> c_int;
    fn tr_ecb_encrypt(key: Object, out: *mut u8, input: *const u8, len: usize) -> c_int;
    fn tr_ecb_decrypt(key: Object, out: *mut u8, input: *const u8, len: usize) -> c_int;
    fn tr_cbc_encrypt(
        key: Object,
        iv: *mut u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cbc_decrypt(
        key: Object,
        iv: *mut u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cfb128_encrypt(
        key: Object,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cfb128_decrypt(
        key: Object,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_ofb(
        key: Object,
        iv: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_ctr(
        key: Object,
        counter: *mut u8,
        keystream: *mut u8,
        used: *mut c_uint,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_xts_encrypt(
        key: Object,
        tweak: *const u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_xts_decrypt(
        key: Object,
        tweak: *const u8,
        out: *mut u8,
        input: *const u8,
        len: usize,
    ) -> c_int;
    fn tr_cmac_sign(
        key: Object,
        data: *const u8,
        len: usize,
        tag: *mut u8,
        tag_len: usize,
    ) -> c_int;
    fn tr_cbc_encrypt_many(jobs: *const Stream, count: usize) -> c_int;
    fn tr_cfb128_encrypt_many(jobs: *const Stream, count: usize) -> c_int;
    fn tr_cmac_sign_many(jobs: *mut CmacJob, count: usize) -> c_int;
    fn tr_ccm_seal_many(jobs: *mut CcmJob, count: usize) -> c_int;
    fn tr_ccm_open_many(jobs: *mut CcmJob, count: usize) -> c_int;

    fn bench_size_aes_key() -> usize;
    fn bench_size_xts_key() -> usize;
    fn bench_size_cmac_key() -> usize;
    fn bench_size_gcm_key() -> usize;
    fn bench_size_ccm_key() -> usize;
    fn bench_size_ocb_key() -> usize;
    fn bench_size_gcm_siv_key() -> usize;
    fn bench_size_ccm_job() -> usize;
}

macro_rules! sealing {
    ($($name:ident: $kind:ty),*) => {
        mod sealing {
            use super::*;
            $(pub fn $name() -> $kind {
                // The C functions differ in whether they write the tag, which the type does not say.
                extern "C" { fn $name(); }
                unsafe { std::mem::transmute::<unsafe extern "C" fn(), $kind>($name) }
            })*
        }
    };
}
sealing!(tr_gcm_seal: Sealing, tr_gcm_open: Sealing, tr_ccm_seal: Sealing, tr_ccm_open: Sealing,
         tr_ocb_seal: Sealing, tr_ocb_open: Sealing,
         tr_gcm_siv_seal: SealingSiv, tr_gcm_siv_open: SealingSiv);

/// An error of the core is a panic, as peer.rs says.
#[inline(always)]
fn good(status: c_int) {
    if status != 0 {
        failed(status);
    }
}

#[cold]
fn failed(status: c_int) -> ! {
    let text = unsafe { CStr::from_ptr(tr_strerror(status)) };
    panic!("{}", text.to_string_lossy())
}

/// A key object of the core, cleansed when dropped.
struct Keyed {
    object: Object,
    layout: Layout,
}

impl Keyed {
    fn new(size: usize, set_key: SetKey, backend: Object, raw: &[u8]) -> Result<Keyed> {
        let layout = Layout::from_size_align(size, 64).expect("a small power of two");
        let object = unsafe { alloc_zeroed(layout) };
        if object.is_null() {
            handle_alloc_error(layout);
        }
        let keyed = Keyed {
            object: object.cast(),
            layout,
        };
        match unsafe { set_key(keyed.object, backend, raw.as_ptr(), raw.len()) } {
            0 => Ok(keyed),
            status => Err(Error::failure(format!(
                "a key of {} bytes: {}",
                raw.len(),
                unsafe { CStr::from_ptr(tr_strerror(status)) }.to_string_lossy()
            ))),
        }
    }

    fn aes(backend: Object, inputs: &Inputs) -> Result<Keyed> {
        Keyed::new(
            unsafe { bench_size_aes_key() },
            tr_aes_set_key,
            backend,
            &inputs.key,
        )
    }
}

impl Drop for Keyed {
    fn drop(&mut self) {
        unsafe {
            tr_cleanse(self.object, self.layout.size());
            dealloc(self.object.cast(), self.layout);
        }
    }
}

/// The core with one backend.
pub struct Core {
    id: String,
    backend: core::Backend,
    pointer: Object,
}

impl Core {
    /// With the backend that the selection gives.
    pub fn selected(backend: core::Backend) -> Core {
        Core {
            id: "core".into(),
            ..Core::of(backend)
        }
    }

    pub fn of(backend: core::Backend) -> Core {
        Core {
            id: format!("core-{}", backend.name()),
            backend,
            pointer: unsafe { tr_backend_at(backend.index() as c_uint) },
        }
    }

    pub fn backend(&self) -> core::Backend {
        self.backend
    }
}

impl Peer for Core {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn title(&self) -> String {
        match &*self.id {
            "core" => "tenrounds".into(),
            _ => format!("tenrounds {}", self.backend.name()),
        }
    }

    fn version(&self) -> String {
        format!("tenrounds {}, {}", core::version(), self.backend.name())
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        match spec.streams {
            1 => self.one(spec, bytes, inputs).map(Some),
            _ => self.many(spec, bytes, inputs),
        }
    }
}

impl Core {
    fn one(&self, spec: Spec, bytes: usize, inputs: &Inputs) -> Result<Box<dyn Operation>> {
        let encrypts = spec.direction == Direction::Encrypt;
        let pick = |a: Plain, b: Plain| if encrypts { a } else { b };
        let backend = self.pointer;
        let keyed = |size: unsafe extern "C" fn() -> usize, set_key: SetKey| {
            Keyed::new(unsafe { size() }, set_key, backend, &inputs.key)
        };
        let iv = inputs.iv;
        Ok(match spec.mode {
            Mode::Ecb => Box::new(Ecb {
                key: Keyed::aes(backend, inputs)?,
                call: pick(tr_ecb_encrypt, tr_ecb_decrypt),
            }),
            Mode::Cbc => Box::new(Cbc {
                key: Keyed::aes(backend, inputs)?,
                call: if encrypts {
                    tr_cbc_encrypt
                } else {
                    tr_cbc_decrypt
                } as Chained,
                first: iv,
                iv,
            }),
            Mode::Cfb128 | Mode::Ofb => Box::new(ShiftRegister {
                key: Keyed::aes(backend, inputs)?,
                call: match (spec.mode, encrypts) {
                    (Mode::Ofb, _) => tr_ofb as Feedback,
                    (_, true) => tr_cfb128_encrypt,
                    (_, false) => tr_cfb128_decrypt,
                },
                first: iv,
                iv,
                used: 0,
            }),
            Mode::Ctr => Box::new(Ctr {
                key: Keyed::aes(backend, inputs)?,
                first: iv,
                counter: iv,
                keystream: [0; 16],
                used: 0,
            }),
            Mode::Xts => Box::new(Xts {
                key: keyed(bench_size_xts_key, tr_xts_set_key)?,
                call: if encrypts {
                    tr_xts_encrypt
                } else {
                    tr_xts_decrypt
                } as Tweaked,
                tweak: iv,
            }),
            Mode::Cmac => Box::new(Cmac(keyed(bench_size_cmac_key, tr_cmac_set_key)?)),
            Mode::Gcm | Mode::Ccm | Mode::Ocb => {
                use sealing::*;
                let (key, seal, open) = match spec.mode {
                    Mode::Gcm => (
                        keyed(bench_size_gcm_key, tr_gcm_set_key)?,
                        tr_gcm_seal(),
                        tr_gcm_open(),
                    ),
                    Mode::Ccm => (
                        keyed(bench_size_ccm_key, tr_ccm_set_key)?,
                        tr_ccm_seal(),
                        tr_ccm_open(),
                    ),
                    _ => (
                        keyed(bench_size_ocb_key, tr_ocb_set_key)?,
                        tr_ocb_seal(),
                        tr_ocb_open(),
                    ),
                };
                Box::new(Aead {
                    key,
                    call: if encrypts { seal } else { open },
                    encrypts,
                    bytes,
                    nonce: iv,
                    aad: inputs.aad,
                })
            }
            Mode::GcmSiv => Box::new(GcmSiv {
                key: keyed(bench_size_gcm_siv_key, tr_gcm_siv_set_key)?,
                call: if encrypts {
                    sealing::tr_gcm_siv_seal()
                } else {
                    sealing::tr_gcm_siv_open()
                },
                encrypts,
                bytes,
                nonce: iv,
                aad: inputs.aad,
            }),
        })
    }

    fn many(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        let backend = self.pointer;
        let lengths = spec.lengths(bytes);
        let keyed = |size: unsafe extern "C" fn() -> usize, set_key: SetKey| {
            Keyed::new(unsafe { size() }, set_key, backend, &inputs.key)
        };
        let ivs: Vec<[u8; 16]> = (0..lengths.len()).map(|i| inputs.iv_of(i)).collect();
        Ok(Some(match (spec.mode, spec.direction) {
            (Mode::Cbc | Mode::Cfb128, Direction::Encrypt) => Box::new(Streams {
                key: Keyed::aes(backend, inputs)?,
                call: match spec.mode {
                    Mode::Cbc => tr_cbc_encrypt_many,
                    _ => tr_cfb128_encrypt_many,
                },
                first: ivs.clone(),
                ivs,
                jobs: Vec::with_capacity(lengths.len()),
                lengths,
            }),
            (Mode::Cmac, Direction::Encrypt) => Box::new(Cmacs {
                key: keyed(bench_size_cmac_key, tr_cmac_set_key)?,
                jobs: Vec::with_capacity(lengths.len()),
                lengths,
            }),
            (Mode::Ccm, direction) => Box::new(Ccms {
                key: keyed(bench_size_ccm_key, tr_ccm_set_key)?,
                seals: direction == Direction::Encrypt,
                nonces: ivs,
                aad: inputs.aad,
                jobs: CcmJobs::new(lengths.len()),
                lengths,
            }),
            _ => return Ok(None),
        }))
    }
}

struct Ecb {
    key: Keyed,
    call: Plain,
}

impl Operation for Ecb {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        good(unsafe { (self.call)(self.key.object, out, data, input.len()) });
    }
    fn restart(&mut self) {}
}

struct Cbc {
    key: Keyed,
    call: Chained,
    first: [u8; 16],
    iv: [u8; 16],
}

impl Operation for Cbc {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        let iv = self.iv.as_mut_ptr();
        good(unsafe { (self.call)(self.key.object, iv, out, data, input.len()) });
    }
    fn restart(&mut self) {
        self.iv = self.first;
    }
}

/// CFB and OFB.
struct ShiftRegister {
    key: Keyed,
    call: Feedback,
    first: [u8; 16],
    iv: [u8; 16],
    used: c_uint,
}

impl Operation for ShiftRegister {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        let (iv, used) = (self.iv.as_mut_ptr(), &mut self.used);
        good(unsafe { (self.call)(self.key.object, iv, used, out, data, input.len()) });
    }
    fn restart(&mut self) {
        self.iv = self.first;
        self.used = 0;
    }
}

struct Ctr {
    key: Keyed,
    first: [u8; 16],
    counter: [u8; 16],
    keystream: [u8; 16],
    used: c_uint,
}

impl Operation for Ctr {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        good(unsafe {
            tr_ctr(
                self.key.object,
                self.counter.as_mut_ptr(),
                self.keystream.as_mut_ptr(),
                &mut self.used,
                output.as_mut_ptr(),
                input.as_ptr(),
                input.len(),
            )
        });
    }
    fn restart(&mut self) {
        self.counter = self.first;
        self.used = 0;
    }
}

struct Xts {
    key: Keyed,
    call: Tweaked,
    tweak: [u8; 16],
}

impl Operation for Xts {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        let tweak = self.tweak.as_ptr();
        good(unsafe { (self.call)(self.key.object, tweak, out, data, input.len()) });
    }
    fn restart(&mut self) {}
}

struct Cmac(Keyed);

impl Operation for Cmac {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (data, len) = (input.as_ptr(), input.len());
        good(unsafe { tr_cmac_sign(self.0.object, data, len, output.as_mut_ptr(), TAG) });
    }
    fn restart(&mut self) {}
}

/// GCM, CCM and OCB.
struct Aead {
    key: Keyed,
    call: Sealing,
    encrypts: bool,
    bytes: usize,
    nonce: [u8; 16],
    aad: [u8; 13],
}

/// The tag: behind the output of sealing, or the input of opening.
#[inline(always)]
fn tag_of(encrypts: bool, bytes: usize, input: &[u8], output: &mut [u8]) -> *mut u8 {
    if encrypts {
        output[bytes..][..TAG].as_mut_ptr()
    } else {
        input[bytes..][..TAG].as_ptr().cast_mut()
    }
}

impl Operation for Aead {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let tag = tag_of(self.encrypts, self.bytes, input, output);
        good(unsafe {
            (self.call)(
                self.key.object,
                self.nonce.as_ptr(),
                12,
                self.aad.as_ptr(),
                self.aad.len(),
                output.as_mut_ptr(),
                input.as_ptr(),
                self.bytes,
                tag,
                TAG,
            )
        });
    }
    fn restart(&mut self) {}
}

struct GcmSiv {
    key: Keyed,
    call: SealingSiv,
    encrypts: bool,
    bytes: usize,
    nonce: [u8; 16],
    aad: [u8; 13],
}

impl Operation for GcmSiv {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let tag = tag_of(self.encrypts, self.bytes, input, output);
        good(unsafe {
            (self.call)(
                self.key.object,
                self.nonce.as_ptr(),
                self.aad.as_ptr(),
                self.aad.len(),
                output.as_mut_ptr(),
                input.as_ptr(),
                self.bytes,
                tag,
            )
        });
    }
    fn restart(&mut self) {}
}

/// CBC and CFB. The streams share a key, as with the other libraries that have such a call.
struct Streams {
    key: Keyed,
    call: unsafe extern "C" fn(*const Stream, usize) -> c_int,
    first: Vec<[u8; 16]>,
    ivs: Vec<[u8; 16]>,
    lengths: Vec<usize>,
    jobs: Vec<Stream>,
}

impl Operation for Streams {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.ivs.copy_from_slice(&self.first);
        self.jobs.clear();
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (iv, &len) in self.ivs.iter_mut().zip(&self.lengths) {
            self.jobs.push(Stream {
                key: self.key.object,
                iv: iv.as_mut_ptr(),
                out,
                input: data,
                len,
            });
            unsafe {
                data = data.add(len);
                out = out.add(len);
            }
        }
        good(unsafe { (self.call)(self.jobs.as_ptr(), self.jobs.len()) });
    }
    fn restart(&mut self) {}
}

struct Cmacs {
    key: Keyed,
    lengths: Vec<usize>,
    jobs: Vec<CmacJob>,
}

impl Operation for Cmacs {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.jobs.clear();
        let mut data = input.as_ptr();
        for &len in &self.lengths {
            self.jobs.push(CmacJob {
                key: self.key.object,
                data,
                len,
                tag: [0; 16],
                working: [0; 16],
            });
            data = unsafe { data.add(len) };
        }
        good(unsafe { tr_cmac_sign_many(self.jobs.as_mut_ptr(), self.jobs.len()) });
        for (job, out) in self.jobs.iter().zip(output.chunks_exact_mut(TAG)) {
            out.copy_from_slice(&job.tag);
        }
    }
    fn restart(&mut self) {}
}

/// An array of struct tr_ccm_job, of whose elements Rust knows the beginning and the size.
struct CcmJobs {
    first: *mut u8,
    stride: usize,
    layout: Layout,
}

impl CcmJobs {
    fn new(count: usize) -> CcmJobs {
        let stride = unsafe { bench_size_ccm_job() };
        let layout = Layout::from_size_align(count * stride, 64).expect("a small power of two");
        let first = unsafe { alloc_zeroed(layout) };
        if first.is_null() {
            handle_alloc_error(layout);
        }
        CcmJobs {
            first,
            stride,
            layout,
        }
    }

    fn set(&mut self, index: usize, job: CcmJob) {
        assert!((index + 1) * self.stride <= self.layout.size());
        unsafe {
            self.first
                .add(index * self.stride)
                .cast::<CcmJob>()
                .write(job)
        };
    }
}

impl Drop for CcmJobs {
    fn drop(&mut self) {
        unsafe { dealloc(self.first, self.layout) };
    }
}

struct Ccms {
    key: Keyed,
    seals: bool,
    nonces: Vec<[u8; 16]>,
    aad: [u8; 13],
    lengths: Vec<usize>,
    jobs: CcmJobs,
}

impl Operation for Ccms {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (i, (nonce, &len)) in self.nonces.iter().zip(&self.lengths).enumerate() {
            let (data_end, out_end) = unsafe { (data.add(len), out.add(len)) };
            let job = CcmJob {
                key: self.key.object,
                nonce: nonce.as_ptr(),
                nonce_len: 12,
                aad: self.aad.as_ptr(),
                aad_len: self.aad.len(),
                out,
                input: data,
                len,
                tag: if self.seals {
                    out_end
                } else {
                    data_end.cast_mut()
                },
                tag_len: TAG,
                status: 0,
            };
            self.jobs.set(i, job);
            (data, out) = match self.seals {
                true => (data_end, unsafe { out_end.add(TAG) }),
                false => (unsafe { data_end.add(TAG) }, out_end),
            };
        }
        let (jobs, count) = (self.jobs.first.cast(), self.lengths.len());
        good(match self.seals {
            true => unsafe { tr_ccm_seal_many(jobs, count) },
            false => unsafe { tr_ccm_open_many(jobs, count) },
        });
    }
    fn restart(&mut self) {}
}
