// SPDX-License-Identifier: BSD-2-Clause
//! `status --prometheus`: prometheus.txt, filled with the report, for the textfile collector of
//! Prometheus' node exporter. docs/fleet.md lists the names, which do not change between releases.

use super::report::Report;
use super::site::Outcome;
use base::replaced::{Look, Replaced};
use base::template;
use machine::masks;
use minijinja::value::{Serde, Value};
use minijinja::{context, Output, State};
use std::collections::BTreeSet;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::output;

/// Writes the metrics of a report of `status` to a file, or to standard output ("-").
pub fn show(report: &Report, target: &Path) -> Result<()> {
    let text = text(report)?;
    match target == Path::new("-") {
        true => output::out(text),
        // The collector reads only names that end in .prom, and so never the file beside.
        false => Replaced::prepare(target)?.fill(&text, Look::Mode(0o644)),
    }
}

fn text(report: &Report) -> Result<String> {
    let mut metrics = template::environment();
    metrics.set_formatter(write_escaped);
    let programs = report.sites.iter().flat_map(|site| &site.openssl);
    // A user's programs read the system's configuration, too.
    let programs: BTreeSet<_> = programs
        .map(|program| (program.path.display().to_string(), &program.version))
        .collect();
    let known = context! {
        version => env!("CARGO_PKG_VERSION"),
        bad => Value::from(Serde(Outcome::BAD)),
        programs => Value::from(Serde(programs)),
        masks => Value::from(Serde(masks::in_force())),
        ..Value::from(Serde(report))
    };
    let text = metrics.render_str(include_str!("prometheus.txt"), known);
    text.map_err(Error::from_reason)
}

/// In the value of a label, a backslash is before quotes and backslashes.
fn write_escaped(
    out: &mut Output,
    _: &mut State,
    value: &Value,
) -> std::result::Result<(), minijinja::Error> {
    let text = value.to_string().replace('\\', "\\\\").replace('"', "\\\"");
    Ok(out.write_str(&text.replace('\n', "\\n"))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enable::site::Site;

    #[test]
    fn values_of_labels_are_escaped() {
        let mut report = Report::default();
        report.machine = Some(Default::default());
        let site = Site::new("user", String::new(), "/a\"b\\c\nd".into(), Vec::new());
        report.sites.push(site);
        let text = text(&report).unwrap();
        assert!(
            text.starts_with("# HELP ") && !text.contains("\n\n"),
            "{text}"
        );
        let label = "path=\"/a\\\"b\\\\c\\nd\"} 0\n";
        assert!(text.contains(label), "{text}");
        assert!(text.contains("\ntenrounds_in_force 0\n"), "{text}");
    }
}
