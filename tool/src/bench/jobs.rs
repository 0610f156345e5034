// SPDX-License-Identifier: BSD-2-Clause
//! The work that needs no libcrypto: the core by its own calls, and the limit probe.

use super::buffer::Buffer;
use super::limit::Limit;
use super::window::{Job, SAMPLE_CALLS};
use crate::algorithm::{Algorithm, Direction};
use crate::core::{Backend, Key, Stream, BLOCK};
use crate::error::Result;

/// Nothing but rounds.
pub struct LimitJob(pub Limit);

/// Round instructions of one call: some microseconds.
const ROUNDS_PER_CALL: u64 = 4800;

impl Job for LimitJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        Ok(self.0.run(calls * ROUNDS_PER_CALL))
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// A mode of the core on one buffer, in place.
pub struct CoreJob {
    key: Key<'static>,
    stream: Stream,
    algorithm: Algorithm,
    direction: Direction,
    buffer: Buffer,
    bytes: u64,
}

const IV: [u8; BLOCK] = [0x5a; BLOCK];

impl CoreJob {
    pub fn new(
        backend: Backend,
        algorithm: Algorithm,
        direction: Direction,
        bytes: usize,
    ) -> Result<CoreJob> {
        let key: Vec<u8> = (1..=algorithm.key_bytes() as u8).collect();
        Ok(CoreJob {
            key: Key::new(backend, &key)?,
            stream: Stream::new(IV),
            algorithm,
            direction,
            buffer: Buffer::new(bytes),
            bytes: bytes as u64,
        })
    }
}

impl Job for CoreJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let (mode, direction) = (self.algorithm.mode, self.direction);
        for _ in 0..calls {
            self.stream
                .process(&self.key, mode, direction, self.buffer.data())?;
        }
        Ok(calls * self.bytes)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.stream = Stream::new(IV);
        let mut output = Vec::new();
        for _ in 0..SAMPLE_CALLS {
            self.buffer.fill();
            self.run(1)?;
            output.extend_from_slice(self.buffer.data());
            output.extend_from_slice(&[0; 16]); // where an AEAD has its tag
        }
        Ok(output)
    }
}
