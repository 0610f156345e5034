/* SPDX-License-Identifier: BSD-2-Clause */
/* CCM, SP 800-38C section 6 with the formatting of appendix A. A backend's fused operation
 * interleaves counter mode and CBC-MAC. Without a fused operation, counter mode and CBC-MAC
 * alternate over chunks that stay in the L1 cache. */
#include "modes/aead.h"
#include "modes/cbc_mac.h"
#include "partial_block.h"

enum phase { IDLE, AAD, DATA };

enum tr_status tr_ccm_set_key(struct tr_ccm_key *key, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    return tr_aes_set_encryption_key(&key->aes, backend, raw, key_len);
}

void tr_ccm_rebind(struct tr_ccm *c, const struct tr_ccm_key *key)
{
    c->key = key;
}

/* Encrypts the current MAC block if it has any bytes. Missing bytes count as zeros. */
static void ccm_mac_pad(struct tr_ccm *c)
{
    if (c->used != 0)
        tr_short_bulk(&c->key->aes, TR_OP_ECB_ENCRYPT, c->run.mac, c->run.mac, 1, NULL);
    c->used = 0;
}

/* XORs n bytes into the partial MAC block, which must have room for them. Only the XOR is on the
 * chain of the CBC-MAC. */
static void ccm_mac_part(struct tr_ccm *c, struct partial_block data, size_t n)
{
    partial_xor_vector(c->run.mac, partial_up(data, c->used));
    c->used += (unsigned)n;
}

static void ccm_mac_update(struct tr_ccm *c, const uint8_t *data, size_t len)
{
    if (c->used != 0) {
        size_t n = TR_BLOCK - c->used < len ? TR_BLOCK - c->used : len;
        ccm_mac_part(c, partial_load(data, n), n);
        data += n;
        len -= n;
        if (c->used == TR_BLOCK)
            ccm_mac_pad(c);
    }
    if (len >= TR_BLOCK) {
        tr_cbc_mac(&c->key->aes, c->run.mac, data, len / TR_BLOCK);
        data += len - len % TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0)
        ccm_mac_part(c, partial_load(data, len), len);
}

/* Hashes the encoded length of the AAD, which precedes the AAD (appendix A.2.2). */
static void ccm_mac_aad_length(struct tr_ccm *c, uint64_t len)
{
    const uint64_t first = __builtin_bswap64(len); /* the most significant byte is first */
    if (len < 0xff00)
        ccm_mac_part(c, (struct partial_block){first >> 48, 0}, 2);
    else if (len >> 32 == 0)
        ccm_mac_part(c, (struct partial_block){first >> 32 << 16 | 0xfeff, 0}, 6);
    else
        ccm_mac_part(c, (struct partial_block){first << 16 | 0xffff, first >> 48}, 10);
}

/* Checks the key and the lengths of a message before it starts. */
static enum tr_status ccm_check_start(const struct tr_ccm_key *key, size_t nonce_len,
                                      size_t tag_len, uint64_t len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (nonce_len < 7 || nonce_len > 13)
        return TR_ERR_IV_LENGTH;
    if (tag_len < 4 || tag_len > TR_BLOCK || tag_len % 2 != 0)
        return TR_ERR_TAG_LENGTH;
    unsigned q = 15 - (unsigned)nonce_len;
    return q < 8 && len >> 8 * q != 0 ? TR_ERR_LENGTH : TR_OK;
}

enum tr_status tr_ccm_start(struct tr_ccm *c, const struct tr_ccm_key *key, const uint8_t *nonce,
                            size_t nonce_len, size_t tag_len, uint64_t aad_len, uint64_t len)
{
    enum tr_status status = ccm_check_start(key, nonce_len, tag_len, len);
    if (status != TR_OK)
        return status;
    c->key = key;
    unsigned q = 15 - (unsigned)nonce_len;
    /* Formats the block B0 (appendix A.2.1) and counter block 0 (appendix A.3). Both consist of
     * flags, the nonce, and a field of q bytes, for the length or the counter. If q < 8, the
     * first 8 - q bytes of `len` overlap the end of the nonce. These bytes are 0, because
     * ccm_check_start() limits `len`. */
    uint8_t blocks[2][TR_BLOCK];
    struct partial_block counter = partial_up(partial_load(nonce, nonce_len), 1), b0 = counter;
    counter.low |= q - 1;
    b0.low |= (uint64_t)(aad_len != 0) << 6 | (tag_len - 2) / 2 << 3 | (q - 1);
    b0.high |= __builtin_bswap64(len);
    partial_store_vector(blocks[0], b0);
    partial_store_vector(blocks[1], counter);
    counter.high |= (uint64_t)1 << 56;
    partial_store_vector(c->run.counter, counter);
    tr_short_bulk(&c->key->aes, TR_OP_ECB_ENCRYPT, blocks[0], blocks[0], 2, NULL);
    __builtin_memcpy(c->run.mac, blocks[0], TR_BLOCK);
    __builtin_memcpy(c->tag_mask, blocks[1], TR_BLOCK);
    tr_cleanse_inline(blocks, sizeof(blocks));
    c->used = 0;
    c->aad_left = aad_len;
    c->left = len;
    c->tag_len = (uint8_t)tag_len;
    c->phase = aad_len != 0 ? AAD : DATA;
    if (aad_len != 0)
        ccm_mac_aad_length(c, aad_len);
    return TR_OK;
}

