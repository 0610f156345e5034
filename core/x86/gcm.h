/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM, SP 800-38D section 7, for one width of vector: counter mode as in parallel.h, and in the same
 * instruction stream the hash of the ciphertext as in ghash.h. Between two rounds of a group of vectors
 * one vector is hashed: of the same group when decrypting; of the one before when encrypting, because
 * this one's ciphertext is not there yet.
 *
 * The last vectors of a run, and all of a short message, are done without groups: AAD, data and lengths make one sum, which is
 * reduced once, and the block that masks the tag is encrypted beside the data. Nothing of it goes through a
 * buffer on the stack.
 *
 * Bound of a short message: latency, of ten to fourteen rounds of AES, one multiplication and the reduction; on Zen 4 about
 * 115 cycles for AES-128, all told. Calls that follow each other overlap as far as the processor looks ahead, 320 instructions,
 * of which a call of 16 bytes takes 170: so the number of instructions counts, scalar ones too (20 more cost 3 cycles), and what
 * waits for AES is kept short. Cycles a call, one after the other (Zen 4, AES-128, ZMM): 57 for 16 bytes, 71 for 64, 109 for 256,
 * 175 for 512, 400 for 1024; opened 50, 60, 105 and 172 up to 512. Groups are bound as ghash.h says.
 * A new key and a message of 16 bytes take 190 cycles, of 64 bytes 240, of 256 bytes 380; the powers of H that a longer one needs
 * are loaded across the vectors that they were stored in, and wait for these.
 * Without effect: no VZEROUPPER; the nonce by broadcasts from memory instead of two loads and an insertion; AAD and lengths
 * hashed by themselves beside AES in a message of one or two blocks: shorter to wait for, but more instructions.
 * From 1024 bytes on most is throughput of the four pipes, all operations counted.
 * What costs more than it seems: a wide load of what was stored by narrower stores (the call waits until all before it
 * has retired), structures passed by value for that reason, and operations that wait for AES while they keep independent
 * ones out of the schedulers (128 places), so that the hash of a group by itself belongs behind the rounds of the next.
 */

#include "../part.h"

#define STEADY (IN_FLIGHT - 2u) /* vectors: 2 VBLOCKS + STEADY VBLOCKS - 1 < GROUP */

struct gcm {
    struct run run;
    const struct tr_ghash *ghash;
    struct product product;
    V y; /* the hash, in the first place */
};

/*
 * A group's counters are c, c + 1, .. If none of those of vector j carries into the bits that count
 * groups, vector j differs from vector 0 by the same bits in every group, since c advances by whole
 * groups: one xor makes it, instead of an addition, a shuffle and an xor. A message with an IV of 96
 * bits begins at c = 2, so for it this holds for all but the last vectors. The differences are taken
 * from the first group.
 */
TR_INLINE TR_TARGET int steady_counters(const struct gcm *g, uint32_t count, V delta[STEADY])
{
    if (count % GROUP > 2 * VBLOCKS)
        return 0;
    for (unsigned j = 0; j < STEADY; j++)
        delta[j] = v_xor(v_reverse(g->run.chain), v_reverse(v_add32(g->run.chain, j * VBLOCKS)));
    return 1;
}

TR_INLINE TR_TARGET void gcm_hash(struct gcm *g, unsigned j, const uint8_t *data)
{
    V x = v_reverse(v_load(data + (size_t)j * VBYTES));
    if (j == 0)
        x = v_xor(x, g->y);
    multiply_add(&g->product, x, v_load(g->ghash->power[TR_GHASH_POWERS - GROUP + j * VBLOCKS]));
    /* Added up now, two vectors at a time: gcc would keep the products for a sum in another order, and
     * have no registers left. */
    if (j % 2 == 1)
        __asm__(""
                : "+" V_REGISTER(g->product.low), "+" V_REGISTER(g->product.middle),
                  "+" V_REGISTER(g->product.high));
}

TR_INLINE TR_TARGET void gcm_reduce(struct gcm *g)
{
    g->y = v_first(v_sum(reduce(&g->product)));
    g->product = no_product();
}

