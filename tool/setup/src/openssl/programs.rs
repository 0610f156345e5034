// SPDX-License-Identifier: BSD-2-Clause
//! The installations of OpenSSL on this machine: every `openssl` is asked where its configuration
//! lies.

use base::inventory::install::{self, Install};
use base::limited;
use base::paths::shown;
use base::root::Root;
use base::trust::{self, is_root};
use libcrypto::LibCrypto;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The time that an `openssl` has to tell its version.
const LIMIT: Duration = Duration::from_secs(20);

/// One `openssl` command.
#[derive(Debug, Clone, Serialize)]
pub struct Program {
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    /// "OpenSSL 3.0.22 25 Aug 2026".
    pub version: String,
}

/// A configuration file, and who reads it.
#[derive(Debug, Clone, Default)]
pub struct Site {
    /// As its users call it.
    pub conf: PathBuf,
    pub programs: Vec<Program>,
    /// The installed libraries that read it.
    pub libraries: Vec<PathBuf>,
    /// Whether the tool's own libcrypto reads it, too.
    pub ours: bool,
}

impl Site {
    pub fn new(conf: PathBuf) -> Site {
        Site {
            conf,
            ..Site::default()
        }
    }

    /// The libraries to try in the place of programs, if there are no programs.
    pub fn alone(&self) -> &[PathBuf] {
        match self.programs.is_empty() && !self.ours {
            true => &self.libraries,
            false => &[],
        }
    }
}

/// An `openssl`, library or configuration that does not count.
#[derive(Debug, Clone, Serialize)]
pub struct PassedOver {
    #[serde(serialize_with = "shown")]
    pub path: PathBuf,
    pub reason: String,
}

/// What was found, and what was passed over and why.
#[derive(Debug, Default)]
pub struct Found {
    /// Every libcrypto in the usual directories.
    pub installs: Vec<Install>,
    pub sites: Vec<Site>,
    pub passed_over: Vec<PassedOver>,
}

/// Looks below a root. With a root other than "/", only there: neither PATH nor the tool's
/// libcrypto count. A libcrypto elsewhere that processes map is no installation: `enable` would
/// edit a configuration that goes with the process.
pub fn installations(root: &Path, libcrypto: Option<&LibCrypto>) -> Found {
    let installs = install::find(&Root::new(root), &[]);
    let mut found = Found::default();
    for path in programs(root) {
        match trusted(&path).and_then(|()| ask(&path)) {
            Ok((version, dir)) => {
                let site = found.site(inside(root, &dir.join("openssl.cnf")));
                site.programs.push(Program { path, version });
            }
            Err(reason) => found.passed_over.push(PassedOver { path, reason }),
        }
    }
    if root == Path::new("/") {
        if let Some(dir) = libcrypto.and_then(LibCrypto::config_dir) {
            found.site(dir.join("openssl.cnf")).ours = true;
        }
    }
    for library in installs.iter().filter(|install| install.major() >= 3) {
        let path = below(root, &library.library);
        match reads(root, library, &path) {
            Ok(conf) => found.site(conf).libraries.push(path),
            Err(reason) => found.passed_over.push(PassedOver { path, reason }),
        }
    }
    found.installs = installs;
    found
}

impl Found {
    /// The site of a configuration, which may be new.
    fn site(&mut self, conf: PathBuf) -> &mut Site {
        let at = self.sites.iter().position(|site| same(&site.conf, &conf));
        let at = at.unwrap_or_else(|| {
            self.sites.push(Site::new(conf));
            self.sites.len() - 1
        });
        &mut self.sites[at]
    }
}

/// The configuration that a library reads, or why the library does not count.
fn reads(root: &Path, library: &Install, path: &Path) -> Result<PathBuf, String> {
    trusted(path)?;
    let conf = library.configuration();
    let conf = conf.ok_or_else(|| "does not tell its OPENSSLDIR".to_owned())?;
    let conf = inside(root, &conf);
    match conf.parent().is_some_and(Path::is_dir) {
        true => Ok(conf),
        false => Err(format!(
            "reads {}, whose directory does not exist",
            conf.display()
        )),
    }
}

