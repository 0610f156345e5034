// SPDX-License-Identifier: BSD-2-Clause
//! The paths as a picture: throughput over size, a line for each path, and a panel for each
//! algorithm, direction and number of threads.

use super::figure::{size_name, times, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::paths::PATHS;
use super::report::{label, largest};
use super::run::Run;
use drawing::{anchored, text, Area, Drawn, Head, Mark, INK, PALE};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};

fn colour(who: Implementation) -> RGBColor {
    match who {
        Core => RGBColor(10, 92, 62),
        Tenrounds => drawing::TENROUNDS,
        OpenSsl => RGBColor(86, 128, 178),
        AfAlg => RGBColor(192, 57, 43),
        AfAlgSplice => RGBColor(214, 137, 16),
        _ => RGBColor(150, 156, 166),
    }
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

/// The lines of a block. The most important implementation is on top.
fn panel(run: &Run, block: &[Figure], area: &Area) -> Drawn {
    let points = |who: &Implementation| -> Vec<(f64, f64)> {
        let rates = block.iter().enumerate();
        let points = rates.filter_map(|(place, f)| Some((place as f64, f.rate(*who)? / 1e9)));
        points.collect()
    };
    let rates = PATHS.iter().flat_map(points).map(|(_, rate)| rate);
    let (least, most) = rates.fold((f64::INFINITY, 0.0), |(least, most), rate| {
        (rate.min(least), rate.max(most))
    });
    let mut chart = ChartBuilder::on(area)
        .caption(caption(run, block), text(15.0, &INK))
        .margin(10)
        .x_label_area_size(50)
        .y_label_area_size(56)
        .build_cartesian_2d(
            -0.2..block.len() as f64 - 0.8,
            (least * 0.8..most * 1.25).log_scale(),
        )?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(6)
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(PALE)
        .label_style(text(12.0, &INK))
        .draw()?;
    for who in PATHS.iter().rev() {
        let (points, colour) = (points(who), colour(*who));
        let dot = |at: &(f64, f64)| Circle::new(*at, 2, colour.filled());
        let dots: Vec<_> = points.iter().map(dot).collect();
        chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        chart.draw_series(dots)?;
    }
    let area = chart.plotting_area();
    let (base, bottom) = (area.get_base_pixel(), area.dim_in_pixel().1 as i32);
    for (place, figure) in block.iter().enumerate() {
        let x = area.map_coordinate(&(place as f64, 1.0)).0 - base.0;
        let style = anchored(10.5, &INK, HPos::Center, VPos::Top);
        let size = Text::new(size_name(figure.case.bytes), (x, bottom + 10), style);
        area.strip_coord_spec().draw(&size)?;
    }
    Ok(())
}

pub fn draw(run: &Run) -> Result<String, Box<dyn std::error::Error>> {
    let blocks = run.blocks();
    let measured = |who: &&Implementation| run.figures.iter().any(|f| f.rate(**who).is_some());
    let entry = |who: &Implementation| {
        let name = match who {
            Tenrounds => "OpenSSL with tenrounds".to_owned(),
            OpenSsl => run.openssl(),
            other => label(*other).to_owned(),
        };
        (Mark::Line(colour(*who), 3), name)
    };
    let head = Head {
        title: "AES in user space and in the kernel, GB/s".to_owned(),
        about: vec![format!("{} · {}", run.about(), run.host.kernel)],
        legend: PATHS.iter().filter(measured).map(entry).collect(),
    };
    drawing::picture(&head, blocks.len(), (860, 380), |index, area| {
        panel(run, blocks[index], area)
    })
}
