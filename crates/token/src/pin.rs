// SPDX-License-Identifier: BSD-2-Clause
//! From a PIN to the objects. Argon2id (RFC 9106) makes a key of the PIN and its salt; it seals the
//! master key, which seals the objects; both by AES-256-GCM-SIV (RFC 8452), which forgives a nonce
//! that chance repeats. Both roles hold the same master key, so the security officer can give a
//! user who forgot the PIN a new one, and could read the user's keys.

use crate::error::{Error, Result};
use crate::format::{Contents, Costs, Nonce, Record, Role, Wrapped, SERIAL_LEN};
use crate::pages::{pages, Hidden};
use crate::PIN_LEN;
use argon2::{Algorithm, Argon2, Block, Params, Version};
use catalogue::{Direction, Mode};
use tenrounds_sys::{Backend, Key, Message, Parameters};
use zeroize::Zeroizing;

/// What RFC 9106 section 4 does not reach with this memory, but OWASP's cheat sheet on password
/// storage asks for at least: 19 MiB and two passes, some 60 ms. More memory would hurt each
/// process that logs in.
pub const COSTS: Costs = Costs {
    memory: 19 * 1024,
    passes: 2,
    lanes: 1,
};
/// A file cannot ask for more memory than this, in KiB, nor for more passes.
const MOST_MEMORY: u32 = 1 << 20;
const MOST_PASSES: u32 = 1000;
/// Each lane needs 8 KiB (RFC 9106 section 3.1).
const MOST_LANES: u32 = MOST_MEMORY / 8;

const TAG_LEN: usize = 16;

/// The key of the objects, as it is and expanded, in pages of its own. It is cleared when it is
/// dropped. A child of fork() has zeros in its place, which open no object and verify no file.
pub struct MasterKey {
    raw: Hidden<32>,
    key: Key<'static>,
}

pub fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    fill(&mut bytes)?;
    Ok(bytes)
}

fn fill(bytes: &mut [u8]) -> Result<()> {
    let filled = getrandom::fill(bytes);
    filled.map_err(|error| Error::Machine(format!("no random bytes: {error}")))
}

fn key_of(raw: &[u8; 32], backend: Backend) -> Result<Key<'static>> {
    Key::new(Mode::GcmSiv, backend, raw).map_err(|error| Error::Machine(error.to_string()))
}

fn parameters(nonce: &Nonce, aad: Vec<u8>) -> Parameters {
    Parameters {
        iv: nonce.to_vec(),
        aad,
        tag_len: TAG_LEN,
        ..Default::default()
    }
}

/// The key that a PIN leads to.
fn key_of_pin(pin: &[u8], salt: &[u8; 16], costs: Costs, backend: Backend) -> Result<Key<'static>> {
    let wrong = |error: argon2::Error| Error::Machine(format!("Argon2id: {error}"));
    let Costs {
        memory,
        passes,
        lanes,
    } = costs;
    // argon2 0.5.3 multiplies the lanes by 8 in 32 bits without looking for an overflow.
    if memory > MOST_MEMORY || passes > MOST_PASSES || lanes > MOST_LANES {
        return Err(Error::Machine(format!(
            "the token asks for {memory} KiB of memory, {passes} passes and {lanes} lanes to check \
             a PIN, which is more than the {MOST_MEMORY} KiB, {MOST_PASSES} passes and \
             {MOST_LANES} lanes that are allowed"
        )));
    }
    let params = Params::new(memory, passes, lanes, Some(32)).map_err(wrong)?;
    let mut blocks = Vec::new();
    let room = blocks.try_reserve_exact(params.block_count());
    room.map_err(|_| Error::NoMemory)?;
    blocks.resize(params.block_count(), Block::new());
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
    let mut key = Zeroizing::new([0; 32]);
    let done = argon2.hash_password_into_with_memory(pin, salt, &mut key[..], &mut blocks);
    done.map_err(wrong)?;
    key_of(&key, backend)
}

/// What a wrapped key is bound to: the token and the role.
fn bound_to(serial: &[u8; SERIAL_LEN], role: Role) -> Vec<u8> {
    [b"master key of ", &serial[..], &[role as u8]].concat()
}

pub fn check_len(pin: &[u8]) -> Result<()> {
    match PIN_LEN.contains(&pin.len()) {
        true => Ok(()),
        false => Err(Error::PinLength(pin.len())),
    }
}

impl MasterKey {
    pub fn generate(backend: Backend) -> Result<MasterKey> {
        let mut raw = Hidden::zeros().ok_or(Error::NoMemory)?;
        fill(raw.bytes_mut())?;
        MasterKey::of(raw, backend)
    }

    fn of(raw: Hidden<32>, backend: Backend) -> Result<MasterKey> {
        let memory = pages(Key::layout(Mode::GcmSiv)).ok_or(Error::NoMemory)?;
        // SAFETY: new pages hold zeros, and are the key's alone.
        let key = unsafe { Key::in_memory(Mode::GcmSiv, backend, raw.bytes(), memory) };
        Ok(MasterKey {
            key: key.map_err(|error| Error::Machine(error.to_string()))?,
            raw,
        })
    }

