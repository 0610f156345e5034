/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM, SP 800-38D section 7: the one-shot calls. They use the first of these methods that is
 * possible for a message. If the IV does not have 96 bits, only the last method is possible.
 *
 * - One bulk operation of the backend processes the whole message (GCM_SEAL, GCM_OPEN).
 * - Two bulk operations process a message of at most SHORT_DATA bytes and SHORT_AAD bytes of AAD.
 *   The first encrypts J0 and the counter blocks. The second hashes AAD, ciphertext and lengths.
 *   The streaming calls would need more bulk operations, one after the other.
 * - The streaming calls of gcm.c process the message.
 */
#include "modes/aead.h"
#include "modes/gcm.h"
#include "modes/ghash.h"

#define SHORT_AAD  (4u * TR_BLOCK)
#define SHORT_DATA (16u * TR_BLOCK)

/* Compares the tags of an opened message, and cleanses the expected tag. On mismatch, also cleanses
 * the plaintext and returns TR_ERR_TAG. */
static enum tr_status verify(uint8_t expected[TR_BLOCK], const uint8_t *tag, size_t tag_len,
                             uint8_t *out, size_t len)
{
    int good = TR_PUBLIC(tr_same_tag(expected, tag, tag_len));
    tr_cleanse_inline(expected, TR_BLOCK);
    if (good)
        return TR_OK;
    tr_cleanse(out, len);
    return TR_ERR_TAG;
}

/* Acquires the vector registers, and returns the backend that can process the whole message in one
 * call. Returns NULL if there is no such backend, if the IV does not have 96 bits, if the message
 * is too long for one call, or if the environment refuses the registers. The caller does not use
 * tr_bulk(), because tr_bulk() may split the message. */
TR_INLINE const struct tr_backend *begin_whole(const struct tr_gcm_key *key, enum tr_op op,
                                               size_t iv_len, size_t aad_len, size_t len)
{
    uint64_t either = (uint64_t)aad_len | len;
    if (iv_len != TR_GCM_IV || either > TR_GCM_MAX_DATA / 2)
        return NULL;
    const struct tr_backend *b = tr_backend_doing(key->aes.backend, op);
    if (b == NULL || len / TR_BLOCK >= tr_env_most_blocks(b->features) ||
        !tr_env_vector_begin(b->features))
        return NULL;
    return b;
}

TR_INLINE void whole_message(const struct tr_backend *b, enum tr_op op,
                             const struct tr_gcm_key *key, uint8_t *out, const uint8_t *in,
                             struct tr_gcm_message m)
{
    size_t blocks = (m.len + TR_BLOCK - 1) / TR_BLOCK;
    m.hash = &key->hash;
    TR_PROBE_BULK(op, b->name, blocks * TR_BLOCK);
    b->bulk[op](&key->aes, out, in, blocks, &m);
    tr_env_vector_end();
}

static int is_short(const struct tr_gcm_key *key, size_t iv_len, size_t aad_len, size_t len)
{
    return tr_is_set(&key->aes) && iv_len == TR_GCM_IV && aad_len <= SHORT_AAD && len <= SHORT_DATA;
}

struct short_message {
    uint8_t text[TR_BLOCK + SHORT_DATA]; /* the first block becomes the tag's mask */
    uint8_t hashed[SHORT_AAD + SHORT_DATA + TR_BLOCK];
    struct tr_ghash ghash;
};

/* Stores the tag's mask in the first block of m->text, and the encrypted or decrypted `in` after
 * this block. */
static void gcm_short_crypt(const struct tr_gcm_key *key, struct short_message *m,
                            const uint8_t *iv, const uint8_t *in, size_t len)
{
    uint8_t counter[TR_BLOCK];
    partial_store_block(m->text, (struct partial_block){0, 0});
    size_t blocks = (size_t)(tr_append_padded(m->text + TR_BLOCK, in, len) - m->text) / TR_BLOCK;
    partial_store_block(counter, tr_gcm_counter_block(iv, 1));
    tr_bulk(&key->aes, TR_OP_CTR, m->text, m->text, blocks, counter);
}

/* Computes the 16-byte tag in m->ghash.hash. */
static void gcm_short_tag(const struct tr_gcm_key *key, struct short_message *m, const uint8_t *aad,
                          size_t aad_len, const uint8_t *ciphertext, size_t len)
{
    uint8_t *end = tr_append_padded(tr_append_padded(m->hashed, aad, aad_len), ciphertext, len);
    tr_store64_be(end, (uint64_t)aad_len * 8);
    tr_store64_be(end + 8, (uint64_t)len * 8);
    m->ghash.key = &key->hash;
    partial_store_block(m->ghash.hash, (struct partial_block){0, 0});
    tr_bulk(&key->aes, TR_OP_GHASH, NULL, m->hashed, (size_t)(end - m->hashed) / TR_BLOCK + 1,
            &m->ghash);
    tr_xor_block(m->ghash.hash, m->ghash.hash, m->text);
}

static void gcm_copy_out(uint8_t *out, const uint8_t *text, size_t len)
{
    size_t whole = len - len % TR_BLOCK;
    for (size_t i = 0; i < whole; i += TR_BLOCK)
        partial_store_block(out + i, partial_load_block(text + i));
    partial_store(out + whole, partial_load(text + whole, len - whole), len - whole);
}

