// SPDX-License-Identifier: BSD-2-Clause
//! How data flows through the kernel's ciphers: from a program through system calls and copies to a
//! driver and back, with counts on the arrows. The way of the same process in user space is beside
//! it.

mod svg;

pub use svg::svg;

use super::result::{
    Caller, Context, Copied, Counted, Entry, Executed, Finding, KernelCounts, Message, ModuleKind,
    OnBehalf, Operation, Process, Requests, Trace, Transfers,
};
use super::verdict::percent;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use terminal::style::{clean, grouped, paint, width, wrapped, BOLD, DIM};

/// The way of a process' data through the kernel, and in user space if AES runs there, too.
pub struct Flow {
    pub kernel: Chain,
    pub user: Option<Chain>,
}

/// Boxes, and what is on the arrow from each to the next one.
pub struct Chain {
    pub first: String,
    pub steps: Vec<Step>,
}

pub struct Step {
    pub arrow: Vec<String>,
    /// The lines of the box to which the arrow leads.
    pub to: Vec<String>,
}

/// The flows of all processes through all parts of the kernel, the most bytes first.
pub fn flows(trace: &Trace) -> Vec<Flow> {
    let Some(counts) = &trace.kernel else {
        return Vec::new();
    };
    let mut of: BTreeMap<(&OnBehalf, Entry), (u64, Vec<&Requests>)> = BTreeMap::new();
    for message in &counts.messages {
        of.entry((&message.on_behalf, Entry::AfAlg)).or_default();
    }
    for row in counts.requests.iter().filter(|row| !row.inside) {
        let flow = of.entry((&row.on_behalf, row.entry)).or_default();
        flow.0 = flow.0.saturating_add(row.bytes);
        flow.1.push(row);
    }
    let mut all: Vec<_> = of.into_iter().collect();
    all.sort_by_key(|(_, (bytes, _))| Reverse(*bytes));
    // A process that uses several parts of the kernel has one way in user space.
    let mut shown = BTreeSet::new();
    let all = all.into_iter();
    all.map(|((who, entry), (_, rows))| Flow {
        kernel: through_kernel(trace, counts, (who, entry), &rows),
        user: shown
            .insert(who)
            .then(|| in_user_space(trace, who))
            .flatten(),
    })
    .collect()
}

fn through_kernel(
    trace: &Trace,
    counts: &KernelCounts,
    (who, entry): (&OnBehalf, Entry),
    rows: &[&Requests],
) -> Chain {
    let is_af_alg = entry == Entry::AfAlg;
    let of = |kind| transfers(&counts.copies, who, kind);
    let mut steps = vec![Step {
        arrow: match is_af_alg {
            true => crossings(counts, who),
            false => makers(rows),
        },
        to: vec![entry_name(entry).to_owned()],
    }];
    if !rows.is_empty() {
        let mut arrow = Vec::new();
        if is_af_alg {
            arrow.push(copies("in", of(Copied::In)));
            arrow.extend(copying(trace, who));
            arrow.extend(encrypting(trace, who));
        }
        let (made, drivers) = made(rows);
        arrow.extend(made);
        steps.push(Step { arrow, to: drivers });
    }
    if is_af_alg {
        steps.push(Step {
            arrow: vec![copies("out", of(Copied::Out))],
            to: vec![name(who)],
        });
    }
    Chain {
        first: name(who),
        steps,
    }
}

/// A process may have several entries, one for each program that it executed.
fn entries<'t>(trace: &'t Trace, who: &OnBehalf) -> impl Iterator<Item = &'t Process> {
    let pid = match who.context {
        Context::Process => who.pid,
        _ => None,
    };
    let all = trace.processes.iter();
    all.filter(move |process| Some(process.pid) == pid)
}

