// SPDX-License-Identifier: BSD-2-Clause
//! The worker processes, seen from the process that asks them.

use super::case::Case;
use super::count::Counts;
use super::implementation::Implementation;
use super::worker::{Answer, Request};
use crate::error::{Error, Result};
use ::measure::window::Window;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

pub struct WorkerProcess {
    pub implementation: Implementation,
    /// The version of its libcrypto.
    pub openssl: Option<String>,
    /// What its libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    pub backend: Option<String>,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl WorkerProcess {
    pub fn start(implementation: Implementation) -> Result<WorkerProcess> {
        WorkerProcess::start_with(implementation, None)
    }

    /// The same, with the kernel's driver that AF_ALG is to take.
    pub fn start_with(
        implementation: Implementation,
        driver: Option<&str>,
    ) -> Result<WorkerProcess> {
        let failed = |error| Error::failure(format!("cannot start a measuring process: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command
            .arg("worker")
            .arg(implementation.name())
            .args(driver);
        command.envs(implementation.environment()?);
        command.env_remove("TENROUNDS_COUNTERS"); // counting costs time
        let pipes = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = pipes.spawn().map_err(failed)?;
        let mut worker = WorkerProcess {
            implementation,
            openssl: None,
            cpu_settings: None,
            backend: None,
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().expect("it was piped")),
            child,
        };
        match worker.answer()? {
            Answer::Hello {
                openssl,
                cpu_settings,
                backend,
            } => {
                worker.openssl = openssl;
                worker.cpu_settings = cpu_settings;
                worker.backend = backend;
                Ok(worker)
            }
            other => Err(worker.misunderstood(&other)),
        }
    }

    fn answer(&mut self) -> Result<Answer> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        match serde_json::from_str(&line) {
            Ok(Answer::Failed(why)) => Err(Error::failure(format!(
                "{}: {why}",
                self.implementation.name()
            ))),
            Ok(Answer::Absent(what)) => Err(Error::absent(what)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(self.ended(read.err())),
        }
    }

    /// No answer: how the process ended.
    fn ended(&mut self, error: Option<std::io::Error>) -> Error {
        self.requests = None;
        let how = match (error, self.child.wait()) {
            (Some(error), _) | (None, Err(error)) => error.to_string(),
            (None, Ok(status)) => status.to_string(),
        };
        Error::failure(format!(
            "the measuring process of {} ended unexpectedly: {how}",
            self.implementation.name()
        ))
    }

    fn misunderstood(&self, answer: &Answer) -> Error {
        Error::failure(format!(
            "the measuring process of {} answered {answer:?}",
            self.implementation.name()
        ))
    }

    fn ask(&mut self, request: &Request) -> Result<Answer> {
        let mut line = serde_json::to_string(request).expect("plain data serialises");
        line.push('\n');
        let requests = self.requests.as_mut().expect("open until it ended");
        match requests.write_all(line.as_bytes()) {
            Ok(()) => self.answer(),
            Err(error) => Err(self.ended(Some(error))),
        }
    }

    /// Sets up work and returns the digest of its output.
    pub fn set_up(&mut self, request: &Request) -> Result<String> {
        match self.ask(request)? {
            Answer::Ready { digest } => Ok(digest),
            other => Err(self.misunderstood(&other)),
        }
    }

    /// The system calls of so many calls of a case.
    pub fn count(&mut self, case: &Case, calls: u64) -> Result<Counts> {
        let work = Box::new(match self.implementation {
            Implementation::Crossing => Request::Crossing(case.bytes),
            _ => case.request(),
        });
        match self.ask(&Request::Count { work, calls })? {
            Answer::Counted(counts) => Ok(counts),
            other => Err(self.misunderstood(&other)),
        }
    }

    /// One window per thread.
    pub fn window(&mut self, microseconds: u64) -> Result<Vec<Window>> {
        match self.ask(&Request::Window(microseconds))? {
            Answer::Windows(windows) => Ok(windows),
            other => Err(self.misunderstood(&other)),
        }
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        self.requests = None; // the end of its input is the end of its work
        let _ = self.child.wait();
    }
}