/* A full group. hashed: the full group to hash, or NULL. steady: see steady_counters(), or NULL. */
TR_INLINE TR_TARGET void gcm_group(struct gcm *g, const uint8_t *hashed, const V *steady)
{
    struct run *r = &g->run;
    V x[IN_FLIGHT], k = first_key(r->keys), chain = r->chain;
    r->chain = v_add32(chain, GROUP);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        if (steady != NULL && j > 0 && j < STEADY)
            x[j] = v_xor(x[0], steady[j]);
        else
            x[j] = v_xor(k, v_reverse(v_add32(chain, j * VBLOCKS)));
    }
    const uint8_t *key = r->keys + TR_BLOCK, *last = r->keys + (size_t)r->rounds * TR_BLOCK;
    if (hashed != NULL) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++, key += TR_BLOCK) {
            middle_round(x, IN_FLIGHT, 0, key);
            gcm_hash(g, j, hashed);
        }
        gcm_reduce(g);
    }
    for (; key != last; key += TR_BLOCK)
        middle_round(x, IN_FLIGHT, 0, key);
    last_substitution(x, IN_FLIGHT, 0, last);
    k = v_all(last);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_aesenclast(x[j], v_xor(k, v_load(r->in + (size_t)j * VBYTES)));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* Full groups; when encrypting, the hash of the last one is left to the caller. */
TR_INLINE TR_TARGET void gcm_groups(struct gcm *g, size_t len, int decrypt, const V *steady)
{
    const uint8_t *pending = NULL;
    for (; len != 0; len -= (size_t)GROUP * TR_BLOCK) {
        const uint8_t *hashed = decrypt ? g->run.in : pending;
        pending = g->run.out;
        gcm_group(g, hashed, steady);
    }
}

/* The hash of a full group by itself. */
TR_INLINE TR_TARGET void gcm_hash_group(struct gcm *g, const uint8_t *data)
{
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        gcm_hash(g, j, data);
    gcm_reduce(g);
}

/* ---- The rest, and short messages ---- */

#define HALF (IN_FLIGHT / 2u)
#define MOST ((size_t)HALF * VBYTES) /* bytes */
_Static_assert(2 * MOST == (size_t)GROUP * TR_BLOCK,
               "what is left of groups is done in two halves");
#if defined(V_MASKED) && !defined(__i386__)
#    define WHOLE IN_FLIGHT /* vectors of a whole message in one sum */
#else
#    define WHOLE HALF
#endif
_Static_assert(HALF <= (sizeof(void *) == 8 ? 4 : 2), "there is a case for each number of vectors");
_Static_assert(WHOLE *VBLOCKS + 2 <= TR_GHASH_POWERS,
               "and a power for each block, lengths and hash");

#ifndef V_MASKED
static const uint8_t bytes_mask[2 * VBYTES] = {
#    define ONES_8  255, 255, 255, 255, 255, 255, 255, 255
#    define ONES_16 ONES_8, ONES_8
    ONES_16
#    if VBLOCKS == 2
    ,
    ONES_16
#    endif
};

TR_INLINE TR_TARGET B b_load_bytes(const uint8_t *p, size_t n)
{
    struct part x = part_load(p, n);
    return b_of(x.low, x.high);
}

TR_INLINE TR_TARGET void b_store_bytes(uint8_t *p, B x, size_t n)
{
    uint8_t block[TR_BLOCK];
    b_store(block, x);
    part_store(p, part_load_block(block), n);
    b_store(block, b_zero());
    __asm__ volatile("" : : "r"(block) : "memory");
}

/* 1 to VBYTES - 1 bytes: those of a vector, with zeros behind them. */
TR_INLINE TR_TARGET V v_load_bytes(const uint8_t *p, size_t n)
{
#    if VBLOCKS == 2
    if (n >= TR_BLOCK) {
        B first = b_load(p);
        return n == TR_BLOCK ? v_first(first)
                             : v_pair(first, b_load_bytes(p + TR_BLOCK, n - TR_BLOCK));
    }
#    endif
    return v_first(b_load_bytes(p, n));
}

