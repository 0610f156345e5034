/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that tr_backend_self_test() notices a fault in each operation and in each whole call. The
 * test copies a backend and replaces one operation of the copy. The replacement flips a bit of the
 * result, always or only in some calls, such as long ones. The copy must then fail
 * tr_backend_self_test(). It must also fail the tests of each mode that calls the wrong operation.
 * A process runs only these before the first use of the mode. */
#include "aead.h"
#include "dispatch/tuning.h"
#include "modes/ghash.h"
#include "selftest/selftest.h"

static const struct tr_backend *real; /* the backend that the copy was made of */
static struct tr_backend copy;
static size_t from;             /* the shortest wrong call, in blocks */
static size_t until = SIZE_MAX; /* the longest wrong call, in blocks */

static unsigned long flips; /* calls that were wrong */

/* If calls of this length are to be wrong, flips a bit of the output, or of the hash if there is no
 * output. */
static void flip(uint8_t *out, size_t blocks, void *state)
{
    if (blocks < from || blocks > until)
        return;
    flips++;
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

#define WRONG_BLOCKS(field, constant, name)                                                        \
    static enum tr_status wrong_##field##_##name(const struct tr_aes_key *key, uint8_t *out,       \
                                                 const uint8_t *in, size_t blocks, void *state)    \
    {                                                                                              \
        const enum tr_status status =                                                              \
            real->whole.field[TR_OP_##constant](key, out, in, blocks, state);                      \
        flip(out, blocks, state);                                                                  \
        return status;                                                                             \
    }
#define PARALLEL_OPS(X, field)                                                                     \
    X(field, ECB_ENCRYPT, ecb_encrypt)                                                             \
    X(field, ECB_DECRYPT, ecb_decrypt)                                                             \
    X(field, CBC_DECRYPT, cbc_decrypt)                                                             \
    X(field, CFB_DECRYPT, cfb_decrypt)                                                             \
    X(field, CTR, ctr)
PARALLEL_OPS(WRONG_BLOCKS, few)
PARALLEL_OPS(WRONG_BLOCKS, more)
#define BLOCKS_ENTRY(field, constant, name) [TR_OP_##constant] = wrong_##field##_##name,
static tr_blocks_fn *const wrong_few[TR_OP_CTR + 1] = {PARALLEL_OPS(BLOCKS_ENTRY, few)};
static tr_blocks_fn *const wrong_more[TR_OP_CTR + 1] = {PARALLEL_OPS(BLOCKS_ENTRY, more)};

/* Chooses which calls of cfb_decrypt, xts_unit and gcm are wrong: those with a length in this
 * range, in bytes. If `within_block`, they must also begin within a block. */
static const struct range {
    size_t from, until;
    bool within_block;
} all = {0, SIZE_MAX, false}, *range = &all;

static bool is_wrong(size_t len, unsigned used)
{
    const bool wrong_now =
        len >= range->from && len <= range->until && (!range->within_block || used != 0);
    flips += wrong_now;
    return wrong_now;
}

static enum tr_status wrong_any_length(const struct tr_aes_key *key, uint8_t *iv, unsigned *used,
                                       uint8_t *out, const uint8_t *in, size_t len)
{
    const bool wrong_now = is_wrong(len, *used);
    const enum tr_status status = real->whole.cfb_decrypt(key, iv, used, out, in, len);
    out[0] ^= wrong_now ? 0x10 : 0;
    return status;
}

static size_t wrong_vectors; /* the wrong number of vectors of 64 bytes in a call's last group */

/* The last group of cfb_decrypt has up to 12 vectors, the groups before it have 8. */
static enum tr_status wrong_group(const struct tr_aes_key *key, uint8_t *iv, unsigned *used,
                                  uint8_t *out, const uint8_t *in, size_t len)
{
    const size_t head = (16 - *used) % 16;
    size_t vectors = len > head ? (len - head + 63) / 64 : 0;
    while (vectors > 12)
        vectors -= 8;
    const enum tr_status status = real->whole.cfb_decrypt(key, iv, used, out, in, len);
    out[0] ^= vectors == wrong_vectors ? 0x10 : 0;
    return status;
}

static int flips_iv; /* whether the fault of CTS is in the IV, not in the output */

static void wrong_cts(const struct tr_aes_key *key, uint8_t *iv, uint8_t *out, const uint8_t *in,
                      size_t last, int cut_first)
{
    real->whole.cts_decrypt(key, iv, out, in, last, cut_first);
    *(flips_iv ? iv : out + TR_BLOCK) ^= 0x10;
    flips++;
}

#define UNIT(name, decrypt)                                                                        \
    static enum tr_status wrong_unit_##name(const struct tr_xts_key *x, const uint8_t *unit,       \
                                            uint8_t *out, const uint8_t *in, size_t len)           \
    {                                                                                              \
        const enum tr_status status = real->whole.xts_unit[decrypt](x, unit, out, in, len);        \
        out[len - 1] ^= is_wrong(len, 0) ? 0x10 : 0;                                               \
        return status;                                                                             \
    }
