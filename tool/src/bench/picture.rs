// SPDX-License-Identifier: BSD-2-Clause
//! The README's picture, for light and for dark pages, from a run that `make bench` has published:
//! stock OpenSSL, tenrounds and the limit in five modes. Maintainers draw it by `tenrounds picture
//! docs/benchmarks/RUN.json docs/images`; a test compares it with the newest run of its processor.

use super::busy::Disturbance;
use super::runs::{self, Row, What};
use super::svg::{anchored, text, width, wrap, About, MARGIN};
use crate::cli::PictureArgs;
use crate::error::{Error, Result};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;

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

/// The colours of a page.
struct Theme {
    name: &'static str,
    paper: RGBColor,
    ink: RGBColor,
    muted: RGBColor,
    grid: RGBColor,
    openssl: RGBColor,
    tenrounds: RGBColor,
    limit: RGBColor,
}

/// Papers are those of GitHub's pages, so that the picture has no visible edge there.
const THEMES: [Theme; 2] = [
    Theme {
        name: "light",
        paper: RGBColor(255, 255, 255),
        ink: RGBColor(31, 35, 40),
        muted: RGBColor(89, 99, 110),
        grid: RGBColor(218, 223, 229),
        openssl: RGBColor(86, 128, 178),
        tenrounds: RGBColor(20, 130, 90),
        limit: RGBColor(192, 57, 43),
    },
    Theme {
        name: "dark",
        paper: RGBColor(13, 17, 23),
        ink: RGBColor(230, 237, 243),
        muted: RGBColor(145, 152, 161),
        grid: RGBColor(48, 54, 61),
        openssl: RGBColor(121, 168, 222),
        tenrounds: RGBColor(63, 185, 132),
        limit: RGBColor(240, 119, 106),
    },
];

/// A published run.
struct Run {
    file: PathBuf,
    document: Value,
    rows: Vec<Row>,
}

/// The figures of a mode: GB/s, and ours as a part of OpenSSL's and of the limit.
struct Group {
    name: &'static [&'static str],
    rates: [f64; 3],
    ratio: f64,
    fraction: f64,
}

fn read(file: PathBuf) -> Result<Run> {
    let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(&file).map_err(|why| wrong(why.to_string()))?;
    let document: Value =
        serde_json::from_str(&text).map_err(|why| wrong(format!("is no JSON: {why}")))?;
    let rows = runs::rows(&document).unwrap_or(Err("is no run of tenrounds-bench".into()));
    let rows = rows.map_err(wrong)?;
    Ok(Run {
        file,
        document,
        rows,
    })
}

impl Run {
    fn text(&self, pointer: &str) -> &str {
        let value = self.document.pointer(pointer);
        value.and_then(Value::as_str).unwrap_or_default()
    }

    fn count(&self, pointer: &str) -> usize {
        let value = self.document.pointer(pointer);
        value.and_then(Value::as_u64).unwrap_or_default() as usize
    }

    /// The id and title of stock OpenSSL: the version in which tenrounds was measured, too.
    fn openssl(&self) -> Result<(&str, &str)> {
        let subjects = self.document["subjects"].as_array();
        let subjects = subjects.into_iter().flatten();
        let known = subjects.filter_map(|s| Some((s["id"].as_str()?, s["title"].as_str()?)));
        let known: Vec<(&str, &str)> = known.collect();
        let ours = known.iter().find(|(id, _)| *id == "evp");
        let same = |(id, title): &&(&str, &str)| {
            id.starts_with("openssl") && ours.is_some_and(|(_, ours)| ours.ends_with(title))
        };
        let stock = known.iter().find(same).copied();
        stock.ok_or_else(|| self.wrong("has not measured the OpenSSL of the subject 'evp'"))
    }

    fn wrong(&self, why: &str) -> Error {
        Error::failure(format!("{}: {why}", self.file.display()))
    }