TR_INLINE TR_TARGET void v_store_bytes(uint8_t *p, V x, size_t n)
{
#    if VBLOCKS == 2
    if (n >= TR_BLOCK) {
        b_store(p, v_block_0(x));
        if (n != TR_BLOCK)
            b_store_bytes(p + TR_BLOCK, v_block_1(x), n - TR_BLOCK);
        return;
    }
#    endif
    b_store_bytes(p, v_block_0(x), n);
}

TR_INLINE TR_TARGET V v_first_bytes(V x, size_t n)
{
    return v_and(x, v_load(bytes_mask + VBYTES - n));
}
#endif

/* The powers of H from the n-th down, for as many blocks. */
TR_INLINE TR_TARGET V powers(const struct gcm *g, size_t n, unsigned blocks)
{
    const uint8_t *p = g->ghash->power[TR_GHASH_POWERS - n];
    return blocks == VBLOCKS ? v_load(p) : v_load_part(p, blocks);
}

/*
 * Before the last round of u vectors, at most HALF, of which the last has but so many bytes, 1 to VBYTES: the data. k: the last
 * round key; c: the ciphertext, zeros behind it. All is read before anything is written.
 */
TR_INLINE TR_TARGET void gcm_few_data(struct run *r, unsigned u, size_t last, V x[IN_FLIGHT], V k,
                                      V *c, int decrypt)
{
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        const uint8_t *at = r->in + (size_t)j * VBYTES;
        V in = j == u - 1 && last != VBYTES ? v_load_bytes(at, last) : v_load(at);
        x[j] = v_aesenclast(x[j], v_xor(k, in));
        c[j] = decrypt ? in : x[j];
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        uint8_t *at = r->out + (size_t)j * VBYTES;
        if (j == u - 1 && last != VBYTES) {
            v_store_bytes(at, x[j], last);
            if (!decrypt)
                c[j] = v_first_bytes(x[j], last);
        } else {
            v_store(at, x[j]);
        }
    }
    r->in += (size_t)u * VBYTES;
    r->out += (size_t)u * VBYTES;
}

/* All of counter mode for them. */
TR_INLINE TR_TARGET void gcm_few(struct gcm *g, unsigned u, size_t last, V c[HALF], int decrypt)
{
    struct run *r = &g->run;
    /* Keys anew: gcc would take those that the mask had, and spread them over the vectors by shuffles. */
    __asm__("" : "+r"(r->keys));
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(k, v_reverse(v_add32(r->chain, j * VBLOCKS)));
    r->chain = v_add32(r->chain, u * VBLOCKS);
    k = middle_rounds(x, u, 0, r);
    gcm_few_data(r, u, last, x, k, c, decrypt);
}

/* The ciphertext of u vectors, of which the last has so many bytes, times the powers from H^n down. */
TR_INLINE TR_TARGET void gcm_hash_few(struct gcm *g, unsigned u, size_t last, const V *c, size_t n)
{
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        unsigned blocks = j == u - 1 ? (unsigned)(last + TR_BLOCK - 1) / TR_BLOCK : VBLOCKS;
        multiply_add(&g->product, v_reverse(c[j]), powers(g, n - j * VBLOCKS, blocks));
    }
    gcm_reduce(g);
}

/* The hash of HALF vectors by itself. */
TR_INLINE TR_TARGET void gcm_hash_half(struct gcm *g, const uint8_t *data)
{
    UNROLL
    for (unsigned j = 0; j < HALF; j++) {
        V x = v_reverse(v_load(data + (size_t)j * VBYTES));
        multiply_add(&g->product, j == 0 ? v_xor(x, g->y) : x,
                     powers(g, (HALF - j) * VBLOCKS, VBLOCKS));
    }
    gcm_reduce(g);
}

/* Adds the products of a and H^n, and of b and H. */
TR_INLINE TR_TARGET void multiply_two(struct gcm *g, B a, size_t n, B b)
{
    const uint8_t *power = g->ghash->power[TR_GHASH_POWERS - n],
                  *h = g->ghash->power[TR_GHASH_POWERS - 1];
#if VBLOCKS > 1
    multiply_add(&g->product, v_pair(a, b), v_pair(b_load(power), b_load(h)));
#else
    multiply_add(&g->product, a, v_load(power));
    multiply_add(&g->product, b, v_load(h));
#endif
}

