/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A static value that one thread stores and that then is constant. Threads that race with the first
 * compute the value for themselves, so no thread waits, and a fork at any time is harmless.
 *
 *     if (!trossl_is_stored(&state))
 *         compute, and if (trossl_may_store(&state)) { store; trossl_stored(&state); }
 */
#ifndef TENROUNDS_ONCE_H
#define TENROUNDS_ONCE_H

enum { TROSSL_EMPTY, TROSSL_BEING_STORED, TROSSL_STORED };

/* Whether the value can be read. */
static inline int trossl_is_stored(const unsigned *state)
{
    return __atomic_load_n(state, __ATOMIC_ACQUIRE) == TROSSL_STORED;
}

/* Returns 1 to the first thread only. */
static inline int trossl_may_store(unsigned *state)
{
    unsigned empty = TROSSL_EMPTY;
    return __atomic_compare_exchange_n(state, &empty, TROSSL_BEING_STORED, 0, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

/* The thread has stored the value. */
static inline void trossl_stored(unsigned *state)
{
    __atomic_store_n(state, TROSSL_STORED, __ATOMIC_RELEASE);
}

#endif
