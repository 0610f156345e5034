// SPDX-License-Identifier: BSD-2-Clause
//! The README's picture: stock OpenSSL, tenrounds and the limit in five modes, as bars.

use super::run::{Of, Run};
use crate::plan::Environment;
use super::{headed, on_paper, remarks, Area, Drawn, Theme, ABOUT, LINE, WIDTH};
use drawing::{anchored, text, width, wrap, MARGIN};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde::Deserialize;
use std::path::PathBuf;
use terminal::error::Result;

/// What it is drawn from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    pub run: PathBuf,
}

/// The modes: their way in the run, and their name.
const MODES: [(&str, &[&str]); 5] = [
    ("ctr", &["CTR"]),
    ("gcm-encrypt", &["GCM"]),
    ("xts-encrypt", &["XTS"]),
    ("cbc-decrypt", &["CBC", "decryption"]),
    ("cfb-decrypt", &["CFB", "decryption"]),
];
const KEY_BITS: u16 = 128;
const BYTES: usize = 16 << 10;

/// The figures of a mode: GB/s, and ours as a part of OpenSSL's and of the limit.
struct Group {
    name: &'static [&'static str],
    rates: [f64; 3],
    ratio: f64,
    fraction: f64,
}

fn group(run: &Run, way: &str, name: &'static [&'static str]) -> Result<Group> {
    let (openssl, _) = run.openssl()?;
    let of = Of {
        way,
        key_bits: KEY_BITS,
        environment: Environment::Plain,
    };
    let rows = [openssl, "evp", "limit"].map(|subject| run.row(of, BYTES, subject));
    let [theirs, ours, limit] = rows;
    let (theirs, ours, limit) = (theirs?, ours?, limit?);
    // Both are measured against the limit of their rounds, so the clock cancels out.
    Ok(Group {
        name,
        rates: [theirs, ours, limit].map(|row| row.rate.median / 1e9),
        ratio: run.fraction(of, ours)? / run.fraction(of, theirs)?,
        fraction: run.fraction(of, ours)?,
    })
}

const PLOT: i32 = 290;
/// The axis: its labels end here, and the plot begins.
const AXIS: i32 = 62;
const BAR: i32 = 42;
/// Between the bars of a group.
const APART: i32 = 3;
/// The font size of the figures above the bars.
const FIGURE: f64 = 15.0;
/// GB/s between two lines of the grid.
const STEP: usize = 5;

/// Everything that the picture shows.
pub struct Bars {
    about: Vec<String>,
    legend: [String; 3],
    groups: Vec<Group>,
    notes: Vec<String>,
}

impl Bars {
    pub fn of(run: &Run) -> Result<Bars> {
        let groups = MODES.iter().map(|(way, name)| group(run, way, name));
        let groups = groups.collect::<Result<Vec<_>>>()?;
        let (_, openssl) = run.openssl()?;
        let legend = [
            openssl.to_owned(),
            format!("{openssl} with tenrounds"),
            "limit of the core: nothing but AES rounds".to_owned(),
        ];
        let room = f64::from(WIDTH - 2 * MARGIN);
        let mut notes = format!(
            "Green: how many times as fast as stock OpenSSL. Medians of {} paired rounds.",
            run.run.effort.rounds
        );
        if groups
            .iter()
            .any(|g| g.name == ["CTR"] && g.fraction > 1.01)
        {
            notes +=
                " Long CTR calls compute two rounds once for many blocks, so they can exceed the limit.";
        }
        Ok(Bars {
            about: wrap(&run.about()?, 14.0, room),
            legend,
            groups,
            notes: wrap(&notes, 14.0, room),
        })
    }

    pub fn draw(&self, theme: &Theme) -> String {
        let legend = ABOUT + LINE * self.about.len() as i32 + 10;
        let base = legend + 34 + PLOT;
        let notes = base + 84;
        let height = notes + LINE * self.notes.len() as i32 + 12;
        on_paper(theme, height, |area| {
            self.words(area, theme, legend, notes)?;
            self.bars(area, theme, base)
        })
    }