    fn row(&self, way: &str, subject: &str) -> Result<&Row> {
        let wanted = |row: &&Row| {
            let what = &row.what;
            (what.way.as_str(), what.key_bits) == (way, KEY_BITS)
                && (row.bytes, row.subject.as_str()) == (BYTES, subject)
                && row.is_plain()
        };
        let missing = || format!("has no row of aes-{KEY_BITS} {way}, {BYTES} bytes, {subject}");
        let row = self.rows.iter().find(wanted);
        row.ok_or_else(|| self.wrong(&missing()))
    }

    fn group(&self, way: &str, name: &'static [&'static str]) -> Result<Group> {
        let (openssl, _) = self.openssl()?;
        let rows = [openssl, "evp", "limit"].map(|subject| self.row(way, subject));
        let [theirs, ours, limit] = rows;
        let (theirs, ours, limit) = (theirs?, ours?, limit?);
        let fraction = |row: &Row| {
            let fraction = row.fraction.map(|f| f.limit_fraction);
            fraction.ok_or_else(|| self.wrong(&format!("has no limit for {way}")))
        };
        // Both are measured against the limit of their rounds, so the clock cancels out.
        Ok(Group {
            name,
            rates: [theirs.rate, ours.rate, limit.rate],
            ratio: fraction(ours)? / fraction(theirs)?,
            fraction: fraction(ours)?,
        })
    }

    fn about(&self) -> Result<String> {
        let cells: BTreeSet<(&What, usize)> =
            self.rows.iter().map(|row| (&row.what, row.bytes)).collect();
        let disturbance = Disturbance {
            load: None,
            rounds: self.count("/effort/rounds") * cells.len(),
            discarded: self.count("/effort/repeated"),
            doubtful: self.count("/effort/doubtful"),
        };
        let processor = format!(
            "{} (family {} model {})",
            self.text("/host/cpu/brand"),
            self.count("/host/cpu/family"),
            self.count("/host/cpu/model")
        );
        let about = About {
            processor: &processor,
            hypervisor: Some(self.text("/host/hypervisor")).filter(|name| !name.is_empty()),
            busy: disturbance.is_busy(),
            openssl: self.openssl()?.1,
            version: self.text("/version"),
            date: self.text("/date"),
        };
        Ok(about.line())
    }
}

const WIDTH: i32 = 860;
const TITLE: i32 = 18;
const ABOUT: i32 = 50;
const LINE: i32 = 18;
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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// Everything that the picture shows.
struct Picture {
    about: Vec<String>,
    legend: [String; 3],
    groups: Vec<Group>,
    notes: Vec<String>,
}

