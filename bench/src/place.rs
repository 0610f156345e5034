// SPDX-License-Identifier: BSD-2-Clause
//! Where input and output lie: apart, each at the start of a cache line that is drawn anew for each round. A load is held up by
//! a store that has the same place in another page, and nobody shall be lucky or unlucky with that all the time.

const PAGE: usize = 4096;
const LINE: usize = 64;

pub struct Place {
    memory: [Vec<u8>; 2],
    /// Offsets of the data, and its lengths: input, output.
    at: [usize; 2],
    len: [usize; 2],
}

impl Place {
    pub fn new(input: &[u8], output_bytes: usize) -> Place {
        let len = [input.len(), output_bytes];
        let mut place = Place {
            memory: len.map(|len| vec![0; len + 2 * PAGE]),
            at: [0; 2],
            len,
        };
        place.at = [0, 1].map(|which| place.page(which));
        place.both_mut().0.copy_from_slice(input);
        place
    }

    fn page(&self, which: usize) -> usize {
        self.memory[which].as_ptr().align_offset(PAGE)
    }

    fn both_mut(&mut self) -> (&mut [u8], &mut [u8]) {
        let [input, output] = &mut self.memory;
        (
            &mut input[self.at[0]..][..self.len[0]],
            &mut output[self.at[1]..][..self.len[1]],
        )
    }

    pub fn both(&mut self) -> (&[u8], &mut [u8]) {
        let (input, output) = self.both_mut();
        (input, output)
    }

    /// To other lines of the page; the input goes along.
    pub fn move_on(&mut self) {
        let old = self.at[0];
        self.at = [0, 1].map(|which| self.page(which) + fastrand::usize(0..PAGE / LINE) * LINE);
        self.memory[0].copy_within(old..old + self.len[0], self.at[0]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_goes_along() {
        let input: Vec<u8> = (0..100).collect();
        let mut place = Place::new(&input, 50);
        let mut lines = std::collections::HashSet::new();
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
}
