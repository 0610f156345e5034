// SPDX-License-Identifier: BSD-2-Clause
//! The thread that takes samples by ptrace(2). It has nothing else to do, so that a thread that
//! stops late goes on soon. When it ends, the kernel lets all threads go on that are attached.

use super::records::Event;
use super::stops::Stops;
use crate::trace::PAUSE;
use nix::sys::signal::SigSet;
use std::sync::mpsc::{channel, sync_channel, Receiver, RecvTimeoutError, Sender};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How soon a thread that stops late goes on.
const SOON: Duration = Duration::from_millis(1);

/// What waits to be read is bounded, because a sample may have a stack. After that, samples are
/// lost.
const MOST_WAITING: usize = 256;

pub struct Tracer {
    /// Processes to be sampled, too. None when the thread is to end.
    new: Option<Sender<u32>>,
    events: Receiver<Vec<Event>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    pub fn start(stops: Stops) -> Tracer {
        let (new, added) = channel();
        let (sender, events) = sync_channel(MOST_WAITING);
        let thread = std::thread::spawn(move || {
            // Signals are for the thread that waits for them.
            let _ = SigSet::all().thread_block();
            trace(stops, &added, &sender);
        });
        Tracer {
            new: Some(new),
            events,
            thread: Some(thread),
        }
    }

    pub fn add(&self, pid: u32) {
        if let Some(new) = &self.new {
            // It fails if the thread has panicked, which `has_panicked` tells.
            let _ = new.send(pid);
        }
    }

    /// What happened since the last call.
    pub fn events(&self) -> Vec<Event> {
        self.events.try_iter().flatten().collect()
    }
}

impl Tracer {
    /// Whether the thread has panicked: it ends only then by itself.
    pub fn has_panicked(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.new = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn trace(mut stops: Stops, added: &Receiver<u32>, events: &SyncSender<Vec<Event>>) {
    let mut looked = Instant::now();
    let mut happened = Vec::new();
    loop {
        let is_waiting = stops.is_waiting();
        match added.recv_timeout(if is_waiting { SOON } else { PAUSE }) {
            Ok(pid) => stops.add(pid),
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                happened.extend(match is_waiting && looked.elapsed() < PAUSE {
                    true => stops.stopped(),
                    false => {
                        looked = Instant::now();
                        stops.events()
                    }
                });
                match events.try_send(std::mem::take(&mut happened)) {
                    Ok(()) => {}
                    Err(TrySendError::Full(rest)) => happened = without_samples(rest),
                    Err(TrySendError::Disconnected(_)) => return,
                }
            }
        }
    }
}

/// Events with the number of their samples in place of the samples.
fn without_samples(mut events: Vec<Event>) -> Vec<Event> {
    let mut lost = 0;
    events.retain(|event| {
        lost += match event {
            Event::Sample(_) => 1,
            Event::Lost(count) => *count,
            _ => return true,
        };
        false
    });
    events.push(Event::Lost(lost));
    events
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_without_room_are_counted() {
        let ended = || Event::Ended { pid: 1, tid: 1 };
        let events = vec![Event::Lost(2), ended(), Event::Lost(3)];
        assert_eq!(without_samples(events), [ended(), Event::Lost(5)]);
    }

    fn tracer(run: impl FnOnce() + Send + 'static) -> Tracer {
        let (new, added) = channel();
        let (sender, events) = channel();
        let thread = std::thread::spawn(move || {
            run();
            // As `trace` does.
            while added.recv().is_ok() {}
            drop(sender);
        });
        Tracer {
            new: Some(new),
            events,
            thread: Some(thread),
        }
    }

    #[test]
    fn a_panic_is_told() {
        assert!(!tracer(|| {}).has_panicked());
        let broken = tracer(|| panic!("a test of panics"));
        while !broken.has_panicked() {
            std::thread::yield_now();
        }
        broken.add(1);
        assert!(broken.events().is_empty());
    }
}
