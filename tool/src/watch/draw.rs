// SPDX-License-Identifier: BSD-2-Clause
//! The pages of the screen: the table of processes, the details of one, and help. All signs are
//! ASCII, for terminals of every kind. Names of processes and files were cleaned by `trace`.

use super::keys::{Page, Sort, View};
use super::result::{class, library, main_finding, megabytes, mode, Watch};
use crate::style::{grouped, wrapped};
use crate::trace::text::details;
use crate::trace::verdict::percent;
use crate::trace::{Finding, Process};
use classify::hot::Work;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState, Wrap};
use ratatui::Frame;

pub fn page(frame: &mut Frame, view: &View, watch: Option<&Watch>, machine: &str) {
    let area = frame.area();
    let head = head(view, watch, machine, area);
    let height = u16::try_from(head.lines.len()).unwrap_or(u16::MAX);
    let foot = u16::from(area.height > 3);
    let parts = [
        Constraint::Length(height),
        Constraint::Min(0),
        Constraint::Length(foot),
    ];
    let [top, middle, bottom] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    match (view.page, watch) {
        (Page::Help, _) => text(frame, middle, view, help()),
        (Page::Table, Some(watch)) => table(frame, middle, view, watch),
        (Page::Detail, Some(watch)) => text(frame, middle, view, about(view, watch)),
        (_, None) => {}
    }
    frame.render_widget(Paragraph::new(keys(view)).style(dim()), bottom);
}

/// The first line of all: how much AES code runs.
pub fn headline(watch: &Watch) -> String {
    let trace = &watch.trace;
    let used = match trace.samples {
        0 => String::new(),
        _ => format!(", {} of the time used", percent(trace.aes_share)),
    };
    format!(
        "AES {} of the machine{used}; {} samples, {} lost, in the last {:.1} s",
        percent(watch.machine_share),
        grouped(trace.samples),
        grouped(trace.lost),
        trace.seconds
    )
}

/// The headline, and on a screen that is high enough the machine and notes.
fn head(view: &View, watch: Option<&Watch>, machine: &str, area: Rect) -> Text<'static> {
    let columns = Some(usize::from(area.width).max(1));
    let headline = watch.map_or("Sampling...".to_owned(), headline);
    let headline = match view.is_paused {
        true => format!("PAUSED  {headline}"),
        false => headline,
    };
    let lines = |text: &str, style: Style| -> Vec<Line<'static>> {
        let folded = wrapped("", text, columns);
        let lines = folded.lines();
        lines
            .map(|line| Line::styled(line.to_owned(), style))
            .collect()
    };
    let mut head = lines(&headline, Modifier::BOLD.into());
    if area.height >= 10 {
        head.extend(lines(machine, Style::new()));
        for note in &view.notes {
            head.extend(lines(note, dim()));
        }
        head.push(Line::default());
    }
    // At least half of the screen is for the table.
    head.truncate(usize::from(area.height / 2).max(1));
    Text::from(head)
}

/// Dimmed text is hard to read on some terminals, so only what repeats itself is.
fn dim() -> Style {
    Modifier::DIM.into()
}

fn keys(view: &View) -> String {
    let back = match view.page {
        Page::Table => "Enter details",
        Page::Detail | Page::Help => "Esc back",
    };
    format!(
        "q quit  ? help  {back}  s sort ({})  Space {}  +/- every {} s",
        view.sort.name(),
        if view.is_paused { "go on" } else { "pause" },
        view.interval.as_secs_f64()
    )
}

/// A column of the table.
struct Column {
    head: &'static str,
    /// The least columns of the terminal that it takes.
    width: u16,
    /// The table is sorted by it.
    sort: Option<Sort>,
    alignment: Alignment,
    /// Where there is no room, those with the highest number are left out first.
    rank: u16,
    cell: fn(&Process, &Watch) -> String,
}

impl Column {
    const fn left(
        head: &'static str,
        width: u16,
        rank: u16,
        cell: fn(&Process, &Watch) -> String,
    ) -> Column {
        Column {
            head,
            width,
            sort: None,
            alignment: Alignment::Left,
            rank,
            cell,
        }
    }

    const fn right(
        head: &'static str,
        width: u16,
        rank: u16,
        cell: fn(&Process, &Watch) -> String,
    ) -> Column {
        Column {
            alignment: Alignment::Right,
            ..Column::left(head, width, rank, cell)
        }
    }

    const fn sorted(self, by: Sort) -> Column {
        Column {
            sort: Some(by),
            ..self
        }
    }
}

const COLUMNS: [Column; 8] = [
    Column::right("PID", 7, 4, |process, _| process.pid.to_string()).sorted(Sort::Pid),
    Column::left("COMMAND", 10, 0, |process, _| process.name.clone()).sorted(Sort::Name),
    Column::right("AES", 6, 1, |process, _| percent(process.aes_share)).sorted(Sort::Aes),
    Column::right("CPU", 6, 3, |process, watch| {
        percent(watch.of_machine(process.samples))
    })
    .sorted(Sort::Cpu),
    Column::right("MB/s", 6, 6, rate),
    Column::left("CLASS", 22, 0, |process, _| class(process)),
    Column::left("MODE", 4, 5, |process, _| mode(process)),
    Column::left("LIBRARY", 16, 7, |process, _| library(process)),
];

fn rate(process: &Process, watch: &Watch) -> String {
    let rate = watch.rate(process);
    rate.map_or(String::new(), |rate| megabytes(rate.bytes_per_second))
}

