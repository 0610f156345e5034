/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM, SP 800-38D section 7: the streaming calls. Most messages pass their data in one call. As one
 * bulk operation, such a message takes half the time of a start, a piece of data and an end. With a
 * 96-bit IV, this code therefore holds IV and AAD until data arrives, and processes the first data
 * as if the message ended there. If it does not, gcm_resume() makes a state that can go on.
 *
 * The phase after each call, by the phase before the call:
 *
 *   phase | AAD                 | data                        | tag, check
 *   ------+---------------------+-----------------------------+-----------------------------
 *   HELD  | HELD; AAD if it has | WHOLE; DATA if they are too | IDLE; as an empty message
 *         | no room             | long, or no backend can     |
 *   WHOLE | refused             | DATA, after gcm_resume()    | IDLE; the tag is there
 *   AAD   | AAD                 | DATA                        | IDLE
 *   DATA  | refused             | DATA                        | IDLE
 *   IDLE  | refused             | refused                     | refused
 *
 * A message starts in the phase HELD. It starts in AAD if its IV does not have 96 bits, or if
 * earlier messages of its key came in pieces. In AAD and DATA, the code uses a backend's fused
 * operations, or else GHASH and CTR. ECB replaces CTR if the counter is derived from H, and
 * therefore secret. gcm_message.c has the one-shot calls.
 */
#include "modes/gcm.h"

#include "modes/aead.h"
#include "modes/ghash.h"
#include "modes/modes.h"

enum phase { IDLE, HELD, AAD, DATA, WHOLE };

/* The longest data that are processed as a whole message: a TLS record with its type. To resume
 * takes some 100 ns, which longer data must not risk. */
#define MAX_WHOLE (16384u + 256u)

enum tr_status tr_gcm_set_key(struct tr_gcm_key *key, const struct tr_backend *backend,
                              const uint8_t *raw, size_t key_len)
{
    return tr_ghash_set_key(&key->hash, &key->aes, backend, raw, key_len);
}

TR_INLINE void bind(struct tr_gcm *g, const struct tr_gcm_key *key)
{
    g->key = key;
    g->ghash.key = &key->hash;
}

void tr_gcm_rebind(struct tr_gcm *g, const struct tr_gcm_key *key)
{
    bind(g, key);
}

/* Hashes the length block (section 7.1 step 5) for two lengths in bytes. If the hash holds a
 * partial block, the same GHASH call completes this block first. */
static void gcm_hash_lengths(struct tr_gcm *g, uint64_t first, uint64_t second)
{
    uint8_t blocks[2 * TR_BLOCK];
    unsigned partial = g->used != 0;
    struct partial_block lengths = {__builtin_bswap64(first * 8), __builtin_bswap64(second * 8)};
    partial_store_vector(blocks, (struct partial_block){0, 0});
    partial_store_vector(blocks + TR_BLOCK, lengths);
    tr_bulk(&g->key->aes, TR_OP_GHASH, NULL, blocks + (partial ? 0 : TR_BLOCK), 1 + partial,
            &g->ghash);
    g->used = 0;
}

/* If data follow the first data of a message, this message and the next of its key, IN_PIECES in
 * all, hold nothing. Threads that share a key may lose such a count, which costs only time. */
#define IN_PIECES 32u

static unsigned gcm_in_pieces(const struct tr_gcm *g)
{
    return __atomic_load_n(&g->key->hash.in_pieces, __ATOMIC_RELAXED);
}

static void gcm_set_in_pieces(const struct tr_gcm *g, unsigned messages)
{
    /* The fields of a const key that change are named in dispatch/ghash.h. */
    __atomic_store_n((uint8_t *)(uintptr_t)&g->key->hash.in_pieces, (uint8_t)messages,
                     __ATOMIC_RELAXED);
}

/* Begins the phase AAD. The counter is that of the first block of data. */
static void gcm_begin_aad(struct tr_gcm *g, int counter_is_secret)
{
    partial_store_block(g->ghash.hash, (struct partial_block){0, 0});
    g->counter_is_secret = (uint8_t)counter_is_secret;
    g->mask_due = 1;
    g->keystream_due = g->addend_due = 0;
    g->used = 0;
    g->aad_len = 0;
    g->phase = AAD;
}

