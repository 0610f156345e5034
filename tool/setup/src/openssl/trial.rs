// SPDX-License-Identifier: BSD-2-Clause
//! A configuration put to use in child processes: whether OpenSSL works with it, and takes AES from
//! us.

use super::probe;
use super::programs::Program;
use crate::counters::memory::Memory;
use base::limited;
use base::paths::shown;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);

// NIST SP 800-38A, F.5.5, the first block of CTR-AES256.
const KEY: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";
const COUNTER: &str = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
const PLAIN: [u8; 16] = [
    0x6b, 0xc1, 0xbe, 0xe2, 0x2e, 0x40, 0x9f, 0x96, 0xe9, 0x3d, 0x7e, 0x11, 0x73, 0x93, 0x17, 0x2a,
];
const CIPHER: [u8; 16] = [
    0x60, 0x1e, 0xc3, 0x13, 0x77, 0x57, 0x89, 0xa5, 0xb7, 0xa7, 0xf5, 0x04, 0xbb, 0xf3, 0xd2, 0x28,
];

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Passed,
    Failed,
}

/// One thing that was tried.
#[derive(Debug, Clone, Serialize)]
pub struct Check {
    /// "libcrypto", "providers", "cipher", "random", "ssh".
    pub name: &'static str,
    /// Who was asked: a program, or the tool itself.
    #[serde(serialize_with = "shown")]
    pub by: PathBuf,
    pub verdict: Verdict,
    /// What was seen.
    pub saw: String,
}

/// A trial's checks, and what they say of the provider.
#[derive(Debug, Default, Clone)]
pub struct Trial {
    pub checks: Vec<Check>,
    pub provider_version: Option<String>,
}

impl Trial {
    /// The first check that failed.
    pub fn problem(&self) -> Option<String> {
        let mut checks = self.checks.iter();
        let failed = checks.find(|c| c.verdict == Verdict::Failed)?;
        Some(format!(
            "{} ({}): {}",
            failed.name,
            failed.by.display(),
            failed.saw
        ))
    }
}

/// A configuration: a file, or None for what each program reads by itself.
type Conf<'a> = Option<&'a Path>;

fn configured(command: &mut Command, conf: Conf<'_>) {
    command.env_remove("TENROUNDS_COUNTERS");
    match conf {
        Some(conf) => command.env("OPENSSL_CONF", conf),
        None => command.env_remove("OPENSSL_CONF"),
    };
}

/// What is to be tried, and with what.
pub struct Subject<'a> {
    pub programs: &'a [Program],
    /// Whether to ask the tool's own libcrypto.
    pub libcrypto: bool,
    /// Other libcryptos to ask.
    pub libraries: &'a [PathBuf],
    pub conf: Conf<'a>,
    /// The configuration as it is without tenrounds.
    pub without: Conf<'a>,
}

impl Subject<'_> {
    /// Tries all of it.
    pub fn run(&self) -> Trial {
        let mut trial = Trial::default();
        if self.libcrypto {
            let program = std::env::current_exe().unwrap_or_default();
            self.libcrypto(&mut trial, &program, None);
        }
        for library in self.libraries {
            self.libcrypto(&mut trial, library, Some(library));
        }
        for program in self.programs {
            let program = program.path.as_path();
            let providers = self.providers(program, &mut trial.provider_version);
            trial.add("providers", program, providers);
            trial.add("cipher", program, self.cipher(program));
            trial.add("random", program, random(program, self.conf));
        }
        // What fails without tenrounds as well is not held against it.
        let works = |ssh: &PathBuf| ssh_ciphers(ssh, self.without).is_ok();
        if let Some(ssh) = on_path("ssh").filter(works) {
            trial.add("ssh", &ssh, ssh_ciphers(&ssh, self.conf));
        }
        trial
    }

    /// Asks the tool's libcrypto, or another.
    fn libcrypto(&self, trial: &mut Trial, by: &Path, library: Option<&Path>) {
        let asked = probe::ask_with(|command| {
            configured(command, self.conf);
            command.envs(library.map(|library| ("TENROUNDS_LIBCRYPTO", library)));
        });
        let answer = match asked {
            Err(error) => Err(error.to_string()),
            Ok(probe) => match probe.problem() {
                Some(problem) => Err(problem),
                None => {
                    trial.provider_version.clone_from(&probe.version);
                    Ok("AES-128-CTR comes from tenrounds; random numbers work".into())
                }
            },
        };
        trial.add("libcrypto", by, answer);
    }

    fn providers(&self, program: &Path, version: &mut Option<String>) -> Answer {
        let active = active_providers(program, self.conf)?;
        let text: Vec<String> = active.iter().map(|p| format!("{} {}", p.0, p.1)).collect();
        let text = text.join(", ");
        for wanted in ["default", "tenrounds"] {
            match active.iter().find(|(name, _)| name == wanted) {
                Some((_, number)) if wanted == "tenrounds" => *version = Some(number.clone()),
                Some(_) => {}
                None => {
                    return Err(format!(
                        "'{wanted}' is not among the active providers ({text})"
                    ))
                }
            }
        }
        Ok(format!("active: {text}"))
    }

    /// Encrypts, compares with the known answer, and asks the counters who did it.
    fn cipher(&self, program: &Path) -> Answer {
        let memory = Memory::new().map_err(|error| error.to_string())?;
        let mut command = Command::new(program);
        command.args(["enc", "-aes-256-ctr", "-K", KEY, "-iv", COUNTER]);
        configured(&mut command, self.conf);
        memory.pass_to(&mut command);
        let output = limited::run(command, &PLAIN, LIMIT);
        let output = output?;
        if !output.success {
            return Err(output.said());
        }
        if output.raw != CIPHER {
            return Err("AES-256-CTR differs from the answer in SP 800-38A, F.5.5".into());
        }
        let counted = memory.read().map_err(|error| error.to_string())?;
        match counted.executed.iter().find(|e| e.operation == "ctr") {
            Some(executed) => Ok(format!(
                "AES-256-CTR as in SP 800-38A, executed by {}",
                executed.backend
            )),
            None => Err("AES-256-CTR was not executed by tenrounds".into()),
        }
    }
}

