// SPDX-License-Identifier: BSD-2-Clause
//! Per mode and direction three separate facts: the strongest backend that the processor has, the one
//! that is selected, and the one whose code did the work when it was tried just now.

use crate::algorithm::{Algorithm, Direction, Mode};
use crate::core::{Backend, Counted, Features, Op, Selection, Stream, BLOCK};
use crate::error::Result;
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
    for mode in Mode::ALL {
        for direction in Direction::BOTH {
            let best = gains.doing(Op::of(mode, direction)).name();
            for key_bits in Algorithm::KEY_BITS {
                let executed = executed(selected, Algorithm { key_bits, mode }, direction)?;
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
fn executed(
    selected: Backend,
    algorithm: Algorithm,
    direction: Direction,
) -> Result<Vec<&'static str>> {
    let counted = Counted::new(selected);
    let key = counted.key(&vec![0x5a; algorithm.key_bytes()])?;
    let mut data = [0u8; 100 * BLOCK];
    Stream::new([0; BLOCK]).process(&key, algorithm.mode, direction, &mut data)?;
    let ran = |b: &Backend| Op::all().any(|op| counted.read(*b, op).0 > 0);
    Ok(Backend::all()
        .into_iter()
        .filter(ran)
        .map(Backend::name)
        .collect())
}
