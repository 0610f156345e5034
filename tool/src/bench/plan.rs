// SPDX-License-Identifier: BSD-2-Clause
//! From the command line to the list of cases.

use super::figure::size_name;
use super::measure::{Case, Effort};
use super::subject::{parse, Call, Subject};
use crate::algorithm::Direction;
use crate::cli::{MeasureArgs, Threads};
use crate::error::{Error, Result};
use ::measure::affinity::processors;
use std::time::Duration;

/// The columns everyone knows.
pub const SIZES: [usize; 6] = [16, 64, 256, 1024, 8192, 16384];

/// Those of openssl speed -aead.
const AEAD_SIZES: [usize; 6] = [2, 31, 136, 1024, 8192, 16384];

const BLOCK: usize = 16;

/// Besides the window itself: warming up, the pipes, and the change of process.
const WINDOW_OVERHEAD_US: u64 = 350;

pub fn subjects(names: &[String], default: &[&str]) -> Result<Vec<Subject>> {
    match names.is_empty() {
        true => parse(&default.iter().map(|s| s.to_string()).collect::<Vec<_>>()),
        false => parse(names),
    }
}

/// The sizes asked for, or the usual six; whole blocks where the subjects need them.
pub fn sizes(args: &MeasureArgs, subjects: &[Subject]) -> Result<Vec<usize>> {
    sizes_of(args, subjects, &SIZES)
}

/// The same, with other usual ones.
pub fn sizes_of(args: &MeasureArgs, subjects: &[Subject], usual: &[usize]) -> Result<Vec<usize>> {
    if args.aead {
        return match subjects.iter().find(|s| !s.is_aead()) {
            Some(other) => Err(Error::usage(format!(
                "--aead: {} is no AEAD; say `aead` for all that are",
                other.title()
            ))),
            None => Ok(AEAD_SIZES.to_vec()),
        };
    }
    if args.bytes.is_empty() {
        return Ok(usual.to_vec());
    }
    if let Some((bytes, subject)) = wrong_length(&args.bytes, subjects) {
        let lengths = subject.lengths();
        return Err(Error::usage(format!(
            "--bytes {bytes}: {} takes messages of {} to {} bytes",
            subject.title(),
            lengths.start(),
            lengths.end()
        )));
    }
    let broken = |bytes: &&usize| **bytes % BLOCK != 0;
    if let (Some(bytes), Some(subject)) = (
        args.bytes.iter().find(broken),
        subjects.iter().find(|s| s.whole_blocks()),
    ) {
        let below = (bytes / BLOCK * BLOCK).max(BLOCK);
        return Err(Error::usage(format!(
            "--bytes {bytes}: {} takes whole blocks of {BLOCK} bytes; say {below} or {}",
            subject.title(),
            below + BLOCK
        )));
    }
    Ok(args.bytes.clone())
}

/// A size that a subject does not take at all.
fn wrong_length(sizes: &[usize], subjects: &[Subject]) -> Option<(usize, Subject)> {
    let pairs = subjects
        .iter()
        .flat_map(|s| sizes.iter().map(move |b| (*b, *s)));
    pairs
        .into_iter()
        .find(|(bytes, subject)| !subject.lengths().contains(bytes))
}

