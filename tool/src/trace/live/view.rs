// SPDX-License-Identifier: BSD-2-Clause
//! What the screen shows of a result, and how keys change that.

use super::input::Key;
use super::result::Picture;
use crate::trace::Process;
use std::cell::Cell;
use std::cmp::Reverse;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    Table,
    Detail,
    Help,
}

/// The order of the table. Ties are in the order of AES time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Aes,
    Cpu,
    Pid,
    Name,
}

impl Sort {
    pub fn name(self) -> &'static str {
        match self {
            Sort::Aes => "AES time",
            Sort::Cpu => "CPU",
            Sort::Pid => "PID",
            Sort::Name => "command",
        }
    }

    fn next(self) -> Sort {
        match self {
            Sort::Aes => Sort::Cpu,
            Sort::Cpu => Sort::Pid,
            Sort::Pid => Sort::Name,
            Sort::Name => Sort::Aes,
        }
    }
}

/// What a key asks for beyond a change of the view.
#[derive(Debug, PartialEq, Eq)]
pub enum Wish {
    Nothing,
    Quit,
    /// Draw everything again, because something else has written to the terminal.
    Redraw,
}

/// The state of the screen.
pub struct View {
    pub page: Page,
    pub sort: Sort,
    pub is_paused: bool,
    pub interval: Duration,
    /// The selected process, by its serial number. Until a key selects one there is none, and the
    /// table shows its first rows: samples of AES code may come after those of other processes.
    pub selected: Option<u64>,
    /// Its row, where the selection stays if the process has no samples any more.
    pub row: usize,
    /// The first line of a page of text. Drawing limits it to the lines that there are.
    pub scroll: Cell<usize>,
    pub colour: bool,
    /// What the line below the headline says.
    pub notes: Vec<String>,
}

/// The intervals that + and - choose from, in milliseconds.
const INTERVALS: [u64; 9] = [100, 200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/// The rows of a page up or down.
const PAGE: usize = 10;

impl View {
    pub fn new(interval: Duration, colour: bool) -> View {
        View {
            page: Page::Table,
            sort: Sort::Aes,
            is_paused: false,
            interval,
            selected: None,
            row: 0,
            scroll: Cell::new(0),
            colour,
            notes: Vec::new(),
        }
    }

    /// The processes in the order of the table.
    pub fn rows<'w>(&self, picture: &'w Picture) -> Vec<&'w Process> {
        let mut rows: Vec<&Process> = picture.trace.processes.iter().collect();
        match self.sort {
            Sort::Aes => {}
            Sort::Cpu => rows.sort_by_key(|process| Reverse(process.samples)),
            Sort::Pid => rows.sort_by_key(|process| process.pid),
            Sort::Name => rows.sort_by(|a, b| a.name.cmp(&b.name)),
        }
        rows
    }

    /// Follows the selected process to its new row. On the table, another process in the same row
    /// is selected if it is gone; the page about a process stays.
    pub fn settle(&mut self, picture: &Picture) {
        if self.selected.is_none() {
            return;
        }
        let rows = self.rows(picture);
        let found = rows.iter().position(|it| Some(it.serial) == self.selected);
        match found {
            Some(row) => self.row = row,
            None if self.page == Page::Detail => {}
            None => self.select(self.row, &rows),
        }
    }

    fn select(&mut self, row: usize, rows: &[&Process]) {
        self.row = row.min(rows.len().saturating_sub(1));
        self.selected = rows.get(self.row).map(|process| process.serial);
    }

    pub fn press(&mut self, key: Key, picture: Option<&Picture>) -> Wish {
        match key {
            Key::Char('q') | Key::Control('c') => return Wish::Quit,
            Key::Escape if self.is_unselected() => return Wish::Quit,
            Key::Escape if self.page == Page::Table => (self.row, self.selected) = (0, None),
            Key::Control('l') => return Wish::Redraw,
            Key::Enter if self.page == Page::Table => self.open_details(picture),
            Key::Escape | Key::Backspace | Key::Enter => self.open(Page::Table),
            Key::Char('?' | 'h') if self.page != Page::Help => self.open(Page::Help),
            Key::Char('?' | 'h') => self.open(Page::Table),
            Key::Char('s') => self.sort = self.sort.next(),
            Key::Char(' ') => self.is_paused = !self.is_paused,
            Key::Char('+' | '=') => self.interval = longer(self.interval),
            Key::Char('-') => self.interval = shorter(self.interval),
            key => self.step(key, picture),
        }
        if let Some(picture) = picture {
            self.settle(picture);
        }
        Wish::Nothing
    }

    /// Shows the details of the selected process, or of the first one.
    fn open_details(&mut self, picture: Option<&Picture>) {
        if let (None, Some(picture)) = (self.selected, picture) {
            self.select(0, &self.rows(picture));
        }
        if self.selected.is_some() {
            self.open(Page::Detail);
        }
    }

    fn open(&mut self, page: Page) {
        self.page = page;
        self.scroll.set(0);
    }

    /// Whether the table has no selected row.
    fn is_unselected(&self) -> bool {
        self.page == Page::Table && self.selected.is_none()
    }

    fn step(&mut self, key: Key, picture: Option<&Picture>) {
        let at = match self.page {
            Page::Table => self.row,
            Page::Detail | Page::Help => self.scroll.get(),
        };
        let to = match key {
            Key::Up | Key::Char('k') => at.saturating_sub(1),
            Key::Down | Key::Char('j') if self.is_unselected() => 0,
            Key::Down | Key::Char('j') => at + 1,
            Key::PageUp => at.saturating_sub(PAGE),
            Key::PageDown => at + PAGE,
            Key::Home => 0,
            Key::End => usize::MAX,
            _ => return,
        };
        match (self.page, picture) {
            (Page::Table, Some(picture)) => {
                let rows = self.rows(picture);
                self.select(to, &rows);
            }
            (Page::Table, None) => {}
            (Page::Detail | Page::Help, _) => self.scroll.set(to),
        }
    }
}

fn longer(interval: Duration) -> Duration {
    let mut steps = INTERVALS.into_iter().map(Duration::from_millis);
    steps.find(|step| *step > interval).unwrap_or(interval)
}

fn shorter(interval: Duration) -> Duration {
    let mut steps = INTERVALS.into_iter().rev().map(Duration::from_millis);
    steps.find(|step| *step < interval).unwrap_or(interval)
}
