// SPDX-License-Identifier: BSD-2-Clause
//! `trace --kernel`: exact counts of the requests to the kernel's ciphers and hashes, and of the
//! messages and copies that AF_ALG costs, by bpftrace's probes at functions of the kernel.

mod caller;
mod script;

use super::bpftrace::{self, Bpftrace, Maps, Sum};
use super::result::{
    Caller, Chosen, Context, Copied, Entry, KernelCounts, Message, OnBehalf, Operation, Requests,
    SizeClass, Transfers,
};
use super::target::kernel::{self, Symbols};
use super::traced::Traced;
use crate::kernel::drivers::{self, Driver};
use crate::root::Root;
use script::{Kind, COUNTS, DRIVERS, INTERRUPT, KERNEL_THREAD, NAMES, PROBES, PROCESS};
use std::collections::{BTreeMap, HashMap, HashSet};
use terminal::error::{Error, Result};
use terminal::style::clean;

/// What bpftrace counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Key {
    /// The index in `PROBES`.
    probe: usize,
    /// 0 for interrupts.
    pid: u32,
    context: u64,
    /// 1: a request that the driver of another request makes, a message by splice(2), or a copy to
    /// a program's memory.
    mark: u64,
    /// Where the call returns to; 0 for messages.
    caller: u64,
    /// The bits of the length, as a number: 0 of 0, 5 of 16 to 31.
    bits: u64,
    /// The driver of a request.
    driver: String,
}

/// Counts requests in the whole kernel.
pub struct Counter {
    bpftrace: Option<Bpftrace>,
    /// What bpftrace counted, once it has ended.
    counted: Maps,
    troubles: Vec<String>,
}

impl Counter {
    /// Puts the probes, which all requests pay for.
    pub fn start() -> Result<Counter> {
        let names = PROBES.iter().flat_map(|(name, older, _)| [*name, *older]);
        let known = kernel::has(&names.collect::<Vec<_>>());
        let mut probes = Vec::new();
        let mut troubles = Vec::new();
        for (index, (name, older, _)) in PROBES.iter().enumerate() {
            match [*name, *older]
                .into_iter()
                .find(|name| known.contains(*name))
            {
                Some(name) => probes.push((index, name)),
                // Since Linux 6.16 it calls crypto_shash_finup(), in the headers.
                None if *name == "crypto_shash_update" => {}
                None => troubles.push(format!(
                    "{name} not counted: this kernel has no such function"
                )),
            }
        }
        let started = Bpftrace::start(&script::script(&probes), &[COUNTS, DRIVERS, NAMES]);
        Ok(Counter {
            bpftrace: Some(started.map_err(|why| refusal(&why))?),
            counted: Maps::default(),
            troubles,
        })
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        match self.bpftrace.take().map(Bpftrace::finish) {
            Some(Ok(counted)) => self.counted = counted,
            Some(Err(why)) => self.troubles.push(format!("Nothing is counted: {why}.")),
            None => {}
        }
    }

    /// The requests of the traced processes, of kernel threads and of interrupts.
    pub fn finish(mut self, traced: &Traced) -> KernelCounts {
        self.stop();
        if self.counted.is_full(COUNTS) {
            let full = "The table of counts was full: some requests are not counted.";
            self.troubles.push(full.to_owned());
        }
        let mut all = rows(&self.counted);
        all.retain(|(key, _)| key.context != PROCESS || traced.has(key.pid));
        drop_wrapped(&mut all);
        // An interrupt has the name of what it interrupts.
        let names = self.counted.texts(NAMES).filter(|(pid, _)| *pid != 0);
        let names: HashMap<u32, &str> = names.map(|(pid, name)| (pid as u32, name)).collect();
        let mut symbols = Symbols::read();
        if let Err(why) = &symbols {
            let trouble = format!("The callers of requests and hashes are not known, and copies are not counted: {why}.");
            self.troubles.push(trouble);
        }
        let mut rows = Rows::default();
        for (key, sum) in all {
            let caller = symbols.as_mut().ok();
            let caller = caller.and_then(|symbols| caller::of(symbols, key.caller));
            let name = traced.name(key.pid);
            let name = name.or_else(|| names.get(&key.pid).map(clean));
            rows.add(on_behalf(&key, name), caller, &key, &sum);
        }
        let drivers = drivers::read(&Root::machine());
        rows.counts(drivers, self.troubles)
    }
}

fn on_behalf(key: &Key, name: Option<String>) -> OnBehalf {
    let context = match key.context {
        INTERRUPT => Context::Interrupt,
        KERNEL_THREAD => Context::KernelThread,
        _ => Context::Process,
    };
    OnBehalf {
        context,
        pid: (key.pid != 0).then_some(key.pid),
        name: name.filter(|_| key.pid != 0),
    }
}

