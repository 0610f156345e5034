// SPDX-License-Identifier: BSD-2-Clause
//! The facts about AES on this machine, which `status` and `report` show.

use super::instructions::{self, Instruction};
use super::table::{self, Row, Sides};
use crate::openssl::probe::{self, Served};
use crate::pkcs11;
use base::advice::{self, Advice};
use base::kernel::Kernel;
use base::paths::shown;
use base::root::Root;
use libcrypto::LibCrypto;
use machine::schema::Host;
use machine::selection;
use serde::{Serialize, Serializer};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tenrounds_sys::{names_of, Tuning};
use terminal::error::Error;

/// The object `detect` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Detect {
    /// What runs AES-GCM, and what would make it faster.
    pub verdict: Vec<String>,
    /// What runs each mode.
    pub table: Vec<Row>,
    pub instructions: Vec<Instruction>,
    /// The backend that is selected.
    pub backend: &'static str,
    /// Backends that failed their known answers and were passed over.
    pub failed: Vec<&'static str>,
    /// Features that selection does without, because they lower this processor's clock.
    pub avoided: Vec<&'static str>,
    /// The facts by which the core chooses between ways that compute the same bytes.
    #[serde(serialize_with = "tuning")]
    pub tuning: Tuning,
    pub provider: Provider,
    pub pkcs11: Pkcs11,
    pub kernel: Kernel,
    pub advice: Vec<Advice>,
    pub warnings: Vec<String>,
}

fn tuning<S: Serializer>(tuning: &Tuning, serializer: S) -> Result<S::Ok, S::Error> {
    let facts = json!({
        "microarchitecture": tuning.name,
        "aes_latency": tuning.aes_latency,
        "aes512_per_cycle": tuning.aes512_per_cycle,
        "separate_clmul": tuning.separate_clmul,
        "clock_drops": tuning.clock_drops,
    });
    facts.serialize(serializer)
}

#[derive(Debug, Serialize)]
pub struct Provider {
    /// The module that `run` would use; null if there is none.
    pub module: Option<String>,
    /// The provider from which this environment's libcrypto takes AES-128-CTR now.
    pub in_use: Option<String>,
}

/// The PKCS#11 module.
#[derive(Debug, Serialize)]
pub struct Pkcs11 {
    /// The module that is installed; null if there is none.
    #[serde(serialize_with = "shown")]
    pub module: Option<PathBuf>,
}

impl Detect {
    /// All but the verdict, which rests on the rest.
    pub fn here(
        host: &Host,
        libcrypto: &Result<LibCrypto, Error>,
        root: &Root,
    ) -> Result<Detect, Error> {
        let selection = selection::here();
        let mut warnings = selection::warnings(&selection);
        if let Err(error) = libcrypto {
            warnings.push(error.to_string());
        }
        let backend = selection.backend.ok_or_else(|| {
            Error::failure("no backend passes its known answers here, not even the portable one; please report this")
        })?;
        let (provider, served, unusable) = provider_state(libcrypto.as_ref().ok());
        warnings.extend(unusable);
        let kernel = Kernel::read(root);
        let sides = Sides {
            selected: backend,
            openssl: host.openssl.as_ref(),
            served: &served,
            drivers: kernel.drivers(),
        };
        Ok(Detect {
            verdict: Vec::new(),
            table: table::rows(&sides),
            instructions: instructions::list(&selection.cpu, selection.masked),
            backend: backend.name(),
            failed: selection.failed.iter().map(|b| b.name()).collect(),
            avoided: names_of(selection.avoided),
            tuning: Tuning::selected(),
            advice: advice::advise(
                &advice::Facts::of(host, &selection),
                tenrounds_sys::strongest,
            ),
            provider,
            pkcs11: Pkcs11 {
                module: pkcs11::MODULE.find().ok(),
            },
            kernel,
            warnings,
        })
    }
}

/// The provider's state, who has which algorithm, and warnings if the provider is damaged or if
/// libcrypto does not work as configured.
fn provider_state(
    libcrypto: Option<&LibCrypto>,
) -> (Provider, BTreeMap<String, Served>, Vec<String>) {
    let module = libcrypto::module::find(libcrypto);
    let there = libcrypto::module::places(libcrypto)
        .iter()
        .any(|p| p.is_file());
    let damaged = module.as_ref().err().filter(|_| there);
    let damaged = damaged.map(ToString::to_string);
    let module = module.ok().map(|path| path.display().to_string());
    let names = table::names();
    let (in_use, served, warning) = match libcrypto.map(|_| probe::ask_for(&names)) {
        Some(Ok(probe)) => (probe.provider, probe.served, probe.error),
        Some(Err(error)) => (None, BTreeMap::new(), Some(error.to_string())),
        None => (None, BTreeMap::new(), None),
    };
    let warning = warning.map(|why| format!("OpenSSL does not work as it is configured: {why}"));
    let warnings = damaged.into_iter().chain(warning).collect();
    (Provider { module, in_use }, served, warnings)
}
