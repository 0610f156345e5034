// SPDX-License-Identifier: BSD-2-Clause
//! graviola: GCM alone, with keys of 128 and 256 bits, and in place alone. Input and output are two buffers here, so its calls
//! have the copy from one to the other in them that whoever has two buffers needs.

use super::call::{open_in_place, seal_in_place};
use super::takes_part;
use crate::peer::{Direction, Inputs, Mode, Operation, Peer, Spec};
use graviola::aead::AesGcm;
use terminal::error::Result;

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
        let key = AesGcm::new(&inputs.key);
        let (nonce, aad) = (super::nonce(inputs), inputs.aad);
        Ok(Some(match spec.direction {
            Direction::Encrypt => seal_in_place(bytes, move |data, tag| {
                key.encrypt(&nonce, &aad, data, tag);
            }),
            Direction::Decrypt => open_in_place(bytes, move |data, tag| {
                key.decrypt(&nonce, &aad, data, tag)
                    .expect("graviola opens");
            }),
        }))
    }
}
