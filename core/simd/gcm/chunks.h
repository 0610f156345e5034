/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One-shot GCM messages in chunks of half a group. takes_chunks() selects messages of 513 to 4096
 * bytes, and on some processors from 257 bytes on to seal. With full groups, sealing would have
 * nothing to hash during the AES rounds of the first group, and would hash the last group without
 * AES. With chunks, more of AES and GHASH overlaps. Sealing hashes a chunk during the AES rounds of
 * the next chunk. Opening hashes a chunk during the AES rounds of that chunk. Two chunks share a
 * reduction.
 *
 * On Zen, the bound is the number of carry-less multiplications: four for each vector and two for
 * each reduction. Emerald Rapids starts two 512-bit operations in a cycle. A chunk of AES-128 has
 * 84, so the bound is 42 cycles (docs/tuning/gcm.md).
 */
#ifndef TR_SIMD_GCM_CHUNKS_H
#define TR_SIMD_GCM_CHUNKS_H

#include "dispatch/tuning.h"
#include "simd/gcm/parts.h"

/* Whether this code is compiled. It needs masked instructions and more than eight vector registers:
 * with eight, half a group is too short for a gain. */
#define GCM_CHUNKS MASKED_GROUP

#if GCM_CHUNKS
#    define CHUNK             HALF_GROUP
#    define CHUNK_BLOCKS      (CHUNK * VBLOCKS)
#    define CHUNK_BYTES       HALF_BYTES
#    define CHUNK_KEYS        10u
/* The longest messages that chunks make faster, in blocks, and the longest if AES rounds and
 * carry-less multiplications share ports. */
#    define CHUNKS_MAX        256u
#    define CHUNKS_MAX_SHARED 224u
/* The longest messages for seal_two(), in bytes, and the vectors of its first chunk. */
#    define TWO_BYTES         (5u * VBYTES)
#    define TWO_FIRST         3u
_Static_assert(CHUNKS_MAX <= 256 && CHUNKS_MAX % CHUNK_BLOCKS == 0,
               "only counters of the last vector exceed 255");
_Static_assert(2 * CHUNK_BLOCKS + SHORT_AAD / TR_BLOCK <= MOST_POWERS,
               "two chunks and the AAD share a reduction");

/*
 * Whether to seal or open a message of `blocks` blocks in chunks. Messages above 512 bytes need
 * more than one reduction with or without chunks. On Zen 4 and Zen 5, these messages are up to
 * 1.23 times as fast with chunks (docs/tuning/gcm.md). On the same processors, chunks seal messages
 * of 400 to 512 bytes up to 6 % slower, and open them up to 10 % slower. On Emerald Rapids,
 * carry-less multiplications have a separate port. A prototype of the chunks sealed 512 bytes 1.25
 * times as fast there. seal_two() seals 257 to 320 bytes 1.3 times as fast, while the other thread
 * of the core is idle. Up to 512 bytes, the code therefore uses chunks only to seal, and only on
 * processors with such a port. Above 3584 bytes, chunks were not tried on others.
 */
TR_INLINE int takes_chunks(const struct tr_gcm_message *m, size_t blocks, int decrypt)
{
    if (blocks <= CHUNK_BLOCKS || blocks > CHUNKS_MAX || m->aad_len > SHORT_AAD)
        return 0;
    if (blocks > SHORT_VECTORS * VBLOCKS && blocks <= CHUNKS_MAX_SHARED)
        return 1;
    return tr_tuning()->separate_clmul &&
           (blocks > CHUNKS_MAX_SHARED || (!decrypt && m->aad_len <= TR_BLOCK));
}

/* A message in progress. */
struct chunks {
    struct gcm g;
    V count; /* the next counter blocks */
    V first; /* the first round key; to seal, in a register */
    /* With has_keys, the last ten round keys, in registers. Broadcasts for each chunk would take
     * issue slots of AES (gcm/long.h), and 1 to 2 KiB 4 to 8 % longer. */
    V keys[CHUNK_KEYS];
    int has_keys; /* a constant */
    size_t left;  /* bytes still to process */
};

