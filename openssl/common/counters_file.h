/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters file: where the code that runs inside other people's processes counts what it did,
 * so that the `tenrounds` command can say afterwards what was executed and not merely selected.
 *
 * TENROUNDS_COUNTERS names an existing file, created empty by who wants to know. Each process that
 * loads tenrounds maps it, and adds to it atomically; counts survive a crash or an exec, and those
 * of forked children add up. The layout is the processor's own byte order (little-endian everywhere
 * this runs) and describes itself: read the names in it rather than assuming an order.
 */
#ifndef TENROUNDS_COUNTERS_FILE_H
#define TENROUNDS_COUNTERS_FILE_H

#include "counting.h"

#define TROSSL_COUNTERS_MAGIC "TRCOUNT1" /* 8 bytes, no end marker */
#define TROSSL_COUNTERS_NAME  16         /* bytes of a name, filled up with zeros */

struct trossl_counters_file {
    char magic[8];
    uint32_t backends;  /* TR_MAX_BACKENDS; unused ones have an empty name */
    uint32_t ops;       /* TR_OPS */
    uint32_t processes; /* how often tenrounds was loaded: once for each library context */
    uint32_t reserved;
    char backend_name[TR_MAX_BACKENDS][TROSSL_COUNTERS_NAME];
    char op_name[TR_OPS][TROSSL_COUNTERS_NAME];
    struct tr_counters counters;
};

/*
 * Maps the file at path and counts this process in. Anything but an empty file or a counters file
 * of this layout, which is regular and belongs to the effective user, is left alone: NULL. So is
 * what cannot be mapped. path may be NULL.
 */
struct trossl_counters_file *trossl_counters_open(const char *path);
void trossl_counters_close(struct trossl_counters_file *file);

#endif
