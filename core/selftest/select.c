/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the backend of a process, and runs known-answer tests before the first use of a mode. The
 * tests use memory on the stack; the kernel module allocates that memory instead
 * (kernel/module.c). */
#include "dispatch/backend.h"
#include "selftest/selftest.h"

/* Two functions, so that their buffers are never on the stack at the same time. */
static __attribute__((__noinline__)) int short_are_right(const struct tr_backend *backend,
                                                         unsigned tests, unsigned k, int falsify)
{
    struct tr_known_work work;
    return tr_kat_short(backend, tests, k, falsify, &work) == TR_OK;
}

static __attribute__((__noinline__)) int long_are_right(const struct tr_backend *backend,
                                                        unsigned tests, unsigned k)
{
    struct tr_known_long_work work;
    return tr_kat_long(backend, tests, k, &work) == TR_OK;
}

static int are_right(const struct tr_backend *backend, unsigned tests, unsigned k, int falsify)
{
    return short_are_right(backend, tests, k, falsify) && long_are_right(backend, tests, k) &&
           tr_kat_ctr(backend, tests, k) == TR_OK;
}

static enum tr_status known(const struct tr_backend *backend, int falsify, void *unused)
{
    (void)unused;
    for (unsigned k = 0; k < TR_KNOWN_KEYS; k++) {
        if (!are_right(backend, TR_TESTS_ALL, k, falsify))
            return TR_ERR_SELF_TEST;
    }
    return TR_OK;
}

enum tr_status tr_backend_self_test(const struct tr_backend *backend)
{
    enum tr_status status = known(backend, 0, NULL);
    if (status == TR_OK && tr_backend_with_multibuffer(backend) != NULL)
        status = tr_kat_multibuffer(backend);
    if (status == TR_OK && backend->whole.gcm_many != NULL)
        status = tr_kat_many(backend);
    return status;
}

static uint32_t verdicts[TR_MAX_BACKENDS][TR_KNOWN_KEYS];

const uint32_t *tr_backend_verdicts(const struct tr_backend *backend)
{
    return verdicts[tr_backend_index(backend)];
}

/* Runs tests and remembers their verdict. */
static __attribute__((__noinline__)) int first_time(const struct tr_backend *backend,
                                                    unsigned tests, unsigned k)
{
    uint32_t *const of = verdicts[tr_backend_index(backend)];
    if (are_right(backend, tests, k, tr_is_listed(tr_env_sabotage(), backend->name)))
        return (__atomic_or_fetch(&of[k], tests, __ATOMIC_RELAXED) & TR_FAILED) == 0;
    for (unsigned i = 0; i < TR_KNOWN_KEYS; i++)
        __atomic_fetch_or(&of[i], TR_FAILED, __ATOMIC_RELAXED);
    return 0;
}

int tr_backend_passes(const struct tr_backend *backend, unsigned tests, size_t key_len)
{
    const unsigned k = (unsigned)(key_len / 8 - 2);
    const uint32_t verdict = __atomic_load_n(&tr_backend_verdicts(backend)[k], __ATOMIC_RELAXED);
    const unsigned missing = tests & ~verdict;
    return (verdict & TR_FAILED) == 0 && (missing == 0 || first_time(backend, missing, k));
}

const struct tr_backend *tr_backend_passing(const struct tr_backend *backend, unsigned tests,
                                            size_t key_len)
{
    while (backend != NULL && !tr_backend_passes(backend, tests, key_len))
        backend = backend->weaker;
    return backend;
}

static enum tr_status not_yet(const struct tr_backend *backend, int falsify, void *unused)
{
    (void)backend, (void)falsify, (void)unused;
    return TR_OK;
}

enum tr_status tr_select_untested(const char *mask, tr_features also_masked,
                                  struct tr_selection *selection)
{
    return tr_select_by(not_yet, NULL, mask, also_masked, tr_env_sabotage(), selection);
}

enum tr_status tr_select_sabotaged(const char *mask, tr_features also_masked, const char *sabotage,
                                   struct tr_selection *selection)
{
    return tr_select_by(known, NULL, mask, also_masked, sabotage, selection);
}

enum tr_status tr_select(const char *mask, tr_features also_masked, struct tr_selection *selection)
{
    return tr_select_sabotaged(mask, also_masked, tr_env_sabotage(), selection);
}

const struct tr_backend *tr_backend_selected(void)
{
    /* Threads that race here make the same choice and store the same pointer. */
    static const struct tr_backend *selected;
    const struct tr_backend *backend = __atomic_load_n(&selected, __ATOMIC_ACQUIRE);
    if (backend == NULL) {
        struct tr_selection s;
        if (tr_select(tr_env_mask(), 0, &s) != TR_OK)
            tr_env_fatal("every AES implementation failed its known-answer tests");
        backend = s.backend;
        __atomic_store_n(&selected, backend, __ATOMIC_RELEASE);
    }
    return backend;
}
