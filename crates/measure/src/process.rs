// SPDX-License-Identifier: BSD-2-Clause
//! Measuring processes: this program again, under another first argument. Requests and answers are
//! lines of JSON on its standard input and output.

use crate::child;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Write};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use terminal::error::{Error, Result};
use terminal::output;

/// An error as an answer.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Refusal {
    Absent(String),
    Failed(String),
}

/// A measuring process, seen from the process that asks it.
pub struct Process {
    /// What it measures.
    name: String,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> Result<Process> {
        Process::start_by(None, name, arguments, variables)
    }

    /// The same by a program that starts the one it is given, such as a dynamic linker.
    fn start_by(
        launcher: Option<&Path>,
        name: &str,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        variables: impl IntoIterator<Item = (impl AsRef<OsStr>, impl AsRef<OsStr>)>,
    ) -> Result<Process> {
        let failed = |error| Error::failure(format!("cannot start a measuring process: {error}"));
        let own = std::env::current_exe().map_err(failed)?;
        let mut command = Command::new(launcher.unwrap_or(&own));
        command
            .args(launcher.map(|_| &own))
            .args(arguments)
            .envs(variables)
            .env_remove("TENROUNDS_COUNTERS") // counting costs time
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = child::spawn(&mut command).map_err(failed)?;
        Ok(Process {
            name: name.to_owned(),
            requests: child.stdin.take(),
            answers: BufReader::new(child.stdout.take().expect("it was piped")),
            child,
        })
    }

    pub fn send(&mut self, request: &impl Serialize) -> Result<()> {
        let mut line = serde_json::to_string(request).expect("plain data serialises");
        line.push('\n');
        let requests = self.requests.as_mut().expect("open until it ended");
        let sent = requests.write_all(line.as_bytes());
        sent.map_err(|error| self.ended(error))
    }

    /// The next answer, or the error in its place; None at the end of a process that succeeded.
    pub fn answer<A: DeserializeOwned>(&mut self) -> Result<Option<A>> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line);
        read.map_err(|error| self.ended(error))?;
        // Its end, perhaps within a line.
        if !line.ends_with('\n') {
            self.requests = None;
            return match self.child.wait() {
                Ok(status) if status.success() => Ok(None),
                Ok(status) => Err(self.ended(status)),
                Err(error) => Err(self.ended(error)),
            };
        }
        match serde_json::from_str(&line) {
            Ok(Ok(answer)) => Ok(Some(answer)),
            Ok(Err(Refusal::Absent(what))) => Err(Error::absent(what)),
            Ok(Err(Refusal::Failed(why))) => Err(Error::failure(format!("{}: {why}", self.name))),
            Err(_) => Err(Error::failure(format!(
                "the measuring process of {} answered {line:?}",
                self.name
            ))),
        }
    }

    /// The answer that a process gives without a request, when it is ready.
    pub fn hello<A: DeserializeOwned>(&mut self) -> Result<A> {
        let answer = self.answer()?;
        answer.ok_or_else(|| self.ended("without an answer"))
    }

    /// Sends a request, and takes its answer.
    pub fn ask<A: DeserializeOwned>(&mut self, request: &impl Serialize) -> Result<A> {
        self.send(request)?;
        self.hello()
    }

    /// Tells it that there are no more requests.
    pub fn close(&mut self) {
        self.requests = None;
    }

    fn ended(&self, how: impl std::fmt::Display) -> Error {
        let name = &self.name;
        Error::failure(format!(
            "the measuring process of {name} ended unexpectedly: {how}"
        ))
    }
}

/// Starts a process with a plan, by a launcher if there is one, and takes its answers to the end.
pub fn ask<A: DeserializeOwned>(
    launcher: Option<&Path>,
    worker: &str,
    plan: &impl Serialize,
    variables: &[(&str, &str)],
    take: &mut dyn FnMut(A),
) -> Result<()> {
    let mut process = Process::start_by(launcher, worker, [worker], variables.iter().copied())?;
    process.send(plan)?;
    process.close();
    while let Some(answer) = process.answer()? {
        take(answer);
    }
    Ok(())
}

/// The whole of such a process: `measure` says its answers; its error is the last one.
pub fn serve<P: DeserializeOwned>(measure: fn(&P) -> Result<()>) -> Result<()> {
    let plan = requests().next();
    let plan = plan.ok_or_else(|| Error::usage("a measuring process without a plan"))??;
    // The panics of libraries are caught and reported where they matter.
    set_hook(Box::new(|_| {}));
    match caught(|| measure(&plan)).and_then(|done| done) {
        Ok(()) => Ok(()),
        Err(error) => say::<()>(Err(error)),
    }
}

/// A panic as an error.
pub fn caught<T>(what: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(what)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Error::failure(text.unwrap_or("a panic without a word"))
    })
}

impl Drop for Process {
    /// Reads the remaining answers, because a process with a full pipe would never end.
    fn drop(&mut self) {
        self.close();
        let _ = std::io::copy(&mut self.answers, &mut std::io::sink());
        let _ = self.child.wait();
    }
}

/// The requests to this process, until there are no more.
pub fn requests<R: DeserializeOwned>() -> impl Iterator<Item = Result<R>> {
    std::io::stdin().lines().map(|line| {
        let line = line.map_err(|error| Error::failure(format!("cannot read: {error}")))?;
        serde_json::from_str(&line)
            .map_err(|error| Error::failure(format!("cannot understand {line:?}: {error}")))
    })
}

/// Answers, or says why not.
pub fn say<A: Serialize>(answer: Result<A>) -> Result<()> {
    let answer = answer.map_err(|error| match error.is_absent() {
        true => Refusal::Absent(error.to_string()),
        false => Refusal::Failed(error.to_string()),
    });
    let mut line = serde_json::to_string(&answer).expect("plain data serialises");
    line.push('\n');
    output::plain(line.as_bytes())
}
