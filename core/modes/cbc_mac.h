/* SPDX-License-Identifier: BSD-2-Clause */
/* CBC-MAC, for CMAC and CCM. */
#ifndef TR_CBC_MAC_H
#define TR_CBC_MAC_H

#include "modes/modes.h"

/* Updates a CBC-MAC chain with any number of whole blocks. Uses CBC encryption, which is as fast as
 * the chain allows, and cleanses the ciphertext. */
static inline void tr_cbc_mac(const struct tr_aes_key *key, uint8_t chain[16], const uint8_t *data,
                              size_t blocks)
{
    uint8_t unwanted[TR_CHUNK * TR_BLOCK];
    size_t most = blocks < TR_CHUNK ? blocks : TR_CHUNK;
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        tr_bulk(key, TR_OP_CBC_ENCRYPT, unwanted, data, n, chain);
        data += n * TR_BLOCK;
        blocks -= n;
    }
    tr_cleanse(unwanted, most * TR_BLOCK);
}

#endif
