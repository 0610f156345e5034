// SPDX-License-Identifier: BSD-2-Clause
//! The BPF programs that the kernel runs at its own functions: at requests to encrypt, decrypt or
//! hash, at messages to and from sockets of AF_ALG, and where data is copied for them.

use super::layout::{Hashes, Layout, Request};
use crate::trace::bpf::assembler::*;

/// An entry's key, as the program writes it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Key {
    /// Where the call returns to; 0 for messages.
    pub caller: u64,
    /// The bits of the length, as a number: 0 of 0, 5 of 16 to 31.
    pub bits: u64,
    /// 0 for interrupts.
    pub pid: u32,
    /// The index in `PROBES`.
    pub probe: u32,
    /// `PROCESS`, `KERNEL_THREAD` or `INTERRUPT`.
    pub context: u32,
    /// 1: a request that the driver of another request makes, a message by splice(2), or a copy to
    /// a program's memory.
    pub mark: u32,
    /// The driver of a request, filled up with zeros (CRYPTO_MAX_ALG_NAME).
    pub driver: [[u8; 32]; 4],
}

/// An entry's value.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sum {
    pub calls: u64,
    pub bytes: u64,
    /// The name of the thread of the first call.
    pub name: [u8; 16],
}

/// The latest request of a thread, or of a processor's interrupts, that is not part of another one:
/// the addresses that it occupies, with what its driver keeps behind it.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    begin: u64,
    end: u64,
}

pub const PROCESS: u32 = 0;
pub const KERNEL_THREAD: u32 = 1;
pub const INTERRUPT: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Skcipher {
        encrypts: bool,
    },
    Aead {
        encrypts: bool,
    },
    /// Data for a hash, by the interface that may answer later.
    Ahash,
    /// Data for a hash, by the other interface. The functions of the first one call it, too.
    Shash,
    /// Between a program's memory and the kernel's: the check before it (CONFIG_HARDENED_USERCOPY).
    /// The functions that copy may have no probes in many kernels.
    Copy,
    Message {
        is_sent: bool,
    },
}

/// The functions of the kernel that are counted.
pub const PROBES: [(&str, Kind); 13] = [
    ("crypto_skcipher_encrypt", Kind::Skcipher { encrypts: true }),
    (
        "crypto_skcipher_decrypt",
        Kind::Skcipher { encrypts: false },
    ),
    ("crypto_aead_encrypt", Kind::Aead { encrypts: true }),
    ("crypto_aead_decrypt", Kind::Aead { encrypts: false }),
    ("crypto_ahash_update", Kind::Ahash),
    ("crypto_ahash_finup", Kind::Ahash),
    ("crypto_ahash_digest", Kind::Ahash),
    ("crypto_shash_update", Kind::Shash),
    ("crypto_shash_finup", Kind::Shash),
    ("crypto_shash_digest", Kind::Shash),
    ("__check_object_size", Kind::Copy),
    ("security_socket_sendmsg", Kind::Message { is_sent: true }),
    ("security_socket_recvmsg", Kind::Message { is_sent: false }),
];

/// What the programs share.
pub struct Setting {
    pub layout: Layout,
    /// A map of `Key` to `Sum`.
    pub sums: i32,
    pub whose: Whose,
    /// A map of `u64` to `Extent`. The key is the address of a thread's struct task_struct, or the
    /// number of a processor.
    pub extents: i32,
}

/// Registers that are kept during calls. Their content changes in the course of a program.
const FIRST: u8 = 8;
const SECOND: u8 = 9;

/// Places below the frame pointer.
const KEY: i16 = -160;
const CALLER: i16 = KEY;
const BITS: i16 = KEY + 8;
const PID: i16 = KEY + 16;
const PROBE: i16 = KEY + 20;
const OWNER: i16 = KEY + 24;
const MARK: i16 = KEY + 28;
const DRIVER: i16 = KEY + 32;
const DRIVER_SIZE: i32 = 128;
const SUM: i16 = KEY - 32;
const NAME: i16 = SUM + 16;
const EXTENT: i16 = SUM - 16;
const THREAD: i16 = EXTENT - 8;
const SCRATCH: i16 = THREAD - 8;

