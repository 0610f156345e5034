/* SPDX-License-Identifier: BSD-2-Clause */
#include "provider.h"

#include "libcrypto.h"
#include "once.h"

#include <string.h>
#include <sys/random.h>

static void find(struct trp_evp *evp, const void *address)
{
    struct trossl_libcrypto library;
    struct trp_evp found;
    memset(evp, 0, sizeof(*evp));
    if (!trossl_libcrypto_open(&library, address))
        return;
    if (trossl_libcrypto_find(&library, "EVP_MAC_fetch", &found.mac_fetch) &&
        trossl_libcrypto_find(&library, "EVP_MAC_free", &found.mac_free) &&
        trossl_libcrypto_find(&library, "EVP_MAC_CTX_new", &found.mac_ctx_new) &&
        trossl_libcrypto_find(&library, "EVP_MAC_CTX_free", &found.mac_ctx_free) &&
        trossl_libcrypto_find(&library, "EVP_MAC_CTX_dup", &found.mac_ctx_dup) &&
        trossl_libcrypto_find(&library, "EVP_MAC_init", &found.mac_init) &&
        trossl_libcrypto_find(&library, "EVP_MAC_update", &found.mac_update) &&
        trossl_libcrypto_find(&library, "EVP_MAC_final", &found.mac_final) &&
        trossl_libcrypto_find(&library, "EVP_MAC_CTX_get_params", &found.mac_ctx_get_params) &&
        trossl_libcrypto_find(&library, "EVP_MAC_CTX_set_params", &found.mac_ctx_set_params) &&
        trossl_libcrypto_find(&library, "RAND_bytes_ex", &found.rand_bytes_ex) &&
        trossl_libcrypto_find(&library, "RAND_get0_public", &found.rand_get0_public))
        *evp = found;
}

/* The functions of the first libcrypto of the process. Finding them takes 5 µs. */
static struct {
    unsigned state;
    const void *address;
    struct trp_evp evp;
} process;

int trp_evp_find(struct trp_evp *evp, const void *address)
{
    if (trossl_is_stored(&process.state) && process.address == address) {
        *evp = process.evp;
    } else {
        find(evp, address);
        if (trossl_may_store(&process.state)) {
            process.address = address;
            process.evp = *evp;
            trossl_stored(&process.state);
        }
    }
    return evp->mac_fetch != NULL;
}

/* Draws n bytes, at most 256, from the kernel. Signals do not interrupt getrandom() up to that
 * length. Returns 1, or 0 on failure. */
static int random_of_kernel(uint8_t *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n)
{
    const struct trp_evp *const evp = &provider->evp;
    if (evp->rand_bytes_ex == NULL)
        return random_of_kernel(out, n);
    OSSL_LIB_CTX *const libctx = trp_libctx(provider);
    provider->set_error_mark(provider->core);
    const int drawn = evp->rand_bytes_ex(libctx, out, n, 0) > 0;
    if (drawn || evp->rand_get0_public(libctx) != NULL) {
        provider->clear_last_error_mark(provider->core);
        return drawn;
    }
    provider->pop_error_to_mark(provider->core);
    return random_of_kernel(out, n);
}
