// SPDX-License-Identifier: BSD-2-Clause
//! The command that is watched. The terminal belongs to `watch`, so the command gets none of it.

use crate::error::Result;
use crate::run::child;
use crate::trace;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus, Stdio};

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
        Ok(Running {
            child: Some(child::start(command)?),
            status: None,
        })
    }

    pub fn id(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
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

    /// Asks the command to end, and waits for it.
    fn stop(&mut self) {
        let Some(child) = self.child.take().filter(|_| self.status.is_none()) else {
            return;
        };
        if let Ok(pid) = i32::try_from(child.id()) {
            // SAFETY: kill() takes any numbers, and the child has not been waited for.
            unsafe { libc::kill(pid, libc::SIGTERM) };
        }
        let _ = child::end(child);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}