UNIT(encrypt, 0)
UNIT(decrypt, 1)

static unsigned gcm_call;                     /* which function of whole.gcm is wrong */
static size_t least_aad, most_aad = SIZE_MAX; /* with which AAD */

static enum tr_status wrong_seal(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                                 const uint8_t *aad, size_t aad_len, uint8_t *out,
                                 const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len)
{
    const enum tr_status status =
        real->whole.gcm[0][gcm_call](key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    if (aad_len >= least_aad && aad_len <= most_aad && is_wrong(len, 0))
        tag[3] ^= 0x10;
    return status;
}

static enum tr_status wrong_open(const struct tr_gcm_key *key, const uint8_t *iv, size_t iv_len,
                                 const uint8_t *aad, size_t aad_len, uint8_t *out,
                                 const uint8_t *in, size_t len, uint8_t *tag, size_t tag_len)
{
    const enum tr_status status =
        real->whole.gcm[1][gcm_call](key, iv, iv_len, aad, aad_len, out, in, len, tag, tag_len);
    if (aad_len >= least_aad && aad_len <= most_aad && is_wrong(len, 0) && len != 0)
        out[len - 1] ^= 0x10;
    return status;
}

static void wrong_lanes(enum tr_mb_op op, const struct tr_jobs *jobs, struct tr_job *last)
{
    real->multibuffer(op, jobs, last);
    jobs->list[0].chain[5] ^= 1;
}

/* How calls for many messages are wrong: the last tag or output, a check that accepts each tag, or
 * a job that has the key of another. */
enum many_fault { WRONG_TAG, WRONG_OUTPUT, ACCEPTS, OTHER_KEY, MANY_FAULTS };
static enum many_fault many_fault;
static int wrong_own_keys; /* whether calls with several keys are wrong, or those with one */

static size_t wrong_many(struct tr_gcm_job *jobs, size_t count, int decrypt, int own_keys)
{
    const enum many_fault fault = own_keys == wrong_own_keys ? many_fault : MANY_FAULTS;
    const struct tr_gcm_key *const key = jobs[1].key;
    if (fault == OTHER_KEY)
        jobs[1].key = jobs[0].key;
    const size_t done = real->whole.gcm_many(jobs, count, decrypt, own_keys);
    jobs[1].key = key;
    if (fault == WRONG_TAG && !decrypt)
        jobs[done - 1].tag[3] ^= 0x10;
    if (fault == WRONG_OUTPUT && decrypt)
        jobs[done - 1].out[0] ^= 0x10;
    for (size_t i = 0; fault == ACCEPTS && i < done; i++)
        jobs[i].status = TR_OK;
    return done;
}

static size_t wrong_masks(const struct tr_mask_job *jobs, size_t count, int own_keys)
{
    const enum many_fault fault = own_keys == wrong_own_keys ? many_fault : MANY_FAULTS;
    const size_t done = real->whole.masks(jobs, count, own_keys);
    if (fault == WRONG_OUTPUT)
        jobs[done - 1].mask[5] ^= 0x10;
    if (fault == OTHER_KEY &&
        tr_ecb_encrypt(jobs[0].key, jobs[1].mask, jobs[1].sample, 16) != TR_OK)
        exit(2);
    return done;
}

static bool fails(void)
{
    return tr_backend_self_test(&copy) == TR_ERR_SELF_TEST;
}

/* ---- The tests of one mode ------------------------------------------------------------------ */

#define LONGEST 9000
static const size_t lengths[] = {16,  17,  31,  32,  48,  63,   64,   65,   96,   111,  128,
                                 160, 257, 336, 512, 769, 1024, 2000, 3561, 4073, 5120, LONGEST};
#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))
static const uint8_t raw[64] = "the keys of this test: both halves differ, as XTS demands";
static const uint8_t zeros[LONGEST + 8]; /* key unwrap reads 8 bytes more */
static uint8_t data[LONGEST + 16];

/* Encrypts and decrypts messages in one call, and in two of which the first ends within a block. */
static void work_plainly(const struct tr_backend *b, enum tr_mode mode)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    for (unsigned i = 0; i < 2 * LENGTHS; i++) {
        const bool decrypt = i % 2 != 0;
        size_t len = mode_longest(mode, lengths[i / 2]);
        struct position p = position_at(raw);
        if (mode_is_blocks(mode))
            len -= len % 16;
        bool good = mode_run(&key, mode, decrypt, &p, data, zeros, len) == TR_OK;
        p = position_at(raw);
        if (!mode_is_blocks(mode) && !mode_is_whole(mode)) {
            good &= mode_run(&key, mode, decrypt, &p, data, zeros, 5) == TR_OK;
            good &= mode_run(&key, mode, decrypt, &p, data + 5, zeros, len - 5) == TR_OK;
        }
        if (!good)
            exit(2);
    }
}

