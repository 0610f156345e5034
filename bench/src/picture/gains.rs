// SPDX-License-Identifier: BSD-2-Clause
//! What programs gain: for each program and workload a bar for the measured ratio.

use super::{headed, on_paper, remarks, Area, Drawn, Theme, ABOUT, LINE, WIDTH};
use drawing::{anchored, text, wrap, MARGIN};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// A file of docs/charts of this form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    /// The measured rows, relative to the chart (scripts/gains).
    pub rows: PathBuf,
}

#[derive(Deserialize)]
struct Measured {
    date: String,
    processor: String,
    system: String,
    openssl: String,
    rounds: usize,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    program: String,
    /// With a comma and another OpenSSL than the system's, if the program uses one.
    version: String,
    workload: String,
    ratio: Spread,
}

impl Row {
    fn name(&self) -> String {
        let (program, workload) = (&self.program, &self.workload);
        match self.version.split_once(", ") {
            Some((_, openssl)) => format!("{program}, {openssl}: {workload}"),
            None => format!("{program}: {workload}"),
        }
    }
}

#[derive(Deserialize)]
struct Spread {
    median: f64,
}

/// Everything that the picture shows.
pub struct Gains {
    about: Vec<String>,
    notes: Vec<String>,
    rows: Vec<Row>,
}

/// The axis begins here; names end before.
const BARS: i32 = 450;
/// The bars end here at the largest ratio; figures follow.
const END: i32 = WIDTH - 70;
/// The height of a row, and of its bar.
const ROW: i32 = 24;
const BAR: i32 = 14;
const SIZE: f64 = 14.0;

impl Gains {
    pub fn of(chart: &Chart, dir: &Path) -> Result<Gains> {
        let file = dir.join(&chart.rows);
        let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(&file).map_err(|why| wrong(why.to_string()))?;
        let read: Measured = serde_json::from_str(&text)
            .map_err(|why| wrong(format!("has no measured gains: {why}")))?;
        let Measured {
            date,
            processor,
            system,
            openssl,
            rounds,
            mut rows,
        } = read;
        if rows.is_empty() {
            return Err(wrong("has no rows".into()));
        }
        rows.sort_by(|a, b| b.ratio.median.total_cmp(&a.ratio.median));
        let room = f64::from(WIDTH - 2 * MARGIN);
        let about = format!("{processor} · {system} · {openssl} · {date}");
        let notes = format!(
            "CPU time for each byte, stock AES (OpenSSL's, Java's own) divided by tenrounds; \
             medians of {rounds} alternated pairs."
        );
        Ok(Gains {
            about: wrap(&about, 14.0, room),
            notes: wrap(&notes, 14.0, room),
            rows,
        })
    }

    pub fn draw(&self, theme: &Theme) -> String {
        let top = ABOUT + LINE * self.about.len() as i32 + 12;
        let notes = top + ROW * self.rows.len() as i32 + 34;
        let height = notes + LINE * self.notes.len() as i32 + 12;
        on_paper(theme, height, |area| {
            headed(area, theme, "What programs gain: CPU time, times less")?;
            remarks(area, theme, ABOUT, &self.about)?;
            remarks(area, theme, notes, &self.notes)?;
            self.grid(area, theme, top)?;
            let rows = self.rows.iter().enumerate();
            rows.into_iter()
                .try_for_each(|(at, row)| self.row(area, theme, row, top + ROW * at as i32))
        })
    }

    /// The smallest ratio, at most 1, and the largest.
    fn range(&self) -> (f64, f64) {
        let ratios = self.rows.iter().map(|row| row.ratio.median);
        (
            ratios.clone().fold(1.0, f64::min),
            ratios.fold(1.1, f64::max),
        )
    }

    /// The x of a ratio. All bars begin at 1; that of a slower program ends left of it.
    fn pixel(&self, ratio: f64) -> i32 {
        let (least, most) = self.range();
        BARS + ((ratio - least) / (most - least) * f64::from(END - BARS)).round() as i32
    }

