// SPDX-License-Identifier: BSD-2-Clause
//! Examines files in several threads.

use super::reach::Reach;
use super::targets::{Target, Targets};
use super::walk::Walk;
use super::{Entry, Holds, Program, Scan, Through, Trouble};
use base::needed::Loaded;
use base::root::Root;
use classify::{Module, Refusal};
use nix::fcntl::{openat2, OFlag, OpenHow, ResolveFlag, AT_FDCWD};
use progress::Progress;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;
use terminal::style::clean;

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
}

/// Examines all targets, or those for which there is time: first the files that are known, then
/// what directories have. A named file that cannot be examined is a complaint, another one a
/// trouble.
pub fn examine(targets: Targets, end: Option<Instant>, complaints: &mut Vec<String>) -> Scan {
    let progress = Progress::new(targets.files.len(), "files");
    let (mut outcomes, left) = in_threads(targets.files, end, &progress);
    let mut walk = Walk::of(&targets.directories, end);
    let files = walk.targets();
    progress.more(files.len());
    let (others, left_of_others) = in_threads(files, end, &progress);
    progress.finish();
    outcomes.extend(others);
    // Of several names of a file, the first is shown.
    outcomes.sort_by(|(a, _), (b, _)| (!a.is_named, &a.path).cmp(&(!b.is_named, &b.path)));
    let mut scan = Scan {
        troubles: targets.troubles,
        not_reached: end.map(|_| left + left_of_others + walk.left),
        not_entered: walk.not_entered,
        ..Scan::default()
    };
    scan.troubles.append(&mut walk.troubles);
    let mut seen = HashSet::new();
    // The files that encrypt.
    let mut encrypting = HashSet::new();
    for (target, outcome) in outcomes {
        let path = clean(target.path.display());
        let why = match outcome {
            Outcome::Examined { identity, module } => {
                if seen.insert(identity) {
                    scan.examined += 1;
                    if module.encrypts() {
                        encrypting.insert(identity);
                    }
                    scan.files.extend(entry(path, *module));
                }
                continue;
            }
            Outcome::Refused(Refusal::OtherProcessor(_)) if !target.is_named => {
                scan.other_processors += 1;
                continue;
            }
            Outcome::Refused(refusal) => refusal.to_string(),
            Outcome::Unreadable(why) => why,
        };
        match target.is_named {
            true => complaints.push(format!("cannot scan '{path}': {why}")),
            false => scan.troubles.push(Trouble { path, why }),
        }
    }
    let is_encrypting = |library: &&Loaded| {
        let meta = library.path.metadata();
        meta.is_ok_and(|meta| encrypting.contains(&(meta.dev(), meta.ino())))
    };
    let through = |library: &Loaded| Through {
        name: clean(&library.name),
        path: clean(library.path.display()),
    };
    let program = |(path, libraries): &(PathBuf, Vec<Loaded>)| Program {
        path: clean(path.display()),
        libraries: libraries.len(),
        through: libraries
            .iter()
            .filter(is_encrypting)
            .map(through)
            .collect(),
    };
    scan.programs = targets.programs.iter().map(program).collect();
    scan.troubles.sort_by(|a, b| a.path.cmp(&b.path));
    let strength = |entry: &Entry| (entry.holds, std::cmp::Reverse(entry.module.class));
    scan.files.sort_by_key(strength);
    scan
}

/// The outcomes of files that were named or are ELF files, and the number of files for which there
/// was no time.
fn in_threads(
    files: Vec<Target>,
    end: Option<Instant>,
    progress: &Progress,
) -> (Vec<(Target, Outcome)>, usize) {
    // Half of them wait for the disk.
    let threads = 2 * std::thread::available_parallelism().map_or(1, usize::from);
    let queue = Mutex::new(files.into_iter());
    let next = || -> Option<Target> {
        let is_over = end.is_some_and(|end| Instant::now() >= end);
        let mut queue = queue.lock().expect("no thread panics");
        match is_over {
            true => None,
            false => queue.next(),
        }
    };
    let work = || {
        let mut done = Vec::new();
        // Reused, because fresh memory costs more than reading into it.
        let mut buffer = Vec::new();
        while let Some(target) = next() {
            let outcome = look(open(&target), &mut buffer);
            let is_other = matches!(outcome, Outcome::Refused(Refusal::NoElf));
            if !is_other || target.is_named {
                done.push((target, outcome));
            }
            progress.step();
        }
        done
    };
    let done = std::thread::scope(|scope| {
        // This thread does all that no other could be started for.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let others: Vec<_> = (1..threads).map_while(start).collect();
        let mut done = work();
        for thread in others {
            done.extend(thread.join().expect("no thread panics"));
        }
        done
    });
    (done, queue.into_inner().expect("no thread panics").len())
}

fn look(file: std::io::Result<File>, buffer: &mut Vec<u8>) -> Outcome {
    match file.and_then(|file| read(file, buffer)) {
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
fn read(mut file: File, buffer: &mut Vec<u8>) -> std::io::Result<(u64, u64)> {
    let mut magic = [0; 4];
    file.read_exact(&mut magic)?;
    buffer.clear();
    buffer.extend(magic);
    // Most files end here, after four system calls.
    if magic != *b"\x7fELF" {
        return Ok((0, 0));
    }
    let meta = file.metadata()?;
    let refused = |why: String| Err(Error::new(ErrorKind::InvalidData, why));
    if !meta.is_file() {
        return refused("it is not a regular file".to_owned());
    }
    if meta.len() > LARGEST {
        let most = LARGEST >> 30;
        return refused(format!(
            "it is larger than {most} GiB, which is not examined"
        ));
    }
    buffer.reserve(usize::try_from(meta.len()).unwrap_or(0));
    file.take(LARGEST).read_to_end(buffer)?;
    Ok((meta.dev(), meta.ino()))
}

/// Opens a file. One of a directory is opened at once, which saves a third of the system time. It
/// may have been replaced: the call follows no symbolic link in its path, which could lead to a
/// device, and a pipe does not block. Where that is refused, `Root` looks at the file's kind first.
fn open(target: &Target) -> std::io::Result<File> {
    let flags = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let how = OpenHow::new().flags(flags);
    let how = how.resolve(ResolveFlag::RESOLVE_NO_SYMLINKS);
    let opened = target
        .is_regular
        .then(|| openat2(AT_FDCWD, &target.at, how));
    match opened {
        Some(Ok(file)) => Ok(file.into()),
        _ => Root::machine().open(&target.at),
    }
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
