// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live` without a screen: a table or a JSON document for each interval.

use super::result::{class, library, megabytes, mode, Picture};
use super::{draw, Watching};
use crate::cli::TraceArgs;
use crate::trace;
use crate::trace::verdict::percent;
use machine::schema::Document;
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

/// A table has no more rows.
const MOST: usize = 30;

/// Writes until a signal comes, what is watched ends, or there were so many updates.
pub fn write(watching: &mut Watching, args: &TraceArgs) -> Result<()> {
    let interval = Duration::from_secs_f64(args.screen.interval);
    let mut updates = 0;
    loop {
        let is_over = wait(watching, interval);
        let picture = watching.update();
        let text = match args.json {
            true => {
                let host = watching.host.clone();
                Document::new("trace", host, Vec::new(), Body { live: picture }).to_line()
            }
            false => text(watching, &picture, updates == 0),
        };
        output::out(text)?;
        updates += 1;
        if is_over || args.screen.updates == Some(updates) {
            return Ok(());
        }
    }
}

/// Handles the events of an interval. Returns whether it is the last one.
fn wait(watching: &mut Watching, interval: Duration) -> bool {
    loop {
        let is_over = trace::interrupted() || watching.ended().is_some();
        watching.samples.take();
        if is_over || watching.samples.age() >= interval {
            return is_over;
        }
        std::thread::sleep(trace::PAUSE);
    }
}

fn text(watching: &Watching, picture: &Picture, is_first: bool) -> String {
    let mut out = match is_first {
        true => String::new(),
        false => "\n".to_owned(),
    };
    out += &item("", paint(BOLD, draw::headline(picture)));
    let mut table = Table::new(&[
        ">PID", "Command", ">AES", ">CPU", ">MB/s", "Class", "Mode", "Library",
    ]);
    for process in picture.trace.processes.iter().take(MOST) {
        let rate = picture.rate(process);
        table.row(vec![
            process.pid.to_string(),
            process.name.clone(),
            percent(process.aes_share),
            percent(picture.of_machine(process.samples)),
            rate.map_or(String::new(), |rate| megabytes(rate.bytes_per_second)),
            class(process),
            mode(process),
            library(process),
        ]);
    }
    out += &table.to_string();
    let hidden = picture.trace.processes.len().saturating_sub(MOST);
    if hidden > 0 {
        out += &item(
            "",
            paint(DIM, format!("{hidden} more processes are not shown.")),
        );
    }
    if is_first {
        for limit in watching.limits(picture) {
            out += &item("", paint(DIM, limit));
        }
    }
    out
}
