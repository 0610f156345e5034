// SPDX-License-Identifier: BSD-2-Clause
//! The process that measures one implementation: this program again, in the environment of that
//! implementation, obeying requests on standard input, one line of JSON each.

use super::afalg::{AfAlgJob, Input};
use super::crew::Crew;
use super::crossing::CrossingJob;
use super::evp::{self, Evp};
use super::implementation::Implementation;
use super::job::Job;
use super::jobs::{CoreJob, CoreMessages, LimitJob};
use super::message::MessageJob;
use ::measure::affinity::processors;
use ::measure::limit::Work;
use ::measure::process::{requests, say};
use ::measure::window::Window;
use base::ciphers::{Call, Cipher};
use base::fault;
use catalogue::Direction;
use libcrypto::LibCrypto;
use machine::masks;
use machine::selection;
use serde::{Deserialize, Serialize};
use tenrounds_sys::{Backend, Cpu};
use terminal::error::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Sets up a task for so many threads.
    SetUp { task: Task, threads: usize },
    /// Measures what was set up last for so many microseconds.
    Window(u64),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// A cipher: its name, direction, bytes of a call.
    Cipher {
        name: String,
        direction: String,
        bytes: usize,
    },
    /// The limit probe.
    Limit(Work),
    /// The way into the kernel and back with so many bytes, without a cipher.
    Crossing(usize),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The first line: ready for requests.
    Hello {
        cpu_settings: Option<String>,
        backend: Option<String>,
    },
    /// Set up; a digest of the output for the common sample.
    Ready { digest: String },
    /// One per thread.
    Windows(Vec<Window>),
}

struct Worker {
    /// Before libcrypto, which its jobs call when they are dropped.
    crew: Option<Crew>,
    implementation: Implementation,
    /// The kernel's driver to take instead of the one with the highest priority.
    driver: Option<String>,
    libcrypto: Option<LibCrypto>,
    backend: Option<Backend>,
    processors: &'static [usize],
}

impl Worker {
    fn new(implementation: Implementation, driver: Option<String>) -> Result<Worker> {
        let mut worker = Worker {
            implementation,
            driver,
            libcrypto: None,
            backend: None,
            processors: processors(),
            crew: None,
        };
        match implementation {
            Implementation::Limit | Implementation::Ceiling | Implementation::Crossing => {}
            Implementation::AfAlg | Implementation::AfAlgSplice => {}
            Implementation::Core => worker.backend = Some(selected_backend()?),
            Implementation::Tenrounds => {
                let libcrypto = LibCrypto::open()?;
                let name = evp::selected_backend(&libcrypto, c"tenrounds")?;
                let unknown = || Error::failure(format!("the provider selected \"{name}\""));
                worker.backend = Some(Backend::by_name(&name).ok_or_else(unknown)?);
                worker.libcrypto = Some(libcrypto);
            }
            Implementation::OpenSsl | Implementation::Software => {
                let libcrypto = LibCrypto::open()?;
                libcrypto.load_provider(c"default")?;
                worker.libcrypto = Some(libcrypto);
            }
        }
        Ok(worker)
    }

    fn hello(&self) -> Answer {
        Answer::Hello {
            cpu_settings: self.libcrypto.as_ref().and_then(LibCrypto::cpu_settings),
            backend: self.backend.map(|b| b.name().to_owned()),
        }
    }

    fn obey(&mut self, request: Request) -> Result<Answer> {
        match request {
            Request::SetUp { task, threads } => {
                let jobs = (0..threads).map(|_| self.job(&task));
                self.set_up(jobs.collect::<Result<_>>()?)
            }
            Request::Window(microseconds) => {
                let crew = self.crew.as_mut();
                let crew = crew.ok_or_else(|| Error::usage("a window of nothing"))?;
                Ok(Answer::Windows(crew.window(microseconds)?))
            }
        }
    }