enum tr_status tr_ccm_aad(struct tr_ccm *c, const uint8_t *aad, size_t len)
{
    if ((c->phase != AAD && c->phase != DATA) || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    if (len > c->aad_left)
        return TR_ERR_LENGTH;
    if (len == 0)
        return TR_OK;
    ccm_mac_update(c, aad, len);
    c->aad_left -= len;
    if (c->aad_left == 0) {
        ccm_mac_pad(c);
        c->phase = DATA;
    }
    return TR_OK;
}

/* Encrypts or decrypts bytes within the current partial block, and XORs the plaintext into the MAC
 * block. Returns the number of bytes. */
static size_t ccm_in_block(struct tr_ccm *c, uint8_t *out, const uint8_t *in, size_t len,
                           int decrypt)
{
    size_t n = TR_BLOCK - c->used;
    if (n > len)
        n = len;
    struct partial_block data = partial_load(in, n);
    struct partial_block keystream = partial_down(partial_load_block(c->keystream), c->used);
    struct partial_block result = partial_first(partial_xor(data, keystream), n);
    ccm_mac_part(c, decrypt ? result : data, n);
    partial_store(out, result, n);
    if (c->used == TR_BLOCK)
        ccm_mac_pad(c);
    return n;
}

/* Encrypts or decrypts whole blocks. TR_OP_CTR increments all 128 bits of the counter block. This
 * is correct, because the counter field never wraps: the size of the field limits the length of the
 * message. */
static void ccm_whole_blocks(struct tr_ccm *c, uint8_t *out, const uint8_t *in, size_t blocks,
                             int decrypt)
{
    size_t done = tr_bulk(&c->key->aes, decrypt ? TR_OP_CCM_DECRYPT : TR_OP_CCM_ENCRYPT, out, in,
                          blocks, &c->run);
    in += done * TR_BLOCK;
    out += done * TR_BLOCK;
    blocks -= done;
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        if (!decrypt)
            tr_cbc_mac(&c->key->aes, c->run.mac, in, n);
        tr_bulk(&c->key->aes, TR_OP_CTR, out, in, n, c->run.counter);
        if (decrypt)
            tr_cbc_mac(&c->key->aes, c->run.mac, out, n);
        in += n * TR_BLOCK;
        out += n * TR_BLOCK;
        blocks -= n;
    }
}

