/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of GCM (SP 800-38D section 7) that streaming calls (gcm/stream.h) and one-shot messages
 * (gcm/message.h) share. They process and hash at most one group of vectors in flight, and compute
 * single keystream blocks. */
#ifndef TR_SIMD_GCM_PARTS_H
#define TR_SIMD_GCM_PARTS_H

#include "simd/gcm/ghash.h"
#include "simd/partial_bytes.h"
#include "simd/rounds.h"

/* A GCM call in progress. */
struct gcm {
    struct bulk bulk;
    const struct tr_ghash_key *ghash;
    struct product product; /* not reduced yet */
    V y;                    /* the hash so far, in lane 0 */
};

TR_INLINE TR_TARGET void gcm_reduce(struct gcm *g)
{
    g->y = v_zero_extend(v_fold(reduce(&g->product)));
    g->product = no_product();
}

/* Half a group, in vectors and in bytes. After the full groups, the code processes the remaining
 * bytes in up to two parts of at most this size. */
#define HALF_GROUP (IN_FLIGHT / 2u)
#define HALF_BYTES ((size_t)HALF_GROUP * VBYTES)
_Static_assert(2 * HALF_BYTES == (size_t)GROUP * TR_BLOCK,
               "the tail after full groups is done in two halves");
/* The longest message that needs only one reduction, in vectors. */
#if MASKED_GROUP
#    define SHORT_VECTORS IN_FLIGHT
#else
#    define SHORT_VECTORS HALF_GROUP
#endif
_Static_assert(HALF_GROUP <= (sizeof(void *) == 8 ? 4 : 2),
               "there is a case for each number of vectors");
_Static_assert(SHORT_VECTORS *VBLOCKS + 2 <= MOST_POWERS && GROUP <= MOST_POWERS,
               "there is a power for each block, the lengths and the hash");
_Static_assert(MOST_POWERS <= TR_GHASH_POWERS, "the key has room for all powers");

/* Returns H^n, H^(n-1), .. in lanes 0, 1, .., one for each of `blocks` blocks. */
TR_INLINE TR_TARGET V powers(const struct gcm *g, size_t n, unsigned blocks)
{
    const uint8_t *p = g->ghash->power[TR_GHASH_POWERS - n];
    return blocks == VBLOCKS ? v_load(p) : v_load_part(p, blocks);
}

/* Adds a number of blocks to the low half of a counter. Only the lowest 32 bits change, and they
 * may wrap (SP 800-38D section 6.2). */
TR_INLINE TR_TARGET uint64_t counter_plus(uint64_t low, size_t blocks)
{
    return (low & 0xffffffff00000000) | (uint32_t)(low + blocks);
}

TR_INLINE TR_TARGET struct gcm gcm_start(struct bulk bulk, const struct tr_ghash_key *ghash, B y,
                                         V counters)
{
    bulk.chain = counters;
    return (struct gcm){
        .bulk = bulk, .ghash = ghash, .product = no_product(), .y = v_zero_extend(y)};
}

/* Returns one block of keystream, for example the tag's mask. */
TR_INLINE TR_TARGET B gcm_keystream(const struct tr_aes_key *key, uint64_t low, uint64_t high)
{
    return encrypt_block(key, b_byteswap(b_of(low, high)));
}

/* v_load_bytes() and v_store_bytes(), or the functions for registers that do not leave the page. */
TR_INLINE TR_TARGET V load_bytes(const uint8_t *p, size_t n, int within_page)
{
#if V_MASKED
    if (within_page)
        return v_load_within_page(p, n);
#endif
    return (void)within_page, v_load_bytes(p, n);
}

TR_INLINE TR_TARGET void store_bytes(uint8_t *p, V x, size_t n, int within_page)
{
#if V_MASKED
    if (within_page) {
        v_store_within_page(p, x, n);
        return;
    }
#endif
    (void)within_page, v_store_bytes(p, x, n);
}

/* Does the last AES round of u vectors, XORs the data, and writes the result. The last vector has
 * `last` bytes, 1 to VBYTES. The last round key is k. Sets c to the ciphertext, padded with zeros.
 * Reads all data before it writes any. */
TR_INLINE TR_TARGET void gcm_few_data(struct bulk *r, unsigned u, size_t last, V x[IN_FLIGHT], V k,
                                      V *c, int decrypt, int within_page)
{
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *at = r->in + (size_t)j * VBYTES;
        V in = j == u - 1 && last != VBYTES ? load_bytes(at, last, within_page) : v_load(at);
        x[j] = v_aesenclast(x[j], v_xor(k, in));
        c[j] = decrypt ? in : x[j];
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        uint8_t *at = r->out + (size_t)j * VBYTES;
        if (j == u - 1 && last != VBYTES) {
            store_bytes(at, x[j], last, within_page);
            if (!decrypt)
                c[j] = v_first_bytes(x[j], last);
        } else {
            v_store(at, x[j]);
        }
    }
    bulk_advance(r, (size_t)u * VBYTES);
}

