// SPDX-License-Identifier: BSD-2-Clause
//! A table of values by handle. A look-up takes the lock of its own entry and no other. A handle
//! holds the generation of its entry, so no handle is ever used again.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Bits of a handle for the entry; the rest count generations.
const INDEX_BITS: u32 = usize::BITS / 2 + usize::BITS / 16;
const INDEX_MASK: usize = (1 << INDEX_BITS) - 1;
const LAST_GENERATION: usize = usize::MAX >> INDEX_BITS;

/// Chunk k has FIRST << k entries.
const FIRST: usize = 64;
const CHUNKS: usize = (INDEX_BITS - FIRST.trailing_zeros()) as usize;

/// An entry has cache lines of its own, so that threads with entries side by side do not slow each
/// other down.
#[repr(align(128))]
struct Entry<T> {
    value: Mutex<Slot<T>>,
}

struct Slot<T> {
    generation: usize,
    value: Option<T>,
}

pub struct Slab<T> {
    chunks: [OnceLock<Box<[Entry<T>]>>; CHUNKS],
    free: Mutex<Free>,
}

struct Free {
    list: Vec<usize>,
    /// Entries that were ever used.
    used: usize,
}

/// A locked entry with a value.
pub struct Guard<'a, T>(MutexGuard<'a, Slot<T>>);

impl<T> std::ops::Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.value.as_ref().expect("a guard has a value")
    }
}

impl<T> std::ops::DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.value.as_mut().expect("a guard has a value")
    }
}

/// The chunk and the place in it of an entry.
fn place_of(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - FIRST * ((1 << chunk) - 1))
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab {
            chunks: std::array::from_fn(|_| OnceLock::new()),
            free: Mutex::new(Free {
                list: Vec::new(),
                used: 0,
            }),
        }
    }

    /// Stores a value, and returns its handle. None if the table is full.
    pub fn insert(&self, value: T) -> Option<usize> {
        let index = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            match free.list.pop() {
                Some(index) => index,
                None if free.used == INDEX_MASK => return None,
                None => {
                    free.used += 1;
                    free.used - 1
                }
            }
        };
        let mut slot = self.slot(index, true)?;
        let handle = slot.generation << INDEX_BITS | (index + 1);
        slot.value = Some(value);
        Some(handle)
    }

    /// Locks a value.
    pub fn get(&self, handle: usize) -> Option<Guard<'_, T>> {
        let index = (handle & INDEX_MASK).checked_sub(1)?;
        let slot = self.slot(index, false)?;
        let current = slot.generation == handle >> INDEX_BITS && slot.value.is_some();
        current.then_some(Guard(slot))
    }

    pub fn remove(&self, handle: usize) -> Option<T> {
        let mut guard = self.get(handle)?;
        let value = guard.0.value.take();
        let used_up = guard.0.generation == LAST_GENERATION;
        guard.0.generation += usize::from(!used_up);
        drop(guard);
        if !used_up {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.list.push((handle & INDEX_MASK) - 1);
        }
        value
    }

    /// The handles of the values that a condition on handle and value selects, in the order of their entries.
    pub fn select(&self, mut condition: impl FnMut(usize, &T) -> bool) -> Vec<usize> {
        let used = self
            .free
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .used;
        let mut handles = Vec::new();
        for index in 0..used {
            let Some(slot) = self.slot(index, false) else {
                continue;
            };
            let handle = slot.generation << INDEX_BITS | (index + 1);
            if slot
                .value
                .as_ref()
                .is_some_and(|value| condition(handle, value))
            {
                handles.push(handle);
            }
        }
        handles
    }

    fn slot(&self, index: usize, create: bool) -> Option<MutexGuard<'_, Slot<T>>> {
        let (chunk, place) = place_of(index);
        let cell = self.chunks.get(chunk)?;
        let entries = match cell.get() {
            Some(entries) => entries,
            None if create => cell.get_or_init(|| {
                let empty = |_| Entry {
                    value: Mutex::new(Slot {
                        generation: 0,
                        value: None,
                    }),
                };
                (0..FIRST << chunk).map(empty).collect()
            }),
            None => return None,
        };
        let value = &entries.get(place)?.value;
        Some(value.lock().unwrap_or_else(|poisoned| {
            // A call panicked. What it was about is gone, so the value is, too.
            value.clear_poison();
            let mut slot = poisoned.into_inner();
            if slot.value.take().is_some() {
                slot.generation += usize::from(slot.generation != LAST_GENERATION);
            }
            slot
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_each_other() {
        let mut next = (0, 0);
        for index in 0..10_000 {
            assert_eq!(place_of(index), next, "{index}");
            next.1 += 1;
            if next.1 == FIRST << next.0 {
                next = (next.0 + 1, 0);
            }
        }
    }

    #[test]
    fn handles_are_never_used_again() {
        let slab = Slab::new();
        let mut seen = std::collections::HashSet::new();
        for i in 0..1000 {
            let a = slab.insert(i).unwrap();
            let b = slab.insert(-i).unwrap();
            assert!(a != 0 && seen.insert(a) && seen.insert(b));
            assert_eq!(slab.remove(a), Some(i));
            assert!(slab.get(a).is_none() && slab.remove(a).is_none());
            assert_eq!(*slab.get(b).unwrap(), -i);
        }
        assert_eq!(slab.select(|_, _| true).len(), 1000);
        assert_eq!(slab.select(|_, v| v % 2 == 0).len(), 500);
        assert!(slab.get(0).is_none() && slab.get(usize::MAX).is_none());
    }

    #[test]
    fn a_panic_ends_only_its_own_value() {
        let slab = Slab::new();
        let (a, b) = (slab.insert(1).unwrap(), slab.insert(2).unwrap());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _guard = slab.get(a);
            panic!("in a call");
        }));
        assert!(panicked.is_err() && slab.get(a).is_none());
        assert_eq!(*slab.get(b).unwrap(), 2);
        assert_eq!(slab.select(|_, _| true), [b]);
    }
}
