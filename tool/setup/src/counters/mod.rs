// SPDX-License-Identifier: BSD-2-Clause
//! Reads the counters file, in which the provider, the engine and the PKCS#11 module of each
//! process count what their backends executed. openssl/common/counters_file.h describes the layout.

pub mod memory;

use serde::Serialize;

const MAGIC: &[u8; 8] = b"TRCOUNT1";
/// What the creator writes, so that the module can tell this memory from other programs'.
pub const NEW: &[u8; 8] = b"TRCOUNT0";
const NAME: usize = 16;
const HEADER: usize = 24;
/// Bytes of a host's section.
const SECTION: usize = 16 << 10;
/// The hosts in the order of their sections: enum trossl_host.
const HOSTS: [&str; 3] = ["provider", "engine", "pkcs11"];

/// What was executed.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// How often tenrounds was loaded, by all hosts together.
    pub loaded: u32,
    /// The hosts that were loaded.
    pub hosts: Vec<Host>,
    pub executed: Vec<Executed>,
    pub keys: Vec<Keys>,
}

/// What contains our code: the provider, the engine or the PKCS#11 module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Host {
    pub host: &'static str,
    /// How often it was loaded. The provider is once for each library context of each process.
    pub loaded: u32,
}

/// What a backend's code did for an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Executed {
    pub host: &'static str,
    pub backend: String,
    pub operation: String,
    pub calls: u64,
    pub bytes: u64,
}

/// Keys that a backend expanded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Keys {
    pub host: &'static str,
    pub backend: String,
    pub expansions: u64,
}

/// Operations of libcrypto's random generator, which a process that encrypts nothing executes, too.
const OF_THE_GENERATOR: [&str; 2] = ["ecb_encrypt", "ctr"];
/// The mean bytes of a call from which such an operation is not the generator's. Calls of the
/// generator have 16 to 64 bytes.
const BULK: u64 = 512;

impl Executed {
    /// Whether the program asked for it: the random generator cannot have.
    fn is_asked_for(&self) -> bool {
        !OF_THE_GENERATOR.contains(&self.operation.as_str())
            || self.bytes / self.calls.max(1) >= BULK
    }
}

impl Counters {
    /// Whether tenrounds executed what only a program asks for. Only then it certainly reached one.
    pub fn reached(&self) -> bool {
        self.executed.iter().any(Executed::is_asked_for)
    }

    /// Parses the file. If it begins with `NEW`, no process has loaded the provider.
    pub fn parse(file: &[u8]) -> Result<Counters, String> {
        let mut counters = Counters::default();
        match file.get(..8) {
            Some(begin) if begin == NEW || begin == MAGIC => {}
            _ => return Err("the counters file does not begin with TRCOUNT1".to_owned()),
        }
        for (section, host) in file.chunks(SECTION).zip(HOSTS) {
            if section.starts_with(MAGIC) {
                counters
                    .add(section, host)
                    .ok_or_else(|| format!("the counters of the {host} are cut short"))?;
            }
        }
        Ok(counters)
    }

    fn add(&mut self, file: &[u8], host: &'static str) -> Option<()> {
        let backends = u32_at(file, 8)? as usize;
        let ops = u32_at(file, 12)? as usize;
        if backends > 256 || ops > 256 {
            return None;
        }
        let op_names = HEADER + backends * NAME;
        let bulk = op_names + ops * NAME;
        let keys = bulk + backends * ops * 16;
        let loaded = u32_at(file, 16)?;
        self.loaded = self.loaded.saturating_add(loaded);
        self.hosts.push(Host { host, loaded });
        for b in 0..backends {
            let backend = name_at(file, HEADER + b * NAME)?;
            for op in 0..ops {
                let at = bulk + (b * ops + op) * 16;
                let (calls, bytes) = (u64_at(file, at)?, u64_at(file, at + 8)?);
                if calls > 0 {
                    let operation = name_at(file, op_names + op * NAME)?;
                    let backend = backend.clone();
                    self.executed.push(Executed {
                        host,
                        backend,
                        operation,
                        calls,
                        bytes,
                    });
                }
            }
            match u64_at(file, keys + b * 8)? {
                0 => {}
                expansions => self.keys.push(Keys {
                    host,
                    backend,
                    expansions,
                }),
            }
        }
        Some(())
    }
}

fn u32_at(file: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(file.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(file: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(file.get(at..at + 8)?.try_into().ok()?))
}

fn name_at(file: &[u8], at: usize) -> Option<String> {
    let name = file.get(at..at + NAME)?;
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(NAME);
    Some(String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(backends: &[&str], ops: &[&str], calls: &[u64], keys: &[u64]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        for n in [backends.len() as u32, ops.len() as u32, 3, 0] {
            file.extend(n.to_le_bytes());
        }
        for name in backends.iter().chain(ops) {
            let mut field = name.as_bytes().to_vec();
            field.resize(NAME, 0);
            file.extend(field);
        }
        for n in calls {
            file.extend(n.to_le_bytes());
            file.extend((n * 16).to_le_bytes());
        }
        for n in keys {
            file.extend(n.to_le_bytes());
        }
        file
    }

    #[test]
    fn names_and_figures_belong_together() {
        let file = file(&["wide", "narrow"], &["ctr", "ofb"], &[0, 1, 2, 0], &[0, 5]);
        let counters = Counters::parse(&file).unwrap();
        let lines: Vec<String> = counters
            .executed
            .iter()
            .map(|e| format!("{} {} {} {}", e.backend, e.operation, e.calls, e.bytes))
            .collect();
        assert_eq!(lines, ["wide ofb 1 16", "narrow ctr 2 32"]);
        assert_eq!(counters.loaded, 3);
        assert_eq!(
            counters.keys,
            [Keys {
                host: "provider",
                backend: "narrow".into(),
                expansions: 5
            }]
        );
    }

    #[test]
    fn short_calls_of_the_generator_reach_no_program() {
        let reached = |operation: &str, calls, bytes| {
            let executed = Executed {
                host: "provider",
                backend: "wide".into(),
                operation: operation.into(),
                calls,
                bytes,
            };
            let executed = vec![executed];
            Counters {
                executed,
                ..Counters::default()
            }
            .reached()
        };
        assert!(!reached("ctr", 70, 2560) && !reached("ecb_encrypt", 378, 14688));
        assert!(reached("cbc_encrypt", 2, 32));
        assert!(reached("ctr", 1, 1_000_000) && reached("gcm_seal", 1, 1));
    }

    #[test]
    fn each_section_belongs_to_a_host() {
        let section = file(&["wide"], &["ctr"], &[4], &[0]);
        let mut all = NEW.to_vec();
        all.resize(2 * SECTION, 0);
        all.extend(section);
        let counters = Counters::parse(&all).unwrap();
        let host = "pkcs11";
        assert_eq!(counters.hosts, [Host { host, loaded: 3 }]);
        assert_eq!(counters.loaded, 3);
        let executed = &counters.executed[0];
        assert_eq!((executed.host, executed.calls), (host, 4));
    }

    #[test]
    fn no_length_of_file_is_read_beyond_its_end() {
        let file = file(&["a"], &["b"], &[1], &[1]);
        let new = [&NEW[..], &[0; 100]].concat();
        assert_eq!(Counters::parse(&new), Ok(Counters::default()));
        assert!(Counters::parse(&[0; 100]).is_err());
        for len in 0..file.len() {
            assert!(Counters::parse(&file[..len]).is_err(), "{len}");
        }
    }
}