/* Around the last vectors of a run. */
struct gcm_end {
    int whole;            /* the message ends here, with lengths */
    int is_secret;        /* the counter: see gcm_front() */
    unsigned begun;       /* the hash has had its block added, but not been multiplied since */
    const uint8_t *group; /* a full group to be hashed before, or NULL */
    const uint8_t *half;  /* HALF vectors to be hashed before, or NULL */
    B lengths;
};

/*
 * The last vectors of a run, at most HALF, in one sum: the hash so far, their blocks, and at the end of a message the
 * block of lengths. What is to be hashed before comes behind AES in the order of instructions: it waits for AES itself,
 * and whatever waits fills the schedulers.
 */
TR_INLINE TR_TARGET void gcm_last(struct gcm *g, unsigned u, size_t len, const struct gcm_end *end,
                                  int decrypt)
{
    V c[HALF];
    size_t last = u == 0 ? 0 : len - (size_t)(u - 1) * VBYTES;
    size_t n = (len + TR_BLOCK - 1) / TR_BLOCK + (end->whole ? 1 : 0);
    if (u != 0)
        gcm_few(g, u, last, c, decrypt);
    if (!decrypt && end->group != NULL)
        gcm_hash_group(g, end->group);
    if (!decrypt && end->half != NULL)
        gcm_hash_half(g, end->half);
    if (end->whole)
        multiply_two(g, v_block_0(g->y), n + end->begun, end->lengths);
    else
        multiply_add(&g->product, g->y,
                     v_first(b_load(g->ghash->power[TR_GHASH_POWERS - (n + end->begun)])));
    gcm_hash_few(g, u, last, c, n);
}

TR_INLINE TR_TARGET uint64_t count_up(uint64_t low, size_t blocks)
{
    return (low & 0xffffffff00000000) | (uint32_t)(low + blocks);
}

TR_INLINE TR_TARGET struct gcm gcm_start(struct run run, const struct tr_ghash *ghash, B y,
                                         uint64_t low, uint64_t high)
{
    run.chain = v_counters32(low, high);
    return (struct gcm){.run = run, .ghash = ghash, .product = no_product(), .y = v_first(y)};
}

/* The hash times H. */
static __attribute__((__noinline__)) TR_TARGET B times_h(const struct tr_ghash *ghash, B y)
{
    return v_block_0(multiply(v_first(y), v_first(b_load(ghash->power[TR_GHASH_POWERS - 1]))));
}

/* What gcm_front() takes; not a structure, because a copy of one would wait for the stores of its parts. */
#define FRONT_PARAMETERS                                                                           \
    const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, size_t len,                     \
        const struct tr_ghash *ghash, uint64_t low, uint64_t high, B y, int is_secret

/* All but the end of a run: full groups. is_secret: the counter is, so that nothing may be decided by it. Returns the hash, without the last group where pending_group() has it. */
TR_INLINE TR_TARGET B gcm_front(FRONT_PARAMETERS, int decrypt)
{
    struct run r = start(key, key->enc, out, in);
#ifdef LONG_FROM /* gcm_long.h */
    if (!is_secret && is_long(low, len / TR_BLOCK))
        return gcm_long(r, len / TR_BLOCK, low, high, ghash, y, decrypt);
#endif
    struct gcm g = gcm_start(r, ghash, y, low, high);
    V delta[STEADY];
    if (!is_secret && steady_counters(&g, (uint32_t)low, delta))
        gcm_groups(&g, len, decrypt, delta);
    else
        gcm_groups(&g, len, decrypt, NULL);
    return v_block_0(g.y);
}

static __attribute__((__noinline__)) TR_TARGET B gcm_front_encrypt(FRONT_PARAMETERS)
{
    return gcm_front(key, out, in, len, ghash, low, high, y, is_secret, 0);
}

static __attribute__((__noinline__)) TR_TARGET B gcm_front_decrypt(FRONT_PARAMETERS)
{
    return gcm_front(key, out, in, len, ghash, low, high, y, is_secret, 1);
}

