// SPDX-License-Identifier: BSD-2-Clause
//! The text of `scan`: the verdict, a table of the files with AES code, what to do.

use super::{Entry, Holds, Program, Reach, Scan, Trouble};
use classify::{Class, Module, TableKind};
use std::collections::{BTreeMap, BTreeSet};
use terminal::style::{clean, grouped, item, paint, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

pub fn render(scan: &Scan) -> String {
    let mut out: String = verdict(scan).iter().map(|line| item("", line)).collect();
    let (aes, others): (Vec<&Entry>, Vec<&Entry>) = scan
        .files
        .iter()
        .partition(|entry| entry.holds != Holds::Others);
    if !aes.is_empty() {
        out += "\n";
        out += &table(&aes).to_string();
        out += &what_to_do(&aes);
    }
    let notes = notes(scan, others.len());
    if !notes.is_empty() {
        out += "\n";
        out.extend(notes.iter().map(|note| item("", note)));
    }
    out
}

/// "1 file", "1,204 files".
fn count(n: usize, one: &str, many: &str) -> String {
    match n {
        1 => format!("1 {one}"),
        n => format!("{} {many}", grouped(n as u64)),
    }
}

fn verdict(scan: &Scan) -> Vec<String> {
    let holding = |holds: Holds| scan.files.iter().filter(move |entry| entry.holds == holds);
    let other_uses = holding(Holds::OtherUse).count();
    let what = match other_uses {
        0 => "AES instructions",
        _ => "AES instructions that encrypt",
    };
    let files = count(
        scan.examined,
        "program or library",
        "programs and libraries",
    );
    let alone = match &scan.programs[..] {
        [program] if scan.examined <= 1 + program.libraries => Some(program),
        _ => None,
    };
    let first = match (alone, holding(Holds::Instructions).next()) {
        _ if scan.examined == 0 => "There are no programs and no libraries here.".to_owned(),
        (Some(program), _) => of_one(scan, program, what),
        (None, None) => format!("None of {files} holds {what}."),
        (None, Some(widest)) => {
            let code = format!("{} in {}", class_name(widest), widest.path);
            match holding(Holds::Instructions).count() {
                1 => format!("1 of {files} holds AES instructions: {code}."),
                n => {
                    let n = grouped(n as u64);
                    format!("{n} of {files} hold AES instructions; the widest: {code}.")
                }
            }
        }
    };
    let mut lines = vec![paint(BOLD, first)];
    if alone.is_none() {
        lines.extend(scan.programs.iter().filter_map(loads).take(MOST_PROGRAMS));
    }
    let tables = holding(Holds::Tables).count();
    if tables > 0 {
        let files = count(tables, "file holds", "files hold");
        lines.push(format!("{files} AES tables, but no AES instructions. Lookups in tables leak keys through the cache."));
    }
    if other_uses > 0 {
        let files = count(other_uses, "file uses", "files use");
        lines.push(format!(
            "{files} AES instructions only for hash functions or for other ciphers."
        ));
    }
    lines
}

/// The verdict says of no more programs what they load.
const MOST_PROGRAMS: usize = 10;

/// The verdict on one program and the libraries that it loads. The dynamic linker's part is known
/// from the file; what the program opens later is not.
fn of_one(scan: &Scan, program: &Program, what: &str) -> String {
    let of = |path: &str| scan.files.iter().find(|entry| entry.path == path);
    let path = &program.path;
    let own = of(path).filter(|entry| entry.holds == Holds::Instructions);
    match (own, program.through.first()) {
        (Some(own), _) => format!("{path} holds AES instructions: {}.", class_name(own)),
        (None, Some(first)) => {
            let class = of(&first.path).map_or("", class_name);
            let (names, library) = (names(program), &first.path);
            format!("{path} holds no {what} itself, but loads them through {names}: {class} in {library}.")
        }
        (None, None) => {
            let and = match program.libraries {
                0 => " holds".to_owned(),
                n => {
                    let libraries = count(n, "library", "libraries");
                    format!(" and the {libraries} that it loads hold")
                }
            };
            format!("{path}{and} no {what}. Libraries that it opens when it runs are not followed.")
        }
    }
}

/// "nginx loads AES instructions through libcrypto.so.3."
fn loads(program: &Program) -> Option<String> {
    let is_any = !program.through.is_empty();
    is_any.then(|| {
        format!(
            "{} loads AES instructions through {}.",
            program.path,
            names(program)
        )
    })
}

fn names(program: &Program) -> String {
    let names: Vec<&str> = program.through.iter().map(|it| it.name.as_str()).collect();
    names.join(", ")
}

fn class_name(entry: &Entry) -> &'static str {
    entry.module.class.map_or("", Class::name)
}

