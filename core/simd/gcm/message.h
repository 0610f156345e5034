/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-shot GCM messages with a 96-bit IV. In a short message, the code hashes AAD, data and lengths
 * with a single reduction. The tag's mask is encrypted in parallel with the data. Whole blocks
 * never pass through a buffer on the stack. A partial block does so only on output, for vector
 * types without masks.
 *
 * On Zen 4, the bound of a short message is the latency of the AES rounds, one multiplication and
 * the reduction: 115 cycles for AES-128. Successive calls overlap within the reorder window of 320
 * instructions, and a call of 16 bytes has 170. So every instruction counts, even a scalar one: 20
 * more scalar instructions cost 3 cycles. Back-to-back calls on ZMM take 57 cycles for 16 bytes, 71
 * for 64 bytes, 109 for 256 bytes and 340 for 1024 bytes (docs/tuning/gcm.md).
 *
 * This code avoids three hidden costs:
 *
 * - store-forwarding stalls: after narrow stores, a wide load of the same bytes waits until these
 *   stores retire
 * - structures passed by value, which cause the same stalls
 * - operations that wait for AES results, placed before independent operations: the waiting ones
 *   fill the schedulers (128 entries) and keep the independent ones out
 */
#ifndef TR_SIMD_GCM_MESSAGE_H
#define TR_SIMD_GCM_MESSAGE_H

#include "partial_block.h"
#include "simd/gcm/chunks.h"
#include "simd/gcm/parts.h"
#include "simd/gcm/stream.h"

TR_INLINE TR_TARGET uint32_t load32_be(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? v : __builtin_bswap32(v);
}

/* Hashes all AAD but the last block, which may be partial. */
static NOT_INLINE TR_TARGET B V_NAME(gcm_long_aad)(const struct tr_ghash_key *ghash,
                                                   const uint8_t *aad, size_t blocks)
{
    return hash_all(ghash, b_zero(), aad, blocks, 0);
}

/*
 * Processes a message of any length. The compile-time constant `is_long` may be 0 if the data has
 * at most HALF_BYTES bytes and the AAD at most one block.
 */
TR_INLINE TR_TARGET void message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 struct tr_gcm_message *m, int is_long, int decrypt)
{
    /*
     * Loads 32-bit words. Callers often assemble a nonce from such words, and a wider load would
     * then cause a store-forwarding stall.
     */
    uint64_t high = (uint64_t)load32_be(m->iv) << 32 | load32_be(m->iv + 4);
    uint64_t low = (uint64_t)load32_be(m->iv + 8) << 32;
    size_t aad_len = (size_t)m->aad_len, len = (size_t)m->len;
    struct gcm_tail end = {
        .whole = 1, .begun = 1, .lengths = b_of((uint64_t)len * 8, (uint64_t)aad_len * 8)};
    /*
     * Keeps the length block in a register. Otherwise gcc stores its halves and loads both at once,
     * which causes a store-forwarding stall.
     */
    __asm__("" : "+" V_REGISTER(end.lengths));
    const struct tr_ghash_key *ghash = m->hash;
    const uint8_t *aad = m->aad;
    B mask = gcm_keystream(key, low | 1, high), y = b_zero();
    low |= 2;
    if (is_long && aad_len > TR_BLOCK) {
        size_t blocks = (aad_len - 1) / TR_BLOCK;
        y = V_NAME(gcm_long_aad)(ghash, aad, blocks);
        aad += blocks * TR_BLOCK;
        aad_len -= blocks * TR_BLOCK;
    }
    struct partial_block a = partial_load(aad, aad_len);
    y = b_xor(y, b_byteswap(b_of(a.low, a.high)));
    y = gcm_bytes(key, out, in, len, ghash, low, high, y, end, decrypt, !is_long);
    b_store(m->tag, b_xor(mask, b_byteswap(y)));
}

#if V_MASKED
#    define TINY (2u * TR_BLOCK)

/*
 * Processes a message with one or two blocks of data, in one vector. For AES, lanes 0 and 1 are
 * counter blocks and lane 3 is J0. For GHASH, the four lanes are two data blocks, the lengths and
 * the AAD.
 *
 * Calls overlap within the reorder window, so both latency and the number of instructions matter.
 * The code therefore applies one of the two reduction steps to the powers of H, not to the product.
 * The powers do not depend on AES. The result of this step, h_down, is `h` times x^64 modulo the
 * polynomial (gcm/ghash.h).
 */
