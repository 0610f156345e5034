// SPDX-License-Identifier: BSD-2-Clause
//! The threads of a worker process: each pinned to a processor, each with its own job, all starting
//! a window together.

use super::job::{Job, Runner};
use ::measure::affinity::pin;
use ::measure::window::Window;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use terminal::error::{Error, Result};

/// Lets so many threads through together, by spinning: a sleeping thread would start late.
struct Gate {
    missing: AtomicUsize,
}

impl Gate {
    fn new(threads: usize) -> Arc<Gate> {
        Arc::new(Gate {
            missing: AtomicUsize::new(threads),
        })
    }

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

fn obey(runner: &mut Runner, order: &Order) -> Result<Window> {
    let warm = runner.warm_up();
    order.gate.pass(); // also after an error: the others wait
    warm?;
    runner.window(order.microseconds)
}

struct Mate {
    orders: Option<Sender<Order>>,
    windows: Receiver<Result<Window>>,
    thread: Option<JoinHandle<()>>,
}

impl Mate {
    fn start(job: Box<dyn Job>, processor: usize) -> Mate {
        let (orders, inbox) = channel::<Order>();
        let (outbox, windows) = channel();
        let thread = std::thread::spawn(move || {
            let mut runner = Runner::new(job);
            let mut pinned = Some(pin(processor));
            for order in inbox {
                let window = obey(&mut runner, &order);
                let pinned = pinned.take().unwrap_or(Ok(()));
                if outbox.send(pinned.and(window)).is_err() {
                    return;
                }
            }
        });
        Mate {
            orders: Some(orders),
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
}

impl Crew {
    /// The calling thread takes the first job and processor. There are at least as many processors
    /// as jobs, and at least one job.
    pub fn new(jobs: Vec<Box<dyn Job>>, processors: &[usize]) -> Result<Crew> {
        let mut jobs = jobs.into_iter().zip(processors);
        let (job, &processor) = jobs.next().expect("at least one job");
        pin(processor)?;
        let mates = jobs
            .map(|(job, &processor)| Mate::start(job, processor))
            .collect();
        Ok(Crew {
            own: Runner::new(job),
            mates,
        })
    }

    /// One window per thread.
    pub fn window(&mut self, microseconds: u64) -> Result<Vec<Window>> {
        let gate = Gate::new(self.mates.len() + 1);
        let order = || Order {
            microseconds,
            gate: gate.clone(),
        };
        let ended = |_| Error::failure("a measuring thread ended unexpectedly");
        for mate in &self.mates {
            let orders = mate.orders.as_ref().expect("open until dropped");
            orders
                .send(order())
                .map_err(|_| Error::failure("a measuring thread ended"))?;
        }
        let own = obey(&mut self.own, &order());
        let mut windows = vec![own?];
        for mate in &self.mates {
            windows.push(mate.windows.recv().map_err(ended)??);
        }
        Ok(windows)
    }
}

#[cfg(test)]
mod tests {
    use super::super::jobs::CoreJob;
    use super::*;
    use base::ciphers::Cipher;
    use catalogue::Direction;
    use tenrounds_sys::Backend;

    #[test]
    fn every_thread_delivers_a_window() {
        let processors = ::measure::affinity::processors();
        let cipher = Cipher::by_name("aes-128-ctr").unwrap();
        let backend = Backend::by_name("bitslice").unwrap();
        let job = move |_: &usize| -> Box<dyn Job> {
            let job = CoreJob::new(backend, cipher, Direction::Encrypt, 256);
            Box::new(job.unwrap())
        };
        // In a thread of its own, which stays pinned.
        let windows = std::thread::spawn(move || {
            let mut crew = Crew::new(processors.iter().map(job).collect(), processors).unwrap();
            (crew.window(200).unwrap(), processors.len())
        });
        let (windows, threads) = windows.join().unwrap();
        assert_eq!(windows.len(), threads);
        assert!(windows.iter().all(|w| w.bytes > 0 && w.bytes % 256 == 0));
    }
}
