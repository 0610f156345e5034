/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves CMAC's streaming calls (core/modes/cmac.c). Each proof begins with any message that
 * fulfils the invariant, and shows that the invariant holds after the call.
 *
 * The proofs detect these mutations: `len > room + 1` for `len > room` (proof_update), and writing
 * the padding byte 0x80 even if the last block is full (proof_tag).
 *
 * CBMC: --no-array-field-sensitivity --unwind 4 --unwindset memcmp.0:130,tr_equal.0:18
 * CBMC: --unwindset tr_cleanse_inline.0:4,tr_cleanse_inline.1:18,tr_cleanse_inline.2:18
 */
#define LONGEST 35u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

#include "modes/cmac.c"

static struct tr_cmac_key key;
static struct tr_cmac c, before;
static uint8_t tag[TR_BLOCK];

static size_t stub_bulk(const struct tr_aes_key *aes, enum tr_op op, uint8_t *out,
                        const uint8_t *in, size_t blocks, void *state)
{
    (void)op;
    return stub_plain(aes, out, in, blocks, state);
}

static bool invariant(void)
{
    return c.phase <= DATA && c.used <= TR_BLOCK;
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

static void ends(enum tr_status status, enum tr_status expected)
{
    assert(status == expected);
    assert(invariant());
    data_unchanged(false);
    if (status != TR_OK && status != TR_ERR_TAG)
        assert(memcmp(&c, &before, sizeof(c)) == 0);
}

void proof_start(void)
{
    begin();
    enum tr_status status = tr_cmac_start(&c, &key);
    assert(status != TR_OK || (c.phase == DATA && c.used == 0));
    ends(status, key.aes.backend == NULL ? TR_ERR_STATE : TR_OK);
}

void proof_update(void)
{
    begin();
    bool open = key.aes.backend != NULL && c.phase == DATA;
    enum tr_status status = tr_cmac_update(&c, d.in, d.len);
    /* The last block stays in the buffer, even if it is full. */
    size_t total = before.used + d.len;
    assert(status != TR_OK || c.used == (total == 0 ? 0 : (total - 1) % TR_BLOCK + 1));
    ends(status, open ? TR_OK : TR_ERR_STATE);
}

static void end(bool check)
{
    begin();
    size_t len = nondet_size();
    bool open = key.aes.backend != NULL && c.phase == DATA;
    /* The tag ends where the array ends, so CBMC finds any access beyond its `len` bytes. */
    uint8_t *at = tag + (len <= TR_BLOCK ? TR_BLOCK - len : 0);
    enum tr_status status = check ? tr_cmac_check(&c, at, len) : tr_cmac_tag(&c, at, len);
    enum tr_status expected = !open                        ? TR_ERR_STATE
                              : len == 0 || len > TR_BLOCK ? TR_ERR_TAG_LENGTH
                                                           : TR_OK;
    if (check && status == TR_ERR_TAG && expected == TR_OK)
        expected = TR_ERR_TAG;
    ends(status, expected);
    size_t i = any_up_to(TR_BLOCK - 1);
    if (status == TR_OK || status == TR_ERR_TAG)
        assert(c.phase == IDLE && (c.buffer[i] | c.chain[i]) == 0);
}
void proof_tag(void)
{
    end(false);
}
void proof_check(void)
{
    end(true);
}
