/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many GCM messages of one length, four at a time: a quad. Most of this file is for one key;
 * gcm/many_keys.h is for a key for each job.
 *
 * - AES works on one message per vector. The first round is done once per message: the counters of
 *   a message differ only in their last byte, so after round 1 the state of counter c is that of J0
 *   XOR a difference that depends on c and the key only (struct many, field `difference`).
 * - GHASH works across the messages of a quad: each lane has blocks of one message. So all lanes
 *   need the same power of H, one accumulator serves four messages, and nothing is summed across
 *   lanes. Two blocks of a message share a Karatsuba multiplication: a register has their low
 *   halves, another their high halves.
 * - The four messages share one reduction, the encryption of J0, and the product of the lengths.
 * - A step processes one or two vectors of each message: with more than nine vectors in flight, the
 *   registers for renaming run out (Zen 4 has 160). A step is hashed during the AES rounds of the
 *   next step, also if this belongs to the next quad.
 * - Four messages with at most one block of data and one of AAD share a vector:
 *   gcm_many_seal_blocks() and gcm_many_open_blocks().
 *
 * On Zen 4, a vector takes at least 12.4 cycles for AES-128: 9 AES rounds, 3 multiplications and 6
 * other operations. A message takes about 8 more (J0, AAD, reduction, gathering, scattering). This
 * bound is 21 cycles for 64 bytes and 280 for 1350 (docs/tuning/gcm-many.md).
 */
#ifndef TR_SIMD_GCM_MANY_H
#define TR_SIMD_GCM_MANY_H

#include "dispatch/many.h"
#include "simd/gcm/parts.h"

#if MANY_MESSAGES

#    define QUAD         4u
/* The longest message, in vectors. Their counters, 2 to 129, fit in a byte. */
#    define MANY_VECTORS (TR_MANY_BYTES / VBYTES)
/* Powers of H for data, AAD and lengths, and a vector that loads may reach. */
#    define MANY_POWERS  (MANY_VECTORS * VBLOCKS + TR_MANY_AAD / TR_BLOCK + 2 * VBLOCKS)
_Static_assert(MANY_VECTORS *VBLOCKS + 2 < 256, "only the last byte of a counter changes");

/* What a call derives from the key and the lengths. */
struct many {
    /* Messages with at most one block of data and one of AAD need only these. */
    struct product lengths; /* of the length block and H */
    V aad_power, aad_down;  /* the power of H for the last block of AAD, and folded_power() of it */
    /* The J0s of the quad after round 1, each in all lanes, if there is a second step. There are
     * not enough registers for them, and gcm_many_cleanse() must find them. */
    V begun[QUAD];
    V mask;      /* of the tags of the quad that is hashed */
    V next;      /* the J0s of the next quad after round 1 */
    V first_key; /* XORed into IVs: the first round key, and the counter of J0 */
    V key[15];   /* round keys */
    V byteswap;  /* a constant, which the compiler would otherwise compute again for each use */
    V in_block;  /* ones in the bytes that a message of at most one block has */
    const uint8_t *h0; /* the end of the powers of H: H^n is n blocks before it */
    unsigned rounds;
    int decrypt;
    unsigned forged; /* not 0: the tag of some job does not match */
    size_t len, aad_len, vectors, powers;
    size_t aad_before; /* bytes of AAD before its last block */
    /* A call sets and cleanses only what it uses of the tables that follow. */
    V difference[MANY_VECTORS]; /* after round 1, of a vector's counters from J0 */
    /* Powers of H for the two pairs of blocks of a vector. A pair has the low halves of its powers,
     * the high ones, and the XOR of both. */
    struct many_pairs {
        uint8_t low[2][TR_BLOCK], high[2][TR_BLOCK], sum[2][TR_BLOCK];
    } pairs[MANY_VECTORS];
    uint8_t power[MANY_POWERS * TR_BLOCK]; /* if the key has too few */
};

/* Ciphertext to hash: a vector of each message, then another of each. `pairs` has the powers for
 * the first of them: an index would take address computations for each load. The ciphertext must
 * stay in registers: stored and loaded again, it costs 15 % of the speed at 512 bytes. */
