// SPDX-License-Identifier: BSD-2-Clause
//! What the arguments of `scan` name: files themselves, directories, the files that a process has
//! mapped, the files of a package.

use base::inventory::processes;
use base::limited;
use base::root::Root;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use terminal::style::clean;

use super::Trouble;
use base::needed::{self, Loaded};

/// A file to examine.
#[derive(Debug, Clone)]
pub struct Target {
    /// The path that is shown.
    pub path: PathBuf,
    /// The path to open: for a process below its root.
    pub at: PathBuf,
    /// An argument names exactly this file, so that it has to be examined.
    pub is_named: bool,
    /// Its directory says that it is a regular file.
    pub is_regular: bool,
}

impl Target {
    /// A file of this machine.
    pub fn new(path: PathBuf, is_named: bool) -> Target {
        Target {
            at: path.clone(),
            path,
            is_named,
            is_regular: false,
        }
    }
}

#[derive(Debug, Default)]
pub struct Targets {
    pub files: Vec<Target>,
    /// Named files, with the libraries that they load. These are targets, too.
    pub programs: Vec<(PathBuf, Vec<Loaded>)>,
    /// Their files are targets, too.
    pub directories: Vec<PathBuf>,
    pub troubles: Vec<Trouble>,
}

/// Where programs and libraries are installed.
const INSTALLED: [&str; 6] = ["/usr", "/opt", "/bin", "/sbin", "/lib", "/lib64"];

/// Resolves the arguments; without any, everything that is installed. What cannot be resolved is a
/// complaint.
pub fn find(arguments: &[OsString], complaints: &mut Vec<String>) -> Targets {
    let mut targets = Targets::default();
    if arguments.is_empty() {
        targets.directories = installed();
    }
    for argument in arguments {
        if let Err(why) = targets.take(argument) {
            let name = clean(argument.to_string_lossy());
            complaints.push(format!("cannot scan '{name}': {why}"));
        }
    }
    targets
}

/// On most systems /bin and /lib are symbolic links into /usr.
pub fn installed() -> Vec<PathBuf> {
    let dirs = INSTALLED.iter().map(PathBuf::from);
    let is_real = |dir: &PathBuf| dir.symlink_metadata().is_ok_and(|meta| meta.is_dir());
    dirs.filter(is_real).collect()
}

/// The files that the processes of this machine have mapped for execution, each once. A process
/// that this user may not look into is left out.
pub fn mapped() -> Targets {
    let mut all = Targets::default();
    for pid in processes::pids(&Root::machine()) {
        // Most failures are processes of other users, and kernel threads.
        let _ = all.process(&pid.to_string());
    }
    let mut seen = HashSet::new();
    all.files.retain(|target| {
        let meta = target.at.metadata();
        meta.is_ok_and(|meta| seen.insert((meta.dev(), meta.ino())))
    });
    all
}

impl Targets {
    fn take(&mut self, argument: &OsStr) -> Result<(), String> {
        let path = Path::new(argument);
        match path.metadata() {
            Ok(meta) if meta.is_dir() => {
                std::fs::read_dir(path).map_err(|error| error.to_string())?;
                self.directories.push(path.to_owned());
                Ok(())
            }
            Ok(meta) if meta.is_file() => {
                self.files.push(Target::new(path.to_owned(), true));
                self.follow(path);
                Ok(())
            }
            Ok(_) => Err("it is neither a regular file nor a directory".to_owned()),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error.to_string()),
            Err(_) if path.symlink_metadata().is_ok() => {
                Err("the symbolic link leads nowhere".to_owned())
            }
            Err(_) => match argument.to_str() {
                Some(pid) if pid.bytes().all(|byte| byte.is_ascii_digit()) => self.process(pid),
                Some(name) if is_package_name(name) => self.package(name),
                _ => Err("there is no such file or directory".to_owned()),
            },
        }
    }

    /// Adds the libraries that a file loads.
    fn follow(&mut self, path: &Path) {
        let needed::Libraries { found, missing } = needed::of(path);
        let libraries = found.iter().map(|library| library.path.clone());
        let libraries = libraries.map(|path| Target::new(path, false));
        self.files.extend(libraries);
        for name in missing {
            self.trouble(path, format!("its library {} was not found", clean(name)));
        }
        self.programs.push((path.to_owned(), found));
    }

    fn trouble(&mut self, path: &Path, why: impl ToString) {
        self.troubles.push(Trouble {
            path: clean(path.display()),
            why: why.to_string(),
        });
    }

    /// Adds the files that a process has mapped for execution.
    fn process(&mut self, pid: &str) -> Result<(), String> {
        let none = || format!("there is no process {pid}, and no file of that name");
        let number: u32 = pid.parse().map_err(|_| none())?;
        let root = Root::machine();
        let mapped = processes::files(&root, number).map_err(|error| match error.kind() {
            ErrorKind::NotFound => none(),
            ErrorKind::PermissionDenied => {
                format!("process {pid} {}", processes::hidden(&root, number))
            }
            _ => format!("process {pid}: {error}"),
        })?;
        let view = root.of_process(number).ok_or_else(none)?;
        if mapped.is_empty() {
            return Err(format!(
                "process {pid} has mapped no files: it is a kernel thread, or has ended"
            ));
        }
        for (path, deleted) in mapped {
            let path = PathBuf::from(path);
            let exe = PathBuf::from(format!("/proc/{pid}/exe"));
            let link = format!("{} (deleted)", path.display());
            let at = match deleted {
                false => view.path(&path),
                true if std::fs::read_link(&exe).is_ok_and(|to| to == Path::new(&link)) => exe,
                true => {
                    self.trouble(
                        &path,
                        "it was deleted or replaced since the process started",
                    );
                    continue;
                }
            };
            self.files.push(Target {
                at,
                ..Target::new(path, false)
            });
        }
        Ok(())
    }

    /// Adds the files of an installed package.
    fn package(&mut self, name: &str) -> Result<(), String> {
        let list = listed("dpkg-query", "-L", name).or_else(|| listed("rpm", "-ql", name));
        let list = list.ok_or("it is no file, no process and no installed package")?;
        for line in list.split(|byte| *byte == b'\n') {
            let path = PathBuf::from(OsStr::from_bytes(line));
            if path.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
                self.files.push(Target::new(path, false));
            }
        }
        Ok(())
    }
}

/// Whether dpkg or rpm may be asked for a package of this name.
fn is_package_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.:_~".contains(&byte);
    name.bytes().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// The time that a package manager has.
const LIMIT: Duration = Duration::from_secs(60);

/// What a package manager lists; None if it is not installed or does not know the package.
fn listed(program: &str, option: &str, package: &str) -> Option<Vec<u8>> {
    let mut command = Command::new(program);
    command.args([option, package]);
    let output = limited::run(command, b"", LIMIT).ok()?;
    output.success.then_some(output.raw)
}