TR_INLINE enum tr_status update(struct tr_ccm *c, uint8_t *out, const uint8_t *in, size_t len,
                                int decrypt)
{
    if (c->phase != DATA || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    if (len > c->left)
        return TR_ERR_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    c->left -= len;
    if (c->used != 0) {
        size_t n = ccm_in_block(c, out, in, len, decrypt);
        in += n;
        out += n;
        len -= n;
    }
    size_t whole = len / TR_BLOCK;
    if (whole != 0) {
        ccm_whole_blocks(c, out, in, whole, decrypt);
        in += whole * TR_BLOCK;
        out += whole * TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0) {
        tr_short_bulk(&c->key->aes, TR_OP_ECB_ENCRYPT, c->keystream, c->run.counter, 1, NULL);
        tr_counter_add(c->run.counter, 1);
        ccm_in_block(c, out, in, len, decrypt);
    }
    return TR_OK;
}

enum tr_status tr_ccm_encrypt(struct tr_ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(c, out, in, len, 0);
}

enum tr_status tr_ccm_decrypt(struct tr_ccm *c, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(c, out, in, len, 1);
}

/* Writes the 16-byte tag over c->run.mac, and ends the message. */
static enum tr_status ccm_finish(struct tr_ccm *c)
{
    if (c->phase != DATA || c->left != 0 || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    ccm_mac_pad(c);
    tr_xor_block(c->run.mac, c->run.mac, c->tag_mask);
    tr_cleanse_inline(c->keystream, TR_BLOCK);
    tr_cleanse_inline(c->tag_mask, TR_BLOCK);
    c->phase = IDLE;
    return TR_OK;
}

enum tr_status tr_ccm_tag(struct tr_ccm *c, uint8_t *tag)
{
    enum tr_status status = ccm_finish(c);
    if (status != TR_OK)
        return status;
    tr_put_tag(tag, c->run.mac, c->tag_len);
    tr_cleanse_inline(c->run.mac, TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_ccm_check(struct tr_ccm *c, const uint8_t *tag)
{
    enum tr_status status = ccm_finish(c);
    if (status != TR_OK)
        return status;
    int good = TR_PUBLIC(tr_same_tag(c->run.mac, tag, c->tag_len));
    tr_cleanse_inline(c->run.mac, TR_BLOCK);
    return good ? TR_OK : TR_ERR_TAG;
}

enum tr_status tr_ccm_seal(const struct tr_ccm_key *key, const uint8_t *nonce, size_t nonce_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, uint8_t *tag, size_t tag_len)
{
    struct tr_ccm c;
    enum tr_status status =
        TR_SEAL_STEPS(ccm, &c, tr_ccm_start(&c, key, nonce, nonce_len, tag_len, aad_len, len),
                      tr_ccm_tag(&c, tag));
    tr_cleanse_inline(&c, sizeof(c));
    return status;
}

enum tr_status tr_ccm_open(const struct tr_ccm_key *key, const uint8_t *nonce, size_t nonce_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, const uint8_t *tag, size_t tag_len)
{
    struct tr_ccm c;
    enum tr_status status =
        TR_OPEN_STEPS(ccm, &c, tr_ccm_start(&c, key, nonce, nonce_len, tag_len, aad_len, len),
                      tr_ccm_check(&c, tag));
    tr_cleanse_inline(&c, sizeof(c));
    return status;
}

#if TR_ENV_ALL_MODES
/* ---- Multi-buffer calls: each lane computes the CBC-MAC of one job's whole blocks ---- */

/* Checks all jobs, and returns the first error. If there is none, starts all jobs and hashes their
 * AAD. */
static enum tr_status ccm_begin_many(struct tr_ccm_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct tr_ccm_job *job = &jobs[i];
        enum tr_status status = ccm_check_start(job->key, job->nonce_len, job->tag_len, job->len);
        if (status == TR_OK && tr_bad_overlap(job->out, job->in, job->len))
            status = TR_ERR_OVERLAP;
        if (status != TR_OK)
            return status;
    }
    for (size_t i = 0; i < count; i++) {
        struct tr_ccm_job *job = &jobs[i];
        struct tr_ccm *c = &job->working;
        job->status = tr_ccm_start(c, job->key, job->nonce, job->nonce_len, job->tag_len,
                                   job->aad_len, job->len);
        if (job->status == TR_OK)
            job->status = tr_ccm_aad(c, job->aad, job->aad_len);
    }
    return TR_OK;
}

static void ccm_list_plaintext(struct tr_job *list, const void *jobs, size_t first, size_t count)
{
    struct tr_ccm_job *of = (struct tr_ccm_job *)(uintptr_t)jobs;
    for (size_t i = first; i < first + count; i++)
        *list++ = (struct tr_job){tr_shared_key(&of->key->aes, &of[i].key->aes),
                                  of[i].working.run.mac, of[i].in, NULL, of[i].len / TR_BLOCK};
}

static void ccm_list_decrypted(struct tr_job *list, const void *jobs, size_t first, size_t count)
{
    ccm_list_plaintext(list, jobs, first, count);
    for (size_t i = 0; i < count; i++)
        list[i].in = ((const struct tr_ccm_job *)jobs + first + i)->out;
}

static void ccm_crypt_whole(struct tr_ccm_job *job)
{
    struct tr_ccm *c = &job->working;
    if (job->len >= TR_BLOCK)
        tr_bulk(&c->key->aes, TR_OP_CTR, job->out, job->in, job->len / TR_BLOCK, c->run.counter);
    c->left = job->len % TR_BLOCK;
}

/* Processes the tails and the tags. Returns the status of the first job that has an error. */
static enum tr_status ccm_end_many(struct tr_ccm_job *jobs, size_t count, int decrypt)
{
    enum tr_status first = TR_OK;
    for (size_t i = 0; i < count; i++) {
        struct tr_ccm_job *job = &jobs[i];
        struct tr_ccm *c = &job->working;
        size_t rest = job->len % TR_BLOCK, done = job->len - rest;
        if (job->status == TR_OK)
            job->status = (decrypt ? tr_ccm_decrypt : tr_ccm_encrypt)(c, job->out + done,
                                                                      job->in + done, rest);
        if (job->status == TR_OK)
            job->status = decrypt ? tr_ccm_check(c, job->tag) : tr_ccm_tag(c, job->tag);
        if (job->status != TR_OK)
            tr_cleanse(job->out, job->len);
        if (first == TR_OK)
            first = job->status;
        tr_cleanse_inline(c, sizeof(*c));
    }
    return first;
}

enum tr_status tr_ccm_seal_many(struct tr_ccm_job *jobs, size_t count)
{
    enum tr_status status = ccm_begin_many(jobs, count);
    if (status != TR_OK)
        return status;
    tr_multibuffer(TR_MB_MAC, ccm_list_plaintext, jobs, count);
    for (size_t i = 0; i < count; i++)
        ccm_crypt_whole(&jobs[i]);
    return ccm_end_many(jobs, count, 0);
}

enum tr_status tr_ccm_open_many(struct tr_ccm_job *jobs, size_t count)
{
    enum tr_status status = ccm_begin_many(jobs, count);
    if (status != TR_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        ccm_crypt_whole(&jobs[i]);
    tr_multibuffer(TR_MB_MAC, ccm_list_decrypted, jobs, count);
    return ccm_end_many(jobs, count, 1);
}
#endif
