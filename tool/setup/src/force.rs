// SPDX-License-Identifier: BSD-2-Clause
//! Whether tenrounds is in force: the inventory of the configurations that programs read, what each
//! comes to, and the one verdict of `status`, `doctor` and `report` with its sentence.

use crate::home::Home;
use crate::openssl::enabling;
use crate::openssl::programs::{self, PassedOver, Program, Site};
use crate::openssl::trial::{self, Subject, Trial};
use crate::settings::config::{Effect, Source};
use base::finding::Severity;
use base::inventory::install::{self, Install};
use base::inventory::processes::Process;
use base::root::Root;
use base::trust::Loose;
use libcrypto::LibCrypto;
use serde::Serialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;

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

    /// How the sentence of the verdict begins.
    pub fn phrase(self) -> &'static str {
        match self {
            InForce::Yes => "tenrounds is in force",
            InForce::Partly => "tenrounds is in force in part",
            InForce::No => "tenrounds is not in force",
        }
    }
}

/// A configuration, and how OpenSSL works with it.
#[derive(Debug)]
pub struct Configuration {
    /// As its users call it.
    pub file: PathBuf,
    pub effect: Rc<Effect>,
    pub programs: Vec<Program>,
    /// What OPENSSL_CONF has to name; None if the programs read the file by default.
    pub conf: Option<PathBuf>,
    /// The program that does not start with it, and all that it printed, line by line.
    pub refused: Option<(PathBuf, Vec<String>)>,
    /// What was tried; empty if the file does not prefer tenrounds.
    pub trial: Trial,
    /// Why OpenSSL does not take AES from tenrounds although the file prefers it.
    pub problem: Option<String>,
    /// The part that other users can replace. Because of it root did not try the configuration.
    pub not_tried: Option<Loose>,
    /// Why other users' programs do not load tenrounds.
    pub hidden: Option<Loose>,
}

impl Configuration {
    /// Whether the file activates tenrounds and prefers it.
    pub fn prefers(&self) -> bool {
        self.effect.prefers_tenrounds
    }

    fn works(&self) -> bool {
        self.prefers() && self.problem.is_none()
    }

    /// Why root did not try this configuration, which prefers tenrounds.
    pub fn untried(&self) -> Option<String> {
        let part = self.not_tried.as_ref().filter(|_| self.prefers());
        part.map(not_tried)
    }
}

/// Why root does not try a configuration.
pub fn not_tried(part: &Loose) -> String {
    let why = part.advice();
    format!("was not tried: root does not run what other users can replace; {why}")
}

/// The inventory of a machine.
#[derive(Debug)]
pub struct Force {
    pub installs: Vec<Install>,
    /// What each configuration comes to for each OpenSSL that reads it, those of containers and
    /// chroots included.
    pub effects: Vec<Rc<Effect>>,
    /// What OPENSSL_CONF of this environment names. Programs started from here read nothing else.
    pub named: Option<Configuration>,
    /// This user's directories, if `enable` has written a configuration there.
    pub user: Option<Home>,
    /// The system's, in the order of `sites`.
    pub system: Vec<Configuration>,
    pub sites: Vec<Site>,
    pub passed_over: Vec<PassedOver>,
}

impl Force {
    /// `processes` can map further libcryptos. Those add effects, but no sites: the verdict is
    /// about the configurations that `enable` edits.
    pub fn look(root: &Root, processes: &[Process]) -> Force {
        let libcrypto = LibCrypto::open().ok();
        let found = programs::installations(root.top(), libcrypto.as_ref());
        let installs = install::find(root, processes);
        let sources = installs.iter().filter_map(Source::of);
        let mut force = Force {
            effects: sources.map(|source| Rc::new(Effect::of(source))).collect(),
            installs,
            named: None,
            user: Home::mine().ok().filter(Home::is_enabled),
            system: Vec::new(),
            sites: found.sites,
            passed_over: found.passed_over,
        };
        let system = force.sites.clone();
        force.system = system.iter().map(|site| force.site(root, site)).collect();
        let named = std::env::var_os("OPENSSL_CONF");
        force.named = named.map(|value| force.named(root, &value));
        force
    }

