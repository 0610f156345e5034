/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls and bytes of bulk operations. A host that counts puts a counting table in front of
 * each backend from the selected one down. Each table counts the call and passes it on. The host
 * expands its keys for the table that tr_counting_init() returns. The host owns the counters, which
 * may lie in memory that several processes share. Hosts that do not count have no overhead.
 */
#ifndef TR_COUNTING_H
#define TR_COUNTING_H

#include "dispatch/backend.h"

struct tr_counters {
    struct tr_count {
        uint64_t calls, bytes;       /* incremented atomically */
    } bulk[TR_MAX_BACKENDS][TR_OPS]; /* indexed by tr_backend_index() of the table whose code ran */
    uint64_t keys[TR_MAX_BACKENDS];  /* key expansions */
};

struct tr_counting {
    struct tr_counting_table {
        struct tr_backend table; /* first: front_of() casts its address */
        const struct tr_backend *wrapped;
        struct tr_count *bulk;
        uint64_t *keys;
    } front[TR_MAX_BACKENDS];
};

/* Sets up *counting in front of backend. Returns the table to expand keys for, which lies in
 * *counting and has the backend's name. Does not clear *counters: the caller supplies zeros or
 * earlier counts. Both must outlive the keys. */
const struct tr_backend *tr_counting_init(struct tr_counting *counting,
                                          const struct tr_backend *backend,
                                          struct tr_counters *counters);

#endif
