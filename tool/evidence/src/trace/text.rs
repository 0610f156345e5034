// SPDX-License-Identifier: BSD-2-Clause
//! The text of `trace`: the verdict, a table of the code that was seen, and how much the trace can
//! tell.

use super::flow;
use super::result::{
    Counted, Counts, KernelCounts, Module, ModuleKind, Operation, Place, Requests, SizeClass, Sums,
    Trace,
};
use super::verdict::{bound, percent};
use classify::hot::{Confidence, Work};
use terminal::size_name;
use terminal::style::{clean, grouped, item, paint, BOLD, DIM, GOOD, WARN};
use terminal::table::Table;

pub fn render(trace: &Trace) -> String {
    let mut out = String::new();
    for (index, line) in trace.verdict.iter().enumerate() {
        out += &match index {
            0 => item("", paint(BOLD, line)),
            _ => item("", line),
        };
    }
    if let Some(line) = share(trace) {
        out += &item("", line);
    }
    if trace.findings().next().is_some() {
        out += "\n";
        out += &table(trace, &HEADS);
    }
    if let Some(counts) = &trace.counts {
        out += "\n";
        out += &counted(counts);
    }
    if let Some(counts) = &trace.kernel {
        out += "\n";
        out += &counted_in_kernel(trace, counts);
    }
    out += "\n";
    out + &dim(&notes(trace))
}

/// What `--live` shows of an interval, perhaps without what is the same in each.
pub fn screen(trace: &Trace, with_limits: bool) -> String {
    /// As many columns as most terminals have room for.
    const COLUMNS: usize = 5;
    let used = match trace.samples {
        0 => String::new(),
        _ => format!(", {} of the time used", percent(trace.aes_share)),
    };
    let headline = format!(
        "AES {} of the machine{used}; {} samples, {} lost, in the last {:.1} s",
        percent(trace.machine_share),
        grouped(trace.samples),
        grouped(trace.lost),
        trace.seconds
    );
    let mut out = item("", paint(BOLD, headline));
    if with_limits {
        let hidden = trace.kernel_samples.is_none();
        out.extend(hidden.then(|| dim(&[NO_KERNEL.to_owned()])));
        out += &dim(&trace.troubles);
    }
    out + &table(trace, &HEADS[..COLUMNS])
}

const NO_KERNEL: &str = "The kernel's part is not visible to this user: it needs root or CAP_PERFMON. Times are parts of the time in user space.";

fn dim(lines: &[String]) -> String {
    lines
        .iter()
        .map(|line| item("", paint(DIM, line)))
        .collect()
}

/// How much of the time AES takes, in all processes together. Without AES, the verdict says it.
fn share(trace: &Trace) -> Option<String> {
    let all = trace.processes.len();
    let with = trace.processes.iter().filter(|it| it.aes_share > 0.0);
    let with = with.count();
    (with > 0).then(|| {
        let share = percent(trace.aes_share);
        match all {
            1 => format!("AES takes {share} of the sampled time."),
            _ => format!("AES takes {share} of the sampled time, in {with} of {all} processes."),
        }
    })
}

/// The table has no more rows.
const MOST: usize = 30;

const HEADS: [&str; 7] = [
    "Process",
    "Time",
    "Code",
    "Mode",
    "File",
    "Function",
    "Confidence",
];

/// The first columns.
fn table(trace: &Trace, heads: &[&str]) -> String {
    let mut table = Table::new(heads);
    for (process, finding) in trace.findings().take(MOST) {
        let mut cells = vec![
            format!("{} ({})", process.name, process.pid),
            percent(finding.share),
            code(finding.work),
            finding.mode.map(str::to_uppercase).unwrap_or_default(),
            file(&finding.module),
            finding.places.first().map(function).unwrap_or_default(),
            confidence(finding.confidence).to_owned(),
        ];
        cells.truncate(heads.len());
        table.row(cells);
    }
    let mut out = table.to_string();
    let more = trace.findings().count().saturating_sub(MOST);
    if more > 0 {
        out += &dim(&[format!("{more} more rows are not shown.")]);
    }
    out
}

