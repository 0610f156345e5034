// SPDX-License-Identifier: BSD-2-Clause
//! Whether a peer computes what the reference computes.

use crate::peer::{Direction, Inputs, Operation, Peer, Spec};
use measure::process::caught;
use terminal::error::{Error, Result};

/// Calls that are compared: more than one, so that what is carried on is compared, too.
const CALLS: usize = 3;

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
        aad: [0xa5; 20],
    }
}

/// The input of a cell: data, or messages that the reference sealed.
pub fn input(reference: &Peer, spec: Spec, bytes: usize) -> Result<Vec<u8>> {
    let sealing = Spec {
        direction: Direction::Encrypt,
        ..spec
    };
    let mut data = vec![0; sealing.input_bytes(bytes)];
    fill(&mut data, bytes as u64);
    if !spec.is_checked() || spec.direction == Direction::Encrypt {
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

/// What the reference says to a cell.
pub struct Wanted {
    spec: Spec,
    bytes: usize,
    input: Vec<u8>,
    outputs: Vec<Vec<u8>>,
}

impl Wanted {
    pub fn new(reference: &Peer, spec: Spec, bytes: usize) -> Result<Wanted> {
        let Some(mut ours) = reference.operation(spec, bytes, &inputs(spec))? else {
            return Err(Error::failure("there is no reference for this"));
        };
        let input = input(reference, spec, bytes)?;
        let outputs = outputs(&mut *ours, &input, spec.output_bytes(bytes))?;
        Ok(Wanted {
            spec,
            bytes,
            input,
            outputs,
        })
    }

    /// None if the peer has no such operation; an error says what is wrong.
    pub fn check(&self, peer: &Peer) -> Result<Option<()>> {
        let (spec, bytes) = (self.spec, self.bytes);
        let prepared = caught(|| peer.operation(spec, bytes, &inputs(spec)))??;
        let Some(mut theirs) = prepared else {
            return Ok(None);
        };
        let length = spec.output_bytes(bytes);
        let got = outputs(&mut *theirs, &self.input, length)?;
        for (call, (wanted, got)) in self.outputs.iter().zip(&got).enumerate() {
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
        if spec.is_checked() && spec.direction == Direction::Decrypt {
            let mut input = self.input.clone();
            *input.last_mut().expect("a tag at least") ^= 1;
            if caught(|| theirs.call(&input, &mut vec![0; length])).is_ok() {
                return Err(Error::failure("a wrong tag is not noticed"));
            }
        }
        Ok(Some(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ours::selected;
    use crate::peer::{Form, Mode, AAD, RAGGED, RAGGED_BYTES};

    fn cells() -> Vec<(Spec, usize)> {
        let mut cells = Vec::new();
        for mode in Mode::aes() {
            for direction in [Direction::Encrypt, Direction::Decrypt] {
                for streams in [1, 16, RAGGED] {
                    let spec = Spec {
                        mode,
                        key_bits: 128,
                        direction,
                        streams,
                        aad: AAD,
                        gap: 0,
                        form: Form::Usual,
                    };
                    let bytes = if streams == RAGGED { RAGGED_BYTES } else { 96 };
                    cells.push((spec, bytes));
                }
            }
        }
        cells
    }

    #[test]
    fn every_backend_agrees_with_the_reference() {
        let reference = selected().unwrap();
        let usable = tenrounds_sys::Cpu::detect().usable;
        for backend in tenrounds_sys::Backend::all() {
            if backend.features() & !usable != 0 {
                continue;
            }
            for (spec, bytes) in cells() {
                let has = reference
                    .prepare(spec, bytes, &inputs(spec))
                    .unwrap()
                    .is_some();
                if has {
                    let wanted = Wanted::new(&reference, spec, bytes).unwrap();
                    let checked = wanted.check(&crate::ours::of(backend));
                    assert_eq!(checked.unwrap(), Some(()), "{backend:?} {spec:?}");
                }
            }
        }
    }

    #[derive(Clone, Copy)]
    enum Fault {
        None,
        OneBit,
        Restart,
        Beyond,
        BelievesEveryTag,
    }
    struct BrokenOperation(Box<dyn Operation>, Fault, u32);

    /// The core, with one thing wrong.
    fn broken(fault: Fault) -> Peer {
        let core = selected().unwrap();
        let [id, title, version] = ["broken"; 3].map(str::to_owned);
        Peer::new(id, title, version, move |spec, bytes, inputs| {
            let sound = core.prepare(spec, bytes, inputs)?;
            let broken = |sound| Box::new(BrokenOperation(sound, fault, 0)) as Box<dyn Operation>;
            Ok(sound.map(broken))
        })
    }

    impl Operation for BrokenOperation {
        fn call(&mut self, input: &[u8], output: &mut [u8]) {
            self.2 += 1;
            match self.1 {
                Fault::BelievesEveryTag => {
                    let _ = caught(|| self.0.call(input, output));
                }
                _ => self.0.call(input, output),
            }
            match self.1 {
                Fault::OneBit if self.2 == 3 => *output.last_mut().unwrap() ^= 0x80,
                // SAFETY: the check leaves room behind the output, to find what is written there.
                Fault::Beyond => unsafe { *output.as_mut_ptr().add(output.len()) = 0 },
                _ => {}
            }
        }
        fn restart(&mut self) {
            if !matches!(self.1, Fault::Restart) || self.2 == 0 {
                self.0.restart();
            }
        }
    }

    #[test]
    fn what_is_broken_is_found() {
        let reference = selected().unwrap();
        let check = |mode, direction, fault| {
            let spec = Spec {
                mode,
                key_bits: 256,
                direction,
                streams: 1,
                aad: AAD,
                gap: 0,
                form: Form::Usual,
            };
            let wanted = Wanted::new(&reference, spec, 100).unwrap();
            wanted.check(&broken(fault))
        };
        use Direction::{Decrypt, Encrypt};
        assert!(check(Mode::Ctr, Encrypt, Fault::None).is_ok());
        assert!(check(Mode::Gcm, Decrypt, Fault::None).is_ok());
        for (mode, direction, fault, said) in [
            (
                Mode::Ctr,
                Encrypt,
                Fault::OneBit,
                "byte 99 of 100 of call 3 is",
            ),
            (Mode::Ctr, Encrypt, Fault::Restart, "call 1 after a restart"),
            (Mode::Xts, Decrypt, Fault::Beyond, "byte 100 of 100"),
            (Mode::Gcm, Decrypt, Fault::BelievesEveryTag, "a wrong tag"),
        ] {
            let error = check(mode, direction, fault).err().unwrap().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
