// SPDX-License-Identifier: BSD-2-Clause
//! Paired measurement. A round is one short window of each implementation, one right after the
//! other in an order that changes from round to round, so that all of a round see the same clock
//! frequency and the same neighbours. Ratios are taken within rounds; the median over the rounds is
//! the result.

use super::case::Case;
use super::implementation::Implementation;
use super::team::WorkerProcess;
use super::worker::Task;
use ::measure::busy::Disturbance;
use ::measure::limit::{Limit, Work};
use ::measure::rounds::Rates;
use ::measure::stats::Summary;
use ::measure::window::{undisturbed, Window};
use std::collections::BTreeMap;
use terminal::error::Result;

/// So many sets of processes share the rounds of a case. Where code and data of a process happen to
/// lie differs from process to process, and with it what the processor's predictors confuse; one
/// process was seen to do short calls a quarter slower, all its life.
pub const TEAMS: usize = 5;
const LARGE: usize = 1 << 20;

/// How long to look.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    pub rounds: usize,
    pub window_us: u64,
}

/// The number of teams that share the rounds for calls of so many bytes. Each process holds the
/// data; much of it would fill the memory, and luck matters less.
pub fn sharing(bytes: usize) -> usize {
    match bytes {
        LARGE.. => 1,
        _ => TEAMS,
    }
}

/// Sums over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    pub bytes: u64,
    pub user_ns: u64,
    pub system_ns: u64,
}

impl Spent {
    fn add(&mut self, other: Spent) {
        self.bytes += other.bytes;
        self.user_ns += other.user_ns;
        self.system_ns += other.system_ns;
    }
}

/// The rounds of a case.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub rates: Rates<Implementation>,
    /// Where the CPU time of all these windows went.
    pub spent: BTreeMap<Implementation, Spent>,
    /// Windows that were repeated because the clocks disagreed.
    pub repeated: usize,
    /// Windows that count although the clocks disagreed, for want of better ones.
    pub doubtful: usize,
    /// Who could not take part, and why.
    pub absent: BTreeMap<Implementation, String>,
    /// With several threads, how many times the rate of one thread in the same round.
    pub scaling: BTreeMap<Implementation, Summary>,
}

impl Rounds {
    /// How they were disturbed.
    pub fn disturbance(&self) -> Disturbance {
        Disturbance {
            load: None,
            windows: self.rates.values().map(Vec::len).sum(),
            repeated: self.repeated,
            doubtful: self.doubtful,
        }
    }

    /// Adds the rounds of another team.
    pub fn absorb(&mut self, other: Rounds) {
        self.rates.absorb(other.rates);
        for (who, spent) in other.spent {
            self.spent.entry(who).or_default().add(spent);
        }
        self.absent.extend(other.absent);
        self.repeated += other.repeated;
        self.doubtful += other.doubtful;
    }

    fn add(&mut self, round: &BTreeMap<Implementation, Vec<Window>>) {
        for (&who, windows) in round {
            let rate = windows.iter().map(Window::rate).sum();
            self.rates.entry(who).or_default().push(rate);
            let spent = self.spent.entry(who).or_default();
            for window in windows {
                spent.add(Spent {
                    bytes: window.bytes,
                    user_ns: window.user_ns,
                    system_ns: window.system_ns,
                });
            }
        }
    }
}

/// Who has no such cipher, once for all its sizes and directions.
pub fn note_absent(rounds: &Rounds, notes: &mut Vec<String>) {
    for why in rounds.absent.values() {
        if !notes.contains(why) {
            notes.push(why.clone());
        }
    }
}

/// Rounds as they were taken: the windows of each member of the team, by its place there.
#[derive(Default)]
struct Taken {
    rounds: Vec<BTreeMap<usize, Vec<Window>>>,
    repeated: usize,
    doubtful: usize,
}

impl Taken {
    /// The part of some members, of different implementations.
    fn of(&self, team: &[WorkerProcess], member: impl Fn(usize) -> bool) -> Rounds {
        let mut result = Rounds {
            repeated: self.repeated,
            doubtful: self.doubtful,
            ..Rounds::default()
        };
        for round in &self.rounds {
            let windows = round.iter().filter(|(place, _)| member(**place));
            let named = windows.map(|(place, w)| (team[*place].implementation, w.clone()));
            result.add(&named.collect());
        }
        result
    }
}

/// Takes so many rounds. A disturbed window is repeated; on a machine that leaves no peace the last
/// repetition counts, and is reported.
fn take(team: &mut [WorkerProcess], chosen: &[usize], effort: Effort) -> Result<Taken> {
    // A fixed seed, so that runs repeat the same orders.
    let mut random = fastrand::Rng::with_seed(0x2545_f491_4f6c_dd1d);
    let mut order = chosen.to_vec();
    let mut taken = Taken::default();
    for _ in 0..effort.rounds {
        let mut round = BTreeMap::new();
        random.shuffle(&mut order);
        for &member in &order {
            let (windows, repeated) = undisturbed(&mut || team[member].window(effort.window_us))?;
            taken.repeated += repeated;
            taken.doubtful += usize::from(!windows.iter().all(Window::undisturbed));
            round.insert(member, windows);
        }
        taken.rounds.push(round);
    }
    Ok(taken)
}

