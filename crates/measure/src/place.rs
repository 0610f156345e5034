// SPDX-License-Identifier: BSD-2-Clause
//! Where the data of measurements lie: at the start of a cache line, at another one of a page in
//! each window. A load waits for an earlier store that has the same address modulo 4096 (4K
//! aliasing), and keys and contexts have an address, too. Changing the line keeps any
//! implementation from being lucky or unlucky all the time. Or at the end of a page, before one
//! that is not mapped: masked loads and stores that reach such a page are slow.

use libc::{mprotect, PROT_NONE, PROT_READ, PROT_WRITE};

const PAGE: usize = 4096;
const LINE: usize = 64;
/// Coprime to the lines of a page, so that the data visit all of them.
const STEP: usize = 29;

/// Bytes on a line of a page, or at the end of one.
pub struct Buffer {
    memory: Vec<u8>,
    page: usize,
    line: usize,
    bytes: usize,
    /// Where the page begins that is not mapped.
    end: Option<usize>,
}

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let memory = vec![0; bytes + 2 * PAGE];
        let page = memory.as_ptr().align_offset(PAGE);
        Buffer {
            memory,
            page,
            line: 0,
            bytes,
            end: None,
        }
    }

    /// Bytes that end where a page ends. The next page cannot be read or written.
    pub fn at_page_end(bytes: usize) -> Buffer {
        let mut buffer = Buffer::new(bytes.next_multiple_of(PAGE));
        buffer.end = Some(buffer.page + buffer.bytes);
        buffer.bytes = bytes;
        buffer.protect_end(PROT_NONE);
        buffer
    }

    fn protect_end(&mut self, access: libc::c_int) {
        let Some(end) = self.end else { return };
        let page = self.memory[end..][..PAGE].as_mut_ptr().cast();
        // SAFETY: the page is part of the memory, and nothing reads or writes its bytes.
        let failed = unsafe { mprotect(page, PAGE, access) };
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    }

    /// Moves to another line for the next window, with the data.
    pub fn move_on(&mut self) {
        self.move_to((self.line + STEP) % (PAGE / LINE));
    }

    /// Moves to a line drawn at random, with the data.
    pub fn move_at_random(&mut self) {
        self.move_to(fastrand::usize(0..PAGE / LINE));
    }

    fn move_to(&mut self, line: usize) {
        if self.end.is_some() {
            return;
        }
        let from = self.page + self.line * LINE;
        self.line = line;
        self.memory
            .copy_within(from..from + self.bytes, self.page + line * LINE);
    }

    pub fn data(&mut self) -> &mut [u8] {
        let at = match self.end {
            Some(end) => end - self.bytes,
            None => self.page + self.line * LINE,
        };
        &mut self.memory[at..][..self.bytes]
    }

    /// Writes the input of samples: the same bytes everywhere, no two blocks alike.
    pub fn fill(&mut self) {
        for (index, chunk) in self.data().chunks_mut(8).enumerate() {
            let word = (index as u64 + 1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.protect_end(PROT_READ | PROT_WRITE);
    }
}

/// Input and output, apart, each on a line drawn at random, or at the end of a page.
pub struct Place {
    input: Buffer,
    output: Buffer,
}

impl Place {
    pub fn new(input: &[u8], output_bytes: usize) -> Place {
        Place::with(Buffer::new, input, output_bytes)
    }

    pub fn at_page_end(input: &[u8], output_bytes: usize) -> Place {
        Place::with(Buffer::at_page_end, input, output_bytes)
    }

    fn with(buffer: fn(usize) -> Buffer, input: &[u8], output_bytes: usize) -> Place {
        let mut place = Place {
            input: buffer(input.len()),
            output: buffer(output_bytes),
        };
        place.input.data().copy_from_slice(input);
        place
    }

    pub fn both(&mut self) -> (&[u8], &mut [u8]) {
        (self.input.data(), self.output.data())
    }

    /// Moves both to other lines.
    pub fn move_on(&mut self) {
        for buffer in [&mut self.input, &mut self.output] {
            buffer.move_at_random();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_buffer_visits_every_line_of_a_page() {
        let mut buffer = Buffer::new(37);
        buffer.fill();
        let filled = buffer.data().to_vec();
        assert_ne!(filled[..8], filled[8..16]);
        let mut lines = BTreeSet::new();
        for _ in 0..PAGE / LINE {
            let data = buffer.data();
            assert_eq!(data, filled);
            assert_eq!(data.as_ptr() as usize % LINE, 0);
            lines.insert(data.as_ptr() as usize % PAGE);
            buffer.move_on();
        }
        assert_eq!(lines.len(), PAGE / LINE);
    }

    #[test]
    fn the_end_of_a_page_stays() {
        let input: Vec<u8> = (0..100).collect();
        let mut place = Place::at_page_end(&input, 2 * PAGE);
        for _ in 0..3 {
            place.move_on();
            let (data, output) = place.both();
            assert_eq!(data, input);
            assert_eq!(data.as_ptr_range().end as usize % PAGE, 0);
            assert_eq!(
                (output.len(), output.as_ptr() as usize % PAGE),
                (2 * PAGE, 0)
            );
            output.fill(1);
        }
    }

    #[test]
    fn input_and_output_move() {
        let input: Vec<u8> = (0..100).collect();
        let mut place = Place::new(&input, 50);
        let mut lines = BTreeSet::new();
        for _ in 0..200 {
            place.move_on();
            let (moved, output) = place.both();
            assert_eq!(moved, input);
            assert_eq!(output.len(), 50);
            assert_eq!(moved.as_ptr() as usize % LINE, 0);
            lines.insert(moved.as_ptr() as usize % PAGE);
        }
        assert!(lines.len() > 20);
    }

    #[test]
    fn blocks_of_the_input_differ() {
        let mut buffer = Buffer::new(1000);
        buffer.fill();
        let words: Vec<u64> = buffer
            .data()
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        // The multiples of 2^64 divided by the golden ratio.
        assert_eq!(words[..2], [0x9e37_79b9_7f4a_7c15, 0x3c6e_f372_fe94_f82a]);
        assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), 125);
        // The end of the memory holds the buffer on the last line of a page.
        for bytes in [1, PAGE, 3 * PAGE + 1] {
            let mut buffer = Buffer::new(bytes);
            buffer.move_to(63);
            assert_eq!(buffer.data().len(), bytes);
            assert_eq!(buffer.data().as_ptr() as usize % PAGE, 63 * LINE);
        }
    }
}
