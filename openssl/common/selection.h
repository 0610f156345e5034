/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which backend runs inside libcrypto, how that came about, and counting if it is asked for. What
 * the provider and the engine share.
 */
#ifndef TENROUNDS_SELECTION_H
#define TENROUNDS_SELECTION_H

#include "counters_file.h"
#include "counting.h"
#include "sha.h"

#define TROSSL_TEXT 256

struct trossl_selection {
    /* The table to expand keys for: the selected backend, or the counting table before it. */
    const struct tr_backend *backend;
    struct tr_selection choice;
    const struct trossl_sha_code *sha1, *sha256; /* for HMAC beside CBC */
    struct trossl_counters_file *counters;       /* NULL unless counting */
    struct tr_counting counting;
    /* How it came about, in words, "none" where there is nothing to say. */
    char masked[TROSSL_TEXT];
    char passed_over[TROSSL_TEXT];
};

/*
 * Selects by processor, TENROUNDS_MASK and OPENSSL_ia32cap (on Arm OPENSSL_armcap), runs the known answers, and maps
 * TENROUNDS_COUNTERS. A setuid program's environment is ignored. Depends on nothing that another
 * call has left behind; *selection must stay where it is until trossl_selection_end(). Returns 0 if
 * no backend passes its known answers, 1 otherwise.
 */
int trossl_selection_begin(struct trossl_selection *selection);

/* Whether both hashes are done by the SHA instructions. */
int trossl_has_sha(const struct trossl_selection *selection);

/* Unmaps the counters: no key may be in use any more that was expanded for selection->backend. */
void trossl_selection_end(struct trossl_selection *selection);

#endif
