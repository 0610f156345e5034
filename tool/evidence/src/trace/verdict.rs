// SPDX-License-Identifier: BSD-2-Clause
//! The verdict of `trace`: which AES code takes how much time in which process, and what tenrounds
//! would run instead.

use super::result::{Finding, ModuleKind, Process, Trace};
use crate::scan::Reach;
use catalogue::{Direction, Mode};
use classify::hot::Work;
use machine::selection;
use setup::detect::Code;

/// The verdict names no more processes.
const MOST: usize = 5;

pub fn lines(trace: &Trace) -> Vec<String> {
    if trace.samples == 0 {
        return vec![
            "There is no sample: the processes used no processor time, or ended too early. Let them work while they are traced."
                .to_owned(),
        ];
    }
    let mut lines: Vec<String> = trace.processes.iter().filter_map(process).collect();
    if lines.is_empty() {
        lines.push(nothing(trace));
        lines.extend(trace.processes.iter().filter_map(other).take(MOST));
    }
    let more = lines.len().saturating_sub(MOST);
    lines.truncate(MOST);
    if more > 0 {
        lines.push(format!(
            "{more} more processes run AES code; the table shows them."
        ));
    }
    lines
}

/// What a trace cannot tell.
const NOT_RECOGNISED: &str =
    "AES that is bitsliced, interpreted or compiled at run time cannot be recognised.";

/// What a trace without AES can tell.
fn nothing(trace: &Trace) -> String {
    let samples = terminal::style::grouped(trace.samples);
    let unclear = trace.unclear_samples as f64 / trace.samples as f64;
    match trace.unseen_below {
        _ if unclear > 0.5 => format!(
            "Cannot tell whether AES runs: {} of {samples} samples are in code that was written at run time, or in long Boolean code. Both can be AES without being recognised.",
            percent(unclear)
        ),
        Some(below) if below < 1.0 => format!(
            "No AES code was seen in {samples} samples: AES instructions, byte shuffles and tables take less than {} of the time. {NOT_RECOGNISED}",
            bound(below)
        ),
        _ => format!(
            "No AES code was seen in {samples} samples, but they cannot tell that there is none: they are too few, or could not be examined."
        ),
    }
}

/// "11 %", "0.3 %".
pub fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p >= 9.95 => format!("{p:.0} %"),
        p if p >= 0.95 => format!("{p:.1} %"),
        p => format!("{p:.2} %"),
    }
}

/// An upper bound, rounded up to two significant digits: "0.0031 %", "13 %".
pub fn bound(share: f64) -> String {
    let percent = 100.0 * share;
    if percent <= 0.0 {
        return "0 %".to_owned();
    }
    let decimals = 1 - percent.log10().floor() as i32;
    let scale = 10f64.powi(decimals);
    // What is a rounding error of the product must not count as a digit.
    let rounded = (percent * scale - 1e-9).ceil() / scale;
    let decimals = usize::try_from(decimals).unwrap_or(0);
    format!("{rounded:.decimals$} %")
}

/// One line for a process with AES code.
fn process(process: &Process) -> Option<String> {
    let mut aes = process
        .findings
        .iter()
        .filter(|finding| finding.work.is_aes());
    let first = aes.next()?;
    let mode = match first.mode {
        Some(mode) => format!("AES-{}", mode.to_uppercase()),
        None => "AES".to_owned(),
    };
    let share = percent(process.aes_share);
    let also = match aes.next() {
        Some(_) => " and others",
        None => "",
    };
    let with = match &first.with_tenrounds {
        Some(with) => format!("; {with}"),
        None => String::new(),
    };
    Some(format!(
        "{} ({}): {mode} in {} {}{also}, {share} of its time{with}.",
        process.name,
        process.pid,
        place(first),
        phrase(first.work)
    ))
}

/// One line for a process that runs bitsliced code or hashes by AES instructions.
fn other(process: &Process) -> Option<String> {
    let first = process
        .findings
        .iter()
        .find(|finding| !finding.work.is_aes())?;
    Some(format!(
        "{} ({}): {} in {}, {} of its time.",
        process.name,
        process.pid,
        first.work.name(),
        place(first),
        percent(first.share)
    ))
}

