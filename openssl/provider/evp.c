/* SPDX-License-Identifier: BSD-2-Clause */
#include "provider.h"

#include "libcrypto.h"
#include "once.h"

#include <string.h>
#include <sys/random.h>

static void evp_find(struct trp_evp *evp, const void *address)
{
    struct trossl_libcrypto library;
    struct trp_evp found;
    memset(evp, 0, sizeof(*evp));
    if (!trossl_libcrypto_open(&library, address))
        return;
#define FIND(member, function) &&trossl_libcrypto_find(&library, #function, &found.member)
    if (1 TRP_FUNCTIONS(FIND))
        *evp = found;
}

/* The functions of the first libcrypto of the process. Finding them takes 5 µs. */
static struct {
    unsigned state;
    struct evp_found {
        const void *address;
        struct trp_evp evp;
    } found;
} process;

void trp_evp_find(struct trp_evp *evp, const void *address)
{
    if (trossl_is_stored(&process.state) && process.found.address == address) {
        *evp = process.found.evp;
        return;
    }
    evp_find(evp, address);
    const struct evp_found found = {address, *evp};
    trossl_store_once(&process.state, &process.found, &found, sizeof(found));
}

/* Draws n bytes, at most 256, from the kernel. Signals do not interrupt getrandom() up to that
 * length. Returns 1, or 0 on failure. */
static int evp_kernel_random(uint8_t *out, size_t n)
{
    return getrandom(out, n, 0) == (ssize_t)n;
}

int trp_random(const struct trp_provider *provider, uint8_t *out, size_t n)
{
    const struct trp_evp *const evp = &provider->evp;
    if (evp->rand_bytes_ex == NULL)
        return evp_kernel_random(out, n);
    OSSL_LIB_CTX *const libctx = trp_libctx(provider);
    provider->set_error_mark(provider->core);
    const int drawn = evp->rand_bytes_ex(libctx, out, n, 0) > 0;
    if (drawn || evp->rand_get0_public(libctx) != NULL) {
        provider->clear_last_error_mark(provider->core);
        return drawn;
    }
    provider->pop_error_to_mark(provider->core);
    return evp_kernel_random(out, n);
}