    /// Seals the master key under a PIN. Fails in a child of fork(), which has only zeros to seal.
    pub fn wrap(
        &self,
        pin: &[u8],
        serial: &[u8; SERIAL_LEN],
        role: Role,
        costs: Costs,
        backend: Backend,
    ) -> Result<Wrapped> {
        check_len(pin)?;
        if self.raw.bytes().iter().fold(0, |all, byte| all | byte) == 0 {
            return Err(Error::Machine(
                "a child of fork() does not have the token's key; log in again".to_owned(),
            ));
        }
        let (salt, nonce) = (random()?, random()?);
        let key = key_of_pin(pin, &salt, costs, backend)?;
        let p = parameters(&nonce, bound_to(serial, role));
        let sealed = key.encrypt(&p, &self.raw.bytes()[..]);
        let sealed = sealed.map_err(|error| Error::Machine(error.to_string()))?;
        Ok(Wrapped {
            salt,
            nonce,
            key: sealed.try_into().expect("the key and its tag"),
        })
    }

    /// The master key of a token. None: the PIN is wrong.
    pub fn unwrap(
        contents: &Contents,
        role: Role,
        pin: &[u8],
        backend: Backend,
    ) -> Result<Option<MasterKey>> {
        let wrapped = contents.wrapped(role).ok_or(Error::NoPin)?;
        let key = key_of_pin(pin, &wrapped.salt, contents.costs, backend)?;
        let aad = bound_to(&contents.serial, role);
        let mut raw = Hidden::<32>::zeros().ok_or(Error::NoMemory)?;
        let (sealed, tag) = wrapped.key.split_at(raw.bytes().len());
        let message = Message {
            iv: wrapped.nonce.as_ptr(),
            iv_len: wrapped.nonce.len(),
            aad: aad.as_ptr(),
            aad_len: aad.len(),
            // Key::decrypt() would leave the master key on the heap for a moment.
            out: raw.bytes_mut().as_mut_ptr(),
            input: sealed.as_ptr(),
            len: sealed.len(),
            tag: tag.as_ptr().cast_mut(),
            tag_len: tag.len(),
        };
        // SAFETY: the pointers are valid for the lengths, and the output is as long as the input.
        // The types make the nonce 12 bytes and the tag 16 bytes long.
        match unsafe { key.message(Direction::Decrypt, &message) } {
            Ok(()) => MasterKey::of(raw, backend).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// A record of an object, sealed if it is private.
    pub fn seal(
        &self,
        serial: &[u8; SERIAL_LEN],
        id: u64,
        is_private: bool,
        attributes: &[u8],
    ) -> Result<Record> {
        let nonce = random()?;
        let attributes = match is_private {
            false => attributes.to_vec(),
            true => {
                let p = parameters(&nonce, record_of(serial, id));
                let sealed = self.key.encrypt(&p, attributes);
                sealed.map_err(|error| Error::Machine(error.to_string()))?
            }
        };
        Ok(Record {
            id,
            is_private,
            nonce,
            attributes,
        })
    }

    /// The attributes of a private record. None: it is not one of this token.
    pub fn open(&self, serial: &[u8; SERIAL_LEN], record: &Record) -> Option<Zeroizing<Vec<u8>>> {
        if record.attributes.len() < TAG_LEN {
            return None;
        }
        let p = parameters(&record.nonce, record_of(serial, record.id));
        let opened = self.key.decrypt(&p, &record.attributes);
        opened.ok().map(Zeroizing::new)
    }

    /// The seal of a file.
    pub fn sign(&self, contents: &Contents) -> Result<(Nonce, [u8; 16])> {
        let nonce = random()?;
        let p = parameters(&nonce, contents.sealed_bytes()?);
        let tag = self.key.encrypt(&p, &[]);
        let tag = tag.map_err(|error| Error::Machine(error.to_string()))?;
        Ok((nonce, tag.try_into().expect("a tag")))
    }

    /// Whether the seal is right.
    pub fn verify(&self, contents: &Contents) -> Result<bool> {
        let (nonce, tag) = &contents.seal;
        let p = parameters(nonce, contents.sealed_bytes()?);
        Ok(self.key.decrypt(&p, tag).is_ok())
    }
}

/// What a sealed record is bound to: the token and the object's number.
fn record_of(serial: &[u8; SERIAL_LEN], id: u64) -> Vec<u8> {
    [b"object of ", &serial[..], &id.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number of a damaged file is an error, never a panic, an endless wait or all the memory.
    #[test]
    fn costs_without_sense_are_refused() {
        let numbers = [
            0,
            1,
            7,
            8,
            u32::MAX / 8,
            u32::MAX / 8 + 1,
            u32::MAX - 1,
            u32::MAX,
        ];
        let backend = tenrounds_sys::select(None, 0).backend.expect("a backend");
        let mut taken = Vec::new();
        for memory in numbers {
            for passes in numbers {
                for lanes in numbers {
                    let costs = Costs {
                        memory,
                        passes,
                        lanes,
                    };
                    match key_of_pin(b"1234", &[0; 16], costs, backend) {
                        Ok(_) => taken.push((memory, passes, lanes)),
                        Err(error) => {
                            let ours = memory.max(passes).max(lanes) > MOST_MEMORY;
                            assert_eq!(error.to_string().contains("allowed"), ours, "{error}");
                        }
                    }
                }
            }
        }
        assert_eq!(taken, [(8, 1, 1), (8, 7, 1), (8, 8, 1)]);
    }
}
