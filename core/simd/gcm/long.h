/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM for long calls. The results equal those of gcm/stream.h. This code precomputes more, and
 * needs fewer operations per vector.
 *
 * The bound is the number of operations. On Zen 4, AES and carry-less multiplications share two of
 * the four vector ports. One such operation on 64 bytes takes both ports for a cycle. XORs,
 * shuffles and broadcasts can use the other two ports. But 4 in 10 of these operations take an AES
 * issue slot, because Zen 4 assigns ports when operations enter the schedulers. So this code does
 * fewer operations of all kinds:
 *
 * - AES: a table of states replaces the counter and the first two rounds by one XOR. Within 256
 *   blocks, only the counter's last byte changes. The state after round 2 is F(last byte) ^ G(other
 *   bytes). The table holds the states of the first 256 blocks. In each later period of 256 blocks,
 *   all states differ from the table by the same value. This method is FACE (Park and Lee, CHES
 *   2018); ctr_states.h explains it.
 * - Hash: a vector takes three multiplications (Karatsuba). Two vectors also need two byte swaps,
 *   two shuffles and an XOR. Each lane accumulates its own hash, with the same powers of H in all
 *   lanes. In the last group, each lane uses a different power, so that the XOR of all lanes is the
 *   hash.
 * - Round keys: they are stored as whole vectors, because a broadcast load takes a vector port and
 *   a plain load does not.
 *
 * For 64 bytes, AES-128 needs 8 AES operations (AES-256: 12), 3 multiplications and 6.5 other
 * operations. With gcm/stream.h, AES-128 needs 10 AES operations, 4 multiplications and 10 other
 * operations. Within a long message, AES-128 takes 13.0 cycles for 64 bytes on ZMM. The bound is
 * 12.3 cycles: AES and multiplications alone take 11.3 cycles, and a vector's share of its group's
 * reduction takes 1.0. Messages of 16 KiB reach 69 % of the AES rate with AES-128, and 78 % with
 * AES-256 (Zen 4; docs/tuning/gcm.md).
 *
 * The order of instructions also matters. If the eight vectors of a group run in lockstep, it
 * begins with loads and XORs alone, and ends with last rounds and stores alone. The reorder window
 * is shorter than a group, so the processor cannot mix these phases. With AES-128 on ZMM, the
 * vectors of a group are therefore one round apart (staggered_groups()). In lockstep, 16 KiB and 64
 * KiB take 1.02 and 1.03 times as long on Zen 4, 1.06 and 1.08 times on Emerald Rapids.
 */
#ifndef TR_SIMD_GCM_LONG_H
#define TR_SIMD_GCM_LONG_H

#include "dispatch/env.h"
#include "simd/cleanse.h"
#include "simd/gcm/ghash.h"
#include "simd/rounds.h"

/* Whether gcm_long(), which needs 6 KiB of stack, is compiled. */
#if V_LONG_GCM && TR_ENV_STACK >= 16384
#    define GCM_LONG 1
#else
#    define GCM_LONG 0
#endif

#if GCM_LONG
#    define GCM_PAIRS           (IN_FLIGHT / 2)
#    define GCM_PERIOD          256u /* the number of blocks whose states the table stores */
#    define GCM_MAX_ROUNDS      14u
/* gcm_long() needs a call's first counter, modulo GROUP, to be at most this value. With the table,
 * the first counter modulo 256 must also be at most this value. With the table and VBLOCKS == 1,
 * the first counter must also be even. The counters of a period's last two blocks then differ only
 * in the last byte, so one last_difference (from_table()) serves both. */
#    define GCM_MAX_FIRST_COUNT (VBLOCKS > 2 ? 4u : 2u)
/* In each group, the counters of the first GCM_LONG_STEADY vectors differ only in the bits that
 * hold the counter modulo GROUP. These vectors have GROUP - GCM_MAX_FIRST_COUNT blocks, so no
 * counter carries into a higher bit. */
#    define GCM_LONG_STEADY     (IN_FLIGHT - (VBLOCKS == 1 ? 2u : 1u))
/* The shortest call, in blocks, that is faster with gcm_long(), and the shortest that is faster
 * with the table of states. */
