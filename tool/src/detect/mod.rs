// SPDX-License-Identifier: BSD-2-Clause
//! `detect`: what this machine can do for AES, what is selected, what really executes, and which
//! setting would make it better.

pub mod advice;
mod instructions;
mod modes;
mod text;

use crate::cli::DetectArgs;
use crate::core::{self, names_of};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::libcrypto::LibCrypto;
use crate::root::Root;
use crate::schema::{Document, Host};
use crate::{host, output, provider, run, selection};
use serde::Serialize;
use std::path::Path;

/// The object `detect` of the JSON document.
#[derive(Debug, Serialize)]
struct Detect {
    instructions: Vec<instructions::Instruction>,
    /// The backend that is selected.
    backend: &'static str,
    modes: Vec<modes::ModeLine>,
    /// Backends that failed their known answers and were passed over.
    failed: Vec<&'static str>,
    /// Features that selection does without, because they lower this processor's clock.
    avoided: Vec<&'static str>,
    provider: Provider,
    kernel: Kernel,
    advice: Vec<advice::Advice>,
    warnings: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Provider {
    /// The module that `run` would use; null if there is none.
    module: Option<String>,
    /// The provider from which this environment's libcrypto takes AES-128-CTR now.
    in_use: Option<String>,
}

#[derive(Serialize)]
struct Body {
    detect: Detect,
}

pub fn run(args: &DetectArgs) -> Result<()> {
    let libcrypto = LibCrypto::open();
    let host = host::read(libcrypto.as_ref().ok());
    let root = Root::new(args.root.as_deref().unwrap_or(Path::new("/")));
    let detect = detect(&host, &libcrypto, &root)?;
    for warning in &detect.warnings {
        output::complain(warning);
    }
    match args.json {
        true => output::out(Document::new("detect", host, Vec::new(), Body { detect }).to_json()),
        false => output::out(text::render(&host, &detect)),
    }
}

fn detect(host: &Host, libcrypto: &Result<LibCrypto>, root: &Root) -> Result<Detect> {
    let selection = selection::here();
    let mut warnings = selection::warnings(&selection);
    if let Err(error) = libcrypto {
        warnings.push(error.to_string());
    }
    let backend = selection.backend.ok_or_else(|| {
        Error::failure("no backend passes its known answers here, not even the portable one; please report this")
    })?;
    let (provider, unusable) = provider_state(libcrypto.as_ref().ok());
    warnings.extend(unusable);
    Ok(Detect {
        instructions: instructions::list(&selection.cpu, selection.masked),
        backend: backend.name(),
        modes: modes::list(backend, &selection)?,
        failed: selection.failed.iter().map(|b| b.name()).collect(),
        avoided: names_of(selection.avoided),
        advice: advice::advise(&advice::Facts::of(host, &selection), core::strongest),
        provider,
        kernel: Kernel::read(root),
        warnings,
    })
}

/// The provider's state, with warnings if it is damaged or if libcrypto does not work as
/// configured.
fn provider_state(libcrypto: Option<&LibCrypto>) -> (Provider, Vec<String>) {
    let module = provider::find(libcrypto);
    let there = provider::places(libcrypto).iter().any(|p| p.is_file());
    let damaged = module.as_ref().err().filter(|_| there);
    let damaged = damaged.map(ToString::to_string);
    let module = module.ok().map(|path| path.display().to_string());
    let probe = libcrypto.map(|_| run::probe::ask(&[]));
    let (in_use, warning) = match probe {
        Some(Ok(probe)) => (probe.provider, probe.error),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, None),
    };
    let warning = warning.map(|why| format!("OpenSSL does not work as it is configured: {why}"));
    let warnings = damaged.into_iter().chain(warning).collect();
    (Provider { module, in_use }, warnings)
}

/// "a, b", or a word for none.
fn list_or(features: core::Features, none: &str) -> String {
    match names_of(features).join(", ") {
        names if names.is_empty() => none.to_owned(),
        names => names,
    }
}