/// The thread counts asked for, in order, none if none was.
pub fn threads(args: &MeasureArgs) -> Result<Vec<usize>> {
    let available = processors().len();
    let mut counts = Vec::new();
    for asked in &args.threads {
        match *asked {
            Threads::All => counts.extend(std::iter::once(1).chain(several_threads())),
            Threads::Just(n) if n <= available => counts.push(n),
            Threads::Just(n) => {
                return Err(Error::usage(format!(
                    "--threads {n}: this process may use {available} processor{}",
                    if available == 1 { "" } else { "s" }
                )))
            }
        }
    }
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

/// 2, 4, 8 and so on up to the number of processors, and that number.
pub fn several_threads() -> Vec<usize> {
    let available = processors().len();
    let mut counts: Vec<usize> = std::iter::successors(Some(2), |n| Some(n * 2))
        .take_while(|n| *n < available)
        .collect();
    if available > 1 {
        counts.push(available);
    }
    counts
}

/// The direction asked for. A MAC has one.
pub fn direction(args: &MeasureArgs, subject: Subject) -> Direction {
    match (args.decrypt, subject.call()) {
        (true, Call::Stream | Call::Message(_)) => Direction::Decrypt,
        _ => Direction::Encrypt,
    }
}

/// That one, or all that differ.
pub fn directions(args: &MeasureArgs, subject: Subject) -> Vec<Direction> {
    match args.decrypt {
        true => vec![direction(args, subject)],
        false => subject.directions().to_vec(),
    }
}

/// All sizes at each number of threads; where no number was asked for, one thread, and several at the
/// largest size.
pub fn cases(args: &MeasureArgs, subjects: &[Subject]) -> Result<Vec<Case>> {
    let sizes = sizes(args, subjects)?;
    let largest = *sizes.iter().max().expect("at least one size");
    let asked = threads(args)?;
    let mut cases = Vec::new();
    for &subject in subjects {
        for direction in directions(args, subject) {
            let case = |bytes, threads| Case {
                subject,
                direction,
                bytes,
                threads,
            };
            for &threads in if asked.is_empty() { &[1][..] } else { &asked } {
                cases.extend(sizes.iter().map(|&bytes| case(bytes, threads)));
            }
            if asked.is_empty() {
                cases.extend(
                    several_threads()
                        .into_iter()
                        .map(|threads| case(largest, threads)),
                );
            }
        }
    }
    Ok(cases)
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

/// "AES-128-CBC at 16 B": what a progress bar says.
pub fn label(case: &Case) -> String {
    format!("{} at {}", case.subject.title(), size_name(case.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> MeasureArgs {
        MeasureArgs {
            bytes: vec![],
            aead: false,
            seconds: None,
            decrypt: false,
            threads: vec![],
            json: false,
        }
    }

    fn aes(name: &str) -> Vec<Subject> {
        parse(&[name.to_string()]).unwrap()
    }

    #[test]
    fn by_default_six_sizes_and_both_directions_where_they_differ() {
        let single = |name| {
            let cases = cases(&args(), &aes(name)).unwrap();
            cases.into_iter().filter(|c| c.threads == 1).count()
        };
        assert_eq!((single("aes-128-cbc"), single("aes-128-ctr")), (12, 6));
    }

    #[test]
    fn broken_blocks_and_too_many_threads_are_named() {
        let args = MeasureArgs {
            bytes: vec![100],
            threads: vec![Threads::Just(100_000)],
            ..args()
        };
        let error = cases(&args, &aes("aes-128-cbc")).unwrap_err().to_string();
        assert!(
            error.contains("--bytes 100") && error.contains("96 or 112"),
            "{error}"
        );
        let error = cases(&args, &aes("aes-128-ctr")).unwrap_err().to_string();
        assert!(error.contains("--threads 100000"), "{error}");
    }

    #[test]
    fn all_threads_are_powers_of_two_and_the_number_of_processors() {
        let of = |asked: &[Threads]| {
            let args = MeasureArgs {
                threads: asked.to_vec(),
                ..args()
            };
            threads(&args).unwrap()
        };
        let all = of(&[Threads::All]);
        assert_eq!((all[0], all.last()), (1, Some(&processors().len())));
        assert!(all.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{all:?}");
        assert_eq!(of(&[Threads::All, Threads::Just(1)]), all);
        assert_eq!(of(&[Threads::Just(1)]), [1]);
        assert_eq!(of(&[]), [0usize; 0]);
    }

    #[test]
    fn effort_follows_the_seconds() {
        let effort = Effort::of_seconds(0.1, 2000);
        assert_eq!((effort.rounds, effort.window_us), (50, 2000));
        let effort = Effort::of_seconds(0.001, 2000);
        assert_eq!((effort.rounds, effort.window_us), (1, 1000));
    }
}