static void work_kw(const struct tr_backend *b)
{
    const struct tr_aes_key key = key_for(b, raw, 16);
    size_t len;
    for (unsigned i = 0; i < LENGTHS; i++) {
        const size_t n = lengths[i] / 8 * 8;
        (void)(tr_kw_wrap(&key, 0, NULL, data, zeros, n) +
               tr_kw_unwrap(&key, 0, NULL, data, zeros, n + 8) +
               tr_kwp_wrap(&key, 0, NULL, data, zeros, lengths[i] > 4096 ? 8 : n) +
               tr_kwp_unwrap(&key, 0, NULL, data, &len, zeros, 16));
    }
}

static void work_cmac(const struct tr_backend *b)
{
    struct tr_cmac_key key;
    struct tr_cmac cmac;
    uint8_t tag[16];
    bool good = tr_cmac_set_key(&key, b, raw, 16) == TR_OK;
    for (unsigned i = 0; i < LENGTHS; i++)
        good &= tr_cmac_sign(&key, zeros, lengths[i], tag, 16) == TR_OK &&
                tr_cmac_start(&cmac, &key) == TR_OK &&
                tr_cmac_update(&cmac, zeros, lengths[i] - 3) == TR_OK &&
                tr_cmac_update(&cmac, zeros, 3) == TR_OK && tr_cmac_tag(&cmac, tag, 16) == TR_OK;
    if (!good)
        exit(2);
}

/* Encrypts and decrypts a message in one call, and by streaming. The right backend seals the
 * message that the backend b opens. */
