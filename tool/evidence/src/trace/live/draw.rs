// SPDX-License-Identifier: BSD-2-Clause
//! The pages of the screen: the table of processes, and the details of one. Names of processes and
//! files were cleaned by `trace`.

use super::input::Key;
use super::picture::{main_finding, Picture, HEADS};
use crate::trace::text::details;
use crate::trace::verdict::{percent, NOT_RECOGNISED};
use crate::trace::Process;
use anstyle::Style;
use classify::hot::Work;
use machine::schema::Host;
use terminal::style::{clean, folded, paint, width, wrapped, BAD, BOLD, DIM, GOOD};

/// Columns and rows.
pub type Size = (usize, usize);

/// The state of the screen.
pub struct View {
    /// The processor, in words.
    machine: String,
    /// Whether there are colours.
    colour: bool,
    pub is_paused: bool,
    /// Lines below the headline.
    pub notes: Vec<String>,
    /// The selected process. Until a key selects one there is none, and the table shows its first
    /// rows: samples of AES code may come after those of other processes.
    selected: Option<u32>,
    /// Its row, where the selection stays if the process has no samples any more.
    row: usize,
    /// Whether the details of the selected process are shown, and their first line.
    has_details: bool,
    scroll: usize,
}

impl View {
    pub fn new(host: &Host, processors: usize, colour: bool) -> View {
        let brand = clean(&host.cpu.brand);
        View {
            machine: format!("{brand}, logical processors: {processors}"),
            colour,
            is_paused: false,
            notes: Vec::new(),
            selected: None,
            row: 0,
            has_details: false,
            scroll: 0,
        }
    }

    pub fn press(&mut self, key: Key, picture: Option<&Picture>) {
        let processes = picture.map_or(&[][..], |picture| &picture.trace.processes);
        match key {
            Key::Pause => self.is_paused = !self.is_paused,
            Key::Up | Key::Down if self.has_details => {
                self.scroll = moved(self.scroll, key);
            }
            Key::Up | Key::Down if self.selected.is_none() => self.select(0, processes),
            Key::Up | Key::Down => {
                self.settle(processes);
                self.select(moved(self.row, key), processes);
            }
            Key::Enter if !self.has_details => {
                if self.selected.is_none() {
                    self.select(0, processes);
                }
                self.scroll = 0;
                self.has_details = self.selected.is_some();
            }
            Key::Enter | Key::Back if self.has_details => self.has_details = false,
            Key::Back => self.selected = None,
            Key::Enter | Key::Quit => {}
        }
    }

    fn select(&mut self, row: usize, processes: &[Process]) {
        self.row = row.min(processes.len().saturating_sub(1));
        self.selected = processes.get(self.row).map(|process| process.pid);
    }

    /// Follows the selected process to its new row. Another process in the same row is selected if
    /// it is gone.
    fn settle(&mut self, processes: &[Process]) {
        if self.selected.is_some() {
            let found = processes
                .iter()
                .position(|it| Some(it.pid) == self.selected);
            self.select(found.unwrap_or(self.row), processes);
        }
    }
}

fn moved(at: usize, key: Key) -> usize {
    match key {
        Key::Up => at.saturating_sub(1),
        _ => at + 1,
    }
}

/// The lines of the screen, each as wide as it.
pub fn page(view: &mut View, picture: Option<&Picture>, (columns, rows): Size) -> Vec<String> {
    let mut lines = head(view, picture, (columns, rows));
    let foot = usize::from(rows > 3);
    let rest = (columns, rows.saturating_sub(lines.len() + foot));
    lines.extend(match picture {
        Some(picture) if view.has_details => about(view, picture, rest),
        Some(picture) => table(view, picture, rest),
        None => Vec::new(),
    });
    lines.resize(rows - foot, fitted("", columns));
    let keys = match view.has_details {
        true => "q quit  Esc back  Up, Down scroll  Space pause",
        false => "q quit  Enter details  Up, Down select  Space pause",
    };
    // Dimmed text is hard to read on some terminals, so only repeated text is dimmed.
    lines.extend((foot > 0).then(|| paint(DIM, fitted(keys, columns))));
    lines
}

