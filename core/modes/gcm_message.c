/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM, SP 800-38D section 7: the one-shot calls, and short messages for backends without GCM_SEAL
 * and GCM_OPEN. If the IV has 96 bits, one of these bulk operations processes a whole message.
 * Otherwise a one-shot call consists of streaming calls. */
#include "modes/aead.h"
#include "modes/gcm.h"
#include "modes/ghash.h"

/* The most data that tr_gcm_short() takes, in bytes. */
#define SHORT (16u * TR_BLOCK)

int tr_gcm_short(const struct tr_gcm_key *key, enum tr_op op, uint8_t *out, const uint8_t *in,
                 const struct tr_gcm_message *m)
{
    uint8_t text[TR_BLOCK + SHORT]; /* the first block becomes the tag's mask */
    uint8_t hashed[TR_GCM_HELD + SHORT + TR_BLOCK], counter[TR_BLOCK];
    struct tr_ghash ghash = {.key = &key->hash};
    const size_t len = (size_t)m->len, whole = len - len % TR_BLOCK;
    if (m->aad_len > TR_GCM_HELD || m->len > SHORT || !tr_is_set(&key->aes))
        return 0;
    partial_store_block(text, (struct partial_block){0, 0});
    uint8_t *const data = text + TR_BLOCK, *const data_end = tr_append_padded(data, in, len);
    partial_store_block(counter, tr_gcm_counter_block(m->iv, 1));
    tr_bulk(&key->aes, TR_OP_CTR, text, text, (size_t)(data_end - text) / TR_BLOCK, counter);
    uint8_t *end = tr_append_padded(hashed, m->aad, (size_t)m->aad_len);
    end = tr_append_padded(end, op == TR_OP_GCM_OPEN ? in : data, len);
    tr_store64_be(end, m->aad_len * 8);
    tr_store64_be(end + 8, m->len * 8);
    tr_bulk(&key->aes, TR_OP_GHASH, NULL, hashed, (size_t)(end - hashed) / TR_BLOCK + 1, &ghash);
    for (size_t i = 0; i < whole; i += TR_BLOCK)
        partial_store_block(out + i, partial_load_block(data + i));
    partial_store(out + whole, partial_load(data + whole, len - whole), len - whole);
    tr_xor_block(m->tag, ghash.hash, text);
    tr_cleanse_inline(ghash.hash, TR_BLOCK);
    tr_cleanse(text, (size_t)(data_end - text));
    return 1;
}

#define PARAMETERS                                                                                 \
    const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len, const uint8_t *aad,            \
        size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len
#define ARGUMENTS key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len

/* Processes a message by bulk operations. */
TR_INLINE enum tr_status by_operations(PARAMETERS, int open)
{
    const enum tr_op op = open ? TR_OP_GCM_OPEN : TR_OP_GCM_SEAL;
    const int cut = !open && tag_len != TR_BLOCK;
    uint8_t full[TR_BLOCK];
    struct tr_gcm_message m = {.iv = iv, .aad = aad, .aad_len = aad_len, .len = len};
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    m.tag = open || cut ? full : tag;
    if (iv_len == TR_GCM_IV &&
        (tr_gcm_whole(key, op, out, in, &m) || tr_gcm_short(key, op, out, in, &m))) {
        const int good = !open || TR_PUBLIC(tr_same_tag(full, tag, tag_len));
        if (cut)
            tr_put_tag(tag, full, tag_len);
        if (open || cut)
            tr_cleanse_inline(full, sizeof(full));
        if (good)
            return TR_OK;
        tr_cleanse(out, len);
        return TR_ERR_TAG;
    }
    struct tr_gcm g;
    enum tr_status status = open ? TR_OPEN_STEPS(gcm, &g, tr_gcm_start(&g, key, iv, iv_len),
                                                 tr_gcm_check(&g, tag, tag_len))
                                 : TR_SEAL_STEPS(gcm, &g, tr_gcm_start(&g, key, iv, iv_len),
                                                 tr_gcm_tag(&g, tag, tag_len));
    if (status != TR_OK) /* otherwise, the last step has cleansed all secrets */
        tr_cleanse(&g, sizeof(g));
    return status;
}

/* Returns the function for messages of any length, or NULL. */
TR_INLINE tr_gcm_fn *any_call(const struct tr_gcm_key *key, size_t iv_len, size_t aad_len,
                              const uint8_t *out, const uint8_t *in, size_t len, size_t tag_len,
                              int open)
{
    const uint64_t most = aad_len | len; /* avoids a gcc warning where size_t has 32 bits */
    if (iv_len != TR_GCM_IV || tag_len != TR_BLOCK || most > TR_GCM_MAX_DATA / 2 ||
        tr_bad_overlap(out, in, len) || !tr_is_set(&key->aes))
        return NULL;
    return tr_whole_calls(&key->aes)->gcm[open][TR_GCM_ANY];
}

#define DEFINE_ANY(seal, open)                                                                     \
    static __attribute__((__noinline__)) enum tr_status gcm_##seal##_by_operations(PARAMETERS)     \
    {                                                                                              \
        return by_operations(ARGUMENTS, open);                                                     \
    }                                                                                              \
    enum tr_status tr_gcm_##seal##_any(PARAMETERS)                                                 \
    {                                                                                              \
        tr_gcm_fn *call = any_call(key, iv_len, aad_len, out, in, len, tag_len, open);             \
        if (__builtin_expect(call == NULL, 0))                                                     \
            call = gcm_##seal##_by_operations;                                                     \
        return call(ARGUMENTS);                                                                    \
    }
DEFINE_ANY(seal, 0)
DEFINE_ANY(open, 1)
#undef DEFINE_ANY

tr_gcm_fn *const tr_gcm_any[2] = {tr_gcm_seal_any, tr_gcm_open_any};

enum tr_status tr_gcm_seal(PARAMETERS)
{
    return tr_gcm_call(key, len, 0)(ARGUMENTS);
}

/* The function does not write the tag. */
enum tr_status tr_gcm_open(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, const uint8_t *tag, size_t tag_len)
{
    return tr_gcm_call(key, len, 1)(key, iv, iv_len, aad, aad_len, out, in, len,
                                    (uint8_t *)(uintptr_t)tag, tag_len);
}
