/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "selection.h"

#include "dispatch/env.h"
#include "feature_variables.h"
#include "once.h"

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
__attribute__((format(printf, 2, 3))) static void selection_add(char text[TROSSL_TEXT],
                                                                const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, TROSSL_TEXT - used, format, args);
    va_end(args);
}

static void selection_add_features(char text[TROSSL_TEXT], tr_features features, const char *source)
{
    const char *separator = *text != '\0' ? "; " : "";
    if (features == 0)
        return;
    for (unsigned i = 0; i < TR_FEATURE_COUNT; i++) {
        if ((features & (tr_features)1 << i) != 0) {
            selection_add(text, "%s%s", separator, tr_feature_name(i));
            separator = " ";
        }
    }
    selection_add(text, " (by %s)", source);
}

/* Lists the features of this processor that selection does not use. These are the features that a
 * mask removes, and AVX-512 if it lowers the clock. */
static void selection_describe_masks(struct trossl_choice *c, tr_features by_libcrypto)
{
    const tr_features present = c->by_features.cpu.present;
    tr_features by_mask;
    (void)tr_mask_parse(tr_env_mask(), &by_mask, NULL);
    selection_add_features(c->masked, by_mask & present, "TENROUNDS_MASK");
    selection_add_features(c->masked, by_libcrypto & present, LIBCRYPTO_VARIABLE);
    selection_add_features(c->masked, c->by_features.avoided,
                           "the clock of this processor, unless TENROUNDS_MASK=avx512");
    if (*c->masked == '\0')
        strcpy(c->masked, "none");
}

/* Describes the first word of TENROUNDS_MASK that names no feature. The pointer bad_mask points to
 * that word, and other words may follow. */
static void selection_describe_mask_error(struct trossl_choice *c)
{
    const char *const bad = c->by_features.bad_mask;
    if (bad == NULL)
        strcpy(c->mask_error, "none");
    else
        selection_add(c->mask_error, "\"%.*s\" in TENROUNDS_MASK is no mask",
                      (int)strcspn(bad, ", \t\n"), bad);
}

static void selection_add_failure(char text[TROSSL_TEXT], const char *name)
{
    selection_add(text, "%s%s", *text != '\0' ? ", " : "", name);
}

static int selection_passes_all(const struct tr_backend *backend)
{
    int good = 1;
    for (unsigned k = 0; k < TR_KNOWN_KEYS && good; k++)
        good = tr_backend_passes(backend, TR_TESTS_ALL, TR_KNOWN_KEY_LEN(k));
    return good;
}

const struct tr_backend *trossl_selection_test(const struct trossl_selection *s,
                                               char passed_over[TROSSL_TEXT])
{
    const struct tr_backend *backend = s->choice.by_features.backend;
    *passed_over = '\0';
    for (; backend != NULL && !selection_passes_all(backend); backend = backend->weaker)
        selection_add_failure(passed_over, tr_backend_name(backend));
    const tr_features usable = trossl_features(s);
    if (trossl_has_sha(usable) && trossl_sha1(usable) == NULL)
        selection_add_failure(passed_over, "SHA-1 instructions");
    if (trossl_has_sha(usable) && trossl_sha256(usable) == NULL)
        selection_add_failure(passed_over, "SHA-256 instructions");
    selection_add(passed_over, "%s",
                  *passed_over == '\0' ? "none" : " (failed known-answer tests)");
    return backend;
}

const struct tr_backend *trossl_backend_by_tests(const struct trossl_selection *s, unsigned tests,
                                                 size_t key_len)
{
    const struct tr_backend *backend =
        tr_backend_passing(s->choice.by_features.backend, tests, key_len);
    if (s->counting == NULL || backend == NULL)
        return backend;
    const struct tr_counting_table *front = s->counting->front;
    while (front->wrapped != backend)
        front++;
    return &front->table;
}

/* Chooses a backend and describes the choice. */
static void selection_choose(struct trossl_choice *c)
{
    /* Unlike libcrypto, ignores LIBCRYPTO_VARIABLE in setuid programs, because the user who starts
     * such a program must not choose the code that the program runs. */
    const char *const variable = secure_getenv(LIBCRYPTO_VARIABLE);
    const tr_features by_libcrypto = variable != NULL ? LIBCRYPTO_MASKED(variable) : 0;
    (void)tr_select_untested(tr_env_mask(), by_libcrypto, &c->by_features);
    selection_describe_masks(c, by_libcrypto);
    selection_describe_mask_error(c);
    c->by_features.bad_mask = NULL; /* points into the environment, which the program may change */
}

static struct {
    unsigned state;
    struct trossl_choice choice;
} process;

static void selection_choose_once(struct trossl_choice *c)
{
    if (trossl_is_stored(&process.state)) {
        *c = process.choice;
        return;
    }
    selection_choose(c);
    trossl_store_once(&process.state, &process.choice, c, sizeof(*c));
}

void trossl_selection_begin(struct trossl_selection *s, enum trossl_host host)
{
    memset(s, 0, sizeof(*s));
    selection_choose_once(&s->choice);
    s->backend = s->choice.by_features.backend;
    s->verdicts = tr_backend_verdicts(s->backend);
    s->counters = trossl_counters_open(secure_getenv("TENROUNDS_COUNTERS"), host);
    if (s->counters == NULL)
        return;
    s->counting = malloc(sizeof(*s->counting));
    if (s->counting == NULL)
        trossl_selection_end(s);
    else
        s->backend = tr_counting_init(s->counting, s->backend, &s->counters->counters);
}

void trossl_selection_end(struct trossl_selection *s)
{
    trossl_counters_close(s->counters);
    free(s->counting);
    s->counters = NULL;
    s->counting = NULL;
}
