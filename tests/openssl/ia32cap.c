/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks that tenrounds interprets OPENSSL_ia32cap like libcrypto. counters.c tests the effect of
 * the variable. */
#include "feature_variables.h"
#include "tap.h"

#define WORD_1                                                                                     \
    (TR_FEATURE_AVX2 | TR_FEATURE_AVX512 | TR_FEATURE_VAES | TR_FEATURE_VCLMUL | TR_FEATURE_SHA)
#define WORD_0 (TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_SSSE3 | TR_FEATURE_AVX)

static const struct {
    const char *value;
    tr_features masked;
} cases[] = {
    {NULL, 0},
    {"", WORD_0 | WORD_1}, /* an empty last word is zero */
    {":", WORD_1},         /* an empty word before a colon masks nothing */
    {"0", WORD_0 | WORD_1},
    {"~0", WORD_1}, /* a missing second word is zero */
    {"~0:~0", 0},
    {":~0", 0},
    {"~0x200000000000000:~0", TR_FEATURE_AES},
    {"~0X200000000000000:~0", TR_FEATURE_AES},
    {"~144115188075855872:~0", TR_FEATURE_AES},    /* decimal */
    {"~010000000000000000000:~0", TR_FEATURE_AES}, /* octal, bit 57 */
    {"~0x200000200000000:~0", TR_FEATURE_AES | TR_FEATURE_CLMUL},
    {"~0x200000200000000", TR_FEATURE_AES | TR_FEATURE_CLMUL | WORD_1},
    {"~0x20000000000:~0", TR_FEATURE_SSSE3},
    {"~0x1000000000000000:~0", TR_FEATURE_AVX},
    /* hiding FXSR (bit 24) also hides these features (openssl/common/ia32cap.c) */
    {"~0x1000000:~0", TR_FEATURE_AES | TR_FEATURE_CLMUL | TR_FEATURE_AVX},
    {"0x200000200000000:~0", TR_FEATURE_SSSE3 | TR_FEATURE_AVX},
    {":~0x20", TR_FEATURE_AVX2},
    {":~0x10000", TR_FEATURE_AVX512},
    {":~0x40000000", TR_FEATURE_AVX512},
    {":~0x80000000", TR_FEATURE_AVX512},
    {":~0x20000000000", TR_FEATURE_VAES},
    {":~0x40000000000", TR_FEATURE_VCLMUL},
    {":~0x20000000", TR_FEATURE_SHA},
    {":0", WORD_1},
    {":0x60000000020", TR_FEATURE_AVX512 | TR_FEATURE_SHA},
    {"::~0", 0}, /* an empty second word before a third masks nothing */
    {":~0x20:~0xffff", TR_FEATURE_AVX2},
    {"~0x200000000000000 and more:~0", TR_FEATURE_AES},
    {"nonsense", WORD_0 | WORD_1},
};
#define CASES (sizeof(cases) / sizeof(cases[0]))

int main(void)
{
    tap_plan(CASES);
    for (unsigned i = 0; i < CASES; i++) {
        const tr_features masked = trossl_ia32cap_masked(cases[i].value);
        tap_ok(masked == cases[i].masked, "%s masks %x, should be %x",
               cases[i].value != NULL ? cases[i].value : "(not set)", masked, cases[i].masked);
    }
    return tap_done();
}