/// How much of its time in the kernel a process copies.
fn copying(trace: &Trace, who: &OnBehalf) -> Option<String> {
    let (mut kernel, mut copies) = (0, 0);
    for process in entries(trace, who) {
        kernel += process.kernel_samples;
        copies += process.kernel_copies?;
    }
    (kernel > 0).then(|| {
        format!(
            "copying: {} of its kernel time ({} of {} samples)",
            percent(copies as f64 / kernel as f64),
            grouped(copies),
            grouped(kernel)
        )
    })
}

/// How much of its time a process is in the kernel's AES code.
fn encrypting(trace: &Trace, who: &OnBehalf) -> Option<String> {
    let findings = entries(trace, who).flat_map(|process| &process.findings);
    let inside = findings.filter(|it| it.work.is_aes() && it.module.kind == ModuleKind::Kernel);
    let (share, samples) = inside.fold((0.0, 0), |(share, samples), it| {
        (share + it.share, samples + it.samples)
    });
    let share = percent(share);
    (samples > 0).then(|| format!("AES: {share} of its time ({} samples)", grouped(samples)))
}

/// The way of the same process in user space: exact counts, where there are any, and the AES code
/// of samples. None if nothing shows AES there.
fn in_user_space(trace: &Trace, who: &OnBehalf) -> Option<Chain> {
    const MOST: usize = 4;
    let pid = who.pid.filter(|_| who.context == Context::Process)?;
    let counts = trace.counts.as_ref();
    let is_aes = |name: &str| name.to_ascii_lowercase().contains("aes");
    let calls = counts.map_or(&[][..], |counts| &counts.calls).iter();
    let calls: Vec<&Counted> = calls
        .filter(|row| row.pid == pid && row.algorithm.as_deref().is_none_or(is_aes))
        .take(MOST)
        .collect();
    let mut steps = Vec::new();
    if !calls.is_empty() {
        let mut files: Vec<String> = calls.iter().map(|row| short(&row.file)).collect();
        files.sort();
        files.dedup();
        steps.push(Step {
            arrow: calls.iter().map(|row| call(row)).collect(),
            to: files,
        });
    }
    let executed = counts.map_or(&[][..], |counts| &counts.executed).iter();
    let executed = executed.filter(|row| row.pid == pid).take(MOST);
    let mut arrow: Vec<String> = executed.map(one_executed).collect();
    let findings = entries(trace, who).flat_map(|process| &process.findings);
    let findings: Vec<&Finding> = findings
        .filter(|it| it.work.is_aes() && it.module.kind != ModuleKind::Kernel)
        .take(MOST)
        .collect();
    arrow.extend(findings.iter().map(|it| {
        let share = percent(it.share);
        format!("AES: {share} of its time ({} samples)", grouped(it.samples))
    }));
    let mut code: Vec<String> = findings.iter().map(|it| code(it)).collect();
    if code.is_empty() && !arrow.is_empty() {
        code.push("tenrounds".to_owned());
    }
    if !code.is_empty() {
        steps.push(Step { arrow, to: code });
    }
    (!steps.is_empty()).then(|| Chain {
        first: format!("{}, in user space", name(who)),
        steps,
    })
}

fn call(row: &Counted) -> String {
    let algorithm = row.algorithm.as_deref().map_or(String::new(), clean);
    let what = format!("{} {algorithm}", row.function);
    let (calls, bytes) = (grouped(row.calls), grouped(row.bytes));
    format!("{}: {calls} calls, {bytes} bytes", what.trim_end())
}

fn one_executed(row: &Executed) -> String {
    let (calls, bytes) = (grouped(row.calls), grouped(row.bytes));
    let (operation, backend) = (&row.operation, &row.backend);
    format!("{operation} on {backend}: {calls} calls, {bytes} bytes")
}

/// "VAES 512 GCM in libcrypto.so.3".
fn code(finding: &Finding) -> String {
    let mode = finding.mode.map_or(String::new(), |mode| {
        format!(" {}", mode.to_ascii_uppercase())
    });
    let place = match finding.module.path.as_deref() {
        Some(path) => format!("in {}", short(path)),
        None => "written at run time".to_owned(),
    };
    format!("{}{mode} {place}", finding.work.name())
}

