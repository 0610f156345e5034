// SPDX-License-Identifier: BSD-2-Clause
//! The script for bpftrace that counts calls, for `--count` and `--print-bpftrace`.

use super::files::{self, Entry, Files};
use super::functions::{Algorithm, Function, Length, Source, FUNCTIONS, NONE};
use super::ours::HOSTS;
use crate::root::Root;
use crate::trace::bpftrace::{bits, is_plain};
use libcrypto::{module, LibCrypto};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use terminal::error::{Error, Result};

/// Maps of `Maps::sums`: calls of functions, and what tenrounds executes.
pub const CALLS: &str = "@calls";
pub const EXECUTED: &str = "@executed";

/// The bits of an address within a page, of the smallest size.
pub const PAGE_BITS: u32 = 12;

/// Arguments in registers; the others are on the stack (bpftrace's argN and sargN).
const IN_REGISTERS: u8 = match cfg!(target_arch = "aarch64") {
    true => 8,
    false => 6,
};
/// Where the call returns to, and the address of the function.
const RETURNS_TO: &str = match cfg!(target_arch = "aarch64") {
    true => "reg(\"r30\")",
    false => "*(uint64 *)reg(\"sp\")",
};
const PLACE: &str = match cfg!(target_arch = "aarch64") {
    true => "reg(\"pc\")",
    false => "reg(\"ip\")",
};

/// The script for the libraries that are installed here.
pub fn printed() -> Result<String> {
    let mut seen = Files::default();
    let mut probes = String::new();
    let mut index = 0;
    for file in files::installed() {
        let path = std::fs::canonicalize(&file).unwrap_or(file);
        let Ok(opened) = Root::machine().open(&path) else {
            continue;
        };
        if !seen.is_new(&opened) || !is_plain(&path) {
            continue;
        }
        // Functions on whose first instruction a probe can hurt are left out.
        let found = files::examine(&opened, true, false).unwrap_or_default();
        for entry in found.entries {
            probes += &probe(&path, index, &entry, "");
            index += 1;
        }
    }
    if probes.is_empty() {
        return Err(Error::failure(
            "no library with functions that `tenrounds trace --count` counts is installed here",
        ));
    }
    Ok(head() + &probes + &installed_hosts())
}

fn head() -> String {
    format!(
        "#!/usr/bin/env bpftrace\n\
         // Calls that encrypt or decrypt, with their bytes, in the libraries of this machine, as\n\
         // `tenrounds trace --count` counts them. Written by tenrounds {}.\n\
         // Start it as root: `bpftrace FILE`, or `bpftrace -p PID FILE` for one process. Ctrl-C\n\
         // ends it and prints the counts. Each call takes about 1 to 3 us more meanwhile.\n\
         // @calls: the number of the probe, the process, the library's number of the algorithm,\n\
         // the bits of the length (5: 16 to 31), 1 for in place or 2 for no output, and the page\n\
         // of the caller of Nettle. GnuTLS calls Nettle, so that both may count the same data.\n\
         // @executed: the number of the host, the process, the number of the operation (enum\n\
         // tr_op in core/dispatch/backend.h) and the backend.\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// What tenrounds executes, by the probes of the provider and the PKCS#11 module.
fn installed_hosts() -> String {
    let libcrypto = LibCrypto::open().ok();
    let hosts = [
        ("provider", module::find(libcrypto.as_ref()).ok()),
        ("pkcs11", crate::pkcs11::find().ok()),
    ];
    let mut probes = String::new();
    for (name, file) in hosts {
        let host = HOSTS.iter().position(|host| host.0 == name);
        if let (Some(host), Some(file)) = (host, file.filter(|file| is_plain(file))) {
            probes += &executed(&file, host, "");
        }
    }
    probes
}

/// The condition under which calls count: in these processes. More than a few are told apart later.
pub fn condition(pids: &BTreeSet<u32>) -> String {
    const FEW: usize = 16;
    if pids.is_empty() || pids.len() > FEW {
        return String::new();
    }
    let each: Vec<String> = pids.iter().map(|pid| format!("pid == {pid}")).collect();
    format!(" /{}/", each.join(" || "))
}

fn argument(number: u8) -> String {
    match number {
        NONE => "(uint64)0".to_owned(),
        _ if number < IN_REGISTERS => format!("(uint64)arg{number}"),
        _ => format!("(uint64)sarg{}", number - IN_REGISTERS),
    }
}

/// The probe of a function. Its number is the first one of the keys.
pub fn probe(file: &Path, index: usize, entry: &Entry, condition: &str) -> String {
    let function = &FUNCTIONS[entry.function];
    let mut text = format!(
        "// {index}\nuprobe:{}:{}{condition}\n{{\n",
        file.display(),
        function.name
    );
    if let Some(own) = &entry.own {
        // Calls of the file itself are left out.
        let (start, size) = (
            -i64::from(own.start),
            i64::from(own.end) - i64::from(own.start),
        );
        let _ = write!(
            text,
            "    $from = (uint64){RETURNS_TO} - (uint64){PLACE} + {start};\n    \
             if ($from < {size}) {{ return; }}\n"
        );
    }
    text += &algorithm(function.algorithm, &entry.ciphers);
    text += &length(function);
    text += &bits();
    text += "    $placement = (uint64)0;\n    \
             if ($out == $in) { $placement = (uint64)1; }\n    \
             if ($out == 0) { $placement = (uint64)2; }\n";
    let page = match function.serves_another() {
        true => format!("(uint64){RETURNS_TO} >> {PAGE_BITS}"),
        false => "(uint64)0".to_owned(),
    };
    let _ = write!(
        text,
        "    $page = {page};\n    \
         {CALLS}[(uint64){index}, (uint64)pid, $number, $bits, $placement, $page] = \
         stats($length);\n}}\n"
    );
    text
}

/// Sets $out, $in and $length. Without an input, a call processes nothing, as if it had no output:
/// it announces a length (CCM), or ends a message.
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
            // A shorter length is an error of the caller.
            Length::Less(number, other) => format!(
                "    $length = {};\n    $tag = {};\n    \
                 if ($length < $tag) {{ $length = $tag; }}\n    \
                 $length = $length - $tag;\n{NO_INPUT}",
                argument(number),
                argument(other)
            ),
            // The output is also the input then.
            Length::Either(number, other) => format!(
                "    $length = {};\n    \
                 if ($in == 0) {{ $length = {}; $in = $out; }}\n",
                argument(number),
                argument(other)
            ),
        }
}

