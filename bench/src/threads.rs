// SPDX-License-Identifier: BSD-2-Clause
//! Several threads at once, each pinned to a processor of its own, with keys and contexts of its
//! own.

use crate::answer::{Done, LIMIT, ONE_THREAD};
use crate::check;
use crate::grid::Cell;
use crate::limits;
use crate::ours::selected;
use crate::peer::Peer;
use crate::peers::evp;
use crate::plan::Plan;
use measure::affinity::{pin_to_number, processors};
use measure::place::Place;
use measure::window::{Pace, Window};
use std::sync::{Barrier, Mutex};
use tenrounds_sys::Cpu;
use terminal::error::{Error, Result};

/// How many threads can have a processor each.
pub fn available() -> usize {
    processors().len().max(1)
}

/// Who takes part: the core, EVP, and the limit.
const SUBJECTS: [&str; 3] = ["core", "evp", LIMIT];

type Work = Box<dyn FnMut(u64) -> Result<u64>>;

/// The work of one thread; None if it is not there.
fn work(subject: &str, cell: Cell) -> Result<Option<Work>> {
    if subject == LIMIT {
        let work = limits::work(cell.spec, &Cpu::detect());
        return Ok(work.map(|work| Box::new(move |n| Ok(work.run(n))) as Work));
    }
    let reference = selected()?;
    let input = check::input(&reference, cell.spec, cell.bytes)?;
    let peer: Box<dyn Peer> = match subject {
        "core" => Box::new(selected()?),
        _ => match evp() {
            Ok(evp) => evp,
            Err(_) => return Ok(None),
        },
    };
    let prepared = peer.prepare(cell.spec, cell.bytes, &check::inputs(cell.spec))?;
    let Some(mut operation) = prepared else {
        return Ok(None);
    };
    let mut place = Place::new(&input, cell.spec.output_bytes(cell.bytes));
    let bytes = cell.spec.total(cell.bytes) as u64;
    Ok(Some(Box::new(move |calls| {
        let (input, output) = place.both();
        operation.run(calls, input, output, false);
        Ok(calls * bytes)
    })))
}

/// A window of one thread, and then one of all, in turn. The rates of all threads are added.
pub fn cell(plan: &Plan, cell: Cell) -> Result<Done> {
    let mut done = Done::default();
    if plan.rounds == 0 {
        return Ok(done);
    }
    for subject in SUBJECTS {
        let rounds = rounds(plan, cell, subject)?;
        for (one, all) in rounds {
            for (id, windows) in [
                (format!("{subject}/{ONE_THREAD}"), &one),
                (subject.into(), &all),
            ] {
                done.doubtful += windows.iter().filter(|w| !w.undisturbed()).count();
                let rate = windows.iter().map(Window::rate).sum();
                done.rates.entry(id).or_default().push(rate);
            }
        }
    }
    Ok(done)
}

type Round = (Vec<Window>, Vec<Window>);

fn rounds(plan: &Plan, cell: Cell, subject: &str) -> Result<Vec<Round>> {
    let barrier = Barrier::new(cell.threads);
    // For each round: of one thread, of all.
    let empty = || (0..plan.rounds).map(|_| Round::default()).collect();
    let taken: Mutex<Vec<Round>> = Mutex::new(empty());
    let there: Mutex<Vec<Result<bool>>> = Mutex::new(Vec::new());
    let thread = |number: usize| {
        let ready = pin_to_number(number).and_then(|()| work(subject, cell));
        let said = ready.as_ref().map(Option::is_some).map_err(Error::clone);
        there.lock().expect("nobody panics with it").push(said);
        barrier.wait();
        let all_there = |r: &Result<bool>| matches!(r, Ok(true));
        if !there.lock().expect("the same").iter().all(all_there) {
            return;
        }
        let mut work = ready.ok().flatten().expect("it is there");
        let mut pace = Pace::default();
        for round in 0..plan.rounds {
            barrier.wait();
            if number == 0 {
                if let Ok(window) = pace.warm_window(plan.window_us, &mut work) {
                    taken.lock().expect("the same")[round].0.push(window);
                }
            }
            barrier.wait();
            if let Ok(window) = pace.warm_window(plan.window_us, &mut work) {
                taken.lock().expect("the same")[round].1.push(window);
            }
        }
    };
    std::thread::scope(|scope| {
        for number in 1..cell.threads {
            let thread = &thread;
            scope.spawn(move || thread(number));
        }
        thread(0);
    });
    for said in there.into_inner().expect("all threads have ended") {
        if !said? {
            return Ok(Vec::new());
        }
    }
    let mut taken = taken.into_inner().expect("all threads have ended");
    taken.retain(|(one, all)| one.len() == 1 && all.len() == cell.threads);
    Ok(taken)
}