    fn grid<'a>(&self, area: &Area<'a>, theme: &Theme, top: i32) -> Drawn<'a> {
        let bottom = top + ROW * self.rows.len() as i32;
        let tenths = (0..).take_while(|tenth| self.pixel(f64::from(*tenth) / 10.0) <= END);
        let seen = tenths.filter(|tenth| self.pixel(f64::from(*tenth) / 10.0) >= BARS);
        for tenth in seen.filter(|tenth| tenth % 2 == 0) {
            let ratio = f64::from(tenth) / 10.0;
            let x = self.pixel(ratio);
            area.draw(&PathElement::new(
                vec![(x, top), (x, bottom)],
                theme.grid.stroke_width(1),
            ))?;
            let style = anchored(13.0, &theme.muted, HPos::Center, VPos::Top);
            area.draw(&Text::new(format!("{ratio:.1}"), (x, bottom + 6), style))?;
        }
        Ok(())
    }

    fn row<'a>(&self, area: &Area<'a>, theme: &Theme, row: &Row, top: i32) -> Drawn<'a> {
        let middle = top + ROW / 2;
        let name = row.name();
        let style = anchored(SIZE - 1.0, &theme.ink, HPos::Right, VPos::Center);
        area.draw(&Text::new(name, (BARS - 10, middle), style))?;
        let (one, end) = (self.pixel(1.0), self.pixel(row.ratio.median));
        let edge = (middle - BAR / 2, middle + BAR / 2);
        let corners = [(one.min(end), edge.0), (one.max(end), edge.1)];
        area.draw(&Rectangle::new(corners, theme.tenrounds.filled()))?;
        let style = text(SIZE, &theme.ink);
        let after = end.max(one) + 8;
        let style = style.pos(plotters::style::text_anchor::Pos::new(
            HPos::Left,
            VPos::Center,
        ));
        area.draw(&Text::new(
            format!("{:.2}", row.ratio.median),
            (after, middle),
            style,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::super::THEMES;
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    fn of(rows: &str) -> Result<Gains> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
        let name = format!("tenrounds-gains-{}-{serial}.json", std::process::id());
        let file = std::env::temp_dir().join(name);
        let document = format!(
            r#"{{"date": "2026-11-25", "processor": "Some CPU", "system": "Debian", "openssl": "OpenSSL 9",
            "rounds": 9, "rows": [{rows}]}}"#
        );
        std::fs::write(&file, document).unwrap();
        let gains = Gains::of(&Chart { rows: file.clone() }, Path::new("/"));
        std::fs::remove_file(&file).unwrap();
        gains
    }

    #[test]
    fn the_largest_gain_comes_first() {
        let row = |program: &str, ratio: f64| {
            format!(
                r#"{{"program": "{program}", "version": "1", "workload": "w", "ratio": {{"median": {ratio}}}}}"#
            )
        };
        let gains = of(&[row("small", 0.97), row("large", 1.62)].join(",")).unwrap();
        let picture = gains.draw(&THEMES[0]);
        let large = picture.find("large: w").unwrap();
        assert!(large < picture.find("small: w").unwrap());
        assert!(picture.contains("1.62") && picture.contains("0.97"));
        assert!(picture.contains("Some CPU · Debian · OpenSSL 9 · 2026-11-25"));
        assert!(gains.pixel(0.97) == BARS && gains.pixel(1.0) > BARS);
        assert_eq!(gains.pixel(1.62), END);
    }

    #[test]
    fn a_row_with_another_openssl_names_it() {
        let row = r#"{"program": "p", "version": "1.0, OpenSSL 4.0.3", "workload": "w", "ratio": {"median": 1.5}}"#;
        assert!(of(row)
            .unwrap()
            .draw(&THEMES[0])
            .contains("p, OpenSSL 4.0.3: w"));
    }

    #[test]
    fn what_has_no_rows_is_refused() {
        assert!(of("").err().unwrap().to_string().contains("has no rows"));
        assert!(of("1")
            .err()
            .unwrap()
            .to_string()
            .contains("no measured gains"));
    }
}
