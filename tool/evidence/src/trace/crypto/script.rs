// SPDX-License-Identifier: BSD-2-Clause
//! The script for bpftrace that counts in the kernel: requests to encrypt and decrypt, messages to
//! and from sockets of AF_ALG, and the data that is copied for them. bpftrace takes the layout of
//! the structures from the kernel's type information (BTF).

use crate::trace::bpftrace::bits;
use crate::trace::result::Operation;
use std::fmt::Write;

/// Maps: of `Maps::sums`, with the numbers of `Key`; drivers by the address of struct crypto_alg,
/// which is the last number; and names of processes.
pub const COUNTS: &str = "@counts";
pub const DRIVERS: &str = "@drivers";
pub const NAMES: &str = "@names";

const PROCESS: u64 = 0;
pub const KERNEL_THREAD: u64 = 1;
pub const INTERRUPT: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Request {
        structure: &'static str,
        handle: &'static str,
        operation: Operation,
    },
    /// Between a program's memory and the kernel's: the check before it (CONFIG_HARDENED_USERCOPY).
    /// The functions that copy may have no probes in many kernels.
    Copy,
    Message {
        is_sent: bool,
    },
}

const fn skcipher(operation: Operation) -> Kind {
    Kind::Request {
        structure: "skcipher_request",
        handle: "crypto_skcipher",
        operation,
    }
}

const fn aead(operation: Operation) -> Kind {
    Kind::Request {
        structure: "aead_request",
        handle: "crypto_aead",
        operation,
    }
}

/// The functions of the kernel that are counted.
pub const PROBES: [(&str, Kind); 7] = [
    ("crypto_skcipher_encrypt", skcipher(Operation::Encrypt)),
    ("crypto_skcipher_decrypt", skcipher(Operation::Decrypt)),
    ("crypto_aead_encrypt", aead(Operation::Encrypt)),
    ("crypto_aead_decrypt", aead(Operation::Decrypt)),
    ("__check_object_size", Kind::Copy),
    ("security_socket_sendmsg", Kind::Message { is_sent: true }),
    ("security_socket_recvmsg", Kind::Message { is_sent: false }),
];

/// THREAD_SIZE, without KASAN. Interrupts have stacks of their own.
const STACK_SIZE: u32 = 16 << 10;
/// PF_KTHREAD (linux/sched.h).
const IS_KERNEL_THREAD: u32 = 0x0020_0000;
/// MSG_SPLICE_PAGES (linux/socket.h).
const IS_SPLICED: u32 = 0x0800_0000;
/// Where the call returns to, and the stack.
const RETURNS_TO: &str = match cfg!(target_arch = "aarch64") {
    true => "(uint64)reg(\"r30\")",
    false => "*(uint64 *)$stack",
};

/// The script for functions, by their indexes in `PROBES`.
pub fn script(probes: &[usize]) -> String {
    probes.iter().map(|index| probe(*index)).collect()
}

fn probe(index: usize) -> String {
    let (name, kind) = PROBES[index];
    let body = match kind {
        Kind::Request {
            structure, handle, ..
        } => request(structure, handle),
        Kind::Copy => "    $length = (uint64)arg1;\n    \
             if (arg2 & 0xff) { $mark = (uint64)1; }\n"
            .to_owned(),
        Kind::Message { is_sent } => message(is_sent),
    };
    let mut text = format!("kprobe:{name}\n{{\n");
    if let Kind::Message { .. } = kind {
        let _ = write!(
            text,
            "    $socket = (struct socket *)arg0;\n    \
             if ((uint64)$socket->ops->family != {}) {{ return; }}\n",
            libc::AF_ALG
        );
    }
    text += &context();
    if kind == Kind::Copy {
        // Threads without requests and messages are not slowed down further.
        text += "    if (@seen[$thread] == 0) { return; }\n";
    } else {
        text += "    @seen[$thread] = 1;\n";
    }
    let caller = match kind {
        Kind::Message { .. } => "(uint64)0",
        _ => RETURNS_TO,
    };
    let _ = write!(
        text,
        "    $caller = {caller};\n    $mark = (uint64)0;\n    $algorithm = (uint64)0;\n\
         {body}{}    {NAMES}[$pid] = comm;\n    \
         {COUNTS}[(uint64){index}, $pid, $context, $mark, $caller, $bits, $algorithm] = \
         stats($length);\n}}\n",
        bits()
    );
    text
}

