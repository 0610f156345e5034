/* SPDX-License-Identifier: BSD-2-Clause */
#include "random.h"

#include <sys/random.h>

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
    /* provider-base(7) warns against this cast, because a provider may be linked with another
     * libcrypto. But the functions in `evp` come from the libcrypto that created this library
     * context, so the cast is safe. */
    OSSL_LIB_CTX *const libctx = (OSSL_LIB_CTX *)provider->get_libctx(provider->core);
    provider->set_error_mark(provider->core);
    const int drawn = evp->rand_bytes_ex(libctx, out, n, 0) > 0;
    if (drawn || evp->rand_get0_public(libctx) != NULL) {
        provider->clear_last_error_mark(provider->core);
        return drawn;
    }
    provider->pop_error_to_mark(provider->core);
    return random_of_kernel(out, n);
}
