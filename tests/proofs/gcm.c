/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Proves GCM's streaming calls (core/modes/gcm.c, ghash.c). Each proof begins with any message that
 * fulfils the invariant, and shows that the invariant holds after the call. So the proofs cover
 * calls in any order and number. The IV and the AAD of one call have at most LONGEST bytes. The
 * data of one call have LONGEST bytes. Before the call, the partial block has 0 or 5 bytes of data,
 * or 7 bytes of AAD. The AAD and data of all earlier calls have any length up to their limits. Any
 * of the calls that try to process a whole message may fail.
 *
 * The proofs detect these mutations: TR_BLOCK + 1 as the largest tag length, no cleansing of the
 * keystream (proof_tag), and `len > TR_GCM_MAX_DATA` without the length so far (proof_encrypt_0).
 *
 * CBMC: --no-array-field-sensitivity --unwind 4 --unwindset memcmp.0:226
 * CBMC: --unwindset tr_cleanse_inline.0:6,tr_cleanse_inline.1:18,tr_cleanse_inline.2:18
 * CBMC: --unwindset gcm_counter_mode.0:2,gcm_secret_counter_mode.0:2
 * CBMC: --unwindset gcm_secret_counter_mode.1:2,gcm_secret_counter_mode.2:2
 */
#define LONGEST 20u
#include "proof.h"

static size_t stub_bulk(const struct tr_aes_key *, enum tr_op, uint8_t *, const uint8_t *, size_t,
                        void *);

struct tr_gcm_message;
static int stub_whole(const struct tr_gcm_key *, enum tr_op, uint8_t *, const uint8_t *,
                      struct tr_gcm_message *);
static int stub_short(const struct tr_gcm_key *, enum tr_op, uint8_t *, const uint8_t *,
                      const struct tr_gcm_message *);

#include "modes/gcm.h"
#define tr_gcm_whole stub_whole
#define tr_gcm_short stub_short
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

static int stub_short(const struct tr_gcm_key *k, enum tr_op op, uint8_t *out, const uint8_t *in,
                      const struct tr_gcm_message *m)
{
    assert(k == &key && (op == TR_OP_GCM_SEAL || op == TR_OP_GCM_OPEN));
    assert(m->aad == g.held && m->aad_len <= TR_GCM_HELD && m->tag == g.mask);
    assert(m->len == 0 || (in == d.in && out == d.out && m->len == d.len));
    if (m->len != 0)
        __CPROVER_havoc_slice(out, m->len);
    __CPROVER_havoc_slice(m->tag, TR_BLOCK);
    return 1;
}

static int stub_whole(const struct tr_gcm_key *k, enum tr_op op, uint8_t *out, const uint8_t *in,
                      struct tr_gcm_message *m)
{
    if (nondet_bool())
        return 0;
    return stub_short(k, op, out, in, m);
}

/* The fields of a phase that has begun to hash. */
static bool hashes(void)
{
    return g.used <= TR_BLOCK && (g.used < TR_BLOCK || (g.phase == AAD && g.aad_len == TR_BLOCK)) &&
           g.addend_due <= (g.phase == AAD ? 0
                            : g.used != 0  ? 2
                                           : 1);
}