/* Where the hash of the last group is left over by gcm_front_encrypt(). */
TR_INLINE TR_TARGET const uint8_t *pending_group(const uint8_t *out, size_t len, uint64_t low,
                                                 int is_secret)
{
#ifdef LONG_FROM
    if (!is_secret && is_long(low, len / TR_BLOCK))
        return NULL;
#endif
    (void)low;
    (void)is_secret;
    return out + len - (size_t)GROUP * TR_BLOCK;
}

/* A run: len bytes, a multiple of 16 in the middle of a message, with the counters low and up. Returns the hash.
 * is_short: there are at most MOST of them. */
TR_INLINE TR_TARGET B gcm_run(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                              size_t len, const struct tr_ghash *ghash, uint64_t low, uint64_t high,
                              B y, struct gcm_end end, int decrypt, int is_short)
{
    end.group = end.half = NULL;
    if (!is_short && len > MOST && end.begun) {
        y = times_h(ghash, y);
        end.begun = 0;
    }
    if (!is_short && len > 2 * MOST) {
        /* At the end of a message the lengths are left at least. */
        size_t front = (end.whole ? len : len - 1) / (GROUP * TR_BLOCK) * (GROUP * TR_BLOCK);
        y = (decrypt ? gcm_front_decrypt : gcm_front_encrypt)(key, out, in, front, ghash, low, high,
                                                              y, end.is_secret);
        end.group = decrypt ? NULL : pending_group(out, front, low, end.is_secret);
        low = count_up(low, front / TR_BLOCK);
        in += front;
        out += front;
        len -= front;
    }
    struct gcm g = gcm_start(start(key, key->enc, out, in), ghash, y, low, high);
    if (!is_short && len > MOST) {
        V c[HALF];
        if (decrypt)
            gcm_hash_half(&g, in);
        else
            end.half = out;
        gcm_few(&g, HALF, VBYTES, c, decrypt);
        len -= MOST;
    }
    switch ((len + VBYTES - 1) / VBYTES) {
    case 0:
        gcm_last(&g, 0, len, &end, decrypt);
        break;
    case 1:
        gcm_last(&g, 1, len, &end, decrypt);
        break;
#if !defined(__i386__)
    case 2:
        gcm_last(&g, 2, len, &end, decrypt);
        break;
    case 3:
        gcm_last(&g, 3, len, &end, decrypt);
        break;
#endif
    default:
        gcm_last(&g, HALF, len, &end, decrypt);
    }
    return v_block_0(g.y);
}

/* A block of counter mode by itself, as the one that masks the tag: nothing waits for it but the end. */
TR_INLINE TR_TARGET B gcm_block(const struct tr_aes_key *key, uint64_t low, uint64_t high)
{
    B x = b_reverse(b_of(low, high));
#if KEY_FIRST
    V all[IN_FLIGHT] = {v_first(x)};
    struct run r = start(key, key->enc, NULL, NULL);
    V last = middle_rounds(all, 1, 0, &r);
    return v_block_0(v_aesenclast(all[0], last));
#else
    x = b_xor(x, b_load(key->enc[0]));
    const uint8_t(*k)[TR_BLOCK] = key->enc + 1;
    for (unsigned n = 10; n < 14; n += 2) {
        if (key->rounds > n) {
            x = b_aesenc(b_aesenc(x, b_load(k[0])), b_load(k[1]));
            k += 2;
        }
    }
    UNROLL
    for (unsigned i = 0; i < 9; i++)
        x = b_aesenc(x, b_load(k[i]));
    return b_aesenclast(x, b_load(k[9]));
#endif
}

/* Whole blocks in the middle of a message. */
TR_INLINE TR_TARGET void gcm(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_gcm_run *state, int decrypt)
{
    uint64_t high = tr_load64_be(state->counter), low = tr_load64_be(state->counter + 8);
    uint64_t next = count_up(low, blocks);
    need_powers(&state->ghash, blocks + 1);
    if (state->mask_due)
        b_store(state->mask, gcm_block(key, count_up(low, (size_t)-1), high));
    if (state->keystream_due)
        b_store(state->keystream, gcm_block(key, next, high));
    state->mask_due = 0;
    tr_store64_be(state->counter + 8, next);
    struct gcm_end end = {.begun = state->used != 0, .is_secret = state->counter_is_secret};
    state->used = 0;
    B y = polynomial(state->ghash.hash);
    size_t len = blocks * TR_BLOCK;
    if (len <= MOST)
        y = gcm_run(key, out, in, len, &state->ghash, low, high, y, end, decrypt, 1);
    else
        y = gcm_run(key, out, in, len, &state->ghash, low, high, y, end, decrypt, 0);
    store_polynomial(state->ghash.hash, y);
}

