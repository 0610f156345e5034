// SPDX-License-Identifier: BSD-2-Clause
//! Keys, as terminals send them. Readers of crates such as crossterm wait for ever if a sequence is
//! incomplete or the terminal is gone; meanwhile nobody would handle samples or signals.

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Quit,
    Back,
    Enter,
    Pause,
    Up,
    Down,
}

pub struct Input {
    /// The terminal; None if it is standard input.
    terminal: Option<File>,
}

impl Input {
    pub fn open() -> io::Result<Input> {
        let terminal = match io::stdin().is_terminal() {
            true => None,
            false => Some(File::open("/dev/tty")?),
        };
        Ok(Input { terminal })
    }

    /// The keys that come within this time. That the terminal is gone is an error.
    pub fn keys(&mut self, time: Duration) -> io::Result<Vec<Key>> {
        let stdin = io::stdin();
        let terminal: BorrowedFd = match &self.terminal {
            Some(terminal) => terminal.as_fd(),
            None => stdin.as_fd(),
        };
        let mut ready = [PollFd::new(terminal, PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO);
        match poll(&mut ready, timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(Vec::new()),
            other => other?,
        };
        let mut bytes = [0; 256];
        // Not the buffer of Rust's standard input, in which poll(2) sees nothing.
        match nix::unistd::read(terminal, &mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => Ok(parse(&bytes[..count])),
        }
    }
}

/// The keys of bytes that came together, as those of a sequence do. A sequence that comes in two
/// parts begins with Escape, which leads back and ends nothing.
fn parse(bytes: &[u8]) -> Vec<Key> {
    const ESCAPE: u8 = 0x1b;
    const UP: [&[u8]; 2] = [b"\x1b[A", b"\x1bOA"];
    const DOWN: [&[u8]; 2] = [b"\x1b[B", b"\x1bOB"];
    match bytes {
        _ if UP.contains(&bytes) => return vec![Key::Up],
        _ if DOWN.contains(&bytes) => return vec![Key::Down],
        [ESCAPE] => return vec![Key::Back],
        [ESCAPE, ..] => return Vec::new(),
        _ => {}
    }
    let key = |byte: &u8| {
        Some(match byte {
            b'q' | 0x03 => Key::Quit,
            0x7f | 0x08 => Key::Back,
            b'\r' | b'\n' => Key::Enter,
            b' ' => Key::Pause,
            b'k' => Key::Up,
            b'j' => Key::Down,
            _ => return None,
        })
    };
    bytes.iter().filter_map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_terminals() {
        for (bytes, keys) in [
            (&b"q"[..], &[Key::Quit][..]),
            (b"\x03", &[Key::Quit]),
            (b"\x1b", &[Key::Back]),
            (b"\x1b[A", &[Key::Up]),
            (b"\x1bOB", &[Key::Down]),
            // F5, a part of a sequence, Alt and a letter, a letter beyond ASCII.
            (b"\x1b[15~", &[]),
            (b"\x1b[", &[]),
            (b"\x1bq", &[]),
            ("ü".as_bytes(), &[]),
            (b"jj\r", &[Key::Down, Key::Down, Key::Enter]),
        ] {
            assert_eq!(parse(bytes), keys, "{bytes:?}");
        }
    }
}