/// The rows of bpftrace's maps.
fn rows(maps: &Maps) -> Vec<(Key, Sum)> {
    let drivers: HashMap<u64, String> = maps
        .texts(DRIVERS)
        .map(|(address, name)| (address, clean(name)))
        .collect();
    let all = maps.sums(COUNTS).into_iter();
    let row = |(numbers, _, sum): ([u64; 7], String, Sum)| {
        let [probe, pid, context, mark, caller, bits, algorithm] = numbers;
        let key = Key {
            probe: probe as usize,
            pid: pid as u32,
            context,
            mark,
            caller,
            bits,
            driver: drivers.get(&algorithm).cloned().unwrap_or_default(),
        };
        (key, sum)
    };
    all.map(row).collect()
}

type RequestsKey = (OnBehalf, Entry, Option<Caller>, String, Operation, bool);

/// Rows of the result, from entries that have one size class each.
#[derive(Default)]
struct Rows {
    requests: BTreeMap<RequestsKey, Requests>,
    messages: BTreeMap<(OnBehalf, Message), Transfers<Message>>,
    copies: BTreeMap<(OnBehalf, Copied), Transfers<Copied>>,
}

impl Rows {
    fn add(&mut self, on_behalf: OnBehalf, caller: Option<Caller>, key: &Key, sum: &Sum) {
        let Some((_, _, kind)) = PROBES.get(key.probe) else {
            return;
        };
        match *kind {
            Kind::Skcipher { encrypts } | Kind::Aead { encrypts } => {
                let operation = match encrypts {
                    true => Operation::Encrypt,
                    false => Operation::Decrypt,
                };
                self.request(on_behalf, caller, operation, key, sum);
            }
            Kind::Ahash | Kind::Shash => {
                // The request that led to it has been counted.
                let is_part = caller::is_unknown_or_hash(caller.as_ref());
                if !(*kind == Kind::Shash && is_part) && belongs_to_aes(key) {
                    self.request(on_behalf, caller, Operation::Hash, key, sum);
                }
            }
            // Other parts of the kernel copy, too.
            Kind::Copy if !caller::transfers(caller.as_ref()) => {}
            Kind::Copy => {
                let kind = match key.mark {
                    0 => Copied::In,
                    _ => Copied::Out,
                };
                let row = self.copies.entry((on_behalf.clone(), kind));
                transfer(row.or_insert_with(|| empty(on_behalf, kind)), key, sum);
            }
            Kind::Message { is_sent } => {
                let kind = match (is_sent, key.mark) {
                    (false, _) => Message::Received,
                    (true, 0) => Message::Sent,
                    (true, _) => Message::Spliced,
                };
                let row = self.messages.entry((on_behalf.clone(), kind));
                transfer(row.or_insert_with(|| empty(on_behalf, kind)), key, sum);
            }
        }
    }

    fn request(
        &mut self,
        on_behalf: OnBehalf,
        caller: Option<Caller>,
        operation: Operation,
        key: &Key,
        sum: &Sum,
    ) {
        let (driver, inside) = (key.driver.clone(), key.mark != 0);
        let entry = caller::entry(caller.as_ref());
        let of = (on_behalf, entry, caller, driver, operation, inside);
        let row = self.requests.entry(of.clone()).or_insert_with(|| Requests {
            on_behalf: of.0,
            entry: of.1,
            caller: of.2,
            driver: of.3,
            operation: of.4,
            inside: of.5,
            calls: 0,
            bytes: 0,
            sizes: Vec::new(),
        });
        count(&mut row.calls, &mut row.bytes, &mut row.sizes, key, sum);
    }

    fn counts(self, drivers: Option<Vec<Driver>>, troubles: Vec<String>) -> KernelCounts {
        let mut requests: Vec<Requests> = self.requests.into_values().collect();
        requests.sort_by_key(|row| std::cmp::Reverse((row.bytes, row.calls)));
        KernelCounts {
            drivers: drivers.map(|drivers| chosen(&drivers, &requests)),
            requests,
            messages: self.messages.into_values().collect(),
            copies: self.copies.into_values().collect(),
            troubles,
        }
    }
}

/// Drops the requests by which the asynchronous interface of hashes serves one of the same driver.
/// The call may be the last of a function, whose caller then seems to make it.
fn drop_wrapped(all: &mut Vec<(Key, Sum)>) {
    let kind = |key: &Key| PROBES.get(key.probe).map(|(_, _, kind)| *kind);
    let of = |key: &Key| (key.context, key.pid, key.driver.clone());
    let outer = all.iter().map(|(key, _)| key);
    let outer = outer.filter(|key| kind(key) == Some(Kind::Ahash));
    let outer: HashSet<_> = outer.map(of).collect();
    all.retain(|(key, _)| {
        kind(key) != Some(Kind::Shash) || key.mark == 0 || !outer.contains(&of(key))
    });
}

/// Whether a hash computes AES or belongs to a mode of AES, or is part of a request that may be one
/// of AES: HMAC in a mode for IPsec.
fn belongs_to_aes(key: &Key) -> bool {
    let is_known = |name: &&str| key.driver.contains(*name);
    key.mark != 0 || ["aes", "ghash", "polyval"].iter().any(is_known)
}

