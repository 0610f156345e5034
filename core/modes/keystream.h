/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial blocks of the modes that XOR a keystream: CFB, OFB and CTR. */
#ifndef TR_KEYSTREAM_H
#define TR_KEYSTREAM_H

#include "modes/modes.h"
#include "partial_block.h"

/* XORs `in` with the current keystream block, from offset `used` of the block on, and writes `out`.
 * Stops at the end of the block or after `len` bytes. Returns the number of bytes processed. */
static inline size_t tr_use_keystream(const uint8_t block[16], unsigned used, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    size_t n = TR_BLOCK - used;
    if (n > len)
        n = len;
    struct partial_block k = partial_down(partial_load_block(block), used);
    partial_store(out, partial_xor(partial_load(in, n), k), n);
    return n;
}

/* Does CFB encryption or OFB of `whole` blocks and then `rest` bytes, 0 to 15. The partial block is
 * padded with zeros. If `whole` is less than TR_FEW, one bulk call processes the whole blocks and
 * the partial block together. A second call would have to load the chaining value from memory,
 * which adds latency. Sets `iv` for the caller's next call: in OFB to the last keystream block, in
 * CFB to the last keystream block XOR the padded plaintext. */
static inline void tr_serial_tail(const struct tr_aes_key *key, enum tr_op op, uint8_t iv[16],
                                  uint8_t *out, const uint8_t *in, size_t whole, size_t rest)
{
    uint8_t last[TR_FEW * TR_BLOCK];
    const size_t direct = rest == 0 || whole >= TR_FEW ? whole : 0, n = whole - direct;
    if (direct != 0)
        tr_bulk(key, op, out, in, direct, iv);
    if (rest == 0)
        return;
    out += direct * TR_BLOCK;
    in += direct * TR_BLOCK;
    for (size_t i = 0; i < n * TR_BLOCK; i += TR_BLOCK)
        partial_store_vector(last + i, partial_load_block(in + i));
    partial_store_vector(last + n * TR_BLOCK, partial_load(in + n * TR_BLOCK, rest));
    tr_bulk(key, op, last, last, n + 1, iv);
    for (size_t i = 0; i < n * TR_BLOCK; i += TR_BLOCK)
        partial_store_block(out + i, partial_load_block(last + i));
    partial_store(out + n * TR_BLOCK, partial_load_block(last + n * TR_BLOCK), rest);
    tr_cleanse_inline(last, (n + 1) * TR_BLOCK);
}

#endif
