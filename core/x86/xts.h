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
 * shifts and five xors.
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

struct xts {
    struct run run; /* chain: the tweaks of the next vector */
    V tweak[IN_FLIGHT];
};

/* u vectors, of which the only one may have but part blocks, with the tweaks in x->tweak. */
TR_INLINE TR_TARGET void xts_group(struct xts *s, int decrypt, unsigned u, unsigned part)
{
    struct run *r = &s->run;
    struct how how = {.part = part};
    V x[IN_FLIGHT], k = v_all(r->keys);
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
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        s->tweak[j] = s->run.chain;
        s->run.chain = TIMES_X(s->run.chain, VBLOCKS);
    }
}

TR_INLINE TR_TARGET void xts_small(struct xts *s, int decrypt, unsigned u)
{
    next_tweaks(s, u);
    xts_group(s, decrypt, u, 0);
}

/* The tweaks of the first vector: places 0, 1, .. are the tweak times 1, x, .. */
TR_INLINE TR_TARGET V first_tweaks(const uint8_t *tweak)
{
    uint8_t t[4 * TR_BLOCK];
    __builtin_memcpy(t, tweak, TR_BLOCK);
    for (unsigned i = 1; i < VBLOCKS; i++)
        tr_xts_double(t + TR_BLOCK * i, t + TR_BLOCK * (i - 1));
    V first = v_load(t);
    tr_cleanse(t, sizeof(t));
    return first;
}

TR_INLINE TR_TARGET void xts(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, uint8_t *tweak, int decrypt)
{
    struct xts s = {.run = start(key, decrypt ? key->dec : key->enc, out, in)};
    s.run.chain = first_tweaks(tweak);
    if (blocks >= GROUP) {
        next_tweaks(&s, IN_FLIGHT);
        for (; blocks >= GROUP; blocks -= GROUP) {
            xts_group(&s, decrypt, IN_FLIGHT, 0);
            UNROLL
            for (unsigned j = 0; j < IN_FLIGHT; j++)
                s.tweak[j] = TIMES_X_BYTES(s.tweak[j], VBLOCKS);
        }
        s.run.chain = s.tweak[0];
    }
    if (blocks & 4 * VBLOCKS)
        xts_small(&s, decrypt, 4);
    if (blocks & 2 * VBLOCKS)
        xts_small(&s, decrypt, 2);
    if (blocks & VBLOCKS)
        xts_small(&s, decrypt, 1);
    _mm_storeu_si128((__m128i *)tweak, v_block_0(s.run.chain));
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
