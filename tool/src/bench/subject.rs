// SPDX-License-Identifier: BSD-2-Clause
//! What can be measured: the fifteen AES ciphers and the two classic reference points.

use crate::algorithm::{Algorithm, Direction, Mode};
use crate::error::{suggestion, Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Aes(Algorithm),
    Rc4,
    ChaCha20Poly1305,
}

/// What keeps a mode from being faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Blocks are independent: the rounds per second of the core.
    Throughput,
    /// Each block waits for the one before: the latency of a round.
    Latency,
}

/// What people used before AES had instructions, and what they use where it has none.
pub const REFERENCES: [Subject; 2] = [Subject::Rc4, Subject::ChaCha20Poly1305];

const GROUPS: [&str; 9] = [
    "all", "aes-128", "aes-192", "aes-256", "ecb", "cbc", "cfb", "ofb", "ctr",
];

impl Subject {
    /// In small letters, as on the command line and in JSON.
    pub fn name(self) -> String {
        match self {
            Subject::Aes(algorithm) => algorithm.to_string(),
            Subject::Rc4 => "rc4".into(),
            Subject::ChaCha20Poly1305 => "chacha20-poly1305".into(),
        }
    }

    /// As headings and OpenSSL's lists have it.
    pub fn title(self) -> String {
        match self {
            Subject::ChaCha20Poly1305 => "ChaCha20-Poly1305".into(),
            other => other.name().to_uppercase(),
        }
    }

    /// The one subject of this name.
    pub fn by_name(name: &str) -> Option<Subject> {
        all().into_iter().find(|s| s.answers_to(name))
    }

    pub fn key_bytes(self) -> usize {
        match self {
            Subject::Aes(algorithm) => algorithm.key_bytes(),
            Subject::Rc4 => 16,
            Subject::ChaCha20Poly1305 => 32,
        }
    }

    /// None for what is not AES.
    pub fn bound(self, direction: Direction) -> Option<Bound> {
        let Subject::Aes(algorithm) = self else {
            return None;
        };
        Some(match (algorithm.mode, direction) {
            (Mode::Ofb, _) | (Mode::Cbc | Mode::Cfb, Direction::Encrypt) => Bound::Latency,
            _ => Bound::Throughput,
        })
    }

    /// The directions that do different work: OFB, CTR, RC4 and ChaCha20 are the same both ways.
    pub fn directions(self) -> &'static [Direction] {
        match self {
            Subject::Aes(Algorithm {
                mode: Mode::Ecb | Mode::Cbc | Mode::Cfb,
                ..
            }) => &Direction::BOTH,
            _ => &[Direction::Encrypt],
        }
    }

    /// Whether a call must be whole blocks.
    pub fn whole_blocks(self) -> bool {
        matches!(
            self,
            Subject::Aes(Algorithm {
                mode: Mode::Ecb | Mode::Cbc,
                ..
            })
        )
    }

    fn answers_to(self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let own = self.name();
        let alias = match self {
            // The default provider's own: AES128 is CBC.
            Subject::Aes(Algorithm {
                key_bits,
                mode: Mode::Cbc,
            }) => format!("aes{key_bits}"),
            Subject::Aes(Algorithm {
                mode: Mode::Cfb, ..
            }) => format!("{own}128"),
            _ => own.clone(),
        };
        name == own || name == alias
    }

    fn belongs_to(self, group: &str) -> bool {
        let Subject::Aes(algorithm) = self else {
            return false;
        };
        group == "all"
            || group == algorithm.mode.name()
            || group == format!("aes-{}", algorithm.key_bits)
    }
}

fn all() -> Vec<Subject> {
    Algorithm::all()
        .into_iter()
        .map(Subject::Aes)
        .chain(REFERENCES)
        .collect()
}

/// Reads names and groups in any case; each subject once, in the order asked for.
pub fn parse(names: &[String]) -> Result<Vec<Subject>> {
    let mut asked = Vec::new();
    for name in names {
        let group = name.to_ascii_lowercase();
        let meant = |s: &Subject| s.answers_to(name) || s.belongs_to(&group);
        let found: Vec<Subject> = all().into_iter().filter(meant).collect();
        if found.is_empty() {
            return Err(unknown(name));
        }
        asked.extend(found);
    }
    let mut once = Vec::new();
    asked.retain(|s| {
        !once.contains(s) && {
            once.push(*s);
            true
        }
    });
    Ok(asked)
}

fn unknown(name: &str) -> Error {
    let names: Vec<String> = all().into_iter().map(Subject::name).collect();
    let known = names.iter().map(String::as_str).chain(GROUPS);
    Error::usage(format!(
        "there is no algorithm '{name}'{}; there are aes-{{128,192,256}}-{{ecb,cbc,cfb,ofb,ctr}}, rc4 and chacha20-poly1305, \
         and the groups {}",
        suggestion(name, known),
        GROUPS.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(asked: &[&str]) -> Vec<String> {
        let asked: Vec<String> = asked.iter().map(|s| s.to_string()).collect();
        parse(&asked)
            .unwrap()
            .into_iter()
            .map(Subject::name)
            .collect()
    }

    #[test]
    fn names_aliases_and_groups() {
        assert_eq!(names(&["AES-128-cbc"]), ["aes-128-cbc"]);
        assert_eq!(names(&["aes256", "aes-256-cbc"]), ["aes-256-cbc"]);
        assert_eq!(names(&["aes-192-cfb128"]), ["aes-192-cfb"]);
        assert_eq!(names(&["all"]).len(), 15);
        assert_eq!(names(&["AES-256"]).len(), 5);
        assert_eq!(
            names(&["ctr", "rc4"]),
            ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "rc4"]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = parse(&["aes-128-crt".to_string()]).unwrap_err().to_string();
        assert!(error.contains("did you mean 'aes-128-ctr'?"), "{error}");
        assert!(error.contains("aes-192"), "{error}");
    }

    #[test]
    fn bounds() {
        let of = |name: &str, direction| Subject::by_name(name).unwrap().bound(direction);
        use Direction::*;
        assert_eq!(of("aes-128-cbc", Encrypt), Some(Bound::Latency));
        assert_eq!(of("aes-128-cbc", Decrypt), Some(Bound::Throughput));
        assert_eq!(of("aes-256-ofb", Decrypt), Some(Bound::Latency));
        assert_eq!(of("rc4", Encrypt), None);
    }
}
