/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS-AES (IEEE 1619, SP 800-38E) for one vector type. The two XORs of a tweak add no latency: they
 * are merged with the XORs of the first and the last round key.
 *
 * Bound: AES throughput, and for each vector two shifts, three XORs and a carry-less
 * multiplication, which takes an AES issue slot on Zen 4. Long bulk operations compute tweaks in
 * other ways (xts/long.h, xts/ring.h). A short data unit is bound by latency: 40 cycles for the
 * tweak and 40 for the data (AES-128, Zen 4). Two data units overlap only if the second one is
 * within the reorder window, 320 instructions on Zen 4. The code therefore has at most a jump
 * between tweak and data, and avoids store-forwarding stalls. 512 bytes in ZMM take 155 cycles,
 * 51 % of the AES rate (Zen 4; docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_H
#define TR_SIMD_XTS_H

#include "dispatch/backend.h"
#include "dispatch/tuning.h"
#include "simd/steal.h"
#include "simd/table.h"
#include "simd/xts/group.h"
#include "simd/xts/long.h"
#include "simd/xts/ring.h"
#include "simd/xts/scalar.h"
#include "simd/xts/units.h"

TR_INLINE TR_TARGET struct bulk xts_start(const struct tr_aes_key *key, uint8_t *out,
                                          const uint8_t *in, int decrypt)
{
    return bulk_start(key, decrypt ? key->dec : key->enc, out, in);
}

/* Returns the tweak of the first block. Loads of 8 bytes avoid a store-forwarding stall: a caller
 * that counts data units has just stored 8 bytes of the data unit's number. */
TR_INLINE TR_TARGET B xts_first_tweak(struct tr_xts_run *state)
{
    if (state->key == NULL)
        return b_load_halves(state->tweak);
    B t = encrypt_block(state->key, b_load_halves(state->unit));
    state->key = NULL;
    return t;
}

/* Processes a full group with the tweaks in tweak[]. For `ahead`, see xts_rounds(). */
TR_INLINE TR_TARGET void xts_group(struct bulk *r, const V tweak[IN_FLIGHT], int decrypt,
                                   unsigned ahead)
{
    V x[IN_FLIGHT];
    xts_enter(x, tweak, r);
    xts_rounds(r, x, tweak, IN_FLIGHT, 0, ahead, decrypt);
}

/* Processes u vectors, of which `first` is the first tweak in every lane. The last vector has only
 * `part` blocks, unless `part` is 0. From the ninth block on, tweaks are shifted by bytes (see
 * TIMES_X8()). 320 bytes are then 1.02 to 1.05 times as fast, 1350 bytes 1.02 times. In a first
 * group that would be slower, because such a tweak waits for another one (Emerald Rapids). */
TR_INLINE TR_TARGET void xts_alone(struct bulk *r, V first, V swapped, int decrypt, unsigned u,
                                   unsigned part)
{
    const unsigned eight = 8 / VBLOCKS; /* blocks, in vectors */
    V x[IN_FLIGHT], tweak[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        tweak[j] = j < eight ? times_x(first, swapped, j * VBLOCKS) : TIMES_X8(tweak[j - eight], 1);
        x[j] = v_xor3(k, tweak[j], load_vector(r->in + (size_t)j * VBYTES, part_of(j, u, part)));
    }
    xts_rounds(r, x, tweak, u, part, XTS_AHEAD, decrypt);
}

/* Processes the whole groups of GROUP or more blocks. Updates *blocks, and returns the next
 * tweak. */
TR_INLINE TR_TARGET B xts_full_groups(struct bulk *r, size_t *blocks, int decrypt, B first)
{
    V tweak[IN_FLIGHT];
    xts_tweaks(tweak, first);
    for (; *blocks >= 2 * GROUP; *blocks -= GROUP) {
        xts_group(r, tweak, decrypt, IN_FLIGHT);
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            tweak[j] = TIMES_X_GROUP(tweak[j]);
    }
    V next = TIMES_X_GROUP(tweak[0]);
    xts_group(r, tweak, decrypt, XTS_AHEAD);
    *blocks -= GROUP;
    return v_block_0(next);
}

/* Processes 1 to GROUP blocks, of which the first has the tweak `tweak`. */
TR_INLINE TR_TARGET void xts_last_group(const struct tr_aes_key *key, uint8_t *out,
                                        const uint8_t *in, size_t blocks, B tweak, int decrypt)
{
    struct bulk r = xts_start(key, out, in, decrypt);
    V first = v_broadcast(tweak), swapped = v_swap_halves(first);
    switch (VECTORS_OF(blocks)) {
#define XTS_GROUP(n)                                                                               \
case n:                                                                                            \
    xts_alone(&r, first, swapped, decrypt, n, blocks % VBLOCKS);                                   \
    break;
        BY_VECTORS(XTS_GROUP)
    }
}

/* Whole data units (xts/unit.h) and bulk operations share these functions. They return TR_OK, so
 * that a function for whole data units can end with a jump to them. */
#if WHOLE_CALLS
#    define XTS_LAST static NOT_INLINE
#else
#    define XTS_LAST TR_INLINE
#endif
#define XTS_LAST_GROUP(name, decrypt)                                                              \
    XTS_LAST TR_TARGET enum tr_status V_NAME(name)(const struct tr_aes_key *key, uint8_t *out,     \
                                                   const uint8_t *in, size_t blocks, B tweak)      \
    {                                                                                              \
        xts_last_group(key, out, in, blocks, tweak, decrypt);                                      \
        return TR_OK;                                                                              \
    }
XTS_LAST_GROUP(xts_last_encrypt, 0)
XTS_LAST_GROUP(xts_last_decrypt, 1)

TR_INLINE TR_TARGET enum tr_status xts_last(const struct tr_aes_key *key, uint8_t *out,
                                            const uint8_t *in, size_t blocks, B tweak, int decrypt)
{
    return (decrypt ? V_NAME(xts_last_decrypt) : V_NAME(xts_last_encrypt))(key, out, in, blocks,
                                                                           tweak);
}

#if XTS_LONG
/* Two ways to process most of a long call: by chain (xts/long.h) and by ring (xts/ring.h). The
 * choice depends on the processor (xts_prefers_ring()). A kernel limits stack frames to 2 KiB, so
 * there each function below has a separate frame. */
enum xts_way { XTS_BY_GROUPS, XTS_BY_CHAIN, XTS_BY_RING };
#    if TR_ENV_STACK >= 16384
#        define XTS_FRAME TR_INLINE
#    else
#        define XTS_FRAME static NOT_INLINE
#    endif
#    define XTS_WAY(way, name, decrypt)                                                            \
        XTS_FRAME TR_TARGET B V_NAME(name)(struct bulk * run, size_t * blocks, B tweak)            \
        {                                                                                          \
            return way(run, blocks, decrypt, tweak);                                               \
        }
XTS_WAY(xts_long, xts_long_encrypt, 0)
XTS_WAY(xts_long, xts_long_decrypt, 1)
XTS_WAY(xts_ring, xts_ring_encrypt, 0)
XTS_WAY(xts_ring, xts_ring_decrypt, 1)

/* Chooses the way for a call of this many blocks. Call this before the tweak is computed. This
 * function calls tr_tuning(), and during that call the compiler would keep the tweak on the
 * stack. */
TR_INLINE enum xts_way xts_way(size_t blocks)
{
    if (blocks < XTS_LONG_FROM && blocks < XTS_RING_FROM)
        return XTS_BY_GROUPS;
    if (xts_prefers_ring())
        return blocks >= XTS_RING_FROM ? XTS_BY_RING : XTS_BY_GROUPS;
    return blocks >= XTS_LONG_FROM ? XTS_BY_CHAIN : XTS_BY_GROUPS;
}

TR_INLINE TR_TARGET B xts_most(enum xts_way way, struct bulk *run, size_t *blocks, int decrypt,
                               B tweak)
{
    if (way == XTS_BY_CHAIN)
        tweak = (decrypt ? V_NAME(xts_long_decrypt) : V_NAME(xts_long_encrypt))(run, blocks, tweak);
    else if (way == XTS_BY_RING)
        tweak = (decrypt ? V_NAME(xts_ring_decrypt) : V_NAME(xts_ring_encrypt))(run, blocks, tweak);
    return tweak;
}
#endif

TR_INLINE TR_TARGET void xts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_xts_run *state, int decrypt)
{
    struct bulk r = xts_start(key, out, in, decrypt);
#if XTS_LONG
    const enum xts_way way = xts_way(blocks);
    B tweak = xts_most(way, &r, &blocks, decrypt, xts_first_tweak(state));
#else
    B tweak = xts_first_tweak(state);
#endif
#if XTS_SCALAR
    if (blocks >= XTS_SCALAR_FROM) {
        /* Vectors compute the first group's tweaks sooner than general registers would. */
        struct xts_stored t;
        struct xts_scalar scalar = xts_scalar_start(&t, r.keys, tweak);
        V first[IN_FLIGHT];
        xts_tweaks(first, tweak);
        xts_group(&r, first, decrypt, IN_FLIGHT);
        blocks -= GROUP;
        tweak = xts_scalar_groups(scalar, &t, &r, &blocks, decrypt);
    }
#endif
    if (blocks > GROUP)
        tweak = xts_full_groups(&r, &blocks, decrypt, tweak);
    b_store(state->tweak, tweak);
    tr_xts_multiply(state->tweak, (unsigned)blocks);
    if (blocks != 0)
        (void)xts_last(key, r.out, r.in, blocks, tweak, decrypt);
}

