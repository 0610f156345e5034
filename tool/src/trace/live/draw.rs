// SPDX-License-Identifier: BSD-2-Clause
//! The pages of the screen: the table of processes, the details of one, and help. All characters
//! are ASCII, for terminals of every kind. Names of processes and files were cleaned by `trace`.

use super::result::{class, library, main_finding, megabytes, mode, Picture};
use super::view::{Page, Sort, View};
use crate::trace::text::details;
use crate::trace::verdict::{percent, NOT_RECOGNISED};
use crate::trace::{Finding, Process};
use classify::hot::Work;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};
use ratatui::Frame;
use terminal::style::{grouped, wrapped};

pub fn page(frame: &mut Frame, view: &View, picture: Option<&Picture>, machine: &str) {
    let area = frame.area();
    let head = head(view, picture, machine, area);
    let height = u16::try_from(head.lines.len()).unwrap_or(u16::MAX);
    let foot = u16::from(area.height > 3);
    let parts = [
        Constraint::Length(height),
        Constraint::Min(0),
        Constraint::Length(foot),
    ];
    let [top, middle, bottom] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    match (view.page, picture) {
        (Page::Help, _) => text(frame, middle, view, help()),
        (Page::Table, Some(picture)) => table(frame, middle, view, picture),
        (Page::Detail, Some(picture)) => text(frame, middle, view, about(view, picture)),
        (_, None) => {}
    }
    frame.render_widget(Paragraph::new(keys(view)).style(dim()), bottom);
}

/// The first line of all: how much AES code runs.
pub fn headline(picture: &Picture) -> String {
    let trace = &picture.trace;
    let used = match trace.samples {
        0 => String::new(),
        _ => format!(", {} of the time used", percent(trace.aes_share)),
    };
    format!(
        "AES {} of the machine{used}; {} samples, {} lost, in the last {:.1} s",
        percent(picture.machine_share),
        grouped(trace.samples),
        grouped(trace.lost),
        trace.seconds
    )
}

/// The headline, and on a screen that is high enough the machine and notes.
fn head(view: &View, picture: Option<&Picture>, machine: &str, area: Rect) -> Text<'static> {
    let columns = Some(usize::from(area.width).max(1));
    let headline = picture.map_or("Sampling...".to_owned(), headline);
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

/// Dimmed text is hard to read on some terminals, so only repeated text is dimmed.
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
    cell: fn(&Process, &Picture) -> String,
}