#    define GCM_LONG_FROM       (VBLOCKS == 4 ? 192u : VBLOCKS == 2 ? 128u : 96u)
#    define GCM_TABLE_FROM      (3 * GCM_PERIOD / 2)

/* Round keys and powers of H as vectors, and the table of states after two rounds. All of these are
 * secret. */
struct prepared {
    V keys[GCM_MAX_ROUNDS + 1];
    struct factors {
        V low, high, sum;
    } pair[GCM_PAIRS];
    V table[GCM_PERIOD / VBLOCKS];
};

struct gcm_long {
    struct bulk bulk;
    const struct tr_ghash_key *ghash;
    struct prepared *prepared;
    struct product product;
    V y; /* one hash for each lane; after the last group, their XOR is the hash */
    V delta[GCM_LONG_STEADY];
    /* The XOR of a state of the current period and its table entry. The value is the same for all
     * vectors, except the last ones of a period (from_table()). */
    V period;
};

/* Returns in each lane: the low halves of two blocks (`low`), their high halves (`high`), and
 * `low` XOR `high` (`sum`). */
TR_INLINE TR_TARGET struct factors pair(V a, V b)
{
    V low = v_unpack_low(a, b), high = v_unpack_high(a, b);
    return (struct factors){low, high, v_xor(low, high)};
}

/* Loads the powers of H for a group, each into all lanes. If `last`, loads the powers for the last
 * group, a different one into each lane. */
TR_INLINE TR_TARGET void prepare_powers(struct gcm_long *g, int last)
{
    for (unsigned j = 0; j < GCM_PAIRS; j++) {
        const uint8_t *a = g->ghash->power[TR_GHASH_POWERS - GROUP + 2 * j * VBLOCKS],
                      *b = a + VBYTES;
        g->prepared->pair[j] =
            last ? pair(v_load(a), v_load(b)) : pair(v_load_all(a), v_load_all(b));
    }
}

/* Returns `sum` XORed with the products of the low halves and of the high halves. If `first`, omits
 * `sum`. */
TR_INLINE TR_TARGET V both_products(V a, V b, V sum, int first)
{
    V low = v_clmul_ll(a, b), high = v_clmul_hh(a, b);
    return first ? v_xor(low, high) : v_xor3(low, high, sum);
}

#    define GCM_STEPS (2 * GCM_PAIRS)

/* Does one of the two steps that hash a pair of vectors. Pair 0 needs the hash so far, so its two
 * steps come last. */
TR_INLINE TR_TARGET void hash_step(struct gcm_long *g, const uint8_t *data, unsigned step,
                                   struct factors *x)
{
    unsigned j = (step / 2 + 1) % GCM_PAIRS, first = step < 2;
    const struct factors *power = &g->prepared->pair[j];
    struct product *p = &g->product;
    if (step % 2 == 0) {
        const uint8_t *at = data + (size_t)2 * j * VBYTES;
        V a = v_byteswap(v_load(at)), b = v_byteswap(v_load(at + VBYTES));
        if (j == 0)
            a = v_xor(a, g->y);
        *x = pair(a, b);
        p->low = both_products(x->low, power->low, p->low, first);
        __asm__ volatile("" : "+" V_REGISTER(p->low));
    } else {
        p->high = both_products(x->high, power->high, p->high, first);
        p->middle = both_products(x->sum, power->sum, p->middle, first);
        __asm__ volatile("" : "+" V_REGISTER(p->high), "+" V_REGISTER(p->middle));
    }
}

TR_INLINE TR_TARGET void long_reduce(struct gcm_long *g)
{
    const V poly = v_low_halves(0xc200000000000000);
    struct product *p = &g->product;
    V middle = v_xor3(p->middle, p->low, p->high);
    middle = v_xor3(middle, v_swap_halves(p->low), v_clmul_ll(p->low, poly));
    g->y = v_xor3(p->high, v_swap_halves(middle), v_clmul_ll(middle, poly));
}

