/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that tr_backend_self_test() notices a fault in each operation. The test copies a backend
 * and replaces one operation of the copy. The replacement flips a bit of the result, always or only
 * in some calls, such as long ones. The copy must then fail tr_backend_self_test().
 */
#include "common.h"
#include "modes/ghash.h"

static const struct tr_backend *real; /* the backend that the copy was made of */
static struct tr_backend copy;
static size_t from;             /* the shortest wrong call, in blocks */
static size_t until = SIZE_MAX; /* the longest wrong call, in blocks */

/* If calls of this length are to be wrong, flips a bit of the output, or of the hash if there is no
 * output. */
static void flip(uint8_t *out, size_t blocks, void *state)
{
    if (blocks < from || blocks > until)
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

/* Chooses which calls of cfb_decrypt and xts_unit are wrong: those with a length in this range, in
 * bytes. If `within_block`, they must also begin within a block. */
static const struct range {
    size_t from, until;
    bool within_block;
} all = {0, SIZE_MAX, false}, *range = &all;

static bool is_wrong(size_t len, unsigned used)
{
    return len >= range->from && len <= range->until && (!range->within_block || used != 0);
}

static enum tr_status wrong_any_length(const struct tr_aes_key *key, uint8_t *iv, unsigned *used,
                                       uint8_t *out, const uint8_t *in, size_t len)
{
    const bool flips = is_wrong(len, *used);
    const enum tr_status status = real->cfb_decrypt(key, iv, used, out, in, len);
    out[0] ^= flips ? 0x10 : 0;
    return status;
}

static int flips_iv; /* whether the fault of CTS is in the IV, not in the output */

static void wrong_cts(const struct tr_aes_key *key, uint8_t *iv, uint8_t *out, const uint8_t *in,
                      size_t last, int cut_first)
{
    real->cts_decrypt(key, iv, out, in, last, cut_first);
    *(flips_iv ? iv : out + TR_BLOCK) ^= 0x10;
}

#define UNIT(name, decrypt)                                                                        \
    static enum tr_status wrong_unit_##name(const struct tr_xts_key *x, const uint8_t *unit,       \
                                            uint8_t *out, const uint8_t *in, size_t len)           \
    {                                                                                              \
        const enum tr_status status = real->xts_unit[decrypt](x, unit, out, in, len);              \
        out[len - 1] ^= is_wrong(len, 0) ? 0x10 : 0;                                               \
        return status;                                                                             \
    }
UNIT(encrypt, 0)
UNIT(decrypt, 1)

static void wrong_lanes(enum tr_mb_op op, const struct tr_jobs *jobs, struct tr_job *last)
{
    real->multibuffer(op, jobs, last);
    jobs->list[0].chain[5] ^= 1;
}

static bool fails(void)
{
    return tr_backend_self_test(&copy) == TR_ERR_SELF_TEST;
}

/* Whether long calls of this operation have separate code with its own known-answer test. The long
 * calls of GCM_ENCRYPT and GCM_DECRYPT share their code with those of GCM_SEAL and GCM_OPEN. */
static bool is_long(unsigned op)
{
    return op == TR_OP_CTR || op == TR_OP_GCM_SEAL || op == TR_OP_GCM_OPEN ||
           op == TR_OP_XTS_ENCRYPT || op == TR_OP_XTS_DECRYPT;
}

/* Runs the self-test on the copy. Counts the fault, and whether the self-test noticed it. Then
 * restores the copy. */
static unsigned planted, noticed;
static void plant(const char *what, const char *where)
{
    const bool found = fails();
    if (!found)
        tap_diag("%s%s: the fault is not noticed", what, where);
    planted++;
    noticed += found;
    copy = *real;
}

/* Plants faults in one operation: in all calls, in long calls, and in short calls of XTS. If a
 * backend has xts_unit, only two callers pass short data units to the bulk operations of XTS: hosts
 * that count (counting.h), and calls of several units. The self-test must also notice a fault that
 * is only in such short calls. */
static void test_operation(unsigned op)
{
    if (real->bulk[op] == NULL)
        return;
    copy.bulk[op] = wrong[op];
    plant(tr_op_name(op), "");
    if (is_long(op) && (real->features & TR_FEATURE_AES) != 0) {
        from = 320;
        copy.bulk[op] = wrong[op];
        plant(tr_op_name(op), ", long calls");
        from = 0;
    }
    if (op == TR_OP_XTS_ENCRYPT || op == TR_OP_XTS_DECRYPT) {
        until = 31;
        copy.bulk[op] = wrong[op];
        plant(tr_op_name(op), ", short calls");
        until = SIZE_MAX;
    }
}

/* Plants faults in cfb_decrypt, xts_unit and cts_decrypt. */
static void test_whole(void)
{
    static const struct range cfb[] = {
        {0, SIZE_MAX, false}, {769, SIZE_MAX, false}, {65, 448, false}, {0, SIZE_MAX, true}};
    static const struct range unit[] = {{0, SIZE_MAX, false}, {16, 16, false}, {257, 448, false}};
    for (unsigned i = 0; real->cfb_decrypt != NULL && i < sizeof(cfb) / sizeof(cfb[0]); i++) {
        range = &cfb[i];
        copy.cfb_decrypt = wrong_any_length;
        plant("CFB decryption of any length", "");
    }
    for (unsigned i = 0; real->xts_unit[0] != NULL && i < sizeof(unit) / sizeof(unit[0]); i++) {
        range = &unit[i];
        copy.xts_unit[0] = wrong_unit_encrypt;
        plant("encryption of XTS units", "");
        copy.xts_unit[1] = wrong_unit_decrypt;
        plant("decryption of XTS units", "");
    }
    range = &all;
    for (flips_iv = 0; real->cts_decrypt != NULL && flips_iv < 2; flips_iv++) {
        copy.cts_decrypt = wrong_cts;
        plant("ciphertext stealing", "");
    }
}

static void test_backend(const struct tr_backend *b)
{
    planted = noticed = 0;
    real = b;
    copy = *b;
    for (unsigned op = 0; op < TR_OPS; op++)
        test_operation(op);
    for (unsigned op = 0; op <= TR_OP_CTR; op++) {
        if (b->few[op] == NULL)
            continue;
        copy.few[op] = wrong_few[op];
        plant(tr_op_name(op), ", few blocks");
    }
    test_whole();
    if (b->multibuffer != NULL) {
        copy.multibuffer = wrong_lanes;
        plant("multi-buffer code", "");
    }
    tap_ok(tr_backend_self_test(&copy) == TR_OK && noticed == planted,
           "%s: %u of %u wrong operations are noticed", tr_backend_name(b), noticed, planted);
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
