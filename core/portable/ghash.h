/* SPDX-License-Identifier: BSD-2-Clause */
/* Bulk operations of the bitslice backend that are not AES. */
#ifndef TR_PORTABLE_GHASH_H
#define TR_PORTABLE_GHASH_H

#include "dispatch/backend.h"

/* Stores h, which is all that GHASH without vector registers needs. */
void tr_portable_ghash_key(struct tr_ghash_key *key);

/* The first powers in the form of carry-less multiplication (simd/ghash.h), and the tables of h for
 * vector permutation (simd/vperm_ghash.h), both computed without vector registers. */
void tr_portable_ghash_powers(struct tr_ghash_key *key);
void tr_portable_ghash_tables(struct tr_ghash_key *key);

tr_bulk_fn tr_portable_ghash;

#endif
