// SPDX-License-Identifier: BSD-2-Clause
//! A table of values by handle. A look-up takes the lock of its own entry and no other. A handle
//! holds the generation of its entry, so no handle is ever used again.

use crate::lock::{Lock, Locked};
use std::sync::OnceLock;

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
    value: Lock<Slot<T>>,
}

struct Slot<T> {
    /// Its number in the table.
    index: usize,
    generation: usize,
    value: Option<T>,
}

pub struct Slab<T> {
    chunks: [OnceLock<Box<[Entry<T>]>>; CHUNKS],
    free: Lock<Free>,
}

struct Free {
    list: Vec<usize>,
    /// Entries that were ever used.
    used: usize,
}

impl<T> Slot<T> {
    /// Takes the value out. Its handle is never valid again.
    fn empty(&mut self) -> Option<T> {
        let value = self.value.take()?;
        self.generation += usize::from(self.generation != LAST_GENERATION);
        Some(value)
    }
}

/// A locked entry with a value. A call that panics loses it: nobody knows what state it is in. (A
/// program's own panics are counted elsewhere: the module has a standard library of its own.) Two
/// words are returned in registers. With three or four, a call stored them and loaded them as
/// vectors, and waited for that (store forwarding): 25 ns for each pair of calls (Zen 4).
pub struct Guard<'a, T> {
    slot: Locked<'a, Slot<T>>,
    slab: &'a Slab<T>,
}

impl<T> std::ops::Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.slot.value.as_ref().expect("a guard has a value")
    }
}

impl<T> std::ops::DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.slot.value.as_mut().expect("a guard has a value")
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.lose();
        }
    }
}

impl<T> Guard<'_, T> {
    #[cold]
    #[inline(never)]
    fn lose(&mut self) {
        self.slab.empty(&mut self.slot);
    }
}

/// Somebody else has locked a value.
pub struct Busy;

/// The chunk and the place in it of an entry.
fn place_of(index: usize) -> (usize, usize) {
    let chunk = (index / FIRST + 1).ilog2() as usize;
    (chunk, index - index_of(chunk, 0))
}

fn index_of(chunk: usize, place: usize) -> usize {
    FIRST * ((1 << chunk) - 1) + place
}

impl<T> Slab<T> {
    pub fn new() -> Slab<T> {
        Slab {
            chunks: std::array::from_fn(|_| OnceLock::new()),
            free: Lock::new(Free {
                list: Vec::new(),
                used: 0,
            }),
        }
    }

    /// Stores a value, and returns its handle. None without memory, or if the table is full.
    pub fn insert(&self, value: T) -> Option<usize> {
        let mut slot = self.slot(self.free_index()?)?;
        let handle = slot.generation << INDEX_BITS | (slot.index + 1);
        slot.value = Some(value);
        Some(handle)
    }

    /// The index of an entry without a value. There is memory for the entry, and to give it back.
    fn free_index(&self) -> Option<usize> {
        let mut free = self.free.lock();
        if let Some(index) = free.list.pop() {
            return Some(index);
        }
        let used = free.used;
        let (chunk, place) = place_of(used);
        if used == INDEX_MASK || free.list.try_reserve(used + 1).is_err() {
            return None;
        }
        if place == 0 {
            self.chunks.get(chunk)?.set(empty_chunk(chunk)?).ok()?;
        }
        free.used += 1;
        Some(used)
    }

    /// Locks a value.
    #[inline]
    pub fn get(&self, handle: usize) -> Option<Guard<'_, T>> {
        let index = (handle & INDEX_MASK).checked_sub(1)?;
        let slot = self.slot(index)?;
        let current = slot.generation == handle >> INDEX_BITS && slot.value.is_some();
        current.then_some(Guard { slot, slab: self })
    }

    /// Locks a value, unless somebody else has locked it.
    pub fn try_get(&self, handle: usize) -> Result<Option<Guard<'_, T>>, Busy> {
        let index = (handle & INDEX_MASK).checked_sub(1);
        let Some(entry) = index.and_then(|index| self.entry(index)) else {
            return Ok(None);
        };
        let slot = entry.value.try_lock().ok_or(Busy)?;
        let current = slot.generation == handle >> INDEX_BITS && slot.value.is_some();
        Ok(current.then_some(Guard { slot, slab: self }))
    }

    pub fn remove(&self, handle: usize) -> Option<T> {
        self.empty(&mut self.get(handle)?.slot)
    }

    /// Takes a value out, and gives its entry back.
    fn empty(&self, slot: &mut Slot<T>) -> Option<T> {
        let used_up = slot.generation == LAST_GENERATION;
        let value = slot.empty()?;
        if !used_up {
            self.free.lock().list.push(slot.index);
        }
        Some(value)
    }

    /// The handles of the values that a condition on handle and value selects, in the order of
    /// their entries. Looks at an entry when the caller asks for the next handle.
    pub fn select<'a>(
        &'a self,
        mut condition: impl FnMut(usize, &T) -> bool + 'a,
    ) -> impl Iterator<Item = usize> + 'a {
        let used = self.free.lock().used;
        (0..used).filter_map(move |index| {
            let slot = self.slot(index)?;
            let handle = slot.generation << INDEX_BITS | (index + 1);
            let value = slot.value.as_ref()?;
            condition(handle, value).then_some(handle)
        })
    }

    #[inline]
    fn slot(&self, index: usize) -> Option<Locked<'_, Slot<T>>> {
        Some(self.entry(index)?.value.lock())
    }

    #[inline]
    fn entry(&self, index: usize) -> Option<&Entry<T>> {
        let (chunk, place) = place_of(index);
        self.chunks.get(chunk)?.get()?.get(place)
    }
}

