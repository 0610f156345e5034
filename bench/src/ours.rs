// SPDX-License-Identifier: BSD-2-Clause
//! The core by its own calls (tenrounds.h), with the selected backend or another one.

use crate::call::{operation, whole, with_tag};
use crate::peer::{
    Aad, Direction, Form, Inputs, Mode, Operation, Peer, Spec, BLOCK, EXPLICIT, TAG,
};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::ptr::null;
use tenrounds_sys::raw::{
    self, tr_ccm_job, tr_cmac_job, tr_gcm_job, tr_mask_job, tr_status, tr_stream,
};
use tenrounds_sys::{explain, Backend, Key, Stream};
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

/// The backend that this environment selects.
pub fn backend() -> Result<Backend> {
    let mask = std::env::var(machine::masks::TENROUNDS_MASK).ok();
    let backend = tenrounds_sys::select(mask.as_deref(), 0).backend;
    let none = || Error::failure("no backend passes its known answers; see 'tenrounds selftest'");
    backend.ok_or_else(none)
}

/// The core with the selected backend.
pub fn selected() -> Result<Peer> {
    Ok(core("core".into(), "tenrounds".into(), backend()?))
}

/// The core with another backend.
pub fn of(backend: Backend) -> Peer {
    let name = backend.name();
    core(format!("core-{name}"), format!("tenrounds {name}"), backend)
}

fn core(id: String, title: String, backend: Backend) -> Peer {
    let version = format!("tenrounds {}, {}", tenrounds_sys::version(), backend.name());
    Peer::new(id, title, version, move |spec, bytes, inputs| {
        let key = Key::new(spec.mode, backend, &inputs.key).map_err(Error::from_reason)?;
        Ok(match spec.streams {
            1 => Some(one(key, spec, bytes, inputs)),
            _ => many(backend, key, spec, bytes, inputs),
        })
    })
}

fn one(key: Key, spec: Spec, bytes: usize, inputs: &Inputs) -> Box<dyn Operation> {
    match spec.mode {
        _ if spec.form == Form::Record => {
            let message = Message::new(key, spec, bytes, inputs.record_aad(bytes));
            record(message, inputs.iv)
        }
        Mode::Gcm | Mode::Ccm | Mode::Ocb => sealed(key, spec, bytes, inputs),
        Mode::Xts => unit(key, spec, bytes, inputs.iv),
        mode if mode.streams() => stream(key, spec, bytes, inputs.iv),
        _ => {
            let (message, iv) = (Message::new(key, spec, bytes, inputs.aad(spec)), inputs.iv);
            whole(move |input, output| message.call(&iv, input, output))
        }
    }
}

fn many(
    backend: Backend,
    key: Key,
    spec: Spec,
    bytes: usize,
    inputs: &Inputs,
) -> Option<Box<dyn Operation>> {
    if spec.gap > 0 && spec.mode != Mode::Cbc {
        return None;
    }
    let lengths = spec.lengths(bytes);
    let ivs = (0..lengths.len()).map(|i| inputs.iv_of(i)).collect();
    Some(match (spec.mode, spec.direction) {
        (Mode::Cbc, Direction::Encrypt) => {
            streams(key, raw::tr_cbc_encrypt_many, ivs, lengths, spec.gap)
        }
        (Mode::Cfb128, Direction::Encrypt) => {
            streams(key, raw::tr_cfb128_encrypt_many, ivs, lengths, spec.gap)
        }
        (Mode::Ecb, Direction::Encrypt) if spec.has_length(bytes) => masks(backend, spec, inputs),
        (Mode::Gcm, _) => gcms(backend, spec, bytes, inputs),
        (Mode::Xts, _) if !spec.is_ragged() => units(key, spec, bytes, inputs.iv),
        (Mode::Cmac, Direction::Encrypt) => cmacs(key, lengths),
        (Mode::Ccm, direction) => ccms(key, direction, ivs, inputs.aad(spec), lengths),
        _ => return None,
    })
}

