// SPDX-License-Identifier: BSD-2-Clause
//! One run: all cases of a plan, measured by teams of processes that take turns.

use super::case::Case;
use super::figure::{blocks, limit_rows, Figure};
use super::how::How;
use super::implementation::Implementation;
use super::measure::{limits, note_absent, widest, Effort, Rounds, TEAMS};
use super::passes;
use super::paths::Kernel;
use super::plan::Plan;
use super::team::WorkerProcess;
use ::measure::busy::{Disturbance, Load, Watch};
use ::measure::limit::Limit;
use ::measure::stats::Summary;
use libcrypto::LibCrypto;
use machine::masks;
use machine::schema::{Host, Measurement};
use std::time::{Duration, Instant};
use tenrounds_sys::{Backend, Cpu};
use terminal::error::{Error, Result};

/// Everything that a run found.
pub struct Run {
    pub host: Host,
    /// In the order of the plan; an algorithm's sizes with one number of threads are neighbours.
    pub figures: Vec<Figure>,
    /// The limits by themselves; none where the processor has no AES instructions.
    pub limits: Vec<(Limit, Summary)>,
    pub widest: Option<Limit>,
    pub backend: Option<Backend>,
    /// What could not be measured, and why.
    pub notes: Vec<String>,
    pub effort: Effort,
    pub took: Duration,
    pub load: Option<Load>,
    /// What libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    /// Of --paths.
    pub paths: Option<Kernel>,
}

