// SPDX-License-Identifier: BSD-2-Clause
//! The core by its own calls (tenrounds.h), with the selected backend or another one.

use crate::peer::{Direction, Form, Inputs, Mode, Operation, Peer, Spec, EXPLICIT, RAGGED, TAG};
use crate::peers::call::{operation, with_tag};
use std::mem::MaybeUninit;
use tenrounds_sys::raw::{self, tr_ccm_job, tr_cmac_job, tr_status, tr_stream};
use tenrounds_sys::{explain, Backend, Key, Message, Stream};
use terminal::error::{Error, Result};

/// An error of the core is a panic, as peer.rs says.
#[inline(always)]
fn good(status: tr_status) {
    if status != raw::TR_OK {
        failed(explain(status));
    }
}

#[cold]
fn failed(why: &str) -> ! {
    panic!("{why}")
}

/// The core with one backend.
pub struct Core {
    id: String,
    backend: Backend,
}

impl Core {
    /// With the backend that the selection gives.
    pub fn selected(backend: Backend) -> Core {
        Core {
            id: "core".into(),
            backend,
        }
    }

    pub fn of(backend: Backend) -> Core {
        Core {
            id: format!("core-{}", backend.name()),
            backend,
        }
    }

    pub fn backend(&self) -> Backend {
        self.backend
    }
}

/// The core as this environment selects it.
pub fn selected() -> Result<Core> {
    let mask = std::env::var(machine::masks::TENROUNDS_MASK).ok();
    let backend = tenrounds_sys::select(mask.as_deref(), 0).backend;
    let none = || Error::failure("no backend passes its known answers; see 'tenrounds selftest'");
    Ok(Core::selected(backend.ok_or_else(none)?))
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
        format!(
            "tenrounds {}, {}",
            tenrounds_sys::version(),
            self.backend.name()
        )
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        let key = Key::new(spec.mode, self.backend, &inputs.key).map_err(Error::from_reason)?;
        match spec.streams {
            1 => Ok(Some(one(key, spec, bytes, inputs))),
            _ => Ok(many(key, spec, bytes, inputs)),
        }
    }
}

fn one(key: Key<'static>, spec: Spec, bytes: usize, inputs: &Inputs) -> Box<dyn Operation> {
    match spec.mode {
        _ if spec.wraps() => Box::new(Wrap { key, spec, bytes }),
        _ if spec.form == Form::Record => Box::new(Record {
            whole: Whole::new(key, spec, bytes, inputs.iv, inputs.record_aad(bytes)),
            first: inputs.iv,
        }),
        Mode::CbcCts => Box::new(Stealing {
            key,
            direction: spec.direction,
            iv: inputs.iv,
        }),
        mode if mode.is_aead() || matches!(mode, Mode::Xts | Mode::Cmac) => {
            Box::new(Whole::new(key, spec, bytes, inputs.iv, inputs.aad))
        }
        _ => stream(key, spec, bytes, inputs.iv),
    }
}

fn many(
    key: Key<'static>,
    spec: Spec,
    bytes: usize,
    inputs: &Inputs,
) -> Option<Box<dyn Operation>> {
    if spec.gap > 0 && spec.mode != Mode::Cbc {
        return None;
    }
    let lengths = spec.lengths(bytes);
    let count = lengths.len();
    let ivs: Vec<[u8; 16]> = (0..count).map(|i| inputs.iv_of(i)).collect();
    Some(match (spec.mode, spec.direction) {
        (Mode::Cbc | Mode::Cfb128, Direction::Encrypt) => Box::new(Streams {
            key,
            call: match spec.mode {
                Mode::Cbc => raw::tr_cbc_encrypt_many,
                _ => raw::tr_cfb128_encrypt_many,
            },
            first: ivs.clone(),
            ivs,
            jobs: Vec::with_capacity(count),
            lengths,
            gap: spec.gap,
        }),
        (Mode::Xts, direction) if spec.streams != RAGGED => Box::new(Units {
            key,
            call: match direction {
                Direction::Encrypt => raw::tr_xts_encrypt_units(),
                Direction::Decrypt => raw::tr_xts_decrypt_units(),
            },
            tweak: inputs.iv,
            bytes,
            units: spec.streams,
        }),
        (Mode::Cmac, Direction::Encrypt) => Box::new(Cmacs {
            key,
            jobs: Vec::with_capacity(count),
            lengths,
        }),
        (Mode::Ccm, direction) => Box::new(Ccms {
            key,
            seals: direction == Direction::Encrypt,
            nonces: ivs,
            aad: inputs.aad,
            jobs: Vec::with_capacity(count),
            lengths,
        }),
        _ => return None,
    })
}

