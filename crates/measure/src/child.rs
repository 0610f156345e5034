// SPDX-License-Identifier: BSD-2-Clause
//! Child processes that do not outlive this one, however it ends.

use std::collections::BTreeMap;
use std::ffi::{c_char, CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::ptr::null;

/// Starts a child as the leader of a process group, in the environment of this process with the
/// command's changes. The kernel kills the child when the thread that started it ends, so that
/// thread has to wait for it.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    let program = Program::of(command)?;
    let bind = move || {
        // SAFETY: PR_SET_PDEATHSIG takes a signal.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before the call above.
        match std::os::unix::process::parent_id() == parent {
            true => Err(program.execute()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    // SAFETY: the closure makes three system calls, and allocates nothing.
    unsafe { command.pre_exec(bind) };
    command.process_group(0).spawn()
}

/// Kills a child that `spawn` started, with its process group.
pub fn kill(child: &mut Child) {
    if let Ok(None) = child.try_wait() {
        // SAFETY: the child is not reaped, so the group is still its own.
        unsafe { libc::kill(-(child.id() as libc::pid_t), libc::SIGKILL) };
        let _ = child.wait();
    }
}

/// What execve(2) takes. `Command` would call execvp(3) here, which gives a file of no known format
/// to a shell.
struct Program {
    file: CString,
    arguments: Strings,
    environment: Strings,
}

impl Program {
    fn of(command: &Command) -> io::Result<Program> {
        let name = command.get_program();
        let arguments = std::iter::once(name).chain(command.get_args());
        let mut variables: BTreeMap<OsString, OsString> = environment::for_a_child().collect();
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => variables.insert(name.to_owned(), value.to_owned()),
                None => variables.remove(name),
            };
        }
        let variables = variables.into_iter().map(|(mut variable, value)| {
            variable.push("=");
            variable.push(value);
            variable
        });
        Ok(Program {
            file: CString::new(find(name)?.into_os_string().into_vec())?,
            arguments: Strings::of(arguments.map(OsStr::to_owned))?,
            environment: Strings::of(variables)?,
        })
    }

    /// Becomes the program. Returns only if that fails.
    fn execute(&self) -> io::Error {
        let (arguments, environment) = (&self.arguments.pointers, &self.environment.pointers);
        // SAFETY: the file is a C string, and NULL ends both lists of C strings.
        unsafe { libc::execve(self.file.as_ptr(), arguments.as_ptr(), environment.as_ptr()) };
        io::Error::last_os_error()
    }
}

/// The file of a program, by PATH if its name has no slash.
fn find(name: &OsStr) -> io::Result<PathBuf> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    let path = environment::variable("PATH");
    let found = on_path(name, path.as_deref().unwrap_or(OsStr::new(USUAL)));
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ENOENT))
}

/// Where programs are if PATH is not set.
const USUAL: &str = "/usr/bin:/bin";

/// The first executable file of this name. An empty or relative part of PATH means the working
/// directory, in which another user may have put the file, so it does not count.
fn on_path(name: &OsStr, path: &OsStr) -> Option<PathBuf> {
    let dirs = std::env::split_paths(path).filter(|dir| dir.is_absolute());
    let mut files = dirs.map(|dir| dir.join(name));
    files.find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    let meta = file.metadata();
    meta.is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// C strings, with pointers to them and NULL at the end.
struct Strings {
    pointers: Vec<*const c_char>,
    _strings: Vec<CString>,
}

// SAFETY: the pointers lead to the strings, which this value owns and nothing changes.
unsafe impl Send for Strings {}
// SAFETY: as above.
unsafe impl Sync for Strings {}

impl Strings {
    fn of(strings: impl Iterator<Item = OsString>) -> io::Result<Strings> {
        let strings = strings.map(|string| CString::new(string.into_vec()));
        let strings = strings.collect::<Result<Vec<_>, _>>()?;
        let pointers = strings.iter().map(|string| string.as_ptr());
        Ok(Strings {
            pointers: pointers.chain([null()]).collect(),
            _strings: strings,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is executable and neither a script nor an ELF file is not given to a shell.
    #[test]
    fn a_file_of_no_known_format_is_an_error() {
        let name = format!("tenrounds-child-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        std::fs::write(&file, "exit 0\n").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&file, mode).unwrap();
        // A child of another test may have the file open for writing until its exec.
        let spawned = || spawn(&mut Command::new(&file)).unwrap_err().raw_os_error();
        let error = std::iter::repeat_with(spawned).find(|e| *e != Some(libc::ETXTBSY));
        std::fs::remove_file(&file).unwrap();
        assert_eq!(error, Some(Some(libc::ENOEXEC)));
    }

    #[test]
    fn programs_come_from_absolute_folders_alone() {
        let name = format!("tenrounds-path-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        let (plain, program) = (dir.join("plain"), dir.join("program"));
        for (folder, mode) in [(&plain, 0o644), (&program, 0o755)] {
            let file = folder.join("name");
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(&file, "").unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        let both = std::env::join_paths([&plain, &program]).unwrap();
        let found = on_path(OsStr::new("name"), &both);
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!(found, Some(program.join("name")));
        // Tests run in the folder of their crate.
        assert!(Path::new("build.rs").is_file());
        for path in ["", ":", ".", "src/.."] {
            assert_eq!(on_path(OsStr::new("build.rs"), OsStr::new(path)), None);
        }
        assert!(on_path(OsStr::new("sh"), OsStr::new(USUAL)).is_some());
    }

    #[test]
    fn the_environment_and_the_arguments_arrive() {
        let mut command = Command::new("sh");
        command
            .args([
                "-c",
                r#"[ "$1 $SET ${HOME-none}" = "a b none" ]"#,
                "sh",
                "a",
            ])
            .env("SET", "b")
            .env_remove("HOME");
        assert!(spawn(&mut command).unwrap().wait().unwrap().success());
        let missing = spawn(&mut Command::new("tenrounds-no-such-program")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
