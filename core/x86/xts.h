/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XTS-AES (IEEE 1619, NIST SP 800-38E) for one width of vector, with tweaks that follow each other by a
 * multiplication with x in GF(2^128), modulo x^128 + x^7 + x^2 + x + 1, the first byte lowest.
 *
 * Each of the vectors in flight has its tweaks in a register of its own; from group to group they are
 * multiplied by x^GROUP, which is a shift by whole bytes and a carry-less multiplication of what falls
 * out by 0x87. Both xors of a tweak lie beside the rounds: with the first and in the last round key.
 *
 * Bound: beside the ten to fourteen AES operations of a vector, one carry-less multiplication, two
 * shifts and five xors; xts_long() has one shift and two xors. On Zen 4 the multiplication takes a turn of
 * the AES units, and of the others about four in ten (see gcm_long.h): 11.3 cycles for 64 bytes with AES-128
 * and 15.3 with AES-256 in xts_long(), 12.0 and 16.5 in xts(). Units of 4096 bytes reach 0.73 and 0.78 of
 * the rate of AES alone, of 16 KiB 0.83 and 0.87: before the first block comes the latency of the encrypted
 * tweak and of the tweaks made from it. Round keys as vectors in memory, which help GCM, cost more stores
 * here than they save.
 */

/* t x^k in each place, 0 < k < 64: within 64 bits a shift; what falls out of the low half goes into the
 * high one, what falls out of that is folded. */
#define TIMES_X(t, k)                                                                              \
    v_xor(v_xor(v_shift_left((t), (k)), v_low_to_high(v_shift_right((t), 64 - (k)))),              \
          v_clmul_hl(v_shift_right((t), 64 - (k)), v_low_halves(0x87)))

/* t x^(8 bytes). */
#define TIMES_X_BYTES(t, bytes)                                                                    \
    v_xor(v_shift_bytes_left((t), (bytes)),                                                        \
          v_clmul_ll(v_shift_bytes_right((t), 16 - (bytes)), v_low_halves(0x87)))

/* t x^GROUP. */
#if IN_FLIGHT == 8
#    define NEXT_GROUP(t) TIMES_X_BYTES(t, VBLOCKS)
#else
#    define NEXT_GROUP(t) TIMES_X(t, GROUP)
#endif

struct xts {
    struct run run; /* chain: the tweaks of the next vector */
    V tweak[IN_FLIGHT];
};

/* u vectors, of which the only one may have but part blocks, with the tweaks in x->tweak. */
TR_INLINE TR_TARGET void xts_group(struct xts *s, int decrypt, unsigned u, unsigned part)
{
    struct run *r = &s->run;
    struct how how = {.part = part};
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++)
        x[j] = v_xor(v_xor(k, s->tweak[j]), load(r->in + (size_t)j * VBYTES, how));
    k = middle_rounds(x, u, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V last = v_xor(k, s->tweak[j]);
        x[j] = decrypt ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        if (part)
            v_store_part(r->out, x[j], part);
        else
            v_store(r->out + (size_t)j * VBYTES, x[j]);
    }
    r->in += (size_t)u * VBYTES;
    r->out += (size_t)u * VBYTES;
}

/* Tweaks for u vectors from r->chain on, which moves past them. */
TR_INLINE TR_TARGET void next_tweaks(struct xts *s, unsigned u)
{
    /* By doubling, which is a shorter chain than one by one. */
    s->tweak[0] = s->run.chain;
    if (u > 1)
        s->tweak[1] = TIMES_X(s->tweak[0], VBLOCKS);
    UNROLL
    for (unsigned j = 2; j < u; j++)
        s->tweak[j] =
            j < 4 ? TIMES_X(s->tweak[j - 2], 2 * VBLOCKS) : TIMES_X(s->tweak[j - 4], 4 * VBLOCKS);
    s->run.chain = TIMES_X(s->tweak[0], u * VBLOCKS);
}

TR_INLINE TR_TARGET void xts_small(struct xts *s, int decrypt, unsigned u)
{
    next_tweaks(s, u);
    xts_group(s, decrypt, u, 0);
}

/* The tweaks of the first vector: places 0, 1, .. are the tweak times 1, x, .. */
TR_INLINE TR_TARGET V first_tweaks(const uint8_t *tweak)
{
    V t = v_all(tweak), out = v_shifted_out(t);
    return v_xor(v_xor(v_shift_by_place(t), v_low_to_high(out)),
                 v_clmul_hl(out, v_low_halves(0x87)));
}