    fn words<'a>(&self, area: &Area<'a>, theme: &Theme, legend: i32, notes: i32) -> Drawn<'a> {
        let title = format!(
            "AES-{KEY_BITS} through OpenSSL on one core: GB/s in calls of {} KiB",
            BYTES >> 10
        );
        headed(area, theme, &title)?;
        remarks(area, theme, ABOUT, &self.about)?;
        remarks(area, theme, notes, &self.notes)?;
        let mut left = MARGIN;
        for (words, mark) in self.legend.iter().zip(theme.marks()) {
            bar(area, [(left, legend), (left + 14, legend + 14)], mark)?;
            let at = (left + 21, legend);
            area.draw(&Text::new(words.clone(), at, text(15.0, &theme.ink)))?;
            left += 21 + width(words, 15.0).ceil() as i32 + 22;
        }
        Ok(())
    }

    fn bars<'a>(&self, area: &Area<'a>, theme: &Theme, base: i32) -> Drawn<'a> {
        let rates = self.groups.iter().flat_map(|g| g.rates);
        let steps = (rates.fold(0.0, f64::max) / STEP as f64).ceil() as usize;
        let top = (steps * STEP) as f64;
        let pixel = |rate: f64| base - (rate / top * f64::from(PLOT)).round() as i32;
        let right = WIDTH - MARGIN;
        for step in (0..=steps).map(|step| step * STEP) {
            let y = pixel(step as f64);
            let line = vec![(AXIS, y), (right, y)];
            area.draw(&PathElement::new(line, theme.grid.stroke_width(1)))?;
            let style = anchored(13.0, &theme.muted, HPos::Right, VPos::Center);
            area.draw(&Text::new(step.to_string(), (AXIS - 8, y), style))?;
        }
        let room = (right - AXIS) / self.groups.len() as i32;
        let centred = |words: String, at: (i32, i32), size: f64, ink: &RGBColor, to: VPos| {
            let style = text(size, ink).pos(Pos::new(HPos::Center, to));
            area.draw(&Text::new(words, at, style))
        };
        for (number, group) in self.groups.iter().enumerate() {
            let centre = AXIS + room * number as i32 + room / 2;
            let first = centre - (3 * BAR + 2 * APART) / 2;
            for ((place, rate), mark) in group.rates.iter().enumerate().zip(theme.marks()) {
                let left = first + (BAR + APART) * place as i32;
                let top = pixel(*rate);
                let words = terminal::gigabytes(rate * 1e9);
                // The grid does not strike through a figure.
                let half = (width(&words, FIGURE) / 2.0).ceil() as i32;
                let middle = left + BAR / 2;
                let behind = [(middle - half, top - 20), (middle + half, top)];
                area.draw(&Rectangle::new(behind, theme.paper.filled()))?;
                bar(area, [(left, top), (left + BAR, base)], mark)?;
                centred(words, (middle, top - 4), FIGURE, &theme.ink, VPos::Bottom)?;
            }
            let times = match group.ratio {
                r if r >= 9.95 => format!("{r:.0}×"),
                r => format!("{r:.1}×"),
            };
            centred(times, (centre, base + 8), 22.0, &theme.tenrounds, VPos::Top)?;
            for (index, word) in group.name.iter().enumerate() {
                let at = (centre, base + 34 + 17 * index as i32);
                centred((*word).to_owned(), at, 15.0, &theme.ink, VPos::Top)?;
            }
        }
        Ok(())
    }
}

/// A rectangle; an outline is inside of its corners.
fn bar<'a>(area: &Area<'a>, corners: [(i32, i32); 2], mark: ShapeStyle) -> Drawn<'a> {
    let [(left, top), (right, bottom)] = corners;
    if mark.filled {
        return area.draw(&Rectangle::new(corners, mark));
    }
    let (left, top, right, bottom) = (left + 1, top + 1, right - 1, bottom - 1);
    let edge = [(left, top), (right, top), (right, bottom), (left, bottom)];
    let edge: Vec<(i32, i32)> = edge.into_iter().cycle().take(6).collect();
    area.draw(&PathElement::new(edge, mark))
}

