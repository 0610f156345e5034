// SPDX-License-Identifier: BSD-2-Clause
//! Traces for tests.

use crate::trace::bpftrace::Sum;
use crate::trace::result::{
    Caller, Context, Counted, Counts, Entry, Evidence, Finding, KernelCounts, Module, ModuleKind,
    OnBehalf, Operation, Place, Process, Request, Requests, Sums, Trace, Transfer, Transfers,
};
use classify::hot::{Confidence, Work};

pub fn finding(work: Work, samples: u64) -> Finding {
    Finding {
        work,
        confidence: Confidence::Certain,
        mode: Some("gcm"),
        module: Module::plain(
            ModuleKind::File,
            Some("/usr/lib/libexample.so.1".to_owned()),
        ),
        samples,
        share: samples as f64 / 100.0,
        threads: 2,
        places: vec![Place {
            function: Some("encrypt".to_owned()),
            address: 0x1000,
            samples,
        }],
        evidence: Evidence {
            address: 0x1010,
            start: 0x1000,
            end: 0x1020,
            table: None,
        },
        reach: crate::scan::Reach::Unknown,
        with_tenrounds: None,
    }
}

pub fn process(pid: u32, name: &str, findings: Vec<Finding>) -> Process {
    let aes = findings.iter().filter(|it| it.work.is_aes());
    let aes_samples: u64 = aes.map(|it| it.samples).sum();
    Process {
        pid,
        name: name.to_owned(),
        samples: 100,
        kernel_samples: 0,
        threads: 2,
        aes_share: aes_samples as f64 / 100.0,
        aes_samples,
        findings,
    }
}

pub fn trace(processes: Vec<Process>) -> Trace {
    Trace {
        verdict: vec!["A verdict.".to_owned()],
        seconds: 2.0,
        rate: 100,
        samples: 100 * processes.len() as u64,
        kernel_samples: None,
        lost: 0,
        aes_share: 0.25,
        machine_share: 0.1,
        unseen_below: None,
        unclear_samples: 0,
        processes,
        troubles: Vec::new(),
        counts: None,
        kernel: None,
    }
}

pub fn sums() -> Sums {
    let mut sums = Sums::default();
    for (bits, calls, bytes) in [(0, 1, 0), (5, 9, 160)] {
        sums.add(bits, Sum { calls, bytes });
    }
    sums
}

/// Counts in user space of process 7.
pub fn counts() -> Counts {
    Counts {
        functions: 3,
        calls: vec![Counted {
            pid: 7,
            name: Some("one".to_owned()),
            file: "/usr/lib/libexample.so.1".to_owned(),
            function: "EVP_EncryptUpdate",
            algorithm: Some("aes-128-gcm".to_owned()),
            sums: Sums {
                calls: 51_403,
                bytes: 842_186_752,
                ..sums()
            },
            in_place: 5,
            without_output: 0,
        }],
        troubles: vec!["A trouble.".to_owned()],
    }
}

/// Counts of all kinds, by process 7, a kernel thread and an interrupt.
pub fn kernel_counts() -> KernelCounts {
    let who = |context, pid| OnBehalf {
        context,
        pid,
        name: pid.map(|_| "one".to_owned()),
    };
    let program = || who(Context::Process, Some(7));
    let request = |on_behalf, entry, operation, inside| Requests {
        request: Request {
            on_behalf,
            entry,
            caller: Some(Caller {
                function: "crypt".to_owned(),
                module: "kernel".to_owned(),
            }),
            driver: "cbc-old".to_owned(),
            operation,
            inside,
        },
        sums: sums(),
    };
    let transfer = |kind| Transfers {
        on_behalf: program(),
        kind,
        sums: sums(),
    };
    let (thread, interrupt) = (
        || who(Context::KernelThread, Some(2)),
        || who(Context::Interrupt, None),
    );
    let mut requests = vec![
        request(program(), Entry::AfAlg, Operation::Encrypt, false),
        request(program(), Entry::Ktls, Operation::Decrypt, true),
        request(thread(), Entry::DmCrypt, Operation::Encrypt, false),
        request(interrupt(), Entry::Ipsec, Operation::Decrypt, false),
        request(interrupt(), Entry::Other, Operation::Decrypt, false),
    ];
    requests[4].request.caller = None;
    let messages = [Transfer::Sent, Transfer::Spliced, Transfer::Received];
    KernelCounts {
        requests,
        messages: messages.map(transfer).into(),
        copies: [Transfer::In, Transfer::Out].map(transfer).into(),
        troubles: vec!["A trouble.".to_owned()],
    }
}
