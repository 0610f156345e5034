// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live`: which AES code runs in which process now, as a table or a JSON document for each
//! interval. On a terminal, each table takes the place of the one before, as with watch(1).

use super::sampling::Sampling;
use super::{named, signals, text, PAUSE};
use crate::trace::args::TraceArgs;
use libcrypto::LibCrypto;
use machine::host;
use machine::schema::Document;
use std::collections::BTreeMap;
use std::time::Duration;
use terminal::error::{Error, Result};
use terminal::output;
use terminal::style::{item, paint, DIM};

/// Writes until a signal comes, what is watched ends, or there were so many updates.
pub fn run(args: &TraceArgs) -> Result<()> {
    let host = host::read(LibCrypto::open().as_ref().ok());
    let target = named::target(args)?;
    let interval = Duration::from_secs_f64(args.interval);
    let mut sampling = Sampling::open(&target, args.rate)?;
    let ends = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];
    signals::catch(&ends).map_err(Error::from_reason)?;
    for update in 1.. {
        let is_over = loop {
            sampling.take();
            let is_over = signals::came() || target.has_ended();
            if is_over || sampling.elapsed() >= interval {
                break is_over;
            }
            std::thread::sleep(PAUSE);
        };
        let trace = sampling.result(None, None);
        match (args.json, rows()) {
            (true, _) => {
                let body = BTreeMap::from([("trace", trace)]);
                output::out(Document::new("trace", host.clone(), Vec::new(), body).to_line())?;
            }
            (false, None) => {
                let gap = if update == 1 { "" } else { "\n" };
                output::out(gap.to_owned() + &text::screen(&trace, update == 1))?;
            }
            // The last interval is cut short, and may have no sample: the table before it stays.
            (false, Some(_)) if is_over && update > 1 => {}
            (false, Some(rows)) => {
                // Without colours, `out` would leave out such sequences, too.
                output::plain_and_out(ERASE, fitting(&text::screen(&trace, true), rows))?;
            }
        }
        if is_over || args.updates == Some(update) {
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
    // The cursor stands in the last row.
    let room = rows.saturating_sub(1).max(1);
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= room {
        return text.to_owned();
    }
    let (shown, hidden) = lines.split_at(room - 1);
    let more = format!("{} more lines do not fit here.", hidden.len());
    let shown = shown.iter().map(|line| format!("{line}\n"));
    shown.collect::<String>() + &item("", paint(DIM, more))
}
