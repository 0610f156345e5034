// SPDX-License-Identifier: BSD-2-Clause
//! Where the provider and the PKCS#11 module are enabled, and whether they work there: looked up
//! and tried, with nothing changed.

use super::edit::{self, Found};
use super::files;
use super::java;
use super::report::Report;
use super::site::{Outcome, Site};
use super::state::{self, State};
use super::system::System;
use super::target::{is_ours, refuse_foreign, Target};
use super::user::User;
use crate::force::{Configuration, Force};
use crate::home::Home;
use base::apparmor;
use base::root::Root;
use std::path::Path;
use terminal::error::Result;

/// Why what is recorded is not in force.
pub const INTERRUPTED: &str =
    "'tenrounds enable' or 'disable' was interrupted, or somebody removed what 'enable' wrote";

pub fn look(root: &Path) -> Result<Report> {
    let force = Force::look(&Root::new(root), &[]);
    let mut report = Report::default();
    let system = read(&state::system_dir(root), &mut report);
    // Root tries nothing that the user whose HOME it has was free to enable.
    let home = Home::mine().ok();
    let user = home.as_ref().map(|home| read(&home.state, &mut report));
    for (site, found) in force.sites.iter().zip(&force.system) {
        let target = System::of(root, site);
        let mut shown = looked(&target, &system);
        tried(&mut shown, found);
        report.add(shown);
    }
    if let Some((home, state)) = home.as_ref().zip(user.as_ref()) {
        let programs = force.sites.iter().flat_map(|site| site.programs.clone());
        let target = User::of(home, programs.collect());
        let mut shown = looked(&target, state);
        let named = force.named.as_ref().filter(|named| named.file == home.own);
        match named {
            Some(named) => tried(&mut shown, named),
            None if shown.outcome == Outcome::Enabled => {
                shown.reason = Some(
                    "only in force in shells whose OPENSSL_CONF names it; this shell's does not"
                        .into(),
                );
                try_out(&target, &mut shown);
            }
            None => {}
        }
        report.add(shown);
    }
    for state in [Some(&system), user.as_ref()].into_iter().flatten() {
        for target in java::known(state) {
            let mut shown = looked(&target, state);
            if shown.outcome == Outcome::Enabled {
                shown.reason = target.untried();
                if shown.reason.is_none() {
                    try_out(&target, &mut shown);
                }
            }
            report.add(shown);
        }
    }
    report.passed_over = force.passed_over.clone();
    let prefers = force.system.iter().any(Configuration::prefers);
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

fn read(dir: &Path, report: &mut Report) -> State {
    State::look(dir).unwrap_or_else(|error| {
        report.notes.push(error.to_string());
        State::none()
    })
}

/// A site with its outcome, as far as the files tell it.
fn looked(target: &dyn Target, state: &State) -> Site {
    let mut site = target.site();
    let (outcome, reason) = outcome(target, state, &mut site)
        .unwrap_or_else(|error| (Outcome::NotEnabled, Some(error.to_string())));
    (site.outcome, site.reason) = (outcome, reason);
    site
}

fn outcome(
    target: &dyn Target,
    state: &State,
    site: &mut Site,
) -> Result<(Outcome, Option<String>)> {
    let files = target.files()?;
    let is_known = state.entry(files.key()).is_some();
    let options = target.options();
    let own = files::read(&files.own)?;
    site.own_file = own.is_some().then(|| files.own.clone());
    let found = match &files.edited {
        Some(edited) => {
            let text = files::read(edited)?.unwrap_or_default();
            edit::find(&text, target.known(&files).as_deref())
        }
        None => match refuse_foreign(&files.own) {
            Err(error) => Found::Damaged(error.to_string()),
            Ok(None) => Found::Nothing,
            Ok(Some(_)) => Found::Ours(0..0),
        },
    };
    Ok(match found {
        Found::Damaged(why) => (Outcome::Damaged, Some(why)),
        Found::Nothing if is_known || own.as_deref().is_some_and(is_ours) => {
            let cure = format!(
                "'tenrounds enable{options}' puts it back, 'tenrounds disable{options}' forgets it"
            );
            (Outcome::HalfDone, Some(format!("{INTERRUPTED}; {cure}")))
        }
        Found::Nothing => (Outcome::NotEnabled, None),
        Found::Ours(_) if own.is_none() => {
            let why = "our own file is gone, so programs work as without tenrounds";
            let cure = format!("'tenrounds enable{options}' writes it again");
            (Outcome::Broken, Some(format!("{why}; {cure}")))
        }
        Found::Ours(_) => {
            site.module = target.module(&files.own);
            (Outcome::Enabled, None)
        }
    })
}

fn try_out(target: &dyn Target, site: &mut Site) {
    let tried = target.try_out(None, Path::new("/dev/null"));
    if let Some(problem) = tried.problem {
        site.broken(&problem);
    }
    site.tried(tried.trial);
}

/// What the inventory says of a configuration.
fn tried(shown: &mut Site, found: &Configuration) {
    match (&found.problem, &found.hidden) {
        (Some(problem), _) if shown.outcome == Outcome::Enabled => shown.broken(problem),
        (None, _) if found.untried().is_some() && !shown.outcome.is_bad() => {
            shown.reason = found.untried();
        }
        (None, Some(hidden)) if shown.outcome == Outcome::Enabled => {
            shown.outcome = Outcome::Broken;
            shown.reason = Some(format!("not for all users: {}", hidden.advice()));
        }
        (None, None) if found.prefers() && shown.outcome == Outcome::NotEnabled => {
            let by = "prefers tenrounds by lines that 'tenrounds enable' did not write";
            shown.reason.get_or_insert_with(|| by.to_owned());
        }
        _ => {}
    }
    shown.tried(found.trial.clone());
}