struct pending {
    V c[2 * QUAD];
    const struct many_pairs *pairs;
};

TR_INLINE size_t many_blocks(size_t bytes)
{
    return (bytes + TR_BLOCK - 1) / TR_BLOCK;
}

/* A sum of products after the first of the two steps of the reduction (gcm/ghash.h). */
struct folded {
    V middle, high;
};

/* Does this step for a Karatsuba product. */
TR_INLINE TR_TARGET struct folded fold_product(const struct product *p)
{
    const V middle = v_xor3(p->middle, p->low, p->high),
            low = v_clmul_ll(p->low, v_low_halves(0xc200000000000000));
    return (struct folded){v_xor3(middle, v_swap_halves(p->low), low), p->high};
}

/* Does this step for a power of H. */
TR_INLINE TR_TARGET V folded_power(V h)
{
    return v_xor(v_swap_halves(h), v_clmul_ll(h, v_low_halves(0xc200000000000000)));
}

/* Adds a * h, where `down` is folded_power(h). This and the rest of the reduction are nine
 * operations for a product, where Karatsuba and a whole reduction are 15. */
TR_INLINE TR_TARGET void multiply_add_folded(struct folded *p, V a, V h, V down)
{
    p->middle = v_xor3(p->middle, v_clmul_ll(a, down), v_clmul_hl(a, h));
    p->high = v_xor3(p->high, v_clmul_lh(a, down), v_clmul_hh(a, h));
}

/* ---- Setup ---- */

/* Returns the address of H^n. */
TR_INLINE const uint8_t *many_power(const struct many *m, size_t n)
{
    return m->h0 - n * TR_BLOCK;
}

/* Finds the powers of H in the key, or computes those that it lacks and copies the others. */
TR_INLINE TR_TARGET void many_powers(struct many *m, const struct tr_ghash_key *k, size_t wanted)
{
    uintptr_t before;
    if (!have_powers(k, wanted) && tr_ghash_claim(k, &before))
        V_NAME(append_powers)(k, before, stage_for(wanted));
    const size_t ready = tr_ghash_powers_at(tr_ghash_published(k));
    m->powers = 0;
    m->h0 = k->h;
    if (wanted <= ready)
        return;
    const V h = v_load_all(k->power[TR_GHASH_POWERS - ready]), sum = xor_of_halves(h);
    uint8_t *const end = m->power + sizeof(m->power) - VBYTES;
    v_store(end, v_zero());
    m->h0 = end;
    m->powers = (wanted + VBLOCKS - 1) / VBLOCKS * VBLOCKS;
    for (size_t n = VBLOCKS; n <= m->powers; n += VBLOCKS) {
        V x = v_load(k->power[TR_GHASH_POWERS - (n <= ready ? n : ready)]);
        if (n > ready) {
            struct product p = no_product();
            multiply_add_3(&p, v_load(many_power(m, n - ready)), h, sum);
            p.middle = v_xor3(p.middle, p.low, p.high);
            x = reduce(&p);
        }
        v_store(end - n * TR_BLOCK, x);
    }
}

/* Sets m->pairs. The first block of a message is multiplied by H^n. */
TR_INLINE TR_TARGET void many_pairs(struct many *m, size_t n)
{
    const uint8_t *at = many_power(m, n);
    for (size_t v = 0; v < m->vectors; v += 2, at += 2 * VBYTES) {
        V a = v_load(at), b = v + 1 < m->vectors ? v_load(at + VBYTES) : a;
        V even = v_even_blocks(a, b), odd = v_odd_blocks(a, b);
        V low = v_unpack_low(even, odd), high = v_unpack_high(even, odd);
        for (unsigned i = 0; i < 2; i++) {
            w_store(m->pairs[v + i].low[0], v_half(low, i));
            w_store(m->pairs[v + i].high[0], v_half(high, i));
            w_store(m->pairs[v + i].sum[0], v_half(v_xor(low, high), i));
        }
    }
}

/* Sets the tables for messages with more than one block of data or of AAD. The first block is
 * multiplied by H^n. */
