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
 * has 10, 4 and 10.
 *
 *   order        The units look ahead by less than a group. Eight vectors side by side begin it with nothing but loads and
 *                sums and end it with nothing but last rounds and stores, whatever the order in between. So with AES-128 in
 *                ZMM the vectors from the table follow each other a round apart, round keys in registers
 *                (staggered_groups()).
 *
 * What a loop of independent operations costs for 64 bytes (Zen 4, cycles): 8 AES and 3 multiplications 11.0, with 4 others
 * 11.0, 6 others 11.6, 8 others 12.6: a multiplication takes a turn of AES and three of the places that others have, of which
 * there are two a cycle. With what a group reduces that is a bound of 12.3 (0.81 of the rate of AES with ten rounds), of 11.3
 * were there nothing but AES and multiplications. AES with a round key in memory is slower by a third beside multiplications.
 * In YMM a multiplication takes as long as in ZMM, and two cycles where no AES is: 14.5 with the table, 16.5 without; of XMM
 * twice that. There dependencies cost more: 19, in every order tried, in assembly, too.
 *
 * Cycles for 64 bytes within a long message (Zen 4): AES-128 13.0 (gcm.h 16.9; side by side 13.6), AES-256 16.6 (19.8). Of
 * the rate of AES with all its rounds, 16 KiB reach 0.69 and 0.78, 64 KiB 0.74 and 0.82: in the first 256 blocks 64 bytes take
 * 14.8, and what comes before and after all groups takes some 200 cycles. YMM: 0.485 and 0.51 (gcm.h 0.445).
 *
 * Without effect: pairing operations that are not AES, so that both schedulers get as many (gains in
 * loops of independent operations); order of hash and rounds within a group, 300 of them at random; the staggered order in
 * YMM, whose round keys would have to be in memory; bytes reversed and halves sorted by VPERMI2B, one operation for two, or by
 * the integer units, which is slower. One reduction for two groups: 2 % at 64 KiB, but -1 % at 16 KiB for the powers
 * that it needs. The first 256 blocks staggered, too, with the states made a group ahead: 1 % at 16 KiB, -4 % at 3 and 4 KiB.
 * AES-256 staggered: at most 1 %, for its keys and all else are more than there are registers. 12 vectors in flight would gain
 * 4 %, but do not divide 256 blocks.
 */

#define PAIRS       (IN_FLIGHT / 2)
#define PERIOD      256u /* blocks that share a table */
#define MAX_ROUNDS  14u
/* The most that the last byte of the first counter may be. */
#define FIRST_COUNT (VBLOCKS > 2 ? 4u : 2u)
/* Then so many vectors of each group count without a carry. */
#define LONG_STEADY (IN_FLIGHT - (VBLOCKS == 1 ? 2u : 1u))
/* Blocks, where what is prepared begins to pay. */
#define LONG_FROM   (VBLOCKS == 4 ? 192u : VBLOCKS == 2 ? 128u : 96u)
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

TR_INLINE TR_TARGET V two_rounds(const struct gcm_long *g, V counters)
{
    const V *k = g->prepared->keys;
    return v_aesenc(v_aesenc(v_xor(k[0], v_reverse(counters)), k[1]), k[2]);
}

/* The states of a group of a period after the first: what is to be added to those of the table, and to the last
 * of them. */
struct origin {
    V *table, difference, last_difference;
};

/* The last byte of the counters carries in the last vector of a period at the earliest. */
TR_INLINE TR_TARGET struct origin from_table(struct gcm_long *g, size_t done)
{
    V *table = g->prepared->table + done % PERIOD / VBLOCKS;
    if (done % PERIOD == 0)
        g->period = v_xor(two_rounds(g, g->run.chain), table[0]);
    V last = g->period;
    if (done % PERIOD == PERIOD - GROUP) {
        V counters = v_add32(g->run.chain, LONG_STEADY * VBLOCKS);
        last = v_xor(two_rounds(g, counters), table[LONG_STEADY]);
    }
    return (struct origin){table, g->period, last};
}

TR_INLINE TR_TARGET V state_from_table(const struct origin *from, unsigned j)
{
    return v_xor(j >= LONG_STEADY ? from->last_difference : from->difference, from->table[j]);
}

