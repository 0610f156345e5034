// SPDX-License-Identifier: BSD-2-Clause
//! A program on a terminal of its own: what it draws is read back from a terminal in memory.

use crate::support::{within, Finish, Guarded, PATIENCE};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct PseudoTerminal {
    master: File,
    /// Keeps the terminal when the program has ended.
    _slave: OwnedFd,
    pub child: Guarded,
    screen: vt100::Parser,
    /// All that the program wrote.
    pub written: Vec<u8>,
}

fn size(rows: u16, columns: u16) -> libc::winsize {
    libc::winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

impl PseudoTerminal {
    pub fn start(command: &mut Command, rows: u16, columns: u16) -> PseudoTerminal {
        let (mut master, mut slave) = (0, 0);
        let null = std::ptr::null_mut();
        // SAFETY: the pointers are valid or null where that is allowed.
        let opened = unsafe {
            let size = size(rows, columns);
            libc::openpty(&mut master, &mut slave, null, std::ptr::null(), &size)
        };
        assert_eq!(opened, 0, "{}", std::io::Error::last_os_error());
        // SAFETY: both descriptors are new, and nobody else has them.
        let (master, slave) = unsafe { (File::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
        // Children of other tests must not keep the terminal.
        for descriptor in [master.as_raw_fd(), slave.as_raw_fd()] {
            // SAFETY: a plain system call on an open descriptor.
            unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
        }
        let stdio = || Stdio::from(slave.try_clone().unwrap());
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        command.env("TERM", "xterm-256color");
        // SAFETY: both calls are async-signal-safe.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.started();
        PseudoTerminal {
            master,
            _slave: slave,
            child,
            screen: vt100::Parser::new(rows, columns, 0),
            written: Vec::new(),
        }
    }

    /// Reads what the program writes within this time.
    fn read(&mut self, time: Duration) -> bool {
        let mut ready = libc::pollfd {
            fd: self.master.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let milliseconds = i32::try_from(time.as_millis()).unwrap();
        // SAFETY: the pointer is valid for one element.
        if unsafe { libc::poll(&mut ready, 1, milliseconds) } <= 0 {
            return false;
        }
        let mut bytes = [0; 4096];
        let count = self.master.read(&mut bytes).unwrap();
        self.screen.process(&bytes[..count]);
        self.written.extend_from_slice(&bytes[..count]);
        true
    }

    /// Waits until the program writes something that it has not written yet.
    pub fn writes(&mut self) {
        let begun = Instant::now();
        while !self.read(Duration::from_millis(50)) {
            assert!(begun.elapsed() < within(PATIENCE), "{}", self.text());
        }
    }

    /// Reads what was written so far.
    pub fn drain(&mut self) {
        while self.read(Duration::ZERO) {}
    }

    /// Waits until the screen is as wanted, and returns its text.
    pub fn wait(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) -> String {
        let begun = Instant::now();
        self.drain();
        while !wanted(self.screen.screen()) {
            assert!(
                begun.elapsed() < within(PATIENCE),
                "no {what} on the screen:\n{}",
                self.text()
            );
            self.read(Duration::from_millis(50));
        }
        self.text()
    }

    /// Waits until the screen contains all of these.
    pub fn shows(&mut self, parts: &[&str]) -> String {
        self.wait(&format!("{parts:?}"), |screen| {
            let text = text_of(screen);
            parts.iter().all(|part| text.contains(part))
        })
    }

    pub fn text(&self) -> String {
        text_of(self.screen.screen())
    }

    /// The line that contains these.
    pub fn line(&self, part: &str) -> Option<String> {
        let text = self.text();
        let mut lines = text.lines();
        lines.find(|line| line.contains(part)).map(str::to_owned)
    }

    pub fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub fn resize(&mut self, rows: u16, columns: u16) {
        // What was written for the old size is not for the new one.
        self.drain();
        self.screen.screen_mut().set_size(rows, columns);
        // Only a redraw fills it again.
        self.screen.process(b"\x1b[2J");
        // SAFETY: the pointer is valid.
        let set = unsafe {
            libc::ioctl(
                self.master.as_raw_fd(),
                libc::TIOCSWINSZ,
                &size(rows, columns),
            )
        };
        assert_eq!(set, 0);
    }

    /// Waits for the end, and reads all that was written.
    pub fn ends(&mut self) -> ExitStatus {
        let begun = Instant::now();
        let status = loop {
            self.read(Duration::from_millis(20));
            if let Some(status) = self.child.0.try_wait().unwrap() {
                break status;
            }
            assert!(
                begun.elapsed() < within(PATIENCE),
                "it goes on:\n{}",
                self.text()
            );
        };
        self.drain();
        status
    }

    /// Closes the terminal, and returns the program.
    pub fn hang_up(self) -> Guarded {
        self.child
    }
}

/// The rows of a screen, without the spaces at their ends. (vt100's own text joins rows that were
/// wrapped once, also after they were written anew.)
pub fn text_of(screen: &vt100::Screen) -> String {
    let rows = screen.rows(0, screen.size().1);
    rows.map(|row| row.trim_end().to_owned() + "\n").collect()
}
