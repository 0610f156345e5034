// SPDX-License-Identifier: BSD-2-Clause
//! What a trace found, as its JSON document has it.

use super::bpftrace::Sum;
use crate::scan::Reach;
use classify::hot::{Confidence, Work};
use classify::{Library, Table};
use serde::Serialize;

/// The object `trace` of the JSON document.
#[derive(Debug, Default, Serialize)]
pub struct Trace {
    /// The first lines of the text.
    pub verdict: Vec<String>,
    /// The duration of sampling.
    pub seconds: f64,
    /// Samples a second that were asked for, on each processor that works.
    pub rate: u32,
    /// Samples that were taken.
    pub samples: u64,
    /// Those in the kernel; null if the kernel's code is not visible to this user.
    pub kernel_samples: Option<u64>,
    /// Samples that the kernel dropped because the ring buffer was full.
    pub lost: u64,
    /// The fraction of all samples in AES code.
    pub aes_share: f64,
    /// The same of the time of all processors, also of the time in which they idle.
    pub machine_share: f64,
    /// AES instructions, byte shuffles and tables that were seen in no sample take less than this
    /// fraction of the time, with 95 % confidence.
    pub unseen_below: Option<f64>,
    /// Samples in code that can be AES without being recognised.
    pub unclear_samples: u64,
    /// Those with samples, the most AES first.
    pub processes: Vec<Process>,
    /// What could not be traced or read, and why.
    pub troubles: Vec<String>,
    /// null without --count.
    pub counts: Option<Counts>,
    /// null without --kernel.
    pub kernel: Option<KernelCounts>,
}

impl Trace {
    /// Those of all processes.
    pub fn findings(&self) -> impl Iterator<Item = (&Process, &Finding)> {
        self.processes.iter().flat_map(|process| {
            let findings = process.findings.iter();
            findings.map(move |finding| (process, finding))
        })
    }
}

/// Exact counts of what the kernel's ciphers do, and of what AF_ALG costs.
#[derive(Debug, Serialize)]
pub struct KernelCounts {
    /// The most bytes first.
    pub requests: Vec<Requests>,
    /// Messages to and from sockets of AF_ALG.
    pub messages: Vec<Transfers>,
    /// Copies between a program's memory and the kernel's for AF_ALG.
    pub copies: Vec<Transfers>,
    /// What was not counted, or is not known.
    pub troubles: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Requests {
    #[serde(flatten)]
    pub request: Request,
    /// Without additional data; of decryption, with the tag.
    #[serde(flatten)]
    pub sums: Sums,
}

/// Requests to one driver, through one function of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Request {
    #[serde(flatten)]
    pub on_behalf: OnBehalf,
    pub entry: Entry,
    /// The function that made the requests, and its module; null if it is not known.
    pub caller: Option<Caller>,
    pub driver: String,
    pub operation: Operation,
    /// Whether the driver of another request made them, to serve that one.
    pub inside: bool,
}

/// Messages, or copies.
#[derive(Debug, Serialize)]
pub struct Transfers {
    #[serde(flatten)]
    pub on_behalf: OnBehalf,
    pub kind: Transfer,
    #[serde(flatten)]
    pub sums: Sums,
}

/// Who runs the kernel's code.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct OnBehalf {
    pub context: Context,
    /// null for interrupts, and for kernel threads if the trace is inside a PID namespace.
    pub pid: Option<u32>,
    pub name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Context {
    Process,
    KernelThread,
    Interrupt,
}

/// The part of the kernel that makes requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Entry {
    AfAlg,
    DmCrypt,
    Ipsec,
    Ktls,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Caller {
    pub function: String,
    /// "kernel", or the name of a module.
    pub module: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    Encrypt,
    Decrypt,
}

/// A message, or the direction of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    Sent,
    /// Sent with references to pages (splice(2) since Linux 6.5).
    Spliced,
    /// The bytes are the room for the answer.
    Received,
    In,
    Out,
}

/// Exact calls and bytes of the functions that encrypt and decrypt.
#[derive(Debug, Serialize)]
pub struct Counts {
    /// Functions that were counted, in all files.
    pub functions: usize,
    /// The most bytes first.
    pub calls: Vec<Counted>,
    /// What was not counted, or not from the start.
    pub troubles: Vec<String>,
}

