// SPDX-License-Identifier: BSD-2-Clause
//! `run`: any command with the provider preferred in every OpenSSL that it uses.

pub mod child;
pub mod config;
pub mod counters;
pub mod memory;
pub mod probe;
pub mod reach;
mod report;
pub mod store;

use crate::cli::RunArgs;
use crate::core::{self, Mask};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks::{self, Ia32cap};
use crate::{output, provider, selection};
use memory::Memory;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use store::Lifetime;

type Environment = Vec<(&'static str, OsString)>;

pub fn run(args: &RunArgs) -> Result<()> {
    // The provider would ignore a wrong word; here somebody can still be told.
    masks::masked()?;
    let mut environment = masking(args.mask.as_deref())?;
    for warning in selection::warnings(&selection::here()) {
        output::complain(warning);
    }
    let lifetime = match args.print_env {
        true => Lifetime::Persistent,
        false => Lifetime::Session,
    };
    let configuration = prepare(&environment, lifetime)?;
    environment.push(("OPENSSL_CONF", configuration.clone().into()));
    if args.print_env {
        return print_environment(&environment);
    }
    if let Some(note) = reach::note(&args.command[0]) {
        output::complain(note);
    }
    match &args.count {
        None => Err(child::replace(child::command(&args.command, &environment))),
        Some(target) => {
            let mut command = child::command(&args.command, &environment);
            let memory = Memory::new();
            match &memory {
                Ok(memory) => memory.pass_to(&mut command),
                Err(error) => output::complain(format!("{error}; the command runs uncounted")),
            }
            let status = child::wait(command)?;
            if let Ok(memory) = memory {
                let reported = memory.read().and_then(|counters| {
                    let done = report::Run::new(&args.command[0], &configuration, status, counters);
                    done.write(target, args.json)
                });
                // An error here does not change the exit status, which is the command's.
                reported.unwrap_or_else(output::complain);
            }
            child::end_like(status)
        }
    }
}

/// The configuration with which a program prefers the provider, checked and tried in this environment.
pub fn configuration() -> Result<PathBuf> {
    prepare(&Vec::new(), Lifetime::Session)
}

/// Writes the configuration, checks it, and tries it.
fn prepare(environment: &Environment, lifetime: Lifetime) -> Result<PathBuf> {
    let libcrypto = LibCrypto::open()?;
    let module = provider::find(Some(&libcrypto))?;
    let base = config::base(&libcrypto);
    let config = config::generate(&libcrypto, base.as_deref(), &module)?;
    let file = store::put(lifetime, "openssl", ".cnf", &config.text)?;
    config.verify(&libcrypto, &file, &module)?;
    let mut tried = environment.clone();
    tried.push(("OPENSSL_CONF", file.clone().into()));
    match probe::ask(&tried)?.problem() {
        None => Ok(file),
        Some(problem) => Err(untried(&problem, environment, base.as_deref(), &file)),
    }
}

/// Nothing was run, because the configuration failed its trial; and whether the base does so by itself.
fn untried(problem: &str, environment: &Environment, base: Option<&Path>, file: &Path) -> Error {
    let alone = probe::ask(environment).is_ok_and(|probe| probe.works());
    let what_to_do = match (alone, base) {
        (false, Some(base)) => {
            format!("so it is without tenrounds: mend {} first", base.display())
        }
        _ => format!(
            "see {}, which includes the usual configuration",
            file.display()
        ),
    };
    Error::failure(format!(
        "tried in a child process, {problem}; nothing was run; {what_to_do}"
    ))
}

/// The variables of a mask, for tenrounds and for stock code, and a line that says so. They are set for
/// this process, too, so that what it reports of the host is what the command sees.
fn masking(mask: Option<&str>) -> Result<Environment> {
    let Some(mask) = mask else {
        return Ok(Vec::new());
    };
    let asked = masks::parse(mask, "--mask")?;
    let inherited = match std::env::var(masks::TENROUNDS_MASK) {
        Ok(mask) => masks::parse(&mask, masks::TENROUNDS_MASK)?,
        Err(_) => Mask::default(),
    };
    let both = Mask {
        masked: asked.masked | inherited.masked,
        wanted: asked.wanted | inherited.wanted,
    };
    let ours = masks::words_of(both);
    let stock = masks::ia32cap()
        .unwrap_or_else(Ia32cap::none)
        .also_without(both.masked);
    let away = core::Cpu::detect().present & asked.masked;
    let effect = match core::names_of(away).join(", ") {
        none if none.is_empty() => "which takes away nothing that this processor has".to_owned(),
        names => format!("which takes away {names}"),
    };
    output::complain(format!(
        "masked by {}={ours} and {}={stock}, {effect}",
        masks::TENROUNDS_MASK,
        masks::IA32CAP
    ));
    let variables: Environment = vec![
        (masks::TENROUNDS_MASK, ours.into()),
        (masks::IA32CAP, stock.to_string().into()),
    ];
    for (name, value) in &variables {
        std::env::set_var(name, value);
    }
    Ok(variables)
}

/// Lines for eval in any shell of the Bourne family.
fn print_environment(environment: &Environment) -> Result<()> {
    let mut lines = Vec::new();
    for (name, value) in environment {
        lines.extend(format!("export {name}='").into_bytes());
        for &byte in value.as_bytes() {
            match byte {
                b'\'' => lines.extend(br"'\''"),
                byte => lines.push(byte),
            }
        }
        lines.extend(b"'\n");
    }
    output::plain(&lines)
}
