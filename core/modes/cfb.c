/* SPDX-License-Identifier: BSD-2-Clause */
/* CFB with segments of 128 bits, SP 800-38A section 6.3. Within a block, iv holds the output block
 * E(I). Ciphertext replaces the bytes that are used, so iv becomes the next input block. */
#include "modes/modes.h"
#include "part.h"

/* Encrypts or decrypts up to `len` bytes of the current block, from offset `used` to its end at
 * most. Returns the number of bytes. */
static size_t in_block(uint8_t iv[16], unsigned used, int decrypt, uint8_t *out, const uint8_t *in,
                       size_t len)
{
    size_t n = TR_BLOCK - used;
    if (n > len)
        n = len;
    struct part shift = part_load_block(iv), data = part_load(in, n);
    struct part result = part_first(part_xor(data, part_down(shift, used)), n);
    part_store(out, result, n);
    /* Replaces the used bytes of the output block by ciphertext, which is output XOR plaintext in
     * both directions. */
    struct part plaintext = decrypt ? result : data;
    part_store_vector(iv, part_xor(shift, part_up(plaintext, used)));
    return n;
}

TR_ANY_LENGTH any_length(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used, uint8_t *out,
                         const uint8_t *in, size_t len, int decrypt)
{
    enum tr_status status = tr_stream_check(key, out, in, len, *used);
    if (status != TR_OK)
        return status;
    size_t done = 0;
    if (*used != 0)
        done = in_block(iv, *used, decrypt, out, in, len);
    size_t whole = (len - done) / TR_BLOCK;
    if (whole != 0) {
        tr_bulk(key, decrypt ? TR_OP_CFB_DECRYPT : TR_OP_CFB_ENCRYPT, out + done, in + done, whole,
                iv);
    }
    size_t rest = done + whole * TR_BLOCK;
    if (rest < len) {
        tr_short_bulk(key, TR_OP_ECB_ENCRYPT, iv, iv, 1, NULL);
        in_block(iv, 0, decrypt, out + rest, in + rest, len - rest);
    }
    *used = (unsigned)((*used + len) % TR_BLOCK);
    return TR_OK;
}

TR_INLINE enum tr_status cfb(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                             uint8_t *out, const uint8_t *in, size_t len, int decrypt)
{
    if (tr_is_whole(len, *used))
        return tr_whole_blocks(key, decrypt ? TR_OP_CFB_DECRYPT : TR_OP_CFB_ENCRYPT, out, in, len,
                               iv);
    return any_length(key, iv, used, out, in, len, decrypt);
}

enum tr_status tr_cfb128_encrypt(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                 uint8_t *out, const uint8_t *in, size_t len)
{
    return cfb(key, iv, used, out, in, len, 0);
}

enum tr_status tr_cfb128_decrypt(const struct tr_aes_key *key, uint8_t iv[16], unsigned *used,
                                 uint8_t *out, const uint8_t *in, size_t len)
{
    return cfb(key, iv, used, out, in, len, 1);
}

enum tr_status tr_cfb128_encrypt_many(const struct tr_stream *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tr_is_set(jobs[i].key))
            return TR_ERR_STATE;
        if (tr_partial_overlap(jobs[i].out, jobs[i].in, jobs[i].len))
            return TR_ERR_OVERLAP;
    }
    tr_multibuffer(TR_MB_CFB, tr_stream_job, jobs, count);
    /* Encrypts the tails: each job has less than a block left. */
    for (size_t i = 0; i < count; i++) {
        const struct tr_stream *job = &jobs[i];
        size_t rest = job->len % TR_BLOCK;
        unsigned used = 0;
        if (rest != 0)
            (void)cfb(job->key, job->iv, &used, job->out + job->len - rest,
                      job->in + job->len - rest, rest, 0);
    }
    return TR_OK;
}
