/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves SIV's one-shot calls (core/modes/siv.c): they return the documented status, and write only
 * the output and the tag. On tag mismatch the output is zero. On any other error they write neither
 * output nor tag. AAD and data have up to LONGEST bytes. Stubs replace CMAC, which has its own
 * proofs (cmac.c), and CTR, which has none.
 *
 * proof_open detects this mutation: the output is not cleansed on tag mismatch.
 *
 * CBMC: --no-array-field-sensitivity --unwind 6 --unwindset tr_cleanse_inline.1:18,tr_equal.0:18
 * CBMC: --unwindset tr_cleanse_inline.2:18
 */
#include <string.h>

#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    (void)op;
    return stub_plain(aes, out, in, blocks, state);
}

#include "modes/siv.c"

#include "one_shot.h"

static struct tr_siv_key key;

enum tr_status tr_cmac_sign(const struct tr_cmac_key *k, const uint8_t *data, size_t len,
                            uint8_t *tag, size_t tag_len)
{
    assert(k == &key.mac && __CPROVER_r_ok(data, len) && tag_len == TR_BLOCK);
    __CPROVER_havoc_slice(tag, TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_cmac_start(struct tr_cmac *c, const struct tr_cmac_key *k)
{
    assert(k == &key.mac);
    __CPROVER_havoc_slice(c, sizeof(*c));
    return TR_OK;
}

enum tr_status tr_cmac_update(struct tr_cmac *c, const uint8_t *data, size_t len)
{
    assert(__CPROVER_w_ok(c, sizeof(*c)) && __CPROVER_r_ok(data, len));
    return TR_OK;
}

enum tr_status tr_cmac_tag(struct tr_cmac *c, uint8_t *tag, size_t tag_len)
{
    assert(__CPROVER_w_ok(c, sizeof(*c)) && tag_len == TR_BLOCK);
    __CPROVER_havoc_slice(tag, TR_BLOCK);
    return TR_OK;
}

enum tr_status tr_ctr(const struct tr_aes_key *k, uint8_t counter[16], uint8_t keystream[16],
                      unsigned *used, uint8_t *out, const uint8_t *in, size_t len)
{
    assert(k == &key.ctr && *used == 0 && __CPROVER_w_ok(counter, TR_BLOCK));
    assert(__CPROVER_w_ok(keystream, TR_BLOCK) && __CPROVER_r_ok(in, len));
    __CPROVER_havoc_slice(out, len);
    return TR_OK;
}

static enum tr_status expected(void)
{
    return d.overlap && d.len != 0   ? TR_ERR_OVERLAP
           : key.ctr.backend == NULL ? TR_ERR_STATE
                                     : TR_OK;
}

static void begin(void)
{
    key.ctr.backend = nondet_bool() ? &stub : NULL;
    one_shot_begin(0);
    o.tag_len = TR_BLOCK;
    o.tag = tag_object;
    if (nondet_bool()) { /* without AAD */
        o.aad = NULL;
        o.aad_len = 0;
    }
}

void proof_seal(void)
{
    begin();
    one_shot_ends(tr_siv_seal(&key, o.aad, o.aad_len, d.out, d.in, d.len, o.tag), expected(),
                  false);
}

void proof_open(void)
{
    begin();
    one_shot_ends(tr_siv_open(&key, o.aad, o.aad_len, d.out, d.in, d.len, o.tag), expected(), true);
}
