/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OCB3, RFC 7253 section 4.2, for one width of vector: the block before and after the cipher is xored
 * with its offset, and the plaintext is added up.
 *
 * The offset of block i is that of block i - 1 plus L_ntz(i). From a block whose number is a multiple of
 * GROUP on, the next GROUP offsets are therefore the last one plus sums of L_0, L_1, .. that are the
 * same for every group: block 1 adds L_0, block 2 L_0 + L_1, block 3 L_1, and so on like a Gray code.
 * Only the last block of a group adds an L of its own. The sums are made once for a call.
 *
 * Bound: beside the rounds, four or five xors a vector: the offset, with the first round key and the
 * input, with the last round key, and the checksum.
 */
#if TR_ENV_ALL_MODES
#    include "../ocb.h"

struct ocb {
    struct run run;
    V before, own;       /* offsets are before + sums, the last vector's in a full group + own */
    const uint8_t *sums; /* vectors */
    V checksum;
};

/* Made twice, from memory: with 16 registers there is no room to keep them. */
TR_INLINE TR_TARGET V ocb_offset(const struct ocb *o, unsigned j, unsigned part)
{
    const uint8_t *sums = o->sums + (size_t)j * VBYTES;
    V offset = v_xor(o->before, part ? v_load_part(sums, part) : v_load(sums));
    return j == IN_FLIGHT - 1 ? v_xor(offset, o->own) : offset;
}

/* u vectors, of which the only one may have but part blocks, at o->sums. */
TR_INLINE TR_TARGET void ocb_group(struct ocb *o, int decrypt, unsigned u, unsigned part)
{
    struct run *r = &o->run;
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V in = load_vector(r->in + (size_t)j * VBYTES, part);
        if (!decrypt)
            o->checksum = v_xor(o->checksum, in);
        x[j] = v_xor(v_xor(k, ocb_offset(o, j, part)), in);
    }
    k = middle_rounds(x, u, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V last = v_xor(k, ocb_offset(o, j, part));
        x[j] = decrypt ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        if (part) {
            v_store_part(r->out, x[j], part);
            if (decrypt)
                x[j] = v_load_part(r->out, part);
        } else {
            v_store(r->out + (size_t)j * VBYTES, x[j]);
        }
        if (decrypt)
            o->checksum = v_xor(o->checksum, x[j]);
    }
    size_t done = part ? (size_t)part * TR_BLOCK : (size_t)u * VBYTES;
    r->in += done;
    r->out += done;
}

/* The next u vectors, offset by offset. */
TR_INLINE TR_TARGET void ocb_vectors(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                     unsigned u, unsigned part)
{
    uint8_t offsets[4 * VBYTES];
    unsigned n = part ? part : u * VBLOCKS;
    for (unsigned i = 0; i < n; i++) {
        tr_ocb_next_offset(state);
        __builtin_memcpy(offsets + (size_t)i * TR_BLOCK, state->offset, TR_BLOCK);
    }
    o->before = v_first(b_zero());
    o->sums = offsets;
    ocb_group(o, decrypt, u, part);
    tr_cleanse(offsets, (size_t)n * TR_BLOCK);
}

/* Fewer blocks than a group, or ones that do not begin one. */
TR_INLINE TR_TARGET void ocb_small(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                   size_t blocks)
{
    for (; blocks >= 4 * VBLOCKS; blocks -= 4 * VBLOCKS)
        ocb_vectors(o, state, decrypt, 4, 0);
    if (blocks & 2 * VBLOCKS)
        ocb_vectors(o, state, decrypt, 2, 0);
    if (blocks & VBLOCKS)
        ocb_vectors(o, state, decrypt, 1, 0);
    if (blocks & (VBLOCKS - 1))
        ocb_vectors(o, state, decrypt, 1, blocks & (VBLOCKS - 1));
}

/* sums[i] is what offset i + 1 of a group adds to the last offset before it; the last one lacks its own
 * L. */
TR_INLINE TR_TARGET void ocb_sums(uint8_t sums[GROUP][TR_BLOCK], const struct tr_ocb_run *state)
{
    B sum = b_zero();
    for (unsigned i = 1; i <= GROUP; i++) {
        if (i < GROUP)
            sum = b_xor(sum, b_load(state->l[__builtin_ctz(i)]));
        b_store(sums[i - 1], sum);
    }
}

TR_INLINE TR_TARGET void ocb_groups(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                    size_t groups)
{
    uint8_t sums[GROUP][TR_BLOCK] TR_ALIGNED(VBYTES), l[TR_BLOCK];
    ocb_sums(sums, state);
    o->sums = sums[0];
    for (; groups != 0; groups--) {
        state->index += GROUP;
        tr_ocb_l(state, (unsigned)__builtin_ctzll(state->index), l);
        o->before = v_all(state->offset);
        o->own = v_last(b_load(l));
        tr_xor_block(state->offset, state->offset, sums[GROUP - 1]);
        tr_xor_block(state->offset, state->offset, l);
        ocb_group(o, decrypt, IN_FLIGHT, 0);
    }
    tr_cleanse(sums, sizeof(sums));
}

TR_INLINE TR_TARGET void ocb(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_ocb_run *state, int decrypt)
{
    struct ocb o = {.run = start(key, decrypt ? key->dec : key->enc, out, in),
                    .checksum = v_first(b_load(state->checksum))};
    size_t lead = (size_t)(0 - state->index) % GROUP;
    if (blocks >= lead + GROUP) {
        ocb_small(&o, state, decrypt, lead);
        blocks -= lead;
        ocb_groups(&o, state, decrypt, blocks / GROUP);
        blocks %= GROUP;
    }
    ocb_small(&o, state, decrypt, blocks);
    b_store(state->checksum, v_sum(o.checksum));
}

static TR_TARGET void ocb_encrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    ocb(key, out, in, blocks, state, 0);
}

static TR_TARGET void ocb_decrypt(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                                  size_t blocks, void *state)
{
    ocb(key, out, in, blocks, state, 1);
}

#    define TR_OCB_OPS [TR_OP_OCB_ENCRYPT] = ocb_encrypt, [TR_OP_OCB_DECRYPT] = ocb_decrypt
#else
#    define TR_OCB_OPS [TR_OP_OCB_ENCRYPT] = NULL
#endif