type Answer = Result<String, String>;

impl Trial {
    fn add(&mut self, name: &'static str, by: &Path, answer: Answer) {
        let (verdict, saw) = match answer {
            Ok(saw) => (Verdict::Passed, saw),
            Err(saw) => (Verdict::Failed, saw),
        };
        self.checks.push(Check {
            name,
            by: by.to_owned(),
            verdict,
            saw,
        });
    }
}

/// Names and versions of the providers that are active.
pub fn active_providers(program: &Path, conf: Conf<'_>) -> Result<Vec<(String, String)>, String> {
    let mut command = Command::new(program);
    command.args(["list", "-providers"]);
    configured(&mut command, conf);
    let output = limited::run(command, b"", LIMIT)?;
    match output.success {
        true => Ok(parse_providers(&output.out)),
        false => Err(output.said()),
    }
}

/// Two blanks before a name, four before what is said of it.
fn parse_providers(text: &str) -> Vec<(String, String)> {
    let mut providers: Vec<(String, String, bool)> = Vec::new();
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        match (indent, line.trim().split_once(": "), providers.last_mut()) {
            (2, None, _) => providers.push((line.trim().to_owned(), String::new(), false)),
            (4, Some(("version", version)), Some(last)) => last.1 = version.to_owned(),
            (4, Some(("status", status)), Some(last)) => last.2 = status == "active",
            _ => {}
        }
    }
    let active = providers.into_iter().filter(|p| p.2);
    active.map(|p| (p.0, p.1)).collect()
}

/// Random numbers of a program's own generator.
pub fn random(program: &Path, conf: Conf<'_>) -> Answer {
    starts(program, conf).map_err(|said| said.into_iter().next().unwrap_or_default())?;
    Ok("16 random bytes".into())
}

/// Whether programs work with a configuration, as far as they do without any.
pub fn works(programs: &[Program], conf: &Path) -> Result<(), String> {
    programs
        .iter()
        .try_for_each(|program| random(&program.path, Some(conf)).map(|_| ()))
}

/// The arguments with which `starts` runs a program.
pub const STARTED: &str = "rand -hex 16";

/// Checks that a program works with a configuration. The error is all that it printed, line by
/// line.
pub fn starts(program: &Path, conf: Conf<'_>) -> Result<(), Vec<String>> {
    let mut command = Command::new(program);
    command.args(STARTED.split(' '));
    configured(&mut command, conf);
    let output = limited::run(command, b"", LIMIT).map_err(|why| vec![why])?;
    let digits = output.out.trim();
    let drawn = digits.len() == 32 && digits.bytes().all(|d| d.is_ascii_hexdigit());
    match output.success && drawn {
        true => Ok(()),
        false => Err(output.lines()),
    }
}

fn ssh_ciphers(ssh: &Path, conf: Conf<'_>) -> Answer {
    let mut command = Command::new(ssh);
    command.args(["-Q", "cipher"]);
    configured(&mut command, conf);
    let output = limited::run(command, b"", LIMIT)?;
    let ciphers = output.out.lines().count();
    match output.success && output.out.contains("aes") {
        true => Ok(format!("{ciphers} ciphers")),
        false => Err(output.said()),
    }
}

pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|path| path.is_file());
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_providers() {
        let text = "Providers:\n  default\n    name: OpenSSL Default Provider\n    version: 3.0.22\n    status: active\n  \
                    legacy\n    name: OpenSSL Legacy Provider\n    version: 3.0.22\n    status: inactive\n  \
                    tenrounds\n    name: tenrounds\n    version: 0.1.0\n    status: active\n";
        let expected = [("default", "3.0.22"), ("tenrounds", "0.1.0")];
        let expected = expected.map(|(n, v)| (n.to_owned(), v.to_owned()));
        assert_eq!(parse_providers(text), expected);
    }
}
