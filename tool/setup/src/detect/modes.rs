// SPDX-License-Identifier: BSD-2-Clause
//! Per mode and direction three separate facts: the strongest backend that the processor has, the
//! one that is selected, and those whose code did the work when it was tried just now.

use catalogue::{Call, Cipher, Direction, Mode, KEY_BITS};
use serde::Serialize;
use tenrounds_sys::{Backend, Counted, Features, Key, Op, Parameters, Selection, Stream, BLOCK};
use terminal::error::{Error, Result};

#[derive(Debug, Serialize)]
pub struct ModeLine {
    pub mode: &'static str,
    /// As the text has it.
    #[serde(skip)]
    pub title: &'static str,
    pub direction: &'static str,
    /// The key sizes for which this holds.
    pub key_bits: Vec<u16>,
    /// The strongest backend that the processor has the instructions for.
    pub present: &'static str,
    /// The backend that is selected.
    pub selected: &'static str,
    /// The backends whose code ran, by the counting table.
    pub executed: Vec<&'static str>,
    /// The backend whose code would run if the strongest one were selected that this processor
    /// gains by.
    #[serde(skip)]
    pub best: &'static str,
}

/// One line for each mode and each direction that differs, or more where key sizes differ.
pub fn list(selected: Backend, selection: &Selection) -> Result<Vec<ModeLine>> {
    let strongest_of = |features: Features| {
        let fits = |b: &Backend| b.features() & !features == 0;
        Backend::all().into_iter().find(fits).unwrap_or(selected)
    };
    let strongest = strongest_of(selection.cpu.present);
    let gains = strongest_of(selection.cpu.present & !selection.avoided);
    let mut lines: Vec<ModeLine> = Vec::new();
    for mode in Mode::aes() {
        for &direction in mode.row().directions {
            let best = gains.doing_mode(mode, direction).unwrap_or(gains).name();
            for cipher in KEY_BITS.iter().filter_map(|bits| Cipher::new(mode, *bits)) {
                let executed = executed(selected, cipher, direction)?;
                match lines.last_mut() {
                    Some(last)
                        if (last.mode, last.direction) == (mode.name(), direction.name())
                            && last.executed == executed =>
                    {
                        last.key_bits.push(cipher.key_bits())
                    }
                    _ => lines.push(ModeLine {
                        mode: mode.name(),
                        title: mode.title(),
                        direction: direction.name(),
                        key_bits: vec![cipher.key_bits()],
                        present: strongest.name(),
                        selected: selected.name(),
                        executed,
                        best,
                    }),
                }
            }
        }
    }
    Ok(lines)
}

/// The backends whose code does a cipher, by the counting table.
fn executed(selected: Backend, cipher: Cipher, direction: Direction) -> Result<Vec<&'static str>> {
    let counted = counted(selected, cipher, direction)?;
    let ran = |b: &Backend| Op::all().any(|op| counted.read(*b, op).0 > 0);
    let ran = Backend::all().into_iter().filter(ran);
    Ok(ran.map(Backend::name).collect())
}

/// Runs 100 blocks through a counting table: enough for every backend's widest loop and its tail.
fn counted(selected: Backend, cipher: Cipher, direction: Direction) -> Result<Counted> {
    let counted = Counted::new(selected);
    let raw: Vec<u8> = (0..).take(cipher.key_bytes()).collect();
    let mut data = vec![0; 100 * BLOCK];
    let mut tried = || {
        if cipher.mode().streams() {
            let key = counted.key(cipher.mode(), &raw)?;
            return Stream::new([0; BLOCK]).process(&key, direction, &mut data);
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
        if direction == Direction::Decrypt {
            // Encrypted without being counted.
            data = Key::new(cipher.mode(), selected, &raw)?.encrypt(&parameters, &data)?;
        }
        let key = counted.key(cipher.mode(), &raw)?;
        match direction {
            Direction::Encrypt => key.encrypt(&parameters, &data),
            Direction::Decrypt => key.decrypt(&parameters, &data),
        }
        .map(drop)
    };
    tried().map_err(Error::from_reason)?;
    Ok(counted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use catalogue::Needs;

    /// The catalogue says so of those modes alone whose calls of a backend are of one block.
    #[test]
    fn one_block_at_a_time() {
        let bitslice = Backend::by_name("bitslice").unwrap();
        for mode in Mode::aes() {
            for &direction in mode.row().directions {
                let cipher = Cipher::new(mode, 128).unwrap();
                let counted = counted(bitslice, cipher, direction).unwrap();
                let all = Op::all().map(|op| counted.read(bitslice, op));
                let (calls, bytes) = all.fold((0, 0), |sum, n| (sum.0 + n.0, sum.1 + n.1));
                let needs = mode.row().needs[direction as usize];
                let alone = bytes == calls * BLOCK as u64;
                assert_eq!(needs == Needs::OneBlock, alone, "{mode:?} {direction:?}");
            }
        }
    }
}
