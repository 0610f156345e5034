// SPDX-License-Identifier: BSD-2-Clause
//! The threads of a measuring process: each pinned to a processor, each with its own job, all
//! starting a window together.

use crate::affinity::pin_to_number;
use crate::window::{Pace, Window};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use terminal::error::{Error, Result};

/// Work that can be repeated any number of times.
pub trait Job {
    /// Does it `calls` times and returns the bytes that were processed.
    fn run(&mut self, calls: u64) -> Result<u64>;

    /// Called before each window: its data move to another line of the cache.
    fn move_on(&mut self) {}

    /// Starts afresh and returns the output for an input that is the same everywhere.
    fn sample(&mut self) -> Result<Vec<u8>> {
        Ok(Vec::new())
    }
}

/// A number of threads that start a window together, by spinning: a sleeping thread would start
/// late.
struct Gate {
    missing: AtomicUsize,
}

impl Gate {
    fn pass(&self) {
        self.missing.fetch_sub(1, Ordering::AcqRel);
        let mut turns = 0_u32;
        while self.missing.load(Ordering::Acquire) != 0 {
            turns += 1;
            match turns % 1024 {
                0 => std::thread::yield_now(),
                _ => std::hint::spin_loop(),
            }
        }
    }
}

struct Order {
    microseconds: u64,
    gate: Arc<Gate>,
}

/// A job and its pace.
struct Runner {
    job: Box<dyn Job>,
    pace: Pace,
}

impl Runner {
    /// On the processor of this number; with the output of its sample.
    fn new(number: usize, make: &Make) -> Result<(Runner, Vec<u8>)> {
        pin_to_number(number)?;
        let mut job = make()?;
        let sample = job.sample()?;
        let pace = Pace::default();
        Ok((Runner { job, pace }, sample))
    }

    fn obey(&mut self, order: &Order) -> Result<Window> {
        let Runner { job, pace } = self;
        job.move_on();
        let warm = pace.warm_up(&mut |calls| job.run(calls));
        order.gate.pass(); // also after an error: the others wait
        warm?;
        pace.window(order.microseconds, &mut |calls| job.run(calls))
    }
}

/// Makes a job in the thread that does it.
pub type Make = dyn Fn() -> Result<Box<dyn Job>> + Send + Sync;

struct Mate {
    orders: Option<Sender<Order>>,
    sample: Receiver<Result<Vec<u8>>>,
    windows: Receiver<Result<Window>>,
    thread: Option<JoinHandle<()>>,
}

impl Mate {
    fn start(number: usize, make: Arc<Make>) -> Mate {
        let (orders, inbox) = channel::<Order>();
        let (ready, sample) = channel();
        let (outbox, windows) = channel();
        let thread = std::thread::spawn(move || {
            let (made, output) = match Runner::new(number, &*make) {
                Ok((runner, output)) => (Some(runner), Ok(output)),
                Err(error) => (None, Err(error)),
            };
            let (Some(mut runner), Ok(())) = (made, ready.send(output)) else {
                return;
            };
            for order in inbox {
                if outbox.send(runner.obey(&order)).is_err() {
                    return;
                }
            }
        });
        Mate {
            orders: Some(orders),
            sample,
            windows,
            thread: Some(thread),
        }
    }
}

impl Drop for Mate {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // a panic has been reported as a missing window
        }
    }
}

/// The calling thread and, for more than one job, its mates.
pub struct Crew {
    own: Runner,
    mates: Vec<Mate>,
    /// The output of the job's sample, the same of all threads.
    pub sample: Vec<u8>,
}

impl Crew {
    /// So many threads, of which the calling one is the first, and stays pinned.
    pub fn new(threads: usize, make: Arc<Make>) -> Result<Crew> {
        let mates = 1..threads;
        let mates: Vec<Mate> = mates.map(|n| Mate::start(n, make.clone())).collect();
        let (own, sample) = Runner::new(0, &*make)?;
        for mate in &mates {
            if mate.sample.recv().map_err(ended)?? != sample {
                return Err(Error::failure("two threads disagree about the output"));
            }
        }
        Ok(Crew { own, mates, sample })
    }

    /// A window of each of the first `threads` threads.
    pub fn window(&mut self, microseconds: u64, threads: usize) -> Result<Vec<Window>> {
        let mates = &self.mates[..threads - 1];
        let missing = AtomicUsize::new(threads);
        let gate = Arc::new(Gate { missing });
        let order = || Order {
            microseconds,
            gate: gate.clone(),
        };
        for mate in mates {
            let orders = mate.orders.as_ref().expect("open until dropped");
            orders.send(order()).map_err(ended)?;
        }
        let own = self.own.obey(&order());
        let others = mates.iter().map(|mate| mate.windows.recv().map_err(ended)?);
        std::iter::once(own).chain(others).collect()
    }
}

fn ended(_: impl std::error::Error) -> Error {
    Error::failure("a measuring thread ended unexpectedly")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::processors;

    /// Some additions; its sample is its number.
    struct Additions(u8);

    impl Job for Additions {
        fn run(&mut self, calls: u64) -> Result<u64> {
            (0..calls * 100).for_each(|i| _ = std::hint::black_box(i));
            Ok(calls * 256)
        }

        fn sample(&mut self) -> Result<Vec<u8>> {
            Ok(vec![self.0])
        }
    }

    /// In a thread of its own, which stays pinned.
    fn crew<T: Send + 'static>(make: Arc<Make>, with: fn(Result<Crew>, usize) -> T) -> T {
        let threads = processors().len();
        let run = move || with(Crew::new(threads, make), threads);
        std::thread::spawn(run).join().unwrap()
    }

    #[test]
    fn every_thread_delivers_a_window() {
        crew(Arc::new(|| Ok(Box::new(Additions(7)))), |crew, threads| {
            let mut crew = crew.unwrap();
            assert_eq!(crew.sample, [7]);
            for threads in [threads, 1, threads] {
                let windows = crew.window(200, threads).unwrap();
                assert_eq!(windows.len(), threads);
                assert!(windows.iter().all(|w| w.bytes > 0 && w.bytes % 256 == 0));
            }
        });
    }

    #[test]
    fn outputs_that_differ_and_jobs_that_are_absent_are_errors() {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let differing = || -> Result<Box<dyn Job>> {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(Additions(number as u8)))
        };
        crew(Arc::new(differing), |crew, threads| {
            let said = crew.err().map(|error| error.to_string());
            let wanted = "two threads disagree about the output".to_owned();
            assert_eq!(said, (threads > 1).then_some(wanted));
        });
        crew(Arc::new(|| Err(Error::absent("none"))), |crew, _| {
            assert!(crew.err().unwrap().is_absent());
        });
    }
}
