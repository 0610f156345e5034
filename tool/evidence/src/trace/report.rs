// SPDX-License-Identifier: BSD-2-Clause
//! The result of a trace, from what was seen.

use super::result::{Evidence, Finding, Module, ModuleKind, Place, Process, Trace};
use super::sampler::processors;
use super::state::State;
use super::tally::{Activity, Found, Key, Tally};
use super::target::module;
use super::verdict;
use crate::scan::{Holds, Reach};
use base::trust;
use classify::hot::{Confidence, Work};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// Adds what a tally of the state shows.
pub fn complete(trace: &mut Trace, tally: &Tally, state: &State, files: &mut Files) {
    trace.troubles.extend(unexamined(tally));
    trace.troubles.extend(unreadable(tally, state));
    trace.troubles.extend((tally.unexamined_in_kernel > 0).then(|| {
        format!(
            "{} samples in the kernel could not be examined: no function of /proc/kallsyms has their addresses, or /proc/kcore lacks them.",
            terminal::style::grouped(tally.unexamined_in_kernel)
        )
    }));
    trace.troubles.extend(state.kernel_refusal().map(|why| {
        format!("What the kernel's code does is not known, because it cannot be read: {why}.")
    }));
    let seen = tally.processes.iter();
    trace.processes = seen
        .map(|activity| process(activity, state, files))
        .collect();
    let order = |process: &Process| std::cmp::Reverse((process.aes_samples, process.samples));
    trace.processes.sort_by_key(order);
    let aes = trace.processes.iter().map(|process| process.aes_samples);
    let aes: u64 = aes.sum();
    let most = f64::from(trace.rate) * trace.seconds * processors().len() as f64;
    trace.machine_share = (aes as f64 / most).min(1.0);
    trace.samples = tally.samples;
    trace.lost = tally.lost;
    trace.aes_share = share(aes, tally.samples);
    trace.unseen_below = unseen_below(tally);
    trace.unclear_samples = tally.unclear;
    trace.verdict = verdict::lines(trace);
}

fn share(part: u64, whole: u64) -> f64 {
    match whole {
        0 => 0.0,
        whole => part as f64 / whole as f64,
    }
}

/// By the rule of three for the samples that were examined. All others may be AES.
fn unseen_below(tally: &Tally) -> Option<f64> {
    let unexamined = tally.unexamined + tally.unexamined_in_kernel;
    let below = (3 + unexamined) as f64 / tally.samples as f64;
    (tally.samples > 0).then(|| below.min(1.0))
}

fn unexamined(tally: &Tally) -> Vec<String> {
    let of_all = |count: u64| {
        format!(
            "{} of {} samples",
            terminal::style::grouped(count),
            terminal::style::grouped(tally.samples)
        )
    };
    let mut lines = Vec::new();
    let unreadable = tally.unexamined - tally.skipped;
    if unreadable > 0 {
        let cure = match trust::is_root() {
            true => "In a container, root may lack CAP_SYS_PTRACE: run the command outside",
            false => "To read it, this user needs CAP_SYS_PTRACE or kernel.yama.ptrace_scope=0",
        };
        lines.push(format!(
            "{} could not be examined: their process had ended, or it cannot be read. {cure}.",
            of_all(unreadable)
        ));
    }
    if tally.skipped > 0 {
        let verb = if tally.skipped == 1 { "was" } else { "were" };
        lines.push(format!(
            "{} {verb} not examined, because the time of the trace was over: files with sampled code are long, or the machine is busy.",
            of_all(tally.skipped)
        ));
    }
    lines
}

/// Files with samples that could not be read.
fn unreadable(tally: &Tally, state: &State) -> Vec<String> {
    let files = tally.unreadable.iter();
    let failed = files.filter_map(|index| {
        let module = &state.modules.list[*index];
        let why = module.program.as_ref().err()?;
        Some(format!(
            "{}: {why}; its code was read from memory alone",
            terminal::style::clean(&module.path)
        ))
    });
    failed.collect()
}

fn process(activity: &Activity, state: &State, files: &mut Files) -> Process {
    let merged = merged(activity, state);
    let findings = merged.iter().filter_map(|(key, found)| {
        let module = files.of(activity, *key, state);
        finding(activity, *key, found, module)
    });
    let mut findings: Vec<Finding> = findings.collect();
    findings.sort_by_key(|finding| (std::cmp::Reverse(finding.samples), finding.work));
    let encrypting = encrypting(activity);
    let aes = merged.iter().filter(|(key, _)| {
        key.work.is_aes() || key.work.is_ghash() && encrypting.contains(&key.module)
    });
    let aes_samples = aes.map(|(_, found)| found.samples).sum();
    Process {
        pid: activity.pid,
        name: match activity.name.as_str() {
            // It ended before its name was read.
            "" => "?".to_owned(),
            name => name.to_owned(),
        },
        samples: activity.samples,
        kernel_samples: activity.kernel,
        threads: activity.threads.len(),
        aes_share: share(aes_samples, activity.samples),
        aes_samples,
        findings,
    }
}

/// The files whose AES code ran.
fn encrypting(activity: &Activity) -> HashSet<Option<usize>> {
    let aes = activity.found.keys().filter(|key| key.work.is_aes());
    aes.map(|key| key.module).collect()
}

