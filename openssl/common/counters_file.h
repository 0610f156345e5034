/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters file: shared memory in which the module counts what it executes in other
 * programs' processes, so that the `tenrounds` command can report which code ran.
 *
 * TENROUNDS_COUNTERS is /proc/PID/fd/N, the path of a memfd (memfd_create(2)). Its creator gives
 * it 64 KiB, filled with zeros, and seals it against shrinking (F_SEAL_SHRINK). Each process
 * that loads tenrounds maps it and adds to it atomically. The counts of threads and forked
 * children add up, and they survive a crash, a SIGKILL and an exec. The module keeps no
 * descriptor and makes no system call to count.
 *
 * Only such a memfd is mapped, because counting must not harm the program:
 * - A page of a mapped file on disk raises SIGBUS if the disk is full when the page is first
 *   written, or if somebody truncates the file. Nobody can lift the seal, and the module allocates
 *   the pages before it writes to them.
 * - Counts that a process writes out only when it exits are lost on SIGKILL, _exit() and exec.
 * - pwrite() needs a descriptor, and a program that closes all descriptors reuses its number. A
 *   sandbox (seccomp) can kill the process for the call, and RLIMIT_FSIZE sends SIGXFSZ.
 * - An inherited descriptor is lost when a program closes all descriptors, as Python's subprocess
 *   does. Other programs warn of unknown descriptors. A path has neither fault.
 *
 * A process cannot open the path if it may not inspect the creator (ptrace(2): another user, or
 * fewer capabilities than the creator), if it is in another user or PID namespace, or if there
 * is no /proc. The module then tries descriptor N, in case the process inherited it. If that
 * fails, too, the process runs uncounted. A process that changes its user after loading the
 * module is still counted.
 *
 * The numbers are in the processor's own byte order (little-endian everywhere this runs). The
 * layout describes itself: read the names in it rather than assuming an order.
 */
#ifndef TENROUNDS_COUNTERS_FILE_H
#define TENROUNDS_COUNTERS_FILE_H

#include "dispatch/counting.h"

/* The first 8 bytes, without an end marker: as the creator writes them, followed by zeros; and
 * after a process has described the layout. */
#define TROSSL_COUNTERS_NEW   "TRCOUNT0"
#define TROSSL_COUNTERS_MAGIC "TRCOUNT1"
#define TROSSL_COUNTERS_NAME  16    /* bytes of a name, filled up with zeros */
#define TROSSL_COUNTERS_ROOM  65536 /* size of the creator's memfd, with room for later versions */

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
 * Maps the memfd at path and adds 1 to its process count. The memfd must be sealed against
 * shrinking, large enough, and owned by the effective user. It must begin with TROSSL_COUNTERS_NEW
 * or be a counters file of this layout, because a path or a descriptor can also lead to the
 * program's own memory. Returns NULL and leaves the file unchanged if it is anything else or cannot
 * be mapped. path may be NULL.
 */
struct trossl_counters_file *trossl_counters_open(const char *path);
void trossl_counters_close(struct trossl_counters_file *file);

#endif
