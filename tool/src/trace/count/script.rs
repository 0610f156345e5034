// SPDX-License-Identifier: BSD-2-Clause
//! `trace --print-bpftrace`: the calls that `--count` counts, as a script for bpftrace.

use super::files::{self, Entry, Files};
use super::functions::{Algorithm, Length, FUNCTIONS, NONE};
use super::names::Names;
use crate::error::{Error, Result};
use crate::libcrypto::{module, string, LibCrypto};
use crate::root::Root;
use std::fmt::Write;
use std::path::Path;

/// Arguments in registers; the others are on the stack (bpftrace's argN and sargN).
const IN_REGISTERS: u8 = match cfg!(target_arch = "aarch64") {
    true => 8,
    false => 6,
};
/// OpenSSL's numbers of algorithms end below this.
const NIDS: i32 = 2000;

/// The script for the libraries that are installed here.
pub fn script() -> Result<String> {
    let mut seen = Files::default();
    let mut probes = String::new();
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
            probes += &probe(&path, &entry);
        }
    }
    if probes.is_empty() {
        return Err(Error::failure(
            "no library with functions that `tenrounds trace --count` counts is installed here",
        ));
    }
    let libcrypto = LibCrypto::open().ok();
    Ok(format!(
        "{}{}{}{END}",
        head(),
        names(libcrypto.as_ref()),
        probes + &ours(libcrypto.as_ref())
    ))
}

