// SPDX-License-Identifier: BSD-2-Clause
//! The process that measures one implementation: this program again, in the environment of that
//! implementation, obeying requests on standard input, one line of JSON each; and the same process
//! as the one sees it that asks.

use super::afalg::AfAlg;
use super::calls::{Calls, CipherJob};
use super::crossing::Crossing;
use super::evp::{self, Evp};
use super::implementation::Implementation;
use ::measure::affinity::processors;
use ::measure::crew::{Crew, Job};
use ::measure::limit::Work;
use ::measure::process::{requests, say, Process};
use ::measure::window::Window;
use base::ciphers::{Call, Cipher};
use base::fault;
use catalogue::Direction;
use libcrypto::LibCrypto;
use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use tenrounds_sys::{Backend, Cpu};
use terminal::error::{Error, Result};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    SetUp(Task),
    /// Measures what was set up last.
    Window {
        microseconds: u64,
        threads: usize,
    },
}

/// What so many threads are to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    pub threads: usize,
    /// The instructions of the limit or the ceiling.
    pub bound: Option<Work>,
    /// A cipher: its name, direction, bytes of a call.
    pub cipher: String,
    pub direction: String,
    pub bytes: usize,
}

impl Task {
    /// By one thread.
    pub fn bound(work: Work) -> Task {
        Task {
            threads: 1,
            bound: Some(work),
            cipher: String::new(),
            direction: String::new(),
            bytes: 0,
        }
    }
}

/// The first line of the process: it is ready for requests.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hello {
    /// What its libcrypto says about the processor.
    pub cpu_settings: Option<String>,
    pub backend: Option<String>,
}

pub struct WorkerProcess {
    pub implementation: Implementation,
    pub hello: Hello,
    process: Process,
}

impl WorkerProcess {
    pub fn start(implementation: Implementation) -> Result<WorkerProcess> {
        let name = implementation.name();
        let mut process = Process::start(name, ["worker", name], implementation.environment()?)?;
        Ok(WorkerProcess {
            implementation,
            hello: process.hello()?,
            process,
        })
    }

    /// Sets up work and returns the digest of its output for the common sample.
    pub fn set_up(&mut self, task: Task) -> Result<u64> {
        self.process.ask(&Request::SetUp(task))
    }

    /// A window of each of so many threads.
    pub fn window(&mut self, microseconds: u64, threads: usize) -> Result<Vec<Window>> {
        self.process.ask(&Request::Window {
            microseconds,
            threads,
        })
    }
}

/// An implementation, and what its jobs need.
#[derive(Clone, Copy)]
struct Worker {
    implementation: Implementation,
    libcrypto: Option<&'static LibCrypto>,
    backend: Option<Backend>,
}

impl Worker {
    fn new(implementation: Implementation) -> Result<Worker> {
        let mut worker = Worker {
            implementation,
            libcrypto: None,
            backend: None,
        };
        match implementation {
            Implementation::Tenrounds => {
                let libcrypto = open()?;
                let name = evp::selected_backend(libcrypto, c"tenrounds")?;
                let unknown = || Error::failure(format!("the provider selected \"{name}\""));
                worker.backend = Some(Backend::by_name(&name).ok_or_else(unknown)?);
                worker.libcrypto = Some(libcrypto);
            }
            Implementation::OpenSsl | Implementation::Software => {
                let libcrypto = open()?;
                libcrypto.load_provider(c"default")?;
                worker.libcrypto = Some(libcrypto);
            }
            _ => {}
        }
        Ok(worker)
    }

    fn hello(&self) -> Hello {
        Hello {
            cpu_settings: self.libcrypto.and_then(LibCrypto::cpu_settings),
            backend: self.backend.map(|b| b.name().to_owned()),
        }
    }

    fn set_up(&self, crew: &mut Option<Crew>, task: Task) -> Result<u64> {
        *crew = None;
        let made = crew.insert(self.crew(task)?);
        let mut digest = DefaultHasher::new();
        made.sample.hash(&mut digest);
        let faulty = fault::at(fault::Place::Output(self.implementation.name()));
        Ok(digest.finish() ^ u64::from(faulty))
    }

    fn crew(self, task: Task) -> Result<Crew> {
        let (threads, processors) = (task.threads, processors().len());
        if threads == 0 || threads > processors {
            let why = format!("{threads} threads on {processors} processors");
            return Err(Error::usage(why));
        }
        Crew::new(threads, Arc::new(move || self.job(&task)))
    }

    fn job(&self, task: &Task) -> Result<Box<dyn Job>> {
        if let Some(work) = &task.bound {
            return match work.runs(&Cpu::detect()) {
                true => Ok(Box::new(work.clone())),
                false => Err(Error::usage(format!("no limit {}", work.describe()))),
            };
        }
        let unknown = || Error::usage(format!("no cipher {} {}", task.cipher, task.direction));
        let cipher = Cipher::by_name(&task.cipher).ok_or_else(unknown)?;
        let mut directions = Direction::BOTH.into_iter();
        let direction = directions.find(|d| d.name() == task.direction);
        let (direction, bytes) = (direction.ok_or_else(unknown)?, task.bytes);
        let make = |direction| -> Result<Box<dyn Calls>> {
            Ok(match (self.implementation, self.libcrypto) {
                _ if cipher.call() == Call::Wrap => return Err(unknown()),
                (Implementation::Crossing, _) => Box::new(Crossing::new()?),
                (Implementation::AfAlg, _) => Box::new(AfAlg::new(cipher, direction)?),
                (who, Some(libcrypto)) => Box::new(Evp::new(libcrypto, who, cipher, direction)?),
                _ => return Err(Error::usage("the limit has no ciphers")),
            })
        };
        Ok(Box::new(CipherJob::new(make, cipher, direction, bytes)?))
    }
}

fn open() -> Result<&'static LibCrypto> {
    Ok(Box::leak(Box::new(LibCrypto::open()?)))
}

/// Obeys until standard input ends. What goes wrong is an answer, too.
pub fn serve(implementation: &str) -> Result<()> {
    let implementation = Implementation::by_name(implementation)
        .ok_or_else(|| Error::usage(format!("no implementation {implementation}")))?;
    let worker = match Worker::new(implementation) {
        Ok(worker) => worker,
        Err(error) => return say::<Hello>(Err(error)),
    };
    say(Ok(worker.hello()))?;
    let mut crew: Option<Crew> = None;
    for request in requests() {
        match request {
            Ok(Request::SetUp(task)) => say(worker.set_up(&mut crew, task))?,
            Ok(Request::Window {
                microseconds,
                threads,
            }) => {
                let crew = crew.as_mut();
                let crew = crew.ok_or_else(|| Error::usage("a window of nothing"));
                say(crew.and_then(|crew| crew.window(microseconds, threads)))?;
            }
            Err(error) => say::<()>(Err(error))?,
        }
    }
    Ok(())
}
