// SPDX-License-Identifier: BSD-2-Clause
//! The pages of the screen: the table of processes, and the details of one. Names of processes and
//! files were cleaned by `trace`.

use super::input::Key;
use super::picture::{main_finding, Picture, HEADS};
use crate::trace::text::details;
use crate::trace::verdict::{percent, NOT_RECOGNISED};
use crate::trace::Process;
use classify::hot::Work;
use machine::schema::Host;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{List, ListState, Paragraph};
use ratatui::Frame;
use terminal::style::{clean, wrapped};

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
            Key::Enter | Key::Quit | Key::Redraw => {}
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

pub fn page(frame: &mut Frame, view: &mut View, picture: Option<&Picture>) {
    let area = frame.area();
    let head = head(view, picture, area);
    let foot = u16::from(area.height > 3);
    let parts = [
        Constraint::Length(u16::try_from(head.len()).unwrap_or(u16::MAX)),
        Constraint::Min(0),
        Constraint::Length(foot),
    ];
    let [top, middle, bottom] = Layout::vertical(parts).areas(area);
    frame.render_widget(Paragraph::new(head), top);
    match picture {
        Some(picture) if view.has_details => about(frame, middle, view, picture),
        Some(picture) => table(frame, middle, view, picture),
        None => {}
    }
    let keys = match view.has_details {
        true => "q quit  Esc back  Up, Down scroll  Space pause",
        false => "q quit  Enter details  Up, Down select  Space pause",
    };
    frame.render_widget(Paragraph::new(keys).style(dim()), bottom);
}

/// The headline, and on a screen that is high enough the machine and notes.
fn head(view: &View, picture: Option<&Picture>, area: Rect) -> Vec<Line<'static>> {
    let headline = picture.map_or("Sampling...".to_owned(), Picture::headline);
    let headline = match view.is_paused {
        true => format!("PAUSED  {headline}"),
        false => headline,
    };
    let mut head = folded(&headline, area, Modifier::BOLD.into());
    if area.height >= 10 {
        head.extend(folded(&view.machine, area, Style::new()));
        for note in &view.notes {
            head.extend(folded(note, area, dim()));
        }
        head.push(Line::default());
    }
    // At least half of the screen is for the table.
    head.truncate(usize::from(area.height / 2).max(1));
    head
}

fn folded(text: &str, area: Rect, style: Style) -> Vec<Line<'static>> {
    let folded = wrapped("", text, Some(usize::from(area.width).max(1)));
    let line = |line: &str| Line::styled(line.to_owned(), style);
    folded.lines().map(line).collect()
}

/// Dimmed text is hard to read on some terminals, so only repeated text is dimmed.
fn dim() -> Style {
    Modifier::DIM.into()
}

/// What does not fit is cut off at the right edge.
fn table(frame: &mut Frame, area: Rect, view: &mut View, picture: &Picture) {
    let processes = &picture.trace.processes;
    view.settle(processes);
    let [top, rest] = Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
    let head = HEADS.map(str::to_uppercase);
    frame.render_widget(line(head, Style::new()).style(Modifier::BOLD), top);
    let rows = processes
        .iter()
        .map(|process| line(picture.cells(process), style(process, view.colour)));
    let list = List::new(rows).highlight_style(Modifier::REVERSED);
    let mut state = ListState::default().with_selected(view.selected.map(|_| view.row));
    frame.render_stateful_widget(list, rest, &mut state);
}

fn line([process, aes, cpu, class, mode, library]: [String; 6], style: Style) -> Line<'static> {
    Line::from(vec![
        Span::raw(format!("{process:<24} {aes:>6} {cpu:>6}  ")),
        Span::styled(format!("{class:<22}"), style),
        Span::raw(format!(" {mode:<4} {library}")),
    ])
}

/// The style of a class. Tables stand out, with and without colours.
fn style(process: &Process, colour: bool) -> Style {
    let is_tables = |work| matches!(work, Work::Tables | Work::GhashTables);
    // Even if other code has more samples.
    if process.findings.iter().any(|it| is_tables(it.work)) {
        return match colour {
            true => Style::new().fg(Color::Red).add_modifier(Modifier::BOLD),
            false => (Modifier::BOLD | Modifier::UNDERLINED).into(),
        };
    }
    match main_finding(process).map(|finding| finding.work) {
        Some(Work::Vaes512 | Work::Vaes256) if colour => Style::new().fg(Color::Green),
        Some(work) if !work.is_aes() => dim(),
        _ => Style::new(),
    }
}

/// What is known about the selected process, as lines that are scrolled.
fn about(frame: &mut Frame, area: Rect, view: &mut View, picture: &Picture) {
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
    let lines = terminal::style::folded(&text, Some(usize::from(area.width)));
    let last = lines.lines().count().saturating_sub(area.height.into());
    view.scroll = view.scroll.min(last);
    let lines: Vec<Line> = lines.lines().skip(view.scroll).map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::tests::example::{self, finding, process};
    use ratatui::backend::TestBackend;
    use ratatui::buffer::Buffer;
    use ratatui::Terminal;

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

    fn drawn(view: &mut View, picture: Option<&Picture>, columns: u16, rows: u16) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        terminal.draw(|frame| page(frame, view, picture)).unwrap();
        terminal.backend().buffer().clone()
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
                    drawn(&mut view, None, columns, rows);
                    let buffer = drawn(&mut view, Some(&hostile), columns, rows);
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
            let buffer = drawn(&mut view(colour), Some(&example), 100, 14);
            let rows = lines(&buffer);
            let row = rows.iter().position(|line| line.contains("tables ("));
            let column = rows[row.unwrap()].find("tables (").unwrap();
            (buffer.content[row.unwrap() * 100 + column].clone(), buffer)
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
        let is_selected = |buffer: &Buffer| {
            let mut cells = buffer.content.iter();
            cells.any(|cell| cell.modifier.contains(Modifier::REVERSED))
        };
        let table = drawn(&mut view, Some(&after), 80, 12);
        assert!(lines(&table)[6].contains("server"), "{table:?}");
        assert!(!is_selected(&table), "{table:?}");
        view.press(Key::Enter, Some(&after));
        assert!(view.has_details && view.selected == Some(7));
        view.press(Key::Back, Some(&after));
        assert!(is_selected(&drawn(&mut view, Some(&after), 80, 12)));
        view.press(Key::Back, Some(&after));
        assert!(!is_selected(&drawn(&mut view, Some(&after), 80, 12)));
    }
}
