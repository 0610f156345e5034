// SPDX-License-Identifier: BSD-2-Clause
//! Which code each mode executes, by the core's counting table: the catalogue and
//! `Backend::doing_mode` say the same without a trial.

use crate::raw::tr_backend;
use crate::{Backend, Cpu, Key, Op, Parameters, Stream};
use catalogue::{Call, Cipher, Direction, Mode, Needs, BLOCK, KEY_BITS};
use std::ffi::{c_uint, c_void};

extern "C" {
    fn shim_counted_new(below: *const tr_backend) -> *mut c_void;
    fn shim_counted_backend(counted: *const c_void) -> *const tr_backend;
    fn shim_counted_read(
        counted: *const c_void,
        backend: c_uint,
        op: c_uint,
        calls: *mut u64,
        bytes: *mut u64,
    );
}

/// A backend behind a counting table, which is never freed.
struct Counted(*mut c_void);

impl Counted {
    /// Runs 100 blocks: enough for every backend's widest loop and its tail.
    fn of(selected: Backend, cipher: Cipher, direction: Direction) -> Counted {
        // SAFETY: the table is the core's.
        let counted = Counted(unsafe { shim_counted_new(selected.as_ptr()) });
        assert!(!counted.0.is_null());
        // SAFETY: the counting table lives as long as the process.
        let front = unsafe { Backend::of(shim_counted_backend(counted.0)) };
        let mode = cipher.mode();
        let raw: Vec<u8> = (0..).take(cipher.key_bytes()).collect();
        let key = Key::new(mode, front, &raw).unwrap();
        let mut data = vec![0; 100 * BLOCK];
        if mode.streams() {
            let mut stream = Stream::new([0; BLOCK]);
            stream.process(&key, direction, &mut data).unwrap();
            return counted;
        }
        let iv_len = match cipher.call() {
            Call::Message(shape) => shape.iv,
            _ => 0,
        };
        let parameters = Parameters {
            iv: vec![0; iv_len],
            tag_len: cipher.row().tags.last().copied().unwrap_or(0),
            form: 1,
            ..Parameters::default()
        };
        match direction {
            Direction::Encrypt => key.encrypt(&parameters, &data).unwrap(),
            Direction::Decrypt => {
                // Encrypted without being counted.
                let plain = Key::new(mode, selected, &raw).unwrap();
                let sealed = plain.encrypt(&parameters, &data).unwrap();
                key.decrypt(&parameters, &sealed).unwrap()
            }
        };
        counted
    }

    /// Calls and bytes that a backend's code did, in all operations.
    fn by(&self, backend: Backend) -> (u64, u64) {
        Op::all().fold((0, 0), |sum, op| {
            let (mut calls, mut bytes) = (0, 0);
            let index = backend.index() as c_uint;
            // SAFETY: the pointers are valid.
            unsafe { shim_counted_read(self.0, index, op.0, &mut calls, &mut bytes) };
            (sum.0 + calls, sum.1 + bytes)
        })
    }
}

fn every_mode() -> impl Iterator<Item = (Mode, Direction)> {
    Mode::aes().flat_map(|mode| mode.row().directions.iter().map(move |way| (mode, *way)))
}

#[test]
fn the_backend_that_does_a_mode_executes_it() {
    let usable = Cpu::detect().usable;
    for backend in Backend::all().into_iter().filter(|b| b.runs_with(usable)) {
        for (mode, direction) in every_mode() {
            let doing = backend.doing_mode(mode, direction).unwrap();
            for cipher in KEY_BITS.iter().filter_map(|bits| Cipher::new(mode, *bits)) {
                let (calls, _) = Counted::of(backend, cipher, direction).by(doing);
                assert!(
                    calls > 0,
                    "{backend:?}: {doing:?} does no {cipher} {direction:?}"
                );
            }
        }
    }
}

/// The catalogue says so of those modes alone whose calls of a backend are of one block.
#[test]
fn one_block_at_a_time() {
    let bitslice = Backend::by_name("bitslice").unwrap();
    for (mode, direction) in every_mode() {
        let cipher = Cipher::new(mode, 128).unwrap();
        let (calls, bytes) = Counted::of(bitslice, cipher, direction).by(bitslice);
        let needs = mode.row().needs[direction as usize];
        let alone = bytes == calls * BLOCK as u64;
        assert_eq!(needs == Needs::OneBlock, alone, "{mode:?} {direction:?}");
    }
}
