/* SPDX-License-Identifier: BSD-2-Clause */
#include "evp.h"

#include "libcrypto.h"
#include "once.h"

#include <string.h>

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
