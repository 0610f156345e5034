// SPDX-License-Identifier: BSD-2-Clause
//! Keys, as terminals send them. crossterm's reader waits for ever if a sequence is incomplete or
//! the terminal is gone; meanwhile nobody would handle samples or signals.

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Char(char),
    /// A letter with Ctrl.
    Control(char),
    Enter,
    Escape,
    Backspace,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// The bytes of a sequence come together, or so soon one after another.
const PATIENCE: Duration = Duration::from_millis(25);

pub struct Input {
    /// The terminal; None if it is standard input.
    terminal: Option<File>,
    /// What was read and is not yet a key.
    bytes: Vec<u8>,
}

impl Input {
    pub fn open() -> io::Result<Input> {
        let terminal = match io::stdin().is_terminal() {
            true => None,
            false => Some(File::open("/dev/tty")?),
        };
        Ok(Input {
            terminal,
            bytes: Vec::new(),
        })
    }

    /// The next key, if one comes within this time. That the terminal is gone is an error.
    pub fn key(&mut self, time: Duration) -> io::Result<Option<Key>> {
        if self.bytes.is_empty() {
            self.read(time)?;
        }
        if is_begun(&self.bytes) {
            self.read(PATIENCE)?;
        }
        while !self.bytes.is_empty() {
            let (key, length) = parse(&self.bytes);
            self.bytes.drain(..length);
            if key.is_some() {
                return Ok(key);
            }
        }
        Ok(None)
    }

    fn read(&mut self, time: Duration) -> io::Result<()> {
        let stdin = io::stdin();
        let terminal: BorrowedFd = match &self.terminal {
            Some(terminal) => terminal.as_fd(),
            None => stdin.as_fd(),
        };
        let mut ready = [PollFd::new(terminal, PollFlags::POLLIN)];
        let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::ZERO);
        match poll(&mut ready, timeout) {
            Ok(0) | Err(nix::errno::Errno::EINTR) => return Ok(()),
            other => other?,
        };
        let mut bytes = [0; 256];
        let count = match &self.terminal {
            Some(terminal) => (&*terminal).read(&mut bytes)?,
            // Not the buffer of Rust's standard input, in which poll(2) sees nothing.
            None => nix::unistd::read(&stdin, &mut bytes)?,
        };
        match count {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {
                self.bytes.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }
}

const ESCAPE: u8 = 0x1b;

/// Whether these bytes may be the beginning of a longer sequence.
fn is_begun(bytes: &[u8]) -> bool {
    match bytes {
        [ESCAPE] => true,
        [ESCAPE, b'[' | b'O', rest @ ..] => !rest.iter().any(|byte| is_final(*byte)),
        _ => false,
    }
}

/// Whether a byte ends a sequence (ECMA-48, 5.4).
fn is_final(byte: u8) -> bool {
    (0x40..=0x7e).contains(&byte)
}

/// The first key, if it is one that is used, and the number of its bytes.
fn parse(bytes: &[u8]) -> (Option<Key>, usize) {
    match bytes {
        [ESCAPE, b'[' | b'O', rest @ ..] => {
            let end = rest.iter().position(|byte| is_final(*byte));
            let end = end.unwrap_or(rest.len());
            let length = (2 + end + 1).min(bytes.len());
            (sequence(&rest[..(end + 1).min(rest.len())]), length)
        }
        // With Alt.
        [ESCAPE, other, ..] if *other != ESCAPE => (None, 2),
        [ESCAPE, ..] => (Some(Key::Escape), 1),
        [b'\r' | b'\n', ..] => (Some(Key::Enter), 1),
        [0x7f | 0x08, ..] => (Some(Key::Backspace), 1),
        [control @ 1..=26, ..] => (Some(Key::Control(char::from(control + b'a' - 1))), 1),
        [byte @ 0x20..=0x7e, ..] => (Some(Key::Char(char::from(*byte))), 1),
        _ => (None, 1),
    }
}

/// What follows ESC [ or ESC O.
fn sequence(rest: &[u8]) -> Option<Key> {
    Some(match rest {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"H" | b"1~" | b"7~" => Key::Home,
        b"F" | b"4~" | b"8~" => Key::End,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        b"M" => Key::Enter,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(mut bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        while !bytes.is_empty() {
            let (key, length) = parse(bytes);
            assert!(length > 0 && length <= bytes.len());
            keys.extend(key);
            bytes = &bytes[length..];
        }
        keys
    }

    #[test]
    fn sequences_of_terminals() {
        use Key::{Backspace, Char, Control, Down, End, Enter, Escape, Home, PageDown, PageUp, Up};
        assert_eq!(
            keys(b"qk\r\x7f\x03"),
            [Char('q'), Char('k'), Enter, Backspace, Control('c')]
        );
        assert_eq!(
            keys(b"\x1b[A\x1bOB\x1b[5~\x1b[6~"),
            [Up, Down, PageUp, PageDown]
        );
        assert_eq!(keys(b"\x1b[H\x1b[4~\x1b"), [Home, End, Escape]);
        // Others are no keys: Alt, Shift with an arrow, a focus event, characters beyond ASCII.
        assert_eq!(keys(b"\x1bx\x1b[1;2A\x1b[I\xc3\xa4j"), [Char('j')]);
        assert_eq!(keys(b"\x1b\x1b"), [Escape, Escape]);
        assert_eq!(keys(b"\x1b[1;"), []);
    }

    #[test]
    fn a_beginning_is_waited_for() {
        for begun in [&b"\x1b"[..], b"\x1b[", b"\x1b[1;", b"\x1bO"] {
            assert!(is_begun(begun), "{begun:?}");
        }
        for whole in [&b""[..], b"q", b"\x1b[A", b"\x1bx", b"\x1b[5~q"] {
            assert!(!is_begun(whole), "{whole:?}");
        }
    }

    #[test]
    fn any_bytes_are_no_panic() {
        let mut random = fastrand::Rng::with_seed(3);
        for _ in 0..20_000 {
            let length = random.usize(..12);
            let choice = [ESCAPE, b'[', b'O', b';', b'1', b'~', b'A', 0, 0xff];
            let bytes: Vec<u8> = (0..length)
                .map(|_| choice[random.usize(..choice.len())])
                .collect();
            keys(&bytes);
        }
    }
}