TR_INLINE TR_TARGET struct chunks chunks_start(const struct tr_aes_key *key, uint8_t *out,
                                               const uint8_t *in, const struct tr_gcm_message *m,
                                               int has_keys)
{
    struct chunks s = {.g = {.bulk = bulk_start(key, key->enc, out, in),
                             .ghash = m->hash,
                             .product = no_product(),
                             .y = v_zero()},
                       .count =
                           v_xor(v_broadcast(b_load_12_by_blends(m->iv)), v_last_bytes_from(2)),
                       .first = v_load_all(key->enc[0]),
                       .has_keys = has_keys,
                       .left = (size_t)m->len};
    UNROLL
    for (unsigned i = 0; i < CHUNK_KEYS && has_keys; i++) {
        s.keys[i] = v_load_all(key->enc[key->rounds - (CHUNK_KEYS - 1) + i]);
        V_KEEP(s.keys[i]);
    }
    return s;
}

/* Sets x to the states of the next u vectors before their first round. In chunks of the same size,
 * the first counter modulo CHUNK_BLOCKS is 2. All vectors but the last then differ from the first
 * by constants. Only the counters of the last vector of the last chunk can exceed 255. To
 * open, the first round key comes from memory, because gcc would spill its register. */
TR_INLINE TR_TARGET void chunk_counters(struct chunks *s, V x[CHUNK], unsigned u, int is_last,
                                        int decrypt)
{
    const V k = decrypt ? v_load_all(s->g.bulk.keys[0]) : s->first;
    x[0] = v_xor(k, s->count);
    UNROLL
    for (unsigned j = 1; j < u; j++) {
        if (s->has_keys && j < CHUNK - 1)
            x[j] = v_xor(x[0], v_xor(v_last_bytes_from(2), v_last_bytes_from(2 + j * VBLOCKS)));
        else if (is_last && j == CHUNK - 1)
            x[j] = v_xor(k, v_byteswap(v_add32(v_byteswap(s->count), j * VBLOCKS)));
        else
            x[j] = v_xor(k, v_add_last_byte(s->count, j * VBLOCKS));
    }
    s->count = v_add_last_byte(s->count, u * VBLOCKS);
}

/* Hashes vectors j and j + 1 of the u vectors at c. Vector u - 1 has `last` bytes. The powers of H
 * for the blocks of c begin at `power`. */
TR_INLINE TR_TARGET void chunk_hash_two(struct gcm *g, const V *c, unsigned j, unsigned u,
                                        size_t last, const uint8_t *power)
{
    struct product *p = &g->product;
    UNROLL
    for (unsigned i = 0; i < CHUNK; i++) {
        if (i / 2 == j / 2 && i < u) {
            unsigned blocks = i == u - 1 ? (unsigned)(last + TR_BLOCK - 1) / TR_BLOCK : VBLOCKS;
            V x = v_byteswap(c[i]);
            const uint8_t *at = power + (size_t)i * VBYTES;
            multiply_add(p, i == 0 ? v_xor(x, g->y) : x,
                         blocks == VBLOCKS ? v_load(at) : v_load_part(at, blocks));
        }
    }
    __asm__("" : "+" V_REGISTER(p->low), "+" V_REGISTER(p->middle), "+" V_REGISTER(p->high));
}

/* Processes u vectors, the last with `last` bytes, and sets c to their ciphertext. If hu is not 0,
 * hashes the hu vectors at `hashed` between the rounds. The last of them has `hlast` bytes, and
 * their first block is multiplied by H^n. If `mask` is not NULL, this is the last chunk. Then also
 * encrypts the tag's mask, and broadcasts the round keys again, so that no register is spilled. */