/// Sets $context, $pid, and $thread to what stands for a thread or a processor's interrupts.
fn context() -> String {
    format!(
        "    $task = (struct task_struct *)curtask;\n    \
         $stack = (uint64)reg(\"sp\");\n    \
         $context = (uint64){PROCESS};\n    \
         $pid = (uint64)pid;\n    \
         $thread = (uint64)curtask;\n    \
         if ($task->flags & {IS_KERNEL_THREAD}) {{ $context = (uint64){KERNEL_THREAD}; }}\n    \
         if ($stack - (uint64)$task->stack >= {STACK_SIZE}) {{\n        \
         $context = (uint64){INTERRUPT};\n        $pid = (uint64)0;\n        \
         $thread = (uint64)cpu;\n    }}\n"
    )
}

/// Sets $length, $algorithm and $mark. The number of bytes that a driver keeps behind a request is
/// in the handle, whose last member is struct crypto_tfm.
fn request(structure: &str, handle: &str) -> String {
    let latest = format!(
        "    if ($mark == 0 && $at - $stack > {STACK_SIZE}) {{\n        \
         $handle = (struct {handle} *)($transform + sizeof(struct crypto_tfm) - \
         sizeof(struct {handle}));\n        \
         @begin[$thread] = $at;\n        \
         @end[$thread] = $at + sizeof(struct {structure}) + (uint64)$handle->reqsize;\n    }}\n"
    );
    format!(
        "    $at = (uint64)arg0;\n    \
         $request = (struct {structure} *)arg0;\n    \
         $length = (uint64)$request->cryptlen;\n    \
         $transform = (uint64)$request->base.tfm;\n"
    ) + DRIVER
        + MARK
        + &latest
}

/// A request that lies inside the latest one of this thread is marked: a driver keeps the requests
/// that it makes itself behind the one that it serves. Those that functions have on their stack for
/// a moment are no latest ones.
const MARK: &str = "    if ($at > @begin[$thread] && $at < @end[$thread]) { $mark = (uint64)1; }\n";

const DRIVER: &str = "    \
    $algorithm = (uint64)((struct crypto_tfm *)$transform)->__crt_alg;\n    \
    if (@known[$algorithm] == 0) {\n        @known[$algorithm] = 1;\n        \
    @drivers[$algorithm] = ((struct crypto_alg *)$algorithm)->cra_driver_name;\n    }\n";

fn message(is_sent: bool) -> String {
    let mut text = "    $length = (uint64)(uint32)arg2;\n".to_owned();
    if is_sent {
        let _ = write!(
            text,
            "    $message = (struct msghdr *)arg1;\n    \
             if ($message->msg_flags & {IS_SPLICED}) {{ $mark = (uint64)1; }}\n"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_function() {
        let text = script(&(0..PROBES.len()).collect::<Vec<usize>>());
        assert_eq!(text.matches("\nkprobe:").count() + 1, PROBES.len());
        assert_eq!(
            text.matches(&format!("    {COUNTS}[")).count(),
            PROBES.len()
        );
        let of = |name: &str| {
            let start = text.find(&format!("kprobe:{name}\n")).unwrap();
            text[start..].split_once("\n}\n").unwrap().0
        };
        assert!(of("crypto_aead_decrypt").contains("(struct aead_request *)arg0"));
        assert!(of("crypto_skcipher_encrypt").contains(&format!("{DRIVERS}[$algorithm]")));
        assert!(of("__check_object_size").contains("if (@seen[$thread] == 0) { return; }"));
        assert!(of("security_socket_sendmsg").contains("->msg_flags & 134217728)"));
        assert!(!of("security_socket_recvmsg").contains("msg_flags"));
    }
}
