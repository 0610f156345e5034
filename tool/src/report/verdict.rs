// SPDX-License-Identifier: BSD-2-Clause
//! The verdict of `report`: whether tenrounds is in force, which AES code runs, what is gained,
//! what is installed, and what the doctor found.

use super::facts::{Gain, Report};
use terminal::gigabytes;
use terminal::size_name;
use terminal::style::grouped;

/// The verdict has no more lines of the trace.
const OF_TRACE: usize = 3;

pub fn lines(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report.doctor.summary.iter().take(1).cloned().collect();
    if let Some(trace) = &report.trace {
        lines.extend(trace.verdict.iter().take(OF_TRACE).cloned());
    }
    lines.extend(gain(&report.summary.gains));
    lines.push(installed(report));
    lines.push(findings(report));
    lines
}

/// The gain at the largest size.
fn gain(gains: &[Gain]) -> Option<String> {
    let bytes = gains.iter().map(|gain| gain.bytes).max()?;
    let largest = gains.iter().filter(|gain| gain.bytes == bytes);
    let best = largest
        .clone()
        .max_by(|a, b| a.ratio.total_cmp(&b.ratio))
        .expect("there is a largest size");
    let least = largest.map(|gain| gain.ratio).fold(f64::MAX, f64::min);
    let others = match least < best.ratio {
        true => format!(" The least gain of a measured mode is {least:.2} times."),
        false => String::new(),
    };
    Some(format!(
        "{} in calls of {} runs at {} GB/s with tenrounds and at {} GB/s in OpenSSL alone: {:.2} times as fast.{others}",
        best.title(),
        size_name(best.bytes),
        gigabytes(best.tenrounds),
        gigabytes(best.openssl),
        best.ratio,
    ))
}

fn installed(report: &Report) -> String {
    let (summary, scan) = (&report.summary, &report.scan);
    let (time, all) = match scan.not_reached {
        Some(left) if left > 0 => (
            " that the report had time to examine",
            " `tenrounds scan` examines all.",
        ),
        _ => ("", ""),
    };
    format!(
        "There is AES code in {} of {} programs and libraries{time}; tenrounds can replace it in {}.{all}",
        grouped(summary.files as u64),
        grouped(scan.examined as u64),
        grouped(summary.reached as u64),
    )
}

/// How many findings there are, and the first step.
fn findings(report: &Report) -> String {
    let found = report.doctor.counts();
    let found = found.unwrap_or_else(|| "nothing to fix".to_owned());
    let found = format!("The doctor found {found}.");
    let steps = report.doctor.summary.iter().skip(1);
    steps.fold(found, |line, step| line + " " + step)
}
