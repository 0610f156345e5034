// SPDX-License-Identifier: BSD-2-Clause
//! The script for bpftrace that counts calls, for `--count` and `--print-bpftrace`.

use super::files::HOSTS;
use super::functions::{Function, Length, NONE};
use crate::trace::bpftrace::bits;
use std::fmt::Write;
use std::path::Path;

/// Maps of `Maps::sums`: calls of functions, and what tenrounds executes.
pub const CALLS: &str = "@calls";
pub const EXECUTED: &str = "@executed";

/// Arguments in registers; the others are on the stack (bpftrace's argN and sargN).
const IN_REGISTERS: u8 = match cfg!(target_arch = "aarch64") {
    true => 8,
    false => 6,
};
/// The beginning of the script that is printed.
pub fn head() -> String {
    format!(
        "#!/usr/bin/env bpftrace\n\
         // Calls that encrypt or decrypt, with their bytes, in the libraries of this machine, as\n\
         // `tenrounds trace --count` counts them. Written by tenrounds {}.\n\
         // Start it as root: `bpftrace FILE`, or `bpftrace -p PID FILE` for one process. Ctrl-C\n\
         // ends it and prints the counts. Each call takes about 1 to 3 us more meanwhile.\n\
         // @calls: the number of the probe, the process, the library's number of the algorithm,\n\
         // the bits of the length (5: 16 to 31), and 1 for in place or 2 for no output.\n\
         // @executed: the number of the host, the process, the number of the operation (enum\n\
         // tr_op in core/dispatch/backend.h) and the backend.\n",
        env!("CARGO_PKG_VERSION")
    )
}

fn argument(number: u8) -> String {
    match number {
        NONE => "(uint64)0".to_owned(),
        _ if number < IN_REGISTERS => format!("(uint64)arg{number}"),
        _ => format!("(uint64)sarg{}", number - IN_REGISTERS),
    }
}

/// The probe of a function. Its number is the first one of the keys.
pub fn probe(file: &Path, index: usize, function: &Function) -> String {
    let mut text = format!(
        "// {index}\nuprobe:{}:{}\n{{\n",
        file.display(),
        function.name
    );
    text += &algorithm(function.library.path);
    text += &length(function);
    text += &bits();
    let _ = write!(
        text,
        "    $placement = (uint64)0;\n    \
         if ($out == $in) {{ $placement = (uint64)1; }}\n    \
         if ($out == 0) {{ $placement = (uint64)2; }}\n    \
         {CALLS}[(uint64){index}, (uint64)pid, $number, $bits, $placement] = \
         stats($length);\n}}\n"
    );
    text
}

/// Sets $out, $in and $length. Without an input, a call processes nothing, as if it had no output:
/// it ends a message.
fn length(function: &Function) -> String {
    const NO_INPUT: &str = "    if ($in == 0) { $length = (uint64)0; $out = (uint64)0; }\n";
    let begin = format!(
        "    $out = {};\n    $in = {};\n",
        argument(function.output),
        argument(function.input)
    );
    begin
        + &match function.length {
            // The upper half of an int's register is not defined. A negative length is an error.
            Length::Int(number) => format!(
                "    $length = (uint64)(uint32){};\n    \
                 if ($length > 0x7fffffff) {{ $length = (uint64)0; }}\n{NO_INPUT}",
                argument(number)
            ),
            Length::Size(number) => format!("    $length = {};\n{NO_INPUT}", argument(number)),
            // The output is also the input then.
            Length::Either(number, other) => format!(
                "    $length = {};\n    \
                 if ($in == 0) {{ $length = {}; $in = $out; }}\n",
                argument(number),
                argument(other)
            ),
        }
}

/// Sets $number to the number that tells the algorithm, by pointers from the first argument.
fn algorithm(path: &[i16]) -> String {
    let mut text = String::from("    $number = (uint64)0;\n    $at = (uint64)arg0;\n");
    if let Some((last, pointers)) = path.split_last() {
        for offset in pointers {
            let _ = writeln!(text, "    $at = *(uint64 *)($at + {offset});");
        }
        let _ = writeln!(text, "    $number = (uint64)*(uint32 *)($at + {last});");
    }
    text
}

/// The static probes of tenrounds in a file (core/dispatch/probe.h).
pub fn executed(file: &Path, host: usize) -> String {
    format!(
        "// What tenrounds executes: host {host} is the {}\n\
         usdt:{}:tenrounds:bulk\n{{\n    \
         {EXECUTED}[(uint64){host}, (uint64)pid, (uint64)arg0, str(arg1)] = \
         stats((uint64)arg2);\n}}\n",
        HOSTS[host].0,
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::super::functions::FUNCTIONS;
    use super::*;

    fn of(name: &str) -> String {
        let function = FUNCTIONS.iter().position(|function| function.name == name);
        let function = &FUNCTIONS[function.unwrap()];
        probe(Path::new("/lib/x.so"), 7, function)
    }

    fn contains(text: &str, lines: &[&str]) {
        for line in lines {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn each_kind_of_function() {
        let evp = of("EVP_EncryptUpdate");
        contains(
            &evp,
            &[
                "uprobe:/lib/x.so:EVP_EncryptUpdate\n",
                "$at = *(uint64 *)($at + 0);\n    $number = (uint64)*(uint32 *)($at + 0);\n",
                "$length = (uint64)(uint32)(uint64)arg4;",
                "if ($in == 0) { $length = (uint64)0;",
                "@calls[(uint64)7, (uint64)pid, $number, $bits, $placement]",
            ],
        );
        contains(
            &of("gcry_cipher_encrypt"),
            &["if ($in == 0) { $length = (uint64)arg2; $in = $out; }"],
        );
        #[cfg(target_arch = "x86_64")]
        contains(
            &of("gnutls_aead_cipher_encrypt"),
            &["$out = (uint64)sarg2;", "$length = (uint64)sarg1;"],
        );
        contains(&of("gcry_cipher_authenticate"), &["$out = (uint64)0;"]);
    }
}