/// A chunk of entries without values; None without memory for it.
fn empty_chunk<T>(chunk: usize) -> Option<Box<[Entry<T>]>> {
    let mut entries = Vec::new();
    entries.try_reserve_exact(FIRST << chunk).ok()?;
    entries.extend((0..FIRST << chunk).map(|place| Entry {
        value: Lock::new(Slot {
            index: index_of(chunk, place),
            generation: 0,
            value: None,
        }),
    }));
    Some(entries.into())
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
        assert_eq!(slab.select(|_, _| true).count(), 1000);
        assert_eq!(slab.select(|_, v| v % 2 == 0).count(), 500);
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
        assert!(slab.select(|_, _| true).eq([b]));
        // Its entry serves again.
        let c = slab.insert(3).unwrap();
        assert_eq!((c & INDEX_MASK, *slab.get(c).unwrap()), (a & INDEX_MASK, 3));
        assert!(c != a && slab.get(a).is_none());
    }

    #[test]
    fn entries_have_their_own_values() {
        let slab = Slab::new();
        let handles: Vec<usize> = (0..1000).map(|i| slab.insert(i).unwrap()).collect();
        for (i, handle) in handles.iter().enumerate() {
            assert_eq!(*handle, i + 1, "the first generation");
            assert_eq!(*slab.get(*handle).unwrap(), i);
        }
        assert!(slab.get(1001).is_none() && slab.get(5000).is_none());
        assert!(slab.select(|handle, value| handle == value + 1).eq(handles));
        // A chunk has as many entries as its places, whose numbers continue.
        for chunk in [0, 1, 3] {
            let entries = empty_chunk::<()>(chunk).unwrap();
            assert_eq!(entries.len(), 64 << chunk);
            for (place, entry) in entries.iter().enumerate() {
                let slot = entry.value.lock();
                assert_eq!(
                    (slot.index, slot.generation),
                    (64 * ((1 << chunk) - 1) + place, 0)
                );
            }
        }
    }

    #[test]
    fn an_entry_ends_with_its_last_generation() {
        let slab = Slab::new();
        let first = slab.insert(1).unwrap();
        assert_eq!(slab.remove(first), Some(1));
        // Its next handle is that of the next generation.
        let again = slab.insert(2).unwrap();
        assert_eq!(again, first + (1 << INDEX_BITS));
        slab.get(again).unwrap().slot.generation = LAST_GENERATION - 1;
        let before = (LAST_GENERATION - 1) << INDEX_BITS | first;
        assert_eq!(slab.remove(before), Some(2));
        let last = slab.insert(3).unwrap();
        assert_eq!(last, LAST_GENERATION << INDEX_BITS | first);
        assert_eq!((slab.remove(last), slab.remove(last)), (Some(3), None));
        // The entry is used up: another one follows.
        assert_eq!(slab.insert(4), Some(first + 1));
        assert_eq!(slab.select(|_, _| true).collect::<Vec<_>>(), [first + 1]);
    }

    #[test]
    fn a_locked_value_is_busy() {
        let slab = Slab::new();
        let (a, b) = (slab.insert(1).unwrap(), slab.insert(2).unwrap());
        let guard = slab.get(a).unwrap();
        assert!(matches!(slab.try_get(a), Err(Busy)));
        assert!(matches!(slab.try_get(b), Ok(Some(found)) if *found == 2));
        drop(guard);
        assert!(matches!(slab.try_get(a), Ok(Some(found)) if *found == 1));
        assert_eq!(slab.remove(a), Some(1));
        for gone in [a, 0, b + (1 << INDEX_BITS), 77, usize::MAX] {
            assert!(matches!(slab.try_get(gone), Ok(None)), "{gone}");
        }
    }
}
