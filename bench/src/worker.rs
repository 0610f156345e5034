// SPDX-License-Identifier: BSD-2-Clause
//! What a measuring process does: all subjects of a cell take turns in this one process, on one
//! processor.

use crate::answer::{Answer, Done};
use crate::check;
use crate::grid::{Cell, Kind};
use crate::limits;
use crate::ours;
use crate::peer::{Form, Peer, Spec};
use crate::peers::Peers;
use crate::plan::Plan;
use measure::affinity::pin_to_number;
use measure::noise;
use measure::place::Place;
use measure::process::say;
use measure::rounds::take;
use measure::window::Pace;
use std::collections::HashSet;
use terminal::error::Result;

/// Results are for others, to whom the measuring user's directory says nothing.
fn without_home(text: &str) -> String {
    match std::env::var("HOME") {
        Ok(home) if home.len() > 1 => text.replace(&home, "~"),
        _ => text.to_owned(),
    }
}

/// Those that take part, and those that would.
fn subjects(plan: &Plan) -> Result<Peers> {
    let mut peers = match plan.replace {
        true => Peers::pairs()?,
        false => Peers::all(plan.environment)?,
    };
    let wanted = |id: &str| plan.replace || plan.wants(id);
    peers.here.retain(|peer| wanted(peer.id()));
    peers.missing.retain(|missing| wanted(&missing.id));
    for peer in &mut peers.here {
        peer.subject.version = without_home(&peer.subject.version);
    }
    for missing in &mut peers.missing {
        missing.why = without_home(&missing.why);
    }
    Ok(peers)
}

/// The whole process.
pub fn measure(plan: &Plan) -> Result<()> {
    pin_to_number(0)?;
    fastrand::seed(plan.seed);
    let Peers { here, missing } = subjects(plan)?;
    say(Ok(Answer::Hello {
        subjects: here.iter().map(|peer| peer.subject.clone()).collect(),
        absent: missing,
    }))?;
    if plan.probe_windows > 0 {
        say(limits::probe(plan.probe_windows, plan.window_us).map(Answer::Probe))?;
    }
    let cells = &plan.cells;
    let known = plan.wrong.iter();
    let known = known.map(|(index, id)| (cells[*index].spec, cells[*index].bytes, id.clone()));
    let mut worker = Worker {
        plan,
        peers: here,
        reference: ours::selected()?,
        wrong: known.collect(),
    };
    for (index, &cell) in cells.iter().enumerate() {
        let mut done = worker.cell(index, cell)?;
        done.cell = index;
        say(Ok(Answer::Cell(done)))?;
    }
    Ok(())
}

struct Worker<'a> {
    plan: &'a Plan,
    peers: Vec<Peer>,
    reference: Peer,
    /// What is not to be timed.
    wrong: HashSet<(Spec, usize, String)>,
}

/// The calls or loops of one subject: it does so many and returns their bytes.
type Work = Box<dyn FnMut(u64, &mut Place) -> u64>;

impl Worker<'_> {
    fn is_wrong(&self, cell: &Cell, peer: &Peer) -> bool {
        let key = (cell.spec, cell.bytes, peer.id().to_owned());
        self.wrong.contains(&key)
    }

    /// Compares the outputs of all peers in a cell; returns how many are right.
    fn check(&mut self, index: usize, cell: Cell) -> Result<usize> {
        if cell.bytes > self.plan.check_up_to || cell.kind == Kind::Alone {
            return Ok(0);
        }
        let wanted = check::Wanted::new(&self.reference, cell.spec, cell.bytes)?;
        let mut right = 0;
        for peer in &self.peers {
            if self.is_wrong(&cell, peer) {
                continue;
            }
            match wanted.check(peer) {
                Ok(found) => right += usize::from(found.is_some()),
                Err(why) => {
                    let subject = peer.id().to_owned();
                    self.wrong.insert((cell.spec, cell.bytes, subject.clone()));
                    let (cell, why) = (index, why.to_string());
                    say(Ok(Answer::Wrong { cell, subject, why }))?;
                }
            }
        }
        Ok(right)
    }

    /// Those that take turns in a cell, by their ids.
    fn players(&self, cell: Cell) -> Result<Vec<(String, Work)>> {
        let Cell {
            spec, bytes, kind, ..
        } = cell;
        let (total, alone) = (spec.total(bytes) as u64, kind == Kind::Alone);
        let mut players = Vec::new();
        for peer in self.peers.iter().filter(|peer| !self.is_wrong(&cell, peer)) {
            if let Some(mut operation) = peer.operation(spec, bytes, &check::inputs(spec))? {
                let work: Work = Box::new(move |calls, place| {
                    let (input, output) = place.both();
                    operation.run(calls, input, output, alone);
                    calls * total
                });
                players.push((peer.id().to_owned(), work));
            }
        }
        if !alone && !self.plan.replace {
            let cpu = tenrounds_sys::Cpu::detect();
            for (id, run) in limits::bounds(spec, bytes, &cpu) {
                players.push((id.to_owned(), Box::new(move |times, _| run(times))));
            }
        }
        Ok(players)
    }

    fn cell(&mut self, index: usize, cell: Cell) -> Result<Done> {
        let mut done = Done {
            right: self.check(index, cell)?,
            ..Done::default()
        };
        if self.plan.rounds == 0 {
            return Ok(done);
        }
        let mut players = self.players(cell)?;
        let mut paces: Vec<Pace> = players.iter().map(|_| Pace::default()).collect();
        let input = check::input(&self.reference, cell.spec, cell.bytes)?;
        let written = cell.spec.output_bytes(cell.bytes);
        let mut place = match cell.spec.form {
            Form::PageEnd => Place::at_page_end(&input, written),
            _ => Place::new(&input, written),
        };
        let mut placed = None;
        let plan = self.plan;
        let taken = take(
            players.len(),
            0..plan.rounds,
            noise::probe,
            &mut |round, subject| {
                if placed.replace(round) != Some(round) {
                    place.move_on();
                }
                let work = &mut players[subject].1;
                paces[subject].warm_window(plan.window_us, &mut |times| Ok(work(times, &mut place)))
            },
        )?;
        done.add(players.into_iter().map(|(id, _)| id), taken);
        Ok(done)
    }
}