/// "libcrypto.so.3".
pub fn place(finding: &Finding) -> String {
    let path = finding.module.path.as_deref().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    match finding.module.kind {
        ModuleKind::WrittenAtRunTime => "code written at run time".to_owned(),
        ModuleKind::Memory => format!("{} (a file in memory)", name.trim_start_matches("memfd:")),
        ModuleKind::Deleted => format!("{name} (deleted)"),
        ModuleKind::File => name.to_owned(),
        ModuleKind::Kernel if name == "kernel" => "the kernel".to_owned(),
        ModuleKind::Kernel => format!("the kernel's module {name}"),
    }
}

fn phrase(work: Work) -> &'static str {
    match work {
        Work::Vaes512 => "on VAES at 512 bits (VAES 512)",
        Work::Vaes256 => "on VAES at 256 bits (VAES 256)",
        Work::AesNi => "on 128-bit AES-NI",
        Work::ArmCe => "on Armv8's AES instructions",
        Work::Vperm => "by vector permutation, without AES instructions",
        Work::Tables | Work::GhashTables => "by tables, which leak keys through the cache",
        work => work.name(),
    }
}

/// The code that a finding runs on, as `status` names it.
fn code(work: Work) -> Option<Code> {
    Some(match work {
        Work::Vaes512 => Code::Vaes512,
        Work::Vaes256 => Code::Vaes256,
        Work::AesNi => Code::Aesni,
        Work::ArmCe => Code::Armv8,
        Work::Vperm | Work::Tables => Code::Software,
        _ => return None,
    })
}

/// What tenrounds would run instead. Without a known mode, what it runs where registers of all
/// widths help: CTR.
pub fn with_tenrounds(
    work: Work,
    reach: Reach,
    mode: Option<&str>,
    decrypts: bool,
) -> Option<String> {
    let theirs = code(work)?;
    match reach {
        Reach::Itself => return Some("this is tenrounds".to_owned()),
        Reach::NotNeeded => return None,
        Reach::Unknown => return None,
        Reach::Go | Reach::OtherLibrary => {
            return Some("tenrounds does not reach this library".to_owned())
        }
        Reach::Provider | Reach::Engine | Reach::Java | Reach::Kernel | Reach::Bundled => {}
    }
    let direction = match decrypts {
        true => Direction::Decrypt,
        false => Direction::Encrypt,
    };
    let known = mode.and_then(|name| Mode::aes().find(|mode| mode.name() == name));
    let backend = selection::here().backend?;
    let ours = backend.doing_mode(known.unwrap_or(Mode::Ctr), direction)?;
    let ours = Code::of_backend(ours.name());
    let perhaps = match reach {
        Reach::Bundled => ", if this OpenSSL loads providers",
        _ => "",
    };
    let would = match known {
        Some(_) => "would run",
        None => "can run, depending on the mode,",
    };
    Some(match ours {
        Code::Software if theirs == Code::Software && work == Work::Vperm => {
            "tenrounds has no AES instructions here either".to_owned()
        }
        ours if ours <= theirs && ours != Code::Software => {
            format!("tenrounds uses instructions of the same width{perhaps}")
        }
        ours => format!("with tenrounds it {would} on {}{perhaps}", ours.words()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Code written at run time and Boolean code can be AES, so that many samples of them leave no
    /// bound.
    #[test]
    fn nothing_seen_is_not_nothing_there() {
        use crate::trace::tests::example::{finding, process, trace};
        let verdict = |unclear| {
            let found = finding(Work::Bitslice, 60);
            let mut trace = trace(vec![process(7, "bearssl", vec![found])]);
            (trace.samples, trace.unseen_below) = (1000, Some(0.003));
            trace.unclear_samples = unclear;
            lines(&trace)
        };
        let most = verdict(930);
        let words = "Cannot tell whether AES runs: 93 % of 1,000 samples are in code that was written at run time";
        assert!(most[0].starts_with(words), "{most:?}");
        assert!(!most[0].contains("less than"), "{most:?}");
        assert!(
            most[1].starts_with("bearssl (7): possibly bitsliced"),
            "{most:?}"
        );
        let few = verdict(20);
        assert!(
            few[0].contains("take less than 0.30 % of the time"),
            "{few:?}"
        );
        assert!(
            few[0].contains("bitsliced, interpreted or compiled at run time"),
            "{few:?}"
        );
    }

    #[test]
    fn bounds_are_rounded_up() {
        let bounds = [1.0, 0.125, 0.03, 0.0101, 0.00301, 0.000_003].map(bound);
        assert_eq!(
            bounds,
            ["100 %", "13 %", "3.0 %", "1.1 %", "0.31 %", "0.00030 %"]
        );
    }
}