static __attribute__((__noinline__)) enum tr_status
gcm_start_with_hashed_iv(struct tr_gcm *g, const struct tr_gcm_key *key, const uint8_t *iv,
                         size_t iv_len)
{
    uint64_t bytes = iv_len; /* avoids a gcc warning where size_t has 32 bits */
    if (bytes == 0 || bytes > TR_GCM_MAX_AAD)
        return TR_ERR_IV_LENGTH;
    bind(g, key);
    g->len = 0;
    gcm_begin_aad(g, 1);
    tr_ghash_update(&g->ghash, &key->aes, &g->used, iv, iv_len);
    gcm_hash_lengths(g, 0, iv_len);
    __builtin_memcpy(g->counter, g->ghash.hash, TR_BLOCK);
    tr_counter_add32(g->counter, 1);
    partial_store_block(g->ghash.hash, (struct partial_block){0, 0});
    return TR_OK;
}

enum tr_status tr_gcm_start(struct tr_gcm *g, const struct tr_gcm_key *key, const uint8_t *iv,
                            size_t iv_len)
{
    if (!tr_is_set(&key->aes))
        return TR_ERR_STATE;
    if (iv_len != TR_GCM_IV)
        return gcm_start_with_hashed_iv(g, key, iv, iv_len);
    bind(g, key);
    partial_store_block(g->counter, tr_gcm_counter_block(iv, 2));
    g->aad_len = g->len = 0;
    g->phase = HELD;
    if (gcm_in_pieces(g) != 0)
        gcm_begin_aad(g, 0);
    return TR_OK;
}

/* Whether a message has started and not ended, and its key is still set. */
TR_INLINE int is_open(const struct tr_gcm *g)
{
    return g->phase != IDLE && tr_is_set(&g->key->aes);
}

static void gcm_hash_aad(struct tr_gcm *g, const uint8_t *aad, size_t len)
{
    if (g->aad_len == 0 && len <= TR_BLOCK) {
        /* Holds back even a full block, to hash it in one pass with the data. */
        partial_store_block(g->ghash.hash, partial_load(aad, len));
        g->used = (unsigned)len;
    } else {
        tr_ghash_update(&g->ghash, &g->key->aes, &g->used, aad, len);
    }
    g->aad_len += len;
}

static __attribute__((__noinline__)) void gcm_stop_holding(struct tr_gcm *g)
{
    const size_t held = (size_t)g->aad_len;
    gcm_begin_aad(g, 0);
    gcm_hash_aad(g, g->held, held);
}

/* Adds AAD that cannot be held. */
static __attribute__((__noinline__)) enum tr_status gcm_more_aad(struct tr_gcm *g,
                                                                 const uint8_t *aad, size_t len)
{
    if (!is_open(g) || g->phase > AAD)
        return TR_ERR_STATE;
    if (len > TR_GCM_MAX_AAD - g->aad_len)
        return TR_ERR_LENGTH;
    if (g->phase == HELD)
        gcm_stop_holding(g);
    gcm_hash_aad(g, aad, len);
    return TR_OK;
}

enum tr_status tr_gcm_aad(struct tr_gcm *g, const uint8_t *aad, size_t len)
{
    if (g->phase == HELD && g->aad_len == 0 && len <= TR_BLOCK && is_open(g)) {
        partial_store_vector(g->held, partial_load(aad, len));
        g->aad_len = len;
        return TR_OK;
    }
    const size_t padded = (len + TR_BLOCK - 1) / TR_BLOCK * TR_BLOCK;
    if (g->phase != HELD || !is_open(g) || len > TR_GCM_HELD || g->aad_len > TR_GCM_HELD - padded)
        return gcm_more_aad(g, aad, len);
    tr_append_padded(g->held + g->aad_len, aad, len);
    g->aad_len += len;
    return TR_OK;
}

/* Encrypts J0 if mask_due is set (the result is the mask), and the next counter block if
 * keystream_due is set. Encrypts both in one call, so that their latencies overlap. */
static void gcm_make_blocks(struct tr_gcm *g)
{
    uint8_t blocks[2 * TR_BLOCK], *end = blocks;
    struct partial_block counter = partial_load_block(g->counter);
    if (g->mask_due) {
        uint8_t first[TR_BLOCK];
        partial_store_block(first, counter);
        tr_counter_add32(first, (uint32_t)-1);
        partial_store_vector(end, partial_load_block(first));
        tr_cleanse_inline(first, sizeof(first));
        end += TR_BLOCK;
    }
    if (g->keystream_due) {
        partial_store_vector(end, counter);
        end += TR_BLOCK;
    }
    if (end == blocks)
        return;
    tr_bulk(&g->key->aes, TR_OP_ECB_ENCRYPT, blocks, blocks, (size_t)(end - blocks) / TR_BLOCK,
            NULL);
    if (g->mask_due)
        partial_store_block(g->mask, partial_load_block(blocks));
    if (g->keystream_due)
        partial_store_block(g->keystream, partial_load_block(end - TR_BLOCK));
    g->mask_due = g->keystream_due = 0;
    tr_cleanse(blocks, sizeof(blocks));
}

