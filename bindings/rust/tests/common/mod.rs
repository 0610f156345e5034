// SPDX-License-Identifier: BSD-2-Clause
//! What the tests share: vectors and random data.

#![allow(dead_code)]

/// A generator whose seed the output of a failed test shows.
pub fn random() -> fastrand::Rng {
    let random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    random
}

pub fn bytes(random: &mut fastrand::Rng, len: usize) -> Vec<u8> {
    let mut data = vec![0; len];
    random.fill(&mut data);
    data
}

/// A length that reaches every loop and tail, and now and then a long one.
pub fn length(random: &mut fastrand::Rng) -> usize {
    match random.u8(..8) {
        0 => random.usize(..20_000),
        1 => 16 * random.usize(..100),
        _ => random.usize(..700),
    }
}

/// A line of a file in tests/vectors that `convert` there has written.
pub struct Vector {
    pub line: String,
    pub valid: bool,
    pub key: Vec<u8>,
    pub iv: Vec<u8>,
    /// Of SIV with a nonce, the associated data, then the nonce.
    pub aad: Vec<Vec<u8>>,
    /// Empty if the vector is not valid and does not tell.
    pub plain: Vec<u8>,
    pub encrypted: Vec<u8>,
    pub tag: Vec<u8>,
}

/// The vectors of a file, such as `wycheproof/aes_gcm`.
pub fn vectors(name: &str) -> Vec<Vector> {
    let file = format!(
        "{}/../../tests/vectors/{name}.txt",
        env!("CARGO_MANIFEST_DIR")
    );
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{file}: {e}"));
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let all: Vec<_> = lines.map(vector).collect();
    assert!(all.iter().any(|v| v.valid), "{file} has vectors");
    all
}

fn vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split(' ').collect();
    let [_, result, key, iv, aad, plain, encrypted, tag] = fields[..] else {
        panic!("{line}");
    };
    Vector {
        line: line.to_owned(),
        valid: result == "valid",
        key: hex(key),
        iv: hex(iv),
        aad: aad.split(',').map(hex).collect(),
        plain: hex(plain),
        encrypted: hex(encrypted),
        tag: hex(tag),
    }
}

fn hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2);
    let pairs = pairs.filter(|_| !matches!(text, "-" | "?"));
    let digits = pairs.map(|pair| std::str::from_utf8(pair).unwrap());
    digits
        .map(|pair| u8::from_str_radix(pair, 16).unwrap())
        .collect()
}
