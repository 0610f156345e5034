/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads and writes OSSL_PARAM(3). Converts between signed and unsigned integers of any size, like
 * libcrypto's helper functions. These are not available, because this module is not linked with
 * libcrypto.
 *
 * The functions that read or write return 1 on success. They return 0 if the value does not fit or
 * the parameter has another type. If the data pointer is NULL, a write stores only return_size.
 * trp_param_set_number() then stores its argument `size` as return_size.
 */
#ifndef TENROUNDS_PARAM_H
#define TENROUNDS_PARAM_H

#include "unroll.h"

#include <openssl/core.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Entries of parameter lists. */
#define TRP_ENTRY(key, type, size)                                                                 \
    {                                                                                              \
        key, type, NULL, size, OSSL_PARAM_UNMODIFIED                                               \
    }
#define TRP_UINT(key)   TRP_ENTRY(key, OSSL_PARAM_UNSIGNED_INTEGER, sizeof(unsigned))
#define TRP_INT(key)    TRP_ENTRY(key, OSSL_PARAM_INTEGER, sizeof(int))
#define TRP_SIZE(key)   TRP_ENTRY(key, OSSL_PARAM_UNSIGNED_INTEGER, sizeof(size_t))
#define TRP_OCTETS(key) TRP_ENTRY(key, OSSL_PARAM_OCTET_STRING, 0)
#define TRP_TEXT(key)   TRP_ENTRY(key, OSSL_PARAM_UTF8_STRING, 0)
#define TRP_END                                                                                    \
    {                                                                                              \
        NULL, 0, NULL, 0, 0                                                                        \
    }

/* Define a function that returns a list of parameters: of a context, or of an algorithm. */
#define TRP_LIST(function, ...) TRP_LIST_BY(function(void *ctx, void *provctx), __VA_ARGS__)

#define TRP_LIST_OF_ALGORITHM(function, ...) TRP_LIST_BY(function(void *provctx), __VA_ARGS__)
#define TRP_LIST_BY(function, ...)                                                                 \
    const OSSL_PARAM *function                                                                     \
    {                                                                                              \
        static const OSSL_PARAM list[] = {__VA_ARGS__, TRP_END};                                   \
        return list;                                                                               \
    }

/* Whether the parameter has this name. A loop is faster than strcmp() for names this short. */
static inline bool trp_param_is(const OSSL_PARAM *param, const char *key)
{
    const char *a = param->key;
    for (; *a == *key; a++, key++) {
        if (*a == '\0')
            return true;
    }
    return false;
}

/* Like trp_param_is(), but as an unrolled loop, for a constant name of at most 7 characters. */
static inline __attribute__((always_inline)) bool trp_param_is_short(const OSSL_PARAM *param,
                                                                     const char *key)
{
    UNROLL
    for (unsigned i = 0; i < 8; i++) {
        if (param->key[i] != key[i])
            return false;
        if (key[i] == '\0')
            return true;
    }
    return false;
}

/* Returns the first parameter with this name, or NULL if there is none or `params` is NULL. */
const OSSL_PARAM *trp_param_find(const OSSL_PARAM params[], const char *key);

int trp_param_set_other_number(OSSL_PARAM *param, uint64_t value, size_t size);
static inline int trp_param_set_number(OSSL_PARAM *param, uint64_t value, size_t size)
{
    /* Fast path: libcrypto reads a size_t at each init. */
    if (param->data_type != OSSL_PARAM_UNSIGNED_INTEGER || param->data_size != sizeof(value) ||
        param->data == NULL)
        return trp_param_set_other_number(param, value, size);
    memcpy(param->data, &value, sizeof(value));
    param->return_size = sizeof(value);
    return 1;
}
int trp_param_get_number(const OSSL_PARAM *param, uint64_t max, uint64_t *value);

/* Writes the UTF-8 string, or a pointer to it, depending on the type of the parameter. */
int trp_param_set_text(OSSL_PARAM *param, const char *text);

/* trp_param_set_octet_ptr() writes a pointer to the bytes. trp_param_set_octets() writes the bytes
 * or such a pointer, depending on the type of the parameter. */
int trp_param_set_octet_ptr(OSSL_PARAM *param, const void *bytes, size_t len);
int trp_param_set_octets(OSSL_PARAM *param, const void *bytes, size_t len);

/* Copies an octet string of at most `max` bytes. Fails if the data is NULL. */
int trp_param_get_octets(const OSSL_PARAM *param, void *bytes, size_t max, size_t *len);

#endif
