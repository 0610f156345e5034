/* SPDX-License-Identifier: BSD-2-Clause */
/* ECB, SP 800-38A section 6.1. */
#include "modes/modes.h"

TR_AT_LINE enum tr_status tr_ecb_encrypt(const struct tr_aes_key *key, uint8_t *out,
                                         const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_ECB_ENCRYPT, out, in, len, NULL);
}

TR_AT_LINE enum tr_status tr_ecb_decrypt(const struct tr_aes_key *key, uint8_t *out,
                                         const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_ECB_DECRYPT, out, in, len, NULL);
}
