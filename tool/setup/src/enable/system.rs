// SPDX-License-Identifier: BSD-2-Clause
//! For the system: lines in each openssl.cnf, which include a file of our own beside it.

use super::files;
use super::report::Report;
use super::site::Site;
use super::state::{self, State};
use super::target::{Files, Means, Target, Tried};
use super::{apply, undo};
use crate::force::not_tried;
use crate::openssl::cnf::Cnf;
use crate::openssl::configuration::{self, OWN};
use crate::openssl::programs::{self, PassedOver};
use crate::openssl::trial::{self, Subject};
use crate::settings::config::{Effect, Source};
use base::inventory::install::Install;
use base::root::Root;
use base::trust::{self, Loose, Trusted};
use libcrypto::LibCrypto;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// One openssl.cnf, and who reads it.
pub struct System<'a> {
    site: &'a programs::Site,
    /// The file that `enable` recorded. `disable` undoes it even if the configuration's path leads
    /// elsewhere now.
    recorded: Option<&'a Path>,
    /// Whether the programs are told where the configuration is, instead of looking where they
    /// always do.
    rooted: bool,
    /// What `enable` needs besides.
    means: Option<&'a Means>,
}

pub fn enable(root: &Path, report: &mut Report) -> Result<()> {
    let means = Means::find(root, &mut report.notes)?;
    trust::only_mine(&means.module)?;
    let mut found = programs::installations(root, Some(&means.libcrypto));
    pass_over_untrusted(root, &mut found);
    if found.sites.is_empty() {
        let over = found.passed_over.iter();
        let over = over.map(|over| format!("; {} {}", over.path.display(), over.reason));
        return Err(Error::failure(format!(
            "found no OpenSSL 3 or later to enable tenrounds in; install one{}",
            over.collect::<String>()
        )));
    }
    let target = |site| -> Box<dyn Target + '_> {
        Box::new(System {
            means: Some(&means),
            ..System::of(root, site)
        })
    };
    let targets: Vec<_> = found.sites.iter().map(target).collect();
    apply::enable(&state::system_dir(root), &targets, report)?;
    report.note_variable(None);
    report.passed_over = found.passed_over;
    Ok(())
}

/// Undoes all changes of `enable`.
pub fn disable(root: &Path, report: &mut Report) -> Result<()> {
    let dir = state::system_dir(root);
    // libcrypto may be missing: our lines are removed even if OpenSSL was uninstalled since.
    let found = programs::installations(root, LibCrypto::open().ok().as_ref());
    let sites = with_recorded(found.sites, &State::look(&dir)?);
    let mut targets: Vec<Box<dyn Target + '_>> = Vec::new();
    for (site, recorded) in &sites {
        targets.push(Box::new(System {
            recorded: recorded.as_deref(),
            ..System::of(root, site)
        }));
    }
    undo::disable(&dir, &targets, report)?;
    report.passed_over = found.passed_over;
    Ok(())
}

/// A site, and the file that `enable` recorded for it.
type Recorded = (programs::Site, Option<PathBuf>);

fn real(conf: &Path) -> PathBuf {
    files::real(conf).unwrap_or_else(|_| conf.to_owned())
}

/// The sites that were found, and those that are only recorded. One file is one site, even if its
/// recorded path leads to it through links that are new.
fn with_recorded(found: Vec<programs::Site>, state: &State) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = found.into_iter().map(|site| (site, None)).collect();
    let entries = state.files.iter().filter(|entry| entry.scope == "system");
    for file in entries.map(|entry| &entry.file) {
        let is_it =
            |(site, recorded): &&mut Recorded| recorded.is_none() && real(&site.conf) == real(file);
        match all.iter_mut().find(is_it) {
            Some((_, recorded)) => *recorded = Some(file.clone()),
            None => all.push((programs::Site::new(file.clone()), Some(file.clone()))),
        }
    }
    all
}

/// Root tries no configuration that another user can replace: it would load that user's modules.
fn pass_over_untrusted(root: &Path, found: &mut programs::Found) {
    if !trust::is_root() {
        return;
    }
    for site in std::mem::take(&mut found.sites) {
        match replaceable(root, &site, &found.installs) {
            None => found.sites.push(site),
            Some(loose) => {
                let (path, reason) = (site.conf, not_tried(&loose));
                found.passed_over.push(PassedOver { path, reason });
            }
        }
    }
}

