// SPDX-License-Identifier: BSD-2-Clause
//! A run as the reports need it, and how it was measured.

use crate::answer::{Missing, Noise};
use crate::goals::Goals;
use crate::results::Results;
use crate::run::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Just measured, or read from a published file.
pub struct Run {
    /// Of tenrounds.
    pub version: String,
    /// The commit that was measured, where it is known.
    pub commit: Option<String>,
    pub date: String,
    pub seed: u64,
    pub quick: bool,
    pub host: Host,
    pub effort: Effort,
    pub absent: Vec<Missing>,
    pub wrong: Vec<Fault>,
    pub limits: Vec<Probed>,
    pub results: Results,
    pub goals: Goals,
}

/// The machine. Fields that no report shows are kept as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Host {
    pub cpu: Cpu,
    pub microcode: Option<String>,
    pub governor: Option<String>,
    pub hypervisor: Option<String>,
    pub os: Option<String>,
    pub kernel: String,
    #[serde(flatten)]
    more: serde_json::Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    pub vendor: String,
    pub brand: String,
    pub family: u16,
    pub model: u16,
    pub stepping: u8,
    pub threads: usize,
}

impl Host {
    pub fn of(host: &machine::schema::Host) -> Host {
        let value = serde_json::to_value(host).expect("plain data serialises");
        serde_json::from_value(value).expect("these are its fields")
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effort {
    /// Of each cell, all processes together.
    pub rounds: usize,
    pub processes: usize,
    pub window_us: u64,
    pub seconds: f64,
    /// Windows that were repeated because wall clock and CPU time disagreed.
    pub repeated: usize,
    /// Windows that count although they did, for want of better ones.
    pub doubtful: usize,
    /// What the noise probe found; absent in runs before there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
}

/// A figure of the limit probe by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Probed {
    pub name: String,
    pub what: String,
    pub bytes_per_second: f64,
    pub spread: f64,
}
