/* SPDX-License-Identifier: BSD-2-Clause */
/* Selects a backend for the provider and the engine. Applies masks, runs the known-answer tests,
 * describes the choice in words, and counts calls if TENROUNDS_COUNTERS is set. */
#ifndef TENROUNDS_SELECTION_H
#define TENROUNDS_SELECTION_H

#include "counters_file.h"
#include "dispatch/counting.h"
#include "sha.h"

#define TROSSL_TEXT 256

struct trossl_selection {
    /* The backend to expand keys for: the selected backend, or a backend that counts the calls and
     * passes them to the selected one. */
    const struct tr_backend *backend;
    struct tr_selection choice;
    const struct trossl_sha_code *sha1, *sha256; /* for AES-CBC-HMAC */
    struct trossl_counters_file *counters;       /* NULL unless counting */
    struct tr_counting counting;
    /* The reasons for the choice, in words, or "none". */
    char masked[TROSSL_TEXT];      /* features that are not used */
    char passed_over[TROSSL_TEXT]; /* code that failed its known-answer tests */
    char mask_error[TROSSL_TEXT];  /* the first word of TENROUNDS_MASK that names no feature */
};

/*
 * Selects a backend by the processor, TENROUNDS_MASK and OPENSSL_ia32cap (on Arm OPENSSL_armcap).
 * Runs the known-answer tests, and maps the host's section of the counters file. In a setuid
 * program, ignores the environment variables. A process can have several independent selections.
 * The object *selection must not move until trossl_selection_end(). Returns 0 if no backend passes
 * its known-answer tests, 1 otherwise.
 */
int trossl_selection_begin(struct trossl_selection *selection, enum trossl_host host);

/* Whether both hashes use the SHA instructions. */
int trossl_has_sha(const struct trossl_selection *selection);

/* Unmaps the counters. No key that was expanded for selection->backend may be used afterwards. */
void trossl_selection_end(struct trossl_selection *selection);

#endif
