/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CFB decryption of any length, from any position in a block. Masked instructions load and store
 * the partial blocks at the beginning and the end of a call. The partial block at the end takes a
 * lane of the last group.
 *
 * Bound: AES throughput, and the instructions outside the groups of AES rounds. While the processor
 * dispatches these instructions, no rounds enter the schedulers (docs/tuning/parallel.md).
 */
#ifndef TR_SIMD_CFB_ANY_H
#define TR_SIMD_CFB_ANY_H

#include "dispatch/backend.h"
#include "simd/parallel.h"
#include "simd/partial_bytes.h"
#include "simd/steal.h"

#if WHOLE_CALLS
/* Decrypts n bytes from offset `used` of the current block on. The block `shift` holds ciphertext
 * before this offset, and keystream from there on. Returns `shift` with the n bytes of keystream
 * replaced by ciphertext. */
TR_INLINE TR_TARGET B cfb_head(B shift, unsigned used, uint8_t *out, const uint8_t *in, size_t n)
{
    B data = b_select_bytes(b_load_bytes(in, n), b_load(steal_move + TR_BLOCK - used));
    B text = b_select_bytes(b_xor(shift, data), b_load(steal_move + TR_BLOCK + used));
    b_store_bytes(out, text, n);
    return b_merge_bytes(shift, data, used, n);
}

/* A group of fewer than five vectors is latency-bound. If at most four vectors would remain after
 * the last full group, that group therefore takes them, too. */
#    define CFB_LAST_MOST (IN_FLIGHT + 4)
#    define BY_LAST(CASE) BY_VECTORS(CASE) CASE(9) CASE(10) CASE(11) CASE(12)
_Static_assert(IN_FLIGHT == 8, "BY_LAST has a case for each number of vectors");

/* Decrypts the last u vectors, of which the last one may be partial. Returns the last vector of
 * ciphertext. If its last block is partial, keystream fills the rest of that block. */
TR_INLINE TR_TARGET V cfb_last_group(struct bulk *b, unsigned u, size_t len)
{
    const size_t last = len - (u - 1) * VBYTES; /* the bytes of the last vector */
    const size_t blocks = (last + TR_BLOCK - 1) / TR_BLOCK * TR_BLOCK;
    V x[CFB_LAST_MOST], data[CFB_LAST_MOST], k = first_key(b->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *in = b->in + (size_t)j * VBYTES;
        data[j] = j == u - 1 ? v_load_masked(in, last) : v_load(in);
        if (j == 0)
            x[j] = v_shift_in(b->chain, data[j]);
        else
            x[j] = j == u - 1 ? v_load_masked(in - TR_BLOCK, blocks) : v_load(in - TR_BLOCK);
        x[j] = v_xor(x[j], k);
    }
    k = middle_rounds(x, u, 0, b);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_aesenclast(x[j], v_xor(k, data[j]));
    UNROLL
    for (unsigned j = 0; j < u - 1; j++)
        v_store(b->out + (size_t)j * VBYTES, x[j]);
    v_store_masked(b->out + (size_t)(u - 1) * VBYTES, x[u - 1], last);
    return v_merge_bytes(x[u - 1], data[u - 1], last);
}

TR_TARGET enum tr_status V_NAME(cfb_decrypt_any_length)(const struct tr_aes_key *key,
                                                        uint8_t iv[16], unsigned *used,
                                                        uint8_t *out, const uint8_t *in, size_t len)
{
    B shift = b_load(iv);
    const unsigned at = *used;
    *used = (at + (unsigned)len) % TR_BLOCK;
    if (at != 0) {
        const size_t n = len < TR_BLOCK - at ? len : TR_BLOCK - at;
        shift = cfb_head(shift, at, out, in, n);
        len -= n;
        in += n;
        out += n;
    }
    if (len == 0) {
        b_store(iv, shift);
        return TR_OK;
    }
    struct bulk b = bulk_start(key, key->enc, out, in);
    b.chain = v_broadcast(shift);
    const struct group g = {.shape = TR_SHAPE_CFB_DECRYPT, .vectors = IN_FLIGHT};
    for (; len > CFB_LAST_MOST * VBYTES; len -= IN_FLIGHT * VBYTES)
        do_group(g, &b);
    V last;
    switch ((len + VBYTES - 1) / VBYTES) {
#    define CFB_LAST(n)                                                                            \
    case n:                                                                                        \
        last = cfb_last_group(&b, n, len);                                                         \
        break;
        BY_LAST(CFB_LAST)
    default: /* the loop leaves at most CFB_LAST_MOST vectors */
        __builtin_unreachable();
    }
    b_store(iv, v_block_at(last, (len - 1) % VBYTES / TR_BLOCK));
    return TR_OK;
}
#endif

#endif
