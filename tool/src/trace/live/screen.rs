// SPDX-License-Identifier: BSD-2-Clause
//! The terminal: draws the screen, and restores the terminal however the screen ends.

use super::input::{Input, Key};
use super::result::Picture;
use super::view::{View, Wish};
use super::{draw, Watching};
use crate::cli::TraceArgs;
use crate::{fault, trace};
use ::terminal::error::{Error, Result};
use ::terminal::style::clean;
use anstream::{AutoStream, ColorChoice};
use machine::schema::Host;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::{cursor, execute, style, terminal};
use ratatui::{Frame, Terminal};
use std::io::{self, stdout, IsTerminal, Stdout};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether somebody would see what is drawn.
pub fn available() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && !is_dumb
}

/// An error of the terminal.
fn failed(error: io::Error) -> Error {
    Error::failure(format!("the terminal cannot be used: {error}"))
}

/// The processor, in words.
fn machine(host: &Host, processors: usize) -> String {
    let brand = clean(&host.cpu.brand);
    match processors {
        1 => format!("{brand}, 1 processor"),
        many => format!("{brand}, {many} processors"),
    }
}

/// A terminal that is drawn on. It is restored when this is dropped.
struct Screen(Terminal<CrosstermBackend<Stdout>>);

impl Screen {
    fn open() -> io::Result<Screen> {
        restore_on_panic();
        remember_stops();
        let opened = take().and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        if opened.is_err() {
            restore();
        }
        opened.map(Screen)
    }

    /// Clears it, so that the next frame is drawn whole. Terminal::clear() would ask the terminal
    /// for the cursor's position, and another thread reads what the terminal answers.
    fn clear(&mut self) -> io::Result<()> {
        let area = self.0.size()?.into();
        self.0.resize(area)
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

/// Takes the terminal.
fn take() -> io::Result<()> {
    terminal::enable_raw_mode()?;
    execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)
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

/// Errors mean that the terminal is gone.
fn restore() {
    let _ = terminal::disable_raw_mode();
    let _ = execute!(stdout(), terminal::LeaveAlternateScreen, cursor::Show);
}

/// The message of a panic would be lost with the alternate screen.
fn restore_on_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        restore();
        usual(panic);
    }));
}

/// Draws until a key or a signal ends it.
pub fn show(watching: &mut Watching, args: &TraceArgs) -> Result<()> {
    let colour = AutoStream::choice(&stdout()) != ColorChoice::Never;
    // crossterm has an opinion of its own on NO_COLOR, which --color=always overrides.
    style::force_color_output(colour);
    let mut view = View::new(Duration::from_secs_f64(args.screen.interval), colour);
    let title = machine(&watching.host, watching.processors);
    let mut input = Input::open().map_err(failed)?;
    let mut screen = Screen::open().map_err(failed)?;
    let mut shown: Option<Picture> = None;
    let mut updates = 0;
    loop {
        let page = |frame: &mut Frame| draw::page(frame, &view, shown.as_ref(), &title);
        let next = match screen.0.draw(page) {
            Ok(_) => next(watching, &view, &mut screen, &mut input),
            Err(error) => Err(error),
        };
        match next.map_err(failed)? {
            Next::Quit => return Ok(()),
            Next::Key(key) => match view.press(key, shown.as_ref()) {
                Wish::Quit => return Ok(()),
                Wish::Redraw => screen.clear().map_err(failed)?,
                Wish::Nothing => {}
            },
            Next::Resized => {}
            Next::Continued => {
                // crossterm takes a terminal that it has for one in raw mode.
                let _ = terminal::disable_raw_mode();
                take().and_then(|()| screen.clear()).map_err(failed)?;
            }
            Next::Due => {
                let picture = watching.update();
                updates += 1;
                fault::at(fault::Place::Update);
                if args.screen.updates == Some(updates) {
                    return Ok(());
                }
                if !view.is_paused {
                    view.settle(&picture);
                    view.notes = watching.ended().into_iter().collect();
                    view.notes.extend(watching.limits(&picture));
                    shown = Some(picture);
                }
            }
        }
    }
}

enum Next {
    Quit,
    Key(Key),
    /// The terminal has another size, or something else has used it meanwhile.
    Resized,
    /// The terminal has to be taken again.
    Continued,
    /// The interval is over.
    Due,
}

/// Handles samples until there is something to draw.
fn next(
    watching: &mut Watching,
    view: &View,
    screen: &mut Screen,
    input: &mut Input,
) -> io::Result<Next> {
    let drawn = screen.0.get_frame().area().as_size();
    loop {
        watching.samples.take();
        if trace::interrupted() {
            return Ok(Next::Quit);
        }
        if CONTINUED.swap(false, Ordering::Relaxed) {
            return Ok(Next::Continued);
        }
        // Keys come first, because an update may take longer than the interval.
        let is_due = watching.samples.age() >= view.interval;
        let pause = if is_due { Duration::ZERO } else { trace::PAUSE };
        if let Some(key) = input.key(pause)? {
            return Ok(Next::Key(key));
        }
        if is_due {
            return Ok(Next::Due);
        }
        if screen.0.size()? != drawn {
            return Ok(Next::Resized);
        }
    }
}
