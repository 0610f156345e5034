/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * GCM for long runs: what gcm.h does, with more prepared and fewer operations for each vector.
 *
 * Bound. On Zen 4 AES and carry-less multiplication share two of the four vector pipes and take a cycle of
 * both for each 64 bytes. All else (xor, shuffle, broadcast, but not a load) could go to the other two, but
 * about four in ten of these operations do take a turn from AES: they are placed when they come, and
 * whenever AES waits for an operand, its pipe looks free. So both kinds count, and both are cut:
 *
 *   AES          Only the last byte of the counter changes within 256 blocks. It moves one byte in round 1 and
 *                one column in round 2, and all that it moves adds to the rest: two states after round 2
 *                whose counters have the same last byte differ by what the other bytes of the counter make,
 *                the same for all 256 (as in FACE, Park and Lee, CHES 2018). So the states of the first 256
 *                blocks are kept, and after them an xor does the work of counting and two rounds.
 *   hash         Three multiplications for a vector (Karatsuba), over pairs of vectors, whose halves
 *                are sorted together: five operations for a pair's sums. All terms are added three at a time.
 *                The parts of the hash in the four places of a vector stay apart, which needs the same power
 *                in all places, until the last group takes the powers as they are.
 *   round keys   in memory as vectors: a broadcast load takes a pipe, a load does not.
 *
 * That is 8 AES and 3 multiplications for 64 bytes, 12 with AES-256, and 6.5 other operations where gcm.h
 * has 10, 4 and 10. Cycles for 64 bytes within a long message (Zen 4): AES-128 13.3 (gcm.h 16.9), AES-256
 * 16.6 (19.8). A message of 16 KiB reaches 0.66 and 0.78 of the rate of AES with all its rounds, of 64 KiB
 * 0.72 and 0.82.
 *
 * Without effect: pairing operations that are not AES, so that both schedulers get as many (gains in
 * loops of independent operations); order of hash and rounds. 12 vectors in flight would gain 4 %, but do
 * not divide 256 blocks.
 */

#define PAIRS       (IN_FLIGHT / 2)
#define PERIOD      256u /* blocks that share a table */
#define MAX_ROUNDS  14u
#define FIRST_COUNT 4u /* the most that the last byte of the first counter may be, see below */
#define LONG_STEADY (IN_FLIGHT - 1u) /* then so many vectors of each group count without a carry */
#define LONG_FROM   192u             /* where what is prepared begins to pay */
#define TABLE_FROM  (3 * PERIOD / 2)

/* Round keys and powers as the loop takes them, and the table of states after two rounds; all secret. */
struct prepared {
    V keys[MAX_ROUNDS + 1];
    struct factors {
        V low, high, sum;
    } pair[PAIRS];
    V table[PERIOD / VBLOCKS];
};

struct gcm_long {
    struct run run;
    const struct tr_ghash *ghash;
    struct prepared *prepared;
    struct product product;
    V y; /* the hash, a part of it in each place */
    V delta[LONG_STEADY];
    V period; /* what a period adds to the states of the table */
};

/* The halves of two blocks in each place, with the sum of both. */
TR_INLINE TR_TARGET struct factors pair(V a, V b)
{
    V low = v_low_of(a, b), high = v_high_of(a, b);
    return (struct factors){low, high, v_xor(low, high)};
}

/* The powers for a group; last: for the last one, which adds up the parts of the hash. */
TR_INLINE TR_TARGET void prepare_powers(struct gcm_long *g, int last)
{
    for (unsigned j = 0; j < PAIRS; j++) {
        const uint8_t *a = g->ghash->power[TR_GHASH_POWERS - GROUP + 2 * j * VBLOCKS],
                      *b = a + VBYTES;
        g->prepared->pair[j] = last ? pair(v_load(a), v_load(b)) : pair(v_all(a), v_all(b));
    }
}

/* Adds the products of both halves to sum. */
TR_INLINE TR_TARGET V both_products(V a, V b, V sum, int first)
{
    V low = v_clmul_ll(a, b), high = v_clmul_hh(a, b);
    return first ? v_xor(low, high) : v_xor3(low, high, sum);
}

#define STEPS (2 * PAIRS)