static TR_TARGET void gcm_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    gcm(key, out, in, blocks, state, 0);
}

static TR_TARGET void gcm_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    gcm(key, out, in, blocks, state, 1);
}

/* ---- Whole messages ---- */

TR_INLINE TR_TARGET uint32_t load32_be(const uint8_t *p)
{
    uint32_t v;
    __builtin_memcpy(&v, p, 4);
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? v : __builtin_bswap32(v);
}

/* Of long AAD all but the last block, which may be a part of one. */
static __attribute__((__noinline__)) TR_TARGET B gcm_long_aad(struct tr_ghash *ghash,
                                                              const uint8_t *aad, size_t blocks)
{
    need_powers(ghash, blocks);
    return hash_all(ghash, b_zero(), aad, blocks, 0);
}

TR_INLINE TR_TARGET void message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                 struct tr_gcm_message *m, int is_long, int decrypt)
{
    /* By words: a wide load waits for narrow stores, and a nonce is often put together by such. */
    uint64_t high = (uint64_t)load32_be(m->iv) << 32 | load32_be(m->iv + 4);
    uint64_t low = (uint64_t)load32_be(m->iv + 8) << 32;
    size_t aad_len = (size_t)m->aad_len, len = (size_t)m->len;
    struct gcm_end end = {
        .whole = 1, .begun = 1, .lengths = b_of((uint64_t)len * 8, (uint64_t)aad_len * 8)};
    /* Made now: gcc would keep the halves in memory and load both at once, which has to wait for the stores. */
    __asm__("" : "+" V_REGISTER(end.lengths));
    struct tr_ghash *ghash = m->ghash;
    const uint8_t *aad = m->aad;
    B mask = gcm_block(key, low | 1, high), y = b_zero();
    low |= 2;
    if (is_long && aad_len > TR_BLOCK) {
        size_t blocks = (aad_len - 1) / TR_BLOCK;
        y = gcm_long_aad(ghash, aad, blocks);
        aad += blocks * TR_BLOCK;
        aad_len -= blocks * TR_BLOCK;
    }
    struct part a = part_load(aad, aad_len);
    y = b_xor(y, b_reverse(b_of(a.low, a.high)));
    y = gcm_run(key, out, in, len, ghash, low, high, y, end, decrypt, !is_long);
    b_store(m->tag, b_xor(mask, b_reverse(y)));
}

#ifdef V_MASKED
/* The block of lengths, in bits: in two loads, since the fields have just been stored. */
TR_INLINE TR_TARGET B gcm_lengths(const struct tr_gcm_message *m)
{
    return b_shift_left(b_load_halves((const uint8_t *)&m->len), 3);
}

#    define TINY (2u * TR_BLOCK)

/*
 * One or two blocks of data in one vector with all else. In its places are data, data, lengths and the tag's mask, which
 * gives its place to AAD once it is encrypted. Calls overlap as far as the processor looks ahead, so both the latency
 * and the number of instructions count, and whatever does not wait for AES is best done beside it: with H x^-64, one of
 * the two steps of the reduction is done in the key, before the product instead of after.
 */
TR_INLINE TR_TARGET void tiny_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                      const struct tr_gcm_message *m, size_t len, int decrypt)
{
    const V poly = v_low_halves(0xc200000000000000);
    struct run r = start(key, key->enc, NULL, NULL);
    V x[IN_FLIGHT];
    x[0] = v_xor3(v_everywhere(b_load_12(m->iv)), v_tiny_counts(), first_key(r.keys));
    V around = v_last_two(b_reverse(gcm_lengths(m)), b_load_bytes(m->aad, (size_t)m->aad_len));
    V h = v_tiny_powers(m->ghash->power[TR_GHASH_POWERS - 4], len > TR_BLOCK);
    V h_down = v_xor(v_swap_halves(h), v_clmul_ll(h, poly));
    V data = v_load_bytes(in, len);
    V k = middle_rounds(x, 1, 0, &r);
    x[0] = v_aesenclast(x[0], v_xor(k, data));
    v_store_bytes(out, x[0], len);
    V c = v_reverse(decrypt ? v_xor(data, around) : v_bytes_over(around, x[0], len));
    V middle = v_xor(v_clmul_ll(c, h_down), v_clmul_hl(c, h));
    V y = v_xor3(v_clmul_lh(c, h_down), v_clmul_hh(c, h), v_swap_halves(middle));
    y = v_xor(y, v_clmul_ll(middle, poly));
    b_store(m->tag, b_xor(v_block_3(x[0]), b_reverse(v_sum(y))));
}