/// "/usr/lib/libx.so", "kernel: aesni_intel".
fn file(module: &Module) -> String {
    match (&module.path, module.kind) {
        (None, _) => "(written at run time)".to_owned(),
        (Some(name), ModuleKind::Kernel) if name != "kernel" => format!("kernel: {name}"),
        (Some(path), _) => clean(path),
    }
}

/// Exact counts.
fn counted(counts: &Counts) -> String {
    let out = match counts.calls.is_empty() {
        true if counts.functions == 0 => item(
            "",
            "Nothing was counted: no library with counted functions was found.",
        ),
        true => {
            let functions = counts.functions;
            let text = format!("None of the {functions} functions that were counted was called.");
            item("", text)
        }
        false => calls(counts).to_string(),
    };
    out + &dim(&counts.troubles)
}

fn calls(counts: &Counts) -> Table {
    let mut table = Table::new(&[
        "Process",
        "Algorithm",
        "Calls",
        "Bytes",
        "In place",
        "Sizes",
        "Function",
        "File",
    ]);
    for row in counts.calls.iter().take(MOST) {
        table.row(vec![
            format!("{} ({})", row.name.as_deref().unwrap_or("?"), row.pid),
            row.algorithm.as_deref().map_or("-".to_owned(), clean),
            grouped(row.sums.calls),
            grouped(row.sums.bytes),
            placement(row),
            sizes(&row.sums),
            row.function.to_owned(),
            row.file.clone(),
        ]);
    }
    table
}

/// Exact counts in the kernel: tables, and how the data flows.
fn counted_in_kernel(trace: &Trace, counts: &KernelCounts) -> String {
    const MOST_CHARTS: usize = 5;
    let mut out = match counts.requests.is_empty() {
        true => item("", "No request was made to a cipher of the kernel."),
        false => requests(counts).to_string(),
    };
    for chart in flow::charts(trace).iter().take(MOST_CHARTS) {
        out += "\n";
        out += chart;
    }
    out + &dim(&counts.troubles)
}

fn requests(counts: &KernelCounts) -> Table {
    let mut table = Table::new(&[
        "Process",
        "Through",
        "Driver",
        "-",
        "Requests",
        "Bytes",
        "Sizes",
        "Called by",
    ]);
    for Requests { request, sums } in counts.requests.iter().take(MOST) {
        let operation = match request.operation {
            Operation::Encrypt => "encrypts",
            Operation::Decrypt => "decrypts",
        };
        let through = match request.inside {
            true => "another driver",
            false => flow::entry_name(request.entry),
        };
        let caller = request.caller.as_ref();
        table.row(vec![
            flow::name(&request.on_behalf),
            through.to_owned(),
            request.driver.clone(),
            operation.to_owned(),
            grouped(sums.calls),
            grouped(sums.bytes),
            sizes(sums),
            caller.map_or("?".to_owned(), flow::caller),
        ]);
    }
    table
}

/// Of the calls with an output, those that write it over the input.
fn placement(row: &Counted) -> String {
    match row.sums.calls - row.without_output {
        0 => "-".to_owned(),
        _ if row.in_place == 0 => "no".to_owned(),
        all if row.in_place == all => "yes".to_owned(),
        all => percent(row.in_place as f64 / all as f64),
    }
}

/// The most frequent sizes.
fn sizes(sums: &Sums) -> String {
    const SHOWN: usize = 3;
    let mut classes: Vec<&SizeClass> = sums.sizes.iter().collect();
    classes.sort_by_key(|class| std::cmp::Reverse(class.calls));
    let shown = classes.iter().take(SHOWN).map(|class| {
        let share = class.calls as f64 / sums.calls as f64;
        let size = usize::try_from(class.from).unwrap_or(usize::MAX);
        format!("{} {}", size_name(size), percent(share))
    });
    let mut shown: Vec<String> = shown.collect();
    if classes.len() > SHOWN {
        shown.push("...".to_owned());
    }
    shown.join(", ")
}

