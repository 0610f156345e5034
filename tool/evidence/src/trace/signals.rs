// SPDX-License-Identifier: BSD-2-Clause
//! Signals that end the trace and not the report.

use setup::run::child::is_ignored;
use signal_hook::flag;
use std::ffi::c_int;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
static RELEASED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal asked for the end.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Remembers these signals. Those that are ignored, as by nohup(1), stay ignored.
pub fn catch(signals: &[c_int]) -> io::Result<()> {
    for &signal in signals.iter().filter(|signal| !is_ignored(**signal)) {
        flag::register_conditional_default(signal, RELEASED.clone())?;
        flag::register(signal, CAME.clone())?;
    }
    Ok(())
}

/// Gives the signals that `catch` caught their usual meaning back.
pub fn release() {
    RELEASED.store(true, Ordering::Relaxed);
}