/// Whole messages by one function, which is chosen before: to choose it takes 3 ns.
fn sealed(key: Key, spec: Spec, bytes: usize, inputs: &Inputs) -> Box<dyn Operation> {
    let seals = spec.direction == Direction::Encrypt;
    let call = match (spec.mode, seals) {
        (Mode::Gcm, true) => raw::tr_gcm_seal(),
        (Mode::Gcm, false) => raw::tr_gcm_open(),
        (Mode::Ccm, true) => raw::tr_ccm_seal(),
        (Mode::Ccm, false) => raw::tr_ccm_open(),
        (_, true) => raw::tr_ocb_seal(),
        (_, false) => raw::tr_ocb_open(),
    };
    let (iv, aad) = (inputs.iv, inputs.aad(spec));
    whole(move |input, output| {
        let (out, data, tag) = with_tag(seals, bytes, input, output);
        let (key, iv, aad, aad_len) = (key.as_ptr(), iv.as_ptr(), aad.pointer(), aad.len());
        // SAFETY: the data have this length, and the tag its place.
        good(unsafe { call(key, iv, 12, aad, aad_len, out, data, bytes, tag, TAG) });
    })
}

/// The modes whose calls continue one message. Each has a loop of its own, in which the mode is a
/// constant. With a choice in each call, 16 bytes of ECB take 7 ns instead of 3.4 (Emerald Rapids).
fn stream(key: Key, spec: Spec, bytes: usize, iv: [u8; 16]) -> Box<dyn Operation> {
    macro_rules! of {
        ($($mode:ident)*) => {
            match spec.mode {
                $(Mode::$mode => operation(
                    move || Stream::new(iv),
                    move |stream, input, output| {
                        let (input, output) = (&input[..bytes], &mut output[..bytes]);
                        let (out, data, key) = (output.as_mut_ptr(), input.as_ptr(), key.as_ptr());
                        // SAFETY: both have the length, and are disjoint; the key is of this mode.
                        good(unsafe {
                            stream.call(Mode::$mode, key, spec.direction, out, data, bytes)
                        });
                    },
                ),)*
                mode => panic!("{} does not stream", mode.name()),
            }
        };
    }
    of!(Ecb Cbc Cfb8 Cfb1 Cfb128 Ofb Ctr)
}

/// One data unit of XTS, as in sealed().
fn unit(key: Key, spec: Spec, bytes: usize, tweak: [u8; 16]) -> Box<dyn Operation> {
    let call = match spec.direction {
        Direction::Encrypt => raw::tr_xts_encrypt(),
        Direction::Decrypt => raw::tr_xts_decrypt(),
    };
    whole(move |input, output| {
        let (input, output) = (&input[..bytes], &mut output[..bytes]);
        let (key, tweak, out) = (key.as_ptr(), tweak.as_ptr(), output.as_mut_ptr());
        // SAFETY: both are valid for the length, and disjoint.
        good(unsafe { call(key, tweak, out, input.as_ptr(), bytes) });
    })
}

/// Records of TLS 1.2: the explicit part of the IV counts the sealed ones, and is read of those to
/// be opened.
fn record(message: Message, iv: [u8; 16]) -> Box<dyn Operation> {
    let (bytes, explicit) = (message.bytes, 12 - EXPLICIT..12);
    operation(
        move || iv,
        move |iv, input, output| {
            let number = &mut iv[explicit.clone()];
            let (text, framed) = (&input[EXPLICIT..], &mut output[EXPLICIT..]);
            if message.seals() {
                output[..EXPLICIT].copy_from_slice(number);
                message.call(iv, &text[..bytes], &mut output[EXPLICIT..]);
                let number = &mut iv[explicit.clone()];
                let count = u64::from_be_bytes((&*number).try_into().expect("8 bytes"));
                number.copy_from_slice(&count.wrapping_add(1).to_be_bytes());
            } else {
                number.copy_from_slice(&input[..EXPLICIT]);
                message.call(iv, text, framed);
                // EVP works in place, and leaves the frame there.
                framed[bytes..][..TAG].copy_from_slice(&text[bytes..][..TAG]);
                output[..EXPLICIT].copy_from_slice(&input[..EXPLICIT]);
            }
        },
    )
}

/// Whole messages, with a nonce of 12 bytes; CBC-CTS in the form CS1, which is libcrypto's default.
/// The tag of an AEAD follows the data.
struct Message {
    key: Key,
    direction: Direction,
    /// Of the data; in key wrap, of the input.
    bytes: usize,
    room: usize,
    aad: Aad,
    form: c_int,
}

