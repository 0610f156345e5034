// SPDX-License-Identifier: BSD-2-Clause
//! The AES-GCM suites of TLS 1.2, TLS 1.3 and QUIC for rustls 0.23.
//!
//! ```
//! use rustls::crypto::{ring, CryptoProvider};
//!
//! let provider = tenrounds::rustls::provider(ring::default_provider());
//! provider.install_default().expect("no provider yet");
//! assert!(CryptoProvider::get_default().is_some());
//! ```

use crate::cipher::Aes;
use crate::{raw, Gcm};
use ::rustls::crypto::cipher::{
    make_tls12_aad, make_tls13_aad, AeadKey, InboundOpaqueMessage, InboundPlainMessage, Iv,
    KeyBlockShape, MessageDecrypter, MessageEncrypter, Nonce, OutboundOpaqueMessage,
    OutboundPlainMessage, PrefixedPayload, Tls12AeadAlgorithm, Tls13AeadAlgorithm,
    UnsupportedOperationError, NONCE_LEN,
};
use ::rustls::crypto::{CipherSuiteCommon, CryptoProvider};
use ::rustls::{
    quic, CipherSuite, ConnectionTrafficSecrets, ContentType, Error, ProtocolVersion,
    SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite,
};
use alloc::boxed::Box;

type Result<T> = core::result::Result<T, Error>;

const TAG: usize = 16;
/// TLS 1.2 sends the nonce's last 8 bytes with each record (RFC 5288 section 3).
const EXPLICIT: usize = 8;
const MAX_PLAINTEXT: usize = 1 << 14;

/// Puts tenrounds' AES-GCM into the suites of `base`, such as that of ring or aws-lc-rs. All else
/// stays: other suites, key exchange, signatures, hashes, random numbers.
///
/// rustls wants suites that live as long as the program, so each call keeps some hundred bytes
/// forever. Call it once.
pub fn provider(base: CryptoProvider) -> CryptoProvider {
    let cipher_suites = base
        .cipher_suites
        .iter()
        .map(|&suite| replaced(suite))
        .collect();
    CryptoProvider {
        cipher_suites,
        ..base
    }
}

fn replaced(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    use CipherSuite::*;
    match suite.suite() {
        TLS13_AES_128_GCM_SHA256
        | TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256
        | TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => with(suite, &AesGcm::<16>),
        TLS13_AES_256_GCM_SHA384
        | TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384
        | TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384 => with(suite, &AesGcm::<32>),
        _ => suite,
    }
}

fn with<const KEY: usize>(
    suite: SupportedCipherSuite,
    aead: &'static AesGcm<KEY>,
) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon { ..*common };
    match suite {
        SupportedCipherSuite::Tls12(old) => {
            let new = Tls12CipherSuite {
                common: common(&old.common),
                aead_alg: aead,
                ..*old
            };
            SupportedCipherSuite::Tls12(Box::leak(Box::new(new)))
        }
        SupportedCipherSuite::Tls13(old) => {
            let common = common(&old.common);
            let new = Tls13CipherSuite {
                common,
                aead_alg: aead,
                quic: Some(aead),
                ..*old
            };
            SupportedCipherSuite::Tls13(Box::leak(Box::new(new)))
        }
    }
}

/// AES-GCM with keys of KEY bytes.
struct AesGcm<const KEY: usize>;

/// A key with the connection's part of its nonces: the whole IV, or in TLS 1.2 for decryption the
/// first 4 bytes of it.
struct Connection<const KEY: usize> {
    key: Gcm<KEY>,
    iv: Iv,
}

impl<const KEY: usize> Connection<KEY> {
    fn new(key: &AeadKey, iv: Iv) -> Self {
        Connection {
            key: Gcm::expand(key.as_ref()),
            iv,
        }
    }

    /// Encrypts `payload` from `at` on, and appends the tag.
    fn seal(&self, seq: u64, aad: &[u8], payload: &mut PrefixedPayload, at: usize) -> Result<()> {
        let nonce = Nonce::new(&self.iv, seq).0;
        let tag = self
            .key
            .seal_in_place(&nonce, aad, &mut payload.as_mut()[at..]);
        payload.extend_from_slice(&tag.map_err(|_| Error::EncryptError)?);
        Ok(())
    }

    /// Decrypts `sealed`, which ends in the tag, and returns the length of the plaintext.
    fn open(&self, nonce: &[u8; NONCE_LEN], aad: &[u8], sealed: &mut [u8]) -> Result<usize> {
        let (data, tag) = sealed
            .split_last_chunk_mut::<TAG>()
            .ok_or(Error::DecryptError)?;
        self.key
            .open_in_place(nonce, aad, data, tag)
            .map_err(|_| Error::DecryptError)?;
        Ok(data.len())
    }
}

