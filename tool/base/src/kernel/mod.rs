// SPDX-License-Identifier: BSD-2-Clause
//! AES in the running kernel: which driver it takes for each algorithm, and our module.

pub mod drivers;
pub mod module;
pub mod text;

use crate::root::Root;
use serde::Serialize;

/// The object `kernel` of detect and doctor.
#[derive(Debug, Serialize)]
pub struct Kernel {
    /// null: there is no /proc/crypto.
    pub drivers: Option<Vec<drivers::Driver>>,
    pub module: module::Module,
}

impl Kernel {
    pub fn read(root: &Root) -> Kernel {
        let drivers = drivers::read(root);
        let module = module::Module::read(root, drivers.as_deref().unwrap_or_default());
        Kernel { drivers, module }
    }

    pub fn drivers(&self) -> &[drivers::Driver] {
        self.drivers.as_deref().unwrap_or_default()
    }
}
