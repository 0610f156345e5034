/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM, SP 800-38D section 7, over the fused operations of a backend or, where it has none, over its
 * counter mode and GHASH. */
#include "../ghash.h"
#include "keystream.h"

/* What came last. */
enum phase { NO_KEY, KEYED, AAD, DATA };

/* 5.2.1.1, in bytes. */
#define MAX_DATA 0xfffffffe0u
#define MAX_AAD  0x1fffffffffffffffu

enum tr_status tr_gcm_set_key(struct tr_gcm *g, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    enum tr_status status = tr_ghash_set_key(&g->run.ghash, &g->key, backend, raw, key_len);
    if (status == TR_OK)
        g->run.phase = KEYED;
    return status;
}

/* Ends the hash with the block of two lengths, in bits (7.1 step 5), in one run with the block of zeros that
 * completes the one begun. */
static void hash_lengths(struct tr_gcm *g, uint64_t first, uint64_t second)
{
    uint8_t blocks[2 * TR_BLOCK];
    unsigned begun = g->run.used != 0;
    struct part lengths = {__builtin_bswap64(first * 8), __builtin_bswap64(second * 8)};
    part_store_vector(blocks, (struct part){0, 0});
    part_store_vector(blocks + TR_BLOCK, lengths);
    tr_bulk(&g->key, TR_OP_GHASH, NULL, blocks + (begun ? 0 : TR_BLOCK), 1 + begun, &g->run.ghash);
    g->run.used = 0;
}

enum tr_status tr_gcm_start(struct tr_gcm *g, const uint8_t *iv, size_t iv_len)
{
    if (g->run.phase == NO_KEY || g->run.phase > DATA)
        return TR_ERR_STATE;
    uint64_t bytes = iv_len; /* as such, for gcc complains of a comparison that 32 bits decide */
    if (bytes == 0 || bytes > MAX_AAD)
        return TR_ERR_IV_LENGTH;
    uint8_t *counter = g->run.counter;
    g->run.used = 0;
    g->run.counter_is_secret = iv_len != 12;
    if (iv_len == 12) {
        struct part first = part_load(iv, 12);
        first.high |= (uint64_t)1 << 56; /* the 32-bit number 1, big-endian */
        part_store_block(counter, first);
    } else {
        __builtin_memset(g->run.ghash.hash, 0, TR_BLOCK);
        tr_ghash_update(&g->run.ghash, &g->key, &g->run.used, iv, iv_len);
        hash_lengths(g, 0, iv_len);
        __builtin_memcpy(counter, g->run.ghash.hash, TR_BLOCK);
    }
    tr_counter_add32(counter, 1);
    part_store_block(g->run.ghash.hash, (struct part){0, 0});
    g->run.mask_due = 1;
    g->run.keystream_due = 0;
    g->aad_len = g->len = 0;
    g->run.phase = AAD;
    return TR_OK;
}

enum tr_status tr_gcm_aad(struct tr_gcm *g, const uint8_t *aad, size_t len)
{
    if (g->run.phase != AAD)
        return TR_ERR_STATE;
    if (len > MAX_AAD - g->aad_len)
        return TR_ERR_LENGTH;
    if (g->aad_len == 0 && len == TR_BLOCK) {
        /* A full block waits, too, to be multiplied along with the data. */
        part_store_block(g->run.ghash.hash, part_load_block(aad));
        g->run.used = TR_BLOCK;
    } else {
        tr_ghash_update(&g->run.ghash, &g->key, &g->run.used, aad, len);
    }
    g->aad_len += len;
    return TR_OK;
}

/* Of the mask and the keystream what is due, with one wait for AES. */
static void make_blocks(struct tr_gcm *g)
{
    uint8_t blocks[2 * TR_BLOCK], *end = blocks;
    struct part counter = part_load_block(g->run.counter);
    if (g->run.mask_due) {
        uint8_t first[TR_BLOCK];
        part_store_block(first, counter);
        tr_counter_add32(first, (uint32_t)-1);
        part_store_vector(end, part_load_block(first));
        end += TR_BLOCK;
    }
    if (g->run.keystream_due) {
        part_store_vector(end, counter);
        end += TR_BLOCK;
    }
    if (end == blocks)
        return;
    tr_bulk(&g->key, TR_OP_ECB_ENCRYPT, blocks, blocks, (size_t)(end - blocks) / TR_BLOCK, NULL);
    if (g->run.mask_due)
        part_store_block(g->run.mask, part_load_block(blocks));
    if (g->run.keystream_due)
        part_store_block(g->run.keystream, part_load_block(end - TR_BLOCK));
    g->run.mask_due = g->run.keystream_due = 0;
    tr_cleanse(blocks, sizeof(blocks));
}

