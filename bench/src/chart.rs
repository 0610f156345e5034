// SPDX-License-Identifier: BSD-2-Clause
//! The run as pictures: a panel for each mode, a line for each library, over the bytes of a call.

use crate::grid::{Cell, Kind, Way};
use crate::plan::Environment;
use crate::published::Run;
use crate::results::{is_bound, is_ours, Row};
use drawing::lines::{Line, Scale};
use drawing::{About, Grid, Head, Mark, TENROUNDS};
use measure::busy::Disturbance;
use plotters::style::RGBColor;
use terminal::error::{Error, Result};
use terminal::size_name;

const OURS_IN_OPENSSL: RGBColor = RGBColor(140, 198, 63);
/// Of the others, in the order in which they come.
const OTHERS: [RGBColor; 10] = [
    RGBColor(86, 128, 178),
    RGBColor(44, 78, 126),
    RGBColor(130, 177, 222),
    RGBColor(222, 143, 5),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 119, 194),
    RGBColor(127, 127, 127),
    RGBColor(188, 160, 34),
    RGBColor(23, 170, 190),
];

const COLUMNS: usize = 3;
const PANEL: (u32, u32) = (430, 306);
/// The pictures by file name, which begins with `name`.
pub fn all(run: &Run, name: &str) -> Result<Vec<(String, String)>> {
    let mut pictures = Vec::new();
    for (kind, what) in [(Kind::Throughput, "throughput"), (Kind::Alone, "alone")] {
        let panels = panels(run, kind);
        if panels.is_empty() {
            continue;
        }
        let picture = draw(run, kind, &panels)
            .map_err(|why| Error::failure(format!("cannot draw the chart '{what}': {why}")))?;
        let file = match name {
            "" => format!("{what}.svg"),
            _ => format!("{name}-{what}.svg"),
        };
        pictures.push((file, picture));
    }
    Ok(pictures)
}

struct Panel {
    title: String,
    cells: Vec<Cell>,
}

/// Those of several sizes: AES-128, or AES-256 where there is nothing else.
fn panels(run: &Run, kind: Kind) -> Vec<Panel> {
    let cells = run.results.cells();
    let of = |way: Way, key_bits: u16| -> Vec<Cell> {
        let fits = |(environment, cell): &&(Environment, Cell)| {
            *environment == Environment::Plain
                && cell.kind == kind
                && cell.threads == 1
                && cell.spec.key_bits == key_bits
                && Way::of(&cell.spec) == way
        };
        cells.iter().filter(fits).map(|(_, cell)| *cell).collect()
    };
    let mut panels = Vec::new();
    for way in run.results.ways() {
        let found = [128, 256, 192]
            .into_iter()
            .map(|bits| (bits, of(way, bits)));
        if let Some((bits, cells)) = found.into_iter().find(|(_, cells)| cells.len() > 1) {
            panels.push(Panel {
                title: format!("{}, AES-{bits}", way.title()),
                cells,
            });
        }
    }
    panels
}

/// Who has lines, ours first, each with its colour and width.
fn lines(run: &Run, panels: &[Panel]) -> Vec<(String, RGBColor, u32)> {
    let has_line = |id: &str| {
        run.results.rows.iter().any(|r| {
            r.subject == id
                && r.environment == Environment::Plain
                && panels.iter().any(|p| p.cells.contains(&r.cell))
        })
    };
    let mut others = OTHERS.into_iter().cycle();
    let mut lines = Vec::new();
    for (environment, subject) in &run.results.subjects {
        if *environment != Environment::Plain || is_bound(&subject.id) || !has_line(&subject.id) {
            continue;
        }
        match &*subject.id {
            "core" => lines.push((subject.id.clone(), TENROUNDS, 4)),
            "evp" => lines.push((subject.id.clone(), OURS_IN_OPENSSL, 3)),
            // The other backends are in the tables.
            id if is_ours(id) => {}
            id => lines.push((id.to_owned(), others.next().expect("a cycle"), 2)),
        }
    }
    lines
}

