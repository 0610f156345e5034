/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that the known-answer tests at load notice a wrong answer of each operation. The test takes
 * a copy of a backend and replaces one operation by one that flips a bit of the result, always or
 * only in long calls. The copy must fail tr_backend_self_test().
 */
#include "common.h"
#include "modes/ghash.h"

static const struct tr_backend *real; /* the backend that the copy was made of */
static struct tr_backend copy;
static size_t from; /* the shortest wrong call, in blocks */

/* Flips a bit of the result: in the output, or else in the hash. */
static void flip(uint8_t *out, size_t blocks, void *state)
{
    if (blocks < from)
        return;
    if (out != NULL && blocks != 0)
        out[blocks * TR_BLOCK - TR_BLOCK] ^= 0x10;
    else if (out == NULL)
        *(uint8_t *)state ^= 0x10;
}

#define WRONG(constant, name)                                                                      \
    static void wrong_##name(const struct tr_aes_key *key, uint8_t *out, const uint8_t *in,        \
                             size_t blocks, void *state)                                           \
    {                                                                                              \
        real->bulk[TR_OP_##constant](key, out, in, blocks, state);                                 \
        flip(out, blocks, state);                                                                  \
    }
TR_BULK_OPS(WRONG)
static tr_bulk_fn *const wrong[TR_OPS] = {
#define ENTRY(constant, name) wrong_##name,
    TR_BULK_OPS(ENTRY)};

#define FEW(constant, name)                                                                        \
    static enum tr_status wrong_few_##name(const struct tr_aes_key *key, uint8_t *out,             \
                                           const uint8_t *in, size_t blocks, void *state)          \
    {                                                                                              \
        const enum tr_status status = real->few[TR_OP_##constant](key, out, in, blocks, state);    \
        flip(out, blocks, state);                                                                  \
        return status;                                                                             \
    }
#define FEW_OPS(X)                                                                                 \
    X(ECB_ENCRYPT, ecb_encrypt)                                                                    \
    X(ECB_DECRYPT, ecb_decrypt)                                                                    \
    X(CBC_DECRYPT, cbc_decrypt)                                                                    \
    X(CFB_DECRYPT, cfb_decrypt)                                                                    \
    X(CTR, ctr)
FEW_OPS(FEW)
#define FEW_ENTRY(constant, name) [TR_OP_##constant] = wrong_few_##name,
static tr_few_fn *const wrong_few[TR_OP_CTR + 1] = {FEW_OPS(FEW_ENTRY)};

static enum tr_status wrong_any_length(const struct tr_aes_key *key, uint8_t *iv, unsigned *used,
                                       uint8_t *out, const uint8_t *in, size_t len)
{
    const enum tr_status status = real->cfb_decrypt(key, iv, used, out, in, len);
    out[0] ^= 0x10;
    return status;
}

static void wrong_lanes(enum tr_mb_op op, const struct tr_jobs *jobs, struct tr_job *last)
{
    real->multibuffer(op, jobs, last);
    jobs->list[0].chain[5] ^= 1;
}

static bool fails(void)
{
    return tr_backend_self_test(&copy) == TR_ERR_SELF_TEST;
}

/* Whether long calls of this operation have code of their own, and a known-answer test for it. The
 * long calls of GCM_ENCRYPT and GCM_DECRYPT share their code with those of GCM_SEAL and
 * GCM_OPEN. */
static bool is_long(unsigned op)
{
    return op == TR_OP_CTR || op == TR_OP_GCM_SEAL || op == TR_OP_GCM_OPEN ||
           op == TR_OP_XTS_ENCRYPT || op == TR_OP_XTS_DECRYPT;
}

static void test_backend(const struct tr_backend *b)
{
    unsigned n = 0, good = 0;
    real = b;
    for (unsigned op = 0; op < TR_OPS; op++) {
        if (b->bulk[op] == NULL)
            continue;
        for (from = 0; from <= 320; from += 320) {
            if (from != 0 && (!is_long(op) || (b->features & TR_FEATURE_AES) == 0))
                continue;
            copy = *b;
            copy.bulk[op] = wrong[op];
            const bool noticed = fails();
            if (!noticed)
                tap_diag("%s%s: nothing noticed", tr_op_name(op), from != 0 ? ", long calls" : "");
            good += noticed;
            n++;
        }
    }
    from = 0;
    for (unsigned op = 0; op <= TR_OP_CTR; op++) {
        if (b->few[op] == NULL)
            continue;
        copy = *b;
        copy.few[op] = wrong_few[op];
        const bool noticed = fails();
        if (!noticed)
            tap_diag("%s, few blocks: nothing noticed", tr_op_name(op));
        good += noticed;
        n++;
    }
    if (b->cfb_decrypt != NULL) {
        copy = *b;
        copy.cfb_decrypt = wrong_any_length;
        good += fails();
        n++;
    }
    if (b->multibuffer != NULL) {
        copy = *b;
        copy.multibuffer = wrong_lanes;
        good += fails();
        n++;
    }
    copy = *b;
    tap_ok(tr_backend_self_test(&copy) == TR_OK && good == n,
           "%s: %u of %u wrong operations are noticed", tr_backend_name(b), good, n);
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count());
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        if (!backend_skip(b, 1))
            test_backend(b);
    return tap_done();
}
