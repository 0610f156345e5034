/* SPDX-License-Identifier: BSD-2-Clause */
/* Partial blocks of the modes that XOR a keystream: OFB and CTR. */
#ifndef TR_KEYSTREAM_H
#define TR_KEYSTREAM_H

#include "modes/modes.h"
#include "part.h"

/* XORs up to `len` bytes of the current keystream block, from offset `used` to its end at most.
 * Returns the number of bytes. */
static inline size_t tr_use_keystream(const uint8_t block[16], unsigned used, uint8_t *out,
                                      const uint8_t *in, size_t len)
{
    size_t n = TR_BLOCK - used;
    if (n > len)
        n = len;
    struct part k = part_down(part_load_block(block), used);
    part_store(out, part_xor(part_load(in, n), k), n);
    return n;
}

#endif