TR_INLINE TR_TARGET void tiny_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                      const struct tr_gcm_message *m, size_t len, int decrypt)
{
    const V poly = v_low_halves(0xc200000000000000);
    struct bulk r = bulk_start(key, key->enc, NULL, NULL);
    V x[IN_FLIGHT];
    x[0] = v_xor3(v_broadcast(b_load_12(m->iv)), v_tiny_counters(), first_key(r.keys));
    V around = v_in_lanes_2_3(b_byteswap(gcm_lengths(m)), gcm_aad_block(m));
    V h = v_tiny_powers(m->hash->power[TR_GHASH_POWERS - 4], len > TR_BLOCK);
    V h_down = v_xor(v_swap_halves(h), v_clmul_ll(h, poly));
    V data = v_load_bytes(in, len);
    V k = middle_rounds(x, 1, 0, &r);
    x[0] = v_aesenclast(x[0], v_xor(k, data));
    v_store_bytes(out, x[0], len);
    V c = v_byteswap(decrypt ? v_xor(data, around) : v_merge_bytes(around, x[0], len));
    V middle = v_xor(v_clmul_ll(c, h_down), v_clmul_hl(c, h));
    V y = v_xor3(v_clmul_lh(c, h_down), v_clmul_hh(c, h), v_swap_halves(middle));
    y = v_xor(y, v_clmul_ll(middle, poly));
    b_store(m->tag, b_xor(v_block_3(x[0]), b_byteswap(v_fold(y))));
}

TR_INLINE int is_tiny(size_t blocks, const struct tr_gcm_message *m)
{
    return blocks - 1 < TINY / TR_BLOCK && m->aad_len <= TR_BLOCK;
}

static NOT_INLINE TR_TARGET void V_NAME(tiny_seal)(const struct tr_aes_key *key, uint8_t *out,
                                                   const uint8_t *in, struct tr_gcm_message *m)
{
    if (m->len == TR_BLOCK)
        tiny_message(key, out, in, m, TR_BLOCK, 0);
    else
        tiny_message(key, out, in, m, (size_t)m->len, 0);
}

static NOT_INLINE TR_TARGET void V_NAME(tiny_open)(const struct tr_aes_key *key, uint8_t *out,
                                                   const uint8_t *in, struct tr_gcm_message *m)
{
    if (m->len == TR_BLOCK)
        tiny_message(key, out, in, m, TR_BLOCK, 1);
    else
        tiny_message(key, out, in, m, (size_t)m->len, 1);
}
#endif

#if V_MASKED
/* Does an AES round of u vectors and of the tag's mask. */
TR_INLINE TR_TARGET void round_and_mask(V x[IN_FLIGHT], unsigned u, B *mask, const uint8_t *key)
{
    V k = v_load_all(key);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_aesenc(x[j], k);
    *mask = b_aesenc(*mask, v_block_0(k));
}

/*
 * Processes a message of u vectors, at most SHORT_VECTORS, with at most a block of AAD. The
 * counters of so few blocks differ only in the last byte, so they need no byte swap. AAD and
 * lengths are hashed before AES in program order, because they do not depend on AES.
 */
TR_INLINE TR_TARGET void short_vectors(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, const struct tr_gcm_message *m,
                                       unsigned u, int decrypt)
{
    size_t len = (size_t)m->len, n = (len + TR_BLOCK - 1) / TR_BLOCK + 1,
           last = u == 0 ? 0 : len - (size_t)(u - 1) * VBYTES;
    struct gcm g = {
        .bulk = bulk_start(key, key->enc, out, in), .ghash = m->hash, .product = no_product()};
    B iv = b_load_12(m->iv),
      mask = b_xor(b_xor(iv, b_load(g.bulk.keys[0])), v_block_0(v_last_bytes(1)));
    V x[IN_FLIGHT], c[SHORT_VECTORS], k = v_load_all(g.bulk.keys[0]);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor3(v_broadcast(iv), k, v_last_bytes_from(2 + j * VBLOCKS));
    multiply_two(&g, b_byteswap(gcm_aad_block(m)), n + 1, gcm_lengths(m));
    const uint8_t(*at)[TR_BLOCK] = g.bulk.keys + 1;
#    define STEP(key) round_and_mask(x, u, &mask, key)
    MIDDLE_ROUNDS(key->rounds, at, STEP);
#    undef STEP
    k = v_load_all(*at);
    mask = b_aesenclast(mask, v_block_0(k));
    gcm_few_data(&g.bulk, u, last, x, k, c, decrypt);
    gcm_hash_few(&g, u, last, c, n);
    b_store(m->tag, b_xor(mask, b_byteswap(v_block_0(g.y))));
}