TR_INLINE TR_TARGET void long_round(V x[IN_FLIGHT], V k)
{
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        x[j] = v_aesenc(x[j], k);
        __asm__("" : "+" V_REGISTER(x[j]));
    }
}

/*
 * The source of a group's states after two rounds:
 *
 * - COUNTED: they are computed.
 * - KEPT: they are computed and stored in the table.
 * - FROM_TABLE: they are read from the table.
 * - FROM_TABLE_LAST: they are read from the table for the last time.
 */
enum states { COUNTED, KEPT, FROM_TABLE, FROM_TABLE_LAST };

TR_INLINE TR_TARGET void count(const struct gcm_long *g, V x[IN_FLIGHT], V chain)
{
    const V *key = g->prepared->keys;
    x[0] = v_xor(*key, v_byteswap(chain));
    UNROLL
    for (unsigned j = 1; j < IN_FLIGHT; j++)
        x[j] = j < GCM_LONG_STEADY ? v_xor(x[0], g->delta[j])
                                   : v_xor(*key, v_byteswap(v_add32(chain, j * VBLOCKS)));
    long_round(x, key[1]);
    long_round(x, key[2]);
}

TR_INLINE TR_TARGET V two_rounds(const struct gcm_long *g, V counters)
{
    const V *k = g->prepared->keys;
    return v_aesenc(v_aesenc(v_xor(k[0], v_byteswap(counters)), k[1]), k[2]);
}

/* A group's part of the table, and the XOR of the group's states with this part. The XOR is
 * `difference` for the first GCM_LONG_STEADY vectors, and `last_difference` for the others. */
struct origin {
    V *table, difference, last_difference;
};

/* Returns the origin of a group after the first period. In a period's first group, also sets
 * g->period. A period's first counter may be a few blocks above a multiple of 256. The counter's
 * last byte then wraps in the last vectors of the period, so these vectors need last_difference. */
TR_INLINE TR_TARGET struct origin from_table(struct gcm_long *g, size_t done)
{
    V *table = g->prepared->table + done % GCM_PERIOD / VBLOCKS;
    if (done % GCM_PERIOD == 0)
        g->period = v_xor(two_rounds(g, g->bulk.chain), table[0]);
    V last = g->period;
    if (done % GCM_PERIOD == GCM_PERIOD - GROUP) {
        V counters = v_add32(g->bulk.chain, GCM_LONG_STEADY * VBLOCKS);
        last = v_xor(two_rounds(g, counters), table[GCM_LONG_STEADY]);
    }
    return (struct origin){table, g->period, last};
}

TR_INLINE TR_TARGET V state_from_table(const struct origin *from, unsigned j)
{
    return v_xor(j >= GCM_LONG_STEADY ? from->last_difference : from->difference, from->table[j]);
}

/* Encrypts or decrypts a full group. Between the rounds, hashes the group at `hashed` (NULL: none).
 * The part of the table to read or to fill is `from`. */
TR_INLINE TR_TARGET void long_group(struct gcm_long *g, const uint8_t *hashed, enum states states,
                                    const struct origin *from)
{
    struct bulk *r = &g->bulk;
    const V *key = g->prepared->keys + 3, *last = g->prepared->keys + r->rounds;
    V x[IN_FLIGHT], chain = r->chain;
    r->chain = v_add32(chain, GROUP);
    if (states >= FROM_TABLE) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            x[j] = state_from_table(from, j);
    } else {
        count(g, x, chain);
    }
    if (states == KEPT) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            from->table[j] = x[j];
    }
    if (states == FROM_TABLE_LAST)
        cleanse_vectors(from->table, sizeof(V) * IN_FLIGHT);
    struct factors f;
    if (hashed != NULL) {
        UNROLL
        for (unsigned step = 0; step < GCM_STEPS - 1; step++, key++) {
            long_round(x, *key);
            hash_step(g, hashed, step, &f);
            /* More rounds for longer keys. */
            if ((step == 2 && r->rounds > 10) || (step == 4 && r->rounds > 12)) {
                long_round(x, *++key);
                long_round(x, *++key);
            }
        }
        hash_step(g, hashed, GCM_STEPS - 1, &f);
        long_reduce(g);
    }
    for (; key != last; key++)
        long_round(x, *key);
    V k = *last;
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_aesenclast(x[j], v_xor(k, v_load(r->in + (size_t)j * VBYTES)));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* Whether gcm_long() can process a call that starts with counter `count`, and does so faster. A
 * message with a 96-bit IV starts with counter 2. */