/* Bytes of the block in use, which go into the hash as ciphertext. Returns how many. */
static size_t in_block(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len, int decrypt)
{
    size_t n = TR_BLOCK - g->run.used;
    if (n > len)
        n = len;
    struct part data = part_load(in, n);
    struct part keystream = part_down(part_load_block(g->run.keystream), g->run.used);
    struct part result = part_first(part_xor(data, keystream), n);
    uint8_t *hash = g->run.ghash.hash;
    part_store_block(
        hash, part_xor(part_load_block(hash), part_up(decrypt ? data : result, g->run.used)));
    part_store(out, result, n);
    g->run.used += (unsigned)n;
    if (g->run.used == TR_BLOCK)
        tr_ghash_pad(&g->run.ghash, &g->key, &g->run.used);
    return n;
}

/* The counters of blocks, at most as many as do not wrap in 32 bits, are those of CTR. */
static void counter_mode(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t blocks)
{
    uint8_t counter[TR_BLOCK];
    while (blocks != 0) {
        uint32_t before_wrap = 0 - (uint32_t)tr_load64_be(g->run.counter + 8);
        size_t n = before_wrap != 0 && blocks > before_wrap ? before_wrap : blocks;
        __builtin_memcpy(counter, g->run.counter, TR_BLOCK);
        tr_bulk(&g->key, TR_OP_CTR, out, in, n, counter);
        tr_counter_add32(g->run.counter, (uint32_t)n);
        in += n * TR_BLOCK;
        out += n * TR_BLOCK;
        blocks -= n;
    }
}

/* The same without asking for the counter: each counter block by itself. */
static void secret_counter_mode(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t blocks)
{
    uint8_t keystream[16][TR_BLOCK];
    while (blocks != 0) {
        size_t n = blocks < 16 ? blocks : 16;
        for (size_t i = 0; i < n; i++) {
            part_store_block(keystream[i], part_load_block(g->run.counter));
            tr_counter_add32(g->run.counter, 1);
        }
        tr_bulk(&g->key, TR_OP_ECB_ENCRYPT, keystream[0], keystream[0], n, NULL);
        for (size_t i = 0; i < n; i++, in += TR_BLOCK, out += TR_BLOCK)
            part_store_block(out, part_xor(part_load_block(in), part_load_block(keystream[i])));
        blocks -= n;
    }
    tr_wipe(keystream, sizeof(keystream));
}

static void whole_blocks(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t blocks,
                         int decrypt)
{
    size_t done =
        tr_bulk(&g->key, decrypt ? TR_OP_GCM_DECRYPT : TR_OP_GCM_ENCRYPT, out, in, blocks, &g->run);
    blocks -= done;
    if (blocks == 0) {
        g->run.keystream_due = 0;
        return;
    }
    in += done * TR_BLOCK;
    out += done * TR_BLOCK;
    uint8_t due = g->run.keystream_due;
    g->run.keystream_due = 0;
    make_blocks(g); /* the mask, before the counter goes on */
    g->run.keystream_due = due;
    tr_ghash_pad(&g->run.ghash, &g->key, &g->run.used);
    if (decrypt)
        tr_bulk(&g->key, TR_OP_GHASH, NULL, in, blocks, &g->run.ghash);
    if (g->run.counter_is_secret)
        secret_counter_mode(g, out, in, blocks);
    else
        counter_mode(g, out, in, blocks);
    if (!decrypt)
        tr_bulk(&g->key, TR_OP_GHASH, NULL, out, blocks, &g->run.ghash);
}

