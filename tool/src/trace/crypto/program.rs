// SPDX-License-Identifier: BSD-2-Clause
//! The BPF programs that the kernel runs at its own functions: at requests to encrypt or decrypt,
//! at messages to and from sockets of AF_ALG, and where data is copied for them.

use super::layout::{Layout, Request};
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
    /// 1: a request that the driver of another request makes, or a message by splice(2).
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
    /// Between a program's memory and the kernel's.
    Copy {
        is_in: bool,
    },
    Message {
        is_sent: bool,
    },
}

/// The functions of the kernel that are counted.
pub const PROBES: [(&str, Kind); 8] = [
    ("crypto_skcipher_encrypt", Kind::Skcipher { encrypts: true }),
    (
        "crypto_skcipher_decrypt",
        Kind::Skcipher { encrypts: false },
    ),
    ("crypto_aead_encrypt", Kind::Aead { encrypts: true }),
    ("crypto_aead_decrypt", Kind::Aead { encrypts: false }),
    ("_copy_from_iter", Kind::Copy { is_in: true }),
    ("_copy_to_iter", Kind::Copy { is_in: false }),
    ("security_socket_sendmsg", Kind::Message { is_sent: true }),
    ("security_socket_recvmsg", Kind::Message { is_sent: false }),
];

/// What the programs share.
pub struct Setting {
    pub layout: Layout,
    /// A map of `Key` to `Sum`.
    pub sums: i32,
    /// A map of `u64` to `Extent`. The key is the address of a thread's struct task_struct, or the
    /// number of a processor.
    pub extents: i32,
    pub namespace: Option<Namespace>,
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
    fn key(&mut self, probe: usize, namespace: Option<Namespace>) {
        for place in (KEY..0).step_by(8) {
            self.put(STORE64_IMMEDIATE, FRAME, 0, place, 0);
        }
        self.process(namespace, PID, SCRATCH);
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
        self.read(3, 8, SECOND, layout.algorithm);
        self.immediate(ADD, 3, layout.driver.into());
        self.address(1, DRIVER);
        self.immediate(MOVE, 2, DRIVER_SIZE);
        self.call(READ_KERNEL_TEXT);
        self.read(SECOND, 4, SECOND, request.more);
        self.nesting(request, extents);
    }

    /// Marks a request that lies inside the latest one of this thread: a driver keeps the requests
    /// that it makes itself behind the one that it serves. Any other is the latest from now on,
    /// but for those that functions have on their stack for a moment. `FIRST` is the request,
    /// `SECOND` the number of bytes behind it.
    fn nesting(&mut self, request: Request, extents: i32) {
        self.look_up(extents, THREAD);
        let is_first = self.jump(EQUAL, 0, 0);
        self.load(LOAD64, 1, 0, 0);
        let is_before = self.jump_registers(AT_MOST, FIRST, 1);
        self.load(LOAD64, 1, 0, 8);
        let is_behind = self.jump_registers(AT_LEAST, FIRST, 1);
        self.put(STORE32_IMMEDIATE, FRAME, 0, MARK, 1);
        let is_inside = self.jump(ALWAYS, 0, 0);
        self.here(is_first);
        self.here(is_before);
        self.here(is_behind);
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

/// The program of the probe with this index.
pub fn program(index: usize, setting: &Setting) -> Vec<Instruction> {
    let Setting {
        layout,
        sums,
        extents,
        namespace,
    } = setting;
    let kind = PROBES[index].1;
    let mut a = Assembler::default();
    a.registers(MOVE, CONTEXT, 1);
    if matches!(kind, Kind::Message { .. }) {
        a.only_af_alg(layout);
    }
    a.owner(layout);
    if matches!(kind, Kind::Copy { .. }) {
        // Threads without requests and messages are not slowed down further.
        a.look_up(*extents, THREAD);
        a.jump_to_end(EQUAL, 0, 0);
    }
    a.key(index, *namespace);
    if !matches!(kind, Kind::Message { .. }) {
        a.caller();
    }
    match kind {
        Kind::Skcipher { .. } => a.request(layout, layout.skcipher, *extents),
        Kind::Aead { .. } => a.request(layout, layout.aead, *extents),
        Kind::Copy { .. } => a.argument_of_kernel(LENGTH, 1),
        Kind::Message { is_sent } => a.message(layout, is_sent, *extents),
    }
    a.bits();
    a.put(STORE64, FRAME, 3, BITS, 0);
    a.add(*sums, KEY, SUM, |a| {
        a.address(1, NAME);
        a.immediate(MOVE, 2, 16);
        a.call(CURRENT_NAME);
    });
    a.finish()
}
