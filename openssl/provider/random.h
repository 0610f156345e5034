/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes, from two sources.
 *
 * Generated IVs come from the library context's generator, RAND_bytes_ex(3), as in the default
 * provider. A program or policy can set another generator for the context, such as the generator of
 * a FIPS provider, or a deterministic generator for tests. Calls of the generator cannot recurse.
 * Up to OpenSSL 3.3, the generator calls this provider for AES-CTR, but AES-CTR does not call the
 * generator.
 *
 * The kernel supplies the random MAC for a TLS record with wrong padding (tls_record.h). libssl
 * only compares and discards that MAC. Every opened record draws a random MAC, and getrandom(2) is
 * cheaper than the generator.
 */
#ifndef TENROUNDS_PROVIDER_RANDOM_H
#define TENROUNDS_PROVIDER_RANDOM_H

#include "provider.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

/*
 * Draws n bytes from the library context's generator. Draws the bytes from the kernel only if no
 * loaded provider has a generator, or if libcrypto's functions cannot be found (trp_evp_find()).
 * Returns 1, or 0 if the generator fails.
 */
int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n);

/* Draws n bytes, at most 256, from the kernel. Signals do not interrupt getrandom() up to that
 * length. Returns 1, or 0 on failure. */
static inline int trp_random_of_kernel(uint8_t *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

#endif
