/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "selection.h"

#include "armcap.h"
#include "dispatch/env.h"
#include "ia32cap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The environment variable that hides features from libcrypto on this kind of processor. */
#if defined(__aarch64__)
#    define LIBCRYPTO_VARIABLE "OPENSSL_armcap"
#    define LIBCRYPTO_MASKED   trossl_armcap_masked
#else
#    define LIBCRYPTO_VARIABLE "OPENSSL_ia32cap"
#    define LIBCRYPTO_MASKED   trossl_ia32cap_masked
#endif

/* Appends to `text` and truncates the result to TROSSL_TEXT bytes. */
__attribute__((format(printf, 2, 3))) static void add(char text[TROSSL_TEXT], const char *format,
                                                      ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, TROSSL_TEXT - used, format, args);
    va_end(args);
}

static void add_features(char text[TROSSL_TEXT], tr_features features, const char *source)
{
    const char *separator = *text != '\0' ? "; " : "";
    if (features == 0)
        return;
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++) {
        if ((features & (tr_features)1 << i) != 0) {
            add(text, "%s%s", separator, tr_feature_name(i));
            separator = " ";
        }
    }
    add(text, " (by %s)", source);
}

/* Lists the features of this processor that selection does not use. These are the features that a
 * mask removes, and AVX-512 if it lowers the clock. */
static void describe_masks(struct trossl_selection *s, tr_features by_libcrypto)
{
    tr_features by_mask;
    (void)tr_mask_parse(tr_env_mask(), &by_mask, NULL);
    add_features(s->masked, by_mask & s->choice.cpu.present, "TENROUNDS_MASK");
    add_features(s->masked, by_libcrypto & s->choice.cpu.present, LIBCRYPTO_VARIABLE);
    add_features(s->masked, s->choice.avoided,
                 "the clock of this processor, unless TENROUNDS_MASK=avx512");
    if (*s->masked == '\0')
        add(s->masked, "none");
}

/* Describes the first word of TENROUNDS_MASK that names no feature. The pointer bad_mask points to
 * that word, and other words may follow. */
static void describe_mask_error(struct trossl_selection *s)
{
    const char *const bad = s->choice.bad_mask;
    if (bad == NULL)
        add(s->mask_error, "none");
    else
        add(s->mask_error, "\"%.*s\" in TENROUNDS_MASK is no mask", (int)strcspn(bad, ", \t\n"),
            bad);
}

static int may_use_sha(const struct trossl_selection *s)
{
    const tr_features needed = TR_FEATURE_SHA | TR_FEATURE_SSSE3;
    return (s->choice.cpu.usable & ~s->choice.masked & needed) == needed;
}

int trossl_has_sha(const struct trossl_selection *s)
{
    return s->sha1 != &trossl_sha1_portable && s->sha256 != &trossl_sha256_portable;
}

static void describe_failures(struct trossl_selection *s)
{
    for (unsigned i = 0; tr_backend_at(i) != NULL; i++) {
        if ((s->choice.failed & 1u << i) != 0)
            add(s->passed_over, "%s%s", *s->passed_over != '\0' ? ", " : "",
                tr_backend_name(tr_backend_at(i)));
    }
    /* Each hash has its own known-answer test and its own fallback. */
    if (may_use_sha(s) && s->sha1 == &trossl_sha1_portable)
        add(s->passed_over, "%sSHA-1 instructions", *s->passed_over != '\0' ? ", " : "");
    if (may_use_sha(s) && s->sha256 == &trossl_sha256_portable)
        add(s->passed_over, "%sSHA-256 instructions", *s->passed_over != '\0' ? ", " : "");
    if (*s->passed_over == '\0')
        add(s->passed_over, "none");
    else
        add(s->passed_over, " (failed known-answer tests)");
}

int trossl_selection_begin(struct trossl_selection *selection, enum trossl_host host)
{
    memset(selection, 0, sizeof(*selection));
    /* Unlike libcrypto, ignores LIBCRYPTO_VARIABLE in setuid programs, because the user who starts
     * such a program must not choose the code that the program runs. */
    tr_features by_libcrypto = LIBCRYPTO_MASKED(secure_getenv(LIBCRYPTO_VARIABLE));
    if (tr_select(tr_env_mask(), by_libcrypto, &selection->choice) != TR_OK)
        return 0;
    tr_features usable = selection->choice.cpu.usable & ~selection->choice.masked;
    selection->sha1 = trossl_sha1(usable);
    selection->sha256 = trossl_sha256(usable);
    describe_masks(selection, by_libcrypto);
    describe_mask_error(selection);
    describe_failures(selection);

    selection->backend = selection->choice.backend;
    selection->counters = trossl_counters_open(secure_getenv("TENROUNDS_COUNTERS"), host);
    if (selection->counters != NULL)
        selection->backend = tr_counting_init(&selection->counting, selection->choice.backend,
                                              &selection->counters->counters);
    return 1;
}

void trossl_selection_end(struct trossl_selection *selection)
{
    trossl_counters_close(selection->counters);
    selection->counters = NULL;
}
