// SPDX-License-Identifier: BSD-2-Clause
//! The limit probe by itself, and the bounds of a cell of the grid.

use crate::peer::Spec;
use measure::limit::{self, Limit, Pass, Work};
use measure::stats::Summary;
use measure::window::Pace;
use serde::{Deserialize, Serialize};
use tenrounds_sys::Cpu;
use terminal::error::Result;

/// Which of the two bounds a cell has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    Throughput,
    Latency,
}

/// A single message of a chained mode is bound by latency; all else by throughput.
pub fn bound(spec: Spec) -> Bound {
    use catalogue::Bound::{Latency, LatencyThenThroughput};
    let chained = matches!(
        spec.cipher().bound(spec.direction),
        Latency | LatencyThenThroughput
    );
    match chained && spec.streams == 1 {
        true => Bound::Latency,
        false => Bound::Throughput,
    }
}

/// The rounds of a cell's blocks alone; None without AES instructions.
pub fn work(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let widest = Limit::widest(cpu)?;
    let work = limit::limit(spec.cipher(), spec.direction, spec.streams > 1, widest)?;
    work.runs(cpu).then_some(work)
}

/// The same with the multiplications of the mode's hash.
pub fn ceiling(spec: Spec, cpu: &Cpu) -> Option<Work> {
    let work = limit::ceiling(spec.cipher(), spec.direction, Limit::widest(cpu)?)?;
    work.runs(cpu).then_some(work)
}

/// One figure of the probe.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Figure {
    pub name: String,
    pub what: String,
    pub rates: Vec<f64>,
}

impl Figure {
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(self.rates.iter().copied())
    }
}

/// Bytes of a copy, and where they lie.
const COPIES: [(usize, &str); 3] = [
    (8 << 10, "first-level cache"),
    (128 << 10, "second-level cache"),
    (64 << 20, "memory"),
];

/// Takes windows of all that this processor has.
pub fn probe(windows: usize, window_us: u64) -> Result<Vec<Figure>> {
    let cpu = Cpu::detect();
    let mut figures = Vec::new();
    let mut add = |name: String, what: String, run: &mut dyn FnMut(u64) -> u64| -> Result<()> {
        let mut pace = Pace::default();
        let mut rates = Vec::new();
        for _ in 0..windows {
            let window = pace.warm_window(window_us, &mut |n| Ok(run(n)))?;
            rates.push(window.rate());
        }
        figures.push(Figure { name, what, rates });
        Ok(())
    };
    for on in Limit::usable(&cpu) {
        let what = match on {
            Limit::Chain => "AES rounds, each on the result of the one before".into(),
            _ => format!("independent AES rounds, {} bits", on.register_bytes() * 8),
        };
        let work = Work::round(on);
        add(format!("aes-{}", on.name()), what, &mut |n| work.run(n))?;
    }
    for on in Limit::usable(&cpu) {
        if on.hashes(&cpu) {
            let pass = Pass {
                on,
                rounds: 0,
                hash: true,
            };
            let work = Work(vec![pass]);
            // Three products for each 16 bytes.
            add(
                format!("clmul-{}", on.name()),
                format!(
                    "independent carry-less multiplications, {} bits: bytes of the registers",
                    on.register_bytes() * 8
                ),
                &mut |n| 3 * work.run(n),
            )?;
        }
    }
    if let Some(chain) = limit::clmul_chain(&cpu) {
        add(
            "clmul-chain".into(),
            "carry-less multiplications, each of the result of the one before: bytes of the registers".into(),
            &mut |n| chain(n),
        )?;
    }
    if let Some(width) = Limit::widest(&cpu) {
        for (bytes, place) in COPIES {
            let mut copy = limit::Copy::new(width, bytes);
            add(
                format!("copy-{}", terminal::size_name(bytes).replace(' ', "")),
                format!(
                    "loads and stores of {} bytes, {place}",
                    width.register_bytes()
                ),
                &mut |n| copy.run(n),
            )?;
        }
    }
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::{Direction, Mode};

    fn spec(mode: Mode, direction: Direction, streams: usize) -> Spec {
        Spec {
            mode,
            key_bits: 256,
            direction,
            streams,
            aad: crate::peer::AAD,
        }
    }

    #[test]
    fn chains_are_bound_by_latency() {
        use Direction::{Decrypt, Encrypt};
        assert_eq!(bound(spec(Mode::Cbc, Encrypt, 1)), Bound::Latency);
        assert_eq!(bound(spec(Mode::Cbc, Encrypt, 16)), Bound::Throughput);
        assert_eq!(bound(spec(Mode::Cbc, Decrypt, 1)), Bound::Throughput);
        assert_eq!(bound(spec(Mode::Ccm, Decrypt, 1)), Bound::Latency);
        assert_eq!(bound(spec(Mode::Gcm, Decrypt, 1)), Bound::Throughput);
    }

    #[test]
    fn the_probe_has_figures_of_all_kinds() {
        let figures = probe(1, 50).unwrap();
        if Cpu::detect().usable & tenrounds_sys::feature::CLMUL != 0 {
            for name in ["aes-xmm", "aes-chain", "clmul-chain", "copy-8KiB"] {
                assert!(figures.iter().any(|f| f.name == name), "{name}");
            }
        }
        assert!(figures.iter().all(|f| f.summary().unwrap().median > 0.0));
    }
}
