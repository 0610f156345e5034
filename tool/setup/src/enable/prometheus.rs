// SPDX-License-Identifier: BSD-2-Clause
//! `status --prometheus`: the report in Prometheus' text format, for the textfile collector of its
//! node exporter. docs/fleet.md lists the names, which do not change between releases.

use super::fleet::Fleet;
use super::report::Report;
use super::site::Outcome;
use crate::counters::Executed;
use crate::force::InForce;
use base::replaced::{Look, Replaced};
use machine::masks;
use std::path::Path;
use terminal::error::Result;
use terminal::output;

/// Writes the metrics of a report of `status` to a file, or to standard output ("-").
pub fn show(report: &Report, target: &Path) -> Result<()> {
    let text = report.machine.as_ref().map(|fleet| text(report, fleet));
    let text = text.unwrap_or_default();
    match target == Path::new("-") {
        true => output::out(text),
        // The collector reads only names that end in .prom, and so never the file beside.
        false => Replaced::prepare(target)?.fill(&text, Look::Mode(0o644)),
    }
}

/// The names and values of labels, and the value.
type Sample<'a> = (Vec<(&'a str, &'a str)>, f64);

/// A metric with its samples. Names that end in "_total" are counters, others gauges.
fn metric<'a>(name: &str, help: &str, samples: impl IntoIterator<Item = Sample<'a>>) -> String {
    let kind = match name.ends_with("_total") {
        true => "counter",
        false => "gauge",
    };
    let mut text = format!("# HELP tenrounds_{name} {help}\n# TYPE tenrounds_{name} {kind}\n");
    for (labels, value) in samples {
        let labels = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)));
        let labels = labels.collect::<Vec<_>>().join(",");
        let labels = match labels.is_empty() {
            true => labels,
            false => format!("{{{labels}}}"),
        };
        text += &format!("tenrounds_{name}{labels} {value}\n");
    }
    text
}

/// A label's value between quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// A sample whose labels are the information.
fn fact<'a>(labels: &[(&'a str, &'a str)]) -> Sample<'a> {
    (labels.to_vec(), 1.0)
}

fn text(report: &Report, fleet: &Fleet) -> String {
    let in_force = match report.in_force {
        Some(InForce::Yes) => 1.0,
        Some(InForce::Partly) => 0.5,
        _ => 0.0,
    };
    [
        metric("build_info", "The version of the tool.", [fact(&[("version", env!("CARGO_PKG_VERSION"))])]),
        metric(
            "in_force",
            "Whether OpenSSL takes AES from tenrounds: 1 in every installation, 0.5 in some, 0 in none.",
            [(vec![], in_force)],
        ),
        configurations(report),
        machine(fleet),
        metric(
            "status_duration_seconds",
            "The time that this report took.",
            [(vec![], (report.seconds * 1000.0).round() / 1000.0)],
        ),
    ]
    .concat()
}

fn configurations(report: &Report) -> String {
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let sites = report
        .sites
        .iter()
        .map(|site| (site, path(&site.configuration)));
    let sites: Vec<_> = sites.collect();
    let each = |holds: fn(Outcome) -> bool| {
        sites.iter().map(move |(site, path)| {
            (
                vec![("scope", site.scope), ("path", path.as_str())],
                f64::from(holds(site.outcome)),
            )
        })
    };
    let providers = sites.iter().filter_map(|(site, path)| {
        let version = site.provider_version.as_deref()?;
        Some(fact(&[
            ("scope", site.scope),
            ("path", path),
            ("version", version),
        ]))
    });
    let programs = report.sites.iter().flat_map(|site| &site.openssl);
    let mut programs: Vec<_> = programs
        .map(|program| (path(&program.path), &program.version))
        .collect();
    programs.sort();
    programs.dedup();
    let programs = programs
        .iter()
        .map(|(path, version)| fact(&[("path", path), ("version", version)]));
    [
        metric(
            "configuration_enabled",
            "Whether a configuration enables tenrounds and works.",
            each(|outcome| outcome == Outcome::Enabled),
        ),
        metric(
            "configuration_broken",
            "Whether a configuration enables tenrounds and does not work.",
            each(Outcome::is_bad),
        ),
        metric(
            "provider_info",
            "The version of the provider that a configuration loads.",
            providers,
        ),
        metric(
            "openssl_info",
            "The OpenSSL programs, with their versions.",
            programs,
        ),
    ]
    .concat()
}

fn machine(fleet: &Fleet) -> String {
    let masked = masks::in_force();
    let masked = masked.iter().flat_map(|(variable, mask)| {
        let features = mask.removes.iter();
        features.map(move |feature| fact(&[("feature", feature), ("variable", variable)]))
    });
    let processes = fleet.processes.as_ref().map(|found| {
        [
            (vec![("state", "loaded")], found.loaded as f64),
            (vec![("state", "not_loaded")], found.not_loaded as f64),
            (vec![("state", "unreadable")], found.unreadable as f64),
        ]
    });
    let counted = |value: fn(&Executed) -> u64| {
        fleet.counters.executed.iter().map(move |one| {
            let labels = vec![
                ("host", one.host),
                ("backend", one.backend.as_str()),
                ("operation", one.operation.as_str()),
            ];
            (labels, value(one) as f64)
        })
    };
    [
        metric(
            "backend_info",
            "The backend that is selected.",
            fleet.backend.map(|name| fact(&[("backend", name)])),
        ),
        metric(
            "backend_failed",
            "Backends that failed their known-answer tests.",
            fleet.failed.iter().map(|name| fact(&[("backend", name)])),
        ),
        metric(
            "feature_masked",
            "Features that an environment variable removes.",
            masked,
        ),
        metric(
            "processor_finding",
            "The doctor's findings about the processor, such as features that a hypervisor hides.",
            fleet.processor.iter().map(|id| fact(&[("id", id)])),
        ),
        metric(
            "processes",
            "Processes with OpenSSL 3 or later, by whether they have loaded tenrounds.",
            processes.into_iter().flatten(),
        ),
        metric(
            "counted_bytes_total",
            "Bytes that tenrounds processed in running commands of 'tenrounds run --count'.",
            counted(|one| one.bytes),
        ),
        metric(
            "counted_calls_total",
            "The calls that processed these bytes.",
            counted(|one| one.calls),
        ),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let text = metric("x", "A test.", [fact(&[("path", "/a\"b\\c\nd")])]);
        assert!(
            text.ends_with("\ntenrounds_x{path=\"/a\\\"b\\\\c\\nd\"} 1\n"),
            "{text}"
        );
    }
}
