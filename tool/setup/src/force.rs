// SPDX-License-Identifier: BSD-2-Clause
//! Whether tenrounds is in force: the inventory of the configurations that programs started from
//! here read, and the one verdict of `status`, `doctor` and `report`.

use crate::openssl::programs::{self, Program, Site};
use crate::openssl::trial::{self, Subject, Trial};
use crate::settings::config::{self, Effect, Source};
use crate::settings::starts;
use base::finding::Severity;
use base::inventory::install::{self, Install};
use base::root::Root;
use base::trust::Loose;
use libcrypto::LibCrypto;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Whether OpenSSL takes AES from tenrounds, as configured in this environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum InForce {
    Yes,
    /// For some configurations but not for all, or for some users.
    Partly,
    No,
}

impl InForce {
    /// "yes", "partly", "no".
    pub fn word(self) -> &'static str {
        match self {
            InForce::Yes => "yes",
            InForce::Partly => "partly",
            InForce::No => "no",
        }
    }
}

/// A configuration, and what it comes to.
#[derive(Debug)]
pub struct Configuration {
    pub file: PathBuf,
    /// The file activates tenrounds and prefers it.
    pub prefers: bool,
    /// The module of tenrounds that the file loads.
    pub module: Option<PathBuf>,
    /// What was tried; empty if the file does not prefer tenrounds.
    pub trial: Trial,
    /// Why OpenSSL does not take AES from tenrounds although the file prefers it.
    pub problem: Option<String>,
    /// The part that other users can replace. Because of it root did not try the configuration,
    /// which prefers tenrounds.
    pub not_tried: Option<Loose>,
    /// Why other users' programs do not load tenrounds.
    pub hidden: Option<Loose>,
}

impl Configuration {
    fn works(&self) -> bool {
        self.prefers && self.problem.is_none()
    }
}

/// The inventory of a machine.
#[derive(Debug)]
pub struct Force {
    /// What OPENSSL_CONF of this environment names. Programs started from here read nothing else.
    pub named: Option<Configuration>,
    /// The system's, in the order of `sites`.
    pub system: Vec<Configuration>,
    pub sites: Vec<Site>,
    pub passed_over: Vec<(PathBuf, String)>,
}

impl Force {
    pub fn look(root: &Root) -> Force {
        let libcrypto = LibCrypto::open().ok();
        let found = programs::installations(root.top(), libcrypto.as_ref());
        let look = Look {
            root,
            installs: &install::find(root, &[]),
        };
        let named = std::env::var_os("OPENSSL_CONF");
        Force {
            named: named.map(|named| look.named(named, &found.sites)),
            system: found.sites.iter().map(|site| look.site(site)).collect(),
            sites: found.sites,
            passed_over: found.passed_over,
        }
    }

    /// The configurations that programs started from here read.
    fn read(&self) -> &[Configuration] {
        match &self.named {
            Some(named) => std::slice::from_ref(named),
            None => &self.system,
        }
    }

    pub fn verdict(&self) -> InForce {
        let (working, all) = self.counts();
        match working {
            0 => InForce::No,
            n if n == all && self.hidden().is_none() && self.not_tried().is_none() => InForce::Yes,
            _ => InForce::Partly,
        }
    }

    /// How many of these configurations prefer tenrounds and work, of how many.
    pub fn counts(&self) -> (usize, usize) {
        let read = self.read();
        (read.iter().filter(|c| c.works()).count(), read.len())
    }

    /// The first configuration that prefers tenrounds and does not work, and why.
    pub fn problem(&self) -> Option<(&Configuration, &str)> {
        let mut broken = self.read().iter().filter(|c| c.prefers);
        broken.find_map(|c| Some((c, c.problem.as_deref()?)))
    }

    /// The first configuration that was not tried, and why.
    pub fn not_tried(&self) -> Option<(&Configuration, &Loose)> {
        self.read()
            .iter()
            .find_map(|c| Some((c, c.not_tried.as_ref()?)))
    }

    /// The modules that the system's configurations prefer.
    pub fn modules(&self) -> Vec<&Path> {
        let preferring = self.system.iter().filter(|c| c.prefers);
        preferring.filter_map(|c| c.module.as_deref()).collect()
    }

    /// Why only some users' programs load tenrounds.
    pub fn hidden(&self) -> Option<&Loose> {
        let mut working = self.read().iter().filter(|c| c.works());
        working.find_map(|c| c.hidden.as_ref())
    }
}