static bool invariant(void)
{
    return g.phase <= WHOLE && g.aad_len <= TR_GCM_MAX_AAD && g.len <= TR_GCM_MAX_DATA &&
           (g.phase != HELD || (g.aad_len <= TR_GCM_HELD && g.len == 0)) &&
           ((g.phase != AAD && g.phase != DATA) || hashes());
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

static bool was_open(void)
{
    return key.aes.backend != NULL && before.phase != IDLE;
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
    assert(status != TR_OK ||
           ((g.phase == HELD || g.phase == AAD) && g.len == 0 && g.aad_len == 0));
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
    ASSUME(too_long == (len > TR_GCM_MAX_AAD - g.aad_len));
    enum tr_status status = tr_gcm_aad(&g, d.in, len);
    assert(status != TR_OK || g.aad_len == before.aad_len + len);
    ends(status,
         !was_open() || before.phase > AAD ? TR_ERR_STATE
         : too_long                        ? TR_ERR_LENGTH
                                           : TR_OK,
         false);
}

/* A call of `len` bytes in this phase, after `used` bytes of a block. CBMC knows these as
 * constants. */
static void crypt(enum tr_status (*call)(struct tr_gcm *, uint8_t *, const uint8_t *, size_t),
                  enum phase phase, unsigned used, size_t len)
{
    begin();
    ASSUME(g.phase == phase && (phase == WHOLE ? g.len % TR_BLOCK : g.used) == used);
    g.used = before.used = used;
    g.phase = before.phase = phase;
    d.len = len;
    d.in = in_object + LONGEST - len;
    d.out = nondet_bool() ? d.in : out_object + LONGEST - len;
    enum tr_status status = call(&g, d.out, d.in, d.len);
    assert(status != TR_OK || ((g.phase == DATA || (phase == HELD && g.phase == WHOLE)) &&
                               g.len == before.len + d.len));
    ends(status,
         !was_open()                            ? TR_ERR_STATE
         : d.len > TR_GCM_MAX_DATA - before.len ? TR_ERR_LENGTH
         : d.overlap && d.len != 0              ? TR_ERR_OVERLAP
                                                : TR_OK,
         true);
}
void proof_encrypt_held(void)
{
    crypt(tr_gcm_encrypt, HELD, 0, 20);
}
void proof_encrypt_first(void)
{
    crypt(tr_gcm_encrypt, AAD, 7, 20);
}
void proof_encrypt_0(void)
{
    crypt(tr_gcm_encrypt, DATA, 0, 20);
}
void proof_encrypt_5(void)
{
    crypt(tr_gcm_encrypt, DATA, 5, 20);
}
void proof_encrypt_whole_0(void)
{
    crypt(tr_gcm_encrypt, WHOLE, 0, 20);
}
void proof_encrypt_whole_5(void)
{
    crypt(tr_gcm_encrypt, WHOLE, 5, 20);
}
void proof_decrypt_held(void)
{
    crypt(tr_gcm_decrypt, HELD, 0, 20);
}
void proof_decrypt_first(void)
{
    crypt(tr_gcm_decrypt, AAD, 7, 20);
}
void proof_decrypt_0(void)
{
    crypt(tr_gcm_decrypt, DATA, 0, 20);
}
void proof_decrypt_5(void)
{
    crypt(tr_gcm_decrypt, DATA, 5, 20);
}
void proof_decrypt_whole_0(void)
{
    crypt(tr_gcm_decrypt, WHOLE, 0, 20);
}
void proof_decrypt_whole_5(void)
{
    crypt(tr_gcm_decrypt, WHOLE, 5, 20);
}

static void tag_call(bool check)
{
    begin();
    size_t len = nondet_size();
    /* The tag ends where its array ends, so CBMC finds any access beyond the tag. */
    uint8_t *at = tag + (len <= TR_BLOCK ? TR_BLOCK - len : 0);
    enum tr_status status = check ? tr_gcm_check(&g, at, len) : tr_gcm_tag(&g, at, len);
    enum tr_status expected = !was_open()                  ? TR_ERR_STATE
                              : len == 0 || len > TR_BLOCK ? TR_ERR_TAG_LENGTH
                                                           : TR_OK;
    if (status == TR_ERR_TAG && check)
        expected = expected == TR_OK ? TR_ERR_TAG : expected;
    ends(status, expected, false);
    if (status == TR_OK || status == TR_ERR_TAG) {
        size_t i = any_up_to(TR_BLOCK - 1);
        assert(g.phase == IDLE && g.mask[i] == 0);
        if (before.phase == AAD || before.phase == DATA)
            assert((g.keystream[i] | g.ghash.hash[i] | g.addend[i]) == 0);
    }
}
void proof_tag(void)
{
    tag_call(false);
}
void proof_check(void)
{
    tag_call(true);
}