/// The processes that take part, one for each number of threads.
fn team(plan: &Plan) -> Result<Vec<WorkerProcess>> {
    let driver = plan.driver.as_deref();
    let members = plan.who.iter();
    let members = members.flat_map(|who| plan.threads.iter().map(|threads| (*who, *threads)));
    let team = members.map(|(who, threads)| {
        let worker = WorkerProcess::start(who, threads, driver.filter(|_| who.is_kernel()))?;
        if who == Implementation::Software {
            verify_mask(&worker)?;
        }
        Ok(worker)
    });
    team.collect()
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

/// The limits by themselves, if the limit takes part.
fn measure_limits(team: &mut [WorkerProcess], effort: Effort) -> Result<Vec<(Limit, Summary)>> {
    const ROUNDS: usize = 12;
    let usable = Limit::usable(&Cpu::detect());
    let mut probes = team.iter_mut();
    match probes.find(|w| w.implementation == Implementation::Limit) {
        Some(probe) if !usable.is_empty() => {
            let rounds = effort.rounds.min(ROUNDS);
            limits(probe, &usable, Effort { rounds, ..effort })
        }
        _ => Ok(vec![]),
    }
}

/// A figure for each number of threads, with the ratios to one thread.
fn figures(case: Case, threads: &[usize], mut all: Vec<Rounds>) -> Vec<Figure> {
    if threads.len() > 1 {
        let one = all[0].rates.clone();
        for rounds in &mut all {
            let of = |who: &_| Some((*who, rounds.rates.ratio_to(who, &one, who)?));
            rounds.scaling = rounds.rates.keys().filter_map(of).collect();
        }
    }
    let counted = threads.iter().zip(all);
    let figure = |(&threads, rounds): (&usize, Rounds)| {
        let case = Case { threads, ..case };
        (!rounds.rates.is_empty()).then(|| Figure::new(case, rounds))
    };
    counted.filter_map(figure).collect()
}

pub fn run(plan: &Plan) -> Result<Run> {
    let watch = Watch::start();
    let started = Instant::now();
    masks::masked()?; // a wrong word is an error before anything is measured
    let libcrypto = LibCrypto::open()?;
    let mut teams = (0..TEAMS).map(|_| team(plan)).collect::<Result<Vec<_>>>()?;
    let cases = &plan.cases;
    let effort = plan.effort(passes::all_windows(cases, &teams[0]));
    let bar = passes::bar(cases, &teams, effort);
    let limits = measure_limits(&mut teams[0], effort)?;
    let widest = widest(&limits);
    let time = (effort, plan.time.map(|time| started + time));
    let found = passes::measure((cases, &plan.threads), &mut teams, widest, time, &bar)?;
    let mut notes = plan.notes.clone();
    let mut all: Vec<Figure> = Vec::new();
    for (case, rounds) in cases.iter().zip(found) {
        note_absent(&rounds[0], &mut notes);
        all.extend(figures(*case, &plan.threads, rounds));
    }
    let place = |figure: &Figure| {
        let same = |case: &Case| {
            (case.cipher, case.direction) == (figure.case.cipher, figure.case.direction)
        };
        (cases.iter().position(same), figure.case.threads)
    };
    all.sort_by_key(place); // stable: sizes stay in order
    let backend = teams[0].iter().find_map(|worker| worker.backend.as_deref());
    let mut run = Run {
        host: machine::host::read(Some(&libcrypto)),
        figures: all,
        widest,
        limits,
        backend: backend.and_then(Backend::by_name),
        notes,
        effort,
        took: Duration::ZERO,
        load: None,
        cpu_settings: libcrypto.cpu_settings(),
        paths: None,
    };
    bar.finish_and_clear();
    drop(teams);
    run.took = started.elapsed();
    run.load = watch.end();
    Ok(run)
}

impl Run {
    /// "OpenSSL 3.0.22", without the date.
    pub fn openssl(&self) -> String {
        let words = self.openssl_version().split(' ');
        words.take(2).collect::<Vec<_>>().join(" ")
    }

    pub fn openssl_version(&self) -> &str {
        let openssl = self.host.openssl.as_ref();
        openssl.map_or("OpenSSL", |openssl| openssl.version.as_str())
    }

    /// The processor, and the virtual machine that it is in.
    pub fn place(&self) -> String {
        let brand = &self.host.cpu.brand;
        match &self.host.hypervisor {
            Some(name) => format!("{brand}, in a virtual machine ({name})"),
            None => brand.clone(),
        }
    }

    /// The line below the title of a picture.
    pub fn about(&self) -> String {
        let about = drawing::About {
            processor: &self.host.cpu.brand,
            hypervisor: self.host.hypervisor.as_deref(),
            busy: self.disturbance().is_busy(),
            openssl: self.openssl_version(),
            version: env!("CARGO_PKG_VERSION"),
            date: &terminal::today(),
        };
        about.line()
    }

    /// Each mask in force, as a line.
    pub fn masks(&self) -> impl Iterator<Item = String> + '_ {
        let masks = self.host.masks.iter();
        masks.map(|(name, mask)| format!("mask in force: {name}={} ({})", mask.value, mask.hex))
    }

    pub fn backend(&self) -> &'static str {
        self.backend.map_or("none", |backend| backend.name())
    }

    pub fn blocks(&self) -> Vec<&[Figure]> {
        blocks(&self.figures)
    }

    pub fn disturbance(&self) -> Disturbance {
        let all = self.figures.iter().map(|f| f.rounds.disturbance());
        Disturbance::of(self.load, all)
    }

    /// "40", or "12 to 40" where a busy machine left no time for all.
    pub fn rounds(&self) -> String {
        let rounds = self.figures.iter().flat_map(|f| f.rounds.rates.values());
        let fewest = rounds.map(Vec::len).min();
        match fewest.filter(|fewest| *fewest < self.effort.rounds) {
            Some(fewest) => format!("{fewest} to {}", self.effort.rounds),
            None => self.effort.rounds.to_string(),
        }
    }

    /// The rows of the JSON document.
    pub fn rows(&self) -> Vec<Measurement> {
        let mut rows = limit_rows(&self.limits);
        for figure in &self.figures {
            let mut found = figure.rows(self.backend, self.widest);
            if let Some(kernel) = &self.paths {
                kernel.name_drivers(figure, &mut found);
            }
            rows.extend(found);
        }
        rows
    }

    pub fn how(&self) -> How {
        How::new(self.took, self.effort, self.disturbance(), &self.notes)
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
}
