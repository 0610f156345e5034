/* SPDX-License-Identifier: BSD-2-Clause */
/* OCB3, RFC 7253 section 4. Whole blocks of data use a backend's fused operations. For AAD, and
 * where no backend has these operations, the mode uses ECB, and XORs the offsets chunk by chunk. */
#include "dispatch/ocb.h"
#include "modes/aead.h"
#include "partial_block.h"

/* IDLE: there is no message. MESSAGE: AAD and data are accepted. LAST: a partial block of data was
 * processed, so no more data are accepted. */
enum phase { IDLE, MESSAGE, LAST };

/* Expands the key, and computes L_*, L_$ and L_0, L_1, .. (section 4.1). */
enum tr_status tr_ocb_set_key(struct tr_ocb_key *k, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    enum tr_status status = tr_aes_set_key(&k->aes, backend, raw, key_len);
    if (status != TR_OK)
        return status;
    __builtin_memset(k->l_star, 0, TR_BLOCK);
    tr_bulk(&k->aes, TR_OP_ECB_ENCRYPT, k->l_star, k->l_star, 1, NULL);
    tr_double(k->l_dollar, k->l_star);
    tr_double(k->l[0], k->l_dollar);
    for (unsigned i = 1; i < TR_OCB_POWERS; i++)
        tr_double(k->l[i], k->l[i - 1]);
    return TR_OK;
}

void tr_ocb_rebind(struct tr_ocb *o, const struct tr_ocb_key *key)
{
    o->run.key = o->aad.key = key;
}

static const struct tr_aes_key *ocb_aes_of(const struct tr_ocb *o)
{
    return &o->run.key->aes;
}

static void ocb_restart(struct tr_ocb_run *r, const struct tr_ocb_key *key)
{
    __builtin_memset(r->offset, 0, TR_BLOCK);
    __builtin_memset(r->checksum, 0, TR_BLOCK);
    r->key = key;
    r->index = 0;
}

/* Computes the first offset (section 4.2, "Nonce-dependent and per-encryption variables"). The
 * branch on `bottom` and the shifts by it depend only on the nonce, which is public. */
static void ocb_first_offset(struct tr_ocb *o, const uint8_t *nonce, size_t nonce_len)
{
    uint8_t top[TR_BLOCK];
    const unsigned before = TR_BLOCK - (unsigned)nonce_len;
    struct partial_block block = partial_up(partial_load(nonce, nonce_len), before);
    const struct partial_block one = partial_up((struct partial_block){1, 0}, before - 1);
    block =
        partial_xor(partial_xor(block, one), (struct partial_block){o->tag_len * 8u % 128 << 1, 0});
    const unsigned bottom = (unsigned)(block.high >> 56) & 63;
    block.high &= ~((uint64_t)63 << 56);
    partial_store_vector(top, block);
    tr_short_bulk(ocb_aes_of(o), TR_OP_ECB_ENCRYPT, top, top, 1, NULL);
    const uint64_t a = tr_load64_be(top), b = tr_load64_be(top + 8), c = a ^ (a << 8 | b >> 56);
    block.low = __builtin_bswap64(bottom == 0 ? a : a << bottom | b >> (64 - bottom));
    block.high = __builtin_bswap64(bottom == 0 ? b : b << bottom | c >> (64 - bottom));
    partial_store_vector(o->run.offset, block);
    tr_cleanse_inline(top, sizeof(top));
}

enum tr_status tr_ocb_start(struct tr_ocb *o, const struct tr_ocb_key *key, const uint8_t *nonce,
                            size_t nonce_len, size_t tag_len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (nonce_len == 0 || nonce_len > 15)
        return TR_ERR_IV_LENGTH;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    o->tag_len = (uint8_t)tag_len;
    ocb_restart(&o->run, key);
    ocb_restart(&o->aad, key);
    ocb_first_offset(o, nonce, nonce_len);
    o->used = 0;
    o->phase = MESSAGE;
    return TR_OK;
}

/* Computes the offsets of n blocks, at most a chunk. */
static void ocb_next_offsets(struct tr_ocb_run *r, uint8_t *offsets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tr_ocb_next_offset(r);
        __builtin_memcpy(offsets + i * TR_BLOCK, r->offset, TR_BLOCK);
    }
}