/// What draws the lines on a terminal. They cover it, so nothing has to be erased.
pub fn frame(lines: &[String]) -> String {
    let rows = lines.iter().zip(1..);
    rows.map(|(line, row)| format!("\x1b[{row};1H{line}"))
        .collect()
}

/// A text as wide as its columns: cut off at the right edge, or filled with spaces.
fn fitted(text: &str, columns: usize) -> String {
    let mut shown = String::new();
    let mut left = columns;
    for c in text.chars() {
        let wide = width(c.encode_utf8(&mut [0; 4]));
        if wide > left {
            break;
        }
        left -= wide;
        shown.push(c);
    }
    shown + &" ".repeat(left)
}

/// The headline, and on a screen that is high enough the machine and notes.
fn head(view: &View, picture: Option<&Picture>, (columns, rows): Size) -> Vec<String> {
    let headline = picture.map_or("Sampling...".to_owned(), Picture::headline);
    let headline = match view.is_paused {
        true => format!("PAUSED  {headline}"),
        false => headline,
    };
    let mut parts = vec![(&headline, BOLD)];
    let empty = String::new();
    if rows >= 10 {
        parts.push((&view.machine, Style::new()));
        parts.extend(view.notes.iter().map(|note| (note, DIM)));
        parts.push((&empty, Style::new()));
    }
    let mut head = Vec::new();
    for (text, style) in parts {
        let text = wrapped("", text, Some(columns.max(1)));
        let lines = text.lines().map(|line| fitted(line, columns));
        head.extend(lines.map(|line| paint(style, line)));
    }
    // At least half of the screen is for the table.
    head.truncate((rows / 2).max(1).min(rows));
    head
}

/// The processes. The selected one is always among those that are shown.
fn table(view: &mut View, picture: &Picture, (columns, rows): Size) -> Vec<String> {
    let processes = &picture.trace.processes;
    view.settle(processes);
    let selected = view.selected.map(|_| view.row);
    let first = selected.map_or(0, |row| (row + 2).saturating_sub(rows));
    let heads = line(HEADS.map(str::to_uppercase), BOLD, BOLD, columns);
    let mut lines = vec![heads];
    for (row, process) in processes.iter().enumerate().skip(first) {
        let base = match selected == Some(row) {
            true => Style::new().invert(),
            false => Style::new(),
        };
        let class = style(process, view.colour) | base.get_effects();
        lines.push(line(picture.cells(process), base, class, columns));
    }
    lines.truncate(rows);
    lines
}

/// What does not fit is cut off at the right edge.
fn line(cells: [String; 6], base: Style, class_style: Style, columns: usize) -> String {
    let [process, aes, cpu, class, mode, library] = cells;
    let parts = [
        (format!("{process:<24} {aes:>6} {cpu:>6}  "), base),
        (format!("{class:<22}"), class_style),
        (format!(" {mode:<4} {library}"), base),
    ];
    let (mut line, mut left) = (String::new(), columns);
    for (text, style) in parts {
        let wide = width(&text).min(left);
        line += &paint(style, fitted(&text, wide));
        left -= wide;
    }
    line + &paint(base, " ".repeat(left))
}

/// The style of a class. Tables stand out, with and without colours.
fn style(process: &Process, colour: bool) -> Style {
    let is_tables = |work| matches!(work, Work::Tables | Work::GhashTables);
    // Even if other code has more samples.
    if process.findings.iter().any(|it| is_tables(it.work)) {
        return match colour {
            true => BAD,
            false => BOLD.underline(),
        };
    }
    match main_finding(process).map(|finding| finding.work) {
        Some(Work::Vaes512 | Work::Vaes256) if colour => GOOD,
        Some(work) if !work.is_aes() => DIM,
        _ => Style::new(),
    }
}

