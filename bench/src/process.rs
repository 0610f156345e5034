// SPDX-License-Identifier: BSD-2-Clause
//! A measuring process gets a plan as its only request, and says answers until the plan is done.

use crate::check;
use measure::process::{requests, say, Process};
use serde::de::DeserializeOwned;
use serde::Serialize;
use std::panic::{catch_unwind, set_hook, AssertUnwindSafe};
use terminal::error::{Error, Result};

/// The whole process: `measure` says its answers; its error is the last one.
pub fn serve<P: DeserializeOwned>(measure: fn(&P) -> Result<()>) -> Result<()> {
    let plan = requests().next();
    let plan = plan.ok_or_else(|| Error::usage("a measuring process without a plan"))??;
    // The panics of libraries are caught and reported where they matter.
    set_hook(Box::new(|_| {}));
    match catch_unwind(AssertUnwindSafe(|| measure(&plan))) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => say::<()>(Err(error)),
        Err(panic) => say::<()>(Err(Error::failure(check::panic_text(&*panic)))),
    }
}

/// Starts a process with a plan, and takes its answers until it ends.
pub fn ask<A: DeserializeOwned>(
    worker: &str,
    plan: &impl Serialize,
    variables: &[(&str, &str)],
    take: &mut dyn FnMut(A),
) -> Result<()> {
    let mut process = Process::start(worker, [worker], variables.iter().copied())?;
    process.send(plan)?;
    process.close();
    while let Some(answer) = process.answer()? {
        take(answer);
    }
    Ok(())
}
