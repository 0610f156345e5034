// SPDX-License-Identifier: BSD-2-Clause
//! `trace --live` without a screen: a table or a JSON document for each interval.

use super::picture::{Picture, HEADS};
use super::Live;
use crate::trace::args::TraceArgs;
use crate::trace::{signals, PAUSE};
use machine::schema::Document;
use serde::Serialize;
use terminal::error::Result;
use terminal::output;
use terminal::style::{item, paint, BOLD, DIM};
use terminal::table::Table;

#[derive(Serialize)]
struct Body {
    live: Picture,
}

/// Writes until a signal comes, what is watched ends, or there were so many updates.
pub fn write(live: &mut Live, args: &TraceArgs) -> Result<()> {
    for update in 1.. {
        let mut is_last = args.screen.updates == Some(update);
        while !live.take() {
            if signals::came() || live.has_ended() {
                is_last = true;
                break;
            }
            std::thread::sleep(PAUSE);
        }
        let picture = live.picture();
        output::out(match args.json {
            true => {
                let body = Body { live: picture };
                Document::new("trace", live.host.clone(), Vec::new(), body).to_line()
            }
            false => text(live, &picture, update == 1),
        })?;
        if is_last {
            break;
        }
    }
    Ok(())
}

fn text(live: &Live, picture: &Picture, is_first: bool) -> String {
    /// A table has no more rows.
    const MOST: usize = 30;
    let mut out = String::new();
    if !is_first {
        out += "\n";
    }
    out += &item("", paint(BOLD, picture.headline()));
    let mut table = Table::new(&HEADS);
    let processes = &picture.trace.processes;
    for process in processes.iter().take(MOST) {
        table.row(picture.cells(process).into());
    }
    out += &table.to_string();
    let mut notes = Vec::new();
    if processes.len() > MOST {
        let hidden = processes.len() - MOST;
        notes.push(format!("{hidden} more processes are not shown."));
    }
    if is_first {
        notes.extend(live.limits(picture));
    }
    for note in notes {
        out += &item("", paint(DIM, note));
    }
    out
}
