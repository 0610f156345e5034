// SPDX-License-Identifier: BSD-2-Clause
//! Tests the layout of the picture. Even in the widest of the usual fonts, every text is inside the
//! picture, overlaps no other text, and touches no limit line.

mod extent;

use super::super::case::Case;
use super::super::figure::Rounds;
use super::*;
use base::ciphers::Cipher;
use catalogue::Direction;
use extent::{of_text, Extent};
use std::time::Duration;

type Node<'a> = roxmltree::Node<'a, 'a>;

fn number(node: &Node, name: &str) -> f64 {
    let value = node.attribute(name).unwrap_or_else(|| panic!("no {name}"));
    value.parse().unwrap_or_else(|_| panic!("{name}={value}"))
}

/// A marker, which begins at its middle.
fn extent_of_marker(node: &Node) -> Extent {
    let path = node.attribute("d").expect("a path");
    let start = path[1..].split('m').next().expect("a start");
    let (x, y) = start.split_once(',').expect("a point");
    let (x, y): (f64, f64) = (x.parse().expect("x"), y.parse().expect("y"));
    let half = f64::from(MARKER);
    Extent {
        left: x - half,
        top: y - half,
        right: x + half,
        bottom: y + half,
    }
}

fn extent_of_rectangle(node: &Node) -> Extent {
    let (left, top) = (number(node, "x"), number(node, "y"));
    Extent {
        left,
        top,
        right: left + number(node, "width"),
        bottom: top + number(node, "height"),
    }
}

/// The elements of a picture.
struct Seen {
    size: Extent,
    texts: Vec<(String, Extent)>,
    /// Bars, markers and axes.
    drawn: Vec<Extent>,
    /// The lines of the limits, including those in the legend.
    limits: Vec<Extent>,
}

impl Seen {
    fn of(run: &Run) -> Seen {
        let picture = draw(run);
        let document = roxmltree::Document::parse(&picture).unwrap();
        let named = |name: &'static str| {
            let nodes = document.descendants();
            nodes.filter(move |n| n.has_tag_name(name))
        };
        let rectangles = |wanted: &dyn Fn(&str) -> bool| {
            let class = |n: &Node| n.attribute("class").is_some_and(wanted);
            let nodes = named("rect").filter(class);
            nodes.map(|n| extent_of_rectangle(&n)).collect::<Vec<_>>()
        };
        let is_seen = |class: &str| !["paper", "grid", "red"].contains(&class);
        let markers = named("path").map(|n| extent_of_marker(&n));
        let text = |node: Node| {
            let text = node.text().expect("a text").trim().to_owned();
            let extent = of_text(|name| node.attribute(name), &text);
            (text, extent)
        };
        Seen {
            size: Extent {
                left: 0.0,
                top: 0.0,
                right: number(&document.root_element(), "width"),
                bottom: number(&document.root_element(), "height"),
            },
            texts: named("text").map(text).collect(),
            drawn: rectangles(&is_seen).into_iter().chain(markers).collect(),
            limits: rectangles(&|class| class == "red"),
        }
    }

    fn says(&self, text: &str) -> bool {
        self.texts.iter().any(|(t, _)| t == text)
    }

    /// Checks that texts are inside the picture, do not overlap, and do not touch limit lines.
    fn check(&self, what: &str) {
        for (index, (text, extent)) in self.texts.iter().enumerate() {
            let size = self.size;
            assert!(
                size.contains(extent),
                "{what}: {text:?} leaves the picture: {extent:?}, {size:?}"
            );
            for (other, place) in &self.texts[..index] {
                assert!(
                    !extent.meets(place),
                    "{what}: {text:?} and {other:?} overlap: {extent:?}, {place:?}"
                );
            }
        }
        for (text, extent) in &self.texts {
            assert!(
                !self.drawn.iter().any(|it| it.meets(extent)),
                "{what}: {text:?} is on a bar or a marker: {extent:?}"
            );
        }
        self.check_limits(what);
    }

    fn check_limits(&self, what: &str) {
        for (text, extent) in &self.texts {
            for limit in &self.limits {
                assert!(
                    !extent.meets(limit),
                    "{what}: a limit strikes through {text:?}: {extent:?}, {limit:?}"
                );
            }
        }
    }
}

