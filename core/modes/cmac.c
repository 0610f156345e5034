/* SPDX-License-Identifier: BSD-2-Clause */
/* CMAC, SP 800-38B section 6. */
#include "modes/cbc_mac.h"
#include "part.h"

enum phase { IDLE, DATA };

/* section 6.1 */
enum tr_status tr_cmac_set_key(struct tr_cmac_key *k, const struct tr_backend *backend,
                               const uint8_t *raw, size_t key_len)
{
    enum tr_status status = tr_aes_set_encryption_key(&k->aes, backend, raw, key_len);
    if (status != TR_OK)
        return status;
    __builtin_memset(k->subkey, 0, sizeof(k->subkey));
    tr_bulk(&k->aes, TR_OP_ECB_ENCRYPT, k->subkey[0], k->subkey[0], 1, NULL);
    tr_double(k->subkey[0], k->subkey[0]);
    tr_double(k->subkey[1], k->subkey[0]);
    return TR_OK;
}

void tr_cmac_rebind(struct tr_cmac *c, const struct tr_cmac_key *key)
{
    c->key = key;
}

enum tr_status tr_cmac_start(struct tr_cmac *c, const struct tr_cmac_key *key)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    c->key = key;
    __builtin_memset(c->chain, 0, TR_BLOCK);
    c->used = 0;
    c->phase = DATA;
    return TR_OK;
}

enum tr_status tr_cmac_update(struct tr_cmac *c, const uint8_t *data, size_t len)
{
    if (c->phase != DATA || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    size_t room = TR_BLOCK - c->used;
    if (len > room) {
        if (c->used != 0) {
            __builtin_memcpy(c->buffer + c->used, data, room);
            tr_cbc_mac(&c->key->aes, c->chain, c->buffer, 1);
            data += room;
            len -= room;
            c->used = 0;
        }
        size_t whole = (len - 1) / TR_BLOCK;
        tr_cbc_mac(&c->key->aes, c->chain, data, whole);
        data += whole * TR_BLOCK;
        len -= whole * TR_BLOCK;
    }
    if (len != 0)
        __builtin_memcpy(c->buffer + c->used, data, len);
    c->used += (unsigned)len;
    return TR_OK;
}

/* Writes the 16-byte tag over the chaining value (section 6.2 steps 4 to 6), and ends the
 * message. */
static enum tr_status finish(struct tr_cmac *c, size_t tag_len)
{
    if (c->phase != DATA || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (c->used < TR_BLOCK) {
        c->buffer[c->used] = 0x80;
        __builtin_memset(c->buffer + c->used + 1, 0, TR_BLOCK - 1 - c->used);
    }
    tr_xor_block(c->buffer, c->buffer, c->key->subkey[c->used < TR_BLOCK]);
    tr_cbc_mac(&c->key->aes, c->chain, c->buffer, 1);
    tr_cleanse(c->buffer, TR_BLOCK);
    c->phase = IDLE;
    return TR_OK;
}

enum tr_status tr_cmac_tag(struct tr_cmac *c, uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(c, tag_len);
    if (status != TR_OK)
        return status;
    __builtin_memcpy(tag, c->chain, tag_len);
    tr_cleanse_inline(c->chain, TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_cmac_check(struct tr_cmac *c, const uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(c, tag_len);
    if (status != TR_OK)
        return status;
    int good = tr_equal(c->chain, tag, tag_len);
    tr_cleanse_inline(c->chain, TR_BLOCK);
    return good ? TR_OK : TR_ERR_TAG;
}

/* The number of bytes before the last block of a message. The last block is partial or full, and
 * empty only if the message is. */
TR_INLINE size_t before_last(size_t len)
{
    return len == 0 ? 0 : (len - 1) / TR_BLOCK * TR_BLOCK;
}

/* The last block of a message, padded and XORed with its subkey (section 6.2 steps 1 to 4). */
TR_INLINE struct part last_block(const struct tr_cmac_key *key, const uint8_t *data, size_t len)
{
    size_t done = before_last(len), n = len - done;
    struct part block = n == 0 ? (struct part){0, 0} : part_load(data + done, n);
    if (n < TR_BLOCK)
        block = part_xor(block, part_up((struct part){0x80, 0}, (unsigned)n));
    return part_xor(block, part_load_block(key->subkey[n < TR_BLOCK]));
}

/* Computes the 16-byte tag of a one-shot message. */
TR_INLINE void whole_tag(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                         uint8_t tag[TR_BLOCK])
{
    struct part chain = {0, 0};
    if (len > TR_BLOCK) {
        part_store_vector(tag, chain);
        tr_cbc_mac(&key->aes, tag, data, before_last(len) / TR_BLOCK);
        chain = part_load_block(tag);
    }
    part_store_vector(tag, part_xor(chain, last_block(key, data, len)));
    tr_bulk(&key->aes, TR_OP_ECB_ENCRYPT, tag, tag, 1, NULL);
}

enum tr_status tr_cmac_sign(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                            uint8_t *tag, size_t tag_len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    uint8_t whole[TR_BLOCK];
    whole_tag(key, data, len, whole);
    part_store(tag, part_load_block(whole), tag_len);
    tr_cleanse_inline(whole, sizeof(whole));
    return TR_OK;
}

enum tr_status tr_cmac_verify(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                              const uint8_t *tag, size_t tag_len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    uint8_t whole[TR_BLOCK];
    whole_tag(key, data, len, whole);
    int good = tr_equal(whole, tag, tag_len);
    tr_cleanse_inline(whole, sizeof(whole));
    return good ? TR_OK : TR_ERR_TAG;
}

/* ---- Multi-buffer: all blocks but the last of each message, then the last ones ---- */

static const struct tr_aes_key *key_of(const void *jobs, size_t i)
{
    const struct tr_cmac_job *first = jobs;
    return tr_shared_key(&first->key->aes, &first[i].key->aes);
}

static struct tr_job first_blocks_job(const void *jobs, size_t i)
{
    struct tr_cmac_job *job = (struct tr_cmac_job *)jobs + i;
    return (struct tr_job){key_of(jobs, i), job->tag, job->data, NULL,
                           before_last(job->len) / TR_BLOCK};
}

static struct tr_job last_block_job(const void *jobs, size_t i)
{
    struct tr_cmac_job *job = (struct tr_cmac_job *)jobs + i;
    return (struct tr_job){key_of(jobs, i), job->tag, job->working, NULL, 1};
}

enum tr_status tr_cmac_sign_many(struct tr_cmac_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!tr_is_set(&jobs[i].key->aes))
            return TR_ERR_STATE;
    }
    for (size_t i = 0; i < count; i++) {
        struct tr_cmac_job *job = &jobs[i];
        __builtin_memset(job->tag, 0, TR_BLOCK);
        part_store_vector(job->working, last_block(job->key, job->data, job->len));
    }
    tr_multibuffer(TR_MB_MAC, first_blocks_job, jobs, count);
    tr_multibuffer(TR_MB_MAC, last_block_job, jobs, count);
    for (size_t i = 0; i < count; i++)
        tr_cleanse_inline(jobs[i].working, TR_BLOCK);
    return TR_OK;
}
