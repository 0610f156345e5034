/* SPDX-License-Identifier: BSD-2-Clause */
/* CBC, SP 800-38A section 6.2. */
#include "modes.h"

enum tr_status tr_cbc_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                              const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_CBC_ENCRYPT, out, in, len, iv);
}

enum tr_status tr_cbc_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                              const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_CBC_DECRYPT, out, in, len, iv);
}