TR_INLINE TR_TARGET int takes_long_path(uint64_t count, size_t blocks)
{
    return blocks >= GCM_LONG_FROM && count % GROUP <= GCM_MAX_FIRST_COUNT;
}

#    if VBLOCKS == 4 && IN_FLIGHT == 8
/* AES-128 groups from the table, with staggered vectors: the eight vectors are one round apart. A
 * state from the table still needs seven middle rounds and the last round. Each step ends one
 * vector and begins a vector of the next group. It also does a round of the other seven vectors,
 * and a hash step. The mix of operations is therefore always the same. */
#        define STAGGERED_ROUNDS 10u

struct staggered {
    V x[IN_FLIGHT], keys[IN_FLIGHT];
};

TR_INLINE TR_TARGET void stagger_round(struct staggered *p, unsigned j, unsigned round)
{
    __asm__ volatile("vaesenc %1, %0, %0" : "+v"(p->x[j]) : "v"(p->keys[round]));
}

TR_INLINE TR_TARGET void stagger_end(struct gcm_long *g, struct staggered *p, unsigned j)
{
    V last = v_xor(p->keys[IN_FLIGHT - 1], v_load(g->bulk.in + (size_t)j * VBYTES));
    __asm__ volatile("vaesenclast %1, %0, %0" : "+v"(p->x[j]) : "v"(last));
    v_store(g->bulk.out + (size_t)j * VBYTES, p->x[j]);
}

TR_INLINE TR_TARGET void stagger_begin(struct staggered *p, unsigned j, const struct origin *from)
{
    p->x[j] = state_from_table(from, j);
    __asm__ volatile("" : "+" V_REGISTER(p->x[j]));
}

TR_INLINE TR_TARGET void stagger(struct gcm_long *g, struct staggered *p, const struct origin *from,
                                 const uint8_t *hashed, int begin, int end, int hash)
{
    struct factors f;
    UNROLL
    for (unsigned step = 0; step < IN_FLIGHT; step++) {
        if (end)
            stagger_end(g, p, step);
        if (begin)
            stagger_begin(p, step, from);
        UNROLL
        for (unsigned d = 1; d < IN_FLIGHT; d++) {
            unsigned j = (step + d) % IN_FLIGHT;
            if (j < step ? begin : end)
                stagger_round(p, j, IN_FLIGHT - 1 - d);
        }
        if (hash)
            hash_step(g, hashed, step, &f);
    }
    if (hash)
        long_reduce(g);
    if (end) {
        g->bulk.in += GROUP * TR_BLOCK;
        g->bulk.out += GROUP * TR_BLOCK;
    }
    if (begin)
        g->bulk.chain = v_add32(g->bulk.chain, GROUP);
}

/* Processes all groups after the first period. Returns the address of the last group's output. */
TR_INLINE TR_TARGET const uint8_t *staggered_groups(struct gcm_long *g, size_t blocks, int decrypt)
{
    struct staggered p;
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        p.keys[j] = g->prepared->keys[3 + j];
    struct origin from = from_table(g, GCM_PERIOD);
    if (decrypt) {
        if (blocks == GCM_PERIOD + GROUP)
            prepare_powers(g, 1);
        stagger(g, &p, &from, g->bulk.in, 1, 0, 1);
    } else {
        stagger(g, &p, &from, NULL, 1, 0, 0);
    }
    for (size_t done = GCM_PERIOD;;) {
        if (blocks - done <= GCM_PERIOD)
            cleanse_vectors(from.table, sizeof(V) * IN_FLIGHT);
        done += GROUP;
        if (done == blocks)
            break;
        from = from_table(g, done);
        if (decrypt && done == blocks - GROUP)
            prepare_powers(g, 1);
        stagger(g, &p, &from,
                decrypt ? g->bulk.in + GROUP * TR_BLOCK : g->bulk.out - GROUP * TR_BLOCK, 1, 1, 1);
    }
    if (decrypt)
        stagger(g, &p, NULL, NULL, 0, 1, 0);
    else
        stagger(g, &p, NULL, g->bulk.out - GROUP * TR_BLOCK, 0, 1, 1);
    return g->bulk.out - GROUP * TR_BLOCK;
}

