// SPDX-License-Identifier: BSD-2-Clause
//! The tables of `tenrounds-bench pkcs11`.

use super::{CORE, OURS};
use crate::files;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Host;
use measure::stats;
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use terminal::error::{Error, Result};
use terminal::{output, table::Table};

/// A row: nanoseconds of each subject, and how often as long as ours each takes.
#[derive(Serialize)]
pub struct Figures {
    row: String,
    ns: Vec<f64>,
    /// The medians of the ratios within rounds.
    times_ours: Vec<f64>,
}

#[derive(Serialize)]
pub struct Part {
    /// Whether the process had a second thread.
    pub threaded: bool,
    pub backend: String,
    pub rows: Vec<Figures>,
}

/// A row of two threads.
#[derive(Serialize)]
pub struct Pair {
    row: String,
    /// How often as many calls of each subject two threads did as one: medians of the rounds.
    times_one: Vec<f64>,
}

#[derive(Serialize)]
pub struct Report {
    date: String,
    host: Host,
    subjects: Vec<String>,
    parts: Vec<Part>,
    pairs: Vec<Pair>,
}

/// A text with a table.
struct Sheet {
    title: &'static str,
    remark: String,
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// The place of our module among the subjects.
const OUR_PLACE: usize = 1;

fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    stats::median(values).expect("there is a round")
}

impl Pair {
    pub fn of(row: String, rounds: &[Vec<f64>]) -> Pair {
        let subjects = rounds.first().map_or(0, Vec::len);
        let of = |subject: usize| median(rounds.iter().map(|round| round[subject]));
        Pair {
            row,
            times_one: (0..subjects).map(of).collect(),
        }
    }
}

impl Figures {
    pub fn of(row: String, rounds: &[Vec<f64>]) -> Figures {
        let subjects = rounds.first().map_or(0, Vec::len);
        let median = |of: &dyn Fn(&Vec<f64>) -> f64| median(rounds.iter().map(of));
        Figures {
            row,
            ns: (0..subjects).map(|s| median(&|round| round[s])).collect(),
            times_ours: (0..subjects)
                .map(|s| median(&|round| round[s] / round[OUR_PLACE]))
                .collect(),
        }
    }

    fn has_core(&self) -> bool {
        !self.row.starts_with("create")
    }
}

fn nanoseconds(ns: f64) -> String {
    match ns {
        ns if ns >= 9999.5 => format!("{:.1} µs", ns / 1000.0),
        ns if ns >= 999.5 => format!("{:.2} µs", ns / 1000.0),
        ns => format!("{ns:.0} ns"),
    }
}

impl Report {
    pub fn new(subjects: Vec<String>, parts: Vec<Part>, pairs: Vec<Pair>) -> Report {
        Report {
            date: terminal::today(),
            host: host::read(LibCrypto::open().ok().as_ref()),
            subjects,
            parts,
            pairs,
        }
    }

    fn heads(&self) -> Vec<String> {
        let modules = &self.subjects[1..];
        let mut heads = vec!["one call".to_owned()];
        heads.extend(self.subjects.iter().cloned());
        heads.push("of the core's speed".to_owned());
        heads.extend(
            modules[1..]
                .iter()
                .map(|name| format!("{OURS} is faster than {name}")),
        );
        heads
    }

    fn cells(&self, figures: &Figures) -> Vec<String> {
        let time = |(place, ns): (usize, &f64)| match place == 0 && !figures.has_core() {
            true => "-".to_owned(),
            false => nanoseconds(*ns),
        };
        let mut cells = vec![figures.row.clone()];
        cells.extend(figures.ns.iter().enumerate().map(time));
        cells.push(match figures.has_core() {
            true => format!("{:.3}", figures.times_ours[0]),
            false => "-".to_owned(),
        });
        let others = &figures.times_ours[OUR_PLACE + 1..];
        cells.extend(others.iter().map(|ratio| format!("{ratio:.1} times")));
        cells
    }

