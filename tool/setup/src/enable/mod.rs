// SPDX-License-Identifier: BSD-2-Clause
//! `enable`, `disable`, `status`: the provider preferred by configuration, for a user or for the
//! system. docs/enable.md says what is changed, and what is done about everything that can go
//! wrong.

mod apply;
pub mod args;
mod change;
mod edit;
mod files;
mod fleet;
mod java;
mod prometheus;
mod report;
mod site;
mod state;
mod status;
mod system;
mod target;
mod undo;
mod user;

use crate::enable::args::{DisableArgs, EnableArgs, StatusArgs};
use crate::force::InForce;
use crate::java::refuse_old;
use crate::openssl::programs::below;
use base::root::Root;
use edit::Found;
use fleet::Fleet;
use libcrypto::LibCrypto;
use report::Report;
use site::Site;
use state::State;
pub use status::INTERRUPTED;
use std::path::{Path, PathBuf};
use std::time::Instant;
use terminal::error::{Error, Result};

pub fn enable(args: &EnableArgs) -> Result<()> {
    let begin = Instant::now();
    let mut report = Report::new(args.dry_run);
    let root = root(&args.scope.root)?;
    match &args.scope.java_home {
        Some(home) => {
            let jdk = java::Jdk::find(home)?;
            refuse_old(home)?;
            apply::enable(&java::state_dir()?, &[Box::new(jdk)], &mut report)?;
        }
        None if args.scope.system => system::enable(&root, &mut report)?,
        None => user::enable(&root, &mut report)?,
    }
    end(report, begin, |report| {
        report.show("enable", args.scope.json)
    })
}

pub fn disable(args: &DisableArgs) -> Result<()> {
    let begin = Instant::now();
    let mut report = Report::new(false);
    let root = root(&args.scope.root)?;
    let known = || State::look(&java::state_dir()?);
    let jdks = match (&args.scope.java_home, &args.jar) {
        (Some(home), _) => Some(java::recorded(home, &known()?)?),
        (_, Some(jar)) => Some(java::using(jar, &known()?)?),
        _ => None,
    };
    match jdks {
        Some(jdks) => undo::disable(&java::state_dir()?, &jdks, &mut report)?,
        None if args.scope.system => system::disable(&root, &mut report)?,
        None => user::disable(&mut report)?,
    }
    end(report, begin, |report| {
        report.show("disable", args.scope.json)
    })
}

/// The exit status: with `--check` 1 unless tenrounds is in force.
pub fn status(args: &StatusArgs) -> Result<u8> {
    let begin = Instant::now();
    let root = root(&args.root)?;
    let mut report = status::look(&root)?;
    report.machine = Some(Fleet::look(&Root::new(&root)));
    let detected = match args.prometheus {
        None => report.detect(&Root::new(&root), args.verbose),
        Some(_) => Ok(()),
    };
    let in_force = report.in_force == Some(InForce::Yes);
    end(report, begin, |report| match &args.prometheus {
        Some(target) => prometheus::show(report, target),
        None => report.show("status", args.json),
    })?;
    detected?;
    LibCrypto::open()?;
    Ok(u8::from(args.check && !in_force))
}

/// The system's configurations and JDKs that do not have the lines that are recorded, each with the
/// options that lead to it. The error is that of a state that cannot be read.
pub fn interrupted(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let state = State::look(&state::system_dir(root))?;
    let has_lines = |file: &PathBuf| {
        let text = files::read(file).ok().flatten().unwrap_or_default();
        edit::find(&text, None) != Found::Nothing
    };
    let files = state.files.iter().map(|entry| {
        let inside = entry.file.strip_prefix(root).unwrap_or(&entry.file);
        let home = entry.java_home.as_deref();
        let options = home.map_or(" --system".to_owned(), java::options);
        (below(root, &Path::new("/").join(inside)), options)
    });
    Ok(files.filter(|(file, _)| !has_lines(file)).collect())
}

fn root(root: &Path) -> Result<PathBuf> {
    root.canonicalize()
        .map_err(|error| Error::failure(format!("{}: {error}", root.display())))
}

/// Shows the report. If a site was refused or does not work, the command fails. The error then
/// gives the reason of the first such site, so the text omits it.
fn end(mut report: Report, begin: Instant, show: impl FnOnce(&Report) -> Result<()>) -> Result<()> {
    report.seconds = begin.elapsed().as_secs_f64();
    let bad = |site: &&Site| site.outcome.is_bad();
    let count = report.sites.iter().filter(bad).count();
    let shown = show(&report);
    let Some(first) = report.sites.iter().find(bad) else {
        return shown;
    };
    let reason = first.reason.as_deref().unwrap_or("does not work");
    let why = match reason.starts_with('/') {
        true => reason.to_owned(),
        false => format!("{}: {reason}", first.configuration.display()),
    };
    let more = match count {
        1 => String::new(),
        n => format!(" (and {} more)", n - 1),
    };
    Err(Error::failure(format!("{why}{more}")))
}
