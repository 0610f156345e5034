/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests that one-shot GCM-SIV calls leave no keys derived from the nonce on the stack: no round
 * keys, no round keys of the inverse cipher, and no hash subkey. Each call runs on a separate
 * stack, which the test then searches. To check the search itself, one function leaves keys there
 * on purpose, and the search must find them. The search ignores single round keys, because the
 * compiler may spill them.
 */
#define _GNU_SOURCE /* memmem() */
#include "common.h"

#include <ucontext.h>

#define MAX_LEN 5000u

static uint8_t nonce[12], aad[40], text[MAX_LEN], sealed[MAX_LEN], opened[MAX_LEN], tag[16];
static size_t len;
static struct tr_gcm_siv_key key;
static struct tr_gcm_siv message; /* contains the keys to search for */
static struct tr_aes_key derived; /* the message-encryption key, with the inverse cipher's keys */
static enum tr_status status;

static void seal(void)
{
    status = tr_gcm_siv_seal(&key, nonce, aad, sizeof(aad), sealed, text, len, tag);
}

static void open_sealed(void)
{
    status = tr_gcm_siv_open(&key, nonce, aad, sizeof(aad), opened, sealed, len, tag);
}

static void leave_the_round_keys(void)
{
    uint8_t local[1024];
    memcpy(local, derived.enc, sizeof(derived.enc));
    __asm__ volatile("" : : "r"(local) : "memory");
}

static uint8_t stack[256 * 1024] __attribute__((aligned(64)));
static ucontext_t test_context, call_context;

/* Whether the stack contains the secret. A secret of zeros does not count: it is a key that
 * the backend does not compute. */
static bool has(const void *secret, size_t size)
{
    static const uint8_t zeros[sizeof(derived.enc)];
    return memcmp(secret, zeros, size) != 0 && memmem(stack, sizeof(stack), secret, size) != NULL;
}

/* Runs f on a separate stack. Returns the name of a key that is on that stack afterwards, or NULL.
 * Returns "no context" if f could not run. */
static const char *left_by(void (*f)(void))
{
    memset(stack, 0, sizeof(stack));
    if (getcontext(&call_context) != 0)
        return "no context";
    call_context.uc_stack.ss_sp = stack;
    call_context.uc_stack.ss_size = sizeof(stack);
    call_context.uc_link = &test_context;
    makecontext(&call_context, f, 0);
    if (swapcontext(&test_context, &call_context) != 0)
        return "no context";
    /* Searches for `dec` without its first and last round keys. These two are also in `enc`, so a
     * call could leave the others alone. */
    const size_t between = (derived.rounds - 1) * TR_BLOCK;
    return has(derived.enc, between + 2 * TR_BLOCK) ? "the round keys"
           : has(derived.dec[1], between)           ? "the inverse cipher's round keys"
           : has(message.hash.h, TR_BLOCK)          ? "the hash subkey"
                                                    : NULL;
}

static bool set_keys(const struct tr_backend *backend, const uint8_t *raw, size_t key_len)
{
    uint8_t bytes[32];
    memset(&derived, 0, sizeof(derived));
    if (tr_gcm_siv_set_key(&key, backend, raw, key_len) != TR_OK ||
        tr_gcm_siv_start(&message, &key, nonce) != TR_OK)
        return false;
    memcpy(bytes, message.aes.enc, sizeof(bytes)); /* the round keys begin with the key */
    return tr_aes_set_key(&derived, backend, bytes, key_len) == TR_OK;
}

static void test_backend(const struct tr_backend *backend, const uint8_t *raw)
{
    static const size_t lengths[] = {0, 16, 64, 100, 333, 1000, MAX_LEN};
    unsigned calls = 0, clean = 0;
    for (size_t key_len = 16; key_len <= 32; key_len += 8) {
        bool set = set_keys(backend, raw, key_len);
        for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++, calls++) {
            len = lengths[i];
            const char *sealing = left_by(seal);
            bool good = set && status == TR_OK && sealing == NULL;
            const char *opening = left_by(open_sealed);
            good &= status == TR_OK && opening == NULL && memcmp(opened, text, len) == 0;
            if (!good)
                tap_diag("%zu-bit key, %zu bytes: sealing left %s, opening left %s", key_len * 8,
                         len, sealing != NULL ? sealing : "nothing",
                         opening != NULL ? opening : "nothing");
            clean += good;
        }
    }
    tap_ok(clean == calls, "%s: %u of %u pairs of calls leave no key on the stack",
           tr_backend_name(backend), clean, calls);
}

int main(void)
{
    uint8_t raw[32];
    struct tap_random rng = tap_random(0);
    tap_plan(1 + backend_count());
    tap_fill(&rng, raw, sizeof(raw));
    tap_fill(&rng, nonce, sizeof(nonce));
    tap_fill(&rng, aad, sizeof(aad));
    tap_fill(&rng, text, sizeof(text));
    const struct tr_backend *weakest = tr_backend_at(backend_count() - 1);
    const char *found = set_keys(weakest, raw, sizeof(raw)) ? left_by(leave_the_round_keys) : NULL;
    tap_ok(found != NULL && strcmp(found, "the round keys") == 0,
           "the search finds round keys on the stack");
    for (unsigned i = 0; i < backend_count(); i++)
        if (!backend_skip(tr_backend_at(i), 1))
            test_backend(tr_backend_at(i), raw);
    return tap_done();
}