TR_INLINE TR_TARGET void many_tables(struct many *m, const struct tr_aes_key *key, size_t n)
{
    for (unsigned i = 0; i <= m->rounds; i++)
        m->key[i] = v_load_all(key->enc[i]);
    many_pairs(m, n);
    const V k = m->key[0], zero = v_zero();
    m->first_key = v_xor(v_last_bytes(1), k);
    const V first = v_aesenc(m->first_key, zero);
    V counters = v_last_bytes_from(2);
    for (size_t v = 0; v < m->vectors; v++) {
        m->difference[v] = v_xor(v_aesenc(v_xor(counters, k), zero), first);
        counters = v_add_last_byte(counters, VBLOCKS);
    }
}

/* Whether data and AAD have at most one block each, as gcm_many_seal_blocks() and
 * gcm_many_open_blocks() need. */
TR_INLINE int many_in_blocks(const struct many *m)
{
    return m->len <= TR_BLOCK && m->aad_len <= TR_BLOCK;
}

TR_INLINE TR_TARGET void many_start(struct many *m, const struct tr_gcm_job *job, int decrypt,
                                    int own_keys)
{
    const struct tr_gcm_key *key = job->key;
    const size_t n = many_blocks(job->len) + 1;
    m->byteswap = v_byteswap_order();
    m->rounds = key->aes.rounds;
    m->len = job->len;
    m->aad_len = job->aad_len;
    m->aad_before = job->aad_len == 0 ? 0 : (job->aad_len - 1) / TR_BLOCK * TR_BLOCK;
    m->vectors = (job->len + VBYTES - 1) / VBYTES;
    m->decrypt = decrypt;
    m->forged = 0;
    m->in_block = v_broadcast(b_first_bytes(job->len));
    if (own_keys) {
        m->powers = 0;
        return;
    }
    many_powers(m, &key->hash, n + many_blocks(job->aad_len));
    if (job->aad_len != 0) {
        m->aad_power = v_load_all(many_power(m, n + 1));
        m->aad_down = folded_power(m->aad_power);
    }
    if (!many_in_blocks(m))
        many_tables(m, &key->aes, n);
    const V h = v_load_all(many_power(m, 1));
    m->lengths = no_product();
    multiply_add_3(&m->lengths, v_broadcast(b_of((uint64_t)m->len * 8, (uint64_t)m->aad_len * 8)),
                   h, xor_of_halves(h));
}

/* Cleanses what a call has used of *m. */
static NOT_INLINE TR_TARGET void V_NAME(gcm_many_cleanse)(struct many *m)
{
    const size_t powers = m->powers * TR_BLOCK;
    cleanse_vectors(m->power + sizeof(m->power) - VBYTES - powers, powers);
    cleanse_vectors(&m->lengths, (size_t)((uint8_t *)m->begun - (uint8_t *)&m->lengths));
    if (many_in_blocks(m))
        return;
    cleanse_vectors(m->pairs, (m->vectors + 1) / 2 * 2 * sizeof(*m->pairs));
    cleanse_vectors(m->difference, m->vectors * VBYTES);
    cleanse_vectors(m->begun, (size_t)((uint8_t *)(m->key + m->rounds + 1) - (uint8_t *)m->begun));
}

/* ---- The parts of a step ---- */

/* Returns the IVs of four messages. */
TR_INLINE TR_TARGET V many_ivs(const struct tr_gcm_job *j)
{
    return v_of_blocks(b_load_masked(j[0].iv, 12), b_load_masked(j[1].iv, 12),
                       b_load_masked(j[2].iv, 12), b_load_masked(j[3].iv, 12));
}

/* Returns the J0s of four messages, after round 1. */
TR_INLINE TR_TARGET V many_begin(const struct many *m, const struct tr_gcm_job *j)
{
    return v_aesenc(v_xor(many_ivs(j), m->first_key), m->key[1]);
}