/// The modes whose calls continue one message.
fn stream(key: Key<'static>, spec: Spec, bytes: usize, iv: [u8; 16]) -> Box<dyn Operation> {
    operation(
        move || Stream::new(iv),
        move |stream, input, output| {
            let (input, output) = (&input[..bytes], &mut output[..bytes]);
            let (out, data) = (output.as_mut_ptr(), input.as_ptr());
            // SAFETY: both are valid for the length, and disjoint.
            good(unsafe { stream.call(&key, spec.direction, out, data, bytes) });
        },
    )
}

/// Whole messages of CBC-CTS, in the form CS1, which is libcrypto's default.
struct Stealing {
    key: Key<'static>,
    direction: Direction,
    iv: [u8; 16],
}

impl Operation for Stealing {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        assert!(output.len() >= input.len());
        let call = match self.direction {
            Direction::Encrypt => raw::tr_cbc_cts_encrypt(),
            Direction::Decrypt => raw::tr_cbc_cts_decrypt(),
        };
        let (key, mut iv) = (self.key.as_ptr(), self.iv);
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: both are valid for the length, and disjoint.
        good(unsafe { call(key, 1, iv.as_mut_ptr(), out, data, input.len()) });
    }
    fn restart(&mut self) {}
}

/// Keys to be wrapped or unwrapped.
struct Wrap {
    key: Key<'static>,
    spec: Spec,
    bytes: usize,
}

impl Operation for Wrap {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let (spec, bytes) = (self.spec, self.bytes);
        let (input, output) = (
            &input[..spec.input_bytes(bytes)],
            &mut output[..spec.output_bytes(bytes)],
        );
        let (key, inverse) = (self.key.as_ptr(), (spec.form == Form::Inverse).into());
        let (out, data, len) = (output.as_mut_ptr(), input.as_ptr(), input.len());
        let (standard, mut written) = (std::ptr::null(), bytes);
        // SAFETY: both are as long as the mode wants, and disjoint.
        good(unsafe {
            match (spec.mode, spec.direction) {
                (Mode::Kw, Direction::Encrypt) => {
                    raw::tr_kw_wrap()(key, inverse, standard, out, data, len)
                }
                (Mode::Kw, Direction::Decrypt) => {
                    raw::tr_kw_unwrap()(key, inverse, standard, out, data, len)
                }
                (_, Direction::Encrypt) => {
                    raw::tr_kwp_wrap()(key, inverse, standard, out, data, len)
                }
                (_, Direction::Decrypt) => {
                    raw::tr_kwp_unwrap(key, inverse, standard, out, &mut written, data, len)
                }
            }
        });
        assert_eq!(written, bytes);
    }
}

/// Records of TLS 1.2: the explicit part of the IV counts the sealed ones, and is read of those to
/// be opened.
struct Record {
    whole: Whole,
    first: [u8; 16],
}

impl Operation for Record {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let bytes = self.whole.bytes;
        let explicit = 12 - EXPLICIT..12;
        if self.whole.seals() {
            let iv = &mut self.whole.iv[explicit];
            output[..EXPLICIT].copy_from_slice(iv);
            let (text, sealed) = (&input[EXPLICIT..][..bytes], &mut output[EXPLICIT..]);
            self.whole.call(text, sealed);
            let iv = &mut self.whole.iv[12 - EXPLICIT..12];
            let count = u64::from_be_bytes(iv.try_into().expect("8 bytes")).wrapping_add(1);
            iv.copy_from_slice(&count.to_be_bytes());
        } else {
            output[..EXPLICIT].copy_from_slice(&input[..EXPLICIT]);
            self.whole.iv[explicit].copy_from_slice(&input[..EXPLICIT]);
            let (sealed, text) = (&input[EXPLICIT..], &mut output[EXPLICIT..]);
            self.whole.call(sealed, text);
            // EVP works in place, and leaves the tag there.
            text[bytes..][..TAG].copy_from_slice(&sealed[bytes..][..TAG]);
        }
    }

    fn restart(&mut self) {
        self.whole.iv = self.first;
    }
}

/// Whole messages, with a nonce of 12 bytes. The tag of an AEAD follows the data.
struct Whole {
    key: Key<'static>,
    direction: Direction,
    bytes: usize,
    iv: [u8; 16],
    aad: [u8; 13],
    aad_len: usize,
}

impl Whole {
    fn new(key: Key<'static>, spec: Spec, bytes: usize, iv: [u8; 16], aad: [u8; 13]) -> Whole {
        Whole {
            key,
            direction: match spec.mode {
                // A MAC signs in either direction.
                Mode::Cmac => Direction::Encrypt,
                _ => spec.direction,
            },
            bytes,
            iv,
            aad,
            aad_len: spec.aad,
        }
    }