TR_INLINE int is_tiny(size_t blocks, const struct tr_gcm_message *m)
{
    return blocks - 1 < TINY / TR_BLOCK && m->aad_len <= TR_BLOCK;
}

static __attribute__((__noinline__)) TR_TARGET void
tiny_seal(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    if (m->len == TR_BLOCK)
        tiny_message(key, out, in, m, TR_BLOCK, 0);
    else
        tiny_message(key, out, in, m, (size_t)m->len, 0);
}

static __attribute__((__noinline__)) TR_TARGET void
tiny_open(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    if (m->len == TR_BLOCK)
        tiny_message(key, out, in, m, TR_BLOCK, 1);
    else
        tiny_message(key, out, in, m, (size_t)m->len, 1);
}
#endif

#ifdef V_MASKED
/* A round of u vectors, and of the block that masks the tag. */
TR_INLINE TR_TARGET void round_and_mask(V x[IN_FLIGHT], unsigned u, B *mask, const uint8_t *key)
{
    V k = v_all(key);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_aesenc(x[j], k);
    *mask = b_aesenc(*mask, v_block_0(k));
}

/*
 * u vectors, at most WHOLE, with AAD of at most a block. The counters of so few blocks differ in the last byte alone, so they
 * need not be turned round. AAD and lengths are hashed before AES in the order of instructions, since they do not
 * wait for it.
 */
TR_INLINE TR_TARGET void few_message(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                     const struct tr_gcm_message *m, unsigned u, int decrypt)
{
    size_t len = (size_t)m->len, n = (len + TR_BLOCK - 1) / TR_BLOCK + 1,
           last = u == 0 ? 0 : len - (size_t)(u - 1) * VBYTES;
    struct gcm g = {
        .run = start(key, key->enc, out, in), .ghash = m->ghash, .product = no_product()};
    B iv = b_load_12(m->iv), mask = b_xor(b_xor(iv, b_load(g.run.keys)), v_block_0(v_last_byte(1)));
    V x[IN_FLIGHT], c[WHOLE], k = v_all(g.run.keys);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor3(v_everywhere(iv), k, v_last_bytes_from(2 + j * VBLOCKS));
    multiply_two(&g, b_reverse(b_load_bytes(m->aad, (size_t)m->aad_len)), n + 1, gcm_lengths(m));
    const uint8_t *at = g.run.keys + TR_BLOCK;
    for (unsigned rounds = 10; rounds < 14; rounds += 2) {
        if (key->rounds > rounds) {
            round_and_mask(x, u, &mask, at);
            round_and_mask(x, u, &mask, at + TR_BLOCK);
            at += 2 * TR_BLOCK;
        }
    }
    UNROLL
    for (unsigned i = 0; i < 9; i++)
        round_and_mask(x, u, &mask, at + (size_t)i * TR_BLOCK);
    k = v_all(at + 9 * TR_BLOCK);
    mask = b_aesenclast(mask, v_block_0(k));
    gcm_few_data(&g.run, u, last, x, k, c, decrypt);
    gcm_hash_few(&g, u, last, c, n);
    b_store(m->tag, b_xor(mask, b_reverse(v_block_0(g.y))));
}

