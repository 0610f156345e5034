// SPDX-License-Identifier: BSD-2-Clause
//! The core's table of microarchitectures, and the row of this process.

use crate::raw;
use crate::status::text;

/// Facts about a microarchitecture by which the core chooses its code. No result depends on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuning {
    pub name: &'static str,
    /// Cycles from one AES round to the next.
    pub aes_latency: u8,
    /// 512-bit AES rounds started a cycle; 0 without 512-bit VAES.
    pub aes512_per_cycle: u8,
    /// A carry-less multiplication a cycle does not delay AES.
    pub separate_clmul: bool,
    /// 512-bit registers lower the clock and do not speed up AES.
    pub clock_drops: bool,
}

impl Tuning {
    /// All rows of the table, "generic" first.
    pub fn all() -> Vec<Tuning> {
        // SAFETY: any index is allowed; NULL or a constant row comes back.
        (0..)
            .map_while(|i| unsafe { raw::tr_tuning_at(i).as_ref() })
            .map(Tuning::from)
            .collect()
    }

    /// The row of this process: the one that TENROUNDS_TUNE names, or the processor's.
    pub fn selected() -> Tuning {
        // SAFETY: the function returns a constant row, never NULL.
        unsafe { &*raw::tr_tuning_selected() }.into()
    }
}

impl From<&raw::tr_tuning> for Tuning {
    fn from(row: &raw::tr_tuning) -> Tuning {
        Tuning {
            name: text(row.name).unwrap_or("?"),
            aes_latency: row.aes_latency,
            aes512_per_cycle: row.aes512_per_cycle,
            separate_clmul: row.separate_clmul != 0,
            clock_drops: row.clock_drops != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_one_of_the_table() {
        let all = Tuning::all();
        assert_eq!(all[0].name, "generic");
        assert!(all.len() > 1 && all.contains(&Tuning::selected()));
        let icelake = all.iter().find(|row| row.name == "icelake").unwrap();
        assert!(icelake.clock_drops && icelake.separate_clmul && icelake.aes_latency == 3);
    }
}
