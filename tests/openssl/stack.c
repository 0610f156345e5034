/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls the core and the provider with a stack aligned to only 4 bytes. On i386, code from gcc
 * before 4.5 and some assembly code make calls with such a stack. The core's results must equal the
 * results of ordinary calls, and the provider's results those of the default provider. A function
 * that assumes an aligned vector on the stack fails with SIGSEGV.
 */
#include "tap.h"
#include "tenrounds.h"

#include <openssl/evp.h>
#include <openssl/provider.h>

#define TEXT 4096

/* Calls f with `words` arguments, with a stack pointer that is `shift` bytes (0, 4, 8 or 12) off a
 * multiple of 16. */
static uintptr_t call_at(unsigned shift, void (*f)(void), const uintptr_t *arguments,
                         unsigned words)
{
    uintptr_t result = (uintptr_t)f, counter = words, from = (uintptr_t)arguments;
    const unsigned down = (shift + 16 - 4 * words % 16) % 16;
    __asm__ volatile("mov %%esp, %%esi\n\t"
                     "and $-16, %%esp\n\t"
                     "sub %[down], %%esp\n\t"
                     "1: test %%ecx, %%ecx\n\t"
                     "jz 2f\n\t"
                     "push -4(%%edx, %%ecx, 4)\n\t"
                     "dec %%ecx\n\t"
                     "jmp 1b\n"
                     "2: call *%%eax\n\t"
                     "mov %%esi, %%esp"
                     : "+a"(result), "+c"(counter), "+d"(from)
                     : [down] "D"(down)
                     : "esi", "memory", "cc");
    return result;
}

#define WORDS(...)                                                                                 \
    (const uintptr_t[])                                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define P(x) (uintptr_t)(x)
#define CALL(shift, f, ...)                                                                        \
    call_at(shift, (void (*)(void))(f), WORDS(__VA_ARGS__),                                        \
            sizeof(WORDS(__VA_ARGS__)) / sizeof(uintptr_t))

static const uint8_t raw[32] = "a key, and a second one for XTS";
static uint8_t in[TEXT], expected[TEXT + 16], out[TEXT + 16];

/* ---- The core -------------------------------------------------------------------------------- */

static bool core_agrees(unsigned shift)
{
    struct tr_aes_key key;
    struct tr_gcm_key gcm;
    bool good = true;
    for (unsigned b = 0; tr_backend_at(b) != NULL; b++) {
        const struct tr_backend *backend = tr_backend_at(b);
        struct tr_cpu cpu;
        tr_cpu_detect(&cpu);
        if ((tr_backend_features(backend) & ~cpu.usable) != 0)
            continue;
        for (size_t len = 16; len <= TEXT; len *= 2) {
            uint8_t iv[2][16] = {{0}}, tag[2][16];
            good &= tr_aes_set_key(&key, backend, raw, 16) == TR_OK &&
                    tr_cbc_decrypt(&key, iv[0], expected, in, len) == TR_OK &&
                    CALL(shift, tr_aes_set_key, P(&key), P(backend), P(raw), 16) == TR_OK &&
                    CALL(shift, tr_cbc_decrypt, P(&key), P(iv[1]), P(out), P(in), len) == TR_OK &&
                    memcmp(out, expected, len) == 0;
            good &= tr_gcm_set_key(&gcm, backend, raw, 32) == TR_OK &&
                    tr_gcm_seal(&gcm, raw, 12, raw, 7, expected, in, len, tag[0], 16) == TR_OK &&
                    CALL(shift, tr_gcm_set_key, P(&gcm), P(backend), P(raw), 32) == TR_OK &&
                    CALL(shift, tr_gcm_seal, P(&gcm), P(raw), 12, P(raw), 7, P(out), P(in), len,
                         P(tag[1]), 16) == TR_OK &&
                    memcmp(out, expected, len) == 0 && memcmp(tag[0], tag[1], 16) == 0;
        }
        good &= CALL(shift, tr_backend_self_test, P(backend)) == TR_OK;
    }
    return good;
}

/* ---- The provider ---------------------------------------------------------------------------- */

static int encrypt(EVP_CIPHER_CTX *ctx, const char *cipher, const char *properties, uint8_t *to)
{
    EVP_CIPHER *c = EVP_CIPHER_fetch(NULL, cipher, properties);
    int n = 0, good = c != NULL && EVP_EncryptInit_ex2(ctx, c, raw, raw, NULL) == 1 &&
                      EVP_EncryptUpdate(ctx, to, &n, in, TEXT) == 1 && n == TEXT &&
                      EVP_EncryptFinal_ex(ctx, to + n, &n) == 1;
    EVP_CIPHER_free(c);
    return good;
}

static int encrypt_at(unsigned shift, EVP_CIPHER_CTX *ctx, const char *cipher,
                      const char *properties, uint8_t *to)
{
    int n = 0;
    EVP_CIPHER *c = (EVP_CIPHER *)CALL(shift, EVP_CIPHER_fetch, 0, P(cipher), P(properties));
    int good = c != NULL &&
               CALL(shift, EVP_EncryptInit_ex2, P(ctx), P(c), P(raw), P(raw), 0) == 1 &&
               CALL(shift, EVP_EncryptUpdate, P(ctx), P(to), P(&n), P(in), TEXT) == 1 &&
               n == TEXT && CALL(shift, EVP_EncryptFinal_ex, P(ctx), P(to + n), P(&n)) == 1;
    CALL(shift, EVP_CIPHER_free, P(c));
    return good;
}

static bool provider_agrees(unsigned shift)
{
    static const char *const ciphers[] = {"AES-128-CBC", "AES-128-CTR", "AES-128-CFB",
                                          "AES-128-GCM", "AES-128-XTS", "AES-128-ECB",
                                          "AES-128-OCB"};
    OSSL_PROVIDER *ours = (OSSL_PROVIDER *)CALL(shift, OSSL_PROVIDER_load, 0, P("tenrounds"));
    bool good = ours != NULL;
    for (size_t i = 0; good && i < sizeof(ciphers) / sizeof(*ciphers); i++) {
        EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        /* Block modes append padding, which the test does not compare. */
        good = encrypt(ctx, ciphers[i], "provider=default", expected) &&
               EVP_CIPHER_CTX_reset(ctx) == 1 &&
               encrypt_at(shift, ctx, ciphers[i], "provider=tenrounds", out) &&
               memcmp(out, expected, TEXT) == 0;
        CALL(shift, EVP_CIPHER_CTX_free, P(ctx));
        if (!good)
            tap_diag("%s: a call failed or the output is wrong", ciphers[i]);
    }
    return good && CALL(shift, OSSL_PROVIDER_unload, P(ours)) == 1;
}

int main(void)
{
    OSSL_PROVIDER *usual = OSSL_PROVIDER_load(NULL, "default");
    struct tap_random rng = tap_random(0);
    tap_plan(8);
    tap_fill(&rng, in, sizeof(in));
    for (unsigned shift = 0; shift < 16; shift += 4) {
        tap_ok(core_agrees(shift),
               "the core works with a stack pointer %u bytes off a multiple of 16", shift);
        tap_ok(usual != NULL && provider_agrees(shift),
               "the provider works with the same stack pointer");
    }
    OSSL_PROVIDER_unload(usual);
    return tap_done();
}
