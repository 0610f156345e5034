/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters file: shared memory in which the module counts what it executes. From it, the
 * `tenrounds` command learns which code ran in other programs' processes.
 *
 * TENROUNDS_COUNTERS is /proc/PID/fd/N, the path of a memfd (memfd_create(2)). Its creator gives it
 * 64 KiB, TROSSL_COUNTERS_NEW followed by zeros, and seals it against shrinking (F_SEAL_SHRINK).
 * Each process that loads tenrounds maps it and adds to it atomically. Each host (provider, engine,
 * PKCS#11 module) has a section of its own, so that readers can tell whose calls they are. The
 * counts of threads and forked children add up. They survive a crash, a SIGKILL and an exec. The
 * module keeps no descriptor and makes no system call to count.
 *
 * The module maps only such a memfd, because counting must not harm the program:
 * - A page of a mapped file on disk raises SIGBUS if the disk is full at the first write to the
 *   page, or if somebody truncates the file. Nobody can lift the seal of a memfd, and the module
 *   allocates its pages before it writes to them.
 * - Counts that a process writes out only when it exits are lost on SIGKILL, _exit() and exec.
 * - pwrite() needs a descriptor. If a program closes all descriptors and opens another file under
 *   the same number, pwrite() would write into that file. A sandbox (seccomp) can kill the process
 *   for the call, and RLIMIT_FSIZE sends SIGXFSZ.
 * - An inherited descriptor is lost when a program closes all descriptors, as Python's subprocess
 *   does. Other programs warn of unknown descriptors. A path has neither problem.
 *
 * A process cannot open the path without /proc, or in another user or PID namespace. Nor can it if
 * it may not inspect the creator (ptrace(2): another user, or fewer capabilities than the creator).
 * The module then tries descriptor N, in case the process inherited it. If that fails, too, the
 * process runs uncounted. A process that changes its user after loading the module is still
 * counted.
 *
 * Numbers are in the processor's own byte order (little-endian everywhere this runs). Readers use
 * the names in the file; they must not assume an order of backends and operations.
 */
#ifndef TENROUNDS_COUNTERS_FILE_H
#define TENROUNDS_COUNTERS_FILE_H

#include "dispatch/counting.h"

/* The first 8 bytes of a section, without an end marker. The creator writes NEW at the beginning of
 * the file and leaves the other sections zero; a process that has described the layout of its
 * section replaces the 8 bytes by MAGIC. */
#define TROSSL_COUNTERS_NEW     "TRCOUNT0"
#define TROSSL_COUNTERS_MAGIC   "TRCOUNT1"
#define TROSSL_COUNTERS_NAME    16    /* bytes of a name, filled up with zeros */
#define TROSSL_COUNTERS_ROOM    65536 /* size of the creator's memfd, with room for later versions */
#define TROSSL_COUNTERS_SECTION 16384 /* bytes of a host's section */

/* The hosts in the order of their sections. */
enum trossl_host { TROSSL_HOST_PROVIDER, TROSSL_HOST_ENGINE, TROSSL_HOST_PKCS11, TROSSL_HOSTS };

/* A section. */
struct trossl_counters_file {
    char magic[8];
    uint32_t backends;  /* TR_MAX_BACKENDS; unused ones have an empty name */
    uint32_t ops;       /* TR_OPS */
    uint32_t processes; /* number of loads, one for each library context */
    uint32_t reserved;
    char backend_name[TR_MAX_BACKENDS][TROSSL_COUNTERS_NAME];
    char op_name[TR_OPS][TROSSL_COUNTERS_NAME];
    struct tr_counters counters;
};

/*
 * Maps the host's section of the memfd at path and adds 1 to its process count. The memfd must be
 * sealed against shrinking, large enough, and owned by the effective user. It must begin with
 * TROSSL_COUNTERS_NEW or TROSSL_COUNTERS_MAGIC, and the section must be unused or of this layout.
 * The path or the descriptor can also lead to the program's own memory, which must not change. If a
 * check or the mapping fails, returns NULL and leaves the file unchanged. path may be NULL.
 */
struct trossl_counters_file *trossl_counters_open(const char *path, enum trossl_host host);
void trossl_counters_close(struct trossl_counters_file *file);

#endif