const LARGEST: usize = 16384;

fn figure(
    name: &str,
    direction: Direction,
    threads: usize,
    rates: &[(Implementation, f64)],
) -> Figure {
    let case = Case {
        cipher: Cipher::by_name(name).unwrap(),
        direction,
        bytes: LARGEST,
        threads,
    };
    let mut rounds = Rounds::default();
    for &(who, rate) in rates {
        rounds.rates.by_subject.insert(who, vec![rate * 1e9; 3]);
    }
    Figure { case, rounds }
}

/// An AES figure whose rates are these fractions of the limit.
fn aes(name: &str, direction: Direction, limit: f64, parts: [f64; 3]) -> Figure {
    let bars = BARS.into_iter().zip(parts.map(|part| part * limit));
    let rates: Vec<_> = bars.chain([(Limit, limit)]).collect();
    figure(name, direction, 1, &rates)
}

fn reference(name: &str, threads: usize, rate: f64) -> Figure {
    figure(name, Direction::Encrypt, threads, &[(OpenSsl, rate)])
}

fn run(figures: Vec<Figure>, references: Vec<Figure>) -> Run {
    let mut host = machine::host::read(None);
    host.cpu.brand = "AMD EPYC 9654 96-Core Processor".into();
    host.openssl = Some(machine::schema::OpenSsl {
        version: "OpenSSL 3.0.22 25 Aug 2026".into(),
        library: String::new(),
        modules: None,
        cpu_settings: None,
        sees: vec![],
    });
    Run {
        host,
        figures: [figures, references].concat(),
        limits: vec![],
        widest: None,
        backend: None,
        notes: vec![],
        rounds: 3,
        clocks: Default::default(),
        took: Duration::from_secs(1),
        load: None,
        cpu_settings: None,
        paths: None,
    }
}

fn references() -> Vec<Figure> {
    vec![
        reference("rc4", 1, 0.52),
        reference("chacha20-poly1305", 1, 2.4),
    ]
}

const MODES: [&str; 12] = [
    "ecb", "cbc", "cfb", "ofb", "ctr", "gcm", "ccm", "ocb", "siv", "gcm-siv", "xts", "cmac",
];

/// Figures for `count` modes of AES-256, in both directions if they differ. Serial modes are near
/// their low limit.
fn modes(count: usize) -> Vec<Figure> {
    let of = |mode: &&str| {
        let name = format!("aes-256-{mode}");
        let cipher = Cipher::by_name(&name).unwrap();
        let figure = move |&direction: &Direction| {
            let serial = cipher.bound(direction) == catalogue::Bound::Latency;
            let (limit, parts) = match serial {
                true => (1.6, [0.1, 0.95, 0.99]),
                false => (23.4, [0.03, 0.4, 1.04]),
            };
            aes(&name, direction, limit, parts)
        };
        cipher.directions().iter().map(figure).collect::<Vec<_>>()
    };
    MODES[MODES.len() - count..]
        .iter()
        .rev()
        .flat_map(of)
        .collect()
}

/// Texts have at least 8 pixels on a phone of 360 pixels, and each ink has a colour in both themes.
#[test]
fn it_can_be_read_on_a_phone_in_light_and_dark() {
    let picture = draw(&run(modes(3), references()));
    let document = roxmltree::Document::parse(&picture).unwrap();
    let scale = 360.0 / number(&document.root_element(), "width");
    let style = document.descendants().find(|n| n.has_tag_name("style"));
    let style = style.and_then(|n| n.text()).expect("a style");
    let (light, dark) = style
        .split_once("@media(prefers-color-scheme:dark)")
        .expect("dark");
    for node in document.descendants() {
        if node.has_tag_name("text") {
            assert!(number(&node, "font-size") * scale >= 8.0, "{node:?}");
        }
        let rule = node.attribute("class").map(|class| format!(".{class}{{"));
        let rule = rule.unwrap_or_default();
        assert!(light.contains(&rule) && dark.contains(&rule), "{node:?}");
    }
}

