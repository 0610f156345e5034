/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The provider's own context, one for each library context that loads it, and how it speaks to
 * libcrypto: through the functions that libcrypto hands over at load, provider-base(7), and for MACs
 * through a few more, where they can be found (evp.h). It is not linked with libcrypto, so the same
 * file works in 3.0 and in 4.0, and in programs that contain libcrypto statically.
 */
#ifndef TENROUNDS_PROVIDER_H
#define TENROUNDS_PROVIDER_H

#include "evp.h"
#include "selection.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/proverr.h>

/* A libcrypto version as a number, to select behaviour that differs between versions. */
#define TRP_LIBCRYPTO(major, minor) ((major)*100u + (minor))

struct trp_provider {
    const OSSL_CORE_HANDLE *core;
    unsigned libcrypto; /* TRP_LIBCRYPTO of the libcrypto that loaded us; 0: unknown */
    OSSL_FUNC_core_get_params_fn *get_params;
    OSSL_FUNC_core_get_libctx_fn *get_libctx;
    OSSL_FUNC_CRYPTO_zalloc_fn *zalloc;
    OSSL_FUNC_CRYPTO_malloc_fn *malloc;
    OSSL_FUNC_CRYPTO_clear_free_fn *clear_free;
    OSSL_FUNC_CRYPTO_free_fn *free;
    OSSL_FUNC_core_new_error_fn *new_error;
    OSSL_FUNC_core_set_error_debug_fn *set_error_debug;
    OSSL_FUNC_core_vset_error_fn *vset_error;
    struct trp_evp evp;
    struct trossl_selection selection;
    char build_info[3 * TROSSL_TEXT];
};

/* CRYPTO_clear_free() of size bytes, but cleansed by the width of the C library's memset():
 * libcrypto's own function stores eight bytes at a time, which for a context is most of what
 * EVP_CIPHER_CTX_free() takes. p may be NULL. */
static inline void trp_clear_free(const struct trp_provider *provider, void *p, size_t size)
{
    if (p == NULL)
        return;
    tr_cleanse(p, size);
    provider->free(p, __FILE__, __LINE__);
}

/* Contexts, of size bytes, in cache lines of their own: two that are neighbours may be written by two threads at the
 * same time, and vectors of theirs are loaded whose lines should not be two. New ones are zeros. NULL without memory. */
void *trp_context(const struct trp_provider *provider, size_t size);
void *trp_context_copy(const struct trp_provider *provider, const void *from, size_t size);
/* The same (from is NULL: zeros) with room more bytes behind it, which are neither set nor cleansed. */
void *trp_context_with_room(const struct trp_provider *provider, const void *from, size_t size,
                            size_t room);
void trp_context_free(const struct trp_provider *provider, void *p, size_t size); /* cleansed */

/* Puts an error of libcrypto's library lib (ERR_LIB_PROV, mostly) into the thread's queue, as the
 * default provider would; format may be NULL. Returns 0. */
int trp_raise(const struct trp_provider *provider, const char *file, int line, const char *function,
              int lib, int reason, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 7, 8)));
#define TRP_RAISE(provider, lib, reason)                                                           \
    trp_raise(provider, __FILE__, __LINE__, __func__, lib, reason, NULL)

/* The ciphers, for OSSL_OP_CIPHER. The first TRP_SHA_CIPHERS come with a hash; without the SHA
 * instructions the default provider's are four to six times as fast, and so not replaced. */
#define TRP_SHA_CIPHERS 4
extern const OSSL_ALGORITHM trp_ciphers[];

/* The MACs, for OSSL_OP_MAC. Only where trp_evp was found: we could not do them with every cipher. */
extern const OSSL_ALGORITHM trp_macs[];

/* The managers of key objects, for OSSL_OP_SKEYMGMT of OpenSSL 3.5. */
#ifndef OSSL_OP_SKEYMGMT
#    define OSSL_OP_SKEYMGMT 15
#endif
extern const OSSL_ALGORITHM trp_skeymgmts[];

#endif
