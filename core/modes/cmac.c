/* SPDX-License-Identifier: BSD-2-Clause */
/* CMAC, SP 800-38B section 6. */
#include "cbc_mac.h"

enum phase { NO_KEY, KEYED, DATA };

/* 6.1 */
enum tr_status tr_cmac_set_key(struct tr_cmac *c, const struct tr_backend *backend,
                               const uint8_t *raw, size_t key_len)
{
    enum tr_status status = tr_aes_set_key(&c->key, backend, raw, key_len);
    if (status != TR_OK)
        return status;
    __builtin_memset(c->subkey, 0, sizeof(c->subkey));
    tr_bulk(&c->key, TR_OP_ECB_ENCRYPT, c->subkey[0], c->subkey[0], 1, NULL);
    tr_double(c->subkey[0], c->subkey[0]);
    tr_double(c->subkey[1], c->subkey[0]);
    c->phase = KEYED;
    return TR_OK;
}

enum tr_status tr_cmac_start(struct tr_cmac *c)
{
    if (c->phase == NO_KEY || c->phase > DATA)
        return TR_ERR_STATE;
    __builtin_memset(c->chain, 0, TR_BLOCK);
    c->used = 0;
    c->phase = DATA;
    return TR_OK;
}

enum tr_status tr_cmac_update(struct tr_cmac *c, const uint8_t *data, size_t len)
{
    if (c->phase != DATA)
        return TR_ERR_STATE;
    size_t room = TR_BLOCK - c->used;
    if (len > room) {
        if (c->used != 0) {
            __builtin_memcpy(c->buffer + c->used, data, room);
            tr_cbc_mac(&c->key, c->chain, c->buffer, 1);
            data += room;
            len -= room;
            c->used = 0;
        }
        size_t whole = (len - 1) / TR_BLOCK;
        tr_cbc_mac(&c->key, c->chain, data, whole);
        data += whole * TR_BLOCK;
        len -= whole * TR_BLOCK;
    }
    if (len != 0)
        __builtin_memcpy(c->buffer + c->used, data, len);
    c->used += (unsigned)len;
    return TR_OK;
}

/* The whole tag, in place of the chaining value (6.2 steps 4 to 6). Ends the message. */
static enum tr_status finish(struct tr_cmac *c, size_t tag_len)
{
    if (c->phase != DATA)
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (c->used < TR_BLOCK) {
        c->buffer[c->used] = 0x80;
        __builtin_memset(c->buffer + c->used + 1, 0, TR_BLOCK - 1 - c->used);
    }
    tr_xor_block(c->buffer, c->buffer, c->subkey[c->used < TR_BLOCK]);
    tr_cbc_mac(&c->key, c->chain, c->buffer, 1);
    tr_cleanse(c->buffer, TR_BLOCK);
    c->phase = KEYED;
    return TR_OK;
}

enum tr_status tr_cmac_tag(struct tr_cmac *c, uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(c, tag_len);
    if (status == TR_OK)
        __builtin_memcpy(tag, c->chain, tag_len);
    return status;
}

enum tr_status tr_cmac_check(struct tr_cmac *c, const uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(c, tag_len);
    if (status != TR_OK)
        return status;
    return tr_equal(c->chain, tag, tag_len) ? TR_OK : TR_ERR_TAG;
}

enum tr_status tr_cmac_sign(struct tr_cmac *c, const uint8_t *data, size_t len, uint8_t *tag,
                            size_t tag_len)
{
    enum tr_status status = tr_cmac_start(c);
    if (status == TR_OK)
        status = tr_cmac_update(c, data, len);
    return status == TR_OK ? tr_cmac_tag(c, tag, tag_len) : status;
}

enum tr_status tr_cmac_verify(struct tr_cmac *c, const uint8_t *data, size_t len,
                              const uint8_t *tag, size_t tag_len)
{
    enum tr_status status = tr_cmac_start(c);
    if (status == TR_OK)
        status = tr_cmac_update(c, data, len);
    return status == TR_OK ? tr_cmac_check(c, tag, tag_len) : status;
}

/* ---- Many messages at once: all blocks but the last of each, and then these ---- */

TR_INLINE size_t before_last(size_t len)
{
    return len == 0 ? 0 : (len - 1) / TR_BLOCK;
}

static const struct tr_aes_key *key_of(const void *jobs, size_t i)
{
    const struct tr_cmac_job *first = jobs;
    return tr_key_in_place(&first->cmac->key, &first[i].cmac->key);
}

static struct tr_lane first_blocks(const void *jobs, size_t i)
{
    struct tr_cmac_job *job = (struct tr_cmac_job *)jobs + i;
    return (struct tr_lane){key_of(jobs, i), job->tag, job->data, NULL, before_last(job->len)};
}

static struct tr_lane last_block(const void *jobs, size_t i)
{
    struct tr_cmac_job *job = (struct tr_cmac_job *)jobs + i;
    return (struct tr_lane){key_of(jobs, i), job->tag, job->working, NULL, 1};
}

enum tr_status tr_cmac_sign_many(struct tr_cmac_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].cmac->phase == NO_KEY || jobs[i].cmac->phase > DATA)
            return TR_ERR_STATE;
    }
    for (size_t i = 0; i < count; i++) {
        struct tr_cmac_job *job = &jobs[i];
        size_t done = before_last(job->len) * TR_BLOCK, n = job->len - done;
        __builtin_memset(job->tag, 0, TR_BLOCK);
        __builtin_memset(job->working, 0, TR_BLOCK);
        if (n != 0)
            __builtin_memcpy(job->working, job->data + done, n);
        if (n < TR_BLOCK)
            job->working[n] = 0x80;
        tr_xor_block(job->working, job->working, job->cmac->subkey[n < TR_BLOCK]);
    }
    tr_lanes(TR_LANES_MAC, first_blocks, jobs, count);
    tr_lanes(TR_LANES_MAC, last_block, jobs, count);
    for (size_t i = 0; i < count; i++)
        tr_wipe(jobs[i].working, TR_BLOCK);
    return TR_OK;
}