TR_INLINE int staggers(const struct gcm_long *g)
{
    return g->bulk.rounds == STAGGERED_ROUNDS;
}
#    else
TR_INLINE int staggers(const struct gcm_long *g)
{
    return (void)g, 0;
}

TR_INLINE TR_TARGET const uint8_t *staggered_groups(struct gcm_long *g, size_t blocks, int decrypt)
{
    return (void)g, (void)blocks, (void)decrypt, NULL;
}
#    endif

TR_INLINE TR_TARGET void long_groups(struct gcm_long *g, size_t blocks, int decrypt, int use_table)
{
    const uint8_t *pending = NULL;
    size_t end = use_table && staggers(g) ? GCM_PERIOD : blocks;
    for (size_t done = 0; done < end; done += GROUP) {
        const uint8_t *hashed = decrypt ? g->bulk.in : pending;
        pending = g->bulk.out;
        if (decrypt && done == blocks - GROUP)
            prepare_powers(g, 1);
        /* Whether a later group reads this group's table entries. */
        int again = use_table && blocks - done > GCM_PERIOD;
        if (use_table && done >= GCM_PERIOD) {
            struct origin from = from_table(g, done);
            if (again)
                long_group(g, hashed, FROM_TABLE, &from);
            else
                long_group(g, hashed, FROM_TABLE_LAST, &from);
        } else if (again) {
            struct origin to = {.table = g->prepared->table + done / VBLOCKS};
            long_group(g, hashed, KEPT, &to);
        } else {
            long_group(g, hashed, COUNTED, NULL);
        }
    }
    if (end != blocks)
        pending = staggered_groups(g, blocks, decrypt);
    if (!decrypt) {
        struct factors f;
        prepare_powers(g, 1);
        /* Keeps the powers in *g->prepared, which gcm_long() cleanses. Otherwise, gcc keeps them in
         * registers, and spills some to stack that nobody cleanses. AVX-512 has registers for
         * all. */
        if (VBLOCKS < 4)
            __asm__ volatile("" : : "r"(g->prepared) : "memory");
        UNROLL
        for (unsigned step = 0; step < GCM_STEPS; step++)
            hash_step(g, pending, step, &f);
        long_reduce(g);
    }
}

/* Processes full groups for which takes_long_path() is true, from counter (high, low) on. The
 * parameter y is the hash so far. Returns the new hash. */
static NOT_INLINE TR_TARGET B V_NAME(gcm_long)(struct bulk bulk, size_t blocks, uint64_t low,
                                               uint64_t high, const struct tr_ghash_key *ghash, B y,
                                               int decrypt)
{
    struct prepared prepared;
    struct gcm_long g = {
        .bulk = bulk, .ghash = ghash, .prepared = &prepared, .y = v_zero_extend(y)};
    for (unsigned i = 0; i <= bulk.rounds; i++)
        prepared.keys[i] = v_load_all(bulk.keys[i]);
    prepare_powers(&g, 0);
    g.bulk.chain = v_counters32(low, high);
    V first = v_byteswap(g.bulk.chain);
    UNROLL
    for (unsigned j = 0; j < GCM_LONG_STEADY; j++)
        g.delta[j] = v_xor(first, v_byteswap(v_add32(g.bulk.chain, j * VBLOCKS)));
    if (blocks >= GCM_TABLE_FROM && (low & 0xff) <= GCM_MAX_FIRST_COUNT &&
        (VBLOCKS != 1 || (low & 1) == 0))
        long_groups(&g, blocks, decrypt, 1);
    else
        long_groups(&g, blocks, decrypt, 0);
    cleanse_vectors(&prepared, __builtin_offsetof(struct prepared, table));
    return v_fold(g.y);
}
#endif

#endif
