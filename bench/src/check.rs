// SPDX-License-Identifier: BSD-2-Clause
//! Whether a peer computes what the reference computes.

use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, BLOCK, RAGGED, RAGGED_BYTES};
use std::panic::{catch_unwind, AssertUnwindSafe};
use tenrounds::error::{Error, Result};

/// Calls that are compared: more than one, so that what is carried on is compared, too.
const CALLS: usize = 3;

/// Every size of the grid.
pub const SIZES: [usize; 14] = [
    16,
    31,
    64,
    100,
    256,
    512,
    1024,
    1350,
    1420,
    4096,
    8192,
    16384,
    65536,
    1 << 20,
];

/// Bytes of which no two blocks are alike.
pub fn fill(data: &mut [u8], seed: u64) {
    for (index, chunk) in data.chunks_mut(8).enumerate() {
        let word = (index as u64 + 1 + seed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .to_le_bytes();
        chunk.copy_from_slice(&word[..chunk.len()]);
    }
}

/// The keys and IVs of all peers. The counter wraps its low 32 bits within the first calls.
pub fn inputs(spec: Spec) -> Inputs {
    let mut iv = [0x5a; 16];
    iv[12..].copy_from_slice(&[0xff, 0xff, 0xff, 0xfd]);
    Inputs {
        key: (1..=spec.key_bytes() as u8).collect(),
        iv,
        aad: [0xa5; 13],
    }
}

/// What the panics of a library say.
fn caught<T>(what: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Error::failure(text.unwrap_or_else(|| "panics".into()))
    })
}

/// The input of a cell: data, or messages that the reference sealed.
pub fn input(reference: &dyn Peer, spec: Spec, bytes: usize) -> Result<Vec<u8>> {
    let sealing = Spec {
        direction: Direction::Encrypt,
        ..spec
    };
    let mut data = vec![0; sealing.input_bytes(bytes)];
    fill(&mut data, bytes as u64);
    if !spec.mode.authenticated() || spec.direction == Direction::Encrypt {
        return Ok(data);
    }
    let mut sealed = vec![0; sealing.output_bytes(bytes)];
    match reference.prepare(sealing, bytes, &inputs(spec))? {
        Some(mut operation) => operation.call(&data, &mut sealed),
        None => return Err(Error::failure("the reference cannot seal this")),
    }
    Ok(sealed)
}

fn outputs(operation: &mut dyn Operation, input: &[u8], length: usize) -> Result<Vec<Vec<u8>>> {
    let mut outputs = Vec::new();
    // Once more from the start, to see that there is a way back.
    for _ in 0..2 {
        operation.restart();
        for _ in 0..CALLS {
            // 17 bytes behind, which nobody may write.
            let mut output = vec![0xee; length + 17];
            caught(|| operation.call(input, &mut output[..length]))?;
            outputs.push(output);
        }
    }
    Ok(outputs)
}

/// None if the peer has no such operation.
pub fn cell(peer: &dyn Peer, reference: &dyn Peer, spec: Spec, bytes: usize) -> Result<Option<()>> {
    let inputs = inputs(spec);
    let Some(mut theirs) = caught(|| peer.prepare(spec, bytes, &inputs))?? else {
        return Ok(None);
    };
    let Some(mut ours) = reference.prepare(spec, bytes, &inputs)? else {
        return Err(Error::failure("there is no reference for this"));
    };
    let mut input = input(reference, spec, bytes)?;
    let length = spec.output_bytes(bytes);
    let wanted = outputs(&mut *ours, &input, length)?;
    let got = outputs(&mut *theirs, &input, length)?;
    for (call, (wanted, got)) in wanted.iter().zip(&got).enumerate() {
        if let Some(place) = (0..wanted.len()).find(|&i| wanted[i] != got[i]) {
            let restarted = if call < CALLS { "" } else { " after a restart" };
            return Err(Error::failure(format!(
                "byte {place} of {length} of call {}{restarted} is {:#04x} instead of {:#04x}",
                call % CALLS + 1,
                got[place],
                wanted[place]
            )));
        }
    }
    if spec.mode.authenticated() && spec.direction == Direction::Decrypt {
        let last = input.len() - 1;
        input[last] ^= 1;
        let mut output = vec![0; length];
        if caught(|| theirs.call(&input, &mut output)).is_ok() {
            return Err(Error::failure("a wrong tag is not noticed"));
        }
    }
    Ok(Some(()))
}

/// Everything a peer has; returns how much of it is wrong.
pub fn all(peer: &dyn Peer, reference: &dyn Peer) -> usize {
    let (mut right, mut wrong) = (0, 0);
    for mode in Mode::ALL {
        for direction in [Direction::Encrypt, Direction::Decrypt] {
            for key_bits in [128, 256] {
                for streams in [1, 16, RAGGED] {
                    let spec = Spec {
                        mode,
                        key_bits,
                        direction,
                        streams,
                    };
                    if mode == Mode::Cmac && direction == Direction::Decrypt {
                        continue;
                    }
                    for bytes in SIZES {
                        let bytes = match mode.whole_blocks() {
                            true => bytes / BLOCK * BLOCK,
                            false => bytes,
                        };
                        let bytes = if streams == RAGGED {
                            RAGGED_BYTES
                        } else {
                            bytes
                        };
                        match cell(peer, reference, spec, bytes) {
                            Ok(None) => {}
                            Ok(Some(())) => right += 1,
                            Err(error) => {
                                eprintln!("WRONG: {}: {spec:?}, {bytes} bytes: {error}", peer.id());
                                wrong += 1;
                            }
                        }
                        if streams == RAGGED {
                            break;
                        }
                    }
                }
            }
        }
    }
    println!("{}: {right} right, {wrong} wrong", peer.id());
    wrong
}
