// SPDX-License-Identifier: BSD-2-Clause
//! `trace --kernel`: exact counts of the requests to the kernel's ciphers, and of the messages and
//! copies that AF_ALG costs, by bpftrace's probes at functions of the kernel.

mod caller;
mod script;

use super::bpftrace::{self, Bpftrace};
use super::result::{
    Context, KernelCounts, OnBehalf, Operation, Request, Requests, Sums, Transfer, Transfers,
};
use super::target::kernel::Symbols;
use super::traced::Traced;
use base::root::Root;
use script::{COPIES, COUNTS, DRIVERS, INTERRUPT, KERNEL_THREAD, NAMES, PROBES, RECEIVES, SENDS};
use std::collections::{BTreeMap, HashMap};
use terminal::error::{Error, Result};
use terminal::output;
use terminal::style::{clean, item};

/// Counts requests in the whole kernel.
pub struct Counter {
    bpftrace: Bpftrace,
    symbols: Symbols,
    troubles: Vec<String>,
}

impl Counter {
    /// Says what counting costs, and puts the probes, which all requests pay for.
    pub fn start() -> Result<Counter> {
        able()?;
        let text = "Counting requests to the kernel's ciphers. Until the trace ends, these requests, messages of sockets, and copies between user space and the kernel take longer, in all processes.";
        output::err(item("", text));
        let symbols = Symbols::read().map_err(|why| refusal(&why))?;
        let (probes, missing): (Vec<usize>, Vec<usize>) =
            (0..PROBES.len()).partition(|index| symbols.has(PROBES[*index]));
        let missing = missing.into_iter().map(|index| PROBES[index]);
        let troubles = missing
            .map(|name| format!("{name} not counted: this kernel has no such function"))
            .collect();
        let started = Bpftrace::start(&script::script(&probes), &[COUNTS, DRIVERS, NAMES]);
        Ok(Counter {
            bpftrace: started.map_err(|why| refusal(&why))?,
            symbols,
            troubles,
        })
    }

    /// Ends counting.
    pub fn stop(&mut self) {
        self.bpftrace.stop();
    }

    /// The requests of the traced processes, of kernel threads and of interrupts.
    pub fn finish(mut self, traced: &Traced) -> KernelCounts {
        let counted = self.bpftrace.finish(&mut self.troubles);
        self.symbols.refresh();
        if counted.is_full(COUNTS) {
            let full = "The table of counts was full: some requests are not counted.";
            self.troubles.push(full.to_owned());
        }
        let drivers: HashMap<u64, &str> = counted.texts(DRIVERS).collect();
        let names: HashMap<u64, &str> = counted.texts(NAMES).collect();
        let mut requests: BTreeMap<Request, Sums> = BTreeMap::new();
        let mut transfers: BTreeMap<(OnBehalf, Transfer), Sums> = BTreeMap::new();
        for (numbers, sum) in counted.sums(COUNTS) {
            let [probe, pid, context, mark, caller, bits, algorithm] = numbers;
            let name = names.get(&pid).copied();
            let (Some(on_behalf), Some(function)) = (
                on_behalf(context, pid as u32, name, traced),
                PROBES.get(probe as usize),
            ) else {
                continue;
            };
            let caller = caller::of(&mut self.symbols, caller);
            let transfer = match *function {
                // Other parts of the kernel copy, too.
                COPIES if !caller::transfers(caller.as_ref()) => continue,
                COPIES if mark == 0 => Transfer::In,
                COPIES => Transfer::Out,
                RECEIVES => Transfer::Received,
                SENDS if mark == 0 => Transfer::Sent,
                SENDS => Transfer::Spliced,
                request => {
                    let request = Request {
                        on_behalf,
                        entry: caller::entry(caller.as_ref()),
                        caller,
                        driver: drivers.get(&algorithm).map(clean).unwrap_or_default(),
                        operation: match request.ends_with("encrypt") {
                            true => Operation::Encrypt,
                            false => Operation::Decrypt,
                        },
                        inside: mark != 0,
                    };
                    requests.entry(request).or_default().add(bits, sum);
                    continue;
                }
            };
            let sums = transfers.entry((on_behalf, transfer)).or_default();
            sums.add(bits, sum);
        }
        counts(requests, transfers, self.troubles)
    }
}

/// Who ran the kernel's code; None for a process that is not traced. An interrupt has the name of
/// what it interrupts, and so none here.
fn on_behalf(context: u64, pid: u32, name: Option<&str>, traced: &Traced) -> Option<OnBehalf> {
    let context = match context {
        INTERRUPT => Context::Interrupt,
        KERNEL_THREAD => Context::KernelThread,
        _ if traced.has(pid) => Context::Process,
        _ => return None,
    };
    let name = || traced.name(pid).or_else(|| name.map(clean));
    Some(OnBehalf {
        context,
        pid: (pid != 0).then_some(pid),
        name: (pid != 0).then(name).flatten(),
    })
}

fn counts(
    requests: BTreeMap<Request, Sums>,
    transfers: BTreeMap<(OnBehalf, Transfer), Sums>,
    troubles: Vec<String>,
) -> KernelCounts {
    let requests = requests.into_iter();
    let mut requests: Vec<Requests> = requests
        .map(|(request, sums)| Requests { request, sums })
        .collect();
    requests.sort_by_key(|row| std::cmp::Reverse((row.sums.bytes, row.sums.calls)));
    let transfers = transfers.into_iter();
    let transfers = transfers.map(|((on_behalf, kind), sums)| Transfers {
        on_behalf,
        kind,
        sums,
    });
    let is_copy = |row: &Transfers| matches!(row.kind, Transfer::In | Transfer::Out);
    let (copies, messages) = transfers.partition(is_copy);
    KernelCounts {
        requests,
        messages,
        copies,
        troubles,
    }
}

/// Fails with all that this kernel lacks.
fn able() -> Result<()> {
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