/// Helpers.
const PROCESSOR: i32 = 8;
const CURRENT_NAME: i32 = 16;
const CURRENT_TASK: i32 = 35;
const READ_KERNEL: i32 = 113;
const READ_KERNEL_TEXT: i32 = 115;

/// THREAD_SIZE, without KASAN. Interrupts have stacks of their own.
const STACK_SIZE: i32 = 16 << 10;
/// PF_KTHREAD (linux/sched.h).
const IS_KERNEL_THREAD: i32 = 0x0020_0000;
/// MSG_SPLICE_PAGES (linux/socket.h).
const IS_SPLICED: i32 = 0x0800_0000;

impl Assembler {
    /// Reads kernel memory behind the address in a register into a place, and loads it. What cannot
    /// be read is 0.
    fn read(&mut self, to: u8, size: i32, from: u8, offset: i16) {
        self.registers(MOVE, 3, from);
        self.immediate(ADD, 3, offset.into());
        self.put(STORE64_IMMEDIATE, FRAME, 0, SCRATCH, 0);
        self.address(1, SCRATCH);
        self.immediate(MOVE, 2, size);
        self.call(READ_KERNEL);
        self.load(LOAD64, to, FRAME, SCRATCH);
    }

    fn argument_of_kernel(&mut self, to: u8, number: usize) {
        self.load(LOAD64, to, CONTEXT, ARGUMENTS[number]);
    }

    /// Sets `SECOND` to whose stack this is, and `THREAD` to its key in the map of extents.
    fn owner(&mut self, layout: &Layout) {
        self.call(CURRENT_TASK);
        self.put(STORE64, FRAME, 0, THREAD, 0);
        self.registers(MOVE, FIRST, 0);
        self.read(1, 8, FIRST, layout.stack);
        self.load(LOAD64, 2, CONTEXT, STACK_POINTER);
        self.registers(SUBTRACT, 2, 1);
        let in_interrupt = self.jump(AT_LEAST, 2, STACK_SIZE);
        self.read(1, 4, FIRST, layout.flags);
        self.immediate(MOVE, SECOND, KERNEL_THREAD as i32);
        let in_kernel_thread = self.jump(HAS_BITS, 1, IS_KERNEL_THREAD);
        self.immediate(MOVE, SECOND, PROCESS as i32);
        let in_process = self.jump(ALWAYS, 0, 0);
        self.here(in_interrupt);
        self.call(PROCESSOR);
        self.put(STORE64, FRAME, 0, THREAD, 0);
        self.immediate(MOVE, SECOND, INTERRUPT as i32);
        self.here(in_kernel_thread);
        self.here(in_process);
    }

    /// Writes all of the key but what depends on the call. `SECOND` is the owner.
    fn key(&mut self, probe: usize, whose: Whose) {
        for place in (KEY..0).step_by(8) {
            self.put(STORE64_IMMEDIATE, FRAME, 0, place, 0);
        }
        self.process(whose, PID, SCRATCH);
        let has_process = self.jump(UNEQUAL, SECOND, INTERRUPT as i32);
        self.put(STORE32_IMMEDIATE, FRAME, 0, PID, 0);
        self.here(has_process);
        self.put(STORE32_IMMEDIATE, FRAME, 0, PROBE, probe as i32);
        self.put(STORE32, FRAME, SECOND, OWNER, 0);
    }

    /// Writes where the call returns to into the key.
    fn caller(&mut self) {
        #[cfg(target_arch = "x86_64")]
        {
            self.load(LOAD64, FIRST, CONTEXT, STACK_POINTER);
            self.read(1, 8, FIRST, 0);
        }
        #[cfg(not(target_arch = "x86_64"))]
        self.load(LOAD64, 1, CONTEXT, LINK);
        self.put(STORE64, FRAME, 1, CALLER, 0);
    }

    /// Writes the driver of the request into the key, and whether it is part of another request.
    fn request(&mut self, layout: &Layout, request: Request, extents: i32) {
        self.argument_of_kernel(FIRST, 0);
        self.read(LENGTH, 4, FIRST, request.length);
        self.read(SECOND, 8, FIRST, request.transform);
        self.driver(layout);
        self.read(SECOND, 4, SECOND, request.more);
        self.mark(extents);
        self.latest(request, extents);
    }

