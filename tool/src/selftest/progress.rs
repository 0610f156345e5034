// SPDX-License-Identifier: BSD-2-Clause
//! A progress bar that appears once the work takes longer than a moment.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

const MOMENT: Duration = Duration::from_millis(500);

/// A bar on standard error, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    since: Instant,
}

impl Progress {
    pub fn new(len: u64) -> Progress {
        let style = ProgressStyle::with_template("  cross-check [{bar:40}] {pos}/{len}");
        let style = style.expect("a valid template").progress_chars("=> ");
        let bar = ProgressBar::hidden().with_style(style);
        bar.set_length(len);
        let since = Instant::now();
        Progress { bar, since }
    }

    pub fn step(&self) {
        if self.bar.is_hidden() && self.since.elapsed() > MOMENT {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        self.bar.inc(1);
    }

    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
