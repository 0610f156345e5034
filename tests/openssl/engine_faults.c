/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the engine in a program with little memory, many contexts, threads that end, fork, signals
 * and longjmp(). The expected bytes come from libcrypto's ciphers.
 */
#define _GNU_SOURCE
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/engine.h>
/* Include this after engine.h: parameters there have the names of globals in unfinished.h. */
#include "unfinished.h"

int main(void)
{
    tap_plan(CASES);
    unfinished_draw();
    OPENSSL_init_crypto(OPENSSL_INIT_ENGINE_ALL_BUILTIN | OPENSSL_INIT_ADD_ALL_CIPHERS, NULL);
    engine = ENGINE_by_id("tenrounds");
    if (engine == NULL || !ENGINE_init(engine)) {
        ERR_print_errors_fp(stderr);
        return 2;
    }
    for (unsigned i = 0; i < NAMES; i++) {
        ciphers[i] = EVP_get_cipherbyname(names[i]);
        if (ciphers[i] == NULL || ENGINE_get_cipher(engine, EVP_CIPHER_nid(ciphers[i])) == NULL ||
            !unfinished_expect(i, ciphers[i]))
            return 2;
    }
    unfinished_cases();
    ENGINE_finish(engine);
    ENGINE_free(engine);
    return tap_done();
}
