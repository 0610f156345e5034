// SPDX-License-Identifier: BSD-2-Clause
//! The cost of each EVP call, with the default provider and tenrounds in turn in one process:
//! `tenrounds-bench calls`, which scripts/bench-commits starts, too. docs/call-costs.md describes
//! the rows.

mod evp;

use crate::paired::Ratio;
use crate::peers::openssl::{self, Evp};
use clap::Parser;
use evp::{make, Row, Subject, BATCH, MAX_BYTES};
use libcrypto::LibCrypto;
use measure::affinity::pin_to_number;
use measure::noise;
use measure::process::{ask, say};
use measure::rounds::take;
use measure::window::{batches, Pace, Window};
use serde::{Deserialize, Serialize};
use std::path::Path;
use terminal::error::Result;

/// The first arguments of this command, and of its measuring processes.
pub const COMMAND: &str = "calls";
pub const WORKER: &str = "calls-worker";

/// A window, without its warming up.
const WINDOW_US: u64 = 50;

/// Times each EVP call by itself
#[derive(Parser)]
#[command(name = "tenrounds-bench calls")]
pub struct Args {
    /// As in AES-128-GCM
    #[arg(required = true, value_name = "CIPHER")]
    ciphers: Vec<String>,
    #[command(flatten)]
    what: What,
    /// Of each row, shared by the processes
    #[arg(long, value_name = "N", default_value_t = 302)]
    rounds: usize,
    /// Pairs of processes; the second of a pair exchanges the places of the providers
    #[arg(
        long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pairs: u16,
}

/// What is measured of each cipher.
#[derive(Clone, clap::Args, Serialize, Deserialize)]
struct What {
    /// The folder of tenrounds.so
    #[arg(long, value_name = "DIR")]
    module: String,
    /// The tenrounds.so of another folder in the place of the default provider
    #[arg(long, value_name = "DIR")]
    before: Option<String>,
    #[arg(long, value_name = "FILE", default_value = "libcrypto.so.3")]
    libcrypto: String,
    /// Sizes of messages
    #[arg(
        long, value_name = "N,..", value_delimiter = ',', default_value = "16,64,256",
        value_parser = bytes
    )]
    bytes: Vec<usize>,
}

fn bytes(text: &str) -> std::result::Result<usize, String> {
    let number = text.parse().ok();
    let fits = number.filter(|bytes| (1..=MAX_BYTES).contains(bytes));
    fits.ok_or_else(|| format!("wanted 1 to {MAX_BYTES} bytes"))
}

/// What a process measures, and how.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    cipher: String,
    what: What,
    rounds: usize,
    /// Whether tenrounds is first in memory. The second is up to 14 % slower in calls
    /// that allocate, because its contexts come later from the heap.
    swapped: bool,
    seed: u64,
}

#[derive(Serialize, Deserialize)]
enum Answer {
    /// The libcrypto, and what the other provider is called.
    Hello { openssl: String, other: String },
    /// A row: nanoseconds per call in each round, of the other provider and tenrounds.
    Times { row: String, rounds: Vec<[f64; 2]> },
}

/// The other provider, and tenrounds.
fn subjects(plan: &Plan, library: &'static LibCrypto) -> Result<[Subject; 2]> {
    let of = |title, folder: &String| {
        let module = Path::new(folder).join("tenrounds.so");
        Subject::new(
            title,
            &openssl::ours(title, library, &module, "")?,
            &plan.cipher,
        )
    };
    let ours = || of("tenrounds", &plan.what.module);
    let other = || match &plan.what.before {
        Some(folder) => of("before", folder),
        None => Subject::new("default", &Evp::stock("default", library)?, &plan.cipher),
    };
    match plan.swapped {
        true => ours().and_then(|ours| Ok([other()?, ours])),
        false => Ok([other()?, ours()?]),
    }
}