/* Does a third of the work of hashing a vector of each message. */
TR_INLINE TR_TARGET void many_hash(const struct many *m, const struct many_pairs *pairs,
                                   unsigned third, const V *c, V r[4], struct product *p)
{
    if (third == 0) {
        const V order = m->byteswap;
        V a = v_shuffle_bytes(c[0], order), b = v_shuffle_bytes(c[1], order),
          d = v_shuffle_bytes(c[2], order), e = v_shuffle_bytes(c[3], order);
        V low_ab = v_low_by_two(a, b), high_ab = v_high_by_two(a, b), low_de = v_low_by_two(d, e),
          high_de = v_high_by_two(d, e);
        r[0] = v_join_low_halves(low_ab, low_de);
        r[1] = v_join_low_halves(high_ab, high_de);
        r[2] = v_join_high_halves(low_ab, low_de);
        r[3] = v_join_high_halves(high_ab, high_de);
        return;
    }
    const V low = r[2 * third - 2], high = r[2 * third - 1], sum = v_xor(low, high);
    V h = v_load_all(pairs->low[third - 1]);
    p->low = v_xor3(p->low, v_clmul_ll(low, h), v_clmul_hh(low, h));
    h = v_load_all(pairs->high[third - 1]);
    p->high = v_xor3(p->high, v_clmul_ll(high, h), v_clmul_hh(high, h));
    h = v_load_all(pairs->sum[third - 1]);
    p->middle = v_xor3(p->middle, v_clmul_ll(sum, h), v_clmul_hh(sum, h));
}

TR_INLINE TR_TARGET void many_round(V *x, unsigned n, V k)
{
    UNROLL
    for (unsigned i = 0; i < n; i++) {
        x[i] = v_aesenc(x[i], k);
        V_KEEP(x[i]);
    }
}

/* The last round of vector v of each message, which has `bytes` bytes. Sets pending[] to the
 * ciphertext. */
TR_INLINE TR_TARGET void many_data(const struct many *m, const struct tr_gcm_job *j, size_t v,
                                   size_t bytes, V *x, V *pending)
{
    const V k = m->key[m->rounds];
    const size_t at = v * VBYTES;
    V in[QUAD];
    UNROLL
    for (unsigned i = 0; i < QUAD; i++) {
        in[i] = bytes == VBYTES ? v_load(j[i].in + at) : v_load_masked(j[i].in + at, bytes);
        x[i] = v_aesenclast(x[i], v_xor(k, in[i]));
        if (bytes == VBYTES)
            v_store(j[i].out + at, x[i]);
        else
            v_store_masked(j[i].out + at, x[i], bytes);
    }
    if (m->decrypt) {
        UNROLL
        for (unsigned i = 0; i < QUAD; i++)
            pending[i] = in[i];
    } else {
        UNROLL
        for (unsigned i = 0; i < QUAD; i++)
            pending[i] = bytes == VBYTES ? x[i] : v_first_bytes(x[i], bytes);
    }
}

/* Processes u vectors of each message from vector v on, and hashes the pending ones, `before` of
 * each message. If `mask` is not NULL, also encrypts the J0s *mask, which have passed round 1. */
TR_INLINE TR_TARGET void many_step(const struct many *m, const struct tr_gcm_job *j, size_t v,
                                   unsigned u, unsigned before, const V *begun, V *mask,
                                   struct pending *h, struct product *p)
{
    const unsigned n = QUAD * u + (mask != NULL);
    V x[2 * QUAD + 1], r[4];
    if (mask != NULL)
        x[QUAD * u] = *mask;
    UNROLL
    for (unsigned i = 0; i < QUAD * u; i++)
        x[i] = v_xor(begun[i % QUAD], m->difference[v + i / QUAD]);
    const V *key = m->key + 2, *last_key = m->key + m->rounds;
    for (; key != last_key - 8; key++)
        many_round(x, n, *key);
    UNROLL
    for (unsigned t = 0; t < 8; t++) {
        many_round(x, n, key[t]);
        if (before == 2 ? t < 3 : t == 0 || t == 2 || t == 5)
            many_hash(m, h->pairs, before == 2 ? t : t / 2, h->c, r, p);
        if (before == 2 && t > 3 && t < 7)
            many_hash(m, h->pairs + 1, t - 4, h->c + QUAD, r, p);
    }
    if (mask != NULL)
        *mask = v_aesenclast(x[QUAD * u], *last_key);
    const size_t last = m->len - (v + u - 1) * VBYTES;
    if (u == 2)
        many_data(m, j, v, VBYTES, x, h->c);
    if (last < VBYTES)
        many_data(m, j, v + u - 1, last, x + QUAD * (u - 1), h->c + QUAD * (u - 1));
    else
        many_data(m, j, v + u - 1, VBYTES, x + QUAD * (u - 1), h->c + QUAD * (u - 1));
    h->pairs = m->pairs + v;
}

