/* SPDX-License-Identifier: BSD-2-Clause */
/* Declarations of Cryptoki's header (PKCS#11 2.40 and 3.0), repeated here because Debian has no
 * package of the header alone. */
#ifndef TENROUNDS_TESTS_CRYPTOKI_H
#define TENROUNDS_TESTS_CRYPTOKI_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned long ulong_t;
struct attribute {
    ulong_t type;
    const void *value;
    ulong_t len;
};
struct mechanism {
    ulong_t type;
    const void *parameter;
    ulong_t len;
};
struct ctr_params {
    ulong_t bits;
    uint8_t counter[16];
};
struct gcm_params {
    const uint8_t *iv;
    ulong_t iv_len, iv_bits;
    const uint8_t *aad;
    ulong_t aad_len, tag_bits;
};
struct ccm_params {
    ulong_t data_len;
    const uint8_t *nonce;
    ulong_t nonce_len;
    const uint8_t *aad;
    ulong_t aad_len, tag_len;
};
enum { CLASS = 0, VALUE = 0x11, KEY_TYPE = 0x100, SECRET_KEY = 4, AES = 0x1f, AES_XTS = 0x35 };
enum { SERIAL = 4, ENCRYPTED_DATA_INVALID = 0x40 };

struct cryptoki {
    ulong_t (*initialize)(void *);
    ulong_t (*open)(ulong_t, ulong_t, void *, void *, ulong_t *);
    ulong_t (*close)(ulong_t);
    ulong_t (*create)(ulong_t, struct attribute *, ulong_t, ulong_t *);
    ulong_t (*destroy)(ulong_t, ulong_t);
    struct {
        ulong_t (*init)(ulong_t, struct mechanism *, ulong_t);
        ulong_t (*once)(ulong_t, const uint8_t *, ulong_t, uint8_t *, ulong_t *);
        ulong_t (*update)(ulong_t, const uint8_t *, ulong_t, uint8_t *, ulong_t *);
        ulong_t (*final)(ulong_t, uint8_t *, ulong_t *);
    } way[2]; /* decrypt, encrypt */
};

static inline void cryptoki_find(void *module, void *function, const char *name)
{
    *(void **)function = module == NULL ? NULL : dlsym(module, name);
    if (*(void **)function != NULL)
        return;
    fprintf(stderr, "TENROUNDS_PKCS11 is no PKCS#11 module: no %s\n", name);
    exit(2);
}

/* Loads the module whose path is in the environment variable TENROUNDS_PKCS11. Exits on failure. */
static inline void cryptoki_load(struct cryptoki *p11)
{
    const char *const path = getenv("TENROUNDS_PKCS11");
    void *const module = path == NULL ? NULL : dlopen(path, RTLD_NOW);
    cryptoki_find(module, &p11->initialize, "C_Initialize");
    cryptoki_find(module, &p11->open, "C_OpenSession");
    cryptoki_find(module, &p11->close, "C_CloseSession");
    cryptoki_find(module, &p11->create, "C_CreateObject");
    cryptoki_find(module, &p11->destroy, "C_DestroyObject");
    cryptoki_find(module, &p11->way[0].init, "C_DecryptInit");
    cryptoki_find(module, &p11->way[0].once, "C_Decrypt");
    cryptoki_find(module, &p11->way[0].update, "C_DecryptUpdate");
    cryptoki_find(module, &p11->way[0].final, "C_DecryptFinal");
    cryptoki_find(module, &p11->way[1].init, "C_EncryptInit");
    cryptoki_find(module, &p11->way[1].once, "C_Encrypt");
    cryptoki_find(module, &p11->way[1].update, "C_EncryptUpdate");
    cryptoki_find(module, &p11->way[1].final, "C_EncryptFinal");
    if (p11->initialize(NULL) != 0)
        exit(2);
}

#endif