TR_INLINE enum tr_status update(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len,
                                int decrypt)
{
    if (g->run.phase != AAD && g->run.phase != DATA)
        return TR_ERR_STATE;
    if (len > MAX_DATA - g->len)
        return TR_ERR_LENGTH;
    if (tr_partial_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    size_t whole = len / TR_BLOCK;
    int first = g->run.phase == AAD;
    g->run.phase = DATA;
    g->len += len;
    if (first) {
        /* The last block of AAD is multiplied along with the first blocks of data. */
        if (whole == 0)
            tr_ghash_pad(&g->run.ghash, &g->key, &g->run.used);
    } else if (g->run.used != 0) {
        size_t n = in_block(g, out, in, len, decrypt);
        in += n;
        out += n;
        len -= n;
        whole = len / TR_BLOCK;
    }
    g->run.keystream_due = len % TR_BLOCK != 0;
    if (whole != 0) {
        whole_blocks(g, out, in, whole, decrypt);
        in += whole * TR_BLOCK;
        out += whole * TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0) {
        make_blocks(g);
        tr_counter_add32(g->run.counter, 1);
        in_block(g, out, in, len, decrypt);
    }
    return TR_OK;
}

enum tr_status tr_gcm_encrypt(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(g, out, in, len, 0);
}

enum tr_status tr_gcm_decrypt(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(g, out, in, len, 1);
}

/* tr_equal(), by words. */
TR_INLINE int same_tag(const uint8_t *a, const uint8_t *b, size_t len)
{
    struct part difference = part_first(part_xor(part_load_block(a), part_load(b, len)), len);
    uint64_t any = difference.low | difference.high;
    __asm__("" : "+r"(any));
    return any == 0;
}

/* Of a whole message: what was written goes if its tag is not the right one, which nobody is left with. */
static enum tr_status judged(uint8_t right[TR_BLOCK], const uint8_t *tag, size_t tag_len,
                             uint8_t *out, size_t len)
{
    int good = same_tag(right, tag, tag_len);
    tr_wipe(right, TR_BLOCK);
    if (good)
        return TR_OK;
    tr_cleanse(out, len);
    return TR_ERR_TAG;
}

/* The whole tag, in place of its mask. Ends the message. */
static enum tr_status finish(struct tr_gcm *g, size_t tag_len)
{
    if (g->run.phase != AAD && g->run.phase != DATA)
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    uint8_t lengths[TR_BLOCK];
    tr_store64_be(lengths, g->aad_len * 8);
    tr_store64_be(lengths + 8, g->len * 8);
    if (tr_bulk(&g->key, TR_OP_GCM_TAG, g->run.mask, lengths, 1, &g->run) == 0) {
        g->run.keystream_due = 0;
        make_blocks(g);
        hash_lengths(g, g->aad_len, g->len);
        tr_xor_block(g->run.mask, g->run.ghash.hash, g->run.mask);
    }
    g->run.phase = KEYED;
    return TR_OK;
}

enum tr_status tr_gcm_tag(struct tr_gcm *g, uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(g, tag_len);
    if (status == TR_OK)
        part_store(tag, part_load_block(g->run.mask), tag_len);
    return status;
}

enum tr_status tr_gcm_check(struct tr_gcm *g, const uint8_t *tag, size_t tag_len)
{
    enum tr_status status = finish(g, tag_len);
    if (status != TR_OK)
        return status;
    return same_tag(g->run.mask, tag, tag_len) ? TR_OK : TR_ERR_TAG;
}

/* ---- Whole messages ---- */

/*
 * With an IV of 96 bits a backend does all of a message at once, or this does a short one: the first counter block is
 * encrypted along with the others, and AAD, ciphertext and lengths are hashed as one run, which is reduced once. What would
 * be four waits for the latency of AES or GHASH is two.
 */
#define SHORT_AAD  (4u * TR_BLOCK)
#define SHORT_DATA (16u * TR_BLOCK)

/* The table that does all of a message at once, and the vector registers for it; NULL if that cannot be. It is not to be cut
 * in parts, as tr_bulk() would. */
TR_INLINE const struct tr_backend *begin_whole(const struct tr_gcm *g, enum tr_op op, size_t iv_len,
                                               size_t aad_len, size_t len)
{
    uint64_t either = (uint64_t)aad_len | len;
    if (iv_len != 12 || g->run.phase == NO_KEY || either > MAX_DATA / 2)
        return NULL;
    const struct tr_backend *b = tr_backend_doing(g->key.backend, op);
    if (b == NULL || len / TR_BLOCK >= tr_env_most_blocks(b->features) ||
        !tr_env_vector_begin(b->features))
        return NULL;
    return b;
}

TR_INLINE void whole_message(const struct tr_backend *b, enum tr_op op, struct tr_gcm *g,
                             uint8_t *out, const uint8_t *in, struct tr_gcm_message m)
{
    size_t blocks = (m.len + TR_BLOCK - 1) / TR_BLOCK;
    m.ghash = &g->run.ghash;
    g->run.phase = KEYED;
    TR_PROBE_BULK(op, b->name, blocks * TR_BLOCK);
    b->bulk[op](&g->key, out, in, blocks, &m);
    tr_env_vector_end();
}

static int is_short(const struct tr_gcm *g, size_t iv_len, size_t aad_len, size_t len)
{
    return g->run.phase != NO_KEY && iv_len == 12 && aad_len <= SHORT_AAD && len <= SHORT_DATA;
}

/* Copies len bytes and fills up their last block with zeros; returns the end of that. */
static uint8_t *append(uint8_t *to, const uint8_t *from, size_t len)
{
    size_t whole = len - len % TR_BLOCK;
    for (size_t i = 0; i < whole; i += TR_BLOCK)
        part_store_block(to + i, part_load_block(from + i));
    if (whole == len)
        return to + whole;
    part_store_block(to + whole, part_load(from + whole, len - whole));
    return to + whole + TR_BLOCK;
}

struct short_message {
    uint8_t text[TR_BLOCK + SHORT_DATA]; /* the first block becomes the tag's mask */
    uint8_t hashed[SHORT_AAD + SHORT_DATA + TR_BLOCK];
};

/* Counter mode on the data at in, into m->text behind the mask. */
static void short_crypt(struct tr_gcm *g, struct short_message *m, const uint8_t *iv,
                        const uint8_t *in, size_t len)
{
    uint8_t counter[TR_BLOCK];
    part_store_block(m->text, (struct part){0, 0});
    size_t blocks = (size_t)(append(m->text + TR_BLOCK, in, len) - m->text) / TR_BLOCK;
    struct part first = part_load(iv, 12);
    first.high |= (uint64_t)1 << 56; /* the 32-bit number 1, big-endian */
    part_store_block(counter, first);
    tr_bulk(&g->key, TR_OP_CTR, m->text, m->text, blocks, counter);
}

/* The whole tag, in place of the hash. */
static void short_tag(struct tr_gcm *g, struct short_message *m, const uint8_t *aad, size_t aad_len,
                      const uint8_t *ciphertext, size_t len)
{
    uint8_t *end = append(append(m->hashed, aad, aad_len), ciphertext, len);
    tr_store64_be(end, (uint64_t)aad_len * 8);
    tr_store64_be(end + 8, (uint64_t)len * 8);
    struct tr_ghash *ghash = &g->run.ghash;
    part_store_block(ghash->hash, (struct part){0, 0});
    tr_bulk(&g->key, TR_OP_GHASH, NULL, m->hashed, (size_t)(end - m->hashed) / TR_BLOCK + 1, ghash);
    tr_xor_block(ghash->hash, ghash->hash, m->text);
    g->run.phase = KEYED;
}

static void copy_out(uint8_t *out, const uint8_t *text, size_t len)
{
    size_t whole = len - len % TR_BLOCK;
    for (size_t i = 0; i < whole; i += TR_BLOCK)
        part_store_block(out + i, part_load_block(text + i));
    part_store(out + whole, part_load(text + whole, len - whole), len - whole);
}

static void short_seal(struct tr_gcm *g, const uint8_t *iv, const uint8_t *aad, size_t aad_len,
                       uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len)
{
    struct short_message m;
    short_crypt(g, &m, iv, in, len);
    short_tag(g, &m, aad, aad_len, m.text + TR_BLOCK, len);
    copy_out(out, m.text + TR_BLOCK, len);
    part_store(tag, part_load_block(g->run.ghash.hash), tag_len);
    /* The mask, and what is left of the keystream behind the last block. */
    tr_wipe(m.text, TR_BLOCK);
    if (len % TR_BLOCK != 0)
        tr_wipe(m.text + TR_BLOCK + len - len % TR_BLOCK, TR_BLOCK);
}

/* The tag is checked before any plaintext is written. */
static enum tr_status short_open(struct tr_gcm *g, const uint8_t *iv, const uint8_t *aad,
                                 size_t aad_len, uint8_t *out, const uint8_t *in, size_t len,
                                 const uint8_t *tag, size_t tag_len)
{
    struct short_message m;
    short_crypt(g, &m, iv, in, len);
    short_tag(g, &m, aad, aad_len, in, len);
    int good = tr_equal(g->run.ghash.hash, tag, tag_len);
    if (good)
        copy_out(out, m.text + TR_BLOCK, len);
    else
        tr_cleanse(out, len);
    tr_cleanse(m.text, TR_BLOCK + (len + TR_BLOCK - 1) / TR_BLOCK * TR_BLOCK);
    return good ? TR_OK : TR_ERR_TAG;
}

#define MESSAGE(whole_tag)                                                                         \
    (struct tr_gcm_message)                                                                        \
    {                                                                                              \
        .iv = iv, .aad = aad, .aad_len = aad_len, .len = len, .tag = (whole_tag)                   \
    }

/* With a part of a tag, or not by a backend at once. */
static __attribute__((__noinline__)) enum tr_status
seal_otherwise(struct tr_gcm *g, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
               size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, uint8_t *tag,
               size_t tag_len)
{
    const struct tr_backend *b = begin_whole(g, TR_OP_GCM_SEAL, iv_len, aad_len, len);
    if (b != NULL) {
        uint8_t full[TR_BLOCK];
        whole_message(b, TR_OP_GCM_SEAL, g, out, in, MESSAGE(full));
        part_store(tag, part_load_block(full), tag_len);
        tr_wipe(full, sizeof(full));
        return TR_OK;
    }
    if (is_short(g, iv_len, aad_len, len)) {
        short_seal(g, iv, aad, aad_len, out, in, len, tag, tag_len);
        return TR_OK;
    }
    enum tr_status status = tr_gcm_start(g, iv, iv_len);
    if (status == TR_OK)
        status = tr_gcm_aad(g, aad, aad_len);
    if (status == TR_OK)
        status = tr_gcm_encrypt(g, out, in, len);
    return status == TR_OK ? tr_gcm_tag(g, tag, tag_len) : status;
}

static __attribute__((__noinline__)) enum tr_status
open_otherwise(struct tr_gcm *g, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
               size_t aad_len, uint8_t *out, const uint8_t *in, size_t len, const uint8_t *tag,
               size_t tag_len)
{
    const struct tr_backend *b = begin_whole(g, TR_OP_GCM_OPEN, iv_len, aad_len, len);
    if (b != NULL) {
        uint8_t right[TR_BLOCK];
        whole_message(b, TR_OP_GCM_OPEN, g, out, in, MESSAGE(right));
        return judged(right, tag, tag_len, out, len);
    }
    if (is_short(g, iv_len, aad_len, len))
        return short_open(g, iv, aad, aad_len, out, in, len, tag, tag_len);
    enum tr_status status = tr_gcm_start(g, iv, iv_len);
    if (status == TR_OK)
        status = tr_gcm_aad(g, aad, aad_len);
    if (status == TR_OK)
        status = tr_gcm_decrypt(g, out, in, len);
    if (status != TR_OK)
        return status;
    status = tr_gcm_check(g, tag, tag_len);
    if (status != TR_OK)
        tr_cleanse(out, len);
    return status;
}

enum tr_status tr_gcm_seal(struct tr_gcm *g, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
                           size_t aad_len, uint8_t *out, const uint8_t *in, size_t len,
                           uint8_t *tag, size_t tag_len)
{
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (tr_partial_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    const struct tr_backend *b = NULL;
    if (tag_len == TR_BLOCK)
        b = begin_whole(g, TR_OP_GCM_SEAL, iv_len, aad_len, len);
    if (b == NULL)
        return seal_otherwise(g, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    whole_message(b, TR_OP_GCM_SEAL, g, out, in, MESSAGE(tag));
    return TR_OK;
}

enum tr_status tr_gcm_open(struct tr_gcm *g, const uint8_t *iv, size_t iv_len, const uint8_t *aad,
                           size_t aad_len, uint8_t *out, const uint8_t *in, size_t len,
                           const uint8_t *tag, size_t tag_len)
{
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (tr_partial_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    const struct tr_backend *b = NULL;
    if (tag_len == TR_BLOCK)
        b = begin_whole(g, TR_OP_GCM_OPEN, iv_len, aad_len, len);
    if (b == NULL)
        return open_otherwise(g, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    uint8_t right[TR_BLOCK];
    whole_message(b, TR_OP_GCM_OPEN, g, out, in, MESSAGE(right));
    return judged(right, tag, TR_BLOCK, out, len);
}
