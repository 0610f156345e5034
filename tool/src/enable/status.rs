// SPDX-License-Identifier: BSD-2-Clause
//! Where the provider and the PKCS#11 module are enabled, and whether they work there: looked up
//! and tried, with nothing changed.

use super::edit::{self, Found};
use super::files;
use super::java;
use super::p11_kit;
use super::report::{InForce, Report};
use super::site::{Outcome, Site};
use super::state::{self, checksum, State};
use super::user::Home;
use crate::error::Result;
use crate::libcrypto::LibCrypto;
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, OWN, OWN_HEAD};
use crate::openssl::trial::Subject;
use crate::openssl::{probe, programs};
use crate::root::Root;
use std::path::{Path, PathBuf};

pub fn look(root: &Path) -> Result<Report> {
    let libcrypto = LibCrypto::open()?;
    let found = programs::installations(root, Some(&libcrypto));
    let state = State::look(&state::system_dir(root));
    let mut report = Report::default();
    let rooted = root != Path::new("/");
    let state = state.unwrap_or_else(|error| {
        report.notes.push(error.to_string());
        State::none()
    });
    let programs: Vec<_> = found
        .sites
        .iter()
        .flat_map(|s| s.programs.clone())
        .collect();
    for site in &found.sites {
        let mut shown = Site::new("system", site.conf.clone(), site.programs.clone());
        system(site, &state, &mut shown);
        if shown.outcome == Outcome::Enabled {
            let conf = rooted.then_some(site.conf.as_path());
            try_out(&mut shown, conf, site.ours || rooted);
        }
        report.note_version(shown.provider_version.as_deref(), shown.module.as_deref());
        report.sites.push(shown);
    }
    let home = Home::find().ok();
    if let Some(home) = &home {
        let mut shown = Site::new("user", home.own.clone(), programs);
        user(home, &mut shown);
        if shown.outcome == Outcome::Enabled {
            try_out(&mut shown, Some(&home.own), true);
        }
        report.note_version(shown.provider_version.as_deref(), shown.module.as_deref());
        report.sites.push(shown);
    }
    java::look(root, &mut report);
    p11_kit::look(root, &mut report);
    report.note_overrides(home.as_ref().map(|home| home.own.as_path()));
    report.passed_over(found.passed_over);
    report.in_force = Some(in_force(&report.sites));
    Ok(report)
}

/// What programs started from here read: the file of OPENSSL_CONF, or else the system's.
fn in_force(sites: &[Site]) -> InForce {
    let works = |site: &&Site| site.outcome == Outcome::Enabled;
    if let Some(conf) = std::env::var_os("OPENSSL_CONF") {
        let user = sites.iter().find(|site| site.scope == "user");
        let prefers = match user.filter(|site| site.configuration.as_os_str() == conf) {
            Some(site) => works(&site),
            None => probe::ask(&[]).is_ok_and(|probe| probe.problem().is_none()),
        };
        return if prefers { InForce::Yes } else { InForce::No };
    }
    let system = sites.iter().filter(|site| site.scope == "system");
    match (system.clone().filter(works).count(), system.count()) {
        (0, _) => InForce::No,
        (enabled, all) if enabled == all => InForce::Yes,
        _ => InForce::Partly,
    }
}

fn module(file: &Path) -> Option<PathBuf> {
    configuration::module(&Cnf::read(&Root::machine(), file))
}

fn system(site: &programs::Site, state: &State, shown: &mut Site) {
    let mut is = |outcome, reason: Option<String>| {
        shown.outcome = outcome;
        shown.reason = reason;
    };
    let file = match files::real(&site.conf) {
        Ok(file) => file,
        Err(error) => return is(Outcome::NotEnabled, Some(error.to_string())),
    };
    let text = match files::read(&file) {
        Ok(text) => text.unwrap_or_default(),
        Err(error) => return is(Outcome::NotEnabled, Some(error.to_string())),
    };
    let own = file.with_file_name(OWN);
    let entry = state.entry(&file);
    let left = entry.and_then(|entry| entry.interrupted(Some(&text)));
    let own_text = files::read(&own).ok().flatten();
    let ours = own_text
        .as_ref()
        .is_some_and(|text| text.starts_with(format!("# {OWN_HEAD}\n").as_bytes()));
    match edit::find(&text, &configuration::include_line(&own), &own.to_string_lossy()) {
        Found::Damaged(why) => is(Outcome::Damaged, Some(why)),
        Found::Nothing if entry.is_some_and(|entry| entry.done) => is(
            Outcome::NotEnabled,
            Some(format!("{}; 'tenrounds enable --system' puts them back, 'tenrounds disable --system' forgets them",
                left.unwrap_or("somebody removed our lines"))),
        ),
        Found::Nothing if entry.is_some() || ours => is(
            Outcome::HalfDone,
            Some("nothing is in force; 'tenrounds enable --system' or 'tenrounds disable --system' completes it".into()),
        ),
        Found::Nothing => is(Outcome::NotEnabled, None),
        Found::Ours(_) if own_text.is_none() => is(
            Outcome::Broken,
            Some(format!("{} is gone, so OpenSSL works as without tenrounds; 'tenrounds enable --system' writes it again", own.display())),
        ),
        Found::Ours(_) => {
            let changed = entry.is_some_and(|entry| entry.after != checksum(&text));
            let reason = match (changed, left) {
                (true, _) => Some("changed since 'tenrounds enable': 'tenrounds disable --system' will remove only our lines".into()),
                (false, Some(left)) => Some(format!("{left}; 'tenrounds enable --system' or 'tenrounds disable --system' completes it")),
                (false, None) => None,
            };
            is(Outcome::Enabled, reason);
            shown.module = module(&site.conf);
        }
    }
    let known = entry.and_then(|entry| entry.backup.clone());
    shown.backup = known;
    shown.own_file = own_text.map(|_| own);
    shown.file = Some(file);
}

fn user(home: &Home, shown: &mut Site) {
    match files::read(&home.own) {
        Ok(None) => {}
        Err(error) => shown.reason = Some(error.to_string()),
        Ok(Some(_)) => {
            let named = std::env::var_os("OPENSSL_CONF");
            shown.outcome = Outcome::Enabled;
            shown.own_file = Some(home.own.clone());
            shown.module = module(&home.own);
            if named.as_deref() != Some(home.own.as_os_str()) {
                shown.reason = Some(
                    "only in force in shells whose OPENSSL_CONF names it; this shell's does not"
                        .into(),
                );
            }
        }
    }
}

fn try_out(shown: &mut Site, conf: Option<&Path>, libcrypto: bool) {
    let subject = Subject {
        programs: &shown.openssl,
        libcrypto,
        conf,
        without: Some(Path::new("/dev/null")),
    };
    let trial = subject.run();
    if let Some(problem) = trial.problem() {
        shown.broken(&problem);
    }
    shown.tried(trial);
}
