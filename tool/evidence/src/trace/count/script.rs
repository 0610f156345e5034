// SPDX-License-Identifier: BSD-2-Clause
//! The script for bpftrace that counts calls, for `--count`.

use super::functions::Function;
use crate::trace::bpftrace::bits;
use std::path::Path;

/// A map of `Maps::sums`: the calls of functions.
pub const CALLS: &str = "@calls";

/// The probe of a function. Its number is the first one of the keys. The first member of an
/// EVP_CIPHER_CTX points to the EVP_CIPHER, whose first member is the NID of the algorithm, in
/// OpenSSL 1.0 to 4.0 (crypto/evp/evp_local.h and include/crypto/evp.h). The upper half of an int's
/// register is not defined, and a negative length is an error. Without an input, a call processes
/// nothing, as if it had no output: it ends a message.
pub fn probe(file: &Path, index: usize, function: &Function) -> String {
    let Function {
        name,
        output,
        input,
        length,
    } = function;
    let (file, bits) = (file.display(), bits());
    format!(
        "uprobe:{file}:{name}\n{{\n    \
         $cipher = *(uint64 *)arg0;\n    \
         $number = (uint64)*(uint32 *)$cipher;\n    \
         $out = (uint64)arg{output};\n    \
         $in = (uint64)arg{input};\n    \
         $length = (uint64)(uint32)arg{length};\n    \
         if ($length > 0x7fffffff) {{ $length = (uint64)0; }}\n    \
         if ($in == 0) {{ $length = (uint64)0; $out = (uint64)0; }}\n\
         {bits}    \
         $placement = (uint64)0;\n    \
         if ($out == $in) {{ $placement = (uint64)1; }}\n    \
         if ($out == 0) {{ $placement = (uint64)2; }}\n    \
         {CALLS}[(uint64){index}, (uint64)pid, $number, $bits, $placement] = \
         stats($length);\n}}\n"
    )
}
