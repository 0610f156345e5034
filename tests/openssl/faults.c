/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the provider in a program with little memory, many contexts, threads that end, fork,
 * signals, and unloading in the middle of a message. The expected bytes come from the default
 * provider.
 */
#define _GNU_SOURCE
#include "sides.h"
#include "unfinished.h"

#include <dlfcn.h>

static struct evp_side ours, theirs;

/* ---- Unloading ------------------------------------------------------------------------------ */

/* Unloads the provider and frees its library context in the middle of a message. A cipher context
 * holds a reference to its cipher, and a cipher to its provider. So the module stays loaded until
 * the cipher context is freed. */
static bool unload_with_live_contexts(void)
{
    uint8_t out[NAMES][BYTES + 32];
    int len[NAMES];
    EVP_CIPHER_CTX *ctx[NAMES];
    struct evp_side side = evp_open("tenrounds");
    bool good = true;
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *cipher = evp_fetch(&side, names[i]);
        ctx[i] = EVP_CIPHER_CTX_new();
        good = good && begin_with(ctx[i], cipher, NULL, out[i], &len[i]);
        EVP_CIPHER_free(cipher);
    }
    evp_close(&side);
    for (unsigned i = 0; i < NAMES; i++) {
        good = good && second_half(ctx[i], out[i], &len[i]) && is_expected(i, out[i], len[i]);
        EVP_CIPHER_CTX_free(ctx[i]);
    }
    return good;
}

/* Opens the module and closes it in the middle of a message. The module must stay loaded, because
 * libcrypto holds a reference of its own. */
static bool dlclose_with_live_contexts(void)
{
    char path[4096];
    const char *folder = getenv("OPENSSL_MODULES");
    uint8_t out[BYTES + 32];
    int len;
    snprintf(path, sizeof(path), "%s/tenrounds.so", folder != NULL ? folder : ".");
    void *module = dlopen(path, RTLD_NOW);
    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
    bool good = module != NULL && first_half(ctx, 0, out, &len) && dlclose(module) == 0;
    good = good && second_half(ctx, out, &len) && is_expected(0, out, len);
    EVP_CIPHER_CTX_free(ctx);
    return good;
}

int main(void)
{
    EVP_CIPHER *fetched[NAMES];
    tap_plan(CASES + 2);
    unfinished_draw();
    theirs = evp_open("default");
    ours = evp_open("tenrounds");
    for (unsigned i = 0; i < NAMES; i++) {
        EVP_CIPHER *other = evp_fetch(&theirs, names[i]);
        ciphers[i] = fetched[i] = evp_fetch(&ours, names[i]);
        if (!unfinished_expect(i, other))
            return 2;
        EVP_CIPHER_free(other);
    }
    unfinished_cases();
    tap_ok(unload_with_live_contexts(), "messages go on after the provider was unloaded");
    tap_ok(dlclose_with_live_contexts(), "messages go on after dlclose()");
    for (unsigned i = 0; i < NAMES; i++)
        EVP_CIPHER_free(fetched[i]);
    evp_close(&ours);
    evp_close(&theirs);
    return tap_done();
}
