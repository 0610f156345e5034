// SPDX-License-Identifier: BSD-2-Clause
//! A measuring process: the two builds take turns, window by window, in the same memory.

use super::build::{Build, Op, TAG};
use measure::affinity::pin_to_number;
use measure::noise;
use measure::place::Buffer;
use measure::process::say;
use measure::rounds::take;
use measure::window::Pace;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString};
use std::fmt;
use terminal::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    pub operation: String,
    pub backend: String,
    pub bits: u16,
    pub bytes: usize,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Cell {
            operation,
            backend,
            bits,
            bytes,
        } = self;
        write!(f, "{operation} {backend} {bits} {bytes}")
    }
}

#[derive(Serialize, Deserialize)]
pub struct Plan {
    /// The shared objects, old and new.
    pub objects: [String; 2],
    pub cells: Vec<Cell>,
    pub rounds: usize,
    pub window_us: u64,
    pub seed: u64,
}

/// The rounds of one cell.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Times {
    /// Its number in the plan.
    pub cell: usize,
    /// Nanoseconds per call, old and new.
    pub rounds: Vec<[f64; 2]>,
    /// Windows that were disturbed to the end.
    pub doubtful: usize,
}

/// A cell with both builds.
struct Pair<'a> {
    cell: &'a Cell,
    ops: [&'a Op; 2],
    backend: CString,
    length: usize,
    plain: Vec<u8>,
    state: Buffer,
    input: Buffer,
    output: Buffer,
}

pub fn c_string(word: &str) -> CString {
    CString::new(word).unwrap_or_default()
}

impl Pair<'_> {
    fn new<'a>(builds: &[&'a Build; 2], cell: &'a Cell) -> Result<Pair<'a>> {
        let backend = c_string(&cell.backend);
        let find = |build: &'a Build| {
            let op = build.op(&cell.operation).filter(|_| build.usable(&backend));
            op.ok_or_else(|| Error::failure(format!("a build has no cell '{cell}'")))
        };
        let ops = [find(builds[0])?, find(builds[1])?];
        let (streams, length) = (ops[0].streams(), ops[0].length(cell.bytes));
        if length == 0 {
            return Err(Error::usage(format!("'{cell}' is less than a block")));
        }
        let state = builds[0].state_size.max(builds[1].state_size);
        Ok(Pair {
            cell,
            ops,
            backend,
            length,
            plain: (0..streams * length)
                .map(|i| (i * 13 + (i >> 8)) as u8)
                .collect(),
            state: Buffer::new(state),
            input: Buffer::new(streams * length),
            output: Buffer::new(streams * (length + TAG)),
        })
    }

    fn move_on(&mut self) {
        for buffer in [&mut self.state, &mut self.input, &mut self.output] {
            buffer.move_at_random();
        }
    }

    fn prepare(&mut self, which: usize) {
        let input = self.input.data();
        input.copy_from_slice(&self.plain);
        let state = self.state.data().as_mut_ptr();
        let key_bytes = usize::from(self.cell.bits / 8);
        let (backend, prepare) = (self.backend.as_ptr(), self.ops[which].prepare);
        // SAFETY: the state has the size that the build wants, the input `streams` messages.
        unsafe {
            prepare(
                state.cast(),
                backend,
                key_bytes,
                input.as_mut_ptr(),
                self.length,
            )
        };
    }

    /// Makes so many calls, after prepare() of the same build.
    fn run(&mut self, which: usize, calls: usize) {
        let (state, output) = (
            self.state.data().as_mut_ptr(),
            self.output.data().as_mut_ptr(),
        );
        let (input, run) = (self.input.data().as_ptr(), self.ops[which].run);
        // SAFETY: as above; the output has room for `streams` messages and tags.
        unsafe { run(state.cast(), output, input, self.length, calls) };
    }

    /// Whether three calls give the same output with both builds.
    fn agrees(&mut self) -> bool {
        let outputs = [0, 1].map(|which| {
            self.prepare(which);
            self.output.data().fill(0);
            self.run(which, 3);
            self.output.data().to_vec()
        });
        outputs[0] == outputs[1]
    }

    fn rounds(&mut self, plan: &Plan) -> Result<Times> {
        let mut paces = [Pace::default(), Pace::default()];
        let mut placed = None;
        let taken = take(2, 0..plan.rounds, noise::unprobed, &mut |round, which| {
            if placed.replace(round) != Some(round) {
                self.move_on();
            }
            self.prepare(which);
            paces[which].warm_window(plan.window_us, &mut |calls| {
                self.run(which, calls as usize);
                Ok(calls)
            })
        })?;
        Ok(Times {
            cell: 0,
            rounds: taken.times(),
            doubtful: taken.clocks.doubtful,
        })
    }
}

