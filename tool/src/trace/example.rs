// SPDX-License-Identifier: BSD-2-Clause
//! Traces for tests.

use super::result::{Evidence, Finding, Module, ModuleKind, Place, Process, Trace};
use classify::hot::{Confidence, Work};

pub fn finding(work: Work, samples: u64) -> Finding {
    Finding {
        work,
        confidence: Confidence::Certain,
        mode: Some("gcm"),
        module: Module {
            kind: ModuleKind::File,
            path: Some("/usr/lib/libexample.so.1".to_owned()),
            build_id: None,
            library: None,
            package: None,
        },
        samples,
        share: samples as f64 / 100.0,
        threads: 2,
        places: vec![Place {
            callers: None,
            function: Some("encrypt".to_owned()),
            address: 0x1000,
            samples,
        }],
        evidence: Evidence {
            address: 0x1010,
            start: 0x1000,
            end: 0x1020,
            table: None,
            code: Vec::new(),
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
        serial: u64::from(pid),
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
        kernel_copies: None,
        lost: 0,
        aes_share: 0.25,
        unseen_below: None,
        processes,
        troubles: Vec::new(),
        counts: None,
        kernel: None,
    }
}
