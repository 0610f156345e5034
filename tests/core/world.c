/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the core in an environment that may refuse the vector registers, as a kernel does. A hold
 * is the time in which the core may use them, from world_begin() to world_end(). The environment
 * also limits the blocks per hold. The core is compiled for this environment (world/env_kernel.h).
 *
 * Every backend must pass its known-answer tests with registers refused never, always and at
 * random, and with several limits. A key may be set while the registers are refused. Messages under
 * this key must use the registers once these are granted. A tracer must see all bytes of
 * multi-buffer calls.
 */
#include "common.h"
#include "selftest/selftest.h"
#if defined(__aarch64__) && defined(__linux__)
#    include <sys/auxv.h>
#endif

static size_t most;     /* blocks per hold */
static unsigned refuse; /* 0: never, 1: always, 2: at random */
static bool held;
static unsigned long holds, refusals, nested;
static struct tap_random random_numbers;

int world_begin(void)
{
    if (refuse == 1 || (refuse == 2 && tap_next(&random_numbers) % 2 == 0)) {
        refusals++;
        return 0;
    }
    nested += held;
    held = true;
    holds++;
    return 1;
}

void world_end(void)
{
    held = false;
}

size_t world_most(void)
{
    return most;
}

static unsigned long probes;
static size_t probed; /* bytes */
static bool probed_right;
static const char *may_probe = ""; /* a backend's name */

void world_probe(unsigned op, const char *backend, size_t bytes)
{
    probes++;
    probed += bytes;
    probed_right &= op == TR_OP_CBC_ENCRYPT && strcmp(backend, may_probe) == 0;
}

unsigned long tr_env_hwcap(void)
{
#if defined(__aarch64__) && defined(__linux__)
    return getauxval(AT_HWCAP);
#else
    return 0;
#endif
}

const struct tr_backend *tr_backend_selected(void)
{
    return &tr_bitslice;
}

static const size_t bounds[] = {SIZE_MAX, 1, 5, 64};
#define BOUNDS (sizeof(bounds) / sizeof(bounds[0]))
#define ROUNDS 8 /* runs with random refusals */

static struct tr_known_work work;
static struct tr_known_long_work long_work;

static enum tr_status known(const struct tr_backend *b, int falsify)
{
    enum tr_status status = TR_OK;
    for (unsigned k = 0; k < TR_KNOWN_KEYS && status == TR_OK; k++) {
        status = tr_kat_short(b, TR_TESTS_ALL, k, falsify, &work);
        if (status == TR_OK)
            status = tr_kat_long(b, TR_TESTS_ALL, k, &long_work);
        if (status == TR_OK)
            status = tr_kat_ctr(b, TR_TESTS_ALL, k);
    }
    return status == TR_OK && tr_backend_with_multibuffer(b) != NULL ? tr_kat_multibuffer(b)
                                                                     : status;
}

static void known_answers(const struct tr_backend *b)
{
    unsigned long unbounded = 0;
    for (unsigned i = 0; i < BOUNDS; i++) {
        bool right = true;
        char bound[48] = "no limit";
        if (i != 0)
            snprintf(bound, sizeof(bound), "%zu blocks per hold", bounds[i]);
        most = bounds[i];
        refuse = 0;
        holds = 0;
        right &= known(b, 0) == TR_OK;
        unbounded = i == 0 ? holds : unbounded;
        bool split = b->features == 0 ? holds == 0 : i == 0 || holds > unbounded;
        tap_ok(right && split, "%s passes its known-answer tests, %s: %lu holds", b->name, bound,
               holds);

        refuse = 1;
        holds = refusals = 0;
        right = known(b, 0) == TR_OK;
        refuse = 2;
        for (unsigned round = 0; round < ROUNDS; round++)
            right &= known(b, 0) == TR_OK;
        right &= (b->features == 0) == (refusals == 0);
        tap_ok(right, "%s passes its known-answer tests with refusals, %s: %lu holds, %lu refused",
               b->name, bound, holds, refusals);
    }
}

/* ---- Keys that are set while the registers are refused ---- */

#define LATE     2 /* results per backend */
#define LATE_LEN 1000u

enum { EARLY, NO_REGISTERS, KEYS };

static struct {
    struct tr_aes_key aes;
    struct tr_xts_key xts;
    struct tr_gcm_key gcm;
    struct tr_ccm_key ccm;
} keys[KEYS];

static bool set_keys(const struct tr_backend *b, const uint8_t *raw, size_t len)
{
    bool good = true;
    for (unsigned i = 0; i < KEYS; i++) {
        refuse = i == NO_REGISTERS;
        good &= tr_aes_set_key(&keys[i].aes, b, raw, len) == TR_OK &&
                tr_gcm_set_key(&keys[i].gcm, b, raw, len) == TR_OK &&
                tr_ccm_set_key(&keys[i].ccm, b, raw, len) == TR_OK &&
                (len == 24 || tr_xts_set_key(&keys[i].xts, b, raw, 2 * len) == TR_OK);
    }
    refuse = 0;
    return good;
}

/* Whether both keys belong to the backend and have the same round keys. The backend that needs
 * no processor feature has no decryption keys to compare. */
static bool same_key(const struct tr_backend *b)
{
    const struct tr_aes_key *a = &keys[EARLY].aes, *late = &keys[NO_REGISTERS].aes;
    size_t bytes = (a->rounds + 1) * (size_t)TR_BLOCK;
    return a->backend == b && late->backend == b && a->rounds == late->rounds &&
           memcmp(a->enc, late->enc, bytes) == 0 &&
           (b->features == 0 || memcmp(a->dec, late->dec, bytes) == 0);
}

