/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS-AES (IEEE 1619, NIST SP 800-38E) for one width of vector, with tweaks that follow each other by a
 * multiplication with x in GF(2^128), modulo x^128 + x^7 + x^2 + x + 1, the first byte lowest.
 *
 * All tweaks of a group are made from its first, none from another, so that they wait for one multiplication. Both xors
 * of a tweak lie beside the rounds: with the first and in the last round key.
 *
 * Bound: beside the ten to fourteen AES operations of a vector one carry-less multiplication, which on Zen 4 takes a turn
 * of the AES units, two shifts and three xors. Long runs make their tweaks without (xts_long.h). Of a short unit the time is
 * the latency of its parts, 40 cycles for the tweak and 40 for a block (AES-128), as far as the processor sees the next
 * unit in time to begin it: 320 instructions ahead on Zen 4. Hence no call between tweak and data, no store that a wider
 * load waits for, and the tweak loaded as callers write it.
 *
 * 512 bytes on ZMM take 80 turns for the data; with the tweak known 104 cycles are reached, so much do multiplications,
 * shifts and xors take away. The tweak's own rounds go on beside the data of the unit before only where that leaves
 * turns free, and each then waits for one: a loop of nothing but eight vectors of AES and a chain of ten rounds before
 * them takes 125 cycles where 85 would do, 110 at best, with the eight in groups of five and three. Hence 155 cycles for a
 * unit, 0.51 of the rate of AES, and 0.73 at the very best.
 */

/* The tweak t, in every place, times x^(n + place), below x^(n + 6): within 64 bits shifts; what falls out of the low
 * half goes into the high one, what falls out of that is folded. swapped is t with its halves exchanged. */
TR_INLINE TR_TARGET V times_x(V t, V swapped, unsigned n)
{
    V out = v_shifted_out_from(swapped, n);
    return v_xor3(v_shift_left_from(t, n), out, v_clmul_ll(out, v_low_halves(0x86)));
}

/* t times x^n in each place, 0 < n below 57. */
#define TIMES_X(t, swapped, n)                                                                     \
    v_xor3(v_shift_left((t), (n)), v_shift_right((swapped), 64 - (n)),                             \
           v_clmul_ll(v_shift_right((swapped), 64 - (n)), v_low_halves(0x86)))

struct xts {
    struct run run;
    V tweak,
        swapped; /* of the group's first block, in every place, and with the halves exchanged */
};

TR_INLINE TR_TARGET void xts_tweak(struct xts *s, V tweak)
{
    s->tweak = tweak;
    s->swapped = v_swap_halves(tweak);
}

/* The tweak of the first block. A caller that counts data units has probably just stored half a block, to which one load
 * of a whole block would have to wait until it is out of the store queue, with everything before it. */
TR_INLINE TR_TARGET B xts_first_tweak(struct tr_xts_run *state)
{
    if (state->key == NULL)
        return b_load_halves(state->tweak);
    B t = b_load_halves(state->unit);
    const uint8_t *key = state->key->enc[0], *last = key + (size_t)state->key->rounds * TR_BLOCK;
    if (!KEY_FIRST)
        t = b_xor(t, b_load(key));
    key += TR_BLOCK * (1 - KEY_FIRST);
    for (unsigned n = 10; n < 14; n += 2) {
        if (state->key->rounds > n) {
            t = b_aesenc(b_aesenc(t, b_load(key)), b_load(key + TR_BLOCK));
            key += 2 * TR_BLOCK;
        }
    }
    UNROLL
    for (unsigned i = 0; i < 9; i++)
        t = b_aesenc(t, b_load(key + (size_t)i * TR_BLOCK));
#if KEY_FIRST
    t = v_sub(t, b_load(last - TR_BLOCK));
#endif
    state->key = NULL;
    return b_aesenclast(t, b_load(last));
}

/* The last round of u vectors, of which the last may have but part blocks. */
TR_INLINE TR_TARGET void xts_leave(V *x, const V *tweak, V k, unsigned u, unsigned part,
                                   int decrypt, uint8_t *out)
{
    struct how how = {.vectors = u, .part = part};
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V last = v_xor(k, tweak[j]);
        x[j] = decrypt ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++)
        store_vector(out + (size_t)j * VBYTES, x[j], part_of(how, j));
}

/* Of the last group so many vectors come first, and are through before the others begin, which leave room for what follows:
 * the processor starts what is oldest of all that could be started, and eight vectors on ZMM would leave nothing for the
 * tweak of the next unit before their end. Does not help where eight vectors only just cover the latency of AES. */
