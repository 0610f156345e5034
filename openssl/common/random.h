/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes: from the kernel's generator, getrandom(2). libcrypto hands providers none of its
 * own (provider-base(7) has only raw entropy and nonces for the seeding of generators), and its
 * generator may be waiting for our AES at that moment.
 */
#ifndef TENROUNDS_RANDOM_H
#define TENROUNDS_RANDOM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

/* n <= 256, which come at once. Returns 1, or 0 if there are none. */
static inline int trossl_random(uint8_t *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

#endif
