// SPDX-License-Identifier: BSD-2-Clause
//! A run of `bench` against an earlier one, row by row, both as JSON. Rows are compared as
//! fractions of the limit that was measured in the same run, because absolute times of unlike
//! machines, or of one machine at two times, mean nothing.

use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::size_name;
use terminal::style::{clean, paint, wrapped, BAD, DIM, GOOD, WARN};
use terminal::table::Table;

/// More rows than this are shown only if they changed.
const MANY: usize = 100;

/// The exit status that tells a script of a slower row.
pub const SLOWER: u8 = 3;

/// A row's fraction of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Fraction {
    limit_fraction: f64,
    /// As the run has it, as a fraction of the median.
    spread: f64,
}

impl Fraction {
    /// None if either makes no sense.
    fn new(limit_fraction: f64, spread: f64) -> Option<Fraction> {
        let sane = limit_fraction > 0.0 && spread >= 0.0 && spread.is_finite();
        sane.then_some(Fraction {
            limit_fraction,
            spread,
        })
    }

    fn margin(&self) -> f64 {
        self.limit_fraction * self.spread
    }
}

/// A run as far as it matters here.
pub struct Side {
    /// Its file, or another name.
    name: String,
    /// By name, in order.
    rows: Vec<(String, Option<Fraction>)>,
    /// What figures depend on besides the code. "-" where it was not known.
    facts: BTreeMap<String, String>,
}

impl Side {
    /// Reads a file of `tenrounds bench --json` with this schema.
    pub fn read(path: &Path, schema: &str) -> Result<Side> {
        let name = path.display().to_string();
        let wrong = |why: String| Error::failure(format!("{name}: {why}"));
        let text = std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?;
        let document: Value =
            serde_json::from_str(&text).map_err(|why| wrong(format!("is no JSON: {why}")))?;
        let text = |field: &str| document[field].as_str().map(clean);
        match (text("schema"), text("command")) {
            (Some(other), _) if other != schema => Err(wrong(format!(
                "has the schema {other} instead of {schema}; measure again, with tenrounds bench --json"
            ))),
            (Some(_), Some(command)) if command != "bench" => Err(wrong(format!(
                "was written by `tenrounds {command}` and not by `tenrounds bench --json`"
            ))),
            (Some(_), Some(_)) => Ok(Side::of(name, &document)),
            _ => Err(wrong("is no measurement of tenrounds bench --json".into())),
        }
    }

    /// A document of `bench`. The limit is not compared with itself.
    pub fn of(name: String, document: &Value) -> Side {
        let rows = document["results"].as_array().into_iter().flatten();
        let rows = rows.filter(|row| row["implementation"] != "limit");
        Side {
            name,
            rows: rows.map(|row| (name_of(row), fraction_of(row))).collect(),
            facts: facts(document),
        }
    }
}

/// "aes-128-ctr encrypt, 16 KiB, tenrounds".
fn name_of(row: &Value) -> String {
    let text = |field: &str| row[field].as_str().unwrap_or_default();
    let number = |field: &str| row[field].as_u64().unwrap_or_default();
    let threads = match number("threads") {
        0 | 1 => String::new(),
        many => format!(", {many} threads"),
    };
    clean(format!(
        "{} {}, {}, {}{threads}",
        text("algorithm"),
        text("direction"),
        size_name(number("bytes") as usize),
        text("implementation")
    ))
}

fn fraction_of(row: &Value) -> Option<Fraction> {
    Fraction::new(row["limit_fraction"].as_f64()?, row["spread"].as_f64()?)
}

/// What the JSON document of a run says about its machine and its versions.
fn facts(document: &Value) -> BTreeMap<String, String> {
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
    let of_host = HOST.iter().map(|(name, at)| {
        let value = document.pointer(at).map_or("-".to_owned(), plain);
        ((*name).to_owned(), value)
    });
    let masks = document["host"]["masks"].as_object();
    let masks = masks.into_iter().flatten();
    let masks = masks.map(|(variable, mask)| (clean(variable), plain(&mask["value"])));
    of_host.chain(masks).collect()
}

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
#[derive(Debug, Serialize)]
struct Unlike {
    what: String,
    old: String,
    new: String,
}