impl Case {
    /// Prepares an implementation: the digest of its output, or nothing for a bound. Whether it
    /// takes part at all, or why not.
    fn set_up(
        &self,
        worker: &mut WorkerProcess,
        widest: Option<Limit>,
    ) -> Result<std::result::Result<Option<String>, String>> {
        let who = worker.implementation;
        let Some(task) = self.task(who, widest) else {
            return Ok(Err(format!("no {}", who.name())));
        };
        match worker.set_up(task, self.threads) {
            Ok(digest) => Ok(Ok((!who.is_bound()).then_some(digest))),
            Err(error) if error.is_absent() => Ok(Err(error.to_string())),
            Err(error) => Err(error),
        }
    }

    /// A team's share of the case: rounds for each number of threads, of those members that the
    /// case concerns. All outputs must be equal.
    pub fn share(
        &self,
        team: &mut [WorkerProcess],
        threads: &[usize],
        widest: Option<Limit>,
        effort: Effort,
    ) -> Result<Vec<Rounds>> {
        let mut chosen = Vec::new();
        let mut digests: Vec<(Implementation, String)> = Vec::new();
        let mut absent = BTreeMap::new();
        for (place, worker) in team.iter_mut().enumerate() {
            let who = worker.implementation;
            if !self.concerns(who) {
                continue;
            }
            let case = Case {
                threads: worker.threads,
                ..*self
            };
            match case.set_up(worker, widest)? {
                Ok(digest) => {
                    chosen.push(place);
                    digests.extend(digest.map(|digest| (who, digest)));
                }
                Err(why) => _ = absent.insert(who, why),
            }
        }
        self.verify(&digests)?;
        if digests.is_empty() {
            chosen.clear(); // a limit of nothing
        }
        absent.retain(|who: &Implementation, _| !who.is_bound());
        let taken = match chosen.is_empty() {
            true => Taken::default(),
            false => take(team, &chosen, effort)?,
        };
        let of = |&threads: &usize| Rounds {
            absent: absent.clone(),
            ..taken.of(team, |place| team[place].threads == threads)
        };
        Ok(threads.iter().map(of).collect())
    }
}

/// The bytes of state per second and round of every limit that the processor can run, in one set of
/// rounds.
pub fn limits(
    worker: &mut WorkerProcess,
    usable: &[Limit],
    effort: Effort,
) -> Result<Vec<(Limit, Summary)>> {
    let mut rates: Vec<Vec<f64>> = vec![Vec::new(); usable.len()];
    for _ in 0..effort.rounds {
        for (limit, rates) in usable.iter().zip(&mut rates) {
            worker.set_up(Task::Limit(Work::round(*limit)), 1)?;
            let windows = worker.window(effort.window_us)?;
            if windows.iter().all(Window::undisturbed) || rates.is_empty() {
                rates.push(windows.iter().map(Window::rate).sum());
            }
        }
    }
    let summaries = rates
        .into_iter()
        .map(|r| Summary::of(r).expect("at least one window"));
    Ok(usable.iter().copied().zip(summaries).collect())
}

/// The width with the highest throughput; of two that differ by less than the noise, the wider.
pub fn widest(limits: &[(Limit, Summary)]) -> Option<Limit> {
    let widths = limits.iter().filter(|(limit, _)| *limit != Limit::Chain);
    let best = widths.clone().map(|(_, s)| s.median).fold(0.0, f64::max);
    widths
        .rev()
        .find(|(_, s)| s.median >= 0.98 * best)
        .map(|(limit, _)| *limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(bytes: u64, cpu_ns: u64) -> Window {
        Window {
            bytes,
            wall_ns: 1000,
            cpu_ns,
            user_ns: 300,
            system_ns: 700,
        }
    }

    #[test]
    fn rounds_add_up() {
        use Implementation::*;
        let mut rounds = Rounds::default();
        for speed in [1000, 500, 2000] {
            let round = BTreeMap::from([
                (OpenSsl, vec![window(speed, 1000)]),
                (Tenrounds, vec![window(2 * speed, 1000)]),
            ]);
            rounds.add(&round);
        }
        let ratio = rounds.rates.ratio(&Tenrounds, &OpenSsl).unwrap();
        assert_eq!((ratio.median, ratio.spread()), (2.0, 0.0));
        let expected = Spent {
            bytes: 3500,
            user_ns: 900,
            system_ns: 2100,
        };
        assert_eq!(rounds.spent[&OpenSsl], expected);
    }

    #[test]
    fn threads_add_up() {
        let mut rounds = Rounds::default();
        let both = vec![window(1000, 1000), window(500, 1000)];
        rounds.add(&BTreeMap::from([(Implementation::Core, both)]));
        assert_eq!(
            rounds.rates.rate(&Implementation::Core).unwrap().median,
            1.5e9
        );
    }

    #[test]
    fn the_widest_of_equals() {
        let at = |median| Summary::with_spread(median, 0.0);
        let limits = [
            (Limit::Xmm, at(50.0)),
            (Limit::Ymm, at(100.0)),
            (Limit::Zmm, at(99.0)),
        ];
        assert_eq!(widest(&limits), Some(Limit::Zmm));
        assert_eq!(widest(&limits[..2]), Some(Limit::Ymm));
        assert_eq!(widest(&[(Limit::Chain, at(5.0))]), None);
    }
}