    /// Writes the driver of the transform `SECOND` into the key.
    fn driver(&mut self, layout: &Layout) {
        self.read(3, 8, SECOND, layout.algorithm);
        self.immediate(ADD, 3, layout.driver.into());
        self.address(1, DRIVER);
        self.immediate(MOVE, 2, DRIVER_SIZE);
        self.call(READ_KERNEL_TEXT);
    }

    /// Writes the driver of the hash into the key, and whether it is part of another request. Its
    /// description is on the stack, or part of the memory of a driver.
    fn hash(&mut self, layout: &Layout, hashes: Hashes, extents: i32) {
        self.argument_of_kernel(LENGTH, 2);
        self.immediate(LEFT, LENGTH, 32);
        self.immediate(RIGHT, LENGTH, 32);
        self.argument_of_kernel(FIRST, 0);
        self.read(SECOND, 8, FIRST, hashes.handle);
        self.immediate(ADD, SECOND, hashes.base.into());
        self.driver(layout);
        self.mark(extents);
    }

    /// Ends the program for checksums: file systems make many.
    fn no_checksum(&mut self) {
        self.load(LOAD32, 1, FRAME, DRIVER);
        for name in [*b"crc3", *b"crct"] {
            self.jump_to_end(EQUAL, 1, i32::from_le_bytes(name));
        }
    }

    /// Marks a request that lies inside the latest one of this thread: a driver keeps the requests
    /// that it makes itself behind the one that it serves. `FIRST` is the request.
    fn mark(&mut self, extents: i32) {
        self.look_up(extents, THREAD);
        let is_first = self.jump(EQUAL, 0, 0);
        self.load(LOAD64, 1, 0, 0);
        let is_before = self.jump_registers(AT_MOST, FIRST, 1);
        self.load(LOAD64, 1, 0, 8);
        let is_behind = self.jump_registers(AT_LEAST, FIRST, 1);
        self.put(STORE32_IMMEDIATE, FRAME, 0, MARK, 1);
        self.here(is_first);
        self.here(is_before);
        self.here(is_behind);
    }

    /// A request that is not marked is the latest from now on, unless it is one of those that
    /// functions have on their stack for a moment. `FIRST` is the request, `SECOND` the number of
    /// bytes behind it.
    fn latest(&mut self, request: Request, extents: i32) {
        self.load(LOAD32, 1, FRAME, MARK);
        let is_inside = self.jump(UNEQUAL, 1, 0);
        self.registers(MOVE, 1, FIRST);
        self.load(LOAD64, 2, CONTEXT, STACK_POINTER);
        self.registers(SUBTRACT, 1, 2);
        let is_on_stack = self.jump(AT_MOST, 1, STACK_SIZE);
        self.put(STORE64, FRAME, FIRST, EXTENT, 0);
        self.registers(ADD, FIRST, SECOND);
        self.immediate(ADD, FIRST, request.size.into());
        self.put(STORE64, FRAME, FIRST, EXTENT + 8, 0);
        self.update(extents, THREAD, EXTENT, ANY);
        self.here(is_on_stack);
        self.here(is_inside);
    }

    /// Ends the program unless the socket is one of AF_ALG.
    fn only_af_alg(&mut self, layout: &Layout) {
        self.argument_of_kernel(FIRST, 0);
        self.read(FIRST, 8, FIRST, layout.operations);
        self.read(1, 4, FIRST, layout.family);
        self.jump_to_end(UNEQUAL, 1, libc::AF_ALG);
    }

    fn copy(&mut self) {
        self.argument_of_kernel(LENGTH, 1);
        self.argument_of_kernel(1, 2);
        // Of a bool, the other bits of the register may have any value.
        let is_out = self.jump(HAS_BITS, 1, 0xff);
        let is_in = self.jump(ALWAYS, 0, 0);
        self.here(is_out);
        self.put(STORE32_IMMEDIATE, FRAME, 0, MARK, 1);
        self.here(is_in);
    }

