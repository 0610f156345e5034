/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Long runs of CTR with two rounds less; included by parallel.h.
 *
 * Of 256 successive counters only the last byte, b, differs. The first round takes it, with bytes 0, 5 and 10, to the first
 * column and nowhere else; in the second round each byte of that column goes to another column, where MixColumns adds
 * what it becomes to what the other three become. So the state after two rounds is
 *
 *     s(b, higher bytes) = e(b) + s(0, higher bytes)
 *
 * where e depends on b, the key and bytes 0, 5 and 10 of the counter, which stay the same until its last 40 bits wrap.
 * The first 256 blocks of a run leave e(b) in a table; for each later 256, s(0, ..) is computed once, and a block then
 * costs one sum with an operand in memory in place of two rounds and all that makes its counter. Nothing secret is an
 * index: b is the counter's. (FACE, Park and Lee, CHES 2018; gcm_long.h does the same beside GHASH.)
 *
 * Bound. 8 of 10 AES operations (10 of 12, 12 of 14) from the 257th block on, so that a long run exceeds the limit of a
 * plain one. Fractions of that limit (Zen 4, AES-128; before: .975, .93 and .957 at all lengths):
 *
 *             6 KiB   8 KiB  16 KiB  64 KiB
 *     ZMM      .977    1.01    1.08    1.15
 *     YMM      .918     .97    1.06    1.14
 *     XMM      .980    1.03    1.11    1.18
 *     bound    1.07    1.11    1.18    1.23
 *
 * A table of one round (1 KiB) saves half as much. Sixteen vectors at once gain nothing on ZMM and have to be brought to a
 * multiple of 64 blocks first. Wiping the table at the end cost 200 cycles, so each state is wiped where it is used for
 * the last time, and those that no later block asks for are not kept.
 */
#define CTR_STATES    256u /* blocks */
/* From here on that pays, as the first counter may still have to be brought to a multiple of GROUP. */
#define CTR_LONG_FROM (CTR_STATES + GROUP + (VBLOCKS == 1 ? 32u : 112u))

/* A group of which the first two rounds are done. */
TR_INLINE TR_TARGET void ctr_later_rounds(V x[IN_FLIGHT], struct run *r)
{
    struct run later = *r;
    later.keys += 2 * TR_BLOCK;
    later.rounds -= 2;
    V k = middle_rounds(x, IN_FLIGHT, 0, &later);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_aesenclast(x[j], v_xor(k, v_load(r->in + (size_t)j * VBYTES)));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += IN_FLIGHT * VBYTES;
    r->out += IN_FLIGHT * VBYTES;
}

/* A group whose first counter, a multiple of its number of blocks, is that of r->chain; sets its part of the table. */
TR_INLINE TR_TARGET void ctr_first_time(struct run *r, uint8_t *e, V base)
{
    V x[IN_FLIGHT], first = v_xor(v_all(r->keys), v_reverse(r->chain));
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor(first, v_last_byte(j * VBLOCKS));
    middle_round(x, IN_FLIGHT, 0, r->keys + TR_BLOCK);
    middle_round(x, IN_FLIGHT, 0, r->keys + (size_t)2 * TR_BLOCK);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(e + (size_t)j * VBYTES, v_xor(x[j], base));
    r->chain = v_add(r->chain, GROUP);
    ctr_later_rounds(x, r);
}

/* One of the same last bytes, 256 blocks later. wipe: the last such. */
TR_INLINE TR_TARGET void ctr_next_time(struct run *r, uint8_t *e, V base, int wipe)
{
    V x[IN_FLIGHT];
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor(base, v_load(e + (size_t)j * VBYTES));
    UNROLL
    for (unsigned j = 0; wipe && j < IN_FLIGHT; j++)
        v_store(e + (size_t)j * VBYTES, v_spread(b_zero()));
    ctr_later_rounds(x, r);
}

/* s(0, ..) for the counter with these halves. */
TR_INLINE TR_TARGET V ctr_base(const struct run *r, uint64_t high, uint64_t low)
{
    B x = b_reverse(b_of(low & ~(uint64_t)(CTR_STATES - 1), high));
    x = b_aesenc(b_xor(x, b_load(r->keys)), b_load(r->keys + TR_BLOCK));
    return v_spread(b_aesenc(x, b_load(r->keys + (size_t)2 * TR_BLOCK)));
}

/* What is done with the table: stages of a run. */
enum ctr_stage { CTR_KEEP, CTR_PLAIN, CTR_USE, CTR_LAST };

/* A multiple of GROUP of blocks, from such a multiple on. Returns the low half of the next counter. */
TR_INLINE TR_TARGET uint64_t ctr_stage(enum ctr_stage stage, struct run *r, uint8_t *e,
                                       uint64_t high, uint64_t low, size_t blocks)
{
    V base = ctr_base(r, high, low);
    for (; blocks != 0; low += GROUP, blocks -= GROUP) {
        uint8_t *at = e + low % CTR_STATES * TR_BLOCK;
        if (low % CTR_STATES == 0)
            base = ctr_base(r, high, low);
        if (stage == CTR_KEEP)
            ctr_first_time(r, at, base);
        else if (stage == CTR_PLAIN)
            group((struct how){.op = TR_OP_CTR, .vectors = IN_FLIGHT, .aligned = 1}, r);
        else
            ctr_next_time(r, at, base, stage == CTR_LAST);
    }
    return low;
}

/* At least CTR_LONG_FROM - GROUP blocks, from a multiple of GROUP on; returns how many are left, fewer than GROUP. */
TR_INLINE TR_TARGET size_t ctr_by_states(struct run *r, uint64_t high, uint64_t low, size_t blocks)
{
    uint8_t e[CTR_STATES * TR_BLOCK] TR_ALIGNED(64);
    const size_t again = blocks - blocks % GROUP - CTR_STATES;
    const size_t last = again < CTR_STATES ? again : CTR_STATES;
    r->chain = v_counters(low, high);
    low = ctr_stage(CTR_KEEP, r, e, high, low, last);
    low = ctr_stage(CTR_PLAIN, r, e, high, low, CTR_STATES - last);
    low = ctr_stage(CTR_USE, r, e, high, low, again - last);
    (void)ctr_stage(CTR_LAST, r, e, high, low, last);
    __asm__ volatile("" : : "r"(e) : "memory");
    return blocks % GROUP;
}
