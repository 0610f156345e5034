/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts calls and bytes of bulk operations. A host that counts has a counting table for the
 * selected backend and for each weaker backend. A counting table is a struct tr_backend. Its
 * functions for bulk operations and key expansion count the call, then call the real backend's
 * function. The host expands its keys for the counting table that tr_counting_init() returns. The
 * host owns the counters, which may lie in memory that several processes share. Hosts that do not
 * count have no overhead.
 */
#ifndef TR_COUNTING_H
#define TR_COUNTING_H

#include "dispatch/backend.h"

struct tr_counters {
    struct tr_count {
        uint64_t calls, bytes;       /* incremented atomically */
    } bulk[TR_MAX_BACKENDS][TR_OPS]; /* index: tr_backend_index() of the backend that ran */
    uint64_t keys[TR_MAX_BACKENDS];  /* key expansions */
};

struct tr_counting {
    struct tr_counting_table {
        struct tr_backend table; /* the first field, because front_of() casts its address */
        const struct tr_backend *wrapped;
        struct tr_count *bulk;
        uint64_t *keys;
    } front[TR_MAX_BACKENDS];
};

/* Sets up counting tables for `backend` and its weaker backends in *counting. Returns the table for
 * which the host must expand its keys. That table has the name of `backend`. Does not clear
 * *counters: the caller supplies zeros or earlier counts. The keys must not outlive *counting and
 * *counters. */
const struct tr_backend *tr_counting_init(struct tr_counting *counting,
                                          const struct tr_backend *backend,
                                          struct tr_counters *counters);

#endif
