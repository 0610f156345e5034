/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counting table: a backend that counts calls and bytes and hands each on to the backend below. A
 * host puts it in front by expanding keys for &counting->front. The counters are the host's; they may
 * lie in memory that several processes share. Nothing is counted, and nothing costs, otherwise.
 */
#ifndef TR_COUNTING_H
#define TR_COUNTING_H

#include "backend.h"

struct tr_counters {
    struct tr_count {
        uint64_t calls, bytes; /* added to atomically */
    } bulk[TR_MAX_BACKENDS][TR_OPS]; /* by tr_backend_index() of the table whose code ran */
    uint64_t keys[TR_MAX_BACKENDS];  /* key expansions */
};

struct tr_counting {
    struct tr_backend front; /* first, so that a key's backend leads back here */
    struct tr_counters *counters;
};

/* *counters is not cleared: the caller supplies zeros or what was counted so far. */
void tr_counting_init(struct tr_counting *counting, const struct tr_backend *below,
                      struct tr_counters *counters);

#endif
