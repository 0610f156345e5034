// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds compare`: software, stock OpenSSL and tenrounds against the limit, in one run.

use super::chart::Paint;
use super::figure::{limit_rows, Figure};
use super::implementation::Implementation;
use super::limit::Limit;
use super::measure::{limits, widest, Case, Effort, Rounds, TEAMS};
use super::plan::{cases, label, subjects};
use super::stats::Summary;
use super::subject::{references, Subject};
use super::team::WorkerProcess;
use super::{baseline, markdown, paths, progress, report, svg};
use crate::algorithm::Direction;
use crate::cli::CompareArgs;
use crate::core::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::output;
use crate::schema::{Document, Host};
use serde::Serialize;
use std::time::{Duration, Instant};

const DEFAULT: [&str; 4] = ["aes-128-cbc", "aes-128-ctr", "aes-256-cbc", "aes-256-ctr"];
const THOROUGH: Effort = Effort {
    rounds: 40,
    window_us: 2000,
};
const QUICK: Effort = Effort {
    rounds: 10,
    window_us: 1000,
};

/// Everything that a comparison found.
pub struct Comparison {
    pub host: Host,
    pub figures: Vec<Figure>,
    /// RC4 and ChaCha20-Poly1305 of OpenSSL.
    pub references: Vec<Figure>,
    pub limits: Vec<(Limit, Summary)>,
    pub widest: Option<Limit>,
    pub backend: Option<Backend>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    pub effort: Effort,
    pub took: Duration,
}

impl Comparison {
    pub fn openssl_version(&self) -> &str {
        self.host
            .openssl
            .as_ref()
            .map_or("OpenSSL", |o| o.version.as_str())
    }

    /// All figures; those of the reference ciphers come last.
    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        self.figures.iter().chain(&self.references)
    }

    pub fn discarded(&self) -> usize {
        self.all().map(|f| f.rounds.discarded).sum()
    }

    pub fn doubtful(&self) -> usize {
        self.all().map(|f| f.rounds.doubtful).sum()
    }
}

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body {
    compare: How,
}

/// How it was measured.
#[derive(Serialize)]
struct How {
    /// Seconds that the command took.
    seconds: f64,
    /// Rounds of each figure, microseconds of each window.
    rounds: usize,
    window_us: u64,
    /// Rounds repeated because wall clock and CPU time disagreed, and rounds that count nevertheless.
    rounds_discarded: usize,
    rounds_doubtful: usize,
    notes: Vec<String>,
}

pub fn effort(args: &CompareArgs) -> Effort {
    let effort = if args.quick { QUICK } else { THOROUGH };
    args.measure
        .seconds
        .map_or(effort, |s| Effort::of_seconds(s, effort.window_us))
}

/// The processes that take part, weakest first; the limit only where there is one.
fn team(limits: &[Limit], core: bool) -> Result<Vec<WorkerProcess>> {
    use Implementation::*;
    let members = [Software, OpenSsl, Tenrounds].into_iter();
    let core = core.then_some(Core);
    let limit = (!limits.is_empty()).then_some(Limit);
    let ceiling = (!limits.is_empty()).then_some(Ceiling);
    let members = members.chain(core).chain(ceiling).chain(limit);
    let team = members
        .map(WorkerProcess::start)
        .collect::<Result<Vec<_>>>()?;
    verify_mask(&team[0])?;
    Ok(team)
}

/// AES-NI and PCLMULQDQ in the first word of what libcrypto says about the processor.
const AES_AND_CLMUL: u64 = 1 << 57 | 1 << 33;

/// The first word of "OPENSSL_ia32cap=0x...:0x..."; None where libcrypto says no such thing, because it
/// is not for x86 or has no assembly, and there is nothing to mask.
fn capabilities(cpu_settings: &str) -> Option<u64> {
    let (_, word) = cpu_settings.split_once("OPENSSL_ia32cap=0x")?;
    let end = word.find(|c: char| !c.is_ascii_hexdigit());
    u64::from_str_radix(&word[..end.unwrap_or(word.len())], 16).ok()
}

/// The software baseline must really be software: what libcrypto says after masking.
fn verify_mask(software: &WorkerProcess) -> Result<()> {
    let settings = software.cpu_settings.as_deref().unwrap_or_default();
    match capabilities(settings) {
        Some(word) if word & AES_AND_CLMUL != 0 => Err(Error::failure(format!(
            "OpenSSL did not take the mask of the software baseline: it says {settings:?}"
        ))),
        _ => Ok(()),
    }
}

