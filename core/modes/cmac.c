/* SPDX-License-Identifier: BSD-2-Clause */
/* CMAC, SP 800-38B section 6. */
#include "modes/cbc_mac.h"
#include "partial_block.h"

enum phase { IDLE, DATA };

/* Expands the key, and computes the two subkeys (section 6.1). */
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
static enum tr_status cmac_finish(struct tr_cmac *c, size_t tag_len)
{
    if (c->phase != DATA || !tr_is_set(&c->key->aes))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (c->used < TR_BLOCK) {
        c->buffer[c->used] = 0x80;
        __builtin_memset(c->buffer + c->used + 1, 0, TR_BLOCK - 1 - c->used);
    }
    tr_xor_block(c->chain, c->chain, c->buffer);
    tr_xor_block(c->chain, c->chain, c->key->subkey[c->used < TR_BLOCK]);
    tr_short_bulk(&c->key->aes, TR_OP_ECB_ENCRYPT, c->chain, c->chain, 1, NULL);
    tr_cleanse_inline(c->buffer, TR_BLOCK);
    c->phase = IDLE;
    return TR_OK;
}

enum tr_status tr_cmac_tag(struct tr_cmac *c, uint8_t *tag, size_t tag_len)
{
    enum tr_status status = cmac_finish(c, tag_len);
    if (status != TR_OK)
        return status;
    __builtin_memcpy(tag, c->chain, tag_len);
    tr_cleanse_inline(c->chain, TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_cmac_check(struct tr_cmac *c, const uint8_t *tag, size_t tag_len)
{
    enum tr_status status = cmac_finish(c, tag_len);
    if (status != TR_OK)
        return status;
    int good = TR_PUBLIC(tr_equal(c->chain, tag, tag_len));
    tr_cleanse_inline(c->chain, TR_BLOCK);
    return good ? TR_OK : TR_ERR_TAG;
}

/* The number of bytes before the last block of a message. The last block is partial or full. It is
 * empty only if the message is empty. */
TR_INLINE size_t before_last(size_t len)
{
    return len == 0 ? 0 : (len - 1) / TR_BLOCK * TR_BLOCK;
}

/* Sets `block` to the last block of a message, padded and XORed with a subkey (section 6.2 steps 1
 * to 4). */
TR_INLINE void last_block(uint8_t block[TR_BLOCK], const struct tr_cmac_key *key,
                          const uint8_t *data, size_t len)
{
    size_t done = before_last(len), n = len - done;
    if (__builtin_expect(n == TR_BLOCK, 1)) {
        tr_xor_block(block, data + done, key->subkey[0]);
        return;
    }
    struct partial_block last =
        n == 0 ? (struct partial_block){0, 0} : partial_load(data + done, n);
    last = partial_xor(last, partial_up((struct partial_block){0x80, 0}, (unsigned)n));
    partial_store_vector(block, partial_xor(last, partial_load_block(key->subkey[1])));
}

/* Computes the 16-byte tag of a one-shot message. Reads all data before it writes the tag. */
TR_INLINE void whole_tag(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                         uint8_t tag[TR_BLOCK])
{
    uint8_t block[TR_BLOCK], chain[TR_BLOCK];
    last_block(block, key, data, len);
    if (len > TR_BLOCK) {
        partial_store_vector(chain, (struct partial_block){0, 0});
        tr_cbc_mac(&key->aes, chain, data, before_last(len) / TR_BLOCK);
        tr_xor_block(block, block, chain);
        tr_cleanse_inline(chain, sizeof(chain));
    }
    tr_short_bulk(&key->aes, TR_OP_ECB_ENCRYPT, tag, block, 1, NULL);
    tr_cleanse_inline(block, sizeof(block));
}

enum tr_status tr_cmac_sign(const struct tr_cmac_key *key, const uint8_t *data, size_t len,
                            uint8_t *tag, size_t tag_len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (tag_len == TR_BLOCK) {
        whole_tag(key, data, len, tag);
        return TR_OK;
    }
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    uint8_t whole[TR_BLOCK];
    whole_tag(key, data, len, whole);
    partial_store(tag, partial_load_block(whole), tag_len);
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
    int good = TR_PUBLIC(tr_equal(whole, tag, tag_len));
    tr_cleanse_inline(whole, sizeof(whole));
    return good ? TR_OK : TR_ERR_TAG;
}

#if TR_ENV_ALL_MODES
/* ---- Multi-buffer: the blocks before the last block of each message, then the last blocks ---- */

static void cmac_list_first_blocks(struct tr_job *list, const void *jobs, size_t first,
                                   size_t count)
{
    struct tr_cmac_job *of = (struct tr_cmac_job *)(uintptr_t)jobs;
    for (size_t i = first; i < first + count; i++)
        *list++ = (struct tr_job){tr_shared_key(&of->key->aes, &of[i].key->aes), of[i].tag,
                                  of[i].data, NULL, before_last(of[i].len) / TR_BLOCK};
}

static void cmac_list_last_blocks(struct tr_job *list, const void *jobs, size_t first, size_t count)
{
    struct tr_cmac_job *of = (struct tr_cmac_job *)(uintptr_t)jobs;
    for (size_t i = first; i < first + count; i++)
        *list++ = (struct tr_job){tr_shared_key(&of->key->aes, &of[i].key->aes), of[i].tag,
                                  of[i].working, NULL, 1};
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
        last_block(job->working, job->key, job->data, job->len);
    }
    tr_multibuffer(TR_MB_MAC, cmac_list_first_blocks, jobs, count);
    tr_multibuffer(TR_MB_MAC, cmac_list_last_blocks, jobs, count);
    for (size_t i = 0; i < count; i++)
        tr_cleanse_inline(jobs[i].working, TR_BLOCK);
    return TR_OK;
}
#endif