    fn message(&mut self, layout: &Layout, is_sent: bool, extents: i32) {
        self.argument_of_kernel(LENGTH, 2);
        self.immediate(LEFT, LENGTH, 32);
        self.immediate(RIGHT, LENGTH, 32);
        if is_sent {
            self.argument_of_kernel(FIRST, 1);
            self.read(1, 4, FIRST, layout.message_flags);
            let spliced = self.jump(HAS_BITS, 1, IS_SPLICED);
            let copied = self.jump(ALWAYS, 0, 0);
            self.here(spliced);
            self.put(STORE32_IMMEDIATE, FRAME, 0, MARK, 1);
            self.here(copied);
        }
        // The copies of this thread are counted from now on.
        self.put(STORE64_IMMEDIATE, FRAME, 0, EXTENT, 0);
        self.put(STORE64_IMMEDIATE, FRAME, 0, EXTENT + 8, 0);
        self.update(extents, THREAD, EXTENT, NEW);
    }
}

/// The program of the probe with this index; None if the layout of its structures is not known.
pub fn program(index: usize, setting: &Setting) -> Option<Vec<Instruction>> {
    let Setting {
        layout,
        sums,
        extents,
        whose,
    } = setting;
    let kind = PROBES[index].1;
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    if matches!(kind, Kind::Message { .. }) {
        a.only_af_alg(layout);
    }
    a.owner(layout);
    if matches!(kind, Kind::Copy) {
        // Threads without requests and messages are not slowed down further.
        a.look_up(*extents, THREAD);
        a.jump_to_end(EQUAL, 0, 0);
    }
    a.key(index, *whose);
    if !matches!(kind, Kind::Message { .. }) {
        a.caller();
    }
    match kind {
        Kind::Skcipher { .. } => a.request(layout, layout.skcipher, *extents),
        Kind::Aead { .. } => a.request(layout, layout.aead, *extents),
        Kind::Ahash => {
            let hashes = layout.hashes?;
            a.request(layout, hashes.ahash, *extents);
            a.no_checksum();
        }
        Kind::Shash => {
            a.hash(layout, layout.hashes?, *extents);
            a.no_checksum();
        }
        Kind::Copy => a.copy(),
        Kind::Message { is_sent } => a.message(layout, is_sent, *extents),
    }
    a.bits();
    a.put(STORE64, FRAME, 3, BITS, 0);
    a.add(*sums, KEY, SUM, |a| {
        a.address(1, NAME);
        a.immediate(MOVE, 2, 16);
        a.call(CURRENT_NAME);
    });
    Some(a.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::bpf::machine::Machine;

    const LAYOUT: Layout = Layout {
        skcipher: Request {
            length: 0,
            transform: 64,
            size: 80,
            more: -8,
        },
        aead: Request {
            length: 52,
            transform: 32,
            size: 80,
            more: -4,
        },
        hashes: Some(Hashes {
            ahash: Request {
                length: 48,
                transform: 32,
                size: 72,
                more: -4,
            },
            handle: 0,
            base: 8,
        }),
        algorithm: 32,
        driver: 188,
        stack: 32,
        flags: 44,
        operations: 32,
        family: 0,
        message_flags: 68,
    };
    const SUMS: i32 = 3;
    const EXTENTS: i32 = 4;
    const TASK: u64 = 0x10_0000;
    const STACK: u64 = 0x20_0000;
    const POINTER: u64 = STACK + 0x3000;
    const REQUEST: u64 = 0x30_0000;
    const TRANSFORM: u64 = 0x40_0000;
    const ALGORITHM: u64 = 0x50_0000;

    /// A kernel in which process 7 calls a function from 0x1234.
    fn kernel() -> Machine {
        let mut kernel = Machine::new(7, TASK, &[SUMS, EXTENTS]);
        kernel.store(TASK + 32, &STACK.to_le_bytes());
        kernel.store(TASK + 44, &0u32.to_le_bytes());
        kernel.store(POINTER, &0x1234u64.to_le_bytes());
        kernel.store(TRANSFORM - 8, &500u32.to_le_bytes());
        kernel.store(TRANSFORM + 32, &ALGORITHM.to_le_bytes());
        kernel.store(ALGORITHM + 188, b"cbc-driver\0rest");
        kernel
    }

    fn call(kernel: &mut Machine, function: &str, arguments: [u64; 3]) {
        let index = PROBES.iter().position(|(name, _)| *name == function);
        let index = index.unwrap();
        let setting = Setting {
            layout: LAYOUT,
            sums: SUMS,
            extents: EXTENTS,
            whose: Whose::Everybody(None),
        };
        kernel.call(
            &program(index, &setting).unwrap(),
            arguments,
            POINTER,
            0x1234,
        );
    }

    fn request(kernel: &mut Machine, at: u64, length: u32) {
        kernel.store(at, &length.to_le_bytes());
        kernel.store(at + 64, &TRANSFORM.to_le_bytes());
        call(kernel, "crypto_skcipher_encrypt", [at, 0, 0]);
    }

    /// The entries, in the order of their keys: caller, bits, PID, probe, context, mark; calls,
    /// bytes.
    fn entries(kernel: &Machine) -> Vec<([u64; 6], [u64; 2])> {
        let entries = kernel.entries(SUMS);
        let numbers = entries.map(|(key, value)| {
            let wide = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
            let narrow =
                |at: usize| u64::from(u32::from_le_bytes(key[at..at + 4].try_into().unwrap()));
            assert_eq!((key.len(), value.len()), (160, 32));
            let of_key = [
                wide(&key[..8]),
                wide(&key[8..16]),
                narrow(16),
                narrow(20),
                narrow(24),
                narrow(28),
            ];
            (of_key, [wide(&value[..8]), wide(&value[8..16])])
        });
        numbers.collect()
    }

    #[test]
    fn the_structures_are_as_the_program_writes_them() {
        assert_eq!(std::mem::size_of::<Key>(), 160);
        assert_eq!(std::mem::size_of::<Sum>(), 32);
        assert_eq!(std::mem::size_of::<Extent>(), 16);
    }

    #[test]
    fn requests_are_summed_by_size_class() {
        let mut kernel = kernel();
        for length in [0, 16, 31, 32, 17] {
            request(&mut kernel, REQUEST, length);
        }
        assert_eq!(
            entries(&kernel),
            [
                ([0x1234, 0, 7, 0, 0, 0], [1, 0]),
                ([0x1234, 5, 7, 0, 0, 0], [3, 64]),
                ([0x1234, 6, 7, 0, 0, 0], [1, 32]),
            ]
        );
        let (key, value) = kernel.entries(SUMS).next().unwrap();
        assert_eq!(key[32..43], *b"cbc-driver\0");
        assert!(key[43..].iter().all(|byte| *byte == 0));
        assert_eq!(value[16..], *b"test\0\0\0\0\0\0\0\0\0\0\0\0");
    }

    /// Behind a request lie 500 bytes that its driver uses.
    #[test]
    fn requests_inside_of_another_one_are_marked() {
        let mark = |inner: u64| {
            let mut kernel = kernel();
            request(&mut kernel, REQUEST, 1);
            request(&mut kernel, inner, 1);
            let marks = entries(&kernel).into_iter();
            marks
                .map(|(key, [calls, _])| (key[5], calls))
                .collect::<Vec<_>>()
        };
        assert_eq!(mark(REQUEST + 80), [(0, 1), (1, 1)]);
        assert_eq!(mark(REQUEST + 579), [(0, 1), (1, 1)]);
        assert_eq!(mark(REQUEST + 580), [(0, 2)]);
        assert_eq!(mark(REQUEST), [(0, 2)]);
        assert_eq!(mark(REQUEST - 100), [(0, 2)]);
    }

    /// A request on the stack does not hide the one in whose service it is made.
    #[test]
    fn a_request_on_the_stack_is_not_the_latest() {
        let mut kernel = kernel();
        request(&mut kernel, REQUEST, 1);
        request(&mut kernel, POINTER + 64, 1);
        request(&mut kernel, REQUEST + 80, 1);
        let marks: Vec<u64> = entries(&kernel).iter().map(|(key, _)| key[5]).collect();
        assert_eq!(marks, [0, 1]);
    }

    #[test]
    fn kernel_threads_and_interrupts_are_told_apart() {
        let mut kernel = kernel();
        kernel.store(TASK + 44, &0x0020_0040u32.to_le_bytes());
        request(&mut kernel, REQUEST, 1);
        // The task that is interrupted has its stack elsewhere.
        kernel.store(TASK + 32, &(STACK + 0x8000).to_le_bytes());
        request(&mut kernel, REQUEST, 1);
        let owners: Vec<(u64, u64)> = entries(&kernel)
            .iter()
            .map(|(key, _)| (key[2], key[4]))
            .collect();
        assert_eq!(owners, [(0, 2), (7, 1)]);
    }

    #[test]
    fn requests_of_aeads() {
        let mut kernel = kernel();
        kernel.store(REQUEST + 32, &TRANSFORM.to_le_bytes());
        kernel.store(REQUEST + 52, &100u32.to_le_bytes());
        call(&mut kernel, "crypto_aead_decrypt", [REQUEST, 0, 0]);
        assert_eq!(entries(&kernel), [([0x1234, 7, 7, 3, 0, 0], [1, 100])]);
    }

    /// A hash whose description a driver keeps behind the request that it serves is marked, and
    /// one on the stack is not. Checksums are not counted.
    #[test]
    fn requests_of_hashes() {
        const HANDLE: u64 = TRANSFORM - 8;
        let mut kernel = kernel();
        kernel.store(REQUEST + 32, &TRANSFORM.to_le_bytes());
        kernel.store(REQUEST + 48, &100u32.to_le_bytes());
        kernel.store(TRANSFORM - 4, &50u32.to_le_bytes());
        call(&mut kernel, "crypto_ahash_finup", [REQUEST, 0, 0]);
        for descriptor in [REQUEST + 80, POINTER + 64] {
            kernel.store(descriptor, &HANDLE.to_le_bytes());
            // The length is an unsigned int, whose register may have more bits.
            call(
                &mut kernel,
                "crypto_shash_update",
                [descriptor, 0, 1 << 40 | 20],
            );
        }
        kernel.store(ALGORITHM + 188, b"crc32c-intel\0");
        call(&mut kernel, "crypto_shash_update", [POINTER + 64, 0, 20]);
        call(&mut kernel, "crypto_ahash_finup", [REQUEST, 0, 0]);
        assert_eq!(
            entries(&kernel),
            [
                ([0x1234, 5, 7, 7, 0, 0], [1, 20]),
                ([0x1234, 5, 7, 7, 0, 1], [1, 20]),
                ([0x1234, 7, 7, 5, 0, 0], [1, 100]),
            ]
        );
    }

    /// Copies count in threads that have sent a message to a socket of AF_ALG.
    #[test]
    fn messages_and_copies() {
        const SOCKET: u64 = 0x60_0000;
        const MESSAGE: u64 = 0x70_0000;
        let mut kernel = kernel();
        kernel.store(SOCKET + 32, &(SOCKET + 0x100).to_le_bytes());
        kernel.store(SOCKET + 0x100, &libc::AF_INET.to_le_bytes());
        kernel.store(MESSAGE + 68, &0u32.to_le_bytes());
        let message = [SOCKET, MESSAGE, 48];
        call(&mut kernel, "security_socket_sendmsg", message);
        call(&mut kernel, "__check_object_size", [0, 48, 0]);
        assert_eq!(entries(&kernel), []);
        kernel.store(SOCKET + 0x100, &libc::AF_ALG.to_le_bytes());
        call(&mut kernel, "security_socket_sendmsg", message);
        call(&mut kernel, "__check_object_size", [0, 48, 0xff00]);
        call(&mut kernel, "__check_object_size", [0, 48, 0xff01]);
        kernel.store(MESSAGE + 68, &0x0800_0000u32.to_le_bytes());
        call(&mut kernel, "security_socket_sendmsg", message);
        // The size is an int, whose register may have more bits.
        call(
            &mut kernel,
            "security_socket_recvmsg",
            [SOCKET, 0, 1 << 40 | 64],
        );
        assert_eq!(
            entries(&kernel),
            [
                ([0, 6, 7, 11, 0, 0], [1, 48]),
                ([0, 6, 7, 11, 0, 1], [1, 48]),
                ([0, 7, 7, 12, 0, 0], [1, 64]),
                ([0x1234, 6, 7, 10, 0, 0], [1, 48]),
                ([0x1234, 6, 7, 10, 0, 1], [1, 48]),
            ]
        );
    }

    /// Memory that cannot be read counts as zeros.
    #[test]
    fn unreadable_memory() {
        let mut kernel = Machine::new(7, TASK, &[SUMS, EXTENTS]);
        call(&mut kernel, "crypto_aead_encrypt", [REQUEST, 0, 0]);
        assert_eq!(entries(&kernel), [([0, 0, 0, 2, 2, 0], [1, 0])]);
    }
}
