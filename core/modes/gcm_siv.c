/* SPDX-License-Identifier: BSD-2-Clause */
/* GCM-SIV, RFC 8452. POLYVAL is GHASH of byte-reversed blocks with a byte-reversed key, which is
 * then multiplied by x. Its result is byte-reversed, too (appendix A). struct tr_ghash holds the
 * values in GHASH's form. */
#include "modes/aead.h"
#include "modes/ghash.h"
#include "partial_block.h"

enum phase { IDLE, AAD };

/* The most bytes of AAD or data (section 6). */
#define MAX_BYTES (1ull << 36)

#define SHORT (16u * TR_BLOCK) /* the longest message, in bytes, that is hashed in one call */

enum tr_status tr_gcm_siv_set_key(struct tr_gcm_siv_key *key, const struct tr_backend *backend,
                                  const uint8_t *raw, size_t key_len)
{
    return tr_aes_set_encryption_key(&key->aes, backend, raw, key_len);
}

/* Multiplies POLYVAL's key by x and stores it in GHASH's form, where the first bit is the
 * coefficient of x^0. Uses one wide store, because a vector load follows: narrower stores would
 * cause a store-forwarding stall. */
static void gcm_siv_store_hash_key(uint8_t h[16], struct partial_block key)
{
    uint64_t carry = 0 - (key.low & 1);
    uint64_t high = key.high >> 1 ^ (carry & 0xe100000000000000),
             low = key.low >> 1 | key.high << 63;
    partial_store_vector(h,
                         (struct partial_block){__builtin_bswap64(high), __builtin_bswap64(low)});
}

/* Derives the keys for this nonce (section 4) from the first halves of encrypted blocks. The hash
 * key is the first 2 halves. The encryption key is the next 2, or the next 4 if it has 256 bits. A
 * 192-bit key, which OpenSSL allows and the RFC does not, is the first 3 of these 4. */
enum tr_status tr_gcm_siv_start(struct tr_gcm_siv *g, const struct tr_gcm_siv_key *key,
                                const uint8_t nonce[12])
{
    uint8_t blocks[6][TR_BLOCK];
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    size_t key_len = 4 * ((size_t)key->aes.rounds - 6); /* FIPS-197 section 5 */
    struct partial_block block = partial_up(partial_load_nonce(nonce), 4);
    const size_t n = key_len == 16 ? 4 : 6;
    for (size_t i = 0; i < n; i++)
        partial_store_vector(blocks[i], (struct partial_block){block.low | i, block.high});
    tr_bulk(&key->aes, TR_OP_ECB_ENCRYPT, blocks[0], blocks[0], n, NULL);
    gcm_siv_store_hash_key(
        g->hash.h, (struct partial_block){partial_load64(blocks[0]), partial_load64(blocks[1])});
    g->hash.unshared = 1;
    g->hash.short_len = 0;
    tr_ghash_expand(&g->hash, key->aes.backend);
    partial_store_block(g->ghash.hash, (struct partial_block){0, 0});
    /* Packs the encryption key in place: each block is read before it is overwritten. */
    for (size_t i = 0; i < n / 2 - 1; i++)
        partial_store_vector(blocks[i], (struct partial_block){partial_load64(blocks[2 * i + 2]),
                                                               partial_load64(blocks[2 * i + 3])});
    enum tr_status status =
        tr_aes_set_encryption_key(&g->aes, key->aes.backend, blocks[0], key_len);
    tr_cleanse_inline(blocks, n * TR_BLOCK);
    __builtin_memcpy(g->nonce, nonce, 12);
    g->aad_len = 0;
    g->used = 0;
    g->phase = AAD;
    return status;
}

static void gcm_siv_polyval(void *message, const uint8_t *data, size_t blocks)
{
    struct tr_gcm_siv *g = message;
    uint8_t reversed[TR_CHUNK * TR_BLOCK];
    if (blocks == 0)
        return;
    g->ghash.key = &g->hash; /* set here, because g may have been copied */
    size_t done = tr_bulk(&g->aes, TR_OP_POLYVAL, NULL, data, blocks, &g->ghash);
    if (done == blocks)
        return;
    data += done * TR_BLOCK;
    blocks -= done;
    size_t most = blocks < TR_CHUNK ? blocks : TR_CHUNK;
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        for (size_t i = 0; i < n * TR_BLOCK; i += TR_BLOCK)
            tr_reverse_block(reversed + i, data + i);
        tr_bulk(&g->aes, TR_OP_GHASH, NULL, reversed, n, &g->ghash);
        data += n * TR_BLOCK;
        blocks -= n;
    }
    tr_cleanse(reversed, most * TR_BLOCK);
}