/* Counts a multiplication of the hash by H, and XORs the addend into the hash if it is now due. */
static void gcm_count_multiplication(struct tr_gcm *g)
{
    if (g->addend_due != 0 && --g->addend_due == 0)
        tr_xor_block(g->ghash.hash, g->ghash.hash, g->addend);
}

/* Pads the current partial block with zeros, and multiplies it by H. */
static void gcm_complete_block(struct tr_gcm *g)
{
    tr_ghash_pad(&g->ghash, &g->key->aes, &g->used);
    gcm_count_multiplication(g);
}

/* Encrypts or decrypts bytes within the current partial block. XORs the ciphertext into the hash.
 * Returns the number of bytes. */
static size_t gcm_in_block(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len,
                           int decrypt)
{
    size_t n = TR_BLOCK - g->used;
    if (n > len)
        n = len;
    struct partial_block data = partial_load(in, n);
    struct partial_block keystream = partial_down(partial_load_block(g->keystream), g->used);
    struct partial_block result = partial_first(partial_xor(data, keystream), n);
    uint8_t *hash = g->ghash.hash;
    partial_store_block(
        hash, partial_xor(partial_load_block(hash), partial_up(decrypt ? data : result, g->used)));
    partial_store(out, result, n);
    g->used += (unsigned)n;
    if (g->used == TR_BLOCK)
        gcm_complete_block(g);
    return n;
}

/* Counter mode with TR_OP_CTR, which increments all 128 bits. GCM's counter has only 32 bits, so no
 * bulk call continues past its wrap. */
static void gcm_counter_mode(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t blocks)
{
    uint8_t counter[TR_BLOCK];
    while (blocks != 0) {
        uint32_t before_wrap = 0 - (uint32_t)tr_load64_be(g->counter + 8);
        size_t n = before_wrap != 0 && blocks > before_wrap ? before_wrap : blocks;
        __builtin_memcpy(counter, g->counter, TR_BLOCK);
        tr_bulk(&g->key->aes, TR_OP_CTR, out, in, n, counter);
        tr_counter_add32(g->counter, (uint32_t)n);
        in += n * TR_BLOCK;
        out += n * TR_BLOCK;
        blocks -= n;
    }
}

/* Counter mode for a counter derived from H: no branch depends on the counter. Computes the counter
 * blocks one by one and encrypts them with ECB. */
static void gcm_secret_counter_mode(struct tr_gcm *g, uint8_t *out, const uint8_t *in,
                                    size_t blocks)
{
    uint8_t keystream[16][TR_BLOCK];
    while (blocks != 0) {
        size_t n = blocks < 16 ? blocks : 16;
        for (size_t i = 0; i < n; i++) {
            partial_store_block(keystream[i], partial_load_block(g->counter));
            tr_counter_add32(g->counter, 1);
        }
        tr_bulk(&g->key->aes, TR_OP_ECB_ENCRYPT, keystream[0], keystream[0], n, NULL);
        for (size_t i = 0; i < n; i++, in += TR_BLOCK, out += TR_BLOCK)
            partial_store_block(
                out, partial_xor(partial_load_block(in), partial_load_block(keystream[i])));
        blocks -= n;
    }
    tr_cleanse_inline(keystream, sizeof(keystream));
}

static void gcm_whole_blocks(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t blocks,
                             int decrypt)
{
    size_t done =
        tr_bulk(&g->key->aes, decrypt ? TR_OP_GCM_DECRYPT : TR_OP_GCM_ENCRYPT, out, in, blocks, g);
    blocks -= done;
    if (blocks == 0) {
        g->keystream_due = 0;
        return;
    }
    in += done * TR_BLOCK;
    out += done * TR_BLOCK;
    uint8_t due = g->keystream_due;
    g->keystream_due = 0;
    gcm_make_blocks(g); /* computes the mask before the counter changes */
    g->keystream_due = due;
    tr_ghash_pad(&g->ghash, &g->key->aes, &g->used);
    if (decrypt)
        tr_bulk(&g->key->aes, TR_OP_GHASH, NULL, in, blocks, &g->ghash);
    if (g->counter_is_secret)
        gcm_secret_counter_mode(g, out, in, blocks);
    else
        gcm_counter_mode(g, out, in, blocks);
    if (!decrypt)
        tr_bulk(&g->key->aes, TR_OP_GHASH, NULL, out, blocks, &g->ghash);
}

