// SPDX-License-Identifier: BSD-2-Clause
//! `status --prometheus`: the report in Prometheus' text format, for the textfile collector of its
//! node exporter. docs/fleet.md lists the names, which do not change between releases.

use super::fleet::Fleet;
use super::report::Report;
use super::site::Outcome;
use crate::force::InForce;
use crate::replaced::{Look, Replaced};
use machine::masks;
use std::fmt::Write;
use std::path::Path;
use terminal::error::Result;
use terminal::output;

/// The names and values of labels.
type Labels<'a> = &'a [(&'a str, &'a str)];

/// Metrics in the text format.
struct Metrics(String);

impl Metrics {
    /// Begins a metric. Its samples follow.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP tenrounds_{name} {help}");
        let _ = writeln!(self.0, "# TYPE tenrounds_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: Labels<'_>, value: impl std::fmt::Display) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = match labels.is_empty() {
            true => String::new(),
            false => format!("{{{}}}", labels.join(",")),
        };
        let _ = writeln!(self.0, "tenrounds_{name}{labels} {value}");
    }

    /// A metric whose samples are 1, and whose labels are the information.
    fn facts<'a>(
        &mut self,
        name: &str,
        help: &str,
        facts: impl IntoIterator<Item = Vec<(&'a str, &'a str)>>,
    ) {
        self.metric(name, "gauge", help);
        for labels in facts {
            self.sample(name, &labels, 1);
        }
    }
}

/// A label's value between quotes.
fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

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

fn text(report: &Report, fleet: &Fleet) -> String {
    let mut metrics = Metrics(String::new());
    let version = env!("CARGO_PKG_VERSION");
    metrics.facts(
        "build_info",
        "The version of the tool.",
        [vec![("version", version)]],
    );
    metrics.metric("in_force", "gauge",
        "Whether OpenSSL takes AES from tenrounds: 1 in every installation, 0.5 in some, 0 in none.");
    metrics.sample(
        "in_force",
        &[],
        match report.in_force {
            Some(InForce::Yes) => 1.0,
            Some(InForce::Partly) => 0.5,
            _ => 0.0,
        },
    );
    configurations(&mut metrics, report);
    machine(&mut metrics, fleet);
    counters(&mut metrics, fleet);
    metrics.metric(
        "status_duration_seconds",
        "gauge",
        "The time that this report took.",
    );
    metrics.sample(
        "status_duration_seconds",
        &[],
        format!("{:.3}", report.seconds),
    );
    metrics.0
}

fn configurations(metrics: &mut Metrics, report: &Report) {
    let sites = || {
        report.sites.iter().map(|site| {
            let path = site.configuration.to_string_lossy().into_owned();
            (site, path)
        })
    };
    metrics.metric(
        "configuration_enabled",
        "gauge",
        "Whether a configuration enables tenrounds and works.",
    );
    for (site, path) in sites() {
        let enabled = site.outcome == Outcome::Enabled;
        metrics.sample(
            "configuration_enabled",
            &[("scope", site.scope), ("path", &path)],
            u8::from(enabled),
        );
    }
    metrics.metric(
        "configuration_broken",
        "gauge",
        "Whether a configuration enables tenrounds and does not work.",
    );
    for (site, path) in sites() {
        metrics.sample(
            "configuration_broken",
            &[("scope", site.scope), ("path", &path)],
            u8::from(site.outcome.is_bad()),
        );
    }
    metrics.metric(
        "provider_info",
        "gauge",
        "The version of the provider that a configuration loads.",
    );
    for (site, path) in sites() {
        if let Some(version) = &site.provider_version {
            metrics.sample(
                "provider_info",
                &[("scope", site.scope), ("path", &path), ("version", version)],
                1,
            );
        }
    }
    metrics.metric(
        "openssl_info",
        "gauge",
        "The OpenSSL programs, with their versions.",
    );
    let mut seen = Vec::new();
    for program in report.sites.iter().flat_map(|site| &site.openssl) {
        if !seen.contains(&&program.path) {
            seen.push(&program.path);
            let path = program.path.to_string_lossy();
            metrics.sample(
                "openssl_info",
                &[("path", &path), ("version", &program.version)],
                1,
            );
        }
    }
}

fn machine(metrics: &mut Metrics, fleet: &Fleet) {
    metrics.facts(
        "backend_info",
        "The backend that is selected.",
        fleet.backend.map(|name| vec![("backend", name)]),
    );
    let failed = fleet.failed.iter().map(|name| vec![("backend", *name)]);
    metrics.facts(
        "backend_failed",
        "Backends that failed their known-answer tests.",
        failed,
    );
    metrics.metric(
        "feature_masked",
        "gauge",
        "Features that an environment variable removes.",
    );
    for (variable, mask) in masks::in_force() {
        for feature in &mask.removes {
            metrics.sample(
                "feature_masked",
                &[("feature", feature), ("variable", &variable)],
                1,
            );
        }
    }
    let findings = fleet.processor.iter().map(|id| vec![("id", *id)]);
    metrics.facts(
        "processor_finding",
        "The doctor's findings about the processor, such as features that a hypervisor hides.",
        findings,
    );
    metrics.metric(
        "processes",
        "gauge",
        "Processes with OpenSSL 3 or later, by whether they have loaded tenrounds.",
    );
    if let Some(processes) = &fleet.processes {
        for (state, number) in [
            ("loaded", processes.loaded),
            ("not_loaded", processes.not_loaded),
            ("unreadable", processes.unreadable),
        ] {
            metrics.sample("processes", &[("state", state)], number);
        }
    }
}

fn counters(metrics: &mut Metrics, fleet: &Fleet) {
    let executed = || fleet.counters.executed.iter();
    metrics.metric(
        "counted_bytes_total",
        "counter",
        "Bytes that tenrounds processed in running commands of 'tenrounds run --count'.",
    );
    for one in executed() {
        let labels = [
            ("host", one.host),
            ("backend", one.backend.as_str()),
            ("operation", one.operation.as_str()),
        ];
        metrics.sample("counted_bytes_total", &labels, one.bytes);
    }
    metrics.metric(
        "counted_calls_total",
        "counter",
        "The calls that processed these bytes.",
    );
    for one in executed() {
        let labels = [
            ("host", one.host),
            ("backend", one.backend.as_str()),
            ("operation", one.operation.as_str()),
        ];
        metrics.sample("counted_calls_total", &labels, one.calls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut metrics = Metrics(String::new());
        metrics.sample("x", &[("path", "/a\"b\\c\nd")], 1);
        assert_eq!(metrics.0, "tenrounds_x{path=\"/a\\\"b\\\\c\\nd\"} 1\n");
    }
}
