/* SPDX-License-Identifier: BSD-2-Clause */
/* A static value that one thread stores and that then is constant. Threads that race with the first
 * compute the value for themselves, so no thread waits, and a fork at any time is harmless. */
#ifndef TENROUNDS_ONCE_H
#define TENROUNDS_ONCE_H

#include <string.h>

enum { TROSSL_EMPTY, TROSSL_BEING_STORED, TROSSL_STORED };

/* Whether the value can be read. */
static inline int trossl_is_stored(const unsigned *state)
{
    return __atomic_load_n(state, __ATOMIC_ACQUIRE) == TROSSL_STORED;
}

/* Stores the value of `size` bytes, unless a thread has begun to. */
static inline void trossl_store_once(unsigned *state, void *to, const void *value, size_t size)
{
    unsigned empty = TROSSL_EMPTY;
    if (!__atomic_compare_exchange_n(state, &empty, TROSSL_BEING_STORED, 0, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED))
        return;
    memcpy(to, value, size);
    __atomic_store_n(state, TROSSL_STORED, __ATOMIC_RELEASE);
}

#endif
