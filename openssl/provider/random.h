/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random bytes, from two sources.
 *
 * All of them are IVs. They come from the library context's generator, RAND_bytes_ex(3), as in the
 * default provider. A program or policy can set another generator for the context, such as the
 * generator of a FIPS provider, or a deterministic generator for tests. Calls of the generator
 * cannot recurse. Up to OpenSSL 3.3, the generator calls this provider for AES-CTR, but AES-CTR
 * does not call the generator.
 *
 * The kernel supplies them if the context has no generator.
 */
#ifndef TENROUNDS_PROVIDER_RANDOM_H
#define TENROUNDS_PROVIDER_RANDOM_H

#include "provider.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Draws n bytes from the library context's generator. Draws the bytes from the kernel only if no
 * loaded provider has a generator, or if libcrypto's functions cannot be found (trp_evp_find()).
 * Returns 1, or 0 if the generator fails.
 */
int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n);

#endif
