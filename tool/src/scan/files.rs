// SPDX-License-Identifier: BSD-2-Clause
//! Examines files in several threads.

use super::reach::Reach;
use super::targets::{Target, Targets};
use super::{Entry, Holds, Scan, Trouble};
use crate::root::Root;
use crate::style::clean;
use classify::{Module, Refusal};
use std::collections::HashSet;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;
use terminal::progress::Progress;

/// A larger file is not read: the largest browsers have 300 MB.
const LARGEST: u64 = 2 << 30;

/// What became of a file.
enum Outcome {
    Examined {
        /// Its device and inode: a file with several names counts once.
        identity: (u64, u64),
        module: Box<Module>,
    },
    Refused(Refusal),
    Unreadable(String),
    /// The time was over.
    NotReached,
}

/// Examines all targets, or in order those for which there is time. A named file that cannot be
/// examined is a complaint, another one a trouble.
pub fn examine(targets: Targets, end: Option<Instant>, complaints: &mut Vec<String>) -> Scan {
    let files = targets.files;
    let mut scan = Scan {
        not_reached: end.map(|_| 0),
        troubles: targets.troubles,
        not_entered: targets.not_entered,
        ..Scan::default()
    };
    let mut seen = HashSet::new();
    for (target, outcome) in files.iter().zip(outcomes(&files, end)) {
        let path = clean(target.path.display());
        let why = match outcome {
            Outcome::Examined { identity, module } => {
                if seen.insert(identity) {
                    scan.examined += 1;
                    scan.files.extend(entry(path, *module));
                }
                continue;
            }
            Outcome::Refused(refusal) if !target.named => match refusal {
                Refusal::NoElf => continue,
                Refusal::OtherProcessor(_) => {
                    scan.other_processors += 1;
                    continue;
                }
                damaged => damaged.to_string(),
            },
            Outcome::Refused(refusal) => refusal.to_string(),
            Outcome::Unreadable(why) => why,
            Outcome::NotReached => {
                *scan.not_reached.get_or_insert(0) += 1;
                continue;
            }
        };
        match target.named {
            true => complaints.push(format!("cannot scan '{path}': {why}")),
            false => scan.troubles.push(Trouble { path, why }),
        }
    }
    let strength = |entry: &Entry| (entry.holds, std::cmp::Reverse(entry.module.class));
    scan.files.sort_by_key(strength);
    scan
}

/// The outcome of each file, in the order of the files.
fn outcomes(files: &[Target], end: Option<Instant>) -> Vec<Outcome> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(files.len()));
    let progress = Progress::new(files.len(), "files");
    std::thread::scope(|scope| {
        for _ in 0..threads.min(files.len()) {
            scope.spawn(|| {
                // Reused, because fresh memory costs more than reading into it.
                let mut buffer = Vec::new();
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(target) = files.get(index) else {
                        break;
                    };
                    let outcome = match end {
                        Some(end) if Instant::now() >= end => Outcome::NotReached,
                        _ => look(target, &mut buffer),
                    };
                    let mut done = done.lock().expect("no thread panics");
                    done.push((index, outcome));
                    progress.step();
                }
            });
        }
    });
    progress.finish();
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

fn look(target: &Target, buffer: &mut Vec<u8>) -> Outcome {
    match read(target, buffer) {
        Ok(identity) => match classify::examine(buffer) {
            Ok(module) => Outcome::Examined {
                identity,
                module: Box::new(module),
            },
            Err(refusal) => Outcome::Refused(refusal),
        },
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Outcome::Refused(Refusal::NoElf),
        Err(error) => Outcome::Unreadable(error.to_string()),
    }
}

/// Reads a file if it begins as an ELF file does.
fn read(target: &Target, buffer: &mut Vec<u8>) -> std::io::Result<(u64, u64)> {
    let mut file = Root::machine().open(&target.at)?;
    let mut magic = [0; 4];
    file.read_exact(&mut magic)?;
    buffer.clear();
    buffer.extend(magic);
    let meta = file.metadata()?;
    if magic == *b"\x7fELF" {
        if meta.len() > LARGEST {
            let why = format!(
                "is larger than {} GiB, which is not examined",
                LARGEST >> 30
            );
            return Err(std::io::Error::new(ErrorKind::InvalidData, why));
        }
        buffer.reserve(usize::try_from(meta.len()).unwrap_or(0));
        file.take(LARGEST).read_to_end(buffer)?;
    }
    Ok((meta.dev(), meta.ino()))
}

/// The entry of a file; None if it holds nothing.
fn entry(path: String, module: Module) -> Option<Entry> {
    let writes_code = module.library.as_ref().is_some_and(|l| l.name == "HotSpot");
    let holds = match module.class {
        Some(class) if class.is_encryption() => Holds::Instructions,
        _ if writes_code => Holds::WritesCode,
        _ if !module.tables.is_empty() => Holds::Tables,
        Some(_) => Holds::OtherUse,
        None if !module.instructions.is_empty() => Holds::Others,
        None => return None,
    };
    let reach = Reach::of(&path, &module, holds);
    Some(Entry {
        advice: reach.advice(),
        path,
        module,
        holds,
        reach,
    })
}
