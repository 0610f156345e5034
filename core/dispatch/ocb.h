/* SPDX-License-Identifier: BSD-2-Clause */
/* The offsets of OCB (RFC 7253 section 4.2), for the mode and the backends. */
#ifndef TR_OCB_H
#define TR_OCB_H

#include "util.h"

/* Computes L_n of the RFC, for any n. The loop depends only on the index of a block, which is
 * public. */
TR_INLINE void tr_ocb_l(const struct tr_ocb_run *r, unsigned n, uint8_t l[TR_BLOCK])
{
    unsigned known = n < TR_OCB_POWERS ? n : TR_OCB_POWERS - 1;
    __builtin_memcpy(l, r->key->l[known], TR_BLOCK);
    for (; known < n; known++)
        tr_double(l, l);
}

/* Advances the offset to the next block. For block i, XORs L_n into the offset. Here n is the
 * number of trailing zero bits of i. */
TR_INLINE void tr_ocb_next_offset(struct tr_ocb_run *r)
{
    const unsigned n = (unsigned)__builtin_ctzll(++r->index);
    uint8_t l[TR_BLOCK];
    if (n < TR_OCB_POWERS) {
        tr_xor_block(r->offset, r->offset, r->key->l[n]);
        return;
    }
    tr_ocb_l(r, n, l);
    tr_xor_block(r->offset, r->offset, l);
    tr_cleanse_inline(l, sizeof(l));
}

#endif