/// Checks and measures one cell.
pub fn cell(builds: &[&Build; 2], cell: &Cell, plan: &Plan) -> Result<Times> {
    let mut pair = Pair::new(builds, cell)?;
    pair.move_on();
    match pair.agrees() {
        true => pair.rounds(plan),
        false => Err(Error::failure(format!(
            "the outputs of the two builds differ in '{cell}'"
        ))),
    }
}

/// Opens both builds, in an order drawn at random.
pub fn open(objects: &[String; 2]) -> Result<[&'static Build; 2]> {
    let first = fastrand::usize(0..2);
    let one = Build::open(&objects[first])?;
    let other = Build::open(&objects[1 - first])?;
    Ok(if first == 0 {
        [one, other]
    } else {
        [other, one]
    })
}

/// The whole process.
pub fn measure(plan: &Plan) -> Result<()> {
    pin_to_number(0)?;
    fastrand::seed(plan.seed);
    let builds = open(&plan.objects)?;
    for (number, wanted) in plan.cells.iter().enumerate() {
        let times = cell(&builds, wanted, plan)?;
        say(Ok(Times {
            cell: number,
            ..times
        }))?;
    }
    Ok(())
}

/// The operations of both builds, in the order of the old one.
pub fn operations(builds: &[&Build; 2]) -> Vec<String> {
    let names = builds[0].ops().iter().map(Op::name);
    let both = names.filter(|name| builds[1].op(name).is_some());
    both.map(str::to_owned).collect()
}

pub fn usable(builds: &[&Build; 2], backend: &str) -> bool {
    let name: &CStr = &c_string(backend);
    builds.iter().all(|build| build.usable(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" {
        /// bench/paired/ops.c, which build.rs compiles.
        static paired_ops: Build;
    }

    fn both() -> [&'static Build; 2] {
        // SAFETY: the table is constant.
        let build = unsafe { &*std::ptr::addr_of!(paired_ops) };
        [build, build]
    }

    fn wanted(operation: &str, bits: u16, bytes: usize) -> Cell {
        Cell {
            operation: operation.into(),
            backend: "bitslice".into(),
            bits,
            bytes,
        }
    }

    fn plan() -> Plan {
        Plan {
            objects: Default::default(),
            cells: Vec::new(),
            rounds: 2,
            window_us: 1,
            seed: 1,
        }
    }

    #[test]
    fn every_operation_runs_and_agrees_with_itself() {
        let operations = operations(&both());
        assert!(operations.len() > 25, "{operations:?}");
        for operation in operations {
            for (bits, bytes) in [(128, 16), (256, 100)] {
                let times = cell(&both(), &wanted(&operation, bits, bytes), &plan()).unwrap();
                assert_eq!(times.rounds.len(), 2);
                assert!(
                    times.rounds.iter().flatten().all(|ns| *ns > 0.0),
                    "{operation}"
                );
            }
        }
    }

    #[test]
    fn a_call_begins_at_the_start_of_a_block() {
        let builds = both();
        let keystream = |bytes, calls, at: usize| -> Vec<u8> {
            let cell = wanted("ctr", 128, bytes);
            let mut pair = Pair::new(&builds, &cell).unwrap();
            pair.prepare(0);
            pair.run(0, calls);
            let input = pair.input.data()[at..at + 16].to_vec();
            let output = &pair.output.data()[at..at + 16];
            input.iter().zip(output).map(|(i, o)| i ^ o).collect()
        };
        // The first call of 20 bytes takes two blocks of keystream, so the second begins with the
        // third.
        assert_eq!(keystream(20, 2, 0), keystream(48, 1, 32));
    }

    #[test]
    fn a_cell_that_a_build_lacks_is_refused() {
        let refused = |wanted: Cell| cell(&both(), &wanted, &plan()).unwrap_err().to_string();
        assert!(refused(wanted("nothing", 128, 16)).contains("no cell"));
        assert!(refused(wanted("ecb-encrypt", 128, 8)).contains("less than a block"));
        let missing = Cell {
            backend: "none".into(),
            ..wanted("ctr", 128, 16)
        };
        assert!(refused(missing).contains("no cell 'ctr none 128 16'"));
        assert!(usable(&both(), "bitslice") && !usable(&both(), "none"));
    }
}