    /// The configurations that programs started from here read.
    fn read(&self) -> &[Configuration] {
        match &self.named {
            Some(named) => std::slice::from_ref(named),
            None => &self.system,
        }
    }

    pub fn verdict(&self) -> InForce {
        let read = self.read();
        let all = |holds: fn(&Configuration) -> bool| read.iter().all(holds);
        match read.iter().any(Configuration::works) {
            false => InForce::No,
            true if all(|c| c.works() && c.hidden.is_none() && c.untried().is_none()) => {
                InForce::Yes
            }
            true => InForce::Partly,
        }
    }

    /// Why the verdict is as it is.
    pub fn why(&self) -> String {
        match (self.verdict(), &self.named) {
            (InForce::Yes, None) => "every OpenSSL that was found prefers it".to_owned(),
            (InForce::Partly, _) => self.why_partly(),
            (in_force, Some(named)) => {
                let but = match (in_force, named.prefers()) {
                    (InForce::Yes, _) => "prefers it",
                    (_, true) => "prefers it, but does not work",
                    (_, false) => "does not prefer it",
                };
                let file = named.file.display();
                format!("OPENSSL_CONF of this shell names '{file}', which {but}")
            }
            (InForce::No, None) if self.problem().is_some() => {
                "OpenSSL's configuration prefers it, but does not work".to_owned()
            }
            (InForce::No, None) => match &self.user {
                Some(home) => format!(
                    "it is enabled for you, but OPENSSL_CONF of this shell does not name {}",
                    home.own.display()
                ),
                None => "no configuration of OpenSSL prefers it".to_owned(),
            },
        }
    }

    fn why_partly(&self) -> String {
        let read = self.read();
        let working = read.iter().filter(|c| c.works()).count();
        if working < read.len() {
            let works = self.problem().map_or("", |_| " and work with it");
            let all = read.len();
            return format!("{working} of {all} configurations of OpenSSL prefer it{works}");
        }
        if let Some(hidden) = self.hidden() {
            return format!("not for all users: {}", hidden.advice());
        }
        let mut untried = read.iter().filter_map(|c| Some((c, c.untried()?)));
        untried.next().map_or(String::new(), |(of, why)| {
            format!("{} {why}", of.file.display())
        })
    }

    /// How to bring tenrounds into force, where nothing is broken that has to be corrected first.
    pub fn step(&self) -> Option<String> {
        let is_blocked = self.hidden().is_some() || self.problem().is_some();
        let is_blocked = is_blocked || self.read().iter().any(|c| c.untried().is_some());
        let verdict = self.verdict();
        if verdict == InForce::Yes || is_blocked {
            return None;
        }
        let enable = || enabling::how(!self.system.is_empty());
        let line = self.user.as_ref().and_then(|home| home.line().ok());
        Some(match (&self.named, line) {
            (_, Some(line)) if verdict == InForce::No => format!("To use it in this shell: {line}"),
            (None, _) => enable(),
            (Some(_), _) if self.system.iter().any(Configuration::works) => {
                "To change that: unset OPENSSL_CONF".to_owned()
            }
            (Some(_), _) => {
                let enable = enable();
                format!("{enable}. After `enable --system`, also unset OPENSSL_CONF")
            }
        })
    }

    /// The first configuration that prefers tenrounds and does not work, and why.
    pub fn problem(&self) -> Option<(&Configuration, &str)> {
        let mut broken = self.read().iter().filter(|c| c.prefers());
        broken.find_map(|c| Some((c, c.problem.as_deref()?)))
    }

    /// Whether a configuration of this root prefers tenrounds.
    pub fn is_preferred(&self) -> bool {
        let mut own = self.effects.iter().filter(|e| e.source.in_this_root());
        own.any(|effect| effect.prefers_tenrounds)
    }

    /// The modules that the system's configurations prefer.
    pub fn modules(&self) -> Vec<PathBuf> {
        let preferring = self.system.iter().filter(|c| c.prefers());
        preferring.filter_map(|c| c.effect.module()).collect()
    }

    /// Why only some users' programs load tenrounds.
    pub fn hidden(&self) -> Option<&Loose> {
        let mut working = self.read().iter().filter(|c| c.works());
        working.find_map(|c| c.hidden.as_ref())
    }

