// SPDX-License-Identifier: BSD-2-Clause
//! The terminal: draws the screen, and restores the terminal however the screen ends.

use super::draw::{self, View};
use super::input::{Input, Key};
use super::picture::Picture;
use super::Live;
use crate::trace::args::TraceArgs;
use crate::trace::{signals, PAUSE};
use anstream::{AutoStream, ColorChoice};
use base::fault;
use nix::sys::termios::{cfmakeraw, tcgetattr, tcsetattr, SetArg, Termios};
use std::io::{self, stdout, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use std::time::Duration;
use terminal::error::{Error, Result};

/// Whether somebody would see what is drawn.
pub fn available() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && !is_dumb
}

/// The terminal's modes as they were found.
static USUAL: OnceLock<libc::termios> = OnceLock::new();

/// A terminal that is drawn on. It is restored when this is dropped.
struct Screen;

impl Screen {
    fn open() -> io::Result<Screen> {
        // The message of a panic would be lost with the alternate screen.
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            usual(panic);
        }));
        let screen = Screen;
        take().map(|()| screen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // In a panic, the hook has restored it before the message.
        if !std::thread::panicking() {
            restore();
        }
    }
}

/// Takes the terminal: raw mode, the alternate screen, no cursor.
fn take() -> io::Result<()> {
    let mut modes = tcgetattr(stdout())?;
    USUAL.get_or_init(|| modes.clone().into());
    cfmakeraw(&mut modes);
    tcsetattr(stdout(), SetArg::TCSANOW, &modes)?;
    write("\x1b[?1049h\x1b[?25l\x1b[2J")
}

/// Errors mean that the terminal is gone.
fn restore() {
    if let Some(usual) = USUAL.get() {
        let _ = tcsetattr(stdout(), SetArg::TCSANOW, &Termios::from(*usual));
        let _ = write("\x1b[?1049l\x1b[?25h");
    }
}

fn write(text: &str) -> io::Result<()> {
    let mut out = stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// A terminal that does not tell its size is taken for one of the usual size.
fn size() -> draw::Size {
    terminal::size().unwrap_or((80, 24))
}

/// Draws until a key or a signal ends it.
pub fn show(live: &mut Live, args: &TraceArgs) -> Result<()> {
    let colour = AutoStream::choice(&stdout()) != ColorChoice::Never;
    let shown = Input::open().and_then(|input| {
        remember_stops();
        let view = View::new(&live.host, live.processors, colour);
        let _screen = Screen::open()?;
        follow(live, args, view, input)
    });
    shown.map_err(|error| Error::failure(format!("the terminal cannot be used: {error}")))
}

fn follow(live: &mut Live, args: &TraceArgs, mut view: View, mut input: Input) -> io::Result<()> {
    let mut shown: Option<Picture> = None;
    let mut updates = 0;
    while !signals::came() {
        let drawn = size();
        let page = draw::page(&mut view, shown.as_ref(), drawn);
        write(&draw::frame(&page))?;
        let keys = loop {
            // Keys come first, because an update may take longer than the interval.
            let is_due = live.take();
            let keys = input.keys(if is_due { Duration::ZERO } else { PAUSE })?;
            if CONTINUED.swap(false, Ordering::Relaxed) {
                take()?;
                break keys;
            }
            let is_resized = size() != drawn;
            if is_due || is_resized || !keys.is_empty() || signals::came() {
                break keys;
            }
        };
        for key in keys {
            match key {
                Key::Quit => return Ok(()),
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
