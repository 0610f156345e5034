// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live`: which AES code runs in which process now, as a table or a JSON document for each
//! interval. On a terminal, each table takes the place of the one before, as with watch(1).

mod picture;

use super::named::Named;
use super::sampling::{Files, Sampling};
use super::{pids_of, sampler, signals, target_of, PAUSE};
use crate::trace::args::TraceArgs;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::{Document, Host};
use picture::{Picture, HEADS};
use serde::Serialize;
use std::time::Duration;
use terminal::error::Result;
use terminal::output;
use terminal::style::{item, paint, BOLD, DIM};
use terminal::table::Table;

#[derive(Serialize)]
struct Body {
    live: Picture,
}

/// Writes until a signal comes, what is watched ends, or there were so many updates.
pub fn run(args: &TraceArgs) -> Result<()> {
    let mut live = Live::begin(args)?;
    signals::catch(&[libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT]);
    for update in 1.. {
        let is_last = live.wait() || args.screen.updates == Some(update);
        let picture = live.picture();
        match (args.json, rows()) {
            (true, _) => {
                let body = Body { live: picture };
                let host = live.host.clone();
                output::out(Document::new("trace", host, Vec::new(), body).to_line())?;
            }
            (false, None) => {
                let gap = if update == 1 { "" } else { "\n" };
                output::out(gap.to_owned() + &live.text(&picture, update == 1))?;
            }
            (false, Some(rows)) => {
                // Without colours, `out` would leave out such sequences, too.
                output::plain_and_out(ERASE, fitting(&live.text(&picture, true), rows))?;
            }
        }
        if is_last {
            break;
        }
    }
    Ok(())
}

/// Moves the cursor to the top, and erases all below.
const ERASE: &[u8] = b"\x1b[H\x1b[J";

/// The height of the terminal; None if standard output is none, or one that cannot be erased.
fn rows() -> Option<usize> {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    terminal::size().filter(|_| !is_dumb).map(|(_, rows)| rows)
}

/// As many lines as fit into so many rows; the last one says how many do not.
fn fitting(text: &str, rows: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    // The cursor stands in the last row.
    let room = rows.saturating_sub(1).max(1);
    if lines.len() <= room {
        return text.to_owned();
    }
    let shown = &lines[..room - 1];
    let hidden = lines.len() - shown.len();
    let more = item(
        "",
        paint(DIM, format!("{hidden} more lines do not fit here.")),
    );
    shown
        .iter()
        .map(|line| format!("{line}\n"))
        .collect::<String>()
        + &more
}

struct Live {
    sampling: Sampling,
    files: Files,
    host: Host,
    interval: Duration,
    processors: usize,
    named: Option<Named>,
}

impl Live {
    fn begin(args: &TraceArgs) -> Result<Live> {
        let host = host::read(LibCrypto::open().as_ref().ok());
        let named = Named::or_all(&args.sampled)?;
        Ok(Live {
            sampling: Sampling::open(&target_of(&named), pids_of(&named), args.sampled.rate)?,
            files: Files::default(),
            host,
            interval: Duration::from_secs_f64(args.screen.interval),
            processors: sampler::processors().len(),
            named,
        })
    }

    /// Takes samples until the interval is over. Returns whether it is the last one.
    fn wait(&mut self) -> bool {
        loop {
            self.sampling.take();
            if self.sampling.elapsed() >= self.interval {
                return false;
            }
            if signals::came() || self.named.as_ref().is_some_and(Named::have_ended) {
                return true;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// Ends the interval.
    fn picture(&mut self) -> Picture {
        let trace = self.sampling.result(&mut self.files, None, None);
        if self.sampling.forget_if_full() {
            self.files = Files::default();
        }
        Picture::new(trace, self.processors)
    }

    fn text(&self, picture: &Picture, with_limits: bool) -> String {
        /// A table has no more rows.
        const MOST: usize = 30;
        let mut out = item("", paint(BOLD, picture.headline()));
        let processes = &picture.trace.processes;
        let mut notes = Vec::new();
        if with_limits {
            notes = self.limits(picture);
        }
        if processes.len() > MOST {
            let hidden = processes.len() - MOST;
            notes.push(format!("{hidden} more processes are not shown."));
        }
        out.extend(notes.iter().map(|note| item("", paint(DIM, note))));
        let mut table = Table::new(&HEADS);
        for process in processes.iter().take(MOST) {
            table.row(picture.cells(process).into());
        }
        out + &table.to_string()
    }

    /// Lists hidden processes and code, and the capability that would show them.
    fn limits(&self, picture: &Picture) -> Vec<String> {
        let mut limits = self.sampling.refused.clone();
        if picture.trace.kernel_samples.is_none() {
            let text = "Code in the kernel is not sampled: this needs root, or CAP_PERFMON.";
            limits.push(text.to_owned());
        }
        let unknown = self.sampling.state.kernel_refusal();
        limits.extend(unknown.map(|why| format!("The kernel's code is not classified: {why}.")));
        limits
    }
}