pub fn short(path: &str) -> String {
    clean(path.rsplit('/').next().unwrap_or_default())
}

fn transfers<Kind: Copy + PartialEq + serde::Serialize>(
    all: &[Transfers<Kind>],
    who: &OnBehalf,
    kind: Kind,
) -> (u64, u64) {
    let found = all
        .iter()
        .find(|row| row.on_behalf == *who && row.kind == kind);
    found.map_or((0, 0), |row| (row.calls, row.bytes))
}

fn crossings(counts: &KernelCounts, who: &OnBehalf) -> Vec<String> {
    let kinds = [
        (Message::Sent, "sent"),
        (Message::Spliced, "spliced"),
        (Message::Received, "received"),
    ];
    let lines = kinds.into_iter().filter_map(|(kind, word)| {
        let (calls, bytes) = transfers(&counts.messages, who, kind);
        let size = match kind {
            // The size is that of the buffer.
            Message::Received => String::new(),
            _ => format!(", {} bytes", grouped(bytes)),
        };
        (calls > 0).then(|| format!("{} messages {word}{size}", grouped(calls)))
    });
    lines.collect()
}

fn copies(way: &str, (calls, bytes): (u64, u64)) -> String {
    match calls {
        0 => format!("no copy {way}"),
        _ => format!("{} copies {way}, {} bytes", grouped(calls), grouped(bytes)),
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
        *calls = calls.saturating_add(row.calls);
        *bytes = bytes.saturating_add(row.bytes);
    }
    sums
}

