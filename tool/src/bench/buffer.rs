// SPDX-License-Identifier: BSD-2-Clause
//! The data that is worked on.

/// Bytes at the start of a cache line, at another one of a page in each window: a load is held up by a
/// store that has the same place in another page (key and context lie somewhere, too), and no
/// implementation shall be lucky or unlucky with that all the time.
pub struct Buffer {
    memory: Vec<u8>,
    page: usize,
    place: usize,
    bytes: usize,
}

const PAGE: usize = 4096;
const LINE: usize = 64;
/// Coprime to the lines of a page, so that all of them have their turn.
const STEP: usize = 29 * LINE;

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let memory = vec![0; bytes + 2 * PAGE];
        let page = memory.as_ptr().align_offset(PAGE);
        Buffer {
            memory,
            page,
            place: 0,
            bytes,
        }
    }

    /// Another place for the next window.
    pub fn move_on(&mut self) {
        self.place = (self.place + STEP) % PAGE;
    }

    pub fn data(&mut self) -> &mut [u8] {
        &mut self.memory[self.page + self.place..][..self.bytes]
    }

    /// The input of samples: the same bytes everywhere, no two blocks alike.
    pub fn fill(&mut self) {
        for (index, chunk) in self.data().chunks_mut(8).enumerate() {
            let word = (index as u64 + 1)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_visits_every_line_of_a_page() {
        let mut buffer = Buffer::new(37);
        let mut places = std::collections::BTreeSet::new();
        for _ in 0..PAGE / LINE {
            buffer.fill();
            let data = buffer.data();
            assert_eq!(data.len(), 37);
            assert_ne!(data[..8], data[8..16]);
            assert_eq!(data.as_ptr() as usize % LINE, 0);
            places.insert(data.as_ptr() as usize % PAGE);
            buffer.move_on();
        }
        assert_eq!(places.len(), PAGE / LINE);
    }
}
