// SPDX-License-Identifier: BSD-2-Clause
//! The paths as a picture: throughput over size, a line for each path, and a panel for each
//! algorithm, direction and number of threads.

use super::figure::{size_name, times, title_with_threads, Figure};
use super::implementation::Implementation::{self, *};
use super::paths::PATHS;
use super::report::{label, largest};
use super::run::Run;
use drawing::lines::{Line, Panel, Scale};
use drawing::{Drawn, Grid, Head, Mark};
use plotters::style::RGBColor;

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

fn panel(run: &Run, block: &[Figure]) -> Panel {
    let line = |who: &Implementation| {
        let rates = block.iter().enumerate();
        let points = rates.filter_map(|(place, f)| Some((place, f.rate(*who)? / 1e9)));
        Line {
            points: points.collect(),
            colour: colour(*who),
            width: 2,
        }
    };
    Panel {
        title: caption(run, block),
        caption: None,
        sizes: block.iter().map(|f| size_name(f.case.bytes)).collect(),
        lines: PATHS.iter().map(line).collect(),
        scale: Scale::Logarithm,
        format: |gigabytes| format!("{gigabytes}"),
    }
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
    let grid = Grid {
        panels: blocks.len(),
        columns: 1,
        size: (860, 380),
    };
    drawing::picture(&head, &grid, |index, area| -> Drawn {
        panel(run, blocks[index]).draw(area)
    })
}