/* Sets `out` to a XOR b, for n blocks. If `sum` is not NULL, XORs the blocks of `a` into `sum`. */
static void ocb_add_blocks(uint8_t *out, const uint8_t *a, const uint8_t *b, size_t n, uint8_t *sum)
{
    for (size_t i = 0; i < n * TR_BLOCK; i += TR_BLOCK) {
        if (sum != NULL)
            tr_xor_block(sum, sum, a + i);
        tr_xor_block(out + i, a + i, b + i);
    }
}

static void ocb_whole_blocks(struct tr_ocb *o, uint8_t *out, const uint8_t *in, size_t blocks,
                             int decrypt)
{
    enum tr_op ecb = decrypt ? TR_OP_ECB_DECRYPT : TR_OP_ECB_ENCRYPT;
    enum tr_op fused = decrypt ? TR_OP_OCB_DECRYPT : TR_OP_OCB_ENCRYPT;
    size_t done = tr_bulk(ocb_aes_of(o), fused, out, in, blocks, &o->run);
    blocks -= done;
    if (blocks == 0)
        return;
    in += done * TR_BLOCK;
    out += done * TR_BLOCK;
    uint8_t offsets[TR_CHUNK * TR_BLOCK];
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        ocb_next_offsets(&o->run, offsets, n);
        ocb_add_blocks(out, in, offsets, n, decrypt ? NULL : o->run.checksum);
        tr_bulk(ocb_aes_of(o), ecb, out, out, n, NULL);
        ocb_add_blocks(out, out, offsets, n, NULL);
        for (size_t i = 0; decrypt && i < n * TR_BLOCK; i += TR_BLOCK)
            tr_xor_block(o->run.checksum, o->run.checksum, out + i);
        in += n * TR_BLOCK;
        out += n * TR_BLOCK;
        blocks -= n;
    }
    tr_cleanse(offsets, sizeof(offsets));
}

/* Returns the padding of a partial block: a single 1 bit after its n bytes. */
TR_INLINE struct partial_block end_mark(size_t n)
{
    return partial_up((struct partial_block){0x80, 0}, (unsigned)n);
}

/* Processes the partial last block, of `len` bytes (section 4.2, "Process any final partial
 * block"). */
static void ocb_last_block(struct tr_ocb *o, uint8_t *out, const uint8_t *in, size_t len,
                           int decrypt)
{
    uint8_t pad[TR_BLOCK];
    tr_xor_block(o->run.offset, o->run.offset, o->run.key->l_star);
    tr_short_bulk(ocb_aes_of(o), TR_OP_ECB_ENCRYPT, pad, o->run.offset, 1, NULL);
    struct partial_block data = partial_load(in, len);
    struct partial_block result = partial_first(partial_xor(data, partial_load_block(pad)), len);
    struct partial_block sum = partial_load_block(o->run.checksum);
    sum = partial_xor(partial_xor(sum, decrypt ? result : data), end_mark(len));
    partial_store(out, result, len);
    partial_store_vector(o->run.checksum, sum);
    tr_cleanse_inline(pad, sizeof(pad));
}

TR_INLINE enum tr_status update(struct tr_ocb *o, uint8_t *out, const uint8_t *in, size_t len,
                                int decrypt)
{
    if (o->phase != MESSAGE || !tr_is_set(ocb_aes_of(o)))
        return TR_ERR_STATE;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    size_t whole = len / TR_BLOCK, rest = len % TR_BLOCK;
    if (whole != 0)
        ocb_whole_blocks(o, out, in, whole, decrypt);
    if (rest != 0) {
        ocb_last_block(o, out + whole * TR_BLOCK, in + whole * TR_BLOCK, rest, decrypt);
        o->phase = LAST;
    }
    return TR_OK;
}

enum tr_status tr_ocb_encrypt(struct tr_ocb *o, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(o, out, in, len, 0);
}

enum tr_status tr_ocb_decrypt(struct tr_ocb *o, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(o, out, in, len, 1);
}

/* Hashes whole blocks of AAD into o->aad (HASH, section 4.1). */
static void ocb_hash_blocks(void *message, const uint8_t *in, size_t blocks)
{
    struct tr_ocb *o = message;
    uint8_t work[TR_CHUNK * TR_BLOCK];
    size_t most = blocks < TR_CHUNK ? blocks : TR_CHUNK;
    while (blocks != 0) {
        size_t n = blocks < TR_CHUNK ? blocks : TR_CHUNK;
        ocb_next_offsets(&o->aad, work, n);
        ocb_add_blocks(work, work, in, n, NULL);
        tr_bulk(ocb_aes_of(o), TR_OP_ECB_ENCRYPT, work, work, n, NULL);
        for (size_t i = 0; i < n * TR_BLOCK; i += TR_BLOCK)
            tr_xor_block(o->aad.checksum, o->aad.checksum, work + i);
        in += n * TR_BLOCK;
        blocks -= n;
    }
    tr_cleanse(work, most * TR_BLOCK);
}