fn code(work: Work) -> String {
    match work {
        Work::Vaes512 | Work::Vaes256 => paint(GOOD, work.name()),
        Work::Tables | Work::GhashTables => paint(WARN, work.name()),
        work => work.name().to_owned(),
    }
}

fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The name of a function, or the address in the file.
fn function(place: &Place) -> String {
    match &place.function {
        Some(name) => clean(name),
        None => format!("+{:#x}", place.address),
    }
}

fn notes(trace: &Trace) -> Vec<String> {
    let mut notes = vec![format!(
        "{} samples in {:.1} s, at {} samples a second of processor time.",
        grouped(trace.samples),
        trace.seconds,
        trace.rate
    )];
    if let Some(below) = trace.unseen_below {
        notes.push(format!(
            "AES instructions, byte shuffles and tables that are not shown take less than {} of the time.",
            bound(below)
        ));
    }
    notes.push(match trace.kernel_samples {
        Some(kernel) => format!("{} of the samples are in the kernel.", grouped(kernel)),
        None => NO_KERNEL.to_owned(),
    });
    if trace.lost > 0 {
        notes.push(format!(
            "The kernel dropped {} samples, because they came too fast; a lower --rate keeps all.",
            grouped(trace.lost)
        ));
    }
    let counts = trace.counts.as_ref();
    if counts.is_some_and(|counts| !counts.calls.is_empty()) {
        notes.push("Bytes are those of the input. \"16 B 90 %\" means that 90 % of the calls had at least 16 bytes and less than 32. In place: the output goes over the input; additional data, which has no output, is left out.".to_owned());
    }
    if trace.kernel.is_some() {
        notes.push("Requests to the kernel's ciphers are those that are begun, also if they fail. Kernel threads and interrupts work for all processes. \"Another driver\": a driver made the request to serve another one, which has a row of its own.".to_owned());
    }
    notes.extend(trace.troubles.iter().cloned());
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::example::{self, finding, process, trace};

    #[test]
    fn requests_have_a_row_and_a_chart() {
        let mut one = trace(vec![process(7, "one", Vec::new())]);
        one.kernel_samples = Some(400);
        one.kernel = Some(example::kernel_counts());
        let text = plain(&one);
        assert!(text.contains("\n400 of the samples are in the kernel.\n"));
        let words: Vec<String> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let row = "one (7) AF_ALG cbc-old encrypts 10 160 16 B 90 %, 0 B 10 % crypt [kernel]";
        assert!(words.contains(&row.to_owned()), "{text}");
        assert!(text.contains("   │  10 copies in, 160 bytes\n"), "{text}");
    }

    #[test]
    fn why_nothing_was_counted() {
        let text = |functions| {
            let mut one = trace(vec![process(7, "one", Vec::new())]);
            one.counts = Some(Counts {
                functions,
                calls: Vec::new(),
                troubles: Vec::new(),
            });
            plain(&one)
        };
        for (text, says) in [
            (text(0), "no library with counted functions was found."),
            (
                text(9),
                "None of the 9 functions that were counted was called.",
            ),
        ] {
            assert!(text.contains(says), "{text}");
        }
    }

    fn plain(trace: &Trace) -> String {
        let text = render(trace);
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn the_share_of_aes() {
        let processes = vec![
            process(7, "one", vec![finding(Work::AesNi, 30)]),
            process(8, "two", vec![finding(Work::AesNi, 20)]),
            process(9, "idle", vec![finding(Work::Hash, 3)]),
        ];
        let all = trace(processes);
        let text = plain(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "A verdict.");
        let share = "AES takes 25 % of the sampled time, in 2 of 3 processes.";
        assert_eq!(lines[1], share);
        // There is no AES.
        let idle = process(9, "idle", vec![finding(Work::Hash, 3)]);
        let hash = plain(&trace(vec![idle]));
        assert!(!hash.contains("AES takes"), "{hash}");
    }
}
