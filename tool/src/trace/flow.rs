// SPDX-License-Identifier: BSD-2-Clause
//! How data flows through the kernel's ciphers: from a program through system calls and copies to a
//! driver and back, with counts on the arrows.

mod svg;

pub use svg::svg;

use super::result::{
    Context, Copied, Entry, KernelCounts, Message, OnBehalf, Operation, Requests, Transfers,
};
use crate::style::{clean, grouped, item, paint, BOLD, DIM};
use std::collections::BTreeMap;

/// A flow: boxes, and what is on the arrow from each to the next one.
pub struct Flow {
    pub first: String,
    pub steps: Vec<Step>,
}

pub struct Step {
    pub arrow: Vec<String>,
    /// The lines of the box to which the arrow leads.
    pub to: Vec<String>,
}

/// The flows of all processes through all entries, the most bytes first.
pub fn flows(counts: &KernelCounts) -> Vec<Flow> {
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
    all.sort_by_key(|(_, (bytes, _))| std::cmp::Reverse(*bytes));
    let all = all.into_iter();
    all.map(|((who, entry), (_, rows))| flow(counts, who, entry, &rows))
        .collect()
}

fn flow(counts: &KernelCounts, who: &OnBehalf, entry: Entry, rows: &[&Requests]) -> Flow {
    let is_af_alg = entry == Entry::AfAlg;
    let of = |kind| transfers(&counts.copies, who, kind);
    let mut steps = vec![Step {
        arrow: match is_af_alg {
            true => crossings(counts, who),
            false => Vec::new(),
        },
        to: vec![entry_name(entry).to_owned()],
    }];
    let drivers: Vec<String> = rows.iter().map(|row| driver(row)).collect();
    if !drivers.is_empty() {
        steps.push(Step {
            arrow: match is_af_alg {
                true => vec![copies("in", of(Copied::In))],
                false => Vec::new(),
            },
            to: drivers,
        });
    }
    if is_af_alg {
        steps.push(Step {
            arrow: vec![copies("out", of(Copied::Out))],
            to: vec![name(who)],
        });
    }
    Flow {
        first: name(who),
        steps,
    }
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

fn driver(row: &Requests) -> String {
    format!(
        "{} {} {} requests, {} bytes",
        row.driver,
        match row.operation {
            Operation::Encrypt => "encrypts",
            Operation::Decrypt => "decrypts",
        },
        grouped(row.calls),
        grouped(row.bytes)
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
        (Context::Interrupt, _) | (_, None) => "interrupts".to_owned(),
        (Context::KernelThread, Some(pid)) => format!("[{name}] ({pid})"),
        (Context::Process, Some(pid)) => format!("{name} ({pid})"),
    }
}

/// The flow as text, from top to bottom.
pub fn text(flow: &Flow) -> String {
    let mut out = item("", paint(BOLD, &flow.first));
    for step in &flow.steps {
        match step.arrow.is_empty() {
            true => out += &item("   │", ""),
            false => {
                for line in &step.arrow {
                    out += &item("   │  ", paint(DIM, line));
                }
            }
        }
        out += &item("   ▼", "");
        for line in &step.to {
            out += &item("", line);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn the_flow_of_a_program_through_af_alg() {
        let program = || who(Context::Process, 7);
        let counts = KernelCounts {
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
        let flows = flows(&counts);
        assert_eq!(flows.len(), 2);
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
                "▼",
                "outer encrypts 10 requests, 1,600 bytes",
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
        let picture = svg(&flows(&counts));
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

    #[test]
    fn the_flow_of_a_kernel_thread() {
        let thread = who(Context::KernelThread, 9);
        let counts = KernelCounts {
            requests: vec![request(thread, Entry::DmCrypt, "xts", false)],
            messages: Vec::new(),
            copies: Vec::new(),
            troubles: Vec::new(),
        };
        let flows = flows(&counts);
        assert_eq!(flows[0].first, "[name] (9)");
        assert_eq!(flows[0].steps.len(), 2);
        assert_eq!(flows[0].steps[0].to, ["dm-crypt"]);
        assert!(flows[0].steps.iter().all(|step| step.arrow.is_empty()));
    }
}
