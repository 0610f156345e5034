// SPDX-License-Identifier: BSD-2-Clause
//! `status --prometheus`: the report in Prometheus' text format, for the textfile collector of its
//! node exporter. docs/fleet.md lists the names, which do not change between releases.

use super::fleet::Fleet;
use super::report::Report;
use super::site::Outcome;
use crate::force::InForce;
use base::replaced::{Look, Replaced};
use machine::masks;
use std::collections::BTreeSet;
use std::path::Path;
use terminal::error::Result;
use terminal::output;

/// Writes the metrics of a report of `status` to a file, or to standard output ("-").
pub fn show(report: &Report, target: &Path) -> Result<()> {
    let fleet = report.machine.as_ref();
    let metrics = metrics(report)
        .into_iter()
        .chain(fleet.map(machine).into_iter().flatten());
    let text: String = metrics.map(Metric::text).collect();
    match target == Path::new("-") {
        true => output::out(text),
        // The collector reads only names that end in .prom, and so never the file beside.
        false => Replaced::prepare(target)?.fill(&text, Look::Mode(0o644)),
    }
}

/// A gauge: its name, what it means, and its samples.
struct Metric(&'static str, &'static str, Vec<Sample>);

/// The labels as they are written, and the value.
type Sample = (String, f64);

impl Metric {
    fn text(self) -> String {
        let Metric(name, help, samples) = self;
        let head = format!("# HELP tenrounds_{name} {help}\n# TYPE tenrounds_{name} gauge\n");
        let line = |(labels, value)| format!("tenrounds_{name}{labels} {value}\n");
        head + &samples.into_iter().map(line).collect::<String>()
    }
}

/// `{name="value",...}`.
fn labels(labels: &[(&str, &str)]) -> String {
    let escaped = |value: &str| {
        let value = value.replace('\\', "\\\\").replace('"', "\\\"");
        value.replace('\n', "\\n")
    };
    let labels = labels.iter();
    let labels = labels.map(|(name, value)| format!("{name}=\"{}\"", escaped(value)));
    format!("{{{}}}", labels.collect::<Vec<_>>().join(","))
}

/// Samples whose labels are the information.
fn facts<'a>(label: &str, values: impl IntoIterator<Item = &'a str>) -> Vec<Sample> {
    let values = values.into_iter();
    values
        .map(|value| (labels(&[(label, value)]), 1.0))
        .collect()
}

fn metrics(report: &Report) -> Vec<Metric> {
    let in_force = match report.in_force {
        Some(InForce::Yes) => 1.0,
        Some(InForce::Partly) => 0.5,
        _ => 0.0,
    };
    let alone = |value| vec![(String::new(), value)];
    let site = |site: &super::site::Site, more: &[(&str, &str)]| {
        let path = site.configuration.to_string_lossy();
        labels(&[&[("scope", site.scope), ("path", &path)], more].concat())
    };
    let each = |holds: fn(Outcome) -> bool| {
        let sites = report.sites.iter();
        sites
            .map(|s| (site(s, &[]), f64::from(holds(s.outcome))))
            .collect()
    };
    let providers = report.sites.iter().filter_map(|s| {
        let version = s.provider_version.as_deref()?;
        Some((site(s, &[("version", version)]), 1.0))
    });
    let programs = report.sites.iter().flat_map(|site| &site.openssl);
    let programs: BTreeSet<String> = programs
        .map(|p| labels(&[("path", &p.path.to_string_lossy()), ("version", &p.version)]))
        .collect();
    vec![
        Metric(
            "build_info",
            "The version of the tool.",
            facts("version", [env!("CARGO_PKG_VERSION")]),
        ),
        Metric(
            "in_force",
            "Whether OpenSSL prefers tenrounds: 1 in every installation, 0.5 in some, 0 in none.",
            alone(in_force),
        ),
        Metric(
            "configuration_enabled",
            "Whether a configuration enables tenrounds and works.",
            each(|outcome| outcome == Outcome::Enabled),
        ),
        Metric(
            "configuration_broken",
            "Whether a configuration enables tenrounds and does not work.",
            each(Outcome::is_bad),
        ),
        Metric(
            "provider_info",
            "The version of the provider that a configuration loads.",
            providers.collect(),
        ),
        Metric(
            "openssl_info",
            "The OpenSSL programs, with their versions.",
            programs.into_iter().map(|labels| (labels, 1.0)).collect(),
        ),
        Metric(
            "status_duration_seconds",
            "The time that this report took.",
            alone((report.seconds * 1000.0).round() / 1000.0),
        ),
    ]
}

fn machine(fleet: &Fleet) -> Vec<Metric> {
    let masked = masks::in_force();
    let masked = masked.iter().flat_map(|(variable, mask)| {
        let features = mask.removes.iter();
        features.map(move |feature| (labels(&[("feature", feature), ("variable", variable)]), 1.0))
    });
    let processes = fleet.processes.iter().flat_map(|found| {
        let states = [
            ("loaded", found.loaded),
            ("not_loaded", found.not_loaded),
            ("unreadable", found.unreadable),
        ];
        states.map(|(state, count)| (labels(&[("state", state)]), count as f64))
    });
    vec![
        Metric(
            "backend_info",
            "The backend that is selected.",
            facts("backend", fleet.backend),
        ),
        Metric(
            "backend_failed",
            "Backends that failed their known-answer tests.",
            facts("backend", fleet.failed.iter().copied()),
        ),
        Metric(
            "feature_masked",
            "Features that an environment variable removes.",
            masked.collect(),
        ),
        Metric(
            "processor_finding",
            "The doctor's findings about the processor, such as features that a hypervisor hides.",
            facts("id", fleet.processor.iter().copied()),
        ),
        Metric(
            "processes",
            "Processes with OpenSSL 3 or later, by whether they have loaded tenrounds.",
            processes.collect(),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_labels_are_escaped() {
        let text = labels(&[("path", "/a\"b\\c\nd")]);
        assert_eq!(text, "{path=\"/a\\\"b\\\\c\\nd\"}");
    }
}
