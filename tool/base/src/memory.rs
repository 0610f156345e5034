// SPDX-License-Identifier: BSD-2-Clause
//! What happens if memory is lacking where the standard library returns an error.

use std::io;
use terminal::output;

/// The same result, unless memory was lacking. The process then ends, as it does when an allocation
/// of Rust's own fails: what could not be read for want of memory must not count as absent.
pub fn with_memory<T>(result: io::Result<T>) -> io::Result<T> {
    if let Err(error) = &result {
        if error.kind() == io::ErrorKind::OutOfMemory {
            output::complain("out of memory");
            std::process::abort();
        }
    }
    result
}