/// What is known about the selected process, as lines that are scrolled.
fn about(view: &mut View, picture: &Picture, (columns, rows): Size) -> Vec<String> {
    let mut processes = picture.trace.processes.iter();
    let text = match processes.find(|it| Some(it.pid) == view.selected) {
        None => "The process has no more samples. Esc leads back.".to_owned(),
        Some(process) => {
            let mut text = format!(
                "{} ({}): uses {} of the machine, {} of that in AES code; threads: {}\n",
                process.name,
                process.pid,
                percent(picture.of_machine(process.samples)),
                percent(process.aes_share),
                process.threads
            );
            if process.findings.is_empty() {
                text += &format!("No AES code was seen. {NOT_RECOGNISED}");
            }
            for finding in &process.findings {
                text += "\n";
                text += &details(process, finding);
            }
            text
        }
    };
    let text = anstream::adapter::strip_str(&text).to_string();
    let lines = folded(&text, Some(columns));
    let last = lines.lines().count().saturating_sub(rows);
    view.scroll = view.scroll.min(last);
    let lines = lines.lines().skip(view.scroll).take(rows);
    lines.map(|line| fitted(line, columns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::example::{self, finding, process};

    fn picture(processes: Vec<Process>) -> Picture {
        Picture::new(example::trace(processes), 2)
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
        let mut view = View::new(&machine::host::read(None), 2, colour);
        view.notes = vec!["A note that is somewhat longer than a narrow screen.".to_owned()];
        view
    }

    /// The screen of a terminal on which it is drawn.
    fn drawn(view: &mut View, picture: Option<&Picture>, columns: u16, rows: u16) -> vt100::Screen {
        let mut terminal = vt100::Parser::new(rows, columns, 0);
        let lines = page(view, picture, (columns.into(), rows.into()));
        assert_eq!(lines.len(), usize::from(rows));
        terminal.process(frame(&lines).as_bytes());
        terminal.screen().clone()
    }

    fn cells(screen: &vt100::Screen) -> Vec<vt100::Cell> {
        let (rows, columns) = screen.size();
        let places = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        places
            .filter_map(|(row, column)| screen.cell(row, column).cloned())
            .collect()
    }

    fn lines(screen: &vt100::Screen) -> Vec<String> {
        let rows = screen.rows(0, screen.size().1);
        rows.map(|row| row.trim_end().to_owned()).collect()
    }

    #[test]
    fn the_last_line_is_reached_and_left_again() {
        let processes = vec![process(7, "nginx", vec![finding(Work::Vaes512, 60)])];
        let picture = picture(processes);
        let mut view = view(false);
        view.press(Key::Enter, Some(&picture));
        let first = lines(&drawn(&mut view, Some(&picture), 30, 8));
        for _ in 0..30 {
            view.press(Key::Down, Some(&picture));
        }
        let end = lines(&drawn(&mut view, Some(&picture), 30, 8));
        assert!(end.iter().any(|line| line.contains("0x1020")), "{end:#?}");
        view.press(Key::Up, Some(&picture));
        assert_ne!(lines(&drawn(&mut view, Some(&picture), 30, 8)), end);
        for _ in 0..30 {
            view.press(Key::Up, Some(&picture));
        }
        assert_eq!(lines(&drawn(&mut view, Some(&picture), 30, 8)), first);
    }

    #[test]
    fn a_row_has_what_is_known_of_a_process() {
        let example = example();
        let lines = lines(&drawn(&mut view(false), Some(&example), 100, 14));
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = lines.iter().map(|line| words(line)).collect();
        // 80 of 400 possible samples are AES.
        let head = "AES 20 % of the machine, 25 % of the time used; 300 samples, 0 lost, in the last 2.0 s";
        assert_eq!(rows[0], head);
        assert_eq!(rows[4], "PROCESS AES CPU CLASS MODE LIBRARY");
        assert_eq!(
            rows[5],
            "server (7) 70 % 25 % VAES 512 +1 GCM libexample.so.1"
        );
        assert_eq!(
            rows[6],
            "old (8) 10 % 25 % tables (cache-timing!) GCM libexample.so.1"
        );
        assert_eq!(rows[7], "idle (9) 0.00 % 25 % -");
    }

    #[test]
    fn small_screens_keep_the_beginning() {
        let example = example();
        let at = |columns, rows| lines(&drawn(&mut view(false), Some(&example), columns, rows));
        let narrow = at(40, 24).join("\n");
        for part in ["PROCESS", "AES", "server (7)", "70 %"] {
            assert!(narrow.contains(part), "no {part} in\n{narrow}");
        }
        let short = at(80, 5);
        assert!(short[0].contains("AES 20 % of the machine"), "{short:?}");
        assert!(short.join("\n").contains("server"), "{short:?}");
        assert!(short[4].starts_with("q quit"), "{short:?}");
    }

    #[test]
    fn no_size_is_a_panic_and_no_name_draws_outside_of_its_line() {
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
            let name = terminal::style::clean(name);
            process(pid, &name, vec![finding(Work::Tables, 10)])
        });
        let hostile = picture(hostile.collect());
        for key in [Key::Up, Key::Enter] {
            let mut view = view(true);
            view.press(key, Some(&hostile));
            view.press(Key::Down, Some(&hostile));
            for columns in (0..60).chain([200]) {
                for rows in (0..14).chain([60]) {
                    page(&mut view, None, (columns, rows));
                    let lines = page(&mut view, Some(&hostile), (columns, rows));
                    assert_eq!(lines.len(), rows);
                    for line in lines {
                        let line = anstream::adapter::strip_str(&line).to_string();
                        let is_steering =
                            |c: char| c.is_control() || c == '\u{202e}' || c == '\u{200b}';
                        assert!(!line.contains(is_steering), "{line:?}");
                        assert_eq!(width(&line), columns, "{line:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn tables_stand_out() {
        let example = example();
        let cell = |colour| {
            let screen = drawn(&mut view(colour), Some(&example), 100, 14);
            let rows = lines(&screen);
            let row = rows.iter().position(|line| line.contains("tables ("));
            let column = rows[row.unwrap()].find("tables (").unwrap();
            let cells = cells(&screen);
            (cells[row.unwrap() * 100 + column].clone(), cells)
        };
        let (coloured, _) = cell(true);
        assert_eq!(coloured.fgcolor(), vt100::Color::Idx(1));
        let (plain, all) = cell(false);
        assert!(plain.bold() && plain.underline());
        let default = vt100::Color::Default;
        let is_plain = |it: &vt100::Cell| it.fgcolor() == default && it.bgcolor() == default;
        assert!(all.iter().all(is_plain));
    }

    #[test]
    fn the_selection_follows_its_process() {
        let mut view = view(false);
        let before = example();
        view.press(Key::Down, Some(&before));
        assert_eq!((view.row, view.selected), (0, Some(7)));
        view.press(Key::Down, Some(&before));
        assert_eq!((view.row, view.selected), (1, Some(8)));
        let mut after = example();
        after.trace.processes.swap(0, 1);
        drawn(&mut view, Some(&after), 80, 24);
        assert_eq!((view.row, view.selected), (0, Some(8)));
        // The details stay when the process has no samples any more.
        view.press(Key::Enter, Some(&after));
        let text = lines(&drawn(&mut view, Some(&after), 80, 24)).join("\n");
        assert!(
            text.contains("old (8): uses 25 % of the machine, 10 % of that in AES code")
                && text.contains("encrypt: 10 samples"),
            "{text}"
        );
        after.trace.processes.remove(0);
        let text = lines(&drawn(&mut view, Some(&after), 80, 24)).join("\n");
        assert!(text.contains("The process has no more samples"), "{text}");
        view.press(Key::Back, Some(&after));
        drawn(&mut view, Some(&after), 80, 24);
        assert_eq!((view.row, view.selected), (0, Some(7)));
    }

    /// The first samples may be of other processes. Nothing is selected until a key is pressed, so
    /// the table still begins with the AES rows when these come.
    #[test]
    fn rows_that_come_later_are_shown() {
        let idle = |pid| process(pid, "idle", Vec::new());
        let mut view = view(false);
        let first = picture((100..130).map(idle).collect());
        drawn(&mut view, Some(&first), 80, 12);
        let server = process(7, "server", vec![finding(Work::Vaes512, 50)]);
        let after = picture([server].into_iter().chain((70..130).map(idle)).collect());
        let is_selected = |screen: &vt100::Screen| cells(screen).iter().any(vt100::Cell::inverse);
        let table = drawn(&mut view, Some(&after), 80, 12);
        assert!(lines(&table)[6].contains("server"), "{:?}", lines(&table));
        assert!(!is_selected(&table), "{:?}", lines(&table));
        view.press(Key::Enter, Some(&after));
        assert!(view.has_details && view.selected == Some(7));
        view.press(Key::Back, Some(&after));
        assert!(is_selected(&drawn(&mut view, Some(&after), 80, 12)));
        view.press(Key::Back, Some(&after));
        assert!(!is_selected(&drawn(&mut view, Some(&after), 80, 12)));
    }
}