/* Returns the power H^n of the key of each message. */
TR_INLINE TR_TARGET V many_power_of(const struct many *m, const struct tr_gcm_job *j, size_t n,
                                    int own_keys)
{
    if (!own_keys)
        return v_load_all(many_power(m, n));
    n = TR_GHASH_POWERS - n;
    const uint8_t *const from[QUAD] = {j[0].key->hash.power[n], j[1].key->hash.power[n],
                                       j[2].key->hash.power[n], j[3].key->hash.power[n]};
    return v_gather_pointers(from);
}

/* Hashes a block of AAD of each message, 1 to 16 bytes from offset `at` on. */
TR_INLINE TR_TARGET void many_aad_block(const struct many *m, const struct tr_gcm_job *j, size_t at,
                                        size_t bytes, V h, V down, struct folded *p)
{
    const V x =
        v_of_blocks(b_load_masked(j[0].aad + at, bytes), b_load_masked(j[1].aad + at, bytes),
                    b_load_masked(j[2].aad + at, bytes), b_load_masked(j[3].aad + at, bytes));
    multiply_add_folded(p, v_shuffle_bytes(x, m->byteswap), h, down);
}

/* Hashes the AAD of a quad. */
TR_INLINE TR_TARGET void many_aad(const struct many *m, const struct tr_gcm_job *j,
                                  struct folded *p, int own_keys)
{
    const size_t n = many_blocks(m->len) + 2, before = m->aad_before;
    for (size_t at = 0; __builtin_expect(at < before, 0); at += TR_BLOCK) {
        const V h = many_power_of(m, j, n + (before - at) / TR_BLOCK, own_keys);
        many_aad_block(m, j, at, TR_BLOCK, h, folded_power(h), p);
    }
    if (m->aad_len == 0)
        return;
    const V h = own_keys ? many_power_of(m, j, n, 1) : m->aad_power;
    many_aad_block(m, j, before, m->aad_len - before, h, own_keys ? folded_power(h) : m->aad_down,
                   p);
}

/* Computes the tags of a quad from the products of all blocks, and stores or checks them. */
TR_INLINE TR_TARGET void many_tags(struct many *m, struct tr_gcm_job *j, struct folded p, V mask,
                                   int decrypt)
{
    UNROLL
    for (unsigned i = 0; i < QUAD; i++)
        j[i].status = TR_OK;
    const V low = v_clmul_ll(p.middle, v_low_halves(0xc200000000000000)),
            hash = v_xor3(p.high, v_swap_halves(p.middle), low),
            tags = v_xor(v_shuffle_bytes(hash, m->byteswap), mask);
    if (!decrypt) {
        uint8_t *const to[QUAD] = {j[0].tag, j[1].tag, j[2].tag, j[3].tag};
        v_scatter_pointers(to, tags);
        return;
    }
    const uint8_t *const from[QUAD] = {j[0].tag, j[1].tag, j[2].tag, j[3].tag};
    unsigned wrong = TR_PUBLIC(v_unequal_halves(tags, v_gather_pointers(from)));
    m->forged |= wrong;
    for (unsigned i = 0; __builtin_expect(wrong != 0, 0) && i < QUAD; i++, wrong >>= 2)
        j[i].status = (wrong & 3) != 0 ? TR_ERR_TAG : TR_OK;
}

/* ---- One key ---- */