static void short_seal(const struct tr_gcm_key *key, const uint8_t *iv, const uint8_t *aad,
                       size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,
                       size_t tag_len)
{
    struct short_message m;
    gcm_short_crypt(key, &m, iv, in, len);
    gcm_short_tag(key, &m, aad, aad_len, m.text + TR_BLOCK, len);
    gcm_copy_out(out, m.text + TR_BLOCK, len);
    partial_store(tag, partial_load_block(m.ghash.hash), tag_len);
    tr_cleanse_inline(m.ghash.hash, TR_BLOCK);
    /* Cleanses the mask, and a partial last block with its unused keystream bytes. */
    tr_cleanse_inline(m.text, TR_BLOCK);
    if (len % TR_BLOCK != 0)
        tr_cleanse_inline(m.text + TR_BLOCK + len - len % TR_BLOCK, TR_BLOCK);
}

/* Opens a short message. Checks the tag before it writes any plaintext. */
static enum tr_status short_open(const struct tr_gcm_key *key, const uint8_t *iv,
                                 const uint8_t *aad, size_t aad_len, uint8_t *out,
                                 const uint8_t *in, size_t len, const uint8_t *tag, size_t tag_len)
{
    struct short_message m;
    gcm_short_crypt(key, &m, iv, in, len);
    gcm_short_tag(key, &m, aad, aad_len, in, len);
    int good = TR_PUBLIC(tr_equal(m.ghash.hash, tag, tag_len));
    if (good)
        gcm_copy_out(out, m.text + TR_BLOCK, len);
    else
        tr_cleanse(out, len);
    tr_cleanse_inline(m.ghash.hash, TR_BLOCK);
    tr_cleanse(m.text, TR_BLOCK + (len + TR_BLOCK - 1) / TR_BLOCK * TR_BLOCK);
    return good ? TR_OK : TR_ERR_TAG;
}

#define MESSAGE(whole_tag)                                                                         \
    (struct tr_gcm_message)                                                                        \
    {                                                                                              \
        .iv = iv, .aad = aad, .aad_len = aad_len, .len = len, .tag = (whole_tag)                   \
    }

/* Seals a message whose tag is truncated, or for which begin_whole() returned NULL. */
static __attribute__((__noinline__)) enum tr_status
gcm_seal_otherwise(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                   const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in, size_t len,
                   uint8_t *tag, size_t tag_len)
{
    const struct tr_backend *b = begin_whole(key, TR_OP_GCM_SEAL, iv_len, aad_len, len);
    if (b != NULL) {
        uint8_t full[TR_BLOCK];
        whole_message(b, TR_OP_GCM_SEAL, key, out, in, MESSAGE(full));
        partial_store(tag, partial_load_block(full), tag_len);
        tr_cleanse_inline(full, sizeof(full));
        return TR_OK;
    }
    if (is_short(key, iv_len, aad_len, len)) {
        short_seal(key, iv, aad, aad_len, out, in, len, tag, tag_len);
        return TR_OK;
    }
    struct tr_gcm g;
    enum tr_status status =
        TR_SEAL_STEPS(gcm, &g, tr_gcm_start(&g, key, iv, iv_len), tr_gcm_tag(&g, tag, tag_len));
    tr_cleanse_inline(&g, sizeof(g));
    return status;
}

static __attribute__((__noinline__)) enum tr_status
gcm_open_otherwise(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                   const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in, size_t len,
                   const uint8_t *tag, size_t tag_len)
{
    const struct tr_backend *b = begin_whole(key, TR_OP_GCM_OPEN, iv_len, aad_len, len);
    if (b != NULL) {
        uint8_t expected[TR_BLOCK];
        whole_message(b, TR_OP_GCM_OPEN, key, out, in, MESSAGE(expected));
        return verify(expected, tag, tag_len, out, len);
    }
    if (is_short(key, iv_len, aad_len, len))
        return short_open(key, iv, aad, aad_len, out, in, len, tag, tag_len);
    struct tr_gcm g;
    enum tr_status status =
        TR_OPEN_STEPS(gcm, &g, tr_gcm_start(&g, key, iv, iv_len), tr_gcm_check(&g, tag, tag_len));
    tr_cleanse_inline(&g, sizeof(g));
    return status;
}

enum tr_status tr_gcm_seal(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, uint8_t *tag, size_t tag_len)
{
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    const struct tr_backend *b = NULL;
    if (tag_len == TR_BLOCK)
        b = begin_whole(key, TR_OP_GCM_SEAL, iv_len, aad_len, len);
    if (b == NULL)
        return gcm_seal_otherwise(key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    whole_message(b, TR_OP_GCM_SEAL, key, out, in, MESSAGE(tag));
    return TR_OK;
}

enum tr_status tr_gcm_open(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, const uint8_t *tag, size_t tag_len)
{
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    const struct tr_backend *b = NULL;
    if (tag_len == TR_BLOCK)
        b = begin_whole(key, TR_OP_GCM_OPEN, iv_len, aad_len, len);
    if (b == NULL)
        return gcm_open_otherwise(key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    uint8_t expected[TR_BLOCK];
    whole_message(b, TR_OP_GCM_OPEN, key, out, in, MESSAGE(expected));
    return verify(expected, tag, TR_BLOCK, out, len);
}
