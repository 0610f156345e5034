/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves GCM's streaming calls except those for data (core/modes/gcm.c, ghash.c). Each proof begins
 * with any message that fulfils the invariant, and shows that the invariant holds after the call.
 * So the proofs cover calls in any order and number. The IV and the AAD of one call have at most
 * LONGEST bytes. The AAD and data before the call have any length up to their limits.
 *
 * The proofs detect these mutations: TR_BLOCK + 1 as the largest tag length, and no cleansing of
 * the keystream (proof_tag).
 *
 * CBMC: --no-array-field-sensitivity --unwind 4 --unwindset memcmp.0:130,tr_equal.0:18
 * CBMC: --unwindset tr_cleanse_inline.0:4,tr_cleanse_inline.1:18,tr_cleanse_inline.2:18
 */
#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

#include "modes/gcm.c"
#include "modes/ghash.c"

static struct tr_gcm_key key;
static struct tr_gcm g, before;
static uint8_t tag[TR_BLOCK];

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    if (op != TR_OP_GCM_ENCRYPT && op != TR_OP_GCM_DECRYPT && op != TR_OP_GCM_TAG)
        return stub_plain(aes, out, in, blocks, state);
    if (!stub_does(aes, out, in, blocks, true))
        return 0;
    struct tr_gcm *m = state;
    __CPROVER_havoc_slice(m->ghash.hash, TR_BLOCK);
    __CPROVER_havoc_slice(m->counter, TR_BLOCK);
    if (m->mask_due)
        __CPROVER_havoc_slice(m->mask, TR_BLOCK);
    if (m->keystream_due)
        __CPROVER_havoc_slice(m->keystream, TR_BLOCK);
    m->mask_due = 0;
    m->used = 0;
    return blocks;
}

static bool invariant(void)
{
    return g.phase <= DATA && g.used <= TR_BLOCK &&
           (g.used < TR_BLOCK || (g.phase == AAD && g.aad_len == TR_BLOCK)) &&
           g.aad_len <= MAX_AAD && g.len <= TR_GCM_MAX_DATA;
}

static void begin(void)
{
    key.aes.backend = nondet_bool() ? &stub : NULL;
    __CPROVER_havoc_object(&g);
    g.key = &key;
    g.ghash.key = &key.hash;
    ASSUME(invariant());
    memcpy(&before, &g, sizeof(g));
    data_begin();
}

static bool was(enum phase one, enum phase other)
{
    return key.aes.backend != NULL && (before.phase == one || before.phase == other);
}

static void ends(enum tr_status status, enum tr_status expected, bool writes)
{
    assert(status == expected);
    assert(invariant());
    data_unchanged(writes && status == TR_OK);
    if (status != TR_OK && status != TR_ERR_TAG)
        assert(memcmp(&g, &before, sizeof(g)) == 0);
}

void proof_start(void)
{
    begin();
    enum tr_status status = tr_gcm_start(&g, &key, d.in, d.len);
    assert(status != TR_OK || (g.phase == AAD && g.len == 0 && g.aad_len == 0));
    ends(status,
         key.aes.backend == NULL ? TR_ERR_STATE
         : d.len == 0            ? TR_ERR_IV_LENGTH
                                 : TR_OK,
         false);
}

void proof_aad(void)
{
    begin();
    /* Too much AAD is refused before it is read. */
    bool too_long = nondet_bool();
    size_t len = too_long ? nondet_size() : d.len;
    ASSUME(too_long == (len > MAX_AAD - g.aad_len));
    enum tr_status status = tr_gcm_aad(&g, d.in, len);
    assert(status != TR_OK || g.aad_len == before.aad_len + len);
    ends(status, !was(AAD, AAD) ? TR_ERR_STATE : too_long ? TR_ERR_LENGTH : TR_OK, false);
}

static void end(bool check)
{
    begin();
    size_t len = nondet_size();
    /* The tag ends where its array ends, so CBMC finds any access beyond the tag. */
    uint8_t *at = tag + (len <= TR_BLOCK ? TR_BLOCK - len : 0);
    enum tr_status status = check ? tr_gcm_check(&g, at, len) : tr_gcm_tag(&g, at, len);
    enum tr_status expected = !was(AAD, DATA)              ? TR_ERR_STATE
                              : len == 0 || len > TR_BLOCK ? TR_ERR_TAG_LENGTH
                                                           : TR_OK;
    if (status == TR_ERR_TAG && check)
        expected = expected == TR_OK ? TR_ERR_TAG : expected;
    ends(status, expected, false);
    if (status == TR_OK || status == TR_ERR_TAG) {
        size_t i = any_up_to(TR_BLOCK - 1);
        assert(g.phase == IDLE && (g.mask[i] | g.keystream[i] | g.ghash.hash[i]) == 0);
    }
}
void proof_tag(void)
{
    end(false);
}
void proof_check(void)
{
    end(true);
}
