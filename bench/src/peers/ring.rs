// SPDX-License-Identifier: BSD-2-Clause
//! ring: GCM alone, with keys of 128 and 256 bits, and in place alone. Input and output are two
//! buffers here, so its calls have the copy from one to the other in them that whoever has two
//! buffers needs.

use super::call::{open_in_place, seal_in_place};
use super::takes_part;
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec};
use ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, AES_128_GCM, AES_256_GCM};
use terminal::error::{Error, Result};

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
        let key = LessSafeKey::new(key);
        let (nonce, aad) = (super::nonce(inputs), inputs.aad);
        let nonce = move || Nonce::assume_unique_for_key(nonce);
        Ok(Some(match spec.direction {
            Direction::Encrypt => seal_in_place(bytes, move |data, tag| {
                let sealed = key.seal_in_place_separate_tag(nonce(), Aad::from(&aad), data);
                tag.copy_from_slice(sealed.expect("ring seals").as_ref());
            }),
            Direction::Decrypt => open_in_place(bytes, move |data, tag| {
                let (aad, tag) = (Aad::from(&aad), (*tag).into());
                key.open_in_place_separate_tag(nonce(), aad, tag, data, 0..)
                    .expect("ring opens");
            }),
        }))
    }
}
