// SPDX-License-Identifier: BSD-2-Clause
//! The data that is worked on.

/// Bytes that start on a page, so that no implementation meets a lucky or unlucky alignment.
pub struct Buffer {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

const PAGE: usize = 4096;

impl Buffer {
    pub fn new(bytes: usize) -> Buffer {
        let memory = vec![0; bytes + PAGE];
        let start = memory.as_ptr().align_offset(PAGE);
        Buffer {
            memory,
            start,
            bytes,
        }
    }

    pub fn data(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..][..self.bytes]
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
    fn a_buffer_starts_on_a_page_and_can_be_filled() {
        let mut buffer = Buffer::new(37);
        assert_eq!(buffer.data().as_ptr() as usize % PAGE, 0);
        buffer.fill();
        let data = buffer.data();
        assert_eq!(data.len(), 37);
        assert_ne!(data[..8], data[8..16]);
    }
}
