// SPDX-License-Identifier: BSD-2-Clause
//! What the way into the kernel costs without any cipher: measured with what every kernel has, so
//! that something can be said where AF_ALG is missing. AF_ALG has this to do as well, by other
//! code.

use super::afalg::{pipe, CHUNK};
use super::job::Job;
use ::measure::place::Buffer;
use nix::fcntl::{splice, SpliceFFlags};
use nix::unistd::write;
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use terminal::error::{Error, Result};

/// As many calls as AF_ALG takes with copying, and as many bytes copied into pages of the kernel:
/// write() into a pipe, and splice() from there to /dev/null, which only gives the pages back.
pub struct CrossingJob {
    pipe: (OwnedFd, OwnedFd),
    null: File,
    buffer: Buffer,
    bytes: u64,
}

impl CrossingJob {
    pub fn new(bytes: usize) -> Result<CrossingJob> {
        let null = OpenOptions::new().write(true).open("/dev/null");
        Ok(CrossingJob {
            pipe: pipe(4 * CHUNK)?,
            null: null.map_err(|why| Error::failure(format!("/dev/null: {why}")))?,
            buffer: Buffer::new(bytes),
            bytes: bytes as u64,
        })
    }

    fn chunk(pipe: &(OwnedFd, OwnedFd), null: &File, data: &[u8]) -> nix::Result<()> {
        let (read, end) = pipe;
        let mut left = write(end, data)?;
        while left > 0 {
            left -= splice(read, None, null, None, left, SpliceFFlags::empty())?;
        }
        Ok(())
    }
}

impl Job for CrossingJob {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let CrossingJob {
            pipe, null, buffer, ..
        } = self;
        for _ in 0..calls {
            for chunk in buffer.data().chunks(CHUNK) {
                CrossingJob::chunk(pipe, null, chunk)
                    .map_err(|why| Error::failure(format!("a pipe: {why}")))?;
            }
        }
        Ok(calls * self.bytes)
    }

    fn move_on(&mut self) {
        self.buffer.move_on();
    }

    fn sample(&mut self) -> Result<Vec<u8>> {
        self.run(1).map(|_| Vec::new())
    }
}
