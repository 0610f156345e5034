// SPDX-License-Identifier: BSD-2-Clause
//! What every command writes with --json: docs/schema/tenrounds-1.schema.json.

use serde::Serialize;
use std::collections::BTreeMap;

/// The name and version of the schema. A field added keeps it; a field changed or removed does not.
pub const SCHEMA: &str = "tenrounds-1";

/// One document: the host, measurements, and what the command has to say besides.
#[derive(Debug, Serialize)]
pub struct Document<B: Serialize> {
    pub schema: &'static str,
    /// The version of the tool.
    pub version: &'static str,
    pub command: &'static str,
    pub host: Host,
    /// Measurements; empty for commands that measure nothing.
    pub results: Vec<Measurement>,
    /// The command's own objects.
    #[serde(flatten)]
    pub body: B,
}

impl<B: Serialize> Document<B> {
    pub fn new(command: &'static str, host: Host, results: Vec<Measurement>, body: B) -> Self {
        Document {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            command,
            host,
            results,
            body,
        }
    }

    /// The document as indented JSON with a final newline.
    pub fn to_json(&self) -> String {
        let mut json = serde_json::to_string_pretty(self).expect("plain data serialises");
        json.push('\n');
        json
    }

    /// The document as one line.
    pub fn to_line(&self) -> String {
        let mut json = serde_json::to_string(self).expect("plain data serialises");
        json.push('\n');
        json
    }
}

/// The machine a document comes from. null: could not be read.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    pub cpu: Cpu,
    /// The revision of the microcode, "0x...".
    pub microcode: Option<String>,
    /// The frequency governor of processor 0.
    pub governor: Option<String>,
    /// The hypervisor's name; null on bare metal.
    pub hypervisor: Option<String>,
    pub os: Option<String>,
    pub kernel: String,
    pub openssl: Option<OpenSsl>,
    /// The masks in force, by variable; empty if none is.
    pub masks: BTreeMap<String, Mask>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Cpu {
    pub vendor: String,
    pub brand: String,
    pub family: u16,
    pub model: u16,
    pub stepping: u8,
    /// Logical processors that this process may use.
    pub threads: usize,
}

/// The system's libcrypto.
#[derive(Debug, Clone, Serialize)]
pub struct OpenSsl {
    pub version: String,
    pub library: String,
    pub modules: Option<String>,
    /// What it says about the processor: "OPENSSL_ia32cap=...".
    pub cpu_settings: Option<String>,
    /// The features that its own code sees, after masks.
    pub sees: Vec<&'static str>,
}

/// One mask.
#[derive(Debug, Clone, Serialize)]
pub struct Mask {
    /// The variable's value.
    pub value: String,
    /// The same as hexadecimal bits.
    pub hex: String,
    /// The features that it removes.
    pub removes: Vec<String>,
}

/// One figure of speed or compare.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    pub algorithm: String,
    /// "encrypt" or "decrypt".
    pub direction: &'static str,
    /// Whose code: "tenrounds", "openssl", "software", "limit", ...
    pub implementation: String,
    /// The backend that executed; null where the implementation has none.
    pub backend: Option<String>,
    pub threads: usize,
    /// Bytes of one call.
    pub bytes: usize,
    /// The median over the windows.
    pub bytes_per_second: f64,
    /// Half of the 95 % confidence interval of the median, as a fraction of the median.
    pub spread: f64,
    /// The CPU time of a call in user space and in the kernel.
    pub user_ns: Option<f64>,
    pub system_ns: Option<f64>,
    /// The fraction of the limit measured in the same run; null where there is none.
    pub limit_fraction: Option<f64>,
    /// The median of paired ratios to other implementations.
    pub ratio_to: BTreeMap<String, f64>,
    /// Several threads against one, where that was measured.
    pub scaling: Option<Scaling>,
}

/// What threads reach together, paired with one thread in the same rounds.
#[derive(Debug, Clone, Serialize)]
pub struct Scaling {
    /// How many times one thread's rate.
    pub times_one: f64,
    pub spread: f64,
    /// That, for each thread.
    pub efficiency: f64,
}