#if VBLOCKS == 1
/* Processes a call of one block. Also stores the next block's tweak, because another call may
 * follow. */
TR_INLINE TR_TARGET void xts_one(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 struct tr_xts_run *state, int decrypt)
{
    B tweak = xts_first_tweak(state), swapped = v_swap_halves(tweak);
    b_store(state->tweak, TIMES_X(tweak, swapped, 1));
    b_store(out, xts_block(key, decrypt, b_load(in), tweak));
}

/*
 * Ciphertext stealing (IEEE 1619 sections 5.3.2, 5.4.2) for the last full block and the `rest`
 * bytes after it. The first `rest` bytes of the full block's result are the end of the output. The
 * result's other bytes fill up the partial block, which is then processed as the second block.
 * Decryption uses the two tweaks in reverse order.
 *
 * Bound: the latency of three calls of the block cipher if the first tweak is not computed yet,
 * else of two calls.
 */
TR_INLINE TR_TARGET void xts_cts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 struct tr_xts_run *state, int decrypt)
{
    const size_t rest = state->rest;
    B tweak = xts_first_tweak(state), next = v_swap_halves(tweak);
    next = TIMES_X(tweak, next, 1);
    B end = steal_load(in, rest);
    B full = xts_block(key, decrypt, b_load(in), decrypt ? next : tweak);
    B filled = steal_fill(full, end, rest);
    /* Makes gcc 12 load the round keys again. Otherwise gcc keeps the keys from the previous block,
     * and spills one of them to the stack. */
    __asm__("" : "+r"(key));
    filled = xts_block(key, decrypt, filled, decrypt ? tweak : next);
    steal_store(out, full, filled, rest);
}

