/* SPDX-License-Identifier: BSD-2-Clause */
/* OFB, SP 800-38A section 6.4. The buffer `iv` holds the last output block, which is the current
 * keystream block. */
#include "modes/keystream.h"

TR_ANY_LENGTH ofb_any_length(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                             uint8_t *out, const uint8_t *in, size_t len)
{
    enum tr_status status = tr_stream_check(key, out, in, len, *used);
    if (status != TR_OK)
        return status;
    size_t done = 0;
    if (*used != 0)
        done = tr_use_keystream(iv, *used, out, in, len);
    *used = (unsigned)((*used + len) % TR_BLOCK);
    if (done == len)
        return TR_OK;
    tr_serial_tail(key, TR_OP_OFB, iv, out + done, in + done, (len - done) / TR_BLOCK,
                   (len - done) % TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_ofb(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used, uint8_t *out,
                      const uint8_t *in, size_t len)
{
    if (tr_is_whole(len, *used))
        return tr_whole_blocks(key, TR_OP_OFB, out, in, len, iv);
    return ofb_any_length(key, iv, used, out, in, len);
}
