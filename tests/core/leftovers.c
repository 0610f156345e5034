/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that calls leave no key schedule and no key-dependent table on the stack. Each call runs on
 * a cleared stack under one key, then under another that differs in every byte, with the same text
 * and IV. A stack byte that differs between both runs depends on the key. Two findings are errors:
 *
 * - at least `rounds` - 2 of the `rounds` + 1 round keys, each as 16 contiguous bytes;
 * - more key-dependent bytes than the call's limit `most`. Ciphertext does not count. The limit is
 *   not 0, because the compiler may spill registers. In 64-bit code, every limit is below the size
 *   of a table of AES states (4 KiB) or of products of H (2 KiB).
 */
#define _GNU_SOURCE
#include "common.h"

#include <ucontext.h>

#define LEN  (700 * 16u + 9)
#define JOBS 24u

static uint8_t text[LEN], out[LEN], ivs[JOBS][16], raw[64];
static struct tr_aes_key aes, others[JOBS];
static struct tr_gcm_key gcm;
static struct tr_xts_key xts;
static struct tr_ccm_key ccm;
static struct tr_ocb_key ocb;
static struct tr_siv_key siv;
static struct tr_gcm_siv_key gcm_siv;
static struct tr_cmac_key cmac;
static size_t len;
static bool good;

#define CALL(name, ...)                                                                            \
    static void name(void)                                                                         \
    {                                                                                              \
        uint8_t iv[16] = {1}, keystream[16], tag[16];                                              \
        unsigned used = 0;                                                                         \
        (void)iv, (void)keystream, (void)tag, (void)used;                                          \
        good = (__VA_ARGS__) == TR_OK;                                                             \
    }
CALL(ecb_encrypt, tr_ecb_encrypt(&aes, out, text, len / 16 * 16))
CALL(ecb_decrypt, tr_ecb_decrypt(&aes, out, text, len / 16 * 16))
CALL(cbc_encrypt, tr_cbc_encrypt(&aes, iv, out, text, len / 16 * 16))
CALL(cbc_decrypt, tr_cbc_decrypt(&aes, iv, out, text, len / 16 * 16))
CALL(cfb_encrypt, tr_cfb128_encrypt(&aes, iv, &used, out, text, len))
CALL(cfb_decrypt, tr_cfb128_decrypt(&aes, iv, &used, out, text, len))
CALL(ofb, tr_ofb(&aes, iv, &used, out, text, len))
CALL(ctr, tr_ctr(&aes, iv, keystream, &used, out, text, len))
CALL(xts_encrypt, tr_xts_encrypt(&xts, iv, out, text, len))
CALL(xts_decrypt, tr_xts_decrypt(&xts, iv, out, text, len))
CALL(gcm_seal, tr_gcm_seal(&gcm, iv, 12, text, 20, out, text, len, tag, 16))
CALL(gcm_hashed_iv, tr_gcm_seal(&gcm, iv, 16, text, 20, out, text, len, tag, 16))
CALL(ccm_seal, tr_ccm_seal(&ccm, iv, 12, text, 20, out, text, len, tag, 16))
CALL(ocb_seal, tr_ocb_seal(&ocb, iv, 12, text, 20, out, text, len, tag, 16))
CALL(siv_seal, tr_siv_seal(&siv, text, 20, out, text, len, tag))
CALL(gcm_siv_seal, tr_gcm_siv_seal(&gcm_siv, iv, text, 20, out, text, len, tag))
CALL(cmac_sign, tr_cmac_sign(&cmac, text, len, tag, 16))
CALL(set_key, tr_aes_set_key(&aes, aes.backend, raw, 32))
CALL(set_gcm_key, tr_gcm_set_key(&gcm, aes.backend, raw, 32))

static void many(bool own)
{
    static struct tr_stream jobs[JOBS];
    memset(ivs, 7, sizeof(ivs));
    for (unsigned i = 0; i < JOBS; i++) {
        const size_t n = len / JOBS / 16 * 16;
        jobs[i] = (struct tr_stream){own ? &others[i] : &aes, ivs[i], out + i * n, text + i * n,
                                     n - 16 * (i % 3)};
    }
    good = tr_cbc_encrypt_many(jobs, JOBS) == TR_OK;
}
static void one_key(void)
{
    many(false);
}
static void own_keys(void)
{
    many(true);
}

/* The limits `most`, in bytes. */
#define PLAIN 1500u
#define HASH  1700u /* for GCM, whose GHASH spills */
/* For GCM-SIV, which also expands keys. 32-bit code has 8 vector registers, and spills more. */
#define SIV   (sizeof(void *) == 8 ? 2000u : 2300u)

