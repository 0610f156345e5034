// SPDX-License-Identifier: BSD-2-Clause
//! Child processes that do not outlive this one, however it ends.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

/// Starts a child as the leader of a process group. The kernel kills the child when the thread that
/// started it ends, so that thread has to wait for it.
pub fn spawn(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    let bind = move || {
        // SAFETY: PR_SET_PDEATHSIG takes a signal.
        if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before the call above.
        match std::os::unix::process::parent_id() == parent {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    };
    // SAFETY: the closure makes two system calls, and allocates nothing.
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