impl Picture {
    fn of(run: &Run) -> Result<Picture> {
        let groups = MODES.iter().map(|(way, name)| run.group(way, name));
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
            run.count("/effort/rounds")
        );
        if groups
            .iter()
            .any(|g| g.name == ["CTR"] && g.fraction > 1.01)
        {
            notes +=
                " Long CTR calls skip two rounds for most blocks, so they can exceed the limit.";
        }
        Ok(Picture {
            about: wrap(&run.about()?, 14.0, room),
            legend,
            groups,
            notes: wrap(&notes, 14.0, room),
        })
    }

    fn draw(&self, theme: &Theme) -> String {
        let mut picture = String::new();
        let legend = ABOUT + LINE * self.about.len() as i32 + 10;
        let base = legend + 34 + PLOT;
        let notes = base + 84;
        let height = notes + LINE * self.notes.len() as i32 + 12;
        let size = (WIDTH as u32, height as u32);
        let root = SVGBackend::with_string(&mut picture, size).into_drawing_area();
        let drawn = root
            .fill(&theme.paper)
            .and_then(|()| self.words(&root, theme, legend, notes))
            .and_then(|()| self.bars(&root, theme, base))
            .and_then(|()| root.present());
        drawn.expect("a string takes all that is drawn");
        drop(root);
        picture
    }

    fn words<'a>(&self, area: &Area<'a>, theme: &Theme, legend: i32, notes: i32) -> Drawn<'a> {
        let say = |words: &str, at: (i32, i32), size: f64, ink: &RGBColor| {
            area.draw(&Text::new(words.to_owned(), at, text(size, ink)))
        };
        let title = format!(
            "AES-{KEY_BITS} through OpenSSL on one core: GB/s in calls of {} KiB",
            BYTES >> 10
        );
        say(&title, (MARGIN, TITLE), 24.0, &theme.ink)?;
        for (top, lines) in [(ABOUT, &self.about), (notes, &self.notes)] {
            for (index, line) in lines.iter().enumerate() {
                let at = (MARGIN, top + LINE * index as i32);
                say(line, at, 14.0, &theme.muted)?;
            }
        }
        let mut left = MARGIN;
        for (words, mark) in self.legend.iter().zip(theme.marks()) {
            bar(area, [(left, legend), (left + 14, legend + 14)], mark)?;
            say(words, (left + 21, legend), 15.0, &theme.ink)?;
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

/// Draws both pictures into a directory.
pub fn picture(args: &PictureArgs) -> Result<()> {
    let picture = Picture::of(&read(args.run.clone())?)?;
    for theme in &THEMES {
        let file = args.images.join(format!("speed-{}.svg", theme.name));
        let failed = |why| Error::failure(format!("cannot write {}: {why}", file.display()));
        std::fs::write(&file, picture.draw(theme)).map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
        let mut document = json!({
            "schema": "tenrounds-bench-2", "version": "0.1.0", "date": "2026-11-21", "quick": false,
            "host": {"cpu": {"brand": "Some CPU", "family": 25, "model": 17}, "hypervisor": "KVM"},
            "effort": {"rounds": 40, "repeated": 0, "doubtful": 0},
            "subjects": [
                {"id": "evp", "title": "tenrounds in OpenSSL 9"},
                {"id": "openssl-10", "title": "OpenSSL 10"},
                {"id": "openssl-9", "title": "OpenSSL 9"}
            ],
            "tables": ways.zip(rates).map(table).collect::<Vec<_>>()
        });
        change(&mut document);
        Run {
            file: "run.json".into(),
            rows: runs::rows(&document).unwrap().unwrap(),
            document,
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
            let picture = Picture::of(&run(change)).unwrap();
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
        assert!(said.contains("skip two rounds"), "{said}");
        let busy = shown(&|run| run["effort"]["doubtful"] = 2.into());
        assert!(busy.contains("busy virtual machine (KVM)"), "{busy}");
        // An explanation of what does not occur would only confuse.
        let slower = shown(&|run| run["tables"][0]["rows"]["evp"]["l"] = json!([99]));
        assert!(!slower.contains("skip two rounds"), "{slower}");
    }

    #[test]
    fn what_a_run_lacks_is_named() {
        let said = |change: &dyn Fn(&mut Value)| {
            let error = Picture::of(&run(change)).err().expect("an error");
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

    /// WCAG 2.1's relative luminance and contrast.
    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let linear = |c: u8| match f64::from(c) / 255.0 {
            c if c <= 0.03928 => c / 12.92,
            c => ((c + 0.055) / 1.055).powf(2.4),
        };
        let light = |RGBColor(r, g, b): RGBColor| {
            0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
        };
        let (a, b) = (light(a) + 0.05, light(b) + 0.05);
        a.max(b) / a.min(b)
    }

    /// 4.5 to 1 for texts, 3 to 1 for the rest, as WCAG 2.1 asks (1.4.3, 1.4.11).
    #[test]
    fn every_colour_can_be_read_on_its_paper() {
        for theme in &THEMES {
            for ink in [theme.ink, theme.muted, theme.tenrounds] {
                assert!(contrast(ink, theme.paper) >= 4.5, "{}: {ink:?}", theme.name);
            }
            for mark in [theme.openssl, theme.limit] {
                assert!(
                    contrast(mark, theme.paper) >= 3.0,
                    "{}: {mark:?}",
                    theme.name
                );
            }
        }
    }
}