/* Processes one message in several modes with keys[i]. Each operation writes at most LATE_LEN bytes
 * to a separate array of `out`. There is no XTS with keys of 24 bytes. */
static bool late_message(unsigned i, size_t key_len, const uint8_t in[LATE_LEN],
                         uint8_t out[5][LATE_LEN], uint8_t tag[2][TR_BLOCK])
{
    uint8_t iv[TR_BLOCK] = {1};
    bool good =
        tr_cbc_decrypt(&keys[i].aes, iv, out[0], in, LATE_LEN / TR_BLOCK * TR_BLOCK) == TR_OK &&
        tr_gcm_seal(&keys[i].gcm, iv, 12, in, 20, out[1], in, LATE_LEN, tag[0], TR_BLOCK) ==
            TR_OK &&
        tr_gcm_open(&keys[i].gcm, iv, 12, in, 20, out[2], out[1], LATE_LEN, tag[0], TR_BLOCK) ==
            TR_OK &&
        tr_ccm_seal(&keys[i].ccm, iv, 12, in, 20, out[3], in, LATE_LEN, tag[1], TR_BLOCK) == TR_OK;
    return good && memcmp(in, out[2], LATE_LEN) == 0 &&
           (key_len == 24 || tr_xts_decrypt(&keys[i].xts, iv, out[4], in, LATE_LEN) == TR_OK);
}

/* Tests that a key set without registers still belongs to its backend, and that its messages use
 * the registers. */
static void late_registers(const struct tr_backend *b)
{
    static uint8_t out[KEYS][5][LATE_LEN];
    uint8_t raw[64], in[LATE_LEN], tag[KEYS][2][TR_BLOCK];
    bool same = true, right = true;
    most = SIZE_MAX;
    memset(out, 0, sizeof(out));
    for (size_t k = 0; k < 3; k++) {
        unsigned long used[KEYS];
        tap_fill(&random_numbers, raw, sizeof(raw));
        tap_fill(&random_numbers, in, sizeof(in));
        right &= set_keys(b, raw, key_lengths[k]);
        same &= same_key(b);
        for (unsigned i = 0; i < KEYS; i++) {
            holds = refusals = 0;
            right &= late_message(i, key_lengths[k], in, out[i], tag[i]) && refusals == 0;
            used[i] = holds;
        }
        right &= memcmp(out[EARLY], out[NO_REGISTERS], sizeof(out[EARLY])) == 0;
        right &= memcmp(tag[EARLY], tag[NO_REGISTERS], sizeof(tag[EARLY])) == 0;
        right &= used[EARLY] == used[NO_REGISTERS] && (used[EARLY] == 0) == (b->features == 0);
    }
    tap_ok(same, "%s: a key that is set without registers equals one that is set with them",
           b->name);
    tap_ok(right, "%s: messages under such a key use the registers, with equal results", b->name);
}

/* ---- Tracing probes ---- */

#define PROBE      2 /* results per backend */
#define JOBS       40u
#define JOB_BLOCKS 32u

/* Encrypts jobs of equal length. The tracing probe must report each byte once, under the name of
 * the backend that encrypts it. Multi-buffer code with AES instructions runs such jobs together,
 * so the probe reports fewer calls than jobs. */
static void probe_many(const struct tr_backend *b, bool refused)
{
    static uint8_t text[JOBS][JOB_BLOCKS * TR_BLOCK];
    uint8_t iv[JOBS][TR_BLOCK] = {{0}}, raw[16] = {1};
    struct tr_stream jobs[JOBS];
    struct tr_aes_key key;
    /* In 32-bit code, a backend with ZMM registers leaves such jobs to a weaker one. */
    const struct tr_backend *multi = tr_backend_with_multibuffer(b);
    const bool together = multi != NULL && (multi->features & TR_FEATURE_AES) != 0 && !refused;
    most = SIZE_MAX;
    refuse = 0;
    bool right = tr_aes_set_key(&key, b, raw, sizeof(raw)) == TR_OK;
    for (unsigned i = 0; i < JOBS; i++)
        jobs[i] = (struct tr_stream){
            .key = &key, .iv = iv[i], .out = text[i], .in = text[i], .len = sizeof(text[i])};
    /* The first call also runs known-answer tests. */
    right &= tr_cbc_encrypt_many(jobs, JOBS) == TR_OK;
    refuse = refused;
    may_probe =
        (together ? multi : tr_backend_doing(refused ? &tr_bitslice : b, TR_OP_CBC_ENCRYPT))->name;
    probes = 0;
    probed = 0;
    probed_right = true;
    right &= tr_cbc_encrypt_many(jobs, JOBS) == TR_OK;
    refuse = 0;
    tap_ok(right && probed_right && probed == sizeof(text) && (probes < JOBS) == together,
           "%s, registers %s: a tracer sees %u jobs as %lu calls of %zu bytes in all", b->name,
           refused ? "refused" : "held", JOBS, probes, probed);
}

int main(void)
{
    tap_plan((unsigned)(2 * BOUNDS + LATE + PROBE) * backend_count() + 2);
    random_numbers = tap_random(0);
    for (unsigned i = 0; i < backend_count(); i++) {
        const struct tr_backend *b = tr_backend_at(i);
        if (!backend_skip(b, 2 * BOUNDS + LATE + PROBE)) {
            known_answers(b);
            late_registers(b);
            probe_many(b, false);
            probe_many(b, true);
        }
    }
    tap_ok(nested == 0 && !held, "no hold is nested, and every hold ends");
    tap_ok(known(&tr_bitslice, 1) == TR_ERR_SELF_TEST, "a falsified answer is detected");
    return tap_done();
}
