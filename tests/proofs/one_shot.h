/* SPDX-License-Identifier: BSD-2-Clause */
/* A one-shot call of an authenticated mode: its arguments, and what must hold afterwards. */
#ifndef TR_PROOF_ONE_SHOT_H
#define TR_PROOF_ONE_SHOT_H

/* The nonce and the AAD end where their objects end, and so does the tag. */
static uint8_t nonce_object[16], aad_object[LONGEST], tag_object[TR_BLOCK], tag_before[TR_BLOCK];
static struct {
    const uint8_t *nonce, *aad;
    uint8_t *tag;
    size_t nonce_len, aad_len, tag_len;
} o;

/* Chooses the arguments. Nonces longer than `most_nonce` and tags longer than a block must be
 * errors, so they get no memory. */
static void one_shot_begin(size_t most_nonce)
{
    o.nonce_len = nondet_size();
    o.tag_len = nondet_size();
    o.aad_len = any_up_to(LONGEST);
    o.nonce = nonce_object + sizeof(nonce_object) - (o.nonce_len <= most_nonce ? o.nonce_len : 0);
    o.aad = aad_object + LONGEST - o.aad_len;
    o.tag = tag_object + TR_BLOCK - (o.tag_len <= TR_BLOCK ? o.tag_len : 0);
    __CPROVER_havoc_object(tag_object);
    memcpy(tag_before, tag_object, TR_BLOCK);
    data_begin();
}

/* Asserts the status, and that only the output and a seal's tag have changed. The output is zero on
 * tag mismatch, and untouched on any other error. */
static void one_shot_ends(enum tr_status status, enum tr_status expected, bool opens)
{
    const size_t i = any_up_to(TR_BLOCK - 1), j = any_up_to(LONGEST - 1);
    assert(status == expected || (opens && expected == TR_OK && status == TR_ERR_TAG));
    data_unchanged(status == TR_OK || status == TR_ERR_TAG);
    assert(status != TR_ERR_TAG || j >= d.len || d.out[j] == 0);
    assert((!opens && status == TR_OK && tag_object + i >= o.tag) ||
           tag_object[i] == tag_before[i]);
}

#endif
