/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * OPENSSL_ia32cap(3) is a list of 64-bit words separated by ':'. Word 0 is CPUID(1) EDX (low half)
 * and ECX, word 1 is CPUID(7) EBX and ECX. OpenSSL 3.5 added words, without features of tenrounds.
 * A word after "~" hides the CPUID bits that are set in it, any other replaces them. An empty first
 * word changes nothing if another word follows; since 3.5, the same holds for later words.
 *
 * If the list ends before word 1, libcrypto 3.0 to 4.0 (crypto/cpuid.c) takes word 1 as zero, and
 * so does this file. OPENSSL_ia32cap=~0x200000000000000 (bit 57: AES) therefore also hides AVX2,
 * AVX-512 and VAES.
 */
#include "feature_variables.h"

#include <string.h>

#define BIT(n) ((uint64_t)1 << (n))

static const struct {
    unsigned word;
    uint64_t bits; /* the feature needs all of these bits */
    tr_features feature;
} map[] = {
    {0, BIT(57), TR_FEATURE_AES},   {0, BIT(33), TR_FEATURE_CLMUL},
    {0, BIT(41), TR_FEATURE_SSSE3}, {0, BIT(60), TR_FEATURE_AVX},
    {1, BIT(5), TR_FEATURE_AVX2},   {1, BIT(16) | BIT(30) | BIT(31), TR_FEATURE_AVX512},
    {1, BIT(41), TR_FEATURE_VAES},  {1, BIT(42), TR_FEATURE_VCLMUL},
    {1, BIT(29), TR_FEATURE_SHA},
};

/* As in libcrypto: if word 0 begins with "~" and hides FXSR, it also hides PCLMULQDQ, XOP, AES and
 * AVX. */
#define FXSR       BIT(24)
#define FXSR_TAKES (BIT(33) | BIT(43) | BIT(57) | BIT(60))

static int ia32cap_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 16;
}

/* Parses an octal, decimal or hexadecimal number in C notation. Stops at the first character that
 * is not a digit. */
static uint64_t ia32cap_number(const char *text)
{
    uint64_t value = 0;
    int base = 10;
    if (*text == '0') {
        base = 8;
        text++;
        if (*text == 'x' || *text == 'X') {
            base = 16;
            text++;
        }
    }
    for (; ia32cap_digit(*text) < base; text++)
        value = value * (unsigned)base + (unsigned)ia32cap_digit(*text);
    return value;
}

/* The CPUID bits that a word of the variable leaves visible. */
static uint64_t ia32cap_visible(const char *word)
{
    return *word == '~' ? ~ia32cap_number(word + 1) : ia32cap_number(word);
}

tr_features trossl_ia32cap_masked(const char *value)
{
    if (value == NULL)
        return 0;

    uint64_t words[2] = {~(uint64_t)0, 0};
    if (*value != ':')
        words[0] = ia32cap_visible(value);
    if (*value == '~' && (ia32cap_number(value + 1) & FXSR) != 0)
        words[0] &= ~FXSR_TAKES;

    const char *second = strchr(value, ':');
    if (second != NULL && second[1] == ':')
        words[1] = ~(uint64_t)0;
    else if (second != NULL)
        words[1] = ia32cap_visible(second + 1);

    tr_features masked = 0;
    for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
        if ((words[map[i].word] & map[i].bits) != map[i].bits)
            masked |= map[i].feature;
    }
    return masked;
}
