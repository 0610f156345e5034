/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps of an XTS data unit, for a host whose data unit lies in several buffers. */
#ifndef TR_XTS_H
#define TR_XTS_H

#include "modes/modes.h"

/* Processes any number of whole blocks, and advances `run` past them. At the first block of the
 * data unit, the tweak in `run` need not be computed yet (see struct tr_xts_run). */
void tr_xts_blocks(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                   size_t blocks, struct tr_xts_run *run);

/* Computes the first tweak from the data-unit number, unless `run` already has it. */
void tr_xts_begin(struct tr_xts_run *run);

/* Processes the last full block and the `rest` bytes after it, 1 to 15 (IEEE 1619 sections 5.3.2,
 * 5.4.2). The data unit ends there, so the tweak in `run` is not advanced. */
void tr_xts_steal(const struct tr_aes_key *key, int decrypt, uint8_t *out, const uint8_t *in,
                  size_t rest, struct tr_xts_run *run);

#endif