fn traffic_secrets<const KEY: usize>(key: AeadKey, iv: Iv) -> ConnectionTrafficSecrets {
    match KEY {
        16 => ConnectionTrafficSecrets::Aes128Gcm { key, iv },
        _ => ConnectionTrafficSecrets::Aes256Gcm { key, iv },
    }
}

// ---- TLS 1.3 (RFC 8446 section 5.2) ----

impl<const KEY: usize> Tls13AeadAlgorithm for AesGcm<KEY> {
    fn encrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageEncrypter> {
        Box::new(Tls13(Connection::<KEY>::new(&key, iv)))
    }

    fn decrypter(&self, key: AeadKey, iv: Iv) -> Box<dyn MessageDecrypter> {
        Box::new(Tls13(Connection::<KEY>::new(&key, iv)))
    }

    fn key_len(&self) -> usize {
        KEY
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: Iv,
    ) -> core::result::Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(traffic_secrets::<KEY>(key, iv))
    }
}

struct Tls13<const KEY: usize>(Connection<KEY>);

impl<const KEY: usize> MessageEncrypter for Tls13<KEY> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage> {
        let len = self.encrypted_payload_len(msg.payload.len());
        let mut payload = PrefixedPayload::with_capacity(len);
        payload.extend_from_chunks(&msg.payload);
        payload.extend_from_slice(&msg.typ.to_array());
        self.0.seal(seq, &make_tls13_aad(len), &mut payload, 0)?;
        let (typ, version) = (ContentType::ApplicationData, ProtocolVersion::TLSv1_2);
        Ok(OutboundOpaqueMessage::new(typ, version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        payload_len + 1 + TAG
    }
}

impl<const KEY: usize> MessageDecrypter for Tls13<KEY> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>> {
        let (nonce, aad) = (
            Nonce::new(&self.0.iv, seq).0,
            make_tls13_aad(msg.payload.len()),
        );
        let len = self.0.open(&nonce, &aad, &mut msg.payload)?;
        msg.payload.truncate(len);
        msg.into_tls13_unpadded_message()
    }
}

// ---- TLS 1.2 (RFC 5288) ----

impl<const KEY: usize> Tls12AeadAlgorithm for AesGcm<KEY> {
    fn encrypter(&self, key: AeadKey, iv: &[u8], extra: &[u8]) -> Box<dyn MessageEncrypter> {
        Box::new(Tls12(Connection::<KEY>::new(&key, joined(iv, extra))))
    }

    fn decrypter(&self, key: AeadKey, iv: &[u8]) -> Box<dyn MessageDecrypter> {
        Box::new(Tls12(Connection::<KEY>::new(
            &key,
            joined(iv, &[0; EXPLICIT]),
        )))
    }

    fn key_block_shape(&self) -> KeyBlockShape {
        KeyBlockShape {
            enc_key_len: KEY,
            fixed_iv_len: 4,
            explicit_nonce_len: EXPLICIT,
        }
    }

    fn extract_keys(
        &self,
        key: AeadKey,
        iv: &[u8],
        explicit: &[u8],
    ) -> core::result::Result<ConnectionTrafficSecrets, UnsupportedOperationError> {
        Ok(traffic_secrets::<KEY>(key, joined(iv, explicit)))
    }
}

/// The IV from its two parts, whose lengths key_block_shape() has.
fn joined(fixed: &[u8], explicit: &[u8]) -> Iv {
    let mut iv = [0; NONCE_LEN];
    iv.iter_mut()
        .zip(fixed.iter().chain(explicit))
        .for_each(|(to, from)| *to = *from);
    Iv::from(iv)
}

struct Tls12<const KEY: usize>(Connection<KEY>);

impl<const KEY: usize> MessageEncrypter for Tls12<KEY> {
    fn encrypt(
        &mut self,
        msg: OutboundPlainMessage<'_>,
        seq: u64,
    ) -> Result<OutboundOpaqueMessage> {
        let len = msg.payload.len();
        let mut payload = PrefixedPayload::with_capacity(self.encrypted_payload_len(len));
        payload.extend_from_slice(&Nonce::new(&self.0.iv, seq).0[NONCE_LEN - EXPLICIT..]);
        payload.extend_from_chunks(&msg.payload);
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        self.0.seal(seq, &aad, &mut payload, EXPLICIT)?;
        Ok(OutboundOpaqueMessage::new(msg.typ, msg.version, payload))
    }

    fn encrypted_payload_len(&self, payload_len: usize) -> usize {
        EXPLICIT + payload_len + TAG
    }
}

