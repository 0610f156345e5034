// SPDX-License-Identifier: BSD-2-Clause
//! Every backend against every other, on random messages of every mode and key size.

use super::case::Case;
use catalogue::Cipher;
use fastrand::Rng;
use progress::Progress;
use tenrounds_sys::Backend;

/// Lengths that are all tried: the loops and tails of all backends end below the first number.
const DENSE: usize = 600;
/// Random lengths beyond, and how many.
const LONG: usize = 40_000;
const LONG_CASES: usize = 12;
/// The same for modes that take a block for each byte or bit, or several for each 8 bytes.
const SLOW_DENSE: usize = 100;
const SLOW_LONG: usize = 1_000;

/// The first differences of a pair that are kept.
const KEPT: usize = 3;

/// Two backends that disagree on a message, or one that fails on it.
pub struct Difference {
    pub backends: Vec<Backend>,
    what: String,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.backends.iter().map(|b| b.name()).collect();
        match &names[..] {
            [one] => write!(f, "{one}: {}", self.what),
            _ => write!(f, "{} differ in {}", names.join(" and "), self.what),
        }
    }
}

/// Messages that every backend processed, and the differences.
#[derive(Default)]
pub struct Found {
    pub cases: u64,
    pub differences: Vec<Difference>,
}

/// Runs the cases of all ciphers, with messages of at most `up_to` bytes.
pub fn run(running: &[Backend], seed: u64, up_to: usize) -> Found {
    let mut rng = Rng::with_seed(seed);
    let mut found = Found::default();
    let ciphers: Vec<Cipher> = catalogue::all()
        .into_iter()
        .filter(|c| c.is_aes())
        .collect();
    let progress = Progress::new(ciphers.len(), "ciphers");
    for cipher in ciphers {
        for len in lengths(&mut rng, cipher, up_to) {
            let case = Case::random(&mut rng, cipher, len);
            found.compare(running, &case);
            found.cases += 1;
        }
        progress.step();
    }
    progress.finish();
    found
}

fn lengths(rng: &mut Rng, cipher: Cipher, up_to: usize) -> Vec<usize> {
    let (dense, long) = match cipher.mode().block_by_block() {
        true => (SLOW_DENSE, SLOW_LONG),
        false => (DENSE, LONG),
    };
    let dense_to = dense.min(up_to);
    let mut lengths: Vec<usize> = (0..=dense_to).step_by(cipher.row().unit).collect();
    let random = (0..LONG_CASES).map(|_| rng.usize(dense..long));
    lengths.extend(random.filter(|len| *len <= up_to));
    lengths
}

impl Found {
    fn compare(&mut self, running: &[Backend], case: &Case) {
        let mut outputs = Vec::new();
        for &backend in running {
            match case.output(backend) {
                Ok(output) => outputs.push((backend, output)),
                Err(error) => self.add(vec![backend], format!("{}: {error}", case.describe())),
            }
        }
        for (i, (a, of_a)) in outputs.iter().enumerate() {
            for (b, of_b) in &outputs[i + 1..] {
                if of_a != of_b {
                    self.add(vec![*a, *b], case.describe());
                }
            }
        }
    }

    fn add(&mut self, backends: Vec<Backend>, what: String) {
        let known = self.differences.iter().filter(|d| d.backends == backends);
        if known.count() < KEPT {
            self.differences.push(Difference { backends, what });
        }
    }
}