/// The functions that make requests, with how many.
fn makers(rows: &[&Requests]) -> Vec<String> {
    let sums = sums(rows, |row| row.caller.as_ref().map(caller));
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
    let drivers: BTreeSet<&str> = rows.iter().map(|row| row.driver.as_str()).collect();
    let sums = sums(rows, |row| (row.driver.as_str(), row.operation));
    let sums = sums.into_iter();
    let made = sums.map(|((driver, operation), (calls, bytes))| {
        let to = match drivers.len() {
            1 => String::new(),
            _ => format!(" by {driver}"),
        };
        let what = match operation {
            Operation::Encrypt => "encrypt",
            Operation::Decrypt => "decrypt",
            Operation::Hash => "hash",
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

/// The flow as text, from top to bottom. The way in user space is beside the other one if the
/// terminal is wide enough, else below it.
pub fn text(flow: &Flow) -> String {
    // Wider than a paragraph may be.
    text_for(flow, terminal::columns())
}

fn text_for(flow: &Flow, columns: Option<usize>) -> String {
    const GAP: usize = 4;
    let left = lines(&flow.kernel);
    let fold = |lines: &[(&str, String)]| -> String {
        let lines = lines.iter();
        lines
            .map(|(label, text)| wrapped(label, text, columns))
            .collect()
    };
    let Some(user) = &flow.user else {
        return fold(&left);
    };
    let right = lines(user);
    let joined = |lines: &[(&str, String)]| -> Vec<String> {
        let joined = lines.iter().map(|(label, text)| format!("{label}{text}"));
        joined.collect()
    };
    let widest = |lines: &[String]| lines.iter().map(|line| width(line)).max().unwrap_or(0);
    let (plain, beside) = (joined(&left), joined(&right));
    let room = widest(&plain) + GAP;
    if columns.is_some_and(|columns| room + widest(&beside) > columns) {
        return fold(&left) + "\n" + &fold(&right);
    }
    let mut out = String::new();
    for index in 0..plain.len().max(beside.len()) {
        let line = plain.get(index).map_or("", String::as_str);
        let padding = " ".repeat(room - width(line));
        let other = beside.get(index).map_or("", String::as_str);
        out += format!("{line}{padding}{other}").trim_end();
        out += "\n";
    }
    out
}

/// The lines of a chain, each with what stands before it.
fn lines(chain: &Chain) -> Vec<(&'static str, String)> {
    let mut lines = vec![("", paint(BOLD, &chain.first))];
    for step in &chain.steps {
        match step.arrow.is_empty() {
            true => lines.push(("   │", String::new())),
            false => {
                let arrow = step.arrow.iter();
                lines.extend(arrow.map(|line| ("   │  ", paint(DIM, line))));
            }
        }
        lines.push(("   ▼", String::new()));
        lines.extend(step.to.iter().map(|line| ("", line.clone())));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::example;
    use classify::hot::Work;

    fn who(context: Context, pid: u32) -> OnBehalf {
        OnBehalf {
            context,
            pid: Some(pid),
            name: Some("name".to_owned()),
        }
    }

    fn request(on_behalf: OnBehalf, entry: Entry, driver: &str, inside: bool) -> Requests {
        Requests {
            on_behalf,
            entry,
            caller: None,
            driver: driver.to_owned(),
            operation: Operation::Encrypt,
            inside,
            calls: 10,
            bytes: 1600,
            sizes: Vec::new(),
        }
    }

    fn transfer<Kind: serde::Serialize>(on_behalf: OnBehalf, kind: Kind) -> Transfers<Kind> {
        Transfers {
            on_behalf,
            kind,
            calls: 11,
            bytes: 1600,
            sizes: Vec::new(),
        }
    }

    fn traced(counts: KernelCounts) -> Trace {
        let mut trace = example::trace(Vec::new());
        trace.kernel = Some(counts);
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

    #[test]
    fn the_way_in_user_space_is_beside_the_other_one() {
        let trace = both();
        let flows = flows(&trace);
        let with = flows.iter().filter(|flow| flow.user.is_some());
        assert_eq!(with.count(), 1);
        let flow = flows.iter().find(|flow| flow.user.is_some()).unwrap();
        let plain = |columns| {
            let text = text_for(flow, columns);
            anstream::adapter::strip_str(&text).to_string()
        };
        let beside = [
            "one (7), in user space",
            "   │  EVP_EncryptUpdate aes-128-gcm: 51,403 calls, 842,186,752 bytes",
            "   ▼",
            "libexample.so.1",
            "   │  gcm_seal on vaes512: 31,234 calls, 642,186,751 bytes",
            "   │  AES: 31 % of its time (31 samples)",
            "   ▼",
            "VAES 512 GCM in libexample.so.1",
        ];
        let wide = plain(None);
        let lines: Vec<&str> = wide.lines().collect();
        let column = lines[0].find(beside[0]).unwrap();
        assert!(lines[0].starts_with("one (7) "), "{wide}");
        assert!(
            wide.contains("   │  AES: 7.0 % of its time (7 samples) "),
            "{wide}"
        );
        for (line, other) in lines.iter().zip(beside) {
            let right: String = line.chars().skip(column).collect();
            assert_eq!(right, other, "{wide}");
        }
        // A narrow terminal has one below the other.
        let narrow = plain(Some(80));
        let below = narrow.split_once("\n\n").unwrap().1;
        assert_eq!(below.lines().collect::<Vec<_>>(), beside);
        assert!(narrow.lines().all(|line| line.chars().count() <= 80));
        // Samples alone, and no AES in user space.
        let mut trace = both();
        trace.counts = None;
        let user = in_user_space(&trace, &who(Context::Process, 7)).unwrap();
        assert_eq!(user.steps.len(), 1);
        assert_eq!(user.steps[0].arrow, ["AES: 31 % of its time (31 samples)"]);
        trace.processes[0].findings.remove(0);
        assert!(in_user_space(&trace, &who(Context::Process, 7)).is_none());
    }

    /// The picture has both ways, and all that is on their arrows.
    #[test]
    fn the_picture_has_a_column_for_user_space() {
        let trace = both();
        let picture = svg(&flows(&trace));
        let document = roxmltree::Document::parse(&picture).unwrap();
        let text = |part: &str| {
            let all = document.descendants();
            let with = all.filter(|node| node.text().is_some_and(|text| text == part));
            let with: Vec<_> = with.filter(|node| node.has_tag_name("text")).collect();
            assert_eq!(with.len(), 1, "{part} in {picture}");
            let number = |name| with[0].attribute(name).unwrap().parse::<i32>().unwrap();
            (number("x"), number("y"))
        };
        let call = text("EVP_EncryptUpdate aes-128-gcm: 51,403 calls, 842,186,752 bytes");
        let code = text("VAES 512 GCM in libexample.so.1");
        text("gcm_seal on vaes512: 31,234 calls, 642,186,751 bytes");
        let sent = text("10 messages sent, 160 bytes");
        assert!(call.0 > sent.0 && call.1 == sent.1, "{picture}");
        assert!(code.1 > call.1);
    }

    #[test]
    fn the_flow_of_a_program_through_af_alg() {
        let program = || who(Context::Process, 7);
        let counts = KernelCounts {
            drivers: None,
            requests: vec![
                request(program(), Entry::AfAlg, "outer", false),
                request(program(), Entry::AfAlg, "inner", true),
            ],
            messages: vec![
                transfer(program(), Message::Sent),
                transfer(program(), Message::Received),
                transfer(who(Context::Process, 8), Message::Sent),
            ],
            copies: vec![transfer(program(), Copied::In)],
            troubles: Vec::new(),
        };
        let mut trace = traced(counts);
        trace.processes = vec![example::process(7, "name", Vec::new())];
        (
            trace.processes[0].kernel_samples,
            trace.processes[0].kernel_copies,
        ) = (430, Some(60));
        let flows = flows(&trace);
        assert_eq!(flows.len(), 2);
        assert!(flows.iter().all(|flow| flow.user.is_none()));
        let text = text(&flows[0]);
        let text = anstream::adapter::strip_str(&text).to_string();
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
                "│  copying: 14 % of its kernel time (60 of 430 samples)",
                "│  10 requests to encrypt, 1,600 bytes",
                "▼",
                "outer",
                "│  no copy out",
                "▼",
                "name (7)",
            ]
        );
    }

    /// Every count of the result is in the picture, once for each that the text has, and a hostile
    /// name stays text.
    #[test]
    fn the_picture_has_the_numbers_of_the_result() {
        let program = || OnBehalf {
            name: Some("<script>&\u{1b}".to_owned()),
            ..who(Context::Process, 7)
        };
        let row = |driver: &str, calls, bytes| Requests {
            calls,
            bytes,
            ..request(program(), Entry::AfAlg, driver, false)
        };
        let counts = KernelCounts {
            drivers: None,
            requests: vec![
                row("cbc-one", 1234, 5_678_901),
                row("cbc-two", 77, 1_000_003),
            ],
            messages: vec![Transfers {
                calls: 4321,
                bytes: 7_000_001,
                ..transfer(program(), Message::Sent)
            }],
            copies: vec![Transfers {
                calls: 99,
                bytes: 7_000_002,
                ..transfer(program(), Copied::In)
            }],
            troubles: Vec::new(),
        };
        let trace = traced(counts);
        let counts = trace.kernel.as_ref().unwrap();
        let picture = svg(&flows(&trace));
        let document = roxmltree::Document::parse(&picture).unwrap();
        let texts = document
            .descendants()
            .filter(|node| node.has_tag_name("text"));
        let texts: Vec<&str> = texts.filter_map(|node| node.text()).collect();
        let name = "<script>&\u{fffd} (7)";
        assert!(
            texts[0].starts_with("<script>&") && texts[0].ends_with(" (7)"),
            "{name}: {texts:?}"
        );
        let has = |number: u64, word: &str| {
            let number = grouped(number);
            let has = |text: &&&str| text.split([' ', ',']).any(|part| part == word);
            let with = texts.iter().filter(|text| text.contains(&number));
            with.filter(has).count() == 1
        };
        for row in &counts.requests {
            assert!(
                has(row.calls, &row.driver) && has(row.bytes, &row.driver),
                "{texts:?}"
            );
        }
        for (row, word) in [
            (&counts.messages[0].bytes, "sent"),
            (&counts.messages[0].calls, "sent"),
        ] {
            assert!(has(*row, word), "{texts:?}");
        }
        assert!(has(counts.copies[0].calls, "copies") && has(counts.copies[0].bytes, "copies"));
        // Nothing sticks out of the picture, and nothing overlaps.
        let number = |node: roxmltree::Node, name: &str| -> i32 {
            node.attribute(name).unwrap().parse().unwrap()
        };
        let root = document.root_element();
        let (wide, high) = (number(root, "width"), number(root, "height"));
        let mut places = BTreeMap::new();
        for node in document
            .descendants()
            .filter(|node| node.has_tag_name("text"))
        {
            let (x, y) = (number(node, "x"), number(node, "y"));
            let end = x + drawing::width(node.text().unwrap(), 14.0) as i32;
            assert!(x > 0 && end < wide && y < high, "{picture}");
            assert!(places.insert((x, y), ()).is_none(), "{picture}");
        }
        assert!(svg(&[]).contains("No request was made"));
    }

    /// Rows of one driver are one line, whoever calls it; with several drivers, each line has the
    /// name of its own.
    #[test]
    fn the_flow_of_a_kernel_thread() {
        let thread = || who(Context::KernelThread, 9);
        let row = |function: Option<&str>, operation, driver: &str| Requests {
            operation,
            caller: function.map(|function| Caller {
                function: function.to_owned(),
                module: "dm_crypt".to_owned(),
            }),
            ..request(thread(), Entry::DmCrypt, driver, false)
        };
        let arrows = |requests: Vec<Requests>| {
            let counts = KernelCounts {
                drivers: None,
                requests,
                messages: Vec::new(),
                copies: Vec::new(),
                troubles: Vec::new(),
            };
            let mut flows = flows(&traced(counts));
            assert_eq!(flows.len(), 1);
            let Chain { first, steps } = flows.remove(0).kernel;
            assert_eq!(first, "[name] (9)");
            assert_eq!(
                (steps.len(), &steps[0].to),
                (2, &vec!["dm-crypt".to_owned()])
            );
            let [first, second] = <[Step; 2]>::try_from(steps).ok().unwrap();
            (first.arrow, second.arrow, second.to)
        };
        let (makers, made, drivers) = arrows(vec![
            row(Some("crypt_convert"), Operation::Encrypt, "xts"),
            row(None, Operation::Encrypt, "xts"),
            row(Some("crypt_convert"), Operation::Decrypt, "xts"),
        ]);
        let convert = "crypt_convert [dm_crypt]: 20 requests, 3,200 bytes";
        assert_eq!(makers, ["?: 10 requests, 1,600 bytes", convert]);
        let encrypt = "20 requests to encrypt, 3,200 bytes";
        assert_eq!(made, [encrypt, "10 requests to decrypt, 1,600 bytes"]);
        assert_eq!(drivers, ["xts"]);
        let (_, made, drivers) = arrows(vec![
            row(None, Operation::Encrypt, "xts"),
            row(None, Operation::Hash, "cmac"),
        ]);
        let hash = "10 requests to hash by cmac, 1,600 bytes";
        assert_eq!(made, [hash, "10 requests to encrypt by xts, 1,600 bytes"]);
        assert_eq!(drivers, ["cmac", "xts"]);
    }
}