/// The calls of one function in one file by one process, with one algorithm.
#[derive(Debug, Serialize)]
pub struct Counted {
    pub pid: u32,
    /// null if the process has ended and was not seen.
    pub name: Option<String>,
    pub file: String,
    pub function: &'static str,
    /// As OpenSSL calls it, perhaps without the size of the key; null if the call does not show it.
    pub algorithm: Option<String>,
    /// The lengths are those of the input.
    #[serde(flatten)]
    pub sums: Sums,
    /// Calls whose output is also their input.
    pub in_place: u64,
    /// Calls without an output: additional data, or a question for a length.
    pub without_output: u64,
}

/// Calls, and the sum of their lengths.
#[derive(Debug, Default, Serialize)]
pub struct Sums {
    pub calls: u64,
    pub bytes: u64,
    /// The smallest first.
    pub sizes: Vec<SizeClass>,
}

/// Calls by their length.
#[derive(Debug, Serialize)]
pub struct SizeClass {
    pub from: u64,
    pub to: u64,
    pub calls: u64,
    pub bytes: u64,
}

impl Sums {
    /// Adds calls whose lengths have so many bits. The traced program chooses the lengths.
    pub fn add(&mut self, bits: u64, sum: Sum) {
        let (from, to) = match bits {
            0 => (0, 0),
            bits @ 1..=63 => (1 << (bits - 1), (1 << bits) - 1),
            _ => (1 << 63, u64::MAX),
        };
        let at = self.sizes.partition_point(|class| class.from < from);
        if self.sizes.get(at).is_none_or(|class| class.from != from) {
            let (calls, bytes) = (0, 0);
            let class = SizeClass {
                from,
                to,
                calls,
                bytes,
            };
            self.sizes.insert(at, class);
        }
        let class = &mut self.sizes[at];
        for (calls, bytes) in [
            (&mut self.calls, &mut self.bytes),
            (&mut class.calls, &mut class.bytes),
        ] {
            *calls = calls.saturating_add(sum.calls);
            *bytes = bytes.saturating_add(sum.bytes);
        }
    }
}

/// A process, from its start or exec to its end or next exec.
#[derive(Debug, Serialize)]
pub struct Process {
    pub pid: u32,
    pub name: String,
    pub samples: u64,
    pub kernel_samples: u64,
    /// Threads with samples.
    pub threads: usize,
    /// The fraction of its samples in AES code, with GHASH in files whose AES code was seen.
    pub aes_share: f64,
    #[serde(skip)]
    pub aes_samples: u64,
    /// The most samples first.
    pub findings: Vec<Finding>,
}

/// One kind of work in one file, or in memory without a file.
#[derive(Debug, Serialize)]
pub struct Finding {
    pub work: Work,
    pub confidence: Confidence,
    /// Lower-case, as in the catalogue; null if it cannot be told.
    pub mode: Option<&'static str>,
    pub module: Module,
    pub samples: u64,
    /// The fraction of its process' samples.
    pub share: f64,
    pub threads: usize,
    /// The functions, the most samples first.
    pub places: Vec<Place>,
    pub evidence: Evidence,
    pub reach: Reach,
    /// What tenrounds would make of it, in words; null where it is not needed or not known.
    pub with_tenrounds: Option<String>,
}

/// Where code is.
#[derive(Debug, Clone, Serialize)]
pub struct Module {
    pub kind: ModuleKind,
    /// Of the kernel, "kernel" or the name of a module. null for code without a file.
    pub path: Option<String>,
    pub build_id: Option<String>,
    pub library: Option<Library>,
}

impl Module {
    /// Nothing more is known about it.
    pub fn plain(kind: ModuleKind, path: Option<String>) -> Module {
        Module {
            kind,
            path,
            build_id: None,
            library: None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleKind {
    File,
    /// It was deleted or replaced since it was mapped.
    Deleted,
    /// A file that exists only in memory (memfd_create).
    Memory,
    /// Memory without a file, as a just-in-time compiler writes it.
    WrittenAtRunTime,
    /// The kernel, or a module of it.
    Kernel,
}

/// A function, or a place outside of known functions.
#[derive(Debug, Clone, Serialize)]
pub struct Place {
    pub function: Option<String>,
    /// Of the function, or of the sampled instruction if the bounds of the function are unknown:
    /// before relocation, as objdump shows it. In memory without a file, the address.
    pub address: u64,
    pub samples: u64,
}

/// Why the code is what it is said to be: one sample, and the code around it.
#[derive(Debug, Clone, Serialize)]
pub struct Evidence {
    /// The sampled instruction.
    pub address: u64,
    /// The loop or stretch of code that decided.
    pub start: u64,
    pub end: u64,
    /// The table that is used, at its address in the process.
    pub table: Option<Table>,
}