static const struct {
    const char *name;
    void (*call)(void);
    unsigned most;
    size_t shortest;
} calls[] = {
#define ROW(name, most, shortest)                                                                  \
    {                                                                                              \
#        name, name, most, shortest                                                                \
    }
    ROW(ecb_encrypt, PLAIN, 16), ROW(ecb_decrypt, PLAIN, 16), ROW(cbc_encrypt, PLAIN, 16),
    ROW(cbc_decrypt, PLAIN, 16), ROW(cfb_encrypt, PLAIN, 0),  ROW(cfb_decrypt, PLAIN, 0),
    ROW(ofb, PLAIN, 0),          ROW(ctr, PLAIN, 0),          ROW(xts_encrypt, PLAIN, 16),
    ROW(xts_decrypt, PLAIN, 16), ROW(gcm_seal, HASH, 0),      ROW(gcm_hashed_iv, HASH, 0),
    ROW(ccm_seal, PLAIN, 0),     ROW(ocb_seal, PLAIN, 0),     ROW(siv_seal, PLAIN, 0),
    ROW(gcm_siv_seal, SIV, 0),   ROW(cmac_sign, PLAIN, 0),    ROW(set_key, PLAIN, 0),
    ROW(set_gcm_key, PLAIN, 0),  ROW(one_key, PLAIN, 4000),   ROW(own_keys, PLAIN, 4000),
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static uint8_t stack[128 * 1024] __attribute__((aligned(4096))), before[sizeof(stack)];
static ucontext_t test_context, call_context;

static bool set_keys(const struct tr_backend *b, unsigned run, size_t key_len)
{
    for (size_t i = 0; i < sizeof(raw); i++)
        raw[i] = (uint8_t)(run == 0 ? 17 * i + 3 : ~(17 * i + 3));
    bool set = tr_aes_set_key(&aes, b, raw, key_len) == TR_OK &&
               tr_gcm_set_key(&gcm, b, raw, key_len) == TR_OK &&
               tr_xts_set_key(&xts, b, raw, key_len == 24 ? 32 : 2 * key_len) == TR_OK &&
               tr_ccm_set_key(&ccm, b, raw, key_len) == TR_OK &&
               tr_ocb_set_key(&ocb, b, raw, key_len) == TR_OK &&
               tr_siv_set_key(&siv, b, raw, 2 * key_len) == TR_OK &&
               tr_gcm_siv_set_key(&gcm_siv, b, raw, key_len) == TR_OK &&
               tr_cmac_set_key(&cmac, b, raw, key_len) == TR_OK;
    for (unsigned i = 0; set && i < JOBS; i++) {
        raw[0]++;
        set = tr_aes_set_key(&others[i], b, raw, key_len) == TR_OK;
    }
    return set;
}

/* Runs a call on the cleared `stack`. Before that, runs it once on the normal stack, because the
 * first multi-buffer call also runs known-answer tests. */
static bool run(void (*call)(void))
{
    call();
    memset(stack, 0, sizeof(stack));
    if (!good || getcontext(&call_context) != 0)
        return false;
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof(stack);
    call_context.uc_link = &test_context;
    makecontext(&call_context, call, 0);
    return swapcontext(&test_context, &call_context) == 0 && good;
}

/* Clears every copy of a block of ciphertext on the stack. */
static void forget_ciphertext(void)
{
    for (size_t at = 0; at + 16 <= len; at += 16)
        for (uint8_t *p = stack;
             (p = memmem(p, (size_t)(stack + sizeof(stack) - p), out + at, 16));)
            memset(p, 0, 16);
}

static unsigned key_dependent(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < sizeof(stack); i++)
        n += stack[i] != 0 && stack[i] != before[i];
    return n;
}

static unsigned round_keys(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i <= aes.rounds; i++)
        n += memmem(stack, sizeof(stack), aes.enc[i], 16) != NULL;
    return n;
}

/* Whether a call leaves at most `most` key-dependent bytes and few round keys. Both runs use the
 * same stack, so that the addresses in it are equal. */
static bool leaves_little(const struct tr_backend *b, size_t key_len, size_t c)
{
    for (unsigned i = 0; i < 2; i++) {
        memcpy(before, stack, sizeof(stack));
        if (!set_keys(b, i, key_len) || !run(calls[c].call))
            return false;
    }
    unsigned bytes = key_dependent();
    if (bytes > calls[c].most) {
        forget_ciphertext();
        bytes = key_dependent();
    }
    const unsigned keys = round_keys();
    if (bytes <= calls[c].most && keys + 2 < aes.rounds)
        return true;
    tap_diag("%s, %zu-bit key, %zu bytes: leaves %u bytes that depend on the key, %u round keys",
             calls[c].name, 8 * key_len, len, bytes, keys);
    return false;
}

/* Leaves a round-key schedule, to test the search. */
static void leave_round_keys(void)
{
    uint8_t local[1024];
    memcpy(local, aes.enc, sizeof(aes.enc));
    __asm__ volatile("" : : "r"(local) : "memory");
    good = true;
}

static void test_backend(const struct tr_backend *b)
{
    static const size_t lengths[] = {40, 407, 4077, LEN};
    unsigned n = 0, right = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < CALLS; c++)
            for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
                len = lengths[i];
                if (len < calls[c].shortest)
                    continue;
                right += leaves_little(b, key_lengths[k], c);
                n++;
            }
    tap_ok(right == n, "%s: %u of %u calls leave no key schedule and few key-dependent bytes",
           tr_backend_name(b), right, n);
}

int main(void)
{
    const struct tr_backend *b;
    struct tap_random rng = tap_random(0);
    tap_plan(1 + backend_count());
    tap_fill(&rng, text, sizeof(text));
    tap_ok(set_keys(&tr_bitslice, 0, 16) && run(leave_round_keys) && round_keys() == 11,
           "the search finds round keys on the stack");
    for (unsigned i = 0; (b = tr_backend_at(i)) != NULL; i++)
        if (!backend_skip(b, 1))
            test_backend(b);
    return tap_done();
}
