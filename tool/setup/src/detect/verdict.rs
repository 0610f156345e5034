// SPDX-License-Identifier: BSD-2-Clause
//! The verdict: which code does AES-GCM here, in tenrounds and in OpenSSL, and what would make it
//! better.

use super::code::Code;
use super::facts::Detect;
use machine::schema::Host;

pub fn lines(host: &Host, detect: &Detect) -> Vec<String> {
    let mut lines = vec![gcm(host, detect)];
    lines.extend(better(detect));
    lines
}

fn gcm(host: &Host, detect: &Detect) -> String {
    let row = detect.table.iter().find(|row| row.mode == "gcm");
    let ours = row.and_then(|row| row.tenrounds).unwrap_or(Code::Software);
    let software = match ours {
        Code::Software if masked(host) => ", in constant time, because AES instructions are masked",
        Code::Software => ", in constant time, because this processor has no AES instructions",
        _ => "",
    };
    let ours_does = format!("AES-GCM runs on {} in tenrounds{software}.", ours.words());
    let Some(openssl) = &host.openssl else {
        return format!("{ours_does} No OpenSSL 3 or later was found that could use it.");
    };
    if detect.provider.in_use.is_none() {
        return format!(
            "{ours_does} OpenSSL gives no AES in this environment: `tenrounds doctor` looks for the reason."
        );
    }
    let name: Vec<&str> = openssl.version.split(' ').take(2).collect();
    let theirs = row.and_then(|row| row.openssl);
    let theirs_does = match theirs {
        None => "cannot be asked what it uses".to_owned(),
        Some(theirs) if theirs == ours => "uses the same instructions".to_owned(),
        Some(theirs) => format!("uses {} for it", theirs.words()),
    };
    let shows = match theirs {
        Some(theirs) if theirs != ours => "the difference",
        _ => "how fast both are",
    };
    format!(
        "{ours_does} {}'s own code {theirs_does}: `tenrounds bench gcm` shows {shows}.",
        name.join(" ")
    )
}

fn masked(host: &Host) -> bool {
    let mut removed = host.masks.values().flat_map(|mask| &mask.removes);
    removed.any(|feature| feature == "aes")
}

/// What stands between this machine and faster code.
fn better(detect: &Detect) -> Option<String> {
    if let Some(failed) = detect.failed.first() {
        return Some(format!(
            "The backend {failed} failed its known answers, so {} does its work; please report this.",
            detect.backend
        ));
    }
    if let Some(advice) = detect.advice.first() {
        let gives = match advice.gives {
            Some(backend) => format!(", which would give {}", Code::of_backend(backend).words()),
            None => String::new(),
        };
        let problem = advice.problem.trim_end_matches(':');
        return Some(format!(
            "A setting may help{gives}: {problem}. `tenrounds status -v` shows it."
        ));
    }
    (!detect.avoided.is_empty()).then(|| avoided(detect))
}

/// Why the widest registers are not used.
pub fn avoided(detect: &Detect) -> String {
    format!(
        "{} lowers the clock of this processor, and AES is no faster by it, so {} is selected. TENROUNDS_MASK=avx512 uses it nonetheless.",
        detect.avoided.join(", "),
        detect.backend
    )
}