TR_INLINE TR_TARGET void chunk(struct chunks *s, unsigned u, size_t last, V *c, const V *hashed,
                               unsigned hu, size_t hlast, size_t n, B *mask, int decrypt)
{
    V x[IN_FLIGHT];
    struct bulk *r = &s->g.bulk;
    const uint8_t(*at)[TR_BLOCK] = r->keys + 1;
    const uint8_t *power = s->g.ghash->power[TR_GHASH_POWERS - n];
    const int broadcasts = mask != NULL || !s->has_keys;
    unsigned round = 0;
    chunk_counters(s, x, u, mask != NULL, decrypt);
#    define STEP(key)                                                                              \
        do {                                                                                       \
            V k_ = key;                                                                            \
            UNROLL                                                                                 \
            for (unsigned j_ = 0; j_ < u; j_++) {                                                  \
                x[j_] = v_aesenc(x[j_], k_);                                                       \
                V_KEEP(x[j_]);                                                                     \
            }                                                                                      \
            if (mask != NULL)                                                                      \
                *mask = b_aesenc(*mask, v_block_0(k_));                                            \
        } while (0)
    for (unsigned beyond = 10; beyond < 14; beyond += 2) {
        if (r->rounds > beyond) {
            STEP(v_load_all(at[0]));
            STEP(v_load_all(at[1]));
            at += 2;
        }
    }
    UNROLL
    for (round = 0; round < 9; round++) {
        STEP(broadcasts ? v_load_all(at[round]) : s->keys[round]);
        if (round == 2 && hu > 0)
            chunk_hash_two(&s->g, hashed, 0, hu, hlast, power);
        if (round == 6 && hu > 2)
            chunk_hash_two(&s->g, hashed, 2, hu, hlast, power);
    }
#    undef STEP
    V k = broadcasts ? v_load_all(at[round]) : s->keys[round];
    if (mask != NULL)
        *mask = b_aesenclast(*mask, v_block_0(k));
    gcm_few_data(r, u, last, x, k, c, decrypt, 1);
}

/* Returns J0, XORed with the first round key. */
TR_INLINE TR_TARGET B chunks_mask(const struct chunks *s, const struct tr_gcm_message *m)
{
    const B j0 = b_xor(b_load_12(m->iv), v_block_0(v_last_bytes(1)));
    return b_xor(j0, b_load(s->g.bulk.keys[0]));
}

TR_INLINE TR_TARGET void chunks_tag(struct chunks *s, B mask, uint8_t *tag)
{
    b_store(tag, b_xor(mask, b_byteswap(v_block_0(s->g.y))));
}

/* Seals the last u vectors of a message, and writes the tag. Also hashes `before`, the previous
 * chunk's ciphertext of bu vectors. */
TR_INLINE TR_TARGET void seal_last(struct chunks *s, unsigned u, const V *before, unsigned bu,
                                   const struct tr_gcm_message *m)
{
    const size_t n = (s->left + TR_BLOCK - 1) / TR_BLOCK + 1,
                 last = s->left - (size_t)(u - 1) * VBYTES;
    V c[CHUNK];
    B mask = chunks_mask(s, m);
    chunk(s, u, last, c, before, bu, VBYTES, n + (size_t)bu * VBLOCKS, &mask, 0);
    gcm_hash_few(&s->g, u, last, c, n);
    chunks_tag(s, mask, m->tag);
}

/* Opens the last u vectors of a message, and writes the expected tag. */
TR_INLINE TR_TARGET void open_last(struct chunks *s, unsigned u, const struct tr_gcm_message *m)
{
    const size_t n = (s->left + TR_BLOCK - 1) / TR_BLOCK + 1,
                 last = s->left - (size_t)(u - 1) * VBYTES;
    V c[CHUNK], d[CHUNK];
    B mask = chunks_mask(s, m);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *at = s->g.bulk.in + (size_t)j * VBYTES;
        c[j] = j == u - 1 && last != VBYTES ? v_load_within_page(at, last) : v_load(at);
    }
    chunk(s, u, last, d, c, u, last, n, &mask, 1);
    gcm_reduce(&s->g);
    chunks_tag(s, mask, m->tag);
}

#    define BY_LAST_VECTORS(CALL)                                                                  \
        switch ((s.left + VBYTES - 1) / VBYTES) {                                                  \
        case 1:                                                                                    \
            CALL(1);                                                                               \
            break;                                                                                 \
        case 2:                                                                                    \
            CALL(2);                                                                               \
            break;                                                                                 \
        case 3:                                                                                    \
            CALL(3);                                                                               \
            break;                                                                                 \
        default:                                                                                   \
            CALL(CHUNK);                                                                           \
        }

/* XORs the block of lengths times H into g->product. */
TR_INLINE TR_TARGET void chunks_add_lengths(struct gcm *g, B lengths)
{
    multiply_add(&g->product, v_zero_extend(lengths),
                 v_zero_extend(b_load(g->ghash->power[TR_GHASH_POWERS - 1])));
}

/* Seals a message of five vectors, and at most a block of AAD, with one reduction. The second chunk
 * overlaps with the hash of the first. short_vectors() takes 1.3 times as long on Emerald Rapids,
 * while the other thread of the core is idle. */
