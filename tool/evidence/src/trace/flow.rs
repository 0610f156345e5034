// SPDX-License-Identifier: BSD-2-Clause
//! How data flows through the kernel's ciphers: from a program through system calls and copies to a
//! driver and back, with counts on the arrows. The way of the same process in user space is below
//! it.

use super::result::{
    Caller, Context, Counted, Entry, Finding, KernelCounts, ModuleKind, OnBehalf, Operation,
    Process, Requests, Trace, Transfer,
};
use super::verdict::{percent, place};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use terminal::style::{clean, grouped, item, paint, BOLD, DIM};

/// What is on an arrow, and the lines of the box to which it leads.
type Step = (Vec<String>, Vec<String>);

/// Charts of all processes through all parts of the kernel, the most bytes first.
pub fn charts(trace: &Trace) -> Vec<String> {
    let Some(counts) = &trace.kernel else {
        return Vec::new();
    };
    let mut of: BTreeMap<(&OnBehalf, Entry), (u64, Vec<&Requests>)> = BTreeMap::new();
    for message in &counts.messages {
        of.entry((&message.on_behalf, Entry::AfAlg)).or_default();
    }
    for row in counts.requests.iter().filter(|row| !row.request.inside) {
        let key = (&row.request.on_behalf, row.request.entry);
        let (bytes, rows) = of.entry(key).or_default();
        *bytes = bytes.saturating_add(row.sums.bytes);
        rows.push(row);
    }
    let mut all: Vec<_> = of.into_iter().collect();
    all.sort_by_key(|(_, (bytes, _))| Reverse(*bytes));
    // A process that uses several parts of the kernel has one way in user space.
    let mut shown = BTreeSet::new();
    let mut charts = Vec::new();
    for ((who, entry), (_, rows)) in all {
        let steps = through_kernel(trace, counts, (who, entry), &rows);
        let mut chart = drawn(&name(who), &steps);
        let steps = match shown.insert(who) {
            true => in_user_space(trace, who),
            false => Vec::new(),
        };
        if !steps.is_empty() {
            chart += "\n";
            chart += &drawn(&format!("{}, in user space", name(who)), &steps);
        }
        charts.push(chart);
    }
    charts
}

/// Boxes from top to bottom, with what is on the arrows between them.
fn drawn(first: &str, steps: &[Step]) -> String {
    let mut out = item("", paint(BOLD, first));
    for (arrow, to) in steps {
        for line in arrow {
            out += &item("   │  ", paint(DIM, line));
        }
        out += "   ▼\n";
        for line in to {
            out += &item("", line);
        }
    }
    out
}

fn through_kernel(
    trace: &Trace,
    counts: &KernelCounts,
    (who, entry): (&OnBehalf, Entry),
    rows: &[&Requests],
) -> Vec<Step> {
    let is_af_alg = entry == Entry::AfAlg;
    let first = match is_af_alg {
        true => crossings(counts, who),
        false => makers(rows),
    };
    let mut steps = vec![(first, vec![entry_name(entry).to_owned()])];
    if !rows.is_empty() {
        let mut arrow = Vec::new();
        if is_af_alg {
            arrow.push(copies(counts, who, Transfer::In, "in"));
            arrow.extend(aes(trace, who, true).map(time));
        }
        let (made, drivers) = made(rows);
        arrow.extend(made);
        steps.push((arrow, drivers));
    }
    if is_af_alg {
        let arrow = vec![copies(counts, who, Transfer::Out, "out")];
        steps.push((arrow, vec![name(who)]));
    }
    steps
}

/// The AES code of a process, which may have several entries: one for each program that it
/// executed.
fn aes<'t>(
    trace: &'t Trace,
    who: &'t OnBehalf,
    in_kernel: bool,
) -> impl Iterator<Item = &'t Finding> {
    let of =
        move |process: &Process| who.context == Context::Process && who.pid == Some(process.pid);
    let all = trace.findings().filter(move |(process, _)| of(process));
    let all = all.map(|(_, finding)| finding);
    let is_there = move |it: &&Finding| (it.module.kind == ModuleKind::Kernel) == in_kernel;
    all.filter(|it| it.work.is_aes()).filter(is_there)
}