#if VBLOCKS == 4 && IN_FLIGHT == 8
/*
 * Long runs on registers of 512 bits, of which there are 32: sixteen vectors of tweaks, for two groups. A
 * multiplication by x^64 then needs no shift of bits: the low half moves up, the high one is folded.
 * The tweaks are kept with the last round key added, ready to end the last round; what that adds to a
 * multiplication, and to the first round, are constants in xors that are there anyway.
 */
#    define DOUBLE_GROUP (2 * GROUP)
#    define LONG_UNIT    (4 * DOUBLE_GROUP)

struct xts_long {
    struct run run;
    V first;   /* the sum of the first and the last round key */
    V product; /* the last round key times 1 + x^64 */
};

/* A full group, with its tweaks, which are moved on by two groups. */
TR_INLINE TR_TARGET void xts_long_group(struct xts_long *s, int decrypt, V tweak[IN_FLIGHT])
{
    struct run *r = &s->run;
    const V fold = v_low_halves(0x87);
    V x[IN_FLIGHT];
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        x[j] = v_xor3(s->first, tweak[j], v_load(r->in + (size_t)j * VBYTES));
    middle_rounds(x, IN_FLIGHT, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        x[j] = decrypt ? v_aesdeclast(x[j], tweak[j]) : v_aesenclast(x[j], tweak[j]);
        tweak[j] = v_xor3(s->product, v_low_to_high(tweak[j]), v_clmul_hl(tweak[j], fold));
    }
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store(r->out + (size_t)j * VBYTES, x[j]);
    r->in += GROUP * TR_BLOCK;
    r->out += GROUP * TR_BLOCK;
}

/* As many double groups as there are; s is moved past them. Returns the number of blocks left. */
static TR_TARGET size_t xts_long(struct xts *s, size_t blocks, int decrypt)
{
    struct xts_long l;
    l.run = s->run;
    V last = v_all(l.run.keys + (size_t)l.run.rounds * TR_BLOCK), fold = v_low_halves(0x87);
    l.first = v_xor(v_all(l.run.keys), last);
    l.product = v_xor3(last, v_low_to_high(last), v_clmul_hl(last, fold));
    V even[IN_FLIGHT], odd[IN_FLIGHT];
    next_tweaks(s, IN_FLIGHT);
    UNROLL
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        even[j] = v_xor(s->tweak[j], last);
        odd[j] = v_xor(TIMES_X(s->tweak[j], GROUP), last);
    }
    for (; blocks >= DOUBLE_GROUP; blocks -= DOUBLE_GROUP) {
        xts_long_group(&l, decrypt, even);
        xts_long_group(&l, decrypt, odd);
    }
    s->run.in = l.run.in;
    s->run.out = l.run.out;
    s->run.chain = v_xor(even[0], last);
    return blocks;
}
#endif

TR_INLINE TR_TARGET void xts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, uint8_t *tweak, int decrypt)
{
    struct xts s = {.run = start(key, decrypt ? key->dec : key->enc, out, in)};
    s.run.chain = first_tweaks(tweak);
#if VBLOCKS == 4 && IN_FLIGHT == 8
    if (blocks >= LONG_UNIT)
        blocks = xts_long(&s, blocks, decrypt);
#endif
    if (blocks >= GROUP) {
        next_tweaks(&s, IN_FLIGHT);
        for (; blocks >= GROUP; blocks -= GROUP) {
            xts_group(&s, decrypt, IN_FLIGHT, 0);
            UNROLL
            for (unsigned j = 0; j < IN_FLIGHT; j++)
                s.tweak[j] = NEXT_GROUP(s.tweak[j]);
        }
        s.run.chain = s.tweak[0];
    }
    if (blocks & 4 * VBLOCKS)
        xts_small(&s, decrypt, 4);
    if (blocks & 2 * VBLOCKS)
        xts_small(&s, decrypt, 2);
    if (blocks & VBLOCKS)
        xts_small(&s, decrypt, 1);
    b_store(tweak, v_block_0(s.run.chain));
    if (blocks & (VBLOCKS - 1)) {
        s.tweak[0] = s.run.chain;
        xts_group(&s, decrypt, 1, blocks & (VBLOCKS - 1));
        for (unsigned i = 0; i < (blocks & (VBLOCKS - 1)); i++)
            tr_xts_double(tweak, tweak);
    }
}

static TR_TARGET void xts_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *tweak)
{
    xts(key, out, in, blocks, tweak, 0);
}

static TR_TARGET void xts_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *tweak)
{
    xts(key, out, in, blocks, tweak, 1);
}

#define TR_XTS_OPS [TR_OP_XTS_ENCRYPT] = xts_encrypt, [TR_OP_XTS_DECRYPT] = xts_decrypt
