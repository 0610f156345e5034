// SPDX-License-Identifier: BSD-2-Clause
//! `trace --kernel`: exact counts of the requests to the kernel's ciphers and hashes, and of the
//! messages and copies that AF_ALG costs, by probes at functions of the kernel.

mod btf;
mod caller;
mod layout;
mod program;

use super::bpf::system::{everybody, is_general, Kind as Probes, Map, Probe};
use super::result::{
    Caller, Chosen, Context, Copied, Entry, KernelCounts, Message, OnBehalf, Operation, Requests,
    SizeClass, Transfers,
};
use super::target::kernel::Symbols;
use crate::error::{Error, Result};
use crate::kernel::drivers::{self, Driver};
use crate::root::Root;
use crate::style::clean;
use layout::Layout;
use program::{Extent, Key, Kind, Setting, Sum, INTERRUPT, KERNEL_THREAD, PROBES};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// Entries of the kernel's map: a process, function, caller, driver and size class each.
const MOST_ENTRIES: u32 = 1 << 14;
/// Threads that make requests.
const MOST_THREADS: u32 = 1 << 16;

/// Counts requests, once `enable` was called.
pub struct Counter {
    layout: Layout,
    sums: Map<Key, Sum>,
    extents: Map<u64, Extent>,
    probes: Vec<Probe>,
    /// The processes whose requests are reported; None for all.
    traced: Option<HashSet<u32>>,
    /// Names of the processes that the trace has seen, the latest of each.
    names: HashMap<u32, String>,
    troubles: Vec<String>,
}

impl Counter {
    /// Counts in the whole kernel. Reports these processes and those that `named` and `forked`
    /// tell, or all.
    pub fn new(traced: Option<&[u32]>) -> Result<Counter> {
        let layout = able()?;
        let sums = Map::new(MOST_ENTRIES).map_err(|error| refusal(&error))?;
        let extents = Map::new(MOST_THREADS).map_err(|error| refusal(&error))?;
        Ok(Counter {
            layout,
            sums,
            extents,
            probes: Vec::new(),
            traced: traced.map(|pids| pids.iter().copied().collect()),
            names: HashMap::new(),
            troubles: Vec::new(),
        })
    }

    /// Puts the probes, which all requests pay for.
    pub fn enable(&mut self) -> Result<()> {
        let setting = Setting {
            layout: self.layout,
            sums: self.sums.descriptor(),
            extents: self.extents.descriptor(),
            whose: everybody(),
        };
        if setting.layout.hashes.is_none() {
            let unknown =
                "Hashes are not counted: this kernel keeps their requests in another way.";
            self.troubles.push(unknown.to_owned());
        }
        (0..PROBES.len()).try_for_each(|index| self.probe(index, &setting))
    }

    /// Probes a function. A function that this kernel lacks is a trouble.
    fn probe(&mut self, index: usize, setting: &Setting) -> Result<()> {
        let name = PROBES[index].0;
        let Some(program) = program::program(index, setting) else {
            return Ok(());
        };
        let is_missing = |error: &io::Error| error.raw_os_error() == Some(libc::ENOENT);
        let probe = match Probe::in_kernel(name, &program) {
            Err(error) if is_missing(&error) => {
                older(name).map_or(Err(error), |older| Probe::in_kernel(older, &program))
            }
            probe => probe,
        };
        match probe {
            Ok(probe) => self.probes.push(probe),
            // Since Linux 6.16 it calls crypto_shash_finup(), in the headers.
            Err(error) if is_missing(&error) && name == "crypto_shash_update" => {}
            Err(error) if is_general(&error) => return Err(refusal(&error)),
            Err(error) => self.troubles.push(match error.raw_os_error() {
                Some(libc::ENOENT) => {
                    format!("{name} not counted: this kernel has no such function")
                }
                _ => format!("{name} not counted: {error}"),
            }),
        }
        Ok(())
    }

    /// A process has this name from now on.
    pub fn named(&mut self, pid: u32, name: &str) {
        self.names.insert(pid, clean(name));
        if let Some(traced) = &mut self.traced {
            traced.insert(pid);
        }
    }

    /// A process that is traced has started another one.
    pub fn forked(&mut self, pid: u32, parent: u32) {
        if let Some(name) = self.names.get(&parent) {
            self.names.insert(pid, name.clone());
        }
        if let Some(traced) = self.traced.as_mut().filter(|all| all.contains(&parent)) {
            traced.insert(pid);
        }
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        self.probes.clear();
    }