/* Encrypts or decrypts u vectors, the last with `last` bytes. Sets c to their ciphertext. */
TR_INLINE TR_TARGET void gcm_few(struct gcm *g, unsigned u, size_t last, V c[HALF_GROUP],
                                 int decrypt)
{
    struct bulk *r = &g->bulk;
    /* Makes gcc load the round keys again. Otherwise gcc reuses the keys that it loaded for the
     * tag's mask, and broadcasts each from a register with a shuffle. */
    __asm__("" : "+r"(r->keys));
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(k, v_byteswap(v_add32(r->chain, j * VBLOCKS)));
    r->chain = v_add32(r->chain, u * VBLOCKS);
    k = middle_rounds(x, u, 0, r);
    gcm_few_data(r, u, last, x, k, c, decrypt, 0);
}

/* Multiplies the blocks of u vectors by H^n, H^(n-1), .., XORs the products into g->product, and
 * reduces. The last vector has `last` bytes. */
TR_INLINE TR_TARGET void gcm_hash_few(struct gcm *g, unsigned u, size_t last, const V *c, size_t n)
{
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        unsigned blocks = j == u - 1 ? (unsigned)(last + TR_BLOCK - 1) / TR_BLOCK : VBLOCKS;
        multiply_add(&g->product, v_byteswap(c[j]), powers(g, n - j * VBLOCKS, blocks));
    }
    gcm_reduce(g);
}

/* XORs `a` times H^n and `b` times H into g->product. */
TR_INLINE TR_TARGET void multiply_two(struct gcm *g, B a, size_t n, B b)
{
    const uint8_t *power = g->ghash->power[TR_GHASH_POWERS - n],
                  *h = g->ghash->power[TR_GHASH_POWERS - 1];
#if VBLOCKS > 1
    multiply_add(&g->product, v_in_lanes_0_1(a, b), v_in_lanes_0_1(b_load(power), b_load(h)));
#else
    multiply_add(&g->product, a, v_load(power));
    multiply_add(&g->product, b, v_load(h));
#endif
}

/* Returns the block of lengths in bits, in the bit order of the hash. The asm statement makes gcc
 * load both fields separately, because the caller may have just stored them: one wide load would
 * cause a store-forwarding stall. */
TR_INLINE TR_TARGET B gcm_lengths(const struct tr_gcm_message *m)
{
    uint64_t len = m->len;
    __asm__("" : "+r"(len));
    return b_shift_left64(b_of(len, m->aad_len), 3);
}

/* The most AAD of a message with a single reduction of its data, in bytes. */
#define SHORT_AAD 64u

#if V_MASKED
/* Returns the powers of H for 1 to SHORT_AAD bytes of AAD, whose last block is multiplied by H^n.
 * If the AAD are less than a vector, there are also lower powers: the blocks that these are
 * multiplied with are zero. */
TR_INLINE TR_TARGET V aad_powers(const struct tr_gcm_message *m, size_t n)
{
    const size_t blocks = ((size_t)m->aad_len + TR_BLOCK - 1) / TR_BLOCK;
    return v_load(m->hash->power[TR_GHASH_POWERS + 1 - n - blocks]);
}

/* XORs the products of at most SHORT_AAD bytes of AAD into p. Their last block is multiplied by
 * H^n. */
TR_INLINE TR_TARGET void add_short_aad(struct product *p, const struct tr_gcm_message *m, size_t n)
{
    const size_t len = (size_t)m->aad_len;
    if (len == 0)
        return;
    const int pieces = len != VBYTES && leaves_page(m->aad, VBYTES);
    const V aad = pieces ? v_load_bytes(m->aad, len) : v_load_masked(m->aad, len);
    multiply_add(p, v_byteswap(aad), aad_powers(m, n));
}
#endif

/* Hashes all AAD but the last block, which may be partial. */
static NOT_INLINE TR_TARGET B V_NAME(gcm_long_aad)(const struct tr_ghash_key *ghash,
                                                   const uint8_t *aad, size_t blocks)
{
    return hash_all(ghash, b_zero(), aad, blocks, 0);
}

/* Returns one block that stands for the AAD of a message, in the bit order of the hash. It is the
 * hash of all blocks but the last, XORed with the last one. */
TR_INLINE TR_TARGET B gcm_aad(const struct tr_gcm_message *m)
{
    const size_t len = (size_t)m->aad_len;
    if (len <= TR_BLOCK)
        return b_byteswap(b_load_bytes(m->aad, len));
    const size_t whole = (len - 1) / TR_BLOCK * TR_BLOCK;
    return b_xor(V_NAME(gcm_long_aad)(m->hash, m->aad, whole / TR_BLOCK),
                 b_byteswap(b_load_bytes(m->aad + whole, len - whole)));
}

#endif
