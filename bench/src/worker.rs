// SPDX-License-Identifier: BSD-2-Clause
//! What a measuring process does: all subjects of a cell take turns in this one process, on one
//! processor.

use crate::answer::{Answer, Done, Missing, Subject};
use crate::check;
use crate::grid::{Cell, Kind};
use crate::limits::{self, Loops};
use crate::ours::{selected, Core};
use crate::peer::{Operation, Peer, Spec};
use crate::peers;
use crate::plan::{Environment, Plan};
use crate::threads;
use measure::affinity::pin_to_number;
use measure::noise;
use measure::place::Place;
use measure::process::say;
use measure::window::{undisturbed, Pace, Window};
use std::collections::HashSet;
use terminal::error::Result;

/// Results are for others, to whom the measuring user's directory says nothing.
fn without_home(text: &str) -> String {
    match std::env::var("HOME") {
        Ok(home) if home.len() > 1 => text.replace(&home, "~"),
        _ => text.to_owned(),
    }
}

type Peers = Vec<Box<dyn Peer>>;

/// The default provider and ours in each libcrypto.
fn pairs() -> Result<(Peers, Vec<Missing>)> {
    let module = libcrypto::module::find(None)?;
    let mut all: Peers = Vec::new();
    let mut missing = Vec::new();
    for library in peers::openssl::replaceable() {
        match library.and_then(|library| peers::openssl::pair(library, &module)) {
            Ok([stock, ours]) => all.extend([Box::new(stock) as Box<dyn Peer>, Box::new(ours)]),
            Err(error) => missing.push(Missing {
                id: "openssl".into(),
                title: "a libcrypto".into(),
                why: without_home(&error.to_string()),
            }),
        }
    }
    Ok((all, missing))
}

/// Everything that is there: the core, its other backends, ours through EVP, and the peers.
fn subjects(plan: &Plan) -> Result<(Peers, Vec<Missing>)> {
    if plan.replace {
        return pairs();
    }
    let reference = selected()?;
    let mut all: Vec<Box<dyn Peer>> = Vec::new();
    let mut missing = Vec::new();
    if plan.environment == Environment::Plain {
        let usable = tenrounds_sys::Cpu::detect().usable;
        for name in ["vaes256", "aesni"] {
            let backend =
                tenrounds_sys::Backend::by_name(name).filter(|b| b.features() & !usable == 0);
            if let Some(backend) = backend.filter(|b| *b != reference.backend()) {
                all.push(Box::new(Core::of(backend)));
            }
        }
    }
    all.insert(0, Box::new(reference));
    for (id, title, opened) in [
        ("evp", "tenrounds in the system's OpenSSL", peers::evp()),
        (
            "evp-pipelines",
            "tenrounds in OpenSSL 3.5.5, pipelines",
            peers::pipelines(),
        ),
    ] {
        match opened {
            Ok(evp) => all.push(evp),
            Err(error) => missing.push(Missing {
                id: id.into(),
                title: title.into(),
                why: without_home(&error.to_string()),
            }),
        }
    }
    let (found, absent) = peers::all();
    all.extend(found);
    missing.extend(absent.into_iter().map(|a| Missing {
        id: a.id,
        title: a.title,
        why: without_home(&a.why),
    }));
    let wanted = |id: &str| plan.wants(id);
    missing.retain(|m| wanted(&m.id));
    all.retain(|peer| wanted(&peer.id()));
    Ok((all, missing))
}

/// The whole process.
pub fn measure(plan: &Plan) -> Result<()> {
    pin_to_number(0)?;
    fastrand::seed(plan.seed);
    let (peers, absent) = subjects(plan)?;
    let subject = |peer: &dyn Peer| Subject {
        id: peer.id(),
        title: peer.title(),
        version: without_home(&peer.version()),
    };
    say(Ok(Answer::Hello {
        subjects: peers.iter().map(|p| subject(&**p)).collect(),
        absent,
    }))?;
    if plan.probe_windows > 0 {
        say(limits::probe(plan.probe_windows, plan.window_us).map(Answer::Probe))?;
    }
    let reference = selected()?;
    let cells = plan.cells()?;
    let known = plan
        .wrong
        .iter()
        .map(|(index, id)| (cells[*index].spec, cells[*index].bytes, id.clone()));
    let mut wrong: Wrong = known.collect();
    for (index, cell) in cells.into_iter().enumerate() {
        let mut done = match cell.threads {
            1 => one_cell(plan, index, cell, &peers, &reference, &mut wrong)?,
            _ => threads::cell(plan, cell)?,
        };
        done.cell = index;
        say(Ok(Answer::Cell(done)))?;
    }
    Ok(())
}

