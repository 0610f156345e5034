/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters file: shared memory in which the module counts what it executes in other programs'
 * processes, so that the `tenrounds` command can report which code ran.
 *
 * TENROUNDS_COUNTERS names a memfd (memfd_create(2)) that its creator has sized and sealed against
 * shrinking, as /proc/PID/fd/N. Each process that loads tenrounds maps it and adds to it
 * atomically. The counts of threads and forked children add up, and they survive a crash, a SIGKILL
 * and an exec. The module keeps no descriptor and makes no system call to count.
 *
 * Only such a memfd is mapped, because counting must not harm the program:
 * - A page of a mapped file on disk raises SIGBUS if the disk is full when the page is first
 *   written, or if somebody truncates the file. Nobody can lift the seal, and the module allocates
 *   the pages before it writes to them.
 * - Counts that each process writes out at its end are lost on SIGKILL, _exit() and exec. Writing
 *   them with pwrite() needs a descriptor, and a program that closes all descriptors reuses its
 *   number; a sandbox (seccomp) can kill the process for the call, and RLIMIT_FSIZE sends SIGXFSZ.
 * - A descriptor that every child inherits is lost where a program closes all, as Python's
 *   subprocess does, and others warn of it. A path has neither fault.
 *
 * The path has three limits. A process that may not inspect the creator (ptrace(2): another user,
 * or fewer capabilities than the creator) cannot open it; if the process changed its user after
 * loading the module, it goes on counting. In another PID namespace the path leads elsewhere. If
 * there is no /proc, the module takes the descriptor with that number if the process inherited it.
 * Such a process runs uncounted.
 *
 * The numbers are in the processor's own byte order (little-endian everywhere this runs). The
 * layout describes itself: read the names in it rather than assuming an order.
 */
#ifndef TENROUNDS_COUNTERS_FILE_H
#define TENROUNDS_COUNTERS_FILE_H

#include "counting.h"

/* The first 8 bytes, without an end marker: as the creator leaves them, above zeros, and once a process
 * has described the layout. */
#define TROSSL_COUNTERS_NEW   "TRCOUNT0"
#define TROSSL_COUNTERS_MAGIC "TRCOUNT1"
#define TROSSL_COUNTERS_NAME  16    /* bytes of a name, filled up with zeros */
#define TROSSL_COUNTERS_ROOM  65536 /* bytes the creator gives: enough for later versions */

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
 * Maps the memfd at path and counts this process in. It must be sealed against shrinking, large
 * enough, owned by the effective user, and begin with TROSSL_COUNTERS_NEW or be a counters file of this
 * layout: a descriptor or a path can lead to memory of the program's own. NULL,
 * with the file as it was, if it is anything else or cannot be mapped. path may be NULL.
 */
struct trossl_counters_file *trossl_counters_open(const char *path);
void trossl_counters_close(struct trossl_counters_file *file);

#endif