impl Theme {
    /// How the three bars of a group are drawn: the limit is an outline.
    fn marks(&self) -> [ShapeStyle; 3] {
        [
            self.openssl.filled(),
            self.tenrounds.filled(),
            self.limit.stroke_width(2),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::super::THEMES;
    use super::*;
    use serde_json::{json, Value};

    /// A run of which little is known.
    fn run(change: impl Fn(&mut Value)) -> Run {
        let rows = |[theirs, ours, limit]: [f64; 3]| {
            let line = |rate: f64| json!({"r": [rate], "l": [100.0 * rate / limit], "s": [10]});
            json!({"openssl-9": line(theirs), "evp": line(ours), "limit": line(limit)})
        };
        let table = |(way, rates): (&str, [f64; 3])| {
            json!({
                "way": way, "key_bits": 128, "kind": "throughput", "threads": 1,
                "environment": "plain", "bound": "throughput", "bytes": [16384], "rows": rows(rates)
            })
        };
        let rates = [
            [9.0, 25.0, 23.5],
            [4.6, 14.9, 23.5],
            [9.7, 20.5, 23.6],
            [11.0, 23.2, 23.6],
            [0.8, 23.0, 23.6],
        ];
        let ways = MODES.iter().map(|(way, _)| *way);
        let subject = |(id, title): (&str, &str)| {
            json!({"id": id, "title": title, "version": "9", "ours": id == "evp", "environment": "plain"})
        };
        let subjects = [
            ("evp", "tenrounds in OpenSSL 9"),
            ("openssl-10", "OpenSSL 10"),
            ("openssl-9", "OpenSSL 9"),
        ];
        let mut document = json!({
            "schema": "tenrounds-bench-2", "version": "0.1.0", "commit": null, "date": "2026-11-21",
            "seed": 1, "quick": false,
            "host": {
                "cpu": {"vendor": "V", "brand": "Some CPU", "family": 25, "model": 17, "stepping": 1, "threads": 2},
                "microcode": null, "governor": null, "hypervisor": "KVM", "os": null, "kernel": "Linux"
            },
            "effort": {"rounds": 40, "processes": 1, "window_us": 1000, "seconds": 1, "repeated": 0, "doubtful": 0},
            "subjects": subjects.map(subject), "absent": [], "wrong": [], "limits": [], "met": 0, "missed": [],
            "tables": ways.zip(rates).map(table).collect::<Vec<_>>()
        });
        change(&mut document);
        Run {
            file: "run.json".into(),
            run: crate::json::read(&document.to_string()).unwrap(),
        }
    }

    fn texts(picture: &str) -> Vec<String> {
        let document = roxmltree::Document::parse(picture).unwrap();
        let nodes = document.descendants().filter(|n| n.has_tag_name("text"));
        let texts = nodes.filter_map(|n| n.text()).map(|t| t.trim().to_owned());
        texts.collect()
    }

    #[test]
    fn it_says_how_many_times_on_what_and_when() {
        let shown = |change: &dyn Fn(&mut Value)| {
            let picture = Bars::of(&run(change)).unwrap();
            texts(&picture.draw(&THEMES[0])).join("\n")
        };
        let said = shown(&|_| ());
        for part in [
            "2.8×",
            "3.2×",
            "29×",
            "25.0",
            "23.5",
            "GCM",
            "decryption",
            "OpenSSL 9",
        ] {
            assert!(said.lines().any(|line| line == part), "no {part} in {said}");
        }
        let about =
            "Some CPU (family 25 model 17) · virtual machine (KVM) · OpenSSL 9 · tenrounds 0.1.0";
        assert!(
            said.contains(about) && said.contains("2026-11-21"),
            "{said}"
        );
        assert!(said.contains("two rounds once"), "{said}");
        let busy = shown(&|run| run["effort"]["doubtful"] = 2.into());
        assert!(busy.contains("busy virtual machine (KVM)"), "{busy}");
        // An explanation of what does not occur would only confuse.
        let slower = shown(&|run| run["tables"][0]["rows"]["evp"]["l"] = json!([99]));
        assert!(!slower.contains("two rounds once"), "{slower}");
    }

    #[test]
    fn what_a_run_lacks_is_named() {
        let said = |change: &dyn Fn(&mut Value)| {
            let error = Bars::of(&run(change)).err().expect("an error");
            error.to_string()
        };
        let error = said(&|run| run["tables"][3]["way"] = "cbc-encrypt".into());
        assert!(
            error.contains("run.json: has no row of aes-128 cbc-decrypt"),
            "{error}"
        );
        let error = said(&|run| run["subjects"][0]["title"] = "tenrounds in OpenSSL 8".into());
        assert!(error.contains("'evp'"), "{error}");
        let error = said(&|run| run["tables"][1]["rows"]["evp"]["l"] = json!([]));
        assert!(error.contains("no limit for gcm-encrypt"), "{error}");
    }
}