/// One of those that take turns.
struct Player {
    id: String,
    work: Kindred,
    pace: Pace,
}

enum Kindred {
    Peer(Box<dyn Operation>),
    Bound(Loops),
}

impl Player {
    fn bound(id: &str, run: Loops) -> Player {
        Player {
            id: id.into(),
            work: Kindred::Bound(run),
            pace: Pace::default(),
        }
    }

    fn window(&mut self, place: &mut Place, cell: &Cell, us: u64) -> Result<Window> {
        let bytes = cell.spec.total(cell.bytes) as u64;
        let alone = cell.kind == Kind::Alone;
        let (input, output) = place.both();
        match &mut self.work {
            Kindred::Bound(run) => self.pace.warm_window(us, &mut |n| Ok(run(n))),
            Kindred::Peer(operation) => self.pace.warm_window(us, &mut |calls| {
                operation.run(calls, input, output, alone);
                Ok(calls * bytes)
            }),
        }
    }
}

/// What is not to be timed.
type Wrong = HashSet<(Spec, usize, String)>;

/// Compares the outputs of all peers in a cell; returns how many are right.
fn check_cell(
    plan: &Plan,
    index: usize,
    cell: Cell,
    peers: &[Box<dyn Peer>],
    reference: &Core,
    wrong: &mut Wrong,
) -> Result<usize> {
    if !plan.checks(cell.bytes) || cell.kind == Kind::Alone {
        return Ok(0);
    }
    let wanted = check::Wanted::new(reference, cell.spec, cell.bytes)?;
    let mut right = 0;
    for peer in peers {
        let key = (cell.spec, cell.bytes, peer.id());
        if wrong.contains(&key) {
            continue;
        }
        match wanted.check(&**peer) {
            Ok(found) => right += usize::from(found.is_some()),
            Err(why) => {
                say(Ok(Answer::Wrong {
                    cell: index,
                    subject: peer.id(),
                    why: why.to_string(),
                }))?;
                wrong.insert(key);
            }
        }
    }
    Ok(right)
}

fn one_cell(
    plan: &Plan,
    index: usize,
    cell: Cell,
    peers: &[Box<dyn Peer>],
    reference: &Core,
    wrong: &mut Wrong,
) -> Result<Done> {
    let mut done = Done {
        right: check_cell(plan, index, cell, peers, reference, wrong)?,
        ..Done::default()
    };
    if plan.rounds == 0 {
        return Ok(done);
    }
    let mut players = Vec::new();
    for peer in peers {
        if wrong.contains(&(cell.spec, cell.bytes, peer.id())) {
            continue;
        }
        if let Some(operation) = peer.operation(cell.spec, cell.bytes, &check::inputs(cell.spec))? {
            players.push(Player {
                id: peer.id(),
                work: Kindred::Peer(operation),
                pace: Pace::default(),
            });
        }
    }
    let cpu = tenrounds_sys::Cpu::detect();
    if cell.kind == Kind::Throughput && !plan.replace {
        let bounds = limits::bounds(cell.spec, cell.bytes, reference.backend(), &cpu);
        players.extend(bounds.into_iter().map(|(id, run)| Player::bound(id, run)));
    }
    let input = check::input(reference, cell.spec, cell.bytes)?;
    let mut place = Place::new(&input, cell.spec.output_bytes(cell.bytes));
    for _ in 0..plan.rounds {
        place.move_on();
        fastrand::shuffle(&mut players);
        let windows = noise::round(players.len(), &mut noise::probe, &mut |index| {
            let player = &mut players[index];
            let (taken, repeated) =
                undisturbed(&mut || player.window(&mut place, &cell, plan.window_us))?;
            done.repeated += repeated;
            Ok(taken)
        })?;
        for (player, beside) in players.iter().zip(windows) {
            done.doubtful += usize::from(!beside.window.undisturbed());
            done.noise.repeated += beside.repeated;
            done.noise.doubtful += usize::from(beside.void);
            let rates = done.rates.entry(player.id.clone()).or_default();
            rates.push(beside.window.rate());
        }
    }
    Ok(done)
}
