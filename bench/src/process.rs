// SPDX-License-Identifier: BSD-2-Clause
//! Measuring processes: this program again, under another first argument. A process gets a plan as
//! one line of JSON, and answers with lines of JSON.

use crate::check;
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::fmt::Display;
use std::io::{BufRead, BufReader, Write};
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use std::process::{Command, Stdio};
use terminal::error::{Error, Result};

fn write(line: &std::result::Result<impl Serialize, String>) {
    let line = serde_json::to_string(line).expect("plain data serialises");
    // Without a reader there is nobody to hear of an error.
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// Sends an answer.
pub fn say(answer: &impl Serialize) {
    write(&Ok(answer));
}

/// The whole process: `measure` says its answers; its error is the last one.
pub fn serve<P: DeserializeOwned>(measure: fn(&P) -> Result<()>) -> Result<()> {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.map_err(|e| Error::failure(format!("cannot read the plan: {e}")))?;
    let plan: P = serde_json::from_str(&line)
        .map_err(|e| Error::usage(format!("a measuring process without a plan: {e}")))?;
    // The panics of libraries are caught and reported where they matter.
    set_hook(Box::new(|_| {}));
    let why = match catch_unwind(AssertUnwindSafe(|| measure(&plan))) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => check::panic_text(&*panic),
    };
    write(&Err::<(), String>(why));
    Ok(())
}

/// Starts a process with a plan, and takes its answers until it ends.
pub fn ask<A: DeserializeOwned>(
    worker: &str,
    plan: &impl Serialize,
    variables: &[(&str, &str)],
    take: &mut dyn FnMut(A) -> Result<()>,
) -> Result<()> {
    let failed = |what: &str, why: &dyn Display| {
        Error::failure(format!("a measuring process {what}: {why}"))
    };
    let program = std::env::current_exe().map_err(|e| failed("cannot be started", &e))?;
    let mut child = Command::new(program)
        .arg(worker)
        .envs(variables.iter().copied())
        .env_remove("TENROUNDS_COUNTERS") // counting costs time
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| failed("cannot be started", &e))?;
    let mut requests = child.stdin.take().expect("it is piped");
    let plan = serde_json::to_string(plan).expect("plain data serialises");
    let sent = writeln!(requests, "{plan}");
    let mut result = sent.map_err(|e| failed("takes no plan", &e));
    drop(requests);
    for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
        if result.is_err() {
            continue; // to its end, so that it can end
        }
        result = line
            .map_err(|e| failed("cannot be read", &e))
            .and_then(|line| {
                let answer: std::result::Result<A, String> =
                    serde_json::from_str(&line).map_err(|e| failed("says", &e))?;
                take(answer.map_err(Error::failure)?)
            });
    }
    let status = child.wait().map_err(|e| failed("is lost", &e))?;
    result?;
    match status.success() {
        true => Ok(()),
        false => Err(failed("ended", &status)),
    }
}