    /// A configuration of the system.
    fn site(&mut self, root: &Root, site: &Site) -> Configuration {
        let machine = Root::machine();
        let identity = machine.identity(&site.conf);
        let is_it = |effect: &&Rc<Effect>| {
            effect.source.in_this_root()
                && identity.is_some()
                && root.identity(&effect.source.file) == identity
        };
        let known = self.effects.iter().find(is_it).cloned();
        // In a tree with a libcrypto of its own, paths are those of the tree. Otherwise they are
        // this machine's, as `enable --root` writes them.
        let in_tree = !root.is_machine() && known.is_some();
        let effect = known.unwrap_or_else(|| self.add(machine, site.conf.clone(), "openssl", None));
        let conf = (!root.is_machine()).then_some(site.conf.as_path());
        let subject = Subject {
            programs: &site.programs,
            libcrypto: site.ours || (!in_tree && conf.is_some()),
            libraries: site.alone(),
            conf,
            without: Some(Path::new("/dev/null")),
        };
        let hidden = effect.hidden().filter(|_| effect.prefers_tenrounds);
        Configuration {
            file: site.conf.clone(),
            hidden,
            ..tried(effect, &subject, in_tree)
        }
    }

    /// The file that OPENSSL_CONF names: in a tree, or else on this machine. An empty value names
    /// no file.
    fn named(&mut self, root: &Root, value: &OsString) -> Configuration {
        let inside = Path::new("/").join(value);
        let in_tree = !root.is_machine() && root.exists(&inside);
        let dir = std::env::current_dir().unwrap_or_default();
        let (view, file) = match in_tree {
            _ if value.is_empty() => (Root::machine(), PathBuf::new()),
            true => (root.clone(), inside),
            false => (Root::machine(), dir.join(value)),
        };
        let conf = view.path(&file);
        let mut installs = self.installs.iter();
        let install = installs.find(|install| install.major() >= 3 && install.root.is_none());
        let install = install.cloned();
        let effect = self.add(
            view,
            file,
            "whatever this shell starts (OPENSSL_CONF)",
            install,
        );
        let programs: Vec<Program> = self.sites.iter().flat_map(|s| s.programs.clone()).collect();
        let subject = Subject {
            programs: &programs,
            libcrypto: true,
            libraries: &[],
            conf: Some(&conf),
            without: Some(Path::new("/dev/null")),
        };
        tried(effect, &subject, in_tree)
    }

    /// The effect of a configuration that no installed library tells of.
    fn add(
        &mut self,
        view: Root,
        file: PathBuf,
        reader: &str,
        install: Option<Install>,
    ) -> Rc<Effect> {
        let effect = Rc::new(Effect::of(Source {
            view,
            file,
            reader: reader.to_owned(),
            install,
        }));
        self.effects.push(effect.clone());
        effect
    }
}

/// Tries whether OpenSSL starts with a configuration, and if that prefers tenrounds, whether it
/// takes AES from it. If the configuration's paths are those of a tree, only the first.
fn tried(effect: Rc<Effect>, subject: &Subject, in_tree: bool) -> Configuration {
    let not_tried = effect.refused_to_root();
    let mut refused = None;
    let mut trial = Trial::default();
    if not_tried.is_none() {
        refused = subject.programs.iter().find_map(|program| {
            let said = trial::starts(&program.path, subject.conf).err()?;
            Some((program.path.clone(), said))
        });
        if effect.prefers_tenrounds && refused.is_none() && !in_tree {
            trial = subject.run();
        }
    }
    let mut findings = effect.findings.iter();
    let broken = findings.find(|finding| finding.severity == Severity::Problem);
    let problem = broken.map(|finding| finding.says.clone());
    let said = refused.as_ref().and_then(|(_, said)| said.first().cloned());
    Configuration {
        file: effect.source.file.clone(),
        problem: problem.or(said).or(trial.problem()),
        programs: subject.programs.to_vec(),
        conf: subject.conf.map(Path::to_owned),
        refused,
        trial,
        not_tried,
        hidden: None,
        effect,
    }
}