/* Hashes whole blocks, and the tail padded with zeros. */
static void gcm_siv_polyval_padded(struct tr_gcm_siv *g, const uint8_t *data, size_t len)
{
    uint8_t block[TR_BLOCK] = {0};
    size_t whole = len / TR_BLOCK, rest = len % TR_BLOCK;
    gcm_siv_polyval(g, data, whole);
    if (rest != 0) {
        __builtin_memcpy(block, data + whole * TR_BLOCK, rest);
        gcm_siv_polyval(g, block, 1);
        tr_cleanse_inline(block, sizeof(block));
    }
}

enum tr_status tr_gcm_siv_aad(struct tr_gcm_siv *g, const uint8_t *aad, size_t len)
{
    if (g->phase != AAD || !tr_is_set(&g->aes))
        return TR_ERR_STATE;
    if (len > MAX_BYTES - g->aad_len)
        return TR_ERR_LENGTH;
    g->aad_len += len;
    tr_hash_aad(gcm_siv_polyval, g, g->buffer, &g->used, aad, len);
    return TR_OK;
}

/* Hashes the remaining AAD, the plaintext and the lengths (section 4). Hashes a short message in
 * one call, which pays the latency of multiplication and reduction only once. */
static void gcm_siv_hash_message(struct tr_gcm_siv *g, const uint8_t *plaintext, size_t len)
{
    uint8_t all[SHORT + 2 * TR_BLOCK], *end = all;
    struct partial_block lengths = {g->aad_len * 8, (uint64_t)len * 8};
    if (len <= SHORT) {
        end = tr_append_padded(tr_append_padded(all, g->buffer, g->used), plaintext, len);
    } else {
        gcm_siv_polyval_padded(g, g->buffer, g->used);
        gcm_siv_polyval_padded(g, plaintext, len);
    }
    partial_store_vector(end, lengths);
    gcm_siv_polyval(g, all, (size_t)(end - all) / TR_BLOCK + 1);
    tr_cleanse_inline(all, (size_t)(end - all));
}

/* Computes the tag of the plaintext (section 4). */
static void gcm_siv_make_tag(struct tr_gcm_siv *g, const uint8_t *plaintext, size_t len,
                             uint8_t tag[16])
{
    gcm_siv_hash_message(g, plaintext, len);
    struct partial_block hash = partial_load_block(g->ghash.hash),
                         nonce = partial_load_nonce(g->nonce);
    hash = partial_xor(
        (struct partial_block){__builtin_bswap64(hash.high), __builtin_bswap64(hash.low)}, nonce);
    hash.high &= UINT64_MAX >> 1;
    partial_store_vector(tag, hash);
    tr_bulk(&g->aes, TR_OP_ECB_ENCRYPT, tag, tag, 1, NULL);
}

/* Computes the counter blocks of a chunk. The counter is the first 32 bits, little-endian, and
 * wraps. */
static void gcm_siv_next_counters(uint8_t *blocks, size_t n, uint8_t counter[16])
{
    uint32_t count = (uint32_t)__builtin_bswap64(tr_load64_be(counter));
    for (size_t i = 0; i < n; i++, count++) {
        __builtin_memcpy(blocks + i * TR_BLOCK, counter, TR_BLOCK);
        for (unsigned j = 0; j < 4; j++)
            blocks[i * TR_BLOCK + j] = (uint8_t)(count >> 8 * j);
    }
    for (unsigned j = 0; j < 4; j++)
        counter[j] = (uint8_t)(count >> 8 * j);
}

static void gcm_siv_counter_mode(struct tr_gcm_siv *g, const uint8_t tag[16], uint8_t *out,
                                 const uint8_t *in, size_t len)
{
    uint8_t counter[TR_BLOCK], keystream[TR_CHUNK * TR_BLOCK];
    struct partial_block first = partial_load_block(tag);
    first.high |= (uint64_t)1 << 63;
    partial_store_vector(counter, first);
    size_t whole = len / TR_BLOCK;
    if (whole != 0) {
        size_t done = tr_bulk(&g->aes, TR_OP_CTR_LE, out, in, whole, counter) * TR_BLOCK;
        in += done;
        out += done;
        len -= done;
    }
    if (len == 0)
        return;
    size_t most = len < sizeof(keystream) ? len : sizeof(keystream);
    while (len != 0) {
        size_t n = len < sizeof(keystream) ? len : sizeof(keystream);
        size_t blocks = (n + TR_BLOCK - 1) / TR_BLOCK, i = 0;
        gcm_siv_next_counters(keystream, blocks, counter);
        tr_bulk(&g->aes, TR_OP_ECB_ENCRYPT, keystream, keystream, blocks, NULL);
        for (; i + TR_BLOCK <= n; i += TR_BLOCK)
            tr_xor_block(out + i, in + i, keystream + i);
        for (; i < n; i++)
            out[i] = in[i] ^ keystream[i];
        in += n;
        out += n;
        len -= n;
    }
    tr_cleanse(keystream, (most + TR_BLOCK - 1) / TR_BLOCK * TR_BLOCK);
}

