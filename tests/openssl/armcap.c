/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks that tenrounds interprets the variable OPENSSL_armcap like libcrypto, and that the
 * variable has an effect only on Arm.
 */
#define _GNU_SOURCE /* for setenv() */
#include "dispatch/backend.h"
#include "feature_variables.h"
#include "selection.h"
#include "tap.h"

#define ALL (TR_FEATURE_NEON | TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_SHA3)

static const struct {
    const char *value;
    tr_features masked;
} cases[] = {
    {NULL, 0},
    {"", ALL},
    {"0", ALL},
    {"nonsense", ALL},
    {"0x825", 0},
    {"0xffffffff", 0},
    {"2085", 0},
    {"04045", 0},
    {"0x25", TR_FEATURE_SHA3},
    {"0x21", TR_FEATURE_SHA3 | TR_FEATURE_AES},
    {"0x805", TR_FEATURE_CLMUL},
    {"1", ALL & ~TR_FEATURE_NEON},
    {"0x824", TR_FEATURE_NEON},
    {"0x825:0", 0},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(void)
{
    tap_plan(CASES + 1);
    for (unsigned i = 0; i < CASES; i++) {
        const tr_features masked = trossl_armcap_masked(cases[i].value);
        tap_ok(masked == cases[i].masked, "%s masks %x, should be %x",
               cases[i].value != NULL ? cases[i].value : "(not set)", masked, cases[i].masked);
    }
    struct trossl_selection s;
    setenv("OPENSSL_armcap", "1", 1);
    unsetenv("OPENSSL_ia32cap");
    trossl_selection_begin(&s, TROSSL_HOST_PROVIDER);
    const tr_features masked = s.choice.by_features.masked & (TR_FEATURE_AES | TR_FEATURE_NEON);
    tap_ok(masked == (TR_ARM64 ? TR_FEATURE_AES : 0),
           "OPENSSL_armcap=1 has an effect only on Arm: backend %s, masked %s",
           tr_backend_name(s.choice.by_features.backend), s.choice.masked);
    trossl_selection_end(&s);
    return tap_done();
}
