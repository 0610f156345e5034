// SPDX-License-Identifier: BSD-2-Clause
//! One random message of a mode, and what a backend makes of it.

use catalogue::{Call, Cipher, Direction};
use fastrand::Rng;
use tenrounds_sys::{Backend, Key, Parameters, Stream, BLOCK};
use terminal::error::{Error, Result};

/// A message. Everything that a mode may vary is drawn at random.
pub struct Case {
    cipher: Cipher,
    key: Vec<u8>,
    iv: [u8; BLOCK],
    parameters: Parameters,
    data: Vec<u8>,
    /// Where streams are cut into calls.
    cuts: Vec<usize>,
}

impl Case {
    /// A message of about `len` bytes: the mode's nearest length that is not longer, or its
    /// shortest.
    pub fn random(rng: &mut Rng, cipher: Cipher, len: usize) -> Case {
        let row = cipher.row();
        let len = (len / row.unit * row.unit).max(match row.call {
            // An empty stream or message is one, too.
            Call::Stream | Call::Message(_) if row.shortest == 1 => 0,
            _ => row.shortest,
        });
        let mut key = vec![0; cipher.key_bytes()];
        let mut iv = [0; BLOCK];
        let mut data = vec![0; len];
        rng.fill(&mut key);
        rng.fill(&mut iv);
        rng.fill(&mut data);
        if rng.bool() {
            // A counter about to wrap: the carry runs through all of it.
            iv[rng.usize(..BLOCK)..].fill(0xff);
        }
        let cut = |rng: &mut Rng| rng.usize(..=len) / row.unit * row.unit;
        let mut cuts: Vec<usize> = (0..rng.usize(..4)).map(|_| cut(rng)).collect();
        cuts.push(len);
        cuts.sort_unstable();
        Case {
            cipher,
            parameters: parameters(rng, cipher, &iv),
            key,
            iv,
            data,
            cuts,
        }
    }

    /// The backend's output. An error if the backend does not reverse it.
    pub fn output(&self, backend: Backend) -> Result<Vec<u8>> {
        let key = Key::new(self.cipher.mode(), backend, &self.key).map_err(Error::from_reason)?;
        match self.cipher.mode().streams() {
            true => self.stream(&key),
            false => self.message(&key),
        }
    }

    /// Ciphertext, and the IV that is left.
    fn stream(&self, key: &Key) -> Result<Vec<u8>> {
        let mut data = self.data.clone();
        let iv = self.calls(key, Direction::Encrypt, &mut data)?;
        let mut output = data.clone();
        output.extend(iv);
        let back = self.calls(key, Direction::Decrypt, &mut data)?;
        if data != self.data || back != iv {
            return Err(Error::failure("decryption does not give the plaintext"));
        }
        Ok(output)
    }

    fn calls(&self, key: &Key, direction: Direction, data: &mut [u8]) -> Result<[u8; BLOCK]> {
        let mut stream = Stream::new(self.iv);
        let mut from = 0;
        for &to in &self.cuts {
            let done = stream.process(key, direction, &mut data[from..to]);
            done.map_err(Error::from_reason)?;
            from = to;
        }
        Ok(stream.iv)
    }

    /// Ciphertext and tag.
    fn message(&self, key: &Key) -> Result<Vec<u8>> {
        let output = key.encrypt(&self.parameters, &self.data);
        let output = output.map_err(Error::from_reason)?;
        if self.cipher.call() == Call::Mac {
            return Ok(output);
        }
        let back = key.decrypt(&self.parameters, &output);
        if back.map_err(Error::from_reason)? != self.data {
            return Err(Error::failure("decryption does not give the plaintext"));
        }
        if self.cipher.is_aead() {
            let mut forged = output.clone();
            *forged.last_mut().expect("a tag") ^= 1;
            if key.decrypt(&self.parameters, &forged).is_ok() {
                return Err(Error::failure("a wrong tag is accepted"));
            }
        }
        Ok(output)
    }

    pub fn describe(&self) -> String {
        let calls = match self.cipher.mode().streams() {
            true => format!(", calls ending at {:?}", self.cuts),
            false => {
                let p = &self.parameters;
                format!(
                    ", IV of {} bytes, AAD of {}, tag of {}",
                    p.iv.len(),
                    p.aad.len(),
                    p.tag_len
                )
            }
        };
        format!("{} of {} bytes{calls}", self.cipher, self.data.len())
    }
}

/// Lengths that the mode allows; the usual ones in half of all messages.
fn parameters(rng: &mut Rng, cipher: Cipher, iv: &[u8; BLOCK]) -> Parameters {
    let (row, usual) = (cipher.row(), rng.bool());
    let iv_len = match row.call {
        Call::Message(shape) if usual => shape.iv,
        _ => rng.usize(row.ivs[0]..=row.ivs[1]),
    };
    let tag = if usual {
        row.tags.last()
    } else {
        rng.choice(row.tags)
    };
    let mut aad = vec![0; if usual { 13 } else { rng.usize(..300) }];
    rng.fill(&mut aad);
    Parameters {
        iv: iv.iter().copied().cycle().take(iv_len).collect(),
        aad: if cipher.is_aead() { aad } else { Vec::new() },
        tag_len: tag.copied().unwrap_or(0),
        form: match cipher.mode().wraps() {
            true => rng.i32(0..=1),
            false => rng.i32(1..=3),
        },
    }
}
