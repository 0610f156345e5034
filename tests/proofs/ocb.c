/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves that OCB's one-shot calls (core/modes/ocb.c) refuse wrong arguments: they return the
 * documented error and write neither output nor tag. The wrong arguments are a missing key, output
 * that begins inside the input, and a nonce or tag of no bytes or of one byte too many. AAD and
 * data have up to LONGEST bytes.
 *
 * The proof detects this mutation: tr_ocb_start() returns TR_ERR_LENGTH for a wrong nonce. If a
 * call continues after a wrong argument, the proof fails by exceeding its time limit.
 *
 * CBMC: --no-array-field-sensitivity --unwind 3 --object-bits 11
 * CBMC: --unwindset tr_cleanse_inline.1:18,tr_cleanse_inline.2:18
 */
#include <string.h>

#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

#include "modes/ocb.c"

#include "one_shot.h"

static struct tr_ocb_key key;

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    if (op == TR_OP_ECB_ENCRYPT || op == TR_OP_ECB_DECRYPT)
        return stub_plain(aes, out, in, blocks, state);
    if (!stub_does(aes, out, in, blocks, true))
        return 0;
    struct tr_ocb_run *run = state;
    __CPROVER_havoc_slice(run->offset, TR_BLOCK);
    __CPROVER_havoc_slice(run->checksum, TR_BLOCK);
    run->index += blocks;
    return blocks;
}

static enum tr_status expected(void)
{
    return d.overlap && d.len != 0                  ? TR_ERR_OVERLAP
           : key.aes.backend == NULL                ? TR_ERR_STATE
           : o.nonce_len == 0 || o.nonce_len > 15   ? TR_ERR_IV_LENGTH
           : o.tag_len == 0 || o.tag_len > TR_BLOCK ? TR_ERR_TAG_LENGTH
                                                    : TR_OK;
}

/* Makes a call that must be refused. Its arguments are constants, except the lengths of AAD and
 * data, so CBMC does not examine the code that such a call never reaches. */
static void refused_one(bool opens, bool set, bool overlap, size_t nonce_len, size_t tag_len)
{
    key.aes.backend = set ? &stub : NULL;
    one_shot_begin(15);
    o.nonce_len = nonce_len;
    o.nonce = nonce_object;
    o.tag_len = tag_len;
    o.tag = tag_object;
    d.overlap = overlap;
    if (overlap) {
        d.len = LONGEST;
        d.in = in_object;
        d.out = out_object;
    }
    const enum tr_status status = expected();
    assert(status != TR_OK);
    one_shot_ends(opens ? tr_ocb_open(&key, o.nonce, o.nonce_len, o.aad, o.aad_len, d.out, d.in,
                                      d.len, o.tag, o.tag_len)
                        : tr_ocb_seal(&key, o.nonce, o.nonce_len, o.aad, o.aad_len, d.out, d.in,
                                      d.len, o.tag, o.tag_len),
                  status, opens);
}

void proof_refused(void)
{
    const bool opens = nondet_bool();
    switch (any_up_to(5)) {
    case 0:
        refused_one(opens, false, false, 12, 16);
        break;
    case 1:
        refused_one(opens, true, true, 12, 16);
        break;
    case 2:
        refused_one(opens, true, false, 0, 16);
        break;
    case 3:
        refused_one(opens, true, false, 16, 16);
        break;
    case 4:
        refused_one(opens, true, false, 12, 0);
        break;
    default:
        refused_one(opens, true, false, 12, 17);
        break;
    }
}
