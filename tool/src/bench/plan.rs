// SPDX-License-Identifier: BSD-2-Clause
//! From the command line to the list of cases, and how long they take.

use super::case::Case;
use super::figure::size_name;
use super::measure::{sharing, Effort, TEAMS};
use super::subject::{parse, Call, Subject};
use crate::algorithm::Direction::{self, Decrypt, Encrypt};
use crate::cli::{CaseArgs, MeasureArgs, ReportArgs, Threads};
use crate::error::{Error, Result};
use ::measure::affinity::processors;
use std::time::{Duration, Instant};

/// The columns of openssl speed.
pub const SIZES: [usize; 6] = [16, 64, 256, 1024, 8192, 16384];

/// Those of openssl speed -aead.
const AEAD_SIZES: [usize; 6] = [2, 31, 136, 1024, 8192, 16384];

/// What `speed` and `compare` measure if nothing is named: AES where people meet it. TLS 1.3 and
/// SSH negotiate GCM with 128 or 256 bits; SSH and encrypted backups use CTR; `openssl enc` and
/// older TLS use CBC, whose two directions have unlike bounds; LUKS uses XTS. Decryption of the
/// others is about as fast as encryption.
const USUAL: [(&str, Direction); 6] = [
    ("aes-128-gcm", Encrypt),
    ("aes-256-gcm", Encrypt),
    ("aes-256-ctr", Encrypt),
    ("aes-256-cbc", Encrypt),
    ("aes-256-cbc", Decrypt),
    ("aes-256-xts", Encrypt),
];

const BLOCK: usize = 16;

/// Besides the window itself: warming up, the pipes, and the change of process.
const WINDOW_OVERHEAD_US: u64 = 350;

/// What to measure: an algorithm and a direction.
pub type Work = (Subject, Direction);

/// The algorithms that were named, in all directions that differ, or in one. USUAL if none was
/// named.
pub fn work(names: &[String], decrypt: bool, all_directions: bool) -> Result<Vec<Work>> {
    let mut work: Vec<Work> = Vec::new();
    if names.is_empty() {
        work = USUAL
            .iter()
            .map(|(name, direction)| (Subject::by_name(name).expect("it exists"), *direction))
            .collect();
    }
    for subject in parse(names)? {
        match all_directions {
            true => work.extend(subject.directions().iter().map(|d| (subject, *d))),
            false => work.push((subject, Encrypt)),
        }
    }
    if decrypt {
        for (subject, direction) in &mut work {
            *direction = decryption(*subject);
        }
        work.dedup();
    }
    Ok(work)
}

/// Decryption, except of a MAC, which has one direction.
fn decryption(subject: Subject) -> Direction {
    match subject.call() {
        Call::Mac => Encrypt,
        Call::Stream | Call::Message(_) | Call::Wrap => Decrypt,
    }
}

/// The sizes asked for, or the usual ones. An error if an algorithm does not take one of them.
pub fn sizes(bytes: &[usize], usual: &[usize], work: &[Work]) -> Result<Vec<usize>> {
    if bytes.is_empty() {
        return Ok(usual.to_vec());
    }
    for (subject, _) in work {
        let lengths = subject.lengths();
        if let Some(bytes) = bytes.iter().find(|bytes| !lengths.contains(bytes)) {
            return Err(Error::usage(format!(
                "--bytes {bytes}: {} takes messages of {} to {} bytes",
                subject.title(),
                lengths.start(),
                lengths.end()
            )));
        }
        if subject.whole_blocks() {
            whole_blocks(bytes, &subject.title())?;
        }
    }
    Ok(bytes.to_vec())
}

/// An error if a size is no multiple of a block, with the two nearest that are.
pub fn whole_blocks(bytes: &[usize], who: &str) -> Result<()> {
    let Some(bytes) = bytes.iter().find(|bytes| *bytes % BLOCK != 0) else {
        return Ok(());
    };
    let below = (bytes / BLOCK * BLOCK).max(BLOCK);
    Err(Error::usage(format!(
        "--bytes {bytes}: {who} takes whole blocks of {BLOCK} bytes; say {below} or {}",
        below + BLOCK
    )))
}