fn head() -> String {
    format!(
        "#!/usr/bin/env bpftrace\n\
         // Calls that encrypt or decrypt, with their bytes, in the libraries of this machine, as\n\
         // `tenrounds trace --count` counts them. Written by tenrounds {}.\n\
         // Start it as root: `bpftrace FILE`, or `bpftrace -p PID FILE` for one process. Ctrl-C\n\
         // ends it and prints the counts. Each call takes about 1 to 3 us more meanwhile.\n\
         // @calls, @bytes, @in_place: by process, function, and in OpenSSL algorithm and its\n\
         // number. @sizes: bytes of a call. GnuTLS calls Nettle, so that both may count the\n\
         // same data.\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Clears what is not a result.
const END: &str = "END { clear(@name); }\n";

/// OpenSSL's names of ciphers; others show by their number. The map has an entry even if libcrypto
/// cannot say any.
fn names(libcrypto: Option<&LibCrypto>) -> String {
    let mut text = String::from("BEGIN\n{\n    @name[0] = \"\";\n");
    for nid in 1..NIDS {
        // SAFETY: OBJ_nid2ln() takes any number, and returns a C string or NULL.
        let name = libcrypto.and_then(|lib| unsafe { string((lib.functions.OBJ_nid2ln)(nid)) });
        let is_known = |name: &String| {
            let known = ["aes-", "id-aes", "chacha20"];
            known.iter().any(|known| name.starts_with(known)) && name.is_ascii()
        };
        if let Some(name) = name.filter(is_known) {
            let _ = writeln!(text, "    @name[{nid}] = \"{name}\";");
        }
    }
    text + "}\n"
}

/// Whether bpftrace reads the path as it is.
fn is_plain(path: &Path) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._+-".contains(c);
    path.to_str().is_some_and(|path| path.chars().all(plain))
}

fn argument(number: u8) -> String {
    match number {
        NONE => "0".to_owned(),
        _ if number < IN_REGISTERS => format!("arg{number}"),
        _ => format!("sarg{}", number - IN_REGISTERS),
    }
}

fn probe(file: &Path, entry: &Entry) -> String {
    let function = &FUNCTIONS[entry.function];
    let name = function.name;
    let (key, algorithm) = match function.algorithm {
        // The first members of two structures.
        Algorithm::Read(_, Names::Nid) => (
            format!("comm, \"{name}\", @name[$nid], $nid"),
            "    $cipher = *(uint64 *)arg0;\n    $nid = (int64)*(int32 *)$cipher;\n",
        ),
        Algorithm::Named(algorithm) => (format!("comm, \"{name}\", \"{algorithm}\", 0"), ""),
        Algorithm::Read(_, names) => {
            let mode = names.mode().unwrap_or_default();
            (format!("comm, \"{name}\", \"{mode}\", 0"), "")
        }
        Algorithm::Hidden => (format!("comm, \"{name}\", \"\", 0"), ""),
    };
    // As the BPF program of --count: calls of the file itself are left out.
    let (place, from) = match cfg!(target_arch = "aarch64") {
        true => ("reg(\"pc\")", "reg(\"r30\")"),
        false => ("reg(\"ip\")", "*(uint64 *)reg(\"sp\")"),
    };
    let own = entry.own.as_ref().map_or(String::new(), |own| {
        let (start, size) = (
            -i64::from(own.start),
            i64::from(own.end) - i64::from(own.start),
        );
        format!(
            "    $from = (uint64){from} - (uint64){place} + {start};\n    \
             if ($from < {size}) {{ return; }}\n"
        )
    });
    // As the BPF program of --count: without an input, a call processes nothing, but where another
    // number is the length then.
    let (bytes, in_place) = match function.length {
        // The upper half of an int's register is not defined. A negative length is an error.
        Length::Int(number) => {
            let number = argument(number);
            let bytes = format!("(int32){number} > 0 ? (uint64)(uint32){number} : 0");
            (format!("$in == 0 ? 0 : ({bytes})"), "$out == $in")
        }
        Length::Size(number) => (
            format!("$in == 0 ? 0 : {}", argument(number)),
            "$out == $in",
        ),
        Length::Less(number, other) => {
            let (number, other) = (argument(number), argument(other));
            (
                format!("$in == 0 || {number} < {other} ? 0 : {number} - {other}"),
                "$out == $in",
            )
        }
        Length::Either(number, other) => {
            let (number, other) = (argument(number), argument(other));
            (
                format!("$in == 0 ? {other} : {number}"),
                "($out == $in || $in == 0)",
            )
        }
    };
    format!(
        "uprobe:{}:{name}\n{{\n{own}{algorithm}    $out = {};\n    $in = {};\n    \
         $bytes = {bytes};\n    \
         @calls[{key}] = count();\n    @bytes[{key}] = sum($bytes);\n    \
         @sizes[\"{name}\"] = hist($bytes);\n    \
         if ($out != 0 && {in_place}) {{ @in_place[{key}] = count(); }}\n}}\n",
        file.display(),
        argument(function.output),
        argument(function.input),
    )
}

/// What tenrounds executes, by host, backend and operation: the probe of the provider and of the
/// PKCS#11 module.
fn ours(libcrypto: Option<&LibCrypto>) -> String {
    let hosts = [
        ("provider", module::find(libcrypto).ok()),
        ("pkcs11", crate::pkcs11::find().ok()),
    ];
    let mut probes = String::new();
    for (host, file) in hosts {
        let Some(file) = file.filter(|file| is_plain(file)) else {
            continue;
        };
        if probes.is_empty() {
            probes += "// What tenrounds executes. The operation's number is in \
                       core/dispatch/backend.h\n\
                       // (enum tr_op). With -p, remove what the process does not load.\n";
        }
        let file = file.display();
        probes += &format!(
            "usdt:{file}:tenrounds:bulk\n{{\n    \
             @executed[comm, \"{host}\", str(arg1), arg0] = sum(arg2);\n}}\n"
        );
    }
    probes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> String {
        let function = FUNCTIONS.iter().position(|function| function.name == name);
        let entry = Entry {
            function: function.unwrap(),
            offset: 0x1000,
            own: (name == "nettle_ctr_crypt").then_some(-0x1000..0x2000),
            ciphers: Vec::new(),
        };
        probe(Path::new("/lib/x.so"), &entry)
    }

    #[test]
    fn each_kind_of_function() {
        let evp = of("EVP_EncryptUpdate");
        assert!(
            evp.starts_with("uprobe:/lib/x.so:EVP_EncryptUpdate\n"),
            "{evp}"
        );
        assert!(
            evp.contains("$bytes = $in == 0 ? 0 : ((int32)arg4 > 0 ? (uint64)(uint32)arg4 : 0);"),
            "{evp}"
        );
        let either = of("gcry_cipher_encrypt");
        assert!(
            either.contains("$bytes = $in == 0 ? arg2 : arg4;"),
            "{either}"
        );
        let stack = of("gnutls_aead_cipher_encrypt");
        #[cfg(target_arch = "x86_64")]
        assert!(
            stack.contains("$out = sarg2;") && stack.contains("$bytes = $in == 0 ? 0 : sarg1;"),
            "{stack}"
        );
        let gcm = of("mbedtls_gcm_update");
        assert!(gcm.contains("\"gcm\"") && !gcm.contains("$from"), "{gcm}");
        let none = of("gcry_cipher_authenticate");
        assert!(none.contains("$out = 0;"), "{none}");
        let inner = of("nettle_ctr_crypt");
        assert!(
            inner.contains(" + 4096;\n    if ($from < 12288) { return; }\n"),
            "{inner}"
        );
    }

    #[test]
    fn paths_that_bpftrace_would_misread_are_left_out() {
        assert!(is_plain(Path::new(
            "/usr/lib/x86_64-linux-gnu/libcrypto.so.3"
        )));
        for path in [
            "/a b/libcrypto.so",
            "/a:b/libcrypto.so",
            "/{/libcrypto.so",
            "/ü/libcrypto.so",
        ] {
            assert!(!is_plain(Path::new(path)), "{path}");
        }
    }
}
