// SPDX-License-Identifier: BSD-2-Clause
//! The process that measures one implementation: this program again, in the environment of that
//! implementation, obeying requests on standard input, one line of JSON each.

use super::afalg::{AfAlg, Input};
use super::calls::CipherJob;
use super::core::Core;
use super::crossing::Crossing;
use super::evp::{self, Evp};
use super::implementation::Implementation;
use ::measure::affinity::processors;
use ::measure::crew::{Crew, Job};
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

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The first line: ready for requests.
    Hello {
        cpu_settings: Option<String>,
        backend: Option<String>,
    },
    /// Set up; a digest of the output for the common sample.
    Ready { digest: u64 },
    /// One per thread.
    Windows(Vec<Window>),
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
            Implementation::Core => worker.backend = Some(selected_backend()?),
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

    fn hello(&self) -> Answer {
        Answer::Hello {
            cpu_settings: self.libcrypto.and_then(LibCrypto::cpu_settings),
            backend: self.backend.map(|b| b.name().to_owned()),
        }
    }

    fn obey(&self, crew: &mut Option<Crew>, request: Request) -> Result<Answer> {
        match request {
            Request::SetUp(task) => {
                *crew = None;
                let made = crew.insert(self.crew(task)?);
                let mut digest = DefaultHasher::new();
                made.sample.hash(&mut digest);
                let faulty = fault::at(fault::Place::Output(self.implementation.name()));
                let digest = digest.finish() ^ u64::from(faulty);
                Ok(Answer::Ready { digest })
            }
            Request::Window {
                microseconds,
                threads,
            } => {
                let crew = crew.as_mut();
                let crew = crew.ok_or_else(|| Error::usage("a window of nothing"))?;
                Ok(Answer::Windows(crew.window(microseconds, threads)?))
            }
        }
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
        let afalg = |input| move |direction| AfAlg::new(cipher, direction, input);
        Ok(match self.implementation {
            _ if cipher.call() == Call::Wrap => return Err(unknown()),
            Implementation::Crossing => Box::new(CipherJob::new(
                |_| Crossing::new(),
                cipher,
                direction,
                bytes,
            )?),
            Implementation::AfAlg => Box::new(CipherJob::new(
                afalg(Input::Copied),
                cipher,
                direction,
                bytes,
            )?),
            Implementation::AfAlgSplice => Box::new(CipherJob::new(
                afalg(Input::Referenced),
                cipher,
                direction,
                bytes,
            )?),
            who => match (self.libcrypto, self.backend) {
                (Some(libcrypto), _) => {
                    let evp = |direction| Evp::new(libcrypto, who, cipher, direction);
                    Box::new(CipherJob::new(evp, cipher, direction, bytes)?)
                }
                (None, Some(backend)) => {
                    let core = |direction| Core::new(backend, cipher, direction);
                    Box::new(CipherJob::new(core, cipher, direction, bytes)?)
                }
                _ => return Err(Error::usage("the limit has no ciphers")),
            },
        })
    }
}

fn open() -> Result<&'static LibCrypto> {
    Ok(Box::leak(Box::new(LibCrypto::open()?)))
}

/// The backend that the core selects in this environment.
fn selected_backend() -> Result<Backend> {
    masks::masked()?; // a wrong word is an error here
    selection::here()
        .backend
        .ok_or_else(|| Error::failure("no backend passes its known answers"))
}

/// Obeys until standard input ends. What goes wrong is an answer, too.
pub fn serve(implementation: &str) -> Result<()> {
    let implementation = Implementation::by_name(implementation)
        .ok_or_else(|| Error::usage(format!("no implementation {implementation}")))?;
    let worker = match Worker::new(implementation) {
        Ok(worker) => worker,
        Err(error) => return say::<Answer>(Err(error)),
    };
    say(Ok(worker.hello()))?;
    let mut crew = None;
    for request in requests() {
        say(request.and_then(|request| worker.obey(&mut crew, request)))?;
    }
    Ok(())
}
