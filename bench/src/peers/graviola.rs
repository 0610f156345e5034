// SPDX-License-Identifier: BSD-2-Clause
//! graviola: GCM alone, with keys of 128 and 256 bits, and in place alone. Input and output are two buffers here, so its calls
//! have the copy from one to the other in them that whoever has two buffers needs.

use super::takes_part;
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, TAG};
use graviola::aead::AesGcm;
use terminal::error::Result;

const NONCE: usize = 12;

pub struct Graviola;

impl Peer for Graviola {
    fn id(&self) -> String {
        "graviola".to_owned()
    }

    fn title(&self) -> String {
        "graviola (with a copy)".to_owned()
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
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&inputs.iv[..NONCE]);
        let gcm = Gcm {
            key: AesGcm::new(&inputs.key),
            nonce,
            aad: inputs.aad,
            bytes,
        };
        Ok(Some(match spec.direction {
            Direction::Encrypt => Box::new(Seal(gcm)),
            Direction::Decrypt => Box::new(Open(gcm)),
        }))
    }
}

struct Gcm {
    key: AesGcm,
    nonce: [u8; NONCE],
    aad: [u8; 13],
    bytes: usize,
}

struct Seal(Gcm);

impl Operation for Seal {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let g = &self.0;
        let (data, tag) = output.split_at_mut(g.bytes);
        data.copy_from_slice(&input[..g.bytes]);
        let tag = tag
            .first_chunk_mut::<TAG>()
            .expect("there is room for the tag");
        g.key.encrypt(&g.nonce, &g.aad, data, tag);
    }

    fn restart(&mut self) {}
}

struct Open(Gcm);

impl Operation for Open {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let g = &self.0;
        let (data, tag) = input.split_at(g.bytes);
        let output = &mut output[..g.bytes];
        output.copy_from_slice(data);
        g.key
            .decrypt(&g.nonce, &g.aad, output, &tag[..TAG])
            .expect("graviola opens");
    }

    fn restart(&mut self) {}
}