static NOT_INLINE TR_TARGET void V_NAME(seal_two)(const struct tr_aes_key *key, uint8_t *out,
                                                  const uint8_t *in, struct tr_gcm_message *m)
{
    TR_ASSUME(m->aad_len <= TR_BLOCK);
    const B lengths = gcm_lengths(m), aad = gcm_aad(m);
    struct chunks s = chunks_start(key, out, in, m, 0);
    V c[CHUNK];
    chunk(&s, TWO_FIRST, VBYTES, c, NULL, 0, 0, 0, NULL, 0);
    multiply_two(&s.g, aad, (s.left + TR_BLOCK - 1) / TR_BLOCK + 2, lengths);
    s.left -= TWO_FIRST * VBYTES;
    seal_last(&s, TWO_BYTES / VBYTES - TWO_FIRST, c, TWO_FIRST, m);
}

/* Reduces after a chunk that was multiplied from H^n on, if its last block was multiplied by H.
 * Returns n for the next chunk. */
TR_INLINE TR_TARGET size_t chunks_reduce(struct gcm *g, size_t n)
{
    if (n == CHUNK_BLOCKS) {
        gcm_reduce(g);
        return 2 * CHUNK_BLOCKS;
    }
    g->y = v_zero();
    return CHUNK_BLOCKS;
}

/* The power of H for the first block of a chunk before a tail of `len` bytes. Both share a reduction
 * with the lengths. */
TR_INLINE size_t last_power(size_t len)
{
    return CHUNK_BLOCKS + (len + TR_BLOCK - 1) / TR_BLOCK + 1;
}

static NOT_INLINE TR_TARGET void V_NAME(chunks_seal)(const struct tr_aes_key *key, uint8_t *out,
                                                     const uint8_t *in, struct tr_gcm_message *m)
{
    const B lengths = gcm_lengths(m);
    struct chunks s = chunks_start(key, out, in, m, 1);
    V c[CHUNK];
    chunk(&s, CHUNK, VBYTES, c, NULL, 0, 0, 0, NULL, 0);
    s.left -= CHUNK_BYTES;
    /* The chunk before the tail shares its reduction. Of the chunks before that one, an odd one has
     * a reduction of its own. */
    const size_t before = (s.left - 1) / CHUNK_BYTES;
    size_t n = before == 0 ? last_power(s.left) : before % 2 != 0 ? CHUNK_BLOCKS : 2 * CHUNK_BLOCKS;
    add_short_aad(&s.g.product, m, n + 1);
    for (; s.left > CHUNK_BYTES; s.left -= CHUNK_BYTES) {
        V d[CHUNK];
        chunk(&s, CHUNK, VBYTES, d, c, CHUNK, VBYTES, n, NULL, 0);
        n = chunks_reduce(&s.g, n);
        UNROLL
        for (unsigned j = 0; j < CHUNK; j++)
            c[j] = d[j];
    }
    chunks_add_lengths(&s.g, lengths);
#    define CALL(u) seal_last(&s, u, c, CHUNK, m)
    BY_LAST_VECTORS(CALL)
#    undef CALL
}

static NOT_INLINE TR_TARGET void V_NAME(chunks_open)(const struct tr_aes_key *key, uint8_t *out,
                                                     const uint8_t *in, struct tr_gcm_message *m)
{
    struct chunks s = chunks_start(key, out, in, m, 1);
    const B lengths = gcm_lengths(m);
    /* There are at least two chunks before the tail. An odd one shares its reduction. */
    size_t n = 2 * CHUNK_BLOCKS;
    add_short_aad(&s.g.product, m, n + 1);
    do {
        V c[CHUNK], d[CHUNK];
        UNROLL
        for (unsigned j = 0; j < CHUNK; j++)
            c[j] = v_load(s.g.bulk.in + (size_t)j * VBYTES);
        chunk(&s, CHUNK, VBYTES, d, c, CHUNK, VBYTES, n, NULL, 1);
        s.left -= CHUNK_BYTES;
        n = chunks_reduce(&s.g, n);
        if (n == 2 * CHUNK_BLOCKS && s.left <= 2 * CHUNK_BYTES)
            n = last_power(s.left - CHUNK_BYTES);
    } while (s.left > CHUNK_BYTES);
    chunks_add_lengths(&s.g, lengths);
#    define CALL(u) open_last(&s, u, m)
    BY_LAST_VECTORS(CALL)
#    undef CALL
}

#endif
#endif