/* As xts_cts(), for encryption when the full block's result is already at out. Bound: the latency
 * of one call of the block cipher. */
TR_INLINE TR_TARGET void xts_cts_after(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, const struct tr_xts_run *state)
{
    const size_t rest = state->rest;
    B full = b_load(out), end = steal_load(in, rest);
    B filled = xts_block(key, 0, steal_fill(full, end, rest), b_load_halves(state->tweak));
    steal_store(out, full, filled, rest);
}

TR_INLINE TR_TARGET void xts_any_cts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     size_t blocks, struct tr_xts_run *run, int decrypt)
{
    (void)blocks;
    if (!decrypt && run->full_done)
        xts_cts_after(key, out, in, run);
    else
        xts_cts(key, out, in, run, decrypt);
}
BULK_OPERATION(xts_encrypt_cts, xts_any_cts, 0)
BULK_OPERATION(xts_decrypt_cts, xts_any_cts, 1)
#    define XTS_IS_ONE(blocks) __builtin_expect((blocks) == 1, 0)
#else
/* A narrower backend is as fast for one block. */
#    define XTS_IS_ONE(blocks)                    0
#    define xts_one(key, out, in, state, decrypt) ((void)0)
#endif

/* Short calls go to the narrower backend before any register is saved. Longer calls are therefore
 * in a separate function. */
#define XTS_MODE(name, op, decrypt)                                                                \
    static NOT_INLINE TR_TARGET void V_NAME(name##_any)(                                           \
        const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks, void *state) \
    {                                                                                              \
        xts(key, out, in, blocks, state, decrypt);                                                 \
    }                                                                                              \
    TR_TARGET void V_NAME(name)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,     \
                                size_t blocks, void *state)                                        \
    {                                                                                              \
        const struct tr_backend *narrower = V_NARROWER(blocks);                                    \
        if (narrower != NULL)                                                                      \
            narrower->bulk[op](key, out, in, blocks, state);                                       \
        else if (XTS_IS_ONE(blocks))                                                               \
            xts_one(key, out, in, state, decrypt);                                                 \
        else                                                                                       \
            V_NAME(name##_any)(key, out, in, blocks, state);                                       \
    }
XTS_MODE(xts_encrypt, TR_OP_XTS_ENCRYPT, 0)
XTS_MODE(xts_decrypt, TR_OP_XTS_DECRYPT, 1)

#endif
