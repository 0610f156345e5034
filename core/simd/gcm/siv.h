/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM-SIV (RFC 8452) for one vector type: POLYVAL and counter mode. POLYVAL is computed as GHASH
 * without byte swaps. The counter needs no byte swap either: it is the first 32 bits of the block,
 * little-endian. A message takes one pass of POLYVAL and one pass of counter mode. The first
 * counter block comes from the tag, so sealing hashes first.
 *
 * The bound is the time of the two passes together. POLYVAL needs three carry-less multiplications
 * for each vector and two for each reduction. Counter mode needs the AES rounds. Messages of 16 KiB
 * with AES-128 reach 77 % of that bound on ZMM (Zen 4; docs/tuning/gcm.md).
 */
#ifndef TR_SIMD_GCM_SIV_H
#define TR_SIMD_GCM_SIV_H

#include "dispatch/backend.h"
#include "simd/gcm/ghash.h"
#include "simd/rounds.h"

#if TR_ENV_ALL_MODES
/* A narrower backend hashes calls of at most this many blocks. Their caller has just stored the
 * blocks one by one, so a wider load would cause a store-forwarding stall. */
#    define POLYVAL_NARROW 4u

/* Each message has its own hash subkey H. first_powers() computes ALONE_POWERS powers of H. Each
 * further power would cost a multiplication and a reduction. Calls of at most ALONE_BLOCKS blocks
 * therefore compute no further powers, and reduce after each ALONE_POWERS blocks. A message of 256
 * bytes then takes 9 to 19 % less time (Zen 4; docs/tuning/gcm.md). */
#    define ALONE_POWERS (VBLOCKS == 4 ? 8u : 4u)
#    define ALONE_BLOCKS 48u

/* Hashes a short message in groups of ALONE_POWERS blocks. The first group may be smaller. */
TR_INLINE TR_TARGET void hash_in_groups(struct tr_ghash *g, const uint8_t *in, size_t blocks)
{
    const unsigned n = (unsigned)(blocks - 1) % ALONE_POWERS + 1;
    B y = polynomial(g->hash);
    y = hash_rest(g->key, y, in, n, 1);
    for (in += (size_t)n * TR_BLOCK, blocks -= n; blocks != 0; blocks -= ALONE_POWERS) {
        y = hash_rest(g->key, y, in, ALONE_POWERS, 1);
        in += ALONE_POWERS * TR_BLOCK;
    }
    store_polynomial(g->hash, y);
}

/* Appends powers to the key, and hashes a longer message. No other message shares this key. */
static NOT_INLINE TR_TARGET void V_NAME(hash_alone)(struct tr_ghash *g, const uint8_t *in,
                                                    size_t blocks)
{
    const struct tr_ghash_key *k = g->key;
    V_NAME(append_powers)(k, (uintptr_t)k + 2 * tr_ghash_published(k), stage_for(blocks));
    hash_blocks(g, in, blocks, 1);
}

TR_TARGET void V_NAME(polyval)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                               size_t blocks, void *state)
{
    struct tr_ghash *g = state;
    const struct tr_backend *narrower = blocks <= POLYVAL_NARROW ? V_NARROWER(blocks) : NULL;
    if (narrower != NULL)
        narrower->bulk[TR_OP_POLYVAL](key, out, in, blocks, state);
    else if (have_powers(g->key, blocks))
        hash_blocks(g, in, blocks, 1);
    else if (blocks <= ALONE_BLOCKS && have_powers(g->key, ALONE_POWERS))
        hash_in_groups(g, in, blocks);
    else
        V_NAME(hash_alone)(g, in, blocks);
}

/* Encrypts u vectors with counters from r->chain. If `part` is not 0, u must be 1, and the vector
 * has `part` blocks. */
TR_INLINE TR_TARGET void ctr_le_group(struct bulk *r, unsigned u, unsigned part)
{
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(k, v_add32(r->chain, j * VBLOCKS));
    r->chain = v_add32(r->chain, u * VBLOCKS);
    xor_keystream(r, x, u, part, middle_rounds(x, u, 0, r));
}

TR_TARGET void V_NAME(ctr_le)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                              size_t blocks, void *state)
{
    uint8_t *counter = state, reversed[TR_BLOCK];
    struct bulk r = bulk_start(key, key->enc, out, in);
    /* The lowest 32 bits of the byte-swapped block are the counter, as in GCM. */
    tr_reverse_block(reversed, counter);
    r.chain = v_counters32(tr_load64_be(reversed + 8), tr_load64_be(reversed));
    uint32_t next = (uint32_t)tr_load64_be(reversed + 8) + (uint32_t)blocks;
    for (unsigned i = 0; i < 4; i++)
        counter[i] = (uint8_t)(next >> 8 * i);
    for (; blocks >= GROUP; blocks -= GROUP)
        ctr_le_group(&r, IN_FLIGHT, 0);
    if (blocks & 4 * VBLOCKS)
        ctr_le_group(&r, 4, 0);
    if (blocks & 2 * VBLOCKS)
        ctr_le_group(&r, 2, 0);
    if (blocks & VBLOCKS)
        ctr_le_group(&r, 1, 0);
    if (blocks & (VBLOCKS - 1))
        ctr_le_group(&r, 1, blocks & (VBLOCKS - 1));
}
#endif

#endif