struct Look<'a> {
    root: &'a Root,
    installs: &'a [Install],
}

impl Look<'_> {
    /// A configuration of the system.
    fn site(&self, site: &Site) -> Configuration {
        let machine = Root::machine();
        let identity = machine.identity(&site.conf);
        let reads = |install: &&Install| {
            let file = install.configuration();
            identity.is_some() && file.and_then(|file| self.root.identity(file)) == identity
        };
        let install = self.installs.iter().find(reads);
        // In a tree with a libcrypto of its own, paths are those of the tree. Otherwise they are
        // this machine's, as `enable --root` writes them.
        let tree = (!self.root.is_machine()).then_some(install).flatten();
        let (view, file) = match (tree, site.conf.strip_prefix(self.root.top())) {
            (Some(_), Ok(inside)) => (self.root, Path::new("/").join(inside)),
            _ => (&machine, site.conf.clone()),
        };
        let source = Source::new(view, file, install);
        let effect = config::check(&source);
        let conf = (!self.root.is_machine()).then_some(site.conf.as_path());
        let subject = Subject {
            programs: &site.programs,
            libcrypto: site.ours || (tree.is_none() && conf.is_some()),
            libraries: site.alone(),
            conf,
            without: Some(Path::new("/dev/null")),
            others: conf.is_none(),
        };
        let mut looked = self.tried(&source, &effect, subject, tree.is_some());
        looked.file.clone_from(&site.conf);
        if looked.prefers {
            looked.hidden = match looked.trial.others() {
                Some(Ok(())) => None,
                Some(Err(saw)) => effect
                    .hidden(&source)
                    .or_else(|| Some(unexplained(site, saw))),
                None => effect.hidden(&source),
            };
        }
        looked
    }

    /// The file that OPENSSL_CONF names: in a tree, or else on this machine.
    fn named(&self, value: OsString, sites: &[Site]) -> Configuration {
        let dir = std::env::current_dir().unwrap_or_default();
        let in_tree = !self.root.is_machine() && self.root.exists(Path::new("/").join(&value));
        let machine = Root::machine();
        let (view, file) = match in_tree {
            true => (self.root, Path::new("/").join(&value)),
            false => (&machine, dir.join(&value)),
        };
        let mut installs = self.installs.iter();
        let install = installs.find(|install| install.major() >= 3);
        let source = Source::new(view, file, install);
        // An empty value names no file.
        let effect = match value.is_empty() {
            true => Effect::default(),
            false => config::check(&source),
        };
        let programs: Vec<Program> = sites.iter().flat_map(|s| s.programs.clone()).collect();
        let conf = view.path(&source.file);
        let subject = Subject {
            programs: &programs,
            libcrypto: true,
            libraries: &[],
            conf: Some(&conf),
            without: Some(Path::new("/dev/null")),
            others: false,
        };
        self.tried(&source, &effect, subject, in_tree)
    }

    /// Tries a configuration that prefers tenrounds. If its paths are those of a tree, only whether
    /// OpenSSL starts.
    fn tried(
        &self,
        source: &Source,
        effect: &Effect,
        subject: Subject,
        in_tree: bool,
    ) -> Configuration {
        let mut trial = Trial::default();
        let mut findings = effect.findings.iter();
        let broken = findings.find(|finding| finding.severity == Severity::Problem);
        let mut problem = broken.map(|finding| finding.says.clone());
        let refused = starts::refused_to_root(source, effect);
        let not_tried = refused.filter(|_| effect.prefers_tenrounds);
        let may_run = effect.prefers_tenrounds && not_tried.is_none();
        if may_run && in_tree {
            let started = subject
                .conf
                .map(|conf| trial::works(subject.programs, conf));
            problem = problem.or(started.and_then(Result::err));
        } else if may_run {
            trial = subject.run();
            problem = problem.or(trial.problem());
        }
        Configuration {
            file: source.file.clone(),
            prefers: effect.prefers_tenrounds,
            module: effect.module(source),
            trial,
            problem,
            not_tried,
            hidden: None,
        }
    }
}

/// Another user does not load the provider, and no mode of a path says why.
fn unexplained(site: &Site, saw: &str) -> Loose {
    Loose {
        part: site.conf.clone(),
        why: format!("does not reach other users: {saw}"),
        cure: None,
    }
}
