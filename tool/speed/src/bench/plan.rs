// SPDX-License-Identifier: BSD-2-Clause
//! From what is asked for to the list of cases.

use super::case::Case;
use super::implementation::Implementation::{self, *};
use crate::bench::args::{Asked, Threads};
use ::measure::affinity::processors;
use base::ciphers::{parse, Cipher};
use catalogue::Direction::{self, Decrypt, Encrypt};
use std::time::Duration;
use terminal::error::{Error, Result};

/// Who takes part in `bench`, weakest first.
pub const ALL: [Implementation; 4] = [Software, OpenSsl, Tenrounds, Limit];
/// Those of `bench --openssl`.
pub const COLUMNS: [Implementation; 3] = [OpenSsl, Tenrounds, Limit];

/// The columns of openssl speed.
const SIZES: [usize; 6] = [16, 64, 256, 1024, 8192, 16384];

/// What is measured if nothing is named: AES where people meet it. TLS 1.3 and SSH negotiate GCM
/// with 128 or 256 bits; SSH and encrypted backups use CTR; `openssl enc` and older TLS use CBC,
/// whose two directions have unlike bounds; LUKS uses XTS. Decryption of the others is about as
/// fast as encryption.
const USUAL: [(&str, Direction); 6] = [
    ("aes-128-gcm", Encrypt),
    ("aes-256-gcm", Encrypt),
    ("aes-256-ctr", Encrypt),
    ("aes-256-cbc", Encrypt),
    ("aes-256-cbc", Decrypt),
    ("aes-256-xts", Encrypt),
];
/// And for so long.
const USUAL_TIME: Duration = Duration::from_secs(12);

/// What to measure.
pub struct Plan {
    pub who: Vec<Implementation>,
    /// With one thread.
    pub cases: Vec<Case>,
    /// Each case is measured with each of these numbers, in ascending order; with one thread, too,
    /// if there are several.
    pub threads: Vec<usize>,
    pub time: Option<Duration>,
    /// What was left out.
    pub notes: Vec<String>,
}

impl Asked {
    pub fn plan(&self, who: &[Implementation]) -> Result<Plan> {
        let (work, notes) = fitting(&self.bytes, self.work()?)?;
        let usual = self.algorithms.is_empty().then_some(USUAL_TIME);
        Ok(Plan {
            who: who.to_vec(),
            cases: of_all(&work, &sizes(&self.bytes, &SIZES)),
            threads: threads(&self.threads)?,
            time: self.time().or(usual),
            notes,
        })
    }

    /// The time for the whole, plus the rounds that are never left out.
    pub fn time(&self) -> Option<Duration> {
        self.seconds.map(Duration::from_secs_f64)
    }

    /// The algorithms that were named, in all directions that differ. USUAL if none was named.
    pub fn work(&self) -> Result<Vec<Work>> {
        let usual = |(name, direction): (&str, Direction)| {
            (Cipher::by_name(name).expect("it exists"), direction)
        };
        let named = parse(&self.algorithms)?.into_iter().flat_map(|cipher| {
            let directions = cipher.directions().iter();
            directions.map(move |direction| (cipher, *direction))
        });
        Ok(match self.algorithms.is_empty() {
            true => USUAL.map(usual).into(),
            false => named.collect(),
        })
    }
}

const BLOCK: usize = 16;

/// What to measure: an algorithm and a direction.
pub type Work = (Cipher, Direction);

/// The work that takes all sizes asked for, with a note for each algorithm that does not. An error
/// if no work remains.
fn fitting(bytes: &[usize], work: Vec<Work>) -> Result<(Vec<Work>, Vec<String>)> {
    let refused = |(cipher, _): &Work| {
        let refusals = bytes.iter().map(|n| (*n, refusal(*cipher, *n)));
        refusals.into_iter().find_map(|(n, why)| Some((n, why?)))
    };
    let (left_out, fits): (Vec<Work>, Vec<Work>) =
        work.into_iter().partition(|w| refused(w).is_some());
    let mut notes = Vec::new();
    for work in &left_out {
        let Some((bytes, why)) = refused(work) else {
            continue;
        };
        let title = work.0.title();
        if fits.is_empty() {
            return Err(Error::usage(format!("--bytes {bytes}: {title} {why}")));
        }
        notes.push(format!(
            "{title} was not measured with --bytes {bytes}: it {why}"
        ));
    }
    notes.dedup(); // both directions of an algorithm
    Ok((fits, notes))
}

/// Why an algorithm does not take a message of so many bytes.
fn refusal(cipher: Cipher, bytes: usize) -> Option<String> {
    let lengths = cipher.lengths();
    if !lengths.contains(&bytes) {
        let (shortest, longest) = (lengths.start(), lengths.end());
        return Some(format!("takes messages of {shortest} to {longest} bytes"));
    }
    (cipher.whole_blocks() && !bytes.is_multiple_of(BLOCK)).then(|| takes_whole_blocks(bytes))
}

/// "takes whole blocks", with the two nearest sizes.
fn takes_whole_blocks(bytes: usize) -> String {
    let below = (bytes / BLOCK * BLOCK).max(BLOCK);
    let above = below + BLOCK;
    format!("takes whole blocks of {BLOCK} bytes; say {below} or {above}")
}

/// An error if a size is no multiple of a block.
pub fn whole_blocks(bytes: &[usize], who: &str) -> Result<()> {
    match bytes.iter().find(|bytes| *bytes % BLOCK != 0) {
        Some(bytes) => Err(Error::usage(format!(
            "--bytes {bytes}: {who} {}",
            takes_whole_blocks(*bytes)
        ))),
        None => Ok(()),
    }
}