static void work_message(const struct aead *mode, const struct tr_backend *b,
                         const struct aead_lengths *n)
{
    static struct aead_state right, s;
    uint8_t tag[16], unwanted[16];
    if (mode->set_key(&right, real, raw, n->key) != TR_OK ||
        mode->set_key(&s, b, raw, n->key) != TR_OK)
        exit(2);
    for (int decrypt = 0; decrypt < 2; decrypt++) {
        if (mode->whole(&right, false, n, raw, zeros, data, zeros, tag) != TR_OK)
            exit(2);
        (void)mode->whole(&s, decrypt != 0, n, raw, zeros, data, decrypt ? data : zeros,
                          decrypt ? tag : unwanted);
        if (mode->whole(&right, false, n, raw, zeros, data, zeros, tag) != TR_OK)
            exit(2);
        (void)mode->start(&s, raw, n);
        (void)mode->aad(&s, zeros, n->aad);
        (void)mode->crypt(&s, decrypt != 0, data, decrypt ? data : zeros, n->text,
                          decrypt ? tag : unwanted);
        if (mode->end != NULL)
            (void)mode->end(&s, decrypt != 0, decrypt ? tag : unwanted, 16);
    }
}

static void work_aead(const struct tr_backend *b, const char *name)
{
    const struct aead *mode = all_aeads;
    while (strcmp(mode->name, name) != 0)
        mode++;
    const size_t ivs[2] = {mode->iv.usual, 16};
    for (unsigned i = 0; i < LENGTHS; i++) {
        for (unsigned j = 0; j < 2; j++) {
            /* Lengths of AAD: no whole block, or as much as data, with another IV. */
            const bool other = j != 0 && mode->iv.max >= 16;
            const struct aead_lengths n = {mode->key.min, ivs[other], j ? lengths[i] : 13,
                                           lengths[i], 16};
            work_message(mode, b, &n);
        }
    }
}

/* The modes, and the tests that a host runs before their first use. */
static const struct {
    const char *name;
    unsigned tests;
    enum tr_mode plain; /* TR_ECB and up; 0: another mode */
    void (*work)(const struct tr_backend *b);
} modes[] = {{"key wrap", TR_TESTS_KW, (enum tr_mode)0, work_kw},
             {"CMAC", TR_TESTS_CMAC, (enum tr_mode)0, work_cmac},
#define PLAIN_TESTS(name, mode, tests)           {name, tests, mode, NULL},
#define AEAD_TESTS(name, mode, form, tests, ...) {name, tests, (enum tr_mode)0, NULL},
             PLAIN_MODES(PLAIN_TESTS) AEAD_MODES(AEAD_TESTS)};

static bool tests_pass(const struct tr_backend *b, unsigned tests)
{
    static struct tr_known_work work;
    static struct tr_known_long_work long_work;
    return tr_kat_short(b, tests, 0, 0, &work) == TR_OK &&
           tr_kat_long(b, tests, 0, &long_work) == TR_OK && tr_kat_ctr(b, tests, 0) == TR_OK;
}

/* Whether each mode that calls the wrong operation fails its tests. */
static bool fails_by_mode(const char *what, const char *where)
{
    bool good = true;
    for (unsigned m = 0; m < sizeof(modes) / sizeof(modes[0]); m++) {
        flips = 0;
        if (modes[m].plain != 0)
            work_plainly(&copy, modes[m].plain);
        else if (modes[m].work != NULL)
            modes[m].work(&copy);
        else
            work_aead(&copy, modes[m].name);
        if (flips != 0 && tests_pass(&copy, modes[m].tests)) {
            tap_diag("%s%s: %s calls it, and passes its tests", what, where, modes[m].name);
            good = false;
        }
    }
    return good;
}

/* ---- Faults --------------------------------------------------------------------------------- */

/* The fewest blocks that vperm bitslices. */
#define SLICED 6

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
    bool found = fails();
    if (!found)
        tap_diag("%s%s: the fault is not noticed", what, where);
    found &= fails_by_mode(what, where);
    planted++;
    noticed += found;
    copy = *real;
}

/* Plants faults in one operation: in all calls, in long calls, and in short calls of XTS and GCM.
 * Without AES instructions, calls are long from the fewest blocks on that vperm bitslices. If a
 * backend has whole calls, few callers pass short messages to the bulk operations. They are hosts
 * that count (counting.h), calls of several data units, and GCM with a truncated tag. The self-test
 * must also notice a fault that is only in such short calls. */
