// SPDX-License-Identifier: BSD-2-Clause
//! Child processes that may not take for ever.

use crate::memory::with_memory;
use measure::child;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub struct Output {
    pub success: bool,
    pub out: String,
    pub raw: Vec<u8>,
    pub err: String,
    pub status: String,
}

impl Output {
    /// The first line that the program printed, or how it ended if it printed nothing.
    pub fn said(&self) -> String {
        self.lines().swap_remove(0)
    }

    /// All lines that the program printed, standard error first; how it ended if it printed
    /// nothing.
    pub fn lines(&self) -> Vec<String> {
        let lines = self.err.lines().chain(self.out.lines());
        let said = lines.map(str::trim).filter(|line| !line.is_empty());
        let mut said: Vec<String> = said.map(str::to_owned).collect();
        if said.is_empty() {
            said.push(self.status.clone());
        }
        said
    }
}

fn collect(from: Option<impl Read + Send + 'static>) -> Result<JoinHandle<Vec<u8>>, String> {
    let thread = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            let _ = with_memory(from.read_to_end(&mut bytes));
        }
        bytes
    });
    thread.map_err(|error| format!("cannot start a thread: {error}"))
}

/// Runs a command to its end, with this on its standard input. An error if it cannot be started, or
/// has not ended in time and was killed.
pub fn run(mut command: Command, input: &[u8], limit: Duration) -> Result<Output, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let piped = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = with_memory(child::spawn(piped)).map_err(|error| format!("{name}: {error}"))?;
    let collectors =
        collect(child.stdout.take()).and_then(|out| Ok((out, collect(child.stderr.take())?)));
    let (out, err) = collectors.inspect_err(|_| child::kill(&mut child))?;
    if let Some(mut stdin) = child.stdin.take() {
        without_sigpipe(|| {
            let _ = stdin.write_all(input);
        });
    }
    let status = end(&mut child, limit);
    let Some(status) = status else {
        return Err(format!(
            "{name}: has not ended after {} seconds",
            limit.as_secs()
        ));
    };
    let raw = out.join().unwrap_or_default();
    let err = err.join().unwrap_or_default();
    Ok(Output {
        success: status.success(),
        out: String::from_utf8_lossy(&raw).into_owned(),
        raw,
        err: String::from_utf8_lossy(&err).into_owned(),
        status: status.to_string(),
    })
}

/// A child that does not read must not end this process.
fn without_sigpipe(action: impl FnOnce()) {
    // SAFETY: the arguments are valid; nothing else changes this signal meanwhile.
    unsafe {
        let before = libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        action();
        libc::signal(libc::SIGPIPE, before);
    }
}

fn end(child: &mut Child, limit: Duration) -> Option<std::process::ExitStatus> {
    let begin = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if begin.elapsed() < limit => std::thread::sleep(Duration::from_millis(1)),
            _ => {
                child::kill(child);
                return None;
            }
        }
    }
}
