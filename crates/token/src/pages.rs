// SPDX-License-Identifier: BSD-2-Clause
//! Memory for the key of a token: pages of their own, which the system neither swaps out nor writes
//! into core dumps. In children of fork(), the pages hold zeros.
//!
//! Each of these is a request, which the system may refuse. If it does not lock the pages
//! (RLIMIT_MEMLOCK), they may be swapped out. Before Linux 4.14, which brought MADV_WIPEONFORK,
//! children inherit the key.

use std::alloc::Layout;
use tenrounds_sys::Memory;

/// New pages for an object, which hold zeros. None: there is no memory.
pub fn pages(layout: Layout) -> Option<Memory> {
    let (len, none) = (layout.size(), std::ptr::null_mut());
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the pages are new ones, and the calls below concern these alone.
    let at = unsafe { libc::mmap(none, len, access, kind, -1, 0) };
    if at == libc::MAP_FAILED {
        return None;
    }
    // SAFETY: as above.
    unsafe {
        libc::madvise(at, len, libc::MADV_DONTDUMP);
        libc::madvise(at, len, libc::MADV_WIPEONFORK);
        libc::mlock(at, len);
    }
    Some(Memory {
        at: at.cast(),
        layout,
        // SAFETY: the pages were mapped above, with this length. This unlocks them, too.
        release: |memory| unsafe {
            libc::munmap(memory.at.cast(), memory.layout.size());
        },
    })
}

/// A secret of so many bytes in pages of its own. It is cleansed when it is dropped.
pub struct Hidden<const N: usize>(Memory);

// SAFETY: the pages are this object's alone, and shared ones are only read.
unsafe impl<const N: usize> Send for Hidden<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for Hidden<N> {}

impl<const N: usize> Hidden<N> {
    /// Zeros. The caller writes the secret there, so that no other memory holds it. None: there is
    /// no memory.
    pub fn zeros() -> Option<Hidden<N>> {
        pages(Layout::new::<[u8; N]>()).map(Hidden)
    }

    pub fn bytes(&self) -> &[u8; N] {
        // SAFETY: the pages have room for these bytes, and are initialized.
        unsafe { &*self.0.at.cast() }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8; N] {
        // SAFETY: as above, and nobody else refers to them.
        unsafe { &mut *self.0.at.cast() }
    }
}

impl<const N: usize> Drop for Hidden<N> {
    fn drop(&mut self) {
        // SAFETY: nobody refers to the bytes any more.
        unsafe {
            zeroize::Zeroize::zeroize(self.bytes_mut());
            (self.0.release)(&self.0);
        }
    }
}

/// Whether the tests run under the emulator of scripts/arm, which ignores MADV_WIPEONFORK and shows
/// no flags of pages. No failure with TENROUNDS_MUST_RUN: no emulator could run these parts.
#[cfg(test)]
pub fn is_emulated() -> bool {
    let is_emulated = environment::variable("TENROUNDS_EMULATED").is_some();
    if is_emulated {
        let line = b"# SKIP the emulator does not wipe pages in children\n";
        std::io::Write::write_all(&mut std::io::stderr(), line).unwrap();
    }
    is_emulated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What /proc/self/smaps says of the pages at an address.
    fn flags_of(at: usize) -> String {
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut here = false;
        for line in text.lines() {
            let range = line
                .split_once(' ')
                .and_then(|(range, _)| range.split_once('-'));
            let address = |text| usize::from_str_radix(text, 16);
            if let Some((Ok(from), Ok(to))) = range.map(|(a, b)| (address(a), address(b))) {
                here = (from..to).contains(&at);
            }
            if let (true, Some(flags)) = (here, line.strip_prefix("VmFlags:")) {
                return flags.to_owned();
            }
        }
        panic!("no pages at {at:#x}");
    }

    #[test]
    fn the_system_knows_what_a_secret_is() {
        let mut secret = Hidden::<32>::zeros().unwrap();
        secret.bytes_mut().fill(7);
        assert_eq!(secret.bytes(), &[7; 32]);
        if is_emulated() {
            return;
        }
        // SAFETY: the child only compares, and leaves.
        let child = match unsafe { libc::fork() } {
            // SAFETY: the child ends here.
            0 => unsafe { libc::_exit(i32::from(*secret.bytes() != [0; 32])) },
            child => child,
        };
        let mut status = 0;
        // SAFETY: the pointer is valid.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child has the secret");
        let flags = flags_of(secret.0.at as usize);
        let has = |flag: &str| flags.split_whitespace().any(|word| word == flag);
        assert!(has("dd") && has("wf"), "{flags}");
        // SAFETY: the pages are locked already, or may not be.
        let locks = unsafe { libc::mlock(secret.0.at.cast(), 32) } == 0;
        assert_eq!(has("lo"), locks, "{flags}");
    }
}
