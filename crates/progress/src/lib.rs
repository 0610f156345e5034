// SPDX-License-Identifier: BSD-2-Clause
//! Progress bars on standard error, if that is a terminal.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use terminal::{columns_of, terminal_columns};

const MOMENT: Duration = Duration::from_millis(500);

/// A narrower terminal shows the count without the bar.
const WIDE: usize = 60;

/// Counts steps, once the work takes longer than a moment.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
    /// Asked once: there may be 100,000 steps a second.
    is_terminal: bool,
}

impl Progress {
    /// `what` is counted: "files".
    pub fn new(steps: usize, what: &str) -> Progress {
        let template = match terminal_columns(std::io::stderr()) {
            Some(0..=WIDE) => format!("{{pos}}/{{len}} {what}"),
            _ => format!("{{bar:30}} {{pos}}/{{len}} {what}"),
        };
        let bar = ProgressBar::hidden().with_style(style(&template));
        bar.set_length(steps as u64);
        Progress {
            bar,
            since: Instant::now(),
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    /// There are so many steps more.
    pub fn more(&self, steps: usize) {
        self.bar.inc_length(steps as u64);
    }

    pub fn step(&self) {
        if !self.is_terminal {
            return;
        }
        if self.bar.is_hidden() && self.since.elapsed() > MOMENT {
            self.bar.set_draw_target(target());
        }
        self.bar.inc(1);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A bar with the time that the work takes, from the start on.
pub fn timed(steps: usize, expected: Duration) -> ProgressBar {
    let template = match terminal_columns(std::io::stderr()) {
        Some(0..=79) => "{pos}/{len} {wide_msg}".to_owned(),
        _ => format!(
            "{{bar:30}} {{pos}}/{{len}} {{elapsed}} of about {:.0}s  {{wide_msg}}",
            expected.as_secs_f64().ceil()
        ),
    };
    ProgressBar::with_draw_target(Some(steps as u64), target()).with_style(style(&template))
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("a valid template")
}

/// indicatif fills the whole line, which is 80 columns if the terminal does not tell its size. So
/// there is no bar if COLUMNS says that the line is shorter.
fn target() -> ProgressDrawTarget {
    let told = terminal_columns(std::io::stderr());
    match (told, columns_of(std::io::stderr())) {
        (None, Some(0..=79)) => ProgressDrawTarget::hidden(),
        _ => ProgressDrawTarget::stderr(),
    }
}