    fn seals(&self) -> bool {
        self.direction == Direction::Encrypt
    }
}

impl Operation for Whole {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let bytes = self.bytes;
        let (out, data, tag) = match self.key.mode() {
            Mode::Cmac => {
                let tag = output[..TAG].as_mut_ptr();
                (tag, input[..bytes].as_ptr(), tag)
            }
            Mode::Xts => {
                let out = output[..bytes].as_mut_ptr();
                (out, input[..bytes].as_ptr(), std::ptr::null_mut())
            }
            _ => with_tag(self.seals(), bytes, input, output),
        };
        let message = Message {
            iv: self.iv.as_ptr(),
            iv_len: 12,
            aad: self.aad.as_ptr(),
            aad_len: self.aad_len,
            out,
            input: data,
            len: bytes,
            tag,
            tag_len: TAG,
        };
        // SAFETY: the data have this length, and the tag its place.
        good(unsafe { self.key.call(self.direction, &message) });
    }
}

/// CBC and CFB. The streams share a key, as with the other libraries that have such a call.
struct Streams {
    key: Key<'static>,
    call: unsafe extern "C" fn(*const tr_stream, usize) -> tr_status,
    first: Vec<[u8; 16]>,
    ivs: Vec<[u8; 16]>,
    lengths: Vec<usize>,
    gap: usize,
    jobs: Vec<tr_stream>,
}

impl Operation for Streams {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.ivs.copy_from_slice(&self.first);
        self.jobs.clear();
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (iv, &len) in self.ivs.iter_mut().zip(&self.lengths) {
            self.jobs.push(tr_stream {
                key: self.key.as_ptr(),
                iv: iv.as_mut_ptr(),
                out,
                input: data,
                len,
            });
            // SAFETY: lengths and gaps add up to those of input and output.
            unsafe {
                data = data.add(len + self.gap);
                out = out.add(len + self.gap);
            }
        }
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe { (self.call)(self.jobs.as_ptr(), self.jobs.len()) });
    }
}

type UnitsCall =
    unsafe extern "C" fn(raw::Key, *const u8, *mut u8, *const u8, usize, usize) -> tr_status;

/// A run of XTS units.
struct Units {
    key: Key<'static>,
    call: UnitsCall,
    tweak: [u8; 16],
    bytes: usize,
    units: usize,
}

impl Operation for Units {
    #[inline(always)]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let total = self.bytes * self.units;
        let (input, output) = (&input[..total], &mut output[..total]);
        let (key, tweak) = (self.key.as_ptr(), self.tweak.as_ptr());
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: both have the bytes of all units, and are disjoint.
        good(unsafe { (self.call)(key, tweak, out, data, self.bytes, self.units) });
    }
}

struct Cmacs {
    key: Key<'static>,
    lengths: Vec<usize>,
    jobs: Vec<tr_cmac_job>,
}

impl Operation for Cmacs {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.jobs.clear();
        let mut data = input.as_ptr();
        for &len in &self.lengths {
            self.jobs.push(tr_cmac_job {
                key: self.key.as_ptr(),
                data,
                len,
                tag: [0; 16],
                working: [0; 16],
            });
            // SAFETY: the lengths add up to that of input.
            data = unsafe { data.add(len) };
        }
        // SAFETY: the jobs are valid.
        good(unsafe { raw::tr_cmac_sign_many(self.jobs.as_mut_ptr(), self.jobs.len()) });
        for (job, out) in self.jobs.iter().zip(output.chunks_exact_mut(TAG)) {
            out.copy_from_slice(&job.tag);
        }
    }
}

struct Ccms {
    key: Key<'static>,
    seals: bool,
    nonces: Vec<[u8; 16]>,
    aad: [u8; 13],
    lengths: Vec<usize>,
    jobs: Vec<tr_ccm_job>,
}

impl Operation for Ccms {
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        self.jobs.clear();
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (nonce, &len) in self.nonces.iter().zip(&self.lengths) {
            // SAFETY: with their tags the messages add up to input and output.
            let (data_end, out_end) = unsafe { (data.add(len), out.add(len)) };
            self.jobs.push(tr_ccm_job {
                key: self.key.as_ptr(),
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
                working: MaybeUninit::uninit(),
            });
            // SAFETY: as above.
            (data, out) = unsafe {
                match self.seals {
                    true => (data_end, out_end.add(TAG)),
                    false => (data_end.add(TAG), out_end),
                }
            };
        }
        let (jobs, count) = (self.jobs.as_mut_ptr(), self.jobs.len());
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe {
            match self.seals {
                true => raw::tr_ccm_seal_many(jobs, count),
                false => raw::tr_ccm_open_many(jobs, count),
            }
        });
    }
}