/// The numbers of threads asked for, in order; one if none was.
pub fn threads(asked: &[Threads]) -> Result<Vec<usize>> {
    let available = processors().len();
    let mut counts = Vec::new();
    for asked in asked {
        match *asked {
            Threads::All => counts.extend(powers_up_to(available)),
            Threads::Just(n) if n <= available => counts.push(n),
            Threads::Just(n) => {
                return Err(Error::usage(format!(
                    "--threads {n}: this process may use {available} processor{}",
                    if available == 1 { "" } else { "s" }
                )))
            }
        }
    }
    if counts.is_empty() {
        counts.push(1);
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

/// 1, 2, 4, 8 and so on, and the number of processors.
fn powers_up_to(available: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |n| Some(n * 2));
    let powers = powers.take_while(|n| *n < available);
    powers.chain([available.max(1)]).collect()
}

/// The sizes asked for: those of openssl speed if none was.
pub fn sizes_asked(measure: &MeasureArgs, asked: &CaseArgs, work: &[Work]) -> Result<Vec<usize>> {
    match (asked.aead, work.iter().find(|(s, _)| !s.is_aead())) {
        (true, Some((other, _))) => Err(Error::usage(format!(
            "--aead: {} is no AEAD; say `aead` for all that are",
            other.title()
        ))),
        (true, None) => Ok(AEAD_SIZES.to_vec()),
        (false, _) => sizes(&measure.bytes, &SIZES, work),
    }
}

/// The work with all sizes and numbers of threads asked for.
pub fn cases(measure: &MeasureArgs, asked: &CaseArgs, work: &[Work]) -> Result<Vec<Case>> {
    let sizes = sizes_asked(measure, asked, work)?;
    Ok(of_all(work, &threads(&asked.threads)?, &sizes))
}

/// Each with each.
pub fn of_all(work: &[Work], threads: &[usize], sizes: &[usize]) -> Vec<Case> {
    let mut cases = Vec::new();
    for &(subject, direction) in work {
        for &threads in threads {
            cases.extend(sizes.iter().map(|&bytes| Case {
                subject,
                direction,
                bytes,
                threads,
            }));
        }
    }
    cases
}

impl Effort {
    /// So many seconds for each figure.
    pub fn of_seconds(seconds: f64, window_us: u64) -> Effort {
        let window_us = window_us.min((seconds * 1e6) as u64);
        Effort {
            rounds: ((seconds * 1e6) as u64 / window_us).max(1) as usize,
            window_us,
        }
    }

    /// How long so many windows per round take.
    pub fn duration(&self, windows: usize) -> Duration {
        let per_window = self.window_us + WINDOW_OVERHEAD_US;
        Duration::from_micros(per_window * (self.rounds * windows) as u64)
    }
}

/// Where algorithms are named.
pub const THOROUGH: Effort = Effort {
    rounds: 40,
    window_us: 2000,
};
const QUICK: Effort = Effort {
    rounds: 10,
    window_us: 1000,
};

/// The effort asked for, or else the usual one.
pub fn effort(measure: &MeasureArgs, report: &ReportArgs, usual: Effort) -> Effort {
    match (measure.seconds, report.quick) {
        (Some(seconds), _) => Effort::of_seconds(seconds, THOROUGH.window_us),
        (None, true) => QUICK,
        (None, false) => usual,
    }
}

/// Keeps a run within its time. On a busy machine rounds take longer and are repeated; then the
/// shares that are left get fewer.
pub struct Pace {
    /// Of a team's share of a case.
    share: Effort,
    began: Instant,
    end: Option<Instant>,
    /// Windows of a round of all shares that are left.
    windows: usize,
    /// Windows of all rounds that were asked for.
    spent: u32,
}

impl Pace {
    /// The effort for so many windows a round of all cases; without an end, all get all of it.
    pub fn new(effort: Effort, end: Option<Instant>, windows: usize) -> Pace {
        Pace {
            share: Effort {
                rounds: effort.rounds.div_ceil(TEAMS),
                ..effort
            },
            began: Instant::now(),
            end,
            windows: windows * TEAMS,
            spent: 0,
        }
    }

    /// The effort of a team for its share of the next case, which has so many windows a round; None
    /// if the teams before have measured all of it.
    pub fn next(&mut self, team: usize, bytes: usize, windows: usize) -> Option<Effort> {
        if team >= sharing(bytes) {
            return None;
        }
        let shares = TEAMS / sharing(bytes);
        let now = Instant::now();
        let left = self.end.map(|end| end.saturating_duration_since(now));
        let measured = (now - self.began) / self.spent.max(1);
        let rounds = shares * self.rounds_in(left, measured);
        self.windows = self.windows.saturating_sub(windows * shares);
        self.spent += (windows * rounds) as u32;
        Some(Effort {
            rounds,
            ..self.share
        })
    }

    /// Rounds of each share that is left that fit into a time: at least one.
    fn rounds_in(&self, left: Option<Duration>, measured: Duration) -> usize {
        let one = Effort {
            rounds: 1,
            ..self.share
        };
        let window = one.duration(1).max(measured);
        let round = window.as_nanos() * self.windows.max(1) as u128;
        let fit = left.map_or(usize::MAX, |left| (left.as_nanos() / round) as usize);
        fit.clamp(1, self.share.rounds)
    }
}

/// "AES-128-CBC at 16 B": what a progress bar says.
pub fn label(case: &Case) -> String {
    format!("{} at {}", case.subject.title(), size_name(case.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(bytes: &[usize]) -> MeasureArgs {
        MeasureArgs {
            bytes: bytes.to_vec(),
            seconds: None,
            decrypt: false,
            json: false,
        }
    }

    fn with_threads(threads: &[Threads]) -> CaseArgs {
        CaseArgs {
            algorithms: Vec::new(),
            aead: false,
            threads: threads.to_vec(),
            core: false,
        }
    }

    fn named(name: &str) -> Vec<Work> {
        work(&[name.to_owned()], false, true).unwrap()
    }

    #[test]
    fn by_default_six_sizes_one_thread_and_both_directions_where_they_differ() {
        let count = |name| {
            let cases = cases(&measure(&[]), &with_threads(&[]), &named(name)).unwrap();
            assert!(cases.iter().all(|case| case.threads == 1));
            cases.len()
        };
        assert_eq!((count("aes-128-cbc"), count("aes-128-ctr")), (12, 6));
    }

    #[test]
    fn what_people_use_is_measured_if_nothing_is_named() {
        let usual = work(&[], false, true).unwrap();
        assert_eq!(usual.len(), USUAL.len());
        let decrypted = work(&[], true, false).unwrap();
        assert!(decrypted.iter().all(|(_, d)| *d == Decrypt));
        assert_eq!(decrypted.len(), USUAL.len() - 1, "CBC decryption once");
        assert_eq!(
            work(&["cmac".into()], true, false).unwrap()[0].1,
            Encrypt,
            "a MAC has one direction"
        );
    }

    #[test]
    fn broken_blocks_and_too_many_threads_are_named() {
        let many = with_threads(&[Threads::Just(100_000)]);
        let error = |name| {
            let cases = cases(&measure(&[100]), &many, &named(name));
            cases.unwrap_err().to_string()
        };
        let said = error("aes-128-cbc");
        assert!(
            said.contains("--bytes 100") && said.contains("96 or 112"),
            "{said}"
        );
        let said = error("aes-128-ctr");
        assert!(said.contains("--threads 100000"), "{said}");
    }

    #[test]
    fn all_threads_are_powers_of_two_and_the_number_of_processors() {
        let all = threads(&[Threads::All]).unwrap();
        assert_eq!((all[0], all.last()), (1, Some(&processors().len())));
        assert!(all.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{all:?}");
        assert_eq!(threads(&[Threads::All, Threads::Just(1)]).unwrap(), all);
        assert_eq!(threads(&[]).unwrap(), [1]);
        assert_eq!(powers_up_to(6), [1, 2, 4, 6]);
        assert_eq!(powers_up_to(1), [1]);
    }

    #[test]
    fn effort_follows_the_seconds() {
        let effort = Effort::of_seconds(0.1, 2000);
        assert_eq!((effort.rounds, effort.window_us), (50, 2000));
        let effort = Effort::of_seconds(0.001, 2000);
        assert_eq!((effort.rounds, effort.window_us), (1, 1000));
    }

    #[test]
    fn a_run_that_is_late_takes_fewer_rounds() {
        let effort = Effort {
            rounds: 25,
            window_us: 2000,
        };
        let pace = Pace::new(effort, None, 100);
        let window = Duration::from_micros(2000 + WINDOW_OVERHEAD_US);
        let all = window * 100 * TEAMS as u32;
        let rounds = |left, measured| pace.rounds_in(left, measured);
        assert_eq!(rounds(None, window * 9), 5);
        assert_eq!(rounds(Some(all * 8), Duration::ZERO), 5);
        assert_eq!(rounds(Some(all * 3), window / 2), 3);
        // So far each window took twice as long as on an idle machine.
        assert_eq!(rounds(Some(all * 8), window * 2), 4);
        assert_eq!(rounds(Some(Duration::ZERO), window), 1);
    }

    #[test]
    fn teams_share_the_rounds_but_not_those_of_much_data() {
        let effort = Effort {
            rounds: 12,
            window_us: 2000,
        };
        let mut pace = Pace::new(effort, None, 4);
        let rounds = |pace: &mut Pace, team, bytes| Some(pace.next(team, bytes, 2)?.rounds);
        let of_teams =
            |pace: &mut Pace, bytes| [0, 1, TEAMS - 1].map(|team| rounds(pace, team, bytes));
        assert_eq!(of_teams(&mut pace, 16), [Some(3); 3]);
        assert_eq!(of_teams(&mut pace, 1 << 20), [Some(15), None, None]);
        let mut late = Pace::new(effort, Some(Instant::now()), 0);
        assert_eq!(rounds(&mut late, 0, 16), Some(1));
    }
}