static void test_operation(unsigned op)
{
    if (real->bulk[op] == NULL)
        return;
    copy.bulk[op] = wrong[op];
    plant(tr_op_name(op), "");
    const bool has_aes = (real->features & TR_FEATURE_AES) != 0;
    if (has_aes ? is_long(op) : op <= TR_OP_CTR) {
        from = has_aes ? 320 : SLICED;
        copy.bulk[op] = wrong[op];
        plant(tr_op_name(op), ", long calls");
        from = 0;
    }
    if (op == TR_OP_XTS_ENCRYPT || op == TR_OP_XTS_DECRYPT || op == TR_OP_GCM_SEAL ||
        op == TR_OP_GCM_OPEN) {
        until = op == TR_OP_GCM_SEAL || op == TR_OP_GCM_OPEN ? 2 : 31;
        copy.bulk[op] = wrong[op];
        plant(tr_op_name(op), ", short calls");
        until = SIZE_MAX;
    }
}

/* Plants faults in the whole calls of the parallel modes: in all calls, and in those of each number
 * of blocks below a group of the widest backend. In CTR, below two groups, and also in 128 to 255
 * blocks. */
static void test_blocks(unsigned op)
{
    if (real->whole.few[op] == NULL)
        return;
    copy.whole.few[op] = wrong_few[op];
    plant(tr_op_name(op), ", few blocks");
    copy.whole.more[op] = wrong_more[op];
    plant(tr_op_name(op), ", more blocks");
    for (from = until = 1; from < (op == TR_OP_CTR ? 64u : 32u); from = ++until) {
        copy.whole.few[op] = wrong_few[op];
        copy.whole.more[op] = wrong_more[op];
        plant(tr_op_name(op), ", one number of blocks");
    }
    if (op == TR_OP_CTR) { /* groups at aligned counters, without precomputed AES states */
        from = 128;
        until = 255;
        copy.whole.more[op] = wrong_more[op];
        plant(tr_op_name(op), ", 128 blocks and more");
        copy.bulk[op] = wrong[op];
        plant(tr_op_name(op), ", 128 blocks and more, bulk");
    }
    from = 0;
    until = SIZE_MAX;
}

/* Plants a fault in each last group of cfb_decrypt. The tests must notice it wherever the pages of
 * their memory end, because near the end of a page CFB has other code (modes/cfb.c). */
static void test_cfb_groups(void)
{
    static uint8_t memory[4096 + sizeof(struct tr_known_work)] __attribute__((aligned(4096)));
    if (real->whole.cfb_decrypt == NULL)
        return;
    copy.whole.cfb_decrypt = wrong_group;
    for (wrong_vectors = 1; wrong_vectors <= 12; wrong_vectors++) {
        size_t at = 0;
        while (at < 4096 && tr_kat_short(&copy, TR_TEST_CFB, 0, 0, (void *)(memory + at)) != TR_OK)
            at += 64;
        if (at < 4096)
            tap_diag(
                "CFB decryption of %zu vectors: the fault is not noticed %zu bytes into a page",
                wrong_vectors, at);
        planted++;
        noticed += at == 4096;
    }
    copy = *real;
}

static void plant_gcm(const char *detail)
{
    copy.whole.gcm[0][gcm_call] = wrong_seal;
    plant("sealing a whole message of GCM", detail);
    copy.whole.gcm[1][gcm_call] = wrong_open;
    plant("opening a whole message of GCM", detail);
}

/* Plants faults in each function for whole messages of GCM. Those for short messages have separate
 * code for these lengths of AAD. Messages in chunks have code of their own for even numbers of
 * chunks, and for counters above 255. */