fn same(a: &Path, b: &Path) -> bool {
    a == b || matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// An absolute path below a root. If a symbolic link leads out of the root, all links are resolved
/// within it.
fn inside(root: &Path, path: &Path) -> PathBuf {
    let plain = below(root, path);
    let dir = plain.parent().unwrap_or(root);
    let leads_out = |path: &Path| {
        let real = path.canonicalize().ok();
        real.is_some_and(|real| !real.starts_with(root) && (real.is_file() || real.is_dir()))
    };
    match leads_out(&plain) || leads_out(dir) {
        true => Root::new(root).path(path),
        false => plain,
    }
}

/// An absolute path below a root.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Every file called `openssl` in the usual places, each once.
fn programs(root: &Path) -> Vec<PathBuf> {
    let mut dirs: Vec<PathBuf> = Vec::new();
    if root == Path::new("/") {
        let path = std::env::var_os("PATH").unwrap_or_default();
        dirs.extend(std::env::split_paths(&path).filter(|dir| dir.is_absolute()));
    }
    let usual = ["/usr/bin", "/usr/local/bin", "/usr/local/ssl/bin", "/bin"];
    dirs.extend(usual.iter().map(|dir| below(root, Path::new(dir))));
    let packages = Root::new(&below(root, Path::new("/opt")))
        .names("/")
        .into_iter();
    dirs.extend(packages.map(|name| below(root, &Path::new("/opt").join(name).join("bin"))));
    let (mut seen, mut programs) = (Vec::new(), Vec::new());
    for program in dirs.into_iter().map(|dir| dir.join("openssl")) {
        let real = program.canonicalize().ok().filter(|real| real.is_file());
        if let Some(real) = real.filter(|real| !seen.contains(real)) {
            // Root runs what was checked, and not where a link leads a moment later.
            programs.push(if is_root() { real.clone() } else { program });
            seen.push(real);
        }
    }
    programs
}

/// Root runs nothing that another user could have put there.
pub fn trusted(program: &Path) -> Result<(), String> {
    if !is_root() {
        return Ok(());
    }
    trust::only_mine(program).map_err(|_| {
        "could be replaced by another user than root, so root does not run it".to_owned()
    })
}

/// Its version, and its OPENSSLDIR; or why it does not count. Asked without a configuration,
/// because a broken one must not hide it.
fn ask(program: &Path) -> Result<(String, PathBuf), String> {
    let mut command = Command::new(program);
    command.args(["version", "-v", "-d"]);
    command.env("OPENSSL_CONF", "/dev/null");
    let output = limited::run(command, b"", LIMIT).map_err(|why| {
        let program = format!("{}: ", program.display());
        let why = why.strip_prefix(&program).unwrap_or(&why);
        format!("cannot tell its version: {why}")
    })?;
    if !output.success {
        return Err(format!("'openssl version -v -d' failed: {}", output.said()));
    }
    let version = output.out.lines().next().unwrap_or("").trim();
    let version = version.split(" (Library").next().unwrap_or("");
    let number = version.strip_prefix("OpenSSL ");
    let major = number.and_then(|number| number.split('.').next()?.parse::<u32>().ok());
    match major {
        None => return Err(format!("is '{version}', not OpenSSL")),
        Some(0..=2) => {
            return Err(format!(
                "is {version}, which knows no providers; there the engine is for you"
            ))
        }
        Some(_) => {}
    }
    let mut lines = output.out.lines().map(str::trim);
    let dir = lines.find_map(|line| line.strip_prefix("OPENSSLDIR: \"")?.strip_suffix('"'));
    match dir {
        Some(dir) if dir.starts_with('/') => Ok((version.to_owned(), PathBuf::from(dir))),
        Some(dir) => Err(format!("its OPENSSLDIR '{dir}' is no absolute path")),
        None => Err("does not tell its OPENSSLDIR".to_owned()),
    }
}
