// SPDX-License-Identifier: BSD-2-Clause
//! The code that a process has mapped, by /proc/PID/maps and by the kernel's records.

use std::ops::Range;

/// What identifies a file, whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct File {
    /// Its major and minor number.
    pub device: (u32, u32),
    /// 0: there is no file.
    pub inode: u64,
}

/// Memory that may be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapping {
    pub range: Range<u64>,
    /// The place in the file of its first byte.
    pub offset: u64,
    pub file: File,
    /// "[vdso]", "//anon" or "" where there is no file.
    pub path: String,
    /// The file has no name any more.
    pub deleted: bool,
}

impl Mapping {
    pub fn new(range: Range<u64>, offset: u64, file: File, path: &str) -> Mapping {
        let live = path.strip_suffix(" (deleted)");
        Mapping {
            range,
            offset,
            file,
            path: live.unwrap_or(path).to_owned(),
            deleted: live.is_some(),
        }
    }

    /// Whether a file is mapped.
    pub fn has_file(&self) -> bool {
        self.path.starts_with('/') && !self.path.starts_with("//")
    }

    /// Whether the kernel has put the code there: [vdso] and [vsyscall].
    pub fn is_of_kernel(&self) -> bool {
        self.path.starts_with("[v")
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The mapping of a part of the range; None of an empty one.
    fn part(&self, range: Range<u64>) -> Option<Mapping> {
        (!range.is_empty()).then(|| Mapping {
            offset: self.offset_of(range.start),
            range,
            ..self.clone()
        })
    }

    /// The place in the file of an address in it.
    pub fn offset_of(&self, address: u64) -> u64 {
        self.offset
            .wrapping_add(address.wrapping_sub(self.range.start))
    }
}

/// The mappings of a process, sorted by their beginning. None overlap.
#[derive(Debug, Clone, Default)]
pub struct Maps(Vec<Mapping>);

impl Maps {
    /// The executable ones of /proc/PID/maps.
    pub fn parse(text: &str) -> Maps {
        Maps(text.lines().filter_map(line).collect())
    }

    /// Those of a process; none if they cannot be read.
    pub fn of(pid: u32) -> Maps {
        let text = std::fs::read_to_string(format!("/proc/{pid}/maps"));
        Maps::parse(&text.unwrap_or_default())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a mapping in place of what was there.
    pub fn add(&mut self, new: Mapping) {
        let Range { start, end } = new.range;
        if start >= end {
            return;
        }
        for old in std::mem::take(&mut self.0) {
            if old.range.end <= start || old.range.start >= end {
                self.0.push(old);
                continue;
            }
            self.0.extend(old.part(old.range.start..start));
            self.0.extend(old.part(end..old.range.end));
        }
        self.0.push(new);
        self.0.sort_unstable_by_key(|mapping| mapping.range.start);
    }

    pub fn all(&self) -> impl Iterator<Item = &Mapping> {
        self.0.iter()
    }

    /// The mappings of files.
    pub fn files(&self) -> impl Iterator<Item = &Mapping> {
        self.0.iter().filter(|mapping| mapping.has_file())
    }

    pub fn at(&self, address: u64) -> Option<&Mapping> {
        let next = self
            .0
            .partition_point(|mapping| mapping.range.start <= address);
        let mapping = &self.0[next.checked_sub(1)?];
        mapping.range.contains(&address).then_some(mapping)
    }
}

/// "7f1000-7f2000 r-xp 00001000 fe:00 1234   /usr/lib/x.so"; None unless it may be executed.
fn line(line: &str) -> Option<Mapping> {
    let mut rest = line;
    let mut field = || {
        let text = rest.trim_start_matches(' ');
        let (field, behind) = text.split_once(' ').unwrap_or((text, ""));
        rest = behind;
        field
    };
    let (range, rights, offset) = (field(), field(), field());
    let device = field().split_once(':')?;
    let inode = field();
    let (start, end) = range.split_once('-')?;
    let hexadecimal = |text| u64::from_str_radix(text, 16).ok();
    let number = |text| u32::from_str_radix(text, 16).ok();
    let device = (number(device.0)?, number(device.1)?);
    rights.as_bytes().get(2).filter(|right| **right == b'x')?;
    let range = hexadecimal(start)?..hexadecimal(end)?;
    (!range.is_empty()).then_some(())?;
    Some(Mapping::new(
        range,
        hexadecimal(offset)?,
        File {
            device,
            inode: inode.parse().ok()?,
        },
        rest.trim_start_matches(' '),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(start: u64, end: u64, path: &str) -> Mapping {
        let file = File {
            device: (8, 1),
            inode: 1,
        };
        Mapping::new(start..end, 0x1000, file, path)
    }

    #[test]
    fn lines_of_proc() {
        let maps = Maps::parse(concat!(
            "1000-2000 r--p 00000000 fe:00 12    /lib/a\n",
            "2000-3000 r-xp 00001000 fe:00 12        /lib/a b (deleted)\n",
            "3000-4000 rwxp 00000000 00:00 0 \n",
            "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n",
            "nonsense\n\n5000-4000 r-xp 0 0 0 x\n",
        ));
        assert_eq!(maps.at(0x1fff), None);
        let file = maps.at(0x2abc).unwrap();
        assert_eq!(
            (file.path.as_str(), file.deleted, file.file.inode),
            ("/lib/a b", true, 12)
        );
        assert_eq!(file.file.device, (0xfe, 0));
        assert!(file.has_file());
        assert_eq!(file.offset_of(0x2abc), 0x1abc);
        assert!(!maps.at(0x3000).unwrap().has_file());
        assert_eq!(maps.at(0x4000), None);
    }

    #[test]
    fn a_new_mapping_replaces_what_was_there() {
        let mut maps = Maps::default();
        maps.add(plain(0x1000, 0x5000, "/a"));
        maps.add(plain(0x2000, 0x3000, "/b"));
        assert_eq!(maps.0.len(), 3);
        assert_eq!(maps.at(0x1fff).unwrap().path, "/a");
        assert_eq!(maps.at(0x2000).unwrap().path, "/b");
        let rest = maps.at(0x3000).unwrap();
        assert_eq!((rest.path.as_str(), rest.offset), ("/a", 0x3000));
        maps.add(plain(0, 0x6000, "/c"));
        assert_eq!(maps.0, [plain(0, 0x6000, "/c")]);
    }

    #[test]
    fn random_mappings_never_overlap() {
        let mut random = fastrand::Rng::with_seed(2);
        let mut maps = Maps::default();
        let mut owner = [None; 64];
        for number in 0..2000 {
            let (start, length) = (random.u64(0..64), random.u64(0..16));
            let end = (start + length).min(64);
            maps.add(plain(start, end, &format!("/{number}")));
            owner[start as usize..end as usize].fill(Some(number));
            for (address, owner) in owner.iter().enumerate() {
                let found = maps.at(address as u64).map(|mapping| mapping.path.clone());
                assert_eq!(found, owner.map(|number| format!("/{number}")));
            }
        }
    }
}
