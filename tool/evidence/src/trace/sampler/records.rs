// SPDX-License-Identifier: BSD-2-Clause
//! The records of a perf_event_open(2) ring buffer. Names of processes and files in them are
//! chosen by the programs that are traced.

use classify::hot::Registers;
use mappings::{File, Mapping};

/// What happened in a traced process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    Sample(Sample),
    /// Memory was mapped for execution.
    Mapped {
        pid: u32,
        mapping: Mapping,
    },
    /// A thread has this name from now on.
    Named {
        pid: u32,
        tid: u32,
        name: String,
        /// Because it executed a program.
        executed: bool,
    },
    Forked {
        pid: u32,
        parent: u32,
    },
    /// A thread has ended; of the thread whose ID is that of the process, the process.
    Ended {
        pid: u32,
        tid: u32,
    },
    /// Samples that did not fit into the ring buffer.
    Lost(u64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub pid: u32,
    pub tid: u32,
    pub address: u64,
    pub kernel: bool,
    /// Those of user space; 0 if there is no user code under the sample.
    pub registers: Box<Registers>,
}

/// The registers that a sample has, as bits of asm/perf_regs.h: on x86-64 the general registers
/// without the instruction pointer, flags and segments.
#[cfg(target_arch = "x86_64")]
pub const REGISTERS: u64 = 0xff_00ff;
/// Their numbers in machine code: AX, BX, CX, DX, SI, DI, BP, SP, R8 to R15.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u8; 16] = [0, 3, 1, 2, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15];
#[cfg(target_arch = "aarch64")]
pub const REGISTERS: u64 = 0x7fff_ffff;
#[cfg(target_arch = "aarch64")]
const NUMBERS: [u8; 31] = {
    let mut numbers = [0; 31];
    let mut number = 0;
    while number < 31 {
        numbers[number as usize] = number;
        number += 1;
    }
    numbers
};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub const REGISTERS: u64 = 0;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const NUMBERS: [u8; 0] = [];

const LOST: u32 = 2;
const COMM: u32 = 3;
const EXIT: u32 = 4;
const FORK: u32 = 7;
const SAMPLE: u32 = 9;
const MMAP2: u32 = 10;
/// PERF_RECORD_MISC_CPUMODE_MASK, and its value for the kernel.
const MODE: u16 = 7;
const KERNEL: u16 = 1;
const COMM_EXEC: u16 = 1 << 13;
/// The PID, the thread and the time that every record but a sample ends with (sample_id_all).
const TRAILER: usize = 16;

struct Reader<'d>(&'d [u8]);

impl<'d> Reader<'d> {
    fn take(&mut self, count: usize) -> Option<&'d [u8]> {
        if count > self.0.len() {
            return None;
        }
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_ne_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_ne_bytes(self.take(8)?.try_into().ok()?))
    }

    /// A text that ends with a NUL byte.
    fn text(&mut self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0);
        let text = &self.0[..end.unwrap_or(self.0.len())];
        String::from_utf8_lossy(text).into_owned()
    }
}

/// The length of the record at the beginning of the data; None if it is not complete.
pub fn length(data: &[u8]) -> Option<usize> {
    let length = usize::from(u16::from_ne_bytes(data.get(6..8)?.try_into().ok()?));
    (length >= 8 && length <= data.len()).then_some(length)
}

/// The time and the content of a whole record; None for those that are not used.
pub fn parse(record: &[u8]) -> Option<(u64, Event)> {
    let mut reader = Reader(record.get(8..)?);
    let kind = u32::from_ne_bytes(record[..4].try_into().ok()?);
    let misc = u16::from_ne_bytes(record[4..6].try_into().ok()?);
    if kind == SAMPLE {
        return sample(reader, misc);
    }
    let trailer = reader.0.len().checked_sub(TRAILER)?;
    let time = u64::from_ne_bytes(reader.0[trailer + 8..].try_into().ok()?);
    reader.0 = &reader.0[..trailer];
    let event = match kind {
        LOST => {
            reader.u64()?;
            Event::Lost(reader.u64()?)
        }
        COMM => Event::Named {
            pid: reader.u32()?,
            tid: reader.u32()?,
            name: reader.text(),
            executed: misc & COMM_EXEC != 0,
        },
        FORK => Event::Forked {
            pid: reader.u32()?,
            parent: reader.u32()?,
        },
        EXIT => {
            let pid = reader.u32()?;
            // The parent's.
            reader.u32()?;
            let tid = reader.u32()?;
            Event::Ended { pid, tid }
        }
        MMAP2 => mapped(&mut reader)?,
        _ => return None,
    };
    Some((time, event))
}

