// SPDX-License-Identifier: BSD-2-Clause
//! `compare --baseline`: two documents of earlier runs, row by row. Rows are compared as fractions of the limit that was
//! measured in the same run, because absolute times of unlike machines, or of one machine at two times, mean nothing.

use super::figure::size_name;
use crate::cli::CompareArgs;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::output;
use crate::schema::Document;
use crate::style::{clean, paint, unicode, BAD, BOLD, DIM, GOOD, WARN};
use crate::table::Table;
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// The exit status with --fail-slower where something is slower.
const SLOWER: u8 = 3;

/// A row's fraction of the limit, and how far about that lie half of the rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Fraction {
    limit_fraction: f64,
    /// Half the distance between the quartiles, as a fraction of the median.
    spread: f64,
}

impl Fraction {
    fn margin(&self) -> f64 {
        self.limit_fraction * self.spread
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Same,
    Faster,
    Slower,
}

/// Faster and slower only where the two spreads do not touch.
fn verdict(before: Fraction, now: Fraction) -> Verdict {
    let difference = now.limit_fraction - before.limit_fraction;
    match difference.abs() > before.margin() + now.margin() {
        false => Verdict::Same,
        true if difference > 0.0 => Verdict::Faster,
        true => Verdict::Slower,
    }
}

#[derive(Debug, Serialize)]
struct Pair {
    row: String,
    baseline: Fraction,
    now: Fraction,
    /// now / baseline.
    ratio: f64,
    verdict: Verdict,
}

/// Something that is not the same in both, so that figures may differ for it.
#[derive(Debug, Serialize, PartialEq)]
struct Unlike {
    what: String,
    baseline: String,
    now: String,
}

/// The object `baseline` of the JSON document.
#[derive(Debug, Serialize)]
struct Baseline {
    files: [String; 2],
    /// "tenrounds-bench-1" or "tenrounds-1".
    of: String,
    unlike: Vec<Unlike>,
    rows: Vec<Pair>,
    only_in_baseline: Vec<String>,
    only_now: Vec<String>,
    /// Rows of both that have no limit in one of them.
    without_limit: Vec<String>,
    slower: usize,
    faster: usize,
}

#[derive(Serialize)]
struct Body {
    baseline: Baseline,
}

/// A document as far as it matters here: rows by name, in order, and the facts that should agree.
struct Run {
    of: String,
    rows: Vec<(String, Option<Fraction>)>,
    facts: BTreeMap<String, String>,
}

/// The row of an implementation by whatever tells it from others, as a person would say it.
fn name_of(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let number = |field: &str| row[field].as_u64().unwrap_or_default();
    let (cipher, who) = match row["mode"].as_str() {
        Some(mode) => {
            let name = format!("aes-{}-{mode}", number("key_bits"));
            (name, text("subject"))
        }
        None => (text("algorithm").to_owned(), text("implementation")),
    };
    let mut name = format!(
        "{cipher} {}, {}, {who}",
        text("direction"),
        size_name(number("bytes") as usize)
    );
    for (field, unit) in [("streams", "streams"), ("threads", "threads")] {
        if number(field) > 1 {
            name += &format!(", {} {unit}", number(field));
        }
    }
    for (field, usual) in [("kind", "throughput"), ("environment", "plain")] {
        let value = text(field);
        if !value.is_empty() && value != usual {
            name += &format!(", {value}");
        }
    }
    clean(name)
}

/// What bounds the others is not compared with itself.
fn is_bound(row: &Value) -> bool {
    let who = row["subject"].as_str().or(row["implementation"].as_str());
    matches!(who, Some("limit" | "ceiling"))
}

/// tenrounds-bench writes the quartiles of the fraction; compare its median, and the spread of the rate.
fn fraction_of(row: &Value) -> Option<Fraction> {
    let fraction = &row["limit_fraction"];
    let found = match fraction.as_f64() {
        Some(median) => Fraction {
            limit_fraction: median,
            spread: row["spread"].as_f64()?,
        },
        None => {
            let part = |name: &str| fraction[name].as_f64();
            let median = part("median")?;
            Fraction {
                limit_fraction: median,
                spread: (part("q3")? - part("q1")?) / 2.0 / median,
            }
        }
    };
    let sane = found.limit_fraction > 0.0 && found.spread >= 0.0 && found.spread.is_finite();
    sane.then_some(found)
}

/// What figures depend on besides the code. "-" where it was not known.
fn facts_of(document: &Value) -> BTreeMap<String, String> {
    const HOST: [(&str, &str); 10] = [
        ("processor", "/host/cpu/brand"),
        ("family", "/host/cpu/family"),
        ("model", "/host/cpu/model"),
        ("stepping", "/host/cpu/stepping"),
        ("microcode", "/host/microcode"),
        ("governor", "/host/governor"),
        ("hypervisor", "/host/hypervisor"),
        ("kernel", "/host/kernel"),
        ("OpenSSL", "/host/openssl/version"),
        ("tenrounds", "/version"),
    ];
    let plain = |value: &Value| match value {
        Value::String(text) => clean(text),
        Value::Null => "-".to_owned(),
        other => clean(other),
    };
    let mut facts: BTreeMap<String, String> = HOST
        .iter()
        .map(|(name, at)| {
            let value = document.pointer(at).map_or("-".to_owned(), plain);
            ((*name).to_owned(), value)
        })
        .collect();
    let masks = document["host"]["masks"].as_object();
    for (variable, mask) in masks.into_iter().flatten() {
        facts.insert(clean(variable), plain(&mask["value"]));
    }
    for subject in document["subjects"].as_array().into_iter().flatten() {
        if let Some(id) = subject["id"].as_str() {
            facts.insert(
                format!("version of {}", clean(id)),
                plain(&subject["version"]),
            );
        }
    }
    facts
}

fn read(path: &Path) -> Result<Run> {
    let wrong = |why: String| Error::failure(format!("--baseline: {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|why| wrong(format!("is no JSON: {why}")))?;
    let (of, rows) = match (document["schema"].as_str(), document["command"].as_str()) {
        (Some(of @ "tenrounds-bench-1"), _) => (of, &document["rows"]),
        (Some(of @ "tenrounds-1"), Some("compare" | "speed")) => (of, &document["results"]),
        (schema, _) => {
            let schema = schema.unwrap_or("none");
            let say = "say two files of 'tenrounds compare --json' or of 'make bench'";
            return Err(wrong(format!("its schema is {schema:?}; {say}")));
        }
    };
    let rows = rows.as_array().ok_or_else(|| wrong("has no rows".into()))?;
    let rows = rows.iter().filter(|row| !is_bound(row));
    Ok(Run {
        of: of.to_owned(),
        rows: rows.map(|row| (name_of(row), fraction_of(row))).collect(),
        facts: facts_of(&document),
    })
}

fn unlike(before: &Run, now: &Run) -> Vec<Unlike> {
    let names: Vec<&String> = before.facts.keys().chain(now.facts.keys()).collect();
    let mut found: Vec<Unlike> = Vec::new();
    let of = |run: &Run, name: &String| run.facts.get(name).cloned().unwrap_or("-".into());
    for name in names {
        let (baseline, now) = (of(before, name), of(now, name));
        if baseline != now && !found.iter().any(|u| u.what == *name) {
            found.push(Unlike {
                what: name.clone(),
                baseline,
                now,
            });
        }
    }
    found
}

fn compare(files: [String; 2], before: &Run, now: &Run) -> Result<Baseline> {
    if before.of != now.of {
        return Err(Error::usage(format!(
            "--baseline: {} is of {}, {} of {}: their rows are not the same things",
            files[0], before.of, files[1], now.of
        )));
    }
    let in_baseline: BTreeMap<&String, &Option<Fraction>> =
        before.rows.iter().map(|(name, row)| (name, row)).collect();
    let (mut rows, mut only_now, mut without_limit) = (Vec::new(), Vec::new(), Vec::new());
    for (name, fraction) in &now.rows {
        match (in_baseline.get(name), fraction) {
            (None, _) => only_now.push(name.clone()),
            (Some(Some(baseline)), Some(now)) => rows.push(Pair {
                row: name.clone(),
                baseline: *baseline,
                now: *now,
                ratio: now.limit_fraction / baseline.limit_fraction,
                verdict: verdict(*baseline, *now),
            }),
            _ => without_limit.push(name.clone()),
        }
    }
    let still = |name: &String| now.rows.iter().any(|(other, _)| other == name);
    let only_in_baseline = before.rows.iter().map(|(name, _)| name);
    let count = |verdict| rows.iter().filter(|r| r.verdict == verdict).count();
    Ok(Baseline {
        of: now.of.clone(),
        unlike: unlike(before, now),
        only_in_baseline: only_in_baseline.filter(|n| !still(n)).cloned().collect(),
        only_now,
        without_limit,
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        rows,
        files,
    })
}

fn list(out: &mut String, heading: &str, names: &[String]) {
    if !names.is_empty() {
        *out += &format!("\n{}\n", paint(BOLD, heading));
        names.iter().for_each(|name| *out += &format!("  {name}\n"));
    }
}

fn text(found: &Baseline) -> String {
    let mut out = String::new();
    if !found.unlike.is_empty() {
        let heading = "NOT ALIKE, so that figures may differ for other reasons than the code:";
        out += &format!("{}\n", paint(WARN, heading));
        let mut table = Table::new(&["", "baseline", "now"]);
        for unlike in &found.unlike {
            let Unlike {
                what,
                baseline,
                now,
            } = unlike;
            table.row(vec![what.clone(), baseline.clone(), now.clone()]);
        }
        out += &format!("{table}\n");
    }
    let sign = if unicode() { "±" } else { "+-" };
    let mut table = Table::new(&["fraction of the limit", ">baseline", ">now", ">change", ""]);
    for pair in &found.rows {
        let shown = |f: Fraction| format!("{:.3} {sign}{:.3}", f.limit_fraction, f.margin());
        let mark = match pair.verdict {
            Verdict::Same => String::new(),
            Verdict::Faster => paint(GOOD, "faster"),
            Verdict::Slower => paint(BAD, "SLOWER"),
        };
        let change = format!("{:+.1} %", 100.0 * (pair.ratio - 1.0));
        table.row(vec![
            pair.row.clone(),
            shown(pair.baseline),
            shown(pair.now),
            change,
            mark,
        ]);
    }
    out += &table.to_string();
    list(&mut out, "Only in the baseline", &found.only_in_baseline);
    list(&mut out, "Only now", &found.only_now);
    list(&mut out, "Without a limit", &found.without_limit);
    let Baseline { slower, faster, .. } = found;
    out += &format!(
        "\n{} rows in both: {slower} slower and {faster} faster beyond both spreads.\n{}\n",
        found.rows.len(),
        paint(
            DIM,
            format!("{sign} is half the distance between the quartiles.")
        )
    );
    out
}

/// Compares; the exit status.
pub fn run(args: &CompareArgs, files: &[std::path::PathBuf]) -> Result<u8> {
    let [before, now] = files else {
        return Err(Error::usage("--baseline takes two files"));
    };
    let names = [before, now].map(|path| path.display().to_string());
    let found = compare(names, &read(before)?, &read(now)?)?;
    let slower = found.slower > 0;
    match args.measure.json {
        true => {
            let host = crate::host::read(LibCrypto::open().as_ref().ok());
            let body = Body { baseline: found };
            output::out(Document::new("baseline", host, vec![], body).to_json())?;
        }
        false => output::out(text(&found))?,
    }
    Ok(if slower && args.fail_slower {
        SLOWER
    } else {
        0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(limit_fraction: f64, spread: f64) -> Fraction {
        Fraction {
            limit_fraction,
            spread,
        }
    }

    #[test]
    fn a_change_counts_beyond_both_spreads() {
        assert_eq!(verdict(at(0.90, 0.01), at(0.91, 0.01)), Verdict::Same);
        assert_eq!(verdict(at(0.90, 0.01), at(0.93, 0.01)), Verdict::Faster);
        assert_eq!(verdict(at(0.90, 0.01), at(0.87, 0.01)), Verdict::Slower);
        assert_eq!(verdict(at(0.90, 0.01), at(0.87, 0.05)), Verdict::Same);
        assert_eq!(verdict(at(0.90, 0.0), at(0.90, 0.0)), Verdict::Same);
    }

    #[test]
    fn fractions_of_both_kinds_of_document() {
        let of_compare = serde_json::json!({"limit_fraction": 0.5, "spread": 0.02});
        assert_eq!(fraction_of(&of_compare), Some(at(0.5, 0.02)));
        let of_bench = serde_json::json!({
            "limit_fraction": {"median": 0.5, "q1": 0.49, "q3": 0.51}, "spread": 0.3
        });
        let found = fraction_of(&of_bench).unwrap();
        assert!((found.spread - 0.02).abs() < 1e-12, "{found:?}");
        for nothing in [
            serde_json::json!({"limit_fraction": null, "spread": 0.02}),
            serde_json::json!({"limit_fraction": 0.0, "spread": 0.02}),
            serde_json::json!({}),
        ] {
            assert_eq!(fraction_of(&nothing), None);
        }
    }

    #[test]
    fn rows_have_names_of_their_own() {
        let row = |more: &[(&str, Value)]| {
            let mut row = serde_json::json!({
                "mode": "cbc", "key_bits": 128, "direction": "encrypt", "bytes": 1024,
                "streams": 1, "threads": 1, "kind": "throughput", "environment": "plain",
                "subject": "core"
            });
            for (field, value) in more {
                row[*field] = value.clone();
            }
            name_of(&row)
        };
        assert_eq!(row(&[]), "aes-128-cbc encrypt, 1 KiB, core");
        let many = row(&[("streams", 16.into()), ("threads", 2.into())]);
        assert_eq!(
            many,
            "aes-128-cbc encrypt, 1 KiB, core, 16 streams, 2 threads"
        );
        let alone = row(&[("kind", "alone".into()), ("environment", "software".into())]);
        assert_eq!(alone, "aes-128-cbc encrypt, 1 KiB, core, alone, software");
    }
}
