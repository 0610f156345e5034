// SPDX-License-Identifier: BSD-2-Clause
//! graviola: GCM alone, with keys of 128 and 256 bits, and only in place. The benchmark has
//! separate buffers for input and output, so one subject copies the data before each call, as a
//! caller with two buffers must. The other subject seals in place without the copy. Opening has no
//! such subject: it turns the sealed message into plaintext, and the next call would need the
//! message again.

use super::call::{open_in_place, seal_in_place};
use super::takes_part;
use crate::peer::{fence, Direction, Inputs, Mode, Operation, Peer, Spec, AAD, TAG};
use graviola::aead::AesGcm;
use terminal::error::Result;

pub enum Graviola {
    WithCopy,
    InPlace,
}

impl Peer for Graviola {
    fn id(&self) -> String {
        match self {
            Graviola::WithCopy => "graviola".to_owned(),
            Graviola::InPlace => "graviola-in-place".to_owned(),
        }
    }

    fn title(&self) -> String {
        match self {
            Graviola::WithCopy => "graviola (with a copy)".to_owned(),
            Graviola::InPlace => "graviola (in place)".to_owned(),
        }
    }

    fn version(&self) -> String {
        super::locked("graviola")
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        if !matches!(
            (spec.mode, spec.key_bits, spec.streams),
            (Mode::Gcm, 128 | 256, 1)
        ) || !takes_part(spec, bytes)
        {
            return Ok(None);
        }
        let key = AesGcm::new(&inputs.key);
        let (nonce, aad) = (super::nonce(inputs), inputs.aad);
        Ok(match (self, spec.direction) {
            (Graviola::WithCopy, Direction::Encrypt) => {
                Some(seal_in_place(bytes, move |data, tag| {
                    key.encrypt(&nonce, &aad, data, tag);
                }))
            }
            (Graviola::WithCopy, Direction::Decrypt) => {
                Some(open_in_place(bytes, move |data, tag| {
                    key.decrypt(&nonce, &aad, data, tag)
                        .expect("graviola opens");
                }))
            }
            (Graviola::InPlace, Direction::Encrypt) => Some(Box::new(SealInPlace {
                key,
                nonce,
                aad,
                bytes,
            })),
            (Graviola::InPlace, Direction::Decrypt) => None,
        })
    }
}

/// Sealing in place. Each timed call seals what the previous one wrote.
struct SealInPlace {
    key: AesGcm,
    nonce: [u8; 12],
    aad: [u8; AAD],
    bytes: usize,
}

impl SealInPlace {
    #[inline(always)]
    fn seal(&self, output: &mut [u8]) {
        let (data, tag) = output.split_at_mut(self.bytes);
        let tag: &mut [u8; TAG] = tag.first_chunk_mut().expect("there is room for it");
        self.key.encrypt(&self.nonce, &self.aad, data, tag);
    }
}

impl Operation for SealInPlace {
    /// For the comparison of outputs, with a copy.
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        output[..self.bytes].copy_from_slice(&input[..self.bytes]);
        self.seal(output);
    }

    fn run(&mut self, calls: u64, _: &[u8], output: &mut [u8], alone: bool) {
        for _ in 0..calls {
            self.seal(output);
            if alone {
                fence();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Form;

    #[test]
    fn the_timed_calls_seal_what_the_previous_one_wrote() {
        let spec = Spec {
            mode: Mode::Gcm,
            key_bits: 128,
            direction: Direction::Encrypt,
            streams: 1,
            aad: AAD,
            gap: 0,
            form: Form::Usual,
        };
        let inputs = crate::check::inputs(spec);
        let operation = |of: Graviola| of.prepare(spec, 100, &inputs).unwrap().unwrap();
        let mut copying = operation(Graviola::WithCopy);
        let (mut once, mut twice) = (vec![7; 116], vec![7; 116]);
        copying.call(&[7; 100], &mut once);
        let first = once.clone();
        copying.call(&first[..100], &mut once);
        operation(Graviola::InPlace).run(2, &[], &mut twice, false);
        assert_eq!(once, twice);
        let opening = Spec {
            direction: Direction::Decrypt,
            ..spec
        };
        let opens = Graviola::InPlace.prepare(opening, 100, &inputs).unwrap();
        assert!(opens.is_none());
    }
}
