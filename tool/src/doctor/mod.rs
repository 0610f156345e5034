// SPDX-License-Identifier: BSD-2-Clause
//! `doctor`: what on this machine keeps AES from being fast, or will break programs, each with its evidence
//! and its cure. It only reads.

mod config;
mod disks;
mod environment;
mod finding;
mod hazards;
pub mod install;
mod kernel;
mod kernel_module;
mod module;
pub mod processes;
mod processor;
mod scan;
mod starts;
mod system;
mod text;

use crate::cli::DoctorArgs;
use crate::error::{Error, Result};
use crate::host;
use crate::libcrypto::LibCrypto;
use crate::output;
use crate::root::Root;
use crate::schema::Document;
use finding::{Finding, Severity};
use install::Install;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The object `doctor` of the JSON document.
#[derive(Debug, Serialize)]
struct Doctor {
    /// "healthy", "warnings" or "problems".
    verdict: &'static str,
    /// The exit status: 0, 1, 2.
    status: u8,
    findings: Vec<Finding>,
    openssl: Vec<Install>,
    processes: processes::Processes,
    kernel: Kernel,
    seconds: f64,
}

#[derive(Debug, Serialize)]
struct Kernel {
    #[serde(flatten)]
    kernel: crate::kernel::Kernel,
    disks: Vec<disks::Disk>,
}

#[derive(Serialize)]
struct Body {
    doctor: Doctor,
}

/// Looks, tells, and says by the exit status what a monitoring plugin says: 0 healthy, 1 warnings,
/// 2 problems. What could not be done at all is 3, by main.
pub fn run(args: &DoctorArgs) -> Result<u8> {
    let root = Root::new(args.root.as_deref().unwrap_or(Path::new("/")));
    if !root.exists("/proc") {
        return Err(Error::unknown(
            "there is no /proc: nothing can be told; mount it",
        ));
    }
    let doctor = examine(&root);
    let status = doctor.status;
    match args.json {
        true => {
            let host = host::read(LibCrypto::open().as_ref().ok());
            output::out(Document::new("doctor", host, Vec::new(), Body { doctor }).to_json())?;
        }
        false => output::out(text::render(&doctor, args.verbose))?,
    }
    Ok(status)
}

fn examine(root: &Root) -> Doctor {
    let begun = Instant::now();
    let processes = processes::find(root, &mut scan::Scanner::new());
    let openssl = install::find(root, &processes.list);
    let here = environment::here();
    let mut findings = Vec::new();
    let mut preferred = false;
    let sources = sources(root, &openssl, &here);
    let effects: Vec<config::Effect> = sources.iter().map(config::check).collect();
    for (source, effect) in sources.iter().zip(&effects) {
        preferred |= effect.prefers_tenrounds && source.in_this_root();
        for finding in effect.findings.iter().cloned() {
            let finding = match source.install.and_then(|install| install.root.as_ref()) {
                Some(root) => finding.seen(root, "these paths are relative to this root"),
                None => finding,
            };
            let new = |f: &Finding| f.id != finding.id || f.evidence != finding.evidence;
            if findings.iter().all(new) {
                findings.push(finding.seen("who reads it", &source.reader));
            }
        }
    }
    let started = starts::check(root, &sources, &effects);
    let mut all = sources.iter().zip(&effects);
    let refused = |(source, effect): (&config::Source, &config::Effect)| {
        source.in_this_root() && starts::refused_to_root(source, effect).is_some()
    };
    if started.is_empty() && !all.any(refused) {
        findings.extend(system::works(root));
    }
    findings.extend(started);
    findings.extend(system::fips(root, preferred));
    findings.extend(environment::check(root, &here, &processes.list));
    findings.extend(processor::check(root));
    findings.extend(processes::check(&processes, preferred));
    let kernel = crate::kernel::Kernel::read(root);
    let disks = disks::find(root, kernel.drivers());
    findings.extend(kernel::check(root, kernel.drivers.as_deref()));
    findings.extend(kernel_module::check(root, &kernel, &disks));
    findings.extend(disks::check(&disks));
    findings.extend(hazards::check(root));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let (verdict, status) = match findings.first().map(|finding| finding.severity) {
        Some(Severity::Problem) => ("problems", 2),
        Some(Severity::Warning) => ("warnings", 1),
        Some(Severity::Note) | None => ("healthy", 0),
    };
    Doctor {
        verdict,
        status,
        findings,
        openssl,
        processes,
        kernel: Kernel { kernel, disks },
        seconds: begun.elapsed().as_secs_f64(),
    }
}

/// The configuration of each OpenSSL, and that of OPENSSL_CONF for the first of them.
fn sources<'a>(
    root: &'a Root,
    installs: &'a [Install],
    here: &[(&'static str, String)],
) -> Vec<config::Source<'a>> {
    let mut sources: Vec<config::Source> = installs
        .iter()
        .filter_map(|install| {
            Some(config::Source {
                view: &install.view,
                file: install.configuration()?,
                reader: install.name(),
                install: Some(install),
                by_variable: false,
            })
        })
        .collect();
    let variable = here.iter().find(|(name, _)| *name == "OPENSSL_CONF");
    if let Some((_, file)) = variable.filter(|(_, file)| !file.is_empty()) {
        let dir = std::env::current_dir().unwrap_or_default();
        let dir = if root.is_machine() {
            dir
        } else {
            PathBuf::from("/")
        };
        sources.push(config::Source {
            view: root,
            file: dir.join(file),
            reader: "whatever this shell starts (OPENSSL_CONF)".to_owned(),
            install: installs
                .iter()
                .find(|install| install.major() >= 3 && install.root.is_none()),
            by_variable: true,
        });
    }
    sources
}
