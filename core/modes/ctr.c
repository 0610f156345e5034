/* SPDX-License-Identifier: BSD-2-Clause */
/* CTR, SP 800-38A section 6.5, with the standard incrementing function of appendix B.1 over all 128
 * bits. */
#include "modes/keystream.h"

TR_ANY_LENGTH ctr_any_length(const struct tr_aes_key *key, uint8_t counter[16],
                             uint8_t keystream[16], unsigned *used, uint8_t *out, const uint8_t *in,
                             size_t len)
{
    enum tr_status status = tr_stream_check(key, out, in, len, *used);
    if (status != TR_OK)
        return status;
    size_t done = 0;
    if (*used != 0)
        done = tr_use_keystream(keystream, *used, out, in, len);
    size_t whole = (len - done) / TR_BLOCK;
    if (whole != 0)
        tr_short_bulk(key, TR_OP_CTR, out + done, in + done, whole, counter);
    size_t rest = done + whole * TR_BLOCK;
    if (rest < len) {
        static const uint8_t zeros[TR_BLOCK];
        tr_short_bulk(key, TR_OP_CTR, keystream, zeros, 1, counter);
        tr_use_keystream(keystream, 0, out + rest, in + rest, len - rest);
    }
    *used = (unsigned)((*used + len) % TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_ctr(const struct tr_aes_key *key, uint8_t counter[16], uint8_t keystream[16],
                      unsigned *used, uint8_t *out, const uint8_t *in, size_t len)
{
    if (tr_is_whole(len, *used))
        return tr_whole_blocks(key, TR_OP_CTR, out, in, len, counter);
    return ctr_any_length(key, counter, keystream, used, out, in, len);
}
