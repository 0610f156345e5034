// SPDX-License-Identifier: BSD-2-Clause
//! What the way into the kernel costs without any cipher: measured with what every kernel has, so
//! that something can be said where AF_ALG is missing. AF_ALG has this to do as well, by other
//! code.

use super::afalg::CHUNK;
use super::calls::{Calls, Data, Tag};
use nix::fcntl::{fcntl, splice, FcntlArg, SpliceFFlags};
use nix::unistd::{pipe, write};
use std::fs::{File, OpenOptions};
use std::os::fd::OwnedFd;
use terminal::error::{Error, Result};

/// As many calls as AF_ALG takes with copying, and as many bytes copied into pages of the kernel:
/// write() into a pipe, and splice() from there to /dev/null, which only gives the pages back.
pub struct Crossing {
    pipe: (OwnedFd, OwnedFd),
    null: File,
}

impl Crossing {
    pub fn new() -> Result<Crossing> {
        let null = OpenOptions::new().write(true).open("/dev/null");
        let failed = |why| Error::failure(format!("a pipe: {why}"));
        let pipe = pipe().map_err(failed)?;
        // More pages than a chunk can touch.
        fcntl(&pipe.1, FcntlArg::F_SETPIPE_SZ(4 * CHUNK as i32)).map_err(failed)?;
        Ok(Crossing {
            pipe,
            null: null.map_err(|why| Error::failure(format!("/dev/null: {why}")))?,
        })
    }

    fn chunk(&self, data: &[u8]) -> nix::Result<()> {
        let (read, end) = &self.pipe;
        let mut left = write(end, data)?;
        while left > 0 {
            left -= splice(read, None, &self.null, None, left, SpliceFFlags::empty())?;
        }
        Ok(())
    }
}

impl Calls for Crossing {
    unsafe fn run(&mut self, calls: u64, data: Data, _tag: &mut Tag) -> Result<()> {
        // SAFETY: the caller's.
        let data = unsafe { std::slice::from_raw_parts(data.input, data.len) };
        let failed = |why| Error::failure(format!("a pipe: {why}"));
        (0..calls).try_for_each(|_| {
            let mut chunks = data.chunks(CHUNK);
            chunks.try_for_each(|chunk| self.chunk(chunk).map_err(failed))
        })
    }
}
