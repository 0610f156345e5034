/* SPDX-License-Identifier: BSD-2-Clause */
#include "evp.h"

#include "libcrypto.h"

struct tre_evp tre_evp;

int tre_evp_find(const void *address)
{
    struct trossl_libcrypto library;
    if (!trossl_libcrypto_open(&library, address))
        return 0;
#define FIND(member, function, later)                                                              \
    if (!trossl_libcrypto_find(&library, #function, &tre_evp.member) &&                            \
        ((later) == NULL || !trossl_libcrypto_find(&library, (later), &tre_evp.member)))           \
        return 0;
    TRE_FUNCTIONS(FIND)
    return 1;
}
