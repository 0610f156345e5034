/* SPDX-License-Identifier: BSD-2-Clause */
/* OPENSSL_armcap is one number, which strtoul() parses with base 0. The number replaces the
 * features that the system reports (crypto/armcap.c of OpenSSL 3.0 to 3.6). OpenSSL 3.1 added bit
 * 11 (SHA3), which no backend needs. */
#include "feature_variables.h"

#include <stdlib.h>

static const struct {
    unsigned bit; /* bit number in crypto/arm_arch.h */
    tr_features feature;
} map[] = {{0, TR_FEATURE_NEON}, {2, TR_FEATURE_AES}, {5, TR_FEATURE_CLMUL}, {11, TR_FEATURE_SHA3}};

tr_features trossl_armcap_masked(const char *value)
{
    tr_features masked = 0;
    if (value == NULL)
        return 0;
    const unsigned long visible = strtoul(value, NULL, 0);
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
        if ((visible >> map[i].bit & 1) == 0)
            masked |= map[i].feature;
    }
    return masked;
}
