// SPDX-License-Identifier: BSD-2-Clause
//! A machine in a directory: an `openssl` that keeps its configuration there, and what can be seen
//! of it.

use crate::support::{skip, Done, Finish, Place, TOOL};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const DEBIAN: &str = "\
HOME = .
openssl_conf = openssl_init
config_diagnostics = 1
[openssl_init]
providers = provider_sect
[provider_sect]
default = default_sect
[default_sect]
# activate = 1
[req]
prompt = no
";

/// What a file is: its content, mode and owner; of a link, where it leads.
pub type Tree = BTreeMap<PathBuf, (Vec<u8>, u32, u32)>;

pub struct Machine {
    pub place: Place,
    pub root: PathBuf,
}

impl Machine {
    /// As Debian lays it out: /usr/lib/ssl/openssl.cnf is a link to /etc/ssl/openssl.cnf.
    pub fn debian(configuration: &str) -> Machine {
        let machine = Machine::bare();
        machine.openssl("/usr/bin/openssl", "/usr/lib/ssl");
        machine.link("/usr/lib/ssl/openssl.cnf", "../../../etc/ssl/openssl.cnf");
        machine.write("/etc/ssl/openssl.cnf", configuration);
        machine
    }

    pub fn bare() -> Machine {
        let place = Place::new();
        let root = place.path("root");
        for dir in ["root", "home"] {
            fs::create_dir(place.path(dir)).unwrap();
        }
        Machine {
            root: root.canonicalize().unwrap(),
            place,
        }
    }

    pub fn at(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        path
    }

    pub fn read(&self, path: &str) -> Vec<u8> {
        fs::read(self.at(path)).unwrap()
    }

    pub fn link(&self, path: &str, target: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// The system's openssl, with its OPENSSLDIR elsewhere.
    pub fn openssl(&self, path: &str, dir: &str) {
        self.script(
            path,
            "OpenSSL 3.0.0 7 sep 2021",
            dir,
            r#"exec openssl "$@""#,
        );
    }

    /// An openssl that tells this version, and does this otherwise.
    pub fn script(&self, path: &str, version: &str, dir: &str, otherwise: &str) {
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = version ]; then\n  echo '{version} (Library: {version})'\n  \
             echo 'OPENSSLDIR: \"{dir}\"'\n  exit\nfi\n{otherwise}\n"
        );
        let path = self.write(path, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub fn tool(&self, args: &[&str]) -> Command {
        self.below_root(self.place.tool(args))
    }

    /// The tool that kills itself before this change on the disk.
    pub fn killed(&self, args: &[&str], step: u32) -> Command {
        let mut command = self.below_root(self.place.faulty_tool(args));
        command.env("TENROUNDS_DIE_AT", step.to_string());
        command
    }

    fn below_root(&self, mut command: Command) -> Command {
        command.args(["--root".as_ref(), self.root.as_os_str()]);
        self.at_home(&mut command);
        command
    }

    pub fn at_home(&self, command: &mut Command) {
        command
            .env("HOME", self.place.path("home"))
            .env("SHELL", "/bin/sh");
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "ZDOTDIR"] {
            command.env_remove(name);
        }
    }

    pub fn enable(&self) -> Done {
        self.tool(&["enable", "--system"]).done()
    }

    pub fn disable(&self) -> Done {
        self.tool(&["disable", "--system"]).done()
    }

    pub fn status(&self) -> Done {
        self.tool(&["status"]).done()
    }

    /// The names of the providers that openssl has with a configuration of this machine.
    pub fn providers(&self, conf: &str) -> String {
        let mut openssl = self.place.program("openssl");
        openssl
            .args(["list", "-providers"])
            .env("OPENSSL_CONF", self.at(conf));
        openssl.done().out
    }

    /// Whether openssl works with a configuration of this machine.
    pub fn works(&self, conf: &str) -> bool {
        let mut openssl = self.place.program("openssl");
        openssl
            .args(["rand", "-hex", "8"])
            .env("OPENSSL_CONF", self.at(conf));
        openssl.done().status == Some(0)
    }

    /// Everything below the root.
    pub fn tree(&self) -> Tree {
        let mut tree = Tree::new();
        walk(&self.root, &mut tree);
        tree
    }
}