fn time(finding: &Finding) -> String {
    let (share, samples) = (percent(finding.share), grouped(finding.samples));
    format!("AES: {share} of its time ({samples} samples)")
}

/// The way of the same process in user space: exact counts, where there are any, and the AES code
/// of samples. Empty if nothing shows AES there.
fn in_user_space(trace: &Trace, who: &OnBehalf) -> Vec<Step> {
    const MOST: usize = 4;
    let Some(pid) = who.pid.filter(|_| who.context == Context::Process) else {
        return Vec::new();
    };
    let is_aes = |name: &str| name.to_ascii_lowercase().contains("aes");
    let calls = trace.counts.iter().flat_map(|counts| &counts.calls);
    let calls: Vec<&Counted> = calls
        .filter(|row| row.pid == pid && row.algorithm.as_deref().is_none_or(is_aes))
        .take(MOST)
        .collect();
    let mut steps = Vec::new();
    if !calls.is_empty() {
        let files: BTreeSet<String> = calls.iter().map(|row| short(&row.file)).collect();
        let arrow = calls.iter().map(|row| call(row)).collect();
        steps.push((arrow, files.into_iter().collect()));
    }
    let findings: Vec<&Finding> = aes(trace, who, false).take(MOST).collect();
    if !findings.is_empty() {
        let arrow = findings.iter().map(|it| time(it)).collect();
        steps.push((arrow, findings.iter().map(|it| code(it)).collect()));
    }
    steps
}

fn call(row: &Counted) -> String {
    let algorithm = row.algorithm.as_deref().map_or(String::new(), clean);
    let what = format!("{} {algorithm}", row.function);
    let (calls, bytes) = (grouped(row.sums.calls), grouped(row.sums.bytes));
    format!("{}: {calls} calls, {bytes} bytes", what.trim_end())
}

/// "VAES 512 GCM in libcrypto.so.3".
fn code(finding: &Finding) -> String {
    let mode = finding.mode.map_or(String::new(), |mode| {
        format!(" {}", mode.to_ascii_uppercase())
    });
    format!("{}{mode} in {}", finding.work.name(), place(finding))
}

fn short(path: &str) -> String {
    clean(path.rsplit('/').next().unwrap_or_default())
}

/// Calls and bytes of messages or copies.
fn transfers(counts: &KernelCounts, who: &OnBehalf, kind: Transfer) -> (u64, u64) {
    let mut all = counts.messages.iter().chain(&counts.copies);
    let found = all.find(|row| row.on_behalf == *who && row.kind == kind);
    found.map_or((0, 0), |row| (row.sums.calls, row.sums.bytes))
}

fn crossings(counts: &KernelCounts, who: &OnBehalf) -> Vec<String> {
    let kinds = [
        (Transfer::Sent, "sent"),
        (Transfer::Spliced, "spliced"),
        (Transfer::Received, "received"),
    ];
    let lines = kinds.into_iter().filter_map(|(kind, word)| {
        let (calls, bytes) = transfers(counts, who, kind);
        let size = match kind {
            // The size is that of the buffer.
            Transfer::Received => String::new(),
            _ => format!(", {} bytes", grouped(bytes)),
        };
        (calls > 0).then(|| format!("{} messages {word}{size}", grouped(calls)))
    });
    lines.collect()
}

fn copies(counts: &KernelCounts, who: &OnBehalf, kind: Transfer, way: &str) -> String {
    match transfers(counts, who, kind) {
        (0, _) => format!("no copy {way}"),
        (calls, bytes) => format!("{} copies {way}, {} bytes", grouped(calls), grouped(bytes)),
    }
}

