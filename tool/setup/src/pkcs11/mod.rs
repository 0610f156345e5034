// SPDX-License-Identifier: BSD-2-Clause
//! The PKCS#11 module: where it lies, and whether it works.

pub mod look;

use crate::installed::Part;

pub const MODULE: Part = Part {
    name: "the PKCS#11 module",
    source: "the package tenrounds-pkcs11",
    variable: "TENROUNDS_PKCS11",
    file: "tenrounds-pkcs11.so",
    folder: "lib/pkcs11",
    usual: &[
        "/usr/lib/MULTIARCH/pkcs11",
        "/usr/lib64/pkcs11",
        "/usr/local/lib/pkcs11",
    ],
};
