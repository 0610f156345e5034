// SPDX-License-Identifier: BSD-2-Clause
//! Measures the cases of a plan. Each team of processes measures its share of every case before the
//! next team begins, so that the rounds of a case lie all over the time of the run. Clock and
//! neighbours change during a run as they do between two runs; the spread of a figure shows both.

use super::case::Case;
use super::figure::{size_name, Figure, Rounds};
use super::implementation::Implementation;
use super::plan::Plan;
use super::worker::{Task, WorkerProcess};
use ::measure::limit::{Limit, Work};
use ::measure::noise::unprobed;
use ::measure::rounds::{take, Disturbed};
use ::measure::stats::Summary;
use indicatif::ProgressBar;
use machine::masks;
use std::time::{Duration, Instant};
use tenrounds_sys::Cpu;
use terminal::error::{Error, Result};

/// So many sets of processes share the rounds of a case. Where code and data of a process happen to
/// lie differs from process to process, and with it what the processor's predictors confuse; one
/// process was seen to do short calls a quarter slower, all its life.
pub const TEAMS: usize = 5;
/// Calls of so many bytes are measured by one team. Each process holds the data; much of it would
/// fill the memory, and luck matters less.
const LARGE: usize = 1 << 20;

pub const WINDOW_US: u64 = 2000;
/// Besides the window itself: warming up, the pipes, and the change of process.
const WINDOW_OVERHEAD_US: u64 = 350;

/// Rounds of a figure where no time is asked for, and the most where one is.
const ROUNDS: usize = 40;
const MOST_ROUNDS: usize = 1000;
/// Of the limits by themselves.
const LIMIT_ROUNDS: usize = 12;

/// How long so many windows take on an idle machine.
fn duration(windows: usize) -> Duration {
    Duration::from_micros((WINDOW_US + WINDOW_OVERHEAD_US) * windows as u64)
}

/// Rounds of each case that fit into the time, with so many windows a round of all cases.
fn rounds(time: Option<Duration>, windows: usize) -> usize {
    let Some(time) = time else { return ROUNDS };
    let fit = time.as_nanos() / duration(windows.max(1)).as_nanos();
    (fit as usize).clamp(TEAMS, MOST_ROUNDS)
}

/// The parts of a case's rounds that a team takes.
fn parts(bytes: usize, team: usize) -> usize {
    match (bytes, team) {
        (..LARGE, _) => 1,
        (_, 0) => TEAMS,
        _ => 0,
    }
}

/// The limits by themselves: bytes of state per second and round.
pub type Limits = Vec<(Limit, Summary)>;

/// The width with the highest throughput; of two that differ by less than the noise, the wider.
fn widest(limits: &Limits) -> Option<Limit> {
    let widths = limits.iter().filter(|(limit, _)| *limit != Limit::Chain);
    let best = widths.clone().map(|(_, s)| s.median).fold(0.0, f64::max);
    widths
        .rev()
        .find(|(_, s)| s.median >= 0.98 * best)
        .map(|(limit, _)| *limit)
}

type Team = Vec<WorkerProcess>;

/// The processes that take part.
fn team(plan: &Plan) -> Result<Team> {
    let start = |who: &Implementation| {
        let worker = WorkerProcess::start(*who)?;
        if *who == Implementation::Software {
            verify_mask(&worker)?;
        }
        Ok(worker)
    };
    plan.who.iter().map(start).collect()
}

/// The software baseline must really be software: what libcrypto says after masking. Where it says
/// nothing, it has no assembly, and there is nothing to mask.
fn verify_mask(software: &WorkerProcess) -> Result<()> {
    let settings = software.hello.cpu_settings.as_deref().unwrap_or_default();
    match is_software(settings) {
        true => Ok(()),
        false => Err(Error::failure(format!(
            "OpenSSL did not take the mask of the software baseline: it says {settings:?}"
        ))),
    }
}

fn is_software(cpu_settings: &str) -> bool {
    let seen = masks::seen(cpu_settings);
    !seen.contains(&"aes") && !seen.contains(&"clmul")
}

