// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds compare`: software, stock OpenSSL and tenrounds against the limit, in one run.

use super::busy::{Disturbance, Load, Watch};
use super::chart::Paint;
use super::figure::{limit_rows, Figure};
use super::implementation::Implementation;
use super::limit::Limit;
use super::measure::{limits, widest, Case, Effort, Rounds, TEAMS};
use super::plan::{cases, label, of_all, work, Pace};
use super::stats::Summary;
use super::subject::{references, Subject};
use super::team::WorkerProcess;
use super::{markdown, progress, report, svg};
use crate::algorithm::Direction;
use crate::cli::{CompareArgs, MeasureArgs, ReportArgs};
use crate::core::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::output;
use crate::schema::{Document, Host};
use serde::Serialize;
use std::path::Path;
use std::time::{Duration, Instant};

pub const THOROUGH: Effort = Effort {
    rounds: 40,
    window_us: 2000,
};
const QUICK: Effort = Effort {
    rounds: 10,
    window_us: 1000,
};
/// Where nothing is named: so many rounds that the whole takes about 11 seconds on an idle machine.
const USUAL: Effort = Effort {
    rounds: 25,
    window_us: 2000,
};
/// And no more than this on a busy one, plus the rounds that are never left out.
const USUAL_TIME: Duration = Duration::from_millis(13_500);

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
    pub load: Option<Load>,
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

    pub fn disturbance(&self) -> Disturbance {
        Disturbance::of(self.load, self.all().map(|f| &f.rounds))
    }

    /// "40", or "12 to 40" where a busy machine left no time for all.
    pub fn rounds(&self) -> String {
        let rounds = self.all().flat_map(|f| f.rounds.rates.values());
        let fewest = rounds.map(Vec::len).min();
        match fewest.filter(|fewest| *fewest < self.effort.rounds) {
            Some(fewest) => format!("{fewest} to {}", self.effort.rounds),
            None => self.effort.rounds.to_string(),
        }
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
    /// Rounds repeated because wall clock and CPU time disagreed, and rounds that count
    /// nevertheless.
    rounds_discarded: usize,
    rounds_doubtful: usize,
    busy: bool,
    /// null: /proc/stat could not be read.
    load: Option<Load>,
    notes: Vec<String>,
}