/* A full group. hashed: the full group to hash, or NULL. from: where its states are or go. */
TR_INLINE TR_TARGET void long_group(struct gcm_long *g, const uint8_t *hashed, enum states states,
                                    const struct origin *from)
{
    struct run *r = &g->run;
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
        wipe((uint8_t *)from->table, sizeof(V) * IN_FLIGHT);
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

/* Whether gcm_long() takes a run of whole groups. A message with an IV of 96 bits begins with the counter 2.
 */
TR_INLINE TR_TARGET int is_long(uint64_t count, size_t blocks)
{
    return blocks >= LONG_FROM && count % GROUP <= FIRST_COUNT;
}

#if VBLOCKS == 4 && IN_FLIGHT == 8
/*
 * Groups from the table for AES-128: seven middle rounds and the last, which eight vectors pass a round apart from each
 * other. So every step ends one vector, begins another and hashes a third, and each of the vector units always finds
 * the same mix; groups whose vectors go side by side leave them to one kind of work and then to the other.
 */
#    define STAGGERED_ROUNDS 10u

struct staggered {
    V x[IN_FLIGHT], keys[IN_FLIGHT];
};

TR_INLINE TR_TARGET void stagger_round(struct staggered *p, unsigned j, unsigned round)
{
    __asm__ volatile("vaesenc %1, %0, %0" : "+v"(p->x[j]) : "v"(p->keys[round]));
}

TR_INLINE TR_TARGET void stagger_end(struct gcm_long *g, struct staggered *p, unsigned j)
{
    V last = v_xor(p->keys[IN_FLIGHT - 1], v_load(g->run.in + (size_t)j * VBYTES));
    __asm__ volatile("vaesenclast %1, %0, %0" : "+v"(p->x[j]) : "v"(last));
    v_store(g->run.out + (size_t)j * VBYTES, p->x[j]);
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
        g->run.in += GROUP * TR_BLOCK;
        g->run.out += GROUP * TR_BLOCK;
    }
    if (begin)
        g->run.chain = v_add32(g->run.chain, GROUP);
}

/* All groups after the first period. Returns the last one's ciphertext. */
TR_INLINE TR_TARGET const uint8_t *staggered_groups(struct gcm_long *g, size_t blocks, int decrypt)
{
    struct staggered p;
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        p.keys[j] = g->prepared->keys[3 + j];
    struct origin from = from_table(g, PERIOD);
    if (decrypt) {
        if (blocks == PERIOD + GROUP)
            prepare_powers(g, 1);
        stagger(g, &p, &from, g->run.in, 1, 0, 1);
    } else {
        stagger(g, &p, &from, NULL, 1, 0, 0);
    }
    for (size_t done = PERIOD;;) {
        if (blocks - done <= PERIOD)
            wipe((uint8_t *)from.table, sizeof(V) * IN_FLIGHT);
        done += GROUP;
        if (done == blocks)
            break;
        from = from_table(g, done);
        if (decrypt && done == blocks - GROUP)
            prepare_powers(g, 1);
        stagger(g, &p, &from,
                decrypt ? g->run.in + GROUP * TR_BLOCK : g->run.out - GROUP * TR_BLOCK, 1, 1, 1);
    }
    if (decrypt)
        stagger(g, &p, NULL, NULL, 0, 1, 0);
    else
        stagger(g, &p, NULL, g->run.out - GROUP * TR_BLOCK, 0, 1, 1);
    return g->run.out - GROUP * TR_BLOCK;
}

TR_INLINE int staggers(const struct gcm_long *g)
{
    return g->run.rounds == STAGGERED_ROUNDS;
}
#else
TR_INLINE int staggers(const struct gcm_long *g)
{
    return (void)g, 0;
}

TR_INLINE TR_TARGET const uint8_t *staggered_groups(struct gcm_long *g, size_t blocks, int decrypt)
{
    return (void)g, (void)blocks, (void)decrypt, NULL;
}
#endif

TR_INLINE TR_TARGET void long_groups(struct gcm_long *g, size_t blocks, int decrypt, int use_table)
{
    const uint8_t *pending = NULL;
    size_t end = use_table && staggers(g) ? PERIOD : blocks;
    for (size_t done = 0; done < end; done += GROUP) {
        const uint8_t *hashed = decrypt ? g->run.in : pending;
        pending = g->run.out;
        if (decrypt && done == blocks - GROUP)
            prepare_powers(g, 1);
        /* States are kept for the next period, until there is none. */
        int again = use_table && blocks - done > PERIOD;
        if (use_table && done >= PERIOD) {
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
    if (blocks >= TABLE_FROM && (low & 0xff) <= FIRST_COUNT && (VBLOCKS != 1 || (low & 1) == 0))
        long_groups(&g, blocks, decrypt, 1);
    else
        long_groups(&g, blocks, decrypt, 0);
    wipe((uint8_t *)&prepared, __builtin_offsetof(struct prepared, table));
    return v_sum(g.y);
}
