/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs one mode, with a backend of the core or with libcrypto. The script scripts/arm-mca records
 * the loops that this program executes.
 *
 *     loops BACKEND|openssl MODE
 *
 * With AES-128, calls the mode with SHORT bytes, then with LONG bytes, and repeats both calls. The
 * program calls loops_mark() before and after each of the last two calls, so that scripts/arm-mca
 * finds them in the log of executed instructions. The first two calls are not measured, because
 * they bind libcrypto's functions and compute the powers of H.
 */
#include "tenrounds.h"

#include <openssl/evp.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT = 16384, LONG = 32768 };

static uint8_t in[LONG], out[LONG];
static const uint8_t raw[32] = {1, 2, 3, 4}, zeros[16];

void loops_mark(void);
__attribute__((__noinline__)) void loops_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "loops: %s failed\n", what);
        exit(1);
    }
}
#define OK(call) must((call) == TR_OK, #call)

static union {
    struct tr_aes_key aes;
    struct tr_xts_key xts;
    struct tr_gcm_key gcm;
    struct tr_ccm_key ccm;
    struct tr_ocb_key ocb;
} key;

static EVP_CIPHER_CTX *ctx;

static void ecb_encrypt(size_t len)
{
    OK(tr_ecb_encrypt(&key.aes, out, in, len));
}
static void ecb_decrypt(size_t len)
{
    OK(tr_ecb_decrypt(&key.aes, out, in, len));
}
static void cbc_encrypt(size_t len)
{
    uint8_t iv[16] = {0};
    OK(tr_cbc_encrypt(&key.aes, iv, out, in, len));
}
static void cbc_decrypt(size_t len)
{
    uint8_t iv[16] = {0};
    OK(tr_cbc_decrypt(&key.aes, iv, out, in, len));
}
static void cfb_encrypt(size_t len)
{
    uint8_t iv[16] = {0};
    unsigned used = 0;
    OK(tr_cfb128_encrypt(&key.aes, iv, &used, out, in, len));
}
static void cfb_decrypt(size_t len)
{
    uint8_t iv[16] = {0};
    unsigned used = 0;
    OK(tr_cfb128_decrypt(&key.aes, iv, &used, out, in, len));
}
static void ctr(size_t len)
{
    uint8_t counter[16] = {0}, keystream[16];
    unsigned used = 0;
    OK(tr_ctr(&key.aes, counter, keystream, &used, out, in, len));
}
static void xts_encrypt(size_t len)
{
    OK(tr_xts_encrypt(&key.xts, zeros, out, in, len));
}
static void gcm_encrypt(size_t len)
{
    struct tr_gcm gcm;
    OK(tr_gcm_start(&gcm, &key.gcm, zeros, 12));
    OK(tr_gcm_encrypt(&gcm, out, in, len));
}
static void gcm_decrypt(size_t len)
{
    struct tr_gcm gcm;
    OK(tr_gcm_start(&gcm, &key.gcm, zeros, 12));
    OK(tr_gcm_decrypt(&gcm, out, in, len));
}
static void ghash(size_t len)
{
    struct tr_gcm gcm;
    OK(tr_gcm_start(&gcm, &key.gcm, zeros, 12));
    OK(tr_gcm_aad(&gcm, in, len));
}
static void ccm_encrypt(size_t len)
{
    uint8_t tag[16];
    OK(tr_ccm_seal(&key.ccm, zeros, 12, NULL, 0, out, in, len, tag, 16));
}
static void ocb_encrypt(size_t len)
{
    uint8_t tag[16];
    OK(tr_ocb_seal(&key.ocb, zeros, 12, NULL, 0, out, in, len, tag, 16));
}

