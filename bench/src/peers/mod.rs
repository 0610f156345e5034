// SPDX-License-Identifier: BSD-2-Clause
//! The other libraries, an adapter each. An adapter calls its library as those who know it would
//! for speed: modes that stream on a context that lives on, messages with a key that was expanded
//! before.

mod boringssl;
mod cryptoki;
pub mod fetched;
mod ipsec_mb;
mod libgcrypt;
pub mod openssl;
mod rustcrypto;
#[cfg(test)]
mod tests;
mod wolfssl;

use crate::answer::{Missing, Origin};
use crate::ours;
use crate::peer::{Form, Inputs, Peer, Prepared, Spec, TAG};
use crate::plan::Environment;
use std::path::PathBuf;
use tenrounds_sys::Backend;
use terminal::error::Result;

/// Whether an adapter of another library takes part: it has no records and wraps no keys.
fn takes_part(spec: Spec, bytes: usize) -> bool {
    let form = matches!(spec.form, Form::Usual | Form::NullAad);
    form && !spec.wraps() && spec.has_length(bytes)
}

/// A library that takes one message in a call.
fn single(
    id: &str,
    title: &str,
    version: String,
    origin: Origin,
    prepare: impl Fn(Spec, usize, &Inputs) -> Prepared + 'static,
) -> Peer {
    let peer = Peer::new(
        id.into(),
        title.into(),
        version,
        move |spec, bytes, inputs| match spec.streams == 1 && takes_part(spec, bytes) {
            true => prepare(spec, bytes, inputs),
            false => Ok(None),
        },
    );
    peer.from(origin)
}

/// For libraries that leave it to their users to compare tags.
fn check_tag(computed: &[u8; TAG], given: &[u8]) {
    let given = given.first_chunk().expect("a tag");
    let differ = u128::from_ne_bytes(*computed) ^ u128::from_ne_bytes(*given);
    assert_eq!(differ, 0, "the tag is wrong");
}

/// Those that are here, and for the others why they are not.
#[derive(Default)]
pub struct Peers {
    pub here: Vec<Peer>,
    pub missing: Vec<Missing>,
}

impl Peers {
    fn add(&mut self, id: &str, title: &str, opened: Result<Peer>) {
        match opened {
            Ok(peer) => self.here.push(peer),
            Err(error) => self.missing.push(Missing {
                id: id.to_owned(),
                title: title.to_owned(),
                why: error.to_string(),
            }),
        }
    }

    /// All other libraries.
    pub fn others() -> Peers {
        let mut peers = Peers::default();
        peers.add("openssl", "the system's OpenSSL", openssl::stock());
        for (version, library) in openssl::others() {
            let (id, title) = (format!("openssl-{version}"), format!("OpenSSL {version}"));
            peers.add(&id, &title, library);
        }
        peers.add("libgcrypt", "libgcrypt", libgcrypt::open());
        peers.add("ipsec-mb", "ipsec-mb", ipsec_mb::open());
        peers.add("boringssl", "BoringSSL", boringssl::boringssl());
        peers.add("wolfssl", "wolfSSL", wolfssl::open());
        for (file, module) in cryptoki::open() {
            peers.add("pkcs11", &file.display().to_string(), module);
        }
        peers.here.extend([boringssl::aws_lc(), rustcrypto::peer()]);
        peers
    }

    /// Ours and all others: the core, its other backends, ours through EVP, and the libraries.
    pub fn all(environment: Environment) -> Result<Peers> {
        let backend = ours::backend()?;
        let mut peers = Peers::default();
        peers.here.push(ours::selected()?);
        if environment == Environment::Plain {
            let cpu = tenrounds_sys::Cpu::detect();
            let others = ["vaes256", "aesni"]
                .into_iter()
                .filter_map(Backend::by_name);
            let others = others.filter(|b| b.runs_with(cpu.usable) && *b != backend);
            peers.here.extend(others.map(ours::of));
        }
        peers.add("evp", "tenrounds in the system's OpenSSL", evp());
        let pipelines = module().and_then(|module| openssl::with_pipelines(&module));
        let title = "tenrounds in OpenSSL 3.5.5, pipelines";
        peers.add("evp-pipelines", title, pipelines);
        let others = Peers::others();
        peers.here.extend(others.here);
        peers.missing.extend(others.missing);
        Ok(peers)
    }

    /// The default provider and ours in each libcrypto.
    pub fn pairs() -> Result<Peers> {
        let module = module()?;
        let mut peers = Peers::default();
        for library in openssl::replaceable() {
            match library.and_then(|library| openssl::pair(library, &module)) {
                Ok(pair) => peers.here.extend(pair),
                Err(error) => peers.add("openssl", "a libcrypto", Err(error)),
            }
        }
        Ok(peers)
    }
}

fn module() -> Result<PathBuf> {
    libcrypto::module::find(None)
}

/// Ours through EVP of the system's OpenSSL.
pub fn evp() -> Result<Peer> {
    openssl::with_provider(&module()?)
}

/// The version of a crate that the lock file has, for those that cannot say it themselves.
fn locked(name: &str) -> String {
    let head = format!("name = \"{name}\"");
    let mut lines = include_str!("../../Cargo.lock").lines();
    lines
        .find(|line| *line == head)
        .and_then(|_| lines.next())
        .and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        .unwrap_or("?")
        .to_owned()
}
