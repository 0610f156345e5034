// SPDX-License-Identifier: BSD-2-Clause
//! The pictures of the README and of docs/, each for light and for dark pages. A file of
//! docs/charts says what a picture shows: a run that `make bench` has published, or figures with
//! their origin. Maintainers draw all of them by `scripts/bench BUILD picture docs/charts
//! docs/images`; a test compares them with the published ones, and their runs with the newest of the
//! same processor.

mod bars;
mod gains;
mod lines;
#[cfg(test)]
mod published;
mod run;
mod screen;

use crate::files;
use drawing::{text, MARGIN};
use plotters::coord::Shift;
use plotters::prelude::*;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use terminal::error::{Error, Result};

/// The name of the command.
pub const COMMAND: &str = "picture";

/// Draw the pictures of the documents
#[derive(clap::Parser)]
#[command(name = "tenrounds-bench picture")]
pub struct PictureArgs {
    /// What to draw: one file, or all in a directory (docs/charts)
    pub charts: PathBuf,
    /// The directory that gets NAME-light.svg and NAME-dark.svg for each NAME.json (docs/images)
    pub images: PathBuf,
}

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
    /// For further lines of a chart.
    violet: RGBColor,
    amber: RGBColor,
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
        violet: RGBColor(130, 80, 190),
        amber: RGBColor(176, 108, 0),
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
        violet: RGBColor(188, 140, 255),
        amber: RGBColor(224, 165, 60),
    },
];

const WIDTH: i32 = 860;
const TITLE: i32 = 18;
/// The top of the lines below the title, and their distance.
const ABOUT: i32 = 50;
const LINE: i32 = 18;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> =
    std::result::Result<(), DrawingAreaErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

/// A file of docs/charts.
#[derive(Deserialize)]
#[serde(tag = "form", rename_all = "lowercase")]
enum Chart {
    Bars(bars::Chart),
    Gains(gains::Chart),
    Lines(Box<lines::Chart>),
    Screen(screen::Chart),
}

impl Chart {
    fn read(file: &Path) -> Result<Chart> {
        let wrong = |why: String| Error::failure(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|why| wrong(why.to_string()))?;
        serde_json::from_str(&text).map_err(|why| wrong(format!("is no chart: {why}")))
    }

    /// The pictures, with their themes. `file`: the chart's; the run's path is relative to it.
    fn draw(&self, file: &Path) -> Result<Vec<(&'static str, String)>> {
        let dir = file.parent().unwrap_or(Path::new(""));
        let both = |draw: &dyn Fn(&Theme) -> String| {
            let pictures = THEMES.iter().map(|theme| (theme.name, draw(theme)));
            pictures.collect()
        };
        Ok(match self {
            Chart::Bars(chart) => {
                let bars = bars::Bars::of(&run::read(dir.join(&chart.run))?)?;
                both(&|theme| bars.draw(theme))
            }
            Chart::Gains(chart) => {
                let gains = gains::Gains::of(chart, dir)?;
                both(&|theme| gains.draw(theme))
            }
            Chart::Lines(chart) => {
                let lines = lines::Lines::of(chart, file)?;
                both(&|theme| lines.draw(theme))
            }
            Chart::Screen(chart) => both(&|theme| chart.draw(theme)),
        })
    }
}

/// The charts of a directory, or one.
fn charts(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let failed = |why| Error::failure(format!("cannot read {}: {why}", path.display()));
    let files = std::fs::read_dir(path).map_err(failed)?;
    let files = files.map(|entry| entry.map(|entry| entry.path()));
    let files = files.collect::<std::io::Result<Vec<_>>>().map_err(failed)?;
    let is_chart = |file: &PathBuf| file.extension().is_some_and(|end| end == "json");
    Ok(files.into_iter().filter(is_chart).collect())
}

/// Draws both pictures of each chart into a directory.
pub fn run(args: &PictureArgs) -> Result<u8> {
    for chart in charts(&args.charts)? {
        let name = chart.file_stem().unwrap_or_default().to_string_lossy();
        for (theme, drawn) in Chart::read(&chart)?.draw(&chart)? {
            let file = args.images.join(format!("{name}-{theme}.svg"));
            files::write(&file, &drawn)?;
        }
    }
    Ok(0)
}

/// A picture on the paper of a theme.
fn on_paper(
    theme: &Theme,
    height: i32,
    draw: impl for<'a> FnOnce(&Area<'a>) -> Drawn<'a>,
) -> String {
    let mut picture = String::new();
    let size = (WIDTH as u32, height as u32);
    let root = SVGBackend::with_string(&mut picture, size).into_drawing_area();
    let drawn = root
        .fill(&theme.paper)
        .and_then(|()| draw(&root))
        .and_then(|()| root.present());
    drawn.expect("a string takes all that is drawn");
    drop(root);
    picture
}

/// The title.
fn headed<'a>(area: &Area<'a>, theme: &Theme, title: &str) -> Drawn<'a> {
    area.draw(&Text::new(
        title.to_owned(),
        (MARGIN, TITLE),
        text(24.0, &theme.ink),
    ))
}

/// Pale lines: the run, notes.
fn remarks<'a>(area: &Area<'a>, theme: &Theme, top: i32, lines: &[String]) -> Drawn<'a> {
    for (index, line) in lines.iter().enumerate() {
        let at = (MARGIN, top + LINE * index as i32);
        area.draw(&Text::new(line.clone(), at, text(14.0, &theme.muted)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use drawing::extent::{of_text, Extent};
    use super::*;

    /// The extents of a picture's texts.
    fn texts(picture: &str) -> Vec<(String, Extent)> {
        let document = roxmltree::Document::parse(picture).unwrap();
        let nodes = document.descendants().filter(|n| n.has_tag_name("text"));
        let text = |node: roxmltree::Node| {
            let text = node.text().unwrap_or_default().trim().to_owned();
            let extent = of_text(|name| node.attribute(name), &text);
            (text, extent)
        };
        nodes.map(text).collect()
    }

    #[test]
    fn no_published_chart_has_texts_that_overlap_or_leave_the_picture() {
        let dir = Path::new("../docs/charts");
        let files = charts(dir).unwrap();
        assert!(!files.is_empty());
        for file in files {
            for (_, picture) in Chart::read(&file).unwrap().draw(&file).unwrap() {
                let document = roxmltree::Document::parse(&picture).unwrap();
                let size = |name| document.root_element().attribute(name).unwrap();
                let paper = Extent {
                    left: 0.0,
                    top: 0.0,
                    right: size("width").parse().unwrap(),
                    bottom: size("height").parse().unwrap(),
                };
                let texts = texts(&picture);
                for (number, (text, extent)) in texts.iter().enumerate() {
                    let name = file.display();
                    assert!(
                        paper.contains(extent),
                        "{name}: '{text}' leaves the picture"
                    );
                    for (other, place) in &texts[number + 1..] {
                        assert!(!extent.meets(place), "{name}: '{text}' meets '{other}'");
                    }
                }
            }
        }
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
            let lines = [theme.violet, theme.amber, theme.muted];
            for mark in [theme.openssl, theme.limit].into_iter().chain(lines) {
                assert!(
                    contrast(mark, theme.paper) >= 3.0,
                    "{}: {mark:?}",
                    theme.name
                );
            }
        }
    }
}
