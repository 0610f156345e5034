// SPDX-License-Identifier: BSD-2-Clause
//! Bars of rates, as SVG that stands in the page. The page's style replaces the colours on dark
//! screens.

use drawing::{anchored, text, width, INK, MUTED};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
use terminal::gigabytes;

/// Narrow enough for a telephone.
const WIDTH: i32 = 460;
const TITLE: f64 = 14.0;
const TITLE_HEIGHT: i32 = 22;
const LABEL: f64 = 13.0;
const BAR: i32 = 15;
/// From the top of a bar to the next.
const STEP: i32 = 19;
const BETWEEN: i32 = 10;

pub const SOFTWARE: RGBColor = RGBColor(176, 183, 193);
pub const OPENSSL: RGBColor = RGBColor(86, 128, 178);
pub const TENROUNDS: RGBColor = drawing::TENROUNDS;
/// Bars of an earlier report.
pub const EARLIER: RGBColor = MUTED;

pub struct Bar {
    pub label: &'static str,
    pub bytes_per_second: f64,
    pub colour: RGBColor,
}

pub struct Group {
    pub title: String,
    pub bars: Vec<Bar>,
}

/// A drawn chart. Its texts are titles of modes, labels of this program, and figures.
pub struct Chart(String);

impl Chart {
    pub fn svg(&self) -> &str {
        &self.0
    }

    pub fn of(groups: &[Group]) -> Chart {
        let mut svg = String::new();
        let bars = groups.iter().flat_map(|group| &group.bars);
        let highest = bars
            .clone()
            .map(|bar| bar.bytes_per_second)
            .fold(0.0, f64::max);
        let labels = bars.map(|bar| width(bar.label, LABEL)).fold(0.0, f64::max);
        let scale = Scale {
            left: labels.ceil() as i32 + 8,
            highest,
        };
        let height: i32 = groups.iter().map(Group::height).sum();
        {
            let area = SVGBackend::with_string(&mut svg, (WIDTH as u32, height.max(1) as u32));
            let area = area.into_drawing_area();
            let mut top = 0;
            for group in groups {
                group.draw(&area, &scale, top);
                top += group.height();
            }
            area.present().expect("a string takes all that is drawn");
        }
        // An element of SVG in a page needs no name space.
        Chart(svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", " role=\"img\"", 1))
    }
}

struct Scale {
    /// The left edge of all bars.
    left: i32,
    highest: f64,
}

impl Scale {
    /// The pixels of a bar; all leave room for their figure.
    fn pixels(&self, rate: f64) -> i32 {
        let room = WIDTH - self.left - width("99.9 GB/s", LABEL).ceil() as i32 - 8;
        match self.highest > 0.0 {
            true => (f64::from(room) * rate / self.highest).round().max(1.0) as i32,
            false => 1,
        }
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

impl Group {
    fn height(&self) -> i32 {
        TITLE_HEIGHT + STEP * self.bars.len() as i32 + BETWEEN
    }

    fn draw(&self, area: &Area, scale: &Scale, top: i32) {
        let drawn = "a string takes all that is drawn";
        let title = text(TITLE, &INK);
        area.draw(&Text::new(self.title.clone(), (0, top + 2), title))
            .expect(drawn);
        for (index, bar) in self.bars.iter().enumerate() {
            let top = top + TITLE_HEIGHT + STEP * index as i32;
            let end = scale.left + scale.pixels(bar.bytes_per_second);
            let middle = top + BAR / 2;
            let label = anchored(LABEL, &MUTED, HPos::Right, VPos::Center);
            area.draw(&Text::new(bar.label, (scale.left - 6, middle), label))
                .expect(drawn);
            let place = [(scale.left, top), (end, top + BAR)];
            area.draw(&Rectangle::new(place, bar.colour.filled()))
                .expect(drawn);
            let rate = format!("{} GB/s", gigabytes(bar.bytes_per_second));
            let figure = anchored(LABEL, &INK, HPos::Left, VPos::Center);
            area.draw(&Text::new(rate, (end + 6, middle), figure))
                .expect(drawn);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_rates_and_nothing_leaves_the_picture() {
        let bar = |bytes_per_second| Bar {
            label: "tenrounds",
            bytes_per_second,
            colour: TENROUNDS,
        };
        let group = Group {
            title: "AES-256-GCM encrypt".to_owned(),
            bars: vec![bar(4e9), bar(8e9), bar(1.0)],
        };
        let chart = Chart::of(&[group]);
        assert!(!chart.svg().contains("http"), "{}", chart.svg());
        let document = roxmltree::Document::parse(chart.svg()).unwrap();
        let number = |node: &roxmltree::Node, name| -> f64 {
            node.attribute(name).unwrap().parse().unwrap()
        };
        let rectangles = document.descendants().filter(|n| n.has_tag_name("rect"));
        let widths: Vec<f64> = rectangles.map(|n| number(&n, "width")).collect();
        assert_eq!(widths.len(), 3);
        assert!((widths[1] - 2.0 * widths[0]).abs() <= 2.0, "{widths:?}");
        for node in document.descendants().filter(|n| n.has_tag_name("text")) {
            let shown = node.text().unwrap_or_default().trim();
            let long = width(shown, LABEL);
            let x = number(&node, "x");
            let (left, right) = match node.attribute("text-anchor") {
                Some("end") => (x - long, x),
                _ => (x, x + long),
            };
            assert!(
                left >= 0.0 && right <= f64::from(WIDTH),
                "{shown}: {left} {right}"
            );
        }
    }
}