/// The object `baseline` of the JSON document.
#[derive(Debug, Serialize)]
pub struct Baseline {
    /// The earlier run.
    file: String,
    unlike: Vec<Unlike>,
    rows: Vec<Pair>,
    only_in_old: Vec<String>,
    only_in_new: Vec<String>,
    /// Rows of both that have no limit in one of them.
    without_limit: Vec<String>,
    slower: usize,
    faster: usize,
}

fn unlike(old: &Side, new: &Side) -> Vec<Unlike> {
    let names: BTreeSet<&String> = old.facts.keys().chain(new.facts.keys()).collect();
    let of = |run: &Side, name| run.facts.get(name).cloned().unwrap_or("-".into());
    let both = names.into_iter().map(|name| Unlike {
        what: name.clone(),
        old: of(old, name),
        new: of(new, name),
    });
    both.filter(|fact| fact.old != fact.new).collect()
}

impl Baseline {
    /// An error if nothing can be compared.
    pub fn of(old: &Side, new: &Side) -> Result<Baseline> {
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
            old.name, new.name
        )));
        }
        let in_new: BTreeSet<&String> = new.rows.iter().map(|(name, _)| name).collect();
        let only_in_old = old.rows.iter().map(|(name, _)| name);
        let count = |verdict| rows.iter().filter(|r| r.verdict == verdict).count();
        Ok(Baseline {
            file: old.name.clone(),
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
        })
    }

    pub fn has_slower(&self) -> bool {
        self.slower > 0
    }

    /// As a person reads it, in lines of so many columns.
    pub fn text(&self, sign: &str, columns: Option<usize>) -> String {
        let paragraph = |text: &str| wrapped("", text, columns);
        let mut out = String::new();
        if !self.unlike.is_empty() {
            let heading = "NOT ALIKE, so figures may differ for other reasons than the code:";
            out += &format!("{}\n", paint(WARN, heading));
            let mut table = Table::new(&["", "old", "new"]);
            for Unlike { what, old, new } in &self.unlike {
                table.row(vec![what.clone(), old.clone(), new.clone()]);
            }
            out += &format!("{table}\n");
        }
        let changed = |pair: &&Pair| self.rows.len() <= MANY || pair.verdict != Verdict::Same;
        let shown: Vec<&Pair> = self.rows.iter().filter(changed).collect();
        if !shown.is_empty() {
            out += &table(&shown, sign);
        }
        let Baseline { slower, faster, .. } = self;
        let mut answer = format!(
            "{} rows in both: {slower} slower and {faster} faster beyond both spreads.",
            self.rows.len()
        );
        for (names, what) in [
            (&self.only_in_old, "only in the old file"),
            (&self.only_in_new, "only in the new file"),
            (&self.without_limit, "without a limit"),
        ] {
            if !names.is_empty() {
                answer += &format!(" {} {what}.", names.len());
            }
        }
        answer += " --json names all.";
        out += &format!("\n{}", paragraph(&answer));
        let words = paragraph(&format!(
            "limit: nothing but AES rounds, measured in the same run. {sign}: the spread of each run."
        ));
        out + &paint(DIM, words.trim_end()) + "\n"
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
            let found = Baseline {
                file: "old".into(),
                unlike: vec![],
                rows: (0..count).map(|nth| row(nth, verdict(nth))).collect(),
                only_in_old: vec![],
                only_in_new: vec![],
                without_limit: vec![],
                slower: 0,
                faster: changed,
            };
            found.text("+-", None)
        };
        assert_eq!(said(MANY, 1).matches("row ").count(), MANY);
        let many = said(MANY + 1, 2);
        assert_eq!(many.matches("row ").count(), 2, "{many}");
        assert!(many.contains("101 rows in both"), "{many}");
        let same = said(MANY + 1, 0);
        assert!(!same.contains("fraction of the limit"), "{same}");
    }

    #[test]
    fn margins_that_touch_are_no_change() {
        // Margins of 0.5 and 0.25: exact numbers.
        assert_eq!(verdict(at(1.0, 0.5), at(1.5, 0.0)), Verdict::Same);
        assert_eq!(verdict(at(1.5, 0.0), at(1.0, 0.5)), Verdict::Same);
        assert_eq!(verdict(at(1.0, 0.25), at(1.5, 0.0)), Verdict::Faster);
        assert_eq!(verdict(at(1.5, 0.0), at(1.0, 0.25)), Verdict::Slower);
        assert_eq!(verdict(at(1.0, 0.25), at(2.0, 0.375)), Verdict::Same);
    }

    #[test]
    fn fractions_make_sense() {
        assert!(Fraction::new(0.5, 0.0).is_some() && Fraction::new(1.5, 2.0).is_some());
        for (fraction, spread) in [
            (0.0, 0.1),
            (-0.5, 0.1),
            (0.5, -0.1),
            (0.5, f64::INFINITY),
            (0.5, f64::NAN),
            (f64::NAN, 0.1),
        ] {
            assert_eq!(Fraction::new(fraction, spread), None, "{fraction} {spread}");
        }
    }

    fn side(name: &str, rows: &[(&str, Option<f64>)], facts: &[(&str, &str)]) -> Side {
        let row = |(name, fraction): &(&str, Option<f64>)| {
            let fraction = fraction.and_then(|fraction| Fraction::new(fraction, 0.125));
            (name.to_string(), fraction)
        };
        let fact = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        Side {
            name: name.into(),
            rows: rows.iter().map(row).collect(),
            facts: facts.iter().map(fact).collect(),
        }
    }

    #[test]
    fn rows_of_both_are_compared() {
        let old = [
            ("a", Some(0.5)),
            ("b", Some(0.5)),
            ("c", Some(0.5)),
            ("d", None),
            ("e", Some(0.5)),
        ];
        let new = [
            ("c", Some(0.5)),
            ("b", Some(0.25)),
            ("a", Some(1.0)),
            ("d", Some(1.0)),
            ("f", None),
        ];
        let old = side(
            "old.json",
            &old,
            &[("CPU", "X"), ("kernel", "1"), ("same", "s")],
        );
        let new = side(
            "new.json",
            &new,
            &[("CPU", "Y"), ("flags", "f"), ("same", "s")],
        );
        let found = Baseline::of(&old, &new).unwrap();
        let rows: Vec<_> = found
            .rows
            .iter()
            .map(|p| (&*p.row, p.ratio, p.verdict))
            .collect();
        let expected = [
            ("c", 1.0, Verdict::Same),
            ("b", 0.5, Verdict::Slower),
            ("a", 2.0, Verdict::Faster),
        ];
        assert_eq!(rows, expected);
        assert_eq!(
            (found.slower, found.faster, found.has_slower()),
            (1, 1, true)
        );
        assert_eq!(found.only_in_old, ["e"]);
        assert_eq!(
            (&*found.only_in_new, &*found.without_limit),
            (&["f".to_owned()][..], &["d".to_owned()][..])
        );
        let unlike: Vec<_> = found
            .unlike
            .iter()
            .map(|u| [&*u.what, &*u.old, &*u.new])
            .collect();
        assert_eq!(
            unlike,
            [["CPU", "X", "Y"], ["flags", "-", "f"], ["kernel", "1", "-"]]
        );
        let text = found.text("+-", None);
        for part in [
            "NOT ALIKE",
            "kernel",
            "0.250 +-0.031",
            "-50.0 %",
            "SLOWER",
            "+100.0 %",
            "faster",
            "+0.0 %",
            "3 rows in both: 1 slower and 1 faster beyond both spreads. 1 only in the old file. \
             1 only in the new file. 1 without a limit. --json names all.\n",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let same = side("x", &[("a", Some(0.5))], &[]);
        let found = Baseline::of(&same, &same).unwrap();
        let text = found.text("+-", None);
        let none = ["NOT ALIKE", "only in", "without", "SLOWER"];
        assert!(
            !found.has_slower() && !none.iter().any(|part| text.contains(part)),
            "{text}"
        );
        let nothing = side("none", &[("a", None)], &[]);
        let error = Baseline::of(&same, &nothing).unwrap_err().to_string();
        assert!(
            error.contains("x and none have no row in common"),
            "{error}"
        );
    }
}