    pub fn finish(mut self) -> KernelCounts {
        self.stop();
        let mut all = self.sums.all();
        if all.len() as u32 >= MOST_ENTRIES {
            let full = "The table of counts was full: some requests are not counted.";
            self.troubles.push(full.to_owned());
        }
        if self.extents.all().len() as u32 >= MOST_THREADS {
            let full = "The table of threads was full: some copies are not counted, and some requests that drivers make to serve another one count like others.";
            self.troubles.push(full.to_owned());
        }
        let elsewhere = |key: &Key| key.context == program::PROCESS && key.pid == 0;
        let requests = all
            .iter()
            .filter(|(key, _)| elsewhere(key) && is_request(key));
        let calls = requests.fold(0, |calls: u64, (_, sum)| calls.saturating_add(sum.calls));
        if calls > 0 {
            self.troubles.push(format!(
                "{calls} requests of other PID namespaces are left out: the PIDs of their \
                 processes are not known in this one. Trace from the first PID namespace to see \
                 them."
            ));
        }
        all.retain(|(key, _)| !elsewhere(key));
        if let Some(traced) = &self.traced {
            all.retain(|(key, _)| key.context != program::PROCESS || traced.contains(&key.pid));
        }
        drop_wrapped(&mut all);
        for (key, sum) in all.iter().filter(|(key, _)| key.pid != 0) {
            self.names.entry(key.pid).or_insert_with(|| text(&sum.name));
        }
        let mut symbols = Symbols::read();
        if let Err(why) = &symbols {
            let trouble = format!("The callers of requests and hashes are not known, and copies are not counted: {why}.");
            self.troubles.push(trouble);
        }
        let mut rows = Rows::default();
        for (key, sum) in all {
            let caller = symbols.as_mut().ok();
            let caller = caller.and_then(|symbols| caller::of(symbols, key.caller));
            rows.add(self.on_behalf(&key), caller, &key, &sum);
        }
        let drivers = drivers::read(&Root::machine());
        rows.counts(drivers, self.troubles)
    }

    fn on_behalf(&self, key: &Key) -> OnBehalf {
        let context = match key.context {
            INTERRUPT => Context::Interrupt,
            KERNEL_THREAD => Context::KernelThread,
            _ => Context::Process,
        };
        OnBehalf {
            context,
            // Kernel threads are in the first PID namespace.
            pid: (key.pid != 0).then_some(key.pid),
            name: self.names.get(&key.pid).cloned(),
        }
    }
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
        let Some((_, kind)) = PROBES.get(key.probe as usize) else {
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
        let (driver, inside) = (text(&key.driver.concat()), key.mark != 0);
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
    let kind = |key: &Key| PROBES.get(key.probe as usize).map(|(_, kind)| *kind);
    let of = |key: &Key| (key.context, key.pid, key.driver);
    let outer = all.iter().map(|(key, _)| key);
    let outer = outer.filter(|key| kind(key) == Some(Kind::Ahash));
    let outer: HashSet<_> = outer.map(of).collect();
    all.retain(|(key, _)| {
        kind(key) != Some(Kind::Shash) || key.mark == 0 || !outer.contains(&of(key))
    });
}

/// The function that is called in kernels that have another one in their headers: before Linux 6.7,
/// the update of a hash called that of its driver. This one serves all drivers but those that
/// answer later.
fn older(name: &str) -> Option<&'static str> {
    (name == "crypto_ahash_update").then_some("shash_async_update")
}

/// Whether it is a request of AES or of a hash that belongs to AES, and no part of another one.
fn is_request(key: &Key) -> bool {
    let kind = PROBES.get(key.probe as usize).map(|(_, kind)| *kind);
    match kind {
        Some(Kind::Skcipher { .. } | Kind::Aead { .. }) => key.mark == 0,
        Some(Kind::Ahash | Kind::Shash) => key.mark == 0 && belongs_to_aes(key),
        _ => false,
    }
}

/// Whether a hash computes AES or belongs to a mode of AES, or is part of a request that may be one
/// of AES: HMAC in a mode for IPsec.
fn belongs_to_aes(key: &Key) -> bool {
    let driver = text(&key.driver.concat());
    let is_known = |name: &&str| driver.contains(*name);
    key.mark != 0 || ["aes", "ghash", "polyval"].iter().any(is_known)
}

/// The drivers that the kernel has selected, and those that served requests. They come by
/// algorithm, as `detect` has them.
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

/// A text that zeros follow.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    clean(String::from_utf8_lossy(text))
}

/// The layout of the kernel's structures. Fails with all that this kernel lacks.
fn able() -> Result<Layout> {
    let probes = Probes::Kernel.number().map_err(|_| {
        format!(
            "{} is missing: it has no kprobes (CONFIG_KPROBE_EVENTS)",
            Probes::Kernel.file()
        )
    });
    match (probes, Layout::read()) {
        (Ok(_), Ok(layout)) => Ok(layout),
        (probes, layout) => {
            let why: Vec<String> = probes.err().into_iter().chain(layout.err()).collect();
            Err(Error::failure(format!(
                "cannot count in this kernel: {}",
                why.join("; ")
            )))
        }
    }
}

fn refusal(error: &io::Error) -> Error {
    let why = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "this needs root (CAP_BPF, CAP_PERFMON and CAP_SYS_ADMIN), and a kernel that is not locked down (/sys/kernel/security/lockdown)".to_owned()
        }
        Some(libc::EOPNOTSUPP | libc::ENOSYS) => {
            "it has no BPF for kprobes (CONFIG_BPF_SYSCALL, CONFIG_BPF_EVENTS)".to_owned()
        }
        _ => error.to_string(),
    };
    Error::failure(format!("cannot count in this kernel: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_that_serves_one_of_the_same_driver_is_no_request() {
        let entry = |function: &str, driver: u8, mark| {
            let probe = PROBES.iter().position(|(name, _)| *name == function);
            let key = Key {
                probe: probe.unwrap() as u32,
                pid: 7,
                mark,
                driver: [[driver; 32]; 4],
                ..Key::default()
            };
            (key, Sum::default())
        };
        let outer = entry("crypto_ahash_digest", 1, 0);
        let (wrapped, alone) = (
            entry("crypto_shash_digest", 1, 1),
            entry("crypto_shash_digest", 1, 0),
        );
        let other = entry("crypto_shash_update", 2, 1);
        let mut all = vec![outer, wrapped, alone, other];
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
