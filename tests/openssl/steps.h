/* SPDX-License-Identifier: BSD-2-Clause */
/* The results of a call in both providers, and their comparison, for the differential tests. */
#ifndef TENROUNDS_TESTS_STEPS_H
#define TENROUNDS_TESTS_STEPS_H

#include "sides.h"

enum { OURS, THEIRS, SIDES };

/* The result of a call. The program defines MAX_DATA. */
struct result {
    int ret, len;
    unsigned long error; /* library and reason of the last error, or 0 on success */
    uint8_t out[MAX_DATA + 64];
};

static struct evp_side sides[SIDES];

/* Whether tell() prints the steps. */
static bool printing;

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    char line[256];
    va_list args;
    if (!printing)
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    tap_diag("  %s", line);
}

static void end_call(struct result *r, int ret)
{
    const unsigned long e = ERR_peek_last_error();
    r->ret = ret;
    r->error = ret > 0 ? 0 : ERR_PACK(ERR_GET_LIB(e), 0, ERR_GET_REASON(e));
    ERR_clear_error();
}

static bool same(const struct result r[SIDES])
{
    const struct result *a = &r[OURS], *b = &r[THEIRS];
    tell("    ours %d (%d bytes, error %lx), default %d (%d bytes, error %lx)", a->ret, a->len,
         a->error, b->ret, b->len, b->error);
    if (a->ret != b->ret || a->len != b->len || a->error != b->error)
        return false;
    return a->len <= 0 || (printing ? tap_same(a->out, b->out, (size_t)a->len)
                                    : memcmp(a->out, b->out, (size_t)a->len) == 0);
}

/* Fetches a cipher and makes a context in both providers. */
static inline void open_contexts(const char *name, EVP_CIPHER *cipher[SIDES],
                                 EVP_CIPHER_CTX *ctx[SIDES])
{
    for (int i = 0; i < SIDES; i++) {
        cipher[i] = evp_fetch(&sides[i], name);
        ctx[i] = EVP_CIPHER_CTX_new();
    }
}

static inline void close_contexts(EVP_CIPHER *cipher[SIDES], EVP_CIPHER_CTX *ctx[SIDES])
{
    for (int i = 0; i < SIDES; i++) {
        EVP_CIPHER_CTX_free(ctx[i]);
        EVP_CIPHER_free(cipher[i]);
    }
}

/* Whether a provider has this cipher. */
static inline bool offers(unsigned side, const char *name)
{
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(sides[side].libctx, name, NULL);
    EVP_CIPHER_free(cipher);
    ERR_clear_error();
    return cipher != NULL;
}

/* Draws a length of data: short, of whole blocks, or any. */
static inline size_t any_length(struct tap_random *random)
{
    switch (tap_below(random, 4)) {
    case 0:
        return tap_below(random, 34);
    case 1:
        return 16 * tap_below(random, MAX_DATA / 16);
    default:
        return tap_below(random, MAX_DATA);
    }
}

/* Reads a parameter with this type and size from both contexts, and compares the values. */
static inline bool same_param(EVP_CIPHER_CTX *const ctx[SIDES], const char *key, unsigned type,
                              size_t size)
{
    uint8_t value[SIDES][160];
    struct result r[SIDES] = {0};
    size_t returned[SIDES];
    memset(value, 0xa5, sizeof(value));
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {{key, type, value[i], size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
        end_call(&r[i], EVP_CIPHER_CTX_get_params(ctx[i], params));
        returned[i] = params->return_size;
        if (type == OSSL_PARAM_OCTET_PTR && r[i].ret > 0) {
            void *bytes;
            memcpy(&bytes, value[i], sizeof(bytes));
            memset(value[i], 0xa5, sizeof(value[i]));
            if (bytes != NULL && returned[i] <= sizeof(value[i]))
                memcpy(value[i], bytes, returned[i]);
        }
    }
    if (same(r) &&
        (r[OURS].ret <= 0 || (returned[OURS] == returned[THEIRS] &&
                              memcmp(value[OURS], value[THEIRS], sizeof(value[0])) == 0)))
        return true;
    tell("get %s, type %u, size %zu: %zu and %zu bytes, %02x%02x... and %02x%02x...", key, type,
         size, returned[OURS], returned[THEIRS], value[OURS][0], value[OURS][1], value[THEIRS][0],
         value[THEIRS][1]);
    return false;
}

/* Compares the sizes that both contexts return for a parameter if the buffer is NULL. */
static inline bool same_size(EVP_CIPHER_CTX *const ctx[SIDES], const char *key, unsigned type,
                             size_t size)
{
    /* With OpenSSL 3.0, asks for octets instead of text. Without a buffer, the default provider of
     * 3.0 accepts the types for text, too, but tenrounds refuses them. */
    if (OPENSSL_version_major() == 3 && OPENSSL_version_minor() == 0 &&
        type > OSSL_PARAM_UNSIGNED_INTEGER) {
        DIFFERS("size-of-other-type");
        type |= 1;
    }
    struct result r[SIDES] = {0};
    size_t returned[SIDES];
    for (int i = 0; i < SIDES; i++) {
        OSSL_PARAM params[] = {{key, type, NULL, size, OSSL_PARAM_UNMODIFIED}, OSSL_PARAM_END};
        end_call(&r[i], EVP_CIPHER_CTX_get_params(ctx[i], params));
        returned[i] = params->return_size;
    }
    if (same(r) && (r[OURS].ret <= 0 || returned[OURS] == returned[THEIRS]))
        return true;
    tell("size of %s, type %u, size %zu: %zu and %zu bytes", key, type, size, returned[OURS],
         returned[THEIRS]);
    return false;
}

/* Sets the padding in both providers. libcrypto passes this setting to the provider at once. If
 * padding is off, libcrypto passes the setting again in each later init. Only block modes use
 * padding. */
static inline bool same_padding(EVP_CIPHER_CTX *const ctx[SIDES], int padding)
{
    struct result r[SIDES] = {0};
    tell("padding %d", padding);
    for (int i = 0; i < SIDES; i++)
        end_call(&r[i], EVP_CIPHER_CTX_set_padding(ctx[i], padding));
    return same(r);
}

#endif