/* Processes a message of at most SHORT_VECTORS vectors. */
TR_INLINE TR_TARGET void short_message(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, struct tr_gcm_message *m, int decrypt)
{
    switch (((size_t)m->len + VBYTES - 1) / VBYTES) {
    case 0:
        short_vectors(key, out, in, m, 0, decrypt);
        break;
    case 1:
        short_vectors(key, out, in, m, 1, decrypt);
        break;
#    if V_REGISTERS > 8
    case 2:
        short_vectors(key, out, in, m, 2, decrypt);
        break;
    case 3:
        short_vectors(key, out, in, m, 3, decrypt);
        break;
    case 4:
        short_vectors(key, out, in, m, 4, decrypt);
        break;
    case 5:
        short_vectors(key, out, in, m, 5, decrypt);
        break;
    case 6:
        short_vectors(key, out, in, m, 6, decrypt);
        break;
    case 7:
        short_vectors(key, out, in, m, 7, decrypt);
        break;
#    endif
    default:
        short_vectors(key, out, in, m, SHORT_VECTORS, decrypt);
    }
}
#else
TR_INLINE TR_TARGET void short_message(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, struct tr_gcm_message *m, int decrypt)
{
    message(key, out, in, m, 0, decrypt);
}
#endif

static NOT_INLINE TR_TARGET void V_NAME(short_seal)(const struct tr_aes_key *key, uint8_t *out,
                                                    const uint8_t *in, struct tr_gcm_message *m)
{
    short_message(key, out, in, m, 0);
}

static NOT_INLINE TR_TARGET void V_NAME(short_open)(const struct tr_aes_key *key, uint8_t *out,
                                                    const uint8_t *in, struct tr_gcm_message *m)
{
    short_message(key, out, in, m, 1);
}

static NOT_INLINE TR_TARGET void V_NAME(long_seal)(const struct tr_aes_key *key, uint8_t *out,
                                                   const uint8_t *in, struct tr_gcm_message *m)
{
    message(key, out, in, m, 1, 0);
}

static NOT_INLINE TR_TARGET void V_NAME(long_open)(const struct tr_aes_key *key, uint8_t *out,
                                                   const uint8_t *in, struct tr_gcm_message *m)
{
    message(key, out, in, m, 1, 1);
}

/*
 * The number of powers of H that a message needs. Each block of data needs one, the AAD block one,
 * and the length block one. Long AAD is hashed separately, with one power for each block.
 */
TR_INLINE size_t message_powers(const struct tr_gcm_message *m)
{
    size_t data = (size_t)((m->len + TR_BLOCK - 1) / TR_BLOCK) + 2,
           aad = (size_t)(m->aad_len / TR_BLOCK);
    return data > aad ? data : aad;
}

/* Seals a message. The hash key *m->hash must have the powers that message_powers() counts. */
static TR_TARGET void V_NAME(seal_with_powers)(const struct tr_aes_key *key, uint8_t *out,
                                               const uint8_t *in, size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#if GCM_CHUNKS
    if (takes_chunks(m, blocks, 0)) {
        V_NAME(chunks_seal)(key, out, in, m);
        return;
    }
#endif
    if (blocks <= SHORT_VECTORS * VBLOCKS && m->aad_len <= TR_BLOCK)
        V_NAME(short_seal)(key, out, in, m);
    else
        V_NAME(long_seal)(key, out, in, m);
}

TR_TARGET void V_NAME(gcm_seal)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#if V_MASKED
    if (is_tiny(blocks, m)) {
        V_NAME(tiny_seal)(key, out, in, m);
        return;
    }
#endif
    if (__builtin_expect(!have_powers(m->hash, message_powers(m)), 0)) {
        V_NAME(with_powers)
        (V_NAME(seal_with_powers), key, out, in, blocks, m, &m->hash, stage_for(message_powers(m)));
        return;
    }
    V_NAME(seal_with_powers)(key, out, in, blocks, m);
}

/* Opens a message. The hash key *m->hash must have the powers that message_powers() counts. */
static TR_TARGET void V_NAME(open_with_powers)(const struct tr_aes_key *key, uint8_t *out,
                                               const uint8_t *in, size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#if GCM_CHUNKS
    if (takes_chunks(m, blocks, 1)) {
        V_NAME(chunks_open)(key, out, in, m);
        return;
    }
#endif
    if (blocks <= SHORT_VECTORS * VBLOCKS && m->aad_len <= TR_BLOCK)
        V_NAME(short_open)(key, out, in, m);
    else
        V_NAME(long_open)(key, out, in, m);
}

TR_TARGET void V_NAME(gcm_open)(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#if V_MASKED
    if (is_tiny(blocks, m)) {
        V_NAME(tiny_open)(key, out, in, m);
        return;
    }
#endif
    if (__builtin_expect(!have_powers(m->hash, message_powers(m)), 0)) {
        V_NAME(with_powers)
        (V_NAME(open_with_powers), key, out, in, blocks, m, &m->hash, stage_for(message_powers(m)));
        return;
    }
    V_NAME(open_with_powers)(key, out, in, blocks, m);
}

#endif
