// SPDX-License-Identifier: BSD-2-Clause
//! `run`: any command with the provider preferred in every OpenSSL that it uses.

pub mod args;
pub mod child;
pub mod java;
mod reach;
mod report;

use crate::counters::memory::Memory;
use crate::openssl::nodejs::Nodejs;
use crate::openssl::{self, Variable};
use crate::run::args::RunArgs;
use base::root::Root;
use machine::masks::{self, CpuMask};
use machine::selection;
use std::os::unix::ffi::OsStrExt;
use tenrounds_sys::Mask;
use terminal::error::Result;
use terminal::output;

pub fn run(args: &RunArgs) -> Result<()> {
    // The provider would ignore a wrong word; here somebody can still be told.
    masks::masked()?;
    let mut environment = masking(args.mask.as_deref())?;
    for warning in selection::warnings(&selection::here()) {
        output::complain(warning);
    }
    let nodejs = match args.print_env {
        true => Nodejs::look(&Root::machine()),
        false => reach::nodejs(&args.command[0]),
    };
    let configuration = openssl::prepare(&environment, &nodejs)?;
    environment.push(("OPENSSL_CONF", configuration.clone().into()));
    if args.java {
        environment.push(java::prepare(&args.command)?);
    }
    if args.print_env {
        return print_environment(&environment);
    }
    let note = reach::note(&args.command[0]);
    // Counters tell afterwards whether the command was reached.
    if let (false, Some(note)) = (args.count, &note) {
        output::complain(note);
    }
    if let (false, Some(note)) = (args.java, java::note(&args.command[0])) {
        output::complain(note);
    }
    if args.java && args.count {
        output::complain(
            "the Java provider has no counters, so its calls will not be in the counts",
        );
    }
    if !args.count {
        return Err(child::replace(child::command(&args.command, &environment)));
    }
    let mut command = child::command(&args.command, &environment);
    let memory = Memory::new();
    match &memory {
        Ok(memory) => memory.pass_to(&mut command),
        Err(error) => output::complain(format!("{error}; the command runs uncounted")),
    }
    let status = child::end(child::start(command)?)?;
    if let Ok(memory) = memory {
        let reported = memory.read().and_then(|counters| {
            let program = &args.command[0];
            let done = report::Run::new(program, &configuration, status, counters, note);
            done.write(args.output.as_deref(), args.json)
        });
        // An error here does not change the exit status, which is the command's.
        reported.unwrap_or_else(output::complain);
    }
    child::end_like(status)
}

/// The variables of a mask, for tenrounds and for stock code, and a line that says so. They are set
/// for this process, too, so that what it reports of the host is what the command sees.
fn masking(mask: Option<&str>) -> Result<Vec<Variable>> {
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
    let stock = masks::libcrypto_mask()
        .unwrap_or_else(CpuMask::none)
        .also_without(both.masked);
    let away = tenrounds_sys::Cpu::detect().present & asked.masked;
    let effect = match tenrounds_sys::names_of(away).join(", ") {
        none if none.is_empty() => "which removes no feature that this processor has".to_owned(),
        names => format!("which removes {names}"),
    };
    output::complain(format!(
        "masked by {}={ours} and {}={stock}, {effect}",
        masks::TENROUNDS_MASK,
        masks::LIBCRYPTO_MASK
    ));
    let variables: Vec<Variable> = vec![
        (masks::TENROUNDS_MASK, ours.into()),
        (masks::LIBCRYPTO_MASK, stock.to_string().into()),
    ];
    for (name, value) in &variables {
        std::env::set_var(name, value);
    }
    Ok(variables)
}

/// Lines for eval in any shell of the Bourne family.
fn print_environment(environment: &[Variable]) -> Result<()> {
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