/// The sizes asked for, or the usual ones.
pub fn sizes(bytes: &[usize], usual: &[usize]) -> Vec<usize> {
    match bytes {
        [] => usual.to_vec(),
        bytes => bytes.to_vec(),
    }
}

/// The numbers of threads asked for, in order, with one thread.
pub fn threads(asked: &[Threads]) -> Result<Vec<usize>> {
    let available = processors().len();
    let mut counts = Vec::new();
    for asked in asked {
        match *asked {
            Threads::All => counts.extend(powers_up_to(available)),
            Threads::Just(n) if n <= available => counts.push(n),
            Threads::Just(n) => {
                return Err(Error::usage(format!(
                    "--threads {n}: this process may use {available} processor{}",
                    if available == 1 { "" } else { "s" }
                )))
            }
        }
    }
    counts.push(1);
    counts.sort_unstable();
    counts.dedup();
    Ok(counts)
}

/// 1, 2, 4, 8 and so on, and the number of processors.
fn powers_up_to(available: usize) -> Vec<usize> {
    let powers = std::iter::successors(Some(1), |n| Some(n * 2));
    let powers = powers.take_while(|n| *n < available);
    powers.chain([available.max(1)]).collect()
}

/// Each with each.
pub fn of_all(work: &[Work], sizes: &[usize]) -> Vec<Case> {
    let case = |(cipher, direction): &Work, bytes: &usize| Case {
        cipher: *cipher,
        direction: *direction,
        bytes: *bytes,
        threads: 1,
    };
    let all = work.iter();
    all.flat_map(|work| sizes.iter().map(move |bytes| case(work, bytes)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(names: &[&str], bytes: &[usize]) -> Asked {
        Asked {
            algorithms: names.iter().map(|name| name.to_string()).collect(),
            bytes: bytes.to_vec(),
            ..Asked::default()
        }
    }

    #[test]
    fn by_default_six_sizes_one_thread_and_both_directions_where_they_differ() {
        let count = |name| {
            let plan = asked(&[name], &[]).plan(&ALL).unwrap();
            assert_eq!((plan.notes, plan.threads), (vec![], vec![1]));
            assert!(plan.cases.iter().all(|case| case.threads == 1));
            plan.cases.len()
        };
        assert_eq!((count("aes-128-cbc"), count("aes-128-ctr")), (12, 6));
    }

    #[test]
    fn what_people_use_is_measured_if_nothing_is_named() {
        let work = |names: &[&str]| asked(names, &[]).work().unwrap();
        assert_eq!(work(&[]).len(), USUAL.len());
        let gcm = Cipher::by_name("aes-128-gcm").unwrap();
        let both = [(gcm, Encrypt), (gcm, Decrypt)];
        assert_eq!(work(&["aes-128-gcm"]), both);
        assert_eq!(work(&["cmac"])[0].1, Encrypt, "a MAC has one direction");
    }

    #[test]
    fn what_cannot_take_a_size_is_left_out_and_named() {
        let cases = |bytes: &[usize], names: &[&str]| {
            let plan = asked(names, bytes).plan(&ALL)?;
            Ok::<_, Error>((plan.cases, plan.notes))
        };
        let titles = |cases: &[Case]| -> Vec<String> {
            cases.iter().map(|case| case.cipher.title()).collect()
        };
        let said = "AES-128-CBC was not measured with --bytes 1350: it takes whole blocks of 16 \
                    bytes; say 1344 or 1360";
        let (kept, notes) = cases(&[16, 1350], &["aes-128-cbc", "aes-128-ctr"]).unwrap();
        assert_eq!(titles(&kept), ["AES-128-CTR"; 2]);
        assert_eq!(notes, [said]);
        let (kept, notes) = cases(&[1350], &[]).unwrap();
        assert_eq!(
            kept.len(),
            USUAL.len() - 2,
            "both directions of CBC are left out"
        );
        assert_eq!(notes.len(), 1, "{notes:?}");
        let (kept, notes) = cases(&[8], &["aes-128-xts", "aes-128-gcm"]).unwrap();
        assert_eq!(titles(&kept), ["AES-128-GCM"; 2]);
        assert!(notes[0].contains("takes messages of 16 to"), "{notes:?}");
        let error = cases(&[100], &["aes-128-cbc", "aes-128-ecb"]).err();
        assert_eq!(
            error.unwrap().to_string(),
            "--bytes 100: AES-128-CBC takes whole blocks of 16 bytes; say 96 or 112"
        );
    }

    #[test]
    fn too_many_threads_are_named() {
        let said = threads(&[Threads::Just(100_000)]).unwrap_err().to_string();
        assert!(said.contains("--threads 100000"), "{said}");
    }

    #[test]
    fn all_threads_are_powers_of_two_and_the_number_of_processors() {
        let all = threads(&[Threads::All]).unwrap();
        assert_eq!((all[0], all.last()), (1, Some(&processors().len())));
        assert!(all.windows(2).all(|pair| pair[1] <= 2 * pair[0]), "{all:?}");
        assert_eq!(threads(&[Threads::All, Threads::Just(1)]).unwrap(), all);
        assert_eq!(threads(&[]).unwrap(), [1]);
        assert_eq!(powers_up_to(6), [1, 2, 4, 6]);
        assert_eq!(powers_up_to(1), [1]);
    }
}