    fn title(part: &Part) -> &'static str {
        match part.threaded {
            false => "In a process of one thread",
            true => "In a process with another thread",
        }
    }

    fn sheets(&self) -> Vec<Sheet> {
        let of_part = |part: &Part| {
            let rows = part.rows.iter().map(|row| self.cells(row)).collect();
            let remark = format!("The backend is `{}`.", part.backend);
            Sheet {
                title: Report::title(part),
                remark,
                heads: self.heads(),
                rows,
            }
        };
        let mut sheets: Vec<Sheet> = self.parts.iter().map(of_part).collect();
        if !self.pairs.is_empty() {
            let heads = std::iter::once("one call".to_owned()).chain(self.subjects.iter().cloned());
            let cells = |pair: &Pair| {
                let times = pair
                    .times_one
                    .iter()
                    .map(|times| format!("{times:.2} times"));
                std::iter::once(pair.row.clone()).chain(times).collect()
            };
            let remark = "Calls of both together in 1 ms, against those of one thread alone.";
            let rows = self.pairs.iter().map(cells).collect();
            let title = "Two threads in sessions of their own";
            sheets.push(Sheet {
                title,
                remark: remark.to_owned(),
                heads: heads.collect(),
                rows,
            });
        }
        sheets
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for sheet in self.sheets() {
            let _ = writeln!(out, "{}. {}", sheet.title, sheet.remark);
            let heads: Vec<String> = sheet.heads.iter().enumerate().map(aligned).collect();
            let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
            let mut table = Table::new(&heads);
            sheet.rows.into_iter().for_each(|row| table.row(row));
            let _ = write!(out, "{table}");
        }
        out
    }

    fn markdown(&self) -> String {
        let cpu = &self.host.cpu;
        let mut out = format!(
            "<!-- SPDX-License-Identifier: BSD-2-Clause -->\n# PKCS#11 modules on {} (family {} model \
             {}), {}\n\n",
            cpu.brand, cpu.family, cpu.model, self.date
        );
        out += "Read this to see what a call of the PKCS#11 module costs beyond the core's own call, \
                and how it\ncompares with other software tokens. `make bench-pkcs11` wrote it. A call \
                is C_EncryptInit and\nC_Encrypt with a key that exists. All modules are in one \
                process, in turn, in windows of 50 µs.\nTimes are medians; ratios are medians of the \
                ratios within rounds. Every module's output was\ncompared with the core's. The \
                core's calls, one directly after the other, overlap in the\nprocessor: most in short \
                CBC messages, whose blocks wait for each other. Calls of a module hardly\noverlap.\n\n\
                kryoptic is not measured: Debian 12 does not have it. It would have to be built from \
                its crate,\nwith bindgen, SQLite and OpenSSL.\n";
        for sheet in self.sheets() {
            let _ = writeln!(out, "\n## {}\n\n{}", sheet.title, sheet.remark);
            let columns = "---:|".repeat(sheet.heads.len() - 1);
            let _ = writeln!(out, "\n| {} |\n|---|{columns}", sheet.heads.join(" | "));
            for row in sheet.rows {
                let _ = writeln!(out, "| {} |", row.join(" | "));
            }
        }
        out
    }

    /// Prints the tables, and writes the files.
    pub fn write(&self, json: Option<&Path>, publish: Option<&Path>) -> Result<()> {
        debug_assert_eq!(
            (&*self.subjects[0], &*self.subjects[OUR_PLACE]),
            (CORE, OURS)
        );
        output::out(self.text())?;
        let write = |path: &Path, text: String| {
            std::fs::write(path, text)
                .map_err(|e| Error::failure(format!("cannot write {}: {e}", path.display())))
        };
        let text = serde_json::to_string_pretty(self).expect("plain data serialises") + "\n";
        if let Some(path) = json {
            write(path, text.clone())?;
        }
        let Some(folder) = publish else {
            return Ok(());
        };
        let cpu = &self.host.cpu;
        let name = files::name(&cpu.brand, cpu.family, cpu.model, &self.date);
        write(&folder.join(format!("{name}.json")), text)?;
        write(&folder.join(format!("{name}.md")), self.markdown())
    }
}

fn aligned((column, head): (usize, &String)) -> String {
    match column {
        0 => head.clone(),
        _ => format!(">{head}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_of_rounds() {
        // Twice as slow in the second round, all of them.
        let rounds = [vec![1.0, 2.0, 8.0], vec![2.0, 4.0, 16.0]];
        let figures = Figures::of("AES".into(), &rounds);
        assert_eq!(figures.times_ours, [0.5, 1.0, 4.0]);
        assert_eq!(figures.ns, [1.5, 3.0, 12.0]);
    }

    #[test]
    fn two_threads_are_shown() {
        let pair = Pair::of(
            "AES".into(),
            &[vec![1.0, 1.9], vec![2.0, 1.5], vec![1.9, 1.8]],
        );
        assert_eq!(pair.times_one, [1.9, 1.8]);
        let names = vec![CORE.to_owned(), OURS.to_owned()];
        let report = Report::new(names, Vec::new(), vec![pair]);
        for shown in [report.text(), report.markdown()] {
            assert!(shown.contains("1.80 times"), "{shown}");
        }
    }

    #[test]
    fn times_have_units() {
        assert_eq!(nanoseconds(47.4), "47 ns");
        assert_eq!(nanoseconds(1234.0), "1.23 µs");
        assert_eq!(nanoseconds(123456.0), "123.5 µs");
    }
}