fn walk(dir: &Path, tree: &mut Tree) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let meta = fs::symlink_metadata(&path).unwrap();
        let content = if meta.is_symlink() {
            fs::read_link(&path)
                .unwrap()
                .into_os_string()
                .into_encoded_bytes()
        } else if meta.is_file() {
            fs::read(&path).unwrap()
        } else {
            walk(&path, tree);
            // That /var/lib came into being is no configuration.
            if !meta.is_dir() || path.ends_with("var") || path.ends_with("var/lib") {
                continue;
            }
            Vec::new()
        };
        tree.insert(path, (content, meta.mode(), meta.uid()));
    }
}

/// Whether mount namespaces can be had, for tests that need a file system of their own. Where tests
/// must run it is a failure if not.
pub fn namespace() -> Option<Command> {
    // SAFETY: geteuid() has no requirements.
    let user = unsafe { libc::geteuid() };
    let mut options = vec!["--mount"];
    if user != 0 {
        options.push("--map-root-user");
    }
    let tried = Command::new("unshare").args(&options).arg("true").output();
    if tried.is_ok_and(|output| output.status.success()) {
        // Ends the script and its children after five minutes: timeout(1) signals its process
        // group.
        let mut command = Command::new("timeout");
        command.args(["-k", "5", "1800", "unshare"]).args(options);
        return Some(command);
    }
    skip("unshare --mount is not possible here");
    None
}

/// Makes private, for `in_namespace`: the directory of openssl.cnf, /var/lib, /usr/local and /opt.
/// The script then sees this machine as "/", and nothing that it writes there stays. The provider
/// is a copy in "$modules", which all users can read.
const PRIVATE: &str = r#"
dir=$(openssl version -d | sed 's/^OPENSSLDIR: "\(.*\)"$/\1/')
conf=$(readlink -f "$dir/openssl.cnf")
mkdir "$2/private"
cp -r "${conf%/*}/." "$2/private" 2>/dev/null || test -s "$2/private/openssl.cnf"
chmod 755 "$2/private"
mount --bind "$2/private" "${conf%/*}"
mount -t tmpfs -o mode=755 none /var/lib
for dir in /usr/local /opt; do [ ! -d $dir ] || mount -t tmpfs -o mode=755 none $dir; done
modules=/var/lib/modules
mkdir $modules
cp "$TENROUNDS_MODULE" $modules/tenrounds.so
chmod -R a+rX $modules
export TENROUNDS_MODULE=$modules/tenrounds.so
tool=$1
"#;

/// Runs a shell script that may change this machine's configuration, by `in_namespace`. "$conf" is
/// the system's openssl.cnf. Skips the test and returns None if that is not possible.
pub fn on_this_machine(machine: &Machine, script: &str) -> Option<Done> {
    let openssl = Command::new("sh")
        .args(["-c", "command -v openssl"])
        .output();
    let openssl = String::from_utf8(openssl.unwrap().stdout).unwrap();
    let hidden = [
        openssl.trim(),
        TOOL,
        crate::support::module().to_str().unwrap(),
    ]
    .into_iter()
    .find(|path| path.starts_with("/usr/local/") || path.starts_with("/opt/"))
    .map(str::to_owned);
    if let Some(path) = hidden {
        skip(&format!("this test would hide {path}"));
        return None;
    }
    in_namespace(machine, &format!("{PRIVATE}{script}"))
}

/// A shell script in a mount namespace, whose arguments are the tool's path and the root.
pub fn in_namespace(machine: &Machine, script: &str) -> Option<Done> {
    let mut unshare = namespace()?;
    let mut command = machine.place.program(unshare.get_program());
    command.args(
        unshare
            .args(["sh", "-eu", "-c", script, "sh", TOOL])
            .get_args(),
    );
    command.arg(&machine.root);
    machine.at_home(&mut command);
    Some(command.done())
}

/// Runs commands on test machines, so that the state of this machine does not matter.
pub struct Commands {
    pub enables: Machine,
    healthy: crate::machine::Machine,
}

impl Commands {
    pub fn new() -> Commands {
        Commands {
            enables: Machine::debian(DEBIAN),
            healthy: crate::machine::Machine::healthy(),
        }
    }

    pub fn tool<S: AsRef<str>>(&self, line: &[S]) -> Command {
        let words = line.iter().map(AsRef::as_ref);
        let mut command = self.enables.place.tool(words);
        self.enables.at_home(&mut command);
        let root = match line[0].as_ref() {
            "doctor" => &self.healthy.dir,
            "enable" | "disable" | "status" => &self.enables.root,
            _ => {
                command.env("OPENSSL_CONF", "/dev/null");
                return command;
            }
        };
        command.arg("--root").arg(root);
        command
    }
}