/// The columns that fit.
fn fitting(width: u16) -> Vec<&'static Column> {
    let mut columns: Vec<&Column> = COLUMNS.iter().collect();
    let needed =
        |columns: &[&Column]| -> u16 { columns.iter().map(|it| it.width + 1).sum::<u16>() - 1 };
    while needed(&columns) > width {
        let Some(last) = columns
            .iter()
            .map(|it| it.rank)
            .max()
            .filter(|rank| *rank > 0)
        else {
            break;
        };
        columns.retain(|column| column.rank != last);
    }
    columns
}

fn table(frame: &mut Frame, area: Rect, view: &View, watch: &Watch) {
    let columns = fitting(area.width);
    let heads = columns.iter().map(|column| {
        let style = match column.sort == Some(view.sort) {
            true => Modifier::BOLD | Modifier::UNDERLINED,
            false => Modifier::BOLD,
        };
        Cell::from(Line::styled(column.head, style).alignment(column.alignment))
    });
    let processes = view.rows(watch);
    let rows = processes.iter().map(|process| {
        let cells = columns.iter().map(|column| {
            let style = match column.head {
                "CLASS" => style(process, view.colour),
                _ => Style::new(),
            };
            let text = (column.cell)(process, watch);
            Cell::from(Line::styled(text, style).alignment(column.alignment))
        });
        Row::new(cells.collect::<Vec<Cell>>())
    });
    let widths = columns.iter().map(|column| match column.head {
        "COMMAND" | "LIBRARY" => Constraint::Min(column.width),
        _ => Constraint::Length(column.width),
    });
    let table = Table::new(rows.collect::<Vec<Row>>(), widths)
        .header(Row::new(heads.collect::<Vec<Cell>>()))
        .row_highlight_style(Modifier::REVERSED);
    let mut state = TableState::default().with_selected(Some(view.row));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The style of a class. Tables stand out, with and without colours.
fn style(process: &Process, colour: bool) -> Style {
    let Some(finding) = main_finding(process) else {
        return Style::new();
    };
    match finding.work {
        Work::Tables | Work::GhashTables if colour => {
            Style::new().fg(Color::Red).add_modifier(Modifier::BOLD)
        }
        Work::Tables | Work::GhashTables => (Modifier::BOLD | Modifier::UNDERLINED).into(),
        Work::Vaes512 | Work::Vaes256 if colour => Style::new().fg(Color::Green),
        work if work.is_aes() => Style::new(),
        _ => dim(),
    }
}

/// Lines that are scrolled.
fn text(frame: &mut Frame, area: Rect, view: &View, lines: Vec<String>) {
    let last = lines.len().saturating_sub(usize::from(area.height));
    let first = usize::from(view.scroll).min(last);
    let lines: Vec<Line> = lines.into_iter().skip(first).map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }), area);
}

/// What is known about the selected process.
fn about(view: &View, watch: &Watch) -> Vec<String> {
    let mut processes = watch.trace.processes.iter();
    let Some(process) = processes.find(|it| Some(it.serial) == view.selected) else {
        return vec!["The process has no more samples in this time. Esc leads back.".to_owned()];
    };
    let mut lines = vec![format!(
        "{} ({}): AES {} of its time, which is {} of the machine; threads: {}",
        process.name,
        process.pid,
        percent(process.aes_share),
        percent(watch.of_machine(process.samples)),
        process.threads
    )];
    lines.extend(watch.rate(process).map(|rate| {
        let together = match rate.processes {
            1 => String::new(),
            many => format!(", in {many} processes of one command together"),
        };
        let rate = megabytes(rate.bytes_per_second);
        format!("tenrounds encrypts and decrypts {rate} MB/s, as it counts itself{together}")
    }));
    if process.findings.is_empty() {
        lines.push("No AES code was seen.".to_owned());
    }
    for finding in &process.findings {
        lines.push(String::new());
        lines.push(facts(finding));
        let details = details(process, finding);
        let plain = anstream::adapter::strip_str(&details).to_string();
        lines.extend(plain.lines().skip(1).map(str::to_owned));
    }
    lines
}

/// "VAES 512, mode GCM: 80 % of the time, 4 threads, certain; with tenrounds ..."
fn facts(finding: &Finding) -> String {
    let mode = match finding.mode {
        Some(mode) => format!(", mode {}", mode.to_uppercase()),
        None => String::new(),
    };
    let with = match &finding.with_tenrounds {
        Some(with) => format!("; {with}"),
        None => String::new(),
    };
    format!(
        "{}{mode}: {} of the time of the process, threads: {}, {}{with}",
        finding.work.name(),
        percent(finding.share),
        finding.threads,
        crate::trace::text::confidence(finding.confidence)
    )
}

fn help() -> Vec<String> {
    let lines = [
        "AES      the share of the process' CPU time in AES code",
        "CPU      the share of all processors that the process uses",
        "MB/s     what tenrounds encrypts and decrypts, for commands of",
        "         'tenrounds run --count'",
        "CLASS    the AES code with the most samples; +1: and another one",
        "",
        "Up, k    the process above, or a line up",
        "Down, j  the process below, or a line down",
        "Enter    details of the process, and back",
        "s        sort by AES time, CPU, PID or command",
        "Space    pause, and go on",
        "+, -     longer and shorter intervals",
        "Ctrl-L   draw again",
        "?, h     this help, and back",
        "Esc      back, or quit",
        "q        quit",
    ];
    lines.map(str::to_owned).to_vec()
}