static const struct mode {
    const char *name;
    void (*call)(size_t len);
    const char *cipher; /* libcrypto's name */
    int encrypts;
    int is_aad;
} modes[] = {
    {"ecb-encrypt", ecb_encrypt, "AES-128-ECB", 1, 0},
    {"ecb-decrypt", ecb_decrypt, "AES-128-ECB", 0, 0},
    {"ctr", ctr, "AES-128-CTR", 1, 0},
    {"cbc-decrypt", cbc_decrypt, "AES-128-CBC", 0, 0},
    {"cfb-decrypt", cfb_decrypt, "AES-128-CFB", 0, 0},
    {"cbc-encrypt", cbc_encrypt, "AES-128-CBC", 1, 0},
    {"cfb-encrypt", cfb_encrypt, "AES-128-CFB", 1, 0},
    {"xts-encrypt", xts_encrypt, "AES-128-XTS", 1, 0},
    {"gcm-encrypt", gcm_encrypt, "AES-128-GCM", 1, 0},
    {"gcm-decrypt", gcm_decrypt, "AES-128-GCM", 0, 0},
    {"ghash", ghash, "AES-128-GCM", 1, 1},
    {"ccm-encrypt", ccm_encrypt, "AES-128-CCM", 1, 0},
    {"ocb-encrypt", ocb_encrypt, "AES-128-OCB", 1, 0},
};

static void set_key(const struct mode *m, const struct tr_backend *backend)
{
    if (m->call == xts_encrypt)
        OK(tr_xts_set_key(&key.xts, backend, raw, 32));
    else if (m->call == gcm_encrypt || m->call == gcm_decrypt || m->call == ghash)
        OK(tr_gcm_set_key(&key.gcm, backend, raw, 16));
    else if (m->call == ccm_encrypt)
        OK(tr_ccm_set_key(&key.ccm, backend, raw, 16));
    else if (m->call == ocb_encrypt)
        OK(tr_ocb_set_key(&key.ocb, backend, raw, 16));
    else
        OK(tr_aes_set_key(&key.aes, backend, raw, 16));
}

static void libcrypto_start(const struct mode *m)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, m->cipher, NULL);
    ctx = EVP_CIPHER_CTX_new();
    must(cipher != NULL && ctx != NULL, m->cipher);
    must(EVP_CipherInit_ex(ctx, cipher, NULL, NULL, NULL, m->encrypts), "EVP_CipherInit_ex()");
    EVP_CIPHER_CTX_set_padding(ctx, 0);
    if (m->call == ccm_encrypt)
        must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, 16, NULL) > 0,
             "setting the tag length");
    must(EVP_CipherInit_ex(ctx, NULL, NULL, raw, zeros, m->encrypts), "EVP_CipherInit_ex()");
    EVP_CIPHER_free(cipher);
}

static void libcrypto_call(const struct mode *m, size_t len)
{
    int n;
    must(EVP_CipherInit_ex(ctx, NULL, NULL, NULL, zeros, m->encrypts), "EVP_CipherInit_ex()");
    if (m->call == ccm_encrypt)
        must(EVP_CipherUpdate(ctx, NULL, &n, NULL, (int)len), "EVP_CipherUpdate()");
    must(EVP_CipherUpdate(ctx, m->is_aad ? NULL : out, &n, in, (int)len), "EVP_CipherUpdate()");
}

int main(int argc, char **argv)
{
    const struct mode *m = NULL;
    for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strcmp(argv[2], modes[i].name) == 0)
            m = &modes[i];
    if (m == NULL) {
        fputs("usage: loops BACKEND|openssl MODE, where MODE is\n", stderr);
        for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
            fprintf(stderr, "  %s\n", modes[i].name);
        return 2;
    }
    const struct tr_backend *backend = tr_backend_by_name(argv[1]);
    if (strcmp(argv[1], "openssl") == 0) {
        libcrypto_start(m);
    } else {
        must(backend != NULL, "tr_backend_by_name()");
        set_key(m, backend);
    }
    for (unsigned i = 0; i < 4; i++) {
        size_t len = i % 2 == 0 ? SHORT : LONG;
        if (i >= 2)
            loops_mark();
        if (backend != NULL)
            m->call(len);
        else
            libcrypto_call(m, len);
    }
    loops_mark();
    return 0;
}
