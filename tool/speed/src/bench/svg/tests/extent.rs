// SPDX-License-Identifier: BSD-2-Clause
//! Extents of texts in a picture: in DejaVu Sans, the widest of the usual fonts.

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Extent {
    pub fn meets(&self, other: &Extent) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }

    pub fn contains(&self, other: &Extent) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && self.right >= other.right
            && self.bottom >= other.bottom
    }
}

/// Advance widths of DejaVu Sans from ' ' to '~', in thousandths of the font's size.
#[rustfmt::skip]
const ADVANCES: [u16; 95] = [
    317, 400, 459, 837, 636, 950, 779, 274, 390, 390, 500, 837, 317, 360, 317, 336, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 336, 336, 837, 837, 837, 530, 1000, 684, 686, 698, 770, 631,
    575, 774, 751, 294, 294, 655, 557, 862, 748, 787, 603, 787, 694, 634, 610, 731, 684, 988, 685,
    610, 685, 390, 336, 390, 837, 500, 500, 612, 634, 549, 634, 615, 352, 634, 633, 277, 277, 579,
    277, 974, 633, 611, 634, 634, 411, 520, 392, 633, 591, 817, 591, 591, 524, 636, 336, 636, 837,
];

fn advance(c: char) -> f64 {
    let place = (c as usize).checked_sub(' ' as usize);
    let thousandths = place.and_then(|place| ADVANCES.get(place)).copied();
    f64::from(thousandths.unwrap_or(1000)) / 1000.0
}

/// The extent of a text by its anchor, its font size and the widths of its letters.
///
/// `attribute` reads those of its SVG element. Panics if one is not as the drawing has it.
pub fn of_text<'a>(attribute: impl Fn(&str) -> Option<&'a str>, text: &str) -> Extent {
    let number = |name: &str| -> f64 {
        let value = attribute(name).unwrap_or_else(|| panic!("no {name}"));
        value.parse().unwrap_or_else(|_| panic!("{name}={value}"))
    };
    let (x, y, size) = (number("x"), number("y"), number("font-size"));
    let width = size * text.chars().map(advance).sum::<f64>();
    let before = match attribute("text-anchor") {
        Some("start") => 0.0,
        Some("middle") => width / 2.0,
        Some("end") => width,
        other => panic!("text-anchor {other:?}"),
    };
    let baseline = match attribute("dy") {
        Some("0.76em") => 0.76 * size,
        other => panic!("dy {other:?}"),
    };
    let above = baseline - 0.76 * size;
    let descends = text.contains(['g', 'j', 'p', 'q', 'y', 'Q', ',', '(', ')', '/']);
    let below = baseline + if descends { 0.24 } else { 0.02 } * size;
    Extent {
        left: x - before,
        top: y + above,
        right: x - before + width,
        bottom: y + below,
    }
}
