// SPDX-License-Identifier: BSD-2-Clause
//! A TLS client and server in memory.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CipherSuite, ClientConfig, ClientConnection, DigitallySignedStruct, Error, ServerConfig,
    ServerConnection, SignatureScheme, SupportedCipherSuite,
};
use std::io::{BufRead, Write};
use std::sync::Arc;

/// A provider with one suite.
pub fn only(mut provider: CryptoProvider, suite: CipherSuite) -> CryptoProvider {
    provider
        .cipher_suites
        .retain(|s: &SupportedCipherSuite| s.suite() == suite);
    provider
}

/// Accepts any certificate: records are tested, not certificates.
#[derive(Debug)]
struct Any(Arc<CryptoProvider>);

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

pub struct Pair {
    pub client: ClientConnection,
    pub server: ServerConnection,
    wire: Vec<u8>,
    pub received: Vec<u8>,
}

impl Pair {
    /// Shakes hands. The ends may have different providers.
    pub fn new(client: CryptoProvider, server: CryptoProvider) -> Pair {
        let name = vec!["localhost".to_owned()];
        let certificate = rcgen::generate_simple_self_signed(name).unwrap();
        let key = PrivateKeyDer::try_from(certificate.signing_key.serialize_der()).unwrap();
        let (client, server) = (Arc::new(client), Arc::new(server));
        let server = ServerConfig::builder_with_provider(server)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.cert.der().clone()], key)
            .unwrap();
        let client = ClientConfig::builder_with_provider(client.clone())
            .with_safe_default_protocol_versions()
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Any(client)))
            .with_no_client_auth();
        let mut pair = Pair {
            client: ClientConnection::new(Arc::new(client), "localhost".try_into().unwrap())
                .unwrap(),
            server: ServerConnection::new(Arc::new(server)).unwrap(),
            wire: vec![],
            received: vec![],
        };
        pair.client.set_buffer_limit(None);
        pair.server.set_buffer_limit(None);
        while pair.client.is_handshaking() || pair.server.is_handshaking() {
            pair.deliver_to_server(|_| ());
            pair.deliver_to_client(|_| ());
        }
        pair
    }

    /// Delivers what the client has to send, after `meddle` saw it. Returns the server's error.
    pub fn deliver_to_server(&mut self, meddle: impl Fn(&mut [u8])) -> Option<Error> {
        self.wire.clear();
        while self.client.wants_write() {
            self.client.write_tls(&mut self.wire).unwrap();
        }
        meddle(&mut self.wire);
        let mut wire = &self.wire[..];
        while !wire.is_empty() {
            self.server.read_tls(&mut wire).unwrap();
            let error = self.server.process_new_packets().err();
            read_all(&mut self.server.reader(), &mut self.received);
            if error.is_some() {
                return error;
            }
        }
        None
    }

    /// The same in the other direction.
    pub fn deliver_to_client(&mut self, meddle: impl Fn(&mut [u8])) -> Option<Error> {
        self.wire.clear();
        while self.server.wants_write() {
            self.server.write_tls(&mut self.wire).unwrap();
        }
        meddle(&mut self.wire);
        let mut wire = &self.wire[..];
        while !wire.is_empty() {
            self.client.read_tls(&mut wire).unwrap();
            let error = self.client.process_new_packets().err();
            read_all(&mut self.client.reader(), &mut self.received);
            if error.is_some() {
                return error;
            }
        }
        None
    }

    /// Sends data from the server to the client, which then has them in `received`.
    pub fn send(&mut self, data: &[u8]) {
        self.received.clear();
        self.server.writer().write_all(data).unwrap();
        assert_eq!(self.deliver_to_client(|_| ()), None);
        assert_eq!(self.received.len(), data.len());
    }
}

fn read_all(reader: &mut impl BufRead, to: &mut Vec<u8>) {
    // Without data the reader fails with WouldBlock.
    while let Ok(chunk @ [_, ..]) = reader.fill_buf() {
        to.extend_from_slice(chunk);
        let len = chunk.len();
        reader.consume(len);
    }
}