/// Does `each` for all rows of a cipher, named, after both subjects are in the row's first state.
fn rows(
    plan: &Plan,
    subjects: &mut [Subject; 2],
    mut each: impl FnMut(&'static Row, String, &mut [Subject; 2]) -> Result<()>,
) -> Result<()> {
    let all: Vec<&'static Row> = subjects[0].rows().collect();
    for row in all {
        let sizes = if row.sized {
            &plan.what.bytes[..]
        } else {
            &[16]
        };
        for bytes in sizes {
            let order = if plan.swapped { [1, 0] } else { [0, 1] };
            order
                .iter()
                .for_each(|which| subjects[*which].begin(row, *bytes));
            let name = match row.sized {
                true => format!("{}, {bytes} bytes", row.name),
                false => row.name.to_owned(),
            };
            each(row, name, subjects)?;
        }
    }
    Ok(())
}

fn window(row: &Row, subject: &mut Subject, pace: &mut Pace) -> Result<Window> {
    if row.before.is_empty() {
        return pace.warm_window(WINDOW_US, &mut |calls| {
            (0..calls).for_each(|_| make(row.calls, subject, 0));
            Ok(calls)
        });
    }
    batches(WINDOW_US, &mut |watch| {
        (0..BATCH).for_each(|i| make(row.before, subject, i));
        watch.time(|| (0..BATCH).for_each(|i| make(row.calls, subject, i)))?;
        Ok(BATCH as u64)
    })
}

/// Nanoseconds of a call by both providers, in each round.
fn times(plan: &Plan, row: &Row, subjects: &mut [Subject; 2]) -> Result<Vec<[f64; 2]>> {
    let mut paces = [Pace::default(), Pace::default()];
    let taken = take(2, 0..plan.rounds, noise::unprobed, &mut |_, which| {
        subjects[which].move_on();
        window(row, &mut subjects[which], &mut paces[which])
    })?;
    Ok(taken.times())
}

/// What a measuring process does.
pub fn measure(plan: &Plan) -> Result<()> {
    pin_to_number(0)?;
    fastrand::seed(plan.seed);
    let library = openssl::open(&plan.what.libcrypto)?;
    let mut subjects = subjects(plan, library)?;
    say(Ok(Answer::Hello {
        openssl: library.version(),
        other: subjects[0].title.to_owned(),
    }))?;
    rows(plan, &mut subjects, |row, name, subjects| {
        let rounds = times(plan, row, subjects)?;
        say(Ok(Answer::Times { row: name, rounds }))
    })
}

/// What two processes measured, one with the places of the providers exchanged: the geometric mean.
fn mean(one: &[[f64; 2]], other: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let both = one.iter().zip(other);
    both.map(|(a, b)| [0, 1].map(|which| (a[which] * b[which]).sqrt()))
        .collect()
}

/// A row of the table: nanoseconds of both providers, and the quartiles of their ratio.
fn line(name: &str, rounds: &[[f64; 2]]) -> String {
    let found = Ratio::of(rounds);
    let (old, new, ratio, [low, high]) = (found.ns_old, found.ns_new, found.ratio, found.quartiles);
    format!("{name:34} {old:9.1} {new:9.1} {ratio:7.3}  {low:.3} .. {high:.3}")
}

/// Measures a cipher, and prints its table.
fn cipher(args: &Args, plan: &Plan) -> Result<()> {
    let mut title = None;
    let mut rows: Vec<(String, Vec<[f64; 2]>)> = Vec::new();
    for _ in 0..args.pairs {
        let mut pair = [Vec::new(), Vec::new()];
        for (swapped, found) in [false, true].into_iter().zip(&mut pair) {
            let plan = Plan {
                swapped,
                seed: fastrand::u64(..),
                ..plan.clone()
            };
            ask(None, WORKER, &plan, &[], &mut |answer| match answer {
                Answer::Hello { openssl, other } => title = Some((openssl, other)),
                Answer::Times { row, rounds } => found.push((row, rounds)),
            })?;
        }
        // Both have the same rows, in the same order.
        let [plain, swapped] = pair;
        for (place, ((row, one), (_, other))) in plain.into_iter().zip(swapped).enumerate() {
            if place == rows.len() {
                rows.push((row, Vec::new()));
            }
            rows[place].1.extend(mean(&one, &other));
        }
    }
    let (openssl, other) = title.expect("every process says hello");
    println!(
        "{}: {openssl}\n{:34} {other:>9} tenrounds   ratio  quartiles",
        plan.cipher, "ns a call"
    );
    for (name, rounds) in rows {
        println!("{}", line(&name, &rounds));
    }
    println!();
    Ok(())
}

/// The exit status.
pub fn run(args: &Args) -> Result<u8> {
    for name in &args.ciphers {
        let plan = Plan {
            cipher: name.clone(),
            what: args.what.clone(),
            rounds: args.rounds.div_ceil(2 * usize::from(args.pairs)).max(1),
            swapped: false,
            seed: 0,
        };
        cipher(args, &plan)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::collections::BTreeMap;

    #[test]
    fn the_command_line_is_sound() {
        Args::command().debug_assert();
        assert_eq!((bytes("16"), bytes("0").is_err()), (Ok(16), true));
    }

    #[test]
    fn a_pair_of_processes_has_no_first_place() {
        // In each process the second provider takes twice the time.
        let rounds = mean(&[[10.0, 20.0]], &[[20.0, 10.0]]);
        let line = line("final", &rounds);
        assert_eq!(
            line.split_whitespace().collect::<Vec<_>>()[1..4],
            ["14.1", "14.1", "1.000"]
        );
    }

    /// The default provider against itself, which every libcrypto has.
    #[test]
    fn every_call_of_every_kind_of_mode_succeeds() {
        let library = match openssl::open("libcrypto.so.3") {
            Ok(library) => library,
            Err(why) => {
                let must = std::env::var_os("TENROUNDS_MUST_RUN").is_some_and(|v| !v.is_empty());
                assert!(!must, "{why}");
                return println!("# SKIP no libcrypto.so.3: {why}");
            }
        };
        let plan = |cipher: &str| Plan {
            cipher: cipher.to_owned(),
            what: What {
                module: String::new(),
                before: None,
                libcrypto: String::new(),
                bytes: vec![16, 64],
            },
            rounds: 1,
            swapped: true,
            seed: 1,
        };
        let mut names = BTreeMap::new();
        for cipher in [
            "AES-128-GCM",
            "AES-256-CCM",
            "AES-128-CBC",
            "AES-128-XTS",
            "AES-128-CTR",
        ] {
            let stock = || Evp::stock("default", library).unwrap();
            let one = || Subject::new("default", &stock(), cipher).unwrap();
            let plan = plan(cipher);
            rows(&plan, &mut [one(), one()], |row, name, subjects| {
                let found = times(&plan, row, subjects)?;
                assert!(
                    found.len() == 1 && found[0].iter().all(|ns| *ns > 0.0),
                    "{cipher} {name}"
                );
                names.insert(name, cipher.to_owned());
                Ok(())
            })
            .unwrap();
        }
        assert!(names.contains_key("set tag") && names.contains_key("update elsewhere, 64 bytes"));
        let stock = Evp::stock("default", library).unwrap();
        let wrap = Subject::new("default", &stock, "AES-128-WRAP");
        assert!(wrap.err().unwrap().to_string().contains("another order"));
    }
}