/// The line about the run.
fn about(run: &Run) -> String {
    let cpu = &run.host.cpu;
    let stock = run.results.stock();
    let disturbance = Disturbance {
        load: None,
        windows: run.effort.rounds * run.results.rows.len(),
        repeated: run.effort.repeated,
        doubtful: run.effort.doubtful,
    };
    let about = About {
        processor: &format!("{} (family {} model {})", cpu.brand, cpu.family, cpu.model),
        hypervisor: run.host.hypervisor.as_deref(),
        busy: disturbance.is_busy(),
        openssl: stock
            .as_deref()
            .map_or("OpenSSL", |id| run.results.title(id)),
        version: &run.version,
        date: &run.date,
    };
    about.line()
}

/// Ours in OpenSSL to OpenSSL's own in the largest calls of a panel: "tenrounds 3.31× OpenSSL
/// 3.0.19 at 16 KiB". Where there is a limit, both are fractions of that of their rounds, so that
/// the clock cancels out.
fn ratio(run: &Run, panel: &Panel) -> Option<String> {
    let (cell, stock) = (*panel.cells.last()?, run.results.stock()?);
    let row = |id: &str| run.results.row(Environment::Plain, cell, id);
    let (ours, theirs) = (row("evp")?, row(&stock)?);
    let times = match (ours.limit, theirs.limit) {
        (Some(ours), Some(theirs)) => ours.median / theirs.median,
        _ => ours.rate.median / theirs.rate.median,
    };
    let (title, size) = (run.results.title(&stock), size_name(cell.bytes));
    Some(format!("tenrounds {times:.2}× {title} at {size}"))
}

fn draw(
    run: &Run,
    kind: Kind,
    panels: &[Panel],
) -> std::result::Result<String, Box<dyn std::error::Error>> {
    let lines = lines(run, panels);
    let entry = |(id, colour, width): &(String, RGBColor, u32)| {
        (
            Mark::Line(*colour, *width),
            run.results.title(id).to_owned(),
        )
    };
    let title = match kind {
        Kind::Throughput => {
            "Calls one after the other: part of what the processor can do at all (the red line)"
        }
        Kind::Alone => "A call alone: its time in ns, less is better",
    };
    let head = Head {
        title: title.to_owned(),
        about: vec![about(run)],
        legend: lines.iter().map(entry).collect(),
    };
    let grid = Grid {
        panels: panels.len(),
        columns: COLUMNS.min(panels.len()).max(2),
        size: PANEL,
    };
    drawing::picture(&head, &grid, |index, area| {
        drawn(run, kind, &panels[index], &lines).draw(area)
    })
}

/// The height of a point.
fn height(row: &Row, kind: Kind) -> Option<f64> {
    match kind {
        Kind::Throughput => Some(row.limit?.median),
        Kind::Alone => Some(row.ns_per_call()),
    }
}

fn drawn(
    run: &Run,
    kind: Kind,
    panel: &Panel,
    lines: &[(String, RGBColor, u32)],
) -> drawing::lines::Panel {
    let line = |(id, colour, width): &(String, RGBColor, u32)| {
        let point = |(place, cell): (usize, &Cell)| {
            let row = run.results.row(Environment::Plain, *cell, id)?;
            Some((place, height(row, kind)?))
        };
        Line {
            points: panel.cells.iter().enumerate().filter_map(point).collect(),
            colour: *colour,
            width: *width,
        }
    };
    let size = |cell: &Cell| {
        let name = size_name(cell.bytes);
        name.replace(" KiB", "K")
            .replace(" MiB", "M")
            .replace(" B", "")
    };
    drawing::lines::Panel {
        title: panel.title.clone(),
        caption: ratio(run, panel),
        sizes: panel.cells.iter().map(size).collect(),
        lines: lines.iter().map(line).collect(),
        scale: match kind {
            Kind::Throughput => Scale::Fraction,
            Kind::Alone => Scale::Logarithm,
        },
        format: match kind {
            Kind::Throughput => |part| format!("{:.0} %", part * 100.0),
            Kind::Alone => |ns| format!("{ns:.0}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_says_what_was_measured_where() {
        let dir = std::path::Path::new("../docs/benchmarks");
        for (_, run) in crate::overview::published(dir).unwrap() {
            let (version, stock) = (&run.version, run.results.stock().unwrap());
            let machine = format!("virtual machine ({})", run.host.hypervisor.clone().unwrap());
            let ratio = format!("× {} at", run.results.title(&stock));
            for (file, picture) in all(&run, "").unwrap() {
                for said in [&format!("tenrounds {version} ·"), &machine, &ratio] {
                    assert!(picture.contains(said), "{file}: {said}");
                }
            }
        }
    }
}