#[test]
fn every_text_is_whole_and_apart_whatever_the_number_of_modes() {
    for count in 1..=MODES.len() {
        let what = format!("{count} modes");
        Seen::of(&run(modes(count), references())).check(&what);
        Seen::of(&run(modes(count), vec![])).check(&what);
    }
}

#[test]
fn long_names_stay_in_the_picture() {
    let mut found = run(modes(1), references());
    found.host.cpu.brand =
        "Intel(R) Xeon(R) Platinum 8481C CPU with a very long name @ 2.70GHz".into();
    let openssl = found.host.openssl.as_mut().unwrap();
    openssl.version = "OpenSSL 3.5.0-beta1-vendor+distribution~20261122.1 25 Aug 2026 (Library: \
                       OpenSSL 3.5.0-beta1-vendor+distribution~20261122.1 25 Aug 2026)"
        .into();
    let seen = Seen::of(&found);
    seen.check("long names");
    // The text is wrapped, but complete.
    let all: Vec<&str> = seen.texts.iter().map(|(text, _)| text.as_str()).collect();
    let all = all.join(" ");
    for word in ["@ 2.70GHz", "(Library:", "2026)"] {
        assert!(all.contains(word), "no {word:?} in {all}");
    }
}

#[test]
fn slow_and_fast_machines_have_short_labels_at_the_axis() {
    for scale in [0.003, 0.02, 0.3, 1.0, 7.0, 40.0] {
        let parts = [0.03, 0.4, 0.97];
        let figures = vec![aes("aes-256-ctr", Direction::Encrypt, scale, parts)];
        let seen = Seen::of(&run(figures, vec![]));
        seen.check(&format!("{scale} GB/s"));
        for (text, _) in &seen.texts {
            let is_number = text.parse::<f64>().is_ok();
            assert!(!is_number || text.len() <= 6, "{text:?} at {scale} GB/s");
        }
    }
}

/// Checks pictures with tall and short bars, and with the limit lines at many heights.
fn near_limits(check: impl Fn(&Seen, &str)) {
    for height in [0.01, 0.04, 0.1, 0.19, 0.21, 0.25, 0.5, 0.97] {
        for part in 0..120 {
            let limit = height * 24.0 * (0.6 + f64::from(part) / 100.0);
            let rate = height * 24.0;
            let highest = aes("aes-128-ctr", Direction::Encrypt, 24.0, [0.03, 0.4, 0.97]);
            let tested = [
                (Software, 0.9 * rate),
                (OpenSsl, 0.96 * rate),
                (Tenrounds, rate),
                (Limit, limit),
            ];
            let tested = figure("aes-256-gcm", Direction::Encrypt, 1, &tested);
            let found = run(vec![highest, tested], references());
            check(
                &Seen::of(&found),
                &format!("height {height}, limit {limit}"),
            );
        }
    }
}

#[test]
fn no_limit_strikes_through_a_label() {
    near_limits(Seen::check_limits);
}

#[test]
fn labels_that_make_way_for_a_limit_stay_apart() {
    near_limits(Seen::check);
}

#[test]
fn figures_of_other_threads_are_not_shown_as_those_of_the_heading() {
    let ctr = |threads: usize, rates: [f64; 3]| {
        let rates: Vec<_> = [OpenSsl, Tenrounds, Limit].into_iter().zip(rates).collect();
        figure("aes-128-ctr", Direction::Encrypt, threads, &rates)
    };
    let figures = vec![ctr(2, [9.5, 22.0, 23.0]), ctr(4, [19.0, 44.0, 46.0])];
    let seen = Seen::of(&run(figures, vec![reference("rc4", 4, 1.54)]));
    let heading = seen.texts.iter().find(|(t, _)| t.contains("2 threads"));
    assert!(heading.is_some(), "{:?}", seen.texts);
    assert!(seen.says("9.50"), "{:?}", seen.texts);
    for of_four in ["19.0", "1.54"] {
        assert!(!seen.says(of_four), "{of_four}: {:?}", seen.texts);
    }
    assert!(!seen.says("limit of this core"), "of two: {:?}", seen.texts);
}

