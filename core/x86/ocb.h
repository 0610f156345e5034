/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OCB3, RFC 7253 section 4.2, for one width of vector: the block before and after the cipher is xored
 * with its offset, and the plaintext is added up.
 *
 * The offset of block i is that of block i - 1 plus L_ntz(i). From a block whose number is a multiple of
 * GROUP on, the next GROUP offsets are therefore the last one plus sums of L_0, L_1, .. that are the
 * same for every group: block 1 adds L_0, block 2 L_0 + L_1, block 3 L_1, and so on like a Gray code.
 * Only the last block of a group adds an L of its own. The sums are made once for a call; what is left after the last full
 * group takes the first of them.
 *
 * Bound: beside the rounds, four or five xors a vector: the offset, with the first round key and the
 * input, with the last round key, and the checksum; where AES waits for operands they cost nothing. Whole messages of AES-128
 * on Zen 4, of the rate of AES alone: 16 KiB 0.88 on ZMM, 0.81 on YMM, 0.79 of its half on XMM. A message waits
 * three times for the latency of AES, one after the other: nonce, data, tag; hence 0.41 at 1 KiB on ZMM and YMM.
 *
 * The last offset stays in a register: in memory, where its halves are stored, each group's load of it had to wait for these
 * stores, and all that came before them (YMM 0.46, XMM 0.55 of its half).
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
TR_INLINE TR_TARGET V ocb_offset(const struct ocb *o, unsigned j)
{
    V offset = v_xor(o->before, v_load(o->sums + (size_t)j * VBYTES));
    return j == IN_FLIGHT - 1 ? v_xor(offset, o->own) : offset;
}

/* u vectors, of which the last may have but part blocks, at o->sums. */
TR_INLINE TR_TARGET void ocb_group(struct ocb *o, int decrypt, unsigned u, unsigned part)
{
    struct run *r = &o->run;
    struct how how = {.vectors = u, .part = part};
    V x[IN_FLIGHT], k = first_key(r->keys);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V in = load_vector(r->in + (size_t)j * VBYTES, part_of(how, j));
        if (!decrypt)
            o->checksum = v_xor(o->checksum, in);
        x[j] = v_xor3(k, ocb_offset(o, j), in);
    }
    k = middle_rounds(x, u, decrypt, r);
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        V last = v_xor(k, ocb_offset(o, j));
        x[j] = decrypt ? v_aesdeclast(x[j], last) : v_aesenclast(x[j], last);
    }
    UNROLL
    for (unsigned j = 0; j < u; j++) {
        store_vector(r->out + (size_t)j * VBYTES, x[j], part_of(how, j));
        if (decrypt) {
            /* What is behind the last block is not of the message. */
            if (part_of(how, j))
                x[j] = v_load_part(r->out + (size_t)j * VBYTES, part);
            o->checksum = v_xor(o->checksum, x[j]);
        }
    }
    size_t done = (size_t)u * VBYTES - (part ? VBYTES - part * TR_BLOCK : 0);
    r->in += done;
    r->out += done;
}

/* Blocks that do not begin a group, one by one: only a message in pieces has them. */
TR_INLINE TR_TARGET void ocb_lead(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                  size_t blocks)
{
    uint8_t offset[VBYTES] = {0};
    o->before = v_first(b_zero());
    o->sums = offset;
    for (; blocks != 0; blocks--) {
        tr_ocb_next_offset(state);
        __builtin_memcpy(offset, state->offset, TR_BLOCK);
        ocb_group(o, decrypt, 1, VBLOCKS == 1 ? 0 : 1);
    }
    tr_wipe(offset, sizeof(offset));
}

/* For each block of a group what its offset has beside the last one before the group; the last one lacks its own L. The
 * sums of the first blocks of a vector are the same in each, but for the sum of what came before; the last one's has an L
 * of its own. */
TR_INLINE TR_TARGET void ocb_sums(uint8_t *sums, const struct tr_ocb_run *state)
{
    B l0 = b_load(state->l[0]), l1 = b_load(state->l[1]), before = b_zero();
    V within = v_gray(l0, l1);
    B last = VBLOCKS == 4 ? l1 : VBLOCKS == 2 ? l0 : b_zero();
    for (unsigned j = 0; j < IN_FLIGHT; j++) {
        B own = j + 1 < IN_FLIGHT ? b_load(state->l[__builtin_ctz((j + 1) * VBLOCKS)]) : b_zero();
        v_store(sums + (size_t)j * VBYTES, v_xor3(v_spread(before), within, v_last(own)));
        before = b_xor(before, b_xor(last, own));
    }
}

/* From a block on that begins a group. */
TR_INLINE TR_TARGET void ocb_groups(struct ocb *o, struct tr_ocb_run *state, int decrypt,
                                    size_t blocks)
{
    uint8_t sums[GROUP][TR_BLOCK] TR_ALIGNED(VBYTES), l[TR_BLOCK];
    B offset = b_load_halves(state->offset);
    ocb_sums(sums[0], state);
    o->sums = sums[0];
    for (; blocks >= GROUP; blocks -= GROUP) {
        state->index += GROUP;
        unsigned n = (unsigned)__builtin_ctzll(state->index);
        B own;
        if (n < TR_OCB_POWERS) {
            own = b_load(state->l[n]);
        } else {
            tr_ocb_l(state, n, l);
            own = b_load(l);
            tr_wipe(l, sizeof(l));
        }
        o->before = v_spread(offset);
        o->own = v_last(own);
        offset = b_xor(b_xor(offset, b_load(sums[GROUP - 1])), own);
        ocb_group(o, decrypt, IN_FLIGHT, 0);
    }
    if (blocks != 0) {
        o->before = v_spread(offset);
        o->own = v_first(b_zero());
        state->index += blocks;
        offset = b_xor(offset, b_load(sums[blocks - 1]));
        switch (VECTORS_OF(blocks)) {
#    define OCB_GROUP(n)                                                                           \
    case n:                                                                                        \
        ocb_group(o, decrypt, n, blocks % VBLOCKS);                                                \
        break;
            BY_VECTORS(OCB_GROUP)
        }
    }
    b_store(state->offset, offset);
    for (unsigned j = 0; j < IN_FLIGHT; j++)
        v_store((uint8_t *)sums + (size_t)j * VBYTES, v_first(b_zero()));
    __asm__ volatile("" : : "r"(sums) : "memory");
}

TR_INLINE TR_TARGET void ocb(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,
                             size_t blocks, struct tr_ocb_run *state, int decrypt)
{
    struct ocb o = {.run = start(key, decrypt ? key->dec : key->enc, out, in),
                    .checksum = v_first(b_load_halves(state->checksum))};
    size_t lead = (size_t)(0 - state->index) % GROUP;
    if (lead > blocks)
        lead = blocks;
    ocb_lead(&o, state, decrypt, lead);
    if (blocks != lead)
        ocb_groups(&o, state, decrypt, blocks - lead);
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
