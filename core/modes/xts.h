/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of an XTS data unit, for a host that does not have the unit in one place. */
#ifndef TR_XTS_H
#define TR_XTS_H

#include "modes/modes.h"

/* Processes any number of whole blocks. run is at the first of them, and afterwards at the block
 * after the last. At the unit's first block its tweak may still be due. */
void tr_xts_blocks(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                   size_t blocks, struct tr_xts_run *run);

/* Computes the first tweak from the data-unit number, if that is still due. */
void tr_xts_begin(struct tr_xts_run *run);

/* Processes the last full block and the rest bytes, 1 to 15, after it (IEEE 1619 5.3.2, 5.4.2).
 * tweak belongs to the full block. */
void tr_xts_steal(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                  size_t rest, uint8_t tweak[16]);

#endif