/// The effort asked for, or else the usual one.
pub fn effort(measure: &MeasureArgs, report: &ReportArgs, usual: Effort) -> Effort {
    match (measure.seconds, report.quick) {
        (Some(seconds), _) => Effort::of_seconds(seconds, THOROUGH.window_us),
        (None, true) => QUICK,
        (None, false) => usual,
    }
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

/// The software baseline must really be software: what libcrypto says after masking. Where it says
/// nothing, it has no assembly, and there is nothing to mask.
fn verify_mask(software: &WorkerProcess) -> Result<()> {
    let settings = software.cpu_settings.as_deref().unwrap_or_default();
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

/// The reference ciphers that were not asked for, at all sizes and the lowest number of threads.
fn reference_cases(cases: &[Case]) -> Vec<Case> {
    let asked = |s: &Subject| cases.iter().any(|c| c.subject == *s);
    let others = references().into_iter().filter(|s| !asked(s));
    let others: Vec<_> = others.map(|s| (s, Direction::Encrypt)).collect();
    let threads = cases.iter().map(|c| c.threads).min().unwrap_or(1);
    let mut sizes: Vec<usize> = cases.iter().map(|c| c.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    of_all(&others, &[threads], &sizes)
}

/// Measures OpenSSL's other ciphers as references, and notes those that are missing.
fn measure_references(
    cases: &[Case],
    teams: &mut [Vec<WorkerProcess>],
    pace: &mut Pace,
    bar: &indicatif::ProgressBar,
    notes: &mut Vec<String>,
) -> Vec<Figure> {
    let mut absent: Option<Subject> = None;
    let mut figures = Vec::new();
    for &case in cases {
        let effort = pace.next(1);
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

/// The windows of a round of a case.
pub fn windows(case: &Case, team: &[WorkerProcess]) -> usize {
    let concerned = |worker: &&WorkerProcess| case.concerns(worker.implementation);
    team.iter().filter(concerned).count()
}

/// Who has no such cipher, once for all its sizes and directions.
pub fn note_absent(rounds: &Rounds, notes: &mut Vec<String>) {
    for why in rounds.absent.values() {
        // Each process says for itself whose it is: "openssl: OpenSSL 3.0.22 has no ...".
        let (_, what) = why.split_once(": ").unwrap_or(("", why));
        if !notes.iter().any(|note| note == what) {
            notes.push(what.to_owned());
        }
    }
}

fn run(args: &CompareArgs) -> Result<Comparison> {
    let watch = Watch::start();
    let started = Instant::now();
    let usual = args.algorithms.is_empty();
    let effort = effort(
        &args.measure,
        &args.report,
        if usual { USUAL } else { THOROUGH },
    );
    let work = work(&args.algorithms, args.measure.decrypt, true)?;
    let all = cases(&args.measure, &args.cases, &work)?;
    let of_aes = |case: &Case| case.subject.is_aes();
    let (aes, mut references): (Vec<Case>, Vec<Case>) = all.iter().copied().partition(of_aes);
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let usable = Limit::usable(&Cpu::detect());
    let teams = (0..TEAMS).map(|_| team(&usable, args.cases.core));
    let mut teams = teams.collect::<Result<Vec<_>>>()?;
    if !args.report.markdown {
        references.extend(reference_cases(&all));
    }

    let of_case = |case: &Case| windows(case, &teams[0]);
    let windows_of: Vec<usize> = aes.iter().map(of_case).collect();
    let windows = windows_of.iter().sum::<usize>() + references.len();
    let end = (usual && args.measure.seconds.is_none()).then_some(started + USUAL_TIME);
    let mut pace = Pace::new(effort, end, windows);
    let bar = progress(aes.len() + references.len(), effort.duration(windows));
    let limits = measure_limits(&usable, &mut teams[0], effort)?;
    let widest = widest(&limits);
    let mut notes = Vec::new();
    let mut figures = Vec::new();
    for (case, windows) in aes.into_iter().zip(windows_of) {
        bar.set_message(label(&case));
        let rounds = case.measure(&mut teams, widest, pace.next(windows))?;
        note_absent(&rounds, &mut notes);
        if !rounds.rates.is_empty() {
            figures.push(Figure { case, rounds });
        }
        bar.inc(1);
    }
    let references = measure_references(&references, &mut teams, &mut pace, &bar, &mut notes);
    bar.finish_and_clear();
    let backend = teams[0]
        .iter()
        .find_map(|c| c.backend.as_deref())
        .and_then(Backend::by_name);
    drop(teams);
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
        load: watch.end(),
    })
}

/// The limits by themselves; none where the processor has no AES instructions.
fn measure_limits(
    usable: &[Limit],
    team: &mut [WorkerProcess],
    effort: Effort,
) -> Result<Vec<(Limit, Summary)>> {
    if usable.is_empty() {
        return Ok(vec![]);
    }
    let probe = team.last_mut().expect("the limit is the last of the team");
    let half = Effort {
        rounds: effort.rounds.div_ceil(2),
        ..effort
    };
    limits(probe, usable, 1, half)
}

fn json(found: &Comparison) -> String {
    let mut rows = limit_rows(&found.limits, 1);
    rows.extend(
        found
            .all()
            .flat_map(|f| f.rows(found.backend, found.widest)),
    );
    let disturbance = found.disturbance();
    let how = How {
        seconds: found.took.as_secs_f64(),
        rounds: found.effort.rounds,
        window_us: found.effort.window_us,
        rounds_discarded: disturbance.discarded,
        rounds_doubtful: disturbance.doubtful,
        busy: disturbance.is_busy(),
        load: disturbance.load,
        notes: found.notes.clone(),
    };
    Document::new("compare", found.host.clone(), rows, Body { compare: how }).to_json()
}

/// What `compare` and `compare-paths` show of what they found, and where.
pub struct Report<'a, T> {
    pub json: fn(&T) -> String,
    pub markdown: fn(&T) -> String,
    pub text: fn(&T, Paint) -> String,
    pub svg: fn(&T, &Path) -> Result<()>,
    pub args: &'a ReportArgs,
}

impl<T> Report<'_, T> {
    /// Measures and shows. Files that cannot be written are an error before anything is measured.
    pub fn of(self, json: bool, measure: impl FnOnce() -> Result<T>) -> Result<()> {
        let file = self.args.svg.as_deref();
        file.map_or(Ok(()), terminal::writable)?;
        let found = measure()?;
        let shown = output::out(match (json, self.args.markdown) {
            (true, _) => (self.json)(&found),
            (_, true) => (self.markdown)(&found),
            _ => (self.text)(&found, Paint::for_stdout()),
        });
        file.map_or(Ok(()), |file| (self.svg)(&found, file))
            .and(shown)
    }
}

pub fn compare(args: &CompareArgs) -> Result<()> {
    let report = Report {
        json,
        markdown: markdown::text,
        text: report::text,
        svg: svg::write,
        args: &args.report,
    };
    report.of(args.measure.json, || run(args))
}

#[cfg(test)]
mod tests {
    use super::super::plan::SIZES;
    use super::*;

    #[test]
    fn without_arguments_it_takes_less_than_fifteen_seconds() {
        let work = work(&[], false, true).unwrap();
        let windows = |(subject, direction): &(Subject, Direction)| {
            let has_ceiling =
                super::super::limit::ceiling(*subject, *direction, Limit::Xmm).is_some();
            (4 + usize::from(has_ceiling)) * SIZES.len()
        };
        let windows: usize = work.iter().map(windows).sum();
        let took = USUAL.duration(windows + references().len() * SIZES.len());
        assert!(took < USUAL_TIME, "{took:?}");
        assert!(USUAL_TIME.as_secs() < 15);
    }

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