/// The drivers that the kernel has selected, and those that served requests. They come by
/// algorithm, as `status` has them.
fn chosen(drivers: &[Driver], requests: &[Requests]) -> Vec<Chosen> {
    let mut all: Vec<Chosen> = Vec::new();
    for driver in drivers {
        if all.last().map(|last| &last.algorithm) != Some(&driver.algorithm) {
            all.push(Chosen {
                algorithm: driver.algorithm.clone(),
                selected: None,
                executed: Vec::new(),
            });
        }
        let Some(last) = all.last_mut() else { continue };
        if driver.selected {
            last.selected = Some(driver.driver.clone());
        }
        if requests.iter().any(|row| row.driver == driver.driver) {
            last.executed.push(driver.driver.clone());
        }
    }
    all
}

fn empty<Kind: serde::Serialize>(on_behalf: OnBehalf, kind: Kind) -> Transfers<Kind> {
    Transfers {
        on_behalf,
        kind,
        calls: 0,
        bytes: 0,
        sizes: Vec::new(),
    }
}

fn transfer<Kind: serde::Serialize>(row: &mut Transfers<Kind>, key: &Key, sum: &Sum) {
    count(&mut row.calls, &mut row.bytes, &mut row.sizes, key, sum);
}

fn count(calls: &mut u64, bytes: &mut u64, sizes: &mut Vec<SizeClass>, key: &Key, sum: &Sum) {
    *calls = calls.saturating_add(sum.calls);
    *bytes = bytes.saturating_add(sum.bytes);
    SizeClass::add(sizes, key.bits, sum.calls, sum.bytes);
}

/// Fails with all that this kernel lacks.
pub fn able() -> Result<()> {
    const NEEDED: [(&str, &str); 2] = [
        (
            "/sys/bus/event_source/devices/kprobe/type",
            "it has no kprobes (CONFIG_KPROBE_EVENTS)",
        ),
        (
            "/sys/kernel/btf/vmlinux",
            "it does not describe its structures (CONFIG_DEBUG_INFO_BTF)",
        ),
    ];
    let lacking = NEEDED.into_iter();
    let lacking = lacking.filter(|(file, _)| !Root::machine().exists(file));
    let mut why: Vec<String> = lacking
        .map(|(file, why)| format!("{file} is missing: {why}"))
        .collect();
    why.extend(bpftrace::able().err());
    match why.is_empty() {
        true => Ok(()),
        false => Err(refusal(&why.join("; "))),
    }
}

fn refusal(why: &str) -> Error {
    Error::failure(format!("cannot count in this kernel: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_that_serves_one_of_the_same_driver_is_no_request() {
        let entry = |function: &str, driver: &str, mark| {
            let probe = PROBES.iter().position(|(name, ..)| *name == function);
            let key = Key {
                probe: probe.unwrap(),
                pid: 7,
                mark,
                driver: driver.to_owned(),
                ..Key::default()
            };
            (key, Sum::default())
        };
        let outer = entry("crypto_ahash_digest", "one", 0);
        let (wrapped, alone) = (
            entry("crypto_shash_digest", "one", 1),
            entry("crypto_shash_digest", "one", 0),
        );
        let other = entry("crypto_shash_update", "two", 1);
        let mut all = vec![outer.clone(), wrapped, alone.clone(), other.clone()];
        drop_wrapped(&mut all);
        assert_eq!(all, [outer, alone, other]);
    }

    #[test]
    fn drivers_that_are_selected_and_executed() {
        let driver = |algorithm: &str, name: &str, selected| Driver {
            algorithm: algorithm.to_owned(),
            driver: name.to_owned(),
            module: "kernel".to_owned(),
            priority: 100,
            selftest: "passed".to_owned(),
            refcnt: 1,
            selected,
        };
        let drivers = [
            driver("cbc(aes)", "cbc-wide", true),
            driver("cbc(aes)", "cbc-old", false),
            driver("xts(aes)", "xts-wide", true),
            driver("xts(aes)", "xts-old", false),
            driver("ecb(aes)", "ecb-failed", false),
        ];
        let request = |driver: &str| Requests {
            on_behalf: OnBehalf {
                context: Context::Process,
                pid: Some(7),
                name: None,
            },
            entry: Entry::AfAlg,
            caller: None,
            driver: driver.to_owned(),
            operation: Operation::Encrypt,
            inside: false,
            calls: 1,
            bytes: 16,
            sizes: Vec::new(),
        };
        // A user that asked before a better driver came keeps the old one.
        let requests = [request("cbc-wide"), request("xts-old"), request("__inner")];
        let all = chosen(&drivers, &requests);
        let row = |algorithm: &str, selected: Option<&str>, executed: &[&str]| Chosen {
            algorithm: algorithm.to_owned(),
            selected: selected.map(str::to_owned),
            executed: executed.iter().map(|&name| name.to_owned()).collect(),
        };
        let expected = [
            row("cbc(aes)", Some("cbc-wide"), &["cbc-wide"]),
            row("xts(aes)", Some("xts-wide"), &["xts-old"]),
            row("ecb(aes)", None, &[]),
        ];
        assert_eq!(all, expected);
    }
}