/* Continues a message after the call that processed it as a whole. Let y be the hash of AAD and
 * data, and L the length block. The tag is (y ^ L) H ^ mask, so y H is tag ^ mask ^ L H, but y is
 * not known. GHASH is linear: from the hash 0 on, y H is XORed into the hash after the next
 * multiplication by H. If the data end in a partial block, more data will change this block, which
 * y H already contains multiplied twice. The addend is then due one multiplication later. */
static void gcm_resume(struct tr_gcm *g)
{
    uint8_t tag[TR_BLOCK];
    gcm_set_in_pieces(g, IN_PIECES);
    partial_store_block(tag, partial_load_block(g->mask));
    partial_store_block(g->ghash.hash, (struct partial_block){0, 0});
    g->counter_is_secret = 0;
    g->used = 0;
    g->mask_due = 1;
    g->keystream_due = 0;
    gcm_make_blocks(g);
    tr_counter_add32(g->counter, (uint32_t)(g->len / TR_BLOCK));
    gcm_hash_lengths(g, g->aad_len, g->len);
    tr_xor_block(g->addend, g->ghash.hash, g->mask);
    tr_xor_block(g->addend, g->addend, tag);
    tr_cleanse_inline(tag, sizeof(tag));
    partial_store_block(g->ghash.hash, (struct partial_block){0, 0});
    g->addend_due = 1;
    g->used = (unsigned)(g->len % TR_BLOCK);
    if (g->used != 0) {
        g->addend_due = 2;
        g->keystream_due = 1;
        gcm_make_blocks(g);
        tr_counter_add32(g->counter, 1);
    }
}

/* Processes data in the phases AAD and DATA, and after gcm_resume(). */
static __attribute__((__noinline__)) void gcm_stream(struct tr_gcm *g, uint8_t *out,
                                                     const uint8_t *in, size_t len, int decrypt)
{
    if (g->phase == HELD)
        gcm_stop_holding(g);
    else if (g->phase == WHOLE)
        gcm_resume(g);
    size_t whole = len / TR_BLOCK;
    int first = g->phase == AAD;
    g->phase = DATA;
    g->len += len;
    if (first) {
        /* If the call has no whole blocks, hashes the last block of AAD here. Otherwise
         * gcm_whole_blocks() hashes it. A fused operation hashes it with the first blocks of
         * data. */
        if (whole == 0)
            tr_ghash_pad(&g->ghash, &g->key->aes, &g->used);
    } else if (g->used != 0) {
        size_t n = gcm_in_block(g, out, in, len, decrypt);
        in += n;
        out += n;
        len -= n;
        whole = len / TR_BLOCK;
    }
    if (whole != 0 && g->addend_due != 0) {
        g->keystream_due = 0;
        gcm_whole_blocks(g, out, in, 1, decrypt);
        gcm_count_multiplication(g);
        in += TR_BLOCK;
        out += TR_BLOCK;
        len -= TR_BLOCK;
        whole--;
    }
    g->keystream_due = len % TR_BLOCK != 0;
    if (whole != 0) {
        gcm_whole_blocks(g, out, in, whole, decrypt);
        in += whole * TR_BLOCK;
        out += whole * TR_BLOCK;
        len %= TR_BLOCK;
    }
    if (len != 0) {
        gcm_make_blocks(g);
        tr_counter_add32(g->counter, 1);
        gcm_in_block(g, out, in, len, decrypt);
    }
}

/* Processes all data of a message whose AAD is held. The tag goes to g->mask. Returns 0 if no
 * backend can. */
TR_INLINE int whole_message(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len,
                            enum tr_op op)
{
    struct tr_gcm_message m = {
        .iv = g->counter, .aad = g->held, .aad_len = g->aad_len, .len = len, .tag = g->mask};
    if (!tr_gcm_whole(g->key, op, out, in, &m) && !tr_gcm_short(g->key, op, out, in, &m))
        return 0;
    g->len = len;
    g->phase = WHOLE;
    return 1;
}

int tr_gcm_offer(struct tr_gcm *g, struct tr_gcm_job *job)
{
    if (g->phase != HELD || !is_open(g))
        return 0;
    job->key = g->key;
    job->iv = g->counter;
    job->iv_len = TR_GCM_IV;
    job->aad = g->held;
    job->aad_len = (size_t)g->aad_len;
    job->tag = g->mask;
    job->tag_len = TR_BLOCK;
    return 1;
}

void tr_gcm_taken(struct tr_gcm *g, size_t len)
{
    g->len = len;
    g->phase = WHOLE;
}