/* Processes `count` jobs, a multiple of QUAD. */
static NOT_INLINE TR_TARGET void V_NAME(gcm_many_quads)(struct many *m, struct tr_gcm_job *jobs,
                                                        size_t count)
{
    struct product p = m->lengths;
    V r[4];
    struct pending h = {.pairs = m->pairs};
    m->next = many_begin(m, jobs);
    UNROLL
    for (unsigned i = 0; i < 2 * QUAD; i++)
        h.c[i] = v_zero();
    for (size_t i = 0;; i += QUAD) {
        struct tr_gcm_job *j = jobs + i;
        V begun[QUAD], mask = m->next;
        UNROLL
        for (unsigned lane = 0; lane < QUAD; lane++)
            begun[lane] = v_lane_in_all(mask, (int)lane);
        if (m->vectors > 2)
            __builtin_memcpy(m->begun, begun, sizeof(begun));
        size_t v = 2 - m->vectors % 2;
        m->next = many_begin(m, i + QUAD < count ? j + QUAD : jobs);
        if (i == count) {
            mask = v_zero(); /* many_tags() may spill it */
            UNROLL
            for (unsigned third = 0; third < 3; third++)
                many_hash(m, h.pairs, third, h.c, r, &p);
            if (m->vectors != 1) {
                UNROLL
                for (unsigned third = 0; third < 3; third++)
                    many_hash(m, h.pairs + 1, third, h.c + QUAD, r, &p);
            }
        } else if (m->vectors == 1) {
            many_step(m, j, 0, 1, 1, begun, &mask, &h, &p);
        } else if (v == 1) {
            many_step(m, j, 0, 1, 2, begun, &mask, &h, &p);
        } else {
            many_step(m, j, 0, 2, 2, begun, &mask, &h, &p);
        }
        if (i != 0) {
            struct folded sum = fold_product(&p);
            many_aad(m, j - QUAD, &sum, 0);
            many_tags(m, j - QUAD, sum, m->mask, m->decrypt);
        }
        if (i == count)
            return;
        m->mask = mask;
        p = m->lengths;
        if (v == 1 && m->vectors != 1) {
            many_step(m, j, 1, 2, 1, m->begun, NULL, &h, &p);
            v = 3;
        }
        for (; v < m->vectors; v += 2)
            many_step(m, j, v, 2, 2, m->begun, NULL, &h, &p);
    }
}

/* Gathers the only block of each message, and stores it. */
TR_INLINE TR_TARGET V many_load_blocks(const struct tr_gcm_job *j, size_t len)
{
    if (len != TR_BLOCK)
        return v_of_blocks(b_load_masked(j[0].in, len), b_load_masked(j[1].in, len),
                           b_load_masked(j[2].in, len), b_load_masked(j[3].in, len));
    const uint8_t *const from[QUAD] = {j[0].in, j[1].in, j[2].in, j[3].in};
    return v_gather_pointers(from);
}

TR_INLINE TR_TARGET void many_store_blocks(const struct tr_gcm_job *j, V x, size_t len)
{
    uint8_t *const to[QUAD] = {j[0].out, j[1].out, j[2].out, j[3].out};
    if (len == TR_BLOCK) {
        v_scatter_pointers(to, x);
        return;
    }
    b_store_masked(to[0], v_block_0(x), len);
    b_store_masked(to[1], v_block_1(x), len);
    b_store_masked(to[2], v_block_2(x), len);
    b_store_masked(to[3], v_block_3(x), len);
}

/* Encrypts or decrypts the only block of each message of a quad, and returns the ciphertext. */
TR_INLINE TR_TARGET V many_block(const struct many *m, const struct tr_gcm_job *j, size_t len,
                                 V keystream, int decrypt)
{
    const V in = many_load_blocks(j, len), out = v_xor_and(in, keystream, m->in_block);
    many_store_blocks(j, out, len);
    return decrypt ? in : out;
}

/* Quads of a group of short messages: their eight vectors hide the latency of a round. */
#    define MANY_GROUP 4u

/* What messages of at most one block have in common. Not in struct many: after each store, the
 * compiler would load it again. */
struct blocks {
    V power, down;         /* of H for the data */
    struct folded lengths; /* the product of the length block and H */
    size_t len, aad_len;
};

