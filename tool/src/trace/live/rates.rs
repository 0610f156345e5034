// SPDX-License-Identifier: BSD-2-Clause
//! Bytes a second of processes that count: those of commands under `run --count`, whose environment
//! names shared memory. All processes of such a command count together.

use super::result::Rate;
use crate::counters::running::{find, Found, Identity};
use crate::counters::{memory, Counters};
use crate::inventory::processes::variable;
use crate::root::Root;
use crate::trace::Process;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

#[derive(Default)]
pub struct Rates {
    /// The memory in which each process counts, by its serial number.
    of: HashMap<u64, Option<Identity>>,
    memories: HashMap<Identity, Memory>,
}

struct Memory {
    found: Found,
    /// Bytes so far, the oldest first.
    readings: VecDeque<(Instant, u64)>,
}

impl Rates {
    /// The rates within the window of those processes that run AES code and count. They come with
    /// the most AES first.
    pub fn read(&mut self, processes: &[Process], window: Duration) -> Vec<Rate> {
        let aes = || processes.iter().filter(|process| process.aes_samples > 0);
        self.of
            .retain(|serial, _| aes().any(|process| process.serial == *serial));
        let mut rates: Vec<(Identity, Rate)> = Vec::new();
        for process in aes() {
            let Some(identity) = self.memory_of(process) else {
                continue;
            };
            match rates.iter_mut().find(|(known, _)| *known == identity) {
                Some((_, rate)) => rate.processes += 1,
                None => rates.push((
                    identity,
                    Rate {
                        pid: process.pid,
                        serial: process.serial,
                        bytes_per_second: 0.0,
                        processes: 1,
                    },
                )),
            }
        }
        self.memories
            .retain(|identity, _| rates.iter().any(|(used, _)| used == identity));
        let measured = rates.into_iter().filter_map(|(identity, mut rate)| {
            let memory = self.memories.get_mut(&identity)?;
            rate.bytes_per_second = memory.rate(window)?;
            Some(rate)
        });
        measured.collect()
    }

    fn memory_of(&mut self, process: &Process) -> Option<Identity> {
        if let Some(known) = self.of.get(&process.serial) {
            return *known;
        }
        let path = variable(&Root::machine(), process.pid, memory::VARIABLE);
        let found = path.and_then(|path| find(&path));
        let identity = found.as_ref().map(|found| found.identity);
        self.of.insert(process.serial, identity);
        let found = found?;
        self.memories.entry(found.identity).or_insert(Memory {
            found,
            readings: VecDeque::new(),
        });
        identity
    }
}

impl Memory {
    /// Reads once more. None without an earlier reading.
    fn rate(&mut self, window: Duration) -> Option<f64> {
        let now = Instant::now();
        self.readings.push_back((now, bytes(&self.found.read()?)));
        while self.readings.len() > 2 && now - self.readings[1].0 >= window {
            self.readings.pop_front();
        }
        rate(&self.readings)
    }
}

fn rate(readings: &VecDeque<(Instant, u64)>) -> Option<f64> {
    let ((begin, before), (end, after)) = (readings.front()?, readings.back()?);
    let seconds = (*end - *begin).as_secs_f64();
    (seconds > 0.0).then(|| after.saturating_sub(*before) as f64 / seconds)
}

/// Operations whose bytes another operation encrypts.
const NO_ENCRYPTION: [&str; 3] = ["ghash", "polyval", "gcm_tag"];

/// The bytes that were encrypted or decrypted so far.
fn bytes(counters: &Counters) -> u64 {
    let executed = counters.executed.iter();
    let encrypted = executed.filter(|one| !NO_ENCRYPTION.contains(&one.operation.as_str()));
    encrypted.fold(0, |sum, one| sum.saturating_add(one.bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Executed;
    use tenrounds_sys::Op;

    #[test]
    fn hashes_are_no_encryption() {
        let executed = |operation: &str, bytes| Executed {
            host: "provider",
            backend: "aesni".into(),
            operation: operation.into(),
            calls: 1,
            bytes,
        };
        let counters = Counters {
            executed: vec![
                executed("ctr", 100),
                executed("ghash", 100),
                executed("gcm_seal", 7),
            ],
            ..Counters::default()
        };
        assert_eq!(bytes(&counters), 107);
        for name in NO_ENCRYPTION {
            assert!(Op::by_name(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_rate_needs_two_readings() {
        let begin = Instant::now();
        let mut readings = VecDeque::from([(begin, 1000)]);
        assert_eq!(rate(&readings), None);
        readings.push_back((begin + Duration::from_secs(2), 5000));
        assert_eq!(rate(&readings), Some(2000.0));
    }
}