impl<const KEY: usize> MessageDecrypter for Tls12<KEY> {
    fn decrypt<'a>(
        &mut self,
        mut msg: InboundOpaqueMessage<'a>,
        seq: u64,
    ) -> Result<InboundPlainMessage<'a>> {
        let Some((explicit, sealed)) = msg.payload.split_first_chunk_mut::<EXPLICIT>() else {
            return Err(Error::DecryptError);
        };
        let iv = joined(&self.0.iv.as_ref()[..NONCE_LEN - EXPLICIT], explicit);
        let len = sealed.len().checked_sub(TAG).ok_or(Error::DecryptError)?;
        let aad = make_tls12_aad(seq, msg.typ, msg.version, len);
        self.0.open(&Nonce::new(&iv, 0).0, &aad, sealed)?;
        if len > MAX_PLAINTEXT {
            return Err(Error::PeerSentOversizedRecord);
        }
        Ok(msg.into_plain_message_range(EXPLICIT..EXPLICIT + len))
    }
}

// ---- QUIC (RFC 9001) ----

impl<const KEY: usize> quic::Algorithm for AesGcm<KEY> {
    fn packet_key(&self, key: AeadKey, iv: Iv) -> Box<dyn quic::PacketKey> {
        Box::new(Connection::<KEY>::new(&key, iv))
    }

    fn header_protection_key(&self, key: AeadKey) -> Box<dyn quic::HeaderProtectionKey> {
        Box::new(Aes::<KEY>::expand(key.as_ref()))
    }

    fn aead_key_len(&self) -> usize {
        KEY
    }
}

impl<const KEY: usize> Connection<KEY> {
    fn seal_packet(&self, nonce: Nonce, header: &[u8], payload: &mut [u8]) -> Result<quic::Tag> {
        let tag = self.key.seal_in_place(&nonce.0, header, payload);
        tag.map(|tag| quic::Tag::from(&tag[..]))
            .map_err(|_| Error::EncryptError)
    }

    fn open_packet<'a>(
        &self,
        nonce: Nonce,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8]> {
        let len = self.open(&nonce.0, header, payload)?;
        Ok(&payload[..len])
    }
}

impl<const KEY: usize> quic::PacketKey for Connection<KEY> {
    fn encrypt_in_place(&self, pn: u64, header: &[u8], payload: &mut [u8]) -> Result<quic::Tag> {
        self.seal_packet(Nonce::new(&self.iv, pn), header, payload)
    }

    fn encrypt_in_place_for_path(
        &self,
        path: u32,
        pn: u64,
        header: &[u8],
        payload: &mut [u8],
    ) -> Result<quic::Tag> {
        self.seal_packet(Nonce::for_path(path, &self.iv, pn), header, payload)
    }

    fn decrypt_in_place<'a>(
        &self,
        pn: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8]> {
        self.open_packet(Nonce::new(&self.iv, pn), header, payload)
    }

    fn decrypt_in_place_for_path<'a>(
        &self,
        path: u32,
        pn: u64,
        header: &[u8],
        payload: &'a mut [u8],
    ) -> Result<&'a [u8]> {
        self.open_packet(Nonce::for_path(path, &self.iv, pn), header, payload)
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    // Both limits: RFC 9001 section 6.6.
    fn confidentiality_limit(&self) -> u64 {
        1 << 23
    }

    fn integrity_limit(&self) -> u64 {
        1 << 52
    }
}

impl<const KEY: usize> Aes<KEY> {
    /// XORs the mask into a header (RFC 9001 section 5.4.1). When the first byte is not masked, it
    /// has the length of the packet number.
    fn protect(&self, sample: &[u8], first: &mut u8, pn: &mut [u8], masked: bool) -> Result<()> {
        let mut mask = [0; 16];
        if sample.len() != mask.len() || pn.len() > 4 {
            return Err(Error::General(
                "wrong length of a sample or packet number".into(),
            ));
        }
        let (key, out) = (self.0.as_ptr(), mask.as_mut_ptr());
        // SAFETY: sample and mask have a block each.
        let status = unsafe { raw::tr_ecb_encrypt()(key, out, sample.as_ptr(), mask.len()) };
        crate::check(status).map_err(|_| Error::EncryptError)?;
        let long_header = *first & 0x80 != 0;
        let changed = *first ^ mask[0] & if long_header { 0x0f } else { 0x1f };
        let len = usize::from(if masked { changed } else { *first } & 3) + 1;
        *first = changed;
        pn.iter_mut()
            .zip(&mask[1..])
            .take(len)
            .for_each(|(to, mask)| *to ^= mask);
        Ok(())
    }
}

impl<const KEY: usize> quic::HeaderProtectionKey for Aes<KEY> {
    fn encrypt_in_place(&self, sample: &[u8], first: &mut u8, pn: &mut [u8]) -> Result<()> {
        self.protect(sample, first, pn, false)
    }

    fn decrypt_in_place(&self, sample: &[u8], first: &mut u8, pn: &mut [u8]) -> Result<()> {
        self.protect(sample, first, pn, true)
    }

    fn sample_len(&self) -> usize {
        16
    }
}