#[test]
fn other_ciphers_alone_have_a_heading_and_a_legend_of_their_own() {
    let seen = Seen::of(&run(vec![], references()));
    seen.check("RC4");
    assert!(seen.says("RC4") && seen.says("OpenSSL 3.0.22"));
    assert!(!seen.says("OpenSSL with tenrounds"), "{:?}", seen.texts);
    let heading = &seen.texts[0].0;
    assert!(
        heading.contains("16 KiB") && !heading.contains("AES"),
        "{heading}"
    );
}

/// Of several sizes each algorithm has a panel, with a group for each size.
#[test]
fn sizes_are_beside_each_other_in_a_panel_for_each_algorithm() {
    let sizes = [16, 256, 1024, 8192, 16384];
    let of = |name: &str| {
        let figure = |(place, &bytes): (usize, &usize)| {
            let part = (place + 1) as f64 / 5.0;
            let parts = [0.03, 0.4, 0.97].map(|p| p * part);
            let mut figure = aes(name, Direction::Encrypt, 23.5, parts);
            figure.case.bytes = bytes;
            figure
        };
        sizes.iter().enumerate().map(figure).collect::<Vec<_>>()
    };
    let keys = ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr"];
    let seen = Seen::of(&run(keys.into_iter().flat_map(of).collect(), vec![]));
    seen.check("sizes");
    for title in ["AES-128-CTR", "AES-192-CTR", "AES-256-CTR"] {
        assert!(seen.says(title), "{title}: {:?}", seen.texts);
    }
    let groups = |size: &str| seen.texts.iter().filter(|(t, _)| t == size).count();
    assert_eq!(["16 B", "16 KiB"].map(groups), [3, 3]);
    let heading = &seen.texts[0].0;
    assert_eq!(heading, "AES through OpenSSL: 1 thread");
}

/// The picture can be understood without the run's other output.
#[test]
fn ratio_date_version_and_a_busy_machine_are_in_the_picture() {
    let ctr = || {
        vec![aes(
            "aes-128-ctr",
            Direction::Encrypt,
            23.5,
            [0.03, 0.4, 1.07],
        )]
    };
    let said = |change: &dyn Fn(&mut Run)| {
        let mut found = run(ctr(), references());
        found.host.hypervisor = Some("KVM".into());
        change(&mut found);
        let seen = Seen::of(&found);
        seen.check("about the run");
        let texts: Vec<&str> = seen.texts.iter().map(|(text, _)| text.as_str()).collect();
        texts.join(" ")
    };
    let quiet = said(&|_| ());
    let (today, version) = (terminal::today(), env!("CARGO_PKG_VERSION"));
    for part in [
        "2.68×",
        &today,
        &format!("tenrounds {version}"),
        "· virtual machine (KVM)",
    ] {
        assert!(quiet.contains(part), "no {part} in {quiet}");
    }
    assert!(quiet.contains("two rounds once"), "{quiet}");
    let busy = said(&|found| found.clocks.doubtful = 1);
    assert!(busy.contains("busy virtual machine (KVM)"), "{busy}");
    let metal = said(&|found| {
        found.host.hypervisor = None;
        found.clocks.repeated = 100;
    });
    assert!(metal.contains("· busy machine ·"), "{metal}");
    let slower = said(&|found| {
        found.figures = vec![aes(
            "aes-128-ctr",
            Direction::Encrypt,
            23.5,
            [0.03, 0.4, 1.0],
        )]
    });
    assert!(!slower.contains("two rounds once"), "{slower}");
}