fn sample(mut reader: Reader, misc: u16) -> Option<(u64, Event)> {
    let address = reader.u64()?;
    let (pid, tid, time) = (reader.u32()?, reader.u32()?, reader.u64()?);
    let mut registers = Box::<Registers>::default();
    // PERF_SAMPLE_REGS_ABI_NONE is 0.
    if REGISTERS != 0 && reader.u64()? != 0 {
        for number in NUMBERS {
            registers.0[usize::from(number)] = reader.u64()?;
        }
    }
    let sample = Sample {
        pid,
        tid,
        address,
        kernel: misc & MODE == KERNEL,
        registers,
    };
    Some((time, Event::Sample(sample)))
}

fn mapped(reader: &mut Reader) -> Option<Event> {
    let pid = reader.u32()?;
    reader.u32()?;
    let (start, length, offset) = (reader.u64()?, reader.u64()?, reader.u64()?);
    let device = (reader.u32()?, reader.u32()?);
    let inode = reader.u64()?;
    // The inode's generation; protection and flags.
    reader.take(16)?;
    let range = start..start.saturating_add(length);
    let mapping = Mapping::new(range, offset, File { device, inode }, &reader.text());
    Some(Event::Mapped { pid, mapping })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
        let length = u16::try_from(8 + body.len()).unwrap();
        let head = [
            &kind.to_ne_bytes()[..],
            &misc.to_ne_bytes(),
            &length.to_ne_bytes(),
        ];
        [&head.concat()[..], body].concat()
    }

    fn words(words: &[u64]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn pair(low: u32, high: u32) -> u64 {
        u64::from_ne_bytes(
            [low.to_ne_bytes(), high.to_ne_bytes()]
                .concat()
                .try_into()
                .unwrap(),
        )
    }

    #[test]
    fn each_kind_of_record() {
        let trailer = words(&[pair(7, 8), 99]);
        let named = [&words(&[pair(7, 8)])[..], b"a b\0\0\0\0\0", &trailer].concat();
        let expected = Event::Named {
            pid: 7,
            tid: 8,
            name: "a b".into(),
            executed: true,
        };
        assert_eq!(
            parse(&record(COMM, COMM_EXEC, &named)),
            Some((99, expected))
        );
        let lost = [words(&[1, 25]), trailer.clone()].concat();
        assert_eq!(parse(&record(LOST, 0, &lost)), Some((99, Event::Lost(25))));
        let map = words(&[pair(7, 8), 0x1000, 0x2000, 0x3000, pair(8, 1), 42, 0, 0]);
        let map = [&map[..], b"/lib/x\0\0", &trailer].concat();
        let file = File {
            device: (8, 1),
            inode: 42,
        };
        let expected = Event::Mapped {
            pid: 7,
            mapping: Mapping::new(0x1000..0x3000, 0x3000, file, "/lib/x"),
        };
        assert_eq!(parse(&record(MMAP2, 2, &map)), Some((99, expected)));
        let ended = [words(&[pair(7, 1), pair(8, 1), 99]), trailer.clone()].concat();
        let expected = Event::Ended { pid: 7, tid: 8 };
        assert_eq!(parse(&record(EXIT, 0, &ended)), Some((99, expected)));
        assert_eq!(parse(&record(11, 0, &trailer)), None);
    }

    #[test]
    fn a_sample_and_its_registers() {
        let count = u64::from(REGISTERS.count_ones());
        let values: Vec<u64> = (0..count).map(|number| 100 + number).collect();
        let body = [words(&[0xabc, pair(7, 8), 99, 2]), words(&values)].concat();
        let Some((99, Event::Sample(sample))) = parse(&record(SAMPLE, 2, &body)) else {
            panic!();
        };
        assert_eq!(
            (sample.pid, sample.tid, sample.address, sample.kernel),
            (7, 8, 0xabc, false)
        );
        let numbered = sample.registers;
        #[cfg(target_arch = "x86_64")]
        // RAX, RCX, RBX, RSP, R15.
        assert_eq!(
            [0, 1, 3, 4, 15].map(|n| numbered.0[n]),
            [100, 102, 101, 107, 115]
        );
        let _ = numbered;
        let body = words(&[0xabc, pair(7, 8), 99, 0]);
        let Some((99, Event::Sample(sample))) = parse(&record(SAMPLE, 1, &body)) else {
            panic!();
        };
        assert!(sample.kernel && *sample.registers == Registers::default());
    }

    #[test]
    fn damaged_records_are_no_panic() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..20_000 {
            let kind = [LOST, COMM, EXIT, FORK, SAMPLE, MMAP2, random.u32(..)][random.usize(..7)];
            let body: Vec<u8> = (0..random.usize(..200)).map(|_| random.u8(..)).collect();
            let record = record(kind, random.u16(..), &body);
            assert_eq!(length(&record), Some(record.len()));
            assert_eq!(length(&record[..record.len() - 1]), None);
            let _ = parse(&record);
        }
        assert_eq!(length(&[0; 7]), None);
        assert_eq!(length(&[0; 16]), None);
        assert_eq!(parse(&[0; 8]), None);
    }
}
