// SPDX-License-Identifier: BSD-2-Clause
//! Signals that end the trace and not the report.

use std::sync::atomic::{AtomicBool, Ordering};

static CAME: AtomicBool = AtomicBool::new(false);

/// Whether a signal asked for the end.
pub fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

extern "C" fn remember(_: libc::c_int) {
    CAME.store(true, Ordering::Relaxed);
}

/// Remembers these signals. Those that are ignored, as by nohup(1), stay ignored.
pub fn catch(signals: &[libc::c_int]) {
    for &signal in signals {
        // SAFETY: the handler only stores to an atomic.
        unsafe {
            let before = libc::signal(signal, remember as *const () as libc::sighandler_t);
            if before == libc::SIG_IGN {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// Gives signals that `catch` caught their meaning back.
pub fn release(signals: &[libc::c_int]) {
    let ours = remember as *const () as libc::sighandler_t;
    for &signal in signals {
        // SAFETY: the handlers are those that the process had.
        unsafe {
            let before = libc::signal(signal, libc::SIG_DFL);
            if before != ours {
                libc::signal(signal, before);
            }
        }
    }
}
