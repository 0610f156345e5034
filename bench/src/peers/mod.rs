// SPDX-License-Identifier: BSD-2-Clause
//! The other libraries, an adapter each. An adapter calls its library as those who know it would
//! for speed: modes that stream on a context that lives on, messages with a key that was expanded
//! before.

mod aws_lc;
pub mod call;
mod cryptoki;
mod ipsec_mb;
mod libgcrypt;
mod nettle;
pub mod openssl;
mod rustcrypto;
#[cfg(test)]
mod tests;

use crate::peer::{Absent, Form, Inputs, Peer, Spec, AAD, TAG};
use terminal::error::Result;

/// Whether the mode takes data of this length.
fn fits(spec: Spec, bytes: usize) -> bool {
    spec.has_length(bytes)
}

/// Whether an adapter of another library takes part: its messages have AAD of one length, and it
/// wraps no keys.
fn takes_part(spec: Spec, bytes: usize) -> bool {
    spec.aad == AAD && spec.form == Form::Usual && !spec.wraps() && fits(spec, bytes)
}

/// The nonce of authenticated modes.
fn nonce(inputs: &Inputs) -> [u8; 12] {
    *inputs.iv.first_chunk().expect("the IV is longer")
}

/// For libraries that leave it to their users to compare tags.
fn check_tag(computed: &[u8; TAG], given: &[u8]) {
    let differ = computed.iter().zip(&given[..TAG]);
    assert_eq!(
        differ.fold(0, |sum, (a, b)| sum | (a ^ b)),
        0,
        "the tag is wrong"
    );
}

/// Every peer that is here; and for the others its name, and why it is not. (`bench` adds ours.)
pub fn all() -> (Vec<Box<dyn Peer>>, Vec<Absent>) {
    let mut found: Vec<Box<dyn Peer>> = Vec::new();
    let mut absent = Vec::new();
    let mut add = |id: &str, title: &str, opened: Result<Box<dyn Peer>>| match opened {
        Ok(peer) => found.push(peer),
        Err(error) => absent.push(Absent {
            id: id.to_owned(),
            title: title.to_owned(),
            why: error.to_string(),
        }),
    };
    let system = openssl::stock();
    let own = system.as_ref().map_or(String::new(), Peer::id);
    add("openssl", "the system's OpenSSL", boxed(system));
    for built in openssl::BUILT {
        let version = built.0;
        if own.ends_with(version) {
            continue;
        }
        let (id, title) = (format!("openssl-{version}"), format!("OpenSSL {version}"));
        add(&id, &title, boxed(openssl::stock_of(built)));
    }
    add("libgcrypt", "libgcrypt", boxed(libgcrypt::open()));
    add("nettle", "nettle", boxed(nettle::open()));
    add("ipsec-mb", "ipsec-mb", boxed(ipsec_mb::open()));
    for (file, module) in cryptoki::open() {
        add("pkcs11", &file.display().to_string(), boxed(module));
    }
    found.push(Box::new(aws_lc::AwsLc));
    found.push(Box::new(rustcrypto::RustCrypto));
    (found, absent)
}

/// Ours through EVP of the system's OpenSSL.
pub fn evp() -> Result<Box<dyn Peer>> {
    let module = libcrypto::module::find(None)?;
    Ok(Box::new(openssl::with_provider(&module)?))
}

/// Many messages by the pipelines of OpenSSL 3.5.
pub fn pipelines() -> Result<Box<dyn Peer>> {
    let module = libcrypto::module::find(None)?;
    Ok(Box::new(openssl::with_pipelines(&module)?))
}

fn boxed<P: Peer + 'static>(opened: Result<P>) -> Result<Box<dyn Peer>> {
    opened.map(|peer| Box::new(peer) as Box<dyn Peer>)
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
