// SPDX-License-Identifier: BSD-2-Clause
//! Per mode and direction three separate facts: the strongest backend that the processor has, the one
//! that is selected, and the one whose code did the work when it was tried just now.

use crate::algorithm::{Cipher, Direction, Mode, KEY_BITS};
use crate::core::{Backend, Counted, Features, Op, Selection, Stream, BLOCK};
use crate::error::{Error, Result};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct ModeLine {
    pub mode: &'static str,
    pub direction: &'static str,
    /// The key sizes for which this holds.
    pub key_bits: Vec<u16>,
    /// The strongest backend that the processor has the instructions for.
    pub present: &'static str,
    /// The backend that is selected.
    pub selected: &'static str,
    /// The backends whose code ran, by the counting table.
    pub executed: Vec<&'static str>,
    /// The backend whose code would run if the strongest one were selected that this processor gains by.
    #[serde(skip)]
    pub best: &'static str,
}

/// One line for each mode and direction, or more where key sizes differ.
pub fn list(selected: Backend, selection: &Selection) -> Result<Vec<ModeLine>> {
    let strongest_of = |features: Features| {
        let fits = |b: &Backend| b.features() & !features == 0;
        Backend::all().into_iter().find(fits).unwrap_or(selected)
    };
    let strongest = strongest_of(selection.cpu.present);
    let gains = strongest_of(selection.cpu.present & !selection.avoided);
    let mut lines: Vec<ModeLine> = Vec::new();
    for mode in [Mode::Ecb, Mode::Cbc, Mode::Cfb128, Mode::Ofb, Mode::Ctr] {
        for direction in Direction::BOTH {
            let best = gains.doing_mode(mode, direction).unwrap_or(gains).name();
            for key_bits in KEY_BITS {
                let cipher = Cipher::new(mode, key_bits).expect("all key sizes");
                let executed = executed(selected, cipher, direction)?;
                match lines.last_mut() {
                    Some(last)
                        if (last.mode, last.direction) == (mode.name(), direction.name())
                            && last.executed == executed =>
                    {
                        last.key_bits.push(key_bits)
                    }
                    _ => lines.push(ModeLine {
                        mode: mode.name(),
                        direction: direction.name(),
                        key_bits: vec![key_bits],
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

/// Runs 100 blocks through the counting table: enough for every backend's widest loop and its tail.
fn executed(selected: Backend, cipher: Cipher, direction: Direction) -> Result<Vec<&'static str>> {
    let counted = Counted::new(selected);
    let key = counted.key(cipher.mode(), &vec![0x5a; cipher.key_bytes()]);
    let key = key.map_err(Error::from_reason)?;
    let mut data = [0u8; 100 * BLOCK];
    let mut stream = Stream::new([0; BLOCK]);
    let done = stream.process(&key, direction, &mut data);
    done.map_err(Error::from_reason)?;
    let ran = |b: &Backend| Op::all().any(|op| counted.read(*b, op).0 > 0);
    Ok(Backend::all()
        .into_iter()
        .filter(ran)
        .map(Backend::name)
        .collect())
}
