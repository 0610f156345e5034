/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting table: a chain of tables, one before each backend from the selected one down, that
 * count calls and bytes and hand each call on. A host puts it in front by expanding keys for
 * tr_counting_init()'s result. The counters are the host's; they may lie in memory that several
 * processes share. Nothing is counted, and nothing costs, otherwise.
 */
#ifndef TR_COUNTING_H
#define TR_COUNTING_H

#include "dispatch/backend.h"

struct tr_counters {
    struct tr_count {
        uint64_t calls, bytes;       /* added to atomically */
    } bulk[TR_MAX_BACKENDS][TR_OPS]; /* by tr_backend_index() of the table whose code ran */
    uint64_t keys[TR_MAX_BACKENDS];  /* key expansions */
};

struct tr_counting {
    struct tr_front {
        struct tr_backend table; /* first, so that a table leads back to its front */
        const struct tr_backend *below;
        struct tr_count *bulk;
        uint64_t *keys;
    } front[TR_MAX_BACKENDS];
};

/*
 * Sets up *counting before backend and returns the table to expand keys for, which lies in
 * *counting and has the same name. *counters is not cleared: the caller supplies zeros or what was
 * counted so far. Both must outlive the keys.
 */
const struct tr_backend *tr_counting_init(struct tr_counting *counting,
                                          const struct tr_backend *backend,
                                          struct tr_counters *counters);

#endif