TR_INLINE enum tr_status update(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len,
                                enum tr_op op)
{
    if (!is_open(g))
        return TR_ERR_STATE;
    if (len > TR_GCM_MAX_DATA - g->len)
        return TR_ERR_LENGTH;
    if (tr_bad_overlap(out, in, len))
        return TR_ERR_OVERLAP;
    /* No data is no message: more may follow. */
    if (g->phase != HELD || len - 1 >= MAX_WHOLE || !whole_message(g, out, in, len, op))
        gcm_stream(g, out, in, len, op == TR_OP_GCM_OPEN);
    return TR_OK;
}

/* Passes short messages straight to their function, as tr_gcm_seal() does. Opening cannot, because
 * its functions check the tag. */
enum tr_status tr_gcm_encrypt(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    if (g->phase != HELD || tr_bad_overlap(out, in, len) ||
        len - 1 >= __atomic_load_n(&g->key->hash.short_len, __ATOMIC_RELAXED))
        return update(g, out, in, len, TR_OP_GCM_SEAL);
    g->len = len;
    g->phase = WHOLE;
    return tr_gcm_call(g->key, len, 0)(g->key, g->counter, TR_GCM_IV, g->held, (size_t)g->aad_len,
                                       out, in, len, g->mask, TR_BLOCK);
}

enum tr_status tr_gcm_decrypt(struct tr_gcm *g, uint8_t *out, const uint8_t *in, size_t len)
{
    return update(g, out, in, len, TR_OP_GCM_OPEN);
}

/* Ends the data in the phases HELD, AAD and DATA, and enters the phase WHOLE. */
static __attribute__((__noinline__)) void gcm_make_tag(struct tr_gcm *g)
{
    if (g->phase == HELD && whole_message(g, g->mask, g->mask, 0, TR_OP_GCM_SEAL))
        return;
    const unsigned left = gcm_in_pieces(g);
    if (left != 0)
        gcm_set_in_pieces(g, left - 1);
    uint8_t lengths[TR_BLOCK];
    tr_store64_be(lengths, g->aad_len * 8);
    tr_store64_be(lengths + 8, g->len * 8);
    if (g->addend_due == 1 && g->used != 0)
        gcm_complete_block(g);
    if (g->addend_due != 0 || tr_bulk(&g->key->aes, TR_OP_GCM_TAG, g->mask, lengths, 1, g) == 0) {
        g->keystream_due = 0;
        gcm_make_blocks(g);
        gcm_hash_lengths(g, g->aad_len, g->len);
        if (g->addend_due != 0)
            tr_xor_block(g->ghash.hash, g->ghash.hash, g->addend);
        tr_xor_block(g->mask, g->ghash.hash, g->mask);
    }
    g->phase = WHOLE;
}

/* Ends the message. A message in pieces under this object that never ended left secrets, too. */
TR_INLINE void end(struct tr_gcm *g)
{
    tr_cleanse_inline(g->counter, TR_BLOCK);
    tr_cleanse_inline(g->mask, TR_BLOCK);
    tr_cleanse_inline(g->keystream, TR_BLOCK);
    tr_cleanse_inline(g->addend, TR_BLOCK);
    tr_cleanse_inline(g->ghash.hash, TR_BLOCK);
    g->phase = IDLE;
}

static __attribute__((__noinline__)) enum tr_status gcm_tag_otherwise(struct tr_gcm *g,
                                                                      uint8_t *tag, size_t tag_len)
{
    if (!is_open(g))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (g->phase != WHOLE)
        gcm_make_tag(g);
    partial_store(tag, partial_load_block(g->mask), tag_len);
    end(g);
    return TR_OK;
}

/* Has a fast path for the tag of a whole message: one store, for a later 16-byte load. */
enum tr_status tr_gcm_tag(struct tr_gcm *g, uint8_t *tag, size_t tag_len)
{
    if (g->phase != WHOLE || tag_len != TR_BLOCK || !is_open(g))
        return gcm_tag_otherwise(g, tag, tag_len);
    __builtin_memcpy(tag, g->mask, TR_BLOCK);
    end(g);
    return TR_OK;
}

enum tr_status tr_gcm_check(struct tr_gcm *g, const uint8_t *tag, size_t tag_len)
{
    if (!is_open(g))
        return TR_ERR_STATE;
    if (tag_len == 0 || tag_len > TR_BLOCK)
        return TR_ERR_TAG_LENGTH;
    if (g->phase != WHOLE)
        gcm_make_tag(g);
    int good = TR_PUBLIC(tr_same_tag(g->mask, tag, tag_len));
    end(g);
    return good ? TR_OK : TR_ERR_TAG;
}