static void test_whole_gcm(void)
{
    static const struct {
        size_t least, most;
        const char *name;
    } aad[] = {{0, SIZE_MAX, ""},
               {0, 0, ", no AAD"},
               {1, 16, ", a block of AAD"},
               {17, 48, ", two or three blocks of AAD"},
               {49, 64, ", four blocks of AAD"}};
    for (gcm_call = 0; gcm_call < TR_GCM_CALLS; gcm_call++) {
        /* tr_gcm_seal_any() only passes messages on. */
        if (real->whole.gcm[0][gcm_call] == NULL || real->whole.gcm[0][gcm_call] == tr_gcm_seal_any)
            continue;
        for (unsigned i = 0; i < (gcm_call == TR_GCM_ANY ? 1 : sizeof(aad) / sizeof(aad[0])); i++) {
            least_aad = aad[i].least;
            most_aad = aad[i].most;
            plant_gcm(aad[i].name);
        }
    }
    least_aad = 0;
    most_aad = SIZE_MAX;
    gcm_call = TR_GCM_ANY;
    const unsigned ranges = sizeof(void *) == 8 && real->whole.gcm[0][TR_GCM_ANY] != NULL ? 2 : 0;
    for (unsigned i = 0; i < ranges; i++) {
        static const struct range chunks[] = {{3457, 3584, false}, {4065, 4096, false}};
        range = &chunks[i];
        plant_gcm(", in chunks");
    }
    range = &all;
}

/* Plants faults in cfb_decrypt, xts_unit, cts_decrypt and gcm. */
static void test_whole(void)
{
    static const struct range cfb[] = {
        {0, SIZE_MAX, false}, {769, SIZE_MAX, false}, {65, 448, false}, {0, SIZE_MAX, true}};
    static const struct range unit[] = {
        {0, SIZE_MAX, false}, {16, 16, false}, {257, 448, false}, {2048, SIZE_MAX, false}};
    /* Elsewhere a long data unit is not a whole call (modes/xts.c). */
    const unsigned units = sizeof(unit) / sizeof(unit[0]) - (tr_tuning()->separate_clmul ? 0 : 1);
    for (unsigned i = 0; real->whole.cfb_decrypt != NULL && i < sizeof(cfb) / sizeof(cfb[0]); i++) {
        range = &cfb[i];
        copy.whole.cfb_decrypt = wrong_any_length;
        plant("CFB decryption of any length", "");
    }
    for (unsigned i = 0; real->whole.xts_unit[0] != NULL && i < units; i++) {
        range = &unit[i];
        copy.whole.xts_unit[0] = wrong_unit_encrypt;
        plant("encryption of XTS units", "");
        copy.whole.xts_unit[1] = wrong_unit_decrypt;
        plant("decryption of XTS units", "");
    }
    range = &all;
    for (flips_iv = 0; real->whole.cts_decrypt != NULL && flips_iv < 2; flips_iv++) {
        copy.whole.cts_decrypt = wrong_cts;
        plant("ciphertext stealing", "");
    }
    test_whole_gcm();
}

/* Plants faults in the calls for many messages, with one key and with several. */
static void test_many(void)
{
    if (real->whole.gcm_many == NULL)
        return;
    for (wrong_own_keys = 0; wrong_own_keys < 2; wrong_own_keys++) {
        const char *keys = wrong_own_keys ? ", several keys" : ", one key";
        const unsigned faults = wrong_own_keys ? MANY_FAULTS : OTHER_KEY;
        for (unsigned i = 0; i < faults; i++) {
            many_fault = (enum many_fault)i;
            copy.whole.gcm_many = wrong_many;
            plant("GCM, many messages", keys);
            if (many_fault != WRONG_OUTPUT && many_fault != OTHER_KEY)
                continue;
            copy.whole.masks = wrong_masks;
            plant("masks", keys);
        }
    }
}

static void test_backend(const struct tr_backend *b)
{
    planted = noticed = 0;
    real = b;
    copy = *b;
    for (unsigned op = 0; op < TR_OPS; op++)
        test_operation(op);
    for (unsigned op = 0; op <= TR_OP_CTR; op++)
        test_blocks(op);
    test_whole();
    test_many();
    test_cfb_groups();
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
