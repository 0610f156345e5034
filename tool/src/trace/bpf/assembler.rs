// SPDX-License-Identifier: BSD-2-Clause
//! Assembles BPF programs for probes by hand: the compilers for BPF are larger than this command,
//! and the programs have no loop.
//!
//! The numbers are those of the kernel's Documentation/bpf/standardization/instruction-set.rst and
//! of linux/bpf.h.

/// struct bpf_insn.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    code: u8,
    /// The destination in the low half, the source in the high one.
    registers: u8,
    offset: i16,
    immediate: i32,
}

/// Offsets of the arguments in the registers of a call (struct pt_regs; on Arm user_pt_regs).
#[cfg(target_arch = "x86_64")]
pub const ARGUMENTS: [i16; 6] = [112, 104, 96, 88, 72, 64];
#[cfg(target_arch = "x86_64")]
pub const STACK_POINTER: i16 = 152;
#[cfg(target_arch = "x86_64")]
pub const INSTRUCTION_POINTER: i16 = 128;
/// At the entry of a function the return address lies below the arguments on the stack.
#[cfg(target_arch = "x86_64")]
pub const FIRST_ON_STACK: i32 = 8;
#[cfg(not(target_arch = "x86_64"))]
pub const ARGUMENTS: [i16; 8] = [0, 8, 16, 24, 32, 40, 48, 56];
#[cfg(not(target_arch = "x86_64"))]
pub const STACK_POINTER: i16 = 248;
#[cfg(not(target_arch = "x86_64"))]
pub const INSTRUCTION_POINTER: i16 = 256;
#[cfg(not(target_arch = "x86_64"))]
pub const FIRST_ON_STACK: i32 = 0;
/// The register with the return address (x30).
#[cfg(not(target_arch = "x86_64"))]
pub const LINK: i16 = 240;

/// Registers: 0 is a result, 1 to 5 are arguments and lost in calls, 6 to 9 are kept. Programs keep
/// the registers of the probed call in `CONTEXT`, and its number of bytes in `LENGTH`.
pub const CONTEXT: u8 = 6;
pub const LENGTH: u8 = 7;
pub const FRAME: u8 = 10;

/// Helpers.
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const CURRENT_PID_TGID: i32 = 14;
const NAMESPACE_PID_TGID: i32 = 120;
const ATTACH_COOKIE: i32 = 174;
/// BPF_ANY and BPF_NOEXIST.
pub const ANY: i32 = 0;
pub const NEW: i32 = 1;

/// Operations on 64-bit registers, with an immediate or (| X) a register.
pub const ADD: u8 = 0x07;
pub const SUBTRACT: u8 = 0x17;
pub const MOVE: u8 = 0xb7;
pub const RIGHT: u8 = 0x77;
pub const LEFT: u8 = 0x67;
pub const OR: u8 = 0x47;
const X: u8 = 0x08;
/// Jumps. Comparisons are unsigned.
pub const EQUAL: u8 = 0x15;
pub const UNEQUAL: u8 = 0x55;
pub const GREATER: u8 = 0x25;
pub const AT_LEAST: u8 = 0x35;
pub const AT_MOST: u8 = 0xb5;
pub const HAS_BITS: u8 = 0x45;
pub const ALWAYS: u8 = 0x05;
/// Loads and stores.
pub const LOAD64: u8 = 0x79;
pub const LOAD32: u8 = 0x61;
pub const STORE32: u8 = 0x63;
pub const STORE64: u8 = 0x7b;
pub const STORE32_IMMEDIATE: u8 = 0x62;
pub const STORE64_IMMEDIATE: u8 = 0x7a;
const ATOMIC_ADD64: u8 = 0xdb;

#[cfg(test)]
impl Instruction {
    /// The operation, the destination, the source, the offset and the immediate.
    pub fn fields(self) -> (u8, usize, usize, i16, i32) {
        let (to, from) = (self.registers & 15, self.registers >> 4);
        (
            self.code,
            to.into(),
            from.into(),
            self.offset,
            self.immediate,
        )
    }
}

#[derive(Default)]
pub struct Assembler {
    code: Vec<Instruction>,
    /// Jumps to the end.
    to_end: Vec<usize>,
}

impl Assembler {
    pub fn put(&mut self, code: u8, to: u8, from: u8, offset: i16, immediate: i32) -> usize {
        self.code.push(Instruction {
            code,
            registers: from << 4 | to,
            offset,
            immediate,
        });
        self.code.len() - 1
    }

    pub fn immediate(&mut self, code: u8, to: u8, value: i32) {
        self.put(code, to, 0, 0, value);
    }

    pub fn registers(&mut self, code: u8, to: u8, from: u8) {
        self.put(code | X, to, from, 0, 0);
    }

    pub fn load(&mut self, code: u8, to: u8, from: u8, offset: i16) {
        self.put(code, to, from, offset, 0);
    }

    pub fn address(&mut self, to: u8, offset: i16) {
        self.registers(MOVE, to, FRAME);
        self.immediate(ADD, to, offset.into());
    }

    pub fn call(&mut self, helper: i32) {
        self.put(0x85, 0, 0, 0, helper);
    }

    /// A jump that `here` ends.
    pub fn jump(&mut self, code: u8, register: u8, value: i32) -> usize {
        self.put(code, register, 0, 0, value)
    }

    pub fn jump_registers(&mut self, code: u8, first: u8, second: u8) -> usize {
        self.put(code | X, first, second, 0, 0)
    }