/// The reference ciphers that were not asked for, at all sizes and the lowest number of threads.
fn reference_cases(cases: &[Case]) -> Vec<Case> {
    let asked = |s: &Subject| cases.iter().any(|c| c.subject == *s);
    let threads = cases.iter().map(|c| c.threads).min().unwrap_or(1);
    let mut sizes: Vec<usize> = cases.iter().map(|c| c.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let of = |subject| {
        let case = |&bytes| Case {
            subject,
            direction: Direction::Encrypt,
            bytes,
            threads,
        };
        sizes.iter().map(case).collect::<Vec<_>>()
    };
    references()
        .into_iter()
        .filter(|s| !asked(s))
        .flat_map(of)
        .collect()
}

/// Measures OpenSSL's other ciphers as references, and notes those that are missing.
fn measure_references(
    cases: &[Case],
    teams: &mut [Vec<WorkerProcess>],
    effort: Effort,
    bar: &indicatif::ProgressBar,
    notes: &mut Vec<String>,
) -> Vec<Figure> {
    let mut absent: Option<Subject> = None;
    let mut figures = Vec::new();
    for &case in cases {
        if absent == Some(case.subject) {
            continue;
        }
        bar.set_message(label(&case));
        match case.measure(teams, None, effort) {
            Ok(rounds) => figures.push(Figure { case, rounds }),
            Err(error) => {
                absent = Some(case.subject);
                notes.push(format!(
                    "{} was not measured: {error}",
                    case.subject.title()
                ));
            }
        }
        bar.inc(1);
    }
    figures
}

/// The windows of a round of each case.
fn windows(cases: &[Case], team: &[WorkerProcess]) -> usize {
    let taking_part = |case: &Case| {
        let concerned = |worker: &&WorkerProcess| case.concerns(worker.implementation);
        team.iter().filter(concerned).count()
    };
    cases.iter().map(taking_part).sum()
}

/// Who has no such cipher, once for all its sizes and directions.
fn note_absent(rounds: &Rounds, notes: &mut Vec<String>) {
    for why in rounds.absent.values() {
        // Each process says for itself whose it is: "openssl: OpenSSL 3.0.22 has no ...".
        let (_, what) = why.split_once(": ").unwrap_or(("", why));
        if !notes.iter().any(|note| note == what) {
            notes.push(what.to_owned());
        }
    }
}

fn run(args: &CompareArgs) -> Result<Comparison> {
    let started = Instant::now();
    let asked = subjects(&args.algorithms, &DEFAULT)?;
    let effort = effort(args);
    let all = cases(&args.measure, &asked)?;
    let of_aes = |case: &Case| case.subject.is_aes();
    let (aes, mut references): (Vec<Case>, Vec<Case>) = all.iter().copied().partition(of_aes);
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let usable = Limit::usable(&Cpu::detect());
    let teams = (0..TEAMS).map(|_| team(&usable, args.core));
    let mut teams = teams.collect::<Result<Vec<_>>>()?;
    if !args.markdown {
        references.extend(reference_cases(&all));
    }

    let windows = windows(&aes, &teams[0]) + references.len();
    let bar = progress(aes.len() + references.len(), effort.duration(windows));
    let limits = match usable.is_empty() {
        true => vec![],
        false => {
            let probe = teams[0]
                .last_mut()
                .expect("the limit is the last of the team");
            limits(
                probe,
                &usable,
                1,
                Effort {
                    rounds: effort.rounds.div_ceil(2),
                    ..effort
                },
            )?
        }
    };
    let widest = widest(&limits);
    let mut notes = Vec::new();
    let mut figures = Vec::new();
    for case in aes {
        bar.set_message(label(&case));
        let rounds = case.measure(&mut teams, widest, effort)?;
        note_absent(&rounds, &mut notes);
        if !rounds.rates.is_empty() {
            figures.push(Figure { case, rounds });
        }
        bar.inc(1);
    }
    let references = measure_references(&references, &mut teams, effort, &bar, &mut notes);
    bar.finish_and_clear();
    let backend = teams[0]
        .iter()
        .find_map(|c| c.backend.as_deref())
        .and_then(Backend::by_name);
    Ok(Comparison {
        host: crate::host::read(Some(&libcrypto)),
        figures,
        references,
        limits,
        widest,
        backend,
        notes,
        effort,
        took: started.elapsed(),
    })
}

fn json(found: &Comparison) -> String {
    let mut rows = limit_rows(&found.limits, 1);
    rows.extend(
        found
            .all()
            .flat_map(|f| f.rows(found.backend, found.widest)),
    );
    let how = How {
        seconds: found.took.as_secs_f64(),
        rounds: found.effort.rounds,
        window_us: found.effort.window_us,
        rounds_discarded: found.discarded(),
        rounds_doubtful: found.doubtful(),
        notes: found.notes.clone(),
    };
    Document::new("compare", found.host.clone(), rows, Body { compare: how }).to_json()
}

/// Measures, or compares what was measured; the exit status.
pub fn compare(args: &CompareArgs) -> Result<u8> {
    if let Some(files) = &args.baseline {
        return baseline::run(args, files);
    }
    match args.paths {
        true => paths::compare(args)?,
        false => measure(args)?,
    }
    Ok(0)
}

fn measure(args: &CompareArgs) -> Result<()> {
    if let Some(path) = &args.svg {
        svg::writable(path)?;
    }
    let found = run(args)?;
    let shown = match (args.measure.json, args.markdown) {
        (true, _) => output::out(json(&found)),
        (_, true) => output::out(markdown::text(&found)),
        _ => output::out(report::text(&found, Paint::for_stdout())),
    };
    match &args.svg {
        Some(path) => svg::write(&found, path).and(shown),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_libcrypto_says_is_understood() {
        let masked = "OPENSSL_ia32cap=0xfcfa3201078bffff:0x5fc6f1bf07ab env:~0x200000200000000";
        assert_eq!(capabilities(masked).unwrap() & AES_AND_CLMUL, 0);
        let plain = capabilities("OPENSSL_ia32cap=0xfffa3203078bffff:0x405fc6f1bf07ab");
        assert_eq!(plain.unwrap() & AES_AND_CLMUL, AES_AND_CLMUL);
        assert_eq!(capabilities("OPENSSL_armcap=0x7d"), None);
    }

    #[test]
    fn references_are_measured_once() {
        let case = |name: &str, threads| Case {
            subject: Subject::by_name(name).unwrap(),
            direction: Direction::Encrypt,
            bytes: 16,
            threads,
        };
        for fewest in [1, 2] {
            let cases = [
                case("aes-128-cbc", 4),
                case("aes-128-ctr", fewest),
                case("rc4", fewest),
            ];
            let expected = [case("chacha20-poly1305", fewest)];
            assert_eq!(reference_cases(&cases), expected);
        }
    }
}
