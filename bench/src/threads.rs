// SPDX-License-Identifier: BSD-2-Clause
//! Several threads at once, each pinned to a processor of its own, with keys and contexts of its
//! own.

use crate::answer::{Done, LIMIT, ONE_THREAD};
use crate::check;
use crate::grid::Cell;
use crate::limits;
use crate::ours::selected;
use crate::peer::Operation;
use crate::peers::evp;
use crate::plan::Plan;
use measure::crew::{Crew, Job};
use measure::noise;
use measure::place::Place;
use measure::rounds::take;
use std::sync::Arc;
use tenrounds_sys::Cpu;
use terminal::error::{Error, Result};

/// Who takes part: the core, EVP, and the limit.
const SUBJECTS: [&str; 3] = ["core", "evp", LIMIT];

/// The calls of one thread.
struct Calls {
    operation: Box<dyn Operation>,
    place: Place,
    bytes: u64,
}

impl Job for Calls {
    fn run(&mut self, calls: u64) -> Result<u64> {
        let (input, output) = self.place.both();
        self.operation.run(calls, input, output, false);
        Ok(calls * self.bytes)
    }
}

/// The work of one thread; an error if it is absent.
fn job(subject: &str, cell: Cell) -> Result<Box<dyn Job>> {
    let (spec, bytes) = (cell.spec, cell.bytes);
    let absent = || Error::absent(subject);
    if subject == LIMIT {
        let work = limits::work(spec, &Cpu::detect()).ok_or_else(absent)?;
        return Ok(Box::new(work) as Box<dyn Job>);
    }
    let peer = match subject {
        "core" => selected()?,
        _ => evp().map_err(|_| absent())?,
    };
    let input = check::input(&selected()?, spec, bytes)?;
    let operation = peer.prepare(spec, bytes, &check::inputs(spec))?;
    Ok(Box::new(Calls {
        operation: operation.ok_or_else(absent)?,
        place: Place::new(&input, spec.output_bytes(bytes)),
        bytes: spec.total(bytes) as u64,
    }))
}

/// A window of one thread and one of all, in turn. The rates of all threads are added.
pub fn cell(plan: &Plan, cell: Cell) -> Result<Done> {
    let mut done = Done::default();
    if plan.rounds == 0 {
        return Ok(done);
    }
    for subject in SUBJECTS {
        let mut crew = match Crew::new(cell.threads, Arc::new(move || job(subject, cell))) {
            Err(error) if error.is_absent() => continue,
            crew => crew?,
        };
        let threads = [1, cell.threads];
        let taken = take(2, 0..plan.rounds, noise::unprobed, &mut |_, which| {
            crew.window(plan.window_us, threads[which])
        })?;
        done.add(
            [format!("{subject}/{ONE_THREAD}"), subject.to_owned()],
            taken,
        );
    }
    Ok(done)
}
