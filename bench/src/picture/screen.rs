// SPDX-License-Identifier: BSD-2-Clause
//! What a terminal shows: commands and their output, line by line.

use super::{headed, on_paper, remarks, Area, Drawn, Theme, ABOUT, LINE, WIDTH};
use drawing::{wrap, MARGIN};
use plotters::prelude::*;
use serde::Deserialize;

/// A file of docs/charts of this form.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Chart {
    title: String,
    /// Where the output is from.
    about: String,
    lines: Vec<Line>,
}

/// A line of the terminal, of at most 96 characters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    #[serde(default)]
    ink: Ink,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Ink {
    #[default]
    Plain,
    Muted,
    /// What tenrounds runs.
    Green,
    /// What the program runs without it.
    Red,
}

impl Chart {
    pub fn draw(&self, theme: &Theme) -> String {
        let about = wrap(&self.about, 14.0, f64::from(WIDTH - 2 * MARGIN));
        let top = ABOUT + LINE * about.len() as i32 + 12;
        let height = top + LINE * self.lines.len() as i32 + 12;
        on_paper(theme, height, |area| {
            headed(area, theme, &self.title)?;
            remarks(area, theme, ABOUT, &about)?;
            let lines = self.lines.iter().enumerate();
            lines
                .into_iter()
                .filter(|(_, line)| !line.text.is_empty())
                .try_for_each(|(at, line)| line.draw(area, theme, top + LINE * at as i32))
        })
    }
}

impl Line {
    fn draw<'a>(&self, area: &Area<'a>, theme: &Theme, y: i32) -> Drawn<'a> {
        let ink = match self.ink {
            Ink::Plain => &theme.ink,
            Ink::Muted => &theme.muted,
            Ink::Green => &theme.tenrounds,
            Ink::Red => &theme.limit,
        };
        // A browser joins spaces, so each is one that it does not join.
        let text = self.text.replace(' ', "\u{a0}");
        let style = ("monospace", 15.0).into_font().color(ink);
        area.draw(&Text::new(text, (MARGIN, y), style))
    }
}
