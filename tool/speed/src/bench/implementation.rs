// SPDX-License-Identifier: BSD-2-Clause
//! Whose code is measured, and the environment that makes libcrypto be that.

use machine::masks::{CpuMask, LIBCRYPTO_MASK};
use serde::{Serialize, Serializer};
use setup::openssl::{self, nodejs::Nodejs};
use std::ffi::OsString;
use tenrounds_sys::{feature, Features};
use terminal::error::Result;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Implementation {
    /// OpenSSL with AES and carry-less multiplication masked.
    Software,
    /// OpenSSL as it is installed.
    OpenSsl,
    /// OpenSSL with the provider, through EVP.
    Tenrounds,
    /// The kernel by AF_ALG: send() copies the data into the kernel, recv() lets the cipher write
    /// to us.
    AfAlg,
    /// The way into the kernel and back without a cipher: what AF_ALG pays, too.
    Crossing,
    /// Nothing but rounds.
    Limit,
}

/// What OpenSSL's software baseline does without. libcrypto reads its variable once, when it is
/// loaded.
const HARDWARE: Features = feature::AES | feature::CLMUL | feature::VAES | feature::VCLMUL;

/// In JSON, its name.
impl Serialize for Implementation {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Implementation {
    /// With their names in JSON.
    const NAMES: [(Implementation, &'static str); 6] = [
        (Implementation::Software, "software"),
        (Implementation::OpenSsl, "openssl"),
        (Implementation::Tenrounds, "tenrounds"),
        (Implementation::AfAlg, "af-alg"),
        (Implementation::Crossing, "crossing"),
        (Implementation::Limit, "limit"),
    ];

    pub fn all() -> impl Iterator<Item = Implementation> {
        Implementation::NAMES.into_iter().map(|(who, _)| who)
    }

    pub fn name(self) -> &'static str {
        Implementation::NAMES[self as usize].1
    }

    pub fn by_name(name: &str) -> Option<Implementation> {
        Implementation::all().find(|who| who.name() == name)
    }

    /// Whether it is no cipher but a bound.
    pub fn is_bound(self) -> bool {
        matches!(self, Implementation::Crossing | Implementation::Limit)
    }

    /// What the environment of its process has more than ours. tenrounds gets the configuration
    /// that `tenrounds run` gives to a program.
    pub fn environment(self) -> Result<Vec<(&'static str, OsString)>> {
        Ok(match self {
            Implementation::Software => {
                let mask = CpuMask::none().also_without(HARDWARE);
                vec![(LIBCRYPTO_MASK, mask.to_string().into())]
            }
            Implementation::Tenrounds => vec![(
                "OPENSSL_CONF",
                openssl::prepare(&[], &Nodejs::default())?.into(),
            )],
            _ => vec![],
        })
    }

    /// The properties by which a cipher is fetched, and so the only provider it may come from.
    pub fn provider(self, legacy: bool) -> &'static str {
        match self {
            Implementation::Tenrounds => "tenrounds",
            _ if legacy => "legacy",
            _ => "default",
        }
    }
}
