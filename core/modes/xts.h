/* SPDX-License-Identifier: BSD-2-Clause */
/* The pieces of an XTS data unit, for a host that does not have it in one place. */
#ifndef TR_XTS_H
#define TR_XTS_H

#include "modes.h"

/* Any number of whole blocks. tweak is that of the first, encrypted, and becomes that of the block after the
 * last. */
void tr_xts_blocks(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                   size_t blocks, uint8_t tweak[16]);

/* The last full block and the rest bytes, 1 to 15, after it (IEEE 1619 5.3.2, 5.4.2). tweak is that of the
 * full block. */
void tr_xts_steal(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                  size_t rest, uint8_t tweak[16]);

#endif
