/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves CCM's streaming calls (core/modes/ccm.c) by the method of tests/proofs/gcm.c.
 *
 * proof_start detects this mutation: tr_ccm_start() accepts texts of up to twice the length that
 * the nonce length allows.
 *
 * CBMC: --no-array-field-sensitivity --unwind 4 --unwindset memcmp.0:130,tr_equal.0:18
 * CBMC: --unwindset tr_cleanse_inline.0:4,tr_cleanse_inline.1:18,tr_cleanse_inline.2:18
 */
#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

#include "modes/ccm.c"

static struct tr_ccm_key key;
static struct tr_ccm c, before;
static uint8_t tag[TR_BLOCK];

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    if (op != TR_OP_CCM_ENCRYPT && op != TR_OP_CCM_DECRYPT)
        return stub_plain(aes, out, in, blocks, state);
    if (!stub_does(aes, out, in, blocks, true))
        return 0;
    __CPROVER_havoc_slice(state, sizeof(struct tr_ccm_run));
    return blocks;
}

static bool invariant(void)
{
    return c.phase <= DATA && c.used < TR_BLOCK && c.tag_len >= 4 && c.tag_len <= TR_BLOCK &&
           (c.phase != AAD || c.aad_left != 0) && (c.phase != DATA || c.aad_left == 0);
}

static void begin(void)
{
    key.aes.backend = nondet_bool() ? &stub : NULL;
    __CPROVER_havoc_object(&c);
    c.key = &key;
    ASSUME(invariant());
    memcpy(&before, &c, sizeof(c));
    data_begin();
}

static void ends(enum tr_status status, enum tr_status expected, bool writes)
{
    assert(status == expected);
    assert(invariant());
    data_unchanged(writes && status == TR_OK);
    if (status != TR_OK && status != TR_ERR_TAG)
        assert(memcmp(&c, &before, sizeof(c)) == 0);
}

/* Proves tr_ccm_start() for all lengths of AAD and text. The nonce is d.in, of d.len bytes
 * (proof.h). */
void proof_start(void)
{
    begin();
    uint64_t aad_len = nondet_u64(), len = nondet_u64();
    size_t tag_len = nondet_size();
    unsigned q = 15 - (unsigned)d.len;
    enum tr_status status = tr_ccm_start(&c, &key, d.in, d.len, tag_len, aad_len, len);
    assert(status != TR_OK || (c.left == len && c.aad_left == aad_len));
    ends(status,
         key.aes.backend == NULL                           ? TR_ERR_STATE
         : d.len < 7 || d.len > 13                         ? TR_ERR_IV_LENGTH
         : tag_len < 4 || tag_len > 16 || tag_len % 2 != 0 ? TR_ERR_TAG_LENGTH
         : q < 8 && len > ((uint64_t)1 << 8 * q) - 1       ? TR_ERR_LENGTH
                                                           : TR_OK,
         false);
}

void proof_aad(void)
{
    begin();
    bool open = key.aes.backend != NULL && (c.phase == AAD || c.phase == DATA);
    enum tr_status status = tr_ccm_aad(&c, d.in, d.len);
    assert(status != TR_OK || c.aad_left == before.aad_left - d.len);
    ends(status, !open ? TR_ERR_STATE : d.len > before.aad_left ? TR_ERR_LENGTH : TR_OK, false);
}

static void crypt(enum tr_status (*call)(struct tr_ccm *, uint8_t *, const uint8_t *, size_t))
{
    begin();
    bool open = key.aes.backend != NULL && c.phase == DATA;
    enum tr_status status = call(&c, d.out, d.in, d.len);
    assert(status != TR_OK || c.left == before.left - d.len);
    ends(status,
         !open                     ? TR_ERR_STATE
         : d.len > before.left     ? TR_ERR_LENGTH
         : d.overlap && d.len != 0 ? TR_ERR_OVERLAP
                                   : TR_OK,
         true);
}
void proof_encrypt(void)
{
    crypt(tr_ccm_encrypt);
}
void proof_decrypt(void)
{
    crypt(tr_ccm_decrypt);
}

static void end(bool check)
{
    begin();
    bool open = key.aes.backend != NULL && c.phase == DATA && c.left == 0;
    /* The tag ends where its array ends, so CBMC finds any access beyond the tag. */
    uint8_t *at = tag + TR_BLOCK - c.tag_len;
    enum tr_status status = check ? tr_ccm_check(&c, at) : tr_ccm_tag(&c, at);
    ends(status, !open ? TR_ERR_STATE : check && status == TR_ERR_TAG ? TR_ERR_TAG : TR_OK, false);
    size_t i = any_up_to(TR_BLOCK - 1);
    assert(!open || (c.phase == IDLE && (c.tag_mask[i] | c.keystream[i] | c.run.mac[i]) == 0));
}
void proof_tag(void)
{
    end(false);
}
void proof_check(void)
{
    end(true);
}
