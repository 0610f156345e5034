/* SPDX-License-Identifier: BSD-2-Clause */
/* The provider context, and the provider's calls into libcrypto. Each library context that loads
 * the provider has one provider context. When libcrypto loads the provider, it passes functions to
 * the provider (provider-base(7)). The provider looks up a few more functions, if it can find them
 * (evp.h). The provider is not linked with libcrypto. One binary therefore works with OpenSSL 3.0
 * to 4.0, and in programs that contain libcrypto statically. */
#ifndef TENROUNDS_PROVIDER_H
#define TENROUNDS_PROVIDER_H

#include "evp.h"
#include "selection.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/err.h>
#include <openssl/proverr.h>

/* A libcrypto version as a number. Only siv.c asks for it. Patch releases and distributions change
 * what a version does, so code that suits every version is better than a comparison. */
#define TRP_LIBCRYPTO(major, minor) ((major)*100u + (minor))

/* The functions that libcrypto passes. Two are optional: without get_params, the version of
 * libcrypto is unknown; without get_libctx, the provider offers no MACs. */
#define TRP_CORE_FUNCTIONS(X)                                                                      \
    X(get_params, core_get_params, CORE_GET_PARAMS, 1)                                             \
    X(get_libctx, core_get_libctx, CORE_GET_LIBCTX, 1)                                             \
    X(malloc, CRYPTO_malloc, CRYPTO_MALLOC, 0)                                                     \
    X(zalloc, CRYPTO_zalloc, CRYPTO_ZALLOC, 0)                                                     \
    X(clear_free, CRYPTO_clear_free, CRYPTO_CLEAR_FREE, 0)                                         \
    X(free, CRYPTO_free, CRYPTO_FREE, 0)                                                           \
    X(new_error, core_new_error, CORE_NEW_ERROR, 0)                                                \
    X(set_error_debug, core_set_error_debug, CORE_SET_ERROR_DEBUG, 0)                              \
    X(vset_error, core_vset_error, CORE_VSET_ERROR, 0)                                             \
    X(set_error_mark, core_set_error_mark, CORE_SET_ERROR_MARK, 0)                                 \
    X(clear_last_error_mark, core_clear_last_error_mark, CORE_CLEAR_LAST_ERROR_MARK, 0)            \
    X(pop_error_to_mark, core_pop_error_to_mark, CORE_POP_ERROR_TO_MARK, 0)

struct trp_provider {
    const OSSL_CORE_HANDLE *core;
    /* TRP_LIBCRYPTO() of the libcrypto that loaded the provider, or 0 if its version is unknown. */
    unsigned libcrypto;
#define TRP_MEMBER(member, function, id, optional) OSSL_FUNC_##function##_fn *member;
    TRP_CORE_FUNCTIONS(TRP_MEMBER)
#undef TRP_MEMBER
    struct trp_evp evp;
    struct trossl_selection selection;
    struct trp_report *report; /* atomic; NULL until a caller asks for it (provider.c) */
};

/* The backend to expand a key for (trossl_backend()). Raises an error and returns NULL if every
 * backend fails its known-answer tests. */
const struct tr_backend *trp_no_backend(const struct trp_provider *provider)
    __attribute__((cold, noinline));
static inline const struct tr_backend *trp_backend(const struct trp_provider *provider,
                                                   unsigned tests, size_t key_len)
{
    const struct tr_backend *backend = trossl_backend(&provider->selection, tests, key_len);
    return __builtin_expect(backend != NULL, 1) ? backend : trp_no_backend(provider);
}

/* Cleanses and frees `size` bytes. Does nothing if `p` is NULL. CRYPTO_clear_free() stores 8 bytes
 * at a time, and would take most of the time of EVP_CIPHER_CTX_free(). tr_cleanse() is several
 * times as fast. */
static inline void trp_clear_free(const struct trp_provider *provider, void *p, size_t size)
{
    if (p == NULL)
        return;
    tr_cleanse(p, size);
    provider->free(p, __FILE__, __LINE__);
}

/* The library context, for functions in `evp`. provider-base(7) warns against this cast, because a
 * provider may be linked with another libcrypto. But these functions come from the libcrypto that
 * created this library context, so the cast is safe. */
static inline OSSL_LIB_CTX *trp_libctx(const struct trp_provider *provider)
{
    return (OSSL_LIB_CTX *)provider->get_libctx(provider->core);
}

/* Allocate a context that shares no cache line with other memory. Threads with neighbouring
 * contexts then share no cache line, and aligned fields do not cross cache lines. trp_context()
 * zeroes the context. Both return NULL if memory is exhausted. */
void *trp_context(const struct trp_provider *provider, size_t size);
void *trp_context_copy(const struct trp_provider *provider, const void *from, size_t size);
/* Cleanses and frees a context. Does nothing if `p` is NULL. */
void trp_context_free(const struct trp_provider *provider, void *p, size_t size);

/* Raises an error like the default provider, and returns 0. The argument `lib` is an ERR_LIB_
 * constant, mostly ERR_LIB_PROV. The argument `format` may be NULL. */
int trp_raise(const struct trp_provider *provider, const char *file, int line, const char *function,
              int lib, int reason, const char *format, ...)
    __attribute__((cold, noinline, format(printf, 7, 8)));
#define TRP_RAISE(provider, lib, reason)                                                           \
    trp_raise(provider, __FILE__, __LINE__, __func__, lib, reason, NULL)

/* Draws n random bytes, at most 256, for an IV. They come from the library context's generator,
 * RAND_bytes_ex(3), as in the default provider: a program or policy can set another one. The kernel
 * supplies them only if no loaded provider has a generator, or if libcrypto's functions cannot be
 * found (trp_evp_find()). Calls cannot recurse: up to OpenSSL 3.3, the generator calls this
 * provider for AES-CTR, which calls no generator. Returns 1, or 0 if the generator fails. */
int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n);

/* The properties of all algorithms but one key manager (property(7), skeymgmt.c). A configuration
 * prefers this provider by the default property query "?tenrounds.aes=yes". The default
 * "?provider=tenrounds" would have no effect in many programs: their own query "provider!=fips"
 * overrides it, because both name the same property. The names of our own properties must contain a
 * period. No algorithm has the property "fips". */
#define TRP_PROPERTIES "provider=tenrounds,tenrounds.aes=yes"

/* The ciphers, for OSSL_OP_CIPHER. The first TRP_SHA_CIPHERS ciphers include an HMAC. Without SHA
 * instructions, or if these fail their known-answer test, the provider does not offer these
 * ciphers, and the default provider does the work. */
#define TRP_SHA_CIPHERS 4
extern const OSSL_ALGORITHM trp_ciphers[];

/* The MACs, for OSSL_OP_MAC. A program can combine a MAC such as CMAC with any cipher. For ciphers
 * other than AES, the provider calls functions of libcrypto (evp.h). The provider therefore offers
 * MACs only if trp_evp_find() found these functions. */
extern const OSSL_ALGORITHM trp_macs[];

/* The key managers, for OSSL_OP_SKEYMGMT of OpenSSL 3.5. */
#ifndef OSSL_OP_SKEYMGMT
#    define OSSL_OP_SKEYMGMT 15
#endif
extern const OSSL_ALGORITHM trp_skeymgmts[];

/* Makes libcrypto choose the key manager for imports of "AES" keys before a derivation of such a
 * key, by fetching this manager. */
void trp_skeymgmt_first(const struct trp_provider *provider);

#endif
