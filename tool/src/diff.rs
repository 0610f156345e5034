// SPDX-License-Identifier: BSD-2-Clause
//! `tenrounds diff`: two documents of earlier runs, row by row. Rows are compared as fractions of
//! the limit that was measured in the same run, because absolute times of unlike machines, or of
//! one machine at two times, mean nothing.

use crate::bench::chart::Paint;
use crate::bench::figure::size_name;
use crate::bench::runs::{self, Fraction};
use crate::cli::DiffArgs;
use crate::error::{Error, Result};
use crate::libcrypto::LibCrypto;
use crate::output;
use crate::schema::{Document, SCHEMA};
use crate::style::{clean, paint, BAD, BOLD, DIM, GOOD, WARN};
use crate::table::Table;
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// More rows than this are shown only if they changed.
const MANY: usize = 100;

/// The exit status with --fail-slower where something is slower.
const SLOWER: u8 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Same,
    Faster,
    Slower,
}

/// Faster and slower only where the two spreads do not touch.
fn verdict(old: Fraction, new: Fraction) -> Verdict {
    let difference = new.limit_fraction - old.limit_fraction;
    match difference.abs() > old.margin() + new.margin() {
        false => Verdict::Same,
        true if difference > 0.0 => Verdict::Faster,
        true => Verdict::Slower,
    }
}

#[derive(Debug, Serialize)]
struct Pair {
    row: String,
    old: Fraction,
    new: Fraction,
    /// new / old.
    ratio: f64,
    verdict: Verdict,
}

/// Something that is not the same in both, so that figures may differ for it.
#[derive(Debug, Serialize, PartialEq)]
struct Unlike {
    what: String,
    old: String,
    new: String,
}

/// The object `diff` of the JSON document.
#[derive(Debug, Serialize)]
struct Diff {
    files: [String; 2],
    /// Their schemas.
    of: [String; 2],
    unlike: Vec<Unlike>,
    rows: Vec<Pair>,
    only_in_old: Vec<String>,
    only_in_new: Vec<String>,
    /// Rows of both that have no limit in one of them.
    without_limit: Vec<String>,
    slower: usize,
    faster: usize,
}

#[derive(Serialize)]
struct Body {
    diff: Diff,
}

/// A document as far as it matters here: rows by name, in order, and the facts that should agree.
struct Run {
    schema: String,
    rows: Vec<(String, Option<Fraction>)>,
    facts: BTreeMap<String, String>,
}

impl Run {
    /// Whether it is of tenrounds-bench, whose rows are others than those of the tool.
    fn is_of_bench(&self) -> bool {
        self.schema != SCHEMA
    }
}

/// A row of the tool: "aes-128-ctr encrypt, 16 KiB, tenrounds".
fn name_of(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let number = |field: &str| row[field].as_u64().unwrap_or_default();
    let mut name = format!(
        "{} {}, {}, {}",
        text("algorithm"),
        text("direction"),
        size_name(number("bytes") as usize),
        text("implementation")
    );
    if number("threads") > 1 {
        name += &format!(", {} threads", number("threads"));
    }
    clean(name)
}

fn fraction_of(row: &Value) -> Option<Fraction> {
    Fraction::new(row["limit_fraction"].as_f64()?, row["spread"].as_f64()?)
}

/// What bounds the others is not compared with itself.
fn is_bound(who: &str) -> bool {
    matches!(who, "limit" | "ceiling")
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
            let version = plain(&subject["version"]);
            facts.insert(format!("version of {}", clean(id)), version);
        }
    }
    facts
}

