/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that exactly the expected backend's code runs, by counting each backend's calls and bytes
 * for each operation. */
#include "dispatch/counting.h"
#include "aead.h"

#include <pthread.h>

/* The backend that does the serial operations for all backends with AES instructions. Serial
 * operations gain nothing from wider vectors. */
#if TR_ARM64
#    define SERIAL(clmul) ((clmul) ? "armce" : "armce-noclmul")
#else
#    define SERIAL(clmul) ((clmul) ? "aesni" : "aesni-noclmul")
#endif

static const char *expected_doer(const char *backend, enum tr_op op)
{
    const bool serial = op == TR_OP_CBC_ENCRYPT || op == TR_OP_CFB_ENCRYPT || op == TR_OP_OFB;
    if (!serial || strcmp(backend, "bitslice") == 0 || strcmp(backend, "vperm") == 0)
        return backend;
    return SERIAL(strstr(backend, "-noclmul") == NULL);
}

static const struct {
    enum tr_mode mode;
    bool decrypt;
    enum tr_op op;
} calls[] = {
    {TR_ECB, false, TR_OP_ECB_ENCRYPT},
    {TR_ECB, true, TR_OP_ECB_DECRYPT},
    {TR_CBC, false, TR_OP_CBC_ENCRYPT},
    {TR_CBC, true, TR_OP_CBC_DECRYPT},
    {TR_CFB128, false, TR_OP_CFB_ENCRYPT},
    {TR_CFB128, true, TR_OP_CFB_DECRYPT},
    {TR_OFB, false, TR_OP_OFB},
    {TR_CTR, false, TR_OP_CTR},
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static unsigned index_of(const char *name)
{
    return tr_backend_index(tr_backend_by_name(name));
}

static bool same_counts(const struct tr_counters *got, const struct tr_counters *expected)
{
    bool good = true;
    for (unsigned b = 0; b < TR_MAX_BACKENDS; b++) {
        if (got->keys[b] != expected->keys[b]) {
            tap_diag("backend %u expanded %llu keys, expected %llu", b,
                     (unsigned long long)got->keys[b], (unsigned long long)expected->keys[b]);
            good = false;
        }
        for (unsigned op = 0; op < TR_OPS; op++) {
            const struct tr_count *g = &got->bulk[b][op], *e = &expected->bulk[b][op];
            if (g->calls == e->calls && g->bytes == e->bytes)
                continue;
            tap_diag("%s by backend %u: %llu calls, %llu bytes, expected %llu and %llu",
                     tr_op_name(op), b, (unsigned long long)g->calls, (unsigned long long)g->bytes,
                     (unsigned long long)e->calls, (unsigned long long)e->bytes);
            good = false;
        }
    }
    return good;
}

static void add(struct tr_counters *c, const char *backend, enum tr_op op, size_t bytes)
{
    struct tr_count *count = &c->bulk[index_of(expected_doer(backend, op))][op];
    count->calls++;
    count->bytes += bytes;
}

/* Tests the counts of whole blocks and, in modes that allow it, of a partial block. The partial
 * block counts as a block of the mode, but in CFB decryption as a block of ECB encryption. */
static void test_operation(const struct tr_backend *b, size_t which)
{
    static const uint8_t raw[32] = {7}, iv[16] = {9};
    struct tr_counters got = {0}, expected = {0};
    struct tr_counting counting;
    struct tr_aes_key key, plain = key_for(b, raw, 24);
    uint8_t text[1000], counted[1000], straight[1000];
    const enum tr_mode mode = calls[which].mode;
    const bool decrypt = calls[which].decrypt;
    const struct tr_backend *front = tr_counting_init(&counting, b, &got);
    const size_t len = mode_is_blocks(mode) ? 992 : 997;
    memset(text, 0x33, sizeof(text));
    key = key_for(front, raw, 24);
    expected.keys[index_of(b->name)]++;
    struct position p = position_at(iv), q = p;
    bool good = mode_run(&key, mode, decrypt, &p, counted, text, len) == TR_OK &&
                mode_run(&plain, mode, decrypt, &q, straight, text, len) == TR_OK &&
                tap_same(counted, straight, len);
    add(&expected, b->name, calls[which].op, 992);
    if (len > 992)
        add(&expected, b->name,
            calls[which].op == TR_OP_CFB_DECRYPT ? TR_OP_ECB_ENCRYPT : calls[which].op, 16);
    tap_ok(same_counts(&got, &expected) && good && strcmp(front->name, b->name) == 0,
           "%s: %s is done by %s", b->name, tr_op_name(calls[which].op),
           expected_doer(b->name, calls[which].op));
}

/* ---- The fused operations ------------------------------------------------------------------- */

static const struct {
    const char *mode;
    bool decrypt;
    enum tr_op op;
} fused[] = {
    {"GCM", false, TR_OP_GCM_ENCRYPT},    {"GCM", true, TR_OP_GCM_DECRYPT},
    {"GCM", false, TR_OP_GCM_SEAL},       {"GCM", true, TR_OP_GCM_OPEN},
    {"CCM", false, TR_OP_CCM_ENCRYPT},    {"CCM", true, TR_OP_CCM_DECRYPT},
    {"OCB", false, TR_OP_OCB_ENCRYPT},    {"OCB", true, TR_OP_OCB_DECRYPT},
    {"GCM-SIV", false, TR_OP_CTR_LE},     {"XTS", false, TR_OP_XTS_ENCRYPT},
    {"XTS", true, TR_OP_XTS_DECRYPT},     {"XTS", false, TR_OP_XTS_ENCRYPT_CTS},
    {"XTS", true, TR_OP_XTS_DECRYPT_CTS}, {"XTS", false, TR_OP_XTS_ENC_UNITS},
    {"XTS", true, TR_OP_XTS_DEC_UNITS},
};
#define FUSED (sizeof(fused) / sizeof(*fused))

static bool is_stealing(enum tr_op op)
{
    return op == TR_OP_XTS_ENCRYPT_CTS || op == TR_OP_XTS_DECRYPT_CTS;
}

static bool is_run_of_units(enum tr_op op)
{
    return op == TR_OP_XTS_ENC_UNITS || op == TR_OP_XTS_DEC_UNITS;
}

/* Returns the backend whose fused code runs, or NULL if the mode composes other operations. GHASH
 * and the XTS tweaks need carry-less multiplication. CCM's chain gains nothing from wider vectors.
 * Backends without AES instructions have no fused operation. */
static const char *fused_doer(const char *backend, enum tr_op op)
{
    const bool clmul = strstr(backend, "-noclmul") == NULL;
    if (strncmp(backend, "bitslice", 8) == 0 || strncmp(backend, "vperm", 5) == 0)
        return NULL;
    if (op == TR_OP_CCM_ENCRYPT || op == TR_OP_CCM_DECRYPT)
        return SERIAL(clmul);
    if (op == TR_OP_OCB_ENCRYPT || op == TR_OP_OCB_DECRYPT || op == TR_OP_CTR_LE)
        return backend;
    if (is_stealing(op) && TR_X86)
        return clmul ? "aesni" : NULL; /* serial blocks gain nothing from wide vectors */
    if (is_run_of_units(op))           /* needs 32 ZMM registers (simd/xts/units.h) */
        return sizeof(void *) == 8 && strcmp(backend, "vaes512") == 0 ? backend : NULL;
    return clmul ? backend : NULL;
}

/* Seals or opens a message one-shot. To open, it first seals the message with bitslice, which is
 * not counted. */
static bool whole_message(const struct tr_backend *front, bool decrypt, uint8_t *out,
                          const uint8_t *in, size_t len)
{
    static const uint8_t raw[32] = {7}, iv[12] = {9};
    uint8_t tag[16], sealed[1024];
    struct tr_gcm_key g;
    if (!decrypt)
        return tr_gcm_set_key(&g, front, raw, 32) == TR_OK &&
               tr_gcm_seal(&g, iv, 12, raw, 13, out, in, len, tag, 16) == TR_OK;
    return tr_gcm_set_key(&g, &tr_bitslice, raw, 32) == TR_OK &&
           tr_gcm_seal(&g, iv, 12, raw, 13, sealed, in, len, tag, 16) == TR_OK &&
           tr_gcm_set_key(&g, front, raw, 32) == TR_OK &&
           tr_gcm_open(&g, iv, 12, raw, 13, out, sealed, len, tag, 16) == TR_OK;
}

static bool fused_message(const struct tr_backend *front, size_t which, uint8_t *out,
                          const uint8_t *in, size_t len)
{
    /* With so much AAD, GCM does not process the data as a whole message. */
    static const uint8_t raw[64] = {7}, iv[16] = {9}, aad[TR_GCM_HELD + 1];
    struct aead_lengths n = {.key = 32, .iv = 12, .aad = sizeof(aad), .text = len, .tag = 16};
    struct aead_state s;
    struct tr_xts_key x;
    uint8_t tag[16];
    if (fused[which].op == TR_OP_GCM_SEAL || fused[which].op == TR_OP_GCM_OPEN)
        return whole_message(front, fused[which].decrypt, out, in, len);
    if (is_run_of_units(fused[which].op))
        return tr_xts_set_key(&x, front, raw, 64) == TR_OK &&
               (fused[which].decrypt ? tr_xts_decrypt_units : tr_xts_encrypt_units)(
                   &x, iv, out, in, 512, len / 512) == TR_OK;
    if (strcmp(fused[which].mode, "XTS") == 0)
        return tr_xts_set_key(&x, front, raw, 64) == TR_OK &&
               (fused[which].decrypt ? tr_xts_decrypt : tr_xts_encrypt)(&x, iv, out, in, len) ==
                   TR_OK;
    for (size_t i = 0; i < AEADS; i++)
        if (strcmp(all_aeads[i].name, fused[which].mode) == 0)
            return all_aeads[i].set_key(&s, front, raw, 32) == TR_OK &&
                   all_aeads[i].start(&s, iv, &n) == TR_OK &&
                   all_aeads[i].aad(&s, aad, sizeof(aad)) == TR_OK &&
                   all_aeads[i].crypt(&s, fused[which].decrypt, out, in, len, tag) == TR_OK;
    return false;
}

/* Tests that the expected backend does all whole blocks of a message with this operation, and that
 * no other backend does a block with it. */
static void test_fused(const struct tr_backend *b, size_t which)
{
    struct tr_counters got = {0};
    struct tr_counting counting;
    uint8_t in[1024] = {0}, counted[1024], straight[1024];
    const enum tr_op op = fused[which].op;
    const char *doer = fused_doer(b->name, op);
    /* Ciphertext stealing takes the last full block and the tail, and counts as one block. */
    const size_t len = is_stealing(op) ? 991 : is_run_of_units(op) ? 1024 : 992;
    const size_t bytes = is_stealing(op) ? 16 : len;
    bool good = fused_message(tr_counting_init(&counting, b, &got), which, counted, in, len) &&
                fused_message(b, which, straight, in, len) && tap_same(counted, straight, len);
    for (unsigned i = 0; i < TR_MAX_BACKENDS; i++) {
        const bool expected = doer != NULL && i == index_of(doer);
        if (got.bulk[i][op].bytes == (expected ? bytes : 0))
            continue;
        tap_diag("wrong count: %llu bytes by backend %u", (unsigned long long)got.bulk[i][op].bytes,
                 i);
        good = false;
    }
    tap_ok(good, "%s: %s is done by %s", b->name, tr_op_name(op),
           doer == NULL ? "other operations" : doer);
}

struct shared {
    const struct tr_backend *front;
    bool good;
};

static void *count_in_thread(void *argument)
{
    struct shared *s = argument;
    uint8_t block[160] = {0}, iv[16] = {0}, keystream[16];
    unsigned used = 0;
    struct tr_aes_key key = key_for(s->front, iv, 16);
    s->good = true;
    for (int i = 0; i < 1000; i++)
        s->good &= tr_ctr(&key, iv, keystream, &used, block, block, sizeof(block)) == TR_OK;
    return NULL;
}

/* Tests that counters lose no increment when several threads add to them. */
static void test_threads(void)
{
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct tr_counters got = {0}, expected = {0};
    struct tr_counting counting;
    const struct tr_backend *b = tr_backend_selected();
    struct shared shared[THREADS];
    bool good = true;
    for (int i = 0; i < THREADS; i++)
        shared[i].front = i == 0 ? tr_counting_init(&counting, b, &got) : shared[0].front;
    for (int i = 0; i < THREADS; i++) {
        if (pthread_create(&threads[i], NULL, count_in_thread, &shared[i]) == 0)
            continue;
        tap_ok(false, "thread %d cannot be started", i);
        exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        good &= pthread_join(threads[i], NULL) == 0 && shared[i].good;
    expected.keys[tr_backend_index(b)] = THREADS;
    expected.bulk[tr_backend_index(b)][TR_OP_CTR] =
        (struct tr_count){THREADS * 1000, THREADS * 160000};
    tap_ok(good && same_counts(&got, &expected), "counters lose no increment of %d threads",
           THREADS);
}

int main(void)
{
    const struct tr_backend *b;
    tap_plan(backend_count() * (CALLS + FUSED) + 2);
    tap_ok(CALLS == TR_OP_GHASH, "the test covers every operation of the modes of SP 800-38A");
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        for (size_t c = 0; c < CALLS; c++)
            if (!backend_skip(b, 1))
                test_operation(b, c);
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        for (size_t c = 0; c < FUSED; c++)
            if (!backend_skip(b, 1))
                test_fused(b, c);
    test_threads();
    return tap_done();
}
