// SPDX-License-Identifier: BSD-2-Clause
//! `run`: any command with the provider preferred in every OpenSSL that it uses.

pub mod child;
pub mod config;
pub mod counters;
pub mod probe;
pub mod reach;
mod report;
pub mod store;

use crate::cli::RunArgs;
use crate::core::{self, Mask};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks::{self, Ia32cap};
use crate::{provider, selection};
use counters::Counters;
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
        eprintln!("tenrounds: {warning}");
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
        eprintln!("tenrounds: {note}");
    }
    match &args.count {
        None => Err(child::replace(child::command(&args.command, &environment))),
        Some(target) => {
            let file = store::scratch("counters")?;
            environment.push(("TENROUNDS_COUNTERS", file.clone().into()));
            let status = child::wait(child::command(&args.command, &environment));
            let counters = std::fs::read(&file);
            let _ = std::fs::remove_file(&file);
            let status = status?;
            let counters = counters
                .map_err(|error| error.to_string())
                .and_then(|bytes| Counters::parse(&bytes))
                .map_err(|why| Error::failure(format!("{}: {why}", file.display())));
            let reported = counters.and_then(|counters| {
                let done = report::Run::new(&args.command, &configuration, status, counters);
                done.write(target, args.json)
            });
            if let Err(error) = reported {
                eprintln!("tenrounds: {error}");
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
    eprintln!(
        "tenrounds: masked by {}={ours} and {}={stock}, {effect}",
        masks::TENROUNDS_MASK,
        masks::IA32CAP
    );
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
    for (name, value) in environment {
        let value = value.as_bytes();
        let quoted = String::from_utf8_lossy(value).replace('\'', r"'\''");
        println!("export {name}='{quoted}'");
    }
    Ok(())
}
