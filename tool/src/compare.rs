// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds compare`: software, stock OpenSSL and tenrounds against the limit, in one run.

use crate::algorithm::Direction;
use crate::bench::case::Case;
use crate::bench::comparison::Comparison;
use crate::bench::figure::{limit_rows, Figure};
use crate::bench::how::How;
use crate::bench::implementation::Implementation;
use crate::bench::measure::{limits, note_absent, widest, Effort, Rounds, TEAMS};
use crate::bench::passes;
use crate::bench::plan::{cases, effort, of_all, threads, work, THOROUGH};
use crate::bench::shown::Report;
use crate::bench::team::WorkerProcess;
use crate::bench::{markdown, report, svg};
use crate::cli::CompareArgs;
use crate::core::{Backend, Cpu};
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::masks;
use crate::schema::{Document, Measurement};
use crate::subject::{references, Subject};
use ::measure::busy::Watch;
use ::measure::limit::Limit;
use ::measure::stats::Summary;
use serde::Serialize;
use std::time::{Duration, Instant};

/// Where nothing is named: so many rounds that the whole takes about 11 seconds on an idle machine.
const USUAL: Effort = Effort {
    rounds: 25,
    window_us: 2000,
};
/// And no more than this on a busy one, plus the rounds that are never left out.
const USUAL_TIME: Duration = Duration::from_millis(13_500);

/// What JSON says besides the rows.
#[derive(Serialize)]
struct Body {
    compare: How,
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

/// Measures. If no algorithm is named, takes no more than this time, plus the rounds that are never
/// left out.
pub fn measure(args: &CompareArgs, time: Duration) -> Result<Comparison> {
    let watch = Watch::start();
    let started = Instant::now();
    let usual = args.cases.algorithms.is_empty();
    let effort = effort(
        &args.measure,
        &args.report,
        if usual { USUAL } else { THOROUGH },
    );
    let work = work(&args.cases.algorithms, args.measure.decrypt, true)?;
    let threads = threads(&args.cases.threads)?;
    let (all, mut notes) = cases(&args.measure, &args.cases, work, &threads)?;
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

    let end = (usual && args.measure.seconds.is_none()).then_some(started + time);
    let all = [aes, references].concat();
    let bar = passes::bar(&all, &teams, effort);
    let limits = measure_limits(&usable, &mut teams[0], effort)?;
    let widest = widest(&limits);
    let mut absent: Option<Subject> = None;
    let share = |team: &mut [WorkerProcess], case: &Case, effort| {
        let is_aes = case.subject.is_aes();
        if absent == Some(case.subject) {
            return Ok(vec![Rounds::default()]);
        }
        match case.measure(team, widest.filter(|_| is_aes), effort) {
            Ok(rounds) => Ok(vec![rounds]),
            Err(error) if is_aes => Err(error),
            // OpenSSL's other ciphers are references; a missing one is noted.
            Err(error) => {
                absent = Some(case.subject);
                let title = case.subject.title();
                notes.push(format!("{title} was not measured: {error}"));
                Ok(vec![Rounds::default()])
            }
        }
    };
    let found = passes::measure(&all, &mut teams, (effort, end), &bar, share)?;
    let (mut figures, mut references) = (Vec::new(), Vec::new());
    for (case, rounds) in all.into_iter().zip(found) {
        for rounds in rounds {
            if case.subject.is_aes() {
                note_absent(&rounds, &mut notes);
            }
            let list = if case.subject.is_aes() {
                &mut figures
            } else {
                &mut references
            };
            if !rounds.rates.is_empty() {
                list.push(Figure { case, rounds });
            }
        }
    }
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

/// The rows of the JSON document.
pub fn rows(found: &Comparison) -> Vec<Measurement> {
    let mut rows = limit_rows(&found.limits, 1);
    rows.extend(
        found
            .all()
            .flat_map(|f| f.rows(found.backend, found.widest)),
    );
    rows
}

pub fn how(found: &Comparison) -> How {
    How::new(found.took, found.effort, found.disturbance(), &found.notes)
}

fn json(found: &Comparison) -> String {
    let compare = how(found);
    let host = found.host.clone();
    Document::new("compare", host, rows(found), Body { compare }).to_json()
}

pub fn compare(args: &CompareArgs) -> Result<()> {
    let report = Report {
        json,
        markdown: markdown::text,
        text: report::text,
        svg: svg::write,
        args: &args.report,
    };
    report.of(args.measure.json, || measure(args, USUAL_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::plan::SIZES;

    #[test]
    fn without_arguments_it_takes_less_than_fifteen_seconds() {
        let work = work(&[], false, true).unwrap();
        let windows = |(subject, direction): &(Subject, Direction)| {
            let has_ceiling = ::measure::limit::ceiling(*subject, *direction, Limit::Xmm).is_some();
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
