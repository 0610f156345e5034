/* SPDX-License-Identifier: BSD-2-Clause */
/* CBC, SP 800-38A section 6.2. */
#include "modes/modes.h"

TR_AT_LINE enum tr_status tr_cbc_encrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                         const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_CBC_ENCRYPT, out, in, len, iv);
}

TR_AT_LINE enum tr_status tr_cbc_decrypt(const struct tr_aes_key *key, uint8_t iv[16], uint8_t *out,
                                         const uint8_t *in, size_t len)
{
    return tr_whole_blocks(key, TR_OP_CBC_DECRYPT, out, in, len, iv);
}

#if TR_ENV_ALL_MODES
enum tr_status tr_cbc_encrypt_many(const struct tr_stream *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tr_is_set(jobs[i].key))
            return TR_ERR_STATE;
        if (jobs[i].len % TR_BLOCK != 0)
            return TR_ERR_LENGTH;
        if (tr_bad_overlap(jobs[i].out, jobs[i].in, jobs[i].len))
            return TR_ERR_OVERLAP;
    }
    tr_multibuffer(TR_MB_CBC, tr_list_streams, jobs, count);
    return TR_OK;
}
#endif