impl Column {
    const fn left(
        head: &'static str,
        width: u16,
        rank: u16,
        cell: fn(&Process, &Picture) -> String,
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
        cell: fn(&Process, &Picture) -> String,
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
    Column::right("CPU", 6, 3, |process, picture| {
        percent(picture.of_machine(process.samples))
    })
    .sorted(Sort::Cpu),
    Column::right("MB/s", 6, 6, rate),
    Column::left("CLASS", 22, 0, |process, _| class(process)),
    Column::left("MODE", 4, 5, |process, _| mode(process)),
    Column::left("LIBRARY", 16, 7, |process, _| library(process)),
];

fn rate(process: &Process, picture: &Picture) -> String {
    let rate = picture.rate(process);
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

fn table(frame: &mut Frame, area: Rect, view: &View, picture: &Picture) {
    let columns = fitting(area.width);
    let heads = columns.iter().map(|column| {
        let style = match column.sort == Some(view.sort) {
            true => Modifier::BOLD | Modifier::UNDERLINED,
            false => Modifier::BOLD,
        };
        Cell::from(Line::styled(column.head, style).alignment(column.alignment))
    });
    let processes = view.rows(picture);
    let rows = processes.iter().map(|process| {
        let cells = columns.iter().map(|column| {
            let style = match column.head {
                "CLASS" => style(process, view.colour),
                _ => Style::new(),
            };
            let text = (column.cell)(process, picture);
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
    let mut state = TableState::default().with_selected(view.selected.map(|_| view.row));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The style of a class. Tables stand out, with and without colours.
fn style(process: &Process, colour: bool) -> Style {
    let Some(finding) = main_finding(process) else {
        return Style::new();
    };
    let is_tables = |work| matches!(work, Work::Tables | Work::GhashTables);
    match finding.work {
        // Even if other code has more samples.
        _ if process.findings.iter().any(|it| is_tables(it.work)) => match colour {
            true => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            false => (Modifier::BOLD | Modifier::UNDERLINED).into(),
        },
        Work::Vaes512 | Work::Vaes256 if colour => Style::new().fg(Color::Green),
        work if work.is_aes() => Style::new(),
        _ => dim(),
    }
}

/// Lines that are scrolled.
fn text(frame: &mut Frame, area: Rect, view: &View, lines: Vec<String>) {
    let columns = Some(usize::from(area.width));
    let folded = terminal::style::folded(&lines.join("\n"), columns);
    let last = folded.lines().count().saturating_sub(area.height.into());
    let first = view.scroll.get().min(last);
    view.scroll.set(first);
    let lines: Vec<Line> = folded.lines().skip(first).map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

/// What is known about the selected process.
fn about(view: &View, picture: &Picture) -> Vec<String> {
    let mut processes = picture.trace.processes.iter();
    let Some(process) = processes.find(|it| Some(it.serial) == view.selected) else {
        return vec!["The process has no more samples in this time. Esc leads back.".to_owned()];
    };
    let mut lines = vec![format!(
        "{} ({}): uses {} of the machine, {} of that in AES code; threads: {}",
        process.name,
        process.pid,
        percent(picture.of_machine(process.samples)),
        percent(process.aes_share),
        process.threads
    )];
    lines.extend(picture.rate(process).map(|rate| {
        let together = match rate.processes {
            1 => String::new(),
            many => format!(", in {many} processes of one command together"),
        };
        let rate = megabytes(rate.bytes_per_second);
        format!("tenrounds encrypts and decrypts {rate} MB/s, as it counts itself{together}")
    }));
    if process.findings.is_empty() {
        lines.push(format!("No AES code was seen. {NOT_RECOGNISED}"));
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
        "Esc      back, select no process, or quit",
        "q        quit",
    ];
    lines.map(str::to_owned).to_vec()
}

#[cfg(test)]
mod tests {
    use super::super::input::Key;
    use super::super::result::Rate;
    use super::super::view::Wish;
    use super::*;
    use crate::trace::example::{self, finding, process};
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Buffer;
    use ratatui::Terminal;
    use std::time::Duration;

    fn picture(processes: Vec<Process>) -> Picture {
        let trace = example::trace(processes);
        let rate = Rate {
            pid: 7,
            serial: 7,
            bytes_per_second: 1.5e9,
            processes: 3,
        };
        Picture::new(trace, 2, vec![rate])
    }

    fn example() -> Picture {
        let both = vec![finding(Work::Vaes512, 50), finding(Work::AesNi, 20)];
        picture(vec![
            process(7, "server", both),
            process(8, "old", vec![finding(Work::Tables, 10)]),
            process(9, "idle", Vec::new()),
        ])
    }

    fn view(colour: bool) -> View {
        let mut view = View::new(Duration::from_secs(1), colour);
        view.notes = vec!["A note that is somewhat longer than a narrow screen.".to_owned()];
        view
    }

    fn press(view: &mut View, key: Key, picture: &Picture) {
        view.press(key, Some(picture));
    }

    fn drawn(view: &View, picture: Option<&Picture>, columns: u16, rows: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal
            .draw(|frame| page(frame, view, picture, "A processor, 2 processors"))
            .unwrap();
        terminal.backend().buffer().clone()
    }

    #[test]
    fn the_last_line_is_reached_and_left_again() {
        let processes = vec![process(7, "nginx", vec![finding(Work::Vaes512, 60)])];
        let picture = picture(processes);
        let mut view = view(false);
        view.settle(&picture);
        press(&mut view, Key::Enter, &picture);
        let first = lines(&drawn(&view, Some(&picture), 30, 8));
        press(&mut view, Key::End, &picture);
        let end = lines(&drawn(&view, Some(&picture), 30, 8));
        assert!(end.iter().any(|line| line.contains("0x1020")), "{end:#?}");
        press(&mut view, Key::PageDown, &picture);
        assert_eq!(lines(&drawn(&view, Some(&picture), 30, 8)), end);
        press(&mut view, Key::Up, &picture);
        assert_ne!(lines(&drawn(&view, Some(&picture), 30, 8)), end);
        press(&mut view, Key::Home, &picture);
        assert_eq!(lines(&drawn(&view, Some(&picture), 30, 8)), first);
    }

    fn lines(buffer: &Buffer) -> Vec<String> {
        let width = usize::from(buffer.area.width).max(1);
        let rows = buffer.content.chunks(width);
        let text = |row: &[ratatui::buffer::Cell]| row.iter().map(|it| it.symbol()).collect();
        rows.map(|row| -> String { text(row) })
            .map(|row| row.trim_end().to_owned())
            .collect()
    }

    #[test]
    fn a_row_has_what_is_known_of_a_process() {
        let example = example();
        let lines = lines(&drawn(&view(false), Some(&example), 100, 14));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = lines.iter().map(|line| words(line)).collect();
        // 80 of 400 possible samples are AES.
        let head = "AES 20 % of the machine, 25 % of the time used; 300 samples, 0 lost, in the last 2.0 s";
        assert_eq!(rows[0], head);
        assert_eq!(rows[4], "PID COMMAND AES CPU MB/s CLASS MODE LIBRARY");
        assert_eq!(
            rows[5],
            "7 server 70 % 25 % 1,500 VAES 512 +1 GCM libexample.so.1"
        );
        assert_eq!(
            rows[6],
            "8 old 10 % 25 % tables (cache-timing!) GCM libexample.so.1"
        );
        assert_eq!(rows[7], "9 idle 0.00 % 25 % -");
    }

    #[test]
    fn narrow_screens_keep_command_share_and_class() {
        let example = example();
        let at = |columns, rows| lines(&drawn(&view(false), Some(&example), columns, rows));
        let narrow = at(40, 24).join("\n");
        for part in [
            "COMMAND",
            "AES",
            "server",
            "70 %",
            "VAES 512 +1",
            "tables (cache-timing!)",
        ] {
            assert!(narrow.contains(part), "no {part} in\n{narrow}");
        }
        assert!(
            !narrow.contains("LIBRARY") && !narrow.contains("PID"),
            "{narrow}"
        );
        let short = at(80, 5);
        assert!(short[0].contains("AES 20 % of the machine"), "{short:?}");
        assert!(short.join("\n").contains("server"), "{short:?}");
        assert!(short[4].starts_with("q quit"), "{short:?}");
    }

    #[test]
    fn no_size_is_a_panic_and_no_name_draws_outside_of_its_cells() {
        let long = "x".repeat(400);
        let names = [
            "\u{202e}evil\u{200b}",
            "\x1b[2J\x07",
            "wide \u{5b57}\u{5b57}",
            "e\u{301}",
            "",
            &long,
        ];
        let hostile = names.iter().zip(7..).map(|(name, pid)| {
            process(
                pid,
                &terminal::style::clean(name),
                vec![finding(Work::Tables, 10)],
            )
        });
        let hostile = picture(hostile.collect());
        for key in [Key::Up, Key::Enter, Key::Char('?')] {
            let mut view = view(true);
            view.settle(&hostile);
            press(&mut view, key, &hostile);
            press(&mut view, Key::End, &hostile);
            for columns in (0..60).chain([200]) {
                for rows in (0..14).chain([60]) {
                    drawn(&view, None, columns, rows);
                    let buffer = drawn(&view, Some(&hostile), columns, rows);
                    for line in lines(&buffer) {
                        let is_steering =
                            |c: char| c.is_control() || c == '\u{202e}' || c == '\u{200b}';
                        assert!(!line.contains(is_steering), "{line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn tables_stand_out() {
        let example = example();
        let cell = |colour| {
            let buffer = drawn(&view(colour), Some(&example), 100, 14);
            let at = buffer.content.iter().position(|it| it.symbol() == "(");
            (buffer.content[at.unwrap()].clone(), buffer)
        };
        let (coloured, _) = cell(true);
        assert_eq!(coloured.fg, Color::Red);
        let (plain, all) = cell(false);
        assert!(plain
            .modifier
            .contains(Modifier::BOLD | Modifier::UNDERLINED));
        assert!(all
            .content
            .iter()
            .all(|it| it.fg == Color::Reset && it.bg == Color::Reset));
    }

    #[test]
    fn the_selection_follows_its_process() {
        let before = example();
        let mut view = view(false);
        view.settle(&before);
        press(&mut view, Key::Down, &before);
        assert_eq!((view.row, view.selected), (0, Some(7)));
        press(&mut view, Key::Down, &before);
        assert_eq!((view.row, view.selected), (1, Some(8)));
        let mut after = example();
        after.trace.processes.swap(0, 1);
        view.settle(&after);
        assert_eq!((view.row, view.selected), (0, Some(8)));
        // The detail page stays when the process has no samples any more.
        press(&mut view, Key::Enter, &after);
        let text = lines(&drawn(&view, Some(&after), 80, 24)).join("\n");
        assert!(
            text.contains("old (8): uses 25 % of the machine, 10 % of that in AES code")
                && text.contains("encrypt: 10 samples"),
            "{text}"
        );
        after.trace.processes.remove(0);
        view.settle(&after);
        let text = lines(&drawn(&view, Some(&after), 80, 24)).join("\n");
        assert!(text.contains("The process has no more samples"), "{text}");
        press(&mut view, Key::Escape, &after);
        assert_eq!(view.selected, Some(7));
        press(&mut view, Key::End, &after);
        assert_eq!((view.row, view.selected), (1, Some(9)));
        for expected in [Sort::Cpu, Sort::Pid, Sort::Name, Sort::Aes] {
            press(&mut view, Key::Char('s'), &after);
            assert_eq!((view.sort, view.selected), (expected, Some(9)));
        }
    }

    /// The first samples may be of other processes. Nothing is selected until a key is pressed, so
    /// the table still begins with the AES rows when these come.
    #[test]
    fn rows_that_come_later_are_shown() {
        let idle = |pid| process(pid, "idle", Vec::new());
        let mut view = view(false);
        view.settle(&picture((100..130).map(idle).collect()));
        let server = process(7, "server", vec![finding(Work::Vaes512, 50)]);
        let after = picture([server].into_iter().chain((70..130).map(idle)).collect());
        view.settle(&after);
        let screen = |view: &View| drawn(view, Some(&after), 80, 12);
        let is_selected = |buffer: &Buffer| {
            let mut cells = buffer.content.iter();
            cells.any(|cell| cell.modifier.contains(Modifier::REVERSED))
        };
        let table = screen(&view);
        assert!(lines(&table)[6].contains("server"), "{table:?}");
        assert!(!is_selected(&table), "{table:?}");
        press(&mut view, Key::Enter, &after);
        assert_eq!((view.page, view.selected), (Page::Detail, Some(7)));
        press(&mut view, Key::Escape, &after);
        assert!(is_selected(&screen(&view)));
        // From here on, Escape leaves.
        assert_eq!(view.press(Key::Escape, Some(&after)), Wish::Nothing);
        assert!(!is_selected(&screen(&view)));
        assert_eq!(view.press(Key::Escape, Some(&after)), Wish::Quit);
    }

    #[test]
    fn a_process_that_counts_with_others_says_so() {
        let example = example();
        let mut view = view(false);
        view.settle(&example);
        press(&mut view, Key::Enter, &example);
        let text = lines(&drawn(&view, Some(&example), 100, 30)).join("\n");
        let rate =
            "tenrounds encrypts and decrypts 1,500 MB/s, as it counts itself, in 3 processes";
        assert!(text.contains(rate), "{text}");
        for work in [
            "VAES 512, mode GCM: 50 % of the time",
            "AES-NI 128, mode GCM",
        ] {
            assert!(text.contains(work), "{text}");
        }
    }
}
