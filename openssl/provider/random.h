/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes, from two sources.
 *
 * Generated IVs come from the generator of the library context, RAND_bytes_ex(3), as the default
 * provider's do: what a program or a policy sets there (another generator, a FIPS provider, a
 * deterministic generator for tests) applies to them. This cannot recurse. The generator calls
 * this provider for AES-CTR (up to OpenSSL 3.3), and only the modes that generate IVs call the
 * generator.
 *
 * The MAC that replaces that of a wrong TLS record comes from the kernel. It is compared and
 * thrown away; each record that is opened needs one, and getrandom(2) is cheaper.
 */
#ifndef TENROUNDS_PROVIDER_RANDOM_H
#define TENROUNDS_PROVIDER_RANDOM_H

#include "provider.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

/*
 * From the generator of the library context. From the kernel only if the context has no
 * generator (no provider of one is loaded), or if libcrypto's functions cannot be found
 * (trp_evp_find()). Returns 1, or 0 if the generator fails.
 */
int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n);

/* From the kernel; n <= 256, which getrandom() returns at once. Returns 1, or 0 on failure. */
static inline int trp_random_of_kernel(uint8_t *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

#endif
