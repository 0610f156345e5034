// SPDX-License-Identifier: BSD-2-Clause
//! The run as pictures: a panel for each mode, a line for each library, over the bytes of a call.

use crate::grid::{Cell, Kind, Way};
use crate::plan::Environment;
use crate::published::Run;
use crate::results::{is_bound, is_ours, Row};
use drawing::{anchored, text, About, INK, LIMIT, MARGIN, MUTED, PALE, TENROUNDS};
use measure::busy::Disturbance;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, VPos};
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
/// From the top of the ratio below a panel to the panel's end.
const RATIO: i32 = 40;
/// The texts above the panels: tops of the title and of the lines about the run, and distances.
const TITLE: i32 = 16;
const ABOUT: i32 = 46;
const ABOUT_LINE: i32 = 18;
const LEGEND_LINE: i32 = 22;
/// The sizes of these lines, and of the legend's entries.
const ABOUT_SIZE: f64 = 14.0;
const LEGEND_SIZE: f64 = 13.0;
/// From the left edge of a legend entry to its text.
const MARK: i32 = 32;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// Points with the colour and width of their line.
type Line = (Vec<(f64, f64)>, RGBColor, u32);
type Drawn = std::result::Result<(), String>;

/// The pictures by file name, which begins with `name`.
pub fn all(run: &Run, name: &str) -> Result<Vec<(String, String)>> {
    let mut pictures = Vec::new();
    for (kind, what) in [(Kind::Throughput, "throughput"), (Kind::Alone, "alone")] {
        let panels = panels(run, kind);
        if panels.is_empty() {
            continue;
        }
        let mut picture = String::new();
        draw(run, kind, &panels, &mut picture)
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

/// The lines about the run.
fn about(run: &Run, room: f64) -> Vec<String> {
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
    drawing::wrap(&about.line(), ABOUT_SIZE, room)
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

fn draw(run: &Run, kind: Kind, panels: &[Panel], out: &mut String) -> Drawn {
    let lines = lines(run, panels);
    let columns = COLUMNS.min(panels.len()).max(2);
    let rows = (panels.len() - 1) / columns + 1;
    let width = PANEL.0 * columns as u32;
    let right = width as i32 - MARGIN;
    let about = about(run, f64::from(right - MARGIN));
    let legend = ABOUT + ABOUT_LINE * about.len() as i32 + 12;
    let title = |id: &str| run.results.title(id).to_owned();
    let widths = lines
        .iter()
        .map(|(id, ..)| MARK + drawing::width(&title(id), LEGEND_SIZE).ceil() as i32);
    let places = drawing::places(widths, right, legend, LEGEND_LINE);
    let heading = places.last().map_or(legend, |p| p.1) as u32 + 30;
    let size = (width, heading + PANEL.1 * rows as u32);
    let root = SVGBackend::with_string(out, size).into_drawing_area();
    let failed = |e: &dyn std::fmt::Display| e.to_string();
    root.fill(&WHITE).map_err(|e| failed(&e))?;
    let (head, body) = root.split_vertically(heading);
    let what = match kind {
        Kind::Throughput => {
            "Calls one after the other: part of what the processor can do at all (the red line)"
        }
        Kind::Alone => "A call alone: its time in ns, less is better",
    };
    let write = |what: String, at: (i32, i32), style: TextStyle| {
        let drawn = head.draw(&Text::new(what, at, style));
        drawn.map_err(|e| e.to_string())
    };
    write(what.to_owned(), (MARGIN, TITLE), text(21.0, &INK))?;
    for (index, line) in about.into_iter().enumerate() {
        let at = (MARGIN, ABOUT + ABOUT_LINE * index as i32);
        write(line, at, text(ABOUT_SIZE, &MUTED))?;
    }
    for ((id, colour, stroke), &(x, y)) in lines.iter().zip(&places) {
        let mark = vec![(x, y + 6), (x + 26, y + 6)];
        head.draw(&PathElement::new(mark, colour.stroke_width(*stroke)))
            .map_err(|e| failed(&e))?;
        write(title(id), (x + MARK, y), text(LEGEND_SIZE, &INK))?;
    }
    for (panel, area) in panels.iter().zip(body.split_evenly((rows, columns))) {
        plot(run, kind, panel, &lines, &area)?;
    }
    root.present().map_err(|e| failed(&e))
}

/// The height of a point.
fn height(row: &Row, kind: Kind) -> Option<f64> {
    match kind {
        Kind::Throughput => Some(row.limit?.median),
        Kind::Alone => Some(row.ns_per_call()),
    }
}

fn plot(
    run: &Run,
    kind: Kind,
    panel: &Panel,
    lines: &[(String, RGBColor, u32)],
    area: &Area,
) -> Drawn {
    let points = |id: &str| -> Vec<(f64, f64)> {
        let point = |(x, cell): (usize, &Cell)| {
            let row = run.results.row(Environment::Plain, *cell, id)?;
            Some((x as f64, height(row, kind)?))
        };
        panel.cells.iter().enumerate().filter_map(point).collect()
    };
    let drawn: Vec<Line> = lines
        .iter()
        .map(|(id, c, w)| (points(id), *c, *w))
        .collect();
    let heights = || drawn.iter().flat_map(|(points, ..)| points).map(|p| p.1);
    let most = heights().fold(0.0, f64::max);
    let least = heights().fold(f64::INFINITY, f64::min);
    if let Some(ratio) = ratio(run, panel) {
        let (width, height) = area.dim_in_pixel();
        let at = ((width / 2) as i32, height as i32 - RATIO);
        let style = anchored(12.5, &TENROUNDS, HPos::Center, VPos::Top);
        area.draw(&Text::new(ratio, at, style))
            .map_err(|e| e.to_string())?;
    }
    let across = -0.2..panel.cells.len() as f64 - 0.8;
    let mut builder = ChartBuilder::on(area);
    builder
        .caption(&panel.title, text(15.0, &INK))
        .margin(10)
        .x_label_area_size(50)
        .y_label_area_size(52);
    match kind {
        Kind::Throughput => {
            let up = 0.0..most.max(1.0) * 1.05;
            let chart = builder.build_cartesian_2d(across, up);
            series(
                chart.map_err(|e| e.to_string())?,
                panel,
                &drawn,
                true,
                |v| format!("{:.0} %", v * 100.0),
            )
        }
        Kind::Alone => {
            let up = (least * 0.8..most * 1.2).log_scale().base(2.0);
            let chart = builder.build_cartesian_2d(across, up);
            series(
                chart.map_err(|e| e.to_string())?,
                panel,
                &drawn,
                false,
                |v| format!("{v:.0}"),
            )
        }
    }
}

fn series<'a, Y>(
    mut chart: ChartContext<
        '_,
        SVGBackend<'a>,
        Cartesian2d<plotters::coord::types::RangedCoordf64, Y>,
    >,
    panel: &Panel,
    drawn: &[Line],
    limit: bool,
    name: fn(&f64) -> String,
) -> Drawn
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let failed = |e: &dyn std::fmt::Display| e.to_string();
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(6)
        .light_line_style(TRANSPARENT)
        .bold_line_style(PALE)
        .axis_style(PALE)
        .y_label_formatter(&name)
        .label_style(text(12.0, &INK))
        .draw()
        .map_err(|e| failed(&e))?;
    if limit {
        let ends = [(-0.2, 1.0), (panel.cells.len() as f64 - 0.8, 1.0)];
        chart
            .draw_series([PathElement::new(ends, LIMIT.stroke_width(2))])
            .map_err(|e| failed(&e))?;
    }
    // Ours last, on top.
    for (points, colour, width) in drawn.iter().rev() {
        let dots = points.iter().map(|p| Circle::new(*p, 2, colour.filled()));
        chart
            .draw_series(LineSeries::new(points.clone(), colour.stroke_width(*width)))
            .map_err(|e| failed(&e))?;
        chart.draw_series(dots).map_err(|e| failed(&e))?;
    }
    let area = chart.plotting_area();
    let (base, bottom) = (area.get_base_pixel(), area.dim_in_pixel().1 as i32);
    for (x, cell) in panel.cells.iter().enumerate() {
        let place = area.map_coordinate(&(x as f64, 1.0)).0 - base.0;
        let name = size_name(cell.bytes)
            .replace(" KiB", "K")
            .replace(" MiB", "M")
            .replace(" B", "");
        let style = anchored(10.5, &INK, HPos::Center, VPos::Top);
        area.strip_coord_spec()
            .draw(&Text::new(name, (place, bottom + 10), style))
            .map_err(|e| failed(&e))?;
    }
    Ok(())
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