impl Message {
    fn new(key: Key, spec: Spec, bytes: usize, aad: Aad) -> Message {
        Message {
            key,
            direction: match spec.mode {
                // A MAC signs in either direction.
                Mode::Cmac => Direction::Encrypt,
                _ => spec.direction,
            },
            bytes: match spec.wraps() {
                true => spec.input_bytes(bytes),
                false => bytes,
            },
            room: spec.output_bytes(bytes),
            aad,
            form: (spec.mode == Mode::CbcCts || spec.form == Form::Inverse).into(),
        }
    }

    fn seals(&self) -> bool {
        self.direction == Direction::Encrypt
    }

    #[inline(always)]
    fn call(&self, iv: &[u8; 16], input: &[u8], output: &mut [u8]) {
        let (bytes, mode) = (self.bytes, self.key.mode());
        let (out, data, tag) = match mode {
            mode if mode.is_aead() => with_tag(self.seals(), bytes, input, output),
            _ => {
                let out = output[..self.room].as_mut_ptr();
                (out, input[..bytes].as_ptr(), out)
            }
        };
        let mut written = self.room;
        let message = tenrounds_sys::Message {
            iv: if mode.wraps() { null() } else { iv.as_ptr() },
            iv_len: 12,
            aad: self.aad.pointer(),
            aad_len: self.aad.len(),
            tag,
            tag_len: TAG,
            form: self.form,
            written: &mut written,
            ..tenrounds_sys::Message::new(out, data, bytes)
        };
        // SAFETY: the data have this length, and output and tag their place.
        good(unsafe { self.key.call(self.direction, &message) });
    }
}

type StreamsCall = unsafe extern "C" fn(*const tr_stream, usize) -> tr_status;

/// CBC and CFB. The streams share a key, as with the other libraries that have such a call.
fn streams(
    key: Key,
    call: StreamsCall,
    ivs: Vec<[u8; 16]>,
    lengths: Vec<usize>,
    gap: usize,
) -> Box<dyn Operation> {
    let state = move || (ivs.clone(), Vec::with_capacity(ivs.len()));
    let (first, _) = state();
    operation(state, move |(ivs, jobs), input, output| {
        ivs.copy_from_slice(&first);
        jobs.clear();
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (iv, &len) in ivs.iter_mut().zip(&lengths) {
            jobs.push(tr_stream {
                key: key.as_ptr(),
                iv: iv.as_mut_ptr(),
                out,
                input: data,
                len,
            });
            // SAFETY: lengths and gaps add up to those of input and output.
            (data, out) = unsafe { (data.add(len + gap), out.add(len + gap)) };
        }
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe { call(jobs.as_ptr(), jobs.len()) });
    })
}

/// A run of XTS units.
fn units(key: Key, spec: Spec, bytes: usize, tweak: [u8; 16]) -> Box<dyn Operation> {
    let call = match spec.direction {
        Direction::Encrypt => raw::tr_xts_encrypt_units(),
        Direction::Decrypt => raw::tr_xts_decrypt_units(),
    };
    whole(move |input, output| {
        let total = bytes * spec.streams;
        let (input, output) = (&input[..total], &mut output[..total]);
        let (key, tweak) = (key.as_ptr(), tweak.as_ptr());
        let (out, data) = (output.as_mut_ptr(), input.as_ptr());
        // SAFETY: both have the bytes of all units, and are disjoint.
        good(unsafe { call(key, tweak, out, data, bytes, spec.streams) });
    })
}

/// The keys of many messages: one, or one for each.
fn keys(backend: Backend, spec: Spec, inputs: &Inputs) -> Vec<Key> {
    let keys = if spec.form == Form::OwnKeys {
        spec.streams
    } else {
        1
    };
    let key = |i| Key::new(spec.mode, backend, &inputs.message(spec, i).key);
    (0..keys)
        .map(|i| key(i).expect("a key size of the mode"))
        .collect()
}

/// Single blocks of ECB.
fn masks(backend: Backend, spec: Spec, inputs: &Inputs) -> Box<dyn Operation> {
    let keys = keys(backend, spec, inputs);
    operation(Vec::new, move |jobs, input, output| {
        jobs.clear();
        let blocks = input
            .chunks_exact(BLOCK)
            .zip(output.chunks_exact_mut(BLOCK));
        jobs.extend(blocks.enumerate().map(|(i, (sample, mask))| tr_mask_job {
            key: keys[i % keys.len()].as_ptr(),
            sample: sample.as_ptr(),
            mask: mask.as_mut_ptr(),
        }));
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe { raw::tr_ecb_masks(jobs.as_ptr(), jobs.len()) });
    })
}

