/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects the backend of a process. The known-answer tests use memory on the stack; the kernel
 * module allocates that memory instead (kernel/module.c). */
#include "dispatch/backend.h"
#include "dispatch/selftest.h"

/* Two functions, so that their buffers are never on the stack at the same time. */
static __attribute__((__noinline__)) enum tr_status known_short(const struct tr_backend *backend,
                                                                int falsify)
{
    struct tr_known_work work;
    return tr_kat_short(backend, falsify, &work);
}

static __attribute__((__noinline__)) enum tr_status known_long(const struct tr_backend *backend)
{
    struct tr_known_long_work work;
    return tr_kat_long(backend, &work);
}

static enum tr_status known(const struct tr_backend *backend, int falsify, void *unused)
{
    (void)unused;
    enum tr_status status = known_short(backend, falsify);
    if (status == TR_OK)
        status = known_long(backend);
    return status == TR_OK ? tr_kat_ctr(backend) : status;
}

enum tr_status tr_backend_self_test(const struct tr_backend *backend)
{
    enum tr_status status = known(backend, 0, NULL);
    return status == TR_OK && tr_backend_with_multibuffer(backend) != NULL
               ? tr_kat_multibuffer(backend)
               : status;
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