static enum tr_status gcm_siv_check(const struct tr_gcm_siv *g, const uint8_t *out,
                                    const uint8_t *in, size_t len)
{
    if (g->phase != AAD || !tr_is_set(&g->aes))
        return TR_ERR_STATE;
    uint64_t bytes = len; /* avoids a gcc warning where size_t has 32 bits */
    if (bytes > MAX_BYTES)
        return TR_ERR_LENGTH;
    return tr_bad_overlap(out, in, len) ? TR_ERR_OVERLAP : TR_OK;
}

enum tr_status tr_gcm_siv_encrypt(struct tr_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len,
                                  uint8_t tag[16])
{
    enum tr_status status = gcm_siv_check(g, out, in, len);
    if (status != TR_OK)
        return status;
    uint8_t made[TR_BLOCK];
    gcm_siv_make_tag(g, in, len, made);
    TR_PUBLISH(made, TR_BLOCK); /* the tag is public; CTR branches on the counter made of it */
    gcm_siv_counter_mode(g, made, out, in, len);
    __builtin_memcpy(tag, made, TR_BLOCK);
    g->phase = IDLE;
    return TR_OK;
}

enum tr_status tr_gcm_siv_decrypt(struct tr_gcm_siv *g, uint8_t *out, const uint8_t *in, size_t len,
                                  const uint8_t tag[16])
{
    enum tr_status status = gcm_siv_check(g, out, in, len);
    if (status != TR_OK)
        return status;
    uint8_t expected[TR_BLOCK];
    gcm_siv_counter_mode(g, tag, out, in, len);
    gcm_siv_make_tag(g, out, len, expected);
    g->phase = IDLE;
    if (!TR_PUBLIC(tr_same_tag(expected, tag, TR_BLOCK))) {
        tr_cleanse(out, len);
        status = TR_ERR_TAG;
    }
    tr_cleanse_inline(expected, sizeof(expected));
    return status;
}

/* gcm_siv_cleanse_message() rounds a length up, and so cleanses up to 63 bytes after the last round
 * key in `enc`. */
_Static_assert(__builtin_offsetof(struct tr_aes_key, dec) ==
                       __builtin_offsetof(struct tr_aes_key, enc) +
                           sizeof(((struct tr_aes_key *)0)->enc) &&
                   sizeof(((struct tr_aes_key *)0)->dec) >= 63,
               "only `dec` may follow `enc`");

/* Cleanses the message of a one-shot call. Does nothing if g->aes has no backend, because such a
 * message was never started. The secrets of the message are ghash.hash and one contiguous range.
 * This has the computed powers of H (highest first), H, the last fields of `hash`, and the round
 * keys. */
static void gcm_siv_cleanse_message(struct tr_gcm_siv *g)
{
    const struct tr_backend *b = g->aes.backend;
    if (b == NULL)
        return;
    if ((b->features & TR_FEATURE_CLMUL) == 0 || b->expand_encryption_key == NULL) {
        tr_cleanse(g, sizeof(*g)); /* the powers or the round keys have another layout */
        return;
    }
    const size_t powers = tr_ghash_powers_at(tr_ghash_published(&g->hash)) * (size_t)TR_BLOCK;
    const size_t first = __builtin_offsetof(struct tr_gcm_siv, hash.h) - powers;
    const size_t end =
        __builtin_offsetof(struct tr_gcm_siv, aes.enc) + (g->aes.rounds + 1) * (size_t)TR_BLOCK;
    uint8_t *memory = (uint8_t *)g + first;
    if (b->cleanse != NULL && tr_env_vector_begin(b->features)) {
        b->cleanse(memory, (end - first + 63) / 64 * 64); /* rounding up stays within `aes` */
        tr_env_vector_end();
    } else {
        tr_cleanse_inline(memory, end - first);
    }
    tr_cleanse_inline(g->ghash.hash, TR_BLOCK);
}

enum tr_status tr_gcm_siv_seal(const struct tr_gcm_siv_key *key, const uint8_t nonce[12],
                               const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                               size_t len, uint8_t tag[16])
{
    struct tr_gcm_siv g TR_ALIGNED(64);
    g.aes.backend = NULL;
    enum tr_status status =
        TR_STEPS(tr_gcm_siv_start(&g, key, nonce), tr_gcm_siv_aad(&g, aad, aad_len),
                 tr_gcm_siv_encrypt(&g, out, in, len, tag));
    gcm_siv_cleanse_message(&g);
    return status;
}

enum tr_status tr_gcm_siv_open(const struct tr_gcm_siv_key *key, const uint8_t nonce[12],
                               const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                               size_t len, const uint8_t tag[16])
{
    struct tr_gcm_siv g TR_ALIGNED(64);
    g.aes.backend = NULL;
    enum tr_status status =
        TR_STEPS(tr_gcm_siv_start(&g, key, nonce), tr_gcm_siv_aad(&g, aad, aad_len),
                 tr_gcm_siv_decrypt(&g, out, in, len, tag));
    gcm_siv_cleanse_message(&g);
    return status;
}
