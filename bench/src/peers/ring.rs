// SPDX-License-Identifier: BSD-2-Clause
//! ring: GCM alone, with keys of 128 and 256 bits, and in place alone. Input and output are two buffers here, so its calls
//! have the copy from one to the other in them that whoever has two buffers needs.

use super::takes_part;
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec, TAG};
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, AES_256_GCM};
use terminal::error::{Error, Result};

const NONCE: usize = 12;

pub struct Ring;

impl Peer for Ring {
    fn id(&self) -> String {
        "ring".to_owned()
    }

    fn title(&self) -> String {
        "ring (with a copy)".to_owned()
    }

    fn version(&self) -> String {
        super::locked("ring")
    }

    fn prepare(
        &self,
        spec: Spec,
        bytes: usize,
        inputs: &Inputs,
    ) -> Result<Option<Box<dyn Operation>>> {
        let algorithm = match (spec.mode, spec.key_bits, spec.streams) {
            _ if !takes_part(spec, bytes) => return Ok(None),
            (Mode::Gcm, 128, 1) => &AES_128_GCM,
            (Mode::Gcm, 256, 1) => &AES_256_GCM,
            _ => return Ok(None),
        };
        let key = UnboundKey::new(algorithm, &inputs.key)
            .map_err(|_| Error::failure("ring does not take the key"))?;
        let mut nonce = [0; NONCE];
        nonce.copy_from_slice(&inputs.iv[..NONCE]);
        let gcm = Gcm {
            key: LessSafeKey::new(key),
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
    key: LessSafeKey,
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
        let nonce = Nonce::assume_unique_for_key(g.nonce);
        let sealed = g
            .key
            .seal_in_place_separate_tag(nonce, Aad::from(&g.aad), data);
        tag[..TAG].copy_from_slice(sealed.expect("ring seals").as_ref());
    }

    fn restart(&mut self) {}
}

struct Open(Gcm);

impl Operation for Open {
    #[inline]
    fn call(&mut self, input: &[u8], output: &mut [u8]) {
        let g = &self.0;
        let (data, tag) = input.split_at(g.bytes);
        let mut expected = [0; TAG];
        expected.copy_from_slice(&tag[..TAG]);
        let output = &mut output[..g.bytes];
        output.copy_from_slice(data);
        let nonce = Nonce::assume_unique_for_key(g.nonce);
        g.key
            .open_in_place_separate_tag(nonce, Aad::from(&g.aad), expected.into(), output, 0..)
            .expect("ring opens");
    }

    fn restart(&mut self) {}
}
