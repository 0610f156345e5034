/* SPDX-License-Identifier: BSD-2-Clause */
/* GHASH without vector registers, and its key setup. */
#ifndef TR_PORTABLE_GHASH_H
#define TR_PORTABLE_GHASH_H

#include "dispatch/backend.h"

/* Computes no powers: tr_portable_ghash() needs only the hash subkey `h`, which is already set. */
void tr_portable_ghash_key(struct tr_ghash_key *key);

/* Key setup for code that hashes in vector registers. The setup uses general registers only,
 * and needs only `h`. The first function computes the first powers for carry-less multiplication
 * (simd/gcm/ghash.h), the second the multiplication tables for byte shuffles
 * (simd/vperm_ghash.h). */
void tr_portable_ghash_powers(struct tr_ghash_key *key);
void tr_portable_ghash_tables(struct tr_ghash_key *key);

tr_bulk_fn tr_portable_ghash;

#endif