#define XTS_AHEAD (VBLOCKS == 4 ? 6u : IN_FLIGHT)

/* u vectors after the first round key, of which the last may have but part blocks. */
TR_INLINE TR_TARGET void xts_rounds(struct run *r, V *x, const V *tweak, unsigned u, unsigned part,
                                    unsigned ahead, int decrypt)
{
    V after[IN_FLIGHT];
    unsigned n = ahead < u ? ahead : u;
    UNROLL
    for (unsigned j = n; j < u; j++)
        after[j - n] = x[j];
    V k = middle_rounds(x, n, decrypt, r);
    xts_leave(x, tweak, k, n, n < u ? 0 : part, decrypt, r->out);
    if (n < u) {
        k = middle_rounds(after, u - n, decrypt, r);
        xts_leave(after, tweak + n, k, u - n, part, decrypt, r->out + (size_t)n * VBYTES);
    }
    r->in += (size_t)u * VBYTES;
    r->out += (size_t)u * VBYTES;
}

/* u vectors, of which the last may have but part blocks. */
TR_INLINE TR_TARGET void xts_group(struct xts *s, int decrypt, unsigned u, unsigned part,
                                   unsigned ahead)
{
    struct run *r = &s->run;
    V x[IN_FLIGHT], tweak[IN_FLIGHT], k = first_key(r->keys);
    struct how how = {.vectors = u, .part = part};
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        tweak[j] = times_x(s->tweak, s->swapped, j * VBLOCKS);
        x[j] = v_xor3(k, tweak[j], load_vector(r->in + (size_t)j * VBYTES, part_of(how, j)));
    }
    xts_rounds(r, x, tweak, u, part, ahead, decrypt);
}

#if defined(__x86_64__)
#    include "xts_long.h"
#endif

#if defined(XTS_LONG_FROM) && !TR_ENV_LARGE_STACK
/* In a kernel a frame of its own: the one that both would share is larger than kernels are compiled with. */
static __attribute__((__noinline__)) TR_TARGET B xts_long_encrypt(struct run *run, size_t *blocks,
                                                                  B tweak)
{
    return xts_long(run, blocks, 0, tweak);
}
static __attribute__((__noinline__)) TR_TARGET B xts_long_decrypt(struct run *run, size_t *blocks,
                                                                  B tweak)
{
    return xts_long(run, blocks, 1, tweak);
}
#endif

TR_INLINE TR_TARGET void xts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_xts_run *state, int decrypt)
{
    struct xts s = {.run = start(key, decrypt ? key->dec : key->enc, out, in)};
    B tweak = xts_first_tweak(state);
#ifdef XTS_LONG_FROM
    if (blocks >= XTS_LONG_FROM)
#    if TR_ENV_LARGE_STACK
        tweak = xts_long(&s.run, &blocks, decrypt, tweak);
#    else
        tweak = (decrypt ? xts_long_decrypt : xts_long_encrypt)(&s.run, &blocks, tweak);
#    endif
#endif
    xts_tweak(&s, v_spread(tweak));
    /* The last group may be a full one; what follows a group is made before it, or would wait behind its rounds. */
    for (; blocks > GROUP; blocks -= GROUP) {
        V next = TIMES_X(s.tweak, s.swapped, GROUP);
        xts_group(&s, decrypt, IN_FLIGHT, 0, IN_FLIGHT);
        xts_tweak(&s, next);
    }
    b_store(state->tweak, v_block_0(s.tweak));
    tr_xts_multiply(state->tweak, (unsigned)blocks);
    switch (VECTORS_OF(blocks)) {
#define XTS_GROUP(n)                                                                               \
    case n:                                                                                        \
        xts_group(&s, decrypt, n, blocks % VBLOCKS, XTS_AHEAD);                                    \
        break;
        BY_VECTORS(XTS_GROUP)
    }
}

static TR_TARGET void xts_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    const struct tr_backend *n = narrower(blocks);
    if (n != NULL)
        n->bulk[TR_OP_XTS_ENCRYPT](key, out, in, blocks, state);
    else
        xts(key, out, in, blocks, state, 0);
}

static TR_TARGET void xts_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    const struct tr_backend *n = narrower(blocks);
    if (n != NULL)
        n->bulk[TR_OP_XTS_DECRYPT](key, out, in, blocks, state);
    else
        xts(key, out, in, blocks, state, 1);
}

#define TR_XTS_OPS [TR_OP_XTS_ENCRYPT] = xts_encrypt, [TR_OP_XTS_DECRYPT] = xts_decrypt
