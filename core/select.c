/* SPDX-License-Identifier: BSD-2-Clause */
/* The choice for a process, and known answers on its stack. */
#include "backend.h"
#include "selftest.h"

enum tr_status tr_backend_self_test(const struct tr_backend *backend)
{
    struct tr_known_work work;
    return tr_known_answers(backend, 0, &work);
}

enum tr_status tr_select(const char *mask, tr_features also_masked, const char *sabotage,
                         struct tr_selection *selection)
{
    struct tr_known_work work;
    return tr_select_in(&work, mask, also_masked, sabotage, selection);
}

const struct tr_backend *tr_backend_selected(void)
{
    /* The one dispatch word. Threads that race compute the same choice and store the same pointer.
     */
    static const struct tr_backend *selected;
    const struct tr_backend *backend = __atomic_load_n(&selected, __ATOMIC_ACQUIRE);
    if (backend == NULL) {
        struct tr_selection s;
        if (tr_select(tr_env_mask(), 0, tr_env_sabotage(), &s) != TR_OK)
            tr_env_fatal("every AES implementation failed its known answers");
        backend = s.backend;
        __atomic_store_n(&selected, backend, __ATOMIC_RELEASE);
    }
    return backend;
}