/// The part of a site that another user can replace: the directory of its configuration, a file of
/// the configuration, or a module.
fn replaceable(root: &Path, site: &programs::Site, installs: &[Install]) -> Option<Loose> {
    let machine = Root::machine();
    let directory = site.conf.parent().unwrap_or(root);
    let loose = Trusted::root_and(machine.top(), 0).loose(directory);
    if let Some(loose) = loose.ok().and_then(|loose| loose.into_iter().next()) {
        return Some(loose);
    }
    let reads = |install: &&Install| {
        let library = programs::below(root, &install.library);
        site.libraries.contains(&library)
    };
    // Each library looks for modules in a directory of its own.
    let readers = installs.iter().filter(reads).map(Some).chain([None]);
    readers.into_iter().find_map(|install| {
        let source = Source {
            view: machine.clone(),
            file: site.conf.clone(),
            reader: String::new(),
            install: install.cloned(),
        };
        Effect::of(source).refused_to_root()
    })
}

impl<'a> System<'a> {
    pub fn of(root: &Path, site: &'a programs::Site) -> System<'a> {
        System {
            site,
            recorded: None,
            rooted: root != Path::new("/"),
            means: None,
        }
    }

    /// Why other users' programs do not take AES from tenrounds, by the modes of files.
    fn hidden(&self) -> Option<String> {
        let file = files::real(&self.site.conf).ok().filter(|_| !self.rooted)?;
        let all = [file.with_file_name(OWN), file];
        let mut all = all.iter().chain(self.means.map(|means| &means.module));
        let hidden = all.find_map(|file| trust::hidden(Path::new("/"), file))?;
        Some(format!("not for all users: {}", hidden.advice()))
    }
}

impl Target for System<'_> {
    fn site(&self) -> Site {
        Site::new(
            "system",
            self.options(),
            self.site.conf.clone(),
            self.site.programs.clone(),
        )
    }

    fn options(&self) -> String {
        " --system".to_owned()
    }

    fn files(&self) -> Result<Files> {
        let file = match self.recorded {
            Some(recorded) => recorded.to_owned(),
            None => files::real(&self.site.conf)?,
        };
        Ok(Files {
            own: file.with_file_name(OWN),
            edited: Some(file),
        })
    }

    fn known(&self, files: &Files) -> Option<Vec<u8>> {
        Some(configuration::include_line(&files.own))
    }

    fn text(&self, files: &Files, base: Option<&Path>) -> Result<(Vec<u8>, PathBuf)> {
        let means = self.means.expect("enable has them");
        means.text(None, base, files.key())
    }

    fn lines(&self, own: &Path, _original: &[u8]) -> Result<Vec<u8>> {
        Ok(configuration::include_line(own))
    }

    fn try_out(&self, copies: Option<&Files>, base: &Path) -> Tried {
        let copy = copies.and_then(|copies| copies.edited.as_deref());
        let conf = copy.or(self.rooted.then_some(self.site.conf.as_path()));
        let subject = Subject {
            programs: &self.site.programs,
            libcrypto: self.site.ours || self.rooted,
            conf,
            libraries: self.site.alone(),
            without: Some(base),
        };
        let mut tried = Tried::from(subject.run());
        match (&mut tried.problem, copy) {
            (problem @ None, None) => *problem = self.hidden(),
            (Some(problem), Some(_)) => {
                if let Err(why) = self.works(base) {
                    *problem += &format!(
                        "; nor does OpenSSL work without tenrounds ({why}): fix {} first",
                        self.site.conf.display()
                    );
                }
            }
            _ => {}
        }
        tried
    }

    fn works(&self, conf: &Path) -> std::result::Result<(), String> {
        trial::works(&self.site.programs, conf)
    }

    fn module(&self, _own: &Path) -> Option<PathBuf> {
        configuration::module(&Cnf::read(&Root::machine(), &self.site.conf))
    }
}