/// Sets $number to the number that tells the algorithm, or 0.
fn algorithm(algorithm: Algorithm, ciphers: &[(i32, u32)]) -> String {
    let mut text = "    $number = (uint64)0;\n".to_owned();
    let Algorithm::Read(source, _) = algorithm else {
        return text;
    };
    match source {
        Source::Path(path) => text += &follow(path, "    "),
        Source::Checked([first, second], path) => {
            let _ = write!(
                text,
                "    $magic = (uint64)*(uint32 *)arg0;\n    \
                 if ($magic == {first} || $magic == {second}) {{\n{}    }}\n",
                follow(path, "        ")
            );
        }
        Source::Argument(number) => {
            let _ = writeln!(text, "    $number = (uint64)(uint32){};", argument(number));
        }
        Source::Cipher(number) => {
            let _ = writeln!(
                text,
                "    $distance = {} - (uint64){PLACE};",
                argument(number)
            );
            for (distance, bits) in ciphers {
                // bpftrace has no large unsigned constants.
                let (add, equal) = ((-distance).max(0), (*distance).max(0));
                let _ = writeln!(
                    text,
                    "    if ($distance + {add} == {equal}) {{ $number = (uint64){bits}; }}"
                );
            }
        }
    }
    text
}

/// Follows pointers from the first argument to 32 bits.
fn follow(path: &[i16], indent: &str) -> String {
    let mut text = format!("{indent}$at = (uint64)arg0;\n");
    if let Some((last, pointers)) = path.split_last() {
        for offset in pointers {
            let _ = writeln!(text, "{indent}$at = *(uint64 *)($at + {offset});");
        }
        let _ = writeln!(text, "{indent}$number = (uint64)*(uint32 *)($at + {last});");
    }
    text
}

/// The static probes of tenrounds in a file (core/dispatch/probe.h).
pub fn executed(file: &Path, host: usize, condition: &str) -> String {
    format!(
        "// What tenrounds executes: host {host} is the {}\n\
         usdt:{}:tenrounds:bulk{condition}\n{{\n    \
         {EXECUTED}[(uint64){host}, (uint64)pid, (uint64)arg0, str(arg1)] = \
         stats((uint64)arg2);\n}}\n",
        HOSTS[host].0,
        file.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> String {
        let function = FUNCTIONS.iter().position(|function| function.name == name);
        let entry = Entry {
            function: function.unwrap(),
            own: (name == "nettle_ctr_crypt").then_some(-0x1000..0x2000),
            ciphers: vec![(-0x30, 128), (0x40, 256)],
        };
        probe(Path::new("/lib/x.so"), 7, &entry, " /pid == 1/")
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
                "uprobe:/lib/x.so:EVP_EncryptUpdate /pid == 1/\n",
                "$at = *(uint64 *)($at + 0);\n    $number = (uint64)*(uint32 *)($at + 0);\n",
                "$length = (uint64)(uint32)(uint64)arg4;",
                "if ($in == 0) { $length = (uint64)0;",
                "@calls[(uint64)7, (uint64)pid, $number, $bits, $placement, $page]",
            ],
        );
        contains(
            &of("gcry_cipher_encrypt"),
            &[
                "if ($in == 0) { $length = (uint64)arg2; $in = $out; }",
                "$magic",
            ],
        );
        #[cfg(target_arch = "x86_64")]
        contains(
            &of("gnutls_aead_cipher_encrypt"),
            &["$out = (uint64)sarg2;", "$length = (uint64)sarg1;"],
        );
        assert!(!of("mbedtls_gcm_update").contains("$from"));
        contains(&of("gcry_cipher_authenticate"), &["$out = (uint64)0;"]);
        contains(
            &of("nettle_ctr_crypt"),
            &[
                " + 4096;\n    if ($from < 12288) { return; }\n",
                "if ($distance + 48 == 0) { $number = (uint64)128; }",
                "if ($distance + 0 == 64) { $number = (uint64)256; }",
                ">> 12;",
            ],
        );
    }

    #[test]
    fn few_processes_are_told_apart_by_the_script() {
        assert_eq!(
            condition(&BTreeSet::from([7, 9])),
            " /pid == 7 || pid == 9/"
        );
        assert_eq!(condition(&BTreeSet::new()), "");
        assert_eq!(condition(&(0..17).collect()), "");
    }
}