fn gcms(backend: Backend, spec: Spec, bytes: usize, inputs: &Inputs) -> Box<dyn Operation> {
    let (keys, iv, aad) = (keys(backend, spec, inputs), inputs.iv, inputs.aad(spec));
    let seals = spec.direction == Direction::Encrypt;
    let call: GcmCall = match seals {
        true => raw::tr_gcm_seal_many,
        false => raw::tr_gcm_open_many,
    };
    let one = Spec { streams: 1, ..spec };
    let (read, written) = (one.input_bytes(bytes), one.output_bytes(bytes));
    operation(Vec::new, move |jobs, input, output| {
        jobs.clear();
        let messages = input
            .chunks_exact(read)
            .zip(output.chunks_exact_mut(written));
        jobs.extend(messages.enumerate().map(|(i, (input, output))| {
            let (out, input, tag) = with_tag(seals, bytes, input, output);
            tr_gcm_job {
                key: keys[i % keys.len()].as_ptr(),
                iv: iv.as_ptr(),
                iv_len: 12,
                aad: aad.pointer(),
                aad_len: aad.len(),
                out,
                input,
                len: bytes,
                tag,
                tag_len: TAG,
                status: 0,
            }
        }));
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe { call(jobs.as_mut_ptr(), jobs.len()) });
    })
}

fn cmacs(key: Key, lengths: Vec<usize>) -> Box<dyn Operation> {
    operation(Vec::new, move |jobs, input, output| {
        jobs.clear();
        let mut data = input.as_ptr();
        for &len in &lengths {
            jobs.push(tr_cmac_job {
                key: key.as_ptr(),
                data,
                len,
                tag: [0; 16],
                working: [0; 16],
            });
            // SAFETY: the lengths add up to that of input.
            data = unsafe { data.add(len) };
        }
        // SAFETY: the jobs are valid.
        good(unsafe { raw::tr_cmac_sign_many(jobs.as_mut_ptr(), jobs.len()) });
        for (job, out) in jobs.iter().zip(output.chunks_exact_mut(TAG)) {
            out.copy_from_slice(&job.tag);
        }
    })
}

fn ccms(
    key: Key,
    direction: Direction,
    nonces: Vec<[u8; 16]>,
    aad: Aad,
    lengths: Vec<usize>,
) -> Box<dyn Operation> {
    let (seals, call) = match direction {
        Direction::Encrypt => (true, raw::tr_ccm_seal_many as CcmCall),
        Direction::Decrypt => (false, raw::tr_ccm_open_many as CcmCall),
    };
    operation(Vec::new, move |jobs, input, output| {
        jobs.clear();
        let (mut data, mut out) = (input.as_ptr(), output.as_mut_ptr());
        for (nonce, &len) in nonces.iter().zip(&lengths) {
            // SAFETY: with their tags the messages add up to input and output.
            let (data_end, out_end) = unsafe { (data.add(len), out.add(len)) };
            jobs.push(tr_ccm_job {
                key: key.as_ptr(),
                nonce: nonce.as_ptr(),
                nonce_len: 12,
                aad: aad.pointer(),
                aad_len: aad.len(),
                out,
                input: data,
                len,
                tag: match seals {
                    true => out_end,
                    false => data_end.cast_mut(),
                },
                tag_len: TAG,
                status: 0,
                working: MaybeUninit::uninit(),
            });
            // SAFETY: as above.
            (data, out) = unsafe {
                match seals {
                    true => (data_end, out_end.add(TAG)),
                    false => (data_end.add(TAG), out_end),
                }
            };
        }
        // SAFETY: the jobs are valid and disjoint.
        good(unsafe { call(jobs.as_mut_ptr(), jobs.len()) });
    })
}

type GcmCall = unsafe extern "C" fn(*mut tr_gcm_job, usize) -> tr_status;
type CcmCall = unsafe extern "C" fn(*mut tr_ccm_job, usize) -> tr_status;
