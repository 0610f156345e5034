// SPDX-License-Identifier: BSD-2-Clause
//! The worker processes, seen from the process that asks them.

use super::implementation::Implementation;
use super::worker::{Answer, Request, Task};
use ::measure::process::Process;
use ::measure::window::Window;
use terminal::error::Result;

pub struct WorkerProcess {
    pub implementation: Implementation,
    /// The number of its threads.
    pub threads: usize,
    /// What its libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    pub backend: Option<String>,
    process: Process,
}

impl WorkerProcess {
    /// `driver`: the kernel's driver that AF_ALG is to take.
    pub fn start(
        implementation: Implementation,
        threads: usize,
        driver: Option<&str>,
    ) -> Result<WorkerProcess> {
        let name = implementation.name();
        let arguments = ["worker", name].into_iter().chain(driver);
        let mut process = Process::start(name, arguments, implementation.environment()?)?;
        match process.hello()? {
            Answer::Hello {
                cpu_settings,
                backend,
            } => Ok(WorkerProcess {
                implementation,
                threads,
                cpu_settings,
                backend,
                process,
            }),
            other => Err(process.misunderstood(&other)),
        }
    }

    /// Sets up work and returns the digest of its output.
    pub fn set_up(&mut self, task: Task, threads: usize) -> Result<String> {
        match self.process.ask(&Request::SetUp { task, threads })? {
            Answer::Ready { digest } => Ok(digest),
            other => Err(self.process.misunderstood(&other)),
        }
    }

    /// One window per thread.
    pub fn window(&mut self, microseconds: u64) -> Result<Vec<Window>> {
        match self.process.ask(&Request::Window(microseconds))? {
            Answer::Windows(windows) => Ok(windows),
            other => Err(self.process.misunderstood(&other)),
        }
    }
}