/* Hashes AAD, data c and lengths of a quad, and computes its tags. */
TR_INLINE TR_TARGET void many_block_tags(struct many *m, const struct blocks *b,
                                         struct tr_gcm_job *j, V c, V mask, int decrypt)
{
    struct folded p = b->lengths;
    if (b->aad_len != 0)
        many_aad_block(m, j, 0, b->aad_len, m->aad_power, m->aad_down, &p);
    multiply_add_folded(&p, v_shuffle_bytes(c, m->byteswap), b->power, b->down);
    many_tags(m, j, p, mask, decrypt);
}

/* Processes the data of a group of `quads` quads. The blocks of a quad share a vector, and so do
 * its J0s. Unless it is the first group, computes the tags of the one before between the AES
 * rounds, a quad after every second round. */
TR_INLINE TR_TARGET void many_group(struct many *m, const struct blocks *b, struct tr_gcm_job *j,
                                    unsigned quads, int first, V *c, V *mask, int decrypt)
{
    const uint8_t(*key)[TR_BLOCK] = j->key->aes.enc;
    const V first_key = v_xor(v_load_all(*key++), v_last_bytes(1));
    V x[2 * MANY_GROUP];
    UNROLL
    for (unsigned q = 0; q < quads; q++) {
        x[2 * q] = v_xor(many_ivs(j + q * QUAD), first_key);
        x[2 * q + 1] = v_xor(x[2 * q], v_last_bytes(1 ^ 2));
    }
    for (unsigned more = m->rounds - 9; more != 0; more--)
        many_round(x, 2 * quads, v_load_all(*key++));
    UNROLL
    for (unsigned t = 0; t < 8; t++) {
        const unsigned q = t / 2;
        many_round(x, 2 * quads, v_load_all(key[t]));
        if (!first && t % 2 != 0 && q < quads)
            many_block_tags(m, b, j - (quads - q) * QUAD, c[q], mask[q], decrypt);
    }
    UNROLL
    for (unsigned q = 0; q < quads; q++) {
        mask[q] = v_aesenclast(x[2 * q], v_load_all(key[8]));
        c[q] = many_block(m, j + q * QUAD, b->len, v_aesenclast(x[2 * q + 1], v_load_all(key[8])),
                          decrypt);
    }
}

/* Processes messages of at most one block of data and AAD; `count` is a multiple of a group. */
TR_INLINE TR_TARGET void many_groups(struct many *m, struct tr_gcm_job *jobs, size_t count,
                                     unsigned quads, int decrypt)
{
    const V h = v_load_all(many_power(m, 2));
    const struct blocks b = {h, folded_power(h), fold_product(&m->lengths), m->len, m->aad_len};
    const size_t step = (size_t)quads * QUAD;
    struct tr_gcm_job *j = jobs, *const end = jobs + count;
    V c[MANY_GROUP], mask[MANY_GROUP];
    many_group(m, &b, j, quads, 1, c, mask, decrypt);
    while ((j += step) != end)
        many_group(m, &b, j, quads, 0, c, mask, decrypt);
    UNROLL
    for (unsigned q = 0; q < quads; q++)
        many_block_tags(m, &b, j - (quads - q) * QUAD, c[q], mask[q], decrypt);
}

#    define MANY_BLOCKS(name, decrypt)                                                             \
        static NOT_INLINE TR_TARGET void V_NAME(name)(struct many * m, struct tr_gcm_job * jobs,   \
                                                      size_t count)                                \
        {                                                                                          \
            const size_t groups = count - count % (MANY_GROUP * QUAD);                             \
            if (groups != 0)                                                                       \
                many_groups(m, jobs, groups, MANY_GROUP, decrypt);                                 \
            if (groups != count)                                                                   \
                many_groups(m, jobs + groups, count - groups, 1, decrypt);                         \
        }
MANY_BLOCKS(gcm_many_seal_blocks, 0)
MANY_BLOCKS(gcm_many_open_blocks, 1)
#    undef MANY_BLOCKS
#endif

#endif
