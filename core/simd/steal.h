/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The byte moves of ciphertext stealing in XTS (IEEE 1619 sections 5.3.2, 5.4.2) and CBC (SP
 * 800-38A addendum). The last full block is processed first. The first `rest` bytes of its result
 * are the end of the output, where `rest` is the length of the partial block. The result's other
 * bytes fill up the partial block, which is processed second.
 *
 * Latency is the bound of ciphertext stealing, so all bytes stay in registers. The partial block is
 * loaded and stored by accesses of 16 bytes that overlap the full block, and a shuffle moves its
 * bytes. `rest` is 1 to 15 in XTS, and 1 to 16 in CBC.
 */
#ifndef TR_SIMD_STEAL_H
#define TR_SIMD_STEAL_H

#include "simd/vector.h"

#define NONE_16 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128
static const uint8_t steal_move[48] = {NONE_16, 0, 1,  2,  3,  4,  5,  6,  7,
                                       8,       9, 10, 11, 12, 13, 14, 15, NONE_16};
#undef NONE_16
static const uint8_t steal_from[32] = {[16] = 255, 255, 255, 255, 255, 255, 255, 255,
                                       255,        255, 255, 255, 255, 255, 255, 255};

/* Returns the `rest` bytes after the block at `in`, padded with zeros. */
TR_INLINE TR_TARGET B steal_load(const uint8_t *in, size_t rest)
{
    return b_select_bytes(b_load(in + rest), b_load(steal_move + 32 - rest));
}

/* Returns the first `rest` bytes of x, padded with zeros. */
TR_INLINE TR_TARGET B steal_first(B x, size_t rest)
{
    return b_xor(x, b_and(x, b_load(steal_from + 16 - rest)));
}

/* Returns the partial block `end`, filled up with the bytes of `full` from offset `rest` on. */
TR_INLINE TR_TARGET B steal_fill(B full, B end, size_t rest)
{
    return b_xor(end, b_and(full, b_load(steal_from + 16 - rest)));
}

/* Stores `filled` at `out`, and the first `rest` bytes of `full` after it. */
TR_INLINE TR_TARGET void steal_store(uint8_t *out, B full, B filled, size_t rest)
{
    b_store(out + rest, b_select_bytes(full, b_load(steal_move + rest)));
    b_store(out, filled); /* overwrites the zeros of the store above */
}

#endif
