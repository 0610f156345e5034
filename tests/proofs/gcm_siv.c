/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves that GCM-SIV's one-shot calls (core/modes/gcm_siv.c) return the documented error without a
 * key, and for output that begins inside the input. They then write neither output nor tag. AAD and
 * data have up to LONGEST bytes.
 *
 * The proof detects this mutation: tr_gcm_siv_start() does not check whether the key is set.
 *
 * CBMC: --no-array-field-sensitivity --object-bits 11 --unwind 8
 * CBMC: --unwindset gcm_siv_polyval.1:3,gcm_siv_next_counters.1:3,tr_append_padded.0:3
 * CBMC: --unwindset gcm_siv_counter_mode.1:17,gcm_siv_counter_mode.2:3
 */
#include <string.h>

#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

#include "modes/gcm_siv.c"

#include "one_shot.h"

static struct tr_gcm_siv_key key;

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    if (!stub_does(aes, out, in, blocks, op == TR_OP_POLYVAL || op == TR_OP_CTR_LE))
        return 0;
    if (op == TR_OP_POLYVAL || op == TR_OP_GHASH)
        __CPROVER_havoc_slice(((struct tr_ghash *)state)->hash, TR_BLOCK);
    else if (state != NULL)
        __CPROVER_havoc_slice(state, TR_BLOCK);
    return blocks;
}

enum tr_status tr_aes_set_encryption_key(struct tr_aes_key *k, const struct tr_backend *backend,
                                         const uint8_t *raw, size_t key_len)
{
    assert(key_len == 16 || key_len == 24 || key_len == 32);
    assert(__CPROVER_r_ok(raw, key_len));
    k->backend = backend;
    k->rounds = (uint32_t)key_len / 4 + 6;
    return TR_OK;
}

void tr_ghash_expand(struct tr_ghash_key *hash, const struct tr_backend *backend)
{
    assert(backend == &stub && __CPROVER_w_ok(hash, sizeof(*hash)));
}

static enum tr_status expected(void)
{
    return d.overlap && d.len != 0   ? TR_ERR_OVERLAP
           : key.aes.backend == NULL ? TR_ERR_STATE
                                     : TR_OK;
}

/* Makes a call that must be refused. Its arguments are constants, except the lengths of AAD and
 * data, so CBMC does not examine the code that such a call never reaches. */
static void refused_one(bool opens, bool set, bool overlap)
{
    key.aes.backend = set ? &stub : NULL;
    key.aes.rounds = 10;
    one_shot_begin(0);
    o.nonce = nonce_object + 4;
    o.tag_len = TR_BLOCK;
    o.tag = tag_object;
    d.overlap = overlap;
    if (overlap) {
        d.len = LONGEST;
        d.in = in_object;
        d.out = out_object;
    }
    const enum tr_status status = expected();
    assert(status != TR_OK);
    one_shot_ends(opens
                      ? tr_gcm_siv_open(&key, o.nonce, o.aad, o.aad_len, d.out, d.in, d.len, o.tag)
                      : tr_gcm_siv_seal(&key, o.nonce, o.aad, o.aad_len, d.out, d.in, d.len, o.tag),
                  status, opens);
}

void proof_refused(void)
{
    const bool opens = nondet_bool();
    if (nondet_bool())
        refused_one(opens, false, false);
    else
        refused_one(opens, true, true);
}