/// What was measured so far.
pub struct Measured<'a> {
    plan: &'a Plan,
    /// In the order of the plan's cases: one for each number of threads.
    cases: Vec<Vec<Rounds>>,
    pub rounds: usize,
    /// None where the processor has no AES instructions, and where the limit takes no part.
    pub limits: Limits,
    pub widest: Option<Limit>,
    /// The provider's.
    pub backend: Option<String>,
    /// What disturbed it.
    pub clocks: Disturbed,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
}

/// Measures all cases of a plan.
pub fn measure(plan: &Plan) -> Result<Measured<'_>> {
    let began = Instant::now();
    fastrand::seed(0x2545_f491_4f6c_dd1d); // so that runs repeat the same orders
    let mut teams = (0..TEAMS).map(|_| team(plan)).collect::<Result<Vec<_>>>()?;
    let windows = |case: &Case| {
        let concerned = plan.who.iter().filter(|who| case.concerns(**who));
        concerned.count() * plan.threads.len()
    };
    let all: usize = plan.cases.iter().map(windows).sum();
    let rounds = rounds(plan.time, all);
    let mut found = Measured {
        plan,
        cases: vec![vec![Rounds::default(); plan.threads.len()]; plan.cases.len()],
        rounds,
        limits: Limits::new(),
        widest: None,
        backend: teams[0]
            .iter()
            .find_map(|worker| worker.hello.backend.clone()),
        clocks: Disturbed::default(),
        notes: plan.notes.clone(),
    };
    let bar = progress::timed(plan.cases.len() * TEAMS, duration(all * rounds));
    found.measure_limits(&mut teams[0])?;
    let mut done = 0;
    for (number, team) in teams.iter_mut().enumerate() {
        for (place, case) in plan.cases.iter().enumerate() {
            let parts = parts(case.bytes, number);
            done += parts * windows(case);
            // On a busy machine rounds take longer and are repeated; then there are fewer.
            let part = done as f64 / (all * TEAMS) as f64;
            let end = plan.time.map(|time| began + time.mul_f64(part));
            let late = || end.is_some_and(|end| Instant::now() >= end);
            let rounds = 0..rounds.div_ceil(TEAMS) * parts;
            let rounds = rounds.take_while(|round| *round == 0 || !late());
            if parts > 0 {
                found.share(place, team, rounds, &bar)?;
            }
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(found)
}

impl Measured<'_> {
    /// Measures the limits by themselves, if the limit takes part.
    fn measure_limits(&mut self, team: &mut Team) -> Result<()> {
        let usable = Limit::usable(&Cpu::detect());
        let mut probes = team.iter_mut();
        let Some(probe) = probes.find(|w| w.implementation == Implementation::Limit) else {
            return Ok(());
        };
        let rounds = 0..self.rounds.min(LIMIT_ROUNDS);
        let taken = take(usable.len(), rounds, unprobed, &mut |_, which| {
            probe.set_up(Task::bound(Work::round(usable[which])))?;
            probe.window(WINDOW_US, 1)
        })?;
        let limits = usable.into_iter().zip(taken.rates);
        let summary = |(limit, rates)| Some((limit, Summary::of(rates)?));
        self.limits = limits.filter_map(summary).collect();
        self.widest = widest(&self.limits);
        Ok(())
    }

    /// A team's share of a case: some rounds of those members that the case concerns. All outputs
    /// must be equal.
    fn share(
        &mut self,
        place: usize,
        team: &mut Team,
        rounds: impl Iterator<Item = usize>,
        bar: &ProgressBar,
    ) -> Result<()> {
        let (case, threads) = (&self.plan.cases[place], &self.plan.threads);
        bar.set_message(format!(
            "{} at {}",
            case.cipher.title(),
            size_name(case.bytes)
        ));
        let most = threads.last().copied().unwrap_or(1);
        let (mut workers, mut digests) = (Vec::new(), Vec::new());
        for worker in team {
            let who = worker.implementation;
            let task = case.task(who, most, self.widest);
            let Some(task) = task.filter(|_| case.concerns(who)) else {
                continue;
            };
            match worker.set_up(task) {
                Ok(_) if who.is_bound() => workers.push(worker),
                Ok(digest) => {
                    digests.push((who, digest));
                    workers.push(worker);
                }
                Err(error) if error.is_absent() => self.note(error.to_string()),
                Err(error) => return Err(error),
            }
        }
        case.verify(&digests)?;
        if digests.is_empty() {
            workers.clear(); // a limit of nothing
        }
        let counts = threads.len();
        let taken = take(
            workers.len() * counts,
            rounds,
            unprobed,
            &mut |_, subject| {
                workers[subject / counts].window(WINDOW_US, threads[subject % counts])
            },
        )?;
        self.clocks += taken.clocks;
        for (index, found) in self.cases[place].iter_mut().enumerate() {
            let names = workers.iter().map(|worker| worker.implementation);
            let rates = taken.rates.chunks(counts);
            found
                .rates
                .add(names.clone().zip(rates.clone().map(|of| of[index].clone())));
            if counts > 1 {
                let ratio = |(a, b): (&f64, &f64)| a / b;
                let ratios = rates.map(|of| of[index].iter().zip(&of[0]).map(ratio).collect());
                found.scaling.add(names.clone().zip(ratios));
            }
            for (who, spent) in names.zip(taken.spent.chunks(counts)) {
                *found.spent.entry(who).or_default() += spent[index];
            }
        }
        Ok(())
    }

    /// Who has no such cipher, once for all its sizes and directions.
    fn note(&mut self, why: String) {
        if !self.notes.contains(&why) {
            self.notes.push(why);
        }
    }

    /// A figure for each case and number of threads. An algorithm's sizes with one number of
    /// threads are neighbours.
    pub fn figures(&mut self) -> Vec<Figure> {
        let mut figures = Vec::new();
        for (case, found) in self.plan.cases.iter().zip(std::mem::take(&mut self.cases)) {
            for (&threads, rounds) in self.plan.threads.iter().zip(found) {
                if !rounds.rates.by_subject.is_empty() {
                    let case = Case { threads, ..*case };
                    figures.push(Figure { case, rounds });
                }
            }
        }
        let place = |figure: &Figure| {
            let algorithm = |case: &Case| (case.cipher, case.direction);
            let same = |case: &Case| algorithm(case) == algorithm(&figure.case);
            (self.plan.cases.iter().position(same), figure.case.threads)
        };
        figures.sort_by_key(place); // stable: sizes stay in order
        figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libcrypto_says_is_understood() {
        let (masked, plain) = if cfg!(target_arch = "aarch64") {
            ("OPENSSL_armcap=0x59 env:0x59", "OPENSSL_armcap=0x7d")
        } else {
            (
                "OPENSSL_ia32cap=0xfcfa3201078bffff:0x5fc6f1bf07ab env:~0x200000200000000",
                "OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab",
            )
        };
        assert!(is_software(masked));
        assert!(!is_software(plain));
        assert!(is_software("nothing known"));
    }

    #[test]
    fn the_widest_of_equals() {
        let at = |median| Summary::of([median]).unwrap();
        let limits = vec![
            (Limit::Xmm, at(50.0)),
            (Limit::Ymm, at(100.0)),
            (Limit::Zmm, at(99.0)),
        ];
        assert_eq!(widest(&limits), Some(Limit::Zmm));
        assert_eq!(widest(&limits[..2].to_vec()), Some(Limit::Ymm));
        assert_eq!(widest(&vec![(Limit::Chain, at(5.0))]), None);
    }

    #[test]
    fn rounds_follow_the_time() {
        assert_eq!(rounds(None, 10), ROUNDS);
        assert_eq!(rounds(Some(duration(10) * 30), 10), 30);
        assert_eq!(rounds(Some(Duration::from_millis(10)), 10), TEAMS);
    }

    #[test]
    fn teams_share_the_rounds_but_not_those_of_much_data() {
        let of_teams = |bytes| [0, 1, TEAMS - 1].map(|team| parts(bytes, team));
        assert_eq!(of_teams(16), [1; 3]);
        assert_eq!(of_teams(LARGE), [TEAMS, 0, 0]);
    }
}
