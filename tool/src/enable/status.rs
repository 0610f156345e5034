// SPDX-License-Identifier: BSD-2-Clause
//! Where the provider and the PKCS#11 module are enabled, and whether they work there: looked up
//! and tried, with nothing changed.

use super::edit::{self, Found};
use super::files;
use super::java;
use super::p11_kit;
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{self, checksum, State};
use super::user::Home;
use crate::apparmor;
use crate::force::{Configuration, Force};
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, OWN, OWN_HEAD};
use crate::openssl::programs;
use crate::openssl::trial::Subject;
use crate::root::Root;
use crate::trust::Loose;
use std::path::{Path, PathBuf};
use terminal::error::Result;

pub fn look(root: &Path) -> Result<Report> {
    let force = Force::look(&Root::new(root));
    let state = State::look(&state::system_dir(root));
    let mut report = Report::default();
    let state = state.unwrap_or_else(|error| {
        report.notes.push(error.to_string());
        State::none()
    });
    for (site, found) in force.sites.iter().zip(&force.system) {
        let mut shown = Site::new("system", site.conf.clone(), site.programs.clone());
        system(site, &state, &mut shown);
        tried(&mut shown, found);
        report.note_version(shown.provider_version.as_deref(), shown.module.as_deref());
        report.sites.push(shown);
    }
    let home = Home::find().ok();
    if let Some(home) = &home {
        let programs = force.sites.iter().flat_map(|s| s.programs.clone());
        let mut shown = Site::new("user", home.own.clone(), programs.collect());
        user(home, &mut shown);
        let named = force.named.as_ref();
        match named.filter(|named| named.file == home.own) {
            Some(named) => tried(&mut shown, named),
            None if shown.outcome == Outcome::Enabled => try_out(&mut shown, &home.own),
            None => {}
        }
        report.note_version(shown.provider_version.as_deref(), shown.module.as_deref());
        report.sites.push(shown);
    }
    java::look(root, &mut report);
    p11_kit::look(root, &mut report);
    report.note_overrides(home.as_ref().map(|home| home.own.as_path()));
    report.passed_over(force.passed_over.clone());
    let prefers = force
        .system
        .iter()
        .any(|configuration| configuration.prefers);
    if let Some(blind) = apparmor::blind(&Root::new(root), &force.modules()).filter(|_| prefers) {
        report.notes.push(format!(
            "AppArmor keeps confined programs from tenrounds; to let them load it: {}",
            blind.cure
        ));
    }
    report.in_force = Some(force.verdict());
    report.force = Some(force);
    Ok(report)
}

/// What the inventory says of a configuration.
fn tried(shown: &mut Site, found: &Configuration) {
    match (&found.problem, &found.hidden) {
        (Some(problem), _) if shown.outcome == Outcome::Enabled => shown.broken(problem),
        (None, _) if found.not_tried.is_some() && !shown.outcome.is_bad() => {
            shown.reason = found.not_tried.as_ref().map(not_tried);
        }
        (None, Some(hidden)) if shown.outcome == Outcome::Enabled => {
            shown.outcome = Outcome::Broken;
            shown.reason = Some(format!("not for all users: {}", hidden.advice()));
        }
        (None, None) if found.prefers && shown.outcome == Outcome::NotEnabled => {
            let by = "prefers tenrounds by lines that 'tenrounds enable' did not write";
            shown.reason.get_or_insert_with(|| by.to_owned());
        }
        _ => {}
    }
    shown.tried(found.trial.clone());
}

/// Why root did not try a configuration.
pub fn not_tried(part: &Loose) -> String {
    let why = part.advice();
    format!("was not tried: root does not run what other users can replace; {why}")
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

fn try_out(shown: &mut Site, conf: &Path) {
    let subject = Subject {
        programs: &shown.openssl,
        libcrypto: true,
        libraries: &[],
        conf: Some(conf),
        without: Some(Path::new("/dev/null")),
        others: false,
    };
    let trial = subject.run();
    if let Some(problem) = trial.problem() {
        shown.broken(&problem);
    }
    shown.tried(trial);
}