/// Calls and bytes of the rows that have the same key.
fn sums<'r, Key: Ord>(
    rows: &[&'r Requests],
    key: impl Fn(&'r Requests) -> Key,
) -> BTreeMap<Key, (u64, u64)> {
    let mut sums: BTreeMap<Key, (u64, u64)> = BTreeMap::new();
    for &row in rows {
        let (calls, bytes) = sums.entry(key(row)).or_default();
        *calls = calls.saturating_add(row.sums.calls);
        *bytes = bytes.saturating_add(row.sums.bytes);
    }
    sums
}

/// The functions that make requests, with how many.
fn makers(rows: &[&Requests]) -> Vec<String> {
    let sums = sums(rows, |row| row.request.caller.as_ref().map(caller));
    let sums = sums.into_iter();
    sums.map(|(maker, (calls, bytes))| {
        let maker = maker.unwrap_or_else(|| "?".to_owned());
        let (calls, bytes) = (grouped(calls), grouped(bytes));
        format!("{maker}: {calls} requests, {bytes} bytes")
    })
    .collect()
}

/// "crypt_convert [dm_crypt]".
pub fn caller(caller: &Caller) -> String {
    format!("{} [{}]", caller.function, caller.module)
}

/// How many requests go to the drivers, and the drivers.
fn made(rows: &[&Requests]) -> (Vec<String>, Vec<String>) {
    let drivers: BTreeSet<&str> = rows.iter().map(|row| row.request.driver.as_str()).collect();
    let sums = sums(rows, |row| {
        (row.request.driver.as_str(), row.request.operation)
    });
    let sums = sums.into_iter();
    let made = sums.map(|((driver, operation), (calls, bytes))| {
        let to = match drivers.len() {
            1 => String::new(),
            _ => format!(" by {driver}"),
        };
        let what = match operation {
            Operation::Encrypt => "encrypt",
            Operation::Decrypt => "decrypt",
        };
        let (calls, bytes) = (grouped(calls), grouped(bytes));
        format!("{calls} requests to {what}{to}, {bytes} bytes")
    });
    (
        made.collect(),
        drivers.into_iter().map(str::to_owned).collect(),
    )
}

pub fn entry_name(entry: Entry) -> &'static str {
    match entry {
        Entry::AfAlg => "AF_ALG",
        Entry::DmCrypt => "dm-crypt",
        Entry::Ipsec => "IPsec",
        Entry::Ktls => "kernel TLS",
        Entry::Other => "other parts of the kernel",
    }
}