    fn job(&self, task: &Task) -> Result<Box<dyn Job>> {
        let (name, direction, bytes) = match task {
            Task::Limit(work) if work.runs(&Cpu::detect()) => {
                return Ok(Box::new(LimitJob(work.clone())))
            }
            Task::Limit(work) => return Err(Error::usage(format!("no limit {}", work.describe()))),
            Task::Crossing(bytes) => return Ok(Box::new(CrossingJob::new(*bytes)?)),
            Task::Cipher {
                name,
                direction,
                bytes,
            } => (name, direction, *bytes),
        };
        let (cipher, direction) = cipher(name, direction)?;
        let input = match self.implementation {
            Implementation::AfAlg => Some(Input::Copied),
            Implementation::AfAlgSplice => Some(Input::Referenced),
            _ => None,
        };
        match (input, &self.libcrypto, self.backend) {
            (Some(input), ..) => {
                let driver = self.driver.as_deref();
                let job = AfAlgJob::new(cipher, direction, bytes, input, driver);
                Ok(Box::new(job?))
            }
            (_, Some(libcrypto), _) => self.evp_job(libcrypto, cipher, direction, bytes),
            (_, None, Some(backend)) => core_job(backend, cipher, direction, bytes),
            _ => Err(Error::usage("the limit has no ciphers")),
        }
    }

    fn evp_job(
        &self,
        libcrypto: &LibCrypto,
        cipher: Cipher,
        direction: Direction,
        bytes: usize,
    ) -> Result<Box<dyn Job>> {
        if cipher.is_legacy() {
            let absent = |error: Error| Error::absent(format!("{}: {error}", cipher.title()));
            libcrypto.load_provider(c"legacy").map_err(absent)?;
        }
        let evp = |direction| Evp::new(libcrypto, self.implementation, cipher, direction);
        Ok(match cipher.call() {
            Call::Stream => Box::new(evp(direction).stream(bytes)?),
            Call::Message(_) | Call::Mac => {
                let side = |direction| evp(direction).messages();
                Box::new(MessageJob::new(side, direction, bytes)?)
            }
            Call::Wrap => return Err(Error::usage(format!("{} is not measured", cipher.title()))),
        })
    }

    fn set_up(&mut self, mut jobs: Vec<Box<dyn Job>>) -> Result<Answer> {
        self.crew = None;
        if jobs.is_empty() || jobs.len() > self.processors.len() {
            return Err(Error::usage(format!(
                "{} threads on {} processors",
                jobs.len(),
                self.processors.len()
            )));
        }
        let mut sample = jobs[0].sample()?;
        for job in &mut jobs[1..] {
            if job.sample()? != sample {
                return Err(Error::failure("two threads disagree about the output"));
            }
        }
        if fault::at(fault::Place::Output(self.implementation.name())) {
            sample.iter_mut().take(1).for_each(|byte| *byte ^= 1);
        }
        self.crew = Some(Crew::new(jobs, self.processors)?);
        Ok(Answer::Ready {
            digest: format!("{:016x}", fnv1a(&sample)),
        })
    }
}

fn cipher(name: &str, direction: &str) -> Result<(Cipher, Direction)> {
    let unknown = || Error::usage(format!("no cipher {name} {direction}"));
    let cipher = Cipher::by_name(name).ok_or_else(unknown)?;
    let mut directions = Direction::BOTH.into_iter();
    let direction = directions.find(|d| d.name() == direction);
    Ok((cipher, direction.ok_or_else(unknown)?))
}

/// A mode of the core: a stream or one-shot calls.
fn core_job(
    backend: Backend,
    cipher: Cipher,
    direction: Direction,
    bytes: usize,
) -> Result<Box<dyn Job>> {
    Ok(match cipher.call() {
        Call::Stream => {
            let job = CoreJob::new(backend, cipher, direction, bytes);
            Box::new(job?)
        }
        _ => {
            let side = |_| CoreMessages::new(backend, cipher);
            Box::new(MessageJob::new(side, direction, bytes)?)
        }
    })
}

/// The 64-bit FNV-1a hash: enough to tell honest outputs apart.
fn fnv1a(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The backend that the core selects in this environment.
fn selected_backend() -> Result<Backend> {
    masks::masked()?; // a wrong word is an error here
    selection::here()
        .backend
        .ok_or_else(|| Error::failure("no backend passes its known answers"))
}

/// Obeys until standard input ends. What goes wrong is an answer, too.
pub fn serve(implementation: &str, driver: Option<String>) -> Result<()> {
    let implementation = Implementation::by_name(implementation)
        .ok_or_else(|| Error::usage(format!("no implementation {implementation}")))?;
    let mut worker = match Worker::new(implementation, driver) {
        Ok(worker) => worker,
        Err(error) => return say::<Answer>(Err(error)),
    };
    say(Ok(worker.hello()))?;
    for request in requests() {
        say(request.and_then(|request| worker.obey(request)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    // http://www.isthe.com/chongo/tech/comp/fnv, test vectors: "" and "a".
    #[test]
    fn the_digest_is_fnv1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
