// SPDX-License-Identifier: BSD-2-Clause
//! The selection as the provider makes it in this environment, and what about it must not go
//! unsaid.

use crate::masks::{self, LIBCRYPTO_MASK, TENROUNDS_MASK};
use tenrounds_sys::{Selection, Tuning};
use terminal::error::suggestion;

pub const TENROUNDS_TUNE: &str = "TENROUNDS_TUNE";

/// The selection by the processor and both masks.
pub fn here() -> Selection {
    let also = environment::text(LIBCRYPTO_MASK).map_or(0, |value| masks::removed_by(&value));
    tenrounds_sys::select(environment::text(TENROUNDS_MASK).as_deref(), also)
}

/// Backends that failed their known answers, and a mask with a wrong word: one line each.
pub fn warnings(selection: &Selection) -> Vec<String> {
    let instead = selection
        .backend
        .map_or("nothing", |backend| backend.name());
    let failed = selection.failed.iter().map(|backend| {
        let name = backend.name();
        format!("backend {name} failed its known answers and was passed over for {instead}")
    });
    let bad_mask = selection.bad_mask.as_deref();
    let bad_mask = bad_mask.and_then(|rest| masks::parse(rest, TENROUNDS_MASK).err());
    failed
        .chain(bad_mask.map(|error| error.to_string()))
        .chain(wrong_tuning())
        .collect()
}

/// What is wrong with TENROUNDS_TUNE, which then has no effect.
fn wrong_tuning() -> Option<String> {
    let wanted = environment::text(TENROUNDS_TUNE)?;
    let names: Vec<&str> = Tuning::all().iter().map(|row| row.name).collect();
    if wanted.is_empty() || names.contains(&wanted.as_str()) {
        return None;
    }
    let nearest = suggestion(&wanted, names.iter().copied());
    Some(format!(
        "{TENROUNDS_TUNE}: there is no microarchitecture '{wanted}'{nearest}, so it has no effect; there are {}",
        names.join(", ")
    ))
}