/// What was found. Multiplications in a file whose AES code ran are those of GHASH. The kernel
/// itself also has checksums by multiplication, so that there their functions have to say so.
fn merged(activity: &Activity, state: &State) -> HashMap<Key, Found> {
    let encrypting = encrypting(activity);
    let mut merged: HashMap<Key, Found> = HashMap::new();
    for (key, found) in &activity.found {
        let is_kernel = key.module.is_some_and(|index| {
            let module = &state.modules.list[index];
            module.of_kernel && module.path == "kernel"
        });
        let is_named = || {
            let mut names = found.places.keys().filter_map(|p| p.function.as_deref());
            names.any(|name| name.contains("ghash") || name.contains("gcm"))
        };
        let is_ghash = key.work == Work::Clmul
            && encrypting.contains(&key.module)
            && (!is_kernel || is_named());
        let key = Key {
            work: if is_ghash { Work::GhashClmul } else { key.work },
            ..*key
        };
        merged.entry(key).or_default().merge(found);
    }
    merged
}

fn finding(
    activity: &Activity,
    key: Key,
    found: &Found,
    (module, reach): (Module, Reach),
) -> Option<Finding> {
    let first = found.first.as_ref()?;
    let mut places: Vec<Place> = found
        .places
        .iter()
        .map(|(place, samples)| Place {
            function: place.function.clone(),
            address: place.address,
            samples: *samples,
        })
        .collect();
    places.sort_by_key(|place| (std::cmp::Reverse(place.samples), place.address));
    places.truncate(MOST_PLACES);
    let mode = mode(activity, key, found);
    let decrypts = found.decrypts.len() == 1 && found.decrypts.contains(&Some(true));
    Some(Finding {
        work: key.work,
        confidence: match key.work {
            Work::GhashClmul => Confidence::Likely,
            _ => first.running.confidence,
        },
        mode,
        with_tenrounds: verdict::with_tenrounds(key.work, reach, mode, decrypts),
        module,
        samples: found.samples,
        share: share(found.samples, activity.samples),
        threads: found.threads.len(),
        places,
        evidence: Evidence {
            address: first.address,
            start: first.running.range.start,
            end: first.running.range.end,
            table: first.running.table.clone(),
        },
        reach,
    })
}

/// More functions are not listed.
const MOST_PLACES: usize = 50;

/// The mode, by the names of the functions; by AES and GHASH in one function; or by GHASH in the
/// same file. A function for ECB tells nothing: XTS and others call it for their blocks.
fn mode(activity: &Activity, key: Key, found: &Found) -> Option<&'static str> {
    const WORDS: [&str; 10] = [
        "gcm", "ghash", "ctr32", "ctr", "cbc", "xts", "ocb", "ccm", "cfb", "ofb",
    ];
    if !key.work.is_aes() && !key.work.is_ghash() {
        return None;
    }
    let named = |name: &str| {
        let name = name.to_ascii_lowercase();
        let word = WORDS.into_iter().find(|word| name.contains(word))?;
        Some(match word {
            "ghash" => "gcm",
            "ctr32" => "ctr",
            word => word,
        })
    };
    let mut modes: Vec<Option<&str>> = found
        .places
        .keys()
        .map(|place| named(place.function.as_deref()?))
        .collect();
    modes.sort_unstable();
    modes.dedup();
    let hashes = |work: Work| matches!(work, Work::GhashClmul | Work::GhashTables | Work::Clmul);
    let in_file = activity
        .found
        .keys()
        .filter(|other| other.module == key.module);
    let has_ghash = in_file.clone().any(|other| hashes(other.work));
    let only_gcm = modes
        .iter()
        .flatten()
        .all(|mode| ["gcm", "ctr"].contains(mode));
    match modes[..] {
        _ if (found.stitched || has_ghash || hashes(key.work)) && only_gcm => Some("gcm"),
        [Some(mode)] => Some(mode),
        _ => None,
    }
}

/// What is said about files, found out once for each.
#[derive(Default)]
pub struct Files {
    known: HashMap<usize, (Module, Option<classify::Module>)>,
}

impl Files {
    fn of(&mut self, activity: &Activity, key: Key, state: &State) -> (Module, Reach) {
        let Some(index) = key.module else {
            let reach = match key.work.is_aes() || key.work.is_ghash() {
                false => Reach::NotNeeded,
                true if activity.runs_java => Reach::Java,
                true => Reach::Unknown,
            };
            return (Module::plain(ModuleKind::WrittenAtRunTime, None), reach);
        };
        let read = &state.modules.list[index];
        if read.of_kernel {
            let reach = match holds(key.work) {
                _ if read.path == "tenrounds" => Reach::Itself,
                Holds::Instructions => Reach::Kernel,
                _ => Reach::NotNeeded,
            };
            let path = Some(read.path.clone());
            return (Module::plain(ModuleKind::Kernel, path), reach);
        }
        let (module, examined) = match self.known.entry(index) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let examined = read.examined();
                new.insert((described(read, examined.as_ref()), examined))
            }
        };
        let reach = examined
            .as_ref()
            .map(|examined| Reach::of(&read.path, examined, holds(key.work)));
        (module.clone(), reach.unwrap_or(Reach::Unknown))
    }
}

fn holds(work: Work) -> Holds {
    match work {
        work if work.is_aes() || work.is_ghash() => Holds::Instructions,
        Work::Bitslice => Holds::Instructions,
        _ => Holds::OtherUse,
    }
}

fn described(read: &module::Module, examined: Option<&classify::Module>) -> Module {
    let path = terminal::style::clean(&read.path);
    let kind = match read.deleted {
        true if path.starts_with("/memfd:") => ModuleKind::Memory,
        true => ModuleKind::Deleted,
        false => ModuleKind::File,
    };
    Module {
        build_id: examined.and_then(|examined| examined.build_id.clone()),
        library: examined.and_then(|examined| examined.library.clone()),
        ..Module::plain(kind, Some(path))
    }
}
