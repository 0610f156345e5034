// SPDX-License-Identifier: BSD-2-Clause
//! The worker processes, seen from the process that asks them.

use super::implementation::Implementation;
use super::worker::{Answer, Request, Task};
use ::measure::process::Process;
use ::measure::window::Window;
use terminal::error::Result;

pub struct WorkerProcess {
    pub implementation: Implementation,
    /// What its libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    pub backend: Option<String>,
    process: Process,
}

impl WorkerProcess {
    pub fn start(implementation: Implementation) -> Result<WorkerProcess> {
        let name = implementation.name();
        let mut process = Process::start(name, ["worker", name], implementation.environment()?)?;
        match process.hello()? {
            Answer::Hello {
                cpu_settings,
                backend,
            } => Ok(WorkerProcess {
                implementation,
                cpu_settings,
                backend,
                process,
            }),
            other => Err(process.misunderstood(&other)),
        }
    }

    /// Sets up work and returns the digest of its output.
    pub fn set_up(&mut self, task: Task) -> Result<u64> {
        match self.process.ask(&Request::SetUp(task))? {
            Answer::Ready { digest } => Ok(digest),
            other => Err(self.process.misunderstood(&other)),
        }
    }

    /// A window of each of so many threads.
    pub fn window(&mut self, microseconds: u64, threads: usize) -> Result<Vec<Window>> {
        let request = Request::Window {
            microseconds,
            threads,
        };
        match self.process.ask(&request)? {
            Answer::Windows(windows) => Ok(windows),
            other => Err(self.process.misunderstood(&other)),
        }
    }
}
