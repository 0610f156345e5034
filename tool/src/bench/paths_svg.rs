// SPDX-License-Identifier: BSD-2-Clause
//! The paths as a picture: throughput over size, a line for each path, both axes logarithmic, a
//! panel for each algorithm, direction and number of threads.

use super::figure::{size_name, times, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::paths::PATHS;
use super::report::largest;
use super::run::Run;
use crate::replaced;
use drawing::{text, wrap, About, INK, MARGIN, MUTED, PALE};
use plotters::prelude::*;
use std::path::Path;
use terminal::error::{Error, Result};

const FONT: &str = "sans-serif";
const WIDTH: u32 = 860;
const LINE: i32 = 18;
const PANEL: u32 = 380;

fn colour(who: Implementation) -> RGBColor {
    match who {
        Core => RGBColor(10, 92, 62),
        Tenrounds => RGBColor(23, 146, 101),
        OpenSsl => RGBColor(86, 128, 178),
        AfAlg => RGBColor(192, 57, 43),
        AfAlgSplice => RGBColor(214, 137, 16),
        _ => RGBColor(150, 156, 166),
    }
}

fn label(run: &Run, who: Implementation) -> String {
    match who {
        Core => "core".into(),
        Tenrounds => "OpenSSL with tenrounds".into(),
        OpenSsl => run.openssl(),
        AfAlg => "AF_ALG".into(),
        AfAlgSplice => "AF_ALG, splice".into(),
        _ => "crossing alone".into(),
    }
}

fn points(block: &[Figure], who: Implementation) -> Vec<(f64, f64)> {
    let point = |f: &Figure| Some((f.case.bytes as f64, f.rate(who)? / 1e9));
    let mut points: Vec<(f64, f64)> = block.iter().filter_map(point).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

pub fn write(run: &Run, path: &Path) -> Result<()> {
    let mut picture = String::new();
    let failed = |why: String| Error::failure(format!("cannot write {}: {why}", path.display()));
    draw(run, &mut picture).map_err(failed)?;
    replaced::write(path, &picture)
}

/// "AES-128-CTR: at 16 KiB, tenrounds 2.67× OpenSSL 3.0.22".
fn caption(run: &Run, block: &[Figure]) -> String {
    let title = title_with_threads(&block[0].case);
    let figure = largest(block);
    match figure.ratio(Tenrounds, OpenSsl) {
        Some(ratio) => format!(
            "{title}: at {}, tenrounds {} {}",
            size_name(figure.case.bytes),
            times(ratio),
            run.openssl()
        ),
        None => title,
    }
}

fn draw(run: &Run, out: &mut String) -> std::result::Result<(), String> {
    let about = About {
        processor: &run.host.cpu.brand,
        hypervisor: run.host.hypervisor.as_deref(),
        busy: run.disturbance().is_busy(),
        openssl: &format!("{} · {}", run.openssl(), run.host.kernel),
        version: env!("CARGO_PKG_VERSION"),
        date: &terminal::today(),
    };
    let about = wrap(
        &about.line(),
        14.0,
        f64::from(WIDTH) - 2.0 * f64::from(MARGIN),
    );
    let heading = (46 + LINE * about.len() as i32) as u32;
    let blocks = run.blocks();
    let size = (WIDTH, heading + PANEL * blocks.len() as u32);
    let root = SVGBackend::with_string(out, size).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    root.fill(&WHITE).map_err(|e| failed(&e))?;
    let (head, body) = root.split_vertically(heading);
    let title = Text::new(
        "AES: user space and the kernel",
        (MARGIN, 16),
        text(22.0, &INK),
    );
    head.draw(&title).map_err(|e| failed(&e))?;
    for (index, line) in about.into_iter().enumerate() {
        let at = (MARGIN, 44 + LINE * index as i32);
        let line = Text::new(line, at, text(14.0, &MUTED));
        head.draw(&line).map_err(|e| failed(&e))?;
    }
    let panels = body.split_evenly((blocks.len().max(1), 1));
    for (block, area) in blocks.into_iter().zip(panels) {
        panel(run, block, &area)?;
    }
    root.present().map_err(|e| failed(&e))
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn panel(run: &Run, block: &[Figure], area: &Area) -> std::result::Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| error.to_string();
    let all = || PATHS.iter().flat_map(|who| points(block, *who));
    let low = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
    let high = |values: &mut dyn Iterator<Item = f64>| values.fold(0.0, f64::max);
    let sizes = low(&mut all().map(|p| p.0)) / 1.3..high(&mut all().map(|p| p.0)) * 1.3;
    let rates = low(&mut all().map(|p| p.1)) / 1.5..high(&mut all().map(|p| p.1)) * 1.5;
    let mut chart = ChartBuilder::on(area)
        .caption(caption(run, block), text(16.0, &INK))
        .margin(14)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d(sizes.log_scale().base(4.0), rates.log_scale())
        .map_err(|e| failed(&e))?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(PALE)
        .y_desc("GB/s")
        .x_label_formatter(&|bytes| size_name(*bytes as usize))
        .y_label_formatter(&|rate| format!("{rate}"))
        .label_style((FONT, 13.0).into_font().color(&INK))
        .draw()
        .map_err(|e| failed(&e))?;
    for &who in &PATHS {
        let (points, colour) = (points(block, who), colour(who));
        if points.is_empty() {
            continue;
        }
        let line = LineSeries::new(points.clone(), colour.stroke_width(2));
        chart
            .draw_series(line)
            .map_err(|e| failed(&e))?
            .label(label(run, who))
            .legend(move |(x, y)| {
                PathElement::new(vec![(x, y), (x + 18, y)], colour.stroke_width(3))
            });
        let dots = points
            .into_iter()
            .map(|at| Circle::new(at, 3, colour.filled()));
        chart.draw_series(dots).map_err(|e| failed(&e))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.9))
        .border_style(PALE)
        .label_font((FONT, 13.0).into_font().color(&INK))
        .draw()
        .map_err(|e| failed(&e))
}