/* The pairs are hashed in the order 1, 2, 3, 0, since the hash so far comes late, each in two steps. */
TR_INLINE TR_TARGET void hash_step(struct gcm_long *g, const uint8_t *data, unsigned step,
                                   struct factors *x)
{
    unsigned j = (step / 2 + 1) % PAIRS, first = step < 2;
    const struct factors *power = &g->prepared->pair[j];
    struct product *p = &g->product;
    if (step % 2 == 0) {
        const uint8_t *at = data + (size_t)2 * j * VBYTES;
        V a = v_reverse(v_load(at)), b = v_reverse(v_load(at + VBYTES));
        if (j == 0)
            a = v_xor(a, g->y);
        *x = pair(a, b);
        p->low = both_products(x->low, power->low, p->low, first);
        __asm__("" : "+" V_REGISTER(p->low));
    } else {
        p->high = both_products(x->high, power->high, p->high, first);
        p->middle = both_products(x->sum, power->sum, p->middle, first);
        __asm__("" : "+" V_REGISTER(p->high), "+" V_REGISTER(p->middle));
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

/* tr_cleanse() for whole vectors, cheap enough for the inside of a loop. */
TR_INLINE TR_TARGET void wipe(uint8_t *memory, size_t len)
{
    const V zero = v_first(b_zero());
    for (size_t i = 0; i < len; i += VBYTES) {
        v_store(memory + i, zero);
        __asm__ volatile("" ::: "memory");
    }
}

/* Where the states of a group after two rounds come from, and whether they stay in the table. */
enum states { COUNTED, KEPT, FROM_TABLE, FROM_TABLE_LAST };

TR_INLINE TR_TARGET void count(const struct gcm_long *g, V x[IN_FLIGHT], V chain)
{
    const V *key = g->prepared->keys;
    x[0] = v_xor(*key, v_reverse(chain));
    UNROLL
    for (unsigned j = 1; j < IN_FLIGHT; j++)
        x[j] = j < LONG_STEADY ? v_xor(x[0], g->delta[j])
                               : v_xor(*key, v_reverse(v_add32(chain, j * VBLOCKS)));
    long_round(x, key[1]);
    long_round(x, key[2]);
}

/* A full group. hashed: the full group to hash, or NULL. table: where its states are or go; last_difference:
 * between its last state and that of the table. */
TR_INLINE TR_TARGET void long_group(struct gcm_long *g, const uint8_t *hashed, enum states states,
                                    V *table, V last_difference)
{
    struct run *r = &g->run;
    const V *key = g->prepared->keys + 3, *last = g->prepared->keys + r->rounds;
    V x[IN_FLIGHT], chain = r->chain;
    r->chain = v_add32(chain, GROUP);
    if (states >= FROM_TABLE) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            x[j] = v_xor(j == IN_FLIGHT - 1 ? last_difference : g->period, table[j]);
    } else {
        count(g, x, chain);
    }
    if (states == KEPT) {
        UNROLL
        for (unsigned j = 0; j < IN_FLIGHT; j++)
            table[j] = x[j];
    }
    if (states == FROM_TABLE_LAST)
        wipe((uint8_t *)table, sizeof(V) * IN_FLIGHT);
    struct factors f;
    if (hashed != NULL) {
        UNROLL
        for (unsigned step = 0; step < STEPS - 1; step++, key++) {
            long_round(x, *key);
            hash_step(g, hashed, step, &f);
            /* What longer keys have more. */
            if ((step == 2 && r->rounds > 10) || (step == 4 && r->rounds > 12)) {
                long_round(x, *++key);
                long_round(x, *++key);
            }
        }
        hash_step(g, hashed, STEPS - 1, &f);
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

TR_INLINE TR_TARGET V two_rounds(const struct gcm_long *g, V counters)
{
    const V *k = g->prepared->keys;
    return v_aesenc(v_aesenc(v_xor(k[0], v_reverse(counters)), k[1]), k[2]);
}

/* Whether gcm_long() takes a run of whole groups. A message with an IV of 96 bits begins with the counter 2.
 */
TR_INLINE TR_TARGET int is_long(uint64_t count, size_t blocks)
{
    return blocks >= LONG_FROM && count % GROUP <= FIRST_COUNT;
}

/* A group of a period after the first. The last byte of the counters carries in the last vector of a period
 * at the earliest. */
TR_INLINE TR_TARGET void group_from_table(struct gcm_long *g, const uint8_t *hashed, size_t done,
                                          int again)
{
    V *table = g->prepared->table, *states = table + done % PERIOD / VBLOCKS;
    if (done % PERIOD == 0)
        g->period = v_xor(two_rounds(g, g->run.chain), states[0]);
    V last = g->period;
    if (done % PERIOD == PERIOD - GROUP) {
        V counters = v_add32(g->run.chain, GROUP - VBLOCKS);
        last = v_xor(two_rounds(g, counters), states[IN_FLIGHT - 1]);
    }
    if (again)
        long_group(g, hashed, FROM_TABLE, states, last);
    else
        long_group(g, hashed, FROM_TABLE_LAST, states, last);
}

TR_INLINE TR_TARGET void long_groups(struct gcm_long *g, size_t blocks, int decrypt, int use_table)
{
    const uint8_t *pending = NULL;
    for (size_t done = 0; done < blocks; done += GROUP) {
        const uint8_t *hashed = decrypt ? g->run.in : pending;
        pending = g->run.out;
        if (decrypt && done == blocks - GROUP)
            prepare_powers(g, 1);
        /* States are kept for the next period, until there is none. */
        int again = use_table && blocks - done > PERIOD;
        if (use_table && done >= PERIOD)
            group_from_table(g, hashed, done, again);
        else if (again)
            long_group(g, hashed, KEPT, g->prepared->table + done / VBLOCKS, g->y);
        else
            long_group(g, hashed, COUNTED, NULL, g->y);
    }
    if (!decrypt) {
        struct factors f;
        prepare_powers(g, 1);
        UNROLL
        for (unsigned step = 0; step < STEPS; step++)
            hash_step(g, pending, step, &f);
        long_reduce(g);
    }
}

/* Whole groups, at least LONG_FROM blocks, with the counters low and up and the hash y. Returns the hash. */
static TR_TARGET B gcm_long(struct run run, size_t blocks, uint64_t low, uint64_t high,
                            const struct tr_ghash *ghash, B y, int decrypt)
{
    struct prepared prepared;
    struct gcm_long g = {.run = run, .ghash = ghash, .prepared = &prepared, .y = v_first(y)};
    for (unsigned i = 0; i <= run.rounds; i++)
        prepared.keys[i] = v_all(run.keys + (size_t)i * TR_BLOCK);
    prepare_powers(&g, 0);
    g.run.chain = v_counters32(low, high);
    V first = v_reverse(g.run.chain);
    UNROLL
    for (unsigned j = 0; j < LONG_STEADY; j++)
        g.delta[j] = v_xor(first, v_reverse(v_add32(g.run.chain, j * VBLOCKS)));
    if (blocks >= TABLE_FROM && (low & 0xff) <= FIRST_COUNT)
        long_groups(&g, blocks, decrypt, 1);
    else
        long_groups(&g, blocks, decrypt, 0);
    wipe((uint8_t *)&prepared, __builtin_offsetof(struct prepared, table));
    return v_sum(g.y);
}
