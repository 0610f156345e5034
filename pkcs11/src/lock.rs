// SPDX-License-Identifier: BSD-2-Clause
//! A mutex that takes no atomic instruction while the process has one thread. A call that encrypts
//! 16 bytes has two locks; with atomic instructions these take as long as its encryption.
//!
//! Drepper, "Futexes Are Tricky", mutex 2: 0 is free, 1 locked, 2 locked with somebody waiting.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const AWAITED: u32 = 2;

pub struct Lock<T> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that has locked it reaches the value.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Lock<T> {}

pub struct Locked<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Lock<T> {
    pub const fn new(value: T) -> Lock<T> {
        Lock {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    #[inline]
    pub fn lock(&self) -> Locked<'_, T> {
        // Nobody can begin a thread between these two: this thread is here. One that begins later
        // sees what this one wrote before.
        if tenrounds_sys::is_single_threaded() && self.state.load(Ordering::Relaxed) == FREE {
            self.state.store(LOCKED, Ordering::Relaxed);
            return Locked { lock: self };
        }
        let free = self
            .state
            .compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed);
        if free.is_err() {
            self.wait();
        }
        Locked { lock: self }
    }

    /// Locks unless somebody else has.
    pub fn try_lock(&self) -> Option<Locked<'_, T>> {
        let free = self
            .state
            .compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed);
        match free {
            Ok(_) => Some(Locked { lock: self }),
            Err(_) => None,
        }
    }

    #[cold]
    fn wait(&self) {
        while self.state.swap(AWAITED, Ordering::Acquire) != FREE {
            // SAFETY: the kernel only reads the word. Every return leads to another look at it.
            unsafe { self.futex(libc::FUTEX_WAIT, AWAITED) };
        }
    }

    #[inline]
    fn unlock(&self) {
        if tenrounds_sys::is_single_threaded() {
            self.state.store(FREE, Ordering::Relaxed);
        } else if self.state.swap(FREE, Ordering::Release) == AWAITED {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // SAFETY: the kernel only uses the word's address.
        unsafe { self.futex(libc::FUTEX_WAKE, 1) };
    }

    unsafe fn futex(&self, operation: libc::c_int, value: u32) {
        let for_ever = std::ptr::null::<libc::timespec>();
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the caller's.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                self.state.as_ptr(),
                operation,
                value,
                for_ever,
            )
        };
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.unlock();
    }
}

impl<T> Deref for Locked<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this thread has locked it.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Locked<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has locked it.
        unsafe { &mut *self.lock.value.get() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_try_leaves_the_lock_to_its_holder() {
        let lock = Lock::new(1);
        let holder = lock.lock();
        assert!(lock.try_lock().is_none() && lock.try_lock().is_none());
        drop(holder);
        assert!(lock.try_lock().is_some_and(|value| *value == 1));
        assert!(lock.try_lock().is_some());
    }

    #[test]
    fn threads_take_turns() {
        let lock = Lock::new((0u64, 0u64));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for i in 0..20_000 {
                        let mut both = lock.lock();
                        both.0 += 1;
                        if i % 1000 == 0 {
                            std::thread::yield_now(); // the others have to wait
                        }
                        both.1 += 1;
                        assert_eq!(both.0, both.1);
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), (160_000, 160_000));
    }

    /// The words of the futex: whoever unlocks has to know whether somebody waits.
    #[test]
    fn the_state_tells_who_waits() {
        let lock = Lock::new(());
        let state = || lock.state.load(Ordering::SeqCst);
        assert_eq!(state(), 0);
        let holder = lock.lock();
        assert_eq!(state(), 1);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| drop(lock.lock()));
            while state() != 2 {
                std::thread::yield_now();
            }
            drop(holder);
            waiting.join().unwrap();
        });
        assert_eq!(state(), 0);
        let tried = lock.try_lock();
        assert_eq!(state(), 1);
        drop(tried);
        assert_eq!(state(), 0);
    }

    /// Whoever waits sleeps, and one of several is woken at a time.
    #[test]
    fn waiting_takes_no_processor_time() {
        let lock = Lock::new(0);
        let holder = lock.lock();
        let spent = || {
            // SAFETY: all zeros is a valid struct rusage.
            let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
            // SAFETY: the pointer is valid.
            unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
            usage.ru_utime.tv_sec * 1_000_000
                + usage.ru_utime.tv_usec
                + usage.ru_stime.tv_sec * 1_000_000
                + usage.ru_stime.tv_usec
        };
        std::thread::scope(|scope| {
            let wait = || {
                let before = spent();
                *lock.lock() += 1;
                spent() - before
            };
            let all: Vec<_> = (0..3).map(|_| scope.spawn(wait)).collect();
            std::thread::sleep(std::time::Duration::from_millis(400));
            drop(holder);
            for waited in all.into_iter().map(|thread| thread.join().unwrap()) {
                assert!(waited < 100_000, "{waited} us");
            }
        });
        assert_eq!(*lock.lock(), 3);
    }
}
