// SPDX-License-Identifier: BSD-2-Clause
//! The ciphers of the command line: names and groups, for those rows of the catalogue that are
//! measured.

use catalogue::Mode;
pub use catalogue::{Call, Cipher};
use terminal::error::{suggestion, Error, Result};

const GROUPS: [&str; 5] = ["all", "aead", "aes-128", "aes-192", "aes-256"];

fn belongs_to(cipher: Cipher, group: &str) -> bool {
    let mode = cipher.mode().name();
    cipher.is_aes()
        && match group {
            "all" => true,
            "aead" => cipher.is_aead(),
            _ => group == mode || group == format!("aes-{}", cipher.key_bits()),
        }
}

fn all() -> Vec<Cipher> {
    let measured = |s: &Cipher| s.row().measured;
    catalogue::all().into_iter().filter(measured).collect()
}

/// The names of the modes that `bench` measures.
pub fn modes() -> Vec<&'static str> {
    let measured = Mode::aes().filter(|mode| mode.row().measured);
    measured.map(Mode::name).collect()
}

/// The names of those of `bench --paths`.
pub fn kernel_modes() -> Vec<&'static str> {
    let streams = Mode::aes().filter(|mode| mode.kernel_stream().is_some());
    streams.map(Mode::name).collect()
}

/// "ecb, cbc or ctr".
pub fn or(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// The words that stand for several ciphers.
fn groups() -> Vec<&'static str> {
    GROUPS.into_iter().chain(modes()).collect()
}

/// The words that `bench` takes, without other spellings.
pub fn words() -> Vec<String> {
    let groups = groups().into_iter().map(str::to_owned);
    groups.chain(all().into_iter().map(Cipher::name)).collect()
}

/// Reads names and groups in any case; each cipher once, in the order asked for.
pub fn parse(names: &[String]) -> Result<Vec<Cipher>> {
    let mut once: Vec<Cipher> = Vec::new();
    for name in names {
        let group = name.to_ascii_lowercase();
        let meant = |s: &Cipher| s.answers_to(name) || belongs_to(*s, &group);
        let found: Vec<Cipher> = all().into_iter().filter(meant).collect();
        if found.is_empty() {
            return Err(unknown(name));
        }
        for cipher in found {
            if !once.contains(&cipher) {
                once.push(cipher);
            }
        }
    }
    Ok(once)
}

fn unknown(name: &str) -> Error {
    let words = words();
    Error::usage(format!(
        "there is no algorithm '{name}'; there are aes-{{128,192,256}}-MODE, rc4 and chacha20-poly1305, \
         and the groups {}{}",
        groups().join(", "),
        suggestion(name, words.iter().map(String::as_str))
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
            .map(Cipher::name)
            .collect()
    }

    #[test]
    fn names_aliases_and_groups() {
        assert_eq!(names(&["AES-128-cbc"]), ["aes-128-cbc"]);
        assert_eq!(names(&["aes256", "aes-256-cbc"]), ["aes-256-cbc"]);
        assert_eq!(names(&["aes-192-cfb128"]), ["aes-192-cfb"]);
        assert_eq!(names(&["id-aes128-GCM"]), ["aes-128-gcm"]);
        // Twelve modes, of which XTS has no 192 bits.
        assert_eq!(names(&["all"]).len(), 3 * 12 - 1);
        assert_eq!(names(&["aead"]).len(), 3 * 5);
        assert_eq!(names(&["AES-192"]).len(), 11);
        assert_eq!(names(&["xts"]), ["aes-128-xts", "aes-256-xts"]);
        assert_eq!(
            names(&["ctr", "rc4"]),
            ["aes-128-ctr", "aes-192-ctr", "aes-256-ctr", "rc4"]
        );
    }

    #[test]
    fn every_word_that_completions_offer_is_known() {
        for word in words() {
            assert!(!names(&[&word]).is_empty(), "{word}");
        }
        assert_eq!(or(&kernel_modes()), "ecb, cbc or ctr");
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = parse(&["aes-128-crt".to_string()]).unwrap_err().to_string();
        assert!(error.contains("did you mean 'aes-128-ctr'?"), "{error}");
        assert!(error.contains("gcm-siv"), "{error}");
    }
}
