// SPDX-License-Identifier: BSD-2-Clause
//! The command that is watched. The terminal belongs to the screen, so the command gets none of it.

use crate::run::child;
use crate::trace;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use terminal::error::Result;

/// The command has so long to end after SIGTERM, before SIGKILL.
const GRACE: Duration = Duration::from_secs(3);

pub struct Running {
    child: Option<Child>,
    status: Option<ExitStatus>,
}

impl Running {
    pub fn start(line: &[OsString]) -> Result<Running> {
        let mut command = trace::prepared(line);
        command.stdout(Stdio::null());
        if std::io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        if std::io::stderr().is_terminal() {
            command.stderr(Stdio::null());
        }
        // A session of its own: no terminal, and a process group that is signalled as a whole.
        // SAFETY: the closure only calls setsid(), which is async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            });
        }
        Ok(Running {
            child: Some(child::start(command)?),
            status: None,
        })
    }

    /// How it has ended, in words; None while it runs.
    pub fn ended(&mut self) -> Option<String> {
        if let (None, Some(child)) = (self.status, &mut self.child) {
            self.status = child::ended(child);
        }
        let status = self.status?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("The command has ended with status {code}."),
            (None, Some(signal)) => format!("The command was ended by signal {signal}."),
            (None, None) => "The command has ended.".to_owned(),
        })
    }

    /// Ends this process as the command ended; or ends the command, if it still runs.
    pub fn finish(mut self) -> Result<()> {
        self.ended();
        if let Some(status) = self.status {
            child::end_like(status);
        }
        self.stop();
        Ok(())
    }

    /// Asks the command and what it has started to end, and after some seconds ends them.
    fn stop(&mut self) {
        let Some(mut child) = self.child.take().filter(|_| self.status.is_none()) else {
            return;
        };
        let Ok(group) = i32::try_from(child.id()) else {
            return;
        };
        // SAFETY: kill() takes any numbers. The ID stays that of the group while it has members.
        let signal = |signal| unsafe { libc::kill(-group, signal) } == 0;
        signal(libc::SIGTERM);
        // A stopped process gets it only when it goes on.
        signal(libc::SIGCONT);
        let begun = Instant::now();
        let mut is_running = true;
        while begun.elapsed() < GRACE {
            is_running = is_running && child::ended(&mut child).is_none();
            if !is_running && !signal(0) {
                return;
            }
            std::thread::sleep(trace::PAUSE);
        }
        signal(libc::SIGKILL);
        if is_running {
            let _ = child::end(child);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