enum tr_status tr_ocb_aad(struct tr_ocb *o, const uint8_t *aad, size_t len)
{
    if ((o->phase != MESSAGE && o->phase != LAST) || !tr_is_set(ocb_aes_of(o)))
        return TR_ERR_STATE;
    tr_hash_aad(ocb_hash_blocks, o, o->buffer, &o->used, aad, len);
    return TR_OK;
}

/* Writes the 16-byte tag over the checksum, and ends the message. */
static enum tr_status ocb_finish(struct tr_ocb *o)
{
    if ((o->phase != MESSAGE && o->phase != LAST) || !tr_is_set(ocb_aes_of(o)))
        return TR_ERR_STATE;
    uint8_t *tag = o->run.checksum;
    tr_xor_block(tag, tag, o->run.offset);
    tr_xor_block(tag, tag, o->run.key->l_dollar);
    tr_short_bulk(ocb_aes_of(o), TR_OP_ECB_ENCRYPT, tag, tag, 1, NULL);
    if (o->used != 0) {
        partial_store_vector(o->buffer,
                             partial_xor(partial_load(o->buffer, o->used), end_mark(o->used)));
        tr_xor_block(o->buffer, o->buffer, o->aad.offset);
        tr_xor_block(o->buffer, o->buffer, o->run.key->l_star);
        tr_short_bulk(ocb_aes_of(o), TR_OP_ECB_ENCRYPT, o->buffer, o->buffer, 1, NULL);
        tr_xor_block(tag, tag, o->buffer);
    }
    tr_xor_block(tag, tag, o->aad.checksum);
    o->phase = IDLE;
    return TR_OK;
}

/* Cleanses the offsets, the checksums, and the buffer of AAD. */
static void ocb_cleanse_message(struct tr_ocb *o)
{
    tr_cleanse_inline(o->run.offset, TR_BLOCK);
    tr_cleanse_inline(o->run.checksum, TR_BLOCK);
    tr_cleanse_inline(o->aad.offset, TR_BLOCK);
    tr_cleanse_inline(o->aad.checksum, TR_BLOCK);
    tr_cleanse_inline(o->buffer, TR_BLOCK);
}

enum tr_status tr_ocb_tag(struct tr_ocb *o, uint8_t *tag)
{
    enum tr_status status = ocb_finish(o);
    if (status != TR_OK)
        return status;
    tr_put_tag(tag, o->run.checksum, o->tag_len);
    ocb_cleanse_message(o);
    return TR_OK;
}

enum tr_status tr_ocb_check(struct tr_ocb *o, const uint8_t *tag)
{
    enum tr_status status = ocb_finish(o);
    if (status != TR_OK)
        return status;
    int good = TR_PUBLIC(tr_same_tag(o->run.checksum, tag, o->tag_len));
    ocb_cleanse_message(o);
    return good ? TR_OK : TR_ERR_TAG;
}

enum tr_status tr_ocb_seal(const struct tr_ocb_key *key, const uint8_t *nonce, size_t nonce_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, uint8_t *tag, size_t tag_len)
{
    struct tr_ocb o;
    enum tr_status status = TR_SEAL_STEPS(ocb, &o, tr_ocb_start(&o, key, nonce, nonce_len, tag_len),
                                          tr_ocb_tag(&o, tag));
    tr_cleanse_inline(&o, sizeof(o));
    return status;
}

enum tr_status tr_ocb_open(const struct tr_ocb_key *key, const uint8_t *nonce, size_t nonce_len,
                           const uint8_t *aad, size_t aad_len, uint8_t *out, const uint8_t *in,
                           size_t len, const uint8_t *tag, size_t tag_len)
{
    struct tr_ocb o;
    enum tr_status status = TR_OPEN_STEPS(ocb, &o, tr_ocb_start(&o, key, nonce, nonce_len, tag_len),
                                          tr_ocb_check(&o, tag));
    tr_cleanse_inline(&o, sizeof(o));
    return status;
}
