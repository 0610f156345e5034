// SPDX-License-Identifier: BSD-2-Clause
//! Two threads, each on a processor of its own and in a session of its own, against one of them
//! alone. The core does the same, because two processors may share the units of one core.

use super::calls;
use super::module::Module;
use super::row::{Core, Message, Row, Subject, What};
use measure::affinity::pin_to_number;
use measure::window::{Pace, Window};
use std::sync::Barrier;
use terminal::error::Result;

/// A window, without its warming up. Long, so that the windows of both threads overlap.
const WINDOW_US: u64 = 1000;
const SIZES: [usize; 3] = [16, 1 << 10, 16 << 10];

/// Measures all rows: with keys of their own, and with one key that both sessions use.
pub fn measure(
    core: &Core,
    modules: &[Module],
    rounds: usize,
    say: &mut dyn FnMut(String, Vec<Vec<f64>>) -> Result<()>,
) -> Result<()> {
    for (keys, one_key) in [("a key each", false), ("one key", true)] {
        let subjects = both(core, modules, one_key)?;
        for bytes in SIZES {
            let what = What::Gcm;
            let row = Row { what, bytes };
            let ratios = subjects.iter().map(|two| ratios(two, &row, rounds));
            let ratios: Vec<Vec<f64>> = ratios.collect::<Result<_>>()?;
            let round = |n: usize| ratios.iter().map(|all| all[n]).collect();
            let by_round = (0..rounds).map(round).collect();
            say(format!("{}, {keys}", row.name()), by_round)?;
        }
    }
    Ok(())
}

/// Each subject for both threads. The core has no sessions.
fn both<'a>(core: &'a Core, modules: &'a [Module], one_key: bool) -> Result<Vec<[Subject<'a>; 2]>> {
    let mut all = vec![[Subject::Core(core), Subject::Core(core)]];
    for module in modules {
        let first = Subject::of(module, module.session())?;
        let mut second = Subject::of(module, module.another_session()?)?;
        if let (Subject::Module { key, .. }, Subject::Module { key: its, .. }, true) =
            (&first, &mut second, one_key)
        {
            *its = *key;
        }
        all.push([first, second]);
    }
    Ok(all)
}

/// In each round, one thread takes a window alone, then both do at once: the sum of their rates
/// divided by the rate alone.
fn ratios(two: &[Subject; 2], row: &Row, rounds: usize) -> Result<Vec<f64>> {
    let barrier = Barrier::new(2);
    let thread = |number: usize| -> Vec<[Option<Result<Window>>; 2]> {
        let pinned = pin_to_number(number);
        let mut message = Message::new(row.bytes);
        let mut work = |n| calls(&two[number], row.what, &mut message, n);
        let mut pace = Pace::default();
        // An error is kept, so that the other thread does not wait for ever.
        let mut take = || {
            pinned.clone()?;
            pace.warm_window(WINDOW_US, &mut work)
        };
        let round = |_| {
            barrier.wait();
            let alone = (number == 0).then(&mut take);
            barrier.wait();
            [alone, Some(take())]
        };
        (0..rounds).map(round).collect()
    };
    let (ours, others) = std::thread::scope(|scope| {
        let other = scope.spawn(|| thread(1));
        (thread(0), other.join().expect("the thread does not panic"))
    });
    let rate = |window: Option<Result<Window>>| window.map_or(Ok(0.0), |w| Ok(w?.rate()));
    let rounds = ours.into_iter().zip(others);
    let ratio = rounds.map(|([alone, first], [_, second])| {
        let together = rate(first)? + rate(second)?;
        Ok(together / rate(alone)?)
    });
    ratio.collect()
}
