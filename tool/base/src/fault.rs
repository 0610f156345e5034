// SPDX-License-Identifier: BSD-2-Clause
//! Places where the tests' program (examples/faulty.rs) can plant a fault. The installed command
//! plants none.

use std::sync::OnceLock;

pub enum Place {
    /// Before a change on the disk.
    Change,
    /// The output of this implementation, before it is compared.
    Output(&'static str),
}

static PLANT: OnceLock<fn(Place) -> bool> = OnceLock::new();

/// Plants faults in this process.
pub fn plant(plant: fn(Place) -> bool) {
    let _ = PLANT.set(plant);
}

/// Whether the caller has to act wrongly. A crash happens in here.
pub fn at(place: Place) -> bool {
    PLANT.get().is_some_and(|plant| plant(place))
}