/// The rows of a document of `compare` or `speed`.
fn rows_of_tool(document: &Value) -> std::result::Result<Vec<(String, Option<Fraction>)>, String> {
    let command = document["command"].as_str().unwrap_or_default();
    // Until 0.1.0 the paths were an option of compare.
    let paths = document.pointer("/compare/paths").is_some();
    if paths || !matches!(command, "compare" | "speed") {
        let command = if paths { "compare --paths" } else { command };
        return Err(format!(
            "was written by `tenrounds {}`, which measures no limit to compare by",
            clean(command)
        ));
    }
    let rows = document["results"].as_array().ok_or("has no rows")?;
    let who = |row: &Value| {
        row["implementation"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let rows = rows.iter().filter(|row| !is_bound(&who(row)));
    Ok(rows.map(|row| (name_of(row), fraction_of(row))).collect())
}

/// Why a document is not understood, and what to do.
fn unknown(schema: Option<&str>, version: Option<&str>) -> String {
    let known =
        "tenrounds-1 (`tenrounds compare --json`) and tenrounds-bench-1 and -2 (`make bench`)";
    let by = version.map_or(String::new(), |v| {
        format!(", written by tenrounds {}", clean(v))
    });
    match schema {
        Some(schema) if schema.starts_with("tenrounds") => format!(
            "has the schema {}{by}; this is tenrounds {}, which reads {known}; measure again, or \
             compare with the tenrounds that wrote it",
            clean(schema),
            env!("CARGO_PKG_VERSION")
        ),
        _ => format!("is no measurement of tenrounds: it has no schema that is known: {known}"),
    }
}

fn read(path: &Path) -> Result<Run> {
    let wrong = |why: String| Error::failure(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|why| wrong(format!("is no JSON: {why}")))?;
    let schema = document["schema"].as_str();
    let rows = match (runs::rows(&document), schema) {
        (Some(rows), _) => rows.map(|rows| {
            let rows = rows.into_iter().filter(|row| !is_bound(&row.subject));
            rows.map(|row| (row.name(), row.fraction)).collect()
        }),
        (None, Some(SCHEMA)) => rows_of_tool(&document),
        (None, other) => Err(unknown(other, document["version"].as_str())),
    };
    Ok(Run {
        schema: schema.unwrap_or_default().to_owned(),
        rows: rows.map_err(wrong)?,
        facts: facts_of(&document),
    })
}

fn unlike(old: &Run, new: &Run) -> Vec<Unlike> {
    let names: Vec<&String> = old.facts.keys().chain(new.facts.keys()).collect();
    let mut found: Vec<Unlike> = Vec::new();
    let of = |run: &Run, name: &String| run.facts.get(name).cloned().unwrap_or("-".into());
    for name in names {
        let (old, new) = (of(old, name), of(new, name));
        if old != new && !found.iter().any(|u| u.what == *name) {
            let what = name.clone();
            found.push(Unlike { what, old, new });
        }
    }
    found
}

fn compare(files: [String; 2], old: &Run, new: &Run) -> Result<Diff> {
    if old.is_of_bench() != new.is_of_bench() {
        return Err(Error::usage(format!(
            "{} is of {}, {} of {}: their rows are not the same things",
            files[0], old.schema, files[1], new.schema
        )));
    }
    let in_old: BTreeMap<&String, &Option<Fraction>> =
        old.rows.iter().map(|(name, row)| (name, row)).collect();
    let (mut rows, mut only_in_new, mut without_limit) = (Vec::new(), Vec::new(), Vec::new());
    for (name, fraction) in &new.rows {
        match (in_old.get(name), fraction) {
            (None, _) => only_in_new.push(name.clone()),
            (Some(Some(old)), Some(new)) => rows.push(Pair {
                row: name.clone(),
                old: *old,
                new: *new,
                ratio: new.limit_fraction / old.limit_fraction,
                verdict: verdict(*old, *new),
            }),
            _ => without_limit.push(name.clone()),
        }
    }
    if rows.is_empty() {
        return Err(Error::failure(format!(
            "nothing to compare: {} and {} have no row in common that has a limit; measure both \
             with the same arguments, on a processor with AES instructions",
            files[0], files[1]
        )));
    }
    let in_new: BTreeSet<&String> = new.rows.iter().map(|(name, _)| name).collect();
    let only_in_old = old.rows.iter().map(|(name, _)| name);
    let count = |verdict| rows.iter().filter(|r| r.verdict == verdict).count();
    Ok(Diff {
        of: [old.schema.clone(), new.schema.clone()],
        unlike: unlike(old, new),
        only_in_old: only_in_old
            .filter(|n| !in_new.contains(n))
            .cloned()
            .collect(),
        only_in_new,
        without_limit,
        slower: count(Verdict::Slower),
        faster: count(Verdict::Faster),
        rows,
        files,
    })
}

/// The names; of many, how many they are.
fn list(out: &mut String, heading: &str, names: &[String]) {
    match names.len() {
        0 => {}
        1..=MANY => {
            *out += &format!("\n{}\n", paint(BOLD, heading));
            names.iter().for_each(|name| *out += &format!("  {name}\n"));
        }
        many => *out += &format!("\n{}: {many} rows (see --json)\n", paint(BOLD, heading)),
    }
}

fn table(pairs: &[&Pair], sign: &str) -> String {
    let mut table = Table::new(&["fraction of the limit", ">old", ">new", ">change", ""]);
    for pair in pairs {
        let shown = |f: Fraction| format!("{:.3} {sign}{:.3}", f.limit_fraction, f.margin());
        let mark = match pair.verdict {
            Verdict::Same => String::new(),
            Verdict::Faster => paint(GOOD, "faster"),
            Verdict::Slower => paint(BAD, "SLOWER"),
        };
        table.row(vec![
            pair.row.clone(),
            shown(pair.old),
            shown(pair.new),
            format!("{:+.1} %", 100.0 * (pair.ratio - 1.0)),
            mark,
        ]);
    }
    table.to_string()
}

fn text(found: &Diff, painting: Paint) -> String {
    let mut out = String::new();
    if !found.unlike.is_empty() {
        let heading = "NOT ALIKE, so figures may differ for other reasons than the code:";
        out += &format!("{}\n", paint(WARN, heading));
        let mut table = Table::new(&["", "old", "new"]);
        for unlike in &found.unlike {
            let Unlike { what, old, new } = unlike;
            table.row(vec![what.clone(), old.clone(), new.clone()]);
        }
        out += &format!("{table}\n");
    }
    let changed = |pair: &&Pair| found.rows.len() <= MANY || pair.verdict != Verdict::Same;
    let shown: Vec<&Pair> = found.rows.iter().filter(changed).collect();
    if !shown.is_empty() {
        out += &table(&shown, painting.plus_minus());
    }
    list(&mut out, "Only in the old file", &found.only_in_old);
    list(&mut out, "Only in the new file", &found.only_in_new);
    list(&mut out, "Without a limit", &found.without_limit);
    let Diff { slower, faster, .. } = found;
    let rows = found.rows.len();
    let others = match rows > shown.len() {
        true => " The others are not shown (see --json).",
        false => "",
    };
    out.push('\n');
    out += &painting.paragraph(&format!(
        "{rows} rows in both: {slower} slower and {faster} faster beyond both spreads.{others}"
    ));
    let words = painting.paragraph(&format!(
        "limit: nothing but AES rounds, measured in the same run. {}: the spread of each run.",
        painting.plus_minus()
    ));
    out + &paint(DIM, words.trim_end()) + "\n"
}

/// Compares; the exit status.
pub fn diff(args: &DiffArgs) -> Result<u8> {
    let names = [&args.old, &args.new].map(|path| path.display().to_string());
    let found = compare(names, &read(&args.old)?, &read(&args.new)?)?;
    let slower = found.slower > 0;
    match args.json {
        true => {
            let host = crate::host::read(LibCrypto::open().as_ref().ok());
            let body = Body { diff: found };
            output::out(Document::new("diff", host, vec![], body).to_json())?;
        }
        false => output::out(text(&found, Paint::for_stdout()))?,
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
    fn of_many_rows_only_those_that_changed_are_shown() {
        let row = |nth: usize, verdict| Pair {
            row: format!("row {nth}"),
            old: at(0.90, 0.01),
            new: at(0.90, 0.01),
            ratio: 1.0,
            verdict,
        };
        let said = |count: usize, changed: usize| {
            let verdict = |nth| match nth < changed {
                true => Verdict::Faster,
                false => Verdict::Same,
            };
            let found = Diff {
                files: ["old".into(), "new".into()],
                of: ["tenrounds-1".into(), "tenrounds-1".into()],
                unlike: vec![],
                rows: (0..count).map(|nth| row(nth, verdict(nth))).collect(),
                only_in_old: vec![],
                only_in_new: vec![],
                without_limit: (0..count).map(|nth| format!("unbound {nth}")).collect(),
                slower: 0,
                faster: changed,
            };
            let plain = Paint {
                colours: false,
                blocks: false,
                columns: None,
            };
            text(&found, plain)
        };
        assert_eq!(said(MANY, 1).matches("row ").count(), MANY);
        let many = said(MANY + 1, 2);
        assert_eq!(many.matches("row ").count(), 2, "{many}");
        assert!(
            many.contains("101 rows in both") && many.contains("The others are"),
            "{many}"
        );
        assert!(many.contains("Without a limit") && many.contains(": 101 rows (see --json)"));
        assert!(said(MANY, 1).contains("unbound 99") && !many.contains("unbound"));
        let same = said(MANY + 1, 0);
        assert!(!same.contains("fraction of the limit"), "{same}");
    }
}