    pub fn here(&mut self, jump: usize) {
        self.code[jump].offset = (self.code.len() - jump - 1) as i16;
    }

    pub fn jump_to_end(&mut self, code: u8, register: u8, value: i32) {
        let jump = self.jump(code, register, value);
        self.to_end.push(jump);
    }

    /// Loads 64 bits, in two places.
    pub fn wide(&mut self, to: u8, value: u64) {
        self.put(0x18, to, 0, 0, value as u32 as i32);
        self.put(0, 0, 0, 0, (value >> 32) as i32);
    }

    pub fn load_map(&mut self, to: u8, map: i32) {
        // BPF_PSEUDO_MAP_FD; the instruction takes two places.
        self.put(0x18, to, 1, 0, map);
        self.put(0, 0, 0, 0, 0);
    }

    /// Writes the PID to a place below the frame pointer: 0 if the process is in another PID
    /// namespace, even in one further in, because bpf_get_ns_current_pid_tgid() then fails and
    /// clears its result. Needs 8 bytes of scratch place.
    pub fn process(&mut self, whose: Whose, place: i16, scratch: i16) {
        let namespace = match whose {
            Whose::Process(pid) => {
                self.put(STORE32_IMMEDIATE, FRAME, 0, place, pid as i32);
                return;
            }
            Whose::Everybody(None) => {
                self.call(CURRENT_PID_TGID);
                self.immediate(RIGHT, 0, 32);
                self.put(STORE32, FRAME, 0, place, 0);
                return;
            }
            Whose::Everybody(Some(namespace)) => namespace,
        };
        self.wide(1, namespace.device);
        self.wide(2, namespace.inode);
        // struct bpf_pidns_info: the PID of the thread, and that of the process.
        self.put(STORE64_IMMEDIATE, FRAME, 0, scratch, 0);
        self.address(3, scratch);
        self.immediate(MOVE, 4, 8);
        self.call(NAMESPACE_PID_TGID);
        self.load(LOAD32, 0, FRAME, scratch + 4);
        self.put(STORE32, FRAME, 0, place, 0);
    }

    /// Runs one of several parts, by the number that the probe has. Each part ends the program.
    pub fn by_cookie<T>(&mut self, parts: &[T], mut part: impl FnMut(&mut Assembler, &T)) {
        self.registers(MOVE, 1, CONTEXT);
        self.call(ATTACH_COOKIE);
        for (index, one) in parts.iter().enumerate() {
            let other = self.jump(UNEQUAL, 0, index as i32);
            part(self, one);
            self.jump_to_end(ALWAYS, 0, 0);
            self.here(other);
        }
    }

    /// Sets register 3 to the number of bits of the length. Uses registers 2 and 4.
    pub fn bits(&mut self) {
        const VALUE: u8 = 2;
        const BITS: u8 = 3;
        const HIGH: u8 = 4;
        self.registers(MOVE, VALUE, LENGTH);
        self.immediate(MOVE, BITS, 0);
        let zero = self.jump(EQUAL, VALUE, 0);
        self.immediate(MOVE, BITS, 1);
        for step in [32, 16, 8, 4, 2, 1] {
            self.registers(MOVE, HIGH, VALUE);
            self.immediate(RIGHT, HIGH, step);
            let low = self.jump(EQUAL, HIGH, 0);
            self.registers(MOVE, VALUE, HIGH);
            self.immediate(ADD, BITS, step);
            self.here(low);
        }
        self.here(zero);
    }

    /// Sets register 0 to the value of the entry whose key is at this place, or to 0.
    pub fn look_up(&mut self, map: i32, key: i16) {
        self.load_map(1, map);
        self.address(2, key);
        self.call(MAP_LOOKUP);
    }

    /// Writes an entry whose key and value are at these places. `how` is `ANY` or `NEW`.
    pub fn update(&mut self, map: i32, key: i16, value: i16, how: i32) {
        self.load_map(1, map);
        self.address(2, key);
        self.address(3, value);
        self.immediate(MOVE, 4, how);
        self.call(MAP_UPDATE);
    }

    /// Adds the call and its length to the entry, whose value begins with both sums. `fill` writes
    /// the value of a new entry, of which another processor may make the same at the same time.
    pub fn add(&mut self, map: i32, key: i16, value: i16, fill: impl FnOnce(&mut Assembler)) {
        self.look_up(map, key);
        let known = self.jump(UNEQUAL, 0, 0);
        self.put(STORE64_IMMEDIATE, FRAME, 0, value, 0);
        self.put(STORE64_IMMEDIATE, FRAME, 0, value + 8, 0);
        fill(self);
        self.update(map, key, value, NEW);
        self.look_up(map, key);
        self.jump_to_end(EQUAL, 0, 0);
        self.here(known);
        self.immediate(MOVE, 1, 1);
        self.put(ATOMIC_ADD64, 0, 1, 0, 0);
        self.put(ATOMIC_ADD64, 0, LENGTH, 8, 0);
    }

    /// Ends the program. Its result 0 means that perf takes no sample of the call.
    pub fn finish(mut self) -> Vec<Instruction> {
        for jump in std::mem::take(&mut self.to_end) {
            self.here(jump);
        }
        self.immediate(MOVE, 0, 0);
        self.put(0x95, 0, 0, 0, 0);
        self.code
    }
}

/// Whose calls are counted: those of one process, or of all. PIDs are those of the namespace; None
/// is the first one, which has all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Process(u32),
    Everybody(Option<Namespace>),
}

/// A namespace of PIDs: its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Namespace {
    pub device: u64,
    pub inode: u64,
}