pub fn name(who: &OnBehalf) -> String {
    let name = who.name.as_deref().map_or("?".to_owned(), clean);
    match (who.context, who.pid) {
        (Context::Interrupt, _) => "interrupts".to_owned(),
        // A trace inside a PID namespace does not know the PIDs of the kernel's threads.
        (_, None) => "kernel threads".to_owned(),
        (Context::KernelThread, Some(pid)) => format!("[{name}] ({pid})"),
        (Context::Process, Some(pid)) => format!("{name} ({pid})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::result::{Request, Sums, Transfers};
    use crate::trace::tests::example;
    use classify::hot::Work;

    fn who(context: Context, pid: u32) -> OnBehalf {
        OnBehalf {
            context,
            pid: Some(pid),
            name: Some("name".to_owned()),
        }
    }

    fn sums(calls: u64) -> Sums {
        Sums {
            calls,
            bytes: 1600,
            sizes: Vec::new(),
        }
    }

    fn request(on_behalf: OnBehalf, entry: Entry, driver: &str, inside: bool) -> Requests {
        Requests {
            request: Request {
                on_behalf,
                entry,
                caller: None,
                driver: driver.to_owned(),
                operation: Operation::Encrypt,
                inside,
            },
            sums: sums(10),
        }
    }

    fn transfer(on_behalf: OnBehalf, kind: Transfer) -> Transfers {
        Transfers {
            on_behalf,
            kind,
            sums: sums(11),
        }
    }

    fn traced(requests: Vec<Requests>, messages: Vec<Transfers>, copies: Vec<Transfers>) -> Trace {
        let mut trace = example::trace(Vec::new());
        trace.kernel = Some(KernelCounts {
            requests,
            messages,
            copies,
            troubles: Vec::new(),
        });
        trace
    }

    /// A process that encrypts by AF_ALG and by a library.
    fn both() -> Trace {
        let mut kernel = Finding {
            share: 0.07,
            ..example::finding(Work::AesNi, 7)
        };
        kernel.module.kind = ModuleKind::Kernel;
        let user = example::finding(Work::Vaes512, 31);
        let mut trace = example::trace(vec![example::process(7, "one", vec![user, kernel])]);
        trace.kernel = Some(example::kernel_counts());
        trace.counts = Some(example::counts());
        trace
    }

    fn plain(chart: &str) -> String {
        anstream::adapter::strip_str(chart).to_string()
    }

    #[test]
    fn the_way_in_user_space_is_below_the_other_one() {
        let charts = charts(&both());
        let mut with = charts
            .iter()
            .filter(|chart| chart.contains("in user space"));
        let chart = plain(with.next().unwrap());
        assert!(with.next().is_none());
        let (kernel, user) = chart.split_once("\n\n").unwrap();
        assert!(kernel.starts_with("one (7)\n"), "{kernel}");
        assert!(kernel.contains("   │  AES: 7.0 % of its time (7 samples)\n"));
        let expected = [
            "one (7), in user space",
            "   │  EVP_EncryptUpdate aes-128-gcm: 51,403 calls, 842,186,752 bytes",
            "   ▼",
            "libexample.so.1",
            "   │  AES: 31 % of its time (31 samples)",
            "   ▼",
            "VAES 512 GCM in libexample.so.1",
        ];
        assert_eq!(user.lines().collect::<Vec<_>>(), expected);
        // Samples alone, and no AES in user space.
        let mut trace = both();
        trace.counts = None;
        let user = in_user_space(&trace, &who(Context::Process, 7));
        assert_eq!(user.len(), 1);
        assert_eq!(user[0].0, ["AES: 31 % of its time (31 samples)"]);
        trace.processes[0].findings.remove(0);
        assert!(in_user_space(&trace, &who(Context::Process, 7)).is_empty());
    }

    #[test]
    fn the_flow_of_a_program_through_af_alg() {
        let program = || who(Context::Process, 7);
        let requests = vec![
            request(program(), Entry::AfAlg, "outer", false),
            request(program(), Entry::AfAlg, "inner", true),
        ];
        let messages = vec![
            transfer(program(), Transfer::Sent),
            transfer(program(), Transfer::Received),
            transfer(who(Context::Process, 8), Transfer::Sent),
        ];
        let copies = vec![transfer(program(), Transfer::In)];
        let charts = charts(&traced(requests, messages, copies));
        assert_eq!(charts.len(), 2);
        let text = plain(&charts[0]);
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        assert_eq!(
            lines,
            [
                "name (7)",
                "│  11 messages sent, 1,600 bytes",
                "│  11 messages received",
                "▼",
                "AF_ALG",
                "│  11 copies in, 1,600 bytes",
                "│  10 requests to encrypt, 1,600 bytes",
                "▼",
                "outer",
                "│  no copy out",
                "▼",
                "name (7)",
            ]
        );
    }

    /// Rows of one driver are one line, whoever calls it; with several drivers, each line has the
    /// name of its own.
    #[test]
    fn the_flow_of_a_kernel_thread() {
        let thread = || who(Context::KernelThread, 9);
        let row = |function: Option<&str>, operation, driver: &str| {
            let mut row = request(thread(), Entry::DmCrypt, driver, false);
            row.request.operation = operation;
            row.request.caller = function.map(|function| Caller {
                function: function.to_owned(),
                module: "dm_crypt".to_owned(),
            });
            row
        };
        let chart = |requests| {
            let charts = charts(&traced(requests, Vec::new(), Vec::new()));
            assert_eq!(charts.len(), 1);
            plain(&charts[0])
        };
        let one = chart(vec![
            row(Some("crypt_convert"), Operation::Encrypt, "xts"),
            row(None, Operation::Encrypt, "xts"),
            row(Some("crypt_convert"), Operation::Decrypt, "xts"),
        ]);
        let expected = [
            "[name] (9)",
            "   │  ?: 10 requests, 1,600 bytes",
            "   │  crypt_convert [dm_crypt]: 20 requests, 3,200 bytes",
            "   ▼",
            "dm-crypt",
            "   │  20 requests to encrypt, 3,200 bytes",
            "   │  10 requests to decrypt, 1,600 bytes",
            "   ▼",
            "xts",
        ];
        assert_eq!(one.lines().collect::<Vec<_>>(), expected);
        let two = chart(vec![
            row(None, Operation::Encrypt, "xts"),
            row(None, Operation::Decrypt, "cbc"),
        ]);
        for line in [
            "10 requests to decrypt by cbc, 1,600 bytes",
            "10 requests to encrypt by xts, 1,600 bytes",
        ] {
            assert!(two.contains(line), "{two}");
        }
    }
}
