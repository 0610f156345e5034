// SPDX-License-Identifier: BSD-2-Clause
//! The terminal: draws the screen, and restores the terminal however the screen ends.

use super::draw::{self, View};
use super::input::{Input, Key};
use super::picture::Picture;
use super::Live;
use crate::cli::TraceArgs;
use crate::fault;
use crate::trace::{signals, PAUSE};
use ::terminal::error::{Error, Result};
use anstream::{AutoStream, ColorChoice};
use ratatui::crossterm::{cursor, execute, style, terminal};
use ratatui::DefaultTerminal;
use std::io::{self, stdout, IsTerminal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether somebody would see what is drawn.
pub fn available() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && !is_dumb
}

/// Restores the terminal when it is dropped. In a panic, ratatui's hook does so before the message.
struct Restore;

impl Drop for Restore {
    fn drop(&mut self) {
        ratatui::restore();
    }
}

/// Draws until a key or a signal ends it.
pub fn show(live: &mut Live, args: &TraceArgs) -> Result<()> {
    let colour = AutoStream::choice(&stdout()) != ColorChoice::Never;
    // crossterm has an opinion of its own on NO_COLOR, which --color=always overrides.
    style::force_color_output(colour);
    let _restore = Restore;
    let shown = Input::open().and_then(|input| {
        remember_stops();
        let view = View::new(&live.host, live.processors, colour);
        follow(live, args, view, input, ratatui::try_init()?)
    });
    shown.map_err(|error| Error::failure(format!("the terminal cannot be used: {error}")))
}

fn follow(
    live: &mut Live,
    args: &TraceArgs,
    mut view: View,
    mut input: Input,
    mut screen: DefaultTerminal,
) -> io::Result<()> {
    let mut shown: Option<Picture> = None;
    let mut updates = 0;
    while !signals::came() {
        screen.draw(|frame| draw::page(frame, &mut view, shown.as_ref()))?;
        let drawn = screen.get_frame().area().as_size();
        let keys = loop {
            // Keys come first, because an update may take longer than the interval.
            let is_due = live.take();
            let keys = input.keys(if is_due { Duration::ZERO } else { PAUSE })?;
            if CONTINUED.swap(false, Ordering::Relaxed) {
                take_again(&mut screen)?;
                break keys;
            }
            let is_resized = screen.size()? != drawn;
            if is_due || is_resized || !keys.is_empty() || signals::came() {
                break keys;
            }
        };
        for key in keys {
            match key {
                Key::Quit => return Ok(()),
                Key::Redraw => clear(&mut screen)?,
                key => view.press(key, shown.as_ref()),
            }
        }
        if live.take() {
            let picture = live.picture();
            updates += 1;
            fault::at(fault::Place::Update);
            if args.screen.updates == Some(updates) {
                return Ok(());
            }
            if !view.is_paused {
                view.notes = live.limits(&picture);
                if live.has_ended() {
                    let ended = "What was watched has ended.";
                    view.notes.insert(0, ended.to_owned());
                }
                shown = Some(picture);
            }
        }
    }
    Ok(())
}

/// Whether this process was stopped, and goes on. Meanwhile the terminal was another's.
static CONTINUED: AtomicBool = AtomicBool::new(false);

fn remember_stops() {
    extern "C" fn remember(_: libc::c_int) {
        CONTINUED.store(true, Ordering::Relaxed);
    }
    // SAFETY: the handler only stores to an atomic.
    unsafe { libc::signal(libc::SIGCONT, remember as *const () as libc::sighandler_t) };
}

fn take_again(screen: &mut DefaultTerminal) -> io::Result<()> {
    // crossterm takes a terminal that it has for one in raw mode.
    let _ = terminal::disable_raw_mode();
    terminal::enable_raw_mode()?;
    execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)?;
    clear(screen)
}

/// Clears it, so that the next frame is drawn whole. Terminal::clear() would ask the terminal for
/// the cursor's position, and `Input` would read the answer.
fn clear(screen: &mut DefaultTerminal) -> io::Result<()> {
    let area = screen.size()?.into();
    screen.resize(area)
}
