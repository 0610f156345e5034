// SPDX-License-Identifier: BSD-2-Clause
//! Running the command: in place of this process, or waited for with signals and status passed
//! through.

use super::reach;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::Duration;
use terminal::error::{Error, Kind, Result};

/// Whether SIGPIPE was ignored when this process began. Rust's runtime ignores it always, so it has
/// to be seen before, in order to hand the command what this process was given.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

#[used]
#[link_section = ".init_array"]
static REMEMBER: extern "C" fn() = {
    extern "C" fn remember() {
        // SAFETY: all zeros is a valid sigaction.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        // SAFETY: the pointers are valid or null.
        unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &mut action) };
        PIPE_IGNORED.store(action.sa_sigaction == libc::SIG_IGN, Ordering::Relaxed);
    }
    remember
};

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
    let refused = |why: String| {
        let name = program.to_string_lossy();
        Error::new(Kind::NotExecutable, format!("{name}: {why}"))
    };
    match reach::obstacle(program) {
        Some(why) => refused(why),
        None if error.kind() == ErrorKind::NotFound => Error::new(
            Kind::NotFound,
            format!(
                "{}: command not found; check its spelling and PATH",
                program.to_string_lossy()
            ),
        ),
        None => refused(format!("cannot be executed: {error}")),
    }
}

/// The child to which signals are forwarded; 0 while there is none.
static CHILD: AtomicI32 = AtomicI32::new(0);

const FORWARDED: [libc::c_int; 6] = [
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Those with which a user at a terminal ends a program.
const INTERRUPTS: [libc::c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT];

/// Passes on what another process sent to this one. What the terminal sends, it sends to the child,
/// too.
extern "C" fn forward(signal: libc::c_int, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let child = CHILD.load(Ordering::Relaxed);
    // SAFETY: the kernel passes a valid siginfo, because of SA_SIGINFO.
    let from_process = unsafe { (*info).si_code } <= 0;
    if child > 0 && from_process {
        // SAFETY: kill() takes any numbers.
        unsafe { libc::kill(child, signal) };
    }
}

/// Waits for the end of a command that `start` started.
pub fn end(mut child: Child) -> Result<ExitStatus> {
    while !has_ended(&child, 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let status = child
        .wait()
        .map_err(|e| Error::failure(format!("waiting for the command: {e}")));
    CHILD.store(0, Ordering::Relaxed);
    // What this process still does after the command can be interrupted. But SIGTERM may have been
    // meant for the command, which had just ended, and would lose its counts.
    INTERRUPTS.into_iter().for_each(forward_no_more);
    status
}

/// How a command that `start` started has ended; None while it runs.
pub fn ended(child: &mut Child) -> Option<ExitStatus> {
    if !has_ended(child, libc::WNOHANG) {
        return None;
    }
    let status = child.try_wait().ok().flatten()?;
    // Its process ID may belong to another process from now on.
    CHILD.store(0, Ordering::Relaxed);
    Some(status)
}

/// Whether a child has ended; it stays a zombie. Unless `WNOHANG` is given, waits for its end.
fn has_ended(child: &Child, options: libc::c_int) -> bool {
    // SAFETY: all zeros is a valid siginfo_t.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = options | libc::WEXITED | libc::WNOWAIT;
    // SAFETY: the structure is valid.
    if unsafe { libc::waitid(libc::P_PID, child.id(), &mut info, options) } != 0 {
        return std::io::Error::last_os_error().kind() != ErrorKind::Interrupted;
    }
    // 0 with WNOHANG: it runs.
    info.si_code != 0
}

/// Starts the command. Signals that reach this process from then on reach the command.
pub fn start(mut command: Command) -> Result<Child> {
    // SAFETY: all zeros is a valid sigset_t.
    let mut blocked: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: as above.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: the pointers are valid; sigprocmask() in the closure is async-signal-safe.
    unsafe {
        libc::sigemptyset(&mut blocked);
        for signal in FORWARDED {
            libc::sigaddset(&mut blocked, signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, &blocked, &mut before);
        // The command starts with the mask that this process was given.
        command.pre_exec(move || {
            libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            Ok(())
        });
    }
    let spawned = command.spawn();
    if let Ok(child) = &spawned {
        CHILD.store(child.id() as i32, Ordering::Relaxed);
        FORWARDED.into_iter().for_each(forward_from_now_on);
    }
    // SAFETY: the set is valid.
    unsafe { libc::sigprocmask(libc::SIG_SETMASK, &before, std::ptr::null_mut()) };
    spawned.map_err(|error| cannot_start(&command, &error))
}

/// A signal that this process was told to ignore stays ignored, as it is for the command.
fn forward_from_now_on(signal: libc::c_int) {
    // SAFETY: all zeros is a valid sigaction, the pointers are valid, and forward() has the
    // type of a handler with SA_SIGINFO.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut old);
        if old.sa_sigaction == libc::SIG_IGN {
            return;
        }
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = forward as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        libc::sigaction(signal, &action, std::ptr::null_mut());
    }
}

/// Gives a signal that was forwarded its meaning for this process back.
fn forward_no_more(signal: libc::c_int) {
    // SAFETY: all zeros is a valid sigaction, and the pointers are valid or null.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now);
        if now.sa_sigaction == forward as *const () as usize {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Ends this process as the command ended: with its status, or by the same signal.
pub fn end_like(status: ExitStatus) -> ! {
    if let Some(signal) = status.signal() {
        // SAFETY: the pointers are valid, and this process has no other threads to
        // disturb.
        unsafe {
            // One core file is enough.
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
        std::process::exit(128 + signal);
    }
    std::process::exit(status.code().unwrap_or(1))
}