TR_INLINE TR_TARGET void short_message(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, struct tr_gcm_message *m, int decrypt)
{
    switch (((size_t)m->len + VBYTES - 1) / VBYTES) {
    case 0:
        few_message(key, out, in, m, 0, decrypt);
        break;
    case 1:
        few_message(key, out, in, m, 1, decrypt);
        break;
#    if !defined(__i386__)
    case 2:
        few_message(key, out, in, m, 2, decrypt);
        break;
    case 3:
        few_message(key, out, in, m, 3, decrypt);
        break;
    case 4:
        few_message(key, out, in, m, 4, decrypt);
        break;
    case 5:
        few_message(key, out, in, m, 5, decrypt);
        break;
    case 6:
        few_message(key, out, in, m, 6, decrypt);
        break;
    case 7:
        few_message(key, out, in, m, 7, decrypt);
        break;
#    endif
    default:
        few_message(key, out, in, m, WHOLE, decrypt);
    }
}
#else
TR_INLINE TR_TARGET void short_message(const struct tr_aes_key *key, uint8_t *out,
                                       const uint8_t *in, struct tr_gcm_message *m, int decrypt)
{
    message(key, out, in, m, 0, decrypt);
}
#endif

static __attribute__((__noinline__)) TR_TARGET void
short_seal(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    need_powers(m->ghash, (size_t)(m->len / TR_BLOCK) + 3);
    short_message(key, out, in, m, 0);
}

static __attribute__((__noinline__)) TR_TARGET void
short_open(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    need_powers(m->ghash, (size_t)(m->len / TR_BLOCK) + 3);
    short_message(key, out, in, m, 1);
}

static __attribute__((__noinline__)) TR_TARGET void
long_seal(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    need_powers(m->ghash, (size_t)(m->len / TR_BLOCK) + 3);
    message(key, out, in, m, 1, 0);
}

static __attribute__((__noinline__)) TR_TARGET void
long_open(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in, struct tr_gcm_message *m)
{
    need_powers(m->ghash, (size_t)(m->len / TR_BLOCK) + 3);
    message(key, out, in, m, 1, 1);
}

static TR_TARGET void gcm_seal(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                               size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#ifdef TINY
    if (is_tiny(blocks, m)) {
        tiny_seal(key, out, in, m);
        return;
    }
#endif
    if (blocks <= WHOLE * VBLOCKS && m->aad_len <= TR_BLOCK)
        short_seal(key, out, in, m);
    else
        long_seal(key, out, in, m);
}

static TR_TARGET void gcm_open(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                               size_t blocks, void *state)
{
    struct tr_gcm_message *m = state;
#ifdef TINY
    if (is_tiny(blocks, m)) {
        tiny_open(key, out, in, m);
        return;
    }
#endif
    if (blocks <= WHOLE * VBLOCKS && m->aad_len <= TR_BLOCK)
        short_open(key, out, in, m);
    else
        long_open(key, out, in, m);
}

#if !KEY_FIRST
static TR_TARGET void gcm_key(struct tr_aes_key *key, struct tr_ghash *ghash, const uint8_t *raw)
{
    tr_aesni_hash_key(key, raw, ghash->h);
    ghash_key(ghash);
}
#endif

/* The block of lengths is in, the tag goes to out. */
static TR_TARGET void gcm_tag(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                              size_t blocks, void *state)
{
    struct tr_gcm_run *run = state;
    struct gcm g = {.ghash = &run->ghash, .product = no_product()};
    unsigned begun = run->used != 0;
    (void)blocks;
    B mask;
    if (run->mask_due) {
        uint64_t high = tr_load64_be(run->counter), low = tr_load64_be(run->counter + 8);
        mask = gcm_block(key, count_up(low, (size_t)-1), high);
    } else {
        mask = b_load(run->mask);
    }
    multiply_two(&g, polynomial(run->ghash.hash), 1 + begun, polynomial(in));
    gcm_reduce(&g);
    b_store(out, b_xor(mask, b_reverse(v_block_0(g.y))));
}

#define TR_GCM_OPS                                                                                 \
    [TR_OP_GHASH] = ghash, [TR_OP_GCM_ENCRYPT] = gcm_encrypt, [TR_OP_GCM_DECRYPT] = gcm_decrypt,   \
    [TR_OP_GCM_SEAL] = gcm_seal, [TR_OP_GCM_OPEN] = gcm_open, [TR_OP_GCM_TAG] = gcm_tag
