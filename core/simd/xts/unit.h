/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A whole data unit of XTS without bulk operations: the first tweak, the blocks and ciphertext
 * stealing.
 *
 * Bound: the latencies of tweak and data, 80 cycles with AES-128. Two successive data units overlap
 * if the reorder window holds both. On Zen 4 the window holds 320 instructions. For each data unit,
 * an update through EVP takes 100 of these. This code therefore processes two or more blocks in
 * ZMM, stores no tweak, and jumps from function to function. 64 bytes take 109 instructions
 * (docs/tuning/xts.md).
 */
#ifndef TR_SIMD_XTS_UNIT_H
#define TR_SIMD_XTS_UNIT_H

#include "simd/xts/xts.h"

#if WHOLE_CALLS
/* Returns t times x^n, for n up to 63. */
TR_INLINE TR_TARGET B xts_times_x(B t, unsigned n)
{
    B out = b_shift_right64(b_swap_halves(t), 64 - (int)n);
    B moved = b_xor(b_shift_left64(t, (int)n), out);
    return b_xor(moved, b_clmul_ll(out, b_of(0x86, 0)));
}

/* Processes a data unit of less than two blocks. */
TR_INLINE TR_TARGET void xts_unit_one(const struct tr_aes_key *key, int decrypt, uint8_t *out,
                                      const uint8_t *in, size_t rest, B tweak)
{
    B x = b_load(in);
    if (__builtin_expect(rest == 0, 1)) {
        b_store(out, xts_block(key, decrypt, x, tweak));
        return;
    }
    B next = xts_times_x(tweak, 1), end = steal_load(in, rest);
    B full = xts_block(key, decrypt, x, decrypt ? next : tweak);
    B filled = steal_fill(full, end, rest);
    filled = xts_block(key, decrypt, filled, decrypt ? tweak : next);
    steal_store(out, full, filled, rest);
}

/* Decrypts a vector of at + 1 blocks, of which the first has the tweak `first`. The last block
 * loses bytes to the partial block after it. It has the tweak `last`, and is returned. Sets *own to
 * the tweak of its place. */
TR_INLINE TR_TARGET B xts_decrypt_last(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, size_t at, B first, B last, B *own)
{
    struct bulk r = xts_start(key, out, in, 1);
    V t = v_broadcast(first), tweak = times_x(t, v_swap_halves(t), 0);
    *own = v_block_at(tweak, at);
    tweak = v_insert_block(tweak, at, last);
    const unsigned part = (unsigned)(at + 1) % VBLOCKS;
    V x = v_xor3(first_key(r.keys), tweak, load_vector(in, part));
    xts_rounds(&r, &x, &tweak, 1, part, 1, 1);
    return v_block_at(x, at);
}

/* Processes the last 1 to GROUP whole blocks of a data unit, and the `rest` bytes after them. */
TR_INLINE TR_TARGET void xts_unit_steal(const struct tr_aes_key *key, int decrypt, uint8_t *out,
                                        const uint8_t *in, size_t blocks, size_t rest, B tweak)
{
    const uint8_t *full_in = in + (blocks - 1) * TR_BLOCK;
    uint8_t *full_out = out + (blocks - 1) * TR_BLOCK;
    /* Loads the partial block before the group's stores. If `out` equals `in`, a later load would
     * be a store-forwarding stall. */
    B end = steal_load(full_in, rest), full, filled;
    B last = xts_times_x(tweak, (unsigned)blocks);
    if (!decrypt) {
        (void)xts_last(key, out, in, blocks, tweak, 0);
        full = b_load(full_out);
    } else {
        /* Decryption uses the last two tweaks in reverse order. */
        const size_t at = (blocks - 1) % VBLOCKS, before = blocks - 1 - at;
        B own, first = before == 0 ? tweak : xts_times_x(tweak, (unsigned)before);
        if (before != 0)
            (void)xts_last(key, out, in, before, tweak, 1);
        full = xts_decrypt_last(key, full_out - at * TR_BLOCK, full_in - at * TR_BLOCK, at, first,
                                last, &own);
        last = own;
    }
    filled = xts_block(key, decrypt, steal_fill(full, end, rest), last);
    steal_store(full_out, full, filled, rest);
}

/*
 * The functions of one direction:
 *
 *   - _steal processes the last 1 to GROUP whole blocks of a data unit and the partial block after
 *     them, as xts_last() does without a partial block;
 *   - _groups processes a data unit of more than GROUP blocks. If there is a partial block, it
 *     keeps a full block for _steal.
 */
#    define XTS_UNIT_ARGUMENTS                                                                     \
        const struct tr_xts_key *x, const uint8_t *unit, uint8_t *out, const uint8_t *in, size_t len
#    define XTS_UNIT_MODE(name, decrypt)                                                           \
        static NOT_INLINE TR_TARGET enum tr_status V_NAME(name##_steal)(                           \
            const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t blocks,          \
            size_t rest, B tweak)                                                                  \
        {                                                                                          \
            xts_unit_steal(key, decrypt, out, in, blocks, rest, tweak);                            \
            return TR_OK;                                                                          \
        }                                                                                          \
        TR_INLINE TR_TARGET enum tr_status V_NAME(name##_end)(const struct tr_aes_key *key,        \
                                                              uint8_t *out, const uint8_t *in,     \
                                                              size_t blocks, size_t rest, B tweak) \
        {                                                                                          \
            if (rest != 0)                                                                         \
                return V_NAME(name##_steal)(key, out, in, blocks, rest, tweak);                    \
            return xts_last(key, out, in, blocks, tweak, decrypt);                                 \
        }                                                                                          \
        static NOT_INLINE TR_TARGET enum tr_status V_NAME(name##_groups)(XTS_UNIT_ARGUMENTS)       \
        {                                                                                          \
            B tweak = encrypt_block(&x->tweak, b_load_halves(unit));                               \
            struct bulk r = xts_start(&x->data, out, in, decrypt);                                 \
            const size_t rest = len % TR_BLOCK, stolen = rest != 0;                                \
            size_t blocks = len / TR_BLOCK - stolen;                                               \
            tweak = xts_full_groups(&r, &blocks, decrypt, tweak);                                  \
            blocks += stolen;                                                                      \
            if (blocks == 0)                                                                       \
                return TR_OK;                                                                      \
            return V_NAME(name##_end)(&x->data, r.out, r.in, blocks, rest, tweak);                 \
        }                                                                                          \
        TR_TARGET enum tr_status V_NAME(name)(XTS_UNIT_ARGUMENTS)                                  \
        {                                                                                          \
            const size_t blocks = len / TR_BLOCK;                                                  \
            if (blocks > GROUP)                                                                    \
                return V_NAME(name##_groups)(x, unit, out, in, len);                               \
            B tweak = encrypt_block(&x->tweak, b_load_halves(unit));                               \
            if (blocks != 1)                                                                       \
                return V_NAME(name##_end)(&x->data, out, in, blocks, len % TR_BLOCK, tweak);       \
            xts_unit_one(&x->data, decrypt, out, in, len % TR_BLOCK, tweak);                       \
            return TR_OK;                                                                          \
        }
XTS_UNIT_MODE(xts_unit_encrypt, 0)
XTS_UNIT_MODE(xts_unit_decrypt, 1)
#endif

#endif