/// "VAES 512, VAES 256, AES-NI 128": each class of the functions, the strongest first.
fn code(entry: &Entry) -> String {
    match entry.holds {
        Holds::WritesCode => return "written at run time".to_owned(),
        Holds::Tables => return paint(WARN, "tables only"),
        _ => {}
    }
    let functions = entry.module.functions.iter();
    let classes: BTreeSet<Class> = functions.filter_map(|function| function.class).collect();
    let names: Vec<&str> = classes.iter().rev().map(|class| class.name()).collect();
    match classes.last() {
        Some(Class::Vaes512 | Class::Vaes256) => paint(GOOD, names.join(", ")),
        _ => names.join(", "),
    }
}

/// "OpenSSL 3.0.11".
fn library(module: &Module) -> String {
    let Some(library) = &module.library else {
        return "unknown".to_owned();
    };
    let version = clean(library.version.as_deref().unwrap_or_default());
    format!("{} {version}", library.name).trim_end().to_owned()
}

/// "S-box, Te": each kind once.
fn tables(module: &Module) -> String {
    let kinds: BTreeSet<TableKind> = module.tables.iter().map(|table| table.kind).collect();
    let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

fn table(entries: &[&Entry]) -> Table {
    let mut table = Table::new(&["File", "Library", "AES code", "Tables", "Reached"]);
    for entry in entries {
        table.row(vec![
            entry.path.clone(),
            library(&entry.module),
            code(entry),
            tables(&entry.module),
            entry.reach.name().to_owned(),
        ]);
    }
    table
}

/// One paragraph for each kind of reach, named as in the table.
fn what_to_do(entries: &[&Entry]) -> String {
    let mut kinds: BTreeMap<Reach, usize> = BTreeMap::new();
    for entry in entries {
        *kinds.entry(entry.reach).or_default() += 1;
    }
    let paragraph = |(reach, number): (Reach, usize)| {
        let files = count(number, "file", "files");
        let label = format!("{} ({files}): ", paint(BOLD, reach.name()));
        Some(item("", label + reach.advice()?))
    };
    let out: String = kinds.into_iter().filter_map(paragraph).collect();
    match out.is_empty() {
        true => out,
        false => format!("\n{out}"),
    }
}

fn notes(scan: &Scan, others: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if others > 0 {
        let files = count(others, "file has", "files have");
        notes.push(format!(
            "{files} carry-less multiplication or SHA instructions, but no AES."
        ));
    }
    if scan.other_processors > 0 {
        let files = count(scan.other_processors, "file is", "files are");
        notes.push(format!(
            "{files} for processors other than x86-64, i386 and arm64."
        ));
    }
    if let Some(Trouble { path, why }) = scan.troubles.first() {
        let (one, many) = ("file or directory", "files and directories");
        let files = count(scan.troubles.len(), one, many);
        notes.push(format!(
            "{files} could not be examined, such as {path}: {why}. --json names all."
        ));
    }
    if !scan.not_entered.is_empty() {
        let others = scan.not_entered.join(", ");
        notes.push(format!(
            "Other file systems are not entered; name them to scan them: {others}."
        ));
    }
    if scan.files.iter().any(|e| !e.module.functions.is_empty()) {
        notes.push("--json shows functions and addresses.".to_owned());
    }
    notes.into_iter().map(|note| paint(DIM, note)).collect()
}
