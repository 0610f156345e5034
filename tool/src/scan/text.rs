// SPDX-License-Identifier: BSD-2-Clause
//! The text of `scan`: the verdict, a table of the files with AES code, what to do; with --verbose
//! also functions, addresses, and files with other cryptographic instructions.

use super::{Entry, Holds, Program, Scan};
use classify::{Bounds, Class, Function, Kind, Machine, Module, TableKind, WIDTHS};
use std::collections::BTreeMap;
use terminal::style::{clean, grouped, item, paint, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

pub fn render(scan: &Scan, verbose: bool) -> String {
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
    if verbose {
        for entry in aes.iter().chain(&others) {
            out += "\n";
            out += &details(entry);
        }
        for trouble in &scan.troubles {
            out += &item(
                &paint(WARN, "Not examined: "),
                format!("{}: {}", trouble.path, trouble.why),
            );
        }
    }
    let notes = notes(scan, others.len(), verbose);
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
    let files = count(
        scan.examined,
        "program or library",
        "programs and libraries",
    );
    let with = holding(Holds::Instructions).count();
    let other_uses = holding(Holds::OtherUse).count();
    let what = match other_uses {
        0 => "AES instructions",
        _ => "AES instructions that encrypt",
    };
    let first = match holding(Holds::Instructions).next() {
        _ if scan.examined == 0 => "There are no programs and no libraries here.".to_owned(),
        None if scan.examined == 1 => format!("The file holds no {what}. {NOT_FOLLOWED}"),
        None => format!("None of {files} holds {what}."),
        Some(widest) => {
            let code = format!("{} in {}", class_name(&widest.module), widest.path);
            match (scan.examined, with) {
                (1, _) => holds(widest),
                (_, 1) => format!("1 of {files} holds AES instructions: {code}."),
                _ => format!(
                    "{} of {files} hold AES instructions; the widest: {code}.",
                    grouped(with as u64)
                ),
            }
        }
    };
    let alone = match &scan.programs[..] {
        [program] if scan.examined <= 1 + program.libraries => Some(alone(scan, program, what)),
        _ => None,
    };
    let mut lines = match alone {
        Some(first) => vec![paint(BOLD, first)],
        None => {
            let loads = scan.programs.iter().filter_map(loads).take(MOST_PROGRAMS);
            std::iter::once(paint(BOLD, first)).chain(loads).collect()
        }
    };
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

/// The verdict on one file with AES instructions.
fn holds(entry: &Entry) -> String {
    let class = class_name(&entry.module);
    format!(
        "The file holds AES instructions: {class} in {}.",
        entry.path
    )
}

/// The dynamic linker's part is known from the file; what the program opens later is not.
const NOT_FOLLOWED: &str = "Libraries that it opens when it runs are not followed.";
/// The verdict says of no more programs what they load.
const MOST_PROGRAMS: usize = 10;

/// The verdict on one program and the libraries that it loads.
fn alone(scan: &Scan, program: &Program, what: &str) -> String {
    let of = |path: &str| {
        let mut files = scan.files.iter();
        files.find(|entry| entry.path == path)
    };
    let own = of(&program.path).filter(|entry| entry.holds == Holds::Instructions);
    if let Some(own) = own {
        return holds(own);
    }
    let path = &program.path;
    let libraries = count(program.libraries, "library", "libraries");
    match &program.through[..] {
        [] => format!("{path} and the {libraries} that it loads hold no {what}. {NOT_FOLLOWED}"),
        [first, ..] => {
            let class = of(&first.path).map_or("", |entry| class_name(&entry.module));
            format!(
                "{path} holds no {what} itself, but loads them through {}: {class} in {}.",
                names(program),
                first.path
            )
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

fn class_name(module: &Module) -> &'static str {
    module.class.map_or("", Class::name)
}

/// "VAES 512, VAES 256, AES-NI 128": each class of the functions, the strongest first.
fn code(entry: &Entry) -> String {
    match entry.holds {
        Holds::WritesCode => return "written at run time".to_owned(),
        Holds::Tables => return paint(WARN, "tables only"),
        _ => {}
    }
    let mut classes: Vec<Class> = entry
        .module
        .functions
        .iter()
        .filter_map(|f| f.class)
        .collect();
    classes.sort_unstable_by(|a, b| b.cmp(a));
    classes.dedup();
    let names: Vec<&str> = classes.iter().map(|class| class.name()).collect();
    match classes.first() {
        Some(Class::Vaes512 | Class::Vaes256) => paint(GOOD, names.join(", ")),
        _ => names.join(", "),
    }
}

fn library(module: &Module) -> String {
    match &module.library {
        Some(library) => match &library.version {
            Some(version) => format!("{} {}", library.name, clean(version)),
            None => library.name.to_owned(),
        },
        None => "unknown".to_owned(),
    }
}

/// "S-box, Te": each kind once.
fn tables(module: &Module) -> String {
    let mut kinds: Vec<TableKind> = module.tables.iter().map(|table| table.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
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
    let mut kinds = BTreeMap::new();
    for entry in entries {
        kinds
            .entry(entry.reach)
            .or_insert_with(Vec::new)
            .push(entry);
    }
    let mut out = String::new();
    for (reach, entries) in kinds {
        let Some(advice) = reach.advice() else {
            continue;
        };
        let files = count(entries.len(), "file", "files");
        let label = format!("{} ({files}): ", paint(BOLD, reach.name()));
        out += &item("", format!("{label}{advice}"));
    }
    match out.is_empty() {
        true => out,
        false => format!("\n{out}"),
    }
}

fn machine(module: &Module) -> &'static str {
    match module.machine {
        Machine::X86_64 => "x86-64",
        Machine::I386 => "i386",
        Machine::Arm64 => "arm64",
    }
}

/// A file with its functions and tables.
fn details(entry: &Entry) -> String {
    let module = &entry.module;
    let mut out = item("", paint(BOLD, &entry.path));
    let mut facts = vec![machine(module).to_owned(), library(module)];
    facts.extend(module.build_id.as_ref().map(|id| format!("build id {id}")));
    out += &item("  ", facts.join(", "));
    for function in &module.functions {
        let class = function.class.map_or("no AES", Class::name);
        out += &item(
            "  ",
            format!("{}: {class}; {}", place(function), instructions(function)),
        );
    }
    for table in &module.tables {
        let section = table
            .section
            .as_deref()
            .map_or(String::new(), |name| format!(" in {}", clean(name)));
        out += &item(
            "  ",
            format!("{:#x}: {} table{section}", table.address, table.kind.name()),
        );
    }
    out
}

/// The name of a function, or its address.
fn place(function: &Function) -> String {
    let address = format!("{:#x}", function.address);
    let known = match function.bounds {
        Bounds::Unknown => " (bounds unknown)",
        _ => "",
    };
    match &function.name {
        Some(name) => format!("{address} {}", clean(name)),
        None => format!("{address}{known}"),
    }
}

/// "9 rounds and 1 last round at 128 bits; 4 multiplications at 512 bits".
fn instructions(function: &Function) -> String {
    let counted = |kind: Kind, count: u32| {
        let (one, many) = match kind {
            Kind::Round => ("round", "rounds"),
            Kind::LastRound => ("last round", "last rounds"),
            Kind::Key => ("key instruction", "key instructions"),
            Kind::Clmul => ("CLMUL", "CLMUL"),
            Kind::Sha1 => ("SHA-1", "SHA-1"),
            Kind::Sha256 => ("SHA-256", "SHA-256"),
            Kind::Sha512 => ("SHA-512", "SHA-512"),
        };
        self::count(count as usize, one, many)
    };
    let at = |width: u16| {
        let entries = function.instructions.entries();
        let parts: Vec<String> = entries
            .filter(|(_, w, _)| *w == width)
            .map(|(kind, _, count)| counted(kind, count))
            .collect();
        (!parts.is_empty()).then(|| format!("{width} bits: {}", parts.join(", ")))
    };
    let widths: Vec<String> = WIDTHS.iter().filter_map(|width| at(*width)).collect();
    widths.join("; ")
}

/// A path without its middle, if it is long.
fn shortened(path: &str) -> String {
    const MOST: usize = 80;
    let letters: Vec<char> = path.chars().collect();
    if letters.len() <= MOST {
        return path.to_owned();
    }
    let part = |letters: &[char]| letters.iter().collect::<String>();
    let (first, last) = (&letters[..MOST / 2], &letters[letters.len() - MOST / 2..]);
    format!("{}...{}", part(first), part(last))
}

fn notes(scan: &Scan, others: usize, verbose: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if others > 0 && !verbose {
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
    if !scan.troubles.is_empty() && !verbose {
        let files = count(
            scan.troubles.len(),
            "file or directory",
            "files and directories",
        );
        let first = &scan.troubles[0];
        notes.push(format!(
            "{files} could not be examined, such as {}: {}. --verbose names all.",
            shortened(&first.path),
            first.why
        ));
    }
    if !scan.not_entered.is_empty() {
        notes.push(format!(
            "Other file systems are not entered; name them to scan them: {}.",
            scan.not_entered.join(", ")
        ));
    }
    if !verbose
        && scan
            .files
            .iter()
            .any(|entry| !entry.module.functions.is_empty())
    {
        notes.push("--verbose shows functions and addresses.".to_owned());
    }
    notes.into_iter().map(|note| paint(DIM, note)).collect()
}
