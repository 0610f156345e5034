// SPDX-License-Identifier: BSD-2-Clause
//! Running the command: in place of this process, or waited for with signals and status passed
//! through.

use super::reach;
use nix::errno::Errno;
use nix::sys::resource::{setrlimit, Resource};
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::sys::wait::{waitid, Id, WaitPidFlag, WaitStatus};
use nix::unistd::Pid;
use signal_hook::flag;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, LazyLock};
use terminal::error::{Error, Kind, Result};

/// Whether SIGPIPE was ignored when this process began. Rust's runtime ignores it always, so it has
/// to be seen before, in order to hand the command what this process was given.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
#[link_section = ".init_array"]
static REMEMBER: extern "C" fn() = {
    extern "C" fn remember() {
        PIPE_IGNORED.store(is_ignored(libc::SIGPIPE), Ordering::Relaxed);
    }
    remember
};

/// Whether this process was told to ignore a signal, as by nohup(1).
pub fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all zeros is a valid sigaction.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid or null.
    unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) };
    action.sa_sigaction == libc::SIG_IGN
}

/// Gives SIGPIPE back its meaning: output into a closed pipe ends the program quietly.
pub fn restore_sigpipe() {
    if !PIPE_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: the arguments are valid.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }
}

/// The command line as a process to be.
pub fn command(line: &[OsString], environment: &[(&'static str, OsString)]) -> Command {
    let mut command = Command::new(&line[0]);
    command
        .args(&line[1..])
        .envs(environment.iter().map(|(name, value)| (name, value)));
    if PIPE_IGNORED.load(Ordering::Relaxed) {
        // SAFETY: the closure only calls signal(), which is async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
                Ok(())
            });
        }
    }
    command
}

/// Becomes the command. Returns only if that fails.
pub fn replace(mut command: Command) -> Error {
    let error = command.exec();
    cannot_start(&command, &error)
}

fn cannot_start(command: &Command, error: &std::io::Error) -> Error {
    let program = command.get_program();
    let name = program.to_string_lossy();
    if reach::find(program).is_none() && !Path::new(program).is_dir() {
        let why = format!("{name}: command not found; check its spelling and PATH");
        return Error::new(Kind::NotFound, why);
    }
    let cure = match error.kind() {
        ErrorKind::NotFound => "; is there the interpreter that its first line names?",
        ErrorKind::PermissionDenied => "; is it a program with execute permission (chmod +x)?",
        _ => "",
    };
    let why = format!("{name}: cannot be executed: {error}{cure}");
    Error::new(Kind::NotExecutable, why)
}

/// The child to which signals are forwarded; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

const FORWARDED: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
];

/// Those with which a user at a terminal ends a program.
const INTERRUPTS: [Signal; 3] = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT];

/// Whether those end this process, too.
static INTERRUPTIBLE: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Passes on what another process sent to this one. The terminal sends its signals to the child,
/// too.
fn forward(info: &libc::siginfo_t) {
    let child = CHILD.load(Ordering::Relaxed);
    let from_process = info.si_code <= 0;
    if child > 0 && from_process {
        // SAFETY: kill() takes any numbers.
        unsafe { libc::kill(child, info.si_signo) };
    }
}

/// Waits for the end of a command that `start` started.
pub fn end(mut child: Child) -> Result<ExitStatus> {
    while !has_ended(&child, WaitPidFlag::empty()) {}
    let status = child.wait();
    CHILD.store(0, Ordering::Relaxed);
    // What this process still does after the command can be interrupted. But SIGTERM may have been
    // meant for the command, which had just ended, and would lose its counts.
    INTERRUPTIBLE.store(true, Ordering::Relaxed);
    status.map_err(|error| Error::failure(format!("waiting for the command: {error}")))
}

/// How a command that `start` started has ended; None while it runs.
pub fn ended(child: &mut Child) -> Option<ExitStatus> {
    if !has_ended(child, WaitPidFlag::WNOHANG) {
        return None;
    }
    let status = child.try_wait().ok().flatten()?;
    // Its process ID may belong to another process from now on.
    CHILD.store(0, Ordering::Relaxed);
    Some(status)
}

/// Whether a child has ended; it stays a zombie. Unless `WNOHANG` is given, waits for its end or a
/// signal.
fn has_ended(child: &Child, options: WaitPidFlag) -> bool {
    let options = options | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    match waitid(Id::Pid(Pid::from_raw(child.id() as i32)), options) {
        Ok(status) => status != WaitStatus::StillAlive,
        Err(error) => error != Errno::EINTR,
    }
}

/// Starts the command. Signals that reach this process from then on reach the command.
pub fn start(mut command: Command) -> Result<Child> {
    let blocked: SigSet = FORWARDED.into_iter().collect();
    let before = blocked.thread_swap_mask(SigmaskHow::SIG_BLOCK);
    let before = before.map_err(Error::from_reason)?;
    // The command starts with the mask that this process was given.
    // SAFETY: the closure only calls pthread_sigmask(), which is async-signal-safe.
    unsafe { command.pre_exec(move || Ok(before.thread_set_mask()?)) };
    let spawned = command.spawn();
    if let Ok(child) = &spawned {
        CHILD.store(child.id() as i32, Ordering::Relaxed);
        FORWARDED
            .into_iter()
            .try_for_each(handle)
            .map_err(Error::from_reason)?;
    }
    before.thread_set_mask().map_err(Error::from_reason)?;
    spawned.map_err(|error| cannot_start(&command, &error))
}

/// Forwards a signal. One that this process was told to ignore stays ignored, as it is for the
/// command.
fn handle(signal: Signal) -> std::io::Result<()> {
    let number = signal as libc::c_int;
    if is_ignored(number) {
        return Ok(());
    }
    if INTERRUPTS.contains(&signal) {
        flag::register_conditional_default(number, INTERRUPTIBLE.clone())?;
    }
    // SAFETY: forward() is async-signal-safe.
    unsafe { signal_hook_registry::register_sigaction(number, forward)? };
    Ok(())
}

/// Ends this process as the command ended: with its status, or by the same signal.
pub fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // One core file is enough.
        let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
        // SAFETY: both take any number, and the default action is no handler.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}
